//! Which Node.js app stands in a folder, and the file it starts from. Only looks at texts: nothing
//! of the app is run.

use std::path::Path;

use serde_json::Value;

use super::app_error::{AppError, read};
use crate::server::{App, Framework, Variables};

pub const PACKAGE: &str = "package.json";

/// Programs that have Node run an app in several processes.
pub const PM2: [&str; 2] = ["pm2", "pm2-runtime"];

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

/// The endings of files that Node runs; TypeScript from version 22.18 on.
const ENDINGS: [&str; 6] = [".js", ".mjs", ".cjs", ".ts", ".mts", ".cts"];

/// The scripts of a package that start it, the first that there is.
const SCRIPTS: [&str; 2] = ["start", "start:prod"];

/// What may stand before `node` in a script, beside variables.
const BEFORE: [&str; 3] = ["cross-env", "env", "exec"];

/// The Node.js app of this folder, `None` when there is none.
///
/// # Errors
/// There is one, and the file it starts from is not to be seen, or not there.
pub fn recognise(folder: &Path) -> Result<Option<App>, AppError> {
    let file = folder.join(PACKAGE);
    let package = package(folder)?;
    let main = package["main"].as_str();
    // The first that names a file which is not there.
    let mut missing = None;
    for script in scripts_of(&package) {
        let Some(it) = started(script) else { continue };
        // Of a folder its package says which file that is.
        let is_folder = matches!(&*it.module, "." | "./");
        let module = if is_folder { main.unwrap_or(".") } else { &*it.module };
        // As Node has it where that file is not there.
        let index = || file_of(folder, ".").filter(|_| is_folder);
        if let Some(entry) = file_of(folder, module).or_else(index) {
            let (start_flags, start_arguments, start_env) = (it.flags, it.arguments, it.env);
            let app = App { start_flags, start_arguments, start_env, ..app(folder, &entry) };
            return Ok(Some(app));
        }
        // A folder may have a package of its own, and `cd` may have led elsewhere.
        let is_below = is_path(module) && !script.split_whitespace().any(|word| word == "cd");
        let is_missing = is_below && !folder.join(module).exists();
        missing = missing.or(is_missing.then(|| module.to_string()));
    }
    // Whatever else lies there is not what it starts.
    if let Some(module) = missing {
        return Err(AppError::NotBuilt { package: file, module });
    }
    let is_there = |entry: &&str| folder.join(entry).is_file();
    // A page of a site may be it too.
    let may_run = |file: &String| is_entry(file) || Path::new(file).extension().is_none();
    let main = main.and_then(|module| file_of(folder, module)).filter(may_run);
    let found = main.or_else(|| FILES.into_iter().find(is_there).map(str::to_string));
    match (found, file.is_file()) {
        (Some(entry), _) => Ok(Some(app(folder, &entry))),
        (None, true) => {
            Err(AppError::NoEntry { evidence: file, kind: "Node.js", example: "--entry server.js" })
        }
        (None, false) => Ok(None),
    }
}

/// What the package of this folder says; nothing where there is none, or it is no JSON.
fn package(folder: &Path) -> Result<Value, AppError> {
    let file = folder.join(PACKAGE);
    match file.is_file() {
        true => Ok(serde_json::from_str(&read(&file)?).unwrap_or_default()),
        false => Ok(Value::Null),
    }
}

fn scripts_of(package: &Value) -> impl Iterator<Item = &str> {
    SCRIPTS.iter().filter_map(move |name| package["scripts"][*name].as_str())
}

/// The scripts by which the package of this folder starts its app; none where it cannot be read.
pub fn scripts(folder: &Path) -> Vec<String> {
    let package = package(folder).unwrap_or_default();
    scripts_of(&package).map(str::to_string).collect()
}

/// Is this a file's name below the folder, and nothing that is evaluated or the shell's to fill in?
fn is_path(module: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || "._-/@".contains(c);
    let is_below = !module.starts_with('/') && module.chars().all(is_part);
    is_below && (module.contains('/') || is_entry(module))
}

/// The file that Node runs of a module's name, as it looks for it: `bin/www`, `dist/main` for
/// `dist/main.js`, a folder for its `index.js`.
fn file_of(folder: &Path, module: &str) -> Option<String> {
    let named =
        ["", ".js", "/index.js"].map(|end| format!("{}{end}", module.trim_end_matches('/')));
    named.into_iter().find(|file| folder.join(file).is_file())
}

/// Is this a file that Node runs?
pub fn is_entry(entry: &str) -> bool {
    ENDINGS.iter().any(|ending| entry.ends_with(ending))
}

/// The app that starts from this file.
pub fn app(folder: &Path, entry: &str) -> App {
    App::new(folder, Framework::Node, entry.trim_start_matches("./"))
}

/// The parts of `A=1 node --flag=1 server.js argument`.
struct Started {
    env: Variables,
    flags: Vec<String>,
    module: String,
    arguments: Vec<String>,
}

/// Variables that a measurement has a value of its own for.
const OF_MEASUREMENT: [&str; 3] = ["PORT", "WEB_CONCURRENCY", "NODE_ENV"];

/// The variable that has more of node's flags.
const FLAGS: &str = "NODE_OPTIONS";

/// Flags of node's behind which their value stands.
const WITH_VALUE: [&str; 10] = [
    "-r",
    "--require",
    "--import",
    "--loader",
    "--experimental-loader",
    "-C",
    "--conditions",
    "--env-file",
    "--env-file-if-exists",
    "--watch-path",
];

/// Flags for those who develop it: another process would be the app's.
const OF_DEVELOPMENT: [&str; 2] = ["--watch", "--inspect"];

/// What the first command of a script that runs node, or has pm2 run it, runs, unless that is a
/// tool; what is the shell's to fill in is left out.
fn started(script: &str) -> Option<Started> {
    script.split([';', '&', '|']).find_map(|command| {
        let words = shlex::split(command)?;
        let is_before = |word: &&str| word.contains('=') || BEFORE.contains(word);
        let mut words = words.iter().map(String::as_str).peekable();
        let env = std::iter::from_fn(|| words.next_if(is_before)).filter_map(variable).collect();
        let program = words.next()?;
        // Another interpreter of pm2's is not Node.
        let is_node = !words.clone().any(|word| word.starts_with("--interpreter"));
        if PM2.contains(&program) && is_node {
            let module = words.find(|word| is_entry(word) && !word.contains(".config."))?;
            let arguments = arguments(words.skip_while(|word| *word != "--").skip(1));
            return Some(Started { env, flags: Vec::new(), module: module.to_string(), arguments });
        }
        if program != "node" {
            return None;
        }
        let mut flags = Vec::new();
        while let Some(word) = words.next() {
            if !word.starts_with('-') {
                let (module, arguments) = (word.to_string(), arguments(words));
                let is_tool = module.contains("node_modules/");
                return (!is_tool).then_some(Started { env, flags, module, arguments });
            }
            let value = if WITH_VALUE.contains(&word) { words.next() } else { None };
            let all = [Some(word), value].into_iter().flatten();
            if !is_of_development(word) && all.clone().all(|it| !it.contains('$')) {
                flags.extend(all.map(str::to_string));
            }
        }
        None
    })
}

fn is_of_development(flag: &str) -> bool {
    OF_DEVELOPMENT.iter().any(|start| flag.starts_with(start))
}

/// Name and value of `A=1`, where a measurement can keep it.
fn variable(word: &str) -> Option<(String, String)> {
    let (name, value) = word.split_once('=')?;
    let has_debugger = name == FLAGS && value.split(' ').any(is_of_development);
    let is_plain = !value.contains(['$', '`']);
    let is_kept = is_plain && !has_debugger && !OF_MEASUREMENT.contains(&name);
    is_kept.then(|| (name.to_string(), value.to_string()))
}

/// The app's own arguments, up to where the shell is told where its output goes; a flag goes with
/// the value that is left out.
fn arguments<'a>(words: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut arguments: Vec<String> = Vec::new();
    for word in words.take_while(|word| !word.contains(['<', '>'])) {
        if !word.contains(['$', '`']) {
            arguments.push(word.to_string());
        } else if arguments.last().is_some_and(|it| it.starts_with('-') && !it.contains('=')) {
            arguments.pop();
        }
    }
    arguments
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// The app with these files.
    fn app_of(files: &[(&str, &str)]) -> Result<Option<App>, AppError> {
        let folder = tempfile::tempdir().unwrap();
        for (name, content) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        recognise(folder.path())
    }

    /// Entry and flags of the app with these files.
    fn found(files: &[(&str, &str)]) -> Result<Option<(String, String)>, AppError> {
        Ok(app_of(files)?.map(|app| (app.entry, app.start_flags.join(" "))))
    }

    fn start(command: &str) -> String {
        format!("{{\"scripts\":{{\"start\":\"{command}\"}}}}")
    }

    #[test]
    fn an_app_starts_where_its_package_says_or_where_most_do() {
        for (package, file, flags) in [
            (start("node bin/www.js"), "bin/www.js", ""),
            (start("NODE_ENV=x node ./bin/www"), "bin/www.js", ""),
            (start("node -r dotenv/config a.js"), "a.js", "-r dotenv/config"),
            (start("cross-env A=1 node --env-file=.env src/a.ts"), "src/a.ts", "--env-file=.env"),
            (start("npm run build && exec node dist/main"), "dist/main.js", ""),
            (start("node ."), "./index.js", ""),
            (
                start("node --env-file .env -r 'dotenv/config' a.js"),
                "a.js",
                "--env-file .env -r dotenv/config",
            ),
            (start("node --watch --max-old-space-size=$MB src/a.js"), "src/a.js", ""),
            (start("node node_modules/next/dist/bin/next start"), "server.js", ""),
            ("{\"main\":\"index.html\"}".into(), "app.js", ""),
            ("{\"main\":\"lib/a.js\",\"scripts\":{\"start\":\"node .\"}}".into(), "lib/a.js", ""),
            (start("next start"), "server.js", ""),
            (
                "{\"scripts\":{\"start\":\"nest start\",\"start:prod\":\"node dist/main\"}}".into(),
                "dist/main.js",
                "",
            ),
            (start("pm2-runtime start src/main.js -i 4 -- serve"), "src/main.js", ""),
            (start("pm2 start ecosystem.config.js"), "server.js", ""),
            (start("pm2 start gone.ts --interpreter ts-node"), "server.js", ""),
            (start("cd gone && node main.js"), "server.js", ""),
            (start("cd web && npm run build && cd .. && node a.js"), "a.js", ""),
            (start("node -e 'require(\\\"./gone.js\\\")'"), "server.js", ""),
            ("{\"main\":\"lib/main.js\"}".into(), "lib/main.js", ""),
            ("{\"main\":\"lib\"}".into(), "lib/index.js", ""),
            ("no json".into(), "index.js", ""),
        ] {
            let files = [("package.json", package.as_str()), (file, "")];
            let expected = (file.trim_start_matches("./").to_string(), flags.to_string());
            assert_eq!(found(&files).unwrap(), Some(expected), "{package}");
        }
        // As Express's generator has it, beside an app.js that doesn't listen.
        let package = start("node ./bin/www");
        let express = found(&[("package.json", &package), ("bin/www", ""), ("app.js", "")]);
        assert_eq!(express.unwrap(), Some(("bin/www".into(), String::new())));
        let plain = found(&[("app.js", "")]).unwrap();
        assert_eq!(plain, Some(("app.js".into(), String::new())));
        assert_eq!(found(&[]).unwrap(), None);
    }

    #[test]
    fn variables_and_arguments_are_kept_but_for_those_that_the_shell_fills_in() {
        for (command, env, arguments) in [
            ("NODE_PATH=dist NODE_ENV=x PORT=3 node a.js", "NODE_PATH=dist", ""),
            (
                "NODE_OPTIONS=--max-old-space-size=4096 node a.js serve --quiet",
                "NODE_OPTIONS=--max-old-space-size=4096",
                "serve --quiet",
            ),
            (
                "cross-env A='b c' B=$B node a.js serve --port $PORT --host=$HOST -v > log 2>&1",
                "A=b c",
                "serve -v",
            ),
            ("NODE_OPTIONS='-r ./a --inspect' node a.js", "", ""),
            ("A=1 npm run build && node a.js serve", "", "serve"),
        ] {
            let app = app_of(&[("package.json", &start(command)), ("a.js", "")]).unwrap().unwrap();
            let kept: Vec<String> =
                app.start_env.iter().map(|(name, value)| format!("{name}={value}")).collect();
            let both = (kept.join(" "), app.start_arguments.join(" "));
            assert_eq!(both, (env.to_string(), arguments.to_string()), "{command}");
        }
    }

    #[test]
    fn what_a_script_starts_and_is_not_there_is_not_replaced_by_something_else() {
        let package = start("node --enable-source-maps dist/main");
        let files = [("package.json", package.as_str()), ("src/index.js", ""), ("app.js", "")];
        let error = found(&files).unwrap_err().to_string();
        assert!(error.contains("package.json starts dist/main, which is not there"), "{error}");
        assert!(error.contains("`npm run build`"), "{error}");
        let main = "{\"main\":\"dist/a.js\",\"scripts\":{\"start\":\"node .\"}}";
        let error = found(&[("package.json", main), ("app.js", "")]).unwrap_err().to_string();
        assert!(error.contains("starts dist/a.js, which"), "{error}");
        // What Node would start all the same.
        let entry = |files: &[(&str, &str)]| found(files).unwrap().unwrap().0;
        assert_eq!(entry(&[("package.json", main), ("index.js", "")]), "index.js");
        let below = start("node ./api");
        let files = [("package.json", below.as_str()), ("api/package.json", "{}"), ("app.js", "")];
        assert_eq!(entry(&files), "app.js");
    }

    #[test]
    fn what_cannot_be_told_is_asked_for() {
        let package = ("package.json", "{\"main\":\"gone.js\",\"scripts\":{\"start\":\"vite\"}}");
        let error = found(&[package]).unwrap_err().to_string();
        assert!(error.contains("looks like a Node.js app"), "{error}");
        assert!(error.contains("--entry server.js"), "{error}");
    }
}
