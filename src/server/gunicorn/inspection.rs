//! What the inspection script printed becomes an [`Inspection`].
//!
//! In: everything the command printed. Out: the settings, or what went wrong. Only computes.

use serde::Deserialize;

use crate::server::{App, Framework, Inspection, InspectionError, MinThreads, Obeys, inspection};
use crate::terms::{PythonRemark, Remark, SettingsRemark};

#[derive(Deserialize)]
struct Options {
    workers: u16,
    threads: u16,
    worker_class: String,
    preload: bool,
    timeout_s: u32,
    /// 0: no limit.
    max_requests: u64,
    /// As they are written; empty where gunicorn's own default holds.
    binds: Vec<String>,
    /// Files that it would write to.
    files: Vec<String>,
    is_tls: bool,
    is_debugging: bool,
    obeys_workers: Option<String>,
    obeys_threads: Option<String>,
    gunicorn: String,
    python: String,
}

pub(super) fn read(
    app: &App,
    has_threads: bool,
    stdout: &str,
) -> Result<Inspection, InspectionError> {
    let options: Options = inspection::read(stdout, &super::ABOUT)?;
    let threads = if has_threads { options.threads } else { 1 };
    let current = inspection::current(options.workers, threads)?;
    let variable = options.obeys_threads.clone().filter(|_| has_threads);
    let min_threads = variable.clone().map_or(MinThreads::Fixed(0), MinThreads::Variable);
    Ok(Inspection {
        remarks: remarks(app, has_threads, &options),
        obeys: Obeys { workers: options.obeys_workers, max_threads: variable, min_threads },
        server_version: options.gunicorn,
        runtime_version: options.python,
        ..Inspection::of(current)
    })
}

/// What is kept and matters, then what is measured and differs from what the app's settings say.
fn remarks(app: &App, has_threads: bool, options: &Options) -> Vec<Remark> {
    let class = app.commands_kind().unwrap_or_else(|| options.worker_class.clone());
    let is_sync = class == "sync" && app.framework == Framework::Wsgi;
    let (is_preloaded, timeout_s) = (options.preload, options.timeout_s);
    let mut remarks = vec![PythonRemark::GunicornWorkers { is_preloaded, timeout_s }.into()];
    if has_threads && !super::takes_threads(&class) {
        remarks.push(PythonRemark::ClassWithoutThreads { class }.into());
    } else if !has_threads && class != "sync" {
        remarks.push(PythonRemark::ClassKept { class }.into());
    } else if is_sync && options.threads == 1 {
        remarks.push(PythonRemark::OneThreadIsSync.into());
    }
    let requests = options.max_requests;
    if requests > 0 {
        remarks.push(PythonRemark::ReplacedWhileMeasuring { requests }.into());
    }
    remarks.extend(inspection::not_opened(&options.binds));
    if options.is_tls {
        remarks.push(SettingsRemark::WithoutTls.into());
    }
    remarks.extend(inspection::not_written(&options.files));
    if options.is_debugging {
        remarks.push(PythonRemark::DjangoDebugs.into());
    }
    remarks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::Flags;
    use crate::server::inspection::assert_says;
    use crate::terms::{Configuration, SettingsError};

    const PRINTED: &str = "chatter\nsweetspot-inspection {\"workers\":3,\"threads\":4,\
        \"worker_class\":\"gthread\",\"preload\":false,\"timeout_s\":30,\"max_requests\":500,\
        \"binds\":[\"0.0.0.0:8000\"],\"files\":[\"/var/log/access.log\"],\"is_tls\":true,\
        \"is_debugging\":true,\"obeys_workers\":\"WEB_CONCURRENCY\",\
        \"obeys_threads\":\"GUNICORN_THREADS\",\"gunicorn\":\"20.1.0\",\
        \"python\":\"Python 3.11.2\"}\n";

    fn app(framework: Framework) -> App {
        App::new("/srv/shop", framework, "shop:app")
    }

    #[test]
    fn workers_and_threads_are_read_and_what_differs_is_said() {
        let inspection = read(&app(Framework::Wsgi), true, PRINTED).unwrap();
        assert_eq!(inspection.current, Configuration::new(3, 4).unwrap());
        assert_eq!(inspection.obeys.workers.as_deref(), Some("WEB_CONCURRENCY"));
        assert_eq!(inspection.obeys.max_threads.as_deref(), Some("GUNICORN_THREADS"));
        assert_eq!(inspection.runtime_version, "Python 3.11.2");
        assert_says(
            &inspection,
            &[
                "preload_app = False",
                "more than 30 s is killed",
                "(0.0.0.0:8000) are not opened",
                "/var/log/access.log is not written to",
                "after 500 requests",
                "plain HTTP",
                "DEBUG = True",
            ],
        );
    }

    #[test]
    fn workers_of_a_kind_without_threads_have_one() {
        let printed = PRINTED.replace("\"gthread\"", "\"gevent\"");
        let inspection = read(&app(Framework::Wsgi), false, &printed).unwrap();
        assert_eq!(inspection.current, Configuration::new(3, 1).unwrap());
        assert_eq!(inspection.obeys.max_threads, None);
        let remarks = assert_says(&inspection, &["its worker class gevent is kept"]);
        assert!(!remarks.contains("thread"), "there is nothing to choose: {remarks}");
        let unseen = read(&app(Framework::Wsgi), true, &printed).unwrap();
        assert_says(&unseen, &["give --threads 1"]);
        let flags = Flags { kind: Some("eventlet".into()), ..Flags::default() };
        let by_command = App { flags: Some(flags), ..app(Framework::Wsgi) };
        assert_says(
            &read(&by_command, false, PRINTED).unwrap(),
            &["worker class eventlet is kept"],
        );
    }

    #[test]
    fn a_number_that_cannot_run_is_refused() {
        let printed = PRINTED.replace("\"workers\":3", "\"workers\":0");
        let error = read(&app(Framework::Wsgi), true, &printed).unwrap_err();
        assert_eq!(error.why, SettingsError::NoWorkers);
    }
}
