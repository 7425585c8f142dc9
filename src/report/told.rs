//! A session's story with its sentences in another language.
//!
//! In: a [`Story`] and a language. Out: the same story, in which every sentence that the events
//! brought is told in that language, and which sentence became which. Computes only. Names and
//! text of others (the app's output, the plan) stay as they are.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::story::Story;
use super::wording::{Fact, Language};
use crate::terms::{
    BootFailure, Decision, Limit, Stated, TrialFailure, TrialSummary, Verification, Warning,
};

/// What a story is in a language.
pub struct Told<'a> {
    pub story: Cow<'a, Story>,
    /// By the sentence that was stored; of those that were told otherwise.
    pub sentences: BTreeMap<String, String>,
}

/// The story as it is to be read in this language.
pub fn in_language(story: &Story, language: Language) -> Told<'_> {
    let sentences = BTreeMap::new();
    if language == Language::English {
        return Told { story: Cow::Borrowed(story), sentences };
    }
    let mut translated = story.clone();
    let mut translation = Translation { language, sentences };
    of_story(&mut translated, &mut translation);
    Told { story: Cow::Owned(translated), sentences: translation.sentences }
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

/// What became of the sentences that were visited.
struct Translation {
    language: Language,
    sentences: BTreeMap<String, String>,
}

impl Translation {
    /// A sentence, which becomes one of the language.
    fn text(&mut self, sentence: &mut String) {
        if let Cow::Owned(text) = self.language.tell(sentence) {
            self.sentences.insert(std::mem::replace(sentence, text.clone()), text);
        }
    }

    /// A fact stays as it is: reports say it in their language. The page, which has both languages,
    /// looks it up by its English sentence.
    fn stated<F: Fact>(&mut self, stated: &mut Stated<F>) {
        match stated {
            Stated::Verbatim(text) => self.text(text),
            Stated::Fact(_) => {
                let (known, said) = (Language::DATA.say(stated), self.language.say(stated));
                self.sentences.insert(known, said);
            }
        }
    }
}

fn of_story(story: &mut Story, visit: &mut Translation) {
    story.boot_failures.iter_mut().for_each(|(_, failure)| of_failure(failure, visit));
    story.variant_failures.iter_mut().for_each(|(.., failure)| of_failure(failure, visit));
    story.trials.iter_mut().for_each(|trial| of_trial(trial, visit));
    story.decision.iter_mut().for_each(|decision| of_decision(decision, visit));
    story.warnings.iter_mut().for_each(|warning| of_warning(warning, visit));
    story.notes.iter_mut().for_each(|it| visit.stated(it));
    story.error.iter_mut().for_each(|it| visit.text(it));
    let results = story.knobs.iter_mut().flat_map(|knobs| &mut knobs.results);
    results.flat_map(|result| &mut result.reason).for_each(|it| visit.stated(it));
    story.verification.iter_mut().for_each(|found| of_verification(found, visit));
    let predicted = story.predicted.iter_mut().chain(&mut story.predicted_before);
    predicted.filter_map(|it| it.ruled_out.as_mut()).for_each(|it| visit.stated(it));
}

fn of_trial(trial: &mut TrialSummary, visit: &mut Translation) {
    visit.text(&mut trial.reason);
    of_limit(&mut trial.limit, visit);
    match &mut trial.failure {
        Some(TrialFailure::Boot(failure)) => of_failure(failure, visit),
        Some(TrialFailure::Died { status, .. }) => visit.text(status),
        None => {}
    }
}

fn of_decision(decision: &mut Decision, visit: &mut Translation) {
    of_limit(&mut decision.limit, visit);
    let settings = &mut decision.settings;
    settings.advice.iter_mut().for_each(|it| visit.stated(it));
    let of_knobs = settings.knobs_lines.iter_mut().map(|it| &mut it.place);
    settings.place.iter_mut().chain(of_knobs).for_each(|it| visit.stated(it));
}

fn of_verification(found: &mut Verification, visit: &mut Translation) {
    visit.text(&mut found.reason);
    found.differences.iter_mut().chain(&mut found.notes).for_each(|it| visit.text(it));
}

fn of_limit(limit: &mut Limit, visit: &mut Translation) {
    visit.stated(&mut limit.evidence);
    limit.advice.iter_mut().for_each(|it| visit.stated(it));
}

fn of_failure(failure: &mut BootFailure, visit: &mut Translation) {
    visit.text(&mut failure.message);
    visit.text(&mut failure.advice);
}

fn of_warning(warning: &mut Warning, visit: &mut Translation) {
    visit.text(&mut warning.message);
    visit.text(&mut warning.advice);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_are_told_and_everything_else_stays() {
        let story = Story {
            app: "/srv/failed".into(),
            notes: ["the session ended before it was tried", "theirs"]
                .map(|text| Stated::Verbatim(text.into()))
                .to_vec(),
            warnings: vec![Warning::new("not_seen", "theirs", "failed")],
            ..Story::default()
        };
        let english = in_language(&story, Language::English);
        assert_eq!((&*english.story, english.sentences.len()), (&story, 0));
        let japanese = in_language(&story, Language::Japanese);
        assert_eq!(japanese.story.app, story.app);
        let notes = Language::DATA.say_each(&japanese.story.notes);
        assert_eq!(notes, ["試す前にセッションが終わりました", "theirs"]);
        assert_eq!(japanese.story.warnings[0].to_string(), "theirs; 失敗");
        let told: Vec<&str> = japanese.sentences.keys().map(String::as_str).collect();
        assert_eq!(told, ["failed", "the session ended before it was tried"]);
    }
}
