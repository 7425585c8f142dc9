//! Figures of blocks in which requests, failures and p95 were counted.
//!
//! In: values by block. Out: p95, throughput and the share that failed.

use super::range::Blocks;
use crate::observe::Observed;
use crate::terms::FigureKind;

/// A block of fewer requests has no p95.
const REQUESTS_LEAST: f64 = 20.0;

/// What is not seen of an instance by who only counts its requests.
pub const UNSEEN: [FigureKind; 3] =
    [FigureKind::QueueTime, FigureKind::Memory, FigureKind::CpuPerRequest];

/// What was counted in each block; `None` where nothing is known of it.
pub struct Counted {
    pub p95_s: Vec<Option<f64>>,
    pub requests: Vec<Option<f64>>,
    pub failed: Vec<Option<f64>>,
}

/// `None`: no request was counted.
pub fn observed(counted: Counted, blocks: Blocks) -> Option<Observed> {
    let Counted { p95_s, requests, failed } = counted;
    if requests.iter().flatten().all(|count| *count == 0.0) {
        return None;
    }
    let enough = |count: &Option<f64>| count.is_some_and(|count| count >= REQUESTS_LEAST);
    let p95 = p95_s.into_iter().zip(&requests).map(|(p95, count)| p95.filter(|_| enough(count)));
    let share = |(failed, count): (Option<f64>, &Option<f64>)| {
        // What did not happen is not counted.
        count.filter(|count| *count > 0.0).map(|count| failed.unwrap_or(0.0) / count)
    };
    let errors = failed.into_iter().zip(&requests).map(share).collect();
    let rate = |count: &Option<f64>| count.map(|count| count / blocks.block_s as f64);
    Some(Observed {
        start_s: blocks.start_s,
        block_s: blocks.block_s as u32,
        figures: [
            (FigureKind::LatencyP95, p95.collect()),
            (FigureKind::Throughput, requests.iter().map(rate).collect()),
            (FigureKind::Errors, errors),
        ]
        .into(),
    })
}
