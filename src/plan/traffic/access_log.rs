//! The mix of a load from what a server was asked before: the targets of an access log, as often
//! as they were asked for; and when, to ask again in the same rhythm.
//!
//! In: a log as nginx and Apache write it (combined or common format, or JSON lines), read as a
//! stream. Out: targets, arrivals, and what had to be left out. Memory is bounded by the number of
//! different targets, and 16 bytes a line when arrivals are wanted.

mod line;
mod replay;
mod served;
mod time;

use std::cmp::Reverse;
use std::collections::HashMap;
use std::collections::hash_map::Entry as Place;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use super::InputError;
use crate::load::shape::Times;
use crate::terms::{LoadDoubt, Target, Warning};
use line::{Entry, Line};
pub use replay::Speed;
use replay::{Arrival, replay};
pub use served::{Served, ServedLog, read as read_served};
pub use time::parse as parse_time;

/// What to take from which log.
#[derive(Debug, Clone, PartialEq)]
pub struct LogSpec {
    /// `-` is standard input.
    pub file: PathBuf,
    /// Also requests that may change something.
    pub allows_unsafe_methods: bool,
    /// Ask in the log's own rhythm.
    pub replay: Option<Speed>,
}

/// A mix of more says nothing more, and would only be slow to prepare.
const MOST_TARGETS: usize = 10_000;

/// Longest line that is looked at; servers refuse requests long before.
const LONGEST_LINE: u64 = 64 * 1024;

/// Methods that change nothing (RFC 9110, section 9.2.1), of those that we send.
const SAFE_METHODS: [&str; 3] = ["GET", "HEAD", "OPTIONS"];

/// What was read from a log.
#[derive(Debug, Default)]
pub struct Traffic {
    /// With the number of their requests as weights; the most frequent first.
    pub targets: Vec<Target>,
    /// In the order of the log, with indexes of `targets`; empty unless they were wanted.
    arrivals: Vec<Arrival>,
    left_out: LeftOut,
    /// Of the requests taken.
    requests: u64,
}

/// Lines that gave no request.
#[derive(Debug, Default, PartialEq, Eq)]
struct LeftOut {
    not_understood: u64,
    /// The first of them, from 1.
    first_not_understood: Option<u64>,
    without_request: u64,
    of_unsafe_methods: u64,
    of_unknown_methods: u64,
    /// Requests of targets beyond the most frequent, and how many targets.
    of_rare_targets: u64,
    rare_targets: u64,
}

/// Reads a whole log.
///
/// # Errors
/// It cannot be read, is mostly not understood, or names no request that may be sent.
pub fn read(spec: &LogSpec) -> Result<Traffic, InputError> {
    let gathered = opened(&spec.file, |log| Gathered::read(log, spec))?;
    gathered.into_traffic(spec).map_err(InputError)
}

/// What a reader makes of a log; of standard input where it is named `-`.
fn opened<T>(
    file: &Path,
    reader: impl FnOnce(&mut dyn BufRead) -> io::Result<T>,
) -> Result<T, InputError> {
    let name = file.display().to_string();
    let read = match name.as_str() {
        "-" => reader(&mut io::stdin().lock()),
        _ => open(file).and_then(|mut log| reader(&mut log)),
    };
    read.map_err(|error| InputError(format!("could not read the access log {name}: {error}")))
}

/// Reads a log that is there already.
#[cfg(any(test, fuzzing))]
pub fn read_fuzzed(log: impl BufRead, spec: &LogSpec) -> Result<Traffic, String> {
    Gathered::read(log, spec).map_err(|error| error.to_string())?.into_traffic(spec)
}

fn open(file: &Path) -> io::Result<BufReader<File>> {
    Ok(BufReader::with_capacity(256 * 1024, File::open(file)?))
}

/// Hands on every line that is not blank, with its number, from 1; `None` is one that is too long.
/// True when the log is compressed.
fn each_line(log: &mut dyn BufRead, mut take: impl FnMut(u64, Option<&[u8]>)) -> io::Result<bool> {
    let mut is_compressed = false;
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let count = (&mut *log).take(LONGEST_LINE).read_until(b'\n', &mut line)?;
        if count == 0 {
            break;
        }
        // What a gzip file begins with.
        is_compressed |= number == 1 && line.starts_with(&[0x1f, 0x8b]);
        let is_cut = count as u64 == LONGEST_LINE && !line.ends_with(b"\n");
        if is_cut {
            log.skip_until(b'\n')?;
        }
        match line.trim_ascii() {
            [] => {}
            _ if is_cut => take(number, None),
            line => take(number, Some(line)),
        }
    }
    Ok(is_compressed)
}

/// What was read so far.
#[derive(Debug, Default)]
struct Gathered {
    /// Methods and paths, with their places in `counts`.
    places: HashMap<(String, String), u32>,
    counts: Vec<u64>,
    arrivals: Vec<Arrival>,
    left_out: LeftOut,
    /// That are not blank.
    lines: u64,
    is_compressed: bool,
}

impl Gathered {
    fn read(mut log: impl BufRead, spec: &LogSpec) -> io::Result<Self> {
        let mut gathered = Self::default();
        gathered.is_compressed = each_line(&mut log, |number, line| {
            let parse = |line: &[u8]| line::parse(line, spec.replay.is_some());
            gathered.lines += 1;
            gathered.take(number, line.map_or(Line::NotUnderstood, parse), spec);
        })?;
        Ok(gathered)
    }

    fn take(&mut self, number: u64, said: Line, spec: &LogSpec) {
        let Entry { method, path, at } = match said {
            Line::Entry(entry) => entry,
            Line::NoRequest => {
                self.left_out.without_request += 1;
                return;
            }
            Line::NotUnderstood => {
                self.left_out.not_understood += 1;
                self.left_out.first_not_understood.get_or_insert(number);
                return;
            }
        };
        let is_safe = SAFE_METHODS.contains(&method.as_str());
        if !(is_safe || spec.allows_unsafe_methods) {
            self.left_out.of_unsafe_methods += 1;
            return;
        }
        let place = match self.places.entry((method, path)) {
            Place::Occupied(place) => *place.get(),
            // Such as `PROPFIND`, or `CONNECT` of a search for open proxies.
            Place::Vacant(place) if Target::new(&place.key().0, &place.key().1).is_err() => {
                self.left_out.of_unknown_methods += 1;
                return;
            }
            Place::Vacant(place) => {
                self.counts.push(0);
                *place.insert(self.counts.len() as u32 - 1)
            }
        };
        self.counts[place as usize] += 1;
        if let Some(at) = at {
            self.arrivals.push(Arrival { at, target: place });
        }
    }

    fn into_traffic(mut self, spec: &LogSpec) -> Result<Traffic, String> {
        self.check(spec)?;
        let mut order: Vec<u32> = (0..self.counts.len() as u32).collect();
        order.sort_by_key(|place| Reverse(self.counts[*place as usize]));
        let rare = order.split_off(order.len().min(MOST_TARGETS));
        let counts = &self.counts;
        let requests =
            |places: &[u32]| -> u64 { places.iter().map(|place| counts[*place as usize]).sum() };
        self.left_out.of_rare_targets = requests(&rare);
        self.left_out.rare_targets = rare.len() as u64;
        let taken = requests(&order);
        let mut ranks = vec![None; self.counts.len()];
        (0u32..).zip(&order).for_each(|(rank, place)| ranks[*place as usize] = Some(rank));
        let mut targets = vec![Target::get("/"); order.len()];
        for ((method, path), place) in self.places {
            if let Some(rank) = ranks[place as usize] {
                let weight = u32::try_from(self.counts[place as usize]).unwrap_or(u32::MAX);
                targets[rank as usize] = Target { method, weight, ..Target::get(path) };
            }
        }
        self.arrivals.retain_mut(|arrival| {
            let rank = ranks[arrival.target as usize];
            arrival.target = rank.unwrap_or(0);
            rank.is_some()
        });
        let (arrivals, left_out) = (self.arrivals, self.left_out);
        Ok(Traffic { targets, arrivals, left_out, requests: taken })
    }

    fn check(&self, spec: &LogSpec) -> Result<(), String> {
        let (lines, left_out) = (self.lines, &self.left_out);
        if self.is_compressed {
            return Err(
                "the access log is compressed; pass it through zcat to --access-log -".to_string()
            );
        }
        if 2 * left_out.not_understood > lines {
            let times = if spec.replay.is_some() { " and a time" } else { "" };
            return Err(format!(
                "{} of {lines} lines of the access log are not understood, the first is line {}; \
                 lines must be in the combined or common format, or JSON objects with a \
                 request{times}",
                left_out.not_understood,
                left_out.first_not_understood.unwrap_or(0)
            ));
        }
        if lines == 0 {
            return Err("the access log is empty".to_string());
        }
        if self.counts.is_empty() {
            return Err(format!(
                "the access log names no request that could be sent ({lines} lines; {})",
                left_out.reasons().join("; ")
            ));
        }
        Ok(())
    }
}

impl LeftOut {
    /// What was left out and why; empty when nothing was.
    fn reasons(&self) -> Vec<String> {
        let mut reasons = Vec::new();
        if let Some(first) = self.first_not_understood {
            let count = self.not_understood;
            reasons.push(format!("lines not understood: {count} (the first is line {first})"));
        }
        if self.without_request > 0 {
            reasons.push(format!("lines without a request: {}", self.without_request));
        }
        if self.of_unsafe_methods > 0 {
            let (count, methods) = (self.of_unsafe_methods, SAFE_METHODS.join(", "));
            reasons.push(format!(
                "requests of other methods than {methods}: {count} (--unsafe-methods sends them \
                 too, without bodies)"
            ));
        }
        if self.of_unknown_methods > 0 {
            reasons.push(format!("requests of unusual methods: {}", self.of_unknown_methods));
        }
        if self.rare_targets > 0 {
            let (requests, targets) = (self.of_rare_targets, self.rare_targets);
            reasons.push(format!("requests of the {targets} rarest targets: {requests}"));
        }
        reasons
    }
}

impl Traffic {
    /// When its requests are due in a replay; the arrivals are taken out.
    ///
    /// # Errors
    /// There are none.
    pub fn take_times(&mut self, speed: Speed) -> Result<Times, InputError> {
        let arrivals = std::mem::take(&mut self.arrivals);
        Times::new(replay(arrivals, speed)).map_err(|error| InputError(error.to_string()))
    }

    /// What is taken and what is not, for people; without paths, which may be secret.
    pub fn description(&self, replay: Option<Speed>) -> String {
        let mut taken = format!("requests of the access log: {}", self.requests);
        if let Some(speed) = replay {
            taken += &format!(", in their own rhythm at {speed}");
        }
        match self.left_out.reasons() {
            reasons if reasons.is_empty() => taken,
            reasons => format!("{taken}; left out: {}", reasons.join("; ")),
        }
    }

    /// What may make the mix another than the log's.
    pub fn warnings(&self) -> Vec<Warning> {
        let LeftOut { not_understood, rare_targets, of_rare_targets, .. } = self.left_out;
        let mut warnings = Vec::new();
        if rare_targets > 0 {
            let doubt = LoadDoubt::RareTargetsLeftOut {
                targets_kept: MOST_TARGETS as u32,
                requests: of_rare_targets,
                targets: rare_targets,
            };
            warnings.push(doubt.into());
        }
        if not_understood > 0 {
            let first = self.left_out.first_not_understood.unwrap_or(0);
            let doubt =
                LoadDoubt::LogLinesNotUnderstood { lines: not_understood, first_line: first };
            warnings.push(doubt.into());
        }
        warnings
    }
}

#[cfg(test)]
mod tests;
