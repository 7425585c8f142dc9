//! The published experiments: what each needs and runs, its article's own figures, and whether its
//! rule holds for what was measured here.
//!
//! In: a lab's files and what was measured. Out: runs, figures side by side, conclusions. The labs
//! of `labs/` are part of the program. Only computes; `session` drives a run.

mod conclusion;
mod definition;
mod figures;
mod matrix;
mod published;
mod tuned;

use std::path::PathBuf;

use include_dir::{Dir, include_dir};

pub use conclusion::{CoresOf, judge};
pub use definition::{Course, Definition, Need, Part, Service};
pub use figures::{cpu_s_per_request, of as figures, relate};
pub use matrix::{Planned, course, runs};
pub use published::Published;
pub use tuned::{article, by_hand_s, compare};

use crate::terms::LabEntry;

static LABS: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/labs");

/// The files of a lab, read.
#[derive(Debug, Clone, PartialEq)]
pub struct Lab {
    pub name: String,
    pub definition: Definition,
    pub published: Published,
    /// The app's files: path below its folder, and content.
    pub app: Vec<(PathBuf, Vec<u8>)>,
    /// Commands that make the app's folder ready.
    pub setup: Vec<String>,
}

/// A lab's files as text and bytes, wherever they come from: path below the lab's folder, content.
pub type Files = Vec<(PathBuf, Vec<u8>)>;

/// The labs that are part of the program, in the order of their names.
pub fn names() -> Vec<&'static str> {
    let names = LABS.dirs().filter_map(|folder| folder.path().to_str());
    let mut names: Vec<&'static str> = names.collect();
    names.sort_unstable();
    names
}

/// The files of a lab that is part of the program.
pub fn built_in(name: &str) -> Option<Files> {
    let folder = LABS.dirs().find(|folder| folder.path().to_str() == Some(name))?;
    let mut files = Vec::new();
    collect(folder, name, &mut files);
    Some(files)
}

fn collect(folder: &Dir<'static>, name: &str, files: &mut Files) {
    for file in folder.files() {
        let path = file.path().strip_prefix(name).unwrap_or(file.path());
        files.push((path.to_path_buf(), file.contents().to_vec()));
    }
    folder.dirs().for_each(|below| collect(below, name, files));
}

impl Lab {
    /// Reads a lab's files.
    ///
    /// # Errors
    /// The file that is missing or wrong, and why.
    pub fn read(name: &str, files: Files) -> Result<Self, String> {
        let text = |path: &str| {
            let file = files.iter().find(|(name, _)| name.as_os_str() == path)?;
            Some(String::from_utf8_lossy(&file.1).into_owned())
        };
        let definition = text("lab.toml").ok_or("there is no lab.toml in it")?;
        let definition =
            definition::parse(&definition).map_err(|error| format!("lab.toml: {error}"))?;
        let published = text("published.toml").map_or(Ok(Published::default()), |text| {
            published::parse(&text).map_err(|error| format!("published.toml: {error}"))
        })?;
        let setup = text("app/SETUP").unwrap_or_default();
        let setup = setup.lines().map(str::trim);
        let setup = setup.filter(|line| !line.is_empty() && !line.starts_with('#'));
        let setup = setup.map(str::to_string).collect();
        let app: Files = files
            .into_iter()
            .filter_map(|(path, content)| Some((path.strip_prefix("app").ok()?.into(), content)))
            .collect();
        if app.is_empty() {
            return Err("there is no app/ in it".to_string());
        }
        Ok(Self { name: name.to_string(), definition, published, app, setup })
    }

    /// As `lab list` shows it, on a machine with this many cores.
    pub fn entry(&self, cores: u16) -> LabEntry {
        LabEntry {
            name: self.name.clone(),
            title: self.definition.title.clone(),
            server: self.definition.server.clone(),
            quick_s: self.estimated_s(true, cores),
            full_s: self.estimated_s(false, cores),
        }
    }

    /// About how long a run of it takes, seconds: the loads, a few seconds for each start of a
    /// server, and for the services.
    pub fn estimated_s(&self, is_quick: bool, cores: u16) -> f64 {
        // As measured here; workers boot one after the other as far as the cores go.
        const START_S: f64 = 1.5;
        const WORKER_S: f64 = 0.25;
        const SERVICES_S: f64 = 8.0;
        let course = course(&self.definition, is_quick);
        let runs = runs(&self.definition, is_quick, cores);
        let load = runs.iter().map(|run| {
            let measured_s = run.block.about_s.filter(|_| course.requests.is_some());
            f64::from(course.warm_up_s) + measured_s.unwrap_or(f64::from(course.duration_s))
        });
        let load: f64 = load.sum();
        let mut last = None;
        let starts = runs.iter().filter(|run| {
            let now = Some((run.setting.workers, run.setting.threads, &run.setting.env));
            std::mem::replace(&mut last, now) != now
        });
        let services = !self.definition.services.is_empty() || self.definition.external.is_some();
        let start_s = |run: &Planned<'_>| START_S + WORKER_S * f64::from(run.setting.workers.get());
        let starts: f64 = starts.map(start_s).sum();
        starts + load + if services { SERVICES_S } else { 0.0 }
    }
}
