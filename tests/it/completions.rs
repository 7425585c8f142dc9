//! What a real shell completes, and the manual's pages.

use std::fs;
use std::process::Command;

use tempfile::TempDir;

use crate::process::{ended, sweetspot};

/// Completes the last of the words after `sweetspot`, in the script's first argument.
const IN_BASH: &str = r#"
source "$1"
shift
COMP_WORDS=(sweetspot "$@")
COMP_CWORD=$#
_sweetspot sweetspot "${COMP_WORDS[-1]}" "${COMP_WORDS[-2]}"
printf '%s\n' "${COMPREPLY[@]}"
"#;

/// What bash offers in an empty folder for the last of these words.
fn offered(words: &[&str]) -> Vec<String> {
    let (folder, elsewhere) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let made = sweetspot(folder.path(), &["completions", "bash"]);
    made.assert_code(0);
    let script = elsewhere.path().join("sweetspot");
    fs::write(&script, made.stdout).unwrap();
    let mut bash = Command::new("bash");
    bash.args(["--norc", "-c", IN_BASH, "bash"]).arg(script).args(words);
    let ended = ended(bash.current_dir(folder.path()));
    assert!(ended.code == Some(0) && ended.stderr.is_empty(), "{ended:?}");
    ended.stdout.lines().map(str::to_string).collect()
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
    sweetspot(folder.path(), &["completions", "--man", "man1"]).assert_code(0);
    let pages = fs::read_dir(&man).unwrap().map(|page| page.unwrap().file_name());
    let pages: Vec<String> = pages.map(|page| page.into_string().unwrap()).collect();
    for verb in offered(&["t"]).iter().chain(&offered(&["l"])) {
        assert!(pages.contains(&format!("sweetspot-{verb}.1")), "{verb}: {pages:?}");
    }
    assert!(!pages.iter().any(|page| page.contains("__")), "{pages:?}");
    let tune = fs::read_to_string(man.join("sweetspot-tune.1")).unwrap();
    for part in [".SH NAME", ".SH OPTIONS", "\n.SH EXAMPLES\n.nf\n  sweetspot tune  "] {
        assert!(tune.contains(part), "{part}: {tune}");
    }
}
