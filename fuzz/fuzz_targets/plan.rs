//! Any text as a plan file: an error names a line of it, and nothing that stands where secrets
//! stand is repeated, neither in an error nor in the plan as it is printed.

#![no_main]

use std::fs;
use std::path::Path;

use libfuzzer_sys::fuzz_target;
use sweetspot::fuzzing::parse_plan;
use sweetspot::plan::{Invoker, PlanError, Surroundings, Typed, resolve};
use sweetspot::terms::{Bytes, Cores};

/// No text that is printed for another reason contains it.
const SECRET: &str = "q7Zx-s3cr3t";

const SECRET_KEYS: [&str; 6] = ["password", "secret", "token", "authorization", "cookie", "body"];

/// The same with the secret in the place of every value that such a key has.
fn with_secrets(text: &str) -> String {
    let lines = text.lines().map(|line| match line.split_once('=') {
        Some((key, value)) if is_secret(key) => format!("{key}={}", hidden(value)),
        _ => line.to_string(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A bare key only: what else stands before a '=' may be inside a text.
fn is_secret(key: &str) -> bool {
    let key = key.trim().to_ascii_lowercase();
    let is_bare = key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    is_bare && SECRET_KEYS.iter().any(|name| key.contains(name))
}

/// The secret instead of what the first quotes hold, or of all of it.
fn hidden(value: &str) -> String {
    let Some(at) = value.find(['"', '\'']) else { return SECRET.to_string() };
    let (before, inside) = value.split_at(at + 1);
    let after = inside.find(&before[at..]).map_or("", |end| &inside[end..]);
    format!("{before}{SECRET}{after}")
}

/// The plan that this file makes of an app's folder, as it is printed, or why there is none.
fn resolved(text: &str) -> String {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let programs = folder.path().join("programs");
    fs::create_dir(&programs).expect("a folder can be made in it");
    for (path, content) in [("config.ru", "run App\n"), ("programs/puma", ""), (FILE, text)] {
        fs::write(folder.path().join(path), content).expect("a file can be written there");
    }
    let surroundings = Surroundings {
        folder: folder.path().to_path_buf(),
        cores: Cores::new(2.0).expect("this is a number of cores"),
        memory: Bytes(8 << 30),
        elsewhere: None,
        program_folders: vec![programs],
        invoker: Invoker { uid: 1000, sudo_uid: None },
    };
    match resolve(&Typed::default(), &surroundings) {
        Ok(plan) => format!("{:?}", plan.records),
        Err(error) => error.to_string(),
    }
}

const FILE: &str = "sweetspot.toml";

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    // In a text of several lines any line may look like a key with its value.
    if text.contains("\"\"\"") || text.contains("'''") {
        return;
    }
    let text = with_secrets(text);
    let lines = text.matches('\n').count() + 1;
    match parse_plan(&text, Path::new(FILE)) {
        Ok(_) => {
            // A file of targets could be any file of this machine, even one without an end.
            let names_file = text.contains("targets");
            let shown = if names_file { String::new() } else { resolved(&text) };
            assert!(!shown.contains(SECRET), "{shown}");
        }
        Err(error) => {
            let shown = error.to_string();
            assert!(!shown.contains(SECRET), "{shown}");
            let names = |line: usize| shown.starts_with(&format!("{FILE} line {line}: "));
            let is_empty_list = matches!(error, PlanError::NoTargets { .. });
            assert!(is_empty_list || (1..=lines).any(names), "{shown}");
        }
    }
});
