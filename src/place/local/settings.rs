//! What is started on this machine, and with what.
//!
//! In and out: values. Must not start anything.

use std::path::PathBuf;
use std::time::Duration;

use crate::server::{Adapter, App};
use crate::terms::{Bytes, ConnectionMode, Cores, Target};

/// A server that is not ready by then will not become so.
pub const BOOT_PATIENCE: Duration = Duration::from_secs(60);

/// What to start, and with what.
pub struct LocalSettings {
    pub app: App,
    pub adapter: &'static dyn Adapter,
    /// At least one.
    pub targets: Vec<Target>,
    pub connection: ConnectionMode,
    /// From due to the last byte.
    pub timeout: Duration,
    /// `None`: all that this process may use.
    pub cores: Option<Cores>,
    pub memory: Option<Bytes>,
    /// Keep the figures of each target; costs the generator some time a request.
    pub tells_targets_apart: bool,
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
        let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
        Self {
            app,
            adapter,
            targets,
            connection: ConnectionMode::Fresh,
            timeout: Duration::from_secs(30),
            cores: None,
            memory: None,
            tells_targets_apart: false,
            boot_patience: BOOT_PATIENCE,
            port: None,
            scratch_in: [std::env::temp_dir()].into_iter().chain(runtime).collect(),
            // Stays the right program also when the file it was started from has been replaced.
            guardian: "/proc/self/exe".into(),
        }
    }
}
