//! Does what the article ended with hold here? Each conclusion rests on figures, or ratios of two,
//! with their intervals.
//!
//! In: conclusions and the runs. Out: yes, no or undecided, with the figures. Only computes.

use super::definition::{Conclusion, Condition, Count, FIGURES_OF_TARGETS, Selector};
use crate::stats::{Estimate, LogRatio, PriorSpread, shrunk_interval};
use crate::terms::{Holds, LabComparison, LabConclusion, LabEvidence, LabFigures, LabRun, LabRuns};

const LEVEL: f64 = 0.95;

/// What "cores" means in a selection.
#[derive(Debug, Clone, Copy)]
pub struct CoresOf {
    pub here: u16,
    pub article: u16,
}

/// Each conclusion, looked at on these runs.
pub fn judge(conclusions: &[Conclusion], runs: &[LabRun], cores: CoresOf) -> Vec<LabConclusion> {
    conclusions.iter().map(|conclusion| conclude(conclusion, runs, cores)).collect()
}

/// All conditions must hold; one that does not is enough for a no.
fn conclude(conclusion: &Conclusion, runs: &[LabRun], cores: CoresOf) -> LabConclusion {
    let evidence: Vec<LabEvidence> =
        conclusion.when.iter().map(|condition| look(condition, runs, cores)).collect();
    let has = |holds: Holds| evidence.iter().any(|one| one.holds == holds);
    let holds = match (has(Holds::No), has(Holds::Undecided)) {
        (true, _) => Holds::No,
        (false, true) => Holds::Undecided,
        (false, false) => Holds::Yes,
    };
    LabConclusion { says: conclusion.says.clone(), holds, evidence }
}

fn look(condition: &Condition, runs: &[LabRun], cores: CoresOf) -> LabEvidence {
    let figure = condition.figure.as_str();
    let best = |selector: &Selector| best(figure, &selected(selector, runs, cores.here));
    let of = best(&condition.of);
    let to = condition.to.as_ref().map(best);
    let (value, interval) = match (&of, &to) {
        (Some(of), None) => (Some(of.value), of.interval()),
        (Some(of), Some(Some(to))) if to.value > 0.0 => {
            (Some(of.value / to.value), ratio_interval(of, to))
        }
        _ => (None, None),
    };
    let published = |selector: &Selector| {
        let settings = selected(selector, runs, cores.article);
        published_best(figure, &settings).filter(|value| *value > 0.0)
    };
    let published = match &condition.to {
        None => published(&condition.of),
        Some(to) => published(&condition.of).zip(published(to)).map(|(of, to)| of / to),
    };
    LabEvidence {
        what: compared(condition, cores.here).into(),
        value,
        interval: interval.map(|it| it.interval()),
        published,
        at_least: condition.at_least,
        at_most: condition.at_most,
        holds: holds(condition, value, interval),
    }
}

/// A figure that is the same in every part of a run decides without an interval.
fn holds(condition: &Condition, value: Option<f64>, interval: Option<Estimate>) -> Holds {
    let Some((low, high)) = interval.map(|it| (it.low, it.high)).filter(|_| value.is_some()) else {
        return Holds::Undecided;
    };
    let at_least = condition.at_least.unwrap_or(f64::NEG_INFINITY);
    let at_most = condition.at_most.unwrap_or(f64::INFINITY);
    if low >= at_least && high <= at_most {
        Holds::Yes
    } else if high < at_least || low > at_most {
        Holds::No
    } else {
        Holds::Undecided
    }
}

/// All repeats of one setting.
type Repeats<'a> = Vec<&'a LabRun>;

/// The runs meant, those of one setting together.
fn selected<'a>(selector: &Selector, runs: &'a [LabRun], cores: u16) -> Vec<Repeats<'a>> {
    let mut settings: Vec<Repeats<'a>> = Vec::new();
    for run in runs.iter().filter(|run| is_meant(selector, run, cores)) {
        let same = |others: &&mut Repeats<'a>| {
            let mut first = others[0].setting.clone();
            first.repeat = run.setting.repeat;
            first == run.setting
        };
        match settings.iter_mut().find(same) {
            Some(others) => others.push(run),
            None => settings.push(vec![run]),
        }
    }
    settings
}

fn is_meant(selector: &Selector, run: &LabRun, cores: u16) -> bool {
    let setting = &run.setting;
    let any = |counts: &[super::definition::Count], number: u16| {
        counts.is_empty() || counts.iter().any(|count| count.on(cores) == number)
    };
    selector.name.as_ref().is_none_or(|name| *name == setting.target)
        && selector.series.as_ref().is_none_or(|series| *series == setting.series)
        && any(&selector.workers, setting.workers.get())
        && (!selector.beyond_cores || setting.workers.get() > cores)
        && any(&selector.threads, setting.threads.get())
        && (selector.rate_rps.is_empty()
            || setting.rate_rps.is_some_and(|rate| selector.rate_rps.contains(&rate)))
        && (selector.clients.is_empty()
            || setting.clients.is_some_and(|clients| selector.clients.contains(&clients)))
        && selector.env.iter().all(|(name, value)| setting.env.get(name) == Some(value))
}

/// A figure's mean with the values of its parts.
struct Sample {
    value: f64,
    blocks: Vec<f64>,
    /// Variance of a part relative to its square that is there even when all parts are alike:
    /// requests come whole, so each part is counted to one request at either end.
    rounding: f64,
}

impl Sample {
    fn interval(&self) -> Option<Estimate> {
        shrunk_interval(&self.blocks, PriorSpread::NONE, LEVEL)
    }
}

/// Times are the better the shorter they are.
fn is_better(figure: &str, one: f64, other: f64) -> bool {
    if is_time(figure) { one < other } else { one > other }
}

/// Whether the figure of this name is a time, of all requests or of one target.
pub fn is_time(figure: &str) -> bool {
    figure.split(' ').next().is_some_and(|name| name.ends_with("_s"))
}

fn best(figure: &str, settings: &[Repeats<'_>]) -> Option<Sample> {
    let samples = settings.iter().filter_map(|repeats| sample(figure, repeats));
    samples.reduce(|one, other| if is_better(figure, other.value, one.value) { other } else { one })
}

/// The mean over repeats; of one run alone its parts show how far it can be trusted.
fn sample(figure: &str, repeats: &[&LabRun]) -> Option<Sample> {
    let of_run = |run: &LabRun| {
        let blocks = run.blocks.get(figure).filter(|blocks| !blocks.is_empty())?;
        let value = run.measured.as_ref().and_then(|figures| measured(figure, figures));
        Some((value.unwrap_or_else(|| mean(blocks)), blocks.clone()))
    };
    let mut runs: Vec<(f64, Vec<f64>)> = repeats.iter().filter_map(|run| of_run(run)).collect();
    match runs.len() {
        0 => None,
        1 => {
            let (value, blocks) = runs.pop()?;
            let rounding = rounding(figure, repeats, blocks.len());
            Some(Sample { value, blocks, rounding })
        }
        _ => {
            let blocks: Vec<f64> = runs.iter().map(|(value, _)| *value).collect();
            let rounding = rounding(figure, repeats, 1);
            Some(Sample { value: mean(&blocks), blocks, rounding })
        }
    }
}

/// Of a rate that is counted: two ends, each off by up to half a request, evenly distributed, have
/// a variance of 2/12 together.
fn rounding(figure: &str, repeats: &[&LabRun], parts: usize) -> f64 {
    let counts = repeats.iter().filter_map(|run| {
        let figures = run.measured.as_ref()?;
        Some(figures.requests? as f64 * figures.success? / parts as f64)
    });
    let counts: Vec<f64> = counts.filter(|count| *count > 0.0).collect();
    match figure {
        "throughput_rps" if !counts.is_empty() => 1.0 / (6.0 * mean(&counts).powi(2)),
        _ => 0.0,
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The figure of this name, of a whole run.
pub fn measured(figure: &str, figures: &LabFigures) -> Option<f64> {
    let (name, latency_s) = match figure.split_once(' ') {
        None => (figure, figures.latency_s),
        Some((name, target)) if FIGURES_OF_TARGETS.contains(&name) => {
            let one = figures.by_target.iter().find(|one| one.target == target)?;
            (name, one.latency_s)
        }
        Some(_) => return None,
    };
    match name {
        "throughput_rps" => figures.throughput_rps,
        "success" => figures.success,
        "mean_s" => latency_s.mean,
        "p50_s" => latency_s.p50,
        "p95_s" => latency_s.p95,
        "p99_s" => latency_s.p99,
        "cpu_cores" => figures.cpu_cores,
        "cpu_share" => figures.cpu_share,
        _ => None,
    }
}

fn published_best(figure: &str, settings: &[Repeats<'_>]) -> Option<f64> {
    let of = |repeats: &Repeats<'_>| {
        let figures = repeats.iter().filter_map(|run| run.published.as_ref());
        let values: Vec<f64> = figures.filter_map(|figures| measured(figure, figures)).collect();
        (!values.is_empty()).then(|| mean(&values))
    };
    let values = settings.iter().filter_map(of);
    values.reduce(|one, other| if is_better(figure, other, one) { other } else { one })
}

/// Of a ratio of two means of independent parts, on logarithms:
/// `ln(a/b) ± t sqrt((s_a/a)^2/n_a + (s_b/b)^2/n_b)`, the variances by the delta method, the
/// degrees of freedom by Welch and Satterthwaite (1946).
fn ratio_interval(of: &Sample, to: &Sample) -> Option<Estimate> {
    let relative_variance = |sample: &Sample| -> Option<f64> {
        let n = sample.blocks.len() as f64;
        let mean = mean(&sample.blocks);
        let squares = sample.blocks.iter().map(|value| (value - mean).powi(2));
        let relative = squares.sum::<f64>() / (n - 1.0) / (mean * mean);
        (n >= 2.0 && mean > 0.0).then(|| relative.max(sample.rounding) / n)
    };
    let (a, b) = (relative_variance(of)?, relative_variance(to)?);
    let count = [of, to].map(|sample| sample.blocks.len() as u64);
    let parts = [(a, count[0] as f64 - 1.0), (b, count[1] as f64 - 1.0)];
    // Around one and then scaled, so that parts without any spread leave the ratio as it is.
    Some(LogRatio::of_parts(0.0, &parts, count).estimate(LEVEL).times(of.value / to.value))
}

fn compared(condition: &Condition, cores: u16) -> LabComparison {
    LabComparison::RunsCompared {
        figure: condition.figure.clone(),
        of: runs_of(&condition.of, cores),
        to: condition.to.as_ref().map(|to| runs_of(to, cores)),
    }
}

fn runs_of(selector: &Selector, cores: u16) -> LabRuns {
    let on = |counts: &[Count]| counts.iter().map(|count| count.on(cores)).collect();
    LabRuns {
        name: selector.name.clone().or_else(|| selector.series.clone()),
        workers: on(&selector.workers),
        workers_above: selector.beyond_cores.then_some(cores),
        threads: on(&selector.threads),
        rates_rps: selector.rate_rps.clone(),
        clients: selector.clients.clone(),
        env: selector.env.clone(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::lab::definition::CountWord;
    use crate::terms::LabSetting;

    fn run(workers: u16, repeat: u32, throughput: f64, spread: f64) -> LabRun {
        let blocks = [1.0 - spread, 1.0, 1.0 + spread, 1.0, 1.0 - spread, 1.0 + spread];
        let sample = LabRun::sample(workers);
        LabRun {
            setting: LabSetting { repeat, ..sample.setting.clone() },
            measured: Some(LabFigures {
                requests: Some((throughput * 60.0) as u64),
                success: Some(1.0),
                throughput_rps: Some(throughput),
                ..LabFigures::default()
            }),
            published: Some(LabFigures {
                throughput_rps: Some(throughput * 10.0),
                ..LabFigures::default()
            }),
            blocks: BTreeMap::from([(
                "throughput_rps".to_string(),
                blocks.map(|share| share * throughput).to_vec(),
            )]),
            ..sample
        }
    }

    const CORES: CoresOf = CoresOf { here: 2, article: 4 };

    fn of(workers: &[u16]) -> Selector {
        let workers = workers.iter().map(|number| Count::Number(*number)).collect();
        Selector { workers, ..Selector::default() }
    }

    /// Is the best of `workers` at least this many times as fast as one worker?
    fn look_at(runs: &[LabRun], workers: &[u16], at_least: f64) -> LabConclusion {
        let condition = Condition {
            figure: "throughput_rps".into(),
            of: of(workers),
            to: Some(of(&[1])),
            at_least: Some(at_least),
            at_most: None,
        };
        let conclusion = Conclusion { says: "more is more".into(), when: vec![condition] };
        judge(&[conclusion], runs, CORES).remove(0)
    }

    #[test]
    fn a_ratio_decides_when_its_whole_interval_lies_on_one_side() {
        let runs = [run(1, 1, 100.0, 0.02), run(2, 1, 190.0, 0.02)];
        let seen = look_at(&runs, &[2], 1.5);
        assert_eq!(seen.holds, Holds::Yes, "{seen:?}");
        let evidence = &seen.evidence[0];
        assert!((evidence.value.unwrap() - 1.9).abs() < 1e-9);
        assert!((evidence.published.unwrap() - 1.9).abs() < 1e-9);
        let [low, high] = evidence.interval.unwrap();
        assert!(low > 1.8 && low < 1.9 && high > 1.9 && high < 2.0, "{low} {high}");
        assert_eq!(look_at(&runs, &[2], 2.1).holds, Holds::No);
        assert_eq!(look_at(&runs, &[2], 1.9).holds, Holds::Undecided);
    }

    #[test]
    fn cores_are_those_of_each_machine() {
        let runs = [run(2, 1, 200.0, 0.01), run(4, 1, 210.0, 0.01), run(8, 1, 150.0, 0.01)];
        let condition = Condition {
            figure: "throughput_rps".into(),
            of: Selector { beyond_cores: true, ..Selector::default() },
            to: Some(Selector {
                workers: vec![Count::Word(CountWord::Cores)],
                ..Selector::default()
            }),
            at_least: None,
            at_most: Some(1.1),
        };
        let conclusion = Conclusion { says: "no more".into(), when: vec![condition] };
        let evidence = judge(&[conclusion], &runs, CORES).remove(0).evidence.remove(0);
        let Some(LabComparison::RunsCompared { of, .. }) = evidence.what.fact() else { panic!() };
        assert_eq!(of.workers_above, Some(2));
        let ratio = |value: Option<f64>, expected: f64| (value.unwrap() - expected).abs() < 1e-9;
        assert!(ratio(evidence.value, 1.05), "4 workers to 2: {evidence:?}");
        assert!(ratio(evidence.published, 150.0 / 210.0), "8 workers to 4: {evidence:?}");
    }

    #[test]
    fn noise_leaves_it_undecided() {
        let runs = [run(1, 1, 100.0, 0.4), run(2, 1, 190.0, 0.4)];
        assert_eq!(look_at(&runs, &[2], 1.5).holds, Holds::Undecided);
    }

    #[test]
    fn the_best_of_several_settings_counts_and_a_missing_run_decides_nothing() {
        let runs = [run(1, 1, 100.0, 0.02), run(2, 1, 150.0, 0.02), run(4, 1, 300.0, 0.02)];
        assert!((look_at(&runs, &[2, 4], 1.0).evidence[0].value.unwrap() - 3.0).abs() < 1e-9);
        let missing = look_at(&runs, &[8], 1.0);
        assert_eq!(missing.holds, Holds::Undecided);
        assert_eq!(missing.evidence[0].value, None);
    }

    #[test]
    fn repeats_of_a_setting_are_what_its_interval_is_made_of() {
        let even = [run(1, 1, 100.0, 0.4), run(1, 2, 101.0, 0.4), run(1, 3, 99.0, 0.4)];
        let twice = [run(2, 1, 200.0, 0.4), run(2, 2, 202.0, 0.4), run(2, 3, 198.0, 0.4)];
        let runs: Vec<LabRun> = even.into_iter().chain(twice).collect();
        assert_eq!(look_at(&runs, &[2], 1.9).holds, Holds::Yes, "runs agree, their parts do not");
    }

    #[test]
    fn few_requests_are_not_taken_for_exact() {
        // Two parts of a few requests each that happen to be the same.
        let few = |workers: u16, rate: f64| {
            let mut run = run(workers, 1, rate, 0.0);
            run.blocks.get_mut("throughput_rps").unwrap().truncate(2);
            run.measured.as_mut().unwrap().requests = Some((rate * 2.0) as u64);
            run
        };
        let seen = look_at(&[few(1, 3.0), few(2, 6.0)], &[2], 1.5);
        assert_eq!(seen.holds, Holds::Undecided, "{seen:?}");
    }

    #[test]
    fn one_condition_that_does_not_hold_is_enough_for_a_no() {
        let runs = [run(1, 1, 100.0, 0.01), run(2, 1, 190.0, 0.01)];
        let condition = |at_least: f64| Condition {
            figure: "throughput_rps".into(),
            of: of(&[2]),
            to: None,
            at_least: Some(at_least),
            at_most: None,
        };
        let conclusion =
            Conclusion { says: "s".into(), when: vec![condition(100.0), condition(300.0)] };
        assert_eq!(judge(&[conclusion], &runs, CORES)[0].holds, Holds::No);
    }
}
