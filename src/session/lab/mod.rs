//! What `sweetspot lab` does: a published experiment run on this machine with real servers, its
//! figures set beside the article's, its conclusions looked at.
//!
//! In: a lab and how much of it is wanted. Out: a [`LabResult`]; what happens meanwhile as events.
//! Every run is kept as soon as it is over, so that an interrupted experiment goes on.

mod error;
mod file_error;
mod find;
mod needs;
mod progress;
mod show;
mod site;
pub mod tune;

use std::time::Duration;

pub use self::error::LabError;
pub use self::find::{FindError, find, write};
use self::progress::Progress;
pub use self::progress::RunOptions;
pub(in crate::session) use self::site::PREPARATION;
use self::site::Site;
pub use crate::lab::Lab;
use crate::lab::{self, CoresOf, Course, Planned};
use crate::monitor::host;
use crate::place::{Offer, PlaceError};
use crate::report::Language;
use crate::terms::{
    Configuration, LabEntry, LabEvent, LabFailure, LabResult, LabRun, Offered, Rate, Stated,
    TrialRecord, Variant,
};
use crate::trial::{Order, Outcome};

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

/// Runs an experiment.
///
/// # Errors
/// Only what is not the app server's doing.
pub fn run(
    lab: &Lab,
    options: &RunOptions,
    tell: &mut dyn FnMut(LabEvent<'_>),
) -> Result<Ended, LabError> {
    let course = lab::course(&lab.definition, options.is_quick);
    let mut site = Site::prepare(lab, course, options.stop.clone(), &mut |what| {
        tell(LabEvent::Preparing { what });
    })?;
    let machine = site.machine()?;
    let cores = machine.cores.get().ceil() as u16;
    let planned = lab::runs(&lab.definition, options.is_quick, cores);
    let mut progress = Progress::open(lab, options, &machine)?;
    let estimated_s = lab.estimated_s(options.is_quick, cores);
    tell(LabEvent::Begins { lab: &lab.name, runs: planned.len(), estimated_s });
    if !progress.runs().is_empty() {
        tell(LabEvent::TakenUp { runs: progress.runs().len() });
    }
    let scale = settle_scale(lab, &mut site, &mut progress, &planned, course, tell)?;
    let mut is_cut = false;
    for (index, one) in planned.iter().enumerate().skip(progress.runs().len()) {
        let of = planned.len();
        match measure(lab, &mut site, one, course, scale) {
            Ok(run) => {
                progress.add(run)?;
                let run = progress.runs().last().expect("it was added above");
                tell(LabEvent::Measured { index: index + 1, of, run });
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
    lab::relate(&mut runs);
    if !is_cut {
        progress.done()?;
    }
    let definition = &lab.definition;
    let cores_of = CoresOf { here: cores, article: lab.published.cores.unwrap_or(cores) };
    let mut conclusions = lab::judge(&definition.conclusion, &runs, cores_of);
    if options.is_quick {
        // The others rest on runs that only the whole experiment has.
        conclusions.retain(|one| one.evidence.iter().all(|evidence| evidence.value.is_some()));
    }
    let result = LabResult {
        lab: lab.name.clone(),
        title: definition.title.clone(),
        source: definition.source.clone(),
        is_quick: options.is_quick,
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
    tell: &mut dyn FnMut(LabEvent<'_>),
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
        Err(failure) => {
            return Err(LabError::Definition { message: Language::DATA.say_fact(&failure) });
        }
    };
    let cpu_s = lab::cpu_s_per_request(&record, course).ok_or_else(|| {
        let message = "no request was answered, so its cost is not known".to_string();
        LabError::Definition { message }
    })?;
    let published_s = scale.cpu_s_per_request;
    let scale = published_s / cpu_s;
    progress.set_scale(scale)?;
    tell(LabEvent::Scaled { scale, cpu_s_per_request: cpu_s, published_s });
    Ok(scale)
}

/// A trial; the error says why the server did not come up.
type Seen = Result<Box<TrialRecord>, LabFailure>;

fn observe(
    site: &mut Site,
    planned: &Planned<'_>,
    offered: Offered,
    course: Course,
    is_fresh: bool,
) -> Result<Seen, LabError> {
    let setting = &planned.setting;
    let order = Order {
        configuration: Configuration { workers: setting.workers, threads: setting.threads },
        variant: Variant::AS_IT_IS,
        fresh_start: is_fresh,
        offer: Offer {
            offered,
            warm_up: Duration::from_secs(course.warm_up_s.into()),
            duration: Duration::from_secs(course.duration_s.into()),
            seed: u64::from(setting.repeat),
            connection: None,
            pods_away: 0,
        },
        latency_limit: None,
    };
    let targets = planned.block.targets.iter().map(|one| one.target.clone()).collect();
    Ok(match site.place(&setting.env, targets)?.run(&order)? {
        Outcome::Recorded(record) => Ok(record),
        Outcome::BootFailed(failure) => Err(error::without_server(failure)),
    })
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
        Err(failure) => return Ok(LabRun { failure: Some(failure.into()), ..run }),
    };
    let services = site.services_cpu_s();
    let whole_s = record.load.run.duration.as_secs_f64();
    let mut measured = lab::figures(&record, course, &planned.block.targets);
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
        measured.add_outside(run.setting.think_s);
    }
    let failure = match record.failure {
        Some(failure) => Some(failure.into()),
        None if measured.figures.success.is_some_and(|share| share < 1.0) => {
            site.refused_connections(&run.setting)
        }
        None => None,
    };
    run.failure = failure.map(Stated::from);
    run.blocks = measured.blocks;
    run.warnings = measured.warnings;
    run.measured = Some(measured.figures);
    Ok(run)
}
