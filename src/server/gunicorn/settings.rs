//! A configuration as gunicorn's users write it down.
//!
//! In: an app, what its own settings are and which variables they follow, and a configuration. Out:
//! variables, lines for `gunicorn.conf.py`, advice. Only computes.

use crate::server::{App, Inspection, Recommended, python};
use crate::terms::{
    Advice, Configuration, CoreCount, Counts, HealthCheck, RunningAdvice, SettingAdvice, Settings,
    Stated,
};

pub(super) fn of(recommended: Recommended<'_>, has_threads: bool) -> Settings {
    let env = recommended.env();
    Settings {
        config_snippet: snippet(recommended, has_threads),
        advice: advice(recommended, env.is_none(), has_threads),
        env: env.unwrap_or_default(),
        ..Settings::default()
    }
}

/// The one that gunicorn looks for.
pub(super) const USUAL_FILE: &str = "gunicorn.conf.py";

fn snippet(
    Recommended { app, configuration, cores, .. }: Recommended<'_>,
    has_threads: bool,
) -> String {
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
    Recommended { app, inspection, configuration, .. }: Recommended<'_>,
    is_in_the_way: bool,
    has_threads: bool,
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
    use crate::server::Framework;
    use crate::server::gunicorn::Gunicorn;
    use crate::server::tests::{self, obeying};

    fn inspection(workers: Option<&str>, threads: Option<&str>) -> Inspection {
        tests::inspection(1, 1, "20.1.0", obeying(workers, threads))
    }

    fn settings(config: Option<&str>, inspection: &Inspection, threads: u16) -> Settings {
        let app = App {
            server_config: config.map(Into::into),
            ..App::new("/srv/shop", Framework::Wsgi, "shop:app")
        };
        tests::settings(&Gunicorn, &app, inspection, 3, threads)
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
}
