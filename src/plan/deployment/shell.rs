//! Words of a shell's commands, with variables put in.
//!
//! In: text. Out: its words. Only computes.

use super::said::Pair;

/// Commands that name others without starting them.
const SPEAK: [&str; 13] = [
    "cd", "echo", "printf", "mkdir", "pip", "pip3", "gem", "apt-get", "pkill", "killall", "chown",
    "rm", "which",
];

/// Words behind which a command's variables may stand: `env A=1 puma`.
const BEFORE: [&str; 12] =
    ["env", "export", "exec", "cross-env", "then", "else", "do", "sudo", "declare", "!", "{", "("];

/// A command as the shell takes it apart.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Invocation {
    /// The variables before it.
    pub variables: Vec<Pair>,
    /// Its program and arguments.
    pub words: Vec<String>,
}

/// What a text invokes, an image's list as well as a shell's lines; also what stands in a word of
/// another command, `sh -c "a && b"`, but not what a command only speaks of.
pub fn invocations(text: &str) -> Vec<Invocation> {
    let mut found = Vec::new();
    for invocation in text.lines().flat_map(taken_apart).map(invocation) {
        if invocation.words.first().is_some_and(|first| SPEAK.contains(&first.as_str())) {
            continue;
        }
        let is_command = |word: &&String| word.contains(char::is_whitespace) && *word != text;
        let inner = invocation.words.iter().filter(is_command);
        let inner: Vec<Invocation> = inner.flat_map(|word| invocations(word)).collect();
        found.push(invocation);
        found.extend(inner);
    }
    found
}

fn invocation(words: Vec<String>) -> Invocation {
    let mut invocation = Invocation::default();
    let mut may_assign = true;
    for word in words {
        let assigned = assignment(&word).filter(|_| may_assign);
        let is_flag_before = may_assign && word.starts_with('-');
        let is_before = BEFORE.contains(&word.as_str()) || word.ends_with(')');
        may_assign = assigned.is_some() || is_flag_before || is_before;
        match assigned {
            Some(pair) => invocation.variables.push(pair),
            None => invocation.words.push(word),
        }
    }
    invocation
}

/// Name and value of `A=1`.
fn assignment(word: &str) -> Option<Pair> {
    let (name, value) = word.split_once('=')?;
    let is_variable = !name.is_empty() && name.chars().all(is_name);
    is_variable.then(|| (name.to_string(), value.to_string()))
}

/// What an image's `ENV` sets: `A=1 B="2 3"`, or `A 1`.
pub fn assigned(line: &str) -> Vec<Pair> {
    let words = unquoted(line);
    match words.split_first() {
        Some((name, value)) if !name.contains('=') => vec![(name.clone(), value.join(" "))],
        _ => words.iter().filter_map(|word| assignment(word)).collect(),
    }
}

/// A text's words without the quotes around them or in them.
pub fn unquoted(text: &str) -> Vec<String> {
    taken_apart(text).concat()
}

/// The words of each command of a line, with variables left in: what is quoted is no border. Of an
/// image's list brackets and commas are.
fn taken_apart(line: &str) -> Vec<Vec<String>> {
    let mut taken = Taken::default();
    let mut quote = None;
    // How many brackets of `$(…)` are open.
    let mut inside = 0_u32;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        let was_quoted = std::mem::take(&mut taken.is_behind_quote);
        match (quote, c) {
            (Some(open), _) if c == open => {
                quote = None;
                taken.is_behind_quote = true;
            }
            (Some('"'), '\\') => {
                let next = chars.next();
                if next.is_none_or(|next| !"\"\\$`".contains(next)) {
                    taken.push(c);
                }
                next.into_iter().for_each(|next| taken.push(next));
            }
            (Some(_), _) => taken.push(c),
            (None, '"' | '\'') => {
                quote = Some(c);
                taken.begin();
            }
            (None, '\\') => chars.next().into_iter().for_each(|next| taken.push(next)),
            (None, '(') if inside > 0 || taken.is_behind_dollar() => {
                inside += 1;
                taken.push(c);
            }
            (None, ')') if inside > 0 => {
                inside -= 1;
                taken.push(c);
            }
            (None, _) if inside > 0 => taken.push(c),
            (None, ';' | '&' | '|') => taken.end_command(),
            (None, '#') if taken.word.is_none() => break,
            (None, '[' | ']' | ',') if was_quoted || taken.word.is_none() => taken.end_word(),
            (None, _) if c.is_whitespace() => taken.end_word(),
            (None, _) => taken.push(c),
        }
    }
    taken.end_command();
    taken.commands
}

/// What a line was taken apart into so far.
#[derive(Default)]
struct Taken {
    commands: Vec<Vec<String>>,
    /// Of the last command.
    words: Vec<String>,
    /// The last one, once it has begun.
    word: Option<String>,
    /// A quote has just ended.
    is_behind_quote: bool,
}

impl Taken {
    /// Also an empty word, as a quote is one.
    fn begin(&mut self) {
        self.word.get_or_insert_default();
    }

    fn push(&mut self, c: char) {
        self.word.get_or_insert_default().push(c);
    }

    fn is_behind_dollar(&self) -> bool {
        self.word.as_ref().is_some_and(|word| word.ends_with('$'))
    }

    fn end_word(&mut self) {
        self.words.extend(self.word.take());
    }

    fn end_command(&mut self) {
        self.end_word();
        let words = std::mem::take(&mut self.words);
        self.commands.extend((!words.is_empty()).then_some(words));
    }
}

/// All words of commands, whichever of them they belong to.
pub fn words(commands: &str) -> impl Iterator<Item = &str> {
    let is_between = |c: char| c.is_whitespace() || "[]\",'".contains(c);
    commands.split(is_between).filter(|word| !word.is_empty())
}

/// The words of a line up to its comment.
pub fn uncommented(line: &str) -> impl Iterator<Item = &str> {
    line.split_whitespace().take_while(|word| !word.starts_with('#'))
}

/// Each word with the one behind it: `NAME: 3`, `{NAME: "3"}`.
pub fn pairs(line: &str) -> Vec<Pair> {
    let is_between = |c: char| "\"'=:".contains(c);
    let words = uncommented(line).flat_map(|word| word.split(is_between));
    let words = words.filter(|word| !word.is_empty());
    let words: Vec<&str> = words.collect();
    words.windows(2).map(|pair| (pair[0].to_string(), pair[1].to_string())).collect()
}

/// A word with the shell's variables put in, `$NAME`, `${NAME:-3}` and `${NAME:-${OTHER:-3}}`;
/// `None` where one has no value.
pub fn expanded(text: &str, of: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let Some((before, rest)) = text.split_once('$') else { return Some(text.to_string()) };
    let (name, default, after) = match rest.strip_prefix('{') {
        Some(braced) => {
            let (inside, after) = up_to_its_brace(braced)?;
            let name = inside.split(|c| !is_name(c)).next()?;
            (name, inside[name.len()..].trim_start_matches(':').strip_prefix('-'), after)
        }
        None => {
            let end = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
            (&rest[..end], None, &rest[end..])
        }
    };
    let value = match of(name) {
        Some(value) => value,
        None => expanded(default?, of)?,
    };
    Some(format!("{before}{value}{}", expanded(after, of)?))
}

/// What stands behind a variable's opening brace: up to the one that closes it, and after that. Its
/// default may have variables with braces of their own.
fn up_to_its_brace(braced: &str) -> Option<(&str, &str)> {
    let mut depth = 1;
    let (end, _) = braced.char_indices().find(|(at, c)| {
        let opens = *c == '{' && braced[..*at].ends_with('$');
        depth += i32::from(opens) - i32::from(*c == '}');
        depth == 0
    })?;
    Some((&braced[..end], &braced[end + 1..]))
}

/// May it stand in a variable's name?
fn is_name(c: char) -> bool {
    c == '_' || c.is_ascii_alphanumeric()
}

/// The variable that a word consists of: `$NAME`, `${NAME:-3}`.
pub fn variable(text: &str) -> Option<&str> {
    let rest = text.strip_prefix('$')?;
    let braced = rest.strip_prefix('{');
    let inside = match braced {
        Some(braced) => up_to_its_brace(braced).filter(|(_, after)| after.is_empty())?.0,
        None => rest,
    };
    let name = inside.split(|c| !is_name(c)).next().filter(|name| !name.is_empty())?;
    (braced.is_some() || name == inside).then_some(name)
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Variables and words of each command in this text, with `|` between words.
    fn invoked(text: &str) -> Vec<String> {
        let shown = |it: Invocation| {
            let variables = it.variables.into_iter().map(|(name, value)| format!("{name}={value}"));
            let variables: String = variables.map(|it| it + "; ").collect();
            format!("{variables}{}", it.words.join("|"))
        };
        invocations(text).into_iter().map(shown).collect()
    }

    #[test]
    fn commands_are_taken_apart_as_the_shell_does_it() {
        let nested = "sh -c \"A=1 a && exec b 'c d'\"";
        let rows: [(&str, &[&str]); 16] = [
            ("a -w $(b | c) -t; d", &["a|-w|$(b | c)|-t", "$(b | c)", "d"]),
            ("production) A=1 ;;", &["A=1; production)"]),
            ("{ A=3; sudo A=2 b; }", &["A=3; {", "A=2; sudo|b", "}"]),
            ("puma -w 3 && sidekiq; cron &", &["puma|-w|3", "sidekiq", "cron"]),
            ("puma # -w 3", &["puma"]),
            ("a --b='c d' \"e f\"g ''", &["a|--b=c d|e fg|", "--b=c|d", "e|fg"]),
            ("a 1.1.1.1,2.2.2.2 \"3,4\"", &["a|1.1.1.1,2.2.2.2|3,4"]),
            ("[\"a\", \"--b\",\"c,d\"]", &["a|--b|c,d"]),
            ("[\"tini\", \"--\"] [\"a\"]", &["tini|--|a"]),
            ("a \"it's\" \"\\\"b\\\"\" c\\ d", &["a|it's|\"b\"|c d", "c|d"]),
            ("A=1 B='2 3' a C=4", &["A=1; B=2 3; a|C=4"]),
            ("bundle exec env A=${B:-1} a", &["A=${B:-1}; bundle|exec|env|a"]),
            ("env -i A=1 a", &["A=1; env|-i|a"]),
            ("if b; then export A=1; fi", &["if|b", "A=1; then|export", "fi"]),
            (nested, &["sh|-c|A=1 a && exec b 'c d'", "A=1; a", "exec|b|c d", "c|d"]),
            ("echo \"Starting puma\"\nexec puma", &["exec|puma"]),
        ];
        for (text, expected) in rows {
            assert_eq!(invoked(text), expected, "{text}");
        }
    }

    #[test]
    fn a_variable_whose_default_is_another_one_has_its_value_or_that_ones() {
        let of = |name: &str| (name == "SET").then(|| "4".to_string());
        for (text, expected) in [
            ("${SET:-${B:-2}}", Some("4")),
            ("${A:-${B:-2}}s", Some("2s")),
            ("${A:-${SET:-2}}:${A-$SET}", Some("4:4")),
            ("${A:-{b}", Some("{b")),
            ("${A:-${B}}", None),
            ("${A:-$(nproc)}", None),
            ("${A:-${B:-2}", None),
        ] {
            assert_eq!(expanded(text, &of).as_deref(), expected, "{text}");
        }
        assert_eq!(variable("${A:-${B:-2}}"), Some("A"));
        assert_eq!([variable("${A:-1}${B}"), variable("${A")], [None, None]);
    }

    #[test]
    fn what_an_image_sets_has_all_of_its_value() {
        let pair = |name: &str, value: &str| (name.to_string(), value.to_string());
        let both = [pair("A", "--b 1 --c"), pair("D", "2")];
        assert_eq!(assigned("A=\"--b 1 --c\" D=2"), both);
        assert_eq!(assigned("A --b 1"), [pair("A", "--b 1")]);
        assert_eq!(assigned(""), []);
    }
}
