//! What the files that deploy an app say of how it is started: with which command, and with how
//! many workers and threads by variables.
//!
//! In: the app's folder. Out: commands and variables, each with its file. Reads these files.

mod compose;
mod flags;
mod hosts;
mod image;
mod kept;
mod named;
mod said;
mod shell;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use self::compose::services;
use self::flags::{Given, all_given, flags};
pub use self::hosts::{ROLE, primary_role};
use self::hosts::{fly, kamal, procfile};
use self::image::image;
use self::kept::Kept;
use self::named::in_app;
pub use self::named::{folders, module_file};
use self::said::{Pair, Said};
use self::shell::{expanded, invocations, is_comment, unquoted};
pub use self::shell::{uncommented, words};
use crate::server::{ADAPTERS, Adapter, App, FlagNames};
use crate::terms::FlagPlace;

/// Variables by which apps are told how large to be, and how to use memory and compiler. Only
/// numbers are taken from them: no secret is one of these.
const VARIABLES: [&str; 20] = [
    "WEB_CONCURRENCY",
    "RAILS_MAX_THREADS",
    "RAILS_MIN_THREADS",
    "PUMA_MAX_THREADS",
    "PUMA_MIN_THREADS",
    "MAX_THREADS",
    "MIN_THREADS",
    "PUMA_WORKERS",
    "PUMA_THREADS",
    "HANAMI_WEB_CONCURRENCY",
    "HANAMI_MAX_THREADS",
    "HANAMI_MIN_THREADS",
    "UNICORN_WORKERS",
    "UNICORN_PROCESSES",
    "GUNICORN_WORKERS",
    "GUNICORN_PROCESSES",
    "GUNICORN_THREADS",
    "UVICORN_WORKERS",
    "MALLOC_ARENA_MAX",
    "RUBY_YJIT_ENABLE",
];

/// A file of an app's, and what reads its text.
type Source = (&'static str, fn(&str) -> Said);

const KAMAL: Source = ("config/deploy.yml", kamal);

/// What has an app run, with a command and variables in place of its image's: the nearest to where
/// it serves users first, and Compose's files in the order in which Compose looks for them.
const HOSTS: [Source; 6] = [
    KAMAL,
    ("fly.toml", fly),
    ("compose.yaml", compose),
    ("compose.yml", compose),
    ("docker-compose.yml", compose),
    ("docker-compose.yaml", compose),
];

/// A command, with the code of the app's own shell scripts that it runs: a line each.
#[derive(Debug, PartialEq, Eq)]
pub struct Command {
    pub file: &'static str,
    pub text: String,
}

/// A variable's value, and the file that gives it.
pub type Variables = BTreeMap<String, (String, &'static str)>;

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Deployment {
    /// That of the hosts first, then an image's, then a Procfile's.
    pub commands: Vec<Command>,
    pub variables: Variables,
    /// Numbers by any name, for flags that name them.
    numbers: Variables,
    /// Those that have more flags for a server.
    more_flags: Variables,
    /// What the app's server keeps of its flags, by where they stand; what is given last comes
    /// before what is given first.
    pub kept: Vec<(FlagPlace, Kept)>,
}

impl Deployment {
    /// As the first of its hosts has it that says how large the app is or how it is started. What
    /// cannot be read says nothing.
    pub fn read(folder: &Path) -> Self {
        Self::of(folder, &HOSTS)
    }

    /// Of these commands alone.
    pub fn of_commands(commands: Vec<Command>) -> Self {
        Self { commands, ..Self::default() }
    }

    /// As Kamal has it, whatever else would run the app.
    pub fn by_kamal(folder: &Path) -> Self {
        Self::of(folder, &[KAMAL])
    }

    fn of(folder: &Path, hosts: &[Source]) -> Self {
        let read = |(file, of): &Source| {
            fs::read_to_string(folder.join(file)).map(|text| (*file, of(&text))).ok()
        };
        let mut hosts: Vec<(&'static str, Said)> = hosts.iter().filter_map(read).collect();
        // A mixture of two would be what runs nowhere.
        hosts.sort_by_key(|(_, said)| said.command.is_empty() && !is_sized(said));
        hosts.truncate(1);
        // Where an app is run comes before what its image holds.
        let own: [Source; 2] = [("Dockerfile", image), ("Procfile", procfile)];
        let files: Vec<_> = own.iter().filter_map(read).chain(hosts).collect();
        let mut deployment = Self::default();
        for (file, said) in &files {
            let sizes = said.variables.iter().filter(|(name, value)| is_size(name, value));
            let sizes = sizes.map(|(name, value)| (name.clone(), (value.clone(), *file)));
            deployment.variables.extend(sizes);
            let numbers = said.variables.iter().filter(|(_, value)| value.parse::<u64>().is_ok());
            let numbers = numbers.map(|(name, value)| (name.clone(), (value.clone(), *file)));
            deployment.numbers.extend(numbers);
            let flags = said.variables.iter().filter(|(name, _)| has_flags(name)).cloned();
            deployment.more_flags.extend(flags.map(|(name, value)| (name, (value, *file))));
        }
        deployment.commands = commands(folder, &files);
        // The first command is the one nearest to where the app is run.
        for command in deployment.commands.iter().rev() {
            let flags = command.variables().filter(|(name, _)| has_flags(name));
            let flags = flags.map(|(name, value)| (name, (value, command.file)));
            deployment.more_flags.extend(flags);
        }
        deployment
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
        let (programs, names) = (programs_of(adapter), adapter.about().flag_names);
        let given = |name: &str| app.env.get(name).cloned().or_else(|| given(name));
        // What starts the server under another name gives it no such flags.
        let starts = |it: &&Command| it.starts(&programs) || it.starts(&["rails", "rackup"]);
        let command = self.commands.iter().find(starts);
        if let Some(command) = command {
            for (name, text) in command.variables() {
                let of = |name: &str| given(name).or_else(|| value(&self.variables, name));
                if let Some(it) = expanded(&text, &of).filter(|it| is_size(&name, it)) {
                    self.variables.insert(name, (it, command.file));
                }
            }
        }
        let said = |name: &str| value(&self.variables, name).or_else(|| value(&self.numbers, name));
        let of = |name: &str| given(name).or_else(|| said(name));
        let is_given = names.variable.is_some_and(|name| given(name).is_some());
        let more = self.more_of(names).filter(|_| !is_given);
        let own = command.and_then(|command| {
            let file = command.file;
            let mut all =
                command.behind(&programs).map(|words| Given { words, file, variable: None });
            all.find(|it| {
                let is_kept = || Kept::of(&it.words, names.kept, app, &of) != Kept::default();
                flags(std::slice::from_ref(it), names, &of).is_some() || is_kept()
            })
        });
        let all: Vec<Given> = more.into_iter().chain(own).collect();
        app.flags = flags(&all, names, &of);
        app.worker_kind = app.commands_kind().or(app.worker_kind.take());
        for Given { words, file, variable } in all {
            let kept = Kept::of(&words, names.kept, app, &of);
            app.start_flags.extend(kept.flags.clone());
            app.start_env.extend(kept.variables.clone());
            let (file, variable) = (file.to_string(), variable.map(str::to_string));
            let is_any = kept != Kept::default();
            self.kept.extend(is_any.then_some((FlagPlace { file, variable }, kept)));
        }
        // Other servers take numbers alone.
        let is_read = |value: &str| value != "auto" || adapter.name() == "puma";
        self.variables.retain(|name, (value, _)| given(name).is_none() && is_read(value));
        let variables = self.variables.iter();
        app.env.extend(variables.map(|(name, (value, _))| (name.clone(), value.clone())));
    }

    /// Of these servers the one that a command starts.
    pub fn server_among(&self, adapters: &[&'static dyn Adapter]) -> Option<&'static dyn Adapter> {
        self.commands.iter().find_map(|command| {
            adapters.iter().copied().find(|adapter| command.starts(&programs_of(*adapter)))
        })
    }

    /// The first of these programs that a command starts, and its file, unless that command or one
    /// nearer to where the app serves users starts one of these servers.
    pub fn other_program(
        &self,
        programs: &[&'static str],
        adapters: &[&'static dyn Adapter],
    ) -> Option<(&'static str, &'static str)> {
        let known: Vec<&str> = adapters.iter().flat_map(|it| programs_of(*it)).collect();
        for command in &self.commands {
            let other = programs.iter().copied().find(|program| command.surely_starts(program));
            match other {
                _ if command.starts(&known) => return None,
                Some(program) => return Some((program, command.file)),
                // It starts whichever server the bundle has.
                None if command.starts(&["rails", "rackup"]) => return None,
                None => {}
            }
        }
        None
    }

    /// The configuration file that a command gives this server: one of the app's, relative to its
    /// folder.
    pub fn config_of(&self, folder: &Path, adapter: &dyn Adapter) -> Option<PathBuf> {
        let (programs, names) = (programs_of(adapter), adapter.about().flag_names);
        let starts = self.commands.iter().find(|command| command.starts(&programs));
        let own = starts.into_iter().flat_map(|command| command.behind(&programs));
        own.chain(self.more_of(names).map(|it| it.words)).find_map(|words| {
            let (_, text) = all_given(&words, names.config).last()?;
            let name = expanded(text, &|_| None)?;
            in_app(folder, name.strip_prefix("file:").unwrap_or(&name))
        })
    }

    /// What a command has one of these programs run: the first word that is `such`, with `()` where
    /// a flag says that it has to be called.
    pub fn entry_of(&self, programs: &[&str], such: impl Fn(&str) -> bool) -> Option<String> {
        self.commands.iter().flat_map(|command| command.behind(programs)).find_map(|words| {
            let entry = words.iter().find(|word| such(word))?;
            let is_factory = words.iter().any(|word| word == "--factory");
            let call = if is_factory { "()" } else { "" };
            Some(format!("{entry}{call}"))
        })
    }

    /// The values that commands give one of these programs by these flags, and those of variables
    /// that have more flags for a server.
    pub fn values_of(&self, programs: &[&str], names: &[&str]) -> Vec<String> {
        let own = self.commands.iter().flat_map(|command| command.behind(programs));
        let more = self.more_flags.values().map(|(text, _)| unquoted(text));
        let values = |words: Vec<String>| -> Vec<String> {
            let given = all_given(&words, names);
            given.filter_map(|(_, text)| expanded(text, &|_| None)).collect()
        };
        own.chain(more).flat_map(values).collect()
    }

    /// What Kamal starts the app with; empty: its image says it.
    pub fn command_of_kamal(&self) -> &str {
        let command = self.commands.iter().find(|command| command.file == KAMAL.0);
        command.map_or("", |command| &command.text)
    }

    /// The flags that a variable gives this server.
    fn more_of(&self, names: FlagNames) -> Option<Given> {
        let variable = names.variable?;
        let (text, file) = self.more_flags.get(variable)?;
        Some(Given { words: unquoted(text), file, variable: Some(variable) })
    }
}

/// The flag and its number by which a command starts a server, whatever variables say. `names`: the
/// flags of a server that are looked for.
pub fn fixed_flag(
    command: &str,
    names: impl Fn(FlagNames) -> &'static [&'static str],
) -> Option<String> {
    let command = Command { file: "", text: command.to_string() };
    ADAPTERS.iter().find_map(|adapter| {
        let names = names(adapter.about().flag_names);
        command.behind(&programs_of(*adapter)).find_map(|words| {
            let (flag, text) = all_given(&words, names).last()?;
            let is_fixed = !text.is_empty() && !text.contains('$');
            is_fixed.then(|| format!("{flag} {text}"))
        })
    })
}

impl Command {
    /// What stands behind one of these programs, up to the end of its own command, wherever it is
    /// started.
    fn behind(&self, programs: &[&str]) -> impl Iterator<Item = Vec<String>> {
        let is_it = |word: &String| programs.contains(&word.rsplit('/').next().unwrap_or(word));
        invocations(&self.text).into_iter().filter_map(move |mut invocation| {
            let program = invocation.words.iter().position(is_it)?;
            Some(invocation.words.split_off(program + 1))
        })
    }

    fn starts(&self, programs: &[&str]) -> bool {
        self.behind(programs).next().is_some()
    }

    /// By its name or from a folder of programs: `/run/uwsgi` starts nothing.
    fn surely_starts(&self, program: &str) -> bool {
        let is_it = |word: &String| match word.rsplit_once('/') {
            Some((folder, name)) => name == program && folder.ends_with("bin"),
            None => word == program,
        };
        invocations(&self.text).iter().any(|it| it.words.iter().any(is_it))
    }

    /// The variables that its programs are given before them.
    fn variables(&self) -> impl Iterator<Item = Pair> {
        invocations(&self.text).into_iter().flat_map(|it| it.variables)
    }
}

/// All programs that start it with its own flags.
fn programs_of(adapter: &dyn Adapter) -> Vec<&'static str> {
    [adapter.about().programs, adapter.about().flag_names.through].concat()
}

/// What each says, with the shell scripts of the app that it runs. What a host runs an image with
/// stands in place of the image's own command.
fn commands(folder: &Path, files: &[(&'static str, Said)]) -> Vec<Command> {
    let of = |name: &str| files.iter().find(|(file, _)| *file == name);
    let command = |file: &'static str, own: String| {
        let text = [own.as_str(), &scripts(folder, &own)].join("\n");
        (!own.trim().is_empty()).then_some(Command { file, text })
    };
    let host = HOSTS.iter().find_map(|(name, _)| of(name));
    let host = host.and_then(|(file, said)| command(file, said.command.clone()));
    let image = of("Dockerfile").and_then(|(file, said)| {
        let own = if host.is_some() { "" } else { &said.command };
        command(file, [said.entry.as_str(), own].join(" "))
    });
    let procfile = of("Procfile").and_then(|(file, said)| command(file, said.command.clone()));
    [host, image, procfile].into_iter().flatten().collect()
}

/// What a Compose file says of its one service that says how large it is; nothing where two differ,
/// as it is not to be seen which of them is the app. A service with a command that starts no server
/// is another.
fn compose(text: &str) -> Said {
    let mut programs: Vec<&str> = ADAPTERS.iter().flat_map(|it| programs_of(*it)).collect();
    programs.push("rackup");
    let serves = |said: &Said| {
        let command = Command { file: "", text: said.command.clone() };
        let is_server = |words: Vec<String>| {
            words.first().is_some_and(|word| ["server", "s"].contains(&word.as_str()))
        };
        said.command.is_empty()
            || command.starts(&programs)
            || command.behind(&["rails"]).any(is_server)
    };
    let mut sized: Vec<Said> = services(text);
    sized.retain(|said| is_sized(said) && serves(said));
    sized.dedup();
    <[Said; 1]>::try_from(sized).map_or_else(|_| Said::default(), |[only]| only)
}

/// Does it name a variable that says how large an app is, or that has more flags for a server?
fn is_sized(said: &Said) -> bool {
    said.variables.iter().any(|(name, _)| VARIABLES.contains(&name.as_str()) || has_flags(name))
}

/// Is this a variable that says how large an app is, with a number?
fn is_size(name: &str, value: &str) -> bool {
    let is_number = value.parse::<u32>().is_ok();
    VARIABLES.contains(&name) && (is_number || (name == "WEB_CONCURRENCY" && value == "auto"))
}

/// Is this a variable that has more flags for a server?
fn has_flags(name: &str) -> bool {
    ADAPTERS.iter().any(|adapter| adapter.about().flag_names.variable == Some(name))
}

fn value(variables: &Variables, name: &str) -> Option<String> {
    variables.get(name).map(|(value, _)| value.clone())
}

/// What the app's own shell scripts say that these commands run, without their comments; a command
/// over several lines is one.
fn scripts(folder: &Path, commands: &str) -> String {
    let read = |file: PathBuf| {
        let text = fs::read_to_string(folder.join(&file)).ok()?;
        (is_shell(&text) || file.extension().is_some_and(|it| it == "sh")).then_some(text)
    };
    let scripts = words(commands).filter_map(|word| in_app(folder, word)).filter_map(read);
    let scripts: Vec<String> = scripts.collect();
    let code = scripts.iter().flat_map(|text| text.lines()).filter(|line| !is_comment(line));
    code.collect::<Vec<_>>().join("\n").replace("\\\n", " ")
}

/// By its first line: `#!/bin/sh`, `#!/usr/bin/env bash -e`.
fn is_shell(text: &str) -> bool {
    let first = text.lines().next().unwrap_or_default();
    let is_shell = |word: &str| matches!(word.rsplit('/').next(), Some("sh" | "bash" | "dash"));
    first.starts_with("#!") && first[2..].split_whitespace().any(is_shell)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::{self, Flags, Framework, MinThreads, Obeys};

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
        let cases: [Case<'_>; 12] = [
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
            ("Dockerfile", "ENV HANAMI_MAX_THREADS=4\n", Some(("HANAMI_MAX_THREADS", "4"))),
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
    fn of_kamals_roles_the_one_that_answers_counts_and_of_tagged_hosts_nothing() {
        let tagged = "env:\n  clear:\n    WEB_CONCURRENCY: 3\n  tags:\n    big:\n      \
                      WEB_CONCURRENCY: 9\n";
        let expected = one("WEB_CONCURRENCY", "3", "config/deploy.yml");
        assert_eq!(sized(&[("config/deploy.yml", tagged)]).0, expected);
        let roles = "primary_role: 'app' # not web\nservers:\n  web:\n    cmd: puma -w 9\n    \
                     env:\n      WEB_CONCURRENCY: 9\n  app:\n    cmd: puma -t 5\n    env:\n      \
                     WEB_CONCURRENCY: 3\n";
        let (variables, flags) = sized(&[("config/deploy.yml", roles)]);
        assert_eq!((variables, flags.unwrap().fixed), (expected, vec!["-t 5".to_string()]));
    }

    #[test]
    fn numbers_that_kamals_own_command_has_are_told_from_those_of_variables() {
        let of = |command: &str| {
            let text = format!("servers:\n  web:\n    cmd: {command}\n");
            let image = ("Dockerfile", "CMD puma -w 9 -t 9\n");
            let found = deployment(&[("config/deploy.yml", &text), image]);
            let command = found.command_of_kamal();
            [fixed_flag(command, |it| it.workers), fixed_flag(command, |it| it.threads)]
        };
        let fixed = |flag: &str| Some(flag.to_string());
        assert_eq!(of("bundle exec puma -w 4 -t 5:5"), [fixed("-w 4"), fixed("-t 5:5")]);
        assert_eq!(of("\"puma -w4 -t ${MIN:-1}:$MAX\" # -t 9"), [fixed("-w 4"), None]);
        assert_eq!(of("gunicorn shop:app --threads=2 -t 60"), [None, fixed("--threads 2")]);
        assert_eq!(of("bin/rails server"), [None, None]);
    }

    #[test]
    fn of_two_hosts_the_first_that_says_something_counts_alone() {
        let fly = ("fly.toml", "[env]\n  WEB_CONCURRENCY = 4\n  RAILS_MAX_THREADS = 9\n");
        let kamal = ("config/deploy.yml", "env:\n  clear:\n    RAILS_MAX_THREADS: 3\n");
        let expected = one("RAILS_MAX_THREADS", "3", "config/deploy.yml");
        assert_eq!(sized(&[fly, kamal]).0, expected);
        // As each new Rails app has it.
        let unused = ("config/deploy.yml", "env:\n  clear:\n    SOLID_QUEUE_IN_PUMA: true\n");
        assert_eq!(sized(&[fly, unused]).0.len(), 2);
        let started = ("config/deploy.yml", "servers:\n  web:\n    cmd: puma -w 5\n");
        let (variables, flags) = sized(&[fly, started]);
        assert_eq!((variables, flags.unwrap().workers), (Vec::new(), Some(5)));
    }

    #[test]
    fn a_compose_files_only_service_with_a_size_is_the_app() {
        let of = |services: &str| sized(&[("compose.yaml", &format!("services:\n{services}"))]);
        let web = "  db:\n    image: postgres\n  web:\n    environment:\n    - A=1\n    \
                   - \"WEB_CONCURRENCY=3\" # of four\n";
        let expected = one("WEB_CONCURRENCY", "3", "compose.yaml");
        let jobs = "  jobs:\n    command: bundle exec sidekiq\n    environment:\n      \
                    WEB_CONCURRENCY: 9\n";
        assert_eq!(of(&format!("{jobs}{web}")).0, expected, "jobs are no app");
        let other = "  admin:\n    environment:\n      WEB_CONCURRENCY: \"9\"\n";
        assert_eq!(of(&format!("{web}{other}")).0, [], "which is the app?");
        let same = "  admin:\n    environment: # as of web\n      A: 1\n      \
                    WEB_CONCURRENCY: 3\n";
        assert_eq!(of(&format!("{web}{same}")).0, expected);
        assert_eq!(of("  web:\n    environment:\n      WEB_CONCURRENCY: ${N:-2}\n").0, []);
        assert_eq!(of("  web:\n    labels:\n      WEB_CONCURRENCY: 2\n").0, []);
        let started = "  web:\n    command:\n      - puma\n      - -w\n      - \"5\"\n    \
                       environment:\n      RAILS_MAX_THREADS: 2\n";
        let rails = "  web:\n    command: bash -c \"rm -f a.pid && exec rails s -p 80\"\n    \
                     environment:\n      WEB_CONCURRENCY: 3\n  jobs:\n    command: bin/rails \
                     solid_queue:start\n    environment:\n      WEB_CONCURRENCY: 9\n";
        assert_eq!(of(rails).0, expected);
        let (variables, flags) = of(started);
        assert_eq!(variables, one("RAILS_MAX_THREADS", "2", "compose.yaml"));
        assert_eq!(flags.unwrap().workers, Some(5));
        let kamal = ("config/deploy.yml", "env:\n  clear:\n    RAILS_MAX_THREADS: 4\n");
        let text = format!("services:\n{web}");
        let both = sized(&[("docker-compose.yml", &text), kamal]).0;
        assert_eq!(both, one("RAILS_MAX_THREADS", "4", "config/deploy.yml"));
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
        let spread =
            "echo \"Starting puma\"\nmkdir -p /var/log/puma\nexec puma \\\n  -w 2 \\\n  -t 4\n";
        let spread = [("Procfile", "web: sh bin/start.sh\n"), ("bin/start.sh", spread)];
        assert_eq!(of(&spread), Some((Some(2), Some(4), "Procfile", "-w 2 -t 4".into())));
        let list = ("Dockerfile", "CMD [\"bundle\", \"exec\", \"puma\", \"-w\", \"6\"]\n");
        assert_eq!(of(&[list]), Some((Some(6), None, "Dockerfile", "-w 6".into())));
        let stale = ("Procfile", "web: puma -w 9\n");
        let rails = ("Dockerfile", "CMD [\"./bin/thrust\", \"./bin/rails\", \"server\"]\n");
        assert_eq!([of(&[list, stale]).unwrap().0, of(&[stale]).unwrap().0], [Some(6), Some(9)]);
        assert_eq!(of(&[rails, stale]), None);
    }

    #[test]
    fn the_variables_that_flags_take_their_numbers_from_are_what_the_app_follows() {
        let obeyed = |command: &str| {
            let text = format!("web: {command}\n");
            sized(&[("Procfile", &text)]).1.unwrap().obeys
        };
        let variable = |name: &str| Some(name.to_string());
        let of_both = Obeys {
            workers: variable("PUMA_WORKERS"),
            max_threads: variable("PUMA_THREADS"),
            min_threads: MinThreads::Variable("PUMA_THREADS".into()),
        };
        for threads in ["${PUMA_THREADS:-5}", "${PUMA_THREADS:-5}:${PUMA_THREADS:-5}"] {
            let command = format!("puma -w ${{PUMA_WORKERS:-2}} -t {threads}");
            assert_eq!(obeyed(&command), of_both, "{command}");
        }
        let least = obeyed("puma -t 2:${MAX_THREADS:-5}");
        assert_eq!((least.workers, least.min_threads), (None, MinThreads::Fixed(2)));
        assert_eq!(least.max_threads, variable("MAX_THREADS"));
        assert_eq!(obeyed("puma -w 3 -t 5").max_threads, None);
    }

    #[test]
    fn what_a_host_runs_an_image_with_comes_before_the_last_stages_own_command() {
        let image = (
            "Dockerfile",
            "FROM ruby AS base\nCMD puma -w 2\nFROM base AS tools\nCMD puma -w 9\n\
             FROM --platform=linux/amd64 base\nENTRYPOINT [\"bin/entry\"]\n",
        );
        let fly =
            ("fly.toml", "app = 'shop'\n[processes]\nworker = \"sidekiq\"\nweb = \"puma -w 4\"\n");
        let kamal = (
            "config/deploy.yml",
            "servers:\n  job:\n    cmd: bin/jobs\n  web:\n    hosts:\n      - 10.0.0.1\n    \
             cmd: puma -w 5\nbuilder:\n  cmd: puma -w 7\n",
        );
        let found = |files: &[(&str, &str)]| {
            let flags = sized(files).1.unwrap();
            (flags.workers.unwrap(), flags.file)
        };
        assert_eq!(found(&[image]), (2, "Dockerfile"));
        assert_eq!(found(&[image, fly]), (4, "fly.toml"));
        assert_eq!(found(&[image, fly, kamal]), (5, "config/deploy.yml"));
        let texts = deployment(&[image, fly]).commands.into_iter();
        let texts: Vec<String> = texts.map(|it| words(&it.text).collect::<String>()).collect();
        assert_eq!(texts, ["puma-w4", "bin/entry"], "the image's own is not run");
    }

    #[test]
    fn the_kind_of_gunicorns_workers_is_that_of_its_command() {
        let kind = |command: &str, own: Option<&str>| {
            let mut app = App::new("/", Framework::Wsgi, "shop:app");
            app.worker_kind = own.map(str::to_string);
            let gunicorn = server::find("gunicorn").unwrap();
            let text = format!("web: {command} shop:app\n");
            deployment(&[("Procfile", &text)]).apply_to(&mut app, gunicorn, |_| None);
            (app.worker_kind.clone(), gunicorn.has_threads(&app))
        };
        assert_eq!(kind("gunicorn -k gevent -w 4", None), (Some("gevent".into()), false));
        let longer = kind("gunicorn --worker-class=gthread --threads 4", Some("gevent"));
        assert_eq!(longer, (Some("gthread".into()), true));
        assert_eq!(kind("gunicorn -w 4", Some("gevent")), (Some("gevent".into()), false));
    }

    #[test]
    fn gunicorn_keeps_flags_of_its_command_and_of_the_variable_that_has_more() {
        let with = |given: Option<&str>, files: &[(&str, &str)]| {
            let mut app = App::new("/", Framework::Wsgi, "shop:app");
            let gunicorn = server::find("gunicorn").unwrap();
            let is_it = |name: &str| name == "GUNICORN_CMD_ARGS";
            let given = |name: &str| given.filter(|_| is_it(name)).map(str::to_string);
            deployment(files).apply_to(&mut app, gunicorn, given);
            let first = app.flags.map(|it| (it.file, it.fixed.join(" ")));
            (first.unwrap_or_default(), app.start_flags.join(" "), app.start_env.len())
        };
        let kept = |files: &[(&str, &str)]| with(None, files);
        let of = |file: &'static str, fixed: &str| (file, fixed.to_string());

        let command = "web: gunicorn -w 3 --preload --bind 0.0.0.0:$PORT --pid a --user www \
                       --forwarded-allow-ips='10.0.0.1,10.0.0.2' --max-requests ${MAX:-500} -e A=1 \
                       --backlog $BACKLOG --access-logfile - shop:app\n";
        let flags = "--preload --forwarded-allow-ips=10.0.0.1,10.0.0.2 --max-requests=500";
        assert_eq!(kept(&[("Procfile", command)]), (of("Procfile", "-w 3"), flags.into(), 1));

        let more = "ENV A=1 GUNICORN_CMD_ARGS=\"--workers 4 --threads 2 -b :80 --timeout 9\"\n";
        let flags = (of("Dockerfile", "--workers 4 --threads 2"), "--timeout=9".to_string(), 0);
        assert_eq!(kept(&[("Dockerfile", more)]), flags);
        let own = ("Procfile", "web: sh -c \"gunicorn -w 3 -t 60 shop:app\"\n");
        let both = "--timeout=9 --timeout=60".to_string();
        let first = of("Procfile", "-w 3");
        assert_eq!(kept(&[("Dockerfile", more), own]), (first, both, 0), "the last one counts");
        let inherited = with(Some("--timeout 5"), &[("Dockerfile", more)]);
        assert_eq!(inherited, (of("", ""), String::new(), 0), "gunicorn reads it by itself");
        for (file, text) in [
            ("Procfile", "web: GUNICORN_CMD_ARGS='--preload -t 9' gunicorn shop:app\n"),
            ("fly.toml", "[env]\n  GUNICORN_CMD_ARGS = '--preload -t 9'\n"),
            (
                "config/deploy.yml",
                "env:\n  clear:\n    GUNICORN_CMD_ARGS: \"--preload -t 9\" # twice\n",
            ),
        ] {
            assert_eq!(kept(&[(file, text)]).1, "--preload --timeout=9", "{text}");
        }
    }

    #[test]
    fn uvicorn_keeps_what_its_command_says_and_other_servers_keep_nothing() {
        let kept = |server: &str, command: &str| {
            let mut app = App::new("/", Framework::Asgi, "main:app");
            let text = format!("web: {command}\n");
            let server = server::find(server).unwrap();
            deployment(&[("Procfile", &text)]).apply_to(&mut app, server, |_| None);
            app.start_flags.join(" ")
        };
        let uvicorn = "uvicorn main:app --host 0.0.0.0 --port $PORT --proxy-headers --loop uvloop \
                       --root-path \"\" --ws none --limit-max-requests 9 --access-log";
        assert_eq!(kept("uvicorn", uvicorn), "--proxy-headers --loop=uvloop --ws=none");
        assert_eq!(kept("gunicorn", uvicorn), "");
        assert_eq!(kept("uvicorn", "fastapi run --root-path /api main.py"), "--root-path=/api");
        assert_eq!(kept("puma", "puma -t 2:3 --preload"), "");
    }
}
