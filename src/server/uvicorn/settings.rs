//! A configuration as uvicorn's users write it down.
//!
//! In: an app, the variable that the number of workers follows, and a configuration. Out:
//! variables, the command line, advice. Only computes.

use crate::server::{App, Obeys, python};
use crate::terms::{
    Advice, Configuration, CoreCount, Cores, RunningAdvice, SettingAdvice, Settings, SettingsPlace,
};

pub(super) fn of(app: &App, obeys: &Obeys, configuration: Configuration, cores: Cores) -> Settings {
    Settings {
        place: Some(SettingsPlace::OnCommandLine.into()),
        env: obeys.workers_alone(configuration),
        config_snippet: snippet(app, configuration, cores),
        advice: vec![
            Advice::from(SettingAdvice::UvicornCommandLineFirst).into(),
            Advice::from(python::database_advice(configuration)).into(),
            Advice::from(RunningAdvice::CoreCountIgnoresQuota { count: CoreCount::Python }).into(),
        ],
        ..Settings::default()
    }
}

fn snippet(app: &App, configuration: Configuration, cores: Cores) -> String {
    let workers = configuration.workers;
    let entry = match super::factory(&app.entry) {
        Some(called) => format!("--factory {called}"),
        None => app.entry.clone(),
    };
    format!(
        "uvicorn --workers {workers} {entry}\n\n\
         # The same ratio on a machine of another size (this one has {cores} cores):\n\
         #   --workers $(( ({workers} * $(nproc) * 10 + {half}) / {tenths} ))\n",
        half = (cores.get() * 5.0).round(),
        tenths = (cores.get() * 10.0).round(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Language;
    use crate::server::Framework;

    #[test]
    fn the_command_line_and_the_variable_say_the_same() {
        let app = App::new("/srv/shop", Framework::Asgi, "main:app");
        let obeys = Obeys { workers: Some("WEB_CONCURRENCY".into()), ..Obeys::default() };
        let settings =
            of(&app, &obeys, Configuration::new(3, 1).unwrap(), Cores::new(2.0).unwrap());
        assert_eq!(settings.env["WEB_CONCURRENCY"], "3");
        let snippet = settings.config_snippet;
        assert!(snippet.starts_with("uvicorn --workers 3 main:app\n"), "{snippet}");
        assert!(snippet.ends_with("--workers $(( (3 * $(nproc) * 10 + 10) / 20 ))\n"), "{snippet}");
        let all = format!("{snippet}{}", Language::DATA.say_each(&settings.advice).join("\n"));
        assert!(!all.to_lowercase().contains("thread"), "{all}");
    }

    #[test]
    fn a_factory_is_written_as_one() {
        let app = App::new("/srv/shop", Framework::Asgi, "main:create_app()");
        let configuration = Configuration::new(2, 1).unwrap();
        let snippet = snippet(&app, configuration, Cores::new(2.0).unwrap());
        assert!(
            snippet.starts_with("uvicorn --workers 2 --factory main:create_app\n"),
            "{snippet}"
        );
    }
}
