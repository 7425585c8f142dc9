//! No file needs another that needs it: files in such a circle can only be read together.
//!
//! In: the paths in code outside tests. Each leads to the file that defines the item, through
//! re-exports; a parent that only declares and re-exports its children needs none of them.

use std::collections::{BTreeMap, BTreeSet};

use super::imports::module;
use super::source::{Source, is_word};
use super::{Finding, Rule, Tree, try_out};

/// Circles that may stay: in files of these beginnings at most this many.
const ALLOWED: &[(&[&str], usize)] = &[
    // Facts hold facts: a verdict's reason has doubts, one of which is why a change is not there.
    (
        &[
            "src/terms/doubt.rs",
            "src/terms/obstacle.rs",
            "src/terms/reason.rs",
            "src/terms/warning.rs",
        ],
        1,
    ),
    // The adapters and what they all implement.
    (&["src/server/"], 1),
];

const CIRCLES: Rule = Rule {
    name: "no file is in an import circle",
    why: "who reads one file of a circle has to read all of them, and none can be moved or tested \
          alone",
    instead: "move what both need into a file of its own, and re-export it where it was",
    find: circles,
};

type Path = Vec<String>;

/// One name that a file imports.
struct Import {
    name: String,
    path: Path,
    /// Others may import it from here.
    is_public: bool,
}

struct File<'a> {
    source: &'a Source,
    imports: Vec<Import>,
    /// What stands in its code besides imports: words, and paths of several.
    paths: BTreeSet<Path>,
}

impl<'a> File<'a> {
    fn new(source: &'a Source) -> Self {
        let code = &source.code;
        let until = |start: usize, ends: &[char]| {
            start..code[start..].find(ends).map_or(code.len(), |length| start + length)
        };
        let children = source.find_word("mod").into_iter().map(|at| until(at, &[';', '{']));
        let mut statements: Vec<_> = children.collect();
        let mut imports = Vec::new();
        for start in source.find_word("use") {
            let statement = until(start, &[';']);
            let tree = &code[start + "use".len()..statement.end];
            // `use<'a>` names what a type captures.
            if tree.starts_with(char::is_whitespace) {
                let before = code[..start].split_whitespace().next_back();
                let is_public = before.is_some_and(|word| word.starts_with("pub"));
                read_tree(tree, &[], is_public, &mut imports);
                statements.push(statement);
            }
        }
        let is_ours = |at: usize| {
            !source.is_test(at) && !statements.iter().any(|statement| statement.contains(&at))
        };
        let paths = paths(code).filter(|(at, _)| is_ours(*at)).map(|(_, path)| path).collect();
        Self { source, imports, paths }
    }
}

/// `a::{b, c as d}`, each name with its path.
fn read_tree(tree: &str, above: &[String], is_public: bool, imports: &mut Vec<Import>) {
    let tree = tree.trim();
    let (head, group) = match tree.split_once('{') {
        Some((head, group)) => (head, group.strip_suffix('}')),
        None => (tree, None),
    };
    let (head, alias) = head.split_once(" as ").map_or((head, None), |(a, b)| (a, Some(b.trim())));
    let words = head.split("::").map(str::trim).filter(|word| !word.is_empty() && *word != "self");
    // At the beginning of a path `self` is the file's own module, as if nothing stood there.
    let path: Path = above.iter().cloned().chain(words.map(str::to_string)).collect();
    if let Some(group) = group {
        let mut depth = 0;
        let is_border = |c: char| {
            depth += i32::from(c == '{') - i32::from(c == '}');
            c == ',' && depth == 0
        };
        let parts = group.split(is_border).filter(|part| !part.trim().is_empty());
        parts.for_each(|part| read_tree(part, &path, is_public, imports));
    } else if let Some(name) = alias.or(path.last().map(String::as_str)).map(str::to_string) {
        imports.push(Import { name, path, is_public });
    }
}

/// Words and what `::` joins to them, with where each begins.
fn paths(code: &str) -> impl Iterator<Item = (usize, Path)> {
    let is_inside = |c: char| c == ':' || (c.is_ascii() && is_word(c as u8));
    let pieces = code.split(move |c| !is_inside(c));
    let found = pieces.map(move |piece| {
        let words = piece.split("::").map(|word| word.trim_matches(':'));
        let path: Path = words.filter(|word| !word.is_empty()).map(str::to_string).collect();
        (piece.as_ptr() as usize - code.as_ptr() as usize, path)
    });
    found.filter(|(_, path)| !path.is_empty())
}

struct Files<'a>(BTreeMap<Path, File<'a>>);

impl<'a> Files<'a> {
    fn of(tree: &'a Tree) -> Self {
        let is_code = |source: &&Source| {
            let path = source.path.as_str();
            !path.ends_with("/tests.rs") && !["src/lib.rs", "src/main.rs"].contains(&path)
        };
        let path = |source: &Source| module(&source.path).iter().map(|it| it.to_string()).collect();
        Self(tree.product().filter(is_code).map(|it| (path(it), File::new(it))).collect())
    }

    /// A path as it stands in this file, from the crate's root; `None` when it is none of ours.
    fn absolute(&self, file: &Path, path: &[String], depth: u32) -> Option<Path> {
        let (first, rest) = path.split_first()?;
        let from = |above: &[String]| Some([above, rest].concat());
        match first.as_str() {
            "crate" => return from(&[]),
            "super" => {
                let ups = path.iter().take_while(|word| *word == "super").count();
                let kept = file.len().checked_sub(ups)?;
                return Some([&file[..kept], &path[ups..]].concat());
            }
            _ => {}
        }
        let child = [file.as_slice(), std::slice::from_ref(first)].concat();
        if self.0.contains_key(&child) {
            return from(&child);
        }
        let import = self.0[file].imports.iter().find(|it| it.name == *first)?;
        let above = (depth < 8 && import.path[0] != *first).then_some(&import.path)?;
        from(&self.absolute(file, above, depth + 1)?)
    }

    /// The file that defines what this absolute path leads to; `None` for a module itself.
    fn definer(&self, path: &[String], depth: u32) -> Option<&Path> {
        let length = (1..path.len()).rev().find(|&length| self.0.contains_key(&path[..length]))?;
        let (file, found) = self.0.get_key_value(&path[..length])?;
        if self.0.contains_key(path) {
            return None;
        }
        let item = &path[length];
        let import = found.imports.iter().find(|it| it.name == *item).filter(|_| depth < 8);
        match import.and_then(|it| self.absolute(file, &it.path, 0)) {
            Some(further) => self.definer(&[&further, &path[length + 1..]].concat(), depth + 1),
            None => Some(file),
        }
    }

    /// The files that this one needs, each with the last path that leads there.
    fn needs(&self, file: &Path) -> BTreeMap<&Path, String> {
        let File { imports, paths, .. } = &self.0[file];
        let is_used = |it: &&Import| !it.is_public || paths.iter().any(|path| path[0] == it.name);
        let imported = imports.iter().filter(is_used).map(|it| &it.path);
        let all = imported.chain(paths.iter().filter(|path| path.len() > 1));
        all.filter_map(|path| {
            let needed = self.definer(&self.absolute(file, path, 0)?, 0)?;
            (needed != file).then(|| (needed, path.join("::")))
        })
        .collect()
    }
}

fn circles(tree: &Tree) -> Vec<Finding> {
    let files = Files::of(tree);
    let needs: BTreeMap<&Path, _> = files.0.keys().map(|file| (file, files.needs(file))).collect();
    let reached = |from: &Path| {
        let mut reached = BTreeSet::new();
        let mut next: Vec<&Path> = needs[from].keys().copied().collect();
        while let Some(file) = next.pop() {
            if reached.insert(file) {
                next.extend(needs[file].keys());
            }
        }
        reached
    };
    let reached: BTreeMap<&Path, BTreeSet<&Path>> =
        needs.keys().map(|file| (*file, reached(file))).collect();
    let with = |file: &&Path| -> Vec<&Path> {
        reached[file].iter().copied().filter(|other| reached[*other].contains(*file)).collect()
    };
    let found: BTreeSet<Vec<&Path>> = reached.keys().map(with).filter(|it| it.len() > 1).collect();
    let mut allowed: Vec<usize> = ALLOWED.iter().map(|(_, most)| *most).collect();
    let mut findings = Vec::new();
    for circle in found {
        let path = |file: &Path| files.0[file].source.path.clone();
        let is_in = |starts: &[&str]| {
            circle.iter().all(|file| starts.iter().any(|start| path(file).starts_with(start)))
        };
        let left = ALLOWED.iter().zip(&mut allowed).find(|(row, left)| **left > 0 && is_in(row.0));
        if let Some((_, left)) = left {
            *left -= 1;
            continue;
        }
        let inside = circle.iter().flat_map(|file| {
            let needed = needs[*file].iter().filter(|(other, _)| circle.contains(other));
            needed
                .map(move |(other, item)| format!("{} needs {item} of {}", path(file), path(other)))
        });
        let what = inside.collect::<Vec<_>>().join(", ");
        findings.push(Finding { path: path(circle[0]), line: 0, what });
    }
    findings
}

#[test]
fn circles_are_found_through_re_exports_and_parents_that_re_export_are_in_none() {
    let parent = ("src/plan/mod.rs", "mod a;\nmod b;\npub use a::A;\npub use b::{B as Bee, c};\n");
    let a = ("src/plan/a.rs", "use super::Bee;\npub struct A(Bee);\n");
    let b = ("src/plan/b.rs", "pub struct B;\npub fn c() -> crate::plan::A { todo() }\n");
    let alone = ("src/plan/b.rs", "pub struct B;\npub fn c() {}\n#[cfg(test)]\nuse super::A;\n");
    try_out(&CIRCLES, &[parent, a, b], &[0], &[parent, a, alone]);
}

#[test]
fn a_parent_that_uses_what_it_re_exports_is_in_a_circle() {
    let child = ("src/plan/a.rs", "use super::Plan;\npub fn a(_: Plan) {}\n");
    let bad = "mod a;\npub use self::a::a;\npub struct Plan;\nfn f() { a(Plan) }\n";
    let good = "mod a;\npub use self::a::a;\npub struct Plan;\n";
    let (bad, good) = (("src/plan/mod.rs", bad), ("src/plan/mod.rs", good));
    try_out(&CIRCLES, &[bad, child], &[0], &[good, child]);
}

#[test]
fn a_module_that_is_imported_leads_to_what_is_used_of_it() {
    let a = ("src/plan/a.rs", "use crate::plan::{self, b as bee};\npub fn a() { bee::b() }\n");
    let bad = ("src/plan/b.rs", "use super::a;\npub fn b() { a::a() }\n");
    let good = ("src/plan/b.rs", "use super::a;\npub fn b() {}\n");
    let parent = ("src/plan/mod.rs", "mod a;\nmod b;\n");
    try_out(&CIRCLES, &[parent, a, bad], &[0], &[parent, a, good]);
}
