//! Which Node.js app stands in a folder, and the file it starts from. Only looks at texts: nothing
//! of the app is run.

use std::path::Path;

use serde_json::Value;

use super::app_error::{AppError, read};
use crate::server::{App, Framework};

const PACKAGE: &str = "package.json";

/// Where an app is looked for that does not say where it starts.
const FILES: [&str; 9] = [
    "server.js",
    "app.js",
    "index.js",
    "server.mjs",
    "app.mjs",
    "index.mjs",
    "src/server.js",
    "src/app.js",
    "src/index.js",
];

/// The endings of files that Node runs.
const ENDINGS: [&str; 3] = [".js", ".mjs", ".cjs"];

/// The Node.js app of this folder, `None` when there is none.
///
/// # Errors
/// There is one, and the file it starts from is not to be seen.
pub fn recognise(folder: &Path) -> Result<Option<App>, AppError> {
    let file = folder.join(PACKAGE);
    let package: Value = match file.is_file() {
        true => serde_json::from_str(&read(&file)?).unwrap_or_default(),
        false => Value::Null,
    };
    let is_there = |entry: &&str| folder.join(entry).is_file();
    let started = package["scripts"]["start"].as_str().and_then(started);
    if let Some((flags, entry)) = started.filter(|(_, entry)| is_there(&entry.as_str())) {
        return Ok(Some(app(folder, &entry, &flags)));
    }
    let main = package["main"].as_str().filter(is_there).filter(|entry| is_entry(entry));
    let found = main.or_else(|| FILES.into_iter().find(is_there));
    match (found, file.is_file()) {
        (Some(entry), _) => Ok(Some(app(folder, entry, ""))),
        (None, true) => {
            Err(AppError::NoEntry { evidence: file, kind: "Node.js", example: "--entry server.js" })
        }
        (None, false) => Ok(None),
    }
}

/// Is this a file that Node runs?
pub fn is_entry(entry: &str) -> bool {
    ENDINGS.iter().any(|ending| entry.ends_with(ending))
}

/// The app that starts from this file.
pub fn app(folder: &Path, entry: &str, flags: &str) -> App {
    let entry = entry.trim_start_matches("./");
    let mut app = App::new(folder, Framework::Node, entry);
    if !flags.is_empty() {
        app.env.insert("NODE_OPTIONS".into(), flags.to_string());
    }
    app
}

/// Flags and file of `node --flag=1 server.js`; with variables before it, which are left out.
fn started(command: &str) -> Option<(String, String)> {
    let mut words = command.split_whitespace().skip_while(|word| word.contains('='));
    if words.next()? != "node" {
        return None;
    }
    let mut flags = Vec::new();
    while let Some(word) = words.next() {
        if !word.starts_with('-') {
            let entry = if is_entry(word) { word.to_string() } else { format!("{word}.js") };
            return Some((flags.join(" "), entry));
        }
        flags.push(word);
        if matches!(word, "-r" | "--require" | "--import" | "--loader") {
            flags.extend(words.next());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Entry and flags of the app with these files.
    fn found(files: &[(&str, &str)]) -> Result<Option<(String, Option<String>)>, AppError> {
        let folder = tempfile::tempdir().unwrap();
        for (name, content) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        let app = recognise(folder.path())?;
        Ok(app.map(|app| (app.entry, app.env.get("NODE_OPTIONS").cloned())))
    }

    #[test]
    fn an_app_starts_where_its_package_says_or_where_most_do() {
        let start = |command: &str| format!("{{\"scripts\":{{\"start\":\"{command}\"}}}}");
        for (package, file, flags) in [
            (start("node bin/www.js"), "bin/www.js", None),
            (start("NODE_ENV=x node ./bin/www"), "bin/www.js", None),
            (start("node -r dotenv/config a.js"), "a.js", Some("-r dotenv/config")),
            (start("next start"), "server.js", None),
            ("{\"main\":\"lib/main.js\"}".into(), "lib/main.js", None),
            ("no json".into(), "index.js", None),
        ] {
            let files = [("package.json", package.as_str()), (file, "")];
            let expected = (file.to_string(), flags.map(String::from));
            assert_eq!(found(&files).unwrap(), Some(expected), "{package}");
        }
        let plain = found(&[("app.js", "")]).unwrap();
        assert_eq!(plain, Some(("app.js".into(), None)));
        assert_eq!(found(&[]).unwrap(), None);
    }

    #[test]
    fn what_cannot_be_told_is_asked_for() {
        let package = ("package.json", "{\"main\":\"gone.js\",\"scripts\":{\"start\":\"vite\"}}");
        let error = found(&[package]).unwrap_err().to_string();
        assert!(error.contains("looks like a Node.js app"), "{error}");
        assert!(error.contains("--entry server.js"), "{error}");
    }
}
