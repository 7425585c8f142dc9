//! Causes of a failed boot by what a server prints.
//!
//! In: a table of texts and the last lines. Out: the cause. Only computes.

use super::About;
use crate::terms::BootFailureKind;

/// Texts in the log and the cause they prove; the first row that matches wins, so that the more
/// particular cause stands above.
pub type Causes = [(BootFailureKind, &'static [&'static str])];

/// What MariaDB, MySQL and PostgreSQL say when all their connections are taken, in any language.
pub const ALL_CONNECTIONS_TAKEN: &[&str] = &[
    "Too many connections",
    "too many clients already",
    "remaining connection slots are reserved",
];

/// The cause that the last lines of this server prove; `Exited` when they prove none. What has no
/// programs of its own (another's command, a pod) is never missing itself.
pub fn recognise(about: &About, last_lines: &[String]) -> BootFailureKind {
    let is_proven = |texts: &[&str]| texts.iter().any(|text| has(last_lines, text));
    let proven = about.causes.iter().find(|(_, texts)| is_proven(texts));
    match proven {
        Some((kind, _)) => *kind,
        None if about.programs.is_empty() => BootFailureKind::Exited,
        None if is_missing(about.name, last_lines) => BootFailureKind::NotInstalled,
        None if last_lines.iter().any(|line| lacks_variable(line)) => {
            BootFailureKind::VariableMissing
        }
        None => BootFailureKind::Exited,
    }
}

/// The port that this server's last lines say is taken, where they name one and none of `ours`: the
/// app takes it beside that of its server.
pub fn other_port_taken(about: &About, last_lines: &[String], ours: &[u16]) -> Option<u16> {
    let taken = about.causes.iter().filter(|(kind, _)| *kind == BootFailureKind::PortTaken);
    let texts: Vec<&str> = taken.flat_map(|(_, texts)| texts.iter().copied()).collect();
    let says_so = |line: &&String| texts.iter().any(|text| line.contains(text));
    let ports: Vec<u16> = last_lines.iter().filter(says_so).filter_map(|it| port_in(it)).collect();
    let is_ours = ports.iter().any(|port| ours.contains(port));
    ports.last().copied().filter(|_| !is_ours)
}

/// The last port of a line: `127.0.0.1:9394`, `:::9394`, `('127.0.0.1', 9394)`, `port 9394`.
fn port_in(line: &str) -> Option<u16> {
    let after = [":", "', ", "port "].into_iter().flat_map(|mark| line.split(mark).skip(1));
    let number = |text: &str| text.split(|c: char| !c.is_ascii_digit()).next()?.parse::<u16>().ok();
    // Smaller ones are of times and of lines of code.
    after.filter_map(number).filter(|port| *port >= 1024).last()
}

/// Whether Ruby or Python says in this line that there is nothing of a name as variables have them:
/// `key not found: "DATABASE_URL"`, `KeyError: 'DATABASE_URL'`. Those of a request are no such.
fn lacks_variable(line: &str) -> bool {
    let named = |before: &str, quote: char| line.split_once(before)?.1.split(quote).next();
    let names = [named("key not found: \"", '"'), named("KeyError: '", '\'')];
    let is_part = |c: char| c == '_' || c.is_ascii_uppercase() || c.is_ascii_digit();
    let is_variable =
        |name: &str| name.len() > 2 && !name.starts_with("HTTP_") && name.chars().all(is_part);
    names.into_iter().flatten().any(is_variable)
}

/// Whether a shell, Ruby, Bundler or Python says that the server of this name is not there.
fn is_missing(name: &str, last_lines: &[String]) -> bool {
    let texts = [
        format!("cannot load such file -- {name} ("),
        format!("cannot load such file -- {name}/"),
        format!("can't find gem {name}"),
        format!("No module named '{name}"),
    ];
    let command = format!("command not found: {name}");
    texts.iter().any(|text| has(last_lines, text))
        || last_lines.iter().any(|line| line.trim_end().ends_with(&command))
}

/// What went wrong in a server's own words: of its last lines the one with an exception's name
/// (Ruby: `message (Namespace::Error)`), else the last that is no part of a backtrace.
pub fn own_message(last_lines: &[String]) -> Option<&str> {
    let lines = || last_lines.iter().rev().map(|line| line.trim());
    lines().find(|line| names_exception(line)).or_else(|| {
        lines().find(|line| !line.is_empty() && !line.starts_with("...") && !is_frame(line))
    })
}

/// Ends with a constant's name in parentheses.
fn names_exception(line: &str) -> bool {
    let Some((_, name)) = line.strip_suffix(')').and_then(|line| line.rsplit_once(" (")) else {
        return false;
    };
    let is_constant = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_uppercase())
            && part.chars().all(|c| c.is_alphanumeric() || c == '_')
    };
    name.split("::").all(is_constant)
}

/// Ruby's `from file:line:in ...`.
fn is_frame(line: &str) -> bool {
    line.starts_with("from ") && line.contains(":in ")
}

/// Does the text stand in one of the lines?
pub fn has(last_lines: &[String], text: &str) -> bool {
    last_lines.iter().any(|line| line.contains(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::{ADAPTERS, find};

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(String::from).collect()
    }

    #[test]
    fn the_message_is_the_exceptions_own_line_wherever_its_backtrace_ends() {
        for (said, expected) in [
            (
                "/gems/definition.rb:491:in `ensure': it is frozen (Bundler::ProductionError)\n\
                 Run `bundle install` elsewhere\n\tfrom /gems/a.rb:13:in `setup'\n\t... 16 more",
                "/gems/definition.rb:491:in `ensure': it is frozen (Bundler::ProductionError)",
            ),
            (
                "Traceback\n  File \"wsgi.py\", line 1\nModuleNotFoundError: No module named 'x'",
                "ModuleNotFoundError: No module named 'x'",
            ),
            ("it cannot go on\n\tfrom a.rb:1:in `b'\n\t... 3 more", "it cannot go on"),
            ("(see the manual)", "(see the manual)"),
        ] {
            assert_eq!(own_message(&lines(said)), Some(expected));
        }
        assert_eq!(own_message(&[]), None);
    }

    #[test]
    fn a_port_that_is_taken_is_told_from_those_of_the_server() {
        let of = |name: &str, line: &str| {
            other_port_taken(find(name).unwrap().about(), &lines(line), &[4000, 4001])
        };
        for (server, line, expected) in [
            (
                "puma",
                "/gems/exporter.rb:38:in `new': Address already in use - bind(2) for 0.0.0.0:9394 \
                 (Errno::EADDRINUSE)",
                Some(9394),
            ),
            ("puma", "Address already in use - bind(2) for \"127.0.0.1\" port 4000", None),
            ("puma", "Address already in use - bind(2) for \"::\" port 9394", Some(9394)),
            ("puma", "12:34:56 Address already in use - bind(2) for /run/a.sock", None),
            ("puma", "it listens on port 9394", None),
            ("node", "Error: listen EADDRINUSE: address already in use :::9394", Some(9394)),
            ("node", "Error: listen EADDRINUSE: address already in use 127.0.0.1:4001", None),
            ("gunicorn", "[ERROR] Connection in use: ('127.0.0.1', 4000)", None),
            ("gunicorn", "[ERROR] Connection in use: ('::', 9394, 0, 0)", Some(9394)),
            ("uvicorn", "ERROR:    [Errno 98] Address already in use", None),
            ("command", "listen tcp :9394: bind: address already in use", Some(9394)),
        ] {
            assert_eq!(of(server, line), expected, "{line}");
        }
    }

    #[test]
    fn who_says_nothing_has_just_ended_and_only_a_program_can_be_missing() {
        let said = lines(
            "sh: command not found: puma\nModuleNotFoundError: No module named 'commands'\n\
             No module named 'kubernetes'\nzsh: command not found: nodemon",
        );
        for adapter in ADAPTERS.iter().copied().chain([find("kubernetes").unwrap()]) {
            let about = adapter.about();
            assert_eq!(recognise(about, &[]), BootFailureKind::Exited, "{}", about.name);
            let expected = match about.name {
                "puma" => BootFailureKind::NotInstalled,
                _ => BootFailureKind::Exited,
            };
            assert_eq!(recognise(about, &said), expected, "{}", about.name);
        }
    }
}
