use super::*;
use crate::plan::server::{check_programs, choose_server};
use crate::server::{ADAPTERS, Adapter, Proxy, find};

/// A folder with these files: name and content.
fn folder_with(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    folder
}

const LOCK: &str = "GEM\n  specs:\n    puma (5.6.5)\n    sinatra (3.0.5)\n";
const RUN: (&str, &str) = ("config.ru", "run App\n");

#[test]
fn an_app_is_told_by_its_files() {
    let rails = [RUN, ("config/application.rb", ""), ("config/environment.rb", "")];
    let rails_app = recognise(folder_with(&rails).path()).unwrap();
    assert_eq!(rails_app.framework, Framework::Rails);
    assert_eq!(rails_app.entry, "config.ru");
    assert!(rails_app.folder.is_absolute());

    for sinatra in [
        [RUN, ("app.rb", "  require 'sinatra/base'\n")],
        [RUN, ("server.rb", "require(\"sinatra\")\n")],
        [("config.ru", "require \"sinatra\"\nrun Sinatra::Application\n"), ("a.txt", "")],
    ] {
        let app = recognise(folder_with(&sinatra).path()).unwrap();
        assert_eq!(app.framework, Framework::Sinatra, "{sinatra:?}");
        assert!(!app.is_bundled);
    }

    let bundled = recognise(folder_with(&[RUN, ("Gemfile", ""), ("Gemfile.lock", LOCK)]).path());
    let bundled = bundled.unwrap();
    assert_eq!((bundled.framework, bundled.is_bundled), (Framework::Sinatra, true));

    let rack = recognise(folder_with(&[RUN, ("app.rb", "# no sinatra here\n")]).path()).unwrap();
    assert_eq!((rack.framework, rack.server_config), (Framework::Rack, None));
}

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
        let written: Vec<(&str, &str)> = files.iter().map(|file| (*file, "")).collect();
        let app = php_app(folder_with(&written).path());
        assert_eq!(app.as_ref().map(|app| app.entry.as_str()), expected, "{files:?}");
        assert!(app.is_none_or(|app| app.framework == Framework::Php && !app.is_bundled));
    }
}

#[test]
fn the_only_app_below_a_folder_is_taken() {
    for at in ["shop/config.ru", "apps/shop/config.ru"] {
        let dummy = ("spec/dummy/config.ru", "");
        let folder = folder_with(&[(at, ""), dummy, ("node_modules/x/config.ru", "")]);
        let app = recognise(folder.path()).unwrap();
        assert!(app.folder.join("config.ru").is_file());
        assert!(app.folder.ends_with("shop"), "{}", app.folder.display());
    }
}

#[test]
fn apps_of_other_languages_below_a_folder_are_named() {
    let named = |files: &[(&str, &str)], runs: &[Framework]| {
        let folder = folder_with(files);
        recognise_as(folder.path(), AppHint { entry: None, runs }).unwrap_err().to_string()
    };
    let django =
        [("backend/manage.py", "'shop.settings'\n"), ("backend/shop/wsgi.py", ""), ("a.md", "")];
    let text = named(&django, &[]);
    assert!(text.contains("these below it have: backend; choose one, such as --app backend"));
    assert!(text.contains("--entry"), "{text}");
    let root = [&django[..], &[("package.json", "{}"), ("pages/index.js", "")]].concat();
    assert!(named(&root, &[]).contains("have: backend;"), "{}", named(&root, &[]));
    let api = ("api/package.json", "{\"main\":\"a.js\"}");
    let two = [&django[..], &[api, ("api/a.js", ""), ("tools/index.js", "")]].concat();
    assert!(named(&two, &[]).contains("have: api, backend; choose one, such as --app api"));
    assert!(named(&two, &[Framework::Wsgi]).contains("have: backend;"));
    let go = [&django[..], &[("go.mod", "")]].concat();
    assert!(named(&go, &[]).contains("go.mod looks like a Go app"));
    let unbuilt = ("package.json", "{\"scripts\":{\"start\":\"node dist/main\"}}");
    let node = [&django[..], &[unbuilt]].concat();
    assert!(named(&node, &[]).contains("starts dist/main, which is not there"));
    let web = [("web/package.json", unbuilt.1)];
    assert!(named(&web, &[]).contains("have: web;"), "{}", named(&web, &[]));
    // One of Ruby's is taken, as it always was.
    let rack = folder_with(&[&node[..], &[("shop/config.ru", "run App\n")]].concat());
    assert!(recognise(rack.path()).unwrap().folder.ends_with("shop"));
}

/// Files, and what is said of them.
type Row<'a> = (&'a [(&'a str, &'a str)], &'a [&'a str]);

#[test]
fn an_app_that_cannot_be_taken_is_named_with_the_way_out() {
    let rows: &[Row] = &[
        (&[], &["no app found: there is no config.ru in", "name it with --app DIR"]),
        (
            &[("shop/config.ru", ""), ("admin/config.ru", "")],
            &["2 apps found in", ": admin, shop; choose one, such as --app admin"],
        ),
        (
            &[("app.rb", "require \"sinatra\"\nget(\"/\") { }\n")],
            &[
                "app.rb looks like a Sinatra app",
                "config.ru with these two lines:",
                "\n    require_relative \"app\"\n    run Sinatra::Application\n",
            ],
        ),
        (
            &[("shop.rb", "require 'sinatra/base'\nclass Shop < Sinatra::Base\nend\n")],
            &["\n    require_relative \"shop\"\n    run Shop\n"],
        ),
        (
            &[("config/application.rb", ""), ("config/environment.rb", "")],
            &["looks like a Rails app", "\n    run Rails.application\n"],
        ),
        (
            &[("requirements.txt", "")],
            &["requirements.txt looks like a Python app, but what the server", "--entry shop.wsgi"],
        ),
        (
            &[("package.json", "{}")],
            &["package.json looks like a Node.js app", "--entry server.js", "with --start"],
        ),
        (
            &[("go.mod", "")],
            &["go.mod looks like a Go app, which none of", "(Puma, Unicorn, ", "with --start"],
        ),
        (
            &[RUN, ("Gemfile", "gem \"puma\"\n")],
            &["Gemfile has no lock file Gemfile.lock beside it", "`bundle install`"],
        ),
    ];
    for (files, expected) in rows {
        let error = recognise(folder_with(files).path()).unwrap_err().to_string();
        for part in *expected {
            assert!(error.contains(part), "{files:?}: {error}");
        }
    }
}

#[test]
fn a_folder_that_is_none_is_named() {
    let folder = folder_with(&[RUN]);
    let missing = recognise(&folder.path().join("shop")).unwrap_err().to_string();
    assert!(missing.starts_with("there is no folder ") && missing.contains("shop;"), "{missing}");
    let file = recognise(&folder.path().join("config.ru")).unwrap_err().to_string();
    assert!(file.contains("config.ru is no folder; name the app's folder"), "{file}");
}

#[test]
fn a_bundle_without_a_server_we_know_is_refused_unless_the_user_chose_one() {
    for (gems, expected) in [
        ("    falcon (0.4)\n", "Gemfile.lock names the server falcon, which is not supported now"),
        ("    falcon (0.4)\n", "hold on Puma, Unicorn or Thin, add gem \"puma\""),
        (
            "    rack (2.2.4)\n",
            "Gemfile.lock does not name puma, unicorn or thin; add gem \"puma\"",
        ),
        ("    rack (2.2.4)\n", "--server puma if"),
    ] {
        let folder = folder_with(&[RUN, ("Gemfile", ""), ("Gemfile.lock", gems)]);
        let mut app = recognise(folder.path()).unwrap();
        let error = choose_server(&mut app, None).err().unwrap().to_string();
        assert!(error.contains(expected), "{gems}: {error}");
        let runs_it = |one: &&&dyn Adapter| one.about().runs.contains(&Framework::Rack);
        for adapter in ADAPTERS.iter().filter(runs_it) {
            let chosen = choose_server(&mut app, Some(*adapter)).unwrap();
            assert_eq!(chosen.adapter.name(), adapter.name());
        }
    }
}

#[test]
fn a_php_app_is_told_by_its_front_page_and_a_rack_app_comes_before_it() {
    let laravel = folder_with(&[
        ("public/index.php", ""),
        ("composer.json", "{}"),
        ("package.json", "{}"),
        // For what deploys it.
        ("Gemfile", ""),
    ]);
    let mut app = recognise(laravel.path()).unwrap();
    assert_eq!((app.framework, app.entry.as_str()), (Framework::Php, "public"));
    let chosen = choose_server(&mut app, None).unwrap();
    assert_eq!((chosen.adapter.name(), chosen.is_shown), ("php-fpm", true));
    let error = choose_server(&mut app, find("puma")).err().unwrap().to_string();
    assert!(error.starts_with("Puma does not run this app (public); choose php-fpm"), "{error}");

    let rack = folder_with(&[RUN, ("index.php", "")]);
    let mut app = recognise(rack.path()).unwrap();
    assert_eq!(app.framework, Framework::Rack);
    let error = choose_server(&mut app, find("php-fpm")).err().unwrap().to_string();
    assert!(error.contains("; choose puma, unicorn or thin with --server"), "{error}");
}

#[test]
fn the_program_that_starts_the_server_has_to_be_in_path() {
    for adapter in ADAPTERS.iter().filter(|adapter| !adapter.about().programs.is_empty()) {
        let about = adapter.about();
        let last = *about.programs.last().unwrap();
        let programs = folder_with(&[(last, "")]);
        let in_path = [PathBuf::from("/nonexistent"), programs.path().to_path_buf()];
        let mut plain = App::new("/srv/shop", about.runs[0], "config.ru");
        check_programs(&mut plain, *adapter, &in_path).unwrap();
        let other = (about.programs.len() > 1).then(|| last.to_string());
        assert_eq!(plain.program, other, "{}", about.name);
        let error = check_programs(&mut plain, *adapter, &[]).unwrap_err().to_string();
        let install = about.install.join("`, or `");
        let first = about.programs[0];
        assert_eq!(error, format!("{first} is not in any folder of PATH; install it: `{install}`"));
    }
}

#[test]
fn an_entry_that_was_named_decides_what_kind_of_app_it_is() {
    let files = [RUN, ("other.ru", "run B\n"), ("server.js", ""), ("shop.py", "api = FastAPI()\n")];
    let folder = folder_with(&files);
    let named = |entry| recognise_as(folder.path(), AppHint { entry: Some(entry), runs: &[] });
    for (entry, framework) in [
        ("other.ru", Framework::Rack),
        ("server.js", Framework::Node),
        ("shop:api", Framework::Asgi),
        ("installed.wsgi:application", Framework::Wsgi),
    ] {
        let app = named(entry).unwrap();
        assert_eq!((app.entry.as_str(), app.framework), (entry, framework));
    }
    let missing = named("gone.js").unwrap_err().to_string();
    assert!(missing.contains("gone.js, which --entry names"), "{missing}");
    // A server that runs none of Ruby's apps looks past the config.ru.
    let hint = AppHint { entry: None, runs: &[Framework::Node] };
    assert_eq!(recognise_as(folder.path(), hint).unwrap().entry, "server.js");
}

#[test]
fn a_program_of_the_apps_own_environment_needs_none_in_path() {
    let folder = folder_with(&[("wsgi.py", "app = 1\n"), (".venv/bin/gunicorn", "")]);
    let mut app = recognise(folder.path()).unwrap();
    let gunicorn = choose_server(&mut app, None).unwrap().adapter;
    check_programs(&mut app, gunicorn, &[]).unwrap();
    assert!(app.program.unwrap().ends_with("/.venv/bin/gunicorn"));
}

#[test]
fn a_bundled_app_needs_bundler_and_one_behind_nginx_needs_that() {
    let programs = folder_with(&[("puma", "")]);
    let in_path = [programs.path().to_path_buf()];
    let bundled = folder_with(&[RUN, ("Gemfile", ""), ("Gemfile.lock", LOCK)]);
    let mut app = recognise(bundled.path()).unwrap();
    let error = check_programs(&mut app, ADAPTERS[0], &in_path).unwrap_err().to_string();
    assert!(error.starts_with("bundle is not in any folder of PATH"), "{error}");
    let mut app = recognise(folder_with(&[RUN]).path()).unwrap();
    app.proxy = Proxy::Nginx;
    let error = check_programs(&mut app, ADAPTERS[0], &in_path).unwrap_err().to_string();
    assert_eq!(error, "nginx is not in any folder of PATH; install it: `apt install nginx`");
}
