//! How many processes pm2 has a Node.js app run as, where a command that deploys it or a script of
//! its package says so.
//!
//! In: an app, its deployment, and the cores here. Out: the number, as a server's flags give it.
//! Reads `package.json`.

use super::deployment::{Command, Deployment};
use super::node::{PACKAGE, PM2, scripts};
use crate::server::{App, Flags, Framework};
use crate::terms::Cores;

/// pm2's flags for the number of processes.
const INSTANCES: [&str; 2] = ["-i", "--instances"];

/// What runs today; `None`: pm2 is not seen to run it, or not in so many processes.
pub fn flags(app: &App, deployment: &Deployment, cores: Cores) -> Option<Flags> {
    if app.framework != Framework::Node {
        return None;
    }
    let command = |text: String| Command { file: PACKAGE, text };
    let commands = scripts(&app.folder).into_iter().map(command).collect();
    let package = Deployment::of_commands(commands);
    let all = [deployment, &package].into_iter();
    let mut given = all.flat_map(|it| it.values_of(&PM2, &INSTANCES));
    let workers = given.find_map(|text| number(&text, cores));
    workers.map(|workers| Flags { workers: Some(workers), ..Flags::default() })
}

/// As pm2 has it: `max` or 0 is a process for each core, and a number below zero leaves so many
/// cores out.
fn number(text: &str, cores: Cores) -> Option<u16> {
    let all = cores.get().ceil() as i64;
    let number = match text {
        "max" => 0,
        text => text.parse::<i64>().ok()?,
    };
    let processes = if number > 0 { number } else { all.saturating_add(number) };
    u16::try_from(processes.max(1)).ok()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_number_of_processes_is_that_of_the_nearest_command_or_of_the_package() {
        let workers = |framework, files: &[(&str, &str)]| {
            let folder = tempfile::tempdir().unwrap();
            for (name, text) in files {
                fs::write(folder.path().join(name), text).unwrap();
            }
            let app = App::new(folder.path(), framework, "app.js");
            let cores = Cores::new(2.0).unwrap();
            flags(&app, &Deployment::read(folder.path()), cores)?.workers
        };
        let node = |files: &[(&str, &str)]| workers(Framework::Node, files);
        let procfile = ("Procfile", "web: pm2-runtime start app.js -i 4\n");
        let package =
            ("package.json", "{\"scripts\":{\"start\":\"pm2 start app.js --instances max\"}}");
        assert_eq!(node(&[procfile]), Some(4));
        assert_eq!(node(&[package]), Some(2));
        assert_eq!(node(&[package, procfile]), Some(4));
        assert_eq!(node(&[("Procfile", "web: pm2-runtime app.js --instances=-1\n")]), Some(1));
        assert_eq!(node(&[("Procfile", "web: pm2-runtime app.js\n")]), None);
        assert_eq!(node(&[("Procfile", "web: node app.js -i 4\n")]), None);
        assert_eq!(workers(Framework::Rack, &[procfile]), None);
    }
}
