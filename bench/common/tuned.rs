//! An app as one plan has it: from what is typed follow both what a bench measures itself and what
//! the command is given, so that neither has a setting that the other lacks.

use std::ffi::OsString;

use sweetspot::place::local::LocalSettings;
use sweetspot::place::local::services::Services;
use sweetspot::plan::{self, Key, Plan, Typed};
use sweetspot::session::local;
use sweetspot::terms::StopSignal;

use super::{Result, program};

pub struct Tuned {
    pub plan: Plan,
    pub stop: StopSignal,
    typed: Typed,
    /// Ended with the app.
    _services: Services,
}

impl Tuned {
    /// On Puma, with what leads the app to its services.
    pub fn prepare(typed: Typed, services: Services, stop: &StopSignal) -> Result<Self> {
        let env = services.env().iter().map(|(name, value)| format!("{name}={value}"));
        let typed = typed.with(Key::Server, "puma").with_all(Key::Env, env).with(Key::Yes, "true");
        let plan = plan::resolve(&typed, &local::surroundings()?)?;
        Ok(Self { plan, stop: stop.clone(), typed, _services: services })
    }

    /// Where a bench measures it.
    pub fn settings(&self) -> Result<LocalSettings> {
        Ok(LocalSettings { guardian: program(), ..local::settings(&self.plan)? })
    }

    /// What the command is given, for the same.
    pub fn arguments(&self) -> Vec<OsString> {
        let flag = |key: Key| OsString::from(format!("--{}", key.name()));
        let paths = self.typed.paths.iter();
        let paths = paths.flat_map(|(key, path)| [flag(*key), path.clone().into_os_string()]);
        let texts = self.typed.texts.iter().filter(|(key, _)| **key != Key::Yes);
        let texts = texts.flat_map(|(key, all)| all.iter().flat_map(|it| [flag(*key), it.into()]));
        [flag(Key::Yes)].into_iter().chain(paths).chain(texts).collect()
    }
}
