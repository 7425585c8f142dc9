use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::look::Process;
use super::together::add;
use super::*;
use crate::terms::{
    BlindSpot, Configuration, MonitorRecord, MonitorSecond, ProcessMemory, Role, Stated,
};

const MIB: u64 = 1 << 20;

/// Pages of 4096 bytes in a MiB.
const PAGES_A_MIB: u64 = 256;

/// A line of `/proc/PID/stat` as Linux 6.1 writes it; ticks of the process itself and of the kernel
/// for it.
fn stat(pid: u32, comm: &str, ppid: u32, ticks: (u64, u64), mib: u64) -> String {
    let (user, system) = ticks;
    let (start, pages) = (139_000 + pid, PAGES_A_MIB * mib);
    let minor = 5000 + user;
    format!(
        "{pid} ({comm}) S {ppid} 1 1 0 -1 4194560 {minor} 0 12 0 {user} {system} 0 0 20 0 9 0 \
         {start} 734003200 {pages} 18446744073709551615 1 1 0 0 0 0 0 4096 1260 0 0 0 17 1 0 0 0 0 \
         0 0 0 0 0 0 0 0 0\n"
    )
}

/// A Puma cluster of two workers, which used these ticks, beside a helper with an odd name, and the
/// shell that looks with two of its children. In the order of file names.
fn cluster(first: (u64, u64), second: (u64, u64)) -> String {
    [
        stat(1, "ruby", 0, (480, 35), 100),
        stat(15, "a) R 9 (b c", 1, (3, 1), 50),
        stat(21, "puma: cluster w", 1, first, 150),
        stat(26, "puma: cluster w", 1, second, 150),
        stat(900, "sh", 0, (2, 1), 1),
        stat(905, "sh", 906, (0, 0), 1),
        stat(906, "cat", 900, (0, 0), 1),
    ]
    .concat()
}

/// As script.sh prints it where there is version 2.
fn version_2(uptime: &str, cpu: [u64; 4], processes: &str) -> String {
    let [usage, periods, throttled, throttled_us] = cpu;
    let pressure = 2 * throttled_us;
    format!(
        "sweetspot-usage 900\nmemory.current 419430400\nmemory.max 536870912\n\
         memory.swap.current 0\n\
         cpu.pressure some avg10=12.40 avg60=8.10 avg300=2.00 total={pressure}\n\
         memory.pressure some avg10=0.00 avg60=0.00 avg300=0.00 total=250\n\
         anon 251658240\nfile 146800640\nkernel 20971520\nkernel_stack 1179648\n\
         pagetables 3145728\nsock 4096\nshmem 0\nfile_mapped 41943040\nfile_dirty 0\n\
         inactive_anon 251654144\nactive_anon 4096\ninactive_file 104857600\n\
         active_file 41943040\nunevictable 0\nworkingset_refault_anon 0\n\
         workingset_refault_file 77\npgfault 812345\npgmajfault 12\n\
         low 0\nhigh 0\nmax 4\noom 0\noom_kill 0\noom_group_kill 0\n\
         {uptime} 123456.78\nusage_usec {usage}\nuser_usec 40000000\nsystem_usec 10000000\n\
         core_sched.force_idle_usec 0\nnr_periods {periods}\nnr_throttled {throttled}\n\
         throttled_usec {throttled_us}\nnr_bursts 0\nburst_usec 0\n{processes}\
         sweetspot-usage-end\n"
    )
}

/// As script.sh prints it where there is version 1.
fn version_1(uptime: &str, usage_ns: u64, processes: &str) -> String {
    format!(
        "sweetspot-usage 900\nmemory.usage_in_bytes 419430400\n\
         memory.limit_in_bytes 9223372036854771712\nmemory.failcnt 3\n\
         cache 0\nrss 4096\ninactive_file 5\nactive_file 6\n\
         hierarchical_memory_limit 9223372036854771712\n\
         total_cache 146800640\ntotal_rss 251658240\ntotal_mapped_file 41943040\n\
         total_swap 8192\ntotal_inactive_file 104857600\ntotal_active_file 41943040\n\
         oom_kill_disable 0\nunder_oom 0\noom_kill 1\ncpuacct.usage {usage_ns}\n\
         {uptime} 123456.78\nnr_periods 900\nnr_throttled 12\nthrottled_time 3500000000\n\
         {processes}sweetspot-usage-end\n"
    )
}

fn looks(text: &str) -> Vec<Look> {
    let mut reader = Looks::default();
    text.lines().filter_map(|line| reader.line(line)).collect()
}

fn look(text: &str) -> Look {
    let mut found = looks(text);
    assert_eq!(found.len(), 1, "{text}");
    found.remove(0)
}

fn configuration(workers: u16) -> Configuration {
    Configuration::new(workers, 5).unwrap()
}

#[track_caller]
fn assert_near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-6, "{found} is not {expected}");
}

/// One second of the cluster below a quota of one and a half cores.
fn two_looks() -> (Look, Look) {
    let before = cluster((3000, 200), (2900, 180));
    let after = cluster((3050, 210), (2920, 184));
    let before = version_2("5000.10", [50_000_000, 4000, 100, 9_000_000], &before);
    let after = version_2("5001.10", [50_900_000, 4010, 104, 9_150_000], &after);
    (look(&before), look(&after))
}

#[test]
fn version_2_and_its_processes_are_read() {
    let (before, after) = two_looks();
    let group = &before.group;
    assert_eq!(before.uptime_s, 5000.1);
    assert_eq!((group.cpu_s, before.throttled_s), (Some(50.0), 9.0));
    assert_eq!((before.periods, before.throttled_periods), (4000, 100));
    assert_eq!((group.memory_bytes, group.anonymous_bytes), (Some(400 * MIB), Some(240 * MIB)));
    assert_eq!(before.inactive_file_bytes, Some(100 * MIB));
    assert_eq!((group.memory_limit_bytes, group.swap_bytes), (Some(512 * MIB), Some(0)));
    assert_eq!((group.memory_limit_hits, group.out_of_memory_kills), (Some(4), Some(0)));
    assert_eq!((group.refaulted_pages, group.memory_pressure_s), (Some(77), Some(0.00025)));
    assert_eq!((group.cpu_pressure_s, group.io_pressure_s), (Some(18.0), None));
    let worker = Process {
        pid: 21,
        ppid: 1,
        comm: "puma: cluster w".into(),
        utime_s: 30.5,
        stime_s: 2.1,
        threads: 9,
        rss_bytes: 150 * MIB,
        minor_faults: 8050,
        major_faults: 12,
        start_ticks: 139_021,
        is_running: false,
    };
    let pids: Vec<u32> = after.processes.iter().map(|process| process.pid).collect();
    assert_eq!(pids, [1, 15, 21, 26], "neither the shell nor what is below it");
    assert_eq!((&*after.processes[1].comm, after.processes[1].ppid), ("a) R 9 (b c", 1));
    assert_eq!(after.processes[2], worker);
}

#[test]
fn version_1_says_the_same_by_other_names() {
    let text = version_1("77.00", 2_250_000_000, &cluster((1, 2), (3, 4)));
    let look = look(&text);
    let group = &look.group;
    assert_eq!((group.cpu_s, look.throttled_s), (Some(2.25), 3.5));
    assert_eq!((look.periods, look.throttled_periods), (900, 12));
    assert_eq!((group.memory_bytes, group.anonymous_bytes), (Some(400 * MIB), Some(240 * MIB)));
    assert_eq!(look.inactive_file_bytes, Some(100 * MIB), "with the groups inside");
    assert_eq!((group.memory_limit_bytes, group.swap_bytes), (None, Some(8192)));
    assert_eq!((group.memory_limit_hits, group.out_of_memory_kills), (Some(3), Some(1)));
    assert_eq!((group.refaulted_pages, group.cpu_pressure_s), (None, None));
    assert_eq!(look.processes.len(), 4);
}

#[test]
fn what_is_not_understood_is_passed_over() {
    let full = version_2("5.00", [1, 2, 3, 4], &cluster((1, 1), (1, 1)));
    let stat = stat(7, "ruby", 1, (1, 1), 1);
    let odd = [
        "",
        " ",
        "1 (",
        ")(",
        "1 (ruby",
        "1 (ruby) S",
        "x (ruby) S 1 1",
        &stat[..60],
        "memory.current",
        "memory.current -5",
        "memory.current 99999999999999999999999",
        "memory.max max",
        "cpu.pressure some avg10",
        "oom_kill x",
        "anon",
        "9) S 1 1",
        "nan",
        "inf",
        "-3.5",
        "\u{fffd}\u{1f600} (\u{fffd}) \u{fffd}",
        "workingset_refault_file 18446744073709551615",
        "workingset_refault_anon 18446744073709551615",
    ];
    let mut reader = Looks::default();
    for line in odd.into_iter().chain(["sweetspot-usage-end"]) {
        assert_eq!(reader.line(line), None, "outside of a look: {line}");
    }
    let block = |lines: &[&str]| {
        format!("sweetspot-usage 900\n{}\nsweetspot-usage-end\n", lines.join("\n"))
    };
    assert_eq!(looks(&block(&odd)), [], "without a time stamp");
    let stamped = look(&block(&[&odd[..], &["12.34 56.78", "9.99 1"]].concat()));
    assert_eq!(stamped, Look { uptime_s: 12.34, ..Look::default() });
    // What was begun and not ended gives way to the next.
    let torn = &full[..=full[..full.len() / 2].rfind('\n').unwrap()];
    assert_eq!(looks(&format!("{torn}{full}")), looks(&full));
    for begin in ["sweetspot-usage", "sweetspot-usage x", "sweetspot-usage 0"] {
        assert_eq!(looks(&format!("{begin}\n5.00 6.00\nsweetspot-usage-end")), [], "{begin}");
    }
    let ended = stat.replacen(" S ", " Z ", 1);
    assert_eq!(look(&block(&["1.0 1.0", &ended])).processes, []);
}

#[test]
fn a_second_has_workers_throttling_and_the_share_of_the_limit() {
    let (before, after) = two_looks();
    let second = second(&before, &after, configuration(2), 1.5, 3.0);
    assert_eq!(second.at_s, 3.0);
    assert_near(second.length_s, 1.0);
    let roles: Vec<_> = second.processes.iter().map(|it| (it.pid, it.role, it.index)).collect();
    assert_eq!(
        roles,
        [
            (1, Role::Master, None),
            (15, Role::Other, None),
            (21, Role::Worker, Some(0)),
            (26, Role::Worker, Some(1)),
        ]
    );
    let busy = &second.processes[2];
    assert_near(busy.cpu_s, 0.6);
    assert_near(busy.user_s, 0.5);
    assert_near(busy.system_s, 0.1);
    assert_near(second.processes[3].cpu_s, 0.24);
    assert_eq!(second.processes[0].cpu_s, 0.0);
    assert_eq!((busy.minor_faults, busy.major_faults, busy.threads), (50, 0, 9));
    assert_eq!((&*busy.name, busy.resident_bytes), ("puma: cluster w", 150 * MIB));
    let host = &second.host;
    assert_eq!((host.periods, host.throttled_periods), (10, 4));
    assert_near(host.throttled_s, 0.15);
    assert_eq!(host.cores_busy.len(), 2);
    assert!(host.cores_busy.iter().all(|share| (share - 0.6).abs() < 1e-6), "{host:?}");
    let group = second.group.unwrap();
    assert_near(group.cpu_s.unwrap(), 0.9);
    assert_near(group.cpu_pressure_s.unwrap(), 0.3);
    assert_eq!((group.memory_bytes, group.memory_limit_bytes), (Some(400 * MIB), Some(512 * MIB)));
    assert_eq!((group.memory_limit_hits, group.refaulted_pages), (Some(0), Some(0)));
    assert_eq!((second.listen_queue, second.listen_overflows), (None, None));
}

#[test]
fn without_a_control_group_the_processes_sum_is_what_was_used() {
    let only = |uptime: &str, ticks: u64| {
        let process = stat(1, "ruby", 0, (ticks, 0), 100);
        look(&format!("sweetspot-usage 9\n{uptime} 1.0\n{process}sweetspot-usage-end\n"))
    };
    let second = second(&only("1.00", 500), &only("3.00", 600), configuration(1), 2.0, 0.0);
    assert_eq!(second.group, None);
    assert_eq!(second.host.cores_busy.len(), 2);
    assert_near(second.host.cores_busy[0], 0.25);
    assert_eq!(second.host.periods, 0);
}

#[test]
fn what_began_between_two_looks_counts_and_what_was_overlooked_does_no_harm() {
    let with = |uptime: &str, processes: &str| {
        look(&format!("sweetspot-usage 9\n{uptime} 1.0\n{processes}sweetspot-usage-end\n"))
    };
    let ruby = stat(1, "ruby", 0, (500, 0), 100);
    let new = |ticks| with("2.00", &[&*ruby, &stat(30, "git", 1, (ticks, 0), 1)].concat());
    let before = with("1.00", &ruby);
    let used = |after: &Look| second(&before, after, configuration(1), 2.0, 0.0).processes;
    assert_near(used(&new(20))[1].cpu_s, 0.2);
    assert_near(used(&new(300_000))[1].cpu_s, 2.0);
    // The same id, another process.
    let mut other = before.clone();
    other.uptime_s = 2.0;
    other.processes[0].start_ticks += 1;
    other.processes[0].utime_s = 0.5;
    assert_near(used(&other)[0].cpu_s, 0.5);
    // A clock that stands still, and a limit that is none.
    for limit in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let second = second(&before, &before, configuration(1), limit, 0.0);
        assert!(second.length_s > 0.0 && !second.host.cores_busy.is_empty(), "{limit}");
    }
}

#[test]
fn a_helper_beside_the_workers_is_none_of_them() {
    // uvicorn's parent starts a process for its own use before the workers.
    let processes = [
        stat(1, "uvicorn", 0, (90, 9), 40),
        stat(8, "python", 1, (4, 1), 12),
        stat(9, "python", 1, (2000, 100), 90),
        stat(10, "python", 1, (2100, 100), 90),
        stat(11, "sleep", 9, (0, 0), 1),
    ];
    assert_eq!(roles(&processes.concat(), 2), "master other worker0 worker1 other");
    // None has so many children: whoever used most is the worker.
    assert_eq!(roles(&processes.concat(), 4), "master other other worker0 other");
}

#[test]
fn one_worker_is_whoever_used_most() {
    let tini = stat(1, "tini", 0, (1, 0), 1);
    let helper = stat(9, "ruby", 7, (5, 5), 20);
    let puma = stat(7, "ruby", 1, (900, 80), 200);
    assert_eq!(roles(&[tini, puma.clone(), helper].concat(), 1), "master worker0 other");
    assert_eq!(roles(&puma, 1), "worker0");
    assert_eq!(roles("", 3), "");
}

/// Those of the last look, in order of ids.
fn roles(processes: &str, workers: u16) -> String {
    let text = format!("sweetspot-usage 999\n5.0 5.0\n{processes}sweetspot-usage-end\n");
    let look = look(&text);
    let second = second(&look, &look, configuration(workers), 1.0, 0.0);
    let names = second.processes.iter().map(|it| match (it.role, it.index) {
        (Role::Worker, Some(index)) => format!("worker{index}"),
        (Role::Master, None) => "master".to_string(),
        (Role::Other, None) => "other".to_string(),
        odd => format!("{odd:?}"),
    });
    names.collect::<Vec<_>>().join(" ")
}

#[test]
fn shared_pages_count_once_where_the_control_group_tells_the_sum() {
    let (_, after) = two_looks();
    let found = memory(&after, configuration(2));
    // 300 MiB are charged without idle files; what the processes have in use adds up to 450.
    let expected = [100, 50, 150, 150].map(|mib: u64| (mib * MIB, mib * MIB * 2 / 3));
    for (one, (rss, part)) in found.iter().zip(expected) {
        assert_eq!(one.rss_bytes, rss);
        assert!(one.pss_bytes.abs_diff(part) <= 1, "{one:?}");
    }
    let sum: u64 = found.iter().map(|one| one.pss_bytes).sum();
    assert!(sum.abs_diff(300 * MIB) <= 4, "{sum}");
    assert_eq!((found[0].role, found[2].role), (Role::Master, Role::Worker));
    let unknown = Look { inactive_file_bytes: None, ..after };
    let found = memory(&unknown, configuration(2));
    assert!(found.iter().all(|one| one.pss_bytes == one.rss_bytes), "{found:?}");
    assert_eq!(memory(&Look::default(), configuration(2)), []);
}

#[test]
fn several_pods_are_one_server_with_all_their_workers() {
    let (before, after) = two_looks();
    let one = second(&before, &after, configuration(2), 1.5, 3.0);
    let other = MonitorSecond { at_s: 2.8, length_s: 1.2, ..one.clone() };
    let all = add(vec![one.clone(), other]);
    assert_eq!(all.at_s, 2.8);
    assert_near(all.length_s, 1.1);
    let workers: Vec<_> = all
        .processes
        .iter()
        .filter(|process| process.role == Role::Worker)
        .map(|process| (process.pid, process.index))
        .collect();
    assert_eq!(workers, [(21, Some(0)), (26, Some(1)), (1_000_021, Some(2)), (1_000_026, Some(3))]);
    assert_eq!(all.host.cores_busy.len(), 4);
    assert_eq!((all.host.periods, all.host.throttled_periods), (20, 8));
    assert_near(all.host.throttled_s, 0.3);
    let group = all.group.unwrap();
    assert_near(group.cpu_s.unwrap(), 1.8);
    assert_eq!((group.memory_bytes, group.memory_limit_bytes), (Some(800 * MIB), Some(1 << 30)));
    assert_near(group.cpu_pressure_s.unwrap(), 0.3);
    assert_eq!(group.io_pressure_s, None);
    assert_eq!(add(vec![one.clone()]), one);
}

#[test]
fn what_one_pod_does_not_tell_is_not_known_of_all() {
    let (before, after) = two_looks();
    let at = |at_s: f64| second(&before, &after, configuration(1), 0.5, at_s);
    let memory = |pid| vec![ProcessMemory { pid, pss_bytes: 5, ..ProcessMemory::default() }];
    let of = |seconds: &[f64], memory| MonitorRecord {
        seconds: seconds.iter().map(|at_s| at(*at_s)).collect(),
        memory,
        blind_spots: blind_spots(),
    };
    let both = together(vec![of(&[0.1, 1.1, 2.1], memory(7)), of(&[0.9, 1.9], memory(7))], 1.0);
    let began: Vec<f64> = both.seconds.iter().map(|second| second.at_s).collect();
    assert_eq!(began, [0.9, 1.9], "only what all tell, by when it was");
    assert_eq!(both.seconds[0].host.cores_busy.len(), 1, "they share one core");
    let pids: Vec<u32> = both.memory.iter().map(|process| process.pid).collect();
    assert_eq!((pids, both.blind_spots.len()), (vec![7, 1_000_007], 2));
    let one_blind = together(vec![of(&[0.1], memory(7)), of(&[], Vec::new())], 1.0);
    assert!(one_blind.seconds.is_empty() && one_blind.memory.is_empty(), "{one_blind:?}");
    assert!(one_blind.blind_spots.contains(&BlindSpot::NothingWatched.into()));
}

#[test]
fn waits_for_cores_and_connections_are_not_seen() {
    let expected = [
        Stated::Fact(BlindSpot::CoreWaitsOutside),
        Stated::Fact(BlindSpot::ListenQueueUnseen { port: None }),
    ];
    assert_eq!(blind_spots(), expected);
}

#[test]
fn the_script_is_short_and_says_when_it_ends() {
    let text = script(600);
    assert!(!text.contains("FOR_AT_MOST_S") && text.contains("-lt 600 "), "{text}");
    assert!(!text.contains("\n#") && !text.contains("\n "), "{text}");
    assert!(text.len() < 2000, "{} bytes in an address", text.len());
}

#[test]
fn a_shell_shows_this_process_and_ends_by_itself() {
    let done = Command::new("sh").args(["-c", &script(1)]).output().unwrap();
    let found = looks(&String::from_utf8_lossy(&done.stdout));
    assert!(done.status.success() && done.stderr.is_empty(), "{done:?}");
    assert_eq!(found.len(), 1);
    let own = found[0].processes.iter().find(|process| process.pid == std::process::id());
    assert!(own.is_some_and(|own| own.threads > 0 && own.rss_bytes > MIB), "{own:?}");
    assert!(found[0].uptime_s > 0.0);
}

#[test]
fn processes_of_a_named_group_are_seen_at_any_depth() {
    let group = tempfile::tempdir().unwrap();
    // As systemd escapes names.
    let below = group.path().join("a b.slice/c.slice/d\\x2de.scope/f");
    std::fs::create_dir_all(&below).unwrap();
    for folder in below.ancestors().take_while(|it| it.starts_with(group.path())) {
        std::fs::write(folder.join("cgroup.procs"), "").unwrap();
    }
    std::fs::write(below.join("cgroup.procs"), format!("{}\n", std::process::id())).unwrap();
    let mut shell = Command::new("sh");
    shell.args(["-c", &script(1)]).env("SWEETSPOT_CGROUP", group.path());
    let found = looks(&String::from_utf8_lossy(&shell.output().unwrap().stdout));
    let pids = found[0].processes.iter().map(|process| process.pid);
    assert!(pids.eq([std::process::id()]), "{found:?}");
}

#[test]
fn a_shell_that_nobody_reads_ends() {
    let mut command = Command::new("sh");
    let mut shell = command.args(["-c", &script(60)]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(shell.stdout.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    assert_eq!(first, format!("sweetspot-usage {}", shell.id()));
    drop(lines);
    let began = Instant::now();
    while shell.try_wait().unwrap().is_none() {
        assert!(began.elapsed() < Duration::from_secs(30), "it goes on");
        std::thread::sleep(Duration::from_millis(50));
    }
}
