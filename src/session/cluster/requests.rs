//! What generators elsewhere are told to ask for.
//!
//! In: a plan's targets. Out: arguments of `sweetspot load`, and the files that they name. Only
//! computes.

use std::collections::BTreeMap;
use std::time::Duration;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde_json::{Value, json};

use crate::terms::{Target, format_duration};

const TARGETS: &str = "targets";

/// For each load rate, length and connections come with the order to send it; what is said of them
/// here stands for nothing. Headers and bodies may be secret, so targets go as a file.
/// `folder` stands before the name of each file.
pub fn of(
    targets: &[Target],
    timeout: Duration,
    folder: &str,
) -> (Vec<String>, BTreeMap<String, String>) {
    let timeout = format_duration(timeout);
    let file = format!("{folder}{TARGETS}");
    // Whether load may go to this address was asked here; that of a cluster's Service may be any.
    let words = ["--allow-public", "--rate", "1/s", "--duration", "1s", "--timeout", &timeout];
    let arguments = words.into_iter().chain(["--targets", &file]).map(str::to_string).collect();
    let lines: Vec<String> = targets.iter().map(|target| line(target).to_string() + "\n").collect();
    (arguments, BTreeMap::from([(TARGETS.to_string(), lines.concat())]))
}

/// As vegeta writes a target, with its weight and goal.
fn line(target: &Target) -> Value {
    let mut headers: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, value) in &target.headers {
        headers.entry(name).or_default().push(value);
    }
    json!({
        "method": target.method,
        "url": target.path,
        "header": headers,
        "body": BASE64_STANDARD.encode(&target.body),
        "weight": target.weight,
        "slo": target.slo.as_ref().map(ToString::to_string),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::traffic::{Url, parse_targets};

    #[test]
    fn generators_read_the_targets_that_were_planned() {
        let targets = [
            Target {
                headers: vec![("X-Key".into(), "k: 3y".into()), ("X-Key".into(), "2".into())],
                body: b"{\"a\":1}\n".to_vec(),
                weight: 3,
                slo: Some("p95<2s,errors<1%".parse().unwrap()),
                ..Target::new("POST", "/orders?x=1").unwrap()
            },
            Target::get("/"),
        ];
        let (arguments, files) = of(&targets, Duration::from_secs(10), "/files/");
        assert!(arguments.ends_with(&["--targets".to_string(), "/files/targets".to_string()]));
        assert!(arguments.contains(&"10s".to_string()));
        let url = Url::parse("http://10.96.0.7/").unwrap();
        let read = parse_targets(&files["targets"], &url, &|_| unreachable!()).unwrap();
        assert!(read == targets);
    }
}
