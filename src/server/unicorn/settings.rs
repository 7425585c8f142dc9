//! A configuration as Unicorn's users write it down.
//!
//! In: an app, the variable that its own settings follow, and a configuration. Out: variables,
//! lines for `config/unicorn.rb`, advice. Only computes.

use crate::server::{App, Framework, Obeys, Recommended, rack};
use crate::terms::{
    Advice, Configuration, CoreCount, Cores, DatabaseAdvice, HealthCheck, RunningAdvice,
    SettingAdvice, Settings, Stated,
};

pub(super) fn of(recommended: Recommended<'_>) -> Settings {
    let Recommended { app, inspection, configuration, cores, .. } = recommended;
    let obeys = &inspection.obeys;
    Settings {
        env: obeys.workers_alone(configuration),
        config_snippet: snippet(app, configuration, cores),
        advice: advice(app, obeys, configuration),
        ..Settings::default()
    }
}

/// What most call it.
const USUAL_FILE: &str = "config/unicorn.rb";

fn snippet(app: &App, configuration: Configuration, cores: Cores) -> String {
    let workers = configuration.workers;
    let own = [format!("# {}", app.config_file(USUAL_FILE)), format!("worker_processes {workers}")];
    let lines = [&own[..], &rack::same_ratio("worker_processes", workers, cores)].concat();
    lines.join("\n") + "\n"
}

/// What has to be done besides setting a variable; nothing when that is enough.
fn in_the_way(app: &App, obeys: &Obeys) -> Option<SettingAdvice> {
    let file = app.config_file(USUAL_FILE);
    match (&obeys.workers, &app.server_config) {
        (Some(_), _) => None,
        (None, Some(_)) => Some(SettingAdvice::FixedInUnicornFile { file }),
        (None, None) => Some(SettingAdvice::UnicornNeedsFile { file }),
    }
}

fn advice(app: &App, obeys: &Obeys, configuration: Configuration) -> Vec<Stated<Advice>> {
    let workers = configuration.workers.get();
    let has_database_yml = app.framework == Framework::Rails;
    let rest: [Advice; 4] = [
        DatabaseAdvice::ConnectionPerWorker { workers, has_database_yml }.into(),
        RunningAdvice::SlowClientsHoldWorkers.into(),
        RunningAdvice::CheckHealthBy { check: HealthCheck::OpenPort }.into(),
        RunningAdvice::CoreCountIgnoresQuota { count: CoreCount::Ruby }.into(),
    ];
    in_the_way(app, obeys).map(Advice::from).into_iter().chain(rest).map(Stated::from).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::report::Language;
    use crate::server::tests::{self, inspection, obeying};
    use crate::server::unicorn::Unicorn;

    fn settings(config: Option<&str>, variable: Option<&str>) -> Settings {
        let app = App {
            server_config: config.map(Into::into),
            ..App::new("/srv/shop", Framework::Rails, "config.ru")
        };
        let inspection = inspection(1, 1, "6.0.0", obeying(variable, None));
        tests::settings(&Unicorn, &app, &inspection, 3, 1)
    }

    #[test]
    fn a_variable_is_printed_only_when_the_app_follows_it() {
        let follows = settings(Some("config/unicorn.rb"), Some("UNICORN_WORKERS"));
        assert_eq!(follows.env, BTreeMap::from([("UNICORN_WORKERS".into(), "3".into())]));
        assert!(
            !Language::DATA.say_each(&follows.advice).join("\n").contains("in its place"),
            "{:?}",
            follows.advice
        );
        let fixed = settings(Some("unicorn.rb"), None);
        assert!(fixed.env.is_empty());
        let in_file = SettingAdvice::FixedInUnicornFile { file: "unicorn.rb".into() };
        assert_eq!(fixed.advice[0], Advice::from(in_file).into());
        let none = settings(None, None);
        let needs_file = SettingAdvice::UnicornNeedsFile { file: "config/unicorn.rb".into() };
        assert_eq!(none.advice[0], Advice::from(needs_file).into());
    }

    #[test]
    fn the_lines_are_those_of_the_apps_own_file() {
        let snippet = settings(Some("unicorn.rb"), None).config_snippet;
        assert!(snippet.starts_with("# unicorn.rb\nworker_processes 3\n"), "{snippet}");
        let line = "#   worker_processes [(3 * Etc.nprocessors / 2.0).round, 1].max\n";
        assert!(snippet.ends_with(line), "{snippet}");
    }
}
