//! Objects of ours in a cluster, which are there for a while.
//!
//! In: where they are. Out: they are removed, or go with another object.

use serde_json::{Value, json};

use super::api::{Api, ApiError};
use super::objects::belongs_to;

/// Removes these objects when it is dropped.
pub struct Made<'a> {
    pub api: &'a dyn Api,
    /// Of each, noted before it is made: an answer may be lost.
    pub paths: Vec<String>,
}

impl Made<'_> {
    /// From now on the cluster removes them with this object, should we not be there any more.
    ///
    /// # Errors
    /// They may not be changed, or the API server does not answer.
    pub fn belong_to(&self, owner: &Value) -> Result<(), ApiError> {
        let add = json!([belongs_to(owner)]);
        self.paths.iter().try_for_each(|path| self.api.patch(path, &add).map(drop))
    }
}

impl Drop for Made<'_> {
    fn drop(&mut self) {
        // What cannot be removed now the cluster removes: a Job with all that it owns some minutes
        // after its deadline, and other objects with their owner.
        self.paths.iter().for_each(|path| drop(self.api.delete(path)));
    }
}
