//! The rows as a page: what was measured on, each case as a table, what it was held against, and
//! the commands.
//!
//! In: rows. Out: Markdown. Measures nothing.

use std::collections::BTreeMap;

use super::case::{Against, Bar, Case, Server, Under};
use super::measure::{CALLGRIND_REQUESTS, STRACE, under_callgrind};
use super::rows::{Row, State};
use super::tool::Tool;
use super::{Cores, Tools};
use crate::common::bars::{self, bars_table};
use crate::common::rows::Rows;
use crate::common::spread::Spread;
use crate::common::table::table;

/// All that a report is made of.
pub struct Material<'a> {
    /// What it was measured on, a line each.
    pub machine: Vec<String>,
    pub cores: Cores,
    /// Those of the report.
    pub cases: &'a [Case],
    pub tools: &'a Tools,
    /// Why a case was left out, by its name.
    pub skipped: &'a BTreeMap<&'static str, String>,
    pub rows: &'a Rows<Row>,
}

/// The page.
pub fn text(material: &Material) -> String {
    let mut text = String::from("# `sweetspot load` beside its peers\n\n");
    for line in &material.machine {
        text += &format!("- {line}\n");
    }
    let versions = material.tools.iter().map(|(tool, found)| {
        let version = found.as_ref().map(|found| found.version.clone());
        [tool.name().to_string(), version.unwrap_or_else(|why| format!("left out: {why}"))]
    });
    text += &format!("\n{}", table(&["tool", "version"], versions));
    text += "\nFigures are medians of the rounds (smallest..largest; lower..upper quartile). CPU \
             is user and system time of the tool's process by the kernel's account, divided by \
             the requests that it says were answered. Ratios are taken within a round, in which \
             the tools run one after the other, every second round in the opposite order; what \
             is held against a limit is their median. A tool marked with ! counted other than \
             the server did. Most kernels split user from system time by ticks: the user part \
             of a short run is coarse.\n";
    for case in material.cases {
        section(&mut text, material, case);
    }
    text
}

fn section(text: &mut String, material: &Material, case: &Case) {
    *text += &format!("\n## {}\n\n{}\n\n", case.title, case.about);
    if let Some(why) = material.skipped.get(case.name) {
        *text += &format!("Left out: {why}.\n");
        return;
    }
    let rows = material.rows.of(case.name, case.seconds);
    if rows.is_empty() {
        *text += "Not measured yet.\n";
        return;
    }
    *text += &length_line(case, &rows);
    *text += &figures(case, &rows);
    if !case.bars.is_empty() {
        *text += &format!("\n{}", bars_table(&held(material, case)));
    }
    notes(text, &rows);
    commands(text, material, case, &rows);
}

fn length_line(case: &Case, rows: &[&Row]) -> String {
    let sum = |of: fn(&Row) -> Option<f64>| rows.iter().filter_map(|row| of(row)).sum::<f64>();
    // Its length is a number of requests.
    if case.under == Under::Callgrind {
        return String::new();
    }
    let rounds = if case.rounds == 1 { "One round" } else { &format!("{} rounds", case.rounds) };
    format!(
        "{rounds} of {} s a tool. The host took {:.2} s of the {:.0} s from the two cores.\n\n",
        case.seconds,
        sum(|row| row.stolen_s),
        2.0 * sum(|row| row.wall_s)
    )
}

fn of<'a>(rows: &[&'a Row], tool: Tool) -> Vec<&'a Row> {
    rows.iter().copied().filter(|row| row.tool == tool.name()).collect()
}

/// Those that did not fail: what a failed run used says nothing.
fn good<'a>(rows: &[&'a Row], tool: Tool) -> Vec<&'a Row> {
    of(rows, tool).into_iter().filter(|row| row.state == State::Ok).collect()
}

fn figures(case: &Case, rows: &[&Row]) -> String {
    let titles = case.columns.iter().map(|column| column.title);
    let head: Vec<&str> = ["tool", "runs"].into_iter().chain(titles).collect();
    let measured = case.tools.iter().filter(|tool| !of(rows, **tool).is_empty());
    let row = |tool: &Tool| {
        let rows = good(rows, *tool);
        let is_off = rows.iter().any(|row| row.note.contains("but the server counted"));
        let mark = if is_off { " !" } else { "" };
        let figures = case.columns.iter().map(|column| {
            let values: Vec<f64> = rows.iter().filter_map(|row| (column.figure)(row)).collect();
            let spread = Spread::of(&values);
            spread.map_or("-".to_string(), |it| it.text(column.scale, column.digits))
        });
        let run = [format!("{}{mark}", tool.name()), rows.len().to_string()];
        run.into_iter().chain(figures).collect::<Vec<String>>()
    };
    table(&head, measured.map(row))
}

/// What a case is held against.
pub fn held(material: &Material, case: &Case) -> Vec<bars::Bar> {
    let rows = material.rows.of(case.name, case.seconds);
    let one = |bar: &Bar| {
        let (what, values, scale, digits) = values(material, bar, &rows);
        let spread = Spread::of(&values);
        let worst = values.iter().copied().reduce(match bar.limit {
            bars::Limit::AtLeast(_) => f64::min,
            _ => f64::max,
        });
        let figure = match bar.against {
            Against::Worst => worst,
            _ => spread.map(|spread| spread.median),
        };
        let figure = figure.map(|figure| figure * scale);
        let text = spread.map_or("-".to_string(), |spread| spread.text(scale, digits));
        bars::Bar::new(what, figure, bar.limit).shown(format!("{text} of {}", values.len()))
    };
    case.bars.iter().map(one).collect()
}

/// What a limit is held against: its name, the values, and how they are shown.
fn values(material: &Material, bar: &Bar, rows: &[&Row]) -> (String, Vec<f64>, f64, usize) {
    let figure = bar.column.figure;
    let ours = good(rows, Tool::Ours);
    match bar.against {
        Against::Nothing | Against::Worst => {
            let values = ours.iter().filter_map(|row| figure(row)).collect();
            (bar.what.to_string(), values, bar.column.scale, bar.column.digits)
        }
        Against::Peer(peer) => {
            let theirs = good(rows, peer);
            let ratio = |row: &&Row| {
                let other = theirs.iter().find(|other| other.round == row.round)?;
                Some(figure(row)? / figure(other)?)
            };
            let name = format!("{}, sweetspot / {}", bar.what, peer.name());
            (name, ours.iter().filter_map(ratio).collect(), 1.0, 3)
        }
        Against::Case(name) => {
            let earlier = material.cases.iter().find(|case| case.name == name);
            let rows = earlier.map(|case| material.rows.of(name, case.seconds));
            let before = good(rows.as_deref().unwrap_or_default(), Tool::Ours);
            let ratio = |row: &&Row| {
                let other = before.iter().find(|other| other.round == row.round)?;
                Some(figure(row)? / figure(other)?)
            };
            (format!("{}, over {name}", bar.what), ours.iter().filter_map(ratio).collect(), 1.0, 3)
        }
    }
}

/// What was remarked on runs, once each with how often.
fn notes(text: &mut String, rows: &[&Row]) {
    let mut notes: BTreeMap<(&str, &str), u32> = BTreeMap::new();
    for row in rows.iter().filter(|row| !row.note.is_empty()) {
        *notes.entry((&row.tool, &row.note)).or_default() += 1;
    }
    if !notes.is_empty() {
        *text += "\n";
    }
    for ((tool, note), count) in notes {
        let often = if count > 1 { format!(" ({count} runs)") } else { String::new() };
        *text += &format!("- {tool}{often}: {note}\n");
    }
}

fn commands(text: &mut String, material: &Material, case: &Case, rows: &[&Row]) {
    *text += "\n```\n";
    for &tool in case.tools.iter().filter(|&&tool| !of(rows, tool).is_empty()) {
        *text += &format!("{}\n", command(material.cores, case, tool));
    }
    *text += "```\n";
}

/// As somebody would type it.
fn command(cores: Cores, case: &Case, tool: Tool) -> String {
    let scheme = if case.server == Server::NginxTls { "https" } else { "http" };
    let url = format!("{scheme}://127.0.0.1:PORT{}", case.load.path);
    let mut words = tool.command(tool.name(), &case.load, &url, case.seconds);
    match case.under {
        Under::Nothing => {}
        Under::Strace => drop(words.splice(..0, STRACE.map(str::to_string))),
        Under::Callgrind => {
            let [_, requests] = CALLGRIND_REQUESTS;
            words = under_callgrind(tool.name(), &case.load, &url, requests);
        }
    }
    format!("taskset -c {} {}", cores.generator, words.join(" "))
}
