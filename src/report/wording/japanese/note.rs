//! What is to be said of an answer, in Japanese.

use super::obstacle;
use crate::terms::Note;

pub(super) fn sentence(note: &Note) -> String {
    match note {
        Note::KnobsNotCompared { why } => {
            format!("追加設定の比較を最後までできませんでした: {}", obstacle::sentence(why))
        }
    }
}
