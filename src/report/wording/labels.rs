//! Headings, heads of columns and single words, named by what they stand for.
//!
//! A field that a language does not fill is a mistake that the compiler finds.

/// A struct with a text of each name.
macro_rules! words {
    ($(#[$about:meta])* $name:ident: $($word:ident)*) => {
        $(#[$about])*
        #[derive(Debug, Serialize, JsonSchema)]
        pub struct $name {
            $(pub $word: &'static str),*
        }
    };
}

mod english;
mod japanese;
mod page;

use schemars::JsonSchema;
use serde::Serialize;

pub use english::{LABELS as ENGLISH, PAGE as ENGLISH_PAGE};
pub use japanese::{LABELS as JAPANESE, PAGE as JAPANESE_PAGE};
pub use page::PageWords;

words! {
    /// One language's; see [`super::Language::labels`].
    Labels:

    // What stands before a fact.
    stopped failed today found gain with_knobs limit what_helps held_at_end day_to_day soak memory
    of_that inside database best_so_far nearest
    // The sentence that follows `stopped`; a goal that nobody named.
    before_its_end the_goal

    // Headings.
    plan what_to_do settings equivalent least_memory_first latency latency_from failures warnings
    notes how trials differs

    // Settings to paste.
    start_it_with environment with_these the_server

    // The map.
    workers workers_x_threads equivalent_mark predicted at_least below ruled_out did_not_start

    // Heads of columns.
    setting capacity capacity_beside an_hour a_million chosen unconfirmed change capacity_without
    verdict trial load purpose outcome answered value from then now interval recommended
    current_then is_better

    // What was measured, as a list.
    app server goal machine throughput

    // A second of a load, as columns.
    second due errors in_flight longest

    // A part of a long run, and a worker in it.
    at worker_process at_first at_the_end growth_an_hour

    // Lines of progress.
    no_reply warning warming_up per_second_now last_replies other_targets all_targets
}
