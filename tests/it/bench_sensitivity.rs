//! Tests of the part of `bench/sensitivity.rs` that only computes: how a figure is changed. (A
//! bench without a harness runs no tests of its own.)

#[path = "../../bench/sensitivity/figure.rs"]
mod figure;

use figure::Figure;

const SOURCE: &str = "\
/// A share.
pub(super) const SHARE: f64 = 0.3;
/// A level.
const LEVEL: f64 = 0.98;
const FACTOR: f64 = 1.06;
pub const COUNT: u32 = 3;
pub(super) const SHORT: Duration = Duration::from_secs(5);
const MANY: [u32; 2] = [1, 4];
const REQUESTS: f64 = 900_000.0;
";

fn changed(name: &str, times: f64) -> String {
    let all = Figure::all(SOURCE);
    all.iter().find(|it| it.name == name).unwrap().changed(times)
}

#[test]
fn figures_that_are_one_number_are_found() {
    let names: Vec<&str> = Figure::all(SOURCE).iter().map(|it| it.name).collect();
    assert_eq!(names, ["SHARE", "LEVEL", "FACTOR", "COUNT", "SHORT", "REQUESTS"]);
    let source = include_str!("../../src/search/constants.rs");
    let listed = Figure::all(source).len();
    let written = source.lines().filter(|line| line.contains("const ")).count();
    assert!(listed >= written - 3, "{listed} of {written}: the others cannot be changed");
}

#[test]
fn a_level_is_changed_by_what_it_lacks_and_a_factor_by_what_is_beyond_one() {
    assert_eq!(changed("SHARE", 2.0), "0.6");
    assert_eq!(changed("LEVEL", 0.5), "0.99");
    assert_eq!(changed("FACTOR", 2.0), "1.12");
    assert_eq!(changed("COUNT", 0.5), "2");
    assert_eq!(changed("SHORT", 0.5), "Duration::from_millis(2500)");
    assert_eq!(changed("REQUESTS", 2.0), "1800000.0");
}

#[test]
fn only_its_own_line_is_changed() {
    let all = Figure::all(SOURCE);
    let text = all[1].in_source(SOURCE, "0.99");
    assert_eq!(text, SOURCE.replace("0.98", "0.99"));
    assert_ne!(text, SOURCE);
}
