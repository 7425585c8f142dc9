//! A configuration as Thin's users write it down.
//!
//! In: an app, what its own settings say and follow, and a configuration. Out: variables, lines for
//! `config/thin.yml`, advice. Only computes.

use crate::server::{App, Framework, Recommended};
use crate::terms::{
    Advice, Configuration, CoreCount, Cores, DatabaseAdvice, PoolSetting, RunningAdvice,
    SettingAdvice, Settings, Stated,
};

pub(super) fn of(recommended: Recommended<'_>) -> Settings {
    let Recommended { app, configuration, cores, .. } = recommended;
    let env = recommended.env();
    Settings {
        config_snippet: snippet(app, configuration, cores),
        advice: advice(app, env.is_some(), configuration),
        env: env.unwrap_or_default(),
        ..Settings::default()
    }
}

/// What most call it.
const USUAL_FILE: &str = "config/thin.yml";

fn snippet(app: &App, configuration: Configuration, cores: Cores) -> String {
    let Configuration { workers, threads } = configuration;
    let mut lines =
        vec![format!("# {}", app.config_file(USUAL_FILE)), format!("servers: {workers}")];
    if super::is_threaded(configuration) {
        lines.extend(["threaded: true".into(), format!("threadpool_size: {threads}")]);
    } else {
        lines.push("threaded: false".into());
    }
    lines.extend([
        String::new(),
        format!("# The same ratio on a machine of another size (this one has {cores} cores):"),
        format!(
            "#   servers: <%= [({workers} * Etc.nprocessors / {:?}).round, 1].max %>",
            // Always with a point: Ruby would round a whole number down.
            cores.get()
        ),
    ]);
    lines.join("\n") + "\n"
}

/// What has to be done besides setting variables; nothing when that is enough.
fn in_the_way(app: &App, is_obeyed: bool) -> Option<SettingAdvice> {
    let file = app.config_file(USUAL_FILE);
    match (is_obeyed, &app.server_config) {
        (true, _) => None,
        (false, Some(_)) => Some(SettingAdvice::FixedInThinFile { file }),
        (false, None) => Some(SettingAdvice::ThinNeedsFile { file }),
    }
}

fn advice(app: &App, is_obeyed: bool, configuration: Configuration) -> Vec<Stated<Advice>> {
    let pool = match app.framework {
        Framework::Rails => PoolSetting::DatabaseYml { variable: None },
        _ => PoolSetting::Code,
    };
    let rest: [Advice; 4] = [
        RunningAdvice::ThinBalancer { workers: configuration.workers.get() }.into(),
        DatabaseAdvice::PoolPerWorker { configuration, pool }.into(),
        RunningAdvice::ThinDoesNotRestart.into(),
        RunningAdvice::CoreCountIgnoresQuota { count: CoreCount::Ruby }.into(),
    ];
    let in_the_way = in_the_way(app, is_obeyed).map(Advice::from);
    in_the_way.into_iter().chain(rest).map(Stated::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Language;
    use crate::server::Obeys;
    use crate::server::tests::{self, inspection, obeying};
    use crate::server::thin::Thin;

    fn settings(file: Option<&str>, obeys: Obeys, workers: u16, threads: u16) -> Settings {
        let app = App {
            server_config: file.map(Into::into),
            ..App::new("/srv/shop", Framework::Rails, "config.ru")
        };
        let inspection = inspection(2, 20, "1.8.1", obeys);
        tests::settings(&Thin, &app, &inspection, workers, threads)
    }

    #[test]
    fn variables_are_printed_only_when_they_give_exactly_this() {
        let both = obeying(Some("WEB_CONCURRENCY"), Some("MAX_THREADS"));
        let env = settings(Some("thin.yml"), both, 4, 3).env;
        let expected = [("MAX_THREADS", "3"), ("WEB_CONCURRENCY", "4")];
        assert_eq!(env, expected.map(|(name, value)| (name.into(), value.into())).into());
        let workers = || obeying(Some("WEB_CONCURRENCY"), None);
        assert_eq!(settings(Some("thin.yml"), workers(), 4, 20).env.len(), 1);
        let fixed = settings(Some("thin.yml"), workers(), 4, 3);
        assert!(fixed.env.is_empty());
        let in_file = SettingAdvice::FixedInThinFile { file: "thin.yml".into() };
        assert_eq!(fixed.advice[0], Advice::from(in_file).into());
        let none = settings(None, Obeys::default(), 4, 3);
        let needs_file = SettingAdvice::ThinNeedsFile { file: "config/thin.yml".into() };
        assert_eq!(none.advice[0], Advice::from(needs_file).into());
    }

    #[test]
    fn the_lines_are_those_of_thins_file() {
        let snippet = settings(None, Obeys::default(), 3, 5).config_snippet;
        let own = "# config/thin.yml\nservers: 3\nthreaded: true\nthreadpool_size: 5\n";
        assert!(snippet.starts_with(own), "{snippet}");
        let ratio = "#   servers: <%= [(3 * Etc.nprocessors / 2.0).round, 1].max %>\n";
        assert!(snippet.ends_with(ratio), "{snippet}");
        let one = settings(None, Obeys::default(), 3, 1).config_snippet;
        assert!(one.contains("servers: 3\nthreaded: false\n"), "{one}");
    }

    #[test]
    fn the_advice_names_every_socket_and_counts_connections() {
        let advice =
            Language::DATA.say_each(&settings(None, Obeys::default(), 4, 3).advice).join("\n");
        assert!(advice.contains("/run/thin.0.sock to server unix:/run/thin.3.sock"), "{advice}");
        assert!(advice.contains("up to 12 (4 x 3)"), "{advice}");
    }
}
