//! What is started on this machine, and with what.
//!
//! In and out: values. Must not start anything.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::server::{Adapter, App, PROBE_OPTIONS};
use crate::terms::{Bytes, Change, ConnectionMode, Cores, Secrets, Target};

/// A server that is not ready by then will not become so, unless the user gives it longer.
pub const BOOT_PATIENCE: Duration = Duration::from_secs(60);

/// This program; stays the right one also when the file it was started from has been replaced.
pub const OWN_PROGRAM: &str = "/proc/self/exe";

/// Where servers and proxies are installed that not every user's `PATH` leads to: they are looked
/// for there after `PATH`.
pub const SYSTEM_PROGRAMS: [&str; 3] = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

/// Where folders of our own can be made, the first choice first.
pub fn scratch_places() -> Vec<PathBuf> {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    [std::env::temp_dir()].into_iter().chain(runtime).collect()
}

/// What to start, and with what.
pub struct LocalSettings {
    pub app: App,
    /// Names of those of the app's variables that the user did not give: their values are no more
    /// secret than those of inherited ones.
    pub public: BTreeSet<String>,
    /// What variants are made of.
    pub changes: Vec<Change>,
    pub adapter: &'static dyn Adapter,
    /// At least one.
    pub targets: Vec<Target>,
    pub connection: ConnectionMode,
    /// From due to the last byte.
    pub timeout: Duration,
    /// `None`: all that this process may use.
    pub cores: Option<Cores>,
    pub memory: Option<Bytes>,
    /// A load ends sooner than offered, after this many measured requests.
    pub most_requests: Option<u64>,
    /// Most time from start to readiness.
    pub boot_patience: Duration,
    /// The loopback port to listen on; `None`: any free one.
    pub port: Option<u16>,
    /// Where our own folder may be made; the first that can be written to is taken.
    pub scratch_in: Vec<PathBuf>,
    /// The program that is the guardian when called with `__guardian`.
    pub guardian: PathBuf,
}

impl LocalSettings {
    /// The defaults: fresh connections, 30 s timeout, no limits, any port, this program as
    /// guardian.
    pub fn new(app: App, adapter: &'static dyn Adapter, targets: Vec<Target>) -> Self {
        Self {
            app,
            public: BTreeSet::new(),
            changes: Vec::new(),
            adapter,
            targets,
            connection: ConnectionMode::Fresh,
            timeout: Duration::from_secs(30),
            cores: None,
            memory: None,
            most_requests: None,
            boot_patience: BOOT_PATIENCE,
            port: None,
            scratch_in: scratch_places(),
            guardian: OWN_PROGRAM.into(),
        }
    }

    /// What must not be seen in what the server prints: the values that the user gave it and its
    /// requests, and those of inherited variables that say so.
    pub(super) fn secrets(&self) -> Secrets {
        let env = self.app.env.iter().map(|(name, value)| (&**name, &**value));
        let (public, given): (Vec<_>, Vec<_>) =
            env.partition(|(name, _)| self.public.contains(*name));
        inherited_secrets()
            .with_inherited(self.app.start_env.iter().map(|(name, value)| (&**name, &**value)))
            .with_inherited(public)
            .with_given(given)
            .with_requests(&self.targets)
    }

    /// The probe sets a variable that we may have inherited, and that the server would inherit from
    /// us: what stands there is kept as if the user had given it for the app.
    pub(super) fn with_inherited(mut self, inherited: impl Fn(&str) -> Option<String>) -> Self {
        if self.app.is_probed && !self.app.env.contains_key(PROBE_OPTIONS) {
            let options = inherited(PROBE_OPTIONS);
            self.app.env.extend(options.map(|options| (PROBE_OPTIONS.to_string(), options)));
        }
        self
    }
}

/// The values of those of our own variables that say so: who we start sees them, and may print
/// them.
pub fn inherited_secrets() -> Secrets {
    let as_text = |(name, value): (OsString, OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    let inherited: Vec<(String, String)> = std::env::vars_os().filter_map(as_text).collect();
    Secrets::default().with_inherited(inherited.iter().map(|(name, value)| (&**name, &**value)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::{Framework, find};

    #[test]
    fn options_that_we_inherited_are_kept_for_a_probed_app_unless_it_has_its_own() {
        let options = |is_probed: bool, own: Option<&str>| {
            let mut app = App::new("/srv/shop", Framework::Rack, "config.ru");
            app.is_probed = is_probed;
            app.env.extend(own.map(|own| ("RUBYOPT".to_string(), own.to_string())));
            let settings = LocalSettings::new(app, find("puma").unwrap(), Vec::new());
            let settings = settings.with_inherited(|name| Some(format!("{name} of ours")));
            settings.app.env.get("RUBYOPT").cloned()
        };
        assert_eq!(options(true, None).as_deref(), Some("RUBYOPT of ours"));
        assert_eq!(options(true, Some("-W0")).as_deref(), Some("-W0"));
        assert_eq!(options(false, None), None, "it is inherited as it is");
    }

    #[test]
    fn values_that_the_user_gave_are_not_shown_and_paths_that_were_inherited_are() {
        let mut app = App::new("/srv/shop", Framework::Rack, "config.ru");
        let variables = [("RUBYLIB", "/srv/own/lib"), ("GIVEN", "s3cret-of-ours")];
        app.env.extend(variables.map(|(name, value)| (name.to_string(), value.to_string())));
        let settings = LocalSettings {
            public: ["RUBYLIB".to_string()].into(),
            ..LocalSettings::new(app, find("puma").unwrap(), Vec::new())
        };
        let shown = settings.secrets().mask("/srv/own/lib/shop.rb: s3cret-of-ours");
        assert_eq!(shown, "/srv/own/lib/shop.rb: [hidden]");
    }
}
