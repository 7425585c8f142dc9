//! What the files that deploy an app say of how it is started: with which command, and with how
//! many workers and threads by variables.
//!
//! In: the app's folder. Out: commands and variables, each with its file. Reads these files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::server::{Adapter, App, FlagNames, Flags};

/// Variables by which apps are told how large to be, and how to use memory and compiler. Only
/// numbers are taken from them: no secret is one of these.
const VARIABLES: [&str; 12] = [
    "WEB_CONCURRENCY",
    "RAILS_MAX_THREADS",
    "RAILS_MIN_THREADS",
    "PUMA_MAX_THREADS",
    "PUMA_MIN_THREADS",
    "MAX_THREADS",
    "MIN_THREADS",
    "UNICORN_WORKERS",
    "GUNICORN_WORKERS",
    "GUNICORN_THREADS",
    "MALLOC_ARENA_MAX",
    "RUBY_YJIT_ENABLE",
];

/// Where variables are looked for beside commands; what stands later comes before what stands
/// earlier.
const FILES: [&str; 5] =
    ["Dockerfile", "compose.yaml", "docker-compose.yml", "fly.toml", "config/deploy.yml"];

/// A command, with the code of the app's own shell scripts that it runs.
#[derive(Debug, PartialEq, Eq)]
pub struct Command {
    pub file: &'static str,
    pub text: String,
}

/// A variable's value, and the file that gives it.
pub type Variables = BTreeMap<String, (String, &'static str)>;

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Deployment {
    /// An image's before a Procfile's.
    pub commands: Vec<Command>,
    pub variables: Variables,
}

impl Deployment {
    /// What cannot be read says nothing.
    pub fn read(folder: &Path) -> Self {
        let read = |file: &str| fs::read_to_string(folder.join(file)).ok();
        let kinds = [("Dockerfile", images_command as fn(&str) -> String), ("Procfile", web)];
        let command = |(file, of): (&'static str, fn(&str) -> String)| {
            let own = of(&read(file)?);
            let text = [own.as_str(), &scripts(folder, &own)].join("\n");
            (!own.is_empty()).then_some(Command { file, text })
        };
        let commands: Vec<Command> = kinds.into_iter().filter_map(command).collect();
        let mut variables = Variables::new();
        for file in FILES {
            let text = read(file).unwrap_or_default();
            let text = if file == "Dockerfile" { instructions(&text, "ENV") } else { text };
            // Of several roles the first is the one that serves.
            for (name, value) in assigned(&text).into_iter().rev() {
                variables.insert(name.to_string(), (value.to_string(), file));
            }
        }
        for Command { file, text } in &commands {
            for word in words(text) {
                let Some((name, text)) = word.split_once('=') else { continue };
                let expanded = expanded(text, &|name| value(&variables, name));
                let is_one = |it: &String| VARIABLES.contains(&name) && is_value(it);
                if let Some(it) = expanded.filter(is_one) {
                    variables.insert(name.to_string(), (it, file));
                }
            }
        }
        Self { commands, variables }
    }

    /// Gives an app the size that it has there: variables, unless they are `given` nearer, and
    /// what its server's flags say. A command of the user's has its own.
    pub fn apply_to(
        &mut self,
        app: &mut App,
        adapter: &dyn Adapter,
        given: impl Fn(&str) -> Option<String>,
    ) {
        if app.command.is_some() {
            self.variables.clear();
            return;
        }
        let given = |name: &str| app.env.get(name).cloned().or_else(|| given(name));
        self.variables.retain(|name, _| given(name).is_none());
        let programs = adapter.about().programs;
        app.flags = self.flags(programs, adapter.flag_names(), &given);
        let variables = self.variables.iter();
        app.env.extend(variables.map(|(name, (value, _))| (name.clone(), value.clone())));
    }

    /// The flags of the first command that starts this server.
    fn flags(
        &self,
        programs: &[&str],
        names: FlagNames,
        given: &dyn Fn(&str) -> Option<String>,
    ) -> Option<Flags> {
        let of = |name: &str| given(name).or_else(|| value(&self.variables, name));
        self.commands.iter().find_map(|command| {
            let is_it = |word: &&str| programs.contains(&word.rsplit('/').next().unwrap_or(word));
            let mut rest = words(&command.text).skip_while(|word| !is_it(word));
            rest.next()?;
            let rest: Vec<&str> = rest.collect();
            let mut flags = Flags { file: command.file, ..Flags::default() };
            flags.workers = count(&rest, names.workers, &of, &mut flags.fixed);
            flags.threads = count(&rest, names.threads, &of, &mut flags.fixed);
            (flags.workers.or(flags.threads).is_some()).then_some(flags)
        })
    }
}

fn value(variables: &Variables, name: &str) -> Option<String> {
    variables.get(name).map(|(value, _)| value.clone())
}

/// The number that the last of these flags gives; of `least:most` the most.
fn count(
    words: &[&str],
    names: &[&str],
    of: &dyn Fn(&str) -> Option<String>,
    fixed: &mut Vec<String>,
) -> Option<u16> {
    let pairs = words.iter().zip(words.iter().skip(1).copied().chain([""]));
    let (flag, value) = pairs.filter_map(|(word, next)| given(word, next, names)).last()?;
    let number = expanded(value, of)?.rsplit(':').next()?.parse::<u16>().ok()?;
    if !value.contains('$') {
        fixed.push(format!("{flag} {value}"));
    }
    Some(number.max(1))
}

/// Flag and value of `-w 3`, `-w3`, `--workers 3` or `--workers=3`.
fn given<'a>(word: &'a str, next: &'a str, names: &[&'a str]) -> Option<(&'a str, &'a str)> {
    names.iter().find_map(|name| {
        let rest = word.strip_prefix(name)?;
        let joined = match name.starts_with("--") {
            true => rest.strip_prefix('='),
            false => Some(rest).filter(|rest| !rest.is_empty()),
        };
        match rest.is_empty() {
            true => Some((*name, next)),
            false => Some((*name, joined?)),
        }
    })
}

/// The variables that lines give a number: `NAME: 3`, `NAME = "3"`, `- NAME=3`, `NAME 3`. The first
/// line of a name counts.
fn assigned(text: &str) -> Vec<(&str, &str)> {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    let is_between = |c: char| c.is_whitespace() || "\"'=:".contains(c);
    let pairs = lines.flat_map(move |line| {
        let words: Vec<&str> = line.split(is_between).filter(|word| !word.is_empty()).collect();
        words.windows(2).map(|pair| (pair[0], pair[1])).collect::<Vec<_>>()
    });
    pairs.filter(|(name, value)| VARIABLES.contains(name) && is_value(value)).collect()
}

fn is_value(text: &str) -> bool {
    text == "auto" || text.parse::<u32>().is_ok()
}

/// A word with the shell's variables put in, `$NAME` and `${NAME:-3}`; `None` where one has no
/// value.
fn expanded(text: &str, of: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let Some((before, rest)) = text.split_once('$') else { return Some(text.to_string()) };
    let is_name = |c: char| c == '_' || c.is_ascii_alphanumeric();
    let (name, default, after) = match rest.strip_prefix('{') {
        Some(braced) => {
            let (inside, after) = braced.split_once('}')?;
            let name = inside.split(|c| !is_name(c)).next()?;
            (name, inside[name.len()..].trim_start_matches(':').strip_prefix('-'), after)
        }
        None => {
            let end = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
            (&rest[..end], None, &rest[end..])
        }
    };
    let value = of(name).or_else(|| default.map(str::to_string))?;
    Some(format!("{before}{value}{}", expanded(after, of)?))
}

/// The lines that say what an image runs; of several the last counts (Dockerfile reference).
fn images_command(text: &str) -> String {
    let last = |instruction: &str| {
        let all = instructions(text, instruction);
        all.lines().last().unwrap_or_default().to_string()
    };
    [last("ENTRYPOINT"), last("CMD")].join(" ").trim().to_string()
}

/// The lines of one instruction, without its name.
fn instructions(text: &str, instruction: &str) -> String {
    let whole = text.replace("\\\n", " ");
    let arguments = |line: &str| {
        let (word, rest) = line.trim().split_once(char::is_whitespace)?;
        word.eq_ignore_ascii_case(instruction).then(|| rest.to_string())
    };
    whole.lines().filter_map(arguments).collect::<Vec<_>>().join("\n")
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

/// A command's words, of an image's list as well as of a shell's line.
pub fn words(commands: &str) -> impl Iterator<Item = &str> {
    let is_between = |c: char| c.is_whitespace() || "[]\",'".contains(c);
    commands.split(is_between).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PUMA: FlagNames =
        FlagNames { workers: &["-w", "--workers"], threads: &["-t", "--threads"] };

    fn deployment(files: &[(&str, &str)]) -> Deployment {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Deployment::read(folder.path())
    }

    /// Name, value and file.
    type Found = Vec<(String, String, &'static str)>;

    fn variables(files: &[(&str, &str)]) -> Found {
        let all = deployment(files).variables.into_iter();
        all.map(|(name, (value, file))| (name, value, file)).collect()
    }

    #[test]
    fn numbers_are_taken_from_each_file_as_it_spells_them_and_nothing_else_is() {
        let one = |name: &str, value: &str, file| vec![(name.into(), value.into(), file)];
        let cases: [(&str, &str, Found); 9] = [
            (
                "Dockerfile",
                "FROM ruby\nENV RAILS_ENV=production \\\n    WEB_CONCURRENCY=\"4\" SECRET=7\n\
                 RUN MAX_THREADS=1 bin/rake assets\n",
                one("WEB_CONCURRENCY", "4", "Dockerfile"),
            ),
            (
                "Dockerfile",
                "env RAILS_MAX_THREADS 5\n",
                one("RAILS_MAX_THREADS", "5", "Dockerfile"),
            ),
            ("Dockerfile", "ENV WEB_CONCURRENCY=$CORES\n", vec![]),
            (
                "config/deploy.yml",
                "env:\n  clear:\n    # WEB_CONCURRENCY: 2\n    RAILS_MAX_THREADS: 3\n  \
                 secret:\n    - SECRET_KEY_BASE\n",
                one("RAILS_MAX_THREADS", "3", "config/deploy.yml"),
            ),
            (
                "config/deploy.yml",
                "servers:\n  web:\n    env:\n      WEB_CONCURRENCY: 3\n  jobs:\n    env:\n      \
                 WEB_CONCURRENCY: 9\n",
                one("WEB_CONCURRENCY", "3", "config/deploy.yml"),
            ),
            (
                "fly.toml",
                "[env]\n  WEB_CONCURRENCY = 'auto'\n",
                one("WEB_CONCURRENCY", "auto", "fly.toml"),
            ),
            (
                "docker-compose.yml",
                "environment:\n  - WEB_CONCURRENCY=2\n",
                one("WEB_CONCURRENCY", "2", "docker-compose.yml"),
            ),
            (
                "Procfile",
                "web: env WEB_CONCURRENCY=${WEB_CONCURRENCY:-6} bundle exec puma\n",
                one("WEB_CONCURRENCY", "6", "Procfile"),
            ),
            ("Procfile", "web: env WEB_CONCURRENCY=$CORES puma\n", vec![]),
        ];
        for (file, text, expected) in cases {
            assert_eq!(variables(&[(file, text)]), expected, "{text}");
        }
        let both = [
            ("Dockerfile", "ENV WEB_CONCURRENCY=2\n"),
            ("config/deploy.yml", "WEB_CONCURRENCY: 3"),
        ];
        assert_eq!(variables(&both), one("WEB_CONCURRENCY", "3", "config/deploy.yml"));
    }

    #[test]
    fn a_commands_flags_are_read_as_a_shell_would_have_them() {
        let of = |files: &[(&str, &str)]| {
            let flags = deployment(files).flags(&["puma"], PUMA, &|_| None)?;
            Some((flags.workers, flags.threads, flags.file, flags.fixed.join(" ")))
        };
        let procfile = |command: &str| of(&[("Procfile", &format!("web: {command}\n"))]);
        assert_eq!(
            procfile("bundle exec puma -w 3 -t 5:8 -p $PORT"),
            Some((Some(3), Some(8), "Procfile", "-w 3 -t 5:8".into()))
        );
        assert_eq!(
            procfile("puma -w3 --threads=${MIN:-1}:${RAILS_MAX_THREADS:-5}"),
            Some((Some(3), Some(5), "Procfile", "-w 3".into()))
        );
        assert_eq!(procfile("puma -w 0"), Some((Some(1), None, "Procfile", "-w 0".into())));
        for without in
            ["puma -C config/puma.rb", "puma -w $CORES", "rake -w 3", "bin/rails server", "puma -w"]
        {
            assert_eq!(procfile(without), None, "{without}");
        }
        let scripted = [
            ("Dockerfile", "ENV RAILS_MAX_THREADS=4\nCMD [\"/rails/bin/start\"]\n"),
            ("bin/start", "#!/bin/sh\nexec bundle exec puma --workers 2 -t $RAILS_MAX_THREADS\n"),
        ];
        assert_eq!(of(&scripted), Some((Some(2), Some(4), "Dockerfile", "--workers 2".into())));
        let list = [("Dockerfile", "CMD [\"bundle\", \"exec\", \"puma\", \"-w\", \"6\"]\n")];
        assert_eq!(of(&list), Some((Some(6), None, "Dockerfile", "-w 6".into())));
    }
}
