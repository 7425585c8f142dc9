//! What stands in front of the app where it serves users, by the files that say how it is deployed.
//!
//! In: the app's folder. Out: the reverse proxy, and the file that names it. Reads these files.

use std::fs;
use std::path::{Component, Path, PathBuf};

use super::settings::Sourced;
use crate::terms::{ConnectionMode, PlanSource, ReverseProxy};

/// How requests reach the app there: all proxies that are told here keep their connections. Without
/// one each request comes over a connection of its own, as nginx has it by default to 1.29.6.
pub fn connection(folder: &Path) -> Sourced<ConnectionMode> {
    match nearest(folder) {
        Some((name, file)) => Sourced {
            value: ConnectionMode::KeepAlive,
            source: PlanSource::ReverseProxy { name, file: file.to_string() },
        },
        None => Sourced { value: ConnectionMode::Fresh, source: PlanSource::NoReverseProxy },
    }
}

/// The proxy nearest to the app.
fn nearest(folder: &Path) -> Option<(ReverseProxy, &'static str)> {
    let read = |file: &str| fs::read_to_string(folder.join(file)).ok();
    let thrusts = [("Dockerfile", dockers_commands as fn(&str) -> String), ("Procfile", web)];
    let found =
        thrusts.into_iter().filter_map(|(file, commands)| Some((file, commands(&read(file)?))));
    let mut is_told = false;
    for (file, commands) in found {
        let whole = [commands.as_str(), &scripts(folder, &commands)].join("\n");
        if names_thruster(&whole) {
            return Some((ReverseProxy::Thruster, file));
        }
        is_told |= !commands.is_empty();
    }
    // Each new Rails app has it; whether it is used those files say.
    if !is_told && folder.join("bin/thrust").is_file() {
        return Some((ReverseProxy::Thruster, "bin/thrust"));
    }
    let kamal = "config/deploy.yml";
    let has_none = |line: &str| line.trim().strip_prefix("proxy:").map(str::trim) == Some("false");
    let has_proxy = |text: String| !text.lines().any(has_none);
    read(kamal).is_some_and(has_proxy).then_some((ReverseProxy::KamalProxy, kamal))
}

/// The lines that say what an image runs; of several the last counts (Dockerfile reference).
fn dockers_commands(text: &str) -> String {
    let whole = text.replace("\\\n", " ");
    let last = |instruction: &str| {
        let is_it = |line: &&str| {
            let word = line.split_whitespace().next().unwrap_or_default();
            word.eq_ignore_ascii_case(instruction)
        };
        whole.lines().rev().find(is_it).unwrap_or_default().to_string()
    };
    let both = [last("ENTRYPOINT"), last("CMD")].join(" ");
    both.trim().to_string()
}

fn web(text: &str) -> String {
    let command = text.lines().find_map(|line| line.trim().strip_prefix("web:"));
    command.unwrap_or_default().trim().to_string()
}

/// What the app's own shell scripts say that these commands run, without their comments. An image
/// has the app in a folder of its own: `/rails/bin/start` is the app's `bin/start`.
fn scripts(folder: &Path, commands: &str) -> String {
    let in_app = |word: &str| {
        let is_name = |part: &Component<'_>| matches!(part, Component::Normal(_));
        let names: Vec<_> = Path::new(word).components().filter(is_name).collect();
        let tails = (0..names.len()).map(|from| names[from..].iter().collect::<PathBuf>());
        tails.map(|tail| folder.join(tail)).find(|path| path.is_file())
    };
    let read = |path| fs::read_to_string(path).ok().filter(|text| is_shell(text));
    let scripts: Vec<String> = words(commands).filter_map(in_app).filter_map(read).collect();
    let is_code = |line: &&str| !line.trim_start().starts_with('#');
    let code = scripts.iter().flat_map(|text| text.lines()).filter(is_code);
    code.collect::<Vec<_>>().join("\n")
}

/// By its first line: `#!/bin/sh`, `#!/usr/bin/env bash -e`.
fn is_shell(text: &str) -> bool {
    let first = text.lines().next().unwrap_or_default();
    let is_shell = |word: &str| matches!(word.rsplit('/').next(), Some("sh" | "bash" | "dash"));
    first.starts_with("#!") && first[2..].split_whitespace().any(is_shell)
}

fn words(commands: &str) -> impl Iterator<Item = &str> {
    let is_between = |c: char| c.is_whitespace() || "[]\",'".contains(c);
    commands.split(is_between).filter(|word| !word.is_empty())
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
        nearest(folder.path())
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
        let none = connection(folder.path());
        assert_eq!((none.value, none.source), (ConnectionMode::Fresh, PlanSource::NoReverseProxy));
        fs::write(folder.path().join("Procfile"), "web: thrust puma\n").unwrap();
        let it = connection(folder.path());
        let source =
            PlanSource::ReverseProxy { name: ReverseProxy::Thruster, file: "Procfile".into() };
        assert_eq!((it.value, it.source), (ConnectionMode::KeepAlive, source));
    }
}
