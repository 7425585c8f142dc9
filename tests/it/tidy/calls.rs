//! What is named in one place only: a crate in its folder, an app server in its own.

use sweetspot::server::ADAPTERS;

use super::source::Source;
use super::{Finding, Rule, Tree, try_out};

/// Crates and the places that may name them.
const PLACES: &[(&str, &[&str])] = &[
    ("anyhow", &["src/cli/", "src/main.rs"]),
    ("clap", &["src/cli/"]),
    ("ureq", &["src/http_client/"]),
];

const CRATES: Rule = Rule {
    name: "clap and anyhow live in cli/, ureq in http_client/, and nowhere else",
    why: "the library is used without a command line too, its callers must be able to tell a \
          plan's mistake from a refusal of the operating system, and reports are made from stored \
          events without a network",
    instead: "translate arguments in cli/ into the stage's own type, add a variant to the stage's \
              own error enum, send with http_client/",
    find: |tree| tree.product().flat_map(misplaced_crates).collect(),
};

const NAMES: Rule = Rule {
    name: "cli/ and session/ name no app server",
    why: "adding a server touches server/ and nothing else; a name elsewhere is a second place to \
          change, and the one that is forgotten",
    instead: "ask server::ADAPTERS, or put what differs into the Adapter trait",
    find: registered_names,
};

fn misplaced_crates(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (name, places) in PLACES {
        if !places.iter().any(|place| source.path.starts_with(place)) {
            let found = source.find_word(name).into_iter();
            findings.extend(found.map(|offset| source.finding(offset, name)));
        }
    }
    findings
}

fn registered_names(tree: &Tree) -> Vec<Finding> {
    let servers: Vec<String> =
        ADAPTERS.iter().map(|adapter| format!("\"{}\"", adapter.name())).collect();
    let mut findings = Vec::new();
    let places = ["src/cli/", "src/session/"];
    for source in tree.product().filter(|s| places.iter().any(|place| s.path.starts_with(place))) {
        for name in &servers {
            for (offset, _) in source.text.match_indices(name.as_str()) {
                let is_comment = source.comments.as_bytes()[offset] != b' ';
                if !source.is_test(offset) && !is_comment {
                    findings.push(source.finding(offset, name));
                }
            }
        }
    }
    findings
}

#[test]
fn crates_are_found_outside_their_folders() {
    let text = "#[derive(clap::Args)]\nstruct A;\nfn f() -> anyhow::Result<()> { Ok(()) }\n";
    let agent = "//! Head.\nuse ureq::Agent;\n";
    let bad = [("src/plan/mod.rs", text), ("src/report/csv.rs", agent)];
    let good = [("src/cli/tune.rs", text), ("src/http_client/mod.rs", agent)];
    try_out(&CRATES, &bad, &[3, 1, 2], &good);
}

#[test]
fn a_servers_name_is_found_outside_its_folder() {
    let server = ("src/server/puma/mod.rs", "fn name() { \"puma\" }\n");
    let bad = "// \"puma\" is spoken of\nfn f() { find(\"puma\") }\n";
    let good = "fn f() { say(\"such as puma\") }\n";
    try_out(&NAMES, &[server, ("src/cli/tune.rs", bad)], &[2], &[server, ("src/cli/a.rs", good)]);
}
