//! What a script of ours printed about an app's own server settings.
//!
//! In: everything the command printed. Out: the script's report, or what went wrong. Only computes.

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::server::{About, Inspection, InspectionError};
use crate::terms::{BootFailureKind, Configuration};

/// Stands before the script's one line of JSON: the app's own settings may print as well.
const MARK: &str = "sweetspot-inspection ";

#[derive(Deserialize)]
#[serde(untagged)]
enum Report<T> {
    Failure { error: String, at: Option<String>, server_missing: bool },
    Settings(T),
}

/// The report that stands after the mark.
///
/// # Errors
/// There is none, it is not what the script prints, or the settings don't load.
fn report<T: DeserializeOwned>(stdout: &str, about: &About) -> Result<T, InspectionError> {
    let json = stdout.lines().rev().find_map(|line| line.trim().strip_prefix(MARK));
    let json = json.ok_or_else(|| failed("the command printed no settings".into()))?;
    match serde_json::from_str(json).map_err(|error| failed(error.to_string()))? {
        Report::Settings(settings) => Ok(settings),
        Report::Failure { server_missing: true, error, .. } => Err(InspectionError {
            kind: BootFailureKind::NotInstalled,
            message: format!("{} is not installed ({error})", about.title),
        }),
        Report::Failure { error, at: Some(at), .. } => Err(failed(format!("{error} ({at})"))),
        Report::Failure { error, at: None, .. } => Err(failed(error)),
    }
}

/// What becomes of the report; the error says why the settings cannot be run.
///
/// # Errors
/// As [`report`]'s; or the settings cannot be run.
pub fn read<T: DeserializeOwned>(
    stdout: &str,
    about: &About,
    inspection: impl FnOnce(T) -> Result<Inspection, String>,
) -> Result<Inspection, InspectionError> {
    report(stdout, about).and_then(|settings| inspection(settings).map_err(failed))
}

/// The app's own setting as a configuration.
///
/// # Errors
/// It has no workers, or no threads.
pub fn current(workers: u16, threads: u16) -> Result<Configuration, String> {
    Configuration::new(workers, threads)
        .map_err(|error| format!("the app's own setting cannot run: {error}"))
}

/// Said of addresses that the settings name, and of what stands for them; nothing when there are
/// none.
pub fn not_opened(addresses: &[String], instead: &str) -> Option<String> {
    let names = addresses.join(", ");
    (!addresses.is_empty())
        .then(|| format!("its own addresses ({names}) are not opened: {instead}"))
}

/// What stands for them where the server answers by itself.
pub const ON_A_FREE_PORT: &str = "it listens on a free port of 127.0.0.1";

/// Said of files that the settings have the server write to; nothing when there are none.
pub fn not_written(files: &[String]) -> Option<String> {
    let names = files.join(" and ");
    (!files.is_empty()).then(|| format!("{names} is not written to while measuring"))
}

/// Settings that cannot be read or run.
pub fn failed(message: String) -> InspectionError {
    InspectionError { kind: BootFailureKind::Exited, message }
}

/// Sees that each of these texts stands in a remark, and gives back all of them.
#[cfg(test)]
pub fn assert_says(inspection: &Inspection, expected: &[&str]) -> String {
    let remarks = inspection.remarks.join("\n");
    for text in expected {
        assert!(remarks.contains(text), "{text} is missing in: {remarks}");
    }
    remarks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::{Adapter, puma::Puma};

    #[derive(Debug, Deserialize, PartialEq)]
    struct Settings {
        workers: u16,
    }

    fn read(json: &str) -> Result<Settings, InspectionError> {
        let chatter = "the app's own chatter\n\nsweetspot-inspection ";
        report(&format!("{chatter}{json}\n"), Puma.about())
    }

    #[test]
    fn the_report_is_found_among_other_output() {
        assert_eq!(read(r#"{"workers":2,"more":1}"#), Ok(Settings { workers: 2 }));
    }

    #[test]
    fn a_failure_names_the_apps_own_line_and_a_missing_server() {
        let error = read(
            r#"{"error":"NameError: no local","at":"config/puma.rb:3","server_missing":false}"#,
        )
        .unwrap_err();
        assert_eq!(error.kind, BootFailureKind::Exited);
        assert!(error.message.contains("config/puma.rb:3"), "{error}");
        let missing = read(r#"{"error":"LoadError: no puma","at":null,"server_missing":true}"#);
        let missing = missing.unwrap_err();
        assert_eq!(missing.kind, BootFailureKind::NotInstalled);
        assert!(missing.message.starts_with("Puma is not installed"), "{missing}");
        let nothing = report::<Settings>("nothing\n", Puma.about());
        assert_eq!(nothing.unwrap_err().kind, BootFailureKind::Exited);
    }
}
