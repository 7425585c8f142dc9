//! Configuration files made of a template.

/// The template with each of these words replaced, in one pass: a value may have another of the
/// words in it, as a path may.
pub(super) fn filled(template: &str, words: &[(&str, impl AsRef<str>)]) -> String {
    let (mut text, mut rest) = (String::new(), template);
    let next = |rest: &str| {
        let found = words.iter().filter_map(|(word, value)| Some((rest.find(word)?, word, value)));
        found.min_by_key(|(at, ..)| *at).map(|(at, word, value)| (at, word.len(), value.as_ref()))
    };
    while let Some((at, length, value)) = next(rest) {
        text.push_str(&rest[..at]);
        text.push_str(value);
        rest = &rest[at + length..];
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_may_have_another_of_the_words_in_it() {
        let words = [("SCRATCH", "/tmp/FOLDER"), ("FOLDER", "/srv/SCRATCH")];
        let text = filled("pid SCRATCH/a\nin FOLDER, FOLDER\n", &words);
        assert_eq!(text, "pid /tmp/FOLDER/a\nin /srv/SCRATCH, /srv/SCRATCH\n");
    }
}
