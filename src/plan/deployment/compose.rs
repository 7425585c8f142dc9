//! What a Compose file says of each of its services.
//!
//! In: the file's text. Out: their variables and commands. Only computes.

use super::said::{Pair, Said};
use super::shell::{is_comment, unquoted};

/// Its services, in the order in which they stand. Line by line: anchors and other files are not
/// followed, and variables that Compose fills in stay as they are written.
pub fn services(text: &str) -> Vec<Said> {
    let mut path: Vec<(usize, &str)> = Vec::new();
    let mut all: Vec<Said> = Vec::new();
    for line in text.lines().filter(|line| !is_comment(line) && !line.trim().is_empty()) {
        let listed = line.trim().strip_prefix('-').and_then(|rest| rest.strip_prefix(' '));
        let words = listed.unwrap_or(line.trim());
        // A list's items may begin where its key does.
        let indent = line.len() - line.trim_start().len() + usize::from(listed.is_some());
        path.retain(|(outer, _)| *outer < indent);
        let keys: Vec<&str> = path.iter().map(|(_, key)| *key).collect();
        if keys == ["services"] {
            all.push(Said::default());
        } else if let (["services", _, below @ ..], Some(one)) = (&keys[..], all.last_mut()) {
            add(one, below, words);
        }
        path.push((indent, words.split(':').next().unwrap_or_default()));
    }
    all
}

/// Adds a line of a service; `below`: the keys that it stands below.
fn add(service: &mut Said, below: &[&str], words: &str) {
    match (below, words.split_once(':')) {
        (["environment"], _) => service.variables.extend(variable(words)),
        (["command"], _) => {
            service.command = format!("{} {words}", service.command).trim().to_string();
        }
        // Behind these marks it stands in the lines below.
        ([], Some(("command", value))) if !value.trim().starts_with(['>', '|']) => {
            service.command = value.trim().to_string();
        }
        _ => {}
    }
}

/// `NAME: value`, or `NAME=value` of a list.
fn variable(words: &str) -> Option<Pair> {
    let text = unquoted(words).join(" ");
    let (name, value) = text.split_once(['=', ':'])?;
    Some((name.trim().to_string(), value.trim().to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_and_commands_are_read_however_they_are_spelled() {
        let text = "x-all:\n  environment:\n    A: 0\nservices:\n  web:\n    build: .\n    \
                    command: >-\n      bundle exec puma\n      -b tcp://0.0.0.0:80\n    \
                    environment:\n      # B: 0\n      \"A\": '1'\n      C: \"--d 2\" # three\n  \
                    jobs:\n    command: [\"sidekiq\", \"-c\", \"5\"]\n    environment:\n    \
                    - A=2\n    - B\n    image: shop\nvolumes:\n  web:\n";
        let found = services(text);
        let pair = |name: &str, value: &str| (name.to_string(), value.to_string());
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].command, "bundle exec puma -b tcp://0.0.0.0:80");
        assert_eq!(found[0].variables, [pair("A", "1"), pair("C", "--d 2")]);
        assert_eq!(found[1].command, "[\"sidekiq\", \"-c\", \"5\"]");
        assert_eq!(found[1].variables, [pair("A", "2")]);
    }
}
