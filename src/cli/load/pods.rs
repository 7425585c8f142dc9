//! `sweetspot load --place kubernetes`: its arguments, and those that its pods get.

use super::elsewhere::{self, ForOthers};
use crate::cli::UsageError;
use crate::cli::options::{one_of, words_of};
use crate::plan::{Key, PLACES, Where};
use crate::session::load::{ClusterAsked, OnLoss};
use crate::terms::Bytes;

// No doc comment: clap would take it for the description of the whole command.
#[derive(Debug, clap::Args)]
pub struct PodArguments {
    /// Where the generators run: here, or as pods of the Kubernetes cluster that kubectl would use,
    /// with a Job and nothing installed (--generators says how many; 1 without it)
    #[arg(long, value_parser = one_of(&PLACES), default_value = "local")]
    #[arg(conflicts_with_all = ["together", "find_capacity"])]
    place: Where,

    /// Kubernetes: an image of sweetspot for the generators' pods
    #[arg(long, value_name = "IMAGE", required_if_eq("place", "kubernetes"), group = "adds_up")]
    image: Option<String>,

    /// Kubernetes: Always, IfNotPresent or Never [default: as the cluster has it]
    #[arg(long, value_name = "POLICY", requires = "image", hide_possible_values = true)]
    #[arg(value_parser = words_of(Key::GeneratorImagePullPolicy))]
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

    /// Kubernetes: go on where context or namespace look like production
    #[arg(long, requires = "image")]
    yes: bool,

    /// Print what was gathered line by line, for whoever asked for the load elsewhere
    #[arg(long, hide = true, requires = "collect")]
    pub relay: bool,
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
            if self.image.is_some() {
                let message = "--image is for generators in a cluster; add --place kubernetes";
                return Err(UsageError::of(message));
            }
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
            on_loss: OnLoss::End,
        }))
    }
}

/// The API server takes objects of a megabyte and a half, and a Secret's data of one.
const MOST_BYTES: usize = 900_000;

/// The arguments that pods get, and their files by name.
fn for_pods(typed: &[String]) -> Result<ForOthers, UsageError> {
    let (arguments, files) = elsewhere::of(typed, "/files/")?;
    let bytes: usize = files.iter().map(|(_, text)| text.len()).sum();
    let typed_bytes: usize = arguments.iter().map(String::len).sum();
    if bytes + typed_bytes > MOST_BYTES {
        return Err(UsageError::of(format!(
            "the files that the pods need have {bytes} bytes, and a cluster takes {MOST_BYTES}; \
             give fewer targets, or put them into the image"
        )));
    }
    Ok((arguments, files))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_is_too_large_for_a_cluster_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("targets");
        fs::write(&path, "x".repeat(MOST_BYTES + 1)).unwrap();
        let given = ["--targets".to_string(), path.display().to_string()];
        assert!(for_pods(&given).unwrap_err().message.contains("a cluster takes"));
    }
}
