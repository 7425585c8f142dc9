//! Quantities with their unit in the type, so that the compiler catches a rate given for a ratio.
//!
//! Constructors name the unit and reject NaN, infinite and negative values; nothing here scales for
//! display beyond `Display` (that is `report`'s work).

use std::fmt;
use std::num::NonZeroU16;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A value that cannot be the quantity asked for.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum UnitError {
    /// The text is no number with a unit we know.
    #[error("'{text}' is not {expected}")]
    Unreadable { text: String, expected: &'static str },
    /// NaN, infinite, negative, or outside what the quantity allows.
    #[error("{value} is not {expected}")]
    OutOfRange { value: String, expected: &'static str },
}

fn checked(value: f64, is_allowed: bool, expected: &'static str) -> Result<f64, UnitError> {
    if is_allowed {
        Ok(value)
    } else {
        Err(UnitError::OutOfRange { value: value.to_string(), expected })
    }
}

fn finite(value: f64, expected: &'static str) -> Result<f64, UnitError> {
    checked(value, value.is_finite() && value >= 0.0, expected)
}

/// Requests per second: finite, zero or more.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Rate(f64);

impl Rate {
    /// # Errors
    /// NaN, infinite or negative.
    pub fn per_second(value: f64) -> Result<Self, UnitError> {
        finite(value, "a rate in requests per second").map(Self)
    }

    /// Requests per second.
    pub fn as_per_second(self) -> f64 {
        self.0
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            r if r >= 100.0 => write!(f, "{r:.0}/s"),
            r if r >= 10.0 => write!(f, "{r:.1}/s"),
            r => write!(f, "{r:.2}/s"),
        }
    }
}

impl FromStr for Rate {
    type Err = UnitError;

    /// Reads `200/s`, `90/m`, `3.5/s` or a bare number (requests per second).
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let expected = "a rate such as 200/s or 90/m";
        let unreadable = || UnitError::Unreadable { text: text.to_string(), expected };
        let (number, per) = match text.trim().split_once('/') {
            None => (text.trim(), 1.0),
            Some((n, "s" | "sec" | "second")) => (n.trim(), 1.0),
            Some((n, "m" | "min" | "minute")) => (n.trim(), 60.0),
            Some((n, "h" | "hour")) => (n.trim(), 3600.0),
            Some(_) => return Err(unreadable()),
        };
        let value: f64 = number.parse().map_err(|_| unreadable())?;
        finite(value / per, expected).map(Self)
    }
}

/// A share between 0 and 1, both included.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Ratio(f64);

impl Ratio {
    /// # Errors
    /// NaN or outside 0..=1.
    pub fn new(value: f64) -> Result<Self, UnitError> {
        checked(value, (0.0..=1.0).contains(&value), "a ratio between 0 and 1").map(Self)
    }

    /// The share, 0..=1.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl FromStr for Ratio {
    type Err = UnitError;

    /// `30%` or `0.3`.
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let expected = "a share, such as 30% or 0.3";
        let unreadable = || UnitError::Unreadable { text: text.to_string(), expected };
        let read = |text: &str| text.trim().parse::<f64>().map_err(|_| unreadable());
        match text.trim().strip_suffix('%') {
            Some(percent) => Self::new(read(percent)? / 100.0),
            None => Self::new(read(text)?),
        }
    }
}

/// An amount of memory.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Bytes(pub u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let b = self.0 as f64;
        match b {
            b if b >= 1024f64.powi(3) => write!(f, "{:.1} GiB", b / 1024f64.powi(3)),
            b if b >= 1024f64.powi(2) => write!(f, "{:.0} MiB", b / 1024f64.powi(2)),
            b if b >= 1024.0 => write!(f, "{:.0} KiB", b / 1024.0),
            b => write!(f, "{b:.0} B"),
        }
    }
}

impl FromStr for Bytes {
    type Err = UnitError;

    /// Reads `512MiB`, `4GiB`, `4GB` (decimal), `4g` and `512m` (binary, as Docker does), or bytes.
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let expected = "an amount of memory such as 512MiB or 4GiB";
        let unreadable = || UnitError::Unreadable { text: text.to_string(), expected };
        let text_lower = text.trim().to_ascii_lowercase();
        let split = text_lower.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text_lower.len());
        let (number, unit) = text_lower.split_at(split);
        let value: f64 = number.trim().parse().map_err(|_| unreadable())?;
        let factor: f64 = match unit {
            "" | "b" => 1.0,
            "k" | "kib" => 1024.0,
            "m" | "mib" => 1024f64.powi(2),
            "g" | "gib" => 1024f64.powi(3),
            "kb" => 1e3,
            "mb" => 1e6,
            "gb" => 1e9,
            _ => return Err(unreadable()),
        };
        finite(value * factor, expected).map(|bytes| Self(bytes.round() as u64))
    }
}

/// Processor cores, possibly a fraction (a quota of 1.5): finite, more than zero.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Cores(f64);

impl Cores {
    /// # Errors
    /// NaN, infinite, negative or zero.
    pub fn new(value: f64) -> Result<Self, UnitError> {
        checked(value, value.is_finite() && value > 0.0, "a number of cores above zero").map(Self)
    }

    /// How many cores.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl fmt::Display for Cores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl FromStr for Cores {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let expected = "a number of cores such as 2 or 1.5";
        let unreadable = UnitError::Unreadable { text: text.to_string(), expected };
        Self::new(text.trim().parse().map_err(|_| unreadable)?)
    }
}

macro_rules! count {
    ($name:ident, $doc:literal, $expected:literal) => {
        #[doc = $doc]
        #[derive(
            Debug,
            Clone,
            Copy,
            PartialEq,
            Eq,
            PartialOrd,
            Ord,
            Hash,
            Serialize,
            Deserialize,
            JsonSchema,
        )]
        #[serde(transparent)]
        pub struct $name(NonZeroU16);

        impl $name {
            /// # Errors
            /// Zero.
            pub fn new(value: u16) -> Result<Self, UnitError> {
                NonZeroU16::new(value).map(Self).ok_or_else(|| UnitError::OutOfRange {
                    value: value.to_string(),
                    expected: $expected,
                })
            }

            /// The count, 1 or more.
            pub fn get(self) -> u16 {
                self.0.get()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

count!(Workers, "Processes of the app server that serve requests.", "a number of workers from 1");
count!(Threads, "Threads in each worker that serve requests.", "a number of threads from 1");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read_with_their_unit() {
        for (text, expected) in [("200/s", 200.0), ("90/m", 1.5), ("3.5", 3.5), ("7200/hour", 2.0)]
        {
            assert_eq!(text.parse::<Rate>().unwrap().as_per_second(), expected, "{text}");
        }
        for text in ["", "fast", "1/week", "-3/s", "NaN", "inf/s"] {
            assert!(text.parse::<Rate>().is_err(), "{text} must be refused");
        }
    }

    #[test]
    fn memory_is_read_with_binary_and_decimal_units() {
        for (text, expected) in [("512MiB", 512 << 20), ("4g", 4 << 30), ("1kb", 1000), ("17", 17)]
        {
            assert_eq!(text.parse::<Bytes>().unwrap().0, expected, "{text}");
        }
        for text in ["lots", "4 parsecs", "-1GiB"] {
            assert!(text.parse::<Bytes>().is_err(), "{text} must be refused");
        }
    }

    #[test]
    fn counts_start_at_one_and_ratios_end_there() {
        assert!(Workers::new(0).is_err());
        assert_eq!(Threads::new(3).unwrap().get(), 3);
        assert!(Ratio::new(1.01).is_err());
        assert!(Cores::new(0.0).is_err());
    }
}
