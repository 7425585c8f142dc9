//! A configuration as Unicorn's users write it down.
//!
//! In: an app, the variable that its own settings follow, and a configuration. Out: variables,
//! lines for `config/unicorn.rb`, advice. Only computes.

use crate::server::{App, Framework, Obeys};
use crate::server::{advice::HEALTH_CHECKS, rack};
use crate::terms::{Configuration, Cores, Settings};

pub(super) fn of(app: &App, obeys: &Obeys, configuration: Configuration, cores: Cores) -> Settings {
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
fn in_the_way(app: &App, obeys: &Obeys) -> Option<String> {
    let file = app.config_file(USUAL_FILE);
    match (&obeys.workers, &app.server_config) {
        (Some(_), _) => None,
        (None, Some(_)) => Some(format!(
            "{file} holds a fixed number of workers, which WEB_CONCURRENCY and the like don't \
             change: put this line in its place"
        )),
        (None, None) => Some(format!(
            "Unicorn takes the number of workers from its configuration file alone, and this app \
             has none: write these lines to {file} and start it with: unicorn -c {file}"
        )),
    }
}

fn advice(app: &App, obeys: &Obeys, configuration: Configuration) -> Vec<String> {
    let workers = configuration.workers;
    let mut advice: Vec<String> = in_the_way(app, obeys).into_iter().collect();
    let pool = match app.framework {
        Framework::Rails => "`pool: 1` in config/database.yml is enough",
        _ => "a pool of one is enough",
    };
    advice.push(format!(
        "each worker needs one database connection ({pool}); all workers together hold up to \
         {workers} on each machine"
    ));
    advice.push(
        "a slow client holds a whole worker as long as it takes: keep a proxy in front that reads \
         requests and replies in full, such as nginx with its default buffering"
            .into(),
    );
    advice.extend([HEALTH_CHECKS, rack::CORES_ADVICE].map(String::from));
    advice
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn app(config: Option<&str>) -> App {
        App {
            server_config: config.map(Into::into),
            ..App::new("/srv/shop", Framework::Rails, "config.ru")
        }
    }

    fn settings(config: Option<&str>, variable: Option<&str>) -> Settings {
        let obeys = Obeys { workers: variable.map(String::from), ..Obeys::default() };
        let configuration = Configuration::new(3, 1).unwrap();
        of(&app(config), &obeys, configuration, Cores::new(2.0).unwrap())
    }

    #[test]
    fn a_variable_is_printed_only_when_the_app_follows_it() {
        let follows = settings(Some("config/unicorn.rb"), Some("UNICORN_WORKERS"));
        assert_eq!(follows.env, BTreeMap::from([("UNICORN_WORKERS".into(), "3".into())]));
        assert!(!follows.advice.join("\n").contains("in its place"), "{:?}", follows.advice);
        let fixed = settings(Some("unicorn.rb"), None);
        assert!(fixed.env.is_empty());
        assert!(fixed.advice[0].starts_with("unicorn.rb holds a fixed number"), "{fixed:?}");
        let none = settings(None, None);
        assert!(none.advice[0].ends_with("unicorn -c config/unicorn.rb"), "{none:?}");
    }

    #[test]
    fn the_lines_are_those_of_the_apps_own_file() {
        let snippet = settings(Some("unicorn.rb"), None).config_snippet;
        assert!(snippet.starts_with("# unicorn.rb\nworker_processes 3\n"), "{snippet}");
        let line = "#   worker_processes [(3 * Etc.nprocessors / 2.0).round, 1].max\n";
        assert!(snippet.ends_with(line), "{snippet}");
    }

    #[test]
    fn nothing_is_said_of_threads() {
        for variable in [None, Some("WEB_CONCURRENCY")] {
            let settings = settings(Some("config/unicorn.rb"), variable);
            let all = format!("{}{}", settings.config_snippet, settings.advice.join("\n"));
            assert!(!all.to_lowercase().contains("thread"), "{all}");
        }
    }
}
