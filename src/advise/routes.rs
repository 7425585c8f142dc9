//! The parts of the app: what each takes, and which of them mostly wait.
//!
//! In: requests as they were told. Out: rows. Computes only.

use super::demand::Request;
use super::times::Times;
use crate::terms::SeenRoute;

/// Rows that are shown at most.
const MOST: usize = 50;
/// A part that waits for at least this share of its time is bound by what it waits for.
const WAITS: f64 = 0.75;
/// One that holds threads for less than this share of all time makes no difference.
const COUNTS: f64 = 0.05;

/// That with the most time first. Where nothing tells how long a request waited for the lock, it is
/// taken to be in proportion to its CPU, by what the model says of all.
pub fn routes(times: &Times, request: Option<&Request>) -> Vec<SeenRoute> {
    let all = times.routes();
    let whole_s: f64 = all.values().map(|part| part.app_s).sum();
    let whole_cpu_s: f64 = all.values().map(|part| part.cpu_s).sum();
    let count: u64 = all.values().map(|part| part.requests).sum();
    let lock_s = request.map_or(0.0, |it| it.lock_s) * count as f64;
    let lock_of_cpu = if whole_cpu_s > 0.0 { lock_s / whole_cpu_s } else { 0.0 };
    let mut rows: Vec<SeenRoute> = all
        .iter()
        .map(|(name, part)| {
            let each = |sum: f64| sum / part.requests.max(1) as f64;
            let lock_s = part.gvl_wait_s.unwrap_or(lock_of_cpu * part.cpu_s);
            let wait_ratio = ((part.app_s - part.cpu_s - lock_s) / part.app_s).clamp(0.0, 1.0);
            let time_ratio = part.app_s / whole_s;
            SeenRoute {
                name: name.clone(),
                requests: part.requests,
                time_ratio,
                app_s: each(part.app_s),
                cpu_s: each(part.cpu_s),
                wait_ratio,
                is_io_bound: wait_ratio >= WAITS && time_ratio >= COUNTS,
            }
        })
        .filter(|row| row.time_ratio.is_finite() && row.wait_ratio.is_finite())
        .collect();
    rows.sort_by(|a, b| b.time_ratio.total_cmp(&a.time_ratio));
    rows.truncate(MOST);
    rows
}
