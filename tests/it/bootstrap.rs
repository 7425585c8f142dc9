//! Tests of scripts/bootstrap against made-up machines: a folder of fake programs is all its PATH
//! holds. (Whether Debian's packages do what we think is seen where `make demo` runs on a bare
//! one.)

use tempfile::TempDir;

use crate::process::{ended, in_shell, project, script_on};

/// A machine on which everything is there, Rust is recent, and the user is root.
const COMPLETE: &str = r#"
fake() { printf '#!/bin/sh\n%s\n' "$2" > "$1"; chmod +x "$1"; }
for tool in sed sort head tr grep env dirname tee chmod rm; do
    ln -s "$(command -v $tool)" $tool
done
fake id 'echo 0'
fake cargo 'echo "cargo 1.100.0 (abc 2027-01-01)"'
fake rustc 'echo "rustc 1.100.0-nightly (abc 2027-01-01)"'
for tool in cc ruby puma unicorn thin php-fpm bundle cargo-fmt cargo-clippy; do fake $tool ''; done
for tool in gunicorn uvicorn node nginx openssl wrk ab h2load hey; do fake $tool ''; done
for tool in npm chromium; do fake $tool ''; done
for tool in strace mariadbd memcached jq prometheus systemctl; do fake $tool ''; done
fake fc-list 'echo /usr/share/fonts/gothic.ttf'
fake apt-get 'echo "apt-get $*" >> "$LOG"'
fake apt-cache 'echo "  Candidate: 1.96.0+dfsg1-1~deb12u2"'
fake sudo 'echo "sudo $*" >> "$LOG"; [ "$1" = -n ] && shift
case "$1" in env | tee | chmod | rm) "$@" ;; *) exit 1 ;; esac'
"#;

/// What bootstrap did on a made-up machine.
struct Outcome {
    code: i32,
    /// What it said.
    said: String,
    /// The calls of apt-get and sudo, a line each.
    calls: String,
    /// What it left of the file that forbids daemons.
    left: Vec<String>,
}

/// Runs bootstrap on the complete machine after `changes`, a shell script run in the folder of
/// fakes.
fn bootstrap(purpose: &str, changes: &str) -> Outcome {
    let folder = TempDir::new().unwrap();
    let programs = folder.path().join("bin");
    std::fs::create_dir(&programs).unwrap();
    let log = folder.path().join("log");
    in_shell(&programs, &format!("{COMPLETE}{changes}"), &[]);
    let script = project().join("scripts/bootstrap");
    let policy = folder.path().join("policy-rc.d");
    let mut script = script_on(&programs, &[script.to_str().unwrap(), purpose]);
    let ended = ended(script.env("LOG", &log).env("POLICY_RC_D", &policy));
    assert!(ended.stdout.is_empty(), "standard output is for make: {ended:?}");
    Outcome {
        code: ended.code.unwrap(),
        said: ended.stderr,
        calls: std::fs::read_to_string(&log).unwrap_or_default(),
        left: std::fs::read_to_string(&policy).into_iter().collect(),
    }
}

const OLD_RUST: &str = "fake cargo 'echo \"cargo 1.63.0\"'; fake rustc 'echo \"rustc 1.63.0\"';";

/// An apt-get that brings a recent Rust when it installs.
const APT_BRINGS_RUST: &str = r##"
fake apt-get 'echo "apt-get $*" >> "$LOG"; bin=${0%/*}
case "$*" in *install*) for tool in cargo rustc; do
printf "#!/bin/sh\necho $tool 1.96.0\n" > $bin/$tool; done ;; esac';
"##;

#[test]
fn nothing_is_done_where_everything_is_there() {
    for purpose in ["build", "demo", "test", "lint", "bench-load"] {
        let outcome = bootstrap(purpose, "");
        assert_eq!((outcome.code, outcome.said.as_str()), (0, ""), "{purpose}");
        assert_eq!(outcome.calls, "", "{purpose}");
    }
}

#[test]
fn an_old_rust_is_replaced_and_versions_are_no_decimal_fractions() {
    let outcome = bootstrap("demo", &format!("{OLD_RUST}{APT_BRINGS_RUST}"));
    assert_eq!(outcome.code, 0, "{}", outcome.said);
    assert!(outcome.said.contains("installing (apt): cargo-web rustc-web"), "{}", outcome.said);
    assert!(outcome.calls.contains("install -y --no-install-recommends cargo-web rustc-web"));
    assert!(!outcome.calls.contains("update"), "the lists knew it: {}", outcome.calls);
    // 1.9 is older than 1.89, though 0.9 is more than 0.89.
    let outcome = bootstrap("build", "fake rustc 'echo \"rustc 1.9.0\"'");
    assert!(outcome.calls.contains("rustc-web"), "{}", outcome.calls);
}

#[test]
fn lists_without_a_recent_rust_are_updated_first() {
    let old = "fake apt-cache 'echo \"  Candidate: 1.85.0+dfsg3-1\"';";
    let outcome = bootstrap("build", &format!("{OLD_RUST}{APT_BRINGS_RUST}{old}"));
    assert_eq!(outcome.code, 0, "{}", outcome.said);
    let update = outcome.calls.find("update").expect("the lists are updated");
    assert!(update < outcome.calls.find("install").unwrap(), "{}", outcome.calls);
}

#[test]
fn what_is_still_missing_after_installing_is_said() {
    let outcome = bootstrap("build", OLD_RUST);
    assert_eq!(outcome.code, 1);
    assert!(outcome.said.contains("still missing"), "{}", outcome.said);
    assert!(outcome.said.contains("1.89 or later"), "{}", outcome.said);
}

#[test]
fn a_user_who_cannot_install_is_told_what_to_run() {
    let line = "apt-get install --no-install-recommends ruby puma ruby-sinatra\n";
    let user = "fake id 'echo 1000'; rm ruby;";
    for (changes, why) in [
        (format!("{user} rm sudo"), "no sudo"),
        (format!("{user} fake sudo 'exit 1'"), "sudo refuses"),
    ] {
        let outcome = bootstrap("demo", &changes);
        assert_eq!(outcome.code, 1, "{why}");
        assert!(outcome.said.contains(line), "{why}: {}", outcome.said);
        assert_eq!(outcome.calls, "", "{why}");
    }
}

#[test]
fn a_user_is_asked_through_sudo_after_saying_what_for() {
    let outcome = bootstrap("test", "fake id 'echo 1000'; rm cc ruby");
    assert!(outcome.said.starts_with(
        "bootstrap: asking sudo to install (apt): gcc libc6-dev ruby puma ruby-sinatra \
         ruby-rails ruby-sqlite3 unicorn thin"
    ));
    // Nobody is there to type a password.
    assert!(outcome.calls.contains("\nsudo -n env"), "{}", outcome.calls);
    assert!(outcome.calls.contains("install -y --no-install-recommends gcc"), "{}", outcome.calls);
}

#[test]
fn no_daemon_is_started_by_what_is_installed() {
    let asks = "fake apt-get 'sh \"$POLICY_RC_D\"; echo \"daemons: $?\" >> \"$LOG\"';
        ln -s /bin/sh sh;";
    let outcome = bootstrap("test", &format!("{asks} rm mariadbd memcached"));
    assert!(outcome.said.contains("not started now"), "{}", outcome.said);
    // 101: not allowed (invoke-rc.d's policy layer).
    assert!(outcome.calls.starts_with("daemons: 101\n"), "{}", outcome.calls);
    assert_eq!(outcome.left, Vec::<String>::new());
}

#[test]
fn only_the_tests_need_rails() {
    let without_rails = "fake ruby 'case $3 in rails) exit 1 ;; esac'";
    assert_eq!(bootstrap("demo", without_rails).said, "");
    let outcome = bootstrap("test", without_rails);
    assert!(outcome.said.contains("rails"), "{}", outcome.said);
}

#[test]
fn only_the_tests_need_other_servers_than_the_demos() {
    for server in ["unicorn", "thin", "php-fpm"] {
        assert_eq!(bootstrap("demo", &format!("rm {server}")).said, "");
    }
    for server in ["unicorn", "thin"] {
        let outcome = bootstrap("test", &format!("rm {server}"));
        let lacking = "lacks one of: puma sinatra unicorn thin";
        assert!(outcome.said.contains(lacking), "{}", outcome.said);
    }
}

#[test]
fn only_the_tests_need_databases() {
    let without = "rm mariadbd memcached; fake ruby 'case $3 in mysql2|dalli) exit 1 ;; esac'";
    assert_eq!(bootstrap("demo", without).said, "");
    let outcome = bootstrap("test", "rm mariadbd memcached");
    // Where the machine that runs this test has a MariaDB, it is found beside PATH.
    assert!(outcome.said.contains("memcached"), "{}", outcome.said);
}

#[test]
fn only_the_readers_need_python_and_what_reads_reports() {
    let packages = "--no-install-recommends python3-venv libxml2-utils prometheus\n";
    assert!(bootstrap("readers", "").calls.contains(packages));
    let fakes = "for tool in python3 xmllint promtool; do fake $tool ''; done";
    assert_eq!(bootstrap("readers", fakes).said, "");
}

#[test]
fn only_the_bench_of_load_needs_other_load_generators() {
    let without = "rm wrk ab h2load hey;";
    assert_eq!(bootstrap("test", without).said, "");
    let outcome = bootstrap("bench-load", without);
    let packages = "installing (apt): wrk apache2-utils nghttp2-client hey\n";
    assert!(outcome.said.contains(packages), "{}", outcome.said);
}

#[test]
fn rust_of_rustup_and_a_ruby_of_ones_own_are_left_to_their_owners() {
    for (purpose, changes, advice) in [
        ("build", format!("{OLD_RUST} fake rustup ''"), "rustup update stable"),
        ("lint", "rm cargo-clippy; fake rustup ''".into(), "rustup component add rustfmt clippy"),
        ("demo", "fake ruby 'exit 1'".into(), "gem install puma sinatra\n"),
        (
            "test",
            "fake ruby 'exit 1'".into(),
            "gem install puma sinatra unicorn thin bundler 'rails:~>6.1'",
        ),
        ("build", "rm apt-get cc".into(), "as your system does"),
    ] {
        let outcome = bootstrap(purpose, &changes);
        assert_eq!(outcome.code, 1, "{advice}");
        assert!(outcome.said.contains(advice), "{advice}: {}", outcome.said);
        assert_eq!(outcome.calls, "", "{advice}");
    }
}

#[test]
fn without_node_the_page_is_left_out_and_one_line_says_so() {
    let programs = TempDir::new().unwrap();
    in_shell(programs.path(), "ln -s \"$(command -v dirname)\" dirname", &[]);
    let script = project().join("scripts/build-ui");
    let script = script.to_str().unwrap();
    for (words, code) in [(&[script][..], 0), (&[script, "required"], 1)] {
        let ended = ended(&mut script_on(programs.path(), words));
        ended.assert_code(code);
        let said = ended.stderr;
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(said.contains("no Node.js") && said.contains("no pictures"), "{said}");
    }
}
