//! The table, the shares and what they are held against.

use std::fmt::Write as _;

use super::Sizes;
use super::apps::{App, Scale};
use super::rows::{Phase, Row};
use crate::common::bars::{Bar, Limit, bars_table};
use crate::common::machine;
use crate::common::rows::Rows;
use crate::common::table::table;

/// Of fresh starts that were sent the printed rate.
const PRINTED_HELD: f64 = 0.9;
/// Of fresh starts that were sent the lower end.
const LOW_HELD: f64 = 1.0;
/// Of redeployments that were sent nine tenths of it.
const REDEPLOYED_HELD: f64 = 1.0;
/// Fresh starts of an app that are sent the printed rate, and the lower end.
const STARTS: [(Phase, u64); 2] = [(Phase::Printed, 2), (Phase::Low, 1)];

pub fn bars(apps: &[&App], rows: &Rows<Row>) -> Vec<Bar> {
    let bar = |what: &str, phase: Phase, least: f64| {
        let (held, all) = share(apps, rows, phase);
        let ratio = (all > 0).then(|| held as f64 / all as f64);
        let text = format!("{held} of {all} ({:.1} %)", 100.0 * ratio.unwrap_or(0.0));
        Bar::new(what, ratio, Limit::AtLeast(least)).shown(text)
    };
    let mut bars = vec![
        bar("printed rate held, share of fresh starts", Phase::Printed, PRINTED_HELD),
        bar("lower end held, share of fresh starts", Phase::Low, LOW_HELD),
    ];
    if rows.iter().any(|row| row.phase == Phase::NineTenths) {
        let what = "nine tenths of the printed rate held, share of redeployments";
        bars.push(bar(what, Phase::NineTenths, REDEPLOYED_HELD));
    }
    bars
}

/// Held, of all that were tried; a session that chose nothing has missed all of its own.
fn share(apps: &[&App], rows: &Rows<Row>, phase: Phase) -> (u64, u64) {
    let (mut held, mut all) = (0, 0);
    for app in apps {
        let verdicts = rows.of(app.name, phase).filter_map(|row| row.is_held);
        for is_held in verdicts {
            held += u64::from(is_held);
            all += 1;
        }
        let chose_nothing = rows.of(app.name, Phase::Tune).any(|row| row.configuration().is_none());
        let starts = STARTS.iter().filter(|(of, _)| *of == phase && chose_nothing);
        all += starts.map(|(_, count)| count).sum::<u64>();
    }
    (held, all)
}

/// Everything, as Markdown.
pub fn of(asked: &str, sizes: &Sizes, rows: &Rows<Row>, bars: &[Bar]) -> String {
    let mut commits: Vec<&str> = rows.iter().map(|row| row.commit.as_str()).collect();
    commits.dedup();
    let head = [
        "app",
        "setting",
        "printed, requests/s (95 %)",
        "held in the session, requests/s",
        "printed rate, start 1",
        "printed rate, start 2",
        "lower end",
    ];
    let mut text = format!(
        "# Does what `tune` prints hold?\n\n{}; rows of commit {}. {asked}. Each hold is a \
         fresh start: p95, failed requests, cores that others used, and the verdict by the plain \
         figures of the whole window.\n\n",
        machine::line(),
        commits.join(", ")
    );
    text += &table(&head, sizes.apps.iter().filter_map(|app| line(app, sizes.scaled, rows)));
    let _ = write!(text, "\n{}", bars_table(bars));
    for row in rows.iter().filter(|row| !row.notes.is_empty()) {
        let Row { app, phase, number, notes, .. } = row;
        let _ = write!(text, "\n- {app}, {phase:?} {number}: {notes}");
    }
    text + "\n"
}

fn line(app: &App, scaled: Option<u64>, rows: &Rows<Row>) -> Option<[String; 7]> {
    let scale = match Scale::drawn(app, scaled) {
        Scale::AS_IT_IS => String::new(),
        Scale { cpu, wait } => format!("; computing x {cpu:.2}, waiting x {wait:.2}"),
    };
    let session = rows.find(app.name, Phase::Tune, 1)?;
    let hold = |phase, number| rows.find(app.name, phase, number).map_or("-".into(), verdict);
    let rate = |rps: Option<f64>| rps.map_or("-".to_string(), |rps| format!("{rps:.1}"));
    Some([
        format!("{}: {}{scale}", app.name, app.words),
        session.configuration().map_or("none".to_string(), |it| it.to_string()),
        format!(
            "{:.1} ({} to {})",
            session.rate_rps,
            rate(session.low_rps),
            rate(session.high_rps)
        ),
        rate(session.held_rps),
        hold(Phase::Printed, 1),
        hold(Phase::Printed, 2),
        hold(Phase::Low, 1),
    ])
}

fn verdict(row: &Row) -> String {
    let verdict = if row.is_held == Some(true) { "held" } else { "**missed**" };
    let p95 = row.p95_s.map_or("-".to_string(), |s| format!("{:.0} ms", 1e3 * s));
    let failed = row.failed_ratio.map_or("-".to_string(), |it| format!("{:.2} %", 100.0 * it));
    let others = row.others_cores.map_or("-".to_string(), |cores| format!("{cores:.2}"));
    format!("{p95}, {failed}, {others}, {verdict}")
}
