//! `sweetspot doctor`: arguments.

use std::path::PathBuf;

use super::exit::of_connection;
use super::options::{one_of, words_of};
use super::sessions::StoreArgument;
use super::{Exit, UsageError, interrupt, print};
use crate::plan::{Key, PLACES, Where};
use crate::report::document;
use crate::report::terminal::Channel;
use crate::session::cluster;
use crate::session::doctor::cluster::TriedImage;
use crate::session::doctor::{self, DoctorSettings};
use crate::terms::{Finding, FindingState};

const EXAMPLES: &str = "\
Exits with 1 when something is bad.

Examples:
  sweetspot doctor
  sweetspot doctor --quick --json
  sweetspot doctor --place kubernetes --namespace web
  sweetspot doctor --place kubernetes --generator-image registry.internal/sweetspot:1";

/// Checks whether this machine, or a cluster's namespace, is fit to measure on.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The app's folder, whose tools are looked for.
    #[arg(value_name = "FOLDER", default_value = ".")]
    app: PathBuf,
    /// Under one and a half seconds, with coarser figures.
    #[arg(long)]
    quick: bool,
    /// What is checked: this machine (local), or a namespace of a Kubernetes cluster (kubernetes)
    #[arg(long, value_name = "PLACE", value_parser = one_of(&PLACES), default_value = "local")]
    place: Where,
    /// The namespace [default: the context's]
    #[arg(long, value_name = "NAME")]
    namespace: Option<String>,
    /// A context of the kubeconfig [default: its current one]
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// An image of sweetspot that is run on each node of the cluster for some seconds: whether it
    /// can be pulled there, the node's processor, its clock
    #[arg(long, value_name = "IMAGE")]
    generator_image: Option<String>,
    /// Whether nodes pull it: Always, IfNotPresent or Never [default: as the cluster has it]
    #[arg(long, value_name = "POLICY", requires = "generator_image", hide_possible_values = true)]
    #[arg(value_parser = words_of(Key::GeneratorImagePullPolicy))]
    generator_image_pull_policy: Option<String>,
    #[command(flatten)]
    store: StoreArgument,
    /// Print JSON: an array of findings.
    #[arg(long)]
    json: bool,
    /// Print only what is not in order.
    #[arg(short, long)]
    quiet: bool,
}

pub fn run(arguments: Arguments) -> anyhow::Result<Exit> {
    let (json, quiet) = (arguments.json, arguments.quiet);
    let mut findings = match arguments.place {
        Where::Local => of_machine(arguments)?,
        Where::Kubernetes => of_cluster(&arguments)?,
    };
    let is_bad = findings.iter().any(|finding| finding.state == FindingState::Bad);
    if quiet {
        findings.retain(|finding| finding.state != FindingState::Ok);
    }
    let findings = document::doctor::in_words(findings);
    if json {
        print(serde_json::to_string_pretty(&findings)? + "\n")?;
    } else if !(quiet && findings.is_empty()) {
        let has_colour = Channel::standard_output().style.colour;
        print(document::doctor::table(&findings, has_colour))?;
    }
    Ok(if is_bad { Exit::CouldNotMeasure } else { Exit::Done })
}

fn of_machine(arguments: Arguments) -> Result<Vec<Finding>, UsageError> {
    let Arguments { app, quick, store, namespace, context, generator_image, .. } = arguments;
    if namespace.or(context).or(generator_image).is_some() {
        let message = "--namespace, --context and --generator-image are for --place kubernetes";
        return Err(UsageError::of(message));
    }
    if !app.is_dir() {
        let app = app.display();
        return Err(UsageError::of(format!(
            "{app} is no folder; name the app's, or none for this one"
        )));
    }
    let folder = store.path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let store = folder.map_or_else(|| PathBuf::from("."), PathBuf::from);
    Ok(doctor::check(&DoctorSettings { quick, app, store }))
}

/// It only looks, or runs pods that do nothing, so that a context which looks like production needs
/// no yes.
fn of_cluster(arguments: &Arguments) -> anyhow::Result<Vec<Finding>> {
    let (context, namespace) = (arguments.context.as_deref(), arguments.namespace.as_deref());
    let found = cluster::connect(context, namespace, true).map_err(of_connection)?;
    let pull_policy = arguments.generator_image_pull_policy.clone();
    let image = arguments.generator_image.clone();
    let tried = image.map(|image| TriedImage { image, pull_policy });
    Ok(doctor::cluster::check(&found, tried.as_ref(), &interrupt::install())?)
}
