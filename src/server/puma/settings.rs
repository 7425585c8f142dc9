//! A configuration as Puma's users write it down.
//!
//! In: an app and a configuration. Out: variables, lines for `config/puma.rb`, advice. Only
//! computes.

use std::collections::BTreeMap;

use crate::server::{App, Framework};
use crate::terms::{Configuration, Settings};

pub(super) fn of(app: &App, configuration: Configuration) -> Settings {
    Settings {
        env: env(app, configuration),
        config_snippet: snippet(app, configuration),
        advice: advice(app, configuration),
    }
}

fn env(app: &App, configuration: Configuration) -> BTreeMap<String, String> {
    let threads = configuration.threads.to_string();
    let mut env = BTreeMap::new();
    env.insert("WEB_CONCURRENCY".to_string(), super::workers_as_typed(configuration));
    // Rails' own config/puma.rb and database.yml read theirs; Puma itself reads its own.
    let names: &[&str] = match app.framework {
        Framework::Rails => &["RAILS_MAX_THREADS", "RAILS_MIN_THREADS"],
        Framework::Sinatra | Framework::Rack => &["PUMA_MAX_THREADS", "PUMA_MIN_THREADS"],
    };
    env.extend(names.iter().map(|name| (name.to_string(), threads.clone())));
    env
}

fn snippet(app: &App, configuration: Configuration) -> String {
    let Configuration { workers, threads } = configuration;
    let file = app.server_config.as_deref().map_or("config/puma.rb".into(), super::text);
    let mut lines = vec![format!("# {file}")];
    if super::is_cluster(configuration) {
        lines.push(format!("workers {workers}"));
    } else {
        lines.push("workers 0 # single mode: one process, no master".into());
    }
    lines.push(format!("threads {threads}, {threads}"));
    if super::is_cluster(configuration) {
        lines.push("preload_app!".into());
    }
    lines.extend([
        String::new(),
        "# The same ratio on a machine of another size (MEASURED: the cores this was measured on):"
            .into(),
        "#   require \"etc\"".into(),
        format!("#   workers [({workers} * Etc.nprocessors / MEASURED.to_f).round, 1].max"),
    ]);
    lines.join("\n") + "\n"
}

fn advice(app: &App, configuration: Configuration) -> Vec<String> {
    let Configuration { workers, threads } = configuration;
    let variable = env(app, configuration).into_keys().find(|name| name.ends_with("MAX_THREADS"));
    let variable = variable.unwrap_or_default();
    let mut advice = Vec::new();
    if app.server_config.is_some() {
        advice.push(format!(
            "fixed numbers in the app's own Puma settings win over the variables: either let them \
             read WEB_CONCURRENCY and {variable}, or put these lines there"
        ));
    }
    let pool = match app.framework {
        Framework::Rails => format!(
            "in config/database.yml, pool: <%= ENV.fetch(\"{variable}\") {{ {threads} }} %>"
        ),
        Framework::Sinatra | Framework::Rack => {
            "where the app opens its database, such as ActiveRecord's `pool` or Sequel's \
             `max_connections`"
                .to_string()
        }
    };
    advice.push(format!(
        "database pool of at least {threads} connections per worker ({pool}); all workers together \
         hold up to {} ({workers} x {threads}) on each machine",
        configuration.slots()
    ));
    advice.push(
        "health checks should not wait in the app's own queue: with every thread busy they time \
         out and a busy server is taken for a dead one; check that the port accepts connections, \
         or ask Puma's control socket"
            .into(),
    );
    advice.push(
        "Etc.nprocessors counts cores and ignores a container's CPU quota; where there is one, use \
         fixed numbers, or Concurrent.available_processor_count (concurrent-ruby 1.3.1 or later)"
            .into(),
    );
    advice
}

#[cfg(test)]
mod tests {
    use super::*;

    fn app(framework: Framework) -> App {
        App {
            folder: "/srv/shop".into(),
            framework,
            rackup: "config.ru".into(),
            server_config: None,
            is_bundled: false,
            ready_path: "/".into(),
        }
    }

    fn settings(framework: Framework, workers: u16, threads: u16) -> Settings {
        of(&app(framework), Configuration::new(workers, threads).unwrap())
    }

    #[test]
    fn rails_and_plain_puma_apps_get_the_variables_they_read() {
        let rails = settings(Framework::Rails, 4, 3);
        assert_eq!(rails.env["WEB_CONCURRENCY"], "4");
        assert_eq!(rails.env["RAILS_MAX_THREADS"], "3");
        let sinatra = settings(Framework::Sinatra, 4, 3);
        assert_eq!(sinatra.env["PUMA_MAX_THREADS"], "3");
        assert!(!sinatra.env.contains_key("RAILS_MAX_THREADS"));
    }

    #[test]
    fn one_worker_is_written_as_single_mode() {
        let settings = settings(Framework::Rack, 1, 8);
        assert_eq!(settings.env["WEB_CONCURRENCY"], "0");
        assert!(settings.config_snippet.contains("workers 0"));
        assert!(!settings.config_snippet.contains("preload_app!"));
    }

    #[test]
    fn the_advice_counts_database_connections() {
        let advice = settings(Framework::Rails, 4, 3).advice.join("\n");
        assert!(advice.contains("at least 3 connections per worker"), "{advice}");
        assert!(advice.contains("up to 12 (4 x 3)"), "{advice}");
        assert!(advice.contains("quota"), "{advice}");
    }
}
