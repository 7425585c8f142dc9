//! What Python's app servers have in common: the interpreter, the environment, Python's own text.
//!
//! In: an app. Out: parts of recipes. Only computes.

pub mod failure;

use std::collections::BTreeMap;
use std::path::Path;

use super::command_line::{port, text};
use super::{About, App, CommandLine, Launch, Listen, ReadyLine};
use crate::terms::{Configuration, Cores, DatabaseAdvice, PoolSetting, Workers};

/// What a worker of ours prints once it serves: by our own hand, since a log level or the app's own
/// logging can silence the server's.
const READY: [&str; 2] = ["sweetspot: worker ", " is ready"];

/// What is printed of a worker that cannot load the app.
const FAILED: &str = "sweetspot: failed: ";

/// Finds the interpreter that runs the program `$1`, which need not be the first on the PATH, and
/// has it run the text `$2`.
const THROUGH_INTERPRETER: &str = r##"program=$(command -v "$1") || exit 127
script=$2
shift 2
IFS= read -r first <"$program"
case $first in
  '#!'*python*) set -- ${first#??} -c "$script" "$@" ;;
  *) beside=${program%/*}/python3
    [ -x "$beside" ] || beside=python3
    set -- "$beside" -c "$script" "$@" ;;
esac
exec "$@""##;

/// A command that has the server's own Python run `script`, behind what all inspections have in
/// common; with these arguments.
pub fn inspect(app: &App, about: &About, script: &str, arguments: &[String]) -> CommandLine {
    let script = format!("{}\n{script}", include_str!("inspect.py"));
    let mut command: Vec<String> =
        ["/bin/sh", "-c", THROUGH_INTERPRETER, "sh"].map(Into::into).into();
    command.extend([app.program(about).to_string(), script]);
    command.extend(arguments.iter().cloned());
    CommandLine { env: never_written().into(), ..CommandLine::new(command, &app.folder) }
}

/// What keeps Python from writing its caches into the app's folder.
fn never_written() -> BTreeMap<String, String> {
    BTreeMap::from([("PYTHONDONTWRITEBYTECODE".to_string(), "1".to_string())])
}

/// The environment of an app in production, with the number of workers by convention.
pub fn production(
    Launch { app, configuration, listen, .. }: Launch<'_>,
) -> BTreeMap<String, String> {
    let of_command = app.start_env.iter().filter(|(name, _)| !app.env.contains_key(*name));
    let mut env: BTreeMap<String, String> =
        of_command.map(|(name, value)| (name.clone(), value.clone())).collect();
    env.extend(never_written());
    let mut set = |name: &str, value: String| {
        // What the user or the command says of the app's environment stays.
        let own = app.env.get(name).or_else(|| app.start_env.get(name));
        env.insert(name.to_string(), own.cloned().unwrap_or(value));
    };
    set("FLASK_ENV", "production".into());
    set("FLASK_DEBUG", "0".into());
    env.insert("PYTHONUNBUFFERED".into(), "1".into());
    env.insert("WEB_CONCURRENCY".into(), configuration.workers.to_string());
    env.insert("PORT".into(), port(listen).to_string());
    env
}

/// Each worker has to say that it serves.
pub fn ready_line(configuration: Configuration) -> ReadyLine {
    ReadyLine::of(&READY, configuration.workers.get())
}

/// Workers that cannot load the app; `count` of them are too many.
pub fn failing_workers(count: u16) -> ReadyLine {
    ReadyLine::of(&[FAILED], count)
}

/// An address as Python's servers are told it: `127.0.0.1:4000` or `unix:/tmp/a.sock`.
pub fn address(listen: &Listen) -> String {
    match listen {
        Listen::Port(port) => format!("127.0.0.1:{port}"),
        Listen::Socket(path) => format!("unix:{}", path.display()),
    }
}

/// Lines for a Python file that keep the ratio of workers to cores elsewhere.
pub fn same_ratio(workers: Workers, cores: Cores) -> [String; 4] {
    [
        String::new(),
        format!("# The same ratio on a machine of another size (this one has {cores} cores):"),
        "#   import os".into(),
        format!(
            "#   workers = max(round({workers} * len(os.sched_getaffinity(0)) / {:?}), 1)",
            cores.get()
        ),
    ]
}

/// The value of `name = "value"` at the beginning of a line of a Python file.
pub fn assigned<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let rest = line.strip_prefix(name)?.trim_start().strip_prefix('=')?.trim();
        let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        rest[1..].split(quote).next()
    })
}

/// A path as a text of Python's.
pub fn quoted(path: &Path) -> String {
    literal(&text(path))
}

/// A text as it is written in Python, where JSON's form does.
pub fn literal(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Where the app keeps its database connections, and how many that makes.
pub fn database_advice(configuration: Configuration) -> DatabaseAdvice {
    match configuration.threads.get() {
        1 => DatabaseAdvice::PythonPoolPerWorker { workers: configuration.workers.get() },
        _ => DatabaseAdvice::PoolPerWorker { configuration, pool: PoolSetting::PythonLibrary },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Language;
    use crate::terms::Advice;

    #[test]
    fn texts_are_written_as_python_reads_them() {
        assert_eq!(quoted(Path::new("/srv/a\"b\\c")), r#""/srv/a\"b\\c""#);
    }

    #[test]
    fn connections_are_counted_for_what_the_workers_have() {
        let said = |workers, threads| {
            let advice = database_advice(Configuration::new(workers, threads).unwrap());
            Language::DATA.say_fact(&Advice::from(advice))
        };
        let one = said(3, 1);
        assert!(one.contains("3 x n") && !one.contains("thread"), "{one}");
        let several = said(3, 4);
        assert!(several.contains("up to 12 (3 x 4)"), "{several}");
    }
}
