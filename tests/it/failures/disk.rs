//! The disk gets full in the middle of a tune.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use super::site::{Running, trials};
use super::*;

/// Room for the store: some trials, but not all.
const ROOM: usize = 220_000;

#[test]
fn a_disk_that_gets_full_ends_the_tune_with_the_answer_so_far() {
    let site = Site::waiting();
    let disk = site.path("disk");
    fs::create_dir(&disk).unwrap();
    let store = disk.join("s.db");
    let is_done = std::thread::scope(|scope| {
        let on_a_small_disk = || {
            crate::sessions::mount_small_disk(&disk).map(|()| {
                let size = 1 << 20;
                fs::write(disk.join("other files"), vec![b'x'; size - ROOM]).unwrap();
                fill_up(&site, &store, |_| {});
            })
        };
        let thread = scope.spawn(on_a_small_disk);
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)).is_some()
    });
    if !is_done {
        // Not allowed to mount: no file may get larger than this.
        fill_up(&site, &store, |command| limit_file_size(command, ROOM as u64));
    }
}

fn fill_up(site: &Site, store: &Path, prepare: impl FnOnce(&mut Command)) {
    let path = store.to_str().unwrap();
    let arguments = ["--budget", "2m", "--slo", "p95<1s", "--store", path];
    let grid = ["tune", "--workers", "1,2,3", "--threads", "1"];
    let mut command = site.command(&[grid.as_slice(), &arguments].concat());
    prepare(&mut command);
    let ended = Running::begin(command).end();
    site.nothing_left.check();
    ended.assert_code(1);
    let shown = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let why = format!("ould not write to the store {path}: no space is left for it");
    assert!(shown.contains(&why), "the answer so far doesn't say why: {}", ended.stdout);
    ended.assert_says(&[
        "today 1 x 1",
        &format!("sweetspot: could not write to the store {path}: no space is left"),
    ]);
    let stored = trials(store);
    assert!(!stored.is_empty(), "there was room for some trials");
    let report = site.run(&["report", "1", "-o", "json", "--store", path]);
    report.assert_code(0);
    assert_eq!(report.json()["trials"].as_array().unwrap().len(), stored.len());
}

pub fn limit_file_size(command: &mut Command, bytes: u64) {
    let limit = libc::rlimit { rlim_cur: bytes, rlim_max: bytes };
    let set = move || {
        // SAFETY: both calls may be made between fork and exec; the limit outlives them.
        unsafe {
            libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
            match libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit) {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            }
        }
    };
    // SAFETY: as above.
    unsafe { command.pre_exec(set) };
}
