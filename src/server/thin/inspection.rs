//! What the inspection script printed becomes an [`Inspection`].
//!
//! In: everything the command printed. Out: the settings, or what went wrong. Only computes.

use serde::Deserialize;

use crate::server::command_line::text;
use crate::server::{App, Inspection, InspectionError, Obeys, inspection};
use crate::terms::{Remark, RubyRemark, SettingsRemark};

#[derive(Deserialize)]
struct Options {
    workers: u16,
    threads: u16,
    /// After this time a connection on which nothing comes or goes is closed, as far as the event
    /// loop is free to notice.
    timeout_s: u32,
    /// The most connections of one process.
    connections: u32,
    /// Socket, address, port, as far as the settings name them.
    listeners: Vec<String>,
    /// Its log and its pid file, as far as the settings name them.
    written: Vec<String>,
    /// Names of settings that cannot be kept.
    not_applied: Vec<String>,
    rackup: Option<String>,
    /// Missing where it could not be found out.
    obeys: Option<ObeyedNames>,
    thin: String,
    ruby: String,
    yjit: Option<bool>,
}

#[derive(Deserialize)]
struct ObeyedNames {
    workers: Option<String>,
    threads: Option<String>,
}

pub(super) fn read(app: &App, stdout: &str) -> Result<Inspection, InspectionError> {
    let options: Options = inspection::read(stdout, &super::ABOUT)?;
    let current = inspection::current(options.workers, options.threads)?;
    Ok(Inspection {
        remarks: remarks(app, &options),
        obeys: options.obeys.map(obeys).unwrap_or_default(),
        server_version: options.thin,
        lacks_yjit: options.yjit == Some(false),
        runtime_version: options.ruby,
        ..Inspection::of(current)
    })
}

fn obeys(names: ObeyedNames) -> Obeys {
    Obeys { workers: names.workers, max_threads: names.threads, ..Obeys::default() }
}

/// What is kept and matters, then what is measured and differs from what the app's settings say.
fn remarks(app: &App, options: &Options) -> Vec<Remark> {
    let file = app.server_config.as_deref().map(text);
    let (connections_max, timeout_s) = (options.connections, options.timeout_s);
    let mut remarks = vec![RubyRemark::ThinWorkers { connections_max, timeout_s }.into()];
    let addresses = options.listeners.clone();
    if !addresses.is_empty() {
        remarks.push(SettingsRemark::AddressesNotOpenedBehindNginx { addresses }.into());
    }
    remarks.extend(inspection::not_written(&options.written));
    let names = options.not_applied.clone();
    if !names.is_empty() {
        remarks.push(RubyRemark::SettingsLeftOut { file: file.clone(), names }.into());
    }
    if let Some(rackup) = options.rackup.clone().filter(|rackup| *rackup != app.entry) {
        let measured = app.entry.clone();
        remarks.push(RubyRemark::OtherRackup { file, rackup, measured }.into());
    }
    remarks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::Framework;
    use crate::server::inspection::assert_says;
    use crate::terms::{Configuration, SettingsError};

    const PRINTED: &str = "chatter\nsweetspot-inspection {\"workers\":3,\"threads\":20,\
        \"timeout_s\":30,\"connections\":1024,\"listeners\":[\"/run/thin.sock\"],\
        \"written\":[\"log/thin.log\"],\"not_applied\":[\"ssl\",\"user\"],\
        \"rackup\":\"shop.ru\",\"obeys\":{\"workers\":\"WEB_CONCURRENCY\",\"threads\":null},\
        \"thin\":\"1.8.1\",\"ruby\":\"ruby 3.1.2\"}\n";

    fn app() -> App {
        App {
            server_config: Some("thin.yml".into()),
            ..App::new("/srv/shop", Framework::Rack, "config.ru")
        }
    }

    #[test]
    fn workers_and_threads_are_read_and_what_differs_is_said() {
        let inspection = read(&app(), PRINTED).unwrap();
        assert_eq!(inspection.current, Configuration::new(3, 20).unwrap());
        assert_eq!(inspection.server_version, "1.8.1");
        assert_eq!(inspection.obeys.workers.as_deref(), Some("WEB_CONCURRENCY"));
        assert_eq!(inspection.obeys.max_threads, None);
        assert_says(
            &inspection,
            &[
                "at most 1024 connections",
                "longer than 30 s is cut off",
                "(/run/thin.sock) are not opened",
                "log/thin.log is not written to",
                "thin.yml sets ssl, user, which is left out",
                "thin.yml starts from shop.ru; config.ru is measured",
            ],
        );
    }

    #[test]
    fn a_number_that_cannot_run_is_refused() {
        let none = PRINTED.replace("\"workers\":3", "\"workers\":0");
        let error = read(&app(), &none).unwrap_err();
        assert_eq!(error.why, SettingsError::NoWorkers);
    }
}
