//! Tests of what `make fuzz` runs, short of running it: that takes another compiler.

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// What scripts/fuzz says on a machine with these made-up programs only; it must not succeed.
fn said_with(programs: &str, seconds: &str) -> String {
    let folder = TempDir::new().unwrap();
    // A shell writes the fakes and not we: a file that this process has open for writing while
    // another test forks can't be run ("text file busy").
    let fakes = format!(
        "fake() {{ printf '#!/bin/sh\\n%s\\n' \"$2\" > $1; chmod +x $1; }}\n\
         ln -s \"$(command -v dirname)\" dirname\n{programs}"
    );
    let shell = |arguments: &[&str]| {
        let mut shell = Command::new("/bin/sh");
        shell.args(arguments).current_dir(folder.path());
        shell
    };
    assert!(shell(&["-euc", &fakes]).status().unwrap().success(), "{programs}");
    let script = root().join("scripts/fuzz");
    let mut fuzz = shell(&[script.to_str().unwrap(), seconds]);
    let output = fuzz.env_clear().env("PATH", folder.path()).output().unwrap();
    assert!(!output.status.success());
    assert!(output.stdout.is_empty(), "nothing was begun");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn what_fuzzing_needs_is_named_with_the_way_to_get_it_and_not_installed() {
    for (programs, seconds, expected) in [
        ("", "60", "rustup toolchain install nightly"),
        ("fake cargo '[ \"$1\" = +nightly ]'", "60", "cargo install cargo-fuzz"),
        ("fake cargo ''", "60", "apt-get install g++"),
        ("", "an hour", "make fuzz FUZZ_S=60"),
    ] {
        let said = said_with(programs, seconds);
        assert!(said.starts_with("fuzz: ") && said.contains(expected), "{programs}: {said}");
    }
}

#[test]
fn every_fuzz_target_is_declared_and_has_small_seeds() {
    let manifest = fs::read_to_string(root().join("fuzz/Cargo.toml")).unwrap();
    let targets = fs::read_dir(root().join("fuzz/fuzz_targets")).unwrap();
    for file in targets.map(|entry| entry.unwrap().path()) {
        let target = file.file_stem().unwrap().to_str().unwrap();
        assert!(manifest.contains(&format!("name = \"{target}\"")), "{target} is not declared");
        let seeds = fs::read_dir(root().join("fuzz/corpus-seeds").join(target)).unwrap();
        let sizes: Vec<u64> = seeds.map(|seed| seed.unwrap().metadata().unwrap().len()).collect();
        assert!(!sizes.is_empty() && sizes.iter().all(|size| *size <= 1000), "{target}: {sizes:?}");
    }
}
