//! Doctor on this machine.

use sweetspot::report::document::doctor::FindingReport;
use sweetspot::session::doctor::{self, DoctorSettings};
use sweetspot::terms::{Finding, FindingState, MachineCheck};

use crate::process::{app, ended, program, sweetspot};

const APP: (&str, &str) = ("config.ru", "run ->(_) { [200, {}, []] }");

fn exit_code_of(findings: &[FindingReport]) -> Option<i32> {
    Some(i32::from(findings.iter().any(|finding| finding.state == FindingState::Bad)))
}

#[test]
fn json_is_an_array_of_findings_and_the_exit_code_says_whether_one_is_bad() {
    let folder = tempfile::tempdir().unwrap();
    let ended = sweetspot(folder.path(), &["doctor", "--quick", "--json"]);
    let findings: Vec<FindingReport> = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(ended.code, exit_code_of(&findings));
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
        "left_behind",
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
    let folder = app(&[APP]);
    let mut command = program(folder.path());
    let ended = ended(command.args(["doctor", "--quick"]).env("PATH", folder.path()));
    assert_eq!(ended.code, Some(1));
    let text = ended.stdout;
    assert!(text.contains("bad   puma") && text.contains("needs `puma`"), "{text}");
    assert!(text.contains("not fit to measure on"), "{text}");
    assert!(!text.contains('\x1b'), "colours are for terminals");
}

#[test]
fn a_full_run_finds_the_tools_of_an_app_and_warns_of_all_that_is_not_ok() {
    let folder = app(&[APP]);
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
    let ended = sweetspot(folder.path(), &["doctor", "nowhere"]);
    ended.assert_code(2);
    assert!(ended.stderr.contains("nowhere is no folder"), "{ended:?}");
}
