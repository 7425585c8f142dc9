//! What was looked for, and the settings that no other beats, as sentences and as a table.
//!
//! In: a [`Story`]. Out: a sentence and a [`Section`]. Computes only.

use super::{Block, Section, Table, names};
use crate::report::figures;
use crate::report::story::Story;
use crate::report::wording::{Found, FrontHeading, Language, Why};
use crate::terms::{FrontSetting, ObjectiveKind, ObjectiveReport, Verdict};

/// The session in one sentence, where something else than its capacity makes the chosen setting the
/// best, or where nothing holds the rate.
pub fn headline(story: &Story, found: &Found<'_>, language: Language) -> Option<String> {
    let say = language.phrases();
    let objective = story.objective.as_ref()?;
    let rate = objective.rate_rps.map(figures::rate);
    let rate = rate.as_deref();
    if let (Some(rate), Some(Verdict::No)) = (rate, objective.held) {
        return Some(say.nothing_holds(found, rate));
    }
    let chosen = objective.front.iter().find(|setting| setting.chosen)?;
    let is_todays = story.chosen() == story.current_configuration();
    let because = |why: Why<'_>| Some(say.run_because(found, is_todays, &why));
    if let (Some(rate), Some(Verdict::Undecided)) = (rate, objective.held) {
        return because(Why::Likeliest { rate });
    }
    match objective.goal {
        ObjectiveKind::Capacity => None,
        ObjectiveKind::Memory => {
            because(Why::LeastMemory { rate, memory: &figures::bytes(chosen.memory_bytes) })
        }
        ObjectiveKind::Latency => {
            because(Why::LowestP95 { rate, p95: &figures::latency(chosen.latency_s_p95?) })
        }
        ObjectiveKind::Cost => {
            because(Why::LeastCost { rate, million: &money(chosen.cost_per_million_requests?) })
        }
    }
}

/// The settings that no other beats; `None` where one setting beats all others.
pub fn section(story: &Story, language: Language) -> Option<Section> {
    let objective = story.objective.as_ref().filter(|objective| objective.front.len() > 1)?;
    let labels = language.labels();
    let name = if story.has_threads() { labels.setting } else { labels.workers };
    let mut head = vec![name, "", labels.capacity, labels.memory];
    let has = |of: fn(&FrontSetting) -> bool| objective.front.iter().any(of);
    let (has_latency, has_cost) =
        (has(|it| it.latency_s_p95.is_some()), has(|it| it.cost_per_hour.is_some()));
    if has_latency {
        head.push("p95");
    }
    if has_cost {
        // Of the cost, what is compared comes last: a table is 80 columns wide.
        head.extend((!has_latency).then_some(labels.an_hour));
        head.push(labels.a_million);
    }
    let rows = objective.front.iter().map(|it| row(story, it, has_latency, has_cost, language));
    let table = Block::Table(Table::new(&head, 2.., rows.collect()));
    Some(Section::new(title(objective, language), vec![table]))
}

fn row(
    story: &Story,
    it: &FrontSetting,
    has_latency: bool,
    has_cost: bool,
    language: Language,
) -> Vec<String> {
    let (say, labels) = (language.phrases(), language.labels());
    let interval = say.interval(it.capacity_rps_interval);
    let mut row = vec![
        names::name_of(story, it.workers, it.threads, language),
        match (it.chosen, it.confirmed) {
            (true, _) => labels.chosen.to_string(),
            (false, true) => String::new(),
            (false, false) => labels.unconfirmed.to_string(),
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

fn title(objective: &ObjectiveReport, language: Language) -> String {
    let title = match (objective.goal, objective.price_per_core_hour) {
        (ObjectiveKind::Latency, price) => FrontHeading::P95 { has_cost: price.is_some() },
        (_, Some(_)) => FrontHeading::Cost,
        (_, None) => FrontHeading::CapacityAndMemory,
    };
    language.phrases().front(title, objective.rate_rps.map(figures::rate).as_deref())
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
