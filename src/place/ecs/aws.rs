//! The `aws` command, run once for each question.
//!
//! In: a service of AWS, an operation and its arguments. Out: its JSON. What it is to be given that
//! may hold a secret goes to its standard input, so that none stands in a command line.

use std::fs::File;
use std::io::{self, Write};
use std::process::{Command, Stdio};
use std::sync::Once;
use std::thread;
use std::time::Duration;

use rustix::fs::{MemfdFlags, memfd_create};
use serde_json::Value;
use thiserror::Error;

/// Whose credentials it uses, which region and which endpoint its own variables say, as always.
const PROGRAM: &str = "aws";

/// What it is run with, unless the user has said otherwise: it waits and asks again by itself where
/// AWS asks it to send less.
const PATIENT: [(&str, &str); 2] = [("AWS_RETRY_MODE", "standard"), ("AWS_MAX_ATTEMPTS", "8")];

/// What it says where the credentials may not do something, or are no longer good.
const NOT_ALLOWED: [&str; 2] = ["AccessDenied", "UnauthorizedOperation"];
const EXPIRED: [&str; 3] = ["ExpiredToken", "InvalidClientTokenId", "RequestExpired"];
/// What it says where AWS wants less to be asked, and it has given up waiting.
const THROTTLED: [&str; 4] =
    ["Throttling", "TooManyRequests", "RequestLimitExceeded", "Rate exceeded"];

/// How long it is left alone before each time that it is asked again then: a service that was
/// changed has to be put back.
const WAITS_S: [u64; 6] = [1, 2, 4, 8, 16, 32];

/// Why there is no answer.
#[derive(Debug, Error)]
pub enum AwsError {
    #[error("the aws command cannot be run ({0}); install AWS's command line, and sign in")]
    NoProgram(#[source] io::Error),
    #[error("the credentials may not do this; their policy needs {action}\n{said}")]
    NotAllowed { action: String, said: String },
    #[error("the credentials are no longer good; sign in again\n{said}")]
    Expired { said: String },
    #[error(
        "AWS would answer no more questions for a minute and more (aws {operation}): others ask \
         it too much from this account; try again later\n{said}"
    )]
    Throttled { operation: String, said: String },
    #[error("aws {operation} failed\n{said}")]
    Failed { operation: String, said: String },
    #[error("aws {operation} answered something else than it should: {why}")]
    Odd { operation: String, why: String },
}

/// Asks AWS, again and again for a minute where it wants less to be asked, and says so on standard
/// error once. `input`: the whole request, beside or in place of arguments.
///
/// # Errors
/// As AWS's command says it.
pub fn ask(
    operation: (&str, &str),
    arguments: &[&str],
    input: Option<&Value>,
) -> Result<Value, AwsError> {
    again_and_again(|| ask_once(operation, arguments, input), say_throttled, thread::sleep)
}

/// `say`: before each wait; of which operation.
fn again_and_again(
    mut ask: impl FnMut() -> Result<Value, AwsError>,
    say: impl Fn(&str),
    wait: impl Fn(Duration),
) -> Result<Value, AwsError> {
    let mut waits = WAITS_S.into_iter().map(Duration::from_secs);
    loop {
        let answer = ask();
        let Err(AwsError::Throttled { operation, .. }) = &answer else { return answer };
        let Some(length) = waits.next() else { return answer };
        say(operation);
        wait(length);
    }
}

/// Once a run of this program, that somebody may know what is waited for.
fn say_throttled(operation: &str) {
    static SAID: Once = Once::new();
    SAID.call_once(|| {
        let line = format!("AWS throttles (aws {operation}); it is asked again for up to a minute");
        // What nobody reads is not missed.
        let _ = writeln!(io::stderr(), "{line}");
    });
}

fn ask_once(
    (service, operation): (&str, &str),
    arguments: &[&str],
    input: Option<&Value>,
) -> Result<Value, AwsError> {
    let mut command = Command::new(PROGRAM);
    command.args([service, operation]).args(arguments).args(["--output", "json"]);
    if input.is_some() {
        command.args(["--cli-input-json", "file:///dev/stdin"]);
    }
    for (name, value) in PATIENT {
        if std::env::var_os(name).is_none() {
            command.env(name, value);
        }
    }
    // Its second version would page.
    command.env("AWS_PAGER", "");
    command.stdin(given(input).map_err(AwsError::NoProgram)?);
    let ended = command.output().map_err(AwsError::NoProgram)?;
    let operation = format!("{service} {operation}");
    if !ended.status.success() {
        let said = String::from_utf8_lossy(&ended.stderr).trim().to_string();
        return Err(failed(operation, said));
    }
    // Some operations answer nothing.
    let text = match ended.stdout.trim_ascii() {
        b"" => b"null",
        text => text,
    };
    let odd = |error: serde_json::Error| AwsError::Odd { operation, why: error.to_string() };
    serde_json::from_slice(text).map_err(odd)
}

/// Its standard input: a file in memory rather than a pipe, since it reads it more than once.
fn given(input: Option<&Value>) -> io::Result<Stdio> {
    let Some(input) = input else { return Ok(Stdio::null()) };
    let mut file = File::from(memfd_create("request", MemfdFlags::CLOEXEC)?);
    file.write_all(input.to_string().as_bytes())?;
    Ok(file.into())
}

fn failed(operation: String, said: String) -> AwsError {
    let says = |any: &[&str]| any.iter().any(|text| said.contains(text));
    match () {
        () if says(&NOT_ALLOWED) => {
            let action = missing(&said).unwrap_or_else(|| action(&operation));
            AwsError::NotAllowed { action, said }
        }
        () if says(&EXPIRED) => AwsError::Expired { said },
        () if says(&THROTTLED) => AwsError::Throttled { operation, said },
        () => AwsError::Failed { operation, said },
    }
}

/// What AWS says before the permission that is missing.
const TO_PERFORM: &str = "not authorized to perform: ";

/// The permission that it says is missing: an operation may need another than its own.
fn missing(said: &str) -> Option<String> {
    let (_, named) = said.split_once(TO_PERFORM)?;
    named.split_whitespace().next().map(str::to_string)
}

/// As a policy names an operation: `ecs update-service` is `ecs:UpdateService`.
fn action(operation: &str) -> String {
    let (service, name) = operation.split_once(' ').unwrap_or((operation, ""));
    let service = match service {
        "elbv2" => "elasticloadbalancing",
        other => other,
    };
    let capital = |word: &str| {
        let (first, rest) = word.split_at(word.len().min(1));
        format!("{}{rest}", first.to_ascii_uppercase())
    };
    format!("{service}:{}", name.split('-').map(capital).collect::<String>())
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};

    use super::*;

    #[test]
    fn who_asks_too_much_is_patient_for_a_minute_and_no_longer() {
        let of = |throttled: usize, error: &str| {
            let (asked, waited) = (Cell::new(0), RefCell::new(Vec::new()));
            let said = Cell::new(0);
            let ask = || {
                asked.set(asked.get() + 1);
                match asked.get() > throttled {
                    true => Ok(Value::Bool(true)),
                    false => Err(failed("ecs describe-services".into(), error.into())),
                }
            };
            let say = |operation: &str| {
                assert_eq!(operation, "ecs describe-services");
                said.set(said.get() + 1);
            };
            let wait = |length: Duration| waited.borrow_mut().push(length.as_secs());
            let is_ok = again_and_again(ask, say, wait).is_ok();
            assert_eq!(said.get(), waited.borrow().len(), "nobody waits without a word");
            (is_ok, waited.into_inner())
        };
        assert_eq!(of(0, "ThrottlingException"), (true, Vec::new()));
        assert_eq!(of(3, "ThrottlingException"), (true, vec![1, 2, 4]));
        assert_eq!(of(9, "Rate exceeded"), (false, WAITS_S.to_vec()));
        assert_eq!(of(1, "AccessDenied"), (false, Vec::new()));
    }

    #[test]
    fn what_the_credentials_may_not_do_is_named_as_a_policy_has_it() {
        for (operation, said, expected) in [
            (
                "ecs update-service",
                "An error occurred (AccessDeniedException)",
                "ecs:UpdateService",
            ),
            (
                "elbv2 modify-target-group-attributes",
                "(AccessDenied) when calling",
                "elasticloadbalancing:ModifyTargetGroupAttributes",
            ),
            ("ecs describe-services", "(ExpiredTokenException)", "sign in again"),
            (
                "ecs describe-services",
                "Could not connect to it",
                "aws ecs describe-services failed",
            ),
            (
                "ecs describe-tasks",
                "An error occurred (ThrottlingException) (reached max retries: 7): Rate exceeded",
                "AWS would answer no more questions",
            ),
        ] {
            let error = failed(operation.to_string(), said.to_string()).to_string();
            assert!(error.contains(expected) && error.ends_with(said), "{error}");
        }
    }
}
