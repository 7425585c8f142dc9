//! Which folder of `src/` may use which: the table that keeps the stages apart.

use super::source::{Source, is_word};
use super::{Finding, Rule, Tree, try_out};

/// A folder and the folders it may use, besides itself. Every folder may use `terms` and `stats`,
/// except `terms`, which uses nothing of ours, and `stats`, which uses `terms` alone. A folder that
/// may use `load` may use `load/shape` too.
const TABLE: &[(&str, &[&str])] = &[
    ("terms", &[]),
    ("stats", &[]),
    ("plan", &["server", "load", "place", "search"]),
    ("server", &[]),
    ("load/shape", &[]),
    ("load", &["load/shape"]),
    ("files", &[]),
    ("fleet", &["load"]),
    ("monitor", &[]),
    ("lab", &["summary"]),
    ("place", &["files", "server", "load", "fleet", "monitor", "model"]),
    ("summary", &[]),
    ("observe", &["summary"]),
    ("advise", &["model", "search"]),
    ("trial", &["server", "load/shape", "place", "summary"]),
    ("model", &[]),
    ("search", &["model"]),
    ("store", &["files"]),
    (
        "session",
        &[
            "files",
            "plan",
            "server",
            "load",
            "fleet",
            "monitor",
            "place",
            "summary",
            "trial",
            "model",
            "search",
            "store",
            "report",
            "lab",
            "observe",
            "advise",
            "http_client",
        ],
    ),
    ("http_client", &[]),
    ("report", &["http_client"]),
    ("serve", &["session", "report", "store"]),
    ("cli", &["files", "plan", "session", "serve", "report", "store"]),
];

const IMPORTS: Rule = Rule {
    name: "a folder uses only the folders that the table allows it",
    why: "each stage can be read, tested and replaced alone only as long as it doesn't know the \
          others; a cycle of folders is one big folder",
    instead: "pass what is needed as a value from `session/`, move a shared type to `terms/`, or \
              change the table in tests/it/tidy/imports.rs and ARCHITECTURE.md together, with the \
              reason",
    find: |tree| tree.product().flat_map(forbidden_imports).collect(),
};

const ROOMS: Rule = Rule {
    name: "every folder of src/ has a row in the import table, and every row a folder",
    why: "a folder that the table doesn't know may use everything",
    instead: "add or remove its row in tests/it/tidy/imports.rs",
    find: unknown_rooms,
};

/// The folder of a module path such as `["load", "shape", "Shape"]`.
fn room<'a>(path: &[&'a str]) -> Option<&'a str> {
    match path {
        ["load", "shape", ..] => Some("load/shape"),
        [first, ..] => Some(first),
        [] => None,
    }
}

/// The path of the module that a file holds: `src/load/shape/mod.rs` is `["load", "shape"]`.
pub fn module(path: &str) -> Vec<&str> {
    let inner = path.strip_prefix("src/").unwrap_or(path);
    let inner = inner.strip_suffix("/mod.rs").or(inner.strip_suffix(".rs")).unwrap_or(inner);
    inner.split('/').collect()
}

fn is_allowed(from: &str, to: &str) -> bool {
    let may_use = TABLE.iter().find(|(room, _)| *room == from).map_or(&[][..], |row| row.1);
    from == to
        || may_use.contains(&to)
        || (to == "load/shape" && may_use.contains(&"load"))
        || (to == "terms" && from != "terms")
        || (to == "stats" && !["terms", "stats"].contains(&from))
}

fn forbidden_imports(source: &Source) -> Vec<Finding> {
    // The root only names the rooms; main.rs is another crate, and sees `cli` alone.
    if ["src/lib.rs", "src/main.rs"].contains(&source.path.as_str()) {
        return Vec::new();
    }
    let here = module(&source.path);
    let Some(from) = room(&here) else { return Vec::new() };
    let mut findings = Vec::new();
    for (offset, path) in own_paths(source, &here) {
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        let Some(to) = room(&path) else { continue };
        if !is_allowed(from, to) {
            let line = source.line(offset);
            let what = format!("`{from}` uses `{to}` (crate::{})", path.join("::"));
            let finding = Finding { path: source.path.clone(), line, what };
            if !findings.contains(&finding) {
                findings.push(finding);
            }
        }
    }
    findings
}

/// Every path into our own crate outside tests, from the crate's root, with where it stands.
fn own_paths(source: &Source, here: &[&str]) -> Vec<(usize, Vec<String>)> {
    let mut found = Vec::new();
    for offset in source.find_word("crate") {
        for path in paths_at(&source.code, offset) {
            found.push((offset, path[1..].to_vec()));
        }
    }
    for offset in source.find_word("super") {
        // The later ones of `super::super` belong to the first; `pub(super)` says who may use this.
        if ["super::", "pub("].iter().any(|before| source.code[..offset].ends_with(before)) {
            continue;
        }
        for path in paths_at(&source.code, offset) {
            let ups = path.iter().take_while(|part| *part == "super").count();
            let kept = here.len().saturating_sub(ups);
            let above = here[..kept].iter().map(|part| part.to_string());
            found.push((offset, above.chain(path[ups..].iter().cloned()).collect()));
        }
    }
    found
}

/// The paths that the code at `offset` spells: one, or several when it ends in a group such as
/// `a::{b, c::d}`.
pub fn paths_at(code: &str, offset: usize) -> Vec<Vec<String>> {
    let tokens = tokens(&code[offset..]);
    let mut at = 0;
    let mut found = Vec::new();
    read_path(&tokens, &mut at, &[], &mut found);
    found
}

/// Words, `::`, braces and commas, up to the first thing that no path contains.
fn tokens(code: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut depth = 0;
    let mut rest = code.trim_start();
    while !rest.is_empty() {
        let word = rest.bytes().take_while(|&byte| is_word(byte)).count();
        let length = match rest.as_bytes() {
            _ if word > 0 => word,
            [b':', b':', ..] => 2,
            [b'{' | b'}' | b',' | b'*', ..] => 1,
            _ => break,
        };
        // A new word where a path has just ended ("crate::a as b", "for crate::T where") is no part
        // of it; inside a group a comma or brace has to come first.
        let follows_word = found.last().is_some_and(|last: &&str| is_word(last.as_bytes()[0]));
        if word > 0 && follows_word && depth == 0 {
            break;
        }
        match &rest[..length] {
            "{" if found.last() != Some(&"::") => break,
            "{" => depth += 1,
            "}" | "," if depth == 0 => break,
            "}" => depth -= 1,
            _ => {}
        }
        found.push(&rest[..length]);
        rest = rest[length..].trim_start();
    }
    found
}

fn read_path(tokens: &[&str], at: &mut usize, before: &[String], found: &mut Vec<Vec<String>>) {
    let mut path = before.to_vec();
    while let Some(&token) = tokens.get(*at) {
        match token {
            "::" => *at += 1,
            "{" => {
                *at += 1;
                while tokens.get(*at).is_some_and(|token| *token != "}") {
                    read_path(tokens, at, &path, found);
                    if tokens.get(*at) == Some(&",") {
                        *at += 1;
                    }
                }
                *at += 1;
                return;
            }
            "," | "}" => break,
            "as" => {
                *at += 2;
                break;
            }
            word => {
                path.push(word.to_string());
                *at += 1;
            }
        }
    }
    found.push(path);
}

fn unknown_rooms(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in tree.product().filter(|source| source.path.ends_with("/mod.rs")) {
        let module = module(&source.path);
        let known = |name: &str| TABLE.iter().any(|(room, _)| *room == name);
        if module.len() == 1 && !known(module[0]) {
            let what = format!("`{}` has no row", module[0]);
            findings.push(Finding { path: source.path.clone(), line: 0, what });
        }
    }
    for (room, _) in TABLE {
        let path = format!("src/{room}/mod.rs");
        if !tree.product().any(|source| source.path == path) {
            findings.push(Finding { path, line: 0, what: format!("`{room}` has no folder") });
        }
    }
    findings
}

#[test]
fn forbidden_imports_are_found_however_they_are_spelled() {
    let bad = "//! Head.\n\
        use crate::terms::Rate;\n\
        use crate::store::Store;\n\
        use crate::{stats, place::{Place, local}};\n\
        fn f(x: &crate::load::LoadSpec) -> u8 { super::super::cli::g() }\n\
        // crate::report is only spoken of here\n\
        #[cfg(test)]\nmod tests {\n use crate::session::tune;\n}\n";
    let good = "use crate::terms::{Rate, Slo};\nuse crate::model::fit;\nuse super::rule;\n\
        use super::super::stats;\npub(crate) fn f() {}\nstatic S: &str = \"crate::store\";\n";
    let bad = [("src/search/race.rs", bad)];
    try_out(&IMPORTS, &bad, &[3, 4, 4, 5, 5], &[("src/search/race.rs", good)]);
}

#[test]
fn a_part_of_the_load_room_stands_below_the_rest_of_it() {
    let bad = [("src/load/shape/mod.rs", "use super::Address;\n")];
    let good = [
        ("src/load/mod.rs", "use crate::load::shape::Shape;\nuse self::shape::Shape;\n"),
        ("src/trial/mod.rs", "use crate::load::{shape::Shape};\n"),
        ("src/place/local/mod.rs", "use crate::load::{Address, shape::Shape};\n"),
    ];
    try_out(&IMPORTS, &bad, &[1], &good);
    let bad = [("src/trial/mod.rs", "use crate::load::{shape::Shape, Address};\n")];
    try_out(&IMPORTS, &bad, &[1], &[]);
}

#[test]
fn a_folder_without_a_row_is_found() {
    let mut folders: Vec<(String, &str)> =
        TABLE.iter().map(|(room, _)| (format!("src/{room}/mod.rs"), "")).collect();
    let good = folders.clone();
    let good: Vec<_> = good.iter().map(|(path, text)| (path.as_str(), *text)).collect();
    folders.push(("src/attic/mod.rs".into(), ""));
    folders.remove(0);
    let bad: Vec<_> = folders.iter().map(|(path, text)| (path.as_str(), *text)).collect();
    try_out(&ROOMS, &bad, &[0, 0], &good);
}
