//! What variables stand for: the request's number, a UUID, and the columns of a table whose rows
//! the requests take in turn.
//!
//! In: a table and a seed. Out: values by the number of a request. Values may be secret: they are
//! never shown.

use std::fmt;
use std::sync::Arc;

use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::load::error::LoadError;

/// The number of the request in the whole load, from 0.
pub const SEQUENCE: &str = "seq";

/// A random UUID, one a request however often it stands there.
pub const UUID: &str = "uuid";

pub const UUID_LENGTH: usize = 36;

/// A table: names, and rows with a value for each name.
#[derive(Clone, PartialEq, Eq)]
pub struct Variables {
    names: Vec<String>,
    rows: u64,
    /// All values one after the other, row by row.
    text: String,
    /// Where each value ends in the text.
    ends: Vec<usize>,
}

impl Variables {
    /// A table without rows.
    ///
    /// # Errors
    /// No name; one that cannot stand in braces, is given twice, or means something already.
    pub fn new(names: Vec<String>) -> Result<Self, LoadError> {
        let refuse = |what: String| Err(LoadError::Plan(what));
        for (at, name) in names.iter().enumerate() {
            let shown = name.escape_debug();
            if !is_name(name) {
                return refuse(format!(
                    "'{shown}' cannot be the name of a variable; use letters, digits, '_', '-' \
                     and '.', beginning with a letter"
                ));
            }
            if [SEQUENCE, UUID].contains(&name.as_str()) {
                return refuse(format!("the variable '{shown}' is there already; rename yours"));
            }
            if names[..at].contains(name) {
                return refuse(format!("the variable '{shown}' is given twice; rename one"));
            }
        }
        if names.is_empty() {
            return refuse("no variable is named".into());
        }
        Ok(Self { names, rows: 0, text: String::new(), ends: Vec::new() })
    }

    /// Adds a row; values that are missing are empty, and those without a name are left out.
    pub fn push<'a>(&mut self, values: impl IntoIterator<Item = &'a str>) {
        let mut values = values.into_iter();
        for _ in 0..self.names.len() {
            self.text += values.next().unwrap_or_default();
            self.ends.push(self.text.len());
        }
        self.rows += 1;
    }

    /// How many rows there are.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// All values, row by row. They may be secret: for a digest of them, and not to be shown.
    pub fn values(&self) -> impl Iterator<Item = &str> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(move |(start, end)| &self.text[start..*end])
    }

    fn column(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|known| known == name)
    }

    /// The value of request `number`, which takes row `number` modulo the rows; empty without rows.
    fn value(&self, number: u64, column: usize) -> &str {
        let row = number.checked_rem(self.rows).unwrap_or(0) as usize;
        let at = row * self.names.len() + column;
        let start = if at == 0 { 0 } else { self.ends.get(at - 1).copied().unwrap_or(0) };
        let end = self.ends.get(at).copied().unwrap_or(start);
        &self.text[start..end]
    }

    fn column_values(&self, column: usize) -> impl Iterator<Item = &str> {
        (0..self.rows).map(move |row| self.value(row, column))
    }
}

/// Without the values.
impl fmt::Debug for Variables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} rows of {}", self.rows, self.names.join(", "))
    }
}

/// What may stand between the braces of a variable.
pub fn is_name(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && text.chars().all(is_part_of_name)
}

pub fn is_part_of_name(character: char) -> bool {
    character.is_ascii_alphanumeric() || "_-.".contains(character)
}

/// What the variables of a load stand for.
#[derive(Debug, Clone, Default)]
pub struct Values {
    pub table: Option<Arc<Variables>>,
    pub seed: u64,
    /// Each client's cookies are sent too.
    pub has_cookies: bool,
}

/// One variable of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variable {
    Sequence,
    Uuid,
    Column(usize),
}

impl Values {
    /// The variable of this name.
    ///
    /// # Errors
    /// None has it; says which there are.
    pub fn variable(&self, name: &str) -> Result<Variable, String> {
        let column = self.table.as_ref().and_then(|table| table.column(name));
        match (name, column) {
            (SEQUENCE, _) => Ok(Variable::Sequence),
            (UUID, _) => Ok(Variable::Uuid),
            (_, Some(column)) => Ok(Variable::Column(column)),
            (_, None) => Err(self.unknown(name)),
        }
    }

    fn unknown(&self, name: &str) -> String {
        let known = match &self.table {
            Some(table) => format!("known are {SEQUENCE}, {UUID}, {}", table.names.join(", ")),
            None => format!("known are {SEQUENCE} and {UUID}, and no table of variables is given"),
        };
        format!(
            "{{{{{name}}}}} is no variable ({known}); if it is to be sent as it stands, write it \
             with spaces: {{{{ {name} }}}}"
        )
    }

    /// The row, from 1, whose value of this variable could not stand in one line.
    pub fn row_with_line_end(&self, variable: Variable) -> Option<u64> {
        let (Variable::Column(column), Some(table)) = (variable, &self.table) else { return None };
        let breaks_line = |value: &str| value.contains(['\r', '\n', '\0']);
        (1..).zip(table.column_values(column)).find(|(_, v)| breaks_line(v)).map(|(row, _)| row)
    }

    /// Most bytes that its value has.
    pub fn longest(&self, variable: Variable) -> usize {
        match (variable, &self.table) {
            (Variable::Sequence, _) => u64::MAX.to_string().len(),
            (Variable::Uuid, _) => UUID_LENGTH,
            (Variable::Column(column), Some(table)) => {
                table.column_values(column).map(str::len).max().unwrap_or(0)
            }
            (Variable::Column(_), None) => 0,
        }
    }

    /// The value of a column for a request.
    pub fn of_column(&self, number: u64, column: usize) -> &str {
        self.table.as_ref().map_or("", |table| table.value(number, column))
    }

    /// The UUID of a request, version 4 (RFC 9562, section 5.4).
    ///
    /// It depends on nothing but seed and number, so that a request that is sent again is the same
    /// request, and loops need not agree on an order.
    pub fn uuid(&self, number: u64) -> [u8; UUID_LENGTH] {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        // An odd factor (of a well-tried linear congruential generator) keeps the numbers of
        // different seeds apart.
        let start = self.seed.wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(number);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(start);
        let bits = u128::from(random.next_u64()) << 64 | u128::from(random.next_u64());
        let bits = bits & !(0xf << 76) | 0x4 << 76;
        let bits = bits & !(0x3 << 62) | 0x2 << 62;
        let mut left = u128::BITS;
        let mut text = [b'-'; UUID_LENGTH];
        for (at, digit) in text.iter_mut().enumerate() {
            if ![8, 13, 18, 23].contains(&at) {
                left -= 4;
                *digit = DIGITS[(bits >> left) as usize & 0xf];
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn values(table: Option<Variables>, seed: u64) -> Values {
        Values { table: table.map(Arc::new), seed, has_cookies: false }
    }

    fn table(names: &[&str]) -> Result<Variables, LoadError> {
        Variables::new(names.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn requests_take_the_rows_in_turn() {
        let mut variables = table(&["a", "b"]).unwrap();
        variables.push(["1", "one"]);
        variables.push(["", "two", "surplus"]);
        variables.push(["3"]);
        let row = |number| [variables.value(number, 0), variables.value(number, 1)];
        assert_eq!([row(0), row(1), row(2)], [["1", "one"], ["", "two"], ["3", ""]]);
        assert_eq!([row(3), row(3_000_001)], [row(0), row(1)]);
        assert_eq!(variables.rows(), 3);
        let all: Vec<&str> = variables.values().collect();
        assert_eq!(all, ["1", "one", "", "two", "3", ""]);
        assert_eq!(table(&["a"]).unwrap().value(7, 0), "", "without rows");
    }

    #[test]
    fn names_that_could_not_be_used_are_refused() {
        for (names, expected) in [
            (&[][..], "no variable is named"),
            (&["a", "user id"], "'user id' cannot be the name"),
            (&["1st"], "'1st' cannot be the name"),
            (&[""], "'' cannot be the name"),
            (&["a", "uuid"], "'uuid' is there already"),
            (&["a", "b", "a"], "'a' is given twice"),
        ] {
            let error = table(names).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        assert!(table(&["e-mail", "_x", "user.name"]).is_ok());
    }

    #[test]
    fn an_unknown_name_is_refused_with_the_known_ones() {
        let mut variables = table(&["user", "password"]).unwrap();
        variables.push(["me", "s3cret"]);
        let values = values(Some(variables), 1);
        assert_eq!(values.variable("password"), Ok(Variable::Column(1)));
        let error = values.variable("pasword").unwrap_err();
        assert_eq!(
            error,
            "{{pasword}} is no variable (known are seq, uuid, user, password); if it is to be sent \
             as it stands, write it with spaces: {{ pasword }}"
        );
        assert!(!format!("{values:?}").contains("s3cret"));
        assert!(Values::default().variable("user").unwrap_err().contains("no table of variables"));
    }

    #[test]
    fn a_value_with_a_line_end_is_found() {
        let mut variables = table(&["a"]).unwrap();
        ["fine", "", "no\r\ngood", "\n"].iter().for_each(|value| variables.push([*value]));
        let values = values(Some(variables), 1);
        assert_eq!(values.row_with_line_end(Variable::Column(0)), Some(3));
        assert_eq!(values.row_with_line_end(Variable::Uuid), None);
        assert_eq!(values.longest(Variable::Column(0)), 8);
    }

    #[test]
    fn uuids_are_valid_and_differ_by_number_and_seed() {
        let mut seen = BTreeSet::new();
        for seed in 0..3 {
            for number in 0..2000 {
                let text = values(None, seed).uuid(number);
                let text = std::str::from_utf8(&text).unwrap().to_string();
                assert_eq!((&text[14..15], text.len()), ("4", 36), "{text}");
                assert!("89ab".contains(&text[19..20]), "{text}");
                let groups: Vec<usize> = text.split('-').map(str::len).collect();
                assert_eq!(groups, [8, 4, 4, 4, 12], "{text}");
                assert!(text.bytes().all(|b| b == b'-' || b"0123456789abcdef".contains(&b)));
                assert!(seen.insert(text), "each only once");
            }
        }
        assert_eq!(values(None, 7).uuid(9), values(None, 7).uuid(9));
    }
}
