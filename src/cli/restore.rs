//! `sweetspot restore`: arguments.

use serde_json::json;

use super::exit::of_connection;
use super::sessions::StoreArgument;
use super::{Exit, UsageError, interrupt, print, say};
use crate::report::outside::lines;
use crate::session::cluster::{self, Restored};
use crate::session::ecs::{self, ServiceName};
use crate::session::remote::{self, PutBack};

const EXAMPLES: &str = "\
Examples:
  sweetspot restore                         # an app that --apply changed, by its own command
  sweetspot restore --ecs prod/shop         # its session was killed, and that folder is gone
  sweetspot restore --deployment shop
  sweetspot restore --deployment shop --namespace web --yes   # its session has been killed";

/// Puts what a tune has changed back to what it was, after one that was cut off.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The service of ECS that was tuned, where the folder is gone in which its session was begun:
    /// by what sweetspot has written down in AWS
    #[arg(long, value_name = "CLUSTER/SERVICE", conflicts_with = "deployment")]
    ecs: Option<String>,
    /// The Deployment that was tuned [default: the app that --apply changed]
    #[arg(long, value_name = "NAME")]
    deployment: Option<String>,
    /// Where it is [default: the context's]
    #[arg(long, value_name = "NAME", requires = "deployment")]
    namespace: Option<String>,
    /// A context of the kubeconfig [default: its current one]
    #[arg(long, value_name = "NAME", requires = "deployment")]
    context: Option<String>,
    /// Also while the session's Lease is held: it has been killed
    #[arg(long, requires = "deployment")]
    yes: bool,
    #[command(flatten)]
    store: StoreArgument,
    /// Print JSON: what was put back
    #[arg(long, conflicts_with = "quiet")]
    json: bool,
    /// Print nothing
    #[arg(short, long)]
    quiet: bool,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    match (&arguments.deployment, &arguments.ecs) {
        (Some(deployment), _) => of_deployment(arguments, deployment),
        (None, Some(service)) => of_service(arguments, service),
        (None, None) => of_remote(arguments),
    }
}

fn of_service(arguments: &Arguments, service: &str) -> anyhow::Result<Exit> {
    let odd = |_| UsageError::of(format!("--ecs: '{service}' is not CLUSTER/SERVICE"));
    let name: ServiceName = service.parse().map_err(odd)?;
    let restored = ecs::restore_by_note(&name, &arguments.store.path)?;
    if arguments.json {
        print(format!("{}\n", serde_json::to_string(&restored)?))?;
    } else if !arguments.quiet {
        print(format!("{}\n", restored.said))?;
        restored.left.iter().try_for_each(|line| print(format!("  {line}\n")))?;
    }
    Ok(Exit::Done)
}

fn of_remote(arguments: &Arguments) -> anyhow::Result<Exit> {
    let mut tell = |pid| {
        if !arguments.quiet {
            say(format!(
                "waiting for the killed session's last command, which still runs (process {pid})"
            ));
        }
    };
    let restored = remote::restore(&arguments.store.path, &interrupt::install(), &mut tell)?;
    if arguments.json {
        let said = restored.as_ref().map(|it| &it.said);
        let url = restored.as_ref().map(|it| &it.url);
        print(format!("{}\n", json!({ "url": url, "said": said })))?;
    } else if !arguments.quiet {
        match restored {
            Some(PutBack { url, said }) => {
                print(format!("the app at {url} is put back, by the session's own command\n"))?;
                for line in lines(&said.join("\n")) {
                    print(format!("  {line}\n"))?;
                }
            }
            None => {
                let store = arguments.store.path.display();
                print(format!("no session of {store} has left an app changed\n"))?;
            }
        }
    }
    Ok(Exit::Done)
}

/// It only puts back, so that what looks like production needs no yes: that says that the session
/// has been killed.
fn of_deployment(arguments: &Arguments, deployment: &str) -> anyhow::Result<Exit> {
    let (context, namespace) = (arguments.context.as_deref(), arguments.namespace.as_deref());
    let found = cluster::connect(context, namespace, true).map_err(of_connection)?;
    let restored = cluster::restore(&found, deployment, arguments.yes)?;
    if arguments.json {
        let said = json!({
            "deployment": restored.deployment,
            "left_to_others": restored.is_others,
            "autoscalers": restored.autoscalers,
        });
        print(format!("{said}\n"))?;
    } else if !arguments.quiet {
        print(format!("Deployment {deployment} {}\n", said(&restored)))?;
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
