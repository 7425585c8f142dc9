//! What an experiment's runs showed, in Japanese.

use super::Japanese;
use super::failure::cause_in_lab;
use crate::report::Language;
use crate::report::wording::{Counted, Phrases};
use crate::terms::{LabComparison, LabFailure, LabRuns, Stated};

pub fn failure(failure: &LabFailure) -> String {
    match failure {
        LabFailure::RunWithoutServer { why, last_line } => {
            let line = last_line.as_ref().map(|line| format!("（{line}）")).unwrap_or_default();
            let why = match why {
                Stated::Fact(cause) => cause_in_lab(cause),
                Stated::Verbatim(text) => text.clone(),
            };
            why + &line
        }
        LabFailure::ServerEndedInRun { status } => {
            format!("サーバーが終了しました: {}", Language::Japanese.say(status))
        }
    }
}

pub fn comparison(comparison: &LabComparison) -> String {
    let LabComparison::RunsCompared { figure, of, to } = comparison;
    let to = to.as_ref().map(|to| format!("（比較: {}）", runs(to)));
    format!("{} の {figure}{}", runs(of), to.unwrap_or_default())
}

fn runs(runs: &LabRuns) -> String {
    let LabRuns { name, workers, workers_above, threads, rates_rps, clients, env } = runs;
    let rates: Vec<String> = rates_rps.iter().map(ToString::to_string).collect();
    let clients: Vec<String> = clients.iter().map(ToString::to_string).collect();
    let parts = [
        name.clone(),
        counts(workers, Counted::Workers),
        workers_above.map(|most| format!("{most} より多いワーカー")),
        counts(threads, Counted::Threads),
        (!rates.is_empty()).then(|| format!("{}/s", rates.join(" か "))),
        (!clients.is_empty()).then(|| format!("{} クライアント", clients.join(" か "))),
    ];
    let env = env.iter().map(|(name, value)| format!("{name}={value}"));
    let parts: Vec<String> = parts.into_iter().flatten().chain(env).collect();
    if parts.is_empty() { "最良の実行".to_string() } else { parts.join("、") }
}

fn counts(counts: &[u16], what: Counted) -> Option<String> {
    let (last, others) = counts.split_last()?;
    let last = Japanese.count((*last).into(), what);
    let others = others.iter().map(|count| format!("{count} か ")).collect::<String>();
    Some(others + &last)
}
