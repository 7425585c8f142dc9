//! A doubt about a measurement, as it is stored.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::blind_spot::BlindSpot;
use super::doubt::{Doubt, GENERATOR_SHARES_CORES, GeneratorDoubt, LoadDoubt, MachineDoubt};

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
    pub fn code(&self) -> String {
        match self {
            Self::Doubt(doubt) => doubt.code(),
            Self::Verbatim { code, .. } => code.clone(),
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

    /// What the app used is what its platform recorded of all of it.
    pub fn says_only_whole_minutes(&self) -> bool {
        let Some(Doubt::Load(LoadDoubt::NotSeen { what })) = self.doubt() else { return false };
        what.fact() == Some(&BlindSpot::OnlyWholeMinutes)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whose_figure_it_is_is_raised_also_after_loads_of_which_nothing_was_seen() {
        let not_seen = |spot: BlindSpot| Warning::from(LoadDoubt::NotSeen { what: spot.into() });
        let nothing = not_seen(BlindSpot::NoShellGiven { has_platform: true });
        let minutes = not_seen(BlindSpot::OnlyWholeMinutes);
        let mut known = Vec::new();
        let raised = [&nothing, &nothing, &minutes, &minutes].map(|it| it.raise_in(&mut known));
        assert_eq!(raised, [true, false, true, false]);
        assert_eq!([nothing.code(), minutes.code()], ["not_seen", "only_whole_minutes"]);
        assert!(minutes.says_only_whole_minutes() && !nothing.says_only_whole_minutes());
    }
}
