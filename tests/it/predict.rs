//! `predict`: sessions of the simulated place, of which every answer is known, and the verb as a
//! user types it.

use std::time::Duration;

use sweetspot::place::simulated::{Simulated, SimulatedApp};
use sweetspot::report::Story;
use sweetspot::session::predict::{
    FleetQuestion, MachineKind, PredictError, Question, answer, predict,
};
use sweetspot::session::report::{Which, replay};
use sweetspot::store::Store;
use sweetspot::terms::{
    Bytes, Configuration, Cores, ModelForm, PredictReport, PredictedSetting, Wait,
};
use tempfile::TempDir;

use crate::process::sweetspot;
use crate::schema::assert_valid;
use crate::sessions::{filled, sample};
use crate::tune;

/// 12 ms of CPU and 48 ms of waiting.
fn app() -> SimulatedApp {
    SimulatedApp { cpu_s: 0.012, wait_s: 0.048, waits: 2, ..SimulatedApp::default() }
}

/// A whole tune on two cores, and the answer to `question` from it.
fn measured(question: &Question) -> PredictReport {
    let folder = TempDir::new().unwrap();
    let plan = tune::plan(&folder);
    tune::Room::default().tune(&plan, &mut Simulated::new(app(), plan.seed)).unwrap();
    predict(&Store::open(&plan.store).unwrap(), Which::Last, question).unwrap()
}

fn find(report: &PredictReport, workers: u16, threads: u16) -> &PredictedSetting {
    let mut all = report.predicted.iter();
    all.find(|one| (one.workers, one.threads) == (workers, threads)).unwrap()
}

fn assert_covers(predicted: &PredictedSetting, truth: f64) {
    let [low, high] = predicted.capacity_rps_interval;
    assert!((low..=high).contains(&truth), "the truth is {truth}: {predicted:?}");
    let error = predicted.capacity_rps / truth - 1.0;
    assert!(error.abs() < 0.2, "the truth is {truth}: {predicted:?}");
}

fn truth(app: &SimulatedApp, workers: u16, threads: u16) -> f64 {
    let at = Configuration::new(workers, threads).unwrap();
    app.true_capacity(at, Duration::from_millis(200), 0.95)
}

#[test]
fn a_machine_with_four_times_the_cores_is_predicted_with_its_truth_in_the_interval() {
    let cores = vec![Cores::new(2.0).unwrap(), Cores::new(8.0).unwrap()];
    let workers = Some(vec![2, 8, 12]);
    let threads = Some(vec![2, 4, 8]);
    let slo = Some("p95<200ms,errors<0.1%".parse().unwrap());
    let report = measured(&Question { cores, workers, threads, slo, ..Question::default() });
    let there = SimulatedApp { cores: 8.0, ..app() };
    let on_eight: Vec<PredictedSetting> =
        report.predicted.iter().filter(|one| one.cores == 8.0).cloned().collect();
    assert_eq!((report.predicted.len(), on_eight.len()), (18, 9));
    let report = PredictReport { predicted: on_eight, ..report };
    for (workers, threads) in [(8, 4), (12, 2)] {
        assert_covers(find(&report, workers, threads), truth(&there, workers, threads));
    }
    assert!(report.warnings.iter().any(|one| one.code() == "extrapolation"), "{report:?}");
}

#[test]
fn longer_waits_are_predicted_with_their_truth_in_the_interval() {
    let question = Question {
        wait: Wait::Of(0.1),
        workers: Some(vec![2]),
        threads: Some(vec![4, 8]),
        slo: Some("p95<400ms,errors<0.1%".parse().unwrap()),
        ..Question::default()
    };
    let report = measured(&question);
    let slower = SimulatedApp { wait_s: 0.1, ..app() };
    for threads in [4, 8] {
        let at = Configuration::new(2, threads).unwrap();
        let truth = slower.true_capacity(at, Duration::from_millis(400), 0.95);
        assert_covers(find(&report, 2, threads), truth);
    }
}

#[test]
fn what_was_measured_is_met_and_the_fit_is_told() {
    let report = measured(&Question::default());
    let fit = &report.fit;
    assert_eq!(fit.form, ModelForm::Threads);
    let [low, high] = fit.demand.cpu_s.interval;
    assert!(low < 0.012 && 0.012 < high, "{fit:?}");
    assert!(fit.misfit < 0.1 && !fit.residuals.is_empty(), "{fit:?}");
    assert!(report.predicted.is_sorted_by(|a, b| a.capacity_rps >= b.capacity_rps));
    for one in report.predicted.iter().filter(|one| one.capacity_rps > 0.0) {
        let latency = one.latency_s.unwrap();
        assert!(latency.p50 <= latency.p95 && latency.p95 <= latency.p99, "{one:?}");
        assert!((latency.at_rps / one.capacity_rps - 0.7).abs() < 1e-9);
    }
}

#[test]
fn memory_that_is_not_there_rules_settings_out() {
    let memory = Some(Bytes(300 << 20));
    let report = measured(&Question { memory, ..Question::default() });
    let ruled_out = |workers, threads| find(&report, workers, threads).ruled_out.is_some();
    assert!(!ruled_out(1, 1) && ruled_out(4, 8), "{report:?}");
}

#[test]
fn a_session_of_which_nothing_was_measured_says_so() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("sweetspot.db");
    filled(&path, &[sample::started()]);
    let store = Store::open(&path).unwrap();
    let question = Question { slo: Some("p95<1s".parse().unwrap()), ..Question::default() };
    let error = predict(&store, Which::Last, &question).unwrap_err();
    assert!(matches!(error, PredictError::NothingToFit { session: 1 }), "{error}");
}

#[test]
fn a_fleet_stands_the_loss_of_a_zone_and_the_cheapest_comes_first() {
    let machine = |text: &str| text.parse::<MachineKind>().unwrap();
    let fleet = FleetQuestion {
        rate: "3000/s".parse().unwrap(),
        zones: 3,
        trough: Some("30%".parse().unwrap()),
        machines: vec![machine("dear=8,16GiB,1.00"), machine("cheap=8,16GiB,0.30")],
    };
    let report = measured(&Question { fleet: Some(fleet), ..Question::default() });
    let names: Vec<&str> = report.fleets.iter().map(|one| one.machine.as_str()).collect();
    assert_eq!(names, ["cheap", "dear"]);
    let need = report.fleets[0].fleet.as_ref().unwrap();
    assert_eq!((need.machines % 3, need.cost_per_hour), (0, Some(0.3 * need.machines as f64)));
    let lost = need.zone_lost.unwrap();
    assert!(lost.p95 < 0.2 && need.ordinary.p95 < lost.p95 && lost.failed == 0.0, "{need:?}");
    let days = need.days.unwrap();
    let of_the_day = 0.3 * days.ordinary.machine_hours;
    assert!((days.cost.unwrap() / of_the_day - 1.0).abs() < 1e-9, "{days:?}");
    assert!(of_the_day < 24.0 * need.cost_per_hour.unwrap(), "a scaled fleet costs less");
    assert!(days.zone_lost.unwrap().worst_p95 >= days.ordinary.worst_p95, "{days:?}");
}

#[test]
fn the_verb_prints_text_json_and_a_line() {
    let folder = TempDir::new().unwrap();
    filled(&folder.path().join(".sweetspot/sweetspot.db"), &sample::events());
    let run = |arguments: &[&str]| {
        let ended = sweetspot(folder.path(), &[&["predict", "last"], arguments].concat());
        ended.assert_code(0);
        ended.stdout
    };
    let json: serde_json::Value = serde_json::from_str(&run(&["--json", "--cpus", "2,4"])).unwrap();
    assert_valid("predict.schema.json", &json);
    let text = run(&["--cpus", "4", "--memory", "8GiB", "--wait", "+50ms"]);
    assert!(text.contains("on 4 cores") && text.contains("predicted, not measured"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert_eq!(run(&["--quiet", "--cpus", "4,8"]).lines().count(), 2);
    let fleet = ["--fleet", "5000/s", "--zones", "3", "--trough", "30%"];
    let machine = ["--machine", "small=2,4GiB,0.1"];
    let few = ["--workers", "2,4", "--threads", "5", "--mix", "1%:5ms:2s", "--quantum", "10ms"];
    let text = run(&[&fleet[..], &machine, &few].concat());
    for expected in ["scaled with a day's load", "the worst five minutes", "were measured take p95"]
    {
        assert!(text.replace('\n', " ").contains(expected), "{expected}: {text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let json = run(&[&fleet[..], &machine, &few, &["--json"]].concat());
    assert_valid("predict.schema.json", &serde_json::from_str(&json).unwrap());
}

#[test]
fn a_new_slow_endpoint_takes_the_threads_from_the_others_until_there_are_more() {
    let slow = "5%:5ms:2s".parse().unwrap();
    let rate = Some("20/s".parse().unwrap());
    let workers = Some(vec![2]);
    let question = Question { others: vec![slow], rate, workers, ..Question::default() };
    let report = measured(&Question { threads: Some(vec![2, 16]), ..question });
    let p95 = |threads| find(&report, 2, threads).latency_of_measured_s.map(|it| it.p95);
    // Twenty a second, a twentieth of which wait for two seconds, keep three of four threads busy.
    let (few, many) = (p95(2).unwrap(), p95(16).unwrap());
    assert!(few > 3.0 * many && many < 0.2, "{few} {many}");
}

#[test]
fn a_server_that_is_not_known_follows_a_curve_and_says_so() {
    let folder = TempDir::new().unwrap();
    let plan = tune::plan(&folder);
    let mut place = Simulated::new(app(), plan.seed);
    tune::Room::default().tune(&plan, &mut place).unwrap();
    let store = Store::open(&plan.store).unwrap();
    let known = replay(&store, Which::Last).unwrap();
    let unknown = Story { server: "command bin/serve".into(), ..known };
    let report = answer(&unknown, &Question::default()).unwrap();
    assert_eq!(report.fit.form, ModelForm::Scalability);
    assert!(report.warnings.iter().any(|one| one.code() == "unknown_server"), "{report:?}");
    let two = find(&report, 2, 4);
    assert_eq!(two.latency_s, None);
    // Within the goal that the session settled itself.
    let limit = report.slo.only().unwrap().tightest().limit;
    let holds =
        |app: &SimulatedApp| app.true_capacity(Configuration::new(2, 4).unwrap(), limit, 0.95);
    assert!((two.capacity_rps / holds(&app()) - 1.0).abs() < 0.25, "{two:?}");
    // Asked for longer waits there is nothing but the mechanism to go by.
    let wait = Wait::Times(2.0);
    let slower = answer(&unknown, &Question { wait, ..Question::default() }).unwrap();
    let slower = find(&slower, 2, 4);
    assert!(slower.latency_s.is_some());
    let twice = SimulatedApp { wait_s: 2.0 * app().wait_s, ..app() };
    let ratio = slower.capacity_rps / holds(&twice);
    assert!((0.75..1.25).contains(&ratio), "{ratio}: {slower:?}");
}

#[test]
fn what_is_typed_wrong_is_named() {
    let folder = TempDir::new().unwrap();
    filled(&folder.path().join(".sweetspot/sweetspot.db"), &sample::events());
    for (arguments, expected) in [
        (&["predict", "99"][..], "99"),
        (&["predict", "last", "--workers", "0"], "--workers: 0 is impossible"),
        (&["predict", "last", "--wait", "soon"], "'soon' is no wait"),
        (&["predict", "last", "--workers", "1..1024", "--threads", "1..9"], "ask for fewer"),
        (&["predict", "last", "--workers", "1..101", "--threads", "1", "--simulate"], "than 100"),
        (&["predict", "last", "--mix", "60%:1ms:0s", "--mix", "50%:1ms:0s"], "more than all"),
        (&["predict", "last", "--quantum", "0s"], "at least 1ms"),
        (&["predict", "last", "--mix", "lots"], "'lots' is no kind of requests"),
        (&["predict", "last", "--trough", "30%"], "--fleet"),
    ] {
        let ended = sweetspot(folder.path(), arguments);
        ended.assert_code(2);
        assert!(ended.stderr.contains(expected), "{ended:?}");
    }
}
