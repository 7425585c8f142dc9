//! What a Dockerfile says of the image's last stage, and of the stages that this one is built on.
//!
//! In: the file's text. Out: its variables and its command. Only computes.

use super::said::Said;
use super::shell::{assigned, is_comment};

/// Instructions of which the last counts (Dockerfile reference): `ENTRYPOINT` stands before what
/// `CMD` says, or before what an image is run with instead of it.
pub fn image(text: &str) -> Said {
    let stage = last_stage(text);
    let last = |name: &str| instructions(&stage, name).pop().unwrap_or_default();
    Said {
        variables: instructions(&stage, "ENV").iter().flat_map(|line| assigned(line)).collect(),
        entry: last("ENTRYPOINT"),
        command: last("CMD"),
    }
}

/// Its lines, an instruction each.
fn last_stage(text: &str) -> Vec<String> {
    let mut stages: Vec<(String, Vec<String>)> = Vec::new();
    for line in whole_lines(text) {
        let words: Vec<&str> = line.split_whitespace().filter(|it| !it.starts_with("--")).collect();
        match words[..] {
            [from, image, ..] if from.eq_ignore_ascii_case("FROM") => {
                let base = stages.iter().find(|(name, _)| name == image);
                let lines = base.map(|(_, lines)| lines.clone()).unwrap_or_default();
                stages.push((words.get(3).copied().unwrap_or_default().to_string(), lines));
            }
            _ => match stages.last_mut() {
                Some((_, lines)) => lines.push(line),
                None => stages.push((String::new(), vec![line])),
            },
        }
    }
    stages.pop().map(|(_, lines)| lines).unwrap_or_default()
}

/// Those that are continued on the next as one; without comments.
fn whole_lines(text: &str) -> Vec<String> {
    let code: Vec<&str> = text.lines().filter(|line| !is_comment(line)).collect();
    code.join("\n").replace("\\\n", " ").lines().map(str::to_string).collect()
}

/// What each of this name says.
fn instructions(stage: &[String], name: &str) -> Vec<String> {
    let arguments = |line: &String| {
        let (word, rest) = line.trim().split_once(char::is_whitespace)?;
        word.eq_ignore_ascii_case(name).then(|| rest.to_string())
    };
    stage.iter().filter_map(arguments).collect()
}
