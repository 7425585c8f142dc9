//! The latency goal: quantiles with limits and an error ratio, as in `p95<200ms,errors<1%`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use thiserror::Error;

use super::units::Ratio;

/// One limit on one quantile.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QuantileLimit {
    /// 0.95 for p95.
    pub quantile: Ratio,
    /// Latency must stay below this.
    pub limit: Duration,
}

/// A goal for latency and errors. At least one of the two parts is set when it was parsed from
/// text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Slo {
    /// In the order written.
    pub quantiles: Vec<QuantileLimit>,
    /// Share of requests that may fail (non-2xx/3xx or no reply); `None`: not part of the goal.
    pub errors: Option<Ratio>,
}

/// One term of a goal, in base units.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SloTerm {
    Latency { quantile_ratio: f64, limit_s: f64 },
    Errors { allowed_ratio: f64 },
}

/// A goal that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SloError {
    #[error("the SLO is empty; write for example 'p95<200ms,errors<1%'")]
    Empty,
    #[error("'{part}' is no SLO term; write a quantile such as 'p95<200ms' or 'errors<1%'")]
    UnknownTerm { part: String },
    #[error("'{text}' in '{part}' is no latency limit above zero; write for example 200ms or 1.5s")]
    BadLimit { part: String, text: String },
    #[error(
        "'{text}' in '{part}' is no error ratio from 0 up to 100%; write for example 1% or 0.001"
    )]
    BadRatio { part: String, text: String },
    #[error("'{name}' in '{part}' is no quantile between p1 and p99.999")]
    BadQuantile { part: String, name: String },
    #[error("'{part}' stands beside another limit of errors; write one of them")]
    TwoErrorLimits { part: String },
}

impl Slo {
    /// How many limits it sets.
    pub fn parts(&self) -> usize {
        self.quantiles.len() + usize::from(self.errors.is_some())
    }

    /// The quantile whose limit is the shortest; a goal on errors alone leaves a second for the
    /// 95th percentile.
    pub fn tightest(&self) -> QuantileLimit {
        let fallback = QuantileLimit {
            quantile: Ratio::new(0.95).expect("a constant between 0 and 1"),
            limit: Duration::from_secs(1),
        };
        self.quantiles.iter().copied().min_by_key(|q| q.limit).unwrap_or(fallback)
    }

    /// The tightest latency limit, for goodput; `None` when only errors are limited.
    pub fn tightest_limit(&self) -> Option<Duration> {
        self.quantiles.iter().map(|q| q.limit).min()
    }

    /// The longest latency limit: what takes longer meets none; `None` when only errors are
    /// limited.
    pub fn longest_limit(&self) -> Option<Duration> {
        self.quantiles.iter().map(|q| q.limit).max()
    }
}

impl SloTerm {
    /// Share of requests that may break it.
    pub fn allowed_ratio(self) -> f64 {
        match self {
            Self::Latency { quantile_ratio, .. } => 1.0 - quantile_ratio,
            Self::Errors { allowed_ratio } => allowed_ratio,
        }
    }

    pub fn is_errors(self) -> bool {
        matches!(self, Self::Errors { .. })
    }
}

impl From<QuantileLimit> for SloTerm {
    fn from(it: QuantileLimit) -> Self {
        Self::Latency { quantile_ratio: it.quantile.get(), limit_s: it.limit.as_secs_f64() }
    }
}

impl FromStr for Slo {
    type Err = SloError;

    fn from_str(text: &str) -> Result<Self, SloError> {
        let mut slo = Self { quantiles: Vec::new(), errors: None };
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let unknown = || SloError::UnknownTerm { part: part.to_string() };
            let (name, limit) = part.split_once('<').ok_or_else(unknown)?;
            let limit = limit.trim_start_matches('=').trim();
            match name.trim().to_ascii_lowercase().as_str() {
                "errors" | "error" if slo.errors.is_some() => {
                    return Err(SloError::TwoErrorLimits { part: part.to_string() });
                }
                "errors" | "error" => slo.errors = Some(error_ratio(part, limit)?),
                name => slo.quantiles.push(QuantileLimit {
                    quantile: quantile(part, name)?,
                    limit: latency_limit(part, limit)?,
                }),
            }
        }
        if slo.quantiles.is_empty() && slo.errors.is_none() {
            return Err(SloError::Empty);
        }
        Ok(slo)
    }
}

fn quantile(part: &str, name: &str) -> Result<Ratio, SloError> {
    if name == "median" {
        return Ok(Ratio::new(0.5).expect("one half is a ratio"));
    }
    let digits =
        name.strip_prefix('p').ok_or_else(|| SloError::UnknownTerm { part: part.to_string() })?;
    let bad = || SloError::BadQuantile { part: part.to_string(), name: name.to_string() };
    // p999 is the customary spelling of p99.9, p9999 of p99.99; p100 is meant as it stands.
    let is_customary = digits.is_ascii() && !digits.contains('.') && !digits.starts_with("100");
    let number = match digits.len() {
        3.. if is_customary => format!("{}.{}", &digits[..2], &digits[2..]),
        _ => digits.to_string(),
    };
    let percent: f64 = number.parse().map_err(|_| bad())?;
    if !(1.0..=99.999).contains(&percent) {
        return Err(bad());
    }
    // What is stored and shown is text, which is to be read as the same goal.
    Ratio::new(round_off(percent) / 100.0).map_err(|_| bad())
}

/// Seconds: beyond this, digits of a text are lost.
const LONGEST_LIMIT_S: f64 = 1e9;

fn latency_limit(part: &str, text: &str) -> Result<Duration, SloError> {
    let bad = || SloError::BadLimit { part: part.to_string(), text: text.to_string() };
    let split = text.find(|c: char| c.is_ascii_alphabetic()).ok_or_else(bad)?;
    let value: f64 = text[..split].trim().parse().map_err(|_| bad())?;
    let seconds = match &text[split..] {
        "us" => value / 1e6,
        "ms" => value / 1e3,
        "s" => value,
        "m" | "min" => value * 60.0,
        _ => return Err(bad()),
    };
    let (number, a_second, _) = in_its_unit(seconds);
    let seconds = number / a_second;
    match Duration::try_from_secs_f64(seconds) {
        Ok(limit) if limit > Duration::ZERO && seconds <= LONGEST_LIMIT_S => Ok(limit),
        _ => Err(bad()),
    }
}

fn error_ratio(part: &str, text: &str) -> Result<Ratio, SloError> {
    let bad = || SloError::BadRatio { part: part.to_string(), text: text.to_string() };
    let value: f64 = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().map_err(|_| bad())? / 100.0,
        None => text.parse().map_err(|_| bad())?,
    };
    Ratio::new(round_off(value * 100.0) / 100.0).map_err(|_| bad())
}

/// For `#[serde(with = "slo::as_written")]`: stored as text.
pub mod as_written {
    use super::*;

    pub fn serialize<S: Serializer>(slo: &Slo, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(slo)
    }

    /// # Errors
    /// It is no text of an SLO.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Slo, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

/// As [`as_written`] where there may be none.
pub mod option_as_written {
    use super::*;

    pub fn serialize<S: Serializer>(slo: &Option<Slo>, serializer: S) -> Result<S::Ok, S::Error> {
        slo.as_ref().map(Slo::to_string).serialize(serializer)
    }

    /// # Errors
    /// It is no text of an SLO.
    pub fn deserialize<'de, D: Deserializer<'de>>(read: D) -> Result<Option<Slo>, D::Error> {
        let text: Option<String> = Option::deserialize(read)?;
        text.map(|text| text.parse()).transpose().map_err(D::Error::custom)
    }
}

impl fmt::Display for Slo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let errors = self.errors.map(|ratio| SloTerm::Errors { allowed_ratio: ratio.get() });
        let terms = self.quantiles.iter().map(|&it| it.into()).chain(errors);
        let texts: Vec<String> = terms.map(|term: SloTerm| term.to_string()).collect();
        f.write_str(&texts.join(","))
    }
}

/// As in `p95<200ms`.
impl fmt::Display for SloTerm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Latency { quantile_ratio, limit_s } => {
                let (number, _, unit) = in_its_unit(limit_s);
                write!(f, "p{}<{number}{unit}", round_off(quantile_ratio * 100.0))
            }
            Self::Errors { allowed_ratio } => {
                write!(f, "errors<{}%", round_off(allowed_ratio * 100.0))
            }
        }
    }
}

/// Removes the dust that binary fractions leave behind (0.1 % must not print as 0.1000000001 %).
fn round_off(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

/// Seconds in the unit that they are shown in: the number, how many of it make a second, its name.
fn in_its_unit(seconds: f64) -> (f64, f64, &'static str) {
    let (a_second, unit) = match seconds {
        1.0.. => (1.0, "s"),
        1e-3.. => (1e3, "ms"),
        _ => (1e6, "us"),
    };
    (round_off(seconds * a_second), a_second, unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_goal_with_more_digits_than_are_shown_is_the_one_that_is_shown() {
        for text in [
            "p20.50255555555555<110m",
            "p22.0501100000001<6600s",
            "p95<7800039.6000001s",
            "p95<1.23456789ms",
            "p95<20.123456789us",
            "errors<0.1234567891%",
            "errors<0.00123456789",
        ] {
            let slo: Slo = text.parse().unwrap();
            assert_eq!(slo.to_string().parse::<Slo>().unwrap(), slo, "{text}");
        }
        assert!("p1<130000000330m".parse::<Slo>().is_err());
    }

    #[test]
    fn goals_are_read_and_printed_the_same() {
        for text in ["p95<200ms,errors<1%", "p99.9<1.5s", "errors<0.1%", "p50<10ms,p99<2s"] {
            assert_eq!(text.parse::<Slo>().unwrap().to_string(), text);
        }
        assert_eq!("p999<1s".parse::<Slo>().unwrap().to_string(), "p99.9<1s");
        assert_eq!(
            "p95 < 0.2s , errors<0.01".parse::<Slo>().unwrap().to_string(),
            "p95<200ms,errors<1%"
        );
    }

    #[test]
    fn a_hundredth_percentile_is_refused_and_not_taken_for_the_tenth() {
        for name in ["p100", "p1000"] {
            let part = format!("{name}<1s");
            let bad = SloError::BadQuantile { part: part.clone(), name: name.to_string() };
            assert_eq!(part.parse::<Slo>(), Err(bad));
        }
        assert_eq!("p10<1s,p950<2s".parse::<Slo>().unwrap().to_string(), "p10<1s,p95<2s");
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        for text in [
            "",
            "p95",
            "p95<fast",
            "p0<1s",
            "p95<0ms",
            "speed<9",
            "errors<200%",
            "errors<1%,error<5%",
            "p95<-1s",
            "p\u{ffff}904<1s",
        ] {
            let error = text.parse::<Slo>().unwrap_err();
            assert!(!error.to_string().is_empty(), "{text}");
        }
    }
}
