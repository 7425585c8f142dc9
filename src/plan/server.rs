//! Which app server an app is run with: the one that was asked for, else what the app itself shows.
//! Only looks.

use std::path::PathBuf;

use super::app_error::{AppError, read};
use super::bundle;
use super::deployment::Deployment;
use super::other_servers;
use crate::server::{ADAPTERS, Adapter, App, Framework};

/// A server, and how it was come by.
#[derive(Clone, Copy)]
pub struct Chosen {
    pub adapter: &'static dyn Adapter,
    /// The app's own files name it; else it is the one that is taken where nothing else is known.
    pub is_shown: bool,
}

/// The server for this app, whose configuration file is noted in it. `asked`: what the user named,
/// so that the bundle need not have it; else the command that deploys the app decides, as far as
/// the bundle has that server, then the bundle, of whose servers one with a configuration file
/// comes first, and without a bundle the configuration files.
///
/// # Errors
/// The bundle has no server that we know, a command starts another, or the one that was asked for
/// does not run this app.
pub fn choose_server(
    app: &mut App,
    asked: Option<&'static dyn Adapter>,
) -> Result<Chosen, AppError> {
    let fitting: Vec<&'static dyn Adapter> =
        ADAPTERS.iter().copied().filter(|one| one.about().runs.contains(&app.framework)).collect();
    if let Some(asked) = asked.filter(|asked| !asked.about().runs.contains(&app.framework)) {
        return Err(AppError::WrongServer {
            server: asked.about().title,
            entry: app.entry.clone(),
            fitting: fitting.iter().map(|adapter| adapter.name()).collect(),
        });
    }
    let bundle = if app.framework.is_rack() { bundle::read_bundle(&app.folder)? } else { None };
    let deployment = Deployment::read(&app.folder);
    if asked.is_none() {
        refuse_other_server(app, &deployment, &fitting)?;
    }
    let is_had = |one: &&'static dyn Adapter| bundle.as_ref().is_none_or(|it| it.has(one.name()));
    let adapter =
        match (asked.or_else(|| deployment.server_among(&fitting).filter(is_had)), &bundle) {
            (Some(adapter), _) => Some(adapter),
            (None, Some(bundle)) => {
                let had = bundle.servers()?;
                let configured = had.iter().find(|one| config_of(app, **one).is_some());
                configured.or(had.first()).copied()
            }
            (None, None) => {
                fitting.iter().copied().find(|adapter| config_of(app, *adapter).is_some())
            }
        };
    // The only one that there is for an app is no matter of choice either.
    let adapter = adapter.or_else(|| (fitting.len() == 1).then(|| fitting[0]));
    let chosen = adapter.or(fitting.first().copied()).unwrap_or(ADAPTERS[0]);
    let named = deployment.config_of(&app.folder, chosen);
    app.server_config = named.or_else(|| config_of(app, chosen));
    app.worker_kind = match &app.server_config {
        Some(config) => chosen.worker_kind(&read(&app.folder.join(config))?),
        None => None,
    };
    Ok(Chosen { adapter: chosen, is_shown: adapter.is_some() })
}

/// Another server than those that run this app here may hold more or less: which one is meant has
/// to be said where a command starts one that is known by its command alone.
fn refuse_other_server(
    app: &App,
    deployment: &Deployment,
    fitting: &[&'static dyn Adapter],
) -> Result<(), AppError> {
    let other = deployment.other_program(other_servers::programs(app.framework), fitting);
    let Some((server, file)) = other else { return Ok(()) };
    Err(AppError::OtherServer {
        file,
        server,
        start: other_servers::start(server, app),
        fitting: fitting.iter().map(|adapter| adapter.name()).collect(),
    })
}

/// Checks that the programs that are started are in one of these folders, and notes in the app
/// under which name the server's is there.
///
/// # Errors
/// One is in none.
pub fn check_programs(
    app: &mut App,
    adapter: &dyn Adapter,
    program_folders: &[PathBuf],
) -> Result<(), AppError> {
    let is_there =
        |program: &str| program_folders.iter().any(|folder| folder.join(program).is_file());
    let about = adapter.about();
    if app.is_bundled {
        if !is_there("bundle") {
            let install = &["gem install bundler", "apt install ruby-bundler"];
            return Err(AppError::NoProgram { program: "bundle", install });
        }
    } else if let Some(own) = own_program(app, adapter) {
        app.program = Some(own);
    } else if let [first, others @ ..] = about.programs {
        let other = others.iter().find(|program| is_there(program));
        app.program = match (is_there(first), other) {
            (true, _) => None,
            (false, Some(other)) => Some(other.to_string()),
            (false, None) => {
                return Err(AppError::NoProgram { program: first, install: about.install });
            }
        };
    }
    if let Some((program, install)) = app.proxy.program().filter(|(it, _)| !is_there(it)) {
        return Err(AppError::NoProgram { program, install });
    }
    Ok(())
}

/// The server's program in a virtual environment below the app's folder: it has the app's own
/// packages, whatever is on the PATH.
pub fn own_program(app: &App, adapter: &dyn Adapter) -> Option<String> {
    if !matches!(app.framework, Framework::Wsgi | Framework::Asgi) {
        return None;
    }
    let program = adapter.about().programs.first()?;
    let places = [".venv", "venv", "env"].map(|name| app.folder.join(name).join("bin"));
    let found = places.iter().map(|place| place.join(program)).find(|file| file.is_file())?;
    Some(found.to_string_lossy().into_owned())
}

/// Relative to the app's folder.
fn config_of(app: &App, adapter: &dyn Adapter) -> Option<PathBuf> {
    let files = adapter.about().config_files.iter().map(PathBuf::from);
    files.into_iter().find(|file| app.folder.join(file).is_file())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::plan::recognise;
    use crate::server::find;

    /// What is chosen for the app of a folder with these files, and that app.
    fn choice(files: &[(&str, &str)], asked: Option<&str>) -> (Result<Chosen, AppError>, App) {
        let folder = tempfile::tempdir().unwrap();
        for (name, content) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        let mut app = recognise(folder.path()).unwrap();
        let asked = asked.map(|name| find(name).unwrap());
        (choose_server(&mut app, asked), app)
    }

    /// The same where there is a `config.ru` too: server, its file, and whether the app shows it.
    fn chosen(files: &[(&str, &str)], asked: Option<&str>) -> (&'static str, String, bool) {
        let (chosen, app) = choice(&[files, &[("config.ru", "run App\n")]].concat(), asked);
        let chosen = chosen.unwrap();
        let config = app.server_config.unwrap_or_default().display().to_string();
        (chosen.adapter.name(), config, chosen.is_shown)
    }

    #[test]
    fn an_app_gets_a_server_that_runs_it() {
        let chosen = |files: &[(&str, &str)], asked: Option<&str>| {
            let (chosen, app) = choice(files, asked);
            chosen
                .map(|chosen| (chosen.adapter.name(), app.worker_kind))
                .map_err(|error| error.to_string())
        };
        let wsgi = ("wsgi.py", "application = 1\n");
        let asgi = ("asgi.py", "application = 1\n");
        let gevent = ("gunicorn.conf.py", "worker_class = 'gevent'\n");
        assert_eq!(chosen(&[wsgi], None), Ok(("gunicorn", None)));
        assert_eq!(chosen(&[wsgi, gevent], None), Ok(("gunicorn", Some("gevent".into()))));
        let by_variable = ("Dockerfile", "ENV GUNICORN_CMD_ARGS=\"-w 2 -c conf.py\"\n");
        let other = ("conf.py", "worker_class = 'eventlet'\n");
        let named = chosen(&[wsgi, gevent, by_variable, other], None);
        assert_eq!(named, Ok(("gunicorn", Some("eventlet".into()))));
        assert_eq!(chosen(&[asgi], None), Ok(("uvicorn", None)));
        let kind = Some("x.UvicornWorker".to_string());
        let own = ("gunicorn.conf.py", "worker_class = \"x.UvicornWorker\"\n");
        assert_eq!(chosen(&[asgi, own], None), Ok(("gunicorn", kind)));
        assert_eq!(chosen(&[("server.js", "")], None), Ok(("node", None)));
        let wrong = chosen(&[wsgi], Some("uvicorn")).unwrap_err();
        assert!(wrong.starts_with("uvicorn does not run this app (wsgi:application)"), "{wrong}");
        assert!(wrong.contains("choose gunicorn with --server"), "{wrong}");
    }

    #[test]
    fn the_bundle_comes_before_configuration_files_and_those_before_the_first_server() {
        let gemfile = ("Gemfile", "");
        let lock = |gems: &'static str| ("Gemfile.lock", gems);
        let (puma, unicorn) = (("config/puma.rb", ""), ("config/unicorn.rb", ""));
        for (files, expected) in [
            (vec![], ("puma", "", false)),
            (vec![("config/thin.yml", "")], ("thin", "config/thin.yml", true)),
            (vec![gemfile, lock("    thin (1.8.1)\n")], ("thin", "", true)),
            (vec![puma], ("puma", "config/puma.rb", true)),
            (vec![unicorn], ("unicorn", "config/unicorn.rb", true)),
            (vec![("unicorn.rb", "")], ("unicorn", "unicorn.rb", true)),
            (vec![puma, unicorn], ("puma", "config/puma.rb", true)),
            (vec![gemfile, lock("    puma (5.6.5)\n"), unicorn], ("puma", "", true)),
            (vec![gemfile, lock("    unicorn (6.0.0)\n"), puma], ("unicorn", "", true)),
            // Of two in the bundle the one that has a file of its own.
            (
                vec![gemfile, lock("    puma (5.6.5)\n    unicorn (6.0.0)\n"), unicorn],
                ("unicorn", "config/unicorn.rb", true),
            ),
            (
                vec![gemfile, lock("    puma (5.6.5)\n    unicorn (6.0.0)\n"), puma, unicorn],
                ("puma", "config/puma.rb", true),
            ),
            (vec![gemfile, lock("    puma (5.6.5)\n    unicorn (6.0.0)\n")], ("puma", "", true)),
            // The command that deploys it comes before both, and names the file.
            (
                vec![
                    gemfile,
                    lock("    puma (5.6.5)\n    unicorn (6.0.0)\n"),
                    (
                        "Procfile",
                        "web: bundle exec unicorn -c ./config/unicorn/heroku.rb -p $PORT\n",
                    ),
                    ("config/unicorn/heroku.rb", ""),
                    unicorn,
                ],
                ("unicorn", "config/unicorn/heroku.rb", true),
            ),
            (
                vec![gemfile, lock("    puma (5.6.5)\n"), ("Procfile", "web: unicorn\n"), unicorn],
                ("puma", "", true),
            ),
            (
                vec![
                    ("Dockerfile", "CMD [\"puma\", \"-C\", \"/app/config/web.rb\"]\n"),
                    puma,
                    ("config/web.rb", ""),
                ],
                ("puma", "config/web.rb", true),
            ),
            (vec![("Procfile", "web: puma -C gone.rb\n"), puma], ("puma", "config/puma.rb", true)),
        ] {
            let (server, config, is_shown) = expected;
            assert_eq!(chosen(&files, None), (server, config.to_string(), is_shown), "{files:?}");
        }
    }

    #[test]
    fn a_server_that_is_known_by_its_command_alone_is_not_taken_for_another() {
        let refused = |files: &[(&str, &str)], asked: Option<&str>| {
            choice(files, asked)
                .0
                .map_or_else(|error| error.to_string(), |chosen| chosen.adapter.name().into())
        };
        let asgi = ("asgi.py", "application = get_asgi_application()\n");
        let daphne = ("Procfile", "web: daphne -p $PORT asgi:application\n");
        let text = refused(&[asgi, daphne], None);
        assert!(
            text.starts_with("Procfile starts daphne, which is tuned by its command"),
            "{text}"
        );
        assert!(text.contains("'daphne -b 127.0.0.1 -p {port} asgi:application'"), "{text}");
        assert!(text.contains("on uvicorn or gunicorn, with --server"), "{text}");
        assert_eq!(refused(&[asgi, daphne], Some("uvicorn")), "uvicorn");
        let uwsgi = ("Dockerfile", "CMD [\"uwsgi\", \"--ini\", \"uwsgi.ini\"]\n");
        let wsgi = ("wsgi.py", "application = 1\n");
        let text = refused(&[wsgi, uwsgi], None);
        assert!(text.contains("--module wsgi:application'"), "{text}");
        let bundled = [
            ("config.ru", "run App\n"),
            ("Gemfile", ""),
            ("Gemfile.lock", "    passenger (6.0)\n    puma (5.6.5)\n"),
        ];
        let procfile = |command: &'static str| [&bundled[..], &[("Procfile", command)]].concat();
        let text = refused(&procfile("web: bundle exec passenger start -p $PORT\n"), None);
        assert!(text.contains("such as 'bundle exec passenger start --engine builtin"), "{text}");
        let text = refused(&procfile("web: bundle exec falcon serve\n"), None);
        assert!(text.contains("in place of its numbers; or see"), "{text}");
        assert_eq!(refused(&procfile("web: bin/rails server\n"), None), "puma");
        // The nearest command counts.
        let image = ("Dockerfile", "CMD [\"bundle\", \"exec\", \"puma\"]\n");
        let both = [&procfile("web: bundle exec passenger start\n")[..], &[image]].concat();
        assert_eq!(refused(&both, None), "puma");
        // Folders may be called so, and what runs apps in another language.
        let folders = ("Dockerfile", "CMD ls /run/uwsgi; cd daphne && python app.py\n");
        assert_eq!(refused(&[wsgi, folders], None), "gunicorn");
        let node = [("server.js", ""), ("Procfile", "web: passenger start\n")];
        assert_eq!(refused(&node, None), "node");
    }

    #[test]
    fn the_server_that_was_asked_for_is_taken_with_its_own_file() {
        let files = [
            ("Gemfile", ""),
            ("Gemfile.lock", "    puma (5.6.5)\n"),
            ("config/puma.rb", ""),
            ("unicorn.rb", ""),
        ];
        assert_eq!(chosen(&files, Some("unicorn")), ("unicorn", "unicorn.rb".into(), true));
        assert_eq!(chosen(&files, Some("puma")), ("puma", "config/puma.rb".into(), true));
    }

    #[test]
    fn a_servers_configuration_for_production_comes_before_the_common_one() {
        for (server, production, common) in [
            ("puma", "config/puma/production.rb", "config/puma.rb"),
            ("unicorn", "config/unicorn/production.rb", "config/unicorn.rb"),
            ("thin", "config/thin/production.yml", "config/thin.yml"),
        ] {
            let both = [(common, ""), (production, "")];
            assert_eq!(chosen(&both, None), (server, production.to_string(), true));
        }
    }
}
