//! Reads a target as vegeta writes it in JSON: an object with `method` and `url`, and possibly
//! `header`, `body` (base64) and, our own, `weight` and `slo`.
//!
//! In: a line. Out: a target, or what is wrong with the line without repeating its values: headers
//! and bodies may be secret.

use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde_json::{Map, Value};

use super::url::{Url, without_server};
use crate::terms::{Slo, SloError, Target};

const KEYS: [&str; 6] = ["method", "url", "header", "body", "weight", "slo"];

/// Reads one line.
///
/// # Errors
/// It is no such object, or what it names cannot be sent.
pub fn parse(line: &str, server: &Url) -> Result<Target, String> {
    // The text of a parser's own error would repeat what it found.
    let object: Map<String, Value> = serde_json::from_str(line).map_err(|error| {
        format!(
            "no JSON object on one line (column {}); write for example {{\"method\": \"GET\", \
             \"url\": \"/orders\"}}",
            error.column()
        )
    })?;
    if let Some(key) = object.keys().find(|key| !KEYS.contains(&key.as_str())) {
        let key = key.escape_debug();
        return Err(format!("'{key}' is no key of a target; there are {}", KEYS.join(", ")));
    }
    let path = without_server(text(&object, "url")?, server)?;
    let target = Target::new(text(&object, "method")?, &path).map_err(|error| error.to_string())?;
    let (headers, body, slo) = (headers(&object)?, body(&object)?, slo(&object)?);
    let target = Target { headers, body, slo, ..target };
    target.with_weight(weight(&object)?).map_err(|error| error.to_string())
}

fn text<'a>(object: &'a Map<String, Value>, key: &str) -> Result<&'a str, String> {
    let value = object.get(key).and_then(Value::as_str);
    value.ok_or_else(|| format!("'{key}' is missing, or is no text"))
}

/// `null` is what Go writes for nothing.
fn given<'a>(object: &'a Map<String, Value>, key: &str) -> Option<&'a Value> {
    object.get(key).filter(|value| !value.is_null())
}

/// A list of values for each name; a single value needs no list.
fn headers(object: &Map<String, Value>) -> Result<Vec<(String, String)>, String> {
    const FORM: &str = "'header' must be of the form {\"Name\": [\"value\"]}";
    let Some(value) = given(object, "header") else { return Ok(Vec::new()) };
    let mut headers = Vec::new();
    for (name, values) in value.as_object().ok_or(FORM)? {
        let values = match values {
            Value::Array(values) => values.as_slice(),
            single => std::slice::from_ref(single),
        };
        for value in values {
            headers.push((name.clone(), value.as_str().ok_or(FORM)?.to_string()));
        }
    }
    Ok(headers)
}

fn body(object: &Map<String, Value>) -> Result<Vec<u8>, String> {
    let Some(value) = given(object, "body") else { return Ok(Vec::new()) };
    let decoded = value.as_str().and_then(|text| BASE64_STANDARD.decode(text).ok());
    decoded.ok_or_else(|| "'body' must be a text in base64, such as \"e30=\" for {}".to_string())
}

fn weight(object: &Map<String, Value>) -> Result<u32, String> {
    let Some(value) = given(object, "weight") else { return Ok(1) };
    let weight = value.as_u64().and_then(|weight| u32::try_from(weight).ok());
    weight.ok_or_else(|| "'weight' must be a whole number from 1 to 10000".to_string())
}

fn slo(object: &Map<String, Value>) -> Result<Option<Slo>, String> {
    let Some(value) = given(object, "slo") else { return Ok(None) };
    let text = value.as_str().ok_or("'slo' must be a text such as \"p95<2s,errors<1%\"")?;
    let slo = text.parse().map_err(|error: SloError| format!("'slo': {error}"))?;
    Ok(Some(slo))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(line: &str) -> Result<Target, String> {
        parse(line, &Url::parse("http://app.test:3000/").unwrap())
    }

    #[test]
    fn a_target_is_read_with_everything_it_may_have() {
        let target = read(
            r#"{"method":"post","url":"http://app.test:3000/orders?x=1","body":"eyJuIjoxfQ==",
                "header":{"X-A":["1","2"],"Accept":"*/*","X-None":[]},"weight":3,"slo":"p95<2s"}"#,
        )
        .unwrap();
        assert_eq!(target.slo, Some("p95<2s".parse().unwrap()));
        assert_eq!((target.method.as_str(), target.path.as_str()), ("POST", "/orders?x=1"));
        assert_eq!((target.body.as_slice(), target.weight), (b"{\"n\":1}".as_slice(), 3));
        // In the order in which they were written.
        let headers = [("X-A", "1"), ("X-A", "2"), ("Accept", "*/*")];
        assert_eq!(target.headers, headers.map(|(name, value)| (name.into(), value.into())));
        let plain = r#"{"method":"GET","url":"/a","body":null,"header":null}"#;
        assert_eq!(read(plain).unwrap(), Target::get("/a"));
    }

    #[test]
    fn mistakes_are_named_and_values_are_not_repeated() {
        for (line, expected) in [
            (r#"{"method":"GET","url":"/a"#, "no JSON object on one line (column"),
            (r#"["s3cret"]"#, "no JSON object"),
            (r#"{"method":"GET"}"#, "'url' is missing"),
            (r#"{"url":"/"}"#, "'method' is missing"),
            (r#"{"method":"GET","url":"/","headers":{"A":["s3cret"]}}"#, "'headers' is no key"),
            (r#"{"method":"GET","url":"/","header":{"A":["s3cret",1]}}"#, "must be of the form"),
            (r#"{"method":"GET","url":"/","header":"s3cret"}"#, "must be of the form"),
            (r#"{"method":"GET","url":"/","body":"s3cret!"}"#, "'body' must be a text in base64"),
            (r#"{"method":"GET","url":"/","weight":0}"#, "'0' is no weight"),
            (r#"{"method":"GET","url":"/","weight":1.5}"#, "'weight' must be a whole number"),
            (r#"{"method":"GET","url":"/","slo":2}"#, "'slo' must be a text such as"),
            (r#"{"method":"GET","url":"/","slo":"fast"}"#, "'slo': 'fast' is no SLO term"),
            (r#"{"method":"FETCH","url":"/"}"#, "'FETCH' is no method"),
            (r#"{"method":"GET","url":"http://other.test/?s3cret"}"#, "is on another server"),
            (r#"{"method":"GET","url":"me:s3cret@host/"}"#, "not a URL"),
        ] {
            let error = read(line).unwrap_err();
            assert!(error.contains(expected), "{line}: {error}");
            assert!(!error.contains("s3cret"), "{error}");
        }
    }

    proptest! {
        #[test]
        fn any_line_is_read_or_refused(line in "\\PC{0,60}", body in "[a-zA-Z0-9+/=]{0,12}") {
            drop(read(&line));
            drop(read(&format!("{{\"method\":\"GET\",\"url\":\"/{line}\",\"body\":\"{body}\"}}")));
        }

        #[test]
        fn a_body_arrives_as_it_was(bytes: Vec<u8>) {
            let coded = BASE64_STANDARD.encode(&bytes);
            let line = format!("{{\"method\":\"PUT\",\"url\":\"/\",\"body\":\"{coded}\"}}");
            prop_assert_eq!(read(&line).unwrap().body, bytes);
        }
    }
}
