use std::fs;
use std::path::Path;

use super::*;
use crate::terms::{Bytes, LimitRefusal};

/// A recorded file system: `(path, content)`.
fn recorded(files: &[(&str, &str)]) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for (path, content) in files {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    root
}

const GIB: u64 = 1 << 30;

/// A Debian 12 login session: version 2 only, the session's own group without controllers, the
/// user's slice with memory, and the service that the user may divide up with everything.
const V2_MOUNTS: &str = "\
22 26 0:21 / /proc rw,nosuid - proc proc rw
30 23 0:26 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate
";
const SCOPE: &str = "sys/fs/cgroup/user.slice/app.slice/run-1.scope";

fn version_2(files: &[(&str, &str)]) -> tempfile::TempDir {
    let mut all = vec![
        ("proc/self/mountinfo", V2_MOUNTS),
        ("proc/self/cgroup", "0::/user.slice/app.slice/run-1.scope\n"),
        ("sys/fs/cgroup/cgroup.procs", ""),
        ("sys/fs/cgroup/user.slice/cgroup.procs", ""),
        ("sys/fs/cgroup/user.slice/app.slice/cgroup.procs", ""),
        ("sys/fs/cgroup/user.slice/app.slice/run-1.scope/cgroup.procs", "4711\n"),
    ];
    all.extend(files);
    recorded(&all)
}

fn read(root: &Path, file: &str) -> String {
    fs::read_to_string(root.join(file)).unwrap()
}

fn limits(cores: Option<f64>, memory_bytes: Option<u64>) -> Limits {
    Limits { cores, memory_bytes }
}

#[test]
fn a_nested_group_of_version_2_is_found_and_the_tightest_limit_on_the_way_up_counts() {
    let root = version_2(&[
        ("sys/fs/cgroup/user.slice/cpu.max", "150000 100000\n"),
        ("sys/fs/cgroup/user.slice/memory.max", "4294967296\n"),
        ("sys/fs/cgroup/user.slice/app.slice/cpu.max", "max 100000\n"),
        ("sys/fs/cgroup/user.slice/app.slice/memory.max", "8589934592\n"),
    ]);
    let own = groups::own(root.path());
    assert_eq!(own.unified.as_ref().unwrap().folder, root.path().join(SCOPE));
    assert_eq!(groups::quota(&own.cpu.unwrap()).unwrap().limit, 1.5);
    assert_eq!(groups::memory_limit(&own.memory.unwrap()).unwrap().limit, Bytes(4 * GIB));
}

#[test]
fn version_2_limits_are_written_where_the_controllers_are_and_what_is_left_behind_still_limits() {
    // As the kernel would have made it on mkdir, once the slice has switched the controllers on.
    let slice = "sys/fs/cgroup/user.slice/app.slice";
    let ours = format!("{slice}/sweetspot-1");
    let files = ["cpu.max", "memory.max", "memory.swap.max", "cgroup.kill", "cgroup.procs"]
        .map(|file| format!("{ours}/{file}"));
    let scope_limit = format!("{SCOPE}/memory.max");
    let mut all: Vec<(&str, &str)> = files.iter().map(|file| (file.as_str(), "")).collect();
    all.push((&scope_limit, "1073741824\n"));
    let root = version_2(&all);
    let own = groups::own(root.path());

    let group = create(&own, "sweetspot-1", limits(Some(1.5), None));

    let folder = root.path().join(&ours);
    assert_eq!(read(root.path(), &files[0]), "150000 100000");
    // Our own group was limited to 1 GiB, and the server is not to escape that.
    assert_eq!(read(root.path(), &files[1]), "1073741824");
    assert_eq!(read(root.path(), &files[2]), "0");
    assert_eq!(group.not_enforced, []);
    assert_eq!((&group.cpu, &group.kill), (&Some(folder.clone()), &Some(folder.clone())));
    assert_eq!(group.join_files(), [folder.join("cgroup.procs")]);
    assert!(!root.path().join(SCOPE).join("sweetspot-1").exists(), "the failed try is removed");
    group.kill();
    assert_eq!(read(root.path(), &files[3]), "1");
}

#[test]
fn without_controllers_a_version_2_group_is_for_killing_and_says_what_is_not_enforced() {
    let kill = format!("{SCOPE}/sweetspot-1/cgroup.kill");
    let root = version_2(&[(&kill, "")]);
    let own = groups::own(root.path());
    let group = create(&own, "sweetspot-1", limits(Some(0.5), Some(GIB)));
    let missing: Vec<LimitName> = group.not_enforced.iter().map(|missing| missing.limit).collect();
    assert_eq!(missing, [LimitName::Cores, LimitName::Memory]);
    let why = &group.not_enforced[0].why;
    let LimitRefusal::LimitRefused { error } = why else { panic!("{why:?}") };
    assert!(error.contains("cgroup.subtree_control"), "{group:?}");
    assert_eq!(group.kill, Some(root.path().join(SCOPE).join("sweetspot-1")));
    assert_eq!((group.cpu, group.memory), (None, None));
}

#[test]
fn version_1_limits_go_to_each_controllers_own_tree_and_killing_to_the_version_2_tree_beside_it() {
    let cpu = "sys/fs/cgroup/cpu,cpuacct/batch/sweetspot-1";
    let memory = "sys/fs/cgroup/memory/sweetspot-1";
    let unified = "sys/fs/cgroup/unified/sweetspot-1/cgroup.kill";
    let quota = format!("{cpu}/cpu.cfs_quota_us");
    let period = format!("{cpu}/cpu.cfs_period_us");
    let bytes = format!("{memory}/memory.limit_in_bytes");
    let root = recorded(&[
        (
            "proc/self/mountinfo",
            "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
             35 31 0:32 /pod/7 /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
             41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
        ),
        ("proc/self/cgroup", "4:memory:/pod/7\n2:cpu,cpuacct:/batch\n1:name=systemd:/\n0::/\n"),
        ("sys/fs/cgroup/cpu,cpuacct/batch/cpu.cfs_quota_us", "-1\n"),
        ("sys/fs/cgroup/cpu,cpuacct/batch/cpu.cfs_period_us", "100000\n"),
        ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
        ("sys/fs/cgroup/unified/cgroup.procs", ""),
        (unified, ""),
        (&quota, "-1\n"),
        (&period, "100000\n"),
        (&bytes, "9223372036854771712\n"),
    ]);
    let own = groups::own(root.path());
    assert_eq!(groups::quota(own.cpu.as_ref().unwrap()), None);
    assert_eq!(groups::memory_limit(own.memory.as_ref().unwrap()), None);

    let group = create(&own, "sweetspot-1", limits(Some(1.25), Some(GIB)));

    assert_eq!(group.not_enforced, []);
    assert_eq!(read(root.path(), &quota), "125000");
    assert_eq!(read(root.path(), &bytes), GIB.to_string());
    assert_eq!(group.cpu, Some(root.path().join(cpu)));
    assert_eq!(group.kill, Some(root.path().join("sys/fs/cgroup/unified/sweetspot-1")));
    assert_eq!(group.join_files().len(), 3);
}

#[test]
fn nothing_is_made_in_a_version_1_tree_for_a_limit_that_nobody_asked_for() {
    let root = recorded(&[
        ("proc/self/mountinfo", "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"),
        ("proc/self/cgroup", "2:cpu:/\n"),
        ("sys/fs/cgroup/cpu/cgroup.procs", ""),
    ]);
    let own = groups::own(root.path());
    assert_eq!(create(&own, "sweetspot-1", Limits::default()), Group::default());
    assert!(!root.path().join("sys/fs/cgroup/cpu/sweetspot-1").exists());
    let group = create(&own, "sweetspot-1", limits(Some(1.0), Some(GIB)));
    assert_eq!(group.not_enforced.len(), 2, "{group:?}");
    assert!(!root.path().join("sys/fs/cgroup/cpu/sweetspot-1").exists());
}

#[test]
fn kills_for_want_of_memory_are_counted_in_both_versions() {
    for (file, text) in [
        ("memory.events", "low 0\nhigh 0\nmax 12\noom 3\noom_kill 2\n"),
        ("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n"),
    ] {
        let root = recorded(&[(file, text)]);
        let group = Group { memory: Some(root.path().to_path_buf()), ..Group::default() };
        assert_eq!(group.out_of_memory_kills(), 2, "{file}");
    }
    assert_eq!(Group::default().out_of_memory_kills(), 0);
}
