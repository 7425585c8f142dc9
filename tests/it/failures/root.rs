//! Root measures somebody else's app: the app is not root's then, and neither is what is left.

use std::fs;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::{Path, PathBuf};

use super::site::{Running, set_mode};
use super::unprivileged::{NOBODY, is_root};
use super::*;
use crate::process::wait_until;

/// A folder and all that is below it.
pub fn below(path: &Path) -> Vec<PathBuf> {
    let mut all = vec![path.to_path_buf()];
    if path.is_dir() {
        let entries = fs::read_dir(path).unwrap();
        all.extend(entries.flat_map(|entry| below(&entry.unwrap().path())));
    }
    all
}

/// An app whose folder belongs to nobody, in a place where everybody may go.
fn of_nobody(files: &[(&str, &str)]) -> Site {
    let site = Site::new(files);
    set_mode(&site.path("app"), 0o755);
    for path in below(&site.path("app")) {
        chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    }
    site
}

#[test]
fn an_app_runs_as_the_owner_of_its_folder_and_nothing_in_it_becomes_roots() {
    if !is_root() {
        eprintln!("not run: it takes root to run an app as somebody else");
        return;
    }
    let rack = (
        "config.ru",
        "File.write('begun', [Process.uid, Process.groups, Dir.home].inspect)\n\
         run ->(env) { sleep 0.02; [200, {}, ['ok']] }\n",
    );
    let page = (
        "index.php",
        "<?php usleep(20000); @file_put_contents('begun', posix_getuid()); echo 'ok';\n",
    );
    let pool = ("php-fpm.conf", "[www]\nuser = root\npm = static\npm.max_children = 2\n");
    for (files, name) in [(vec![rack], "Ruby"), (vec![page, pool], "PHP")] {
        let site = of_nobody(&files);
        let mut arguments = vec!["tune", "--workers", "2", "--budget", "20s", "--slo", "p95<1s"];
        arguments.extend(["--json", "-o", "html=report.html", "--proxy", "nginx"]);
        let is_ruby = name == "Ruby";
        arguments.extend(is_ruby.then_some("--probe"));
        let ended = Running::begin(site.command(&arguments)).end();
        site.nothing_left.check();
        ended.assert_code(0);
        let report = ended.json();
        let trials = report["trials"].as_array().unwrap();
        let is_told = trials.iter().any(|trial| trial["inside"].is_object());
        assert_eq!(is_told, is_ruby, "{name}: the probe reaches us");
        let plan = report["plan"].as_array().unwrap().clone();
        let user = plan.iter().find(|line| line["fact"]["what"] == "user").unwrap();
        assert_eq!(user["value"], "nobody", "{name}: {user}");
        assert_eq!(user["fact"]["source"]["from"], "folder_owner", "{name}: {user}");
        let begun = fs::read_to_string(site.path("app/begun")).unwrap();
        assert!(begun.contains(&NOBODY.to_string()), "{name}: {begun}");
        assert!(!begun.contains("[0") && !begun.contains("/root"), "{name}: {begun}");
        for path in below(&site.path("app")) {
            let owner = fs::symlink_metadata(&path).unwrap().uid();
            assert_eq!(owner, NOBODY, "{name}: {}", path.display());
        }
        assert!(
            site.path("app/.sweetspot/sweetspot.db").exists()
                && site.path("app/report.html").exists()
        );
    }
}

#[test]
fn root_may_name_the_user_and_nobody_else_may() {
    let site = Site::waiting();
    let dry = |user: &str| {
        let mut command = site.command(&["tune", "--dry-run", "--user", user]);
        command.output().unwrap()
    };
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let unknown = dry("no-such-user");
    assert_eq!(unknown.status.code(), Some(2));
    let said = text(unknown.stderr);
    assert!(
        said.contains("--user 'no-such-user': this machine has no user of that name"),
        "{said}"
    );
    if is_root() {
        let root = text(dry("root").stdout);
        let line = root.lines().find(|line| line.trim_start().starts_with("user"));
        assert!(
            line.is_some_and(|line| line.contains("root") && line.contains("command line")),
            "{root}"
        );
    } else {
        let refused = dry("root");
        assert_eq!(refused.status.code(), Some(2));
        assert!(text(refused.stderr).contains("only root may run the app as somebody else"));
    }
}

#[test]
fn a_labs_database_and_its_app_belong_to_who_called_sudo() {
    if !is_root() {
        eprintln!("not run: it takes root to run something as somebody else");
        return;
    }
    let site = Site::new(&[]);
    let mut command = site.command(&["lab", "run", "weight-sinatra-mysql", "--quick"]);
    command.env("SUDO_UID", NOBODY.to_string());
    let mut running = Running::begin(command);
    for program in ["mariadbd", "puma"] {
        let mut found = Vec::new();
        wait_until(&format!("{program} runs"), || {
            assert!(!running.has_ended(), "{}", running.stderr());
            found = site.nothing_left.with_title(program);
            !found.is_empty()
        });
        // One that has ended meanwhile has no owner.
        let owners = found.iter().filter_map(|pid| fs::metadata(format!("/proc/{pid}")).ok());
        let owners: Vec<u32> = owners.map(|it| it.uid()).collect();
        assert!(owners.iter().all(|uid| *uid == NOBODY), "{program}: {owners:?}");
    }
    running.signal(libc::SIGINT);
    running.end();
    site.nothing_left.check();
}
