//! What the inspection script printed becomes an [`Inspection`].
//!
//! In: everything the command printed. Out: the settings, or what went wrong. Only computes.

use serde::Deserialize;

use crate::server::{App, Inspection, InspectionError, MinThreads, Obeys, inspection, rack};
use crate::terms::{Configuration, Remark, RubyRemark, SettingsRemark};

#[derive(Deserialize)]
struct Options {
    /// 0: single mode.
    workers: u16,
    min_threads: u16,
    max_threads: u16,
    preload: bool,
    /// Its file says so, also for a measurement.
    #[serde(default)]
    preload_is_off: bool,
    environment: String,
    /// Missing where it could not be found out.
    obeys: Option<ObeyedNames>,
    /// By name; Puma's own are left out, and a job runner that the settings start counts.
    #[serde(default)]
    plugins: Vec<String>,
    /// Those that are not loaded, each with the variable that would have it loaded.
    #[serde(default)]
    plugins_off: Vec<(String, String)>,
    /// Of Action Cable.
    #[serde(default)]
    channels: u32,
    /// As URLs.
    #[serde(default)]
    binds: Vec<String>,
    puma: String,
    ruby: String,
    yjit: Option<bool>,
}

#[derive(Deserialize)]
struct ObeyedNames {
    workers: Option<String>,
    max_threads: Option<String>,
    min_threads: Option<String>,
    /// Without a variable.
    min_threads_else: u16,
}

pub(super) fn read(app: &App, stdout: &str) -> Result<Inspection, InspectionError> {
    let options: Options = inspection::read(stdout, &super::ABOUT)?;
    let current = inspection::current(options.workers.max(1), options.max_threads)?;
    Ok(Inspection {
        current,
        remarks: remarks(app, &options, current),
        obeys: options.obeys.map(obeys).unwrap_or_default(),
        server_version: options.puma,
        lacks_yjit: options.yjit == Some(false),
        is_never_preloaded: options.preload_is_off,
        runtime_version: options.ruby,
    })
}

fn obeys(names: ObeyedNames) -> Obeys {
    let fixed = MinThreads::Fixed(names.min_threads_else);
    Obeys {
        workers: names.workers,
        max_threads: names.max_threads,
        min_threads: names.min_threads.map_or(fixed, MinThreads::Variable),
    }
}

/// What is measured and differs from what the app's settings say.
fn remarks(app: &App, options: &Options, current: Configuration) -> Vec<Remark> {
    let mut remarks: Vec<Remark> = Vec::new();
    let (min, max) = (options.min_threads, options.max_threads);
    if min != max {
        remarks.push(RubyRemark::MaxThreadsFromStart { min, max }.into());
    }
    match options.workers {
        0 => remarks.push(RubyRemark::SingleMode.into()),
        1 => remarks.push(RubyRemark::OneWorkerInSingleMode.into()),
        _ if !options.preload && !options.preload_is_off => {
            remarks.push(RubyRemark::NotPreloadedToday.into())
        }
        _ => {}
    }
    if !options.plugins.is_empty() {
        remarks.push(RubyRemark::PluginsRun { names: options.plugins.clone() }.into());
    }
    remarks.extend(options.plugins_off.iter().map(|(plugin, variable)| {
        let (plugin, variable) = (plugin.clone(), variable.clone());
        Remark::from(RubyRemark::PluginOff { plugin, variable })
    }));
    if options.channels > 0 {
        remarks.push(RubyRemark::ChannelsWithoutClients { channels: options.channels }.into());
    }
    // Every app has a port; only what is not reached the same way is worth a word.
    let is_other = |bind: &&String| !bind.starts_with("tcp://");
    let others: Vec<String> = options.binds.iter().filter(is_other).cloned().collect();
    remarks.extend(inspection::not_opened(&others));
    if others.iter().any(|bind| bind.starts_with("ssl://")) {
        remarks.push(SettingsRemark::WithoutTls.into());
    }
    remarks.extend(rack::other_environment(app, &options.environment, Some(current)));
    remarks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::Framework;

    fn printed(json: &str) -> String {
        format!("the app's own chatter\n\nsweetspot-inspection {json}\n")
    }

    /// As it is printed for an app without variables of the user's.
    fn read(stdout: &str) -> Result<Inspection, InspectionError> {
        super::read(&App::new("/srv/shop", Framework::Rack, "config.ru"), stdout)
    }

    #[test]
    fn the_settings_are_found_among_other_output() {
        let inspection = read(&printed(
            r#"{"workers":2,"min_threads":3,"max_threads":3,"preload":true,
                "environment":"production","puma":"5.6.5","ruby":"ruby 3.1.2"}"#
                .replace('\n', "")
                .as_str(),
        ))
        .unwrap();
        assert_eq!(inspection.current, Configuration::new(2, 3).unwrap());
        assert_eq!(inspection.server_version, "5.6.5");
        assert_eq!(inspection.runtime_version, "ruby 3.1.2");
        assert_eq!(inspection.remarks, []);
        assert_eq!(inspection.obeys, Obeys::default());
    }

    #[test]
    fn what_runs_differently_is_said() {
        let inspection = read(&printed(
            "{\"workers\":0,\"min_threads\":0,\"max_threads\":5,\"preload\":false,\
             \"environment\":\"staging\",\"plugins\":[\"solid_queue\"],\"channels\":2,\
             \"plugins_off\":[[\"mailer\",\"MAILER_IN_PUMA\"]],\"puma\":\"6.4.2\",\
             \"ruby\":\"ruby 3.3.0\"}",
        ))
        .unwrap();
        assert_eq!(inspection.current, Configuration::new(1, 5).unwrap());
        inspection::assert_says(
            &inspection,
            &[
                "threads 0:5 are run as 5:5",
                "single mode",
                "'staging'",
                "solid_queue runs",
                "mailer is not loaded",
                "--env MAILER_IN_PUMA=1",
                "Action Cable may serve 2 channels",
            ],
        );
    }

    #[test]
    fn an_environment_is_named_only_where_another_one_is_measured() {
        let env = [("RACK_ENV".into(), "staging".into())].into();
        let app = App { env, ..App::new("/srv/shop", Framework::Rack, "config.ru") };
        let read_for = |environment: &str| {
            let text = printed(&format!(
                "{{\"workers\":2,\"min_threads\":5,\"max_threads\":5,\"preload\":true,\
                 \"environment\":\"{environment}\",\"puma\":\"6.4.2\",\
                 \"ruby\":\"ruby 3.3.0\"}}"
            ));
            super::read(&app, &text).unwrap()
        };
        assert_eq!(read_for("staging").remarks, []);
        // As the app's own file has it.
        let expected = "2 x 5 is read for the environment 'development'; it is measured in staging";
        inspection::assert_says(&read_for("development"), &[expected]);
    }

    #[test]
    fn an_app_that_is_never_preloaded_is_measured_as_it_runs() {
        let remarks = |more: &str| {
            read(&printed(&format!(
                "{{\"workers\":2,\"min_threads\":5,\"max_threads\":5,\"preload\":false,{more}\
                 \"environment\":\"production\",\"puma\":\"6.4.2\",\"ruby\":\"ruby 3.3.0\"}}"
            )))
            .unwrap()
            .remarks
        };
        assert_eq!(remarks(""), [RubyRemark::NotPreloadedToday.into()]);
        assert_eq!(remarks("\"preload_is_off\":true,"), []);
    }

    #[test]
    fn sockets_and_certificates_that_are_not_used_are_said_and_ports_are_not() {
        let binds = |list: &str| {
            read(&printed(&format!(
                "{{\"workers\":2,\"min_threads\":5,\"max_threads\":5,\"preload\":true,\
                 \"environment\":\"production\",\"binds\":[{list}],\"puma\":\"8.0.2\",\
                 \"ruby\":\"ruby 3.3.8\"}}"
            )))
            .unwrap()
        };
        assert_eq!(binds("\"tcp://0.0.0.0:3000\"").remarks, []);
        let socket = binds("\"unix:///run/shop.sock\"");
        let said = inspection::assert_says(&socket, &["unix:///run/shop.sock"]);
        assert!(!said.contains("TLS"), "{said}");
        inspection::assert_says(&binds("\"ssl://0.0.0.0:443?key=k.pem\""), &["ssl://", "TLS"]);
    }

    #[test]
    fn the_variables_that_the_settings_follow_are_read() {
        let inspection = read(&printed(
            "{\"workers\":0,\"min_threads\":5,\"max_threads\":5,\"preload\":false,\
             \"environment\":\"production\",\"obeys\":{\"workers\":\"WEB_CONCURRENCY\",\
             \"max_threads\":\"RAILS_MAX_THREADS\",\"min_threads\":null,\"min_threads_else\":5},\
             \"puma\":\"6.4.2\",\"ruby\":\"ruby 3.3.0\"}",
        ))
        .unwrap();
        let expected = Obeys {
            workers: Some("WEB_CONCURRENCY".into()),
            max_threads: Some("RAILS_MAX_THREADS".into()),
            min_threads: MinThreads::Fixed(5),
        };
        assert_eq!(inspection.obeys, expected);
    }
}
