//! What the files that deploy an app say of how it is started: with which command, and with how
//! many workers and threads by variables.
//!
//! In: the app's folder. Out: commands and variables, each with its file. Reads these files.

mod hosts;
mod image;
mod said;
mod shell;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

use self::hosts::{fly, kamal, procfile};
use self::image::image;
use self::said::Said;
pub use self::shell::words;
use self::shell::{expanded, is_comment, least_and_most, variable};
use crate::server::{Adapter, App, FlagNames, Flags, MinThreads, Obeys};

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

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Deployment {
    /// That of the hosts first, then an image's, then a Procfile's.
    pub commands: Vec<Command>,
    pub variables: Variables,
}

impl Deployment {
    /// What cannot be read says nothing.
    pub fn read(folder: &Path) -> Self {
        let read = |(file, of): (&'static str, fn(&str) -> Said)| {
            fs::read_to_string(folder.join(file)).map(|text| (file, of(&text))).ok()
        };
        // Where an app is run comes before what its image holds.
        let files = [
            ("Dockerfile", image as fn(&str) -> Said),
            ("Procfile", procfile),
            ("fly.toml", fly),
            ("config/deploy.yml", kamal),
        ];
        let files: Vec<(&'static str, Said)> = files.into_iter().filter_map(read).collect();
        let mut deployment = Self::default();
        for (file, said) in &files {
            let sizes = said.variables.iter().filter(|(name, value)| is_size(name, value));
            let sizes = sizes.map(|(name, value)| (name.clone(), (value.clone(), *file)));
            deployment.variables.extend(sizes);
        }
        deployment.commands = commands(folder, &files);
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
        let programs = programs_of(adapter);
        let given = |name: &str| app.env.get(name).cloned().or_else(|| given(name));
        // What starts the server under another name gives it no such flags.
        let starts = |it: &&Command| it.starts(&programs) || it.starts(&["rails", "rackup"]);
        if let Some(command) = self.commands.iter().find(starts) {
            for word in words(&command.text) {
                let Some((name, text)) = word.split_once('=') else { continue };
                let of = |name: &str| given(name).or_else(|| value(&self.variables, name));
                if let Some(it) = expanded(text, &of).filter(|it| is_size(name, it)) {
                    self.variables.insert(name.to_string(), (it, command.file));
                }
            }
            let of = |name: &str| given(name).or_else(|| value(&self.variables, name));
            app.flags = command.flags(&programs, adapter.flag_names(), &of);
            app.worker_kind = app.commands_kind().or(app.worker_kind.take());
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

    /// The configuration file that a command gives this server: one of the app's, relative to its
    /// folder.
    pub fn config_of(&self, folder: &Path, adapter: &dyn Adapter) -> Option<PathBuf> {
        let (programs, names) = (programs_of(adapter), adapter.flag_names().config);
        let starts = self.commands.iter().find(|command| command.starts(&programs))?;
        starts.behind(&programs).find_map(|rest| {
            let (_, text) = all_given(&rest, names).last()?;
            let name = expanded(text, &|_| None)?;
            in_app(folder, name.strip_prefix("file:").unwrap_or(&name))
        })
    }

    /// What a command has one of these programs run: the first word that is `such`, with `()` where
    /// a flag says that it has to be called.
    pub fn entry_of(&self, programs: &[&str], such: impl Fn(&str) -> bool) -> Option<String> {
        self.commands.iter().flat_map(|command| command.behind(programs)).find_map(|words| {
            let entry = words.iter().find(|word| such(word))?;
            let call = if words.contains(&"--factory") { "()" } else { "" };
            Some(format!("{entry}{call}"))
        })
    }
}

impl Command {
    /// What stands behind one of these programs, up to the end of its own command, wherever it is
    /// started; a line that only speaks of it is left out.
    fn behind<'a>(&'a self, programs: &'a [&str]) -> impl Iterator<Item = Vec<&'a str>> {
        let is_it = |word: &&str| programs.contains(&word.rsplit('/').next().unwrap_or(word));
        let commands = self.text.lines().flat_map(|line| line.split([';', '&', '|']));
        commands.filter_map(move |command| {
            let speaks = words(command).next().is_some_and(|first| SPEAK.contains(&first));
            let mut rest = words(command).skip_while(|word| !is_it(word));
            rest.next().filter(|_| !speaks)?;
            Some(rest.collect())
        })
    }

    fn starts(&self, programs: &[&str]) -> bool {
        self.behind(programs).next().is_some()
    }

    /// The flags that it gives one of these programs.
    fn flags(
        &self,
        programs: &[&str],
        names: FlagNames,
        of: &dyn Fn(&str) -> Option<String>,
    ) -> Option<Flags> {
        self.behind(programs).find_map(|rest| {
            let workers = count(&rest, names.workers, of);
            let threads = count(&rest, names.threads, of);
            let kind = all_given(&rest, names.kind).last();
            let counts = [&workers, &threads].into_iter().flatten();
            let flags = Flags {
                fixed: counts.filter_map(Count::fixed).collect(),
                kind: kind.and_then(|(_, text)| expanded(text, of)).filter(|it| !it.is_empty()),
                obeys: obeys(workers.as_ref(), threads.as_ref()),
                workers: workers.map(|it| it.number),
                threads: threads.map(|it| it.number),
                file: self.file,
            };
            (flags != Flags { file: self.file, ..Flags::default() }).then_some(flags)
        })
    }
}

/// Commands that name a server without starting it.
const SPEAK: [&str; 12] = [
    "echo", "printf", "mkdir", "pip", "pip3", "gem", "apt-get", "pkill", "killall", "chown", "rm",
    "which",
];

/// All programs that start it with its own flags.
fn programs_of(adapter: &dyn Adapter) -> Vec<&'static str> {
    [adapter.about().programs, adapter.flag_names().through].concat()
}

/// A number that a flag gives.
struct Count<'a> {
    flag: &'a str,
    text: &'a str,
    number: u16,
}

impl Count<'_> {
    /// As it is written, where no variable changes it.
    fn fixed(&self) -> Option<String> {
        (!self.text.contains('$')).then(|| format!("{} {}", self.flag, self.text))
    }
}

/// The variables that flags take their numbers from.
fn obeys(workers: Option<&Count<'_>>, threads: Option<&Count<'_>>) -> Obeys {
    let named = |text: &str| variable(text).map(str::to_string);
    let (least, most) = threads.map(|it| least_and_most(it.text)).unwrap_or_default();
    let fixed = || MinThreads::Fixed(least.parse().unwrap_or_default());
    Obeys {
        workers: workers.and_then(|it| named(it.text)),
        max_threads: named(most),
        min_threads: named(least).map_or_else(fixed, MinThreads::Variable),
    }
}

/// What each says, with the shell scripts of the app that it runs. What a host runs an image with
/// stands in place of the image's own command.
fn commands(folder: &Path, files: &[(&'static str, Said)]) -> Vec<Command> {
    let of = |name: &str| files.iter().find(|(file, _)| *file == name);
    let command = |file: &'static str, own: String| {
        let text = [own.as_str(), &scripts(folder, &own)].join("\n");
        (!own.trim().is_empty()).then_some(Command { file, text })
    };
    let hosts = ["config/deploy.yml", "fly.toml"].iter().filter_map(|name| of(name));
    let host = hosts.filter_map(|(file, said)| command(file, said.command.clone())).next();
    let image = of("Dockerfile").and_then(|(file, said)| {
        let own = if host.is_some() { "" } else { &said.command };
        command(file, [said.entry.as_str(), own].join(" "))
    });
    let procfile = of("Procfile").and_then(|(file, said)| command(file, said.command.clone()));
    [host, image, procfile].into_iter().flatten().collect()
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
fn count<'a>(
    words: &'a [&'a str],
    names: &'a [&'a str],
    of: &dyn Fn(&str) -> Option<String>,
) -> Option<Count<'a>> {
    let number = |text: &str| expanded(text, of)?.rsplit(':').next()?.parse::<u16>().ok();
    let known = all_given(words, names)
        .filter_map(|(flag, text)| Some(Count { flag, text, number: number(text)?.max(1) }));
    known.last()
}

/// Each of these flags with its value.
fn all_given<'a>(
    words: &'a [&'a str],
    names: &'a [&'a str],
) -> impl Iterator<Item = (&'a str, &'a str)> {
    let pairs = words.iter().zip(words.iter().skip(1).copied().chain([""]));
    pairs.filter_map(|(word, next)| given(word, next, names))
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

/// The app's file that is meant, relative to its folder. An image has the app in a folder of its
/// own: `/rails/bin/start` is the app's `bin/start`.
fn in_app(folder: &Path, word: &str) -> Option<PathBuf> {
    let is_name = |part: &Component<'_>| matches!(part, Component::Normal(_));
    let names: Vec<_> = Path::new(word).components().filter(is_name).collect();
    let mut tails = (0..names.len()).map(|from| names[from..].iter().collect::<PathBuf>());
    tails.find(|tail| folder.join(tail).is_file())
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
}
