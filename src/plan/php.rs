//! What stands in a folder is a PHP app when there is a page that everything goes through. Only
//! looks.

use std::path::Path;

use crate::server::{App, Framework};

/// The page that answers for all others.
const FRONT: &str = "index.php";

/// The folder with an app's pages, below its own: what nearly all frameworks call it, then the
/// names that some have; a site without a framework is all pages.
const PAGES: [&str; 5] = ["public", "web", "webroot", "pub", "."];

/// The PHP app in this very folder; `None`: there is none.
pub fn recognise(folder: &Path) -> Option<App> {
    let pages = PAGES.iter().find(|pages| folder.join(pages).join(FRONT).is_file())?;
    Some(App::new(folder, Framework::Php, pages))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_folder_with_the_front_page_is_found_and_the_frameworks_come_first() {
        for (files, expected) in [
            (vec!["index.php"], Some(".")),
            (vec!["public/index.php", "composer.json"], Some("public")),
            (vec!["public/index.php", "index.php"], Some("public")),
            (vec!["web/index.php"], Some("web")),
            (vec!["composer.json", "src/index.php"], None),
            (vec!["index.html"], None),
        ] {
            let folder = tempfile::tempdir().unwrap();
            for file in &files {
                let path = folder.path().join(file);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, "").unwrap();
            }
            let app = recognise(folder.path());
            assert_eq!(app.as_ref().map(|app| app.entry.as_str()), expected, "{files:?}");
            assert!(app.is_none_or(|app| app.framework == Framework::Php && !app.is_bundled));
        }
    }
}
