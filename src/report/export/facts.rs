//! JSON for scripts: each fact as its English sentence, and the fact itself in a field beside it.
//!
//! In: values with facts in them, as they are stored. Out: the same with `reason: "..."` and
//! `reason_fact: {...}` where there was a fact at `reason`; with a doubt's code, message, advice
//! and `fact` where there was a doubt; and back again. Or, for the page, with the sentence in each
//! language in the fact's place. Computes only.

use serde::de::DeserializeOwned;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use crate::report::wording::{AnyFact, Language, Said};
use crate::terms::Doubt;

/// What the name of a field has after it for the fact that is said there.
const BESIDE: &str = "_fact";

/// The field of a doubt for the fact that its words say.
const IN_DOUBT: &str = "fact";

/// A report as scripts get it.
///
/// # Panics
/// A type of ours has keys that are no strings: a bug.
pub fn with_sentences<T: Serialize + ?Sized>(report: &T) -> Value {
    said(serde_json::to_value(report).expect("our types have string keys"))
}

/// A report that was printed, as a value of ours.
///
/// # Errors
/// It is none.
pub fn without_sentences<T: DeserializeOwned>(printed: Value) -> serde_json::Result<T> {
    serde_json::from_value(unsaid(printed))
}

/// For `#[serde(serialize_with = "in_each_language")]`: in the place of each fact
/// `{"en": "...", "ja": "..."}`, of which the page takes the one that is read.
///
/// # Errors
/// Those of the serializer.
pub fn in_each_language<T: Serialize, S: Serializer>(
    value: &T,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let value = serde_json::to_value(value).expect("our types have string keys");
    translated(value).serialize(serializer)
}

fn translated(value: Value) -> Value {
    if let Some(doubt) = doubt(&value) {
        let (code, doubt) = (doubt.code(), doubt.into());
        let message = in_each(|language| language.say_doubt(&doubt).message);
        let advice = in_each(|language| language.say_doubt(&doubt).advice);
        return json!({ "code": code, "message": message, "advice": advice });
    }
    if is_fact(&value)
        && let Ok(fact) = serde_json::from_value::<AnyFact>(value.clone())
    {
        return in_each(|language| language.say_fact(&fact));
    }
    match value {
        Value::Object(fields) => {
            Value::Object(fields.into_iter().map(|(name, it)| (name, translated(it))).collect())
        }
        Value::Array(values) => Value::Array(values.into_iter().map(translated).collect()),
        other => other,
    }
}

fn in_each(say: impl Fn(Language) -> String) -> Value {
    let said = Language::ALL.iter().map(|&(name, it)| (name.to_string(), say(it).into()));
    Value::Object(said.collect())
}

fn said(value: Value) -> Value {
    if let Some(doubt) = doubt(&value) {
        let Said { message, advice } = Language::DATA.say_doubt(&doubt.clone().into());
        let code = doubt.code();
        return json!({ "code": code, "message": message, "advice": advice, IN_DOUBT: value });
    }
    match value {
        Value::Object(fields) => Value::Object(fields.into_iter().flat_map(said_field).collect()),
        Value::Array(values) => Value::Array(values.into_iter().map(said).collect()),
        other => other,
    }
}

/// One field, or two where it is a fact or a list with facts in it.
fn said_field((name, value): (String, Value)) -> Vec<(String, Value)> {
    let is_said = |value: &Value| is_fact(value) && doubt(value).is_none();
    let has_fact = match &value {
        Value::Array(values) => values.iter().any(is_said),
        one => is_said(one),
    };
    if !has_fact {
        return vec![(name, said(value))];
    }
    let beside = format!("{name}{BESIDE}");
    let (sentences, facts) = match value {
        Value::Array(values) => {
            let sentences = values.iter().cloned().map(sentence).collect();
            let facts = values.into_iter().map(|it| if is_fact(&it) { it } else { Value::Null });
            (Value::Array(sentences), Value::Array(facts.collect()))
        }
        one => (sentence(one.clone()), one),
    };
    vec![(name, sentences), (beside, facts)]
}

fn is_fact(value: &Value) -> bool {
    value.get("fact").is_some_and(Value::is_string)
}

fn doubt(value: &Value) -> Option<Doubt> {
    is_fact(value).then(|| serde_json::from_value(value.clone()).ok())?
}

/// A fact in words; anything else as it is.
fn sentence(value: Value) -> Value {
    if !is_fact(&value) {
        return value;
    }
    match serde_json::from_value::<AnyFact>(value.clone()) {
        Ok(fact) => Language::DATA.say_fact(&fact).into(),
        Err(_) => value,
    }
}

/// A field `reason_fact` takes the place of `reason`, and `fact` that of the doubt which it is in.
fn unsaid(value: Value) -> Value {
    match value {
        Value::Object(mut fields) if fields.get(IN_DOUBT).is_some_and(is_fact) => {
            fields.remove(IN_DOUBT).unwrap_or_default()
        }
        Value::Object(mut fields) => {
            let beside: Vec<String> =
                fields.keys().filter(|name| name.ends_with(BESIDE)).cloned().collect();
            for name in beside {
                let fact = fields.remove(&name).unwrap_or_default();
                let name = name.trim_end_matches(BESIDE);
                let sentence = fields.get(name).cloned().unwrap_or_default();
                fields.insert(name.to_string(), merged(fact, sentence));
            }
            Value::Object(
                fields.into_iter().map(|(name, it)| (name, unsaid(it))).collect::<Map<_, _>>(),
            )
        }
        Value::Array(values) => Value::Array(values.into_iter().map(unsaid).collect()),
        other => other,
    }
}

/// The fact where there is one, else the sentence; of lists, entry by entry.
fn merged(fact: Value, sentence: Value) -> Value {
    match (fact, sentence) {
        (Value::Array(facts), Value::Array(sentences)) => {
            facts.into_iter().zip(sentences).map(|(fact, text)| merged(fact, text)).collect()
        }
        (Value::Null, sentence) => sentence,
        (fact, _) => fact,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::{GeneratorDoubt, KnobsNote, Note, Obstacle, Reason, Stated, Warning};

    #[test]
    fn a_fact_stands_beside_its_sentence_and_both_are_read_as_the_fact() {
        let gone: Stated<Obstacle> = Obstacle::DiedTwice.into();
        let old: Stated<Obstacle> = Stated::Verbatim("said long ago".to_string());
        let value = json!({ "why": gone, "notes": [gone, old], "rest": { "text": "as it is" } });
        let printed = with_sentences(&value);
        let died = "the server died under load, twice";
        assert_eq!(
            printed,
            json!({
                "why": died,
                "why_fact": { "fact": "died_twice" },
                "notes": [died, "said long ago"],
                "notes_fact": [{ "fact": "died_twice" }, null],
                "rest": { "text": "as it is" },
            })
        );
        assert_eq!(without_sentences::<Value>(printed).unwrap(), value);
    }

    #[test]
    fn the_page_has_a_fact_in_each_language_and_text_of_others_as_it_is() {
        #[derive(Serialize)]
        struct Row {
            #[serde(serialize_with = "in_each_language")]
            notes: Vec<Stated<Obstacle>>,
        }
        let notes = vec![Obstacle::SessionEnded.into(), Stated::Verbatim("theirs".into())];
        let page = serde_json::to_value(Row { notes }).unwrap();
        let said = json!({
            "en": "the session ended before it was tried",
            "ja": "試す前にセッションが終わりました",
        });
        assert_eq!(page, json!({ "notes": [said, "theirs"] }));
    }

    #[test]
    fn a_fact_that_is_not_known_stays_a_value() {
        let newer = json!({ "why": { "fact": "of_next_year", "n": 1 } });
        assert_eq!(with_sentences(&newer)["why"], newer["why"]);
    }

    #[test]
    fn a_doubt_is_its_code_and_words_with_the_fact_and_is_read_as_the_fact() {
        let busy: Warning = GeneratorDoubt::LoopBusy { busy_ratio: 0.95 }.into();
        let old = Warning::verbatim("noise", "said long ago", "");
        let value = json!({ "warnings": [busy, old], "first": busy });
        let printed = with_sentences(&value);
        let words = json!({
            "code": "generator_cpu",
            "message": "the generator's busiest loop used 95 % of a core",
            "advice": "use more loops (--loops), or run it on another machine",
            "fact": { "fact": "loop_busy", "busy_ratio": 0.95 },
        });
        assert_eq!((&printed["warnings"][0], &printed["first"]), (&words, &words));
        assert_eq!(printed["warnings"][1], json!(old));
        assert_eq!(printed.as_object().unwrap().len(), 2, "{printed}");
        assert_eq!(without_sentences::<Value>(printed.clone()).unwrap(), value);
        let read: Vec<Warning> = without_sentences(printed["warnings"].clone()).unwrap();
        assert_eq!(read, [busy, old]);
    }

    #[test]
    fn facts_within_facts_are_said_once() {
        let why = Obstacle::NotMeasurable { why: Reason::ServerDied.into() };
        let note = json!({ "note": Note::Knobs(KnobsNote::KnobsNotCompared { why }) });
        let printed = with_sentences(&note);
        let end = "could not be measured: the server died under this load";
        assert!(printed["note"].as_str().is_some_and(|it| it.ends_with(end)), "{printed}");
        assert_eq!(printed["note_fact"], note["note"]);
    }
}
