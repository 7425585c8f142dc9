//! A load that others send: the arguments that they get, and the files that go along.
//!
//! In: what was typed. Out: arguments and texts.

use std::fs;

use crate::cli::UsageError;

/// Arguments, and files by name.
pub type ForOthers = (Vec<String>, Vec<(String, String)>);

/// Options that are for this program and not for those that send, and whether a value follows.
const OURS: [(&str, bool); 23] = [
    ("--place", true),
    ("--image", true),
    ("--image-pull-policy", true),
    ("--namespace", true),
    ("--context", true),
    ("--generator-cpus", true),
    ("--generator-memory", true),
    ("--away-from", true),
    ("--yes", false),
    ("--from", true),
    ("--gather", true),
    ("--on-loss", true),
    ("--generators", true),
    ("--output", true),
    ("-o", true),
    ("--json", false),
    ("--push", true),
    ("--allow-public-push", false),
    ("--no-wait", false),
    ("--quiet", false),
    ("-q", false),
    ("--language", true),
    ("--no-color", false),
];

/// Options whose value is a file.
const FILES: [&str; 6] =
    ["--targets", "--variables", "--access-log", "--cacert", "--cert", "--key"];

/// Options whose value may be secret, or a file behind `@`: they become files, which nobody sees
/// who may only look at processes or pods.
const SECRETS: [&str; 5] = ["-H", "--header", "-d", "--data", "--user"];

/// What others get of `typed`, everything behind the verb. `folder` stands before the name of each
/// file there.
///
/// # Errors
/// A file that they need cannot be read.
pub fn of(typed: &[String], folder: &str) -> Result<ForOthers, UsageError> {
    let read = |path: &str| {
        fs::read_to_string(path).map_err(|error| UsageError {
            message: format!("could not read '{path}', which the generators need: {error}"),
        })
    };
    let (mut arguments, mut files): ForOthers = (Vec::new(), Vec::new());
    let mut words = typed.iter();
    while let Some(word) = words.next() {
        let (name, joined) = match word.split_once('=') {
            Some((name, value)) if name.starts_with('-') => (name, Some(value.to_string())),
            _ => (word.as_str(), None),
        };
        if let Some((_, has_value)) = OURS.iter().find(|(ours, _)| *ours == name) {
            if *has_value && joined.is_none() {
                words.next();
            }
            continue;
        }
        let (is_file, is_secret) = (FILES.contains(&name), SECRETS.contains(&name));
        if !is_file && !is_secret {
            arguments.push(word.clone());
            continue;
        }
        let value = joined.or_else(|| words.next().cloned()).unwrap_or_default();
        let file = format!("file{}", files.len());
        let (text, given) = match (is_file, value.strip_prefix('@')) {
            (true, _) => (read(&value)?, format!("{folder}{file}")),
            (false, Some(path)) => (read(path)?, format!("@{folder}{file}")),
            (false, None) => (value, format!("@{folder}{file}")),
        };
        files.push((file, text));
        arguments.extend([name.to_string(), given]);
    }
    Ok((arguments, files))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_string).collect()
    }

    #[test]
    fn others_get_the_load_and_neither_our_options_nor_secrets_on_their_command_line() {
        let given = typed(
            "http://shop/ --rate 10/s --place kubernetes --image=x:1 --json -H X-Key:k3y \
             --away-from app=shop --generators 8 --slo p95<2s -o csv=y --user me:s3cret \
             --from ssh://load1",
        );
        let (arguments, files) = of(&given, "/files/").unwrap();
        assert_eq!(
            arguments.join(" "),
            "http://shop/ --rate 10/s -H @/files/file0 --slo p95<2s --user @/files/file1"
        );
        let texts: Vec<&str> = files.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(texts, ["X-Key:k3y", "me:s3cret"]);
    }

    #[test]
    fn files_go_along_and_one_that_is_not_there_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("targets");
        fs::write(&path, "GET /\n").unwrap();
        let given = typed(&format!("--targets {} -d @{}", path.display(), path.display()));
        let (arguments, files) = of(&given, "./").unwrap();
        assert_eq!(arguments.join(" "), "--targets ./file0 -d @./file1");
        assert_eq!(files.len(), 2);
        let error = of(&typed("--targets /no/such"), "./").unwrap_err();
        assert!(error.message.contains("'/no/such'"), "{error}");
    }
}
