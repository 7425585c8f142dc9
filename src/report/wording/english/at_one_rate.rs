//! What was seen of a way to cut an app at the rate that is the same for all, in English.

use crate::report::figures;
use crate::terms::AtOneRate;

/// With a change, beside the app as it is.
pub fn sentence(with: &AtOneRate, as_it_is: &AtOneRate) -> String {
    let rate = figures::rate(with.rate_rps);
    let ((p95, p99), (other_p95, other_p99)) = (tail(with), tail(as_it_is));
    let seen = format!("at {rate} p95 {p95} and p99 {p99}, as it is {other_p95} and {other_p99}");
    let other = a_pod_less(as_it_is).map(|it| format!("as it is, {it}"));
    let parts = [Some(seen), a_pod_less(with), other];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

fn tail(of: &AtOneRate) -> (String, String) {
    let p95 = figures::latency(of.latency_s_p95);
    let [least, most] = of.latency_s_p95_range.map(figures::latency);
    (format!("{p95} ({least} to {most})"), figures::latency(of.latency_s_p99))
}

/// What the other pods do once one is gone; `None`: that is not known.
pub fn a_pod_less(of: &AtOneRate) -> Option<String> {
    let Some(less) = &of.with_a_pod_less else {
        return (of.pods == 1).then(|| "without its only pod nothing is left".to_string());
    };
    let ended = if less.another_ended { " another ended too:" } else { "" };
    let with = format!("with {} of {} pods left{ended}", less.pods_left, of.pods);
    if less.failed_share >= 1.0 {
        return Some(format!("{with} all requests failed"));
    }
    let [p95, p99] = [less.latency_s_p95, less.latency_s_p99].map(figures::latency);
    let failed = figures::percent(less.failed_share);
    let grew = match less.keeps_up {
        Some(false) => ", and they cannot carry it: their queue grew to the end",
        Some(true) | None => "",
    };
    Some(format!("{with} p95 {p95}, p99 {p99}, {failed} failed{grew}"))
}
