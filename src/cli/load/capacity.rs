//! `sweetspot load --find-capacity`: shows the search and writes its result.

use std::time::Duration;

use super::options::{Options, asked};
use super::outputs::{self, Output};
use crate::cli::exit::of_load;
use crate::cli::progress;
use crate::cli::{Exit, UsageError, interrupt};
use crate::report::load::capacity as shown;
use crate::report::load::{Format, Report, text};
use crate::report::{NamedForm, json};
use crate::session::load::capacity::{self, Progress};
use crate::session::load::{Asked, Length};
use crate::terms::{CapacitySummary, Rate};

/// The time in all unless `--duration` says otherwise.
const TIME: Duration = Duration::from_secs(90);

pub(super) fn run(options: Options) -> anyhow::Result<Exit> {
    let outputs = outputs::of(&options.output, options.json)?;
    check_formats(&outputs)?;
    if !options.push.is_empty() {
        let message = "--find-capacity has no --push; write -o json=FILE";
        return Err(UsageError::of(message).into());
    }
    let (is_quiet, guess, turn) = (options.quiet, options.rate, options.turn);
    let prepared = capacity::prepare(asked_for(options)?, guess).map_err(of_load)?;
    outputs::check_writable(&outputs)?;
    let stop = interrupt::install_with_answer();
    let _turn = turn.take_alone(&stop)?;
    let mut on = progress::Progress::new(is_quiet);
    let summary = capacity::run(&prepared, &stop, &mut |progress| show(progress, &mut on));
    drop(on);
    let summary = summary.map_err(of_load)?;
    // One that fails must not keep the others from being written.
    let written: Vec<_> =
        outputs.iter().map(|output| write(output, &prepared.description, &summary)).collect();
    written.into_iter().collect::<anyhow::Result<()>>()?;
    Ok(capacity::conclude(&summary).into())
}

/// As for a load, with a rate that only stands for an open one.
fn asked_for(mut options: Options) -> Result<Asked, UsageError> {
    let time = options.duration.unwrap_or(TIME);
    let any = Rate::per_second(1.0).expect("one request a second is a rate");
    options.rate = Some(options.rate.unwrap_or(any));
    Ok(Asked { length: Length::Duration(time), ..asked(options)? })
}

/// The other formats describe one load, and this is many.
fn check_formats(outputs: &[Output]) -> Result<(), UsageError> {
    let other = outputs
        .iter()
        .map(|output| output.format)
        .find(|format| !matches!(format, Format::Report(Report::Text | Report::Json)));
    other.map_or(Ok(()), |format| {
        let name = format.name();
        Err(UsageError::of(format!("--find-capacity has no {name} output; write text or json")))
    })
}

/// A line for each window; on a terminal the running second below.
fn show(progress: Progress<'_>, on: &mut progress::Progress) {
    match progress {
        Progress::Second(second) => on.draw(&text::progress(second)),
        Progress::Burst { clients, throughput_rps } => {
            on.say(&shown::burst(clients, throughput_rps));
        }
        Progress::Window(window) => on.say(&shown::window(window)),
    }
}

fn write(output: &Output, description: &[String], summary: &CapacitySummary) -> anyhow::Result<()> {
    let text = match output.format {
        Format::Report(Report::Json) => json::render(summary),
        // Nothing else is let through.
        _ => shown::result(description, summary),
    };
    outputs::write_text(output, &text)
}
