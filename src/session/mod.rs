//! What a verb does, a file each; the only folder that knows all stages.

pub mod cluster;
pub mod compare;
mod decision;
pub mod doctor;
mod drive;
pub mod ecs;
mod fingerprint;
mod grid;
pub(crate) mod guardian;
mod knobs;
pub(crate) mod lab;
pub(crate) mod load;
pub mod local;
pub mod observe;
pub mod order;
pub mod predict;
pub(crate) mod push;
pub mod remote;
pub mod report;
pub mod resume;
pub mod revisions;
pub mod sessions;
pub mod tune;
pub(crate) mod turn;
pub mod unusable;
pub mod verify;
pub(crate) mod watch;
