//! Workers, threads and kind of workers that the flags of a server's command give, as the files
//! that deploy the app have it; and those of its flags that are kept.
//!
//! In: the flags. Out: the app's settings as they are with them. Only computes.

use super::{App, Inspection, Obeys};
use crate::terms::{Configuration, NodeRemark, PythonRemark, Remark, RubyRemark, SettingsRemark};

/// As a server spells its flags for workers and threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlagNames {
    pub workers: &'static [&'static str],
    pub threads: &'static [&'static str],
    /// Of the kind of its workers.
    pub kind: &'static [&'static str],
    /// Of its configuration file.
    pub config: &'static [&'static str],
    /// Other programs that start it and take these flags.
    pub through: &'static [&'static str],
    /// A variable with more of them, which a command's own come before.
    pub variable: Option<&'static str>,
    /// Those that it is started with as the app's command has them.
    pub kept: &'static [KeptFlag],
}

impl FlagNames {
    /// It has none, or none that are read.
    pub const NONE: Self = Self {
        workers: &[],
        threads: &[],
        kind: &[],
        config: &[],
        through: &[],
        variable: None,
        kept: &[],
    };
}

/// A flag that is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeptFlag {
    /// In its long form: `--timeout`.
    pub name: &'static str,
    /// In its short one: `-t`.
    pub short: Option<&'static str>,
    pub takes: Takes,
    /// The knob that sets the same.
    pub knob: Option<&'static str>,
}

/// What stands behind a flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    Nothing,
    Word,
    /// A file of the app's.
    File,
    /// Folders of the app's, with commas between them.
    Folders,
    /// A folder of the app's that the server goes to before it looks for those of others.
    OwnFolder,
    /// A variable for the app: `NAME=value`.
    Variable,
}

impl KeptFlag {
    /// One without a short form, and that no knob sets.
    pub const fn new(name: &'static str, takes: Takes) -> Self {
        Self { name, short: None, takes, knob: None }
    }

    /// With this short form.
    pub const fn short(self, short: &'static str) -> Self {
        Self { short: Some(short), ..self }
    }

    /// Of what this knob sets too.
    pub const fn of_knob(self, knob: &'static str) -> Self {
        Self { knob: Some(knob), ..self }
    }

    /// Both of its forms.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        std::iter::once(self.name).chain(self.short)
    }
}

impl App {
    /// The flags in [`start_flags`](App::start_flags) that its server keeps, of this list, without
    /// those of knobs that are tried.
    pub(super) fn kept_flags(&self, list: &[KeptFlag]) -> Vec<String> {
        let tried = &self.changed.settings;
        let is_tried = |word: &&String| {
            let flag = list.iter().find(|it| word.split('=').next() == Some(it.name));
            flag.and_then(|it| it.knob).is_some_and(|knob| tried.contains_key(knob))
        };
        self.start_flags.iter().filter(|word| !is_tried(word)).cloned().collect()
    }
}

/// What a command gives by flags, which come before the server's own file and before variables.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Flags {
    /// At least 1: none of Puma's is one process.
    pub workers: Option<u16>,
    /// The most of a worker; at least 1.
    pub threads: Option<u16>,
    /// The kind of workers, of servers that have several.
    pub kind: Option<String>,
    /// The variables that its numbers are taken from.
    pub obeys: Obeys,
    /// The file that has the command.
    pub file: &'static str,
    /// Those that are numbers, as they are written: no variable changes them.
    pub fixed: Vec<String>,
}

impl Flags {
    /// `has_threads`: there are threads to choose, else it runs one whatever the flags say.
    pub(super) fn apply_to(&self, inspection: &mut Inspection, has_threads: bool) {
        let Configuration { workers, threads } = inspection.current;
        let workers = self.workers.unwrap_or(workers.get());
        let threads = self.threads.filter(|_| has_threads).unwrap_or(threads.get());
        let current = Configuration::new(workers, threads).unwrap_or(inspection.current);
        inspection.current = current;
        inspection.remarks.retain(|remark| !self.contradicts(remark, current));
        for remark in &mut inspection.remarks {
            let Remark::Settings(SettingsRemark::OtherEnvironment { setting, .. }) = remark else {
                continue;
            };
            *setting = setting.map(|_| current);
        }
        let Obeys { workers, max_threads, min_threads } = self.obeys.clone();
        let file = &mut inspection.obeys;
        file.workers = workers.or(file.workers.take());
        if max_threads.is_some() {
            (file.max_threads, file.min_threads) = (max_threads, min_threads);
        }
        if !self.fixed.is_empty() {
            let (file, flags) = (self.file.to_string(), self.fixed.join(" "));
            inspection.remarks.push(SettingsRemark::FlagsComeFirst { file, flags }.into());
        }
    }

    /// Do the flags, which give the app this setting, make untrue what was found without them?
    fn contradicts(&self, remark: &Remark, current: Configuration) -> bool {
        let has_one_worker = current.workers.get() == 1;
        match remark {
            Remark::Ruby(RubyRemark::SingleMode | RubyRemark::OneWorkerInSingleMode) => {
                !has_one_worker
            }
            Remark::Ruby(RubyRemark::NotPreloadedToday) => has_one_worker,
            Remark::Ruby(RubyRemark::MaxThreadsFromStart { .. }) => self.threads.is_some(),
            Remark::Python(PythonRemark::OneThreadIsSync) => current.threads.get() > 1,
            Remark::Node(NodeRemark::OneProcessToday) => !has_one_worker,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::Framework;
    use crate::server::tests::inspection;

    /// What is left of these remarks on one process with up to five threads.
    fn left(workers: Option<u16>, threads: Option<u16>, remarks: &[Remark]) -> Vec<Remark> {
        let mut inspection = inspection(1, 5, "5.6.5", Obeys::default());
        inspection.remarks = remarks.to_vec();
        Flags { workers, threads, ..Flags::default() }.apply_to(&mut inspection, true);
        inspection.remarks
    }

    #[test]
    fn nothing_is_said_of_numbers_that_flags_come_before() {
        let single = Remark::from(RubyRemark::SingleMode);
        let threads = Remark::from(RubyRemark::MaxThreadsFromStart { min: 0, max: 5 });
        let both = [single.clone(), threads.clone()];
        assert_eq!(left(Some(3), Some(5), &both), []);
        assert_eq!(left(Some(3), None, &both), [threads]);
        assert_eq!(left(Some(1), Some(5), &both), [single]);
        assert_eq!(left(None, None, &both), both);
        let sync = [Remark::from(PythonRemark::OneThreadIsSync)];
        assert_eq!(left(None, Some(4), &sync), []);
        assert_eq!(left(Some(3), Some(1), &sync), sync);
        let not_preloaded = [Remark::from(RubyRemark::NotPreloadedToday)];
        assert_eq!(left(Some(1), None, &not_preloaded), []);
        assert_eq!(left(Some(4), None, &not_preloaded), not_preloaded);
        let one_process = [Remark::from(NodeRemark::OneProcessToday)];
        assert_eq!(left(Some(4), None, &one_process), []);
        assert_eq!(left(Some(1), None, &one_process), one_process);
    }

    #[test]
    fn the_setting_of_another_environment_is_that_of_the_flags() {
        let staging = |workers, threads| {
            let setting = Some(Configuration::new(workers, threads).unwrap());
            Remark::from(SettingsRemark::OtherEnvironment {
                environment: "staging".into(),
                setting,
                measured: None,
            })
        };
        assert_eq!(left(Some(3), Some(2), &[staging(1, 5)]), [staging(3, 2)]);
    }

    #[test]
    fn a_flag_whose_knob_is_tried_is_left_out() {
        let list = [
            KeptFlag::new("--preload", Takes::Nothing).of_knob("preload_app"),
            KeptFlag::new("--timeout", Takes::Word).short("-t"),
        ];
        let start_flags = vec!["--preload".to_string(), "--timeout=60".to_string()];
        let mut app =
            App { start_flags, ..App::new("/srv/shop", Framework::Wsgi, "shop.wsgi:application") };
        assert_eq!(app.kept_flags(&list), ["--preload", "--timeout=60"]);
        app.changed.settings.insert("timeout".into(), "30".into());
        assert_eq!(app.kept_flags(&list), ["--preload", "--timeout=60"]);
        app.changed.settings.insert("preload_app".into(), "false".into());
        assert_eq!(app.kept_flags(&list), ["--timeout=60"]);
    }
}
