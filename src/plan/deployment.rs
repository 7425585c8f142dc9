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
const VARIABLES: [&str; 15] = [
    "WEB_CONCURRENCY",
    "RAILS_MAX_THREADS",
    "RAILS_MIN_THREADS",
    "PUMA_MAX_THREADS",
    "PUMA_MIN_THREADS",
    "MAX_THREADS",
    "MIN_THREADS",
    "UNICORN_WORKERS",
    "UNICORN_PROCESSES",
    "GUNICORN_WORKERS",
    "GUNICORN_PROCESSES",
    "GUNICORN_THREADS",
    "UVICORN_WORKERS",
    "MALLOC_ARENA_MAX",
    "RUBY_YJIT_ENABLE",
];

/// A command, with the code of the app's own shell scripts that it runs: a line each.
#[derive(Debug, PartialEq, Eq)]
pub struct Command {
    pub file: &'static str,
    pub text: String,
}

/// A variable's value, and the file that gives it.
pub type Variables = BTreeMap<String, (String, &'static str)>;

/// A name, or any other word, and what stands behind it.
type Pair = (String, String);

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
        // Where an app is run comes before what its image holds.
        let files = [
            ("Dockerfile", image as fn(&str) -> Vec<Pair>),
            ("fly.toml", fly),
            ("config/deploy.yml", kamal),
        ];
        let mut variables = Variables::new();
        for (file, of) in files {
            let text = read(file).unwrap_or_default();
            let found = of(&text).into_iter().filter(|(name, value)| is_size(name, value));
            variables.extend(found.map(|(name, value)| (name, (value, file))));
        }
        Self { commands: kinds.into_iter().filter_map(command).collect(), variables }
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
        let programs = adapter.about().programs;
        let given = |name: &str| app.env.get(name).cloned().or_else(|| given(name));
        // What starts the server under another name gives it no such flags.
        let starts = |it: &&Command| {
            it.starts(programs).or_else(|| it.starts(&["rails", "rackup"])).is_some()
        };
        if let Some(command) = self.commands.iter().find(starts) {
            for word in words(&command.text) {
                let Some((name, text)) = word.split_once('=') else { continue };
                let of = |name: &str| given(name).or_else(|| value(&self.variables, name));
                if let Some(it) = expanded(text, &of).filter(|it| is_size(name, it)) {
                    self.variables.insert(name.to_string(), (it, command.file));
                }
            }
            let of = |name: &str| given(name).or_else(|| value(&self.variables, name));
            app.flags = command.flags(programs, adapter.flag_names(), &of);
        }
        // Other servers take numbers alone.
        let is_read = |value: &str| value != "auto" || adapter.name() == "puma";
        self.variables.retain(|name, (value, _)| given(name).is_none() && is_read(value));
        let variables = self.variables.iter();
        app.env.extend(variables.map(|(name, (value, _))| (name.clone(), value.clone())));
    }
}

impl Command {
    /// What stands behind one of these programs, up to the end of its own command.
    fn starts(&self, programs: &[&str]) -> Option<Vec<&str>> {
        let is_it = |word: &&str| programs.contains(&word.rsplit('/').next().unwrap_or(word));
        self.text.lines().flat_map(|line| line.split([';', '&', '|'])).find_map(|command| {
            let mut rest = words(command).skip_while(|word| !is_it(word));
            rest.next()?;
            Some(rest.collect())
        })
    }

    /// The flags that it gives one of these programs.
    fn flags(
        &self,
        programs: &[&str],
        names: FlagNames,
        of: &dyn Fn(&str) -> Option<String>,
    ) -> Option<Flags> {
        let rest = self.starts(programs)?;
        let mut flags = Flags { file: self.file, ..Flags::default() };
        flags.workers = count(&rest, names.workers, of, &mut flags.fixed);
        flags.threads = count(&rest, names.threads, of, &mut flags.fixed);
        (flags.workers.or(flags.threads).is_some()).then_some(flags)
    }
}

/// Is this a variable that says how large an app is, with a number?
fn is_size(name: &str, value: &str) -> bool {
    let is_number = value.parse::<u32>().is_ok();
    VARIABLES.contains(&name) && (is_number || (name == "WEB_CONCURRENCY" && value == "auto"))
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
    let number = |text: &str| expanded(text, of)?.rsplit(':').next()?.parse::<u16>().ok();
    let pairs = words.iter().zip(words.iter().skip(1).copied().chain([""]));
    let given = pairs.filter_map(|(word, next)| given(word, next, names));
    let known = given.filter_map(|(flag, value)| Some((flag, value, number(value)?)));
    let (flag, value, number) = known.last()?;
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

/// The variables of an image: `ENV NAME=3`, `ENV NAME 3`. Of several the last counts.
fn image(text: &str) -> Vec<Pair> {
    let mut stages: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            [from, image, ..] if from.eq_ignore_ascii_case("FROM") => {
                // Built on a stage of this file, it has what that has.
                let base = stages.iter().find(|(name, _)| *name == image);
                let lines = base.map(|(_, lines)| lines.clone()).unwrap_or_default();
                let name = if words.len() > 3 { words[3] } else { "" };
                stages.push((name, lines));
            }
            _ => match stages.last_mut() {
                Some((_, lines)) => lines.push(line),
                None => stages.push(("", vec![line])),
            },
        }
    }
    let last = stages.pop().map(|(_, lines)| lines.join("\n")).unwrap_or_default();
    instructions(&last, "ENV").lines().flat_map(pairs).collect()
}

/// The table `[env]`.
fn fly(text: &str) -> Vec<Pair> {
    let lines = text.lines().skip_while(|line| line.trim() != "[env]").skip(1);
    lines.take_while(|line| !line.trim_start().starts_with('[')).flat_map(pairs).collect()
}

/// What all roles have, then what that of the web has, which comes before it. Of other roles
/// nothing.
fn kamal(text: &str) -> Vec<Pair> {
    let mut path: Vec<(usize, &str)> = Vec::new();
    let mut found: [Vec<Pair>; 2] = [Vec::new(), Vec::new()];
    for line in text.lines().filter(|line| !is_comment(line) && !line.trim().is_empty()) {
        let indent = line.len() - line.trim_start().len();
        path.retain(|(outer, _)| *outer < indent);
        let keys: Vec<&str> = path.iter().map(|(_, key)| *key).collect();
        match keys[..] {
            ["env", ..] => found[0].extend(pairs(line)),
            ["servers", "web", "env", ..] => found[1].extend(pairs(line)),
            _ => {}
        }
        if let Some((key, _)) = line.trim().split_once(':') {
            path.push((indent, key));
        }
    }
    found.concat()
}

fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with('#')
}

/// Each word with the one behind it: `NAME: 3`, `NAME = "3"`, `NAME=3`, `NAME 3`.
fn pairs(line: &str) -> Vec<Pair> {
    let is_between = |c: char| "\"'=:".contains(c);
    let code = line.split_whitespace().take_while(|word| !word.starts_with('#'));
    let words = code.flat_map(|word| word.split(is_between)).filter(|word| !word.is_empty());
    let words: Vec<&str> = words.collect();
    words.windows(2).map(|pair| (pair[0].to_string(), pair[1].to_string())).collect()
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
    let code: Vec<&str> = text.lines().filter(|line| !is_comment(line)).collect();
    let whole = code.join("\n").replace("\\\n", " ");
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
    let code = scripts.iter().flat_map(|text| text.lines()).filter(|line| !is_comment(line));
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
    use crate::server::{self, Framework};

    fn deployment(files: &[(&str, &str)]) -> Deployment {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Deployment::read(folder.path())
    }

    /// Name, value and file of each variable.
    type Found = Vec<(String, String, &'static str)>;

    /// What an app on Puma gets of these files, with `MAX_THREADS=7` in its own environment.
    fn sized(files: &[(&str, &str)]) -> (Found, Option<Flags>) {
        let mut deployment = deployment(files);
        let mut app = App::new("/", Framework::Rack, "config.ru");
        let given = |name: &str| (name == "MAX_THREADS").then(|| "7".to_string());
        deployment.apply_to(&mut app, server::find("puma").unwrap(), given);
        let all = deployment.variables.into_iter();
        (all.map(|(name, (value, file))| (name, value, file)).collect(), app.flags)
    }

    /// A file, what it holds, and the one variable that it gives with its value.
    type Case<'a> = (&'static str, &'a str, Option<(&'a str, &'a str)>);

    fn one(name: &str, value: &str, file: &'static str) -> Found {
        vec![(name.into(), value.into(), file)]
    }

    #[test]
    fn numbers_are_taken_from_each_file_as_it_spells_them_and_nothing_else_is() {
        let cases: [Case<'_>; 11] = [
            (
                "Dockerfile",
                "FROM ruby\nENV RAILS_ENV=production \\\n# none\n    WEB_CONCURRENCY=\"4\" \
                 SECRET=7\nRUN RAILS_MAX_THREADS=1 bin/rake assets\n",
                Some(("WEB_CONCURRENCY", "4")),
            ),
            (
                "Dockerfile",
                "FROM ruby AS base\nENV WEB_CONCURRENCY=1\nENV WEB_CONCURRENCY=2\n\
                 FROM base AS build\nENV WEB_CONCURRENCY=9\nFROM base\nCOPY . .\n",
                Some(("WEB_CONCURRENCY", "2")),
            ),
            ("Dockerfile", "env RAILS_MAX_THREADS 5\n", Some(("RAILS_MAX_THREADS", "5"))),
            ("Dockerfile", "ENV WEB_CONCURRENCY=$CORES\n", None),
            (
                "config/deploy.yml",
                "env:\n  clear:\n    # WEB_CONCURRENCY: 2\n    RAILS_MAX_THREADS: 3 # not \
                 RAILS_MIN_THREADS: 1\n  secret:\n    - SECRET_KEY_BASE\n",
                Some(("RAILS_MAX_THREADS", "3")),
            ),
            (
                "config/deploy.yml",
                "servers:\n  jobs:\n    env:\n      clear:\n        WEB_CONCURRENCY: 9\n  \
                 web:\n    hosts:\n      - 10.0.0.1\n    env:\n      clear:\n        \
                 WEB_CONCURRENCY: 3\nenv:\n  clear:\n    WEB_CONCURRENCY: 5\n",
                Some(("WEB_CONCURRENCY", "3")),
            ),
            (
                "fly.toml",
                "MAX = 1\n[env]\n  WEB_CONCURRENCY = 'auto'\n[vm]\n  RAILS_MAX_THREADS = 2\n",
                Some(("WEB_CONCURRENCY", "auto")),
            ),
            (
                "Procfile",
                "web: env WEB_CONCURRENCY=${WEB_CONCURRENCY:-6} bundle exec puma\n",
                Some(("WEB_CONCURRENCY", "6")),
            ),
            (
                "Procfile",
                "web: env RAILS_MAX_THREADS=${MAX_THREADS:-5} puma\n",
                Some(("RAILS_MAX_THREADS", "7")),
            ),
            ("Procfile", "web: env WEB_CONCURRENCY=$CORES puma\n", None),
            ("Procfile", "web: env MAX_THREADS=2 puma\n", None),
        ];
        for (file, text, expected) in cases {
            let expected = expected.map_or_else(Vec::new, |(name, value)| one(name, value, file));
            assert_eq!(sized(&[(file, text)]).0, expected, "{text}");
        }
        let kamal = ("config/deploy.yml", "env:\n  clear:\n    WEB_CONCURRENCY: 3\n");
        let both = [("Dockerfile", "ENV WEB_CONCURRENCY=2\n"), kamal];
        assert_eq!(sized(&both).0, one("WEB_CONCURRENCY", "3", "config/deploy.yml"));
    }

    #[test]
    fn a_commands_flags_are_read_as_a_shell_would_have_them() {
        let of = |files: &[(&str, &str)]| {
            let flags = sized(files).1?;
            Some((flags.workers, flags.threads, flags.file, flags.fixed.join(" ")))
        };
        let procfile = |command: &str| of(&[("Procfile", &format!("web: {command}\n"))]);
        assert_eq!(
            procfile("bundle exec puma -w 3 -t 5:8 -p $PORT"),
            Some((Some(3), Some(8), "Procfile", "-w 3 -t 5:8".into()))
        );
        assert_eq!(
            procfile("puma -w3 --threads=${MIN:-1}:${RAILS_MAX_THREADS:-5} & sidekiq -t 25"),
            Some((Some(3), Some(5), "Procfile", "-w 3".into()))
        );
        assert_eq!(procfile("puma -w 0"), Some((Some(1), None, "Procfile", "-w 0".into())));
        for without in
            ["puma -C config/puma.rb", "puma -w $CORES", "rake -w 3", "bin/rails server", "puma -w"]
        {
            assert_eq!(procfile(without), None, "{without}");
        }
        let start = "#!/bin/sh\nif [ -t 0 ]; then nc -w 2 db 5432; fi\nbin/rails db:prepare\n\
                     exec bundle exec puma --workers 2 -t $RAILS_MAX_THREADS\n[ -w /app/tmp ]\n";
        let scripted = [
            ("Dockerfile", "ENV RAILS_MAX_THREADS=4\nCMD [\"/rails/bin/start\"]\n"),
            ("bin/start", start),
        ];
        assert_eq!(of(&scripted), Some((Some(2), Some(4), "Dockerfile", "--workers 2".into())));
        let list = ("Dockerfile", "CMD [\"bundle\", \"exec\", \"puma\", \"-w\", \"6\"]\n");
        assert_eq!(of(&[list]), Some((Some(6), None, "Dockerfile", "-w 6".into())));
        let stale = ("Procfile", "web: puma -w 9\n");
        let rails = ("Dockerfile", "CMD [\"./bin/thrust\", \"./bin/rails\", \"server\"]\n");
        assert_eq!([of(&[list, stale]).unwrap().0, of(&[stale]).unwrap().0], [Some(6), Some(9)]);
        assert_eq!(of(&[rails, stale]), None);
    }
}
