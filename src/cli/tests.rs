use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgMatches, Command, CommandFactory, FromArgMatches, Parser};

use crate::plan::{self, Form, Key, Surroundings, Typed};
use crate::session::local::surroundings;
use crate::terms::Cores;

/// The page of docs/ that is written from the arguments.
const REFERENCE: &str = "docs/reference.md";

fn whole() -> Command {
    let mut command = super::Arguments::command();
    command.build();
    command
}

#[test]
fn the_command_line_is_consistent() {
    super::Arguments::command().debug_assert();
}

/// Every verb that people type, `sessions list` among them.
fn verbs(command: &Command) -> Vec<&Command> {
    let shown = command.get_subcommands().filter(|verb| is_shown(verb));
    shown
        .flat_map(|verb| match verb.get_subcommands().any(is_shown) {
            true => verbs(verb),
            false => vec![verb],
        })
        .collect()
}

/// Neither hidden nor clap's own.
fn is_shown(verb: &Command) -> bool {
    !verb.is_hide_set() && verb.get_name() != "help"
}

#[test]
fn every_verb_has_json_for_machines_quiet_and_an_example() {
    let command = whole();
    let verbs = verbs(&command);
    assert!(verbs.len() >= 8, "{verbs:?}");
    for verb in verbs {
        let name = verb.get_name();
        for option in ["json", "quiet"] {
            let is_there = verb.get_arguments().any(|one| one.get_long() == Some(option));
            assert!(is_there, "{name} has no --{option}");
        }
        let text = verb.get_after_help().map(ToString::to_string).unwrap_or_default();
        assert!(text.contains("Example") && text.contains(name), "{name}: {text}");
    }
}

/// Markdown with what people type, with its path from the project's folder.
fn documents() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders: Vec<PathBuf> = ["docs", "gem"].map(|it| root.join(it)).into();
    let mut paths: Vec<PathBuf> =
        root.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir().unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { &mut folders } else { &mut paths }.push(path);
        }
    }
    paths.retain(|path| path.extension().is_some_and(|it| it == "md"));
    paths.sort();
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap();
        (path.strip_prefix(root).unwrap().to_path_buf(), text)
    };
    paths.into_iter().map(read).collect()
}

#[test]
fn documents_name_no_flag_that_its_verb_does_not_have() {
    let command = whole();
    let mut named = 0;
    for (path, text) in documents() {
        let text = text.replace("\\\n", " ");
        for typed in text.split(['\n', '`']).filter_map(|it| it.strip_prefix("sweetspot ")) {
            // Prose is no shell's.
            let words = shlex::split(typed)
                .unwrap_or_else(|| typed.split_whitespace().map(str::to_string).collect());
            let words = words.iter().map(String::as_str).take_while(|word| *word != "|");
            let verb =
                words.clone().fold(&command, |it, word| it.find_subcommand(word).unwrap_or(it));
            let known = verb.get_arguments().filter_map(Arg::get_long_and_visible_aliases);
            let known: Vec<_> = known.flatten().collect();
            for flag in words.filter_map(|word| word.strip_prefix("--")?.split('=').next()) {
                assert!(known.contains(&flag), "{}: no --{flag}: {typed}", path.display());
                named += 1;
            }
        }
    }
    assert!(named > 200, "{named}");
}

/// What depends on an app, a server or files that are not here.
const ELSEWHERE: [Key; 10] = [
    Key::App,
    Key::Env,
    Key::Server,
    Key::Proxy,
    Key::Start,
    Key::Knob,
    Key::Kamal,
    Key::Targets,
    Key::PodTemplate,
    Key::User,
];

/// Makes the plan of a `tune` for the demo's app, as far as it has nothing to do with another one:
/// its values are good, and not only its flags.
fn is_planned(matches: &ArgMatches, whose: impl Fn() -> String) -> bool {
    let Some(tune) = matches.subcommand_matches("tune") else { return false };
    let typed = Typed::from_arg_matches(tune).unwrap();
    if tune.contains_id("plan") || ELSEWHERE.iter().any(|key| typed.has(*key)) {
        return false;
    }
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("demo");
    let here = surroundings().unwrap();
    let here = Surroundings { folder: demo, cores: Cores::new(4.0).unwrap(), ..here };
    if let Err(error) = plan::resolve(&typed, &here) {
        panic!("{}: {error}", whose());
    }
    true
}

/// The words of a line of a shell that runs sweetspot, without what goes before and after it;
/// `None` where it runs something else.
fn typed(line: &str) -> Option<Vec<String>> {
    let words = shlex::split(line.trim_start_matches("$ "))?;
    let is_before = |word: &String| {
        ["bundle", "exec", "sudo"].contains(&word.as_str())
            || word.split_once('=').is_some_and(|(name, _)| !name.starts_with('-'))
    };
    let words: Vec<String> = words.into_iter().skip_while(is_before).collect();
    let is_after =
        |word: &String| ["|", "||", "&&", "&"].contains(&word.as_str()) || word.starts_with('>');
    let is_ours = words.first().is_some_and(|it| it == "sweetspot");
    is_ours.then(|| words.into_iter().take_while(|word| !is_after(word)).collect())
}

/// The lines of a document's fenced blocks that run sweetspot.
fn fenced(text: &str) -> Vec<Vec<String>> {
    // Blocks of a list are indented.
    let lines: Vec<&str> = text.lines().map(str::trim_start).collect();
    let text = lines.join("\n").replace("\\\n", " ");
    let blocks = text.split("\n```").skip(1).step_by(2);
    blocks.flat_map(|block| block.lines().skip(1).filter_map(typed).collect::<Vec<_>>()).collect()
}

#[test]
fn every_command_in_a_documents_fenced_block_is_taken() {
    let (mut taken, mut planned) = (0, 0);
    for (path, text) in documents() {
        for words in fenced(&text) {
            let parsed = super::Arguments::command().try_get_matches_from(&words);
            let whose = || format!("{}: {words:?}", path.display());
            match parsed {
                Ok(matches) => planned += usize::from(is_planned(&matches, whose)),
                // Help and version end without a mistake.
                Err(error) => assert_eq!(error.exit_code(), 0, "{}: {error}", whose()),
            }
            taken += 1;
        }
    }
    assert!(taken > 100 && planned > 25, "{taken}, {planned}");
}

#[test]
fn lines_of_a_fenced_block_are_taken_as_a_shell_would() {
    let text = "sweetspot no\n```sh\nA=b bundle exec sweetspot tune --slo 'p95<1s' \\\n --yes # c\n\
        cd sweetspot\n$ sweetspot report last --json > a | b\n```\nsweetspot no\n\
        1. x\n\n   ```\n   sweetspot doctor\n   ```\n";
    let doctor = ["sweetspot", "doctor"].map(String::from).to_vec();
    let tune = ["sweetspot", "tune", "--slo", "p95<1s", "--yes"];
    let report = ["sweetspot", "report", "last", "--json"];
    let [tune, report] = [tune.map(String::from).to_vec(), report.map(String::from).to_vec()];
    assert_eq!(fenced(text), [tune, report, doctor]);
}

/// Text for a cell of a table.
fn cell(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.replace('|', "\\|").replace('<', "&lt;")
}

/// `-o`, `--output FORMAT=PATH`.
fn spelled(argument: &Arg) -> String {
    let value = if takes_values(argument) {
        argument.get_value_names().unwrap_or_default().join(" ")
    } else {
        String::new()
    };
    if argument.is_positional() {
        let brackets = if argument.is_required_set() { ("", "") } else { ("[", "]") };
        return format!("`{}{value}{}`", brackets.0, brackets.1);
    }
    let short = argument.get_short().map(|short| format!("`-{short}`, ")).unwrap_or_default();
    let long = argument.get_long().unwrap_or_default();
    let long = match (value.is_empty(), argument.is_require_equals_set()) {
        (true, _) => format!("--{long}"),
        (false, true) => format!("--{long}[={value}]"),
        (false, false) => format!("--{long} {value}"),
    };
    format!("{short}`{}`", long.replace('|', "\\|"))
}

fn takes_values(argument: &Arg) -> bool {
    argument.get_num_args().is_some_and(|it| it.takes_values())
}

/// What it says in the help, with the values that it takes and its default.
fn explained(argument: &Arg) -> String {
    let mut text = cell(&argument.get_help().map(ToString::to_string).unwrap_or_default());
    let values = argument.get_possible_values();
    if takes_values(argument) && !values.is_empty() {
        let values: Vec<_> = values.iter().map(|it| format!("`{}`", it.get_name())).collect();
        let _ = write!(text, " ({})", values.join(", "));
    }
    let default = argument.get_default_values().iter().map(|it| it.to_string_lossy());
    let default: Vec<_> = default.collect();
    if takes_values(argument) && !default.is_empty() && !text.contains("[default") {
        let _ = write!(text, " [default: {}]", default.join(","));
    }
    text
}

/// What the plan file has for an option of `tune`.
fn in_the_plan(argument: &Arg) -> String {
    let Some(key) = Key::ALL.iter().find(|key| Some(key.name()) == argument.get_long()) else {
        return String::new();
    };
    let row = key.row();
    let example = row.example.replace('|', "\\|");
    match row.form {
        Form::Flag => String::new(),
        Form::Table("target") | Form::Table("knob") => format!("`[[{}]]`", row.name),
        Form::Table(name) => format!("`[{name}]`"),
        _ => {
            let first = example.split(" or ").next().unwrap_or_default();
            format!("`{} = {first}`", row.name)
        }
    }
}

fn table(verb: &Command, has_plan: bool) -> String {
    let mut text = match has_plan {
        true => "| flag | in `sweetspot.toml` | |\n|---|---|---|\n".to_string(),
        false => "| | |\n|---|---|\n".to_string(),
    };
    let own = ["help", "version"];
    let shown = |it: &&Arg| !it.is_hide_set() && !own.contains(&it.get_id().as_str());
    for argument in verb.get_arguments().filter(shown) {
        let plan = if has_plan { format!(" {} |", in_the_plan(argument)) } else { String::new() };
        let _ = writeln!(text, "| {} |{plan} {} |", spelled(argument), explained(argument));
    }
    text
}

/// Each verb with its arguments, as Markdown.
fn reference() -> String {
    let command = whole();
    let mut text = String::from(
        "# Every flag and plan key\n\nWritten by the program's own tables \
         (`UPDATE_DOCS=1 cargo test --lib cli::tests` writes it anew). A key of \
         `sweetspot.toml` has the\nname of its flag, and the flag comes before it. `--help` says \
         the same, with examples.\n",
    );
    for verb in verbs(&command) {
        let name = verb.get_bin_name().unwrap_or_default();
        let about = verb.get_about().map(ToString::to_string).unwrap_or_default();
        let about = about.trim_end_matches('.');
        let table = table(verb, name == "sweetspot tune");
        let _ = write!(text, "\n## {name}\n\n{about}.\n\n{table}");
    }
    text
}

#[test]
fn the_page_of_all_flags_and_plan_keys_is_what_the_arguments_say() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(REFERENCE);
    let text = reference();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == text, "{REFERENCE} is stale: UPDATE_DOCS=1 cargo test --lib cli::tests");
    for key in Key::ALL {
        assert!(text.contains(&format!("`--{}", key.name())), "{}", key.name());
    }
}

#[test]
fn what_may_be_secret_is_not_repeated_where_it_is_mistyped() {
    for arguments in [
        &["report", "1", "--push", "https://hook.example/s3cret"][..],
        &["load", "http://127.0.0.1:1/", "--rate", "1/s", "--target", "SEND /s3cret"],
    ] {
        let words = ["sweetspot"].iter().chain(arguments);
        let error = super::Arguments::try_parse_from(words).err().unwrap();
        assert!(error.to_string().contains("s3cret"), "{error}");
        let shown = super::hide_value(error).to_string();
        assert!(shown.contains("[hidden]") && !shown.contains("s3cret"), "{shown}");
    }
}
