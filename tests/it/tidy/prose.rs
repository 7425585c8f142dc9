//! Nothing that the program says is read back by it: what is decided goes by facts.

use super::source::{Source, is_word};
use super::{Finding, Rule, try_out};

/// What reads text that people and other programs write, or that an older version stored.
const READS_OTHERS: &[&str] = &[
    // The kernel's list of mounts.
    "src/monitor/groups.rs",
    // The kernel's counters.
    "src/monitor/text.rs",
    // The kernel's words for a node's processors and memory.
    "src/place/kubernetes/node.rs",
    // The API server's words for why it refuses.
    "src/place/kubernetes/refusal.rs",
    // A kubelet's words for an image that it does not run as its user.
    "src/place/kubernetes/user.rs",
    // Stack traces in servers' logs.
    "src/place/local/log.rs",
    // An app's own files.
    "src/plan/app.rs",
    "src/plan/bundle.rs",
    "src/plan/python.rs",
    // Each server's own lines and titles, and the templates that are filled for it.
    "src/server/",
    // Titles that processes give themselves.
    "src/session/watch.rs",
    // serde's word for a kind of event that a newer version wrote.
    "src/store/read.rs",
    // Goals, which are stored and typed as one line.
    "src/terms/goals.rs",
    // A doubt that an older version stored has no kind but its code.
    "src/terms/warning.rs",
];

const MATCHING: &[&str] = &[
    "contains",
    "ends_with",
    "eq_ignore_ascii_case",
    "find",
    "matches",
    "replace",
    "rsplit",
    "rsplit_once",
    "split",
    "split_once",
    "splitn",
    "starts_with",
    "strip_prefix",
    "strip_suffix",
    "trim_end_matches",
    "trim_start_matches",
];

const FACTS: Rule = Rule {
    name: "no text of ours is recognised by its words",
    why: "a sentence that is recognised can't be worded better or said in another language, and \
          whoever changes it breaks what they don't see",
    instead: "look at the fact that the text was made of; where there is none, add it to terms/",
    find: |tree| {
        let reads_ours = |source: &&Source| {
            !READS_OTHERS.iter().any(|exception| source.path.starts_with(exception))
        };
        tree.product().filter(reads_ours).flat_map(matched_text).collect()
    },
};

/// Where text is compared with several words, or with a word and a space; where two texts are
/// compared that values were just made into; and where a decision looks at a code.
fn matched_text(source: &Source) -> Vec<Finding> {
    let phrases = literals(source).into_iter().filter(|(start, end)| {
        let literal = &source.text[start + 1..end - 1];
        literal.contains(' ') && literal.len() > 1 && is_compared(source, *start, *end)
    });
    let phrases = phrases.map(|(start, end)| (start, source.text[start..end].to_string()));
    let made = source.find_word("to_string").into_iter().filter(|offset| {
        let before = source.code[..*offset]
            .trim_end_matches(|it: char| it == '.' || (it.is_ascii() && is_word(it as u8)));
        is_comparison(before, &source.code[offset + "to_string()".len()..])
    });
    let codes = source.find_word("code").into_iter().filter(|offset| {
        let after = &source.code[offset + "code".len()..];
        is_comparison("", after.strip_prefix("()").unwrap_or(after))
    });
    let made = made.map(|offset| (offset, "to_string()".to_string()));
    let codes = codes.map(|offset| (offset, "code".to_string()));
    let mut found: Vec<(usize, String)> = phrases.chain(made).chain(codes).collect();
    found.sort();
    let finding =
        |(offset, what)| Finding { path: source.path.clone(), line: source.line(offset), what };
    found.into_iter().map(finding).collect()
}

/// From quote to quote, those in tests left out.
fn literals(source: &Source) -> Vec<(usize, usize)> {
    let (text, code) = (source.text.as_bytes(), source.code.as_bytes());
    let comments = source.comments.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let is_character = at > 0 && text[at - 1] == b'\'' && text.get(at + 1) == Some(&b'\'');
        if text[at] != b'"' || code[at] == b'"' || comments[at] == b'"' || is_character {
            at += 1;
            continue;
        }
        let mut end = at + 1;
        while end < text.len() && text[end] != b'"' {
            end += if text[end] == b'\\' { 2 } else { 1 };
        }
        let end = (end + 1).min(text.len());
        if !source.is_test(at) {
            found.push((at, end));
        }
        at = end;
    }
    found
}

/// An operand of `==`, a pattern, or what a method looks for.
fn is_compared(source: &Source, start: usize, end: usize) -> bool {
    let (before, after) = (source.code[..start].trim_end(), source.code[end..].trim_start());
    let is_pattern = after.trim_start_matches([')', ' ', '\n']).starts_with("=>")
        || (after.starts_with('|') && !after.starts_with("||"));
    let called = before.trim_end_matches(['&', '[']).strip_suffix('(').unwrap_or_default();
    let name = called.rsplit(|it: char| !it.is_ascii_alphanumeric() && it != '_').next();
    let is_sought = name.is_some_and(|name| {
        MATCHING.contains(&name) && called[..called.len() - name.len()].ends_with('.')
    });
    is_pattern || is_sought || is_comparison(before, after)
}

fn is_comparison(before: &str, after: &str) -> bool {
    let is_operator = |it: &str| ["==", "!="].contains(&it);
    let before = before.trim_end();
    before.get(before.len().saturating_sub(2)..).is_some_and(is_operator)
        || after.trim_start().get(..2).is_some_and(is_operator)
}

#[test]
fn text_that_is_read_back_is_found() {
    let bad = "fn a(it: &str) -> bool { it.starts_with(\"could not \") }\n\
        fn b(it: &str) { it\n .split_once(\" of which \"); }\n\
        fn c(it: &str) -> bool { it == \"so and so\" || it.split(\"; \").count() > 1 }\n\
        fn d(it: &str) -> u8 { match it { \"so and so\" => 1,\n Some(\"a b\") => 2, _ => 3 } }\n\
        fn e(a: u8, b: u8) -> bool { a.to_string() == b.to_string() }\n\
        fn f(it: Doubt) -> bool { it.code() == \"steal\" }\n";
    let good = "fn a(it: &str) -> bool { it.starts_with(\"https:\") || it == \"-\" }\n\
        fn b() -> &'static str { \"it.find(\\\"so and so\\\")\" }\n\
        fn c(it: u8) -> &'static str { match it { 1 => \"so and so\", _ => \"a b\" } }\n\
        fn d(it: char) -> bool { it == '\"' || it.to_string().is_empty() }\n\
        #[cfg(test)]\nmod tests { fn e(it: &str) -> bool { it.contains(\"so and so\") } }\n";
    let elsewhere = [("src/report/a.rs", good), ("src/server/a.rs", bad)];
    try_out(&FACTS, &[("src/report/a.rs", bad)], &[1, 3, 4, 4, 5, 6, 7, 7, 8], &elsewhere);
}
