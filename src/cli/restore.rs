//! `sweetspot restore`: arguments.

use serde_json::json;

use super::Exit;
use super::exit::of_connection;
use crate::session::cluster::{self, Restored};

const EXAMPLES: &str = "\
Examples:
  sweetspot restore --deployment shop
  sweetspot restore --deployment shop --namespace web --yes   # its session has been killed";

/// Puts a Deployment back to what it was before a tune that was cut off.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The Deployment that was tuned
    #[arg(long, value_name = "NAME")]
    deployment: String,
    /// Where it is [default: the context's]
    #[arg(long, value_name = "NAME")]
    namespace: Option<String>,
    /// A context of the kubeconfig [default: its current one]
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// Also where the session may go on, or the context's name looks like production
    #[arg(long)]
    yes: bool,
    /// Print JSON: what was put back
    #[arg(long, conflicts_with = "quiet")]
    json: bool,
    /// Print nothing
    #[arg(short, long)]
    quiet: bool,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let (context, namespace) = (arguments.context.as_deref(), arguments.namespace.as_deref());
    let found = cluster::connect(context, namespace, arguments.yes).map_err(of_connection)?;
    let restored = cluster::restore(&found, &arguments.deployment, arguments.yes)?;
    if arguments.json {
        println!(
            "{}",
            json!({
                "deployment": restored.deployment,
                "left_to_others": restored.is_others,
                "autoscalers": restored.autoscalers,
            })
        );
    } else if !arguments.quiet {
        println!("Deployment {} {}", arguments.deployment, said(&restored));
    }
    Ok(Exit::Done)
}

fn said(restored: &Restored) -> String {
    let deployment = match restored {
        Restored { is_others: true, .. } => {
            "was deployed by somebody else meanwhile, and is left like that"
        }
        Restored { deployment: true, .. } => "is as it was before the session",
        _ => "has not been changed by a session",
    };
    match restored.autoscalers {
        0 => deployment.to_string(),
        1 => format!("{deployment}; its autoscaler scales again"),
        more => format!("{deployment}; {more} autoscalers scale again"),
    }
}
