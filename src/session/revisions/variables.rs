//! Variables that would lead a revision to the working folder's files: a CI sets `BUNDLE_GEMFILE`
//! and `PYTHONPATH` to what it checked out, a shell `PATH` to a virtual environment.
//!
//! In: variables, and the two folders. Out: those that have to be others for a revision. Looks at
//! which files are there, and changes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

/// Variables of any process, whose values lead to no code. Who starts an app sets them for it.
const OF_ANY_PROCESS: [&str; 4] = ["HOME", "OLDPWD", "PWD", "TMPDIR"];

/// Where git keeps what all revisions share.
pub const GIT: &str = ".git";

/// Variables with a revision's paths in the place of the working folder's.
#[derive(Debug, Default)]
pub struct OwnVariables {
    pub all: BTreeMap<String, String>,
    /// Names of those that the user did not give for the app.
    pub inherited: BTreeSet<String>,
}

/// The working folder and a revision's.
#[derive(Debug, Clone, Copy)]
pub struct Folders<'a> {
    /// The repository's working folder; no part of its path is a link.
    pub top: &'a Path,
    /// Where the revision is checked out.
    pub own: &'a Path,
    /// What git is told to ignore, below the working folder.
    pub ignored: &'a [PathBuf],
}

impl Folders<'_> {
    /// Those of an app's variables that hold paths into the working folder, changed to the
    /// revision's. `given` are the user's for the app, and come before those that are inherited.
    pub fn own_variables(
        &self,
        given: &BTreeMap<String, String>,
        inherited: impl IntoIterator<Item = (String, String)>,
    ) -> OwnVariables {
        let inherited = inherited.into_iter().filter(|(name, _)| !given.contains_key(name));
        let all = inherited.chain(given.clone());
        let all = all.filter(|(name, _)| !OF_ANY_PROCESS.contains(&name.as_str()));
        let all = all.filter_map(|(name, value)| Some((name, self.own_value(&value)?)));
        let all: BTreeMap<String, String> = all.collect();
        let inherited = all.keys().filter(|name| !given.contains_key(*name)).cloned().collect();
        OwnVariables { all, inherited }
    }

    /// The value with each path into the working folder changed: it is one path, or several
    /// between colons. `None`: there is none in it.
    fn own_value(&self, value: &str) -> Option<String> {
        // A path may have colons in it.
        if Path::new(value).exists() {
            return self.own_path(value);
        }
        let own: Vec<Option<String>> = value.split(':').map(|part| self.own_path(part)).collect();
        if own.iter().all(Option::is_none) {
            return None;
        }
        let parts = value.split(':').zip(own);
        let parts: Vec<String> =
            parts.map(|(part, own)| own.unwrap_or_else(|| part.to_string())).collect();
        Some(parts.join(":"))
    }

    /// A path into the working folder as the revision's own. What git ignores stays the working
    /// folder's where the revision has none: a socket, or a virtual environment that a command may
    /// make.
    fn own_path(&self, path: &str) -> Option<String> {
        // Two slashes stand behind the scheme of a URL.
        if path.starts_with("//") {
            return None;
        }
        let below = below(Path::new(path), self.top)?;
        // Without a slash at its end where the path is the working folder itself.
        let own: PathBuf = self.own.join(&below).components().collect();
        let is_ignored = self.ignored.iter().any(|ignored| below.starts_with(ignored));
        let is_shared = below.starts_with(GIT) || is_ignored && !own.exists();
        (!is_shared).then(|| own.display().to_string())
    }
}

/// Where a path lies below the working folder `top`, whether there is something or not; empty:
/// it is that folder. `None`: elsewhere. A relative path is looked for from the folder of each app
/// by itself.
fn below(path: &Path, top: &Path) -> Option<PathBuf> {
    if !path.is_absolute() {
        return None;
    }
    if let Ok(whole) = path.canonicalize()
        && (whole == top || path.file_name().is_none())
    {
        return whole.strip_prefix(top).ok().map(Path::to_path_buf);
    }
    // The last part may be a link, and is not followed: the revision has its own.
    let (folder, rest) = path
        .ancestors()
        .skip(1)
        .find_map(|folder| Some((folder.canonicalize().ok()?, path.strip_prefix(folder).ok()?)))?;
    let is_plain = rest.components().all(|part| matches!(part, Component::Normal(_)));
    let folder = folder.strip_prefix(top).ok().filter(|_| is_plain)?;
    Some(folder.join(rest))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use tempfile::TempDir;

    use super::*;

    /// A working folder `app`, a link to it, and the folder `own` of a revision.
    fn made() -> (TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().canonicalize().unwrap();
        for name in ["app/src", "app/gemfiles", "app/.venv/bin", "app/log", "other", "own/log"] {
            fs::create_dir_all(at.join(name)).unwrap();
        }
        symlink(at.join("app"), at.join("link")).unwrap();
        symlink(at.join("other/code"), at.join("app/linked")).unwrap();
        (folder, at)
    }

    /// Each `@` of the text stands for the folder of the test.
    fn own_value(at: &Path, value: &str) -> Option<String> {
        let (top, own) = (at.join("app"), at.join("own"));
        let ignored = [".venv", "log"].map(PathBuf::from);
        let folders = Folders { top: &top, own: &own, ignored: &ignored };
        let text = at.display().to_string();
        folders.own_value(&value.replace('@', &text)).map(|own| own.replace(&text, "@"))
    }

    #[test]
    fn each_path_into_the_working_folder_becomes_the_revisions_by_whatever_way_it_is_named() {
        let (_folder, at) = made();
        for (value, expected) in [
            ("@/app", "@/own"),
            ("@/app/", "@/own"),
            ("@/app/src", "@/own/src"),
            ("@/app/src:/usr/lib", "@/own/src:/usr/lib"),
            (":/usr/lib:@/app/src:@/app", ":/usr/lib:@/own/src:@/own"),
            ("@/app/gone:/usr/lib:@/app/src", "@/own/gone:/usr/lib:@/own/src"),
            ("@/app/gone/lib", "@/own/gone/lib"),
            ("@/link/gemfiles/../Gemfile", "@/own/Gemfile"),
            ("@/app/src/..", "@/own"),
            ("@/app/gemfiles/../src/../gemfiles/..", "@/own"),
            ("@/app/linked", "@/own/linked"),
            ("sqlite3:@/app/db/production.sqlite3", "sqlite3:@/own/db/production.sqlite3"),
        ] {
            assert_eq!(own_value(&at, value).as_deref(), Some(expected), "{value}");
        }
    }

    #[test]
    fn what_lies_elsewhere_stays() {
        let (_folder, at) = made();
        for value in [
            "",
            ":",
            "1",
            "src",
            "src:lib",
            "/usr/bin:/bin",
            "@/other/Gemfile",
            "@/app-of-another/Gemfile",
            "@/app/../other",
            "@/app/gone/../src",
            "@/app/.git/index",
            "http://127.0.0.1:3000/app",
            // It would be another URL with fewer slashes.
            "sqlite://@/app/db/production.sqlite3",
        ] {
            assert_eq!(own_value(&at, value), None, "{value}");
        }
    }

    #[test]
    fn a_path_may_have_colons_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap().join("a:b");
        fs::create_dir(&top).unwrap();
        fs::write(top.join("Gemfile"), "").unwrap();
        let folders = Folders { top: &top, own: Path::new("/own"), ignored: &[] };
        let gemfile = top.join("Gemfile").display().to_string();
        assert_eq!(folders.own_value(&gemfile).as_deref(), Some("/own/Gemfile"));
    }

    #[test]
    fn what_git_ignores_is_the_revisions_own_once_it_has_one() {
        let (_folder, at) = made();
        assert_eq!(own_value(&at, "@/app/.venv/bin:/bin"), None);
        assert_eq!(own_value(&at, "@/app/log/app.log"), None);
        assert_eq!(own_value(&at, "@/app/log").as_deref(), Some("@/own/log"));
        fs::create_dir_all(at.join("own/.venv/bin")).unwrap();
        let own = own_value(&at, "@/app/.venv/bin:/bin");
        assert_eq!(own.as_deref(), Some("@/own/.venv/bin:/bin"));
    }

    #[test]
    fn what_the_user_gave_comes_before_what_is_inherited_and_a_processs_own_stays() {
        let (_folder, at) = made();
        let (top, own) = (at.join("app"), at.join("own"));
        let folders = Folders { top: &top, own: &own, ignored: &[] };
        let variable = |name: &str, value: &Path| (name.to_string(), value.display().to_string());
        let given = BTreeMap::from([
            variable("RUBYLIB", &top.join("lib")),
            variable("PYTHONPATH", Path::new("/srv/python")),
        ]);
        let inherited = [
            variable("HOME", &top),
            variable("NODE_PATH", &top.join("src")),
            variable("PATH", Path::new("/usr/bin")),
            variable("PWD", &top),
            variable("PYTHONPATH", &top),
            variable("RUBYLIB", &top.join("src")),
        ];
        let found = folders.own_variables(&given, inherited);
        let expected =
            [variable("NODE_PATH", &own.join("src")), variable("RUBYLIB", &own.join("lib"))];
        assert_eq!(found.all, BTreeMap::from(expected));
        assert_eq!(found.inherited, BTreeSet::from(["NODE_PATH".to_string()]));
    }
}
