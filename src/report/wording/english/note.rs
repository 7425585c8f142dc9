//! What is to be said of an answer, in English.

use super::obstacle;
use crate::terms::Note;

pub(super) fn sentence(note: &Note) -> String {
    match note {
        Note::KnobsNotCompared { why } => {
            format!("the knobs could not be compared to their end: {}", obstacle::sentence(why))
        }
    }
}
