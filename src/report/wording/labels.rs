//! Headings, heads of columns and single words, named by what they stand for.
//!
//! A field that a language does not fill is a mistake that the compiler finds.

mod english;
mod japanese;
mod page;

use schemars::JsonSchema;
use serde::Serialize;

pub use english::{LABELS as ENGLISH, PAGE as ENGLISH_PAGE};
pub use japanese::{LABELS as JAPANESE, PAGE as JAPANESE_PAGE};
pub use page::PageWords;

/// One language's; see [`super::Language::labels`].
#[derive(Debug, Serialize, JsonSchema)]
pub struct Labels {
    // What stands before a fact.
    pub stopped: &'static str,
    pub failed: &'static str,
    pub today: &'static str,
    pub found: &'static str,
    pub gain: &'static str,
    pub with_knobs: &'static str,
    pub limit: &'static str,
    pub what_helps: &'static str,
    pub held_at_end: &'static str,
    pub day_to_day: &'static str,
    pub soak: &'static str,
    pub memory: &'static str,
    pub of_that: &'static str,
    pub inside: &'static str,
    pub database: &'static str,
    pub best_so_far: &'static str,
    pub nearest: &'static str,
    /// The sentence that follows `stopped`.
    pub before_its_end: &'static str,
    /// A goal that nobody named.
    pub the_goal: &'static str,

    // Headings.
    pub plan: &'static str,
    pub what_to_do: &'static str,
    pub settings: &'static str,
    pub equivalent: &'static str,
    pub least_memory_first: &'static str,
    pub latency: &'static str,
    pub latency_from: &'static str,
    pub failures: &'static str,
    pub warnings: &'static str,
    pub notes: &'static str,
    pub how: &'static str,
    pub trials: &'static str,
    pub differs: &'static str,

    // Settings to paste.
    pub start_it_with: &'static str,
    pub environment: &'static str,
    pub with_these: &'static str,
    pub the_server: &'static str,

    // The map.
    pub workers: &'static str,
    pub workers_x_threads: &'static str,
    pub requests_per_s: &'static str,
    pub marks: &'static str,
    pub equivalent_mark: &'static str,
    pub predicted: &'static str,
    pub at_least: &'static str,
    pub below: &'static str,
    pub ruled_out: &'static str,
    pub did_not_start: &'static str,

    // Heads of columns.
    pub setting: &'static str,
    pub capacity: &'static str,
    pub capacity_beside: &'static str,
    pub an_hour: &'static str,
    pub a_million: &'static str,
    pub chosen: &'static str,
    pub unconfirmed: &'static str,
    pub change: &'static str,
    pub capacity_without: &'static str,
    pub verdict: &'static str,
    pub trial: &'static str,
    pub load: &'static str,
    pub purpose: &'static str,
    pub outcome: &'static str,
    pub answered: &'static str,
    pub value: &'static str,
    pub from: &'static str,
    pub then: &'static str,
    pub now: &'static str,
    pub interval: &'static str,
    pub recommended: &'static str,
    pub current_then: &'static str,
    pub is_better: &'static str,

    // What was measured, as a list.
    pub app: &'static str,
    pub server: &'static str,
    pub goal: &'static str,
    pub machine: &'static str,
    pub throughput: &'static str,

    // A second of a load, as columns.
    pub second: &'static str,
    pub due: &'static str,
    pub errors: &'static str,
    pub in_flight: &'static str,
    pub longest: &'static str,

    // A part of a long run, and a worker in it.
    pub at: &'static str,
    pub worker_process: &'static str,
    pub at_first: &'static str,
    pub at_the_end: &'static str,
    pub growth_an_hour: &'static str,

    // Lines of progress.
    pub no_reply: &'static str,
    pub warning: &'static str,
    pub warming_up: &'static str,
    pub per_second_now: &'static str,
    pub last_replies: &'static str,
    pub other_targets: &'static str,
    pub all_targets: &'static str,
}
