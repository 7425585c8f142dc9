//! What the inspection script printed becomes an [`Inspection`].
//!
//! In: everything the command printed. Out: the settings, or what went wrong. Only computes.

use serde::Deserialize;

use crate::server::{App, Inspection, InspectionError, Obeys, inspection, rack};
use crate::terms::{Remark, RubyRemark};

#[derive(Deserialize)]
struct Options {
    workers: u16,
    preload: bool,
    timeout_s: u32,
    /// As Unicorn writes them: `0.0.0.0:8080` or a socket's path.
    listeners: Vec<String>,
    /// Files that its own log and the app's output go to.
    logs: Vec<String>,
    environment: String,
    /// The variable that the number of workers follows.
    obeys: Option<String>,
    unicorn: String,
    ruby: String,
    yjit: Option<bool>,
}

pub(super) fn read(app: &App, stdout: &str) -> Result<Inspection, InspectionError> {
    let options: Options = inspection::read(stdout, &super::ABOUT)?;
    let current = inspection::current(options.workers, 1)?;
    Ok(Inspection {
        remarks: remarks(app, &options),
        obeys: Obeys { workers: options.obeys, ..Obeys::default() },
        server_version: options.unicorn,
        lacks_yjit: options.yjit == Some(false),
        runtime_version: options.ruby,
        ..Inspection::of(current)
    })
}

/// What is kept and matters, then what is measured and differs from what the app's settings say.
fn remarks(app: &App, options: &Options) -> Vec<Remark> {
    let (is_preloaded, timeout_s) = (options.preload, options.timeout_s);
    let mut remarks = vec![RubyRemark::UnicornWorkers { is_preloaded, timeout_s }.into()];
    remarks.extend(inspection::not_opened(&options.listeners));
    remarks.extend(inspection::not_written(&options.logs));
    remarks.extend(rack::other_environment(app, &options.environment, None));
    remarks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::Framework;
    use crate::server::inspection::assert_says;
    use crate::terms::{Configuration, SettingsError};

    const PRINTED: &str = "chatter\nsweetspot-inspection {\"workers\":3,\"preload\":false,\
        \"timeout_s\":30,\"listeners\":[\"0.0.0.0:8080\",\"/run/u.sock\"],\
        \"logs\":[\"log/unicorn.log\"],\"environment\":\"staging\",\
        \"obeys\":\"WEB_CONCURRENCY\",\"unicorn\":\"6.0.0\",\"ruby\":\"ruby 3.1.2\"}\n";

    /// As it is printed for an app without variables of the user's.
    fn read(stdout: &str) -> Result<Inspection, InspectionError> {
        super::read(&App::new("/srv/shop", Framework::Rack, "config.ru"), stdout)
    }

    #[test]
    fn workers_are_read_with_one_thread_each_and_what_differs_is_said() {
        let inspection = read(PRINTED).unwrap();
        assert_eq!(inspection.current, Configuration::new(3, 1).unwrap());
        assert_eq!(inspection.server_version, "6.0.0");
        assert_eq!(inspection.obeys.workers.as_deref(), Some("WEB_CONCURRENCY"));
        assert_eq!(inspection.obeys.max_threads, None);
        let remarks = assert_says(
            &inspection,
            &[
                "preload_app false",
                "more than 30 s is killed",
                "(0.0.0.0:8080, /run/u.sock) are not opened",
                "log/unicorn.log is not written to",
                "'staging'",
            ],
        );
        assert!(!remarks.contains("thread"), "there is nothing to choose: {remarks}");
    }

    #[test]
    fn an_ordinary_app_is_told_how_it_is_loaded_and_nothing_else() {
        let printed = PRINTED
            .replace("false", "true")
            .replace("staging", "production")
            .replace(r#"["0.0.0.0:8080","/run/u.sock"]"#, "[]")
            .replace(r#"["log/unicorn.log"]"#, "[]")
            .replace(r#""WEB_CONCURRENCY""#, "null");
        let inspection = read(&printed).unwrap();
        let loaded = RubyRemark::UnicornWorkers { is_preloaded: true, timeout_s: 30 };
        assert_eq!(inspection.remarks, [loaded.into()]);
        assert_eq!(inspection.obeys, Obeys::default());
    }

    #[test]
    fn the_environment_that_the_user_chose_is_the_one_that_is_measured() {
        let env = [("RACK_ENV".into(), "staging".into())].into();
        let app = App { env, ..App::new("/srv/shop", Framework::Rack, "config.ru") };
        let inspection = super::read(&app, PRINTED).unwrap();
        let remarks = assert_says(&inspection, &["preload_app false"]);
        assert!(!remarks.contains("staging"), "{remarks}");
    }

    #[test]
    fn a_number_that_cannot_run_is_refused() {
        let error = read(&PRINTED.replace("\"workers\":3", "\"workers\":0")).unwrap_err();
        assert_eq!(error.why, SettingsError::NoWorkers);
    }
}
