//! `sweetspot load`: arguments.

mod capacity;
mod elsewhere;
mod fleet;
mod options;
mod outputs;
mod pods;
mod tls;

use std::cell::RefCell;
use std::io::{self, Write as _};
use std::ops::ControlFlow;
use std::time::Duration;

use jiff::Timestamp;

use super::exit::of_load;
use super::progress::Progress;
use super::push::push_to;
use super::turn::TurnArgument;
use super::{Exit, UsageError, interrupt, say};
use crate::report::load::{About, Format, LoadResult, Sinks, Stream, text};
use crate::session::load::{self, Conclusion, Receivers, Relay};
use crate::session::push;
use crate::terms::{LiveSecond, RequestRow, StopSignal};
pub use options::Options;
use options::asked;
use outputs::Output;

pub fn run(options: Options) -> anyhow::Result<Exit> {
    if options.find_capacity {
        return capacity::run(options);
    }
    let outputs = outputs::of(&options.output, options.json)?;
    let receivers = options.push.receivers()?;
    let is_quiet = options.quiet;
    let turn = options.turn;
    let (is_member, is_relay) = (options.fleet.is_member(), options.pods.relay);
    let prepared = load::prepare(asked(options)?).map_err(of_load)?;
    if is_member {
        return join(&prepared, turn, is_quiet);
    }
    if is_relay {
        return relay(&prepared);
    }
    let has_rows = outputs.iter().any(|output| output.format == Format::Stream(Stream::Csv));
    if has_rows && prepared.is_collected() {
        let message = "generators that send together keep no row of each request: leave out -o csv";
        return Err(UsageError::of(message).into());
    }
    outputs::check_writable(&outputs)?;
    // Ctrl-C ends the program as long as nothing is measured.
    let _turn = turn.take_shared(&StopSignal::default())?;
    let begun = RefCell::new(Begun::not_yet(prepared.about(Timestamp::now())));
    let stop = interrupt::install();
    let mut progress = Progress::new(is_quiet);
    let (mut is_told, mut begins_late) = (false, prepared.lateness());
    let mut watch = |second: &LiveSecond| {
        progress.draw_or_say(&text::progress(second));
        if begins_late(second) {
            progress.say(&text::late(second));
        }
        if stop.is_raised() && second.in_flight > 0 && !std::mem::replace(&mut is_told, true) {
            progress.say("ending: awaits the last replies; Ctrl-C once more gives them up");
        }
        ControlFlow::Continue(())
    };
    let mut rows = |rows: &[RequestRow]| begun.borrow_mut().sinks.rows(rows);
    let callbacks = Receivers {
        begin: &mut |ago| begun.borrow_mut().open(&outputs, ago),
        watch: &mut watch,
        second: &mut |index, second| begun.borrow_mut().sinks.second(index, second),
        rows: if has_rows { Some(&mut rows) } else { None },
    };
    let load::Finished { summary, all } =
        load::run(&prepared, &stop, callbacks).map_err(of_load)?;
    drop(progress);
    let Begun { about, sinks, refused } = begun.into_inner();
    refused.map_or(Ok(()), Err)?;
    let result = LoadResult { about: &about, summary: &summary, all: &all };
    let written = outputs::write(&outputs, sinks, &result);
    let conclusion = load::conclude(&summary);
    let exit = push_to(&receivers, conclusion.into(), |receiver| push::load(receiver, &result));
    written?;
    if conclusion == Conclusion::NothingAnswered {
        say(format!("sweetspot: {}", text::nothing_answered(&summary)));
    }
    Ok(exit)
}

/// What is known and open once the load has begun: its streams say when that was.
struct Begun {
    about: About,
    sinks: Sinks,
    /// Why a stream could not be opened: the load is ended at once.
    refused: Option<anyhow::Error>,
}

impl Begun {
    fn not_yet(about: About) -> Self {
        Self { about, sinks: Sinks::default(), refused: None }
    }

    fn open(&mut self, outputs: &[Output], ago: Duration) -> ControlFlow<()> {
        self.about.began = Timestamp::now() - ago;
        match outputs::open_streams(outputs, &self.about) {
            Ok(sinks) => {
                self.sinks = sinks;
                ControlFlow::Continue(())
            }
            Err(error) => {
                self.refused = Some(error);
                ControlFlow::Break(())
            }
        }
    }
}

/// One of several generators: what came of its part the collector says.
fn join(prepared: &load::Prepared, turn: TurnArgument, is_quiet: bool) -> anyhow::Result<Exit> {
    let stop = interrupt::install();
    let _turn = turn.take_shared(&stop)?;
    let loads = load::join(prepared, &stop).map_err(of_load)?;
    if !is_quiet {
        say(format!("sent its part of {loads} {}", if loads == 1 { "load" } else { "loads" }));
    }
    Ok(Exit::Done)
}

/// What is gathered goes to standard output as it comes, for whoever asked for it elsewhere.
fn relay(prepared: &load::Prepared) -> anyhow::Result<Exit> {
    let stop = interrupt::install();
    let (mut number, mut heard) = (0, Ok(()));
    let mut tell = |relay: Relay| {
        number += 1;
        if let Err(error) = writeln!(io::stdout(), "{}", relay.line(number)) {
            // Nobody is there any more for whom it would go on.
            stop.raise();
            heard = Err(error);
        }
    };
    let relayed = load::relay(prepared, &stop, &mut tell);
    heard?;
    relayed.map_err(of_load)?;
    Ok(Exit::Done)
}
