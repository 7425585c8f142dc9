//! What a collector passes on to whoever asked for the load and is elsewhere: a line of JSON each.

use serde::{Deserialize, Serialize};

use crate::terms::{FleetMember, LiveSecond, LoadRun, LoadSecond};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Relay {
    Live(LiveSecond),
    /// The next second of the record, of all generators together.
    Second(Box<LoadSecond>),
    /// The last line.
    Gathered {
        run: LoadRun,
        generators: Vec<FleetMember>,
    },
    /// The last line, instead: in words.
    Failed {
        why: String,
    },
}

impl Relay {
    /// As a line, without its end.
    pub fn line(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// `None`: the line is something else, such as what the program said to people.
    pub fn read(line: &str) -> Option<Self> {
        serde_json::from_str(line).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_back_and_what_is_said_to_people_is_none() {
        let second = LoadSecond { due: 7, ..LoadSecond::default() };
        for relay in [Relay::Second(Box::new(second)), Relay::Failed { why: "no".into() }] {
            assert_eq!(Relay::read(&relay.line()), Some(relay));
        }
        assert_eq!(Relay::read("waiting for 3 generators"), None);
    }
}
