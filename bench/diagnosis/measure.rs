//! Two trials on one start of the server, as `tune` runs them: one with a single client, whose
//! latency shows what a request takes when nobody is in its way, and one under the load that is to
//! show the limit. A load is never ended early here, however hopeless it is.
//!
//! In: a size of a situation. Out: its record.

use std::ops::ControlFlow;
use std::thread;
use std::time::Duration;

use sweetspot::load;
use sweetspot::place::local::Local;
use sweetspot::place::{Offer, Place as _, Started};
use sweetspot::report::Language;
use sweetspot::terms::{Configuration, Offered, Priority, StopSignal, TrialRecord};

use super::Settings;
use super::beside::StandingStill;
use super::record::Record;
use super::site::Site;
use super::situation::{Beside, Size};
use crate::common::{Result, interrupt};

/// Before the load with one client is measured, and how long it then is.
const UNLOADED: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(2));

/// Before the load that is to show the limit is measured.
const WARM_UP: Duration = Duration::from_secs(2);

/// By then clients that keep their connections have them; well within the warm-up.
const CONNECTED: Duration = Duration::from_secs(1);

/// A server that has started.
struct Serving {
    configuration: Configuration,
    boot: Duration,
}

/// Sets the situation up, measures, and clears everything away.
pub fn measure(size: &Size, settings: &Settings, stop: &StopSignal) -> Result<Record> {
    if size.beside == Beside::OneCore && load::priority_permitted() != Priority::Normal {
        return Err("the generator may still come first on its core".into());
    }
    // As `sweetspot load` does: what can't be sent must be late, and not wait for a place.
    load::raise_descriptor_limit();
    let mut site = Site::prepare(size, settings, stop)?;
    let place = &mut site.place;
    let serving = start(place, Configuration::new(size.workers, size.threads)?)?;
    let alone = Offer {
        offered: Offered::Closed { clients: 1, think: Duration::ZERO },
        warm_up: UNLOADED.0,
        duration: UNLOADED.1,
        seed: 1,
        connection: None,
        pods_away: 0,
    };
    let unloaded = trial(place, &serving, &alone)?;
    if let Some(failure) = &unloaded.failure {
        return Err(format!("it did not even stand one client: {failure:?}").into());
    }
    let duration = Duration::from_secs(settings.seconds);
    let push = Offer { offered: size.offered, warm_up: WARM_UP, duration, seed: 2, ..alone };
    let waking = match size.beside {
        Beside::StandingStill => {
            let still = StandingStill::all_but_one(&place.workers())?;
            Some(thread::spawn(move || {
                thread::sleep(CONNECTED);
                drop(still);
            }))
        }
        _ => None,
    };
    let pushed = trial(place, &serving, &push)?;
    if let Some(waking) = waking {
        waking.join().map_err(|_| "the workers could not be woken")?;
    }
    let cores = place.machine().cores.get();
    place.stop()?;
    Ok(Record { build: settings.build()?, cores, unloaded, pushed })
}

fn start(place: &mut Local, configuration: Configuration) -> Result<Serving> {
    match place.start(configuration)? {
        Started::Ready { boot } => Ok(Serving { configuration, boot }),
        Started::Failed(failure) => {
            let lines = failure.last_lines.join(" | ");
            let cause = Language::DATA.say(&failure.message);
            let advice = Language::DATA.say(&failure.advice);
            Err(format!("{cause}; {advice}; {lines}").into())
        }
    }
}

fn trial(place: &mut Local, serving: &Serving, offer: &Offer) -> Result<TrialRecord> {
    let observed = place.offer(offer, &mut |_| ControlFlow::Continue(()))?;
    interrupt::check()?;
    Ok(TrialRecord {
        configuration: serving.configuration,
        start: 1,
        load: observed.load,
        monitor: observed.monitor,
        boot: serving.boot,
        failure: observed.failure,
    })
}
