//! Seeds spread over the cores; results in the order of the seeds.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::common::Result;

/// `one` of every seed from `first` on, `count` of them.
///
/// # Errors
/// The first error in the order of the seeds.
pub fn each<T: Send>(
    first: u64,
    count: u64,
    one: impl Fn(u64) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let next = AtomicU64::new(0);
    let done = Mutex::new(Vec::new());
    let work = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= count {
                return;
            }
            let result = one(first + index);
            done.lock().expect("no other worker panicked").push((index, result));
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let mut all = done.into_inner().expect("every worker has ended");
    all.sort_by_key(|(index, _)| *index);
    all.into_iter().map(|(_, result)| result).collect()
}
