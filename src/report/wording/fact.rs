//! The families of facts, each with what says it.
//!
//! In: a fact. Out: its sentence in a language. A new family is a row of `families!`, a function of
//! that name in each language and a type of `terms`; one that has several kinds names none there,
//! and has a function for each kind in `kinds!`. Computes only.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Fact, Language, english, japanese};
use crate::terms;

macro_rules! families {
    ($($family:ident $(: $module:ident::$sentence:ident)?),* $(,)?) => {
        $($(impl Fact for terms::$family {
            fn in_words(&self, language: Language) -> String {
                match language {
                    Language::English => english::$module::$sentence(self),
                    Language::Japanese => japanese::$module::$sentence(self),
                }
            }
        })?)*

        /// A fact of any family: their names differ, so that it is known by its `fact`.
        #[derive(Deserialize, JsonSchema)]
        #[serde(untagged)]
        pub enum AnyFact {
            $($family(terms::$family),)*
        }

        impl Fact for AnyFact {
            fn in_words(&self, language: Language) -> String {
                match self {
                    $(Self::$family(fact) => fact.in_words(language),)*
                }
            }
        }
    };
}

/// Families of several kinds, with the function that says each kind.
macro_rules! kinds {
    ($($family:ident in $module:ident: $($kind:ident $sentence:ident),*;)*) => {
        $(impl Fact for terms::$family {
            fn in_words(&self, language: Language) -> String {
                match (self, language) {
                    $(
                        (Self::$kind(fact), Language::English) => english::$module::$sentence(fact),
                        (Self::$kind(fact), Language::Japanese) =>
                            japanese::$module::$sentence(fact),
                    )*
                }
            }
        })*
    };
}

families! {
    AdviseNote: advise::note,
    AdviseRefusal: advise::refusal,
    Advice,
    BootAdvice,
    BootCause: failure::cause,
    ChangeReason: reason::of_change,
    CompareNote: comparison::note,
    CompareRefusal: comparison::refusal,
    Difference: comparison::difference,
    FigureLeftOut: comparison::left_out,
    MachineDifference: comparison::machines,
    Evidence,
    LimitAdvice: limit::advice,
    LabComparison: lab::comparison,
    LabFailure: lab::failure,
    BlindSpot: blind_spot::sentence,
    Doubt: doubt::message,
    LimitRefusal: limit_refusal::sentence,
    Note,
    Obstacle: obstacle::sentence,
    ProcessNames: limit::processes,
    Reason: reason::sentence,
    RecheckReason: reason::of_recheck,
    Remark,
    ServerEnd: failure::server_end,
    SessionError: session_error::sentence,
    SettingsPlace: advice::place,
    Task: session_error::task,
}

kinds! {
    Advice in advice: Setting setting, Database database, Running running, Host host;
    BootAdvice in failure: Start to_start, Reply to_reply;
    Evidence in limit: Resource resource, Waiting waiting;
    Note in note: Search of_search, Precision of_precision, Steadiness of_steadiness,
        Objective of_objective, Plan of_plan, Knobs of_knobs, Recheck of_recheck;
    Remark in remark: Settings of_settings, Ruby of_ruby, Python of_python, Php of_php,
        Node of_node, Command of_command;
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    /// Every `"const"` of a property `fact`.
    fn names(schema: &Value, found: &mut Vec<String>) {
        let name = schema.pointer("/properties/fact/const").and_then(Value::as_str);
        found.extend(name.map(String::from));
        match schema {
            Value::Object(fields) => fields.values().for_each(|it| names(it, found)),
            Value::Array(values) => values.iter().for_each(|it| names(it, found)),
            _ => {}
        }
    }

    #[test]
    fn no_two_facts_have_one_name() {
        let mut all = Vec::new();
        names(schemars::schema_for!(AnyFact).as_value(), &mut all);
        let count = all.len();
        assert!(count > 10);
        all.sort();
        let twice: Vec<_> = all.windows(2).filter(|two| two[0] == two[1]).collect();
        assert!(twice.is_empty(), "{twice:?}");
    }
}
