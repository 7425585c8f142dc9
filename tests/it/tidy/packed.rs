//! What `cargo package` puts into the crate: what the program is built from, with the page of HTML
//! reports, so that `cargo install` needs no Node.js.

use super::documents::resolve;
use super::source::Source;
use super::{Finding, Rule, Tree, try_out};

/// What builds the page into the program, and the readme that a registry shows.
const NEEDED: [&str; 4] = ["build.rs", "ui/dist/page.js", "ui/dist/page.css", "README.md"];

/// They take a file or a folder into the program.
const MACROS: [&str; 3] = ["include_bytes", "include_dir", "include_str"];

const PACKED: Rule = Rule {
    name: "`include` in Cargo.toml has all that the program is built from",
    why: "a crate without one of these files does not build where it is installed, or builds a \
          program whose reports have no page",
    instead: "add the file or its folder to `include`, from the root: \"/deploy\"",
    find: not_packed,
};

fn not_packed(tree: &Tree) -> Vec<Finding> {
    let manifest: toml::Table = tree.text("Cargo.toml").parse().unwrap_or_default();
    let include = manifest.get("package").and_then(|package| package.get("include")?.as_array());
    let include: Vec<&str> =
        include.into_iter().flatten().filter_map(toml::Value::as_str).collect();
    let is_packed = |path: &str| include.iter().any(|pattern| matches(pattern, path));
    let always = NEEDED.iter().map(|path| ("Cargo.toml", 0, path.to_string()));
    let sources = tree.product().map(|source| (source.path.as_str(), 0, source.path.clone()));
    let mut findings = Vec::new();
    for (path, line, needed) in always.chain(tree.product().flat_map(taken_in)).chain(sources) {
        if !is_packed(&needed) {
            findings.push(Finding::new(path, line, format!("{needed} is not in the crate")));
        }
    }
    findings
}

/// A file, what is below a folder, or whatever begins so (`/LICENSE-*`). Other patterns that cargo
/// knows match nothing here.
fn matches(pattern: &str, path: &str) -> bool {
    let Some(pattern) = pattern.strip_prefix('/') else { return false };
    match (pattern.strip_suffix('*'), path.strip_prefix(pattern)) {
        (Some(beginning), _) => path.starts_with(beginning) && !path.contains('/'),
        (None, Some(rest)) => rest.is_empty() || rest.starts_with('/'),
        (None, None) => false,
    }
}

/// What a file takes into the program outside of its tests: where that is written, and what it is.
/// What the build made (`concat!`) is in no crate.
fn taken_in(source: &Source) -> Vec<(&str, usize, String)> {
    let mut taken_in = Vec::new();
    for name in MACROS {
        for offset in source.find_word(name) {
            // The name in an import has no argument.
            let argument = source.text[offset + name.len()..].strip_prefix("!(");
            let literal = argument.and_then(|argument| argument.trim_start().strip_prefix('"'));
            let Some((path, _)) = literal.and_then(|literal| literal.split_once('"')) else {
                continue;
            };
            let whole = match path.strip_prefix("$CARGO_MANIFEST_DIR/") {
                Some(from_root) => from_root.to_string(),
                None => resolve(&source.path, path),
            };
            taken_in.push((source.path.as_str(), source.line(offset), whole));
        }
    }
    taken_in
}

#[test]
fn what_is_left_out_of_the_crate_is_found() {
    let manifest = |include: &str| format!("[package]\ninclude = [{include}]\n");
    let source = (
        "src/a/b.rs",
        "use include_dir::include_dir;\nconst A: &str = include_str!(\"a.sh\");\n\
        const B: &str = include_str!(\n    \"../../deploy/b.yaml\");\n\
        static C: Dir = include_dir!(\"$CARGO_MANIFEST_DIR/labs\");\n\
        const D: &str = include_str!(concat!(env!(\"OUT_DIR\"), \"/page.js\"));\n\
        #[cfg(test)]\nmod tests {\n    const E: &str = include_str!(\"../../tests/e\");\n}\n",
    );
    let bad = manifest("\"/src\", \"/ui\", \"/deploy/a.yaml\", \"/READ*\", \"labs\"");
    let good = manifest("\"/src\", \"/ui\", \"/build.rs\", \"/READ*\", \"/deploy\", \"/labs\"");
    let (bad, good) = (("Cargo.toml", bad.as_str()), ("Cargo.toml", good.as_str()));
    // The build's script, the labs, and one of two that are deployed.
    try_out(&PACKED, &[bad, source], &[0, 5, 3], &[good, source]);
    try_out(&PACKED, &[("Cargo.toml", "[package]\n")], &[0; 4], &[good, source]);
}
