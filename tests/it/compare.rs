//! `compare`: sessions of the simulated place, whose truth is known, and the verb as a user types
//! it.

use std::path::{Path, PathBuf};

use serde_json::Value;
use sweetspot::place::simulated::{Drift, Simulated, SimulatedApp};
use sweetspot::plan::Plan;
use sweetspot::report::Language;
use sweetspot::report::document::compare::comment;
use sweetspot::report::facts::with_sentences;
use sweetspot::report::page::{ComparePage, Content, Page};
use sweetspot::report::render::markdown;
use sweetspot::session::compare::{CompareError, Question, Source, compare};
use sweetspot::terms::{CompareReport, Configuration, FigureKind, PlannedGoal, Standing};
use tempfile::TempDir;

use crate::process::sweetspot;
use crate::schema::assert_valid;
use crate::tune;

/// 12 ms of CPU and 48 ms of waiting, on a machine whose starts differ by 2 %.
fn app() -> SimulatedApp {
    let drift = Drift { start: 0.02, window: 0.01, ..Drift::default() };
    SimulatedApp { cpu_s: 0.012, wait_s: 0.048, waits: 2, drift, ..SimulatedApp::default() }
}

/// One that costs this much more.
fn slower(factor: f64) -> SimulatedApp {
    SimulatedApp { cpu_s: 0.012 * factor, wait_s: 0.048 * factor, ..app() }
}

/// A store in which every app was tuned once, in this order.
fn tuned(apps: &[SimulatedApp]) -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let goal = PlannedGoal::Given("p95<250ms".parse().unwrap());
    let budget = std::time::Duration::from_secs(400);
    for (at, app) in apps.iter().enumerate() {
        let seed = 7 + at as u64;
        let plan = Plan { seed, budget, goal: goal.clone(), ..tune::plan(&folder) };
        tune::Room::default().tune(&plan, &mut Simulated::new(app.clone(), seed)).unwrap();
    }
    let store = folder.path().join("sweetspot.db");
    (folder, store)
}

fn asked(store: &Path, a: &str, b: &str, machines: bool) -> Result<CompareReport, CompareError> {
    let (a, b): (Source, Source) = (a.parse().unwrap(), b.parse().unwrap());
    compare(&Question { a: &a, b: &b, store, compares_machines: machines })
}

fn capacity(report: &CompareReport) -> &sweetspot::terms::ComparedFigure {
    report.figures.iter().find(|it| it.figure == FigureKind::Capacity).unwrap()
}

#[test]
fn the_same_app_twice_is_not_declared_different_and_a_slower_one_is() {
    let (_folder, store) = tuned(&[app(), app(), slower(1.4)]);
    let same = asked(&store, "1", "2", false).unwrap();
    assert!(matches!(same.change, Some(Standing::Equivalent | Standing::Undecided)), "{same:?}");
    let [low, high] = capacity(&same).ratio_interval.unwrap();
    assert!(low <= 1.0 && 1.0 <= high, "{same:?}");
    assert!(Language::DATA.say(&same.notes[0]).contains("not measured in turn"), "{same:?}");
    assert_eq!(comment(&same), None, "only what changed is worth a comment");

    let worse = asked(&store, "1", "3", false).unwrap();
    assert_eq!(worse.change, Some(Standing::Worse), "{worse:?}");
    let text = markdown(&comment(&worse).unwrap());
    assert!(text.starts_with("**Worse: 3 than 1") && text.contains("<details>"), "{text}");
    let ratio = capacity(&worse).ratio.unwrap();
    assert!((0.5..0.9).contains(&ratio), "{worse:?}");
    let better = asked(&store, "3", "1", false).unwrap();
    assert_eq!(better.change, Some(Standing::Better), "{better:?}");
}

#[test]
fn settings_of_one_session_are_compared_within_its_blocks() {
    let (_folder, store) = tuned(&[app()]);
    let report = asked(&store, "1@current", "1@chosen", false).unwrap();
    let figure = capacity(&report);
    assert!(figure.within_blocks, "{report:?}");
    assert_eq!(report.change, Some(Standing::Better), "{report:?}");
    let truth = |w, t| {
        let at = Configuration::new(w, t).unwrap();
        app().true_capacity(at, std::time::Duration::from_millis(250), 0.95)
    };
    let (workers, threads) = (report.b.workers.unwrap(), report.b.threads.unwrap());
    let truth = truth(workers, threads) / truth(1, 5);
    assert!((figure.ratio.unwrap() / truth - 1.0).abs() < 0.1, "{truth}: {report:?}");
    assert_valid("compare.schema.json", &with_sentences(&report));
}

#[test]
fn another_machine_is_refused_unless_it_is_what_is_compared() {
    let (_folder, store) = tuned(&[app(), SimulatedApp { cores: 4.0, ..app() }]);
    let refused = asked(&store, "1", "2", false).unwrap();
    assert_eq!((refused.change, refused.figures.len()), (None, 0));
    let said = Language::DATA.say_each(&refused.refused);
    assert!(said[0].contains("with 2 cores, B on"), "{refused:?}");
    assert_valid("compare.schema.json", &with_sentences(&refused));
    let compared = asked(&store, "1", "2", true).unwrap();
    match &compared.refused[..] {
        [] => assert_eq!(compared.change, Some(Standing::Better), "{compared:?}"),
        refused => assert!(Language::DATA.say(&refused[0]).contains("at least 3"), "{compared:?}"),
    }
}

/// Three words of English prose after each other.
fn has_english(text: &str) -> bool {
    let is_word = |it: &str| it.len() > 1 && it.bytes().all(|byte| byte.is_ascii_lowercase());
    text.split(' ').map(is_word).collect::<Vec<_>>().windows(3).any(|three| three == [true; 3])
}

#[test]
fn on_a_page_in_japanese_no_sentence_is_english() {
    let (_folder, store) = tuned(&[app(), SimulatedApp { cores: 4.0, ..app() }]);
    let mut english = 0;
    for (a, b, machines) in
        [("1", "2", false), ("1", "2", true), ("1", "1@current", false), ("1@1x5", "2@1x5", true)]
    {
        let report = asked(&store, a, b, machines).unwrap();
        let page = Page::of(Content::Compare(ComparePage::of(&report)));
        let page = &serde_json::to_value(page).unwrap()["compare"];
        let lists = ["refused", "left_out", "differences", "notes"].map(|name| &page[name]);
        let listed = lists.iter().flat_map(|list| list.as_array().unwrap());
        for said in listed.chain([&page["reason"]]) {
            let [en, ja] = ["en", "ja"].map(|language| said[language].as_str().expect("a fact"));
            assert!(en != ja && !has_english(ja), "{ja}");
            english += usize::from(has_english(en));
        }
    }
    assert!(english >= 3, "{english}");
}

#[test]
fn other_goals_make_capacities_incomparable() {
    let (folder, store) = tuned(&[app()]);
    let goal = PlannedGoal::Given("p95<400ms".parse().unwrap());
    let plan = Plan { goal, ..tune::plan(&folder) };
    tune::Room::default().tune(&plan, &mut Simulated::new(app(), 9)).unwrap();
    let report = asked(&store, "1", "2", true).unwrap();
    assert_eq!(report.change, None);
    assert!(Language::DATA.say(&report.refused[0]).contains("--slo"), "{report:?}");
}

#[test]
fn the_verb_says_it_in_eighty_columns_and_ends_with_the_verdict_as_its_code() {
    let (folder, store) = tuned(&[app(), slower(1.4)]);
    let store = store.display().to_string();
    let run = |arguments: &[&str]| {
        let ended = sweetspot(folder.path(), &[&["compare"], arguments].concat());
        (ended.code.unwrap(), ended.stdout, ended.stderr)
    };
    let (code, text, error) = run(&["1", "2", "--store", &store]);
    assert_eq!(code, 3, "{text}{error}");
    assert!(text.starts_with("Worse: 2 than 1: capacity changed beyond doubt"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let (code, text, _) = run(&["2", "1", "--store", &store, "--quiet"]);
    assert_eq!((code, text.lines().count() <= 2), (0, true), "{text}");

    // CI is told the verdict, and each figure.
    let (code, _, error) = run(&["1", "2", "--store", &store, "-q", "-o", "junit=junit.xml"]);
    assert_eq!(code, 3, "{error}");
    let junit = std::fs::read_to_string(folder.path().join("junit.xml")).unwrap();
    assert!(
        junit.contains("<testcase name=\"verdict\" classname=\"sweetspot.compare\""),
        "{junit}"
    );
    assert!(junit.contains("<failure message=\"B / A is 0."), "{junit}");

    // What 'tune -o json' wrote compares like the session itself.
    let (written, sessions) = (folder.path().join("b.json"), format!("{store}:2"));
    let report = sweetspot(folder.path(), &["report", "2", "--store", &store, "--json"]);
    std::fs::write(&written, report.stdout).unwrap();
    let (code, from_file, error) = run(&["1", "b.json", "--store", &store, "--json"]);
    assert_eq!(code, 3, "{from_file}{error}");
    let (_, from_store, _) = run(&["1", &sessions, "--store", &store, "--json"]);
    let figures = |text: &str| serde_json::from_str::<Value>(text).unwrap()["figures"].clone();
    assert_eq!(figures(&from_file), figures(&from_store));

    for (arguments, says) in [
        (["1", "nowhere.json"], "could not read nowhere.json"),
        (["1", "9"], "no session 9"),
        (["1", "2@3x7"], "has no trial of 3 x 7"),
        (["1", "@2x5"], "names nothing"),
    ] {
        let (code, _, error) = run(&[&arguments[..], &["--store", &store]].concat());
        assert_eq!(code, 2, "{arguments:?}: {error}");
        assert!(error.contains(says), "{arguments:?}: {error}");
    }
}
