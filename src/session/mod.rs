//! What a verb does, a file each; the only folder that knows all stages.
