//! Why a session could not go on, in English.

use crate::report::Language;
use crate::terms::{SessionError, SettingsError, Task};

pub fn sentence(error: &SessionError) -> String {
    match error {
        SessionError::AppDoesNotStart { cause, advice } => {
            format!("{}; {}", Language::English.say(cause), Language::English.say(advice))
        }
        SessionError::CouldNot { what, why } => {
            format!("could not {}: {why}", Language::English.say(what))
        }
        SessionError::CommandFailed { what, how } => format!("could not {}: {how}", task(what)),
        SessionError::CommandLate { what, patience_s } => {
            format!("could not {} within {patience_s} s", task(what))
        }
        SessionError::NoLoadGenerator { part, why } => {
            format!("could not set up the load generator: {part}: {why}")
        }
        SessionError::SettingsNotRead { why } => {
            format!("could not read the app's own server settings: {}", settings(why))
        }
        SessionError::ServiceLate { name, patience_s } => {
            format!("{name} did not come up within {patience_s} s")
        }
        SessionError::ServiceEnded { name, how } => format!("{name} has ended: {how}"),
        SessionError::Interrupted => "stopped by the user".into(),
    }
}

pub fn task(task: &Task) -> String {
    match task {
        Task::OpenAppFolder { folder } => format!("open the app's folder {folder}"),
        Task::FindCores => "ask which cores may be used".into(),
        Task::FindFreePort => "find a free port".into(),
        Task::RemoveFile { path } => format!("remove {path}"),
        Task::WriteFile { path } => format!("write {path}"),
        Task::WriteReport => "write the report".into(),
        Task::StartGuardian { folders } => format!(
            "start the guardian with a folder of its own in {} (TMPDIR names another place)",
            folders.join(" or ")
        ),
        Task::OrderGuardian => "give the guardian an order".into(),
        Task::AwaitGuardian => "get an answer from the guardian".into(),
        Task::ReachGuardian => {
            "reach the guardian, which somebody has killed: run the command again".into()
        }
        Task::StartServer => "start the app server".into(),
        Task::StartShell => "start a shell".into(),
        Task::EndServer => "end the app server".into(),
        Task::EndServerProcesses { pids } => format!("end the app server's processes {pids:?}"),
        Task::FreeServerAddress { address } => format!("close the app server's address {address}"),
        Task::MakeServiceFolder => "make a folder for the services".into(),
        Task::StartService { name } => format!("start {name}"),
        Task::MakeDatabaseTables => "make MariaDB's tables".into(),
        Task::RunSetup { command } => format!("run `{command}`"),
        Task::CheckOut { commit } => format!("check out {commit} into a folder of its own"),
    }
}

fn settings(error: &SettingsError) -> String {
    match error {
        SettingsError::NothingPrinted => "the command printed no settings".into(),
        SettingsError::VersionNotPrinted => "PHP-FPM did not say its version".into(),
        SettingsError::NotReadInTime { patience_s } => {
            format!("they were not read within {patience_s} s; --boot-timeout gives them longer")
        }
        SettingsError::Failed { error, at: None } => error.clone(),
        SettingsError::Failed { error, at: Some(at) } => format!("{error} ({at})"),
        SettingsError::NotInstalled { server, error } => {
            format!("{server} is not installed ({error})")
        }
        SettingsError::NoWorkers => {
            "the app's own setting cannot run: 0 is not a number of workers from 1".into()
        }
        SettingsError::NoThreads => {
            "the app's own setting cannot run: 0 is not a number of threads from 1".into()
        }
        SettingsError::NoNumberOfWorkers { setting, value } => {
            format!("{setting} = {value} is no number of workers")
        }
    }
}
