//! What an experiment's runs showed, in English.

use super::English;
use super::failure::cause_in_lab;
use crate::report::Language;
use crate::report::wording::{Counted, Phrases};
use crate::terms::{LabComparison, LabFailure, LabRuns, Stated};

pub fn failure(failure: &LabFailure) -> String {
    match failure {
        LabFailure::RunWithoutServer { why, last_line } => {
            let line = last_line.as_ref().map(|line| format!(" ({line})")).unwrap_or_default();
            let why = match why {
                Stated::Fact(cause) => cause_in_lab(cause),
                Stated::Verbatim(text) => text.clone(),
            };
            why + &line
        }
        LabFailure::ServerEndedInRun { status } => {
            format!("the server ended: {}", Language::English.say(status))
        }
    }
}

pub fn comparison(comparison: &LabComparison) -> String {
    let LabComparison::RunsCompared { figure, of, to } = comparison;
    let to = to.as_ref().map(|to| format!(", in relation to {}", runs(to)));
    format!("{figure} of {}{}", runs(of), to.unwrap_or_default())
}

fn runs(runs: &LabRuns) -> String {
    let LabRuns { name, workers, workers_above, threads, rates_rps, clients, env } = runs;
    let rates: Vec<String> = rates_rps.iter().map(ToString::to_string).collect();
    let clients: Vec<String> = clients.iter().map(ToString::to_string).collect();
    let parts = [
        name.clone(),
        counts(workers, Counted::Workers),
        workers_above.map(|most| format!("more than {most} workers")),
        counts(threads, Counted::Threads),
        (!rates.is_empty()).then(|| format!("{}/s", rates.join(" or "))),
        (!clients.is_empty()).then(|| format!("{} clients", clients.join(" or "))),
    ];
    let env = env.iter().map(|(name, value)| format!("{name}={value}"));
    let parts: Vec<String> = parts.into_iter().flatten().chain(env).collect();
    if parts.is_empty() { "the best run".to_string() } else { parts.join(", ") }
}

/// `2 or 4 workers`.
fn counts(counts: &[u16], what: Counted) -> Option<String> {
    let (last, others) = counts.split_last()?;
    let last = English.count((*last).into(), what);
    let others = others.iter().map(|count| format!("{count} or ")).collect::<String>();
    Some(others + &last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::{BootCause, BootEnd};

    #[test]
    fn a_server_that_does_not_come_up_is_told_without_an_option_that_lab_has_not() {
        let end = BootEnd::NotAnswered { target: "GET /".into(), patience_s: 60.0 };
        let why = BootCause::NotReady { seen: None, end, connections_for: None }.into();
        let failed = LabFailure::RunWithoutServer { why, last_line: Some("boom".into()) };
        let expected = "the app server did not become ready: GET / was not answered within 60 s \
                        of the start (boom)";
        assert_eq!(failure(&failed), expected);
        assert!(!Language::Japanese.say_fact(&failed).contains("--boot-timeout"));
    }

    #[test]
    fn what_is_compared_names_both_sides() {
        let of = |workers: &[u16], workers_above| LabRuns {
            name: None,
            workers: workers.to_vec(),
            workers_above,
            threads: Vec::new(),
            rates_rps: vec![],
            clients: vec![],
            env: [].into(),
        };
        let figure = "throughput_rps".to_string();
        let to = Some(of(&[1, 2], None));
        let compared = LabComparison::RunsCompared { figure, of: of(&[], Some(2)), to };
        let expected = "throughput_rps of more than 2 workers, in relation to 1 or 2 workers";
        assert_eq!(comparison(&compared), expected);
    }
}
