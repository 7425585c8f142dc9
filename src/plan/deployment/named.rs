//! Files and folders of the app's that its commands name, and Python's modules below them.
//!
//! In: the app's folder, and words. Out: paths below it. Only looks.

use std::path::{Component, Path, PathBuf};

/// The app's file that is meant, relative to its folder. An image has the app in a folder of its
/// own: `/rails/bin/start` is the app's `bin/start`.
pub fn in_app(folder: &Path, word: &str) -> Option<PathBuf> {
    ends(word).into_iter().find(|end| folder.join(end).is_file())
}

/// The app's folders that may be meant, relative to its own, the likeliest first: of an image's
/// `/app/src` its own, `app/src` and `src`.
pub fn folders(folder: &Path, word: &str) -> Vec<PathBuf> {
    let path = Path::new(word);
    let leads_out = path.components().any(|part| part == Component::ParentDir);
    let own = path.is_absolute().then(PathBuf::new);
    let below = ends(word).into_iter().take(if own.is_some() { usize::MAX } else { 1 });
    let all = own.into_iter().chain(below).filter(|it| !leads_out && folder.join(it).is_dir());
    all.collect()
}

/// The app's folder that is meant: the first of those that may be which has this module, else the
/// first.
pub fn folder_with(folder: &Path, word: &str, module: &str) -> Option<PathBuf> {
    let all = folders(folder, word);
    let has_it = |it: &&PathBuf| module_file(&folder.join(it), module).is_some();
    all.iter().find(has_it).or(all.first()).cloned()
}

/// The file of a module below a folder that is on Python's path.
pub fn module_file(folder: &Path, module: &str) -> Option<PathBuf> {
    let path = module.replace('.', "/");
    let files = [format!("{path}.py"), format!("{path}/__init__.py")].map(|it| folder.join(it));
    files.into_iter().find(|file| file.is_file())
}

/// The names of a path, all of them first, then without the first of them, and so on.
fn ends(word: &str) -> Vec<PathBuf> {
    let is_name = |part: &Component<'_>| matches!(part, Component::Normal(_));
    let names: Vec<_> = Path::new(word).components().filter(is_name).collect();
    (0..names.len()).map(|from| names[from..].iter().collect()).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn an_images_folder_is_the_one_of_the_apps_that_has_the_module() {
        let app = tempfile::tempdir().unwrap();
        for file in ["main.py", "app/shop/__init__.py", "src/api.py", "lib/tools.py"] {
            let path = app.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        for (word, module, expected) in [
            ("src", "api", Some("src")),
            ("./src/", "elsewhere", Some("src")),
            ("gone", "api", None),
            ("../src", "api", None),
            (".", "main", None),
            ("/srv/shop/src", "api", Some("src")),
            // An image's own folder, which is called like one of the app's.
            ("/app", "main", Some("")),
            ("/app", "shop", Some("app")),
            ("/app", "elsewhere", Some("")),
        ] {
            let found = folder_with(app.path(), word, module);
            assert_eq!(found, expected.map(PathBuf::from), "{word} {module}");
        }
    }
}
