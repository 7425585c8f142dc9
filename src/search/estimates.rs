//! Capacities and ratios of capacities by all that is known, with their intervals.
//!
//! In: the ledger. Out: a figure with its interval. Computes only.

use super::cell::Cell;
use super::constants::{
    DRIFT_SD_LOG, GUESS_DEGREES, KNOWN_BADLY, PROBES_SD_DEGREES, START_SD_LOG, STARTS_IN_A_RATIO,
};
use super::ledger::Ledger;
use crate::stats::{Estimate, PriorSpread, normal, shrunk_interval};
use crate::terms::Configuration;

/// From fresh starts made after the choice; from the race alone when there was no time for them.
/// Requests/s, with its 95 % interval.
pub(super) fn capacity(ledger: &Ledger, configuration: Configuration) -> Option<Estimate> {
    let cell = ledger.cells.get(&configuration)?;
    if cell.blocks.is_empty() {
        return of_race(cell);
    }
    Some(of_blocks(ledger, configuration)?.widened(1.96 * drift_sd_log(ledger)))
}

/// One start's belief, widened by what starts differ.
fn of_race(cell: &Cell) -> Option<Estimate> {
    let (mean, sd) = cell.race_mean_sd()?;
    let half = 1.96 * (sd.powi(2) + START_SD_LOG.powi(2)).sqrt();
    Some(Estimate::around(mean, half, 1).exp())
}

/// From the blocks as they were, whatever the machine did meanwhile.
pub(super) fn of_blocks(ledger: &Ledger, configuration: Configuration) -> Option<Estimate> {
    let blocks = &ledger.cells.get(&configuration)?.blocks;
    let logs: Vec<f64> = blocks.iter().map(|block| block.1.ln()).collect();
    Some(shrunk_interval(&logs, start_spread(ledger, 1.0), 0.95)?.exp())
}

/// How far the machine's speed is from its usual one over the minutes of the blocks, which the
/// blocks themselves cannot show: from how far what was confirmed lies from what the race had
/// found some minutes before, beyond what chance explains.
pub(super) fn drift_sd_log(ledger: &Ledger) -> f64 {
    let (mut variance, mut degrees) = (DRIFT_SD_LOG.powi(2) * GUESS_DEGREES, GUESS_DEGREES);
    let spread = start_spread(ledger, 1.0).variance;
    for cell in ledger.cells.values().filter(|cell| cell.probes > 0 && !cell.blocks.is_empty()) {
        let Some((race, sd)) = cell.race_mean_sd() else { continue };
        let by_chance = sd.powi(2) + START_SD_LOG.powi(2) + spread / cell.blocks.len() as f64;
        // The two differ by twice the variance of each.
        variance += 0.5 * ((cell.blocks_mean() - race).powi(2) - by_chance).max(0.0);
        degrees += 1.0;
    }
    (variance / degrees).sqrt()
}

/// `a`'s capacity divided by `b`'s, within blocks where both were measured on fresh starts; by the
/// race where there is none. `None` before both were measured.
pub(super) fn ratio(
    ledger: &Ledger,
    a: Configuration,
    b: Configuration,
    level: f64,
) -> Option<Estimate> {
    let (a, b) = (ledger.cells.get(&a)?, ledger.cells.get(&b)?);
    let logs: Vec<f64> = a.paired_blocks(b).map(|(a, b)| (a / b).ln()).collect();
    if !logs.is_empty() {
        let spread = start_spread(ledger, STARTS_IN_A_RATIO);
        return Some(shrunk_interval(&logs, spread, level)?.exp());
    }
    let (a, b) = (a.race_mean_sd()?, b.race_mean_sd()?);
    let sd = (a.1.powi(2) + b.1.powi(2) + 2.0 * START_SD_LOG.powi(2)).sqrt();
    let z = normal::quantile(0.5 + 0.5 * level);
    Some(Estimate::around(a.0 - b.0, z * sd, 1).exp())
}

/// What the capacity of so many starts scatters by before any is compared: the probes' own
/// uncertainty and the spread between starts. A start that missed every rate is known badly, and
/// says nothing of the others.
fn start_spread(ledger: &Ledger, starts: f64) -> PriorSpread {
    let blocks = ledger.cells.values().flat_map(|cell| &cell.blocks);
    let mut variances: Vec<f64> = blocks.map(|(_, _, sd_log)| sd_log.powi(2)).collect();
    variances.sort_by(f64::total_cmp);
    let most =
        KNOWN_BADLY * variances.get(variances.len().saturating_sub(1) / 2).copied().unwrap_or(0.0);
    variances.retain(|variance| *variance <= most);
    let probes = variances.iter().sum::<f64>() / variances.len().max(1) as f64;
    let start = START_SD_LOG.powi(2);
    // Of a sum of variances, each known as well as so many values tell it (Satterthwaite 1946).
    let degrees = (probes + start).powi(2)
        / (probes.powi(2) / PROBES_SD_DEGREES + start.powi(2) / GUESS_DEGREES);
    PriorSpread { variance: starts * (probes + start), degrees }
}

/// The best of what was measured after the race, by all that is known of each, its starts and the
/// race. Who was beaten has fewer blocks than the others.
pub(super) fn best_confirmed(ledger: &Ledger) -> Option<Configuration> {
    best_of(ledger, ledger.confirmed())
}

/// The best of these by all that is known of each; the worst start breaks a tie.
pub(super) fn best_of(
    ledger: &Ledger,
    finalists: impl Iterator<Item = Configuration>,
) -> Option<Configuration> {
    let spread = start_spread(ledger, 1.0).variance;
    let worst = |cell: &Cell| cell.blocks.iter().map(|b| b.1).fold(f64::INFINITY, f64::min);
    finalists.max_by(|a, b| {
        let (a, b) = (&ledger.cells[a], &ledger.cells[b]);
        a.score(spread).total_cmp(&b.score(spread)).then(worst(a).total_cmp(&worst(b)))
    })
}
