//! Why a setting or a change was not measured, in English.

use super::super::Language;
use crate::terms::{Bytes, Obstacle};

pub fn sentence(obstacle: &Obstacle) -> String {
    match obstacle {
        Obstacle::NeedsMemory { needed_bytes, limit_bytes } => {
            format!("would need about {} of {}", Bytes(*needed_bytes), Bytes(*limit_bytes))
        }
        Obstacle::NeedsDatabaseConnections { needed, limit } => {
            format!("needs {needed} database connections of {limit}")
        }
        Obstacle::DoesNotStart { why } => {
            format!("does not start: {}", Language::English.say(why))
        }
        Obstacle::DiedTwice => "the server died under load, twice".into(),
        Obstacle::NotMeasurable { why } => {
            format!("could not be measured: {}", Language::English.say(why))
        }
        Obstacle::AnsweredNothing => "answered nothing under a saturating load".into(),
        Obstacle::SetsWorkersOrThreads { variable } => {
            format!("{variable} sets the app's workers or threads, which are tried anyway")
        }
        Obstacle::SettingTooNew { server, setting, since, version } => {
            format!("{server} has {setting} from {since} on, and this is {version}")
        }
        Obstacle::SettingGone { server, setting, until, instead, version } => {
            format!("{server} {until} took {setting} away ({instead}), and this is {version}")
        }
        Obstacle::NoYjit { runtime } => {
            format!("this Ruby ({runtime}) was built without YJIT")
        }
        Obstacle::NoTimeLeft { more_s } => {
            let minutes = (more_s / 60.0).round().max(1.0);
            let plural = if minutes == 1.0 { "" } else { "s" };
            format!("no time was left to try it: {minutes} minute{plural} more would do")
        }
        Obstacle::SessionEnded => "the session ended before it was tried".into(),
    }
}
