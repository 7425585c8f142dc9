//! What real servers need on this machine.

use std::collections::BTreeMap;
use std::path::Path;

use sweetspot::place::local::scratch_places;
use sweetspot::place::local::services::Services;
use sweetspot::plan::{check_programs, choose_server, recognise};
use sweetspot::server::{self, Adapter, App};
use sweetspot::session::local;
use sweetspot::terms::StopSignal;

use super::{Result, checkout, program};

/// None yet; ended when they are dropped.
pub fn services(stop: &StopSignal) -> Result<Services> {
    Ok(Services::begin(&program(), &scratch_places(), None, stop.clone())?)
}

/// Starts the service of the published experiment with a slow endpoint: it answers when the time
/// asked for is over.
pub fn start_slow_service(services: &mut Services) -> Result<()> {
    Ok(services.start_external("ruby external.rb", &checkout("labs/mixed-rails/app"))?)
}

/// The app of a folder, with these variables, on Puma.
pub fn on_puma(
    folder: &Path,
    env: BTreeMap<String, String>,
) -> Result<(App, &'static dyn Adapter)> {
    let puma = server::find("puma").ok_or("Puma's adapter is gone")?;
    let mut app = recognise(folder)?;
    choose_server(&mut app, Some(puma))?;
    app.env = env.into();
    check(&mut app, puma)?;
    Ok((app, puma))
}

/// # Errors
/// A program that the app needs is not installed.
pub fn check(app: &mut App, adapter: &'static dyn Adapter) -> Result<()> {
    Ok(check_programs(app, adapter, &local::surroundings()?.program_folders)?)
}
