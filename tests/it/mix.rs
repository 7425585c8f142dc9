//! A mix of targets with goals of their own: on the simulated place, seeded and in virtual time,
//! and on a real Puma with a quick and a slow page.

use std::time::Duration;

use serde_json::Value;
use sweetspot::model::simulator::RequestKind;
use sweetspot::place::simulated::{Simulated, SimulatedApp};
use sweetspot::plan::Plan;
use sweetspot::report;
use sweetspot::report::facts::with_sentences;
use sweetspot::session::compare::{Question as Sides, Source, compare};
use sweetspot::session::predict::{Question, predict};
use sweetspot::session::report::Which;
use sweetspot::session::tune::Session;
use sweetspot::session::verify::{self, Verifying};
use sweetspot::store::Store;
use sweetspot::terms::{
    Certainty, CompareRefusal, Doubt, GoalCount, GoalScope, Note, PlanNote, PlannedGoal,
    PredictionDoubt, Reason, SearchNote, Stated, StopSignal, TrialPurpose, TrialSummary, Verdict,
    Warning,
};
use tempfile::TempDir;

use crate::hold::trials;
use crate::process::{self, sweetspot};
use crate::schema::assert_valid;
use crate::tune::{self, tune_app};

/// Pages of 60 ms, and reports of most of a second, `weight` for each page.
fn app(weight: f64) -> SimulatedApp {
    let report = RequestKind {
        weight,
        cpu_s: 0.02,
        wait_s: 0.9,
        waits: 2,
        cv2: 0.1,
        ..RequestKind::default()
    };
    let page = SimulatedApp { cpu_s: 0.012, wait_s: 0.048, waits: 2, ..SimulatedApp::default() };
    SimulatedApp { others: vec![report], ..page }
}

fn plan(folder: &TempDir, report: &str) -> Plan {
    let targets = ["GET / weight=10", report];
    Plan { targets: targets.map(|text| text.parse().unwrap()).to_vec(), ..tune::plan(folder) }
}

fn given(slo: &str) -> PlannedGoal {
    PlannedGoal::Given(slo.parse().unwrap())
}

#[test]
fn a_slow_target_with_its_own_goal_leaves_the_others_their_tight_one() {
    let folder = TempDir::new().unwrap();
    let plan = plan(&folder, "GET /report slo=p95<2500ms");
    let ended = tune_app(&plan, app(0.1));
    let decision = ended.result.decision.as_ref().expect("both goals can be met");
    assert!(decision.gain_ratio.unwrap() > 1.2, "one worker is far from the best");
    let [pages, reports] = &decision.goals[..] else { panic!("{:?}", decision.goals) };
    let limit = pages.slo.as_ref().unwrap().tightest().limit;
    assert!(limit < Duration::from_millis(500), "from the pages' own latencies: {limit:?}");
    assert_eq!((pages.leaning, &reports.slo), (Some(true), &Some("p95<2.5s".parse().unwrap())));
    let p50 = [pages, reports].map(|goal| goal.latency_s.p50);
    assert!(p50[1] > 0.8 && p50[0] < limit.as_secs_f64(), "{p50:?}");
    let rate = decision.goals_rps.unwrap();
    assert!((0.5..1.3).contains(&(rate / decision.capacity_rps)), "near the capacity: {rate}");

    let story = report::story::fold(&ended.events, None);
    let text = report::decision(&story, report::Style::PLAIN).join("\n");
    assert!(text.contains("Targets at "), "{text}");
    assert!(text.contains("GET /report: p95<2.5s "), "{text}");
    assert!(
        report::Format::Markdown.render(&story, report::Style::PLAIN).contains("## Targets at ")
    );
    let header = report::csv::render(&story);
    assert!(header.lines().next().unwrap().split(',').any(|name| name == "goals"));
    let json = with_sentences(&crate::schema::report_of(&ended.events, None));
    assert_valid("tune.schema.json", &json);
    assert_eq!(json["decision"]["goals"][1]["targets"][0]["target"], "GET /report");
}

#[test]
fn one_goal_for_all_of_a_mix_is_missed_where_each_meets_its_own() {
    let folder = TempDir::new().unwrap();
    let one = Plan { goal: given("p95<300ms"), ..plan(&folder, "GET /report") };
    // So many reports that a few seconds of one client alone show it.
    let ended = tune_app(&one, app(0.4));
    assert_eq!(ended.result.decision, None);
    let own = Plan { goal: given("p95<300ms"), ..plan(&folder, "GET /report slo=p95<2s") };
    let found = tune_app(&own, app(0.4)).result.decision;
    assert!(found.is_some());
}

#[test]
fn a_goal_of_its_own_that_is_missed_alone_ends_the_session_and_names_its_target() {
    let folder = TempDir::new().unwrap();
    let plan =
        Plan { goal: given("p95<2s"), ..plan(&folder, "GET /report slo=p95<300ms,errors<1%") };
    // So many reports that a few seconds of one client alone show it.
    let ended = tune_app(&plan, app(0.4));
    assert_eq!(ended.result.decision, None);
    let [only] = trials(&ended)[..] else { panic!("one trial is enough") };
    let Some(Reason::Counted { goals }) = only.reason.fact() else { panic!("{only:?}") };
    assert_eq!(goals[0].scope, Some(GoalScope::Target("GET /report".into())));
    assert_eq!(goals[0].terms[0].term.to_string(), "p95<300ms");
    let [Stated::Fact(Note::Search(SearchNote::GoalsOutOfReach { goals, .. }))] =
        &ended.result.notes[..]
    else {
        panic!("{:?}", ended.result.notes)
    };
    assert_eq!(goals.to_string(), "p95<2s; GET /report: p95<300ms,errors<1%");
}

#[test]
fn a_target_that_is_seldom_asked_for_leaves_the_answer_to_the_others_and_is_named() {
    let folder = TempDir::new().unwrap();
    let budget = Duration::from_secs(240);
    let plan = Plan { goal: given("p95<300ms"), budget, ..plan(&folder, "GET /report slo=p95<3s") };
    let ended = tune_app(&plan, app(0.005));
    let decision = ended.result.decision.as_ref().expect("the others decide");
    let reports = &decision.goals[1];
    assert_eq!((reports.met, reports.requests_needed), (None, Some(59)), "{reports:?}");
    let probes = trials(&ended);
    let decided = |trial: &&&TrialSummary| {
        matches!(trial.purpose, TrialPurpose::Probe | TrialPurpose::Confirm)
            && trial.verdict == sweetspot::terms::Verdict::Yes
    };
    let held: Vec<_> = probes.iter().filter(decided).collect();
    assert!(held.len() > 2, "rates are held all the same");
    let is_uncertain = |goal: &GoalCount| {
        let short = Certainty::TooFew { needed: 59 };
        goal.scope == Some(GoalScope::Target("GET /report".into()))
            && goal.terms.iter().any(|it| it.term.to_string() == "p95<3s" && it.certainty == short)
    };
    assert!(held.iter().any(|trial| match trial.reason.fact() {
        Some(Reason::MetButUncertain { goals }) => goals.iter().any(is_uncertain),
        _ => false,
    }));
    let mut notes = ended.result.notes.iter().filter_map(Stated::fact);
    let is_said = notes.any(|note| match note {
        Note::Plan(PlanNote::TooFewRequests { slo, target, needed, .. }) => {
            (&slo.to_string()[..], target.as_deref(), *needed)
                == ("p95<3s", Some("GET /report"), 59)
        }
        _ => false,
    });
    assert!(is_said, "{:?}", ended.result.notes);
}

#[test]
fn a_session_that_broke_off_is_taken_up_with_the_same_goals_only() {
    let folder = TempDir::new().unwrap();
    let plan = plan(&folder, "GET /report slo=p95<2s");
    let whole = tune_app(&Plan { store: folder.path().join("whole.db"), ..plan.clone() }, app(0.1));
    let unfinished = tune::first_events(&plan, &whole, 12);
    let targets = ["GET / weight=10", "GET /report slo=p95<3s"].map(|it| it.parse().unwrap());
    let other = tune_app(&Plan { targets: targets.to_vec(), ..plan.clone() }, app(0.1));
    assert_ne!(other.session.0, unfinished, "another goal");
    let ended = tune_app(&plan, app(0.1));
    assert_eq!(ended.session.0, unfinished);
    assert_eq!(ended.result.decision.unwrap().goals.len(), 2);
}

#[test]
fn a_mix_is_verified_and_compared_by_the_goals_of_each_target() {
    let folder = TempDir::new().unwrap();
    let with = |report: &str| Plan { goal: given("p95<300ms"), ..plan(&folder, report) };
    let (own, other) = (with("GET /report slo=p95<2s"), with("GET /report slo=p95<3s"));
    let goals = "p95<300ms; GET /report: p95<2s";
    tune_app(&own, app(0.1));
    let mut store = Store::open(&own.store).unwrap();
    let claim = verify::claim(&store, Which::Last).unwrap();
    assert_eq!(claim.slo, Some("p95<300ms".parse().unwrap()), "of the pages");
    assert_eq!(claim.story.goals.to_string(), goals);
    let turn = crate::turn::compute();
    let verified = verify::run(Verifying {
        claim: &claim,
        session: Session {
            plan: &Plan { budget: Duration::from_secs(120), ..own.clone() },
            place: &mut Simulated::new(app(0.1), 8),
            store: &mut store,
            reporters: &mut |_| Vec::new(),
            stop: StopSignal::default(),
            started_at: "2026-01-03T03:04:05Z".into(),
            doubts: Vec::new(),
        },
        compares_machines: false,
    });
    let verified = verified.unwrap().verification;
    assert_eq!(verified.slo.to_string(), goals);
    assert_ne!(verified.verdict, Verdict::No, "nothing has changed: {verified:?}");
    drop(turn);

    tune_app(&other, app(0.1));
    let sides = ["1", "3"].map(|session| session.parse::<Source>().unwrap());
    let [a, b] = &sides;
    let compared = compare(&Sides { a, b, store: &own.store, compares_machines: false }).unwrap();
    let [refused] = &compared.refused[..] else { panic!("{compared:?}") };
    let Some(CompareRefusal::GoalsDiffer { a, b, .. }) = refused.fact() else {
        panic!("{refused:?}")
    };
    let other = "p95<300ms; GET /report: p95<3s".to_string();
    assert_eq!((a.to_string(), b.to_string()), (goals.to_string(), other));
}

#[test]
fn predictions_from_several_goals_say_what_they_assume() {
    let folder = TempDir::new().unwrap();
    let plan = plan(&folder, "GET /report slo=p95<2s");
    tune_app(&plan, app(0.1));
    let store = Store::open(&plan.store).unwrap();
    let report = predict(&store, Which::Last, &Question::default()).unwrap();
    let mut doubts = report.warnings.iter().filter_map(Warning::doubt);
    let goals = doubts.find_map(|doubt| match doubt {
        Doubt::Prediction(PredictionDoubt::SeveralGoals { goals, .. }) => Some(goals),
        _ => None,
    });
    assert!(goals.unwrap().to_string().contains("GET /report: p95<2s"), "{goals:?}");
    let best = report.predicted.iter().map(|one| one.capacity_rps).fold(0.0, f64::max);
    assert!(best > 0.0, "{report:?}");
    let one_goal = Question { slo: Some("p95<3s".parse().unwrap()), ..Question::default() };
    let report = predict(&store, Which::Last, &one_goal).unwrap();
    assert!(report.warnings.iter().all(|one| one.code() != "several_goals"), "one was given");
}

/// A page that waits a moment, and a report that waits a third of a second.
fn real_app() -> TempDir {
    let app = "run ->(env) { sleep(env['PATH_INFO'] == '/report' ? 0.35 : 0.01); [200, {}, ['']] }";
    process::app(&[("config.ru", app), ("config/puma.rb", "threads 4, 4\n")])
}

fn tune_really(folder: &TempDir, slo: &str, report: &str, budget: &str) -> (Option<i32>, Value) {
    let grid = ["tune", "--workers", "1", "--threads", "4,8", "--fresh-session", "--json"];
    let goals = ["--slo", slo, "--target", "GET / weight=4", "--target", report];
    let ended = sweetspot(folder.path(), &[&grid[..], &goals, &["--budget", budget]].concat());
    (ended.code, ended.json())
}

#[test]
fn puma_is_tuned_for_a_quick_and_a_slow_page_each_within_its_own_goal() {
    let _turn = crate::turn::most();
    let folder = real_app();
    let (code, json) = tune_really(&folder, "p95<250ms", "GET /report slo=p95<2s", "40s");
    assert_eq!(code, Some(0), "{json:#}");
    assert_valid("tune.schema.json", &json);
    assert_eq!(json["slo"], "p95<250ms; GET /report: p95<2s");
    let goals = &json["decision"]["goals"];
    assert_eq!(goals[0]["targets"][0]["target"], "GET /");
    assert!(goals[0]["latency_s"]["p50"].as_f64().unwrap() < 0.25, "{goals:#}");
    assert!(goals[1]["latency_s"]["p50"].as_f64().unwrap() >= 0.35, "{goals:#}");

    // A fifth of all requests takes longer than the common goal allows one in twenty to.
    let (code, json) = tune_really(&folder, "p95<250ms", "GET /report", "20s");
    assert_eq!(code, Some(3), "{json:#}");

    // And the other way round: all together are quick enough, the report by itself is not.
    let (code, json) = tune_really(&folder, "p95<2s", "GET /report slo=p95<250ms", "20s");
    assert_eq!(code, Some(3), "{json:#}");
    let trials = json["trials"].as_array().unwrap();
    let reason = trials[0]["reason"].as_str().unwrap();
    assert!(reason.starts_with("GET /report: p95<250ms: "), "{reason}");
}
