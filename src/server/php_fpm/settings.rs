//! A configuration as PHP-FPM's users write it down.
//!
//! In: an app, what its own settings say and follow, and a configuration. Out: variables, lines for
//! a pool's file, advice. Only computes.

use crate::server::{App, Inspection, Recommended};
use crate::terms::{
    Advice, Configuration, DatabaseAdvice, HealthCheck, RunningAdvice, SettingAdvice, Settings,
    Stated,
};

pub(super) fn of(recommended: Recommended<'_>) -> Settings {
    let Recommended { inspection, configuration, .. } = recommended;
    Settings {
        env: inspection.obeys.workers_alone(configuration),
        config_snippet: snippet(recommended),
        advice: advice(inspection, configuration),
        ..Settings::default()
    }
}

/// The app's own file, as it is called there; else where the version's packages have it.
fn config_file(app: &App, inspection: &Inspection) -> String {
    app.config_file(&format!("/etc/php/{}/fpm/pool.d/www.conf", release(inspection)))
}

/// `8.2`.
fn release(inspection: &Inspection) -> String {
    inspection.server_version.splitn(3, '.').take(2).collect::<Vec<_>>().join(".")
}

fn snippet(Recommended { app, inspection, configuration, cores, .. }: Recommended<'_>) -> String {
    let plural = if cores.get() == 1.0 { "" } else { "s" };
    format!(
        "; {}, measured on {cores} core{plural}\npm = static\npm.max_children = {}\n",
        config_file(app, inspection),
        configuration.workers
    )
}

fn advice(inspection: &Inspection, configuration: Configuration) -> Vec<Stated<Advice>> {
    let workers = configuration.workers.get();
    let in_the_way = inspection
        .obeys
        .workers
        .is_none()
        .then(|| SettingAdvice::ReplacesPoolLines { php_version: release(inspection) });
    let rest: [Advice; 4] = [
        DatabaseAdvice::PhpConnectionPerWorker { workers }.into(),
        RunningAdvice::PhpMemoryLimit { workers }.into(),
        RunningAdvice::PhpListenQueue.into(),
        RunningAdvice::CheckHealthBy { check: HealthCheck::PhpFpmStatus }.into(),
    ];
    in_the_way.map(Advice::from).into_iter().chain(rest).map(Stated::from).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::server::Framework;
    use crate::server::php_fpm::PhpFpm;
    use crate::server::tests::{self, inspection, obeying};

    fn settings(file: Option<&str>, variable: Option<&str>) -> Settings {
        let app = App {
            server_config: file.map(Into::into),
            ..App::new("/srv/shop", Framework::Php, ".")
        };
        let inspection = inspection(5, 1, "8.2.35", obeying(variable, None));
        tests::settings(&PhpFpm, &app, &inspection, 12, 1)
    }

    #[test]
    fn the_lines_are_those_of_a_pool() {
        let own = settings(Some("config/php-fpm.conf"), None);
        let expected = "; config/php-fpm.conf, measured on 2 cores\npm = static\n\
                        pm.max_children = 12\n";
        assert_eq!(own.config_snippet, expected);
        assert!(own.env.is_empty());
        let packaged = settings(None, Some("WEB_CONCURRENCY"));
        assert!(packaged.config_snippet.starts_with("; /etc/php/8.2/fpm/pool.d/www.conf,"));
        assert_eq!(packaged.env, BTreeMap::from([("WEB_CONCURRENCY".into(), "12".into())]));
    }
}
