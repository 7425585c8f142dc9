//! Settings of a server's, beside workers and threads, that can be tried from outside: which there
//! are, what they may be, and how an app with some of them changed is described.
//!
//! In: names and values as people write them. Out: checked ones, an app with changes, lines for
//! those who keep them. Must not run, read or write anything.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use thiserror::Error;

use super::{Adapter, App, Inspection, MinThreads, Proxy, Recommended, nginx};
use crate::terms::{Change, Cores, KnobLine, Obstacle, Settings, SettingsPlace};

/// What is changed of an app for a while; empty: it is as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changed {
    /// Variables that come before all others.
    pub env: BTreeMap<String, String>,
    /// Values by a knob's name.
    pub settings: BTreeMap<String, String>,
}

/// The knobs of one server.
#[derive(Debug, Clone, Copy)]
pub struct Knobs {
    /// Where most have its configuration; `None`: it is told everything on the command line.
    pub usual_file: Option<&'static str>,
    pub list: &'static [Knob],
}

impl Knobs {
    /// A server without any that we know.
    pub const NONE: Self = Self { usual_file: None, list: &[] };

    /// The lines of what is changed, as the server reads them.
    pub fn lines(&self, app: &App) -> Vec<String> {
        let tried = &app.changed.settings;
        let of_one = |knob: &Knob| Some((knob.line)(knob.name, tried.get(knob.name)?));
        self.list.iter().filter_map(of_one).collect()
    }
}

/// One setting.
#[derive(Debug, Clone, Copy)]
pub struct Knob {
    /// As the server's users write it.
    pub name: &'static str,
    pub values: Values,
    /// The first version that has it (its first two numbers).
    pub since: Option<(u32, u32)>,
    /// The first version that has it no more, and what it has instead.
    pub until: Option<((u32, u32), &'static str)>,
    /// The line that sets what has this name to a value.
    pub line: fn(&str, &str) -> String,
}

impl Knob {
    /// One that every version has.
    pub const fn new(name: &'static str, values: Values, line: fn(&str, &str) -> String) -> Self {
        Self { name, values, since: None, until: None, line }
    }

    /// From this version on.
    pub const fn since(self, version: (u32, u32)) -> Self {
        Self { since: Some(version), ..self }
    }

    /// Up to this version, which has something else instead.
    pub const fn until(self, version: (u32, u32), instead: &'static str) -> Self {
        Self { until: Some((version, instead)), ..self }
    }
}

/// What a setting may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Values {
    /// `true` or `false`.
    Switch,
    /// A whole number.
    Count,
    /// A number, possibly with a fraction.
    Number,
    /// Cores of a processor, of which Kubernetes gives out thousandths.
    Cores,
    OneOf(&'static [&'static str]),
}

/// With fewer no app server starts; more no machine has.
const CORES: RangeInclusive<f64> = 0.01..=1024.0;

impl Values {
    fn holds(self, value: &str) -> bool {
        match self {
            Self::Switch => matches!(value, "true" | "false"),
            Self::Count => is_plain(value) && value.parse::<u32>().is_ok(),
            Self::Number => is_plain(value) && value.parse::<f64>().is_ok_and(f64::is_finite),
            Self::Cores => value.parse::<Cores>().is_ok_and(|cores| CORES.contains(&cores.get())),
            Self::OneOf(words) => words.contains(&value),
        }
    }

    fn described(self) -> String {
        match self {
            Self::Switch => "true or false".into(),
            Self::Count => "a whole number".into(),
            Self::Number => "a number that is not negative, such as 5 or 0.005".into(),
            Self::Cores => format!("a number of cores from {} to {}", CORES.start(), CORES.end()),
            Self::OneOf(words) => format!("one of {}", words.join(", ")),
        }
    }
}

/// Is it read as this number wherever it is written? Ruby takes neither `.5` nor `5.` nor `08`, and
/// `010` for eight.
fn is_plain(number: &str) -> bool {
    let is_digit = |c: char| c.is_ascii_digit();
    let has_leading_zero = number.strip_prefix('0').is_some_and(|rest| rest.starts_with(is_digit));
    let is_whole = |part: &str| part.starts_with(is_digit) && part.ends_with(is_digit);
    !has_leading_zero && number.split('.').all(is_whole)
}

/// A setting that cannot be tried.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum KnobError {
    #[error(
        "{server} has no setting '{name}' that can be tried; {}; a variable of the app is written \
         in capitals, or as env = \"{name}\" in the plan file",
        known_text(known)
    )]
    Unknown { server: &'static str, name: String, known: Vec<&'static str> },
    #[error("'{name}' is a setting of nginx, which does not run here; add --proxy nginx")]
    NoNginx { name: String },
    #[error("{name} is {expected}, not '{value}'")]
    Value { name: String, value: String, expected: String },
}

fn known_text(known: &[&'static str]) -> String {
    match known {
        [] => "none of it is known here".into(),
        _ => format!("known are {}", known.join(", ")),
    }
}

/// The server's own settings, then nginx's where that is in front.
fn known(adapter: &dyn Adapter, proxy: Proxy) -> impl Iterator<Item = &'static Knob> {
    let of_proxy: &[Knob] = if proxy == Proxy::Nginx { nginx::KNOBS } else { &[] };
    adapter.about().knobs.list.iter().chain(of_proxy)
}

/// Checks a setting and its value.
///
/// # Errors
/// Neither the server nor its proxy has it, or it cannot be that.
pub fn check_setting(
    adapter: &dyn Adapter,
    proxy: Proxy,
    name: &str,
    value: &str,
) -> Result<(), KnobError> {
    let Some(knob) = known(adapter, proxy).find(|knob| knob.name == name) else {
        if proxy != Proxy::Nginx && nginx::KNOBS.iter().any(|knob| knob.name == name) {
            return Err(KnobError::NoNginx { name: name.into() });
        }
        return Err(KnobError::Unknown {
            server: adapter.about().title,
            name: name.into(),
            known: known(adapter, proxy).map(|knob| knob.name).collect(),
        });
    };
    match knob.values.holds(value) {
        true => Ok(()),
        false => Err(KnobError::Value {
            name: name.into(),
            value: value.into(),
            expected: knob.values.described(),
        }),
    }
}

/// Turns Ruby's compiler on.
const YJIT: &str = "RUBY_YJIT_ENABLE";

/// Why a change cannot be tried on the app as it was found; `None`: it can.
pub fn in_the_way(
    adapter: &dyn Adapter,
    inspection: &Inspection,
    change: &Change,
) -> Option<Obstacle> {
    let obeys = &inspection.obeys;
    let least = match &obeys.min_threads {
        MinThreads::Variable(name) => Some(name),
        MinThreads::Fixed(_) => None,
    };
    let mut own = obeys.workers.iter().chain(&obeys.max_threads).chain(least);
    if let Some(name) = own.find(|name| change.env.contains_key(*name)) {
        return Some(Obstacle::SetsWorkersOrThreads { variable: name.clone() });
    }
    if change.env.contains_key(YJIT) && inspection.lacks_yjit {
        return Some(Obstacle::NoYjit { runtime: inspection.runtime_version.clone() });
    }
    let version = first_two(&inspection.server_version)?;
    let text = |(major, minor): (u32, u32)| format!("{major}.{minor}");
    change.settings.keys().find_map(|name| {
        let knob = adapter.about().knobs.list.iter().find(|knob| knob.name == name)?;
        let server = adapter.about().title.to_string();
        let (setting, runs) = (name.clone(), inspection.server_version.clone());
        match (knob.since, knob.until) {
            (Some(since), _) if version < since => {
                let since = text(since);
                Some(Obstacle::SettingTooNew { server, setting, since, version: runs })
            }
            (_, Some((until, instead))) if version >= until => {
                let (until, instead) = (text(until), instead.to_string());
                Some(Obstacle::SettingGone { server, setting, until, instead, version: runs })
            }
            _ => None,
        }
    })
}

/// `6.4.2` is (6, 4).
pub fn first_two(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.split('.').map(|part| part.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

/// What a process says that was told to load a library which it cannot; it runs on without.
const NOT_LOADED: [&str; 2] = ["ld.so: object ", " cannot be preloaded"];

/// The line in which a server says that a change had no effect.
pub fn ignored(lines: &[String]) -> Option<&String> {
    lines.iter().find(|line| NOT_LOADED.iter().all(|text| line.contains(text)))
}

impl App {
    /// The app with these changes made to it.
    pub fn with_changes<'a>(&self, changes: impl IntoIterator<Item = &'a Change>) -> Self {
        let mut app = self.clone();
        for change in changes {
            app.env.extend(change.env.clone());
            app.changed.env.extend(change.env.clone());
            app.changed.settings.extend(change.settings.clone());
        }
        app
    }
}

/// A configuration as this server's users write it down, with what is changed of the app.
pub fn settings(adapter: &dyn Adapter, recommended: Recommended<'_>) -> Settings {
    let app = recommended.app;
    let knobs = adapter.about().knobs;
    let own = match knobs.usual_file {
        Some(file) => SettingsPlace::InFile { path: app.config_file(file) },
        None => SettingsPlace::OnCommandLine,
    };
    let with_place = |place: SettingsPlace, lines: Vec<String>| -> Vec<KnobLine> {
        lines.into_iter().map(|line| KnobLine { place: place.clone().into(), line }).collect()
    };
    let mut lines = with_place(own, knobs.lines(app));
    let of_nginx = Knobs { list: nginx::KNOBS, ..Knobs::NONE }.lines(app);
    lines.extend(with_place(SettingsPlace::InNginxConfiguration, of_nginx));
    Settings {
        knobs_env: app.changed.env.clone(),
        knobs_lines: lines,
        ..adapter.settings(recommended)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::{Framework, find, tests};
    use crate::terms::{Bytes, Configuration};

    fn change(settings: &[(&str, &str)], env: &[(&str, &str)]) -> Change {
        let map = |list: &[(&str, &str)]| {
            list.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
        };
        Change { knob: "x".into(), name: "x".into(), env: map(env), settings: map(settings) }
    }

    fn inspection(version: &str) -> Inspection {
        tests::inspection(2, 5, version, tests::obeying(None, Some("RAILS_MAX_THREADS")))
    }

    #[test]
    fn an_unknown_setting_is_an_error_that_lists_the_known_ones() {
        let puma = find("puma").unwrap();
        let error = check_setting(puma, Proxy::None, "preload", "true").unwrap_err().to_string();
        assert!(error.contains("Puma has no setting 'preload'"), "{error}");
        assert!(error.contains("preload_app, ") && error.contains("nakayoshi_fork"), "{error}");
        assert!(!error.contains("nginx."), "{error}");
        let error = check_setting(puma, Proxy::Nginx, "nope", "1").unwrap_err().to_string();
        assert!(error.contains("nginx.worker_connections"), "{error}");
    }

    #[test]
    fn values_are_checked_and_nginx_has_to_be_there() {
        let puma = find("puma").unwrap();
        assert_eq!(check_setting(puma, Proxy::None, "preload_app", "false"), Ok(()));
        for (name, value, expected) in [
            ("preload_app", "yes", "preload_app is true or false, not 'yes'"),
            ("backlog", "many", "backlog is a whole number"),
            ("wait_for_less_busy_worker", "-1", "a number that is not negative"),
            ("io_selector_backend", "kqueue", "one of auto, "),
            ("nginx.worker_connections", "512", "add --proxy nginx"),
        ] {
            let error = check_setting(puma, Proxy::None, name, value).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn a_number_is_taken_only_as_every_configuration_file_reads_it() {
        for (values, value, is_taken) in [
            (Values::Count, "0", true),
            (Values::Count, "10", true),
            (Values::Count, "010", false),
            (Values::Count, "08", false),
            (Values::Count, "+8", false),
            (Values::Number, "0", true),
            (Values::Number, "0.005", true),
            (Values::Number, "5e-3", true),
            (Values::Number, ".005", false),
            (Values::Number, "5.", false),
            (Values::Number, "1.e3", false),
            (Values::Number, "00.5", false),
            (Values::Number, "-0", false),
            (Values::Number, "inf", false),
            (Values::Number, "1e999", false),
        ] {
            assert_eq!(values.holds(value), is_taken, "{values:?} {value}");
        }
    }

    #[test]
    fn a_version_without_the_setting_is_named_with_the_one_that_took_it_away() {
        let puma = find("puma").unwrap();
        let nakayoshi = change(&[("nakayoshi_fork", "true")], &[]);
        assert_eq!(in_the_way(puma, &inspection("5.6.5"), &nakayoshi), None);
        let gone = in_the_way(puma, &inspection("6.4.2"), &nakayoshi).unwrap();
        let is_named = matches!(&gone, Obstacle::SettingGone { server, setting, until, .. }
            if (&**server, &**setting, &**until) == ("Puma", "nakayoshi_fork", "6.0"));
        assert!(is_named, "{gone:?}");
        let keep_alive = change(&[("max_keep_alive", "100")], &[]);
        let too_new = in_the_way(puma, &inspection("5.6.5"), &keep_alive).unwrap();
        let is_named = matches!(&too_new, Obstacle::SettingTooNew { since, version, .. }
            if (&**since, &**version) == ("7.0", "5.6.5"));
        assert!(is_named, "{too_new:?}");
    }

    #[test]
    fn a_ruby_without_the_compiler_is_told_before_minutes_are_spent() {
        let puma = find("puma").unwrap();
        let yjit = change(&[], &[("RUBY_YJIT_ENABLE", "1")]);
        let mut inspection = inspection("8.0.2");
        assert_eq!(in_the_way(puma, &inspection, &yjit), None);
        inspection.lacks_yjit = true;
        inspection.runtime_version = "ruby 3.3.8".into();
        let runtime = "ruby 3.3.8".to_string();
        assert_eq!(in_the_way(puma, &inspection, &yjit), Some(Obstacle::NoYjit { runtime }));
    }

    #[test]
    fn a_variable_that_sets_workers_or_threads_is_no_knob() {
        let puma = find("puma").unwrap();
        let threads = change(&[], &[("RAILS_MAX_THREADS", "9")]);
        let variable = "RAILS_MAX_THREADS".to_string();
        let expected = Some(Obstacle::SetsWorkersOrThreads { variable });
        assert_eq!(in_the_way(puma, &inspection("5.6.5"), &threads), expected);
        let pool = change(&[], &[("DB_POOL", "9")]);
        assert_eq!(in_the_way(puma, &inspection("5.6.5"), &pool), None);
    }

    #[test]
    fn recommended_changes_are_lines_to_paste() {
        let puma = find("puma").unwrap();
        let app = App::new("/srv/shop", Framework::Rack, "config.ru");
        let both = [
            change(&[("preload_app", "false")], &[]),
            change(&[("nginx.worker_connections", "512")], &[("MALLOC_ARENA_MAX", "2")]),
        ];
        let configuration = Configuration::new(2, 5).unwrap();
        let app = app.with_changes(&both);
        let cores = Cores::new(2.0).unwrap();
        let inspection = &inspection("5.6.5");
        let memory = Bytes(1 << 30);
        let (app, a_pod_less) = (&app, None);
        let recommended = Recommended { app, inspection, configuration, cores, memory, a_pod_less };
        let settings = settings(puma, recommended);
        assert_eq!(settings.knobs_env["MALLOC_ARENA_MAX"], "2");
        let line =
            |place: SettingsPlace, line: &str| KnobLine { place: place.into(), line: line.into() };
        let puma_file = SettingsPlace::InFile { path: "config/puma.rb".into() };
        let expected = [
            line(puma_file, "preload_app! false"),
            line(SettingsPlace::InNginxConfiguration, "worker_connections 512;"),
        ];
        assert_eq!(settings.knobs_lines, expected);
        assert!(!settings.config_snippet.contains("preload_app!"), "{}", settings.config_snippet);
    }

    #[test]
    fn a_library_that_was_not_loaded_is_noticed() {
        let line = "ERROR: ld.so: object 'libx.so' from LD_PRELOAD cannot be preloaded \
                    (cannot open shared object file): ignored.";
        let lines = ["Puma starting".to_string(), line.to_string()];
        assert_eq!(ignored(&lines).map(String::as_str), Some(line));
        assert_eq!(ignored(&lines[..1]), None);
    }
}
