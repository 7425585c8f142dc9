//! A load that others send: the arguments that they get, and the files that go along.
//!
//! In: what was typed. Out: arguments and texts.

use std::fs;
use std::io;

use crate::cli::UsageError;
use crate::plan::traffic::{self, Url};

/// Arguments, and files by name.
pub type ForOthers = (Vec<String>, Vec<(String, String)>);

/// Options that are for this program and not for those that send, and whether a value follows.
const OURS: [(&str, bool); 21] = [
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
];

/// Options whose value is a file.
const FILES: [&str; 6] = [TARGETS, "--variables", "--access-log", "--cacert", "--cert", "--key"];

/// Its lines may name files in turn.
const TARGETS: &str = "--targets";

/// Options whose value may be secret, or a file behind `@`: they become files, which nobody sees
/// who may only look at processes or pods.
const SECRETS: [&str; 5] = ["-H", "--header", "-d", "--data", USER];

/// A URL may have it too.
const USER: &str = "--user";

/// What others get of `typed`, everything behind the verb. `folder` stands before the name of each
/// file there.
///
/// # Errors
/// A file that they need cannot be read.
pub fn of(typed: &[String], folder: &str) -> Result<ForOthers, UsageError> {
    let read = |path: &str| {
        let text = match path {
            "-" => io::read_to_string(io::stdin()),
            _ => fs::read_to_string(path),
        };
        text.map_err(|error| {
            UsageError::of(format!("could not read '{path}', which the generators need: {error}"))
        })
    };
    let (mut arguments, mut files): ForOthers = (Vec::new(), Vec::new());
    let has_user = typed.iter().any(|word| apart(word).0 == USER);
    let mut words = typed.iter();
    while let Some(word) = words.next() {
        let word = unbundled(word);
        let (name, joined) = apart(&word);
        let joined = joined.map(str::to_string);
        if let Some((_, has_value)) = OURS.iter().find(|(ours, _)| *ours == name) {
            if *has_value && joined.is_none() {
                words.next();
            }
            continue;
        }
        let (is_file, is_secret) = (FILES.contains(&name), SECRETS.contains(&name));
        let mut add = |text: String| {
            let file = format!("file{}", files.len());
            files.push((file.clone(), text));
            format!("{folder}{file}")
        };
        if !is_file && !is_secret {
            match without_user(&word) {
                // Another one that is typed comes before it.
                Some((bare, _)) if has_user => arguments.push(bare),
                Some((bare, user)) => {
                    arguments.extend([bare, USER.to_string(), format!("@{}", add(user))]);
                }
                None => arguments.push(word),
            }
            continue;
        }
        let value = joined.or_else(|| words.next().cloned()).unwrap_or_default();
        let given = match (is_file, value.strip_prefix('@')) {
            (true, _) if name == TARGETS => {
                let text = with_bodies(&read(&value)?, &mut |path| Ok(add(read(path)?)))?;
                add(text)
            }
            (true, _) => add(read(&value)?),
            (false, Some(path)) => format!("@{}", add(read(path)?)),
            (false, None) => format!("@{}", add(value)),
        };
        arguments.extend([name.to_string(), given]);
    }
    Ok((arguments, files))
}

/// A word without the flag of ours that another short option stands behind in it: `-Hx` of `-qHx`.
fn unbundled(word: &str) -> String {
    match word.strip_prefix("-q") {
        Some(behind) if !behind.is_empty() => format!("-{behind}"),
        _ => word.to_string(),
    }
}

/// Option and value that stand in one word: `--data=x`, `-dx`.
fn apart(word: &str) -> (&str, Option<&str>) {
    let short = ["-H", "-d", "-o"].into_iter().find_map(|name| {
        let value = word.strip_prefix(name).filter(|value| !value.is_empty())?;
        Some((name, Some(value.strip_prefix('=').unwrap_or(value))))
    });
    let long = || word.split_once('=').filter(|(name, _)| name.starts_with("--"));
    short.or_else(|| long().map(|(name, value)| (name, Some(value)))).unwrap_or((word, None))
}

/// A URL without the user and password in it, and these.
fn without_user(word: &str) -> Option<(String, String)> {
    let is_one = !word.starts_with('-') && !word.contains(char::is_whitespace);
    let mut user = Url::parse(word).ok().filter(|_| is_one)?.user?;
    if !user.contains(':') {
        user.push(':');
    }
    Some((traffic::without_user(word)?, user))
}

/// A targets file whose bodies (`@order.json`) are where `add` says that it has put them.
fn with_bodies(
    text: &str,
    add: &mut dyn FnMut(&str) -> Result<String, UsageError>,
) -> Result<String, UsageError> {
    let mut lines = String::new();
    for line in text.lines() {
        match line.trim().strip_prefix('@') {
            Some(path) => lines += &format!("@{}", add(path)?),
            None => lines += line,
        }
        lines.push('\n');
    }
    Ok(lines)
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
    fn what_is_typed_in_one_word_is_no_less_secret() {
        for (word, rest, secret) in [
            ("-HX-Key:k3y", "-H @/f/file0", "X-Key:k3y"),
            ("-d={}", "-d @/f/file0", "{}"),
            ("--header=X-Key:k3y", "--header @/f/file0", "X-Key:k3y"),
            ("http://me:s3c%40@shop/a?b=@c", "http://shop/a?b=@c --user @/f/file0", "me:s3c@"),
            ("me:s3cret@shop:80", "shop:80 --user @/f/file0", "me:s3cret"),
            ("http://t0ken@shop/", "http://shop/ --user @/f/file0", "t0ken:"),
            ("me:s@a/?to=http://x/", "a/?to=http://x/ --user @/f/file0", "me:s"),
            ("http://a:b@shop/ --user=c:d", "http://shop/ --user @/f/file0", "c:d"),
        ] {
            let (arguments, files) = of(&typed(word), "/f/").unwrap();
            assert_eq!((arguments.join(" ").as_str(), files[0].1.as_str()), (rest, secret));
        }
        let (arguments, files) = of(&typed("-ojson=x http://shop/?to=a@b -XPOST"), "/f/").unwrap();
        assert_eq!(arguments.join(" "), "http://shop/?to=a@b -XPOST");
        assert!(files.is_empty());
    }

    #[test]
    fn an_option_that_stands_behind_a_flag_in_one_word_is_that_option() {
        for (words, rest, secret) in [
            ("-qH X-Key:k3y -q", "-H @/f/file0", Some("X-Key:k3y")),
            ("-qHX-Key:k3y", "-H @/f/file0", Some("X-Key:k3y")),
            ("-qd={}", "-d @/f/file0", Some("{}")),
            ("-qo json shop:80 -qojson", "shop:80", None),
            ("-qXPOST shop:80 --quiet", "-XPOST shop:80", None),
        ] {
            let (arguments, files) = of(&typed(words), "/f/").unwrap();
            let secrets = files.first().map(|(_, text)| text.as_str());
            assert_eq!((arguments.join(" ").as_str(), secrets), (rest, secret), "{words}");
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("order.json");
        fs::write(&path, "{}").unwrap();
        let (arguments, files) = of(&typed(&format!("-qd @{}", path.display())), "./").unwrap();
        assert_eq!((arguments.join(" ").as_str(), files[0].1.as_str()), ("-d @./file0", "{}"));
    }

    #[test]
    fn bodies_of_a_targets_file_go_along() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        fs::write(path("order.json"), "{}").unwrap();
        fs::write(path("mix"), format!("POST /orders\n@{}\n", path("order.json"))).unwrap();
        let (arguments, files) = of(&typed(&format!("--targets {}", path("mix"))), "./").unwrap();
        assert_eq!(arguments.join(" "), "--targets ./file1");
        assert_eq!(files[0].1, "{}");
        assert_eq!(files[1].1, "POST /orders\n@./file0\n");
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
