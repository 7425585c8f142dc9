//! What a script of ours printed about an app's own server settings.
//!
//! In: everything the command printed. Out: the script's report, or what went wrong. Only computes.

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::server::{About, InspectionError};
use crate::terms::BootFailureKind;

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
pub fn report<T: DeserializeOwned>(stdout: &str, about: &About) -> Result<T, InspectionError> {
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

/// Settings that cannot be read or run.
pub fn failed(message: String) -> InspectionError {
    InspectionError { kind: BootFailureKind::Exited, message }
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
