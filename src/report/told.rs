//! A session's story with its sentences in another language.
//!
//! In: a [`Story`] and a language. Out: the same story, in which every sentence that the events
//! brought is told in that language, and which sentence became which. Computes only. Names and
//! text of others (the app's output, the plan) stay as they are.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::language::Language;
use super::story::Story;
use crate::terms::{
    BootFailure, Decision, Limit, TrialFailure, TrialSummary, Verification, Warning,
};

/// What a story is in a language.
pub struct Told<'a> {
    pub story: Cow<'a, Story>,
    /// By the sentence that was stored; of those that were told otherwise.
    pub sentences: BTreeMap<String, String>,
}

/// The story as it is to be read in this language.
pub fn in_language(story: &Story, language: Language) -> Told<'_> {
    let mut sentences = BTreeMap::new();
    if language == Language::English {
        return Told { story: Cow::Borrowed(story), sentences };
    }
    let mut translated = story.clone();
    of_story(&mut translated, &mut |sentence| {
        if let Cow::Owned(text) = language.tell(sentence) {
            sentences.insert(std::mem::replace(sentence, text.clone()), text);
        }
    });
    Told { story: Cow::Owned(translated), sentences }
}

/// The same of sentences that are no session's.
pub fn each_of<'a>(
    sentences: impl IntoIterator<Item = &'a String>,
    language: Language,
) -> BTreeMap<String, String> {
    let told = |sentence: &String| match language.tell(sentence) {
        Cow::Owned(text) => Some((sentence.clone(), text)),
        Cow::Borrowed(_) => None,
    };
    sentences.into_iter().filter_map(told).collect()
}

type Visit<'v> = &'v mut dyn FnMut(&mut String);

fn of_story(story: &mut Story, visit: Visit<'_>) {
    story.boot_failures.iter_mut().for_each(|(_, failure)| of_failure(failure, visit));
    story.variant_failures.iter_mut().for_each(|(.., failure)| of_failure(failure, visit));
    story.trials.iter_mut().for_each(|trial| of_trial(trial, visit));
    story.decision.iter_mut().for_each(|decision| of_decision(decision, visit));
    story.warnings.iter_mut().for_each(|warning| of_warning(warning, visit));
    story.notes.iter_mut().for_each(&mut *visit);
    story.error.iter_mut().for_each(&mut *visit);
    let results = story.knobs.iter_mut().flat_map(|knobs| &mut knobs.results);
    results.for_each(|result| visit(&mut result.reason));
    story.verification.iter_mut().for_each(|found| of_verification(found, visit));
    let predicted = story.predicted.iter_mut().chain(&mut story.predicted_before);
    predicted.filter_map(|it| it.ruled_out.as_mut()).for_each(visit);
}

fn of_trial(trial: &mut TrialSummary, visit: Visit<'_>) {
    visit(&mut trial.reason);
    of_limit(&mut trial.limit, visit);
    match &mut trial.failure {
        Some(TrialFailure::Boot(failure)) => of_failure(failure, visit),
        Some(TrialFailure::Died { status, .. }) => visit(status),
        None => {}
    }
}

fn of_decision(decision: &mut Decision, visit: Visit<'_>) {
    of_limit(&mut decision.limit, visit);
    decision.settings.advice.iter_mut().chain(&mut decision.settings.place).for_each(visit);
}

fn of_verification(found: &mut Verification, visit: Visit<'_>) {
    visit(&mut found.reason);
    found.differences.iter_mut().chain(&mut found.notes).for_each(visit);
}

fn of_limit(limit: &mut Limit, visit: Visit<'_>) {
    visit(&mut limit.evidence);
    visit(&mut limit.advice);
}

fn of_failure(failure: &mut BootFailure, visit: Visit<'_>) {
    visit(&mut failure.message);
    visit(&mut failure.advice);
}

fn of_warning(warning: &mut Warning, visit: Visit<'_>) {
    visit(&mut warning.message);
    visit(&mut warning.advice);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_are_told_and_everything_else_stays() {
        let story = Story {
            app: "/srv/failed".into(),
            notes: vec!["the session ended before it was tried".into(), "theirs".into()],
            warnings: vec![Warning::new("not_seen", "theirs", "failed")],
            ..Story::default()
        };
        let english = in_language(&story, Language::English);
        assert_eq!((&*english.story, english.sentences.len()), (&story, 0));
        let japanese = in_language(&story, Language::Japanese);
        assert_eq!(japanese.story.app, story.app);
        assert_eq!(japanese.story.notes, ["試す前にセッションが終わりました", "theirs"]);
        assert_eq!(japanese.story.warnings[0].to_string(), "theirs; 失敗");
        let told: Vec<&str> = japanese.sentences.keys().map(String::as_str).collect();
        assert_eq!(told, ["failed", "the session ended before it was tried"]);
    }
}
