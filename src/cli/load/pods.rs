//! `sweetspot load --place kubernetes`: its arguments, and those that its pods get.

use std::fs;

use clap::ValueEnum;

use crate::cli::UsageError;
use crate::session::load::ClusterAsked;
use crate::terms::Bytes;

// No doc comment: clap would take it for the description of the whole command.
#[derive(Debug, clap::Args)]
pub struct PodArguments {
    /// Where the generators run: here, or as pods of the Kubernetes cluster that kubectl would use,
    /// with a Job and nothing installed (--generators says how many; 1 without it)
    #[arg(long, value_enum, default_value_t = Where::Local)]
    #[arg(conflicts_with_all = ["together", "find_capacity"])]
    place: Where,

    /// Kubernetes: an image of sweetspot for the generators' pods
    #[arg(long, value_name = "IMAGE", required_if_eq("place", "kubernetes"))]
    image: Option<String>,

    /// Kubernetes: Always, IfNotPresent or Never [default: as the cluster has it]
    #[arg(long, value_name = "POLICY", requires = "image")]
    image_pull_policy: Option<String>,

    /// Kubernetes: the namespace [default: the context's]
    #[arg(long, value_name = "NAME", requires = "image")]
    namespace: Option<String>,

    /// Kubernetes: a context of the kubeconfig [default: its current one]
    #[arg(long, value_name = "NAME", requires = "image")]
    context: Option<String>,

    /// Kubernetes: cores of each generator's pod
    #[arg(long, value_name = "CORES", default_value_t = 1.0, requires = "image")]
    generator_cpus: f64,

    /// Kubernetes: memory of each generator's pod
    #[arg(long, value_name = "BYTES", default_value = "256MiB", requires = "image")]
    generator_memory: Bytes,

    /// Kubernetes: keep generators off nodes that run pods with this label, such as app=shop, where
    /// there are others; may be repeated
    #[arg(long, value_name = "KEY=VALUE", requires = "image", value_parser = label)]
    away_from: Vec<(String, String)>,

    /// Kubernetes: go on where the context's name looks like production
    #[arg(long, requires = "image")]
    yes: bool,

    /// Print what was gathered line by line, for whoever asked for the load elsewhere
    #[arg(long, hide = true, requires = "collect")]
    pub relay: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Where {
    Local,
    Kubernetes,
}

fn label(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("a label is KEY=VALUE, such as app=shop")?;
    Ok((key.to_string(), value.to_string()))
}

impl PodArguments {
    /// `None`: generators run here. `typed`: everything behind the verb.
    ///
    /// # Errors
    /// A file that pods need cannot be read, or is larger than the API server takes.
    pub fn asked(self, typed: &[String]) -> Result<Option<ClusterAsked>, UsageError> {
        if self.place == Where::Local {
            return Ok(None);
        }
        let (arguments, files) = for_pods(typed)?;
        Ok(Some(ClusterAsked {
            image: self.image.unwrap_or_default(),
            pull_policy: self.image_pull_policy,
            namespace: self.namespace,
            context: self.context,
            cpus: self.generator_cpus,
            memory: self.generator_memory,
            away_from: self.away_from,
            is_confirmed: self.yes,
            arguments: [vec!["load".to_string()], arguments].concat(),
            files,
        }))
    }
}

/// Options that are for this program and not for its pods, and whether a value follows.
const OURS: [(&str, bool); 20] = [
    ("--place", true),
    ("--image", true),
    ("--image-pull-policy", true),
    ("--namespace", true),
    ("--context", true),
    ("--generator-cpus", true),
    ("--generator-memory", true),
    ("--away-from", true),
    ("--yes", false),
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
/// who may only look at pods.
const SECRETS: [&str; 5] = ["-H", "--header", "-d", "--data", "--user"];

/// The API server takes objects of a megabyte and a half, and a Secret's data of one.
const MOST_BYTES: usize = 900_000;

type ForPods = (Vec<String>, Vec<(String, String)>);

/// The arguments that pods get, and their files by name.
fn for_pods(typed: &[String]) -> Result<ForPods, UsageError> {
    let usage = |message: String| UsageError { message };
    let read = |path: &str| {
        fs::read_to_string(path).map_err(|error| {
            usage(format!("could not read '{path}', which the pods need: {error}"))
        })
    };
    let (mut arguments, mut files): ForPods = (Vec::new(), Vec::new());
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
            (true, _) => (read(&value)?, format!("/files/{file}")),
            (false, Some(path)) => (read(path)?, format!("@/files/{file}")),
            (false, None) => (value, format!("@/files/{file}")),
        };
        files.push((file, text));
        arguments.extend([name.to_string(), given]);
    }
    let bytes: usize = files.iter().map(|(_, text)| text.len()).sum();
    let typed_bytes: usize = arguments.iter().map(String::len).sum();
    if bytes + typed_bytes > MOST_BYTES {
        return Err(usage(format!(
            "the files that the pods need have {bytes} bytes, and a cluster takes {MOST_BYTES}; \
             give fewer targets, or put them into the image"
        )));
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
    fn pods_get_the_load_and_neither_our_options_nor_secrets_on_their_command_line() {
        let given = typed(
            "http://shop/ --rate 10/s --place kubernetes --image=x:1 --json -H X-Key:k3y \
             --away-from app=shop --generators 8 --slo p95<2s -o csv=y --user me:s3cret",
        );
        let (arguments, files) = for_pods(&given).unwrap();
        assert_eq!(
            arguments.join(" "),
            "http://shop/ --rate 10/s -H @/files/file0 --slo p95<2s --user @/files/file1"
        );
        let texts: Vec<&str> = files.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(texts, ["X-Key:k3y", "me:s3cret"]);
    }

    #[test]
    fn files_go_along_and_one_that_is_not_there_or_too_large_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("targets");
        fs::write(&path, "GET /\n").unwrap();
        let given = typed(&format!("--targets {} -d @{}", path.display(), path.display()));
        let (arguments, files) = for_pods(&given).unwrap();
        assert_eq!(arguments.join(" "), "--targets /files/file0 -d @/files/file1");
        assert_eq!(files.len(), 2);
        let error = for_pods(&typed("--targets /no/such")).unwrap_err();
        assert!(error.message.contains("'/no/such'"), "{error}");
        fs::write(&path, "x".repeat(MOST_BYTES + 1)).unwrap();
        assert!(for_pods(&given).unwrap_err().message.contains("a cluster takes"));
    }
}
