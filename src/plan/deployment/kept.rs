//! What a server keeps of the flags that the command which deploys its app gives it.
//!
//! In: the words that it is given, and the flags that it keeps. Out: flags and variables. Only
//! looks, for the files and folders that they name.

use std::path::{Path, PathBuf};

use super::flags::{given, with_next};
use super::named::{folder_with, in_app};
use super::said::Pair;
use super::shell::expanded;
use crate::server::{App, KeptFlag, Takes};
use crate::terms::{HIDDEN, Secrets};

/// What is kept.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// A word each, in the order given: `--timeout=60`.
    pub flags: Vec<String>,
    /// Each of the flags once more as it may be shown, but for secrets that are known: with a value
    /// as it was written (`$NAME`) where variables make it something else than a number.
    written: Vec<String>,
    pub variables: Vec<Pair>,
}

impl Kept {
    /// What is kept of these words, but for values that only a shell can tell, and for files and
    /// folders that are not there.
    pub fn of(
        words: &[String],
        list: &[KeptFlag],
        app: &App,
        of: &dyn Fn(&str) -> Option<String>,
    ) -> Self {
        let known = with_next(words).filter_map(|(word, next)| {
            let found = list.iter().find_map(|flag| Some((flag, text(flag, word, next)?)));
            found.and_then(|(flag, text)| Some((flag, text, expanded(text, of)?)))
        });
        let known: Vec<(&KeptFlag, &str, String)> = known.collect();
        // Wherever among the others that flag stands; of several the last one counts.
        let mut own = known.iter().rev().filter(|(flag, ..)| flag.takes == Takes::OwnFolder);
        let from = own.find_map(|(.., value)| folder(app, &app.folder, value));
        let from = from.as_deref().unwrap_or(&app.folder);
        let mut kept = Self::default();
        for (flag, text, value) in &known {
            kept.add(flag, (text, value), (app, from));
        }
        kept
    }

    /// The flags of this list that are kept, as a plan may show them: without secrets, without the
    /// values of variables but for numbers, and with folders relative to the app's.
    pub fn shown(&self, list: &[KeptFlag], folder: &Path, secrets: &Secrets) -> Vec<String> {
        let root = format!("{}/", folder.display());
        let flag = |word: &String| match word.split_once('=') {
            Some((name, value)) => format!("{name}={}", secrets.mask(&value.replace(&root, ""))),
            None => word.clone(),
        };
        let with_variable = list.iter().find(|flag| flag.takes == Takes::Variable);
        let variable = |(name, _): &Pair| Some(format!("{}={name}={HIDDEN}", with_variable?.name));
        self.written.iter().map(flag).chain(self.variables.iter().filter_map(variable)).collect()
    }

    /// `text`: as it is written; `value`: with variables put in; `from`: the server's own folder.
    fn add(&mut self, flag: &KeptFlag, (text, value): (&str, &str), (app, from): (&App, &Path)) {
        let is_told = !value.is_empty() && !value.starts_with('=') && !value.contains('`');
        let name = flag.name;
        let with = |value: Option<String>| Some(format!("{name}={}", value?));
        let word = match flag.takes {
            Takes::Nothing => Some(name.to_string()),
            _ if !is_told => None,
            Takes::Word => with(Some(value.to_string())),
            Takes::File => with(in_app(&app.folder, value).map(|file| file.display().to_string())),
            Takes::Folders => with(folders(app, from, &value.split(',').collect::<Vec<_>>())),
            Takes::OwnFolder => with(folders(app, &app.folder, &[value])),
            Takes::Variable => {
                let pair = value.split_once('=');
                self.variables.extend(pair.map(|(name, it)| (name.to_string(), it.to_string())));
                None
            }
        };
        // Names alone don't tell which variables hold secrets. Files and folders are the app's.
        let is_plain = text == value || value.parse::<f64>().is_ok();
        let written = match flag.takes {
            Takes::Word if !is_plain => word.as_ref().map(|_| format!("{name}={text}")),
            _ => word.clone(),
        };
        self.written.extend(written);
        self.flags.extend(word);
    }
}

/// What stands behind this flag, where this word is it.
fn text<'a>(flag: &KeptFlag, word: &'a str, next: &'a str) -> Option<&'a str> {
    let names: Vec<&str> = flag.names().collect();
    match flag.takes {
        Takes::Nothing => names.contains(&word).then_some(""),
        _ => given(word, next, &names).map(|(_, text)| text),
    }
}

/// The folders that are meant, below the app's: its own has its modules anyway.
fn folders(app: &App, from: &Path, words: &[&str]) -> Option<String> {
    let meant = words.iter().filter_map(|word| folder(app, from, word));
    let below = meant.filter(|it| *it != app.folder);
    let all: Vec<String> = below.map(|it| it.display().to_string()).collect();
    let all = all.join(",");
    (!all.is_empty()).then_some(all)
}

/// The folder that is meant, from the root, as gunicorn changes its own before it looks for others.
/// `from`: where a relative one begins.
fn folder(app: &App, from: &Path, word: &str) -> Option<PathBuf> {
    let from = if Path::new(word).is_absolute() { app.folder.as_path() } else { from };
    let module = app.entry.split(':').next().unwrap_or_default();
    folder_with(from, word, module).map(|below| from.join(below))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::shell::unquoted;
    use super::*;
    use crate::server::Framework;

    const LIST: &[KeptFlag] = &[
        KeptFlag::new("--preload", Takes::Nothing),
        KeptFlag::new("--timeout", Takes::Word).short("-t"),
        KeptFlag::new("--env", Takes::Variable).short("-e"),
        KeptFlag::new("--env-file", Takes::File),
        KeptFlag::new("--pythonpath", Takes::Folders),
        KeptFlag::new("--chdir", Takes::OwnFolder),
    ];

    /// What is kept of a command's arguments by an app with `src/main.py`, `src/own/`, `lib/` and
    /// `.env`, where `SECONDS` is 9 and `ROOT` a secret, and the app's folder.
    fn kept_of(arguments: &str) -> (Kept, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        for below in ["src", "src/own", "lib"] {
            fs::create_dir(folder.path().join(below)).unwrap();
        }
        for file in ["src/main.py", ".env"] {
            fs::write(folder.path().join(file), "").unwrap();
        }
        let app = App::new(folder.path(), Framework::Wsgi, "main:app");
        let of = |name: &str| match name {
            "SECONDS" => Some("9".to_string()),
            "ROOT" => Some("/s3cret-root".to_string()),
            _ => None,
        };
        (Kept::of(&unquoted(arguments), LIST, &app, &of), folder)
    }

    /// The flags, in which `@` stands for the app's folder, and the variables.
    fn kept(arguments: &str) -> (String, Vec<Pair>) {
        let (kept, folder) = kept_of(arguments);
        let root = format!("{}/", folder.path().display());
        (kept.flags.join(" ").replace(&root, "@/"), kept.variables)
    }

    #[test]
    fn flags_are_kept_however_they_are_spelled_and_others_are_not() {
        for (arguments, expected) in [
            ("--preload -t 5 -b :80 --pid a --user b main:app", "--preload --timeout=5"),
            ("-t5 --timeout=6 --timeout '7'", "--timeout=5 --timeout=6 --timeout=7"),
            ("-t $SECONDS --preload", "--timeout=9 --preload"),
            ("-t ${T:-3}", "--timeout=3"),
            ("--timeout=$ROOT/a", "--timeout=/s3cret-root/a"),
            ("-t $T --preload -t `t` -t $(t) -t ''", "--preload"),
            ("--preloaded --timeouts 3 -t", ""),
            ("--env-file /app/.env", "--env-file=.env"),
            ("--env-file gone.env", ""),
            ("--pythonpath src,gone,lib", "--pythonpath=@/src,@/lib"),
            ("--pythonpath=/app/src", "--pythonpath=@/src"),
            ("--pythonpath .", ""),
            ("--chdir src --pythonpath own", "--chdir=@/src --pythonpath=@/src/own"),
            ("--pythonpath own,lib --chdir src", "--pythonpath=@/src/own --chdir=@/src"),
            ("--chdir lib --chdir src,lib --pythonpath own", "--chdir=@/lib"),
            ("--chdir /app/src --pythonpath own", "--chdir=@/src --pythonpath=@/src/own"),
            ("--pythonpath own", ""),
        ] {
            assert_eq!(kept(arguments), (expected.to_string(), Vec::new()), "{arguments}");
        }
    }

    #[test]
    fn variables_of_its_processes_are_no_flags() {
        let pair = |name: &str, value: &str| (name.to_string(), value.to_string());
        let (flags, variables) = kept("-e A=1 --env 'B=2 3=4' -e $C --env=D=$SECONDS");
        assert_eq!(flags, "");
        assert_eq!(variables, [pair("A", "1"), pair("B", "2 3=4"), pair("D", "9")]);
    }

    #[test]
    fn kept_flags_are_shown_without_secrets_and_with_folders_below_the_apps() {
        let secrets = Secrets::default().with_given([("SHOP_REGION", "s3cret-region")]);
        for (arguments, expected) in [
            ("--preload -t 5", "--preload --timeout=5"),
            ("-t s3cret-region", "--timeout=[hidden]"),
            ("-t $SECONDS -t ${T:-3}", "--timeout=9 --timeout=3"),
            ("-t $ROOT --timeout=${ROOT:-/a}/b", "--timeout=$ROOT --timeout=${ROOT:-/a}/b"),
            ("-t redis://joe:s3cret@db/0", "--timeout=redis://[hidden]@db/0"),
            ("--pythonpath src,lib --env-file .env", "--pythonpath=src,lib --env-file=.env"),
            (
                "-e API_TOKEN=s3cret -e A=1 --preload",
                "--preload --env=API_TOKEN=[hidden] --env=A=[hidden]",
            ),
            ("-b :80", ""),
        ] {
            let (kept, folder) = kept_of(arguments);
            let shown = kept.shown(LIST, folder.path(), &secrets);
            assert_eq!(shown.join(" "), expected, "{arguments}");
        }
    }
}
