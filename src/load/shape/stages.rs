//! Stages of a load whose rate changes, and how people write them: `50/s:10s,100/s:10s` for steps,
//! `0..500/s:60s` for a ramp.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;

use crate::terms::{Rate, UnitError, format_duration, parse_duration};

/// A part of the load in which the arrival rate goes evenly from one value to another. Both are
/// the same in a step; one or both may be zero.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stage {
    pub from: Rate,
    pub to: Rate,
    pub length: Duration,
}

/// Stages as people write them. Those that were read are at least one, all of them with a length
/// and not all of them silent.
#[derive(Debug, Clone, PartialEq)]
pub struct Stages(pub Arc<[Stage]>);

const FORM: &str = "stages are written RATE:TIME or RATE..RATE:TIME with commas between them, such \
                    as 50/s:10s,100/s:10s or 0..500/s:60s";

/// Why a text is no list of stages.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum StagesError {
    #[error("'{part}' lacks the ':' between its rate and its time; {}", FORM)]
    NoTime { part: String },
    #[error("in '{part}', {reason}; {}", FORM)]
    Unreadable { part: String, reason: UnitError },
    #[error("'{part}' takes no time; {}", FORM)]
    NoLength { part: String },
    #[error("the rate is never above zero; {}", FORM)]
    Silent,
}

impl FromStr for Stages {
    type Err = StagesError;

    fn from_str(text: &str) -> Result<Self, StagesError> {
        let stages = text.split(',').map(|part| stage(part.trim()));
        let stages = stages.collect::<Result<Arc<[Stage]>, _>>()?;
        match highest_rate(&stages) {
            Some(rate) if rate.as_per_second() > 0.0 => Ok(Self(stages)),
            _ => Err(StagesError::Silent),
        }
    }
}

fn stage(part: &str) -> Result<Stage, StagesError> {
    let named = || part.to_string();
    let (rate, time) = part.split_once(':').ok_or_else(|| StagesError::NoTime { part: named() })?;
    let unreadable = |reason| StagesError::Unreadable { part: named(), reason };
    let (from, to) = rates(rate).map_err(unreadable)?;
    let length = parse_duration(time).map_err(unreadable)?;
    match length {
        Duration::ZERO => Err(StagesError::NoLength { part: named() }),
        length => Ok(Stage { from, to, length }),
    }
}

/// Reads `50/s`, `0..500/s` or `50/s..500/s`: a unit that is written once is that of both.
fn rates(text: &str) -> Result<(Rate, Rate), UnitError> {
    let Some((from, to)) = text.split_once("..") else {
        let rate = text.parse()?;
        return Ok((rate, rate));
    };
    let with_unit_of = |text: &str, other: &str| match (text.contains('/'), other.split_once('/')) {
        (false, Some((_, unit))) => format!("{text}/{unit}").parse::<Rate>(),
        _ => text.parse(),
    };
    Ok((with_unit_of(from, to)?, with_unit_of(to, from)?))
}

impl fmt::Display for Stage {
    /// `50.0/s for 10s`, or `0.00/s to 500/s in 1m`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { from, to, .. } = self;
        let length = format_duration(self.length);
        if from == to {
            write!(f, "{from} for {length}")
        } else {
            write!(f, "{from} to {to} in {length}")
        }
    }
}

/// How long all of them take.
pub(super) fn length(stages: &[Stage]) -> Duration {
    stages.iter().map(|stage| stage.length).fold(Duration::ZERO, Duration::saturating_add)
}

/// `None` without any stage.
pub(super) fn highest_rate(stages: &[Stage]) -> Option<Rate> {
    let rates = stages.iter().flat_map(|stage| [stage.from, stage.to]);
    rates.reduce(|highest, rate| if rate > highest { rate } else { highest })
}

/// Requests due in all, by the time of all; 0 when that is none.
pub(super) fn mean_rate(stages: &[Stage]) -> Rate {
    let whole_s = length(stages).as_secs_f64().max(f64::MIN_POSITIVE);
    let due = |stage: &Stage| {
        let mean = stage.from.as_per_second() / 2.0 + stage.to.as_per_second() / 2.0;
        mean * stage.length.as_secs_f64()
    };
    let mean = stages.iter().map(due).sum::<f64>() / whole_s;
    Rate::per_second(mean.min(f64::MAX)).expect("a mean of rates is positive, and kept finite")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// From, to and length of each, in requests per second and seconds.
    fn read(text: &str) -> Vec<(f64, f64, f64)> {
        let Stages(stages) = text.parse().unwrap();
        let plain = |stage: &Stage| {
            let (from, to) = (stage.from.as_per_second(), stage.to.as_per_second());
            (from, to, stage.length.as_secs_f64())
        };
        stages.iter().map(plain).collect()
    }

    #[test]
    fn steps_and_ramps_are_read_and_may_be_mixed() {
        let steps = [(50.0, 50.0, 10.0), (100.0, 100.0, 0.5)];
        assert_eq!(read("50/s:10s,100/s:500ms"), steps);
        assert_eq!(read(" 50 : 10s, 6000/m:500ms "), steps);
        for text in ["60..600/m:1m", "60/m..600/m:60s", "60/m..600:1m", "1..10:1m", "1..10/s:1m"] {
            assert_eq!(read(text), [(1.0, 10.0, 60.0)], "{text}");
        }
        assert_eq!(read("0..5/s:1s,5/s:2s,0:1s,5/s..0.5:3s")[3], (5.0, 0.5, 3.0));
    }

    #[test]
    fn a_mistake_is_named_with_its_part_and_the_form_is_shown() {
        for (text, named) in [
            ("", "'' lacks the ':'"),
            ("50/s:10s,", "'' lacks the ':'"),
            ("50/s:10s,100/s", "'100/s' lacks the ':'"),
            ("fast:10s", "in 'fast:10s', 'fast' is not a rate"),
            ("5/s:10", "in '5/s:10', '10' is not a duration"),
            ("5/s:1s:1s", "'1s:1s' is not a duration"),
            ("0..fast/s:1s", "'fast/s' is not a rate"),
            ("..5/s:1s", "'/s' is not a rate"),
            ("-5/s:1s", "-5 is not a rate"),
            ("5/s:1s,5/week:1s", "'5/week' is not a rate"),
            ("5/s:0s", "'5/s:0s' takes no time"),
            ("0:10s,0..0/s:10s", "never above zero"),
        ] {
            let error = text.parse::<Stages>().unwrap_err().to_string();
            assert!(error.contains(named), "{text}: {error}");
            assert!(error.contains("0..500/s:60s"), "{text}: {error}");
        }
    }

    #[test]
    fn the_mean_and_the_highest_rate_are_those_of_all_stages() {
        let Stages(stages) = "0..500/s:60s,100/s:60s,0:120s".parse().unwrap();
        assert_eq!(length(&stages), Duration::from_secs(240));
        assert_eq!(mean_rate(&stages).as_per_second(), (15_000.0 + 6_000.0) / 240.0);
        let Stages(thirds) = "0..100/s:2s,100/s:1s,0:1s,100..0/s:2s".parse().unwrap();
        assert_eq!(mean_rate(&thirds).as_per_second(), 50.0, "to the last digit");
        assert_eq!(highest_rate(&stages).unwrap().as_per_second(), 500.0);
        assert_eq!((mean_rate(&[]).as_per_second(), highest_rate(&[])), (0.0, None));
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[0-9./sm:,-]{0,20}|\\PC*") {
            let _either = text.parse::<Stages>();
        }
    }
}
