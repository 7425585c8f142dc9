//! A configuration as Puma's users write it down.
//!
//! In: an app, the variables that its own settings follow, and a configuration. Out: variables,
//! lines for `config/puma.rb`, advice. Only computes.

use std::collections::BTreeMap;

use crate::server::rack::same_ratio;
use crate::server::{App, Framework, MinThreads, Obeys, Recommended};
use crate::terms::{
    Advice, Configuration, CoreCount, Counts, DatabaseAdvice, HealthCheck, PoolSetting,
    RunningAdvice, SettingAdvice, Settings, Stated,
};

pub(super) fn of(recommended: Recommended<'_>) -> Settings {
    let Recommended { app, inspection, configuration, .. } = recommended;
    let obeys = &inspection.obeys;
    Settings {
        env: env(obeys, configuration).unwrap_or_default(),
        config_snippet: snippet(recommended),
        advice: advice(app, obeys, configuration),
        ..Settings::default()
    }
}

/// The variables that give this app exactly this configuration; `None` when they cannot.
fn env(obeys: &Obeys, configuration: Configuration) -> Option<BTreeMap<String, String>> {
    let threads = configuration.threads.to_string();
    let workers = super::workers_as_typed(configuration);
    let mut env = BTreeMap::from([
        (obeys.workers.clone()?, workers),
        (obeys.max_threads.clone()?, threads.clone()),
    ]);
    match &obeys.min_threads {
        MinThreads::Variable(name) => drop(env.insert(name.clone(), threads)),
        // Puma refuses to start with a least number above the most.
        MinThreads::Fixed(least) if *least > configuration.threads.get() => return None,
        MinThreads::Fixed(_) => {}
    }
    Some(env)
}

/// Where Puma looks for it.
pub(super) const USUAL_FILE: &str = "config/puma.rb";

fn snippet(recommended: Recommended<'_>) -> String {
    let Recommended { app, inspection, configuration, cores, .. } = recommended;
    let Configuration { workers, threads } = configuration;
    let mut lines = vec![format!("# {}", app.config_file(USUAL_FILE))];
    if super::is_cluster(configuration) {
        lines.push(format!("workers {workers}"));
    } else {
        lines.push("workers 0 # single mode: one process, no master".into());
    }
    lines.push(format!("threads {threads}, {threads}"));
    let is_tried = app.changed.settings.contains_key(super::knobs::PRELOAD);
    if super::is_cluster(configuration) && !is_tried && !inspection.is_never_preloaded {
        lines.push("preload_app!".into());
    }
    lines.extend(same_ratio("workers", workers, cores));
    lines.join("\n") + "\n"
}

/// What stands in the way of the variables; nothing when they do what they should.
fn in_the_way(app: &App, obeys: &Obeys, configuration: Configuration) -> Option<SettingAdvice> {
    if env(obeys, configuration).is_some() {
        return None;
    }
    let file = app.config_file(USUAL_FILE);
    let counts = match (&obeys.workers, &obeys.max_threads, &obeys.min_threads) {
        (Some(_), Some(_), MinThreads::Fixed(least)) => {
            return Some(SettingAdvice::FileAsksForThreads { file, least_threads: *least });
        }
        (None, None, _) => Counts::WorkersAndThreads,
        (None, Some(_), _) => Counts::Workers,
        (Some(_), ..) => Counts::Threads,
    };
    Some(SettingAdvice::FixedInPumaFile { file, counts })
}

fn advice(app: &App, obeys: &Obeys, configuration: Configuration) -> Vec<Stated<Advice>> {
    let variable = || obeys.max_threads.clone().unwrap_or_else(|| "RAILS_MAX_THREADS".into());
    let pool = match app.framework {
        Framework::Rails => PoolSetting::DatabaseYml { variable: Some(variable()) },
        _ => PoolSetting::RubyCode,
    };
    let in_the_way = in_the_way(app, obeys, configuration);
    let rest: [Advice; 3] = [
        DatabaseAdvice::PoolPerWorker { configuration, pool }.into(),
        RunningAdvice::CheckHealthBy { check: HealthCheck::OpenPortOrPumaControl }.into(),
        RunningAdvice::CoreCountIgnoresQuota { count: CoreCount::RubyWithConcurrent }.into(),
    ];
    in_the_way.map(Advice::from).into_iter().chain(rest).map(Stated::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Language;
    use crate::server::Inspection;
    use crate::server::puma::Puma;
    use crate::server::tests::{self, inspection};

    fn obeying(workers: Option<&str>, threads: Option<&str>, least: MinThreads) -> Obeys {
        Obeys { min_threads: least, ..tests::obeying(workers, threads) }
    }

    fn rails() -> Obeys {
        let least = MinThreads::Variable("RAILS_MIN_THREADS".into());
        obeying(Some("WEB_CONCURRENCY"), Some("RAILS_MAX_THREADS"), least)
    }

    fn settings(obeys: &Obeys, workers: u16, threads: u16) -> Settings {
        let app = App {
            server_config: Some("config/puma.rb".into()),
            ..App::new("/srv/shop", Framework::Rails, "config.ru")
        };
        tests::settings(&Puma, &app, &inspection(2, 5, "5.6.5", obeys.clone()), workers, threads)
    }

    fn variables(settings: &Settings) -> String {
        let lines: Vec<_> = settings.env.iter().map(|(k, v)| format!("{k}={v}")).collect();
        lines.join(" ")
    }

    #[test]
    fn only_variables_that_the_app_follows_are_printed() {
        assert_eq!(
            variables(&settings(&rails(), 4, 3)),
            "RAILS_MAX_THREADS=3 RAILS_MIN_THREADS=3 WEB_CONCURRENCY=4"
        );
        let same = MinThreads::Variable("MAX_THREADS".into());
        let obeys = obeying(Some("WEB_CONCURRENCY"), Some("MAX_THREADS"), same);
        assert_eq!(variables(&settings(&obeys, 4, 3)), "MAX_THREADS=3 WEB_CONCURRENCY=4");
    }

    #[test]
    fn numbers_that_no_variable_changes_leave_the_file_alone_to_be_edited() {
        let none = MinThreads::Fixed(5);
        for (obeys, expected) in [
            (Obeys::default(), "sets the workers and threads of"),
            (obeying(None, Some("MAX_THREADS"), MinThreads::Fixed(0)), "sets the workers of"),
            (obeying(Some("WEB_CONCURRENCY"), None, none.clone()), "sets the threads of"),
            (obeying(Some("WEB_CONCURRENCY"), Some("MAX_THREADS"), none), "at least 5 threads"),
        ] {
            let settings = settings(&obeys, 4, 3);
            assert_eq!(variables(&settings), "", "{expected}");
            let first = Language::DATA.say(&settings.advice[0]);
            assert!(first.contains(expected), "{first}");
        }
        let advice = Language::DATA.say_each(&settings(&rails(), 4, 3).advice).join("\n");
        assert!(!advice.contains("no variable"), "{advice}");
    }

    #[test]
    fn one_worker_is_written_as_single_mode() {
        let settings = settings(&rails(), 1, 8);
        assert_eq!(settings.env["WEB_CONCURRENCY"], "0");
        assert!(settings.config_snippet.contains("workers 0"));
        assert!(!settings.config_snippet.contains("preload_app!"));
    }

    #[test]
    fn an_app_that_is_never_preloaded_stays_so() {
        let app = App::new("/srv/shop", Framework::Rack, "config.ru");
        for (is_never_preloaded, is_printed) in [(false, true), (true, false)] {
            let inspection =
                Inspection { is_never_preloaded, ..inspection(2, 5, "5.6.5", Obeys::default()) };
            let settings = tests::settings(&Puma, &app, &inspection, 4, 3);
            assert_eq!(settings.config_snippet.contains("preload_app!"), is_printed);
        }
    }

    #[test]
    fn the_computed_form_has_the_cores_it_was_measured_on() {
        let snippet = settings(&rails(), 3, 8).config_snippet;
        let line = "#   workers [(3 * Etc.nprocessors / 2.0).round, 1].max\n";
        assert!(snippet.ends_with(line), "{snippet}");
    }

    #[test]
    fn the_advice_counts_database_connections() {
        let advice = Language::DATA.say_each(&settings(&rails(), 4, 3).advice).join("\n");
        assert!(advice.contains("at least 3 connections per worker"), "{advice}");
        assert!(advice.contains("up to 12 (4 x 3)"), "{advice}");
        assert!(advice.contains("quota"), "{advice}");
    }
}
