//! What objects of a cluster have in common, whatever their kind.
//!
//! In: objects as JSON. Out: what stands in them; nothing where it does not. Only computes.

use serde_json::Value;

/// A value that is a text; empty where it is none.
pub fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The elements of a value that is a list.
pub fn elements(list: &Value) -> &[Value] {
    list.as_array().map_or(&[][..], Vec::as_slice)
}

/// An object's name.
pub fn name(object: &Value) -> String {
    text(&object["metadata"]["name"]).to_string()
}

/// The condition of this kind in an object's status, where it has this state: `True` or `False`.
pub fn condition<'a>(object: &'a Value, kind: &str, state: &str) -> Option<&'a Value> {
    let all = elements(&object["status"]["conditions"]);
    all.iter().find(|one| one["type"] == kind && one["status"] == state)
}
