//! The `aws` command, run once for each question.
//!
//! In: a service of AWS, an operation and its arguments. Out: its JSON. What it is to be given that
//! may hold a secret goes to its standard input, so that none stands in a command line. It ends
//! with whoever asks, also where that is killed: a change that it asks for again and again would
//! else come after the service has been put back.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, Output};
use std::sync::Once;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::setsid;
use serde_json::Value;
use thiserror::Error;

use crate::place::child::{die_with, end_of, given, in_memory};
use crate::terms::StopSignal;

/// Whose credentials it uses, which region and which endpoint its own variables say, as always.
const PROGRAM: &str = "aws";

/// What it is run with, unless the user has said otherwise: it waits and asks again by itself where
/// AWS asks it to send less.
const PATIENT: [(&str, &str); 2] = [("AWS_RETRY_MODE", "standard"), (ATTEMPTS, "8")];
const ATTEMPTS: &str = "AWS_MAX_ATTEMPTS";

/// What is asked in passing holds nobody up: it is tried twice, with 5 s to reach AWS and 10 s to
/// be answered.
const IN_PASSING: [&str; 4] = ["--cli-connect-timeout", "5", "--cli-read-timeout", "10"];

/// For that and all else that it does, such as to get credentials from another program.
const PATIENCE: Duration = Duration::from_secs(45);

/// What it says where the credentials may not do something, or are no longer good.
const NOT_ALLOWED: [&str; 2] = ["AccessDenied", "UnauthorizedOperation"];
const EXPIRED: [&str; 8] = [
    "ExpiredToken",
    "InvalidClientTokenId",
    "RequestExpired",
    "UnrecognizedClientException",
    // In the command's own words, of what it was given by `aws sso login` or `aws login`.
    "retrieving token from sso",
    "loading SSO Token",
    "The SSO session",
    "Your session has expired",
];
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
    #[error(
        "aws {operation} did not end by itself and was given up; where it gets its credentials by \
         another program, that may wait for somebody: sign in first"
    )]
    GivenUp { operation: String },
    #[error("aws {operation} answered something else than it should: {why}")]
    Odd { operation: String, why: String },
}

impl AwsError {
    /// Asked again in some minutes, it will be the same.
    pub fn is_lasting(&self) -> bool {
        matches!(self, Self::NoProgram(_) | Self::NotAllowed { .. } | Self::Expired { .. })
    }

    /// AWS has refused it, and gives this as the kind of its error.
    pub fn is_of_kind(&self, kind: &str) -> bool {
        matches!(self, Self::Failed { said, .. } if said.contains(&format!("({kind})")))
    }
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
    let once = || {
        let mut command = command(operation, arguments, input)?;
        answer(operation, output_of(&mut command, || false))
    };
    again_and_again(once, say_throttled, thread::sleep)
}

/// Asks AWS for what can be done without: without a word, for `PATIENCE` at most, and no longer
/// than until the user wants to end.
///
/// # Errors
/// As AWS's command says it.
pub fn ask_in_passing(
    operation: (&str, &str),
    input: &Value,
    stop: &StopSignal,
) -> Result<Value, AwsError> {
    let mut command = command(operation, &IN_PASSING, Some(input))?;
    command.env(ATTEMPTS, "2");
    answer(operation, output_in_passing(&mut command, PATIENCE, stop))
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

/// A question.
fn command(
    (service, operation): (&str, &str),
    arguments: &[&str],
    input: Option<&Value>,
) -> Result<Command, AwsError> {
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
    let input = input.map(ToString::to_string).unwrap_or_default();
    command.stdin(given(input.as_bytes()).map_err(AwsError::NoProgram)?);
    let asker = std::process::id();
    // SAFETY: prctl and getppid may be called between fork and exec, and nothing else is.
    unsafe { command.pre_exec(move || die_with(asker)) };
    Ok(command)
}

/// Runs it to its end, for this time at most and until the user wants to end. It has a session of
/// its own, without a terminal: what would ask there fails at once, and all of it can be ended.
fn output_in_passing(
    command: &mut Command,
    patience: Duration,
    stop: &StopSignal,
) -> io::Result<Option<Output>> {
    // SAFETY: setsid may be called between fork and exec, and nothing else is.
    unsafe { command.pre_exec(|| setsid().map(drop).map_err(io::Error::from)) };
    let deadline = Instant::now() + patience;
    output_of(command, || stop.is_raised() || Instant::now() >= deadline)
}

/// Runs it to its end; `None`: it was given up, as `is_given_up` says, and ended.
fn output_of(
    command: &mut Command,
    is_given_up: impl FnMut() -> bool,
) -> io::Result<Option<Output>> {
    let (stdout, stderr) = (in_memory("stdout")?, in_memory("stderr")?);
    let mut child = command.stdout(stdout.try_clone()?).stderr(stderr.try_clone()?).spawn()?;
    let Some(status) = end_of(&mut child, is_given_up)? else { return Ok(None) };
    Ok(Some(Output { status, stdout: all_of(stdout)?, stderr: all_of(stderr)? }))
}

fn all_of(mut file: File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// What it answers, by how it ended; `None`: it was given up.
fn answer(
    (service, operation): (&str, &str),
    ended: io::Result<Option<Output>>,
) -> Result<Value, AwsError> {
    let ended = ended.map_err(AwsError::NoProgram)?;
    let operation = format!("{service} {operation}");
    let Some(ended) = ended else { return Err(AwsError::GivenUp { operation }) };
    if !ended.status.success() {
        let said = String::from_utf8_lossy(&ended.stderr).trim().to_string();
        // One that was killed has said nothing.
        let said = if said.is_empty() { ended.status.to_string() } else { said };
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
    fn an_answer_is_read_to_its_end_however_long() {
        let mut long = Command::new("sh");
        long.args(["-c", "head -c 200000 /dev/zero; echo no >&2; exit 3"]);
        let ended = output_of(&mut long, || false).unwrap().unwrap();
        assert_eq!((ended.status.code(), ended.stdout.len()), (Some(3), 200_000));
        assert_eq!(ended.stderr, b"no\n");
    }

    #[test]
    fn a_command_that_was_killed_is_told_by_how_it_ended() {
        let mut killed = Command::new("sh");
        let ended = output_of(killed.args(["-c", "kill -9 $$"]), || false);
        let error = answer(("ecs", "describe-services"), ended).unwrap_err().to_string();
        assert!(error.contains("signal: 9"), "{error}");
    }

    #[test]
    fn what_is_asked_in_passing_asks_no_terminal_and_is_given_up_in_time() {
        let (goes_on, ends, hour) =
            (StopSignal::default(), StopSignal::default(), Duration::from_secs(3600));
        ends.raise();
        let of = |text: &str, patience: Duration, stop: &StopSignal| {
            let mut command = Command::new("sh");
            output_in_passing(command.args(["-c", text]), patience, stop).unwrap()
        };
        let slow = "sleep 600 & wait";
        assert_eq!(of(slow, Duration::ZERO, &goes_on), None, "after its time");
        assert_eq!(of(slow, hour, &ends), None, "where the user wants to end");
        let leads = "read -r id name state parent group session rest </proc/$$/stat
            echo $((session == $$))";
        assert_eq!(of(leads, hour, &goes_on).unwrap().stdout, b"1\n", "leads its session");
        let given_up = answer(("cloudwatch", "get-metric-data"), Ok(None)).unwrap_err();
        let said = given_up.to_string();
        assert!(said.starts_with("aws cloudwatch get-metric-data did not end"), "{said}");
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
            ("cloudwatch get-metric-data", "(AccessDenied)", "cloudwatch:GetMetricData"),
            ("ecs describe-services", "(ExpiredTokenException)", "sign in again"),
            (
                "ecs describe-services",
                "An error occurred (UnrecognizedClientException) when calling it: invalid",
                "sign in again",
            ),
            (
                "ecs describe-services",
                "Error when retrieving token from sso: Token has expired and refresh failed",
                "sign in again",
            ),
            (
                "ecs describe-services",
                "The SSO session associated with this profile has expired or is otherwise invalid.",
                "sign in again",
            ),
            (
                "ecs describe-services",
                "Error loading SSO Token: Token for shop does not exist",
                "sign in again",
            ),
            (
                "ecs describe-services",
                "Your session has expired. Please reauthenticate using 'aws login'.",
                "sign in again",
            ),
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
