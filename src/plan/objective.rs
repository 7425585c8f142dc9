//! What is looked for, from `--goal`, `--rate` and the prices: what is not said follows from what
//! is.

use super::error::{PlanError, Problem};
use super::options::Key;
use super::settings::{Given, Settings, Sourced};
use crate::terms::{Objective, ObjectiveKind, PlanSource, Prices, Rate};

pub const KINDS: [(&str, ObjectiveKind); 4] = [
    ("capacity", ObjectiveKind::Capacity),
    ("memory", ObjectiveKind::Memory),
    ("latency", ObjectiveKind::Latency),
    ("cost", ObjectiveKind::Cost),
];

/// What is looked for: the cost where a price is given, else memory where a rate is, else the
/// highest capacity.
///
/// # Errors
/// A value that is impossible; a goal that lacks what it needs, or is given what it has no use for.
pub fn objective(settings: &Settings<'_>) -> Result<Sourced<Objective>, PlanError> {
    let asked = settings.get(Key::Goal);
    let kind = asked.as_ref().map(|given| given.choice(&KINDS)).transpose()?;
    let rate_given = settings.get(Key::Rate);
    let rate = rate_given.as_ref().map(rate).transpose()?;
    let core = settings.get(Key::PricePerCoreHour);
    let gib = settings.get(Key::PricePerGibHour);
    let prices = prices(core.as_ref(), gib.as_ref())?;
    let (kind, source) = match (kind, &prices, &rate) {
        (Some(kind), ..) => (kind.value, kind.source),
        (None, Some(prices), _) => (ObjectiveKind::Cost, prices.source.clone()),
        (None, None, Some(rate)) => (ObjectiveKind::Memory, rate.source.clone()),
        (None, None, None) => (ObjectiveKind::Capacity, PlanSource::Default),
    };
    let objective = Objective {
        kind,
        rate: rate.map(|rate| rate.value),
        prices: prices.map(|prices| prices.value),
    };
    if let (Some(given), Some(problem)) = (&asked, lacks(&objective)) {
        return Err(given.problem(problem));
    }
    if let (Some(given), ObjectiveKind::Capacity) = (&rate_given, kind) {
        return Err(given.problem(Problem::RateForCapacity));
    }
    Ok(Sourced { value: objective, source })
}

/// What the goal needs and was not given.
fn lacks(objective: &Objective) -> Option<Problem> {
    match objective.kind {
        ObjectiveKind::Memory | ObjectiveKind::Latency if objective.rate.is_none() => {
            Some(Problem::GoalNeedsRate)
        }
        ObjectiveKind::Cost if objective.prices.is_none() => Some(Problem::GoalNeedsPrice),
        _ => None,
    }
}

fn rate(given: &Given<'_>) -> Result<Sourced<Rate>, PlanError> {
    let rate = given.read(str::parse::<Rate>)?;
    match rate.value.as_per_second() > 0.0 {
        true => Ok(rate),
        false => Err(given.problem(Problem::NoRate)),
    }
}

/// One that is left out is 0; both cannot be.
fn prices(
    core: Option<&Given<'_>>,
    gib: Option<&Given<'_>>,
) -> Result<Option<Sourced<Prices>>, PlanError> {
    let Some(first) = core.or(gib) else { return Ok(None) };
    let read = |given: Option<&Given<'_>>| given.map_or(Ok(0.0), price);
    let value = Prices { per_core_hour: read(core)?, per_gib_hour: read(gib)? };
    if value.per_core_hour + value.per_gib_hour <= 0.0 {
        return Err(first.problem(Problem::AllFree));
    }
    Ok(Some(Sourced { value, source: first.source() }))
}

fn price(given: &Given<'_>) -> Result<f64, PlanError> {
    let price = given.read(|text| {
        let price = text.trim().parse::<f64>().ok();
        price.filter(|price| price.is_finite() && *price >= 0.0).ok_or(Problem::Price)
    })?;
    Ok(price.value)
}
