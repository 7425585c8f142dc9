//! What the server's own processes tell of their requests, through a socket that is made here.
//!
//! In: datagrams of a probe inside these processes, each with all that its process has counted
//! since somebody listens. Out: what was added between two calls, process by process. Only listens,
//! and believes nothing that does not look like the probe's.

use std::collections::{BTreeMap, HashSet};
use std::fs::Permissions;
use std::io;
use std::net::Shutdown;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};

use crate::terms::{BlindSpot, InsideRequest, InsideUse};

/// The first words of every datagram, before the process's id and the sums.
const NAME: &str = "sweetspot-probe";
const VERSION: &str = "1";

/// What is summed over requests, in the order of [`Sums`]. Times in nanoseconds; `stamped` is how
/// many requests came with a time stamp, `queue_ns` how long these had waited, `odd_stamps` how
/// many came with one that makes no sense.
const SUMS: [&str; 9] = [
    "requests",
    "app_ns",
    "cpu_ns",
    "probe_ns",
    "stamped",
    "queue_ns",
    "odd_stamps",
    "gc_ns",
    "gvl_ns",
];

/// How many threads the process's server may have at most, where it says so: no sum.
const THREADS: &str = "threads";

/// Where those of the time stamps stand in [`SUMS`].
const STAMPED: usize = 4;
const ODD_STAMPS: usize = 6;

/// How many of [`SUMS`], from the first on, every process can tell.
const NEEDED: usize = 6;

/// This share of the time stamps may make no sense without its being said: clients send what they
/// like where nothing in front sets the header anew.
const ODD_QUIET: f64 = 0.01;

/// Longer ones are not the probe's.
const LONGEST: usize = 128 * 1024;

/// Requests that are kept until somebody asks for them; of more the sums alone are.
const REQUESTS_MOST: usize = 100_000;

/// Read at one look: whoever floods the socket must not hold up the watching.
const MOST_AT_ONCE: usize = 10_000;

/// The kernel's limit for the path of a unix socket, the zero byte at its end left out.
pub const LONGEST_PATH: usize = 107;

/// Listens to the processes of a server. Dropping it takes its socket away.
pub struct Inside {
    socket: UnixDatagram,
    path: PathBuf,
    /// By process id.
    processes: BTreeMap<u32, Process>,
    /// Those that were told one by one, since they were asked for last, and by which process.
    requests: Vec<(u32, InsideRequest)>,
    /// As was told last of [`THREADS`], by the process that told it.
    threads: Option<(u32, u64)>,
    /// The processes that are meant; `None`: all that tell something.
    meant: Option<HashSet<u32>>,
    gaps: Gaps,
    buffer: Vec<u8>,
}

/// What was heard of one process.
struct Process {
    /// As told last, since somebody listens.
    reported: Sums,
    /// Of that, what [`Inside::used`] has not given out yet.
    new: Option<Sums>,
}

/// What could not be heard, or not be understood.
#[derive(Debug, Default)]
struct Gaps {
    lacks_gc: bool,
    lacks_gvl_wait: bool,
    has_other_version: bool,
    has_not_understood: bool,
    /// Time stamps that make sense, and those that don't.
    stamped: u64,
    odd_stamps: u64,
}

/// The [`SUMS`] of a process; `None` where it cannot tell.
type Sums = [Option<u64>; SUMS.len()];

/// Why a datagram is of no use.
#[derive(Debug, PartialEq, Eq)]
enum Unusable {
    OtherVersion,
    NotUnderstood,
}

impl Inside {
    /// Begins to listen at `path`, whose folder is there. What an earlier listener that was killed
    /// left there is taken away.
    ///
    /// # Errors
    /// The path is longer than a unix socket's may be, somebody listens there, or nothing can be
    /// made there.
    pub fn open(path: &Path) -> io::Result<Self> {
        let length = path.as_os_str().len();
        if length > LONGEST_PATH {
            let message = format!(
                "{} has {length} bytes, and the path of a socket may have {LONGEST_PATH} (TMPDIR \
                 names another place)",
                path.display()
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        // Whoever listens would hear nothing from now on, and could not tell that from silence.
        if UnixDatagram::unbound()?.connect(path).is_ok() {
            let message = "another sweetspot listens there; let it end first";
            return Err(io::Error::new(io::ErrorKind::AddrInUse, message));
        }
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let socket = UnixDatagram::bind(path)?;
        // Its folder lets one user in, who may be another than we: the app's.
        std::fs::set_permissions(path, Permissions::from_mode(0o666))?;
        let inside = Self {
            socket,
            path: path.to_path_buf(),
            processes: BTreeMap::new(),
            requests: Vec::new(),
            threads: None,
            meant: None,
            gaps: Gaps::default(),
            // One byte more than is believed shows what is longer.
            buffer: vec![0; LONGEST + 1],
        };
        inside.socket.set_nonblocking(true)?;
        Ok(inside)
    }

    /// Reads what has come, so that the kernel's queue for it, which may hold as few as ten
    /// datagrams, does not fill up. Call it a few times a second.
    pub fn look(&mut self) {
        let mut buffer = std::mem::take(&mut self.buffer);
        for _ in 0..MOST_AT_ONCE {
            match self.socket.recv(&mut buffer) {
                Ok(length) => self.take(&buffer[..length]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // Nothing more is there, or nothing more will be.
                Err(_) => break,
            }
        }
        self.buffer = buffer;
    }

    /// What has been told since the last call, in order of pid; a process that told nothing since
    /// then is not among them.
    pub fn used(&mut self) -> Vec<InsideUse> {
        self.look();
        let meant = self.meant.as_ref();
        let new = |(pid, process): (&u32, &mut Process)| {
            let new = process.new.take()?;
            is_meant(meant, *pid).then_some((*pid, new))
        };
        let new: Vec<(u32, Sums)> = self.processes.iter_mut().filter_map(new).collect();
        for (_, sums) in &new {
            self.gaps.add_stamps(sums);
        }
        new.into_iter().map(|(pid, sums)| as_use(sums, pid)).collect()
    }

    /// The requests that were told one by one since the last call, where the probe does that.
    pub fn requests(&mut self) -> Vec<InsideRequest> {
        let (told, meant) = (std::mem::take(&mut self.requests), self.meant.as_ref());
        told.into_iter().filter(|(pid, _)| is_meant(meant, *pid)).map(|(_, it)| it).collect()
    }

    /// How many threads their server may have at most, by the process that told it last; `None`
    /// where none says so.
    pub fn threads(&self) -> Option<u64> {
        let (pid, threads) = self.threads?;
        is_meant(self.meant.as_ref(), pid).then_some(threads)
    }

    /// One that told something and is not meant, by the id that it has for itself.
    pub fn other(&self) -> Option<u32> {
        let meant = self.meant.as_ref();
        self.processes.keys().copied().find(|pid| !is_meant(meant, *pid))
    }

    /// From now on, what others tell than these processes is left out, also of what has come since
    /// the last calls. They are named by the ids that they have for themselves.
    pub fn hear_only(&mut self, pids: HashSet<u32>) {
        self.meant = Some(pids);
    }

    /// What could not be seen from inside so far.
    pub fn blind_spots(&self) -> Vec<BlindSpot> {
        [
            (self.processes.is_empty(), BlindSpot::ProbeSilent),
            (self.gaps.lacks_gc, BlindSpot::CollectionUnknown),
            (self.gaps.lacks_gvl_wait, BlindSpot::LockWaitUnknown),
            (self.gaps.has_other_version, BlindSpot::ProbeOfOtherVersion),
            (self.gaps.has_not_understood, BlindSpot::ProbeNotUnderstood),
            (self.gaps.has_odd_stamps(), BlindSpot::StampsOdd { requests: self.gaps.odd_stamps }),
        ]
        .into_iter()
        .filter_map(|(is_so, spot)| is_so.then_some(spot))
        .collect()
    }

    fn take(&mut self, datagram: &[u8]) {
        let head = datagram.split(|byte| *byte == b'\n').next().unwrap_or_default();
        if datagram.len() > LONGEST {
            self.gaps.has_not_understood = true;
            return;
        }
        let told = parse(head);
        // No process has the id 0.
        let pid = told.as_ref().map_or(0, |told| told.pid);
        for line in datagram.split(|byte| *byte == b'\n').skip(1) {
            match request(line) {
                Some(request) if self.requests.len() < REQUESTS_MOST => {
                    self.requests.push((pid, request));
                }
                Some(_) => {}
                None => self.gaps.has_not_understood = true,
            }
        }
        match told {
            Ok(Told { pid, sums, threads }) => {
                self.threads = threads.map(|it| (pid, it)).or(self.threads);
                let [.., gc_ns, gvl_ns] = sums;
                self.gaps.lacks_gc |= gc_ns.is_none();
                self.gaps.lacks_gvl_wait |= gvl_ns.is_none();
                self.processes.entry(pid).or_insert_with(Process::unknown).hear(sums);
            }
            Err(Unusable::OtherVersion) => self.gaps.has_other_version = true,
            Err(Unusable::NotUnderstood) => self.gaps.has_not_understood = true,
        }
    }
}

impl Gaps {
    fn add_stamps(&mut self, sums: &Sums) {
        let told = |at: usize| sums[at].unwrap_or(0);
        self.stamped = self.stamped.saturating_add(told(STAMPED));
        self.odd_stamps = self.odd_stamps.saturating_add(told(ODD_STAMPS));
    }

    fn has_odd_stamps(&self) -> bool {
        let all = self.stamped as f64 + self.odd_stamps as f64;
        self.odd_stamps as f64 > ODD_QUIET * all
    }
}

fn is_meant(meant: Option<&HashSet<u32>>, pid: u32) -> bool {
    meant.is_none_or(|pids| pids.contains(&pid))
}

impl Drop for Inside {
    fn drop(&mut self) {
        // A process that was just forked holds the socket until it runs its program: whoever tells
        // something has to hear all the same that nobody listens.
        let _ = self.socket.shutdown(Shutdown::Both);
        // Its folder may be gone already, and the socket with it.
        let _ = std::fs::remove_file(&self.path);
    }
}

impl Process {
    /// Nothing was heard of it yet.
    fn unknown() -> Self {
        Self { reported: [Some(0); SUMS.len()], new: None }
    }

    /// Sums that are smaller than before are another process's of the same id, which began at zero.
    fn hear(&mut self, sums: Sums) {
        let added = since(sums, self.reported).unwrap_or(sums);
        self.reported = sums;
        self.new = Some(self.new.map_or(added, |new| plus(new, added)));
    }
}

/// What came since `before`; `None` when something has become less. What one of the two cannot
/// tell, their difference cannot either.
fn since(now: Sums, before: Sums) -> Option<Sums> {
    let mut added: Sums = [None; SUMS.len()];
    for (added, both) in added.iter_mut().zip(now.into_iter().zip(before)) {
        if let (Some(now), Some(before)) = both {
            *added = Some(now.checked_sub(before)?);
        }
    }
    Some(added)
}

fn plus(one: Sums, other: Sums) -> Sums {
    std::array::from_fn(|at| Some(one[at]?.saturating_add(other[at]?)))
}

fn as_use(sums: Sums, pid: u32) -> InsideUse {
    let [.., gc_ns, gvl_ns] = sums;
    let [requests, app_ns, cpu_ns, probe_ns, stamped, queue_ns, ..] =
        sums.map(Option::unwrap_or_default);
    InsideUse {
        pid,
        requests,
        app_s: seconds(app_ns),
        cpu_s: seconds(cpu_ns),
        gc_s: gc_ns.map(seconds),
        gvl_wait_s: gvl_ns.map(seconds),
        queue_s: (stamped > 0).then(|| seconds(queue_ns)),
        probe_s: seconds(probe_ns),
    }
}

fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}

/// What a datagram says.
#[derive(Debug)]
struct Told {
    pid: u32,
    sums: Sums,
    threads: Option<u64>,
}

/// A process's id and what it has counted: `sweetspot-probe 1 4711 requests=12 app_ns=340000 ...`.
/// Sums of other names, which a later probe may have, are passed over.
fn parse(datagram: &[u8]) -> Result<Told, Unusable> {
    let text = std::str::from_utf8(datagram).map_err(|_| Unusable::NotUnderstood)?;
    let mut words = text.split_ascii_whitespace();
    if words.next() != Some(NAME) {
        return Err(Unusable::NotUnderstood);
    }
    if words.next().ok_or(Unusable::NotUnderstood)? != VERSION {
        return Err(Unusable::OtherVersion);
    }
    let pid = words.next().and_then(|word| word.parse().ok()).ok_or(Unusable::NotUnderstood)?;
    let mut sums = BTreeMap::new();
    for word in words {
        let sum = word.split_once('=').and_then(|(name, sum)| Some((name, sum.parse().ok()?)));
        let (name, sum): (&str, u64) = sum.ok_or(Unusable::NotUnderstood)?;
        sums.insert(name, sum);
    }
    let threads = sums.get(THREADS).copied();
    let sums = SUMS.map(|name| sums.get(name).copied());
    if sums[..NEEDED].contains(&None) {
        return Err(Unusable::NotUnderstood);
    }
    Ok(Told { pid, sums, threads })
}

/// A request: nanoseconds from the app's call to its return, on its thread's CPU clock, waiting for
/// the lock and before the app (`-` where not known), and the part of the app that it was for.
fn request(line: &[u8]) -> Option<InsideRequest> {
    let text = std::str::from_utf8(line).ok()?;
    let mut fields = text.splitn(5, ' ');
    let known = |field: Option<&str>| field?.parse().ok().map(seconds);
    let maybe = |field: Option<&str>| match field? {
        "-" => Some(None),
        known => known.parse().ok().map(|ns| Some(seconds(ns))),
    };
    Some(InsideRequest {
        app_s: known(fields.next())?,
        cpu_s: known(fields.next())?,
        gvl_wait_s: maybe(fields.next())?,
        queue_s: maybe(fields.next())?,
        route: fields.next()?.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A listener in a folder of its own, and somebody who sends.
    struct Line {
        folder: tempfile::TempDir,
        inside: Inside,
        sender: UnixDatagram,
    }

    impl Line {
        fn open() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let inside = Inside::open(&folder.path().join("probe.sock")).unwrap();
            Self { folder, inside, sender: UnixDatagram::unbound().unwrap() }
        }

        fn send(&self, datagram: impl AsRef<[u8]>) {
            let path = self.folder.path().join("probe.sock");
            self.sender.send_to(datagram.as_ref(), path).unwrap();
        }
    }

    /// What a process reports after `requests` requests, each of 30 ms with 10 ms of CPU, 1 ms of
    /// it garbage collection.
    fn report(pid: u32, requests: u64) -> String {
        let ns = |ms: u64| requests * ms * 1_000_000;
        format!(
            "sweetspot-probe 1 {pid} requests={requests} app_ns={} cpu_ns={} probe_ns={} \
             stamped=0 queue_ns=0 gc_ns={}",
            ns(30),
            ns(10),
            requests * 5_000,
            ns(1)
        )
    }

    fn counts(used: &[InsideUse]) -> Vec<(u32, u64)> {
        used.iter().map(|used| (used.pid, used.requests)).collect()
    }

    #[test]
    fn totals_become_what_was_added_since_the_last_call() {
        let mut line = Line::open();
        assert_eq!(line.inside.used(), []);
        line.send(report(72, 4));
        line.send(report(71, 1));
        line.send(report(72, 6));
        let used = line.inside.used();
        assert_eq!(counts(&used), [(71, 1), (72, 6)], "in order of pid");
        let first = InsideUse {
            pid: 71,
            requests: 1,
            app_s: 0.03,
            cpu_s: 0.01,
            gc_s: Some(0.001),
            gvl_wait_s: None,
            queue_s: None,
            probe_s: 0.000_005,
        };
        assert_eq!(used[0], first);
        line.send(report(72, 9));
        line.inside.look();
        line.send(report(72, 10));
        let used = line.inside.used();
        assert_eq!(counts(&used), [(72, 4)], "whoever told nothing is not there");
        assert!((used[0].app_s - 0.12).abs() < 1e-9 && (used[0].cpu_s - 0.04).abs() < 1e-9);
        assert_eq!(line.inside.used(), []);
    }

    #[test]
    fn how_many_threads_a_server_may_have_is_what_one_of_its_processes_told_last() {
        let mut line = Line::open();
        line.send(report(71, 1));
        line.inside.look();
        assert_eq!(line.inside.threads(), None);
        line.send(format!("{} threads=16", report(71, 2)));
        line.send(format!("{} threads=5", report(72, 2)));
        line.send(report(72, 3));
        line.inside.look();
        assert_eq!(line.inside.threads(), Some(5));
        line.inside.hear_only(HashSet::from([71]));
        assert_eq!(line.inside.threads(), None, "another app's");
    }

    #[test]
    fn a_process_that_takes_over_the_id_of_another_begins_at_zero() {
        let mut line = Line::open();
        line.send(report(71, 100));
        assert_eq!(counts(&line.inside.used()), [(71, 100)]);
        line.send(report(71, 103));
        line.send(report(71, 2));
        line.send(report(71, 5));
        assert_eq!(counts(&line.inside.used()), [(71, 3 + 5)]);
    }

    #[test]
    fn who_has_gone_is_told_nothing_although_a_forked_process_holds_the_socket() {
        let Line { folder, inside, sender } = Line::open();
        sender.connect(folder.path().join("probe.sock")).unwrap();
        let _held = inside.socket.try_clone().unwrap();
        drop(inside);
        sender.send(report(71, 1).as_bytes()).unwrap_err();
    }

    #[test]
    fn what_is_not_the_probes_is_left_out_and_said() {
        for (datagram, expected) in [
            ("", BlindSpot::ProbeNotUnderstood),
            ("hello", BlindSpot::ProbeNotUnderstood),
            ("sweetspot-probe", BlindSpot::ProbeNotUnderstood),
            ("sweetspot-probe 1", BlindSpot::ProbeNotUnderstood),
            ("sweetspot-probe 1 many requests=1", BlindSpot::ProbeNotUnderstood),
            ("sweetspot-probe 1 71 requests=1", BlindSpot::ProbeNotUnderstood),
            ("sweetspot-probe 1 71 requests=-1", BlindSpot::ProbeNotUnderstood),
            ("sweetspot-probe 2 71 demands=1", BlindSpot::ProbeOfOtherVersion),
        ] {
            let mut line = Line::open();
            line.send(datagram);
            line.send(report(71, 3));
            assert_eq!(counts(&line.inside.used()), [(71, 3)]);
            let said = line.inside.blind_spots();
            assert!(said.contains(&expected), "{datagram:?}: {said:?}");
        }
        let mut line = Line::open();
        line.send(b"\xff\xfe");
        line.send(format!("{} later={}", report(71, 3), "9".repeat(LONGEST)));
        line.send(format!("{} later_ns=9", report(72, 3)));
        assert_eq!(counts(&line.inside.used()), [(72, 3)]);
    }

    #[test]
    fn what_cannot_be_told_is_none_and_said() {
        let mut line = Line::open();
        assert_eq!(line.inside.blind_spots(), [BlindSpot::ProbeSilent]);
        line.send(format!("{} gvl_ns=7000000", report(71, 1)));
        let used = line.inside.used().remove(0);
        assert_eq!((used.gc_s, used.gvl_wait_s), (Some(0.001), Some(0.007)));
        assert_eq!(line.inside.blind_spots(), []);
        line.send(report(71, 2).replace(" gc_ns=2000000", ""));
        let used = line.inside.used().remove(0);
        assert_eq!((used.gc_s, used.gvl_wait_s), (None, None));
        let said = line.inside.blind_spots();
        assert_eq!(said, [BlindSpot::CollectionUnknown, BlindSpot::LockWaitUnknown]);
    }

    #[test]
    fn the_wait_before_the_app_is_told_where_requests_were_stamped() {
        let mut line = Line::open();
        line.send(report(71, 1).replace("stamped=0 queue_ns=0", "stamped=1 queue_ns=250000000"));
        assert_eq!(line.inside.used()[0].queue_s, Some(0.25));
        line.send(report(71, 2).replace("stamped=0 queue_ns=0", "stamped=1 queue_ns=250000000"));
        assert_eq!(line.inside.used()[0].queue_s, None, "none of these was");
    }

    #[test]
    fn time_stamps_that_make_no_sense_are_counted_and_said_where_they_are_many() {
        let mut line = Line::open();
        let told = |requests: u64, stamped: u64, odd: u64| {
            let stamps = format!("stamped={stamped} queue_ns=0 odd_stamps={odd}");
            report(71, requests).replace("stamped=0 queue_ns=0", &stamps)
        };
        let is_said = |line: &mut Line, odd: u64| {
            line.inside.used();
            line.inside.blind_spots().contains(&BlindSpot::StampsOdd { requests: odd })
        };
        line.send(told(100, 99, 1));
        assert!(!is_said(&mut line, 1));
        line.send(told(103, 99, 4));
        assert!(is_said(&mut line, 4));
    }

    #[test]
    fn requests_that_are_told_one_by_one_are_handed_out_once() {
        let mut line = Line::open();
        let told = "30000000 10000000 - 2000000 items#show\n1 1 5 - GET /a b\n1 2 oops";
        line.send(format!("{}\n{told}", report(71, 3)));
        assert_eq!(counts(&line.inside.used()), [(71, 3)]);
        let seen = line.inside.requests();
        let first = InsideRequest {
            app_s: 0.03,
            cpu_s: 0.01,
            gvl_wait_s: None,
            queue_s: Some(0.002),
            route: "items#show".into(),
        };
        assert_eq!((seen.len(), &seen[0]), (2, &first));
        assert_eq!((seen[1].route.as_str(), seen[1].gvl_wait_s), ("GET /a b", Some(5e-9)));
        assert!(line.inside.blind_spots().contains(&BlindSpot::ProbeNotUnderstood), "the third");
        assert_eq!(line.inside.requests(), []);
    }

    #[test]
    fn what_processes_of_another_app_tell_is_left_out_where_one_is_meant() {
        let mut line = Line::open();
        let told = |pid: u32, requests: u64| {
            format!("{}\n30000000 10000000 - - app {pid}", report(pid, requests))
        };
        line.send(told(71, 3));
        line.send(told(82, 100));
        line.inside.look();
        line.inside.hear_only([71, 72].into());
        line.send(told(72, 4));
        line.send(told(82, 200));
        assert_eq!(counts(&line.inside.used()), [(71, 3), (72, 4)]);
        let routes = |line: &mut Line| line.inside.requests().into_iter().map(|it| it.route);
        assert_eq!(routes(&mut line).collect::<Vec<_>>(), ["app 71", "app 72"]);
        assert_eq!(line.inside.other(), Some(82));
        // It was asked to be heard only now, and what it told before was of another time.
        line.inside.hear_only([82].into());
        line.send(told(82, 205));
        assert_eq!(counts(&line.inside.used()), [(82, 5)]);
        assert_eq!(routes(&mut line).collect::<Vec<_>>(), ["app 82"]);
    }

    #[test]
    fn a_socket_that_was_left_behind_is_replaced_and_ours_is_taken_away() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("probe.sock");
        drop(UnixDatagram::bind(&path).unwrap());
        assert!(path.exists());
        let inside = Inside::open(&path).unwrap();
        UnixDatagram::unbound().unwrap().send_to(b"x", &path).unwrap();
        drop(inside);
        assert!(!path.exists());
    }

    #[test]
    fn whoever_listens_is_not_cut_off_by_another() {
        let mut line = Line::open();
        let second = Inside::open(&line.folder.path().join("probe.sock"));
        assert_eq!(second.err().unwrap().kind(), io::ErrorKind::AddrInUse);
        line.send(report(71, 2));
        assert_eq!(counts(&line.inside.used()), [(71, 2)]);
    }

    #[test]
    fn a_path_that_is_too_long_or_not_there_is_refused_with_the_way_out() {
        let folder = tempfile::tempdir().unwrap();
        let long = folder.path().join("x".repeat(LONGEST_PATH));
        let error = Inside::open(&long).err().unwrap().to_string();
        assert!(error.contains("107") && error.contains("TMPDIR"), "{error}");
        assert!(Inside::open(&folder.path().join("none/probe.sock")).is_err());
    }
}
