//! What mdBook would stop at, or get wrong: `make book` is run by hand, and needs mdBook.

use std::collections::BTreeSet;

use super::documents::{SUMMARY, links, resolve};
use super::{Finding, Rule, Tree, try_out};

const SETTINGS: &str = "docs/book.toml";

const PATHS: Rule = Rule {
    name: "the paths of docs/book.toml are there, and the book is built outside of its pages",
    why: "mdBook stops at a file that is missing, and takes what it has built for pages",
    instead: "mend the path: it is relative to docs/",
    find: wrong_paths,
};

const CHAPTERS: Rule = Rule {
    name: "docs/SUMMARY.md has headings, lists of pages, and each page once",
    why: "mdBook stops at anything else in it",
    instead: "write `- [Title](page.md)`, two blanks further in below the chapter that it is of",
    find: no_chapters,
};

const FOLDERS: Rule = Rule {
    name: "no page of docs/ leads to a folder or to docs/SUMMARY.md",
    why: "GitHub shows them, and the book has no page for them",
    instead: "link a page",
    find: links_to_folders,
};

fn wrong_paths(tree: &Tree) -> Vec<Finding> {
    let finding = |what: String| Finding { path: SETTINGS.into(), line: 0, what };
    let settings = match tree.text(SETTINGS).parse::<toml::Table>() {
        Ok(settings) => settings,
        Err(error) => return vec![finding(error.to_string())],
    };
    let value = |path: &[&str]| {
        let (first, rest) = path.split_first()?;
        rest.iter().try_fold(settings.get(*first)?, |value, key| value.get(*key))
    };
    let text = |path: &[&str], default: &str| {
        let text = value(path).and_then(toml::Value::as_str).unwrap_or(default);
        resolve(SETTINGS, text)
    };
    let mut findings = Vec::new();
    // Without a setting mdBook takes these.
    let pages = text(&["book", "src"], "src");
    if format!("{pages}/SUMMARY.md") != SUMMARY {
        findings.push(finding(format!("{pages}/ has no SUMMARY.md")));
    }
    let into = text(&["build", "build-dir"], "book");
    if !into.starts_with("target/") {
        findings.push(finding(format!("it is built in {into}/, which git does not ignore")));
    }
    let listed = ["additional-css", "additional-js"].into_iter().filter_map(|list| {
        let list = value(&["output", "html", list])?.as_array()?;
        Some(list.iter().filter_map(toml::Value::as_str))
    });
    for file in listed.flatten().map(|file| resolve(SETTINGS, file)) {
        if !tree.texts.iter().any(|text| text.path == file) {
            findings.push(finding(format!("there is no {file}")));
        }
    }
    findings
}

fn no_chapters(tree: &Tree) -> Vec<Finding> {
    let (mut findings, mut seen) = (Vec::new(), BTreeSet::new());
    // How far in the next chapter may stand.
    let mut most = 0;
    for (index, text) in tree.text(SUMMARY).lines().enumerate() {
        let mut finding = |what: String| {
            findings.push(Finding { path: SUMMARY.into(), line: index + 1, what });
        };
        let item = text.trim_start();
        let indent = text.len() - item.len();
        let page = item.strip_prefix("- [").and_then(|item| links(item).next());
        let is_whole = |page: &&str| page.ends_with(".md") && item.ends_with(&format!("]({page})"));
        match page.filter(is_whole) {
            _ if text.is_empty() => {}
            _ if text.starts_with("# ") => most = 0,
            Some(page) if indent <= most && indent % 2 == 0 => {
                most = indent + 2;
                if !seen.insert(page) {
                    finding(format!("{page} is a chapter twice"));
                }
            }
            _ => finding(format!("'{text}' is no chapter")),
        }
    }
    findings
}

fn links_to_folders(tree: &Tree) -> Vec<Finding> {
    let pages = tree.texts.iter().filter(|text| {
        text.path.starts_with("docs/") && text.path.ends_with(".md") && text.path != SUMMARY
    });
    let mut findings = Vec::new();
    for page in pages {
        for (index, line) in page.text.lines().enumerate() {
            for target in links(line).filter(|target| !target.starts_with('#')) {
                let whole = resolve(&page.path, target.split('#').next().unwrap_or_default());
                let folder = format!("{whole}/");
                let is_folder = tree.texts.iter().any(|text| text.path.starts_with(&folder));
                if is_folder || whole == SUMMARY {
                    let what = format!("{whole} is no page");
                    findings.push(Finding { path: page.path.clone(), line: index + 1, what });
                }
            }
        }
    }
    findings
}

#[test]
fn settings_that_lead_nowhere_are_found() {
    let bad = "[book]\nsrc = \"pages\"\n[build]\nbuild-dir = \"book\"\n\
        [output.html]\nadditional-css = [\"there.css\", \"gone.css\"]\n";
    let good = "[book]\nsrc = \".\"\n[build]\nbuild-dir = \"../target/book\"\n\
        [output.html]\nadditional-css = [\"there.css\"]\n";
    let there = ("docs/there.css", "");
    try_out(&PATHS, &[(SETTINGS, bad), there], &[0, 0, 0], &[(SETTINGS, good), there]);
    try_out(&PATHS, &[(SETTINGS, "[book\n")], &[0], &[(SETTINGS, good), there]);
}

#[test]
fn what_is_no_chapter_is_found() {
    let bad = "# Summary\n\n- [A](a.md)\n    - [B](b.md)\n- C\n- [D](d.svg)\n- [A](a.md)\n\
        - [E](e.md) and more\n# Part\n\n  - [F](f.md)\n";
    let good = "# Summary\n\n- [A](a.md)\n  - [B](b/b.md)\n  - [C](c.md)\n    - [D](d.md)\n\n\
        # Part\n\n- [E (and more)](e.md)\n";
    try_out(&CHAPTERS, &[(SUMMARY, bad)], &[4, 5, 6, 7, 8, 11], &[(SUMMARY, good)]);
}

#[test]
fn a_link_to_a_folder_is_found() {
    let there = ("docs/b/c.md", "[d](../a.md)\n");
    let bad = ("docs/a.md", "[b](b/)\n[c](b/c.md) [s](SUMMARY.md)\n");
    let good = ("docs/a.md", "[c](b/c.md) [d](#d) [e](https://example.org/)\n");
    try_out(&FOLDERS, &[bad, there], &[1, 2], &[good, there]);
}
