//! What is wrong with the app, or with what is asked of it.

use std::fs;

use super::*;

const SHORT: &[&str] = &["tune", "--workers", "1", "--threads", "5", "--budget", "20s"];

#[test]
fn an_app_that_raises_at_boot_ends_the_tune_with_its_own_lines() {
    let site = Site::new(&[("config.ru", "raise 'boom at boot'\n")]);
    let ended = site.run(SHORT);
    ended.assert_code(1).assert_says(&[
        "Could not measure: the app server did not become ready",
        "today 1 x 5 does not start",
        "config.ru:1:in `block in <main>': boom at boot (RuntimeError)",
        "mend what the app's own last lines name",
    ]);
    let last = ended.stderr.lines().last().unwrap();
    assert!(last.starts_with("sweetspot: the app server did not become ready"), "{last}");
}

#[test]
fn a_missing_secret_key_base_is_recognised() {
    let rackup = "ENV.fetch('SECRET_KEY_BASE') { raise ArgumentError, \
                  \"Missing `secret_key_base` for 'production' environment\" }\n\
                  run ->(env) { [200, {}, []] }\n";
    let site = Site::new(&[("config.ru", rackup)]);
    let ended = site.run(SHORT);
    ended.assert_code(1).assert_says(&["Missing `secret_key_base`", "export SECRET_KEY_BASE="]);
}

#[test]
fn a_page_that_leads_to_a_login_is_not_measured() {
    let site = Site::answering("[302, {'Location' => '/login'}, []]");
    let ended = site.run(SHORT);
    ended.assert_code(1).assert_says(&["GET / answers 302 and leads to /login", "--target"]);
    assert_eq!(site.trials(), []);
}

/// Ends itself when a request finds more than 40 served and no file that says it has done so.
const DIES_ONCE: &str = "\
served = 0
run ->(env) do
  served += 1
  sleep 0.005
  if served > 40 && !File.exist?('died')
    File.write('died', '')
    Process.kill(:KILL, Process.pid)
  end
  [200, {}, ['ok']]
end
";

#[test]
fn an_app_that_dies_once_under_load_is_started_again_and_measured() {
    let site = Site::new(&[("config.ru", DIES_ONCE)]);
    let ended = site.run(&[SHORT, &["--slo", "p95<2s,errors<5%", "--json"]].concat());
    ended.assert_code(0).assert_says(&["server ended"]);
    let report = ended.json();
    assert!(!report["trials"][0]["failure"].is_null(), "{}", report["trials"][0]);
    assert_eq!(configuration(&report["decision"]), (1, 5));
    assert!(fs::exists(site.path("app/died")).unwrap());
}

#[test]
fn an_app_that_always_dies_under_load_ends_the_tune_with_why() {
    let dying = "served = 0\nrun ->(env) { exit!(7) if (served += 1) > 40; [200, {}, ['ok']] }\n";
    let site = Site::new(&[("config.ru", dying)]);
    let ended = site.run(SHORT);
    ended.assert_code(1).assert_says(&[
        "Could not measure: the server ended by itself in every trial.",
        "today 1 x 5 ended by itself under load",
        "ended in trial 2 (exit status 7)",
        "find out what ends the server",
    ]);
    assert_eq!(site.trials().len(), 2, "tried once more, then given up");
}

#[test]
fn a_goal_that_nothing_meets_ends_with_the_best_there_was() {
    let site = Site::answering("sleep 1.05; [200, {}, ['ok']]");
    site.run(&[SHORT, &["--slo", "p95<500ms"]].concat()).assert_code(3).assert_says(&[
        "No configuration held any rate that was tried within p95<500ms.",
        "nearest 1 x 5 under 1 client: p95 1.",
        "make the app faster: one request alone takes 1.",
    ]);
}

#[test]
fn a_grid_of_only_the_current_setting_keeps_it() {
    let site = Site::waiting();
    let ended = site.run(&[
        "tune",
        "--workers",
        "1",
        "--threads",
        "1",
        "--budget",
        "20s",
        "--slo",
        "p95<1s",
    ]);
    ended.assert_code(0).assert_says(&["Keep 1 worker x 1 thread, as it runs today: it holds"]);
}

#[test]
fn a_current_setting_that_is_the_best_is_kept() {
    let rackup = "run ->(env) { sleep 0.02; [200, {}, ['ok']] }\n";
    let site = Site::new(&[("config.ru", rackup), ("config/puma.rb", "threads 4, 4\n")]);
    let grid = ["tune", "--workers", "1", "--threads", "1,4"];
    let ended =
        site.run(&[grid.as_slice(), &["--budget", "30s", "--slo", "p95<1s", "--json"]].concat());
    ended.assert_code(0);
    let report = ended.json();
    assert_eq!(configuration(&report["decision"]), (1, 4));
    assert_eq!(configuration(&report["current"]), (1, 4));
    assert_eq!(report["decision"]["gain_ratio"], 1.0);
}
