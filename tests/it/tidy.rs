//! The project's rules as tests. A rule that is only written down is soon forgotten; these say
//! where they are broken, why they are there, and what to do instead.
//!
//! In: the files of this checkout. Out: findings. Every rule is tried on a small bad sample first,
//! so that a rule which can't fail is found out.

mod book;
mod calls;
mod circles;
mod documents;
mod imports;
mod leftovers;
mod packed;
mod prose;
mod shape;
mod source;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use source::Source;

/// One of the project's rules.
pub struct Rule {
    /// What holds, in a sentence.
    pub name: &'static str,
    pub why: &'static str,
    pub instead: &'static str,
    pub find: fn(&Tree) -> Vec<Finding>,
}

/// A place where a rule is broken.
#[derive(Debug, PartialEq, Eq)]
pub struct Finding {
    pub path: String,
    /// From 1; 0 when the whole file is meant.
    pub line: usize,
    pub what: String,
}

impl Finding {
    fn new(path: &str, line: usize, what: impl Into<String>) -> Self {
        Self { path: path.to_string(), line, what: what.into() }
    }
}

/// The files a rule looks at: of this checkout, or a sample.
#[derive(Default)]
pub struct Tree {
    /// Every Rust file of the package and its tests.
    pub sources: Vec<Source>,
    /// Every other file that is text.
    pub texts: Vec<Text>,
}

/// A file that isn't Rust.
pub struct Text {
    /// Relative to the root, with `/`.
    pub path: String,
    pub text: String,
}

impl Tree {
    /// The checkout that this test was built from: what git tracks or would track.
    pub fn of_this_checkout() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut files = Vec::new();
        for path in listed_by_git(root).unwrap_or_else(|| walked(root)) {
            // A file that is deleted but not yet committed is listed and absent; one that is not
            // text has nothing to read.
            if let Ok(content) = std::fs::read(root.join(&path)) {
                // A picture is there to be linked, and has no lines.
                files.push((path, String::from_utf8(content).unwrap_or_default()));
            }
        }
        assert!(files.iter().any(|(path, _)| path == "src/lib.rs"), "no files found in {root:?}");
        Self::from_files(files)
    }

    /// A sample of a few files.
    pub fn sample(files: &[(&str, &str)]) -> Self {
        Self::from_files(files.iter().map(|(path, text)| (path.to_string(), text.to_string())))
    }

    fn from_files(files: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut tree = Self::default();
        for (path, text) in files {
            if path.ends_with(".rs") {
                tree.sources.push(Source::new(path, text));
            } else {
                tree.texts.push(Text { path, text });
            }
        }
        tree
    }

    /// The Rust files of the product itself.
    pub fn product(&self) -> impl Iterator<Item = &Source> {
        self.sources.iter().filter(|source| source.path.starts_with("src/"))
    }

    /// The text of a file that isn't Rust; empty when it is absent.
    pub fn text(&self, path: &str) -> &str {
        self.texts.iter().find(|text| text.path == path).map_or("", |text| &text.text)
    }
}

fn listed_by_git(root: &Path) -> Option<Vec<String>> {
    let output = Command::new("git")
        // The checkout may belong to somebody else, as in many containers.
        .args(["-c", "safe.directory=*", "ls-files", "-z"])
        .args(["--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output()
        .ok()?;
    let list = String::from_utf8(output.stdout).ok()?;
    let paths: Vec<String> =
        list.split('\0').filter(|path| !path.is_empty()).map(str::to_string).collect();
    (output.status.success() && !paths.is_empty()).then_some(paths)
}

/// Without git (a source archive): everything but what is built or stored.
fn walked(root: &Path) -> Vec<String> {
    let mut paths = Vec::new();
    let mut folders: Vec<PathBuf> = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap().map(Result::unwrap) {
            let path = entry.path();
            let name = entry.file_name();
            if entry.file_type().unwrap().is_dir() {
                if !["target", ".git", ".sweetspot"].iter().any(|skipped| name == *skipped) {
                    folders.push(path);
                }
            } else if let Some(path) = path.strip_prefix(root).unwrap().to_str() {
                paths.push(path.to_string());
            }
        }
    }
    paths
}

/// Holds a rule against this checkout, which is read once.
fn hold(rule: &Rule) {
    static CHECKOUT: LazyLock<Tree> = LazyLock::new(Tree::of_this_checkout);
    let findings = (rule.find)(&CHECKOUT);
    assert!(findings.is_empty(), "{}", message(rule, &findings));
}

fn message(rule: &Rule, findings: &[Finding]) -> String {
    let places: String = findings
        .iter()
        .map(|found| format!("  {}:{}: {}\n", found.path, found.line, found.what))
        .collect();
    format!("{}:\n{places}why: {}\ninstead: {}", rule.name, rule.why, rule.instead)
}

/// Tries a rule out on samples, of which it finds these lines of the bad one and nothing in the
/// good one, and holds it against this checkout.
pub fn try_out(rule: &Rule, bad: &[(&str, &str)], lines: &[usize], good: &[(&str, &str)]) {
    let found = (rule.find)(&Tree::sample(bad));
    let found_lines: Vec<usize> = found.iter().map(|finding| finding.line).collect();
    assert_eq!(found_lines, lines, "'{}' on the bad sample found {found:#?}", rule.name);
    let found = (rule.find)(&Tree::sample(good));
    assert_eq!(found, [], "'{}' must be content with the good sample", rule.name);
    hold(rule);
}

#[test]
fn a_message_says_what_where_why_and_what_to_do() {
    let rule = Rule { name: "no x", why: "x hurts", instead: "use y", find: |_| Vec::new() };
    let finding = Finding { path: "src/a.rs".into(), line: 3, what: "`x` is used".into() };
    assert_eq!(
        message(&rule, &[finding]),
        "no x:\n  src/a.rs:3: `x` is used\nwhy: x hurts\ninstead: use y"
    );
}

#[test]
fn without_git_the_same_sources_are_found() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut walked: Vec<String> =
        walked(root).into_iter().filter(|path| path.starts_with("src/")).collect();
    walked.sort();
    let tree = Tree::of_this_checkout();
    for source in tree.product() {
        assert!(walked.contains(&source.path), "{} is not found", source.path);
    }
}
