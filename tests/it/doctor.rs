//! Doctor on this machine.

use std::time::Duration;

use sweetspot::report::document::doctor::FindingReport;
use sweetspot::session::doctor::{self, DoctorSettings};
use sweetspot::terms::{Finding, FindingState, MachineCheck};

fn run(arguments: &[&str], folder: &std::path::Path) -> (Option<i32>, String) {
    let mut command = assert_cmd::Command::cargo_bin("sweetspot").unwrap();
    command.arg("doctor").args(arguments).current_dir(folder).timeout(Duration::from_secs(60));
    let output = command.output().unwrap();
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

fn exit_code_of(findings: &[FindingReport]) -> Option<i32> {
    Some(i32::from(findings.iter().any(|finding| finding.state == FindingState::Bad)))
}

#[test]
fn json_is_an_array_of_findings_and_the_exit_code_says_whether_one_is_bad() {
    let folder = tempfile::tempdir().unwrap();
    let (code, output) = run(&["--quick", "--json"], folder.path());
    let findings: Vec<FindingReport> = serde_json::from_str(&output).unwrap();
    assert_eq!(code, exit_code_of(&findings));
    let codes: Vec<&str> = findings.iter().map(|finding| finding.code.as_str()).collect();
    let expected = [
        "cores",
        "governor",
        "steal",
        "load",
        "noise",
        "open_files",
        "ports",
        "somaxconn",
        "clock",
        "control_groups",
        "priority",
        "memory",
        "swap",
        "disk",
    ];
    assert_eq!(codes, expected);
    for finding in &findings {
        assert_eq!(finding.state == FindingState::Ok, finding.advice.is_empty(), "{finding:?}");
        assert!(!finding.figure.is_empty(), "{finding:?}");
    }
    // A look leaves nothing behind, not even the store's folder.
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_program_that_the_app_needs_and_that_is_missing_is_bad() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("config.ru"), "run ->(_) { [200, {}, []] }").unwrap();
    let mut command = assert_cmd::Command::cargo_bin("sweetspot").unwrap();
    command.args(["doctor", "--quick"]).current_dir(folder.path()).env("PATH", folder.path());
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("bad   puma") && text.contains("needs `puma`"), "{text}");
    assert!(text.contains("not fit to measure on"), "{text}");
    assert!(!text.contains('\x1b'), "colours are for terminals");
}

#[test]
fn a_full_run_finds_the_tools_of_an_app_and_warns_of_all_that_is_not_ok() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("config.ru"), "run ->(_) { [200, {}, []] }").unwrap();
    let settings = DoctorSettings {
        quick: false,
        app: folder.path().to_path_buf(),
        store: folder.path().join(".sweetspot"),
    };
    let findings = doctor::check(&settings);
    let program = |one: &Finding| match &one.check {
        MachineCheck::ProgramFound { program, .. } => Some(program.clone()),
        _ => None,
    };
    let tools: Vec<String> = findings.iter().filter_map(program).collect();
    assert_eq!(tools, ["ruby", "puma"]);
    let doubts = findings.iter().filter(|one| one.state != FindingState::Ok).count();
    assert_eq!(doctor::warnings(&findings).len(), doubts);
}

#[test]
fn a_folder_that_is_not_there_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = assert_cmd::Command::cargo_bin("sweetspot").unwrap();
    let output = command.args(["doctor", "nowhere"]).current_dir(folder.path()).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("nowhere is no folder"), "{said}");
}
