//! `sweetspot.toml` and flags become a checked [`Plan`]; an app's folder is recognised.
//!
//! In: what was typed ([`Typed`]) and the files it names. Out: a plan in which every value says
//! where it came from. Reads the app's folder and the files named; starts nothing, changes nothing.

mod app;
mod app_error;
mod bundle;
mod checked;
mod error;
mod file;
mod header;
mod knobs;
mod node;
mod objective;
mod options;
mod php;
mod python;
mod range;
mod record;
mod rerun;
mod resolve;
mod server;
mod settings;
mod start;
mod start_error;
mod suggest;
mod targets;
pub mod traffic;
mod variable;
mod written_knob;

pub use app::{Wish, recognise, recognise_as};
pub use app_error::AppError;
pub use checked::{Plan, Surroundings};
pub use error::{Origin, PlanError, Problem};
#[cfg(fuzzing)]
pub use file::{PlanFile, parse};
pub use header::{HeaderError, parse_header};
pub use options::{Form, Key, Row, Typed};
pub use range::{LARGEST_COUNT, RangeError, parse_counts};
pub use rerun::{Difference, differences, with_earlier, without_knobs};
pub use resolve::resolve;
pub use server::{Chosen, check_programs, choose_server, own_program};
pub use start_error::StartError;
pub use suggest::closest;
pub use targets::read_targets;
pub use variable::VariableError;
