//! The words that an option takes, for who completes them or lists them.

use super::cluster::{PLACES, PULL_POLICIES};
use super::objective::KINDS;
use super::options::Key;
use super::resolve::{ARRIVALS, CONNECTIONS};
use crate::server::{ADAPTERS, Proxy};

/// Of an option that takes one of a few words, those; else none.
pub fn choices(key: Key) -> Vec<&'static str> {
    match key {
        Key::Server => ADAPTERS.iter().map(|adapter| adapter.name()).collect(),
        Key::Proxy => words(&Proxy::CHOICES),
        Key::Goal => words(&KINDS),
        Key::Arrivals => words(&ARRIVALS),
        Key::Connection => words(&CONNECTIONS),
        Key::Place => words(&PLACES),
        Key::ImagePullPolicy | Key::GeneratorImagePullPolicy => words(&PULL_POLICIES),
        _ => Vec::new(),
    }
}

fn words<T>(choices: &[(&'static str, T)]) -> Vec<&'static str> {
    choices.iter().map(|(word, _)| *word).collect()
}
