//! Words of a shell's commands, with variables put in.
//!
//! In: text. Out: its words. Only computes.

use super::said::Pair;

/// A command's words, of an image's list as well as of a shell's line.
pub fn words(commands: &str) -> impl Iterator<Item = &str> {
    let is_between = |c: char| c.is_whitespace() || "[]\",'".contains(c);
    commands.split(is_between).filter(|word| !word.is_empty())
}

/// Each word with the one behind it: `NAME: 3`, `NAME = "3"`, `NAME=3`, `NAME 3`.
pub fn pairs(line: &str) -> Vec<Pair> {
    let is_between = |c: char| "\"'=:".contains(c);
    let code = line.split_whitespace().take_while(|word| !word.starts_with('#'));
    let words = code.flat_map(|word| word.split(is_between)).filter(|word| !word.is_empty());
    let words: Vec<&str> = words.collect();
    words.windows(2).map(|pair| (pair[0].to_string(), pair[1].to_string())).collect()
}

/// A word with the shell's variables put in, `$NAME` and `${NAME:-3}`; `None` where one has no
/// value.
pub fn expanded(text: &str, of: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let Some((before, rest)) = text.split_once('$') else { return Some(text.to_string()) };
    let (name, default, after) = match rest.strip_prefix('{') {
        Some(braced) => {
            let (inside, after) = braced.split_once('}')?;
            let name = inside.split(|c| !is_name(c)).next()?;
            (name, inside[name.len()..].trim_start_matches(':').strip_prefix('-'), after)
        }
        None => {
            let end = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
            (&rest[..end], None, &rest[end..])
        }
    };
    let value = of(name).or_else(|| default.map(str::to_string))?;
    Some(format!("{before}{value}{}", expanded(after, of)?))
}

/// May it stand in a variable's name?
fn is_name(c: char) -> bool {
    c == '_' || c.is_ascii_alphanumeric()
}

/// The variable that a word consists of: `$NAME`, `${NAME:-3}`.
pub fn variable(text: &str) -> Option<&str> {
    let rest = text.strip_prefix('$')?;
    let inside =
        rest.strip_prefix('{').map(|braced| braced.strip_suffix('}')).unwrap_or(Some(rest))?;
    let name = inside.split(|c| !is_name(c)).next().filter(|name| !name.is_empty())?;
    let is_whole = rest.starts_with('{') && !inside.contains('}') || name == inside;
    is_whole.then_some(name)
}

/// The parts of `least:most`; of a single number both are that. Colons in braces are a variable's
/// own.
pub fn least_and_most(text: &str) -> (&str, &str) {
    let mut depth = 0;
    let between = text.char_indices().find(|(_, c)| {
        depth += i32::from(*c == '{') - i32::from(*c == '}');
        *c == ':' && depth == 0
    });
    between.map_or((text, text), |(at, _)| (&text[..at], &text[at + 1..]))
}

pub fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with('#')
}
