//! A doubt about a measurement, as it is stored.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::doubt::{Doubt, GENERATOR_SHARES_CORES, GeneratorDoubt, MachineDoubt};

/// A doubt; or the words that a version stored before there were facts. Only `report` makes words
/// of facts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Warning {
    Doubt(Doubt),
    /// `code` is stable and for scripts, `message` says what was seen with its figure, `advice`
    /// what to do (empty when nothing can be done).
    Verbatim {
        code: String,
        message: String,
        advice: String,
    },
}

impl Warning {
    /// Words instead of a fact.
    pub fn verbatim(
        code: impl Into<String>,
        message: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self::Verbatim { code: code.into(), message: message.into(), advice: advice.into() }
    }

    /// The fact; `None` for words.
    pub fn doubt(&self) -> Option<&Doubt> {
        match self {
            Self::Doubt(doubt) => Some(doubt),
            Self::Verbatim { .. } => None,
        }
    }

    /// Stable, for scripts.
    pub fn code(&self) -> &str {
        match self {
            Self::Doubt(doubt) => doubt.code(),
            Self::Verbatim { code, .. } => code,
        }
    }

    /// Both are of one kind, whatever their figures.
    pub fn is_like(&self, other: &Self) -> bool {
        self.code() == other.code()
    }

    /// Is added to those that are known, unless one of its kind is: a doubt is raised once,
    /// whatever its figures. True where it was added.
    pub fn raise_in(&self, known: &mut Vec<Self>) -> bool {
        let is_new = !known.iter().any(|one| one.is_like(self));
        if is_new {
            known.push(self.clone());
        }
        is_new
    }

    /// What is doubtful about the load generator.
    pub fn of_generator(&self) -> Option<GeneratorDoubt> {
        match self {
            Self::Doubt(Doubt::Generator(doubt)) => Some(*doubt),
            _ => None,
        }
    }

    /// The load generator has no core of its own, also in what an older version stored.
    pub fn says_generator_shares_cores(&self) -> bool {
        match self {
            Self::Doubt(Doubt::Machine(MachineDoubt::GeneratorSharesCores { .. })) => true,
            Self::Doubt(_) => false,
            Self::Verbatim { code, .. } => code == GENERATOR_SHARES_CORES,
        }
    }
}

impl<D: Into<Doubt>> From<D> for Warning {
    fn from(doubt: D) -> Self {
        Self::Doubt(doubt.into())
    }
}

/// Scripts get the words, and the fact with them (`report/export/facts.rs`).
impl JsonSchema for Warning {
    fn schema_name() -> Cow<'static, str> {
        "Warning".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A doubt: `code` is stable and for scripts, `message` says what was \
                            seen with its figure, `advice` what to do (empty when nothing can be \
                            done). `fact` is missing in what older versions stored.",
            "type": "object",
            "properties": {
                "code": { "type": "string" },
                "message": { "type": "string" },
                "advice": { "type": "string" },
                "fact": { "type": "object", "x-fact": "Doubt" },
            },
            "required": ["code", "message", "advice"],
        })
    }
}
