//! A capacity that was found at a URL, as text for people, and its search a line a window.

use super::text::{line, time};
use crate::report::Language;
use crate::report::figures::{count, number, rate};
use crate::terms::{CapacityConclusion, CapacitySummary, CapacityWindow};

/// The result, ending in a line end. `description`: what was done, a line each.
pub fn result(description: &[String], summary: &CapacitySummary) -> String {
    let mut text = String::new();
    for line in description {
        text += &format!("{line}\n");
    }
    text.push('\n');
    for one in &summary.windows {
        text += &format!("{}\n", window(one));
    }
    if !summary.windows.is_empty() {
        text.push('\n');
    }
    line(&mut text, "Capacity", &format!("{} for {}", answer(summary), summary.slo));
    if let Some(route) = summary.route {
        line(&mut text, "Route", &format!("{} to connect", time(route.connect_s)));
    }
    for warning in &summary.warnings {
        line(&mut text, "Warning", &Language::English.say_warning(warning));
    }
    if !summary.valid {
        line(&mut text, "Not valid", "see the warnings; this is no capacity of the server's");
    }
    text
}

/// One window, without a line end.
pub fn window(window: &CapacityWindow) -> String {
    let met = match (window.valid, window.met) {
        (false, _) => "not valid: generator",
        (true, Some(true)) => "met",
        (true, Some(false)) => "not met",
        (true, None) => "undecided",
    };
    let latency = &window.latency_s;
    format!(
        "{:>9} for {:>2.0} s: p50 {:>7}  p95 {:>7}  p99 {:>7}  {met}",
        rate(window.rate_rps),
        window.duration_s,
        time(latency.p50),
        time(latency.p95),
        time(latency.p99),
    )
}

/// One burst, without a line end.
pub fn burst(clients: u32, throughput_rps: f64) -> String {
    let clients = count(u64::from(clients), "client", "clients");
    format!("{clients} without a pause: {} go through", rate(throughput_rps))
}

fn answer(summary: &CapacitySummary) -> String {
    let bound = summary.bound_rps.map_or("-".to_string(), rate);
    let interval = summary.capacity_rps.zip(summary.capacity_rps_interval);
    let figures = interval
        .map(|(value, [low, high])| format!("{} [{}, {}]", rate(value), number(low), number(high)));
    match (summary.conclusion, figures) {
        (CapacityConclusion::Found, Some(figures)) => figures,
        (CapacityConclusion::Below, _) => format!("below {bound} (missed at every rate tried)"),
        (CapacityConclusion::AtLeast, _) => format!("at least {bound}, the highest rate tried,"),
        (_, Some(figures)) => format!("undecided, perhaps {figures},"),
        (_, None) => "undecided".to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::{Arrivals, CapacityDoubt, CapacityLatency, Reason, RouteSummary};

    fn summary() -> CapacitySummary {
        CapacitySummary {
            conclusion: CapacityConclusion::Found,
            capacity_rps: Some(42.34),
            capacity_rps_interval: Some([38.06, 45.91]),
            bound_rps: None,
            slo: "p95<200ms,errors<1%".parse().unwrap(),
            arrivals: Arrivals::Poisson,
            windows: vec![CapacityWindow {
                rate_rps: 42.0,
                duration_s: 9.0,
                met: None,
                reason: Reason::NoGoalYet.into(),
                latency_s: CapacityLatency { p50: 0.0412, p95: 0.193, p99: 0.2509 },
                throughput_rps: 41.8,
                valid: true,
            }],
            valid: true,
            warnings: Vec::new(),
            load_s: 80.0,
            route: Some(RouteSummary { connect_s: 0.000_05, jitter_s: None, samples: 3 }),
        }
    }

    #[test]
    fn the_answer_stands_below_its_windows() {
        assert_eq!(
            result(&["GET / on app".to_string()], &summary()),
            "GET / on app\n\n   \
             42.0/s for  9 s: p50 41.2 ms  p95  193 ms  p99  251 ms  undecided\n\n\
             Capacity    42.3/s [38.1, 45.9] for p95<200ms,errors<1%\n\
             Route       50 us to connect\n"
        );
    }

    #[test]
    fn what_is_no_capacity_is_not_shown_as_one() {
        let shown = |change: &dyn Fn(&mut CapacitySummary)| {
            let mut summary = summary();
            change(&mut summary);
            result(&[], &summary)
        };
        let below = shown(&|summary| {
            summary.conclusion = CapacityConclusion::Below;
            (summary.capacity_rps, summary.bound_rps) = (None, Some(3.0));
        });
        assert!(
            below.contains("below 3.00/s (missed at every rate tried) for p95<200ms"),
            "{below}"
        );
        let at_least = shown(&|summary| {
            summary.conclusion = CapacityConclusion::AtLeast;
            summary.bound_rps = Some(27_000.0);
            summary.windows[0].valid = false;
            summary.valid = false;
            summary.warnings = vec![CapacityDoubt::GeneratorLimited.into()];
        });
        assert!(at_least.contains("at least 27000/s, the highest rate tried, for"), "{at_least}");
        assert!(at_least.contains("not valid: generator"), "{at_least}");
        assert!(
            at_least.contains("(--loops), or run it on another machine\nNot valid"),
            "{at_least}"
        );
        let undecided = shown(&|summary| summary.conclusion = CapacityConclusion::Undecided);
        assert!(undecided.contains("undecided, perhaps 42.3/s [38.1, 45.9], for"), "{undecided}");
    }

    #[test]
    fn lines_fit_a_terminal_of_80_columns() {
        let mut wide = summary().windows.remove(0);
        wide.rate_rps = 123_456.0;
        wide.met = Some(false);
        assert!(window(&wide).chars().count() <= 80, "{}", window(&wide));
        assert_eq!(burst(1, 44.0), "1 client without a pause: 44.0/s go through");
    }
}
