//! A user who may do little.

use std::os::unix::process::CommandExt;
use std::process::Command;

use super::site::{Running, set_mode};
use super::*;
use crate::process::{codes, copy_of_program};

pub const NOBODY: u32 = 65_534;

pub fn is_root() -> bool {
    // SAFETY: takes nothing.
    unsafe { libc::geteuid() == 0 }
}

/// Root is refused nothing: it becomes nobody, who gets a copy of the program where it can be read.
fn as_nobody(site: &Site, arguments: &[&str]) -> Command {
    let program = site.path("sweetspot");
    if !program.exists() {
        copy_of_program(&site.path(""));
    }
    let mut command = site.command_of(&program, arguments);
    if is_root() {
        // Drops all other groups as well.
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}

#[test]
fn a_whole_tune_needs_no_privilege_and_says_what_is_not_enforced() {
    let site = Site::waiting();
    for name in ["app", "home", "tmp"] {
        set_mode(&site.path(name), 0o777);
    }
    let tune = ["tune", "--workers", "1", "--threads", "1", "--budget", "20s", "--slo", "p95<1s"];
    let ended = Running::begin(as_nobody(
        &site,
        &[tune.as_slice(), &["--cpus", "1", "--memory", "1GiB", "--json"]].concat(),
    ));
    let ended = ended.end();
    site.nothing_left.check();
    ended.assert_code(0);
    let report = ended.json();
    crate::schema::assert_valid("tune.schema.json", &report);
    assert_eq!(configuration(&report["decision"]), (1, 1));
    let codes = codes(&report);
    // Somebody else who runs this may have been given control groups.
    assert!(!is_root() || codes.contains(&"limits_not_enforced"), "{codes:?}");
}

#[test]
fn servers_behind_nginx_need_no_privilege_either() {
    let rack = ("config.ru", "run ->(env) { sleep 0.02; [200, {}, ['ok']] }\n");
    let thin = ("config/thin.yml", "servers: 2\nuser: root\ngroup: root\n");
    let page = ("index.php", "<?php usleep(20000); echo 'ok';\n");
    let pool = ("php-fpm.conf", "[www]\nuser = root\npm = static\npm.max_children = 2\n");
    for files in [[rack, thin], [page, pool]] {
        let site = Site::working(&files);
        for name in ["app", "home", "tmp"] {
            set_mode(&site.path(name), 0o777);
        }
        let tune = ["tune", "--workers", "2", "--budget", "20s", "--slo", "p95<1s", "--json"];
        let mut command = as_nobody(&site, &tune);
        // Most users' PATH doesn't lead to where nginx and PHP-FPM are kept.
        command.env("PATH", "/usr/local/bin:/usr/bin:/bin");
        let ended = Running::begin(command).end();
        site.nothing_left.check();
        ended.assert_code(0);
        assert_eq!(configuration(&ended.json()["decision"]), (2, 1), "{}", ended.stderr);
    }
}

#[test]
fn a_folder_that_may_not_be_written_is_named_with_the_way_out() {
    let site = Site::waiting();
    set_mode(&site.path("app"), 0o555);
    set_mode(&site.path("tmp"), 0o777);
    let ended = Running::begin(as_nobody(&site, &["tune", "--budget", "20s"])).end();
    set_mode(&site.path("app"), 0o755);
    site.nothing_left.check();
    ended.assert_code(1).assert_says(&[
        &format!("could not open the store {}", site.store().display()),
        "this user may not write there",
        "--store",
    ]);
    assert_eq!(ended.stdout, "");
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
}
