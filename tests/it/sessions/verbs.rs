//! Tests of `sweetspot sessions` and `sweetspot report` as a user types them.

use std::fs;
use std::path::Path;
use std::process::Command;

use sweetspot::store::Store;
use sweetspot::terms::Event;

use super::sample;
use super::store::{as_nobody, change, filled, head};
use crate::failures::site::set_mode;
use crate::process::{copy_of_program, ended, flat, program, sweetspot};

/// A folder with the default store, holding one session for each list of events.
fn folder_with(sessions: &[Vec<Event>]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for events in sessions {
        filled(&folder.path().join(".sweetspot/sweetspot.db"), events);
    }
    folder
}

#[test]
fn the_language_is_the_one_typed_or_else_the_locales() {
    let folder = folder_with(&[sample::events()]);
    let report = |arguments: &[&str], locale: &str| {
        let mut command = program(folder.path());
        command.args(["report", "last"]).args(arguments).env("LANG", locale);
        let ended = ended(command.env_remove("LC_ALL").env_remove("LC_MESSAGES"));
        ended.assert_code(0);
        ended.stdout
    };
    let (english, japanese) = (report(&[], "C.UTF-8"), report(&[], "ja_JP.UTF-8"));
    assert!(english.starts_with("Run 3 workers x 5 threads: it holds"), "{english}");
    assert!(japanese.starts_with("3 ワーカー x 5 スレッド にしてください。"), "{japanese}");
    assert_eq!(report(&["--lang", "ja"], "C"), japanese);
    assert_eq!(report(&["--lang", "en"], "ja_JP.UTF-8"), english);
    assert_eq!(report(&["--json"], "ja_JP.UTF-8"), report(&["--json"], "C"));
    let output = sweetspot(folder.path(), &["report", "last", "--lang", "de"]);
    output.assert_code(2);
    assert!(output.stderr.contains("[possible values: en, ja]"), "{}", output.stderr);
}

#[test]
fn the_list_is_newest_first_and_fits_eighty_columns() {
    let folder = folder_with(&[sample::events(), sample::hopeless_events()]);
    let output = sweetspot(folder.path(), &["sessions", "list"]);
    let text = output.stdout;
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 3, "{text}");
    assert!(lines[1].starts_with("2 ") && lines[2].starts_with("1 "), "{text}");
    assert!(lines[2].contains("2026-11-20 18:46  done") && lines[2].contains("3 x 5, 412/s"));
    assert!(lines.iter().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn the_list_as_json_has_the_promised_fields() {
    let folder = folder_with(&[sample::events(), sample::hopeless_events()]);
    let output = sweetspot(folder.path(), &["sessions", "list", "--json"]);
    let list = output.json();
    assert_eq!(list[0]["id"], 2);
    assert!(list[0]["decision"].is_null());
    assert_eq!(list[1]["started_at"], "2026-11-20T18:46:44Z");
    assert_eq!(list[1]["app"], "/srv/shop");
    assert_eq!(list[1]["server"], "puma 5.6.5");
    assert_eq!(list[1]["state"], "done");
    assert_eq!(list[1]["decision"]["workers"], 3);
}

#[test]
fn a_session_whose_program_died_is_listed_as_interrupted() {
    let folder = folder_with(&[sample::unfinished_events()]);
    let path = folder.path().join(".sweetspot/sweetspot.db");
    let state = || {
        let output = sweetspot(folder.path(), &["sessions", "list", "--json"]);
        let list = output.json();
        list[0]["state"].as_str().unwrap().to_string()
    };
    assert_eq!(state(), "running", "this test is the program that writes it, and lives");
    change(&path, "UPDATE sessions SET owner = ''");
    assert_eq!(state(), "interrupted");
}

#[test]
fn reports_are_written_to_their_files_and_one_to_standard_output() {
    let folder = folder_with(&[sample::events()]);
    fs::write(folder.path().join("report.md"), "an older report").unwrap();
    let arguments =
        ["report", "last", "-o", "markdown=report.md", "-o", "csv=trials.csv", "-o", "json"];
    let output = sweetspot(folder.path(), &arguments);
    output.assert_code(0);
    assert_eq!(output.stderr, "wrote report.md\nwrote trials.csv\n");
    let json = output.json();
    assert_eq!(json["session"], 1);
    let markdown = fs::read_to_string(folder.path().join("report.md")).unwrap();
    assert!(markdown.starts_with("**Run 3 workers x 5 threads"), "{markdown}");
    let csv = fs::read_to_string(folder.path().join("trials.csv")).unwrap();
    assert_eq!(csv.lines().count(), 13);
    let names: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 3, "no temporary file is left: {names:?}");
}

#[test]
fn a_shown_session_is_the_text_report() {
    let folder = folder_with(&[sample::events()]);
    let shown = sweetspot(folder.path(), &["sessions", "show", "1"]).stdout;
    let reported = sweetspot(folder.path(), &["report", "1"]).stdout;
    assert_eq!(shown, reported);
    assert!(shown.starts_with("Run 3 workers x 5 threads"), "{shown}");
    assert!(shown.contains("Stored as session 1 in .sweetspot/sweetspot.db"), "{shown}");
}

#[test]
fn a_session_that_has_not_ended_is_reported_as_far_as_it_went() {
    let folder = folder_with(&[sample::unfinished_events()]);
    let output = sweetspot(folder.path(), &["report", "1", "-o", "markdown"]);
    output.assert_code(0);
    assert!(output.stderr.contains("has not ended"), "{}", output.stderr);
    assert!(output.stdout.contains("best so far"), "{}", output.stdout);
}

#[test]
fn a_session_without_valid_trials_is_reported_and_concludes_nothing() {
    let folder = folder_with(&[sample::invalid_events()]);
    let output = sweetspot(folder.path(), &["report", "1"]);
    output.assert_code(0);
    assert!(output.stderr.contains("no trial of this session is valid"));
    assert!(output.stdout.starts_with("Nothing can be concluded"));
}

#[test]
fn a_session_whose_trials_at_a_rate_do_not_count_says_what_keeps_them_from_it() {
    let folder = folder_with(&[sample::untold_events()]);
    let text = sweetspot(folder.path(), &["report", "1"]).stdout;
    assert!(text.starts_with("Whether anything holds p95<"), "{text}");
    assert!(text.contains("the machine's cores were stolen 31 % of the time"), "{text}");
    assert!(text.contains("sweetspot doctor"), "{text}");
}

#[test]
fn what_is_not_there_is_a_usage_error_that_says_what_to_do() {
    let empty = tempfile::tempdir().unwrap();
    let folder = folder_with(&[sample::events()]);
    let without_sessions = folder_with(&[]);
    Store::open(&without_sessions.path().join(".sweetspot/sweetspot.db")).unwrap();
    let cases: [(&Path, &[&str], &str); 9] = [
        (empty.path(), &["sessions", "list"], "'sweetspot tune' makes it"),
        (empty.path(), &["report", "last"], "'sweetspot tune' makes it"),
        (without_sessions.path(), &["report", "last"], "holds no session yet"),
        (folder.path(), &["report", "9"], "there is no session 9; 'sweetspot sessions list'"),
        (folder.path(), &["sessions", "rm", "9"], "there is no session 9"),
        (folder.path(), &["sessions", "show", "first"], "give its number or 'last'"),
        (folder.path(), &["report", "1", "-o", "pdf=a.pdf"], "text, markdown, json, csv"),
        (folder.path(), &["report", "1", "-o", "csv="], "write for example csv=FILE"),
        (folder.path(), &["report", "1", "-o", "csv", "-o", "json"], "json=PATH"),
    ];
    for (folder, arguments, part) in cases {
        let output = sweetspot(folder, arguments);
        assert_eq!(output.code, Some(2), "{arguments:?}: {output:?}");
        assert!(output.stderr.contains(part), "'{part}' is missing in: {}", output.stderr);
    }
    assert!(!empty.path().join(".sweetspot").exists(), "reading makes no store");
}

#[test]
fn a_removed_session_is_no_longer_listed() {
    let folder = folder_with(&[sample::events(), sample::hopeless_events()]);
    let output = sweetspot(folder.path(), &["sessions", "rm", "last"]);
    assert_eq!(output.stdout, "removed session 2\n");
    let list = sweetspot(folder.path(), &["sessions", "list"]).stdout;
    assert_eq!(list.lines().count(), 2, "{list}");
    sweetspot(folder.path(), &["sessions", "rm", "1"]);
    let list = sweetspot(folder.path(), &["sessions", "list"]).stdout;
    assert!(list.starts_with("no session is stored here yet"), "{list}");
}

#[test]
fn a_report_that_cannot_be_written_leaves_the_old_one_and_says_why() {
    let folder = folder_with(&[sample::events()]);
    let reports = folder.path().join("reports");
    fs::create_dir(&reports).unwrap();
    fs::write(reports.join("r.md"), "an older report").unwrap();
    set_mode(&reports, 0o555);
    set_mode(folder.path(), 0o755);
    // A store is its maker's own; here another user may read it.
    set_mode(&folder.path().join(".sweetspot"), 0o755);
    set_mode(&folder.path().join(".sweetspot/sweetspot.db"), 0o644);
    // Where this program lies may be closed to others.
    let program = copy_of_program(folder.path());
    let mut command = Command::new(&program);
    command.args(["report", "1", "-o", "markdown=reports/r.md"]).current_dir(folder.path());
    let output = as_nobody(|| ended(&mut command));
    output.assert_code(1);
    let text = output.stderr;
    assert!(text.contains("reports/r.md") && text.contains("Permission denied"), "{text}");
    assert_eq!(fs::read_to_string(reports.join("r.md")).unwrap(), "an older report");
    set_mode(&reports, 0o755);
}

#[test]
fn every_table_goes_into_a_folder_or_none_does() {
    let folder = folder_with(&[sample::events()]);
    let names = |path: &str| {
        let mut names: Vec<String> = fs::read_dir(folder.path().join(path))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    let expected = [
        "equivalent.csv",
        "front.csv",
        "knobs.csv",
        "map.csv",
        "plan.csv",
        "predicted.csv",
        "seconds.csv",
        "trials.csv",
        "warnings.csv",
    ];
    // A folder that is to be made, and one that is there.
    fs::create_dir(folder.path().join("there")).unwrap();
    for output in ["csv=made/", "csv=there"] {
        let output = sweetspot(folder.path(), &["report", "last", "-o", output]);
        output.assert_code(0);
    }
    assert_eq!(names("made"), expected);
    assert_eq!(names("there"), expected);

    // One that cannot be written keeps the others from being so.
    fs::create_dir_all(folder.path().join("stuck/plan.csv")).unwrap();
    let output = sweetspot(folder.path(), &["report", "last", "-o", "csv=stuck/"]);
    output.assert_code(1);
    assert!(output.stderr.contains("could not write the report stuck/"), "{}", output.stderr);
    assert_eq!(names("stuck"), ["plan.csv"]);
    sweetspot(folder.path(), &["report", "last", "-o", "csv=no/such/"]).assert_code(1);
}

#[test]
fn a_job_summary_is_added_to_and_any_other_page_is_replaced() {
    let folder = folder_with(&[sample::events()]);
    let report = |to: &str| {
        let mut command = program(folder.path());
        command.args(["report", "last", "-o", &format!("markdown={to}")]);
        ended(command.env("GITHUB_STEP_SUMMARY", folder.path().join("summary.md"))).assert_code(0);
    };
    let text = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    let summary = folder.path().join("summary.md");
    for _ in 0..2 {
        report(summary.to_str().unwrap());
        report("page.md");
    }
    assert_eq!(text("summary.md"), format!("{0}\n{0}", text("page.md")));
}

#[test]
fn a_report_follows_a_link_and_writes_into_a_pipe() {
    let folder = folder_with(&[sample::events()]);
    fs::write(folder.path().join("real.md"), "").unwrap();
    std::os::unix::fs::symlink("real.md", folder.path().join("link.md")).unwrap();
    let arguments = ["report", "1", "-o", "markdown=link.md", "-o", "csv=/dev/stdout"];
    let output = sweetspot(folder.path(), &arguments);
    output.assert_code(0);
    assert!(folder.path().join("link.md").is_symlink());
    assert!(fs::read_to_string(folder.path().join("real.md")).unwrap().starts_with("**Run"));
    assert!(output.stdout.starts_with("id,workers,threads"));
}

#[test]
fn a_session_killed_before_its_first_event_is_reported_by_its_head() {
    let folder = folder_with(&[Vec::new()]);
    let output = sweetspot(folder.path(), &["report", "1", "-o", "json"]);
    let json = output.json();
    assert_eq!(json["app"], head().app);
    assert_eq!(json["state"], "running");
    assert!(json["machine"].is_null());
}

#[test]
fn a_damaged_event_leaves_the_rest_of_a_session_to_be_read() {
    let folder = folder_with(&[sample::events()]);
    change(
        &folder.path().join(".sweetspot/sweetspot.db"),
        "UPDATE events SET json = '{\"at_s\": 1.0, \"kind\"' WHERE kind = 'trial_finished' AND
         seq = (SELECT min(seq) FROM events WHERE kind = 'trial_finished')",
    );
    let output = sweetspot(folder.path(), &["report", "last"]);
    output.assert_code(0);
    let text = output.stdout;
    assert!(text.starts_with("Run 3 workers x 5 threads"), "{text}");
    let words = flat(&text);
    for said in ["table events with session 1 and seq", "sessions rm 1", "events that can be read"]
    {
        assert!(words.contains(said), "{said}\n{text}");
    }
    assert!(text.contains("\n  12  1 x 5    confirm"), "the other trials are there: {text}");
    // What computes from a session wants it whole.
    let output = sweetspot(folder.path(), &["predict", "last"]);
    output.assert_code(1);
    assert!(output.stderr.contains("is damaged"), "{}", output.stderr);
}
