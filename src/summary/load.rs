//! A load record to the figures that `load --json` prints; first form.
use crate::stats::binomial;
use crate::terms::*;
use std::collections::BTreeMap;
use std::time::Duration;
pub fn summarise(r: &LoadRecord, cut: Duration, slo: Option<&Slo>) -> LoadSummary {
    let secs = &r.seconds[(cut.as_secs() as usize).min(r.seconds.len())..];
    let mut lat = Latencies::default();
    let mut ex = Latencies::default();
    let mut status: BTreeMap<String, u64> = BTreeMap::new();
    let mut errors = ErrorCounts::default();
    let (mut due, mut sent, mut ok) = (0, 0, 0);
    for s in secs {
        lat.add(&s.latency);
        ex.add(&s.exchange_time);
        errors.add(&s.errors);
        due += s.due;
        sent += s.sent;
        for (k, v) in &s.status {
            *status.entry(k.to_string()).or_default() += v;
            if (200..400).contains(k) {
                ok += v;
            }
        }
    }
    let span = (r.last_reply.max(r.duration) - cut.min(r.duration)).as_secs_f64().max(1e-9);
    let q = |h: &Latencies| {
        let f = |p| h.quantile(p).unwrap_or_default().as_secs_f64();
        LatencySummary {
            min: h.min().unwrap_or_default().as_secs_f64(),
            mean: h.mean().unwrap_or_default().as_secs_f64(),
            p50: f(0.5),
            p75: f(0.75),
            p90: f(0.9),
            p95: f(0.95),
            p99: f(0.99),
            p999: f(0.999),
            max: h.max().unwrap_or_default().as_secs_f64(),
        }
    };
    let slo_summary = slo.map(|slo| {
        let mut met = Some(true);
        let n = lat.count();
        for ql in &slo.quantiles {
            let over = lat.count_above(ql.limit);
            let p = 1.0 - ql.quantile.get();
            if binomial::lower_bound(n, over, 0.95) > p {
                met = Some(false);
            } else if binomial::upper_bound(n, over, 0.95) > p && met == Some(true) {
                met = None;
            }
        }
        if let Some(e) = slo.errors {
            let bad = due - ok;
            if due > 0 && binomial::lower_bound(due, bad, 0.95) > e.get() {
                met = Some(false);
            }
        }
        SloSummary { met, text: slo.to_string(), reason: String::new() }
    });
    LoadSummary {
        offered_load_rps: r.offered.rate().map(|r| r.as_per_second()),
        clients: None,
        duration_s: (r.duration - cut.min(r.duration)).as_secs_f64(),
        due,
        sent,
        completed: status.values().sum(),
        throughput_rps: ok as f64 / span,
        goodput_rps: None,
        latency_s: q(&lat),
        exchange_time_s: q(&ex),
        send_lag_s: SendLagSummary::default(),
        status,
        errors,
        bytes_in: 0,
        bytes_out: 0,
        windows: vec![],
        generator: GeneratorSummary::default(),
        slo: slo_summary,
        valid: true,
        warnings: vec![],
        warm_up_s: cut.as_secs_f64(),
    }
}
