//! The plan in words: what was asked for, the value, and where it came from.
//!
//! In: a plan's records, or the lines that an older version stored, which are shown as they are.
//! Out: unescaped text in a language. Computes only.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

use super::{Counted, Fact, Language, PlanWord};
use crate::report::figures;
use crate::terms::{
    Allowance, Arrivals, Change, PlanLine, PlanRecord, PlannedPath, PlannedStep, PlannedTarget,
    PlannedValue, Slo, format_duration,
};

/// One line of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PlanRow {
    pub what: String,
    pub value: String,
    pub source: String,
}

/// A line of a stored plan.
pub fn row(line: &PlanLine, language: Language) -> PlanRow {
    match line {
        PlanLine::Record(record) => row_of(record, language),
        PlanLine::Verbatim(what, value, source) => {
            let [what, value, source] = [what, value, source].map(String::clone);
            PlanRow { what, value, source }
        }
    }
}

/// The lines of a stored plan, in its order.
pub fn rows(plan: &[PlanLine], language: Language) -> Vec<PlanRow> {
    plan.iter().map(|line| row(line, language)).collect()
}

/// A value of a plan and where it came from.
pub fn row_of(record: &PlanRecord, language: Language) -> PlanRow {
    PlanRow {
        what: label(&record.value, language).to_string(),
        value: value(&record.value, language),
        source: language.phrases().plan_source(&record.source),
    }
}

/// When a step is taken, and what is done.
pub fn step(step: &PlannedStep, language: Language) -> (&'static str, String) {
    let say = language.phrases();
    (say.step_time(step.when), say.step(&step.what))
}

/// What the value is of.
pub fn label(value: &PlannedValue, language: Language) -> &'static str {
    language.phrases().plan_label(value)
}

/// Where a plan that is run again came out otherwise, and the flag that mends it.
pub fn differs(values: [Option<&PlannedValue>; 2], flag: &str, language: Language) -> String {
    let say = language.phrases();
    let (what, [then, now]) = say.both(values, language);
    say.plans_differ(what, [&then, &now], flag)
}

impl Fact for PlannedValue {
    fn in_words(&self, language: Language) -> String {
        value(self, language)
    }
}

/// A value of the plan.
pub fn value(value: &PlannedValue, language: Language) -> String {
    let say = language.phrases();
    match value {
        PlannedValue::App { folder, framework, entry } => {
            let entry = entry.as_ref().map(|entry| format!(" {entry}")).unwrap_or_default();
            format!("{folder}{entry} ({})", say.framework(*framework))
        }
        PlannedValue::Server { name, program: Some(program) } => format!("{name} {program}"),
        PlannedValue::Server { name, program: None } => name.clone(),
        PlannedValue::Deployment { name, namespace } => say.deployment(name, namespace.as_deref()),
        PlannedValue::PodsOf { image, port, namespace, cuts, at_once } => {
            let image = say.deployment(&format!("{image} ({port})"), namespace.as_deref());
            in_pods(image, (&cuts[..], *at_once), language)
        }
        PlannedValue::PodsLike { file, container } => say.pods_like(file, container.as_deref()),
        PlannedValue::Remote { url, destination, service, from, .. } => {
            let named = destination.iter().chain(service).map(String::as_str);
            let from = from.as_ref().map(|host| say.load_from(host));
            let said: Vec<&str> = named.chain(from.as_deref()).collect();
            match said.is_empty() {
                true => url.clone(),
                false => format!("{url} ({})", said.join(", ")),
            }
        }
        PlannedValue::Generators { pods, image } => say.generators(*pods, image),
        PlannedValue::Workers(counts) => figures::counts(counts.iter().map(|it| it.get())),
        PlannedValue::Threads(counts) => figures::counts(counts.iter().map(|it| it.get())),
        PlannedValue::Knob(changes) => each(changes, knob),
        PlannedValue::Targets(targets) => each(targets, |it| target(it, language)),
        PlannedValue::Headers(names) | PlannedValue::Variables(names) => {
            say.names_alone(&names.join(", "))
        }
        PlannedValue::DeployedVariables(variables) => variables.join(", "),
        PlannedValue::KeptFlags(flags) => flags.join(" "),
        PlannedValue::Slo { common, has_own } => say.planned_goal(common.as_ref(), *has_own),
        PlannedValue::Objective(objective) => say.objective(objective),
        PlannedValue::Cores(cores) => allowance(cores, language),
        PlannedValue::Memory(memory) => allowance(memory, language),
        PlannedValue::Arrivals(Arrivals::Poisson) => "poisson".to_string(),
        PlannedValue::Arrivals(Arrivals::Uniform) => "uniform".to_string(),
        PlannedValue::Connection(mode) => mode.to_string(),
        PlannedValue::Timeout { seconds }
        | PlannedValue::BootTimeout { seconds }
        | PlannedValue::Budget { seconds }
        | PlannedValue::Soak { seconds } => format_duration(Duration::from_secs_f64(*seconds)),
        PlannedValue::Precision(None) => say.plan_word(PlanWord::AsTheBudgetAllows).to_string(),
        PlannedValue::Precision(Some(asked)) => format!("\u{b1}{} %", asked.get() * 100.0),
        PlannedValue::Probe(is_on) => {
            say.plan_word(if *is_on { PlanWord::On } else { PlanWord::Off }).to_string()
        }
        PlannedValue::Environment(None) => say.plan_word(PlanWord::OfTheApp).to_string(),
        PlannedValue::ReadyPath(it) => path(it),
        PlannedValue::DbConnections(None) => say.plan_word(PlanWord::NoLimit).to_string(),
        PlannedValue::DbConnections(Some(most)) => say.at_most(*most),
        PlannedValue::Seed(seed) => seed.to_string(),
        PlannedValue::CurrentSetting { workers, threads: Some(threads) } => {
            format!("{workers} x {threads}")
        }
        PlannedValue::CurrentSetting { workers, threads: None } => {
            say.count(u64::from(workers.get()), Counted::Workers)
        }
        PlannedValue::Proxy(text)
        | PlannedValue::User(text)
        | PlannedValue::Environment(Some(text))
        | PlannedValue::Store(text)
        | PlannedValue::Runtime(text) => text.clone(),
        PlannedValue::Remark(remark) => language.say(remark),
    }
}

/// An image with the ways to cut it into pods, and the settings measured at once, where several.
fn in_pods(image: String, (cuts, at_once): (&[u16], u16), language: Language) -> String {
    let say = language.phrases();
    let image = match cuts {
        [1] => image,
        _ => say.cut(&image, &figures::counts(cuts.iter().copied())),
    };
    if at_once > 1 { say.at_once(&image, at_once) } else { image }
}

fn each<T>(all: &[T], shown: impl Fn(&T) -> String) -> String {
    all.iter().map(shown).collect::<Vec<_>>().join(", ")
}

/// A change of several variables at once has a name; it is shown with what it sets.
fn knob(change: &Change) -> String {
    if change.name.contains('=') {
        return change.name.clone();
    }
    let env = change.env.iter().map(|(name, value)| format!("{name}={value}"));
    format!("{} ({})", change.name, env.collect::<Vec<_>>().join(" "))
}

fn target(target: &PlannedTarget, language: Language) -> String {
    let weight = (target.weight != 1).then(|| language.phrases().weight(target.weight));
    let rest: Vec<String> =
        weight.into_iter().chain(target.slo.as_ref().map(Slo::to_string)).collect();
    let name = format!("{} {}", target.method, path(&target.path));
    if rest.is_empty() { name } else { format!("{name} ({})", rest.join(", ")) }
}

fn path(PlannedPath { path, has_query }: &PlannedPath) -> String {
    format!("{path}{}", if *has_query { "?…" } else { "" })
}

fn allowance<T: ToString>(allowed: &Allowance<T>, language: Language) -> String {
    match allowed {
        Allowance::Limit(limit) => limit.to_string(),
        Allowance::All(all) => language.phrases().all_of_it(&all.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::{
        Bytes, ConnectionMode, Cores, FlagPlace, Framework, Objective, PlanSource, PlannedGoal,
        Ratio, Remark, RubyRemark, Stated, Target, Threads, Workers,
    };

    /// One of each kind, and how it is shown in both languages.
    fn all() -> Vec<(PlannedValue, &'static str, &'static str)> {
        use PlannedValue as It;
        let names = || vec!["A".to_string(), "B".to_string()];
        let kept = ["--preload", "--max-requests=500"].map(String::from);
        let target = |text: &str| PlannedTarget::from(&text.parse::<Target>().unwrap());
        let workers = [1, 2, 3, 8].map(|count| Workers::new(count).unwrap());
        let slo: Slo = "p95<2s,errors<1%".parse().unwrap();
        let change = Change {
            knob: "jemalloc".into(),
            name: "jemalloc".into(),
            env: [("LD_PRELOAD".to_string(), "libjemalloc.so.2".to_string())].into(),
            settings: [].into(),
        };
        let app = It::App { folder: "/srv/shop".into(), framework: Framework::Other, entry: None };
        let server = It::Server { name: "command".into(), program: Some("bin/serve".into()) };
        let of = |namespace| It::Deployment { name: "shop".into(), namespace };
        let image = |cuts: &[u16]| It::PodsOf {
            image: "shop:1".into(),
            port: 3000,
            namespace: None,
            cuts: cuts.to_vec(),
            at_once: 1,
        };
        let like = |container| It::PodsLike { file: "shop.yaml".into(), container };
        let generators = |pods| It::Generators { pods, image: "sweetspot:1".into() };
        let common = Some(PlannedGoal::Given(slo));
        let from_unloaded = Some(PlannedGoal::FromUnloaded);
        let targets = vec![target("GET /a?x=1 weight=3 slo=p95<2s"), target("POST /b")];
        let current = |threads| It::CurrentSetting { workers: workers[1], threads };
        let one_thread = Threads::new(1).ok();
        let unloaded = "p95 < 10 x unloaded p95 (50 to 200 ms; at least 3 x), errors < 0.1 %";
        let unloaded_ja =
            "p95 < 無負荷の p95 の 10 倍（50〜200 ms、少なくとも 3 倍）, errors < 0.1 %";
        let one = "p95<2s,errors<1% for targets without their own";
        let one_ja = "p95<2s,errors<1%（独自の目標がないターゲット）";
        vec![
            (app, "/srv/shop (started by a command)", "/srv/shop (コマンドで起動)"),
            (server, "command bin/serve", "command bin/serve"),
            (of(None), "shop", "shop"),
            (image(&[1]), "shop:1 (3000)", "shop:1 (3000)"),
            (
                image(&[1, 2, 4]),
                "shop:1 (3000), cut into pods: 1,2,4, which share cores, memory and workers",
                "shop:1 (3000)、Pod 数 1,2,4（コア、メモリ、ワーカーを等分）",
            ),
            (like(None), "shop.yaml", "shop.yaml"),
            (
                like(Some("rails".into())),
                "shop.yaml, container rails",
                "shop.yaml（コンテナー rails）",
            ),
            (of(Some("web".into())), "shop in namespace web", "shop（名前空間 web）"),
            (generators(1), "1 pod of sweetspot:1", "1 Pod（sweetspot:1）"),
            (generators(3), "3 pods of sweetspot:1", "3 Pod（sweetspot:1）"),
            (It::Proxy("nginx".into()), "nginx", "nginx"),
            (It::Workers(workers.to_vec()), "1..3,8", "1..3,8"),
            (It::Threads(one_thread.into_iter().collect()), "1", "1"),
            (
                It::Knob(vec![change]),
                "jemalloc (LD_PRELOAD=libjemalloc.so.2)",
                "jemalloc (LD_PRELOAD=libjemalloc.so.2)",
            ),
            (
                It::Targets(targets),
                "GET /a?… (weight 3, p95<2s), POST /b",
                "GET /a?… (重み 3, p95<2s), POST /b",
            ),
            (It::Headers(names()), "A, B (values not shown)", "A, B（値は表示しません）"),
            (It::Slo { common: from_unloaded, has_own: false }, unloaded, unloaded_ja),
            (It::Slo { common, has_own: true }, one, one_ja),
            (It::Slo { common: None, has_own: true }, "each target's own", "ターゲットごとの目標"),
            (It::Objective(Objective::default()), "the highest capacity", "さばける量を最大に"),
            (It::Cores(Allowance::Limit(Cores::new(1.5).unwrap())), "1.5", "1.5"),
            (It::Memory(Allowance::All(Bytes(8 << 30))), "all (8.0 GiB)", "すべて（8.0 GiB）"),
            (It::Arrivals(Arrivals::Uniform), "uniform", "uniform"),
            (It::Connection(ConnectionMode::KeepAlive), "keep-alive", "keep-alive"),
            (It::Timeout { seconds: 0.3 }, "300ms", "300ms"),
            (It::Budget { seconds: 480.0 }, "8m", "8m"),
            (It::Soak { seconds: 1800.0 }, "30m", "30m"),
            (It::Precision(None), "as the budget allows", "時間枠の許すかぎり"),
            (It::Precision(Ratio::new(0.03).ok()), "±3 %", "±3 %"),
            (It::Probe(true), "on", "あり"),
            (It::Environment(None), "the app's own", "アプリのもの"),
            (It::Environment(Some("staging".into())), "staging", "staging"),
            (It::Variables(names()), "A, B (values not shown)", "A, B（値は表示しません）"),
            (
                It::KeptFlags(kept.into()),
                "--preload --max-requests=500",
                "--preload --max-requests=500",
            ),
            (It::ReadyPath("/up?key=1".into()), "/up?…", "/up?…"),
            (It::BootTimeout { seconds: 180.0 }, "3m", "3m"),
            (It::DbConnections(None), "no limit", "上限なし"),
            (It::DbConnections(Some(6)), "at most 6", "最大 6"),
            (It::Seed(7), "7", "7"),
            (It::Store("a.db".into()), "a.db", "a.db"),
            (current(one_thread), "2 x 1", "2 x 1"),
            (current(None), "2 workers", "2 ワーカー"),
            (It::Runtime("ruby 3.1.2".into()), "ruby 3.1.2", "ruby 3.1.2"),
            (It::Remark(Stated::Verbatim("it is theirs".into())), "it is theirs", "it is theirs"),
            (
                It::Remark(Remark::from(RubyRemark::SingleMode).into()),
                "single mode: one process without a master",
                "シングルモード: マスターのない 1 プロセス",
            ),
        ]
    }

    #[test]
    fn values_are_shown_in_both_languages_and_stored_as_they_are() {
        for (planned, english, japanese) in all() {
            assert_eq!(value(&planned, Language::English), english);
            assert_eq!(value(&planned, Language::Japanese), japanese);
            let line = PlanLine::Record(PlanRecord { value: planned, source: PlanSource::App });
            let stored = serde_json::to_string(&line).unwrap();
            assert_eq!(serde_json::from_str::<PlanLine>(&stored).unwrap(), line, "{stored}");
        }
        let older: PlanLine = serde_json::from_str(r#"["a","b","c"]"#).unwrap();
        let PlanRow { what, value, source } = row(&older, Language::Japanese);
        assert_eq!([what, value, source], ["a", "b", "c"]);
    }

    #[test]
    fn kept_flags_are_shown_with_the_places_that_have_them() {
        let place = |file: &str, variable: Option<&str>| FlagPlace {
            file: file.to_string(),
            variable: variable.map(str::to_string),
        };
        let more = place("Dockerfile", Some("GUNICORN_CMD_ARGS"));
        for (places, english, japanese) in [
            (vec![place("Procfile", None)], "Procfile", "Procfile"),
            (
                vec![place("Procfile", None), more],
                "Procfile and GUNICORN_CMD_ARGS in Dockerfile",
                "Procfile、Dockerfile の GUNICORN_CMD_ARGS",
            ),
        ] {
            let value = PlannedValue::KeptFlags(vec!["--preload".to_string()]);
            let record = PlanRecord { value, source: PlanSource::DeployedFlags { places } };
            let row = |language| {
                let PlanRow { what, value, source } = row_of(&record, language);
                [what, value, source]
            };
            assert_eq!(row(Language::English), ["kept flags", "--preload", english]);
            assert_eq!(row(Language::Japanese), ["本番のフラグ", "--preload", japanese]);
            let stored = serde_json::to_string(&record).unwrap();
            assert_eq!(serde_json::from_str::<PlanRecord>(&stored).unwrap(), record, "{stored}");
        }
    }
}
