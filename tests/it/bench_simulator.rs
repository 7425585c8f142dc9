//! A test of the part of `bench/simulator.rs` that only computes: a fleet of which each request is
//! simulated. (A bench without a harness runs no tests of its own.)

#[path = "../../bench/simulator/each.rs"]
mod each;

use sweetspot::model::Host;
use sweetspot::model::day::{ByRate, DayPlan, day};
use sweetspot::model::simulator::{RequestKind, Server};

use each::Each;

#[test]
fn what_is_looked_up_by_rate_agrees_with_every_request_simulated() {
    // Some 93 requests/s at the most.
    let request =
        RequestKind { cpu_s: 0.02, wait_s: 0.02, waits: 3, cv2: 0.5, ..RequestKind::default() };
    let machine = Host { server: Server::new(2, 5, 2.0), requests: vec![request] };
    let plan = DayPlan { length_s: 7200.0, ..DayPlan::new(400.0, 0.3, 65.0, 3) };
    let by_rate = day(&plan, &mut ByRate::new(&machine));
    let each = day(&plan, &mut Each::new(&machine, 1));
    assert_eq!(by_rate.machines, each.machines);
    assert!((by_rate.requests / each.requests - 1.0).abs() < 0.01);
    for (a, b) in [(by_rate.p50, each.p50), (by_rate.p95, each.p95), (by_rate.p99, each.p99)] {
        assert!((a / b - 1.0).abs() < 0.1, "{by_rate:?} {each:?}");
    }
}
