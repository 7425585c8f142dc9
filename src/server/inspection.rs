//! What a script of ours printed about an app's own server settings.
//!
//! In: everything the command printed. Out: the script's report, or what went wrong. Only computes.

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::server::{About, InspectionError};
use crate::terms::{
    BootFailureKind, Configuration, Remark, SettingsError, SettingsRemark, Threads, Workers,
};

/// Stands before the script's one line of JSON: the app's own settings may print as well.
const MARK: &str = "sweetspot-inspection ";

#[derive(Deserialize)]
#[serde(untagged)]
enum Report<T> {
    Failure { error: String, at: Option<String>, server_missing: bool },
    Settings(T),
}

/// Is this line a report of ours, and not what the app or its server said?
pub fn is_report(line: &str) -> bool {
    line.trim().starts_with(MARK)
}

/// The report that stands after the mark.
///
/// # Errors
/// There is none, it is not what the script prints, or the settings don't load.
pub fn read<T: DeserializeOwned>(stdout: &str, about: &About) -> Result<T, InspectionError> {
    let json = stdout.lines().rev().find_map(|line| line.trim().strip_prefix(MARK));
    let json = json.ok_or(SettingsError::NothingPrinted)?;
    let unclear = |error: serde_json::Error| error.to_string();
    match serde_json::from_str(json).map_err(unclear) {
        Ok(Report::Settings(settings)) => Ok(settings),
        Ok(Report::Failure { server_missing: true, error, .. }) => Err(InspectionError {
            kind: BootFailureKind::NotInstalled,
            why: SettingsError::NotInstalled { server: about.title.into(), error },
        }),
        Ok(Report::Failure { error, at, .. }) => Err(SettingsError::Failed { error, at }.into()),
        Err(error) => Err(SettingsError::Failed { error, at: None }.into()),
    }
}

/// The app's own setting as a configuration.
///
/// # Errors
/// It has no workers, or no threads.
pub fn current(workers: u16, threads: u16) -> Result<Configuration, SettingsError> {
    let workers = Workers::new(workers).map_err(|_| SettingsError::NoWorkers)?;
    let threads = Threads::new(threads).map_err(|_| SettingsError::NoThreads)?;
    Ok(Configuration { workers, threads })
}

/// Addresses that the settings name are not opened; nothing when there are none.
pub fn not_opened(addresses: &[String]) -> Option<Remark> {
    let addresses = addresses.to_vec();
    (!addresses.is_empty()).then(|| SettingsRemark::AddressesNotOpened { addresses }.into())
}

/// Files that the settings have the server write to; nothing when there are none.
pub fn not_written(files: &[String]) -> Option<Remark> {
    let files = files.to_vec();
    (!files.is_empty()).then(|| SettingsRemark::FilesNotWritten { files }.into())
}

/// Sees that each of these texts stands in a remark, and gives back all of them.
#[cfg(test)]
pub fn assert_says(inspection: &super::Inspection, expected: &[&str]) -> String {
    let remarks = crate::report::Language::DATA.say_each(&inspection.remarks).join("\n");
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
        super::read(&format!("{chatter}{json}\n"), Puma.about())
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
        let at = Some("config/puma.rb:3".to_string());
        assert_eq!(error.why, SettingsError::Failed { error: "NameError: no local".into(), at });
        let missing = read(r#"{"error":"LoadError: no puma","at":null,"server_missing":true}"#);
        let missing = missing.unwrap_err();
        assert_eq!(missing.kind, BootFailureKind::NotInstalled);
        let (server, error) = ("Puma".into(), "LoadError: no puma".into());
        assert_eq!(missing.why, SettingsError::NotInstalled { server, error });
        let nothing = super::read::<Settings>("nothing\n", Puma.about());
        assert_eq!(nothing.unwrap_err().kind, BootFailureKind::Exited);
    }
}
