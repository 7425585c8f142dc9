//! What a collector passes on to whoever asked for the load and is elsewhere: a line of JSON each.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::terms::{FleetMember, LiveSecond, LoadRun, LoadSecond};

#[derive(Serialize, Deserialize)]
struct Line {
    number: u64,
    said: Relay,
}

/// What a line says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Relay {
    /// This many generators are there so far, and not all.
    Joined {
        joined: u16,
    },
    /// All generators are there. What hands over orders beside it is this program.
    Ready {
        program: String,
    },
    Live(LiveSecond),
    /// The next second of the record, of all generators together.
    Second(Box<LoadSecond>),
    /// The last line of a load.
    Gathered {
        run: LoadRun,
        generators: Vec<FleetMember>,
    },
    /// The last line of a load, instead: in words.
    Failed {
        why: String,
    },
    /// The last line of all, instead of [`Self::Ready`] or of a load: too few generators joined.
    TooFew {
        joined: u16,
        wanted: u16,
        within: Duration,
    },
}

impl Relay {
    /// As a line, without its end. `number`: of the line among all, from 1; whoever reads a log
    /// again after an outage tells by it what is new, also where its beginning has been removed.
    pub fn line(self, number: u64) -> String {
        serde_json::to_string(&Line { number, said: self }).unwrap_or_default()
    }

    /// The line's number and what it says; `None`: it is something else, such as what the program
    /// said to people.
    pub fn read(line: &str) -> Option<(u64, Self)> {
        let Line { number, said } = serde_json::from_str(line).ok()?;
        Some((number, said))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_back_and_what_is_said_to_people_is_none() {
        let second = LoadSecond { due: 7, ..LoadSecond::default() };
        let few = Relay::TooFew { joined: 1, wanted: 3, within: Duration::from_secs(150) };
        let failed = Relay::Failed { why: "no".into() };
        for relay in [Relay::Second(Box::new(second)), Relay::Joined { joined: 1 }, failed, few] {
            assert_eq!(Relay::read(&relay.clone().line(3)), Some((3, relay)));
        }
        for words in ["waiting for 3 generators", "", "3", "{}"] {
            assert_eq!(Relay::read(words), None);
        }
    }
}
