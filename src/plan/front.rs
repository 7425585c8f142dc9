//! What stands in front of the app where it serves users, by the files that say how it is deployed.
//!
//! In: the app's folder and its deployment. Out: the reverse proxy, and the file that names it.
//! Reads these files.

use std::fs;
use std::path::Path;

use super::deployment::{Deployment, uncommented, words};
use super::settings::Sourced;
use crate::terms::{ConnectionMode, PlanSource, ReverseProxy};

/// How requests reach the app there: all proxies that are told here keep their connections. Without
/// one each request comes over a connection of its own, as nginx has it by default to 1.29.6.
pub fn connection(folder: &Path, deployment: &Deployment) -> Sourced<ConnectionMode> {
    match nearest(folder, deployment) {
        Some((name, file)) => Sourced {
            value: ConnectionMode::KeepAlive,
            source: PlanSource::ReverseProxy { name, file: file.to_string() },
        },
        None => Sourced { value: ConnectionMode::Fresh, source: PlanSource::NoReverseProxy },
    }
}

/// The proxy nearest to the app.
fn nearest(folder: &Path, deployment: &Deployment) -> Option<(ReverseProxy, &'static str)> {
    let commands = &deployment.commands;
    if let Some(command) = commands.iter().find(|command| names_thruster(&command.text)) {
        return Some((ReverseProxy::Thruster, command.file));
    }
    // Each new Rails app has it; whether it is used those commands say.
    if commands.is_empty() && folder.join("bin/thrust").is_file() {
        return Some((ReverseProxy::Thruster, "bin/thrust"));
    }
    let kamal = "config/deploy.yml";
    let has_none = |line: &str| {
        let value = line.trim().strip_prefix("proxy:").map(uncommented);
        value.is_some_and(|words| words.eq(["false"]))
    };
    let has_proxy = |text: String| !text.lines().any(has_none);
    let text = fs::read_to_string(folder.join(kamal)).ok()?;
    has_proxy(text).then_some((ReverseProxy::KamalProxy, kamal))
}

fn names_thruster(commands: &str) -> bool {
    words(commands).any(|word| word == "thrust" || word.ends_with("/thrust"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names and contents.
    type Files<'a> = &'a [(&'a str, &'a str)];

    fn found(files: Files<'_>) -> Option<(ReverseProxy, &'static str)> {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        nearest(folder.path(), &Deployment::read(folder.path()))
    }

    #[test]
    fn the_proxy_is_the_one_that_the_deployments_files_name() {
        use ReverseProxy::{KamalProxy, Thruster};
        let rails = "ENTRYPOINT [\"/rails/bin/docker-entrypoint\"]\n\
                     CMD [\"./bin/thrust\", \"./bin/rails\", \"server\"]\n";
        let plain = "CMD [\"./bin/rails\", \"server\"]\n";
        let (deploy, thrust) = (("config/deploy.yml", "service: shop\n"), ("bin/thrust", ""));
        let cases: &[(Files<'_>, Option<(ReverseProxy, &str)>)] = &[
            (&[], None),
            (&[("Dockerfile", rails), deploy, thrust], Some((Thruster, "Dockerfile"))),
            (
                &[("Dockerfile", "CMD bin/thrust \\\n  bin/rails server\n")],
                Some((Thruster, "Dockerfile")),
            ),
            (&[("Dockerfile", plain), thrust], None),
            (&[("Dockerfile", plain), thrust, deploy], Some((KamalProxy, "config/deploy.yml"))),
            (&[("config/deploy.yml", "servers:\n  web:\n    proxy: false\n")], None),
            (&[("config/deploy.yml", "proxy: false # our own nginx\n")], None),
            (
                &[("config/deploy.yml", "proxy: # false\n  host: shop.example\n")],
                Some((KamalProxy, "config/deploy.yml")),
            ),
            (
                &[("Procfile", "worker: rake jobs\nweb: bundle exec thrust puma\n")],
                Some((Thruster, "Procfile")),
            ),
            (&[("Procfile", "web: bin/rails server\n"), thrust], None),
            (&[thrust], Some((Thruster, "bin/thrust"))),
            (&[("Dockerfile", "# CMD bin/thrust\nCMD ./start-with-thrust.sh\n")], None),
            (
                &[
                    ("Dockerfile", "CMD [\"/rails/bin/start\"]\n"),
                    ("bin/start", "#!/bin/sh\nexec bin/thrust puma\n"),
                ],
                Some((Thruster, "Dockerfile")),
            ),
            (
                &[
                    ("Procfile", "web: sh bin/start\n"),
                    ("bin/start", "#!/usr/bin/env bash\nbundle exec thrust puma\n"),
                ],
                Some((Thruster, "Procfile")),
            ),
            (
                &[
                    ("Procfile", "web: bin/start\n"),
                    ("bin/start", "#!/bin/bash -e\n# not bin/thrust\npuma\n"),
                ],
                None,
            ),
            (
                &[("Procfile", "web: bin/start\n"), ("bin/start", "#!/usr/bin/ruby\nbin/thrust\n")],
                None,
            ),
        ];
        for (files, expected) in cases {
            assert_eq!(found(files), *expected, "{files:?}");
        }
    }

    #[test]
    fn connections_are_kept_where_the_proxy_keeps_them_and_the_plan_says_why() {
        let folder = tempfile::tempdir().unwrap();
        let connection = || connection(folder.path(), &Deployment::read(folder.path()));
        let none = connection();
        assert_eq!((none.value, none.source), (ConnectionMode::Fresh, PlanSource::NoReverseProxy));
        fs::write(folder.path().join("Procfile"), "web: thrust puma\n").unwrap();
        let it = connection();
        let source =
            PlanSource::ReverseProxy { name: ReverseProxy::Thruster, file: "Procfile".into() };
        assert_eq!((it.value, it.source), (ConnectionMode::KeepAlive, source));
    }
}
