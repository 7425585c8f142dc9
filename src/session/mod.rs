//! What a verb does, a file each; the only folder that knows all stages.

pub mod doctor;
pub mod load;
pub mod report;
pub mod sessions;
pub mod tune;
pub mod watch;
