//! What was looked for, and the settings that no other beats, as sentences and as a table.
//!
//! In: a [`Story`]. Out: plain text. Computes only.

use super::figures;
use super::story::Story;
use crate::terms::{FrontSetting, ObjectiveKind, Verdict};

/// The session in one sentence, where something else than its capacity makes the chosen setting the
/// best, or where nothing holds the rate. `chosen` and `holds` as they are said elsewhere.
pub fn headline(story: &Story, chosen: &str, holds: &str) -> Option<String> {
    if let Some(misses) = misses(story) {
        return Some(format!("{misses}; the most is {holds}, with {chosen}."));
    }
    let why = why(story)?;
    let run = match story.chosen() == story.current_configuration() {
        true => format!("Keep {chosen}, as it runs today"),
        false => format!("Run {chosen}"),
    };
    Some(format!("{run}: {why}; it holds {holds}."))
}

/// What makes the chosen setting the best, where that is not its capacity: `the least memory (112
/// MiB) of those that hold 120/s`. `None` where it is, or where nothing holds the rate.
fn why(story: &Story) -> Option<String> {
    let objective = story.objective.as_ref()?;
    let chosen = objective.front.iter().find(|setting| setting.chosen)?;
    if objective.held == Some(Verdict::No) {
        return None;
    }
    let of_those = match (objective.rate_rps, objective.held) {
        (Some(rate), Some(Verdict::Undecided)) => {
            return Some(format!(
                "it is the likeliest to hold {}, which none is certain to",
                figures::rate(rate)
            ));
        }
        (Some(rate), _) => format!(" of those that hold {}", figures::rate(rate)),
        (None, _) => String::new(),
    };
    let what = match objective.goal {
        ObjectiveKind::Capacity => return None,
        ObjectiveKind::Memory => {
            format!("it needs the least memory{of_those}, {}", figures::bytes(chosen.memory_bytes))
        }
        ObjectiveKind::Latency => {
            let p95 = figures::latency(chosen.latency_s_p95?);
            format!("it has the lowest p95{of_those}, {p95} at that rate")
        }
        ObjectiveKind::Cost => {
            let cost = money(chosen.cost_per_million_requests?);
            format!("a million requests cost least with it{of_those}, {cost}")
        }
    };
    Some(what)
}

/// That no setting holds the rate.
fn misses(story: &Story) -> Option<String> {
    let objective = story.objective.as_ref()?;
    let rate = objective.rate_rps.filter(|_| objective.held == Some(Verdict::No))?;
    Some(format!("No setting that was measured holds {}", figures::rate(rate)))
}

/// The table of the front with its head; `None` where one setting beats all others.
pub fn front(story: &Story) -> Option<(Vec<String>, Vec<Vec<String>>)> {
    let objective = story.objective.as_ref().filter(|objective| objective.front.len() > 1)?;
    let name = if story.has_threads { "setting" } else { "workers" };
    let mut head: Vec<String> = [name, "", "capacity", "memory"].map(String::from).to_vec();
    let has = |of: fn(&FrontSetting) -> bool| objective.front.iter().any(of);
    let (has_latency, has_cost) =
        (has(|it| it.latency_s_p95.is_some()), has(|it| it.cost_per_hour.is_some()));
    if has_latency {
        head.push("p95".to_string());
    }
    if has_cost {
        // Of the cost, what is compared comes last: a table is 80 columns wide.
        head.extend((!has_latency).then(|| "an hour".to_string()));
        head.push("a million".to_string());
    }
    let rows = objective.front.iter().map(|it| row(story, it, has_latency, has_cost));
    Some((head, rows.collect()))
}

fn row(story: &Story, it: &FrontSetting, has_latency: bool, has_cost: bool) -> Vec<String> {
    let interval = figures::interval(it.capacity_rps_interval);
    let mut row = vec![
        story.name_of(it.workers, it.threads),
        match (it.chosen, it.confirmed) {
            (true, _) => "chosen".to_string(),
            (false, true) => String::new(),
            (false, false) => "unconfirmed".to_string(),
        },
        format!("{} ({interval})", figures::rate(it.capacity_rps)),
        figures::bytes(it.memory_bytes),
    ];
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_string());
    if has_latency {
        row.push(or_dash(it.latency_s_p95.map(figures::latency)));
    }
    if has_cost {
        row.extend((!has_latency).then(|| or_dash(it.cost_per_hour.map(money))));
        row.push(or_dash(it.cost_per_million_requests.map(money)));
    }
    row
}

/// What stands above the table.
pub fn heading(story: &Story) -> String {
    let Some(objective) = &story.objective else { return String::new() };
    let figures = match (objective.goal, objective.price_per_core_hour) {
        (ObjectiveKind::Latency, Some(_)) => "p95 and cost of requests",
        (ObjectiveKind::Latency, None) => "p95",
        (_, Some(_)) => "cost of an hour and of a million requests",
        (_, None) => return "Capacity against memory".to_string(),
    };
    let at = match objective.rate_rps {
        Some(rate) => figures::rate(rate),
        None => "70 % of capacity".to_string(),
    };
    format!("Capacity against memory; {figures} at {at}")
}

/// Four significant digits: prices are given in fractions of a cent.
fn money(value: f64) -> String {
    let digits = match value.abs() {
        it if it >= 1000.0 => 0,
        it if it > 0.0 => (3 - it.log10().floor() as i32).clamp(0, 9) as usize,
        _ => 0,
    };
    format!("{value:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::money;

    #[test]
    fn costs_keep_four_digits() {
        for (value, text) in
            [(0.038, "0.03800"), (0.000_412_34, "0.0004123"), (12.3456, "12.35"), (0.0, "0")]
        {
            assert_eq!(money(value), text);
        }
    }
}
