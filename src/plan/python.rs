//! Which Python app stands in a folder, and what its server has to be told to run. Only looks at
//! texts: nothing of the app is loaded.

use std::fs;
use std::path::{Path, PathBuf};

use super::app_error::{AppError, read};
use super::deployment::{Deployment, folders, module_file};
use crate::server::{App, Framework, assigned_in_python as assigned};

/// gunicorn's own file, where it looks for it, and the setting that names the app.
const OWN_FILE: &str = "gunicorn.conf.py";
const OWN_ENTRY: &str = "wsgi_app";

/// Modules in which an app that is made by a framework is looked for.
const MODULES: [&str; 10] = [
    "app.py",
    "main.py",
    "application.py",
    "server.py",
    "run.py",
    "api.py",
    "app/main.py",
    "app/__init__.py",
    "src/main.py",
    "src/app.py",
];

/// What makes an app, and which kind it is.
const MAKERS: [(&str, Framework); 11] = [
    ("Flask(", Framework::Wsgi),
    ("Bottle(", Framework::Wsgi),
    ("default_app(", Framework::Wsgi),
    ("get_wsgi_application(", Framework::Wsgi),
    ("falcon.App(", Framework::Wsgi),
    ("make_wsgi_app(", Framework::Wsgi),
    ("FastAPI(", Framework::Asgi),
    ("Starlette(", Framework::Asgi),
    ("Quart(", Framework::Asgi),
    ("Litestar(", Framework::Asgi),
    ("get_asgi_application(", Framework::Asgi),
];

/// Files that say that it is a Python app, whatever its framework.
const EVIDENCE: [&str; 6] =
    ["manage.py", "requirements.txt", "pyproject.toml", "Pipfile", "setup.py", "poetry.lock"];

/// A module's app: `shop.wsgi:application`, and its kind.
type Found = (String, Framework);

/// The Python app of this folder, `None` when there is none. `wanted`: the kinds of app that the
/// server runs, where the user has named one.
///
/// # Errors
/// There is one, and what the server should run is not to be seen, or there are several of it.
pub fn recognise(folder: &Path, wanted: &[Framework]) -> Result<Option<App>, AppError> {
    if let Some(app) = commanded(folder, wanted)? {
        return Ok(Some(app));
    }
    let (named, is_asgi) = named_by_gunicorn(folder)?;
    let wanted = if is_asgi && wanted.is_empty() { &[Framework::Asgi] } else { wanted };
    let found = match named {
        Some(found) => Some(found),
        None => match django(folder, wanted)? {
            Some(found) => Some(found),
            None => match gateway(folder, wanted)? {
                Some(found) => Some(found),
                None => made(folder)?,
            },
        },
    };
    if let Some((entry, framework)) = found {
        return Ok(Some(App::new(folder, framework, &entry)));
    }
    match EVIDENCE.iter().find(|file| folder.join(file).is_file()) {
        Some(file) => Err(AppError::NoEntry {
            evidence: folder.join(file),
            kind: "Python",
            example: "--entry shop.wsgi:application",
        }),
        None => Ok(None),
    }
}

/// Servers that are told on the command line what they run.
const SERVERS: [&str; 5] = ["gunicorn", "uvicorn", "hypercorn", "daphne", "granian"];

/// Those of them that run ASGI unless the module shows something else.
const OF_ASGI: [&str; 3] = ["uvicorn", "hypercorn", "daphne"];

/// Their flags that name folders in which modules are, and the one that names where these begin.
const FOLDERS: [&str; 2] = ["--app-dir", "--pythonpath"];
const CHDIR: [&str; 1] = ["--chdir"];

/// Where the app's modules may be: in the folders that a command names, or in its own.
fn places(folder: &Path, deployment: &Deployment) -> Vec<PathBuf> {
    let mut own = named(deployment, &CHDIR, folder);
    own.push(folder.to_path_buf());
    let below = own.iter().flat_map(|from| named(deployment, &FOLDERS, from));
    below.chain(own.iter().cloned()).collect()
}

/// The folders below this one that a command may mean by these flags.
fn named(deployment: &Deployment, flags: &[&str], from: &Path) -> Vec<PathBuf> {
    let values = deployment.values_of(&SERVERS, flags);
    let words = values.iter().flat_map(|value| value.split(','));
    words.flat_map(|word| folders(from, word)).map(|below| from.join(below)).collect()
}

/// What the command that deploys the app has its server run, where that module is there.
fn commanded(folder: &Path, wanted: &[Framework]) -> Result<Option<App>, AppError> {
    let deployment = Deployment::read(folder);
    let places = places(folder, &deployment);
    let is_there = |module: &str| places.iter().any(|place| module_file(place, module).is_some());
    let is_module = |word: &str| {
        let (module, _) = word.split_once(':').unwrap_or((word, ""));
        let is_named = word.contains(':') || module.ends_with("wsgi") || module.ends_with("asgi");
        // Arguments of a call may be the shell's to fill in.
        let is_told = !word.contains('$');
        is_named && is_told && is_entry(word) && is_there(module)
    };
    let Some(entry) = deployment.entry_of(&SERVERS, is_module) else { return Ok(None) };
    let is_asgi = deployment.entry_of(&OF_ASGI, is_module).as_ref() == Some(&entry);
    let likely = if is_asgi && wanted.is_empty() { &[Framework::Asgi] } else { wanted };
    let app = entry_in(folder, &places, &entry, likely)?;
    Ok(Some(app).filter(|app| wanted.is_empty() || wanted.contains(&app.framework)))
}

/// The app that the user names: `shop.wsgi:application`.
///
/// # Errors
/// A file that cannot be read.
pub fn with_entry(folder: &Path, entry: &str, wanted: &[Framework]) -> Result<App, AppError> {
    entry_in(folder, &places(folder, &Deployment::read(folder)), entry, wanted)
}

/// The app whose entry is in one of these places.
fn entry_in(
    folder: &Path,
    places: &[PathBuf],
    entry: &str,
    wanted: &[Framework],
) -> Result<App, AppError> {
    let module = entry.split(':').next().unwrap_or_default();
    // One below `src` is installed, and found by its name alone.
    let installed = folder.join("src");
    let mut all = places.iter().chain([&installed]);
    let kind = match all.find_map(|place| module_file(place, module)) {
        Some(file) => kind_in(&read(&file)?),
        // It may be installed elsewhere; the server will say.
        None => None,
    };
    let framework = match (kind, wanted) {
        (Some(kind), _) => kind,
        _ if module.rsplit('.').next() == Some("asgi") => Framework::Asgi,
        (None, [Framework::Asgi, ..]) => Framework::Asgi,
        (None, _) => Framework::Wsgi,
    };
    let entry =
        if entry.contains(':') { entry.to_string() } else { format!("{entry}:application") };
    Ok(App::new(folder, framework, &entry))
}

/// Is this how a Python app is named, rather than a file? `shop.wsgi:application`, `shop.wsgi`.
pub fn is_entry(entry: &str) -> bool {
    let (module, attribute) = entry.split_once(':').unwrap_or((entry, "application"));
    let is_name = |name: &str| {
        name.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_alphanumeric() || c == '_')
    };
    let attribute = attribute.split('(').next().unwrap_or_default();
    module.split('.').all(is_name) && attribute.split('.').all(is_name)
}

/// gunicorn's own file may say it; and whether its workers are uvicorn's, which run ASGI alone.
fn named_by_gunicorn(folder: &Path) -> Result<(Option<Found>, bool), AppError> {
    let file = folder.join(OWN_FILE);
    if !file.is_file() {
        return Ok((None, false));
    }
    let text = read(&file)?;
    let is_asgi = assigned(&text, "worker_class").is_some_and(|kind| kind.contains("uvicorn"));
    let framework = if is_asgi { Framework::Asgi } else { Framework::Wsgi };
    let entry = assigned(&text, OWN_ENTRY).filter(|entry| !entry.is_empty());
    Ok((entry.map(|entry| (entry.to_string(), framework)), is_asgi))
}

/// A Django project: the package that `manage.py` names has `wsgi.py`, `asgi.py` or both.
fn django(folder: &Path, wanted: &[Framework]) -> Result<Option<Found>, AppError> {
    let manage = folder.join("manage.py");
    if !manage.is_file() {
        return Ok(None);
    }
    let text = read(&manage)?;
    let named = text.split("DJANGO_SETTINGS_MODULE").nth(1).and_then(|rest| {
        let quoted = rest.split(['"', '\'']).find(|part| part.contains('.'))?;
        quoted.split('.').next().map(str::to_string)
    });
    let mut packages: Vec<String> = named.into_iter().collect();
    let others = fs::read_dir(folder)
        .map_err(|source| AppError::Unreadable { path: folder.to_path_buf(), source })?
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut others: Vec<String> = others.filter(|name| !packages.contains(name)).collect();
    others.sort();
    packages.extend(others);
    for package in packages {
        let of = |gateway: &str, framework| {
            let file = folder.join(&package).join(format!("{gateway}.py"));
            file.is_file().then(|| (format!("{package}.{gateway}:application"), framework))
        };
        let both = [of("wsgi", Framework::Wsgi), of("asgi", Framework::Asgi)];
        if let Some(found) = preferred(both, wanted) {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// The first of a kind that is wanted, or just the first.
fn preferred(found: [Option<Found>; 2], wanted: &[Framework]) -> Option<Found> {
    let found: Vec<Found> = found.into_iter().flatten().collect();
    let fits = |found: &&Found| wanted.first() == Some(&found.1);
    found.iter().find(fits).or(found.first()).cloned()
}

/// `wsgi.py` or `asgi.py` beside the app: made for a server to run.
fn gateway(folder: &Path, wanted: &[Framework]) -> Result<Option<Found>, AppError> {
    let mut found = [None, None];
    for (place, (module, framework)) in
        found.iter_mut().zip([("wsgi", Framework::Wsgi), ("asgi", Framework::Asgi)])
    {
        let file = folder.join(format!("{module}.py"));
        if file.is_file() {
            let text = read(&file)?;
            let name = ["application", "app"].into_iter().find(|name| has_name(&text, name));
            *place = Some((format!("{module}:{}", name.unwrap_or("application")), framework));
        }
    }
    Ok(preferred(found, wanted))
}

/// Is this name made or imported at the top of the module?
fn has_name(text: &str, name: &str) -> bool {
    let is_name = |word: &str| word.trim() == name;
    text.lines().filter(|line| !line.starts_with([' ', '\t', '#'])).any(|line| {
        if let Some((_, imported)) = line.split_once("import ") {
            return imported.split(',').any(|part| part.rsplit(" as ").next().is_some_and(is_name));
        }
        let defined = ["def ", "async def ", "class "].iter().any(|word| {
            line.strip_prefix(word)
                .is_some_and(|rest| rest.split(['(', ':']).next().is_some_and(is_name))
        });
        let assigned = line
            .split_once('=')
            .is_some_and(|(left, _)| left.split(':').next().is_some_and(is_name));
        defined || assigned
    })
}

/// What a framework makes in one of the usual modules.
fn made(folder: &Path) -> Result<Option<Found>, AppError> {
    let mut found: Vec<Found> = Vec::new();
    for module in MODULES {
        let file = folder.join(module);
        if !file.is_file() {
            continue;
        }
        let name = module.trim_end_matches(".py").trim_end_matches("/__init__").replace('/', ".");
        found.extend(
            made_in(&read(&file)?)
                .map(|(attribute, framework)| (format!("{name}:{attribute}"), framework)),
        );
    }
    match found.len() {
        0 | 1 => Ok(found.pop()),
        _ => Err(AppError::SeveralEntries {
            folder: folder.to_path_buf(),
            entries: found.into_iter().map(|(entry, _)| entry).collect(),
        }),
    }
}

/// A name at the top of the module that holds an app, or else a function that makes one.
fn made_in(text: &str) -> Option<(String, Framework)> {
    let top = text.lines().filter(|line| !line.starts_with([' ', '\t', '#']));
    let assigned = top.clone().find_map(|line| {
        let (left, right) = line.split_once('=')?;
        let name = left.split(':').next()?.trim();
        let framework = maker(right.trim_start())?;
        is_entry(name).then(|| (name.to_string(), framework))
    });
    assigned.or_else(|| {
        let factory = top.clone().find_map(|line| {
            let (name, arguments) = line.strip_prefix("def ")?.split_once('(')?;
            let takes_none = arguments.starts_with(')') || arguments.contains('=');
            (matches!(name, "create_app" | "make_app") && takes_none).then(|| format!("{name}()"))
        })?;
        kind_in(text).map(|framework| (factory, framework))
    })
}

/// `Flask(__name__)`, `flask.Flask(`: the kind of app that this expression makes.
fn maker(expression: &str) -> Option<Framework> {
    let made = MAKERS.iter().find(|(call, _)| {
        let (before, _) = expression.split_once('(').unwrap_or_default();
        let called = format!("{before}(");
        called == *call || called.ends_with(&format!(".{call}"))
    });
    made.map(|(_, framework)| *framework)
}

/// The kind of app that is made somewhere in this text.
fn kind_in(text: &str) -> Option<Framework> {
    MAKERS.iter().find(|(call, _)| text.contains(call)).map(|(_, framework)| *framework)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder_with(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, content) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        folder
    }

    /// Entry and kind of the app with these files.
    fn found(files: &[(&str, &str)], wanted: &[Framework]) -> Option<Found> {
        let app = recognise(folder_with(files).path(), wanted).unwrap();
        app.map(|app| (app.entry, app.framework))
    }

    const MANAGE: (&str, &str) =
        ("manage.py", "os.environ.setdefault('DJANGO_SETTINGS_MODULE', 'shop.settings')\n");

    /// Files, and the entry and kind that they show.
    type Row<'a> = (&'a [(&'a str, &'a str)], &'a str, Framework);

    #[test]
    fn apps_are_found_where_their_frameworks_put_them() {
        use Framework::{Asgi, Wsgi};
        let (wsgi, asgi) = (("shop/wsgi.py", ""), ("shop/asgi.py", ""));
        let rows: &[Row] = &[
            (&[MANAGE, wsgi, asgi, ("blog/wsgi.py", "")], "shop.wsgi:application", Wsgi),
            (&[MANAGE, asgi], "shop.asgi:application", Asgi),
            (&[("manage.py", ""), ("config/wsgi.py", "")], "config.wsgi:application", Wsgi),
            (&[("wsgi.py", "from shop import app\n")], "wsgi:app", Wsgi),
            (&[("wsgi.py", "from shop import make as application\n")], "wsgi:application", Wsgi),
            (
                &[("wsgi.py", "def application(environ, start):\n  pass\n")],
                "wsgi:application",
                Wsgi,
            ),
            (&[("asgi.py", "async def app(scope, receive, send):\n  pass\n")], "asgi:app", Asgi),
            (&[("app.py", "api = Flask(__name__)\n")], "app:api", Wsgi),
            (&[("main.py", "import fastapi\napp = fastapi.FastAPI()\n")], "main:app", Asgi),
            (&[("app/main.py", "app: FastAPI = FastAPI()\n")], "app.main:app", Asgi),
            (
                &[("app/__init__.py", "def create_app(config=None):\n    app = Flask('a')\n")],
                "app:create_app()",
                Wsgi,
            ),
            (&[("gunicorn.conf.py", "wsgi_app = 'x.y:z'\nworkers = 2\n")], "x.y:z", Wsgi),
            // uvicorn's workers run the project's other gateway.
            (
                &[
                    MANAGE,
                    wsgi,
                    asgi,
                    ("gunicorn.conf.py", "worker_class = 'uvicorn.workers.UvicornWorker'\n"),
                ],
                "shop.asgi:application",
                Asgi,
            ),
            // What the command says that deploys it.
            (
                &[
                    MANAGE,
                    wsgi,
                    ("shop/asgi.py", "application = get_asgi_application()\n"),
                    (
                        "Procfile",
                        "web: gunicorn -b unix:a.sock shop.asgi -k uvicorn.workers.UvicornWorker\n",
                    ),
                ],
                "shop.asgi:application",
                Asgi,
            ),
            (
                &[
                    ("app.py", "server = dash.Dash().server\n"),
                    ("Procfile", "web: gunicorn app:server\n"),
                ],
                "app:server",
                Wsgi,
            ),
            (
                &[
                    ("api/main.py", "def create():\n    return FastAPI()\n"),
                    ("Dockerfile", "CMD [\"uvicorn\", \"api.main:create\", \"--factory\"]\n"),
                ],
                "api.main:create()",
                Asgi,
            ),
            (
                &[("app.py", "api = Flask('a')\n"), ("Procfile", "web: gunicorn gone:app\n")],
                "app:api",
                Wsgi,
            ),
            (
                &[
                    ("app/main.py", "from app.made import app\n"),
                    ("Procfile", "web: uvicorn app.main:app\n"),
                ],
                "app.main:app",
                Asgi,
            ),
            (
                &[
                    ("app.py", "def create_app(name='a'):\n    return Flask(name)\n"),
                    ("Procfile", "web: gunicorn \"app:create_app('production')\"\n"),
                ],
                "app:create_app('production')",
                Wsgi,
            ),
            // In a folder that the command names.
            (
                &[
                    ("web/main.py", "app = made()\n"),
                    ("Procfile", "web: uvicorn --app-dir web main:app\n"),
                ],
                "main:app",
                Asgi,
            ),
            (
                &[
                    ("src/shop/wsgi.py", ""),
                    ("Dockerfile", "CMD gunicorn --chdir=/app/src shop.wsgi\n"),
                ],
                "shop.wsgi:application",
                Wsgi,
            ),
            (
                &[
                    ("lib/api.py", "app = Starlette()\n"),
                    ("Dockerfile", "ENV GUNICORN_CMD_ARGS=\"--pythonpath lib\"\n"),
                    ("Procfile", "web: gunicorn api:app\n"),
                ],
                "api:app",
                Asgi,
            ),
            (
                &[
                    ("web/lib/api.py", "app = Starlette()\n"),
                    ("Procfile", "web: gunicorn --pythonpath lib --chdir web api:app\n"),
                ],
                "api:app",
                Asgi,
            ),
            // Made for the server, whatever else stands beside it.
            (
                &[("app.py", "app = Flask('a')\n"), ("wsgi.py", "from app import app\n")],
                "wsgi:app",
                Wsgi,
            ),
        ];
        for (files, entry, framework) in rows {
            assert_eq!(found(files, &[]), Some((entry.to_string(), *framework)), "{files:?}");
        }
        let asked = found(&[MANAGE, wsgi, asgi], &[Asgi]);
        assert_eq!(asked, Some(("shop.asgi:application".into(), Asgi)));
        assert_eq!(found(&[("app.py", "print('Flask(')\n")], &[]), None);
        assert_eq!(found(&[], &[]), None);
    }

    #[test]
    fn what_cannot_be_told_is_asked_for() {
        let error = |files: &[(&str, &str)]| {
            recognise(folder_with(files).path(), &[]).unwrap_err().to_string()
        };
        let unknown = error(&[("requirements.txt", "aiohttp\n")]);
        assert!(unknown.contains("looks like a Python app"), "{unknown}");
        assert!(unknown.contains("--entry shop.wsgi:application"), "{unknown}");
        let both = [("app.py", "app = Flask('a')\n"), ("main.py", "app = FastAPI()\n")];
        let several = error(&both);
        assert!(several.contains("app:app, main:app"), "{several}");
        assert!(several.contains("--entry app:app"), "{several}");
    }

    #[test]
    fn an_entry_that_was_named_is_looked_into() {
        let files = [
            ("api/http.py", "service = Starlette()\n"),
            ("b.py", "x = 1\n"),
            ("src/installed.py", "app = FastAPI()\n"),
        ];
        let folder = folder_with(&files);
        let named = |entry, wanted: &[Framework]| {
            let app = with_entry(folder.path(), entry, wanted).unwrap();
            (app.entry, app.framework)
        };
        assert_eq!(named("api.http:service", &[]).1, Framework::Asgi);
        assert_eq!(named("installed:app", &[]).1, Framework::Asgi);
        assert_eq!(named("b:x", &[]).1, Framework::Wsgi);
        assert_eq!(named("b:x", &[Framework::Asgi]).1, Framework::Asgi);
        assert_eq!(named("shop.asgi", &[]), ("shop.asgi:application".into(), Framework::Asgi));
        for (entry, expected) in [
            ("shop.wsgi:application", true),
            ("app:create_app()", true),
            ("app:create_app('x')", true),
            ("server.js", true),
            ("bin/serve", false),
            ("a b:c", false),
            (":app", false),
        ] {
            assert_eq!(is_entry(entry), expected, "{entry}");
        }
    }
}
