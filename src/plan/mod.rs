//! `sweetspot.toml` and flags become a checked [`Plan`]; an app's folder is recognised.
//!
//! In: what was typed ([`Typed`]) and the files it names. Out: a plan in which every value says
//! where it came from. Reads the app's folder and the files named; starts nothing, changes nothing.

mod app;
mod app_error;
mod bundle;
mod checked;
mod choices;
mod cluster;
mod cuts;
mod deployment;
mod ecs;
mod elsewhere;
mod error;
mod file;
mod front;
pub(crate) mod header;
mod hosted;
mod kamal;
mod knobs;
mod node;
mod objective;
mod options;
mod other_servers;
mod pm2;
mod pods;
mod python;
mod rails;
mod range;
mod record;
mod remote;
mod rerun;
mod resolve;
mod run_as;
mod server;
mod settings;
mod start;
mod steps;
mod suggest;
mod targets;
pub(crate) mod traffic;
mod variable;
mod written_knob;

pub use app::recognise;
pub(crate) use app_error::AppError;
pub use checked::{Plan, Surroundings};
pub(crate) use choices::choices;
pub use cluster::{Cluster, OwnPods};
pub(crate) use cluster::{PLACES, Where};
pub use elsewhere::{Platform, Remote};
pub use error::PlanError;
#[cfg(fuzzing)]
pub use file::{PlanFile, parse};
pub(crate) use options::Form;
pub use options::{Key, Typed};
pub(crate) use range::parse_counts;
pub(crate) use remote::{command_of_kamal, fixed_flags};
pub(crate) use rerun::{differences, lacks_commands, with_earlier, without_knobs};
pub use resolve::resolve;
pub(crate) use resolve::{ARRIVALS, CONNECTIONS};
pub use run_as::{Invoker, caller};
pub(crate) use server::own_program;
pub use server::{check_programs, choose_server};
pub use steps::steps;
pub(crate) use suggest::{closest, nearest};
