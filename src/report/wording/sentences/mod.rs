//! Sentences that came with the events (evidence, advice, reasons, warnings, notes), in another
//! language than the program wrote them in.
//!
//! The store has them in English, and a report is made from the store alone; so a sentence is
//! recognised by the form it was written in, and what was filled into that is looked up in turn.
//! `japanese.txt` has the forms. What no form fits stays as it is: text of the app's own, and
//! sentences of a newer program. Computes only.

use std::sync::LazyLock;

/// A form of a sentence and its translation.
struct Form {
    english: Pattern,
    translation: &'static str,
}

/// Fixed text around what is filled in: one piece more than there are holes.
struct Pattern {
    pieces: Vec<&'static str>,
    /// Only a number goes into this one.
    is_number: Vec<bool>,
}

static JAPANESE: LazyLock<Vec<Form>> = LazyLock::new(|| forms(include_str!("japanese.txt")));

/// Bytes. What is longer was not written by this program, and text of others may be of any size.
const LONGEST: usize = 2000;

/// The sentence in Japanese; `None` where it stays as it is.
pub fn in_japanese(sentence: &str) -> Option<String> {
    (sentence.len() <= LONGEST).then(|| translated(sentence, &JAPANESE)).flatten()
}

/// As one sentence, else as several that the program joined.
fn translated(text: &str, forms: &[Form]) -> Option<String> {
    one(text, forms).or_else(|| several(text, forms))
}

/// Of one form, with or without what it is about before it.
fn one(text: &str, forms: &[Form]) -> Option<String> {
    let form = forms.iter().find_map(|form| Some((form, form.english.filled(text)?)));
    if let Some((form, filled)) = form {
        return Some(fill(form.translation, &filled, forms));
    }
    let (about, rest) = text.split_once(": ")?;
    let about = one(about, forms).unwrap_or_else(|| about.to_string());
    Some(format!("{about}: {}", one(rest, forms)?))
}

/// A form may have the joint in it as well, so that as much as may be is taken as one.
fn several(text: &str, forms: &[Form]) -> Option<String> {
    const JOINT: &str = "; ";
    /// More than any form has.
    const PARTS: usize = 4;
    let mut told = Vec::new();
    let mut is_any = false;
    let mut rest = text;
    while !rest.is_empty() {
        let joints = rest.match_indices(JOINT).map(|(at, _)| at).chain([rest.len()]);
        let mut ends: Vec<usize> = joints.take(PARTS).collect();
        ends.reverse();
        let taken = ends.into_iter().find_map(|end| Some((end, one(&rest[..end], forms)?)));
        is_any |= taken.is_some();
        let (end, text) = taken.unwrap_or_else(|| {
            let end = rest.find(JOINT).unwrap_or(rest.len());
            (end, rest[..end].to_string())
        });
        told.push(text);
        rest = rest[end..].strip_prefix(JOINT).unwrap_or_default();
    }
    is_any.then(|| told.join("。"))
}

fn fill(translation: &str, filled: &[&str], forms: &[Form]) -> String {
    let mut text = String::new();
    let mut rest = translation;
    while let Some((before, place, after)) = next_place(rest) {
        text += before;
        let value = filled.get(place.number - 1).copied().unwrap_or_default();
        match translated(value, forms).filter(|_| !place.is_as_typed) {
            Some(told) => text += &told,
            None => text += value,
        }
        rest = after;
    }
    text + rest
}

/// Where a translation takes what is in a hole, from 1.
struct Place {
    number: usize,
    /// `{=1}`: people type it, such as an option.
    is_as_typed: bool,
}

/// What stands before `{1}`, that, and what stands after it.
fn next_place(text: &str) -> Option<(&str, Place, &str)> {
    text.match_indices('{').find_map(|(at, _)| {
        let (inside, after) = text[at + 1..].split_once('}')?;
        let number = inside.strip_prefix('=').unwrap_or(inside).parse().ok()?;
        let place = Place { number, is_as_typed: inside.starts_with('=') };
        (number > 0).then(|| (&text[..at], place, after))
    })
}

/// Two lines each, the form and its translation; the most specific first.
fn forms(text: &'static str) -> Vec<Form> {
    let mut lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut forms = Vec::new();
    while let (Some(english), Some(translation)) = (lines.next(), lines.next()) {
        forms.push(Form { english: Pattern::parse(english), translation });
    }
    forms.sort_by_key(|form| std::cmp::Reverse(form.english.fixed()));
    forms
}

impl Pattern {
    /// `{}`: a hole; `{#}`: one for a number.
    fn parse(text: &'static str) -> Self {
        let (mut pieces, mut is_number) = (Vec::new(), Vec::new());
        let mut rest = text;
        while let Some(at) = rest.find("{}").into_iter().chain(rest.find("{#}")).min() {
            let is_typed = rest[at..].starts_with("{#}");
            pieces.push(&rest[..at]);
            is_number.push(is_typed);
            rest = &rest[at + if is_typed { 3 } else { 2 }..];
        }
        pieces.push(rest);
        Self { pieces, is_number }
    }

    /// Bytes of fixed text.
    fn fixed(&self) -> usize {
        self.pieces.iter().map(|piece| piece.len()).sum()
    }

    /// What fills the holes, where the text has this form.
    fn filled<'t>(&self, text: &'t str) -> Option<Vec<&'t str>> {
        let (first, others) = self.pieces.split_first()?;
        let mut filled = Vec::new();
        let rest = text.strip_prefix(first)?;
        fits(others, &self.is_number, rest, &mut filled).then_some(filled)
    }
}

/// The rest of a text is a hole and a piece in turn, to its end; each hole as short as may be.
fn fits<'t>(pieces: &[&str], is_number: &[bool], rest: &'t str, filled: &mut Vec<&'t str>) -> bool {
    let (Some((piece, others)), Some((&typed, types))) =
        (pieces.split_first(), is_number.split_first())
    else {
        return rest.is_empty();
    };
    let mut ends: Vec<usize> = rest.match_indices(piece).map(|(at, _)| at).collect();
    if others.is_empty() {
        ends = rest.strip_suffix(piece).map(str::len).into_iter().collect();
    }
    ends.into_iter().any(|end| {
        let hole = &rest[..end];
        if typed && !is_a_number(hole) {
            return false;
        }
        filled.push(hole);
        let is_fit = fits(others, types, &rest[end + piece.len()..], filled);
        if !is_fit {
            filled.pop();
        }
        is_fit
    })
}

fn is_a_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}

#[cfg(test)]
mod tests;
