//! A stored session's plan once more: what it was told is typed again, and what the store does not
//! keep has to be given by the user.
//!
//! In: the plan's lines as a session stores them, and what was typed. Out: what to resolve, and
//! afterwards whether the same plan came of it. Computes only.

use std::path::PathBuf;

use thiserror::Error;

use super::{Plan, Typed, knobs};
use crate::terms::Slo;

/// A line of the plan: what, value, where it came from.
type Line = (String, String, String);

/// What a verification has to be told once more.
#[derive(Debug, Error)]
#[error("the plan is not the one that was measured: {}", differences.join("; "))]
pub struct Unlike {
    /// A sentence each, with what to give.
    pub differences: Vec<String>,
}

/// What must be as it was, and what to say to make it so.
const MUST_AGREE: &[(&str, &str)] = &[
    ("server", "--server, or --start with the command"),
    ("proxy", "--proxy"),
    ("targets", "--target or --targets, or --plan with the plan file"),
    ("headers", "-H, since values of headers are not stored"),
    ("cores", "--plan with the plan file"),
    ("memory", "--plan with the plan file"),
    ("arrivals", "--plan with the plan file"),
    ("connection", "--plan with the plan file"),
    ("timeout", "--plan with the plan file"),
    ("probe", "--plan with the plan file"),
    ("environment", "--env, since values of variables are not stored"),
    ("variables", "--env, since values of variables are not stored"),
    ("ready path", "--ready"),
];

/// What was typed, with everything added that the session was given and the store has kept. `app`
/// is the session's folder, `slo` the goal of the targets without one of their own, as it was
/// settled.
pub fn typed_again(typed: Typed, lines: &[Line], app: &str, slo: Option<&Slo>) -> Typed {
    // What was found or is a default is found again.
    let given = |what: &str| {
        let line = lines.iter().find(|line| line.0 == what)?;
        let is_given = line.2 == "command line" || line.2.starts_with("plan file");
        is_given.then(|| line.1.clone())
    };
    let target = match typed.target.is_empty() && typed.targets.is_none() {
        true => targets(lines),
        false => typed.target.clone(),
    };
    let timeout = lines.iter().find(|line| line.0 == "timeout").map(|line| line.1.clone());
    Typed {
        app: typed.app.or_else(|| Some(PathBuf::from(app))),
        // The command of --start is not stored.
        server: typed.server.or_else(|| given("server").filter(|server| !server.contains(' '))),
        proxy: typed.proxy.or_else(|| given("proxy")),
        target,
        slo: slo.map(Slo::to_string),
        cpus: typed.cpus.or_else(|| given("cores")),
        memory: typed.memory.or_else(|| given("memory")),
        arrivals: typed.arrivals.or_else(|| given("arrivals")),
        connection: typed.connection.or_else(|| given("connection")),
        timeout: typed.timeout.or(timeout),
        probe: typed.probe.or_else(|| given("probe").map(|on| (on == "on").to_string())),
        ready: typed.ready.or_else(|| given("ready path").filter(|path| is_whole(path))),
        ..typed
    }
}

/// The targets that were typed. Those of a plan file may have bodies, which no line shows.
fn targets(lines: &[Line]) -> Vec<String> {
    let typed = lines.iter().find(|line| line.0 == "targets" && line.2 == "command line");
    let texts = typed.map_or(Vec::new(), |line| shown(&line.1).into_iter().map(target).collect());
    if texts.iter().all(|text: &String| is_whole(text)) { texts } else { Vec::new() }
}

/// A list of targets in its parts: a comma in brackets belongs to one target.
fn shown(list: &str) -> Vec<&str> {
    let (mut parts, mut from, mut depth) = (Vec::new(), 0, 0);
    for (at, byte) in list.bytes().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' => depth -= 1,
            b',' if depth == 0 => {
                parts.push(list[from..at].trim());
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(list[from..].trim());
    parts
}

/// `GET /a (weight 3, p95<2s)` as it is typed: `GET /a weight=3 slo=p95<2s`.
fn target(shown: &str) -> String {
    let Some((target, rest)) = shown.strip_suffix(')').and_then(|it| it.split_once(" (")) else {
        return shown.to_string();
    };
    let words = rest.split(", ").map(|word| match word.strip_prefix("weight ") {
        Some(weight) => format!(" weight={weight}"),
        None => format!(" slo={word}"),
    });
    words.fold(target.to_string(), |typed, word| typed + &word)
}

/// False where a query was left out, which may be secret.
fn is_whole(shown: &str) -> bool {
    !shown.contains("?…")
}

/// Is this the plan that the session's lines tell of?
///
/// # Errors
/// It is another one, with what to say to make it the same.
pub fn unlike(lines: &[Line], plan: &Plan) -> Result<(), Unlike> {
    let then = |what: &str| lines.iter().find(|line| line.0 == what).map(|line| line.1.as_str());
    let now =
        |what: &str| plan.lines.iter().find(|line| line.what == what).map(|it| it.value.as_str());
    // All of a machine is another amount on another machine.
    let is_all = |value: Option<&str>| value.is_some_and(|value| value.starts_with("all ("));
    let mut differences = Vec::new();
    for (what, flag) in MUST_AGREE {
        let (then, now) = (then(what), now(what));
        if then != now && !(is_all(then) && is_all(now)) {
            differences.push(format!(
                "{what} was {}, and is {} now; give it with {flag}",
                then.unwrap_or("none"),
                now.unwrap_or("none")
            ));
        }
    }
    if differences.is_empty() { Ok(()) } else { Err(Unlike { differences }) }
}

/// A verification asks about workers and threads: knobs that a plan file names are not tried again.
pub fn without_knobs(mut plan: Plan) -> Plan {
    plan.changes.clear();
    plan.lines.retain(|line| line.what != knobs::LINE);
    plan
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(lines: &[(&str, &str, &str)]) -> Vec<Line> {
        lines.iter().map(|(a, b, c)| (a.to_string(), b.to_string(), c.to_string())).collect()
    }

    fn goal() -> Slo {
        "p95<200ms".parse().unwrap()
    }

    #[test]
    fn what_was_given_is_typed_again_and_what_was_found_is_not() {
        let lines = lines(&[
            ("server", "puma", "found in the app"),
            ("targets", "GET /a (weight 3), GET /c (p95<2s,errors<1%), POST /b", "command line"),
            ("arrivals", "uniform", "plan file, line 4"),
            ("connection", "fresh", "default"),
            ("timeout", "12s", "default"),
            ("cores", "1.5", "command line"),
            ("probe", "on", "command line"),
        ]);
        let typed = typed_again(Typed::default(), &lines, "/srv/shop", Some(&goal()));
        assert_eq!(typed.target, ["GET /a weight=3", "GET /c slo=p95<2s,errors<1%", "POST /b"]);
        assert_eq!((typed.server, typed.connection), (None, None));
        assert_eq!(typed.arrivals.as_deref(), Some("uniform"));
        assert_eq!(typed.timeout.as_deref(), Some("12s"));
        assert_eq!(typed.cpus.as_deref(), Some("1.5"));
        assert_eq!(typed.probe.as_deref(), Some("true"));
        assert_eq!(typed.slo.as_deref(), Some("p95<200ms"));
        assert_eq!(typed.app, Some(PathBuf::from("/srv/shop")));
    }

    #[test]
    fn what_the_store_does_not_keep_is_left_to_the_user() {
        let lines = lines(&[
            ("targets", "GET /a?…", "command line"),
            ("server", "command gunicorn", "command line"),
            ("ready path", "/up?…", "command line"),
        ]);
        let typed = typed_again(Typed::default(), &lines, "/srv/shop", Some(&goal()));
        assert!(typed.target.is_empty());
        assert_eq!((typed.server, typed.ready), (None, None));
        let own = Typed { target: vec!["GET /a?x=1".into()], ..Typed::default() };
        assert_eq!(typed_again(own, &lines, "/srv/shop", None).target, ["GET /a?x=1"]);
    }
}
