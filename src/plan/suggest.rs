//! What a misspelt word was probably meant to be.

/// The choice that is nearest to `word`, when one is near enough to be a slip (a third of its
/// letters may differ).
pub fn closest(word: &str, choices: &[&'static str]) -> Option<&'static str> {
    let word = word.to_ascii_lowercase().replace('_', "-");
    choices
        .iter()
        .map(|choice| (edit_distance(&word, choice), *choice))
        .filter(|(distance, choice)| *distance <= (choice.len() / 3).max(1))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, choice)| choice)
}

/// At most `most` of the choices, the nearest first, whose letters are at least half those of
/// `word`.
pub fn nearest<'a>(
    word: &str,
    choices: impl IntoIterator<Item = &'a str>,
    most: usize,
) -> Vec<&'a str> {
    let apart = |choice: &'a str| (edit_distance(word, choice), choice);
    let mut near: Vec<(usize, &str)> = choices.into_iter().map(apart).collect();
    near.retain(|(distance, choice)| 2 * distance <= choice.len());
    near.sort_unstable();
    near.into_iter().take(most).map(|(_, choice)| choice).collect()
}

/// Insertions, deletions and replacements needed to turn one word into the other.
fn edit_distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    // One row of the table: the distance of what was read of `from` to each beginning of `to`.
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_those_of_levenshtein() {
        for (from, to, expected) in
            [("", "", 0), ("", "abc", 3), ("kitten", "sitting", 3), ("same", "same", 0)]
        {
            assert_eq!(edit_distance(from, to), expected, "{from} {to}");
            assert_eq!(edit_distance(to, from), expected, "{to} {from}");
        }
    }

    #[test]
    fn only_what_is_near_is_suggested() {
        let choices = ["workers", "threads", "slo", "db-connections"];
        for (word, expected) in [
            ("worker", Some("workers")),
            ("Thread", Some("threads")),
            ("sla", Some("slo")),
            ("db_conections", Some("db-connections")),
            ("colour", None),
            ("", None),
        ] {
            assert_eq!(closest(word, &choices), expected, "{word}");
        }
    }

    #[test]
    fn the_nearest_come_first_and_strangers_not_at_all() {
        let names = ["http_requests_total", "up", "rails_requests_total", "rails_request_total"];
        let near = nearest("rails_requests_count", names, 2);
        assert_eq!(near, ["rails_requests_total", "rails_request_total"]);
    }
}
