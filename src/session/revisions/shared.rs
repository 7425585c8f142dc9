//! What revisions that have links to the working folder's ignored folders would run of it in place
//! of their own: what was built there, and packages that lead back to the app's own code.
//!
//! In: the links, and an app. Out: paths below the working folder. Reads which files are there, and
//! changes nothing.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, DirEntry};
use std::path::{Path, PathBuf};

use super::variables::{Folders, GIT};
use crate::server::App;

/// What is built of the app's code, as most tools call it, and what keeps frameworks from reading
/// that code. An app may be built elsewhere too: then it is started from there, which is seen.
const BUILT: [&str; 7] =
    [".next", ".nuxt", ".output", "bootstrap/cache/config.php", "build", "dist", "var/cache"];

/// Folders of packages: an app is started by programs in there.
const PACKAGES: [&str; 2] = ["node_modules", "vendor"];

/// The file that makes a folder a virtual environment of Python's.
const ENVIRONMENT: &str = "pyvenv.cfg";

/// How the files begin with which Python finds packages that are installed where they lie.
const EDITABLE: &str = "__editable__";

/// What the app is started from, below the working folder, where a revision has not its own: both
/// would run the same. It is the first of the command's words that leads to something of the app's;
/// what stands behind it is what that is given, such as data.
pub fn start(app: &App, folders: Folders<'_>) -> Option<PathBuf> {
    let own = folders.own.canonicalize().ok()?;
    let entry = app.command.is_none().then_some(&app.entry);
    let words = entry.into_iter().chain(app.command.iter().flat_map(|it| &it.words));
    let found = words.enumerate().find_map(|(index, word)| {
        let at = app.folder.join(word).canonicalize().ok()?;
        if at.starts_with(&own) {
            return Some(None);
        }
        let below = at.strip_prefix(folders.top).ok()?;
        let is_ignored = folders.ignored.iter().any(|it| it == below);
        // Behind the program such a file may be one of settings.
        let is_setting = index > 0 && is_ignored && at.is_file();
        (!is_setting && !is_package(below, folders.top)).then(|| Some(below.to_path_buf()))
    });
    found.flatten()
}

fn is_package(below: &Path, top: &Path) -> bool {
    let is_named = |part: &OsStr| PACKAGES.iter().any(|name| part == OsStr::new(name));
    below.iter().any(is_named)
        || below.ancestors().any(|folder| top.join(folder).join(ENVIRONMENT).is_file())
}

/// By which of these links, or of what is in there, both revisions may come to run the working
/// folder's code. `app`: the app's folder below the working folder.
pub fn code(folders: Folders<'_>, app: &Path, linked: &BTreeSet<PathBuf>) -> BTreeSet<PathBuf> {
    let of = |path: &PathBuf| {
        let built = BUILT.iter().filter_map(|name| built(path, name, app, folders.top));
        built.chain(leading_back(path, folders)).collect::<Vec<_>>()
    };
    linked.iter().flat_map(of).collect()
}

/// The link itself, or what the app's folder has of this name in there.
fn built(linked: &Path, name: &str, app: &Path, top: &Path) -> Option<PathBuf> {
    if linked.ends_with(name) {
        return Some(linked.to_path_buf());
    }
    let inside = app.join(name);
    (inside.starts_with(linked) && top.join(&inside).exists()).then_some(inside)
}

/// Packages in a linked folder that lie among the app's own code: those of a workspace are links,
/// which npm keeps a folder deeper where they have a scope; Python's stand in files.
fn leading_back(linked: &Path, folders: Folders<'_>) -> Vec<PathBuf> {
    let top = folders.top;
    let at = top.join(linked);
    let is_scope = |entry: &DirEntry| entry.file_name().as_encoded_bytes().starts_with(b"@");
    let (scopes, packages): (Vec<_>, Vec<_>) = inside(&at).into_iter().partition(is_scope);
    let scoped = scopes.iter().flat_map(|scope| inside(&scope.path()));
    let is_link = |entry: &DirEntry| entry.file_type().is_ok_and(|kind| kind.is_symlink());
    let links = packages.into_iter().chain(scoped).filter(is_link).map(|entry| entry.path());
    let links = links.filter(|link| is_own_code(link, folders));
    // A virtual environment may have ignored itself: then each of its folders is linked.
    let library = if linked.ends_with("lib") { at } else { at.join("lib") };
    let versions = inside(&library).into_iter().map(|it| it.path().join("site-packages"));
    let files = versions.flat_map(|packages| inside(&packages)).map(|entry| entry.path());
    let files = files.filter(|file| names_own_code(file, folders));
    let below = |path: PathBuf| path.strip_prefix(top).map(Path::to_path_buf).ok();
    links.chain(files).filter_map(below).collect()
}

fn inside(folder: &Path) -> Vec<DirEntry> {
    fs::read_dir(folder).into_iter().flatten().flatten().collect()
}

/// Does this lie in the working folder, and not where git is told to ignore it?
fn is_own_code(path: &Path, folders: Folders<'_>) -> bool {
    let Ok(whole) = path.canonicalize() else { return false };
    let is_ignored = |below: &Path| folders.ignored.iter().any(|it| below.starts_with(it));
    let below = whole.strip_prefix(folders.top);
    below.is_ok_and(|below| !below.starts_with(GIT) && !is_ignored(below))
}

/// Does this file lead Python to such a path? It is a line of its own, or stands between quotes.
fn names_own_code(file: &Path, folders: Folders<'_>) -> bool {
    let name = file.file_name().unwrap_or_default().as_encoded_bytes();
    let is_asked =
        file.extension() == Some(OsStr::new("pth")) || name.starts_with(EDITABLE.as_bytes());
    let Some(packages) = file.parent().filter(|_| is_asked) else { return false };
    let text = fs::read_to_string(file).unwrap_or_default();
    let mut parts = text.split(['\n', '\'', '"']).map(str::trim);
    parts.any(|part| is_own_code(&packages.join(part), folders))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use tempfile::TempDir;

    use super::*;
    use crate::server::Framework;
    use crate::server::command::{CommandTemplate, Runs};
    use crate::terms::Configuration;

    const IGNORED: [&str; 7] =
        [".venv", "dist", "local.yml", "node_modules", "shop", "var", "vendor/acme"];

    /// A working folder `app`, the folder `own` of a revision with links to what is ignored there,
    /// and what is linked.
    fn made() -> (TempDir, PathBuf, BTreeSet<PathBuf>) {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().canonicalize().unwrap();
        for file in [
            "app/.venv/bin/gunicorn",
            "app/.venv/lib/python3.12/site-packages/other.pth",
            "app/.venv/pyvenv.cfg",
            "app/dist/server.js",
            "app/local.yml",
            "app/node_modules/.bin/next",
            "app/node_modules/express/index.js",
            "app/packages/lib/index.js",
            "app/shop",
            "app/src/shop.py",
            "app/var/cache/container.php",
            "app/vendor/acme/package.php",
            "own/server.js",
        ] {
            let path = at.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        for path in IGNORED.map(|path| (at.join("app").join(path), at.join("own").join(path))) {
            fs::create_dir_all(path.1.parent().unwrap()).unwrap();
            symlink(path.0, path.1).unwrap();
        }
        (folder, at, IGNORED.map(PathBuf::from).into())
    }

    /// Asks with the folders of [`made`].
    fn with<T>(at: &Path, ask: impl FnOnce(Folders<'_>) -> T) -> T {
        let (top, own, ignored) = (at.join("app"), at.join("own"), IGNORED.map(PathBuf::from));
        ask(Folders { top: &top, own: &own, ignored: &ignored })
    }

    #[test]
    fn an_app_that_starts_from_what_was_built_in_the_working_folder_is_found() {
        let (_folder, at, _) = made();
        let app = |entry: &str| App::new(at.join("own"), Framework::Node, entry);
        let command = |text: &str| {
            let words = text.split(' ').map(str::to_string).collect();
            let today = Configuration::new(1, 1).unwrap();
            let (text, stop_signal, runs) = (text.to_string(), 15, Runs::Server);
            let command = CommandTemplate { text, words, stop_signal, today, runs };
            App { command: Some(command), ..app("") }
        };
        let absolute = format!("node {}/app/packages/lib/index.js", at.display());
        for (app, expected) in [
            (app("server.js"), None),
            (app("shop.wsgi:application"), None),
            (app("dist/server.js"), Some("dist/server.js")),
            (command("node server.js --config local.yml"), None),
            (command("node server.js dist/server.js"), None),
            (command("node --require local.yml dist/server.js"), Some("dist/server.js")),
            (command("node dist"), Some("dist")),
            (command(".venv/bin/gunicorn shop:app"), None),
            (command("node_modules/.bin/next start"), None),
            (command("./shop --config local.yml"), Some("shop")),
            (command("node dist/server.js"), Some("dist/server.js")),
            (command(&absolute), Some("packages/lib/index.js")),
        ] {
            let found = with(&at, |folders| start(&app, folders));
            assert_eq!(found.as_deref(), expected.map(Path::new), "{app:?}");
        }
    }

    #[test]
    fn links_of_packages_and_files_of_pythons_that_lead_back_are_found_and_others_are_not() {
        let (_folder, at, linked) = made();
        let packages = at.join("app/.venv/lib/python3.12/site-packages");
        let found = || with(&at, |folders| code(folders, Path::new(""), &linked));
        let built = ["dist", "var/cache"].map(PathBuf::from);
        assert_eq!(found(), BTreeSet::from(built.clone()));
        for (link, to) in [
            ("node_modules/lib", "../packages/lib"),
            ("node_modules/other", "express"),
            ("vendor/acme/lib", "../../packages/lib"),
            (".venv/lib64", "lib"),
        ] {
            symlink(to, at.join("app").join(link)).unwrap();
        }
        fs::create_dir(at.join("app/node_modules/@shop")).unwrap();
        symlink("../../packages/lib", at.join("app/node_modules/@shop/lib")).unwrap();
        for (file, text) in [
            ("shop.pth", format!("{}/app/src\n", at.display())),
            ("elsewhere.pth", "import os\n/usr/lib\n".to_string()),
            ("__editable___shop_finder.py", format!("M = {{'a': '{}/app/src'}}\n", at.display())),
            ("settings.py", format!("'{}/app/src'\n", at.display())),
        ] {
            fs::write(packages.join(file), text).unwrap();
        }
        let back = [
            ".venv/lib/python3.12/site-packages/__editable___shop_finder.py",
            ".venv/lib/python3.12/site-packages/shop.pth",
            "node_modules/@shop/lib",
            "node_modules/lib",
            "vendor/acme/lib",
        ];
        let expected = back.map(PathBuf::from).into_iter().chain(built);
        assert_eq!(found(), expected.collect::<BTreeSet<_>>());
        let apart = BTreeSet::from([".venv/bin", ".venv/lib"].map(PathBuf::from));
        let found = with(&at, |folders| code(folders, Path::new(""), &apart));
        assert_eq!(found, BTreeSet::from([back[0], back[1]].map(PathBuf::from)));
    }
}
