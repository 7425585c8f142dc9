//! A Rust file taken apart as far as the rules need it: what is code, what comment, what test.
//!
//! In: a file's text. Out: views of the same length, so that an offset in one is the same place in
//! all. It knows tokens' borders only, no grammar.

use std::ops::Range;

use proc_macro2::{TokenStream, TokenTree};

use super::Finding;

/// One Rust file.
pub struct Source {
    /// Relative to the root, with `/`.
    pub path: String,
    pub text: String,
    /// The text with comments and the insides of strings and characters blanked.
    pub code: String,
    /// The text with everything but comments blanked.
    pub comments: String,
    /// Where items marked `#[cfg(test)]` stand.
    tests: Vec<Range<usize>>,
}

impl Source {
    pub fn new(path: String, text: String) -> Self {
        let (code, comments) = split(&text);
        let mut tests = test_items(&code);
        if path.ends_with("/tests.rs") || path.starts_with("tests/") {
            tests = std::iter::once(0..code.len()).collect();
        }
        Self { path, text, code, comments, tests }
    }

    /// The line of an offset, from 1.
    pub fn line(&self, offset: usize) -> usize {
        1 + self.text.as_bytes()[..offset].iter().filter(|&&byte| byte == b'\n').count()
    }

    /// A finding at an offset.
    pub fn finding(&self, offset: usize, what: &str) -> Finding {
        let line = self.line(offset);
        Finding { path: self.path.clone(), line, what: format!("`{what}`") }
    }

    /// The offset is inside a test item or a test file.
    pub fn is_test(&self, offset: usize) -> bool {
        self.tests.iter().any(|range| range.contains(&offset))
    }

    /// Lines outside test items.
    pub fn lines_without_tests(&self) -> usize {
        let mut offset = 0;
        let mut lines = 0;
        for line in self.text.split_inclusive('\n') {
            lines += usize::from(!self.is_test(offset));
            offset += line.len();
        }
        lines
    }

    /// Where `word` stands in the code, test items left out, not as a part of a longer word.
    pub fn find_word(&self, word: &str) -> Vec<usize> {
        words(&self.code, word).filter(|&offset| !self.is_test(offset)).collect()
    }
}

/// Where `word` stands in `text`, not as a part of a longer word.
pub fn words<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let continues = |byte: Option<&u8>| byte.is_some_and(|b| is_word(*b));
    text.match_indices(word).map(|(offset, _)| offset).filter(move |&offset| {
        let bytes = text.as_bytes();
        let joined_before =
            is_word(word.as_bytes()[0]) && offset > 0 && continues(bytes.get(offset - 1));
        let end = offset + word.len();
        let joined_after = is_word(bytes[end - 1]) && continues(bytes.get(end));
        !joined_before && !joined_after
    })
}

pub fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// What a byte belongs to.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Code,
    Comment,
    Quoted,
}

/// Code and comments, each with the rest blanked.
fn split(text: &str) -> (String, String) {
    // Between tokens there are comments and blanks.
    let mut kinds = vec![Kind::Comment; text.len()];
    let tokens = text.parse().unwrap_or_else(|error| panic!("{error} in:\n{text}"));
    mark(tokens, text, &mut kinds);
    let view = |wanted: Kind| {
        let bytes = text.bytes().zip(&kinds).map(|(byte, kind)| match byte {
            b'\n' => b'\n',
            // Only whole characters are kept: other bytes than ASCII are of no interest in code.
            byte if *kind == wanted && byte.is_ascii() => byte,
            _ => b' ',
        });
        String::from_utf8(bytes.collect()).expect("ASCII is UTF-8")
    };
    (view(Kind::Code), view(Kind::Comment))
}

fn mark(tokens: TokenStream, text: &str, kinds: &mut [Kind]) {
    for token in tokens {
        let range = token.span().byte_range();
        match token {
            // A doc comment is an attribute to the compiler.
            _ if text[range.start..].starts_with('/') && range.len() > 1 => {}
            TokenTree::Group(group) => {
                for border in [group.span_open(), group.span_close()] {
                    kinds[border.byte_range()].fill(Kind::Code);
                }
                mark(group.stream(), text, kinds);
            }
            TokenTree::Literal(_) if text[range.clone()].contains(['"', '\'']) => {
                kinds[range].fill(Kind::Quoted);
            }
            _ => kinds[range].fill(Kind::Code),
        }
    }
}

fn test_items(code: &str) -> Vec<Range<usize>> {
    code.match_indices("#[cfg(test)]").map(|(start, _)| start..item_end(code, start)).collect()
}

/// Where the item ends whose attributes start at `start`: its closing brace or its semicolon.
fn item_end(code: &str, start: usize) -> usize {
    match body(code, start) {
        Some(braces) => braces.end,
        None => code[start..].find(';').map_or(code.len(), |length| start + length + 1),
    }
}

/// The braces of the item that starts at `start`, both included; `None` when a semicolon ends it.
fn body(code: &str, start: usize) -> Option<Range<usize>> {
    let mut nested = 0;
    for (offset, byte) in code.bytes().enumerate().skip(start) {
        match byte {
            b'(' | b'[' => nested += 1,
            b')' | b']' => nested -= 1,
            b';' if nested == 0 => return None,
            b'{' if nested == 0 => return Some(offset..closing(code, offset)),
            _ => {}
        }
    }
    None
}

/// One past the brace that closes the one at `open`.
fn closing(code: &str, open: usize) -> usize {
    let mut depth = 0;
    for (offset, byte) in code.bytes().enumerate().skip(open) {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return offset + 1;
        }
    }
    code.len()
}

#[test]
fn strings_and_comments_are_told_from_code() {
    for (text, code) in [
        (r#"a("b // c") // d"#, r#"a(        )"#),
        (r#"x /* a /* b */ c */ y"#, "x y"),
        ("/// It's \n fn f() / 2", "fn f() / 2"),
        (r##"let s = r#"a " b"#;"##, "let s = ;"),
        (r#"'a' + '"' + b'\'' + 'ä'"#, "+ + +"),
        ("fn f<'a>(x: &'a str) {}", "fn f<'a>(x: &'a str) {}"),
        (r#""a \" b" c"#, "c"),
    ] {
        let source = Source::new("src/a.rs".into(), text.into());
        assert_eq!(source.code.len(), text.len(), "{text}");
        let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(squeezed(&source.code), squeezed(code), "{text}");
    }
}

#[test]
fn test_items_end_where_their_braces_close() {
    let text = "a();\n#[cfg(test)]\nmod tests {\n fn b() {}\n}\nfn c() {}\n";
    let source = Source::new("src/a.rs".into(), text.into());
    assert!(!source.is_test(text.find("a();").unwrap()));
    assert!(source.is_test(text.find("fn b").unwrap()));
    assert!(!source.is_test(text.find("fn c").unwrap()));
    assert_eq!(source.lines_without_tests(), 2);
    let text = "#[cfg(test)]\nmod tests;\nfn c() {}\n";
    let source = Source::new("src/a.rs".into(), text.into());
    assert!(!source.is_test(text.find("fn c").unwrap()));
}

#[test]
fn a_word_is_not_found_inside_a_longer_one() {
    let source = Source::new("src/a.rs".into(), "eprintln!(); println!(); reprint".into());
    assert_eq!(source.find_word("println!").len(), 1);
    assert_eq!(source.find_word("print").len(), 0);
}
