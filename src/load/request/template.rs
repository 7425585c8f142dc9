//! Texts with variables, taken apart once and put together for each request.
//!
//! In: a target's path, header values and body. Out: bytes, in a buffer of the caller's. Must not
//! allocate while a load runs but to enlarge that buffer.
//!
//! A variable is `{{name}}`: two braces, a name (letters, digits, `_`, `-` and `.`, beginning with
//! a letter or `_`), two braces, and nothing else between them. So `{{ name }}`, `{{#list}}` or
//! `{{ 7 * 7 }}` stay what they are, and to send braces around a name one writes spaces.

use std::io::Write;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};

use super::variables::{UUID_LENGTH, Values, Variable, is_name, is_part_of_name};

/// What is percent-encoded in a path: all but what need not be (RFC 3986, section 2.3).
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The component of a request that a text stands in, which says what its values may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Component {
    /// Values are percent-encoded: a value stays one part of the path or query, whatever it holds.
    Path,
    /// Values must fit on a line.
    Header,
    /// Values stand there as they are.
    Body,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(Vec<u8>),
    Value {
        variable: Variable,
        is_encoded: bool,
    },
    /// How long the body is.
    BodyLength,
    /// The client's cookies: a header of their own, or the rest of one that was begun.
    Cookies {
        is_begun: bool,
    },
}

/// A part of a request: text, and variables between.
#[derive(Debug, Default)]
pub struct Pieces(Vec<Piece>);

impl Pieces {
    /// Text that holds no variables.
    pub fn push_text(&mut self, text: impl AsRef<[u8]>) {
        let text = text.as_ref();
        match self.0.last_mut() {
            _ if text.is_empty() => {}
            Some(Piece::Text(before)) => before.extend_from_slice(text),
            _ => self.0.push(Piece::Text(text.to_vec())),
        }
    }

    /// Text that may hold variables.
    ///
    /// # Errors
    /// An unknown variable, or one whose values cannot stand there. Says which; not its value.
    pub fn push(
        &mut self,
        text: &str,
        component: Component,
        values: &Values,
    ) -> Result<(), String> {
        let mut rest = text;
        while let Some((at, name)) = find_variable(rest) {
            let variable = values.variable(name)?;
            if component == Component::Header
                && let Some(row) = values.row_with_line_end(variable)
            {
                return Err(format!(
                    "{{{{{name}}}}} stands in a header, which is one line, but its value in row \
                     {row} has a line end"
                ));
            }
            self.push_text(&rest[..at]);
            self.0.push(Piece::Value { variable, is_encoded: component == Component::Path });
            rest = &rest[at + name.len() + "{{}}".len()..];
        }
        self.push_text(rest);
        Ok(())
    }

    /// The length of this body, which may differ from request to request.
    pub fn push_length(&mut self, body: &Self) {
        match body.as_text() {
            Some(text) => self.push_text(text.len().to_string()),
            None => self.0.push(Piece::BodyLength),
        }
    }

    /// The header with the cookies of the client that sends it; `own` are those of the target.
    ///
    /// # Errors
    /// As [`push`](Self::push).
    pub fn push_cookies(&mut self, own: Option<&str>, values: &Values) -> Result<(), String> {
        if let Some(own) = own {
            self.push_text("Cookie: ");
            self.push(own, Component::Header, values)?;
        }
        self.0.push(Piece::Cookies { is_begun: own.is_some() });
        self.push_text(if own.is_some() { "\r\n" } else { "" });
        Ok(())
    }

    /// Everything, when nothing in it varies.
    pub fn as_text(&self) -> Option<&[u8]> {
        match self.0.as_slice() {
            [] => Some(&[]),
            [Piece::Text(text)] => Some(text),
            _ => None,
        }
    }
}

/// The first variable, by the place of its braces and its name.
fn find_variable(text: &str) -> Option<(usize, &str)> {
    let mut from = 0;
    loop {
        let at = from + text[from..].find("{{")?;
        let inside = &text[at + "{{".len()..];
        let end = inside.find(|c| !is_part_of_name(c)).unwrap_or(inside.len());
        let (name, after) = inside.split_at(end);
        if is_name(name) && after.starts_with("}}") {
            return Some((at, name));
        }
        from = at + 1;
    }
}

/// A request that differs each time it is sent.
#[derive(Debug)]
pub struct Template {
    head: Pieces,
    body: Pieces,
    values: Values,
    longest: usize,
}

impl Template {
    pub fn new(head: Pieces, body: Pieces, values: &Values) -> Self {
        let pieces = head.0.iter().chain(&body.0);
        let longest = pieces.map(|piece| longest(piece, values)).sum();
        Self { head, body, values: values.clone(), longest }
    }

    /// Most bytes that it can have, as far as that is known of cookies.
    pub fn longest(&self) -> usize {
        self.longest
    }

    /// Puts request `number` of the load together, instead of what the buffer holds. `cookies` are
    /// those of its client, such as `a=1; b=2`.
    pub fn render(&self, number: u64, cookies: &[u8], into: &mut Vec<u8>) {
        into.clear();
        into.reserve(self.longest);
        let uuid = self.values.uuid(number);
        let values = RequestValues { number, uuid, cookies, values: &self.values };
        // The head holds the length of a body that varies, which is known once that is written.
        let varies = self.body.as_text().is_none();
        let (head, body) = (&self.head.0, &self.body.0);
        let (first, second) = if varies { (body, head) } else { (head, body) };
        first.iter().for_each(|piece| values.write(piece, 0, into));
        let length = into.len();
        second.iter().for_each(|piece| values.write(piece, length, into));
        if varies {
            into.rotate_left(length);
        }
    }
}

/// Bytes of cookies; when there are more, the buffer grows once.
const USUAL_COOKIES: usize = 4096;

fn longest(piece: &Piece, values: &Values) -> usize {
    match piece {
        Piece::Text(text) => text.len(),
        // Each byte may become three.
        Piece::Value { variable, is_encoded: true } => 3 * values.longest(*variable),
        Piece::Value { variable, is_encoded: false } => values.longest(*variable),
        Piece::BodyLength => usize::MAX.to_string().len(),
        Piece::Cookies { .. } => USUAL_COOKIES,
    }
}

/// The values of one request.
struct RequestValues<'a> {
    number: u64,
    uuid: [u8; UUID_LENGTH],
    cookies: &'a [u8],
    values: &'a Values,
}

impl RequestValues<'_> {
    fn write(&self, piece: &Piece, body_length: usize, into: &mut Vec<u8>) {
        match piece {
            Piece::Text(text) => into.extend_from_slice(text),
            Piece::Value { variable: Variable::Sequence, .. } => write_number(self.number, into),
            Piece::Value { variable: Variable::Uuid, .. } => into.extend_from_slice(&self.uuid),
            Piece::Value { variable: Variable::Column(column), is_encoded } => {
                let value = self.values.of_column(self.number, *column).as_bytes();
                match is_encoded {
                    true => percent_encode(value, RESERVED)
                        .for_each(|part| into.extend_from_slice(part.as_bytes())),
                    false => into.extend_from_slice(value),
                }
            }
            Piece::BodyLength => write_number(body_length as u64, into),
            Piece::Cookies { .. } if self.cookies.is_empty() => {}
            Piece::Cookies { is_begun } => {
                let (before, after): (&[u8], &[u8]) = match is_begun {
                    true => (b"; ", b""),
                    false => (b"Cookie: ", b"\r\n"),
                };
                [before, self.cookies, after].iter().for_each(|part| into.extend_from_slice(part));
            }
        }
    }
}

fn write_number(number: u64, into: &mut Vec<u8>) {
    write!(into, "{number}").expect("a vector takes whatever is written to it");
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::super::variables::Variables;
    use super::*;

    fn values(rows: &[[&str; 2]]) -> Values {
        let mut variables = Variables::new(vec!["name".into(), "id".into()]).unwrap();
        rows.iter().for_each(|row| variables.push(row.iter().copied()));
        Values { table: Some(Arc::new(variables)), seed: 1, has_cookies: false }
    }

    fn rendered(text: &str, component: Component, values: &Values, number: u64) -> String {
        let mut pieces = Pieces::default();
        pieces.push(text, component, values).unwrap();
        let template = Template::new(pieces, Pieces::default(), values);
        let mut buffer = Vec::new();
        template.render(number, &[], &mut buffer);
        assert!(buffer.len() <= template.longest());
        String::from_utf8(buffer).unwrap()
    }

    #[test]
    fn variables_are_replaced_and_everything_else_stays() {
        let values = values(&[["Ann", "7"], ["Böb & co", "8"]]);
        let others = "{{ seq }} {{}} {{#seq}} {{/seq}} {{7*7}} {{1st}} {{seq} {{seq";
        for (text, expected) in [
            ("{{seq}}", "1"),
            ("{\"n\":{{seq}}}", "{\"n\":1}"),
            ("{{{id}}}{{name}}", "{8}Böb & co"),
            ("{{{{id}}", "{{8"),
            (others, others),
            ("", ""),
        ] {
            assert_eq!(rendered(text, Component::Body, &values, 1), expected, "{text}");
        }
        let path = rendered("/u/{{name}}?id={{id}}", Component::Path, &values, 3);
        assert_eq!(path, "/u/B%C3%B6b%20%26%20co?id=8");
    }

    #[test]
    fn unknown_variables_and_values_that_do_not_fit_are_refused_without_the_value() {
        let values = values(&[["a", "1"], ["s3cret\n", "2"]]);
        let refusal =
            |text, component| Pieces::default().push(text, component, &values).unwrap_err();
        assert!(refusal("x {{nam}}", Component::Body).starts_with("{{nam}} is no variable"));
        let line_end = refusal("{{id}} {{name}}", Component::Header);
        assert!(line_end.contains("{{name}} stands in a header"), "{line_end}");
        assert!(line_end.contains("row 2") && !line_end.contains("s3cret"), "{line_end}");
        assert_eq!(rendered("{{name}}", Component::Body, &values, 1), "s3cret\n");
        assert_eq!(rendered("{{name}}", Component::Path, &values, 1), "s3cret%0A");
    }

    #[test]
    fn the_buffer_is_allocated_once() {
        let values = values(&[["a", "1"], ["bb", "22"]]);
        let mut pieces = Pieces::default();
        pieces.push("/{{name}}/{{uuid}}/{{seq}}", Component::Path, &values).unwrap();
        let template = Template::new(pieces, Pieces::default(), &values);
        let mut buffer = Vec::new();
        template.render(0, &[], &mut buffer);
        let (place, capacity) = (buffer.as_ptr(), buffer.capacity());
        let numbers = (1..1000).chain([u64::MAX]);
        numbers.for_each(|number| template.render(number, &[], &mut buffer));
        assert_eq!((buffer.as_ptr(), buffer.capacity()), (place, capacity));
    }

    proptest! {
        #[test]
        fn any_text_without_a_variable_stays_as_it_is(text in "[a{}7 é\\-.]{0,40}") {
            prop_assume!(find_variable(&text).is_none());
            let mut pieces = Pieces::default();
            pieces.push(&text, Component::Body, &Values::default()).unwrap();
            prop_assert_eq!(pieces.as_text(), Some(text.as_bytes()));
        }

        #[test]
        fn the_length_of_a_body_is_what_is_written(
            before in "[^{}]{0,9}", name in "\\PC{0,20}", number: u64
        ) {
            let values = values(&[[name.as_str(), "1"], ["", ""], ["x", "ü"]]);
            let mut body = Pieces::default();
            let text = format!("{before}{{{{name}}}}{{{{id}}}} {{{{seq}}}} {{{{uuid}}}}");
            body.push(&text, Component::Body, &values).unwrap();
            let mut head = Pieces::default();
            head.push_length(&body);
            head.push_text("|");
            let mut buffer = Vec::new();
            Template::new(head, body, &values).render(number, &[], &mut buffer);
            let text = String::from_utf8(buffer).unwrap();
            let (length, body) = text.split_once('|').unwrap();
            prop_assert_eq!(length.parse::<usize>().unwrap(), body.len());
        }

        #[test]
        fn a_value_in_a_path_is_one_part_of_it(value in "\\PC{0,20}") {
            let values = values(&[[value.as_str(), ""]]);
            let path = rendered("/{{name}}", Component::Path, &values, 0);
            prop_assert!(path.bytes().all(|b| b.is_ascii_graphic()));
            prop_assert!(!path[1..].contains(['/', '?', '#', '&', '=', '+']));
        }
    }
}
