//! What a report says as a sentence, as a value: a typed fact, or text that no type has.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A fact with its numbers; or text that was a sentence already: stored by a version before there
/// were facts, or somebody else's (an operating system's, an app's). Only `report` makes sentences
/// of facts. In stored JSON a fact is an object with a `fact` field, text a string. A fact that
/// this version does not know, as another one stored it, is read as text: its name and its figures.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, from = "Stored<F>", bound(deserialize = "F: Deserialize<'de>"))]
pub enum Stated<F> {
    Fact(F),
    Verbatim(String),
}

/// What may be in a store.
#[derive(Deserialize)]
#[serde(untagged)]
enum Stored<F> {
    Fact(F),
    Verbatim(String),
    Unknown(Map<String, Value>),
}

impl<F> From<Stored<F>> for Stated<F> {
    fn from(stored: Stored<F>) -> Self {
        match stored {
            Stored::Fact(fact) => Self::Fact(fact),
            Stored::Verbatim(text) => Self::Verbatim(text),
            Stored::Unknown(fact) => Self::Verbatim(spelt(&fact)),
        }
    }
}

/// `no fall seen (ruled out ratio 0.93)`.
fn spelt(fact: &Map<String, Value>) -> String {
    let plain = |name: &str| name.replace('_', " ");
    let name = fact.get("fact").and_then(Value::as_str).map(plain).unwrap_or_default();
    let others = fact.iter().filter(|(key, value)| *key != "fact" && !value.is_object());
    let figures: Vec<String> =
        others.map(|(key, value)| format!("{} {value}", plain(key))).collect();
    if figures.is_empty() { name } else { format!("{name} ({})", figures.join(", ")) }
}

impl<F> From<F> for Stated<F> {
    fn from(fact: F) -> Self {
        Self::Fact(fact)
    }
}

impl<F> Stated<F> {
    /// The fact; `None` for text.
    pub fn fact(&self) -> Option<&F> {
        match self {
            Self::Fact(fact) => Some(fact),
            Self::Verbatim(_) => None,
        }
    }
}

/// Scripts get the English sentence; the fact, of the family that `x-fact` names, stands beside it
/// (`report/export/facts.rs`).
impl<F: JsonSchema> JsonSchema for Stated<F> {
    fn schema_name() -> Cow<'static, str> {
        format!("Stated{}", F::schema_name()).into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "x-fact": F::schema_name() })
    }
}

/// For `#[serde(with = "stated::or_empty")]`: nothing said is the empty string.
pub mod or_empty {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::Stated;

    /// # Errors
    /// Those of the serializer.
    pub fn serialize<F: Serialize, S: Serializer>(
        stated: &Option<Stated<F>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match stated {
            Some(stated) => stated.serialize(serializer),
            None => serializer.serialize_str(""),
        }
    }

    /// # Errors
    /// Those of the deserializer.
    pub fn deserialize<'de, F: Deserialize<'de>, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Stated<F>>, D::Error> {
        let stated = Stated::deserialize(deserializer)?;
        let is_empty = matches!(&stated, Stated::Verbatim(text) if text.is_empty());
        Ok((!is_empty).then_some(stated))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::RecheckReason;

    fn read(json: &str) -> Stated<RecheckReason> {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn a_fact_of_another_version_is_text_and_not_an_error() {
        for (json, expected) in [
            (r#"{"fact":"holds_less"}"#, "holds less"),
            (
                r#"{"fact":"no_fall_seen","ruled_out_ratio":0.93}"#,
                "no fall seen (ruled out ratio 0.93)",
            ),
            (r#""it was a sentence""#, "it was a sentence"),
        ] {
            assert_eq!(read(json), Stated::Verbatim(expected.to_string()));
        }
        let known = r#"{"fact":"too_little_measured"}"#;
        assert_eq!(read(known), Stated::Fact(RecheckReason::TooLittleMeasured));
        assert_eq!(serde_json::to_string(&read(known)).unwrap(), known);
        assert!(serde_json::from_str::<Stated<RecheckReason>>("7").is_err());
    }
}
