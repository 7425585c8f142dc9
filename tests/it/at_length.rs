//! Real servers for more than a minute each, however quick the machine is. Tests begin in the order
//! of their names: these are among the first, and others fill the time beside them.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use sweetspot::plan::Plan;
use sweetspot::terms::{PlannedGoal, Threads, WorkerTrend, Workers};
use tempfile::TempDir;

use crate::failures::site::{Running, Site};
use crate::hold::decision;
use crate::knobs::on_puma;
use crate::schema::assert_valid;
use crate::soak::soak;
use crate::tune::{Room, plan};

/// Every request leaves this much behind.
const LEFT_BYTES: f64 = 8_000.0;
const RACKUP: &str = "KEPT = []\n\
    run ->(_) { KEPT << 'x' * 8_000; sleep 0.005; \
    [200, { 'Content-Type' => 'text/plain' }, ['ok']] }\n";

#[test]
fn a_real_puma_that_leaks_is_seen_to_by_the_worker() {
    let _turn = crate::turn::share();
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("config.ru"), RACKUP).unwrap();
    let plan = Plan {
        workers: vec![Workers::new(2).unwrap()],
        threads: vec![Threads::new(2).unwrap()],
        goal: PlannedGoal::Given("p95<500ms,errors<5%".parse().unwrap()),
        budget: Duration::from_secs(20),
        soak: Some(Duration::from_secs(80)),
        ..plan(&folder)
    };
    let mut place = on_puma(plan.app.clone(), Vec::new());
    let ended = Room::default().tune_really(&plan, &mut place).unwrap();
    let soak = soak(&ended);
    assert_eq!(soak.ended, None, "{soak:?}");
    assert!(soak.parts.len() >= 7, "{soak:?}");
    assert_eq!(soak.workers_memory.len(), usize::from(decision(&ended).workers));
    let memory = soak.memory_bytes.unwrap();
    let left = soak.requests() as f64 * LEFT_BYTES;
    let grown = (memory.last - memory.first) / left;
    assert!((0.5..2.0).contains(&grown), "{grown} of what the requests left: {soak:?}");
    assert!(memory.certain().is_some_and(|(per_hour, _)| per_hour > 0.0), "{soak:?}");
    assert!(soak.memory_full_in_s.is_some(), "{soak:?}");
    let grows = |worker: &WorkerTrend| worker.memory_bytes.last > worker.memory_bytes.first;
    assert!(soak.workers_memory.iter().all(grows), "{soak:?}");
}

#[test]
fn a_real_puma_is_verified_with_what_the_store_kept_and_nothing_is_left_of_it() {
    let site = Site::waiting();
    let secret = ["-H", "X-Key: abc"];
    let tune =
        ["tune", "--workers", "1..2", "--threads", "1", "--budget", "40s", "--slo", "p95<2s"];
    site.run(&[&tune[..], &["--target", "GET /a"], &secret].concat()).assert_code(0);

    let forgotten = site.run(&["verify", "last", "--budget", "40s"]);
    forgotten.assert_code(2);
    forgotten.assert_says(&["headers was X-Key (values not shown)", "give it with -H"]);

    let junit = format!("junit={}", site.path("verify.xml").display());
    let verify = ["verify", "last", "--budget", "75s", "-o", &junit];
    // As CI runs it, which keeps what it says.
    let measure = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/ci/measure");
    let mut measure = site.command_of(&measure, &[&verify[..], &secret].concat());
    let results = site.path("results");
    measure.env("COMMAND", env!("CARGO_BIN_EXE_sweetspot")).env("FOLDER", &results);
    let ended = Running::begin(measure).end();
    site.nothing_left.check();
    let found = std::fs::read_to_string(results.join("verify.json")).unwrap();
    let found: Value = serde_json::from_str(&found).unwrap();
    assert_valid("verify.schema.json", &found);
    assert_eq!((&found["session"], &found["stored_as"]), (&1.into(), &2.into()));
    assert!(found["recommended"]["capacity_rps"].as_f64().unwrap() > 0.0, "{found}");
    let code = match found["verdict"].as_str().unwrap() {
        "yes" => 0,
        "no" => 3,
        _ => 4,
    };
    // Undecided is a warning there.
    ended.assert_code(if code == 4 { 0 } else { code });
    ended.assert_says(&[&format!("(exit code {code})")]);
    let comment = std::fs::read_to_string(results.join("comment.md")).unwrap();
    assert!(comment.contains("as session 1 recommends"), "{comment}");
    let junit = std::fs::read_to_string(site.path("verify.xml")).unwrap();
    let came = match code {
        0 => "failures=\"0\" errors=\"0\" skipped=\"0\"",
        3 => "failures=\"1\"",
        _ => "skipped=\"1\"",
    };
    assert!(junit.contains("is still right\" classname=\"sweetspot.verify\""), "{junit}");
    assert!(junit.contains(came), "{junit}");
    site.run(&["sessions", "list"]).assert_says(&["of 1 again"]);
    site.run(&["report", "2"]).assert_says(&["as session 1 recommends", "now / then"]);
    site.run(&["compare", "1", "2"]).assert_says(&["capacity"]);
}
