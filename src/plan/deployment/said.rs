//! What one of the files says.

/// A name, or any other word, and what stands behind it.
pub type Pair = (String, String);

/// What one file says; empty where it says nothing of a thing.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Said {
    pub variables: Vec<Pair>,
    /// What stands before each command, of an image.
    pub entry: String,
    pub command: String,
}
