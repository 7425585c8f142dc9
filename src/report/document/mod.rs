//! What a report consists of, before it is text, Markdown or HTML: sections of headings, lists,
//! tables and lines to paste.
//!
//! In: a [`Story`](super::story::Story), or the answer of another verb. Out: a [`Document`] in a
//! language, of plain text that nothing has escaped yet. Knows no markup: how a block looks is each
//! format's, in [`render`](super::render).

pub mod advise;
pub mod compare;
pub mod doctor;
mod front;
pub(super) mod goals;
mod held;
pub(super) mod knobs;
pub mod lab;
pub(super) mod map;
mod model;
pub(super) mod names;
pub mod predict;
pub(super) mod sentences;
mod session;
pub(super) mod soak;
pub(super) mod tables;
mod used;
pub mod verification;

pub use model::{
    Block, Column, Document, Face, Grid, GridCell, Kind, Medium, Section, Table, Tone, TrialLine,
};
pub use session::{decision, plan_alone, session};
