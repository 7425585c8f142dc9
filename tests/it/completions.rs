//! What a real shell completes, and the manual's pages.

use std::fs::{self, File};
use std::process::Command;

use tempfile::TempDir;

/// Completes the last of the words after `sweetspot`, in the script's first argument.
const IN_BASH: &str = r#"
source "$1"
shift
COMP_WORDS=(sweetspot "$@")
COMP_CWORD=$#
_sweetspot sweetspot "${COMP_WORDS[-1]}" "${COMP_WORDS[-2]}"
printf '%s\n' "${COMPREPLY[@]}"
"#;

fn sweetspot(shell: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sweetspot"));
    command.args(["completions", shell]);
    command
}

/// What bash offers in an empty folder for the last of these words.
fn offered(words: &[&str]) -> Vec<String> {
    let folder = TempDir::new().unwrap();
    let script = TempDir::new().unwrap();
    let script = script.path().join("sweetspot");
    assert!(sweetspot("bash").stdout(File::create(&script).unwrap()).status().unwrap().success());
    let mut bash = Command::new("bash");
    bash.args(["--norc", "-c", IN_BASH, "bash"]).arg(script).args(words);
    let ended = bash.current_dir(folder.path()).output().unwrap();
    assert!(ended.status.success() && ended.stderr.is_empty(), "{ended:?}");
    String::from_utf8(ended.stdout).unwrap().lines().map(str::to_string).collect()
}

#[test]
fn bash_completes_the_verbs_that_people_type() {
    let verbs = offered(&[""]);
    for verb in ["tune", "load", "observe", "lab", "doctor"] {
        assert!(verbs.iter().any(|it| it == verb), "{verb}: {verbs:?}");
    }
    assert!(!verbs.iter().any(|it| it.starts_with("__")), "{verbs:?}");
    assert_eq!(offered(&["lab", "sh"]), ["show"]);
}

#[test]
fn bash_completes_options_and_the_words_that_they_take() {
    assert_eq!(offered(&["tune", "--goa"]), ["--goal"]);
    for (words, expected) in [
        (["tune", "--goal", "l"], &["latency"][..]),
        (["tune", "--server", "un"], &["unicorn"]),
        (["tune", "--proxy", ""], &["nginx", "thruster", "kamal-proxy", "none"]),
        (["tune", "--arrivals", ""], &["poisson", "uniform"]),
        (["tune", "--place", "k"], &["kubernetes"]),
        (["report", "--lang", ""], &["en", "ja"]),
        (["load", "--image-pull-policy", "N"], &["Never"]),
    ] {
        assert_eq!(offered(&words), expected, "{words:?}");
    }
}

#[test]
fn the_manual_has_a_page_for_each_verb_that_people_type() {
    let folder = TempDir::new().unwrap();
    let man = folder.path().join("man1");
    let mut command = Command::new(env!("CARGO_BIN_EXE_sweetspot"));
    assert!(command.args(["completions", "--man"]).arg(&man).status().unwrap().success());
    let pages = fs::read_dir(&man).unwrap().map(|page| page.unwrap().file_name());
    let pages: Vec<String> = pages.map(|page| page.into_string().unwrap()).collect();
    for verb in offered(&["t"]).iter().chain(&offered(&["l"])) {
        assert!(pages.contains(&format!("sweetspot-{verb}.1")), "{verb}: {pages:?}");
    }
    assert!(!pages.iter().any(|page| page.contains("__")), "{pages:?}");
    let tune = fs::read_to_string(man.join("sweetspot-tune.1")).unwrap();
    for part in [".SH NAME", ".SH OPTIONS", "sweetspot tune"] {
        assert!(tune.contains(part), "{part}: {tune}");
    }
}
