//! What may not be called where: the clock, files, sockets, processes, threads and chance in
//! folders that only compute; printing, ending and the command line's crates outside their place.

use sweetspot::server::ADAPTERS;

use super::imports::paths_at;
use super::source::Source;
use super::{Finding, Rule, Tree, hold, try_out};

/// Folders that only compute. `place/simulated` has a virtual clock and must not see the real one.
const COMPUTE_ONLY: &[&str] = &[
    "src/terms/",
    "src/stats/",
    "src/server/",
    "src/load/shape/",
    "src/summary/",
    "src/model/",
    "src/search/",
    "src/place/simulated/",
];

/// Paths that touch the world, by their beginning.
const WORLDLY_PATHS: &[&str] = &[
    "std::fs",
    "std::net",
    "std::os::unix::net",
    "std::process",
    "std::thread",
    "std::env",
    "std::time::Instant",
    "std::time::SystemTime",
    "std::io::stdin",
    "std::io::stdout",
    "std::io::stderr",
    "rand::rng",
    "rand::random",
    "rand::rngs::OsRng",
    "rand::rngs::SysRng",
    "rand::rngs::ThreadRng",
];

/// The same by their last words, however they were imported.
const WORLDLY_WORDS: &[&str] = &[
    "Instant::now",
    "SystemTime::now",
    "Timestamp::now",
    "Zoned::now",
    "rand::rng",
    "rand::random",
    "thread_rng",
    "from_entropy",
    "from_os_rng",
    "try_from_os_rng",
    "fs::read",
    "fs::write",
    "File::open",
    "File::create",
    "thread::spawn",
    "thread::sleep",
    "Command::new",
    "TcpStream::connect",
    "TcpListener::bind",
    "env::var",
    "dbg!",
];

const PRINTING: &[&str] = &["println!", "print!", "eprintln!", "eprint!"];

const COMPUTES: Rule = Rule {
    name: "folders that only compute touch no clock, file, socket, process, thread or chance",
    why: "what only computes gives the same answer from the same input: it can be tested in \
          microseconds, replayed from the store a year later, and run in virtual time",
    instead: "take the value as an argument: a Duration since the start, the file's text, a seed; \
              the stages around it (load, monitor, place, session) fetch it",
    find: |tree| in_folders(tree, COMPUTE_ONLY, worldly_calls),
};

const PRINTS: Rule = Rule {
    name: "only cli/ and report/ print",
    why: "a library that prints can't be used by another program, garbles the progress line, and \
          writes into `--json` output",
    instead: "return a value, send an Event, or add a Warning; report/ shows it",
    find: |tree| outside(tree, &["src/cli/", "src/report/"], |source| words(source, PRINTING)),
};

const NETWORK: Rule = Rule {
    name: "of report/ only export/push/ uses the network",
    why: "a report is made from stored events alone: also a year later, and without a network",
    instead: "put what is sent to others into src/report/export/push/",
    find: |tree| {
        let is_report = |source: &&Source| {
            source.path.starts_with("src/report/")
                && !source.path.starts_with("src/report/export/push/")
        };
        let reports = tree.product().filter(is_report);
        reports.flat_map(|source| words(source, &["std::net", "TcpStream", "ureq"])).collect()
    },
};

const CLAP: Rule = Rule {
    name: "clap lives in cli/ and nowhere else",
    why: "the library is used without a command line too; what was typed and what it means are two \
          types",
    instead: "translate the arguments in cli/ into the stage's own spec type",
    find: |tree| outside(tree, &["src/cli/"], |source| words(source, &["clap"])),
};

const ANYHOW: Rule = Rule {
    name: "anyhow lives in cli/ and nowhere else",
    why: "callers must be able to tell a plan's mistake from a refusal of the operating system",
    instead: "add a variant to the stage's own error enum, which says whose it is and the way out",
    find: |tree| outside(tree, &["src/cli/", "src/main.rs"], |source| words(source, &["anyhow"])),
};

const EXITS: Rule = Rule {
    name: "only main ends the program",
    why: "an exit below main skips every destructor: a server is left running, a trial unstored",
    instead: "return an error, or an Exit from cli/",
    find: |tree| {
        outside(tree, &["src/main.rs"], |source| {
            words(source, &["process::exit", "process::abort"])
        })
    },
};

const NAMES: Rule = Rule {
    name: "cli/ and session/ name no app server",
    why: "adding a server touches server/ and nothing else; a name elsewhere is a second place to \
          change, and the one that is forgotten",
    instead: "ask server::ADAPTERS, or put what differs into the Adapter trait",
    find: registered_names,
};

fn in_folders(tree: &Tree, folders: &[&str], find: fn(&Source) -> Vec<Finding>) -> Vec<Finding> {
    let is_in = |source: &&Source| folders.iter().any(|folder| source.path.starts_with(folder));
    tree.product().filter(is_in).flat_map(find).collect()
}

fn outside(tree: &Tree, places: &[&str], find: fn(&Source) -> Vec<Finding>) -> Vec<Finding> {
    let is_outside = |source: &&Source| !places.iter().any(|place| source.path.starts_with(place));
    tree.product().filter(is_outside).flat_map(find).collect()
}

/// One finding for each of these words in the code, tests left out, in the order of lines.
fn words(source: &Source, wanted: &[&str]) -> Vec<Finding> {
    let mut offsets: Vec<(usize, &str)> = Vec::new();
    for word in wanted {
        offsets.extend(source.find_word(word).into_iter().map(|offset| (offset, *word)));
    }
    offsets.sort();
    offsets.iter().map(|(offset, word)| finding(source, *offset, word)).collect()
}

fn finding(source: &Source, offset: usize, what: &str) -> Finding {
    let line = source.line(offset);
    Finding { path: source.path.clone(), line, what: format!("`{what}`") }
}

fn worldly_calls(source: &Source) -> Vec<Finding> {
    let mut findings = words(source, WORLDLY_WORDS);
    findings.extend(words(source, PRINTING));
    for start in ["std", "rand"] {
        for offset in source.find_word(start) {
            for path in paths_at(&source.code, offset) {
                let path = path.join("::");
                let is_below = |worldly: &str| {
                    path.strip_prefix(worldly).is_some_and(|r| r.is_empty() || r.starts_with("::"))
                };
                if WORLDLY_PATHS.iter().any(|worldly| is_below(worldly)) {
                    findings.push(finding(source, offset, &path));
                }
            }
        }
    }
    // One call is often named twice (`std::thread::spawn`): once a line is enough.
    findings.sort_by_key(|finding| finding.line);
    findings.dedup_by_key(|finding| finding.line);
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
                    findings.push(finding(source, offset, name));
                }
            }
        }
    }
    findings
}

#[test]
fn folders_that_only_compute_touch_nothing_else() {
    hold(&COMPUTES);
}

#[test]
fn only_the_command_and_the_reports_print() {
    hold(&PRINTS);
}

#[test]
fn reports_need_no_network() {
    hold(&NETWORK);
}

#[test]
fn a_report_that_uses_the_network_is_found() {
    let text = "//! Head.\nuse std::net::TcpStream;\n";
    let good = [("src/report/export/push/mod.rs", text), ("src/load/socket.rs", text)];
    try_out(&NETWORK, &[("src/report/csv.rs", text)], &[2, 2], &good);
}

#[test]
fn clap_stays_in_its_folder() {
    hold(&CLAP);
}

#[test]
fn anyhow_stays_in_its_folder() {
    hold(&ANYHOW);
}

#[test]
fn nothing_below_main_ends_the_program() {
    hold(&EXITS);
}

#[test]
fn app_servers_are_named_in_their_folder_only() {
    hold(&NAMES);
}

#[test]
fn worldly_calls_are_found_however_they_are_imported() {
    let bad = "use std::{collections::BTreeMap, fs, time::{Duration, Instant}};\n\
        fn a() { std::thread::spawn(|| ()); }\n\
        fn b() { println!(\"x\"); }\n\
        fn c() -> u64 { rand::random() }\n\
        use std::net::SocketAddr;\n\
        fn d() { Instant::now(); }\n";
    let good = "use std::time::Duration;\nuse std::fmt;\n\
        // std::fs is only spoken of\nconst S: &str = \"std::fs\";\n\
        use rand::SeedableRng;\n\
        #[cfg(test)]\nmod tests {\n use std::time::Instant;\n}\n";
    let lines = [1, 2, 3, 4, 5, 6];
    try_out(&COMPUTES, &[("src/model/a.rs", bad)], &lines, &[("src/model/a.rs", good)]);
    try_out(&COMPUTES, &[("src/load/shape/mod.rs", bad)], &lines, &[("src/load/mod.rs", bad)]);
}

#[test]
fn printing_is_found_outside_its_folders() {
    let text = "fn a() { eprintln!(\"x\"); }\nfn b() { write!(f, \"println!\") }\n";
    let good = [("src/report/terminal/mod.rs", text), ("tests/it/a.rs", text)];
    try_out(&PRINTS, &[("src/session/tune.rs", text)], &[1], &good);
}

#[test]
fn the_command_lines_crates_are_found_outside_it() {
    let text = "#[derive(clap::Args)]\nstruct A;\nfn f() -> anyhow::Result<()> { Ok(()) }\n";
    let good = [("src/cli/tune.rs", text)];
    try_out(&CLAP, &[("src/plan/mod.rs", text)], &[1], &good);
    try_out(&ANYHOW, &[("src/plan/mod.rs", text)], &[3], &good);
}

#[test]
fn an_exit_is_found_outside_main() {
    let text = "fn f() {\n std::process::exit(1)\n}\n";
    try_out(&EXITS, &[("src/cli/mod.rs", text)], &[2], &[("src/main.rs", text)]);
}

#[test]
fn a_servers_name_is_found_outside_its_folder() {
    let server = ("src/server/puma/mod.rs", "fn name() { \"puma\" }\n");
    let bad = "// \"puma\" is spoken of\nfn f() { find(\"puma\") }\n";
    let good = "fn f() { say(\"such as puma\") }\n";
    try_out(&NAMES, &[server, ("src/cli/tune.rs", bad)], &[2], &[server, ("src/cli/a.rs", good)]);
}
