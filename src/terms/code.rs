//! What values are called where programs read them.

use serde::Serialize;

/// The name that JSON has for a value that is nothing but a name, or for the kind of a fact.
///
/// # Panics
/// The value is neither: a bug.
pub fn code(value: &impl Serialize) -> String {
    let value = serde_json::to_value(value).expect("our types have string keys");
    let name = value.get("fact").unwrap_or(&value);
    name.as_str().expect("only names and facts have a code").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::{CapacityDoubt, Doubt, TrialPurpose};

    #[test]
    fn names_are_as_in_json_and_a_facts_is_that_of_its_kind() {
        assert_eq!(code(&TrialPurpose::LostPod), "lost_pod");
        assert_eq!(code(&CapacityDoubt::SearchCutShort { after_s: 1.0 }), "search_cut_short");
        assert_eq!(code(&Doubt::from(CapacityDoubt::NoUpperBound)), "no_upper_bound");
    }
}
