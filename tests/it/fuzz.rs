//! Tests of what `make fuzz` runs, short of running it: that takes another compiler.

use std::fs;

use tempfile::TempDir;

use crate::process::{ended, in_shell, project, script_on};

/// What scripts/fuzz says on a machine with these made-up programs only; it must not succeed.
fn said_with(programs: &str, seconds: &str) -> String {
    let folder = TempDir::new().unwrap();
    let fakes = format!(
        "fake() {{ printf '#!/bin/sh\\n%s\\n' \"$2\" > $1; chmod +x $1; }}\n\
         ln -s \"$(command -v dirname)\" dirname\n{programs}"
    );
    in_shell(folder.path(), &fakes, &[]);
    let script = project().join("scripts/fuzz");
    let mut fuzz = script_on(folder.path(), &[script.to_str().unwrap(), seconds]);
    let ended = ended(fuzz.current_dir(folder.path()));
    assert_ne!(ended.code, Some(0));
    assert!(ended.stdout.is_empty(), "nothing was begun");
    ended.stderr
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
    let manifest = fs::read_to_string(project().join("fuzz/Cargo.toml")).unwrap();
    let targets = fs::read_dir(project().join("fuzz/fuzz_targets")).unwrap();
    for file in targets.map(|entry| entry.unwrap().path()) {
        let target = file.file_stem().unwrap().to_str().unwrap();
        assert!(manifest.contains(&format!("name = \"{target}\"")), "{target} is not declared");
        let seeds = fs::read_dir(project().join("fuzz/corpus-seeds").join(target)).unwrap();
        let sizes: Vec<u64> = seeds.map(|seed| seed.unwrap().metadata().unwrap().len()).collect();
        assert!(!sizes.is_empty() && sizes.iter().all(|size| *size <= 1000), "{target}: {sizes:?}");
    }
}
