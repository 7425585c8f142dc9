//! What to do when nothing can be recommended, in English.

use crate::report::wording::WayOut;

pub(super) fn say(way: &WayOut<'_>) -> String {
    let text = match way {
        WayOut::TakeUpAgain => {
            "if its program died, 'sweetspot tune' with the same plan in the same folder takes \
             up what was measured"
        }
        WayOut::LetItEnd => "let it run to its end, or give it less time with --budget",
        WayOut::FindWhatEndsIt => {
            "find out what ends the server: its own last lines are shown with each trial, and \
             'sweetspot load' can repeat the load on a server that you start yourself"
        }
        WayOut::Mend { reason } => return format!("mend this first: {reason}"),
        WayOut::AskDoctor => "'sweetspot doctor' says whether this machine is fit to measure on",
        WayOut::MoreTime => "give it more time: --budget 20m",
        WayOut::FasterApp { alone, quantile, goal, has_threads } => {
            let or_threads = if *has_threads { " or threads" } else { "" };
            return format!(
                "make the app faster: one request alone takes {alone} ({quantile}), the goal \
                 is {goal}, so no number of workers{or_threads} can meet it"
            );
        }
        WayOut::SeeErrors { status } => {
            let most = status.map(|it| format!(", most often with status {it}"));
            return format!(
                "see why requests fail{}: 'sweetspot report last --json' lists statuses and \
                 errors of each trial",
                most.unwrap_or_default()
            );
        }
        WayOut::AskForLess => "ask for less: --slo with a higher latency limit or error ratio",
    };
    text.to_string()
}
