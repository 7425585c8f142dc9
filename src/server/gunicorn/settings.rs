//! A configuration as gunicorn's users write it down.
//!
//! In: an app, what its own settings are and which variables they follow, and a configuration. Out:
//! variables, lines for `gunicorn.conf.py`, advice. Only computes.

use std::collections::BTreeMap;

use crate::server::{App, Inspection, python};
use crate::terms::{
    Advice, Configuration, CoreCount, Cores, Counts, HealthCheck, RunningAdvice, SettingAdvice,
    Settings, Stated,
};

pub(super) fn of(
    app: &App,
    has_threads: bool,
    inspection: &Inspection,
    configuration: Configuration,
    cores: Cores,
) -> Settings {
    let env = env(has_threads, inspection, configuration);
    Settings {
        config_snippet: snippet(app, has_threads, configuration, cores),
        advice: advice(app, env.is_none(), has_threads, inspection, configuration),
        env: env.unwrap_or_default(),
        ..Settings::default()
    }
}

/// The variables that give this app exactly this configuration; `None` when they cannot.
fn env(
    has_threads: bool,
    inspection: &Inspection,
    configuration: Configuration,
) -> Option<BTreeMap<String, String>> {
    let workers = (inspection.obeys.workers.clone()?, configuration.workers.to_string());
    let threads = match &inspection.obeys.max_threads {
        Some(name) => Some((name.clone(), configuration.threads.to_string())),
        // As it is without one.
        None if !has_threads || inspection.current.threads == configuration.threads => None,
        None => return None,
    };
    Some([workers].into_iter().chain(threads).collect())
}

/// The one that gunicorn looks for.
pub(super) const USUAL_FILE: &str = "gunicorn.conf.py";

fn snippet(app: &App, has_threads: bool, configuration: Configuration, cores: Cores) -> String {
    let Configuration { workers, threads } = configuration;
    let mut lines =
        vec![format!("# {}", app.config_file(USUAL_FILE)), format!("workers = {workers}")];
    if has_threads {
        lines.push(format!("threads = {threads}"));
    }
    lines.extend(python::same_ratio(workers, cores));
    lines.join("\n") + "\n"
}

/// What has to be done where variables are not enough.
fn in_the_way(app: &App, has_threads: bool, inspection: &Inspection) -> SettingAdvice {
    let file = app.config_file(USUAL_FILE);
    let (workers, threads) = (&inspection.obeys.workers, &inspection.obeys.max_threads);
    let counts = match (workers, threads) {
        (None, None) if has_threads => Counts::WorkersAndThreads,
        (None, _) => Counts::Workers,
        (Some(_), _) => Counts::Threads,
    };
    match app.server_config {
        Some(_) => SettingAdvice::FixedInGunicornFile { file, counts },
        None => SettingAdvice::GunicornNeedsFile { file, counts },
    }
}

fn advice(
    app: &App,
    is_in_the_way: bool,
    has_threads: bool,
    inspection: &Inspection,
    configuration: Configuration,
) -> Vec<Stated<Advice>> {
    let in_the_way = if is_in_the_way {
        Some(in_the_way(app, has_threads, inspection))
    } else {
        app.server_config.is_none().then_some(SettingAdvice::GunicornCommandLineFirst)
    };
    let rest: [Advice; 3] = [
        python::database_advice(configuration).into(),
        RunningAdvice::CheckHealthBy { check: HealthCheck::OpenPort }.into(),
        RunningAdvice::CoreCountIgnoresQuota { count: CoreCount::Python }.into(),
    ];
    in_the_way.map(Advice::from).into_iter().chain(rest).map(Stated::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Language;
    use crate::server::{Framework, Obeys};

    fn inspection(workers: Option<&str>, threads: Option<&str>) -> Inspection {
        Inspection {
            current: Configuration::new(1, 1).unwrap(),
            server_version: "20.1.0".into(),
            runtime_version: "Python 3.11.2".into(),
            obeys: Obeys {
                workers: workers.map(Into::into),
                max_threads: threads.map(Into::into),
                ..Obeys::default()
            },
            remarks: Vec::new(),
        }
    }

    fn settings(config: Option<&str>, inspection: &Inspection, threads: u16) -> Settings {
        let app = App {
            server_config: config.map(Into::into),
            ..App::new("/srv/shop", Framework::Wsgi, "shop:app")
        };
        let configuration = Configuration::new(3, threads).unwrap();
        of(&app, true, inspection, configuration, Cores::new(2.0).unwrap())
    }

    #[test]
    fn variables_are_printed_only_where_they_give_exactly_this() {
        let both = inspection(Some("WEB_CONCURRENCY"), Some("GUNICORN_THREADS"));
        let all = settings(Some("gunicorn.conf.py"), &both, 4).env;
        let expected = [("GUNICORN_THREADS", "4"), ("WEB_CONCURRENCY", "3")];
        assert_eq!(all, expected.map(|(name, value)| (name.into(), value.into())).into());
        let workers = inspection(Some("WEB_CONCURRENCY"), None);
        assert_eq!(settings(None, &workers, 1).env.len(), 1, "it runs one thread anyway");
        let more = settings(None, &workers, 4);
        assert!(more.env.is_empty());
        let file = "gunicorn.conf.py".to_string();
        let needs_file = SettingAdvice::GunicornNeedsFile { file, counts: Counts::Threads };
        assert_eq!(more.advice[0], Advice::from(needs_file).into());
        let fixed = settings(Some("gunicorn_conf.py"), &inspection(None, None), 4);
        let (file, counts) = ("gunicorn_conf.py".to_string(), Counts::WorkersAndThreads);
        let in_file = SettingAdvice::FixedInGunicornFile { file, counts };
        assert_eq!(fixed.advice[0], Advice::from(in_file).into());
    }

    #[test]
    fn the_lines_are_pythons() {
        let snippet = settings(None, &inspection(None, None), 4).config_snippet;
        assert!(snippet.starts_with("# gunicorn.conf.py\nworkers = 3\nthreads = 4\n"), "{snippet}");
        let line = "#   workers = max(round(3 * len(os.sched_getaffinity(0)) / 2.0), 1)\n";
        assert!(snippet.ends_with(line), "{snippet}");
    }

    #[test]
    fn nothing_is_said_of_threads_where_there_are_none() {
        let app = App::new("/srv/shop", Framework::Asgi, "main:app");
        let (configuration, cores) = (Configuration::new(3, 1).unwrap(), Cores::new(2.0).unwrap());
        let inspection = inspection(Some("WEB_CONCURRENCY"), None);
        let settings = of(&app, false, &inspection, configuration, cores);
        let all = format!(
            "{}{}",
            settings.config_snippet,
            Language::DATA.say_each(&settings.advice).join("\n")
        );
        assert!(!all.to_lowercase().contains("thread"), "{all}");
    }
}
