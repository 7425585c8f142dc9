//! What the documents promise is there: folders, commands, links; and no machine of ours in them.

use std::collections::BTreeSet;

use super::{Finding, Rule, Tree, try_out};

const CODE_MAP: Rule = Rule {
    name: "ARCHITECTURE.md's code map lists exactly the folders of src/",
    why: "a map that lacks a folder, or shows one that is gone, is worse than none",
    instead: "add or remove its heading (### `folder/`) below \"## Code map\"",
    find: code_map,
};

const COMMANDS: Rule = Rule {
    name: "every `make` target and `sweetspot` verb that a document names is there",
    why: "the first thing a newcomer types must work",
    instead: "mend the document, or add the target to the Makefile or the verb to src/cli/",
    find: unknown_commands,
};

const CI: Rule = Rule {
    name: ".ci/run does what README.md says and nothing else",
    why: "a check that only the CI knows can't be passed before pushing",
    instead: "put the step into `make lint` or `make test`, and name it in README.md",
    find: secret_ci_steps,
};

const LINKS: Rule = Rule {
    name: "every relative link of a document leads to a file, and to a heading in it",
    why: "a link that leads nowhere says that nobody reads the document",
    instead: "mend the link",
    find: dead_links,
};

const BOOK: Rule = Rule {
    name: "every page of docs/ is a chapter of the book, and chapters lead to chapters",
    why: "mdBook leaves out what docs/SUMMARY.md does not name, and a link out of docs/ leads \
          nowhere in the book",
    instead: "add the page to docs/SUMMARY.md; name a file outside of docs/ in `backticks`",
    find: outside_the_book,
};

const TRANSLATION: Rule = Rule {
    name: "a translation leads wherever its original leads, and has its headings",
    why: "a translation that is forgotten tells of a program that is gone",
    instead: "translate what changed in the other one",
    find: untranslated,
};

const JSON: Rule = Rule {
    name: "docs/json.md names every field that scripts read",
    why: "a field that isn't described is guessed at, and guessed wrong",
    instead: "add it to docs/json.md in `backticks`, with its unit and what null means",
    find: undescribed_fields,
};

const MACHINES: Rule = Rule {
    name: "no file names a folder of somebody's machine",
    why: "it works there and nowhere else, and tells more of us than it should",
    instead: "use a path relative to the checkout, a temporary folder, or /srv/app in examples",
    find: machine_paths,
};

fn code_map(tree: &Tree) -> Vec<Finding> {
    let path = "ARCHITECTURE.md";
    let mut on_map = BTreeSet::new();
    let mut is_inside = false;
    for line in tree.text(path).lines() {
        if line.starts_with("## ") {
            is_inside = line == "## Code map";
        }
        let name = line.strip_prefix("### `").and_then(|rest| rest.strip_suffix("/`"));
        on_map.extend(name.filter(|_| is_inside));
    }
    let in_source: BTreeSet<&str> = tree
        .product()
        .filter_map(|source| source.path.strip_prefix("src/")?.split_once('/'))
        .map(|(folder, _)| folder)
        .collect();
    let missing =
        in_source.difference(&on_map).map(|name| format!("src/{name}/ is not on the map"));
    let gone = on_map.difference(&in_source).map(|name| format!("there is no src/{name}/"));
    missing.chain(gone).map(|what| Finding { path: path.into(), line: 0, what }).collect()
}

/// The documents that tell people what to type.
fn guides(tree: &Tree) -> impl Iterator<Item = (&str, usize, &str)> {
    let guides = tree.texts.iter().filter(|text| text.path.ends_with(".md"));
    guides.flat_map(|guide| {
        let lines = guide.text.lines().enumerate();
        lines.map(|(index, line)| (guide.path.as_str(), index + 1, line))
    })
}

fn unknown_commands(tree: &Tree) -> Vec<Finding> {
    let targets = targets(tree.text("Makefile"));
    let is_verb = |name: &str| {
        let path = format!("src/cli/{name}.rs");
        tree.product().any(|source| source.path == path)
    };
    let mut findings = Vec::new();
    let mut is_fenced = false;
    for (path, line, text) in guides(tree) {
        if text.starts_with("```") {
            is_fenced = !is_fenced;
        }
        for command in commands(text, is_fenced) {
            let known = match command {
                ("make", target) => targets.contains(target),
                (_, verb) => is_verb(verb),
            };
            if !known {
                let what = format!("`{} {}` is not there", command.0, command.1);
                findings.push(Finding { path: path.to_string(), line, what });
            }
        }
    }
    findings
}

fn targets(makefile: &str) -> BTreeSet<&str> {
    let names = makefile.lines().filter_map(|line| line.split_once(':')).map(|(name, _)| name);
    names.filter(|name| !name.is_empty() && name.bytes().all(is_name)).collect()
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'
}

/// `make x` and `sweetspot x` at the beginning of a line of a fenced block or of a code span.
fn commands(text: &str, is_fenced: bool) -> Vec<(&'static str, &str)> {
    let pieces: Vec<&str> = if is_fenced {
        text.split("&&").collect()
    } else {
        text.split('`').skip(1).step_by(2).collect()
    };
    let mut found = Vec::new();
    for piece in pieces {
        let piece = piece.trim().trim_start_matches("$ ");
        for program in ["make", "sweetspot"] {
            let Some(rest) = piece.strip_prefix(program) else { continue };
            let Some(rest) = rest.strip_prefix(' ') else { continue };
            let name = &rest[..rest.bytes().take_while(|&byte| is_name(byte)).count()];
            // A flag, or an assignment such as PREFIX=..., names no target.
            if name.starts_with(|first: char| first.is_ascii_lowercase()) {
                found.push((program, name));
            }
        }
    }
    found
}

fn secret_ci_steps(tree: &Tree) -> Vec<Finding> {
    let readme = tree.text("README.md");
    let is_open = |step: &str| {
        // What is built once needs nothing kept for a second time.
        let is_plumbing =
            ["#", "set ", "cd ", "exec </dev/null", "export CARGO_INCREMENTAL=0"].iter();
        step.is_empty()
            || is_plumbing.clone().any(|start| step.starts_with(start))
            || (step.starts_with("make ") && readme.contains(&format!("`{step}`")))
    };
    let lines = tree.text(".ci/run").lines().enumerate();
    let found = lines.filter(|(_, step)| !is_open(step.trim()));
    let what = |step: &str| format!("`{step}` is not in README.md");
    found.map(|(index, step)| Finding::new(".ci/run", index + 1, what(step))).collect()
}

/// The links of a line, each as it is written.
pub fn links(line: &str) -> impl Iterator<Item = &str> {
    let targets = line.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.filter(|target| !target.contains("://") && !target.starts_with("mailto:"))
}

fn dead_links(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, line, text) in guides(tree) {
        for target in links(text) {
            let (file, heading) = target.split_once('#').unwrap_or((target, ""));
            let whole = if file.is_empty() { path.to_string() } else { resolve(path, file) };
            let is_there =
                |existing: &str| existing == whole || existing.starts_with(&format!("{whole}/"));
            let texts = tree.texts.iter().map(|text| text.path.as_str());
            let sources = tree.sources.iter().map(|source| source.path.as_str());
            let mut finding = |what| findings.push(Finding { path: path.to_string(), line, what });
            if !texts.chain(sources).any(is_there) {
                finding(format!("there is no {whole}"));
            } else if !heading.is_empty()
                && whole.ends_with(".md")
                && !anchors(tree.text(&whole)).contains(heading)
            {
                finding(format!("{whole} has no heading #{heading}"));
            }
        }
    }
    findings
}

/// Headings as links spell them: in small letters, with `-` for a space and nothing for what is
/// neither a letter, a digit, `-` nor `_`.
fn anchors(document: &str) -> BTreeSet<String> {
    let mut is_fenced = false;
    let headings = document.lines().filter_map(|line| {
        is_fenced ^= line.starts_with("```");
        line.strip_prefix('#').filter(|_| !is_fenced)
    });
    let spelled = headings.map(|heading| {
        let heading = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = heading.chars().filter(|it| it.is_alphanumeric() || " -_".contains(*it));
        kept.map(|it| if it == ' ' { '-' } else { it }).collect()
    });
    spelled.collect()
}

/// The chapters of the book.
pub const SUMMARY: &str = "docs/SUMMARY.md";

fn outside_the_book(tree: &Tree) -> Vec<Finding> {
    let chapters: BTreeSet<String> =
        tree.text(SUMMARY).lines().flat_map(links).map(|link| resolve(SUMMARY, link)).collect();
    let mut findings = Vec::new();
    let pages = tree.texts.iter().map(|text| text.path.as_str());
    let pages = pages.filter(|path| path.starts_with("docs/") && path.ends_with(".md"));
    for page in pages.filter(|page| *page != SUMMARY && !chapters.contains(*page)) {
        findings.push(Finding::new(page, 0, "it is not in docs/SUMMARY.md"));
    }
    for (path, line, text) in guides(tree).filter(|(path, ..)| path.starts_with("docs/")) {
        for target in links(text).filter(|target| !target.starts_with('#')) {
            let whole = resolve(path, target.split('#').next().unwrap_or_default());
            if !whole.starts_with("docs/") {
                findings.push(Finding::new(path, line, format!("{whole} is outside of the book")));
            }
        }
    }
    findings
}

/// Each document with its translation.
const TRANSLATED: [(&str, &str); 12] = [
    ("README.md", "README.ja.md"),
    ("docs/start.md", "docs/ja/start.md"),
    ("docs/reading.md", "docs/ja/reading.md"),
    ("docs/procedure.md", "docs/ja/measuring.md"),
    ("docs/faq.md", "docs/ja/faq.md"),
    ("docs/servers/puma.md", "docs/ja/servers/puma.md"),
    ("docs/servers/unicorn.md", "docs/ja/servers/unicorn.md"),
    ("docs/servers/thin.md", "docs/ja/servers/thin.md"),
    ("docs/servers/gunicorn.md", "docs/ja/servers/gunicorn.md"),
    ("docs/servers/uvicorn.md", "docs/ja/servers/uvicorn.md"),
    ("docs/servers/php-fpm.md", "docs/ja/servers/php-fpm.md"),
    ("docs/servers/node.md", "docs/ja/servers/node.md"),
];

fn untranslated(tree: &Tree) -> Vec<Finding> {
    let outline = |path: &str| {
        let text = tree.text(path);
        let headings = text.lines().filter(|line| line.starts_with("## ")).count();
        // Where the original is meant, the translation leads to the translation.
        let original = |target: &str| {
            let whole = resolve(path, target);
            let file = whole.split('#').next().unwrap_or_default();
            let of = TRANSLATED.iter().find(|(_, translation)| *translation == file);
            of.map_or(whole.clone(), |(english, translation)| whole.replace(translation, english))
        };
        let targets: BTreeSet<String> = text.lines().flat_map(links).map(original).collect();
        (headings, targets)
    };
    let mut findings = Vec::new();
    for (english, translation) in TRANSLATED {
        if !tree.texts.iter().any(|text| text.path == english) {
            continue;
        }
        let ((headings, in_english), (translated, in_translation)) =
            (outline(english), outline(translation));
        let is_other = |target: &&String| target.as_str() != english;
        let links = in_english.symmetric_difference(&in_translation).filter(is_other);
        let links = links.map(|target| format!("{target} is linked in one of the two"));
        let count = format!("{translated} headings, not {headings}");
        let heads = (headings != translated).then_some(count);
        let found = links.chain(heads);
        findings.extend(found.map(|what| Finding { path: translation.into(), line: 0, what }));
    }
    findings
}

/// A link's target from the root.
pub fn resolve(document: &str, target: &str) -> String {
    let mut parts: Vec<&str> = document.split('/').collect();
    parts.pop();
    for part in target.split('/').filter(|part| !part.is_empty() && *part != ".") {
        if part == ".." {
            parts.pop();
        } else {
            parts.push(part);
        }
    }
    parts.join("/")
}

/// Where the types are whose fields scripts read.
const FIELDS_IN: &[&str] = &["src/terms/load_summary.rs", "src/terms/decision.rs"];

fn undescribed_fields(tree: &Tree) -> Vec<Finding> {
    let document = tree.text("docs/json.md");
    let mut findings = Vec::new();
    for source in tree.product().filter(|source| FIELDS_IN.contains(&source.path.as_str())) {
        for offset in source.find_word("pub") {
            let rest = source.code[offset..].trim_start_matches("pub ");
            // `name:` is a field; `struct`, `fn` and `const` have a word after theirs.
            let Some((name, _)) = rest.split_once(':') else { continue };
            let is_field = name.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric());
            if is_field && !document.contains(&format!("`{name}`")) {
                let what = format!("`{name}` is not described");
                findings.push(Finding::new(&source.path, source.line(offset), what));
            }
        }
    }
    findings
}

fn machine_paths(tree: &Tree) -> Vec<Finding> {
    // In pieces, or this file would be found.
    let folders = [concat!("/ho", "me/"), concat!("/ro", "ot/"), concat!("/Us", "ers/")];
    let texts = tree.texts.iter().map(|text| (&text.path, &text.text));
    let sources = tree.sources.iter().map(|source| (&source.path, &source.text));
    let mut findings = Vec::new();
    for (path, text) in texts.chain(sources) {
        for (index, line) in text.lines().enumerate() {
            if let Some(folder) = folders.iter().find(|folder| line.contains(**folder)) {
                findings.push(Finding::new(path, index + 1, format!("`{folder}`")));
            }
        }
    }
    findings
}

#[test]
fn a_map_with_a_folder_too_few_and_one_too_many_is_found() {
    let source = ("src/terms/mod.rs", "");
    let bad = "# A\n### `terms/`\n## Code map\n### `attic/`\n## More\n";
    let good = "## Code map\n### `terms/`\nThe words.\n";
    let bad = [source, ("ARCHITECTURE.md", bad)];
    try_out(&CODE_MAP, &bad, &[0, 0], &[source, ("ARCHITECTURE.md", good)]);
}

#[test]
fn commands_that_are_not_there_are_found() {
    let makefile = ("Makefile", "build: ## x\n\tcargo build\ntest: build\n");
    let verb = ("src/cli/tune.rs", "");
    let bad = "Type `make tea` and `sweetspot dance`.\n```\nmake build && make coffee\n```\n";
    let good = "Type `make test`, `make PREFIX=x build`, or make peace.\n\
        ```\n$ make build && sweetspot tune --yes\nsweetspot --help\n```\n";
    let bad = [makefile, verb, ("README.md", bad)];
    try_out(&COMMANDS, &bad, &[1, 1, 3], &[makefile, verb, ("README.md", good)]);
}

#[test]
fn a_step_that_only_the_ci_knows_is_found() {
    let readme = ("README.md", "Run `make lint` and `make test`.\n");
    let bad = "#!/bin/sh\nset -eu\nmake lint\ncargo audit\nmake bench\n";
    let good = "#!/bin/sh\nset -eu\nmake lint\nmake test\n";
    try_out(&CI, &[readme, (".ci/run", bad)], &[4, 5], &[readme, (".ci/run", good)]);
}

#[test]
fn dead_links_are_found() {
    let bad = "[a](docs/b.md)\n[c](../README.md#x) [d](e.md)\n[g](#there) [h](../README.md#y)\n";
    let good = "# Here, it's `a`\n[c](../README.md#x) [d](a.md) [e](https://example.org)\n\
        [f](#here-its-a) [s](../src)\n";
    let readme = ("README.md", "## X\n```\n# y\n```\n");
    let source = ("src/lib.rs", "");
    let bad = [readme, ("docs/a.md", bad)];
    try_out(&LINKS, &bad, &[1, 2, 3, 3], &[readme, source, ("docs/a.md", good)]);
}

#[test]
fn a_page_that_is_no_chapter_and_a_link_out_of_the_book_are_found() {
    let summary = (SUMMARY, "# Summary\n\n- [A](a.md)\n");
    let bad = [summary, ("docs/a.md", "[b](b.md)\n[c](../c.md)\n"), ("docs/b.md", "")];
    let good = [summary, ("docs/a.md", "[a](#x) [b](x.svg) [c](https://example.org)\n")];
    try_out(&BOOK, &bad, &[0, 2], &good);
}

#[test]
fn a_readme_that_is_ahead_of_its_translation_is_found() {
    let english = ("README.md", "[日本語](README.ja.md)\n## A\n[b](docs/b.md)\n## C\n");
    let bad = [english, ("README.ja.md", "[English](README.md)\n## A\n")];
    let good = [english, ("README.ja.md", "[English](README.md)\n## い\n[ろ](docs/b.md)\n## は\n")];
    try_out(&TRANSLATION, &bad, &[0, 0], &good);
}

#[test]
fn a_translation_has_a_name_of_its_own() {
    let english = ("README.md", "[a](docs/procedure.md)\n");
    let page = ("docs/procedure.md", "[日本語](ja/measuring.md)\n");
    let translated = ("docs/ja/measuring.md", "[English](../procedure.md)\n");
    let bad = [english, page, translated, ("README.ja.md", "[あ](docs/measuring.md)\n")];
    let good = [english, page, translated, ("README.ja.md", "[あ](docs/ja/measuring.md)\n")];
    try_out(&TRANSLATION, &bad, &[0, 0], &good);
}

#[test]
fn a_field_that_is_not_described_is_found() {
    let fields = "pub struct A {\n    pub due: u64,\n    /// `sent`\n    pub sent: u64,\n}\n";
    let source = ("src/terms/decision.rs", fields);
    let bad = [source, ("docs/json.md", "`due` and what was sent\n")];
    try_out(&JSON, &bad, &[4], &[source, ("docs/json.md", "`due`, `sent`\n")]);
}

#[test]
fn a_folder_of_somebodys_machine_is_found() {
    let bad = format!("ok\ncd {}me/app\n", "/ho");
    try_out(&MACHINES, &[("docs/a.md", &bad)], &[2], &[("docs/a.md", "cd /srv/app\n")]);
}
