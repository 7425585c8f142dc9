//! Reads a file of targets: vegeta's formats, with weights.
//!
//! A file whose first character is `{` has a JSON object a line (`json_target`). Else it is in the
//! HTTP format: a request line `METHOD PATH-OR-URL [weight=N] [slo=GOAL]`, then its header lines
//! `Name: value`, then possibly `@FILE` for its body; blank lines and lines that begin with `#`
//! separate. Of a URL the host and port must be those of the load.

use std::io;
use std::path::Path;

use super::InputError;
use super::json_target;
use super::url::{Url, without_server};
use crate::terms::Target;

/// The text of a targets file.
///
/// # Errors
/// It cannot be read, or is no UTF-8.
pub fn read(file: &Path) -> Result<String, InputError> {
    std::fs::read_to_string(file).map_err(|error| {
        let file = file.display();
        InputError(format!("could not read the targets file {file}: {error}"))
    })
}

/// The server that the first whole URL in a targets file names.
///
/// # Errors
/// There is none, or it is no URL that can be used.
pub fn server(text: &str) -> Result<Url, InputError> {
    let in_json = text.trim_start().starts_with('{');
    let first = text.lines().map(str::trim).find_map(|line| match in_json {
        true => serde_json::from_str::<serde_json::Value>(line)
            .ok()?
            .get("url")?
            .as_str()
            .and_then(whole),
        // Headers and comments may hold one too; a request line has it for its second word.
        false if line.starts_with('#') || is_header(line) => None,
        false => line.split_ascii_whitespace().nth(1).and_then(whole),
    });
    let Some(first) = first else {
        let what = "the URL is missing: name the server, such as http://127.0.0.1:9292/, or write \
                    whole URLs into the targets file";
        return Err(InputError(what.into()));
    };
    Ok(Url { path: "/".into(), ..Url::parse(&first)? })
}

fn whole(word: &str) -> Option<String> {
    ["http://", "https://"].iter().any(|scheme| word.starts_with(scheme)).then(|| word.to_string())
}

/// Reads the whole file. `read_body` is given the names after `@`.
///
/// # Errors
/// With the line number and the way out: a line that is none of the above, a file that cannot be
/// read, another server, or no target at all.
pub fn parse(
    text: &str,
    server: &Url,
    read_body: &dyn Fn(&str) -> io::Result<Vec<u8>>,
) -> Result<Vec<Target>, InputError> {
    match text.trim_start().starts_with('{') {
        true => parse_json(text, server),
        false => parse_http(text, server, read_body),
    }
}

fn parse_json(text: &str, server: &Url) -> Result<Vec<Target>, InputError> {
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(number, line)| {
            json_target::parse(line, server).map_err(|what| mistake(number, &what))
        })
        .collect()
}

fn mistake(line: u64, what: &str) -> InputError {
    InputError(format!("targets file, line {line}: {what}"))
}

fn parse_http(
    text: &str,
    server: &Url,
    read_body: &dyn Fn(&str) -> io::Result<Vec<u8>>,
) -> Result<Vec<Target>, InputError> {
    let mut targets: Vec<Target> = Vec::new();
    for (number, line) in (1..).zip(text.lines().map(str::trim)) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let result = match (targets.last_mut(), line.strip_prefix('@')) {
            (Some(target), Some(file)) => read_body(file.trim())
                .map(|body| target.body = body)
                .map_err(|error| format!("could not read '{}': {error}", file.trim())),
            (Some(target), None) if is_header(line) => {
                header(line).map(|header| target.headers.push(header))
            }
            (_, None) if !is_header(line) => {
                request(line, server).map(|target| targets.push(target))
            }
            _ => Err("a header or body must follow a line such as 'GET /path'".to_string()),
        };
        result.map_err(|what| mistake(number, &what))?;
    }
    if targets.is_empty() {
        let what = "the targets file names no target; write lines such as 'GET /orders weight=3'";
        return Err(InputError(what.into()));
    }
    Ok(targets)
}

/// A request line has a space before any colon, or begins with a URL; a header's name has neither.
fn is_header(line: &str) -> bool {
    let name_end = line.find(|c: char| c == ':' || c.is_whitespace());
    let rest = name_end.map_or("", |at| &line[at..]);
    rest.starts_with(':') && !rest.starts_with("://")
}

fn request(line: &str, server: &Url) -> Result<Target, String> {
    let words = line.split_ascii_whitespace().map(|word| without_server(word, server));
    let words = words.collect::<Result<Vec<_>, _>>()?;
    words.join(" ").parse().map_err(|error: crate::terms::TargetError| error.to_string())
}

/// `Name: value`.
///
/// # Errors
/// There is no name before a colon.
pub fn header(line: &str) -> Result<(String, String), String> {
    match line.split_once(':') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_string(), value.trim().to_string()))
        }
        // The text is not repeated: it may be a secret without its name.
        _ => Err("a header must be of the form 'Name: value'".to_string()),
    }
}

/// As the HTTP format spells them; each body is a file that is named by its target's place, from 0.
#[cfg(any(test, fuzzing))]
pub fn written(targets: &[Target]) -> String {
    let mut text = String::new();
    for (place, target) in targets.iter().enumerate() {
        let slo = target.slo.as_ref().map_or_else(String::new, |slo| format!(" slo={slo}"));
        text += &format!("{} {} weight={}{slo}\n", target.method, target.path, target.weight);
        for (name, value) in &target.headers {
            text += &format!("{name}: {value}\n");
        }
        if !target.body.is_empty() {
            text += &format!("@{place}\n");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Result<Vec<Target>, InputError> {
        let server = Url::parse("http://app.test:3000/").unwrap();
        parse(text, &server, &|name| match name {
            "body.json" => Ok(b"{}".to_vec()),
            _ => Err(io::ErrorKind::NotFound.into()),
        })
    }

    #[test]
    fn targets_with_headers_bodies_and_weights_are_read() {
        let targets = read(
            "# a mix\nGET /\n\nPOST http://app.test:3000/orders?x=1 weight=3\nContent-Type: \
             application/json\nReferer: http://elsewhere.test/a b\n@body.json\nHEAD /health\n",
        )
        .unwrap();
        let shown: Vec<String> = targets.iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["GET /", "POST /orders?… (weight 3)", "HEAD /health"]);
        assert_eq!(targets[1].path, "/orders?x=1");
        assert_eq!(targets[1].headers[0], ("Content-Type".into(), "application/json".into()));
        assert_eq!(targets[1].headers[1].1, "http://elsewhere.test/a b");
        assert_eq!(targets[1].body, b"{}");
        assert!(targets[2].headers.is_empty() && targets[2].body.is_empty());
    }

    #[test]
    fn a_file_of_json_lines_is_recognised_and_its_mistakes_have_their_line() {
        let targets = read(
            "\n  {\"method\":\"GET\",\"url\":\"/a\",\"weight\":2}\n\n\
             {\"method\": \"POST\", \"url\": \"http://app.test:3000/b\"}\n",
        )
        .unwrap();
        let shown: Vec<String> = targets.iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["GET /a (weight 2)", "POST /b"]);
        let error = read("{\"method\":\"GET\",\"url\":\"/\"}\n\nGET /\n").unwrap_err();
        assert!(error.to_string().starts_with("targets file, line 3: "), "{error}");
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused_and_a_bad_line_has_its_number(
            text in "\\PC{0,60}", blank in 0usize..5
        ) {
            drop(read(&text));
            drop(read(&text.replace(' ', "\n")));
            for (first, bad) in [("GET /", "GET"), ("{\"method\":\"GET\",\"url\":\"/\"}", "{")] {
                let text = format!("{first}\n{}{bad}\n", "\n".repeat(blank));
                let error = read(&text).unwrap_err().to_string();
                let place = format!("targets file, line {}: ", blank + 2);
                prop_assert!(error.starts_with(&place), "{}", error);
            }
        }
    }

    #[test]
    fn the_first_whole_url_names_the_server() {
        let http = "# http://no.test/\nGET /a?next=http://no.test/\nReferer: http://no.test/\n\n\
                    POST http://app.test:3000/b?c\n@body.json\nGET http://other.test/\n";
        let json = "{\"method\":\"GET\",\"url\":\"/a\"}\n\
                    {\"method\":\"GET\",\"url\":\"http://app.test:3000/b\"}";
        for text in [http, json] {
            assert_eq!(server(text).unwrap().to_string(), "http://app.test:3000/");
        }
        for text in ["", "GET /a", "{\"method\":\"GET\",\"url\":\"/a\"}", "{"] {
            let error = server(text).unwrap_err().to_string();
            assert!(error.contains("write whole URLs into the targets file"), "{error}");
        }
    }

    #[test]
    fn a_path_may_have_a_url_in_its_query() {
        let targets = read("GET /login?next=http://other.test/\n").unwrap();
        assert_eq!(targets[0].path, "/login?next=http://other.test/");
        let targets = read("http://app.test:3000/login?next=http://other.test/\n").unwrap();
        assert_eq!(targets[0].path, "/login?next=http://other.test/");
    }

    #[test]
    fn a_header_is_one_with_a_space_after_its_colon_or_without() {
        let targets = read("/\nReferer:http://other.test/\nX-A:b:c\nX-B:\n").unwrap();
        let names: Vec<_> = targets[0].headers.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["Referer", "X-A", "X-B"]);
        assert_eq!(targets[0].headers[0].1, "http://other.test/");
    }

    #[test]
    fn mistakes_are_named_with_their_line_and_the_way_out() {
        for (text, expected) in [
            ("", "names no target"),
            ("X-A: 1\nGET /", "line 1: a header or body must follow"),
            ("@body.json", "line 1: a header or body must follow"),
            ("GET /\n\nFETCH /x", "line 3: 'FETCH' is no method"),
            ("GET /\n@missing", "line 2: could not read 'missing'"),
            ("GET http://other.test/", "line 1: 'http://other.test/' is on another server"),
            ("GET https://app.test:3000/", "on another server than http://app.test:3000/"),
            ("GET / weight=0", "line 1: '0' is no weight"),
            ("GET /\nGET /x slo=p95", "line 2: its goal cannot be read: 'p95' is no SLO term"),
            ("GET /\nGET /x slo=p95<1s slo=p95<1s", "line 2: 'slo=' stands there twice"),
            ("POST / password=secret", "line 1: 'password=…' after the path is unknown"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text:?}: {error}");
        }
    }

    /// Lines from which good and bad files can be put together.
    fn line() -> impl Strategy<Value = String> {
        prop_oneof![
            prop::sample::select(vec![
                "GET /",
                "post /a?b=c weight=3",
                "/slow slo=p99.9<1.5s,errors<0.1%",
                "http://app.test:3000/x?next=http://y.test/: weight=10000",
                "X-A: b",
                "Referer:http://y.test/ z: #",
                "Ä:\u{a0} é\tç \r",
                "@body.json",
                "# a comment",
                "",
            ])
            .prop_map(str::to_string),
            "[A-Za-z/:@#?=. \t-]{0,20}",
        ]
    }

    proptest! {
        #[test]
        fn what_was_read_is_read_again_when_it_is_written_back(
            lines in prop::collection::vec(line(), 0..8)
        ) {
            match read(&lines.join("\n")) {
                Ok(targets) => {
                    let server = Url::parse("http://app.test:3000/").unwrap();
                    let body = |place: &str| -> io::Result<Vec<u8>> {
                        Ok(targets[place.parse::<usize>().unwrap()].body.clone())
                    };
                    let again = parse(&written(&targets), &server, &body);
                    prop_assert_eq!(again.map_err(|error| error.to_string()), Ok(targets.clone()));
                }
                Err(error) => {
                    let error = error.to_string();
                    let names = |line: usize| error.contains(&format!("line {line}: "));
                    let names_line = (1..=lines.len()).any(names);
                    prop_assert!(names_line || error.contains("names no target"), "{error}");
                }
            }
        }
    }
}
