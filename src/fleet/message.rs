//! What collector and generators tell each other; a line of JSON each.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::load::shape::Part;
use crate::terms::{ConnectionMode, LiveSecond, LoadRun, LoadSecond, Offered};

/// What a generator must have in common with the collector.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gate {
    /// Of the program: other versions may count otherwise.
    pub version: String,
    /// Who doesn't know it is sent away; empty: all may join.
    pub token: String,
    /// A hash of the load as it was typed.
    pub load: String,
}

impl Gate {
    /// For generators that the collector has started itself, with its own program: the token alone
    /// tells them from others.
    pub fn of_own(token: &str) -> Self {
        let (version, load) = (env!("CARGO_PKG_VERSION").to_string(), String::new());
        Self { version, token: token.to_string(), load }
    }
}

/// One load of those that a fleet sends, one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Load {
    pub part: Part,
    /// Of each generator.
    pub loops: u16,
    /// `None`: as it was typed.
    pub offer: Option<Offer>,
}

/// What differs from the load that was typed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Offer {
    pub offered: Offered,
    pub warm_up: Duration,
    pub duration: Duration,
    pub seed: u64,
    pub connection: ConnectionMode,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FromGenerator {
    Hello(Gate),
    /// Its monotonic clock, nanoseconds, when the ping of this number came.
    Pong {
        number: u32,
        at_ns: u64,
    },
    /// Connections, tables and threads are there: it waits for [`FromCollector::Begin`].
    Ready,
    /// It began this long after it was to.
    Began {
        late: Duration,
    },
    /// It lives. Sent several times a second.
    Alive,
    Live(LiveSecond),
    /// The next second of its record.
    Second(Box<LoadSecond>),
    Ended(LoadRun),
    /// It could not send its part; in words.
    Failed {
        why: String,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FromCollector {
    /// In words.
    Refused {
        why: String,
    },
    Ping {
        number: u32,
    },
    Load(Load),
    /// By the generator's monotonic clock, nanoseconds.
    Begin {
        at_ns: u64,
    },
    /// Nothing more is due. `now`: replies are not awaited either.
    Stop {
        now: bool,
    },
    /// There is no further load.
    Bye,
}
