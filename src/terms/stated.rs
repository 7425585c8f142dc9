//! What a report says as a sentence, as a value: a typed fact, or text that no type has.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// A fact with its numbers; or text that was a sentence already: stored by a version before there
/// were facts, or somebody else's (an operating system's, an app's). Only `report` makes sentences
/// of facts. In stored JSON a fact is an object with a `fact` field, text a string.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Stated<F> {
    Fact(F),
    Verbatim(String),
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
