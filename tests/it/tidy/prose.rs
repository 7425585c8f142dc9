//! Nothing that the program says is read back by it: what is decided goes by facts.

use super::source::Source;
use super::{Finding, Rule, hold, try_out};

/// Folders that hold or show what was concluded; others read what people and other programs write.
const OF_FACTS: &[&str] = &[
    "src/cli/",
    "src/model/",
    "src/report/",
    "src/search/",
    "src/serve/",
    "src/session/",
    "src/stats/",
    "src/store/",
    "src/summary/",
    "src/terms/",
];

/// What reads other text than ours of today.
const READS_OTHERS: &[&str] = &[
    // Targets, access logs and tables of requests.
    "src/session/load/",
    // Titles that processes give themselves.
    "src/session/watch.rs",
    // serde's word for a kind of event that a newer version wrote.
    "src/store/read.rs",
    // Lines of plans in stores that were written before plans had values.
    "src/terms/printed_plan.rs",
];

const MATCHING: &[&str] = &[
    "contains",
    "ends_with",
    "find",
    "matches",
    "replace",
    "rsplit_once",
    "split",
    "split_once",
    "starts_with",
    "strip_prefix",
    "strip_suffix",
    "trim_end_matches",
    "trim_start_matches",
];

const FACTS: Rule = Rule {
    name: "no sentence of ours is recognised by its words",
    why: "a sentence that is recognised can't be worded better or said in another language, and \
          whoever changes it breaks what they don't see",
    instead: "look at the fact that the sentence was made of; where there is none, add it to \
              terms/",
    find: |tree| {
        let is_of_facts = |source: &&Source| {
            let is_in = |places: &[&str]| places.iter().any(|it| source.path.starts_with(it));
            is_in(OF_FACTS) && !is_in(READS_OTHERS)
        };
        tree.product().filter(is_of_facts).flat_map(matched_phrases).collect()
    },
};

/// Where text is compared with several words, or with a word and a space.
fn matched_phrases(source: &Source) -> Vec<Finding> {
    let calls = MATCHING.iter().flat_map(|name| {
        source.find_word(name).into_iter().map(move |offset| (offset, offset + name.len()))
    });
    let mut found: Vec<(usize, &str)> = calls
        .filter(|(offset, _)| source.code[..*offset].ends_with('.'))
        .filter_map(|(offset, end)| {
            let literal = source.text[end..].strip_prefix("(\"")?.split('"').next()?;
            let is_phrase =
                literal.contains(' ') && literal.contains(|it: char| it.is_ascii_alphabetic());
            is_phrase.then_some((offset, literal))
        })
        .collect();
    found.sort();
    let finding = |(offset, literal): (usize, &str)| Finding {
        path: source.path.clone(),
        line: source.line(offset),
        what: format!("\"{literal}\""),
    };
    found.into_iter().map(finding).collect()
}

#[test]
fn no_sentence_of_ours_is_read_back() {
    hold(&FACTS);
}

#[test]
fn sentences_that_are_read_back_are_found() {
    let bad = "fn a(it: &str) -> bool { it.starts_with(\"could not \") }\n\
        fn b(it: &str) { it\n .split_once(\" of which \"); }\n";
    let good = "fn a(it: &str) -> bool { it.starts_with(\"https:\") || it.contains(\", \") }\n\
        fn b() -> &'static str { \"it.find(\\\"so and so\\\")\" }\n\
        #[cfg(test)]\nmod tests { fn c(it: &str) -> bool { it.contains(\"so and so\") } }\n";
    let elsewhere = [("src/report/a.rs", good), ("src/server/a.rs", bad)];
    try_out(&FACTS, &[("src/report/a.rs", bad)], &[1, 3], &elsewhere);
}
