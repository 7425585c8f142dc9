//! What is tuned elsewhere, and how it is reached.
//!
//! In and out: values.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use super::recorded::AskMinutes;
use crate::fleet::ForHosts;
use crate::load::TlsSettings;
use crate::server::App;
use crate::terms::{Change, Configuration, ConnectionMode, Machine, Secrets, Target};

/// For a setting to be applied, and for the app to answer with it.
const BOOT_PATIENCE: Duration = Duration::from_secs(600);

/// The time for a setting to be applied and for the app to answer with it, where the user says how
/// long the app may take to boot: at least the usual, since to apply a setting takes time too.
pub fn boot_patience(asked: Option<Duration>) -> Duration {
    asked.map_or(BOOT_PATIENCE, |asked| asked.max(BOOT_PATIENCE))
}

/// Where an app answers.
#[derive(Clone)]
pub struct Destination {
    /// As people write it, without a path.
    pub url: String,
    /// At least one.
    pub addresses: Vec<SocketAddr>,
    /// The `Host` header.
    pub host: String,
    /// `None`: plain HTTP.
    pub tls: Option<TlsSettings>,
}

/// What is being done when a command of ours says something to people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Occasion {
    /// A setting is applied, or looked at after a load.
    Measuring,
    /// The app is put back. What of it stays changed is said by nobody else.
    PuttingBack,
}

/// Receives what is to be said to people while a session goes on or puts the app back, a line each.
pub type Tell = Box<dyn Fn(Occasion, &str) + Send + Sync>;

/// What commands that are ours say beside whether they did it. By one exit status alone they say
/// that another setting may be had (`FAILS_SETTING`).
pub struct Ours {
    /// Run after each load: succeeds where the app that was measured is the one that was applied.
    pub check: String,
    /// Receives what they say on their standard error, line by line as it comes.
    pub tell: Tell,
}

/// An app elsewhere. No `Debug`: its commands may hold secrets.
pub struct RemoteSettings {
    pub to: Destination,
    /// What it may use there; the processor's name and the kernel as far as anybody knows them
    /// before a shell there is asked.
    pub machine: Machine,
    /// What it runs with before anything is changed; `None`: nobody said.
    pub today: Option<Configuration>,
    /// The least of what is tried.
    pub least: Configuration,
    pub app: App,
    /// What variants are made of.
    pub changes: Vec<Change>,
    /// Where it answers now, by its name; `None`: as before. What starts a new machine or container
    /// for a setting may give it another address.
    pub look_up: Box<dyn Fn() -> Option<Vec<SocketAddr>> + Send + Sync>,
    /// Which release of it ran when its platform was asked; `None`: nobody has asked. Its commands
    /// are told.
    pub release: Option<String>,
    /// Gives it a setting: workers and threads are filled in.
    pub apply: String,
    /// Succeeds once the app runs with it; `None`: once the other has ended.
    pub ready: Option<String>,
    /// Gives a shell where the app runs; `None`: nothing is seen of what it uses.
    pub observe: Option<String>,
    /// Where nothing is seen by that: asks what its platform itself recorded; `None`: it does not.
    pub ask_minutes: Option<AskMinutes>,
    /// Puts it back.
    pub restore: String,
    /// The commands are those of a program that variables of the app's could change, and which
    /// hands them on by itself.
    pub hands_on: bool,
    /// The commands are ours; `None`: they are the user's, or another program's.
    pub ours: Option<Ours>,
    /// Files that these commands need, written before the first: absolute paths and texts.
    pub files: Vec<(PathBuf, String)>,
    /// Another host sends the loads; `None`: this one does.
    pub from: Option<ForHosts>,
    /// At least one.
    pub targets: Vec<Target>,
    pub connection: ConnectionMode,
    /// From due to the last byte.
    pub timeout: Duration,
    /// For a setting to be applied, and for the app to answer with it.
    pub boot_patience: Duration,
    /// Masked in what commands print.
    pub secrets: Secrets,
    /// Where results are kept; beside it it is written down that the app has been changed.
    pub store: PathBuf,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_app_is_given_the_time_that_was_asked_for_and_never_less_than_usual() {
        let minutes = |minutes: u64| Duration::from_secs(60 * minutes);
        assert_eq!(boot_patience(None), minutes(10));
        assert_eq!(boot_patience(Some(minutes(3))), minutes(10));
        assert_eq!(boot_patience(Some(minutes(30))), minutes(30));
    }
}
