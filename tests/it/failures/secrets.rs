//! What an app prints when it fails holds what it was given: nothing of that is kept or shown.

use std::fs;
use std::path::{Path, PathBuf};

use super::site::Running;
use super::*;

/// Part of every planted secret.
const PLANTED: &str = "pl4nted";

/// Puts all of them together, as an app that shows its environment would.
const ALL: &str =
    "all = ENV.values_at('SHOP_REGION', 'PAYMENT_TOKEN', 'DATABASE_URL', 'CACHE').join(' ')\n";

/// The apps, with a text that is shown of what each prints.
fn apps() -> [(&'static str, &'static str, String); 4] {
    let ok = "run ->(env) { [200, {}, ['ok']] }\n";
    let page = "run ->(env) { warn(\"asked with #{env['HTTP_X_KEY']}\"); [500, {}, ['no']] }\n";
    let dies = "served = 0\n\
                run ->(env) do\n\
                  (warn(\"given #{all}\"); exit!(7)) if (served += 1) > 40\n\
                  [200, {}, ['']]\n\
                end\n";
    [
        ("config.ru", "no such thing", format!("{ALL}raise \"no such thing: #{{all}}\"\n")),
        (
            "config/puma.rb",
            "no such setting",
            format!("{ALL}raise \"no such setting: #{{all}}\"\n{ok}"),
        ),
        ("config.ru", "asked with", page.to_string()),
        ("config.ru", "given", format!("{ALL}{dies}")),
    ]
}

#[test]
fn nothing_that_an_app_was_given_is_kept_or_shown_of_what_it_prints() {
    for (file, said, text) in apps() {
        let ok = ("config.ru", "run ->(env) { [200, {}, ['ok']] }\n");
        let site = Site::new(&[ok, (file, &text)]);
        let outputs = ["html=out.html", "markdown=out.md", "junit=out.xml", "json=out.json"];
        let outputs = outputs.iter().flat_map(|output| ["-o", output]);
        let tune = ["tune", "--workers", "1", "--threads", "5", "--budget", "20s"];
        let given = ["--env", "SHOP_REGION=pl4nted-region", "-H", "X-Key: pl4nted-header"];
        let given = [&given[..], &["--env", "CACHE=redis://joe:pl4nted#pw@127.0.0.1/0"]].concat();
        let arguments: Vec<&str> = tune.into_iter().chain(given).chain(outputs).collect();
        let mut command = site.command(&arguments);
        command.env("PAYMENT_TOKEN", "pl4nted-token");
        command.env("DATABASE_URL", "postgres://joe:pl4nted-pw@127.0.0.1/shop");
        let ended = Running::begin(command).end();
        ended.assert_code(1);
        ended.assert_says(&[said, "[hidden]"]);
        for shown in [&ended.stdout, &ended.stderr] {
            assert!(!shown.contains(PLANTED), "{file}: {shown}");
        }
        let of_report = site.run(&["report", "--json"]);
        assert!(!of_report.stdout.contains(PLANTED), "{}", of_report.stdout);
        let files = files_below(&site.path("app"));
        assert!(files.iter().any(|path| path.ends_with("sweetspot.db")), "{files:?}");
        for path in files.iter().filter(|path| !path.ends_with(file)) {
            let bytes = fs::read(path).unwrap();
            let is_there = memchr::memmem::find(&bytes, PLANTED.as_bytes()).is_some();
            assert!(!is_there, "{file}: in {}", path.display());
        }
    }
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let below = |path: PathBuf| match path.is_dir() {
        true => files_below(&path),
        false => vec![path],
    };
    entries.flat_map(below).collect()
}

#[test]
fn the_store_is_the_users_own_and_left_alone_by_version_control() {
    let site = Site::new(&[("config.ru", "raise 'boom'\n")]);
    site.run(&["tune", "--workers", "1", "--threads", "5", "--budget", "20s"]).assert_code(1);
    let mode = |name: &str| {
        let permissions = fs::metadata(site.path(name)).unwrap().permissions();
        std::os::unix::fs::PermissionsExt::mode(&permissions) & 0o777
    };
    assert_eq!(mode("app/.sweetspot"), 0o700);
    assert_eq!(mode("app/.sweetspot/sweetspot.db"), 0o600);
    assert_eq!(fs::read_to_string(site.path("app/.sweetspot/.gitignore")).unwrap(), "*\n");
}
