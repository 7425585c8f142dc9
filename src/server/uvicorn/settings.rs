//! A configuration as uvicorn's users write it down.
//!
//! In: an app, the variable that the number of workers follows, and a configuration. Out:
//! variables, the command line, advice. Only computes.

use crate::server::{Recommended, python};
use crate::terms::{Advice, CoreCount, RunningAdvice, SettingAdvice, Settings, SettingsPlace};

pub(super) fn of(recommended: Recommended<'_>) -> Settings {
    let configuration = recommended.configuration;
    Settings {
        place: Some(SettingsPlace::OnCommandLine.into()),
        env: recommended.inspection.obeys.workers_alone(configuration),
        config_snippet: snippet(recommended),
        advice: vec![
            Advice::from(SettingAdvice::UvicornCommandLineFirst).into(),
            Advice::from(python::database_advice(configuration)).into(),
            Advice::from(RunningAdvice::CoreCountIgnoresQuota { count: CoreCount::Python }).into(),
        ],
        ..Settings::default()
    }
}

fn snippet(Recommended { app, configuration, cores, .. }: Recommended<'_>) -> String {
    let workers = configuration.workers;
    let entry = match super::factory(&app.entry) {
        Some(called) => format!("--factory {called}"),
        None => app.entry.clone(),
    };
    format!(
        "uvicorn --workers {workers} {entry}\n\n\
         # The same ratio on a machine of another size (this one has {cores} cores):\n\
         #   --workers $(( ({workers} * $(nproc) * 100 + {half}) / {hundredths} ))\n",
        half = (cores.get() * 50.0).round(),
        hundredths = (cores.get() * 100.0).round(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::tests::{self, inspection, obeying};
    use crate::server::uvicorn::Uvicorn;
    use crate::server::{App, Framework};
    use crate::terms::{Bytes, Configuration, Cores};

    fn settings(entry: &str) -> Settings {
        let app = App::new("/srv/shop", Framework::Asgi, entry);
        let inspection = inspection(1, 1, "0.17.6", obeying(Some("WEB_CONCURRENCY"), None));
        tests::settings(&Uvicorn, &app, &inspection, 3, 1)
    }

    #[test]
    fn the_command_line_and_the_variable_say_the_same() {
        let settings = settings("main:app");
        assert_eq!(settings.env["WEB_CONCURRENCY"], "3");
        let snippet = settings.config_snippet;
        assert!(snippet.starts_with("uvicorn --workers 3 main:app\n"), "{snippet}");
        let ratio = "--workers $(( (3 * $(nproc) * 100 + 100) / 200 ))\n";
        assert!(snippet.ends_with(ratio), "{snippet}");
    }

    #[test]
    fn the_ratio_is_that_of_the_cores_measured_on_to_the_hundredth() {
        let app = App::new("/srv/shop", Framework::Asgi, "main:app");
        let inspection = &inspection(1, 1, "0.17.6", obeying(None, None));
        for (cores, ratio) in [
            // On four cores 16 workers.
            (0.25, "(( (1 * $(nproc) * 100 + 13) / 25 ))"),
            (2.25, "(( (1 * $(nproc) * 100 + 113) / 225 ))"),
        ] {
            let snippet = snippet(Recommended {
                app: &app,
                inspection,
                configuration: Configuration::new(1, 1).unwrap(),
                cores: Cores::new(cores).unwrap(),
                memory: Bytes(1 << 30),
                a_pod_less: None,
            });
            assert!(snippet.contains(ratio), "{snippet}");
        }
    }

    #[test]
    fn a_factory_is_written_as_one() {
        let snippet = settings("main:create_app()").config_snippet;
        let expected = "uvicorn --workers 3 --factory main:create_app\n";
        assert!(snippet.starts_with(expected), "{snippet}");
    }
}
