//! Reads a file of variables: CSV (RFC 4180) whose first line gives the names.
//!
//! In: a file's bytes. Out: names and rows, or what is wrong without repeating values: they may be
//! secret.

use std::io::Read;
use std::path::Path;

use csv::{ErrorKind, ReaderBuilder, StringRecord};

use super::InputError;
use crate::load::Variables;

/// Reads the file.
///
/// # Errors
/// With the line: it cannot be read, is no CSV, or has no names or no rows.
pub fn read(file: &Path) -> Result<Variables, InputError> {
    let opened = std::fs::File::open(file).map_err(|error| error.to_string());
    opened.and_then(parse).map_err(|what| {
        InputError(format!("could not read the variables file {}: {what}", file.display()))
    })
}

fn parse(table: impl Read) -> Result<Variables, String> {
    let mut table = ReaderBuilder::new().from_reader(table);
    let names = table.headers().map_err(|error| at_line(&error))?;
    // Spreadsheets begin their files with a mark, and people put spaces after commas.
    let names = names.iter().map(|name| name.trim_start_matches('\u{feff}').trim().to_string());
    let mut variables = Variables::new(names.collect()).map_err(|error| error.to_string())?;
    let mut row = StringRecord::new();
    while table.read_record(&mut row).map_err(|error| at_line(&error))? {
        variables.push(&row);
    }
    match variables.rows() {
        0 => Err("it has names but no row below them".to_string()),
        _ => Ok(variables),
    }
}

fn at_line(error: &csv::Error) -> String {
    let what = match error.kind() {
        ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("{len} values for {expected_len} names")
        }
        ErrorKind::Utf8 { .. } => "not UTF-8".to_string(),
        ErrorKind::Io(error) => error.to_string(),
        _ => "no CSV".to_string(),
    };
    match error.position() {
        Some(position) => format!("line {}: {what}", position.line()),
        None => what,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_and_rows_are_read() {
        let variables =
            parse("\u{feff}id, name\n7,\"a, \"\"b\"\"\nc\"\n\n8,\n".as_bytes()).unwrap();
        assert_eq!(format!("{variables:?}"), "2 rows of id, name");
        let mut expected = Variables::new(vec!["id".into(), "name".into()]).unwrap();
        expected.push(["7", "a, \"b\"\nc"]);
        expected.push(["8", ""]);
        assert_eq!(variables, expected);
    }

    #[test]
    fn mistakes_are_named_with_their_line_and_values_are_not_repeated() {
        for (text, expected) in [
            (b"".as_slice(), "no variable is named"),
            (b"id\n", "no row below them"),
            (b"id,user name\n1,2\n", "'user name' cannot be the name"),
            (b"id,name\n1,2\ns3cret\n", "line 3: 1 values for 2 names"),
            (b"id,name\n1,\"2\n3\"\ns3cret,2,3\n", "line 4: 3 values for 2 names"),
            (b"id\n1\ns3cret\xff\n", "line 3: not UTF-8"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(expected), "{error}");
            assert!(!error.contains("s3cret"), "{error}");
        }
        let missing = read(Path::new("/no/such/file")).unwrap_err();
        assert!(missing.to_string().contains("/no/such/file"), "{missing}");
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(
            bytes in proptest::collection::vec(any::<u8>(), 0..80)
        ) {
            drop(parse(bytes.as_slice()));
            drop(parse([b"id,name\n".as_slice(), &bytes].concat().as_slice()));
        }
    }
}
