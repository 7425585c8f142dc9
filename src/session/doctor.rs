//! What `sweetspot doctor` does: is this machine fit to measure on, and how is what is not mended?
//!
//! In: where the app and the store are. Out: a [`Finding`] a check, always the same checks in the
//! same order. Looks are here and in `probe`; what a figure means is judged in `classify`. Must not
//! change the machine: a control group made for a try is removed at once.

mod classify;
pub mod cluster;
mod probe;

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::statvfs;
use rustix::process::{Resource, getrlimit};

use crate::load;
use crate::monitor::{self, Cores, groups, host};
use crate::place::local::cgroup;
use crate::plan::{self, choose_server};
use crate::terms::{
    BusiestProcess, Bytes, Doubt, Finding, FindingState, LocalPorts, NodeSaid, Warning,
};
use classify::Busy;

/// What the checks look at besides the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DoctorSettings {
    /// Under one and a half seconds in all, for use before a session; coarser figures.
    pub quick: bool,
    /// The app's folder: its tools are looked for when it holds an app.
    pub app: PathBuf,
    /// Where the store will be; the folder need not exist yet.
    pub store: PathBuf,
}

/// What this machine says of itself to who looks at a cluster's nodes.
pub fn this_node() -> NodeSaid {
    NodeSaid {
        at_s: host::wall_clock_s(),
        cpu_model: host::cpu_model(),
        kernel: host::kernel(),
        cores: host::allowed_cores(0).len() as u32,
    }
}

/// Runs all checks; takes about two and a half seconds, or one when quick.
pub fn check(settings: &DoctorSettings) -> Vec<Finding> {
    let host = host::read();
    let look = Duration::from_millis(if settings.quick { 500 } else { 1000 });
    let own_groups = groups::own(Path::new("/"));
    // The probe makes its own load, so the look at other programs' load comes first.
    let busy = look_at_load(&host.allowed_cores, look);
    let budget = Duration::from_millis(if settings.quick { 400 } else { 1200 });
    let spread = probe::spread(&host.allowed_cores, budget);
    let mut findings = vec![
        classify::cores(&host),
        classify::governor(governors(&host.allowed_cores)),
        classify::steal(&busy),
        classify::load(&busy),
        classify::noise(spread),
        {
            let (limit, raisable_to) = open_files();
            classify::open_files(limit, raisable_to)
        },
        classify::ports(ports()),
        classify::listen_backlog(number_in("/proc/sys/net/core/somaxconn")),
        classify::clock(&text_in(
            "/sys/devices/system/clocksource/clocksource0/current_clocksource",
        )),
        classify::control_group(cgroup::permission(&own_groups)),
        classify::left_behind(cgroup::may_kill(&own_groups)),
        classify::priority(load::priority_permitted()),
    ];
    findings.extend(classify::memory(host.memory, host.memory_limit.as_ref().map(|at| at.limit)));
    findings.push(classify::disk(free_disk(&settings.store), &settings.store));
    findings.extend(classify::tools(&needs(&settings.app), &is_on_path));
    findings
}

/// The findings that are doubts, as a session tells them.
pub fn warnings(findings: &[Finding]) -> Vec<Warning> {
    let doubts = findings.iter().filter(|finding| finding.state != FindingState::Ok);
    doubts.map(|finding| Doubt::from(finding.check.clone()).into()).collect()
}

/// What cores and other processes do while we do nothing.
fn look_at_load(allowed: &[u16], look: Duration) -> Busy {
    let clocks = || -> HashMap<u32, u64> {
        let pids = monitor::all_pids().unwrap_or_default().into_iter();
        pids.filter_map(|pid| Some((pid, monitor::cpu_clock_ns(pid)?))).collect()
    };
    let mut cores = Cores::start();
    let before = clocks();
    let began = Instant::now();
    std::thread::sleep(look);
    let used = cores.used(allowed);
    let length_s = began.elapsed().as_secs_f64();
    let own = std::process::id();
    let used_by = clocks().into_iter().filter(|(pid, _)| *pid != own).filter_map(|(pid, now)| {
        let before = before.get(&pid).copied().unwrap_or(0);
        Some((now.checked_sub(before)?, pid))
    });
    let busiest = used_by.max().filter(|(used, _)| *used > 0).map(|(used, pid)| BusiestProcess {
        pid,
        name: text_in(&format!("/proc/{pid}/comm")),
        cores: used as f64 / 1e9 / length_s,
    });
    Busy { cores_busy: used.cores_busy, steal_s: used.steal_s, length_s, busiest }
}

/// The frequency governor of each core that shows one, each name once.
fn governors(allowed: &[u16]) -> Vec<String> {
    let file = |core: &u16| format!("/sys/devices/system/cpu/cpu{core}/cpufreq/scaling_governor");
    let names = allowed.iter().map(|core| text_in(&file(core))).filter(|name| !name.is_empty());
    names.collect::<BTreeSet<_>>().into_iter().collect()
}

/// The limit on open files, and what it may be raised to.
fn open_files() -> (u64, u64) {
    let limit = getrlimit(Resource::Nofile);
    (limit.current.unwrap_or(u64::MAX), limit.maximum.unwrap_or(u64::MAX))
}

fn ports() -> Option<LocalPorts> {
    let range = text_in("/proc/sys/net/ipv4/ip_local_port_range");
    let mut ends = range.split_ascii_whitespace().filter_map(|end| end.parse::<u32>().ok());
    let (first, last) = ends.next().zip(ends.next())?;
    let is_reused = number_in("/proc/sys/net/ipv4/tcp_tw_reuse").is_some_and(|mode| mode > 0);
    Some(LocalPorts { first, last, is_reused })
}

/// The content of a small file without its end; empty when it cannot be read.
fn text_in(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default().trim().to_string()
}

fn number_in(path: &str) -> Option<u64> {
    text_in(path).parse().ok()
}

/// Free for this user in the folder, or in the nearest one above it that exists.
fn free_disk(folder: &Path) -> Option<Bytes> {
    let absolute = std::path::absolute(folder).ok()?;
    let existing = absolute.ancestors().find(|one| one.is_dir())?;
    let state = statvfs(existing).ok()?;
    Some(Bytes(state.f_bavail.saturating_mul(state.f_frsize)))
}

/// Programs that the app in this folder needs; empty when there is no app.
fn needs(app: &Path) -> Vec<&'static str> {
    let has = |name: &str| app.join(name).is_file();
    match () {
        // The bundle brings its own server.
        () if has("Gemfile") => vec!["ruby", "bundle"],
        // Whatever else is wrong with the app is `tune`'s to say.
        () => match plan::recognise(app) {
            Ok(mut app) => {
                let language = app.framework.is_rack().then_some("ruby");
                let server = choose_server(&mut app, None).map(|chosen| chosen.adapter).ok();
                // An environment of the app's own brings its server.
                let server = server.filter(|adapter| plan::own_program(&app, *adapter).is_none());
                let server = server.and_then(|adapter| adapter.about().programs.first().copied());
                language.into_iter().chain(server).collect()
            }
            Err(_) => Vec::new(),
        },
    }
}

fn is_on_path(program: &str) -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt;
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| {
        file.metadata()
            .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Language, Said};
    use crate::terms::MachineCheck;

    #[test]
    fn doubts_become_warnings_and_what_is_well_does_not() {
        let finding = |state, steal_ratio| {
            let check = MachineCheck::StealFound { steal_ratio, over_s: 1.0 };
            Finding { state, check }
        };
        let findings = [finding(FindingState::Ok, 0.0), finding(FindingState::Bad, 0.09)];
        let expected: Warning = Doubt::from(findings[1].check.clone()).into();
        let doubts = warnings(&findings);
        assert_eq!(doubts, [expected]);
        let Said { message, advice } = Language::DATA.say_doubt(&doubts[0]);
        assert_eq!((&*doubts[0].code(), &*message), ("steal", "steal: 9.0 % of 1.0 s"));
        assert!(advice.contains("measure on dedicated cores"), "{advice}");
    }

    #[test]
    fn an_app_says_which_tools_it_needs() {
        let folder = tempfile::tempdir().unwrap();
        assert!(needs(folder.path()).is_empty());
        fs::write(folder.path().join("config.ru"), "run ->(_) { [200, {}, []] }").unwrap();
        assert_eq!(needs(folder.path()), ["ruby", "puma"]);
        fs::write(folder.path().join("unicorn.rb"), "").unwrap();
        assert_eq!(needs(folder.path()), ["ruby", "unicorn"]);
        let python = tempfile::tempdir().unwrap();
        fs::write(python.path().join("wsgi.py"), "application = 1\n").unwrap();
        assert_eq!(needs(python.path()), ["gunicorn"]);
        fs::write(folder.path().join("Gemfile"), "gem 'puma'").unwrap();
        assert_eq!(needs(folder.path()), ["ruby", "bundle"]);
    }

    #[test]
    fn free_disk_is_that_of_the_nearest_folder_that_exists() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("a/b/c");
        assert!(free_disk(&missing).unwrap().0 > 0);
        assert!(!missing.exists());
    }

    #[test]
    fn programs_are_found_on_the_path_only_when_they_can_be_run() {
        assert!(is_on_path("sh").is_some());
        assert_eq!(is_on_path("no-such-program-anywhere"), None);
    }
}
