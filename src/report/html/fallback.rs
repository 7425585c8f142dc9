//! What is read where no script runs: the decision and the tables, as plain HTML.
//!
//! In: a [`Story`]. Out: markup in which every value is escaped. Computes only.

use maud::{Markup, html};

use crate::report::map::{self, Map};
use crate::report::outside::{line, lines};
use crate::report::story::Story;
use crate::report::{Language, figures, knob_words, plan_words, words};
use crate::terms::{
    CompareReport, ComparedFigure, Decision, LabFigures, LabResult, LabRun, TrialSummary,
};

/// `3 x 5, 412/s - shop - sweetspot`.
pub fn title(story: &Story) -> String {
    let app = line(&story.app);
    let app = app.rsplit('/').next().unwrap_or_default();
    let decision = story.decision.as_ref().map(|decision| {
        words::in_short(&story.name_of(decision.workers, decision.threads), decision)
    });
    let parts = decision.into_iter().chain((!app.is_empty()).then(|| app.to_string()));
    parts.chain(["sweetspot".to_string()]).collect::<Vec<_>>().join(" - ")
}

/// The session.
pub fn session(story: &Story, language: Language) -> Markup {
    let labels = language.labels();
    let warnings = words::warnings(story, language);
    html! {
        h1 { (line(&words::headline(story, language))) }
        (rows(&["", ""], words::facts(story, language).into_iter().map(|(what, text)| {
            vec![what.to_string(), text]
        })))
        (list(labels.what_to_do, &words::ways_out(story, language)))
        @if let Some(decision) = &story.decision { (settings(story, decision, language)) }
        (grid(story, &map::draw(story), language))
        @if let Some(knobs) = &story.knobs {
            h2 { (labels.knobs) }
            (rows(
                &knob_words::head(language),
                knob_words::rows(story, knobs, language).into_iter().map(|row| row.to_vec()),
            ))
        }
        @for (what, last_lines) in words::failures(story, language) {
            h2 { (line(&what)) }
            pre { (last_lines.iter().map(|it| line(it)).collect::<Vec<_>>().join("\n")) }
        }
        (list(labels.warnings, &warnings))
        (list(labels.notes, &language.say_each(&story.notes)))
        (trials(story, language))
        @if !story.plan.is_empty() {
            h2 { (labels.plan) }
            (rows(
                &["", labels.value, labels.from],
                plan_words::rows(&story.plan, language)
                    .into_iter()
                    .map(|it| vec![it.what, it.value, it.source]),
            ))
        }
        p { (words::method(story, language)) }
        @if let Some(machine) = &story.machine {
            p { (language.phrases().measured_on(&words::machine(machine, language))) }
        }
    }
}

fn settings(story: &Story, decision: &Decision, language: Language) -> Markup {
    let (labels, say) = (language.labels(), language.phrases());
    let settings = &decision.settings;
    let env = settings.env.iter().chain(&settings.knobs_env);
    let env: Vec<String> =
        env.map(|(name, value)| format!("{}={}", line(name), line(value))).collect();
    let place = settings
        .place
        .as_ref()
        .map(|place| say.place(&line(&language.say(place)), !env.is_empty()));
    let place = place.unwrap_or_else(|| {
        let server = line(&story.server);
        let server = server.split_whitespace().next().unwrap_or(labels.the_server);
        say.configuration_file(server, !env.is_empty())
    });
    html! {
        h2 { (labels.settings) }
        @if !settings.start.is_empty() {
            p { (labels.start_it_with) }
            pre { (line(&settings.start)) }
        }
        @if !env.is_empty() { p { (labels.environment) } pre { (env.join("\n")) } }
        @if !settings.config_snippet.trim().is_empty() {
            p { (place) }
            pre { (lines(&settings.config_snippet).join("\n")) }
        }
        @for knob in &settings.knobs_lines {
            p { (say.and_in(&line(&language.say(&knob.place)))) }
            pre { (line(&knob.line)) }
        }
        (list("", &language.say_each(&settings.advice)))
    }
}

fn grid(story: &Story, map: &Map, language: Language) -> Markup {
    if map.is_empty() {
        return html! {};
    }
    let labels = language.labels();
    let head: Vec<String> = std::iter::once(labels.workers.to_string())
        .chain(map.threads.iter().map(|threads| format!("x {threads}")))
        .collect();
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    html! {
        h2 { (language.phrases().map_heading(story.has_threads)) }
        (rows(&head, map.workers.iter().map(|&workers| {
            let cells = map.threads.iter().map(|&threads| map.text(workers, threads));
            std::iter::once(workers.to_string()).chain(cells).collect()
        })))
        p { small { (map.legend(language).join(" · ")) } }
        (list("", &map.obstacles(story, language).into_iter().map(|(why, who)| {
            format!("{}: {why}", who.join(", "))
        }).collect::<Vec<_>>()))
    }
}

fn trials(story: &Story, language: Language) -> Markup {
    let labels = language.labels();
    let head = [
        labels.trial,
        labels.setting,
        labels.purpose,
        labels.load,
        labels.outcome,
        labels.answered,
        "p50",
        "p95",
        "p99",
    ];
    html! {
        @if !story.trials.is_empty() {
            h2 { (labels.trials) }
            (rows(&head, story.trials.iter().map(|it| trial(story, it, language))))
        }
    }
}

fn trial(story: &Story, trial: &TrialSummary, language: Language) -> Vec<String> {
    let latency = &trial.summary.latency_s;
    vec![
        trial.id.to_string(),
        knob_words::name(story, trial.configuration, trial.variant, language),
        language.phrases().purpose(trial.purpose).to_string(),
        words::offered(&trial.offered, language),
        language.phrases().outcome(words::outcome(trial)).to_string(),
        figures::rate(trial.summary.throughput_rps),
        figures::latency(latency.p50),
        figures::latency(latency.p95),
        figures::latency(latency.p99),
    ]
}

/// Two results beside each other.
pub fn compare(report: &CompareReport) -> Markup {
    let row = |it: &ComparedFigure| {
        let ratio = it.ratio.map(figures::ratio).unwrap_or_default();
        let interval = it.ratio_interval.map(figures::ratio_interval).unwrap_or_default();
        vec![it.figure.to_string(), it.a.to_string(), it.b.to_string(), ratio, interval]
    };
    let language = Language::English;
    html! {
        h1 { (line(&report.b.name)) " beside " (line(&report.a.name)) }
        p { (line(&language.say(&report.reason))) }
        (list("Refused", &language.say_each(&report.refused)))
        (rows(&["figure", "A", "B", "B / A", "95 %"], report.figures.iter().map(row)))
        (list("Left out", &language.say_each(&report.left_out)))
        (list("Differences", &language.say_each(&report.differences)))
        (list("Notes", &language.say_each(&report.notes)))
    }
}

/// A published experiment, measured and published.
pub fn lab(result: &LabResult) -> Markup {
    let rate = |it: Option<f64>| it.map(figures::rate).unwrap_or_default();
    let row = |run: &LabRun| {
        let throughput = |it: Option<&LabFigures>| rate(it.and_then(|it| it.throughput_rps));
        let setting = &run.setting;
        vec![
            setting.target.clone(),
            format!("{} x {}", setting.workers, setting.threads),
            rate(run.offered_rps),
            throughput(run.measured.as_ref()),
            throughput(run.published.as_ref()),
            Language::English.say_or_empty(run.failure.as_ref()),
        ]
    };
    let conclusions = result.conclusions.iter();
    let conclusions =
        conclusions.map(|it| vec![it.says.clone(), format!("{:?}", it.holds).to_lowercase()]);
    html! {
        h1 { (line(&result.title)) }
        p { (line(&result.source)) }
        (rows(&["conclusion", "holds"], conclusions))
        (rows(
            &["target", "setting", "offered", "measured", "published", ""],
            result.runs.iter().map(row),
        ))
    }
}

fn list(heading: &str, items: &[String]) -> Markup {
    html! {
        @if !items.is_empty() {
            @if !heading.is_empty() { h2 { (heading) } }
            ul { @for item in items { li { (line(item)) } } }
        }
    }
}

fn rows(head: &[&str], rows: impl Iterator<Item = Vec<String>>) -> Markup {
    html! {
        div.wide { table {
            @if head.iter().any(|it| !it.is_empty()) {
                thead { tr { @for it in head { th scope="col" { (it) } } } }
            }
            tbody { @for row in rows {
                tr { @for cell in row { td { (line(&cell)) } } }
            } }
        } }
    }
}
