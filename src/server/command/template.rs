//! A start command of the user's, with places that are filled in for each configuration.
//!
//! In: words with `{workers}`, `{threads}`, `{port}`, `{socket}`. Out: the words filled in. Only
//! computes.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::server::Listen;
use crate::terms::Configuration;

/// What can be filled in.
pub const PLACES: [&str; 4] = ["workers", "threads", "port", "socket"];

/// A command of the user's that starts a server we don't know, or gives one that runs elsewhere its
/// setting, and what its user said about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandTemplate {
    /// As it was written.
    pub text: String,
    /// The text's words, as a shell would take it apart; not empty. Of one that a shell runs the
    /// whole text.
    pub words: Vec<String>,
    /// Asks it to end; as in signal(7).
    pub stop_signal: i32,
    /// What stands for today's setting.
    pub today: Configuration,
    pub runs: Runs,
}

/// What a command does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Runs {
    /// It starts a server.
    Server,
    /// A shell runs it, and it gives a server that runs elsewhere its setting.
    Setting,
    /// The same by Kamal, which gives an app variables that its configuration has.
    KamalSetting,
    /// The same by AWS, which gives a task variables that its definition has.
    EcsSetting,
}

/// The names in braces that stand in a text, with where they stand, braces included. A shell's
/// `${name}` is none, and neither is anything but letters and `_`.
pub fn places(text: &str) -> Vec<(Range<usize>, &str)> {
    let mut found = Vec::new();
    for (start, _) in text.match_indices('{') {
        let Some(length) = text[start + 1..].find('}') else { break };
        let name = &text[start + 1..start + 1 + length];
        let is_name = |c: char| c.is_ascii_alphabetic() || c == '_';
        let is_shells = text[..start].ends_with('$');
        if !name.is_empty() && name.chars().all(is_name) && !is_shells {
            found.push((start..start + length + 2, name));
        }
    }
    found
}

/// Does this place stand in the text?
pub fn has_place(text: &str, place: &str) -> bool {
    places(text).iter().any(|(_, name)| *name == place)
}

/// The text with every place filled in that has a value; others stay as they are.
pub fn fill(text: &str, value: impl Fn(&str) -> Option<String>) -> String {
    let mut filled = String::new();
    let mut done = 0;
    for (range, name) in places(text) {
        if let Some(value) = value(name) {
            filled.push_str(&text[done..range.start]);
            filled.push_str(&value);
            done = range.end;
        }
    }
    filled + &text[done..]
}

/// What the places for numbers are filled in with.
pub fn numbers(configuration: Configuration, place: &str) -> Option<String> {
    match place {
        "workers" => Some(configuration.workers.to_string()),
        "threads" => Some(configuration.threads.to_string()),
        _ => None,
    }
}

/// The text with the numbers of a configuration filled in.
pub fn with_numbers(text: &str, configuration: Configuration) -> String {
    fill(text, |place| numbers(configuration, place))
}

/// Of these variables those that are a place for a number and nothing else, filled in; and the
/// names of those that have such a place within other text.
pub fn filled_in(
    env: &BTreeMap<String, String>,
    configuration: Configuration,
) -> (BTreeMap<String, String>, Vec<String>) {
    let mut filled = BTreeMap::new();
    let mut unseen = Vec::new();
    for (name, value) in env {
        match places(value).as_slice() {
            [(range, "workers" | "threads")] if *range == (0..value.len()) => {
                filled.insert(name.clone(), fill(value, |place| numbers(configuration, place)));
            }
            // The rest of the value may be secret.
            places if places.iter().any(|(_, place)| matches!(*place, "workers" | "threads")) => {
                unseen.push(name.clone());
            }
            _ => {}
        }
    }
    (filled, unseen)
}

/// What all places are filled in with.
pub fn values(configuration: Configuration, listen: &Listen, place: &str) -> Option<String> {
    match (place, listen) {
        ("port", Listen::Port(port)) => Some(port.to_string()),
        ("socket", Listen::Socket(path)) => Some(path.display().to_string()),
        _ => numbers(configuration, place),
    }
}

impl CommandTemplate {
    /// Does this place stand in the command, or in one of these variables?
    pub fn uses(&self, env: &BTreeMap<String, String>, place: &str) -> bool {
        self.words.iter().chain(env.values()).any(|text| has_place(text, place))
    }

    /// The program without its folder, as it is called in a report.
    pub fn program(&self) -> &str {
        let first = self.words.first().map_or("", String::as_str);
        first.rsplit('/').next().unwrap_or(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn filled(text: &str) -> String {
        fill(text, |place| values(Configuration::new(3, 5).unwrap(), &Listen::Port(4000), place))
    }

    #[test]
    fn places_are_filled_in_and_other_braces_are_left_alone() {
        for (text, expected) in [
            ("-w{workers} -b 127.0.0.1:{port}", "-w3 -b 127.0.0.1:4000"),
            ("{threads}:{threads}", "5:5"),
            ("{workers}{threads}", "35"),
            ("${port} $PORT", "${port} $PORT"),
            (r#"{"a": 1}"#, r#"{"a": 1}"#),
            ("{1,2} {} { port } {port", "{1,2} {} { port } {port"),
            ("{{port}}", "{4000}"),
            // There is no socket where it listens on a port.
            ("unix:{socket}", "unix:{socket}"),
            ("{other}ä{port}", "{other}ä4000"),
        ] {
            assert_eq!(filled(text), expected);
        }
        let socket = Listen::Socket("/tmp/a b.sock".into());
        let socket = |place: &str| values(Configuration::new(1, 1).unwrap(), &socket, place);
        assert_eq!(fill("unix://{socket}", socket), "unix:///tmp/a b.sock");
    }

    #[test]
    fn names_are_found_as_they_are_written() {
        let found: Vec<&str> =
            places("{wrokers} {Port} ${x} {db_pool}").into_iter().map(|p| p.1).collect();
        assert_eq!(found, ["wrokers", "Port", "db_pool"]);
    }

    proptest! {
        #[test]
        fn a_text_without_places_stays_as_it_is(text in "[a-z ${}ä]{0,30}") {
            prop_assert_eq!(fill(&text, |_| None), text);
        }
    }
}
