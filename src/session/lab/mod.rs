//! What `sweetspot lab` does: a published experiment run on this machine with real servers, its
//! figures set beside the article's, its conclusions looked at.
//!
//! In: a lab and how much of it is wanted. Out: a [`LabResult`]; what happens meanwhile is told.
//! Every run is kept as soon as it is over, so that an interrupted experiment goes on.

mod figures;
mod file_error;
mod find;
mod progress;
mod show;
mod site;
pub mod tune;

use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;

use self::figures::Measured;
pub use self::find::{FindError, find, write};
use self::progress::{Progress, ProgressError};
use self::site::Site;
pub use crate::lab::Lab;
use crate::lab::{self, CoresOf, Course, Planned};
use crate::monitor::host;
use crate::place::{Offer, PlaceError, Started};
use crate::plan::AppError;
use crate::report::{Language, document, figures as figures_text};
use crate::terms::{
    Configuration, LabChoice, LabEntry, LabFigures, LabResult, LabRun, LabSetting, Offered, Rate,
    StopSignal, TrialFailure, TrialRecord,
};

/// How an experiment is to be run.
pub struct Wishes {
    pub is_quick: bool,
    /// Where what has been measured is kept until the experiment is over.
    pub kept_in: PathBuf,
    /// Go on where an earlier run of the same experiment was cut off.
    pub may_resume: bool,
    pub stop: StopSignal,
}

/// What happens while an experiment runs.
pub enum Told<'a> {
    /// Before anything is started.
    Begins {
        lab: &'a Lab,
        runs: usize,
        estimated_s: f64,
    },
    /// Runs that an earlier, interrupted run has measured are taken over.
    TakenUp {
        runs: usize,
    },
    Preparing {
        what: &'a str,
    },
    /// The article's rates are multiplied by this.
    Scaled {
        scale: f64,
        cpu_s_per_request: f64,
        published_s: f64,
    },
    Starting {
        index: usize,
        of: usize,
        setting: &'a LabSetting,
    },
    Measured {
        index: usize,
        of: usize,
        run: &'a LabRun,
    },
}

/// Why there is no result.
#[derive(Debug, Error)]
pub enum LabError {
    #[error(transparent)]
    Place(#[from] PlaceError),
    #[error(transparent)]
    App(#[from] AppError),
    #[error(transparent)]
    Progress(#[from] ProgressError),
    #[error("could not {what}: {source}")]
    Io {
        what: String,
        #[source]
        source: std::io::Error,
    },
    #[error("{message}")]
    Definition { message: String },
}

/// An experiment that has ended.
pub struct Ended {
    pub result: LabResult,
    /// The user stopped it before all runs were measured; it can be taken up.
    pub is_cut: bool,
}

/// All experiments that are part of the program.
///
/// # Errors
/// One of them is broken.
pub fn entries() -> Result<Vec<LabEntry>, FindError> {
    lab::names().into_iter().map(|name| find(name).map(|lab| entry(&lab))).collect()
}

/// One of them, as the list has it.
pub fn entry(lab: &Lab) -> LabEntry {
    lab.entry(cores())
}

/// What it is and what its article found.
pub fn show(lab: &Lab) -> String {
    show::show(lab, cores())
}

fn cores() -> u16 {
    host::read().cores().get().ceil() as u16
}

/// What happens, in words.
pub fn told(told: &Told<'_>) -> String {
    match told {
        Told::Begins { lab, runs, estimated_s } => {
            let time = figures_text::span(*estimated_s);
            format!("{}: {runs} runs, about {time} in all\n", lab.name)
        }
        Told::TakenUp { runs } => format!("{runs} of them were measured before and are kept\n"),
        Told::Preparing { what } => format!("preparing: {what}\n"),
        Told::Scaled { scale, cpu_s_per_request, published_s } => format!(
            "a request costs {:.1} ms of CPU here and {:.1} ms in the article: rates are x \
             {scale:.2}\n",
            cpu_s_per_request * 1e3,
            published_s * 1e3
        ),
        Told::Starting { .. } => String::new(),
        Told::Measured { index, of, run } => document::lab::progress(*index, *of, run),
    }
}

/// What happens while an experiment's app is tuned, in words.
pub fn told_of_tuning(told: &tune::Told<'_>) -> String {
    let setting = |it: LabChoice| format!("{} x {}", it.workers, it.threads);
    let rate = |rate: Option<f64>| rate.map_or("none".to_string(), figures_text::rate);
    match told {
        tune::Told::Preparing { what } => format!("preparing: {what}\n"),
        tune::Told::Tunes => "tune begins\n".to_string(),
        tune::Told::Chose { chosen, article } if chosen == article => {
            format!("chosen: {}, as in the article\n", setting(*chosen))
        }
        tune::Told::Chose { chosen, article } => format!(
            "chosen: {}; measuring it again beside the article's {}\n",
            setting(*chosen),
            setting(*article)
        ),
        tune::Told::Pair { index, of, pair } => {
            let (chosen, article) = (rate(pair.chosen_rps), rate(pair.article_rps));
            format!("{index}/{of}  {chosen} against {article}\n")
        }
    }
}

/// The server's or the service's own last lines and what to do, if there are any.
pub fn last_lines(error: &LabError) -> Vec<String> {
    match error {
        LabError::Place(PlaceError::Service(failure) | PlaceError::Inspection(failure)) => failure
            .last_lines
            .iter()
            .cloned()
            .chain([Language::DATA.say_fact(&failure.advice)])
            .collect(),
        _ => Vec::new(),
    }
}

/// Runs an experiment.
///
/// # Errors
/// Only what is not the app server's doing.
pub fn run(lab: &Lab, wishes: &Wishes, tell: &mut dyn FnMut(Told<'_>)) -> Result<Ended, LabError> {
    let course = lab::course(&lab.definition, wishes.is_quick);
    let mut site = Site::prepare(lab, course, wishes.stop.clone(), &mut |what| {
        tell(Told::Preparing { what });
    })?;
    let machine = site.machine()?;
    let cores = machine.cores.get().ceil() as u16;
    let planned = lab::runs(&lab.definition, wishes.is_quick, cores);
    let mut progress = Progress::open(lab, wishes, &machine)?;
    let estimated_s = lab.estimated_s(wishes.is_quick, cores);
    tell(Told::Begins { lab, runs: planned.len(), estimated_s });
    if !progress.runs().is_empty() {
        tell(Told::TakenUp { runs: progress.runs().len() });
    }
    let scale = settle_scale(lab, &mut site, &mut progress, &planned, course, tell)?;
    let mut is_cut = false;
    for (index, one) in planned.iter().enumerate().skip(progress.runs().len()) {
        let of = planned.len();
        tell(Told::Starting { index: index + 1, of, setting: &one.setting });
        match measure(lab, &mut site, one, course, scale) {
            Ok(run) => {
                progress.add(run)?;
                let run = progress.runs().last().expect("it was added above");
                tell(Told::Measured { index: index + 1, of, run });
            }
            Err(LabError::Place(PlaceError::Stopped)) => {
                is_cut = true;
                break;
            }
            Err(error) => return Err(error),
        }
    }
    let warnings = site.warnings();
    site.finish()?;
    let mut runs = progress.runs().to_vec();
    relate(&mut runs);
    if !is_cut {
        progress.done()?;
    }
    let definition = &lab.definition;
    let cores_of = CoresOf { here: cores, article: lab.published.cores.unwrap_or(cores) };
    let mut conclusions = lab::judge(&definition.conclusion, &runs, cores_of);
    if wishes.is_quick {
        // The others rest on runs that only the whole experiment has.
        conclusions.retain(|one| one.evidence.iter().all(|evidence| evidence.value.is_some()));
    }
    let result = LabResult {
        lab: lab.name.clone(),
        title: definition.title.clone(),
        source: definition.source.clone(),
        is_quick: wishes.is_quick,
        machine,
        published_machine: definition.machine.clone(),
        scale: definition.scale.as_ref().map(|_| scale),
        rule: definition.rule.clone(),
        conclusions,
        runs,
        warnings,
    };
    Ok(Ended { result, is_cut })
}

/// What the article's rates are multiplied by: the CPU of a request there in relation to here, with
/// one client on the first setting. Measured once, and kept.
fn settle_scale(
    lab: &Lab,
    site: &mut Site,
    progress: &mut Progress,
    planned: &[Planned<'_>],
    course: Course,
    tell: &mut dyn FnMut(Told<'_>),
) -> Result<f64, LabError> {
    let (Some(scale), Some(first)) = (&lab.definition.scale, planned.first()) else {
        return Ok(1.0);
    };
    if let Some(known) = progress.scale() {
        return Ok(known);
    }
    let offered = Offered::Closed { clients: 1, think: Duration::ZERO };
    let record = match observe(site, first, offered, course, true)? {
        Ok(record) => record,
        Err(failure) => return Err(LabError::Definition { message: failure }),
    };
    let cpu_s = figures::cpu_s_per_request(&record, course).ok_or_else(|| {
        let message = "no request was answered, so its cost is not known".to_string();
        LabError::Definition { message }
    })?;
    let published_s = scale.cpu_s_per_request;
    let scale = published_s / cpu_s;
    progress.set_scale(scale)?;
    tell(Told::Scaled { scale, cpu_s_per_request: cpu_s, published_s });
    Ok(scale)
}

/// A trial, and each target's own figures; the error says why the server did not come up.
type Seen = Result<TrialRecord, String>;

fn observe(
    site: &mut Site,
    planned: &Planned<'_>,
    offered: Offered,
    course: Course,
    is_fresh: bool,
) -> Result<Seen, LabError> {
    let setting = &planned.setting;
    let configuration = Configuration { workers: setting.workers, threads: setting.threads };
    let place = site.place(planned)?;
    let boot = match place.start(configuration, is_fresh)? {
        Started::Ready { boot } => boot,
        Started::Failed(failure) => {
            let last = failure.last_lines.last().map(|line| format!(" ({line})"));
            return Ok(Err(format!(
                "{}{}",
                Language::DATA.say(&failure.message),
                last.unwrap_or_default()
            )));
        }
    };
    let offer = Offer {
        offered,
        warm_up: Duration::from_secs(course.warm_up_s.into()),
        duration: Duration::from_secs(course.duration_s.into()),
        seed: u64::from(setting.repeat),
    };
    let observed = place.offer(&offer)?;
    Ok(Ok(TrialRecord {
        configuration,
        start: 1,
        load: observed.load,
        monitor: observed.monitor,
        boot,
        failure: observed.failure,
    }))
}

fn measure(
    lab: &Lab,
    site: &mut Site,
    planned: &Planned<'_>,
    course: Course,
    scale: f64,
) -> Result<LabRun, LabError> {
    let setting = planned.setting.clone();
    let offered_rps = setting.rate_rps.map(|rate| rate * scale);
    let offered = match (offered_rps, setting.clients) {
        (Some(rate), _) => Offered::Open {
            rate: Rate::per_second(rate).map_err(|error| LabError::Definition {
                message: format!("the rate {rate} cannot be offered: {error}"),
            })?,
            arrivals: lab.definition.arrivals,
        },
        (None, clients) => Offered::Closed {
            clients: clients.unwrap_or(1),
            think: Duration::try_from_secs_f64(setting.think_s).unwrap_or_default(),
        },
    };
    let services_before = site.services_cpu_s();
    let seen = observe(site, planned, offered, course, false)?;
    let mut run = LabRun {
        offered_rps,
        measured: None,
        published: lab.published.find(planned),
        relative_measured: None,
        relative_published: None,
        failure: None,
        blocks: std::collections::BTreeMap::new(),
        warnings: Vec::new(),
        setting,
    };
    let record = match seen {
        Ok(seen) => seen,
        Err(failure) => return Ok(LabRun { failure: Some(failure), ..run }),
    };
    let services = site.services_cpu_s();
    let whole_s = record.load.run.duration.as_secs_f64();
    let mut measured = figures::of(&record, course, &planned.block.targets);
    measured.figures.services_cpu_cores = services
        .into_iter()
        .filter_map(|(name, after)| {
            let used = after - services_before.get(&name)?;
            (whole_s > 0.0).then_some((name, used / whole_s))
        })
        .collect();
    let memory = site.machine()?.memory_bytes.0 as f64;
    measured.figures.memory_share =
        measured.figures.memory_bytes.map(|bytes| bytes as f64 / memory);
    if lab.definition.think_is_latency {
        add_outside(&mut measured, run.setting.think_s);
    }
    run.failure = match record.failure {
        Some(TrialFailure::Died { status, .. }) => {
            Some(format!("the server ended: {}", Language::DATA.say(&status)))
        }
        Some(TrialFailure::Boot(failure)) => Some(Language::DATA.say(&failure.message)),
        None if measured.figures.success.is_some_and(|share| share < 1.0) => {
            site.refused_connections(&run.setting)
        }
        None => None,
    };
    run.blocks = measured.blocks;
    run.warnings = measured.warnings;
    run.measured = Some(measured.figures);
    Ok(run)
}

/// The way between clients and server is part of the article's latencies; here clients wait as
/// long.
fn add_outside(measured: &mut Measured, outside_s: f64) {
    let times = measured.blocks.iter_mut().filter(|(name, _)| name.ends_with("_s"));
    times.flat_map(|(_, values)| values).for_each(|time| *time += outside_s);
    let latency = &mut measured.figures.latency_s;
    for time in [
        &mut latency.mean,
        &mut latency.p50,
        &mut latency.p90,
        &mut latency.p95,
        &mut latency.p99,
        &mut latency.max,
    ]
    .into_iter()
    .flatten()
    {
        *time += outside_s;
    }
}

/// Each run's throughput in relation to its series' first.
fn relate(runs: &mut [LabRun]) {
    let throughput = |figures: &Option<LabFigures>| {
        figures.as_ref().and_then(|figures| figures.throughput_rps).filter(|rate| *rate > 0.0)
    };
    for at in 0..runs.len() {
        let first = runs.iter().find(|run| run.setting.series == runs[at].setting.series);
        let Some(first) = first else { continue };
        let (measured, published) = (throughput(&first.measured), throughput(&first.published));
        let ratio = |own: Option<f64>, first: Option<f64>| Some(own? / first?);
        runs[at].relative_measured = ratio(throughput(&runs[at].measured), measured);
        runs[at].relative_published = ratio(throughput(&runs[at].published), published);
    }
}
