//! What is so of a server whatever the app.
//!
//! In and out: values.

use super::failure::Causes;
use super::{FlagNames, Framework, Knobs};

/// What is so of a server whatever the app.
#[derive(Debug, Clone, Copy)]
pub struct About {
    /// As users write it: `puma`. A gem has the same name.
    pub name: &'static str,
    /// As it is written in sentences: `Puma`.
    pub title: &'static str,
    /// The programs that start it, the first of which is taken that is there; empty: nothing is
    /// known of how it works.
    pub programs: &'static [&'static str],
    /// The server's own configuration in an app's folder: where it is looked for, first come first
    /// served.
    pub config_files: &'static [&'static str],
    /// The apps that it runs.
    pub runs: &'static [Framework],
    /// A worker can have several threads; else it has one, and there is nothing to choose.
    pub has_threads: bool,
    /// It cannot stand alone: it speaks no HTTP, or each of its workers has an address of its own.
    pub needs_proxy: bool,
    /// Commands that install it, any of which will do: `gem install puma`; empty: none is known.
    pub install: &'static [&'static str],
    /// How it spells the flags that come before all other settings.
    pub flag_names: FlagNames,
    /// What can be tried of its settings, beside workers and threads.
    pub knobs: Knobs,
    /// How the names of the threads begin that answer requests, where it gives them names.
    pub serving_threads: &'static [&'static str],
    /// How the name of the thread begins that takes connections in each process which serves, also
    /// where none answers a request at the moment.
    pub listening_threads: &'static [&'static str],
    /// Its own setting by which it kills a worker that takes longer to boot; `None`: it kills none.
    pub worker_timeout: Option<&'static str>,
    /// Why it did not come up, by what it printed last.
    pub causes: &'static Causes,
}

impl About {
    /// What is so of a server of which nothing is known.
    pub const NONE: Self = Self {
        name: "",
        title: "",
        programs: &[],
        config_files: &[],
        runs: &[],
        has_threads: false,
        needs_proxy: false,
        install: &[],
        flag_names: FlagNames::NONE,
        knobs: Knobs::NONE,
        serving_threads: &[],
        listening_threads: &[],
        worker_timeout: None,
        causes: &[],
    };

    /// Its apps are written in Ruby, as is what looks into a server from inside.
    pub fn runs_ruby(&self) -> bool {
        self.runs.contains(&Framework::Rack)
    }
}
