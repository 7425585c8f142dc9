//! What the collector's pod says, read from its log: each line of a load once, also where the log
//! breaks off and is read again.
//!
//! In: where that pod is. Out: its lines, whether it has ended, or why it cannot be read any more.
//! Must not make, change or remove anything in the cluster.

use std::thread;
use std::time::Instant;

use thiserror::Error;

use super::api::{Api, ApiError, Lines};
use super::fields::text;
use super::patience::{LOOK, OUTAGE};
use super::{objects, pods};
use crate::fleet::Relay;

/// Lines for people that are kept to say why a load has no result.
const LAST_LINES: usize = 20;

/// What keeps the log from being read on.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LogError {
    #[error(transparent)]
    Api(#[from] ApiError),
    /// What the collector's pod says cannot be read any more, though the API server answers.
    #[error(
        "pod {pod} cannot be read any more: its node {node} does not answer, and the API server \
         does; look at it with 'kubectl describe node {node}'"
    )]
    Silent { pod: String, node: String },
    /// Lines of the collector's log were not read before they were gone.
    #[error(
        "what pod {pod} said is not there as a whole: its lines {first} to {last} are gone, most \
         likely as its node has begun a new log file (kubelets do at 10 MiB, by \
         containerLogMaxSize) while the old one could not be read; seconds of the load may be \
         among them, so that there is no result: begin it again"
    )]
    Gap { pod: String, first: u64, last: u64 },
}

/// What the collector's pod says.
#[derive(Debug, Clone, PartialEq)]
pub enum Said {
    /// Of the load.
    Relay(Relay),
    /// To people.
    Words(String),
}

/// The log of the collector's pod.
pub struct PodLog<'a> {
    api: &'a dyn Api,
    /// The pod's name, and its path.
    pod: String,
    path: String,
    /// The number of the last line that was handed on: after an outage the log is read from its
    /// beginning, or what is left of it.
    seen: u64,
    lines: Option<Lines>,
    /// What the collector's program said to people last.
    words: Vec<String>,
}

impl<'a> PodLog<'a> {
    /// Of the pod with this name, nothing of which is read yet. `pods`: the path of its
    /// namespace's pods.
    pub fn new(api: &'a dyn Api, pods: &str, pod: String) -> Self {
        let path = format!("{pods}/{pod}");
        Self { api, pod, path, seen: 0, lines: None, words: Vec::new() }
    }

    /// The path of the pod.
    pub fn pod_path(&self) -> &str {
        &self.path
    }

    /// What the collector says next; `None` after its last line. A log that breaks off is read
    /// again, and what it says of loads is handed on once.
    ///
    /// # Errors
    /// The API server has not answered for a minute, or the pod's node; or lines are missing.
    pub fn next_said(&mut self) -> Result<Option<Said>, LogError> {
        // Old lines that come again are no sign of life.
        let began = Instant::now();
        while let Some(line) = self.next_line(began)? {
            match Relay::read(&line) {
                Some((number, _)) if number <= self.seen => {}
                Some((number, _)) if number > self.seen + 1 => {
                    let (pod, first) = (self.pod.clone(), self.seen + 1);
                    return Err(LogError::Gap { pod, first, last: number - 1 });
                }
                Some((number, relay)) => {
                    self.seen = number;
                    return Ok(Some(Said::Relay(relay)));
                }
                None => {
                    self.words.push(line.clone());
                    self.words.drain(..self.words.len().saturating_sub(LAST_LINES));
                    return Ok(Some(Said::Words(line)));
                }
            }
        }
        Ok(None)
    }

    /// What the collector's program said to people last; empty: it said nothing.
    pub fn last_words(&self) -> String {
        self.words.join(" / ")
    }

    /// How many generators have joined, as the collector has said so far; `None`: it has said more
    /// than that.
    ///
    /// # Errors
    /// The log may not be read, or the API server does not answer.
    pub fn joined_so_far(&self) -> Result<Option<u16>, ApiError> {
        let mut so_far = 0;
        for line in self.api.follow(&self.log_path())? {
            match Relay::read(&line?) {
                Some((_, Relay::Joined { joined })) => so_far = joined,
                Some(_) => return Ok(None),
                None => {}
            }
        }
        Ok(Some(so_far))
    }

    /// Whether the collector runs no more; a container that a mesh has added to its pod may. What
    /// cannot be asked is not known to have ended.
    pub fn has_ended(&self) -> bool {
        match self.api.get(&self.path) {
            Ok(Some(pod)) => {
                pods::state(&pod).is_over() || pods::ended(&pod, objects::COLLECTOR).is_some()
            }
            Ok(None) => true,
            Err(_) => false,
        }
    }

    /// Whose silence it is that the log could not be read for long, with this error at last: logs
    /// come from the node, and all else from the API server itself.
    pub fn silence(&self, error: ApiError) -> LogError {
        match self.api.get(&self.path) {
            Ok(Some(pod)) => {
                let node = text(&pod["spec"]["nodeName"]).to_string();
                LogError::Silent { pod: self.pod.clone(), node }
            }
            _ => error.into(),
        }
    }

    fn next_line(&mut self, began: Instant) -> Result<Option<String>, LogError> {
        loop {
            let next = match &mut self.lines {
                Some(lines) => lines.next(),
                None => match self.follow() {
                    Ok(()) => continue,
                    Err(error) => Some(Err(error)),
                },
            };
            match next {
                Some(Ok(line)) => return Ok(Some(line)),
                None if self.has_ended() => return Ok(None),
                Some(Err(error)) if !error.is_passing() => return Err(error.into()),
                Some(Err(error)) if began.elapsed() > OUTAGE => return Err(self.silence(error)),
                None | Some(Err(_)) if began.elapsed() > OUTAGE => return Ok(None),
                None | Some(Err(_)) => {
                    self.lines = None;
                    thread::sleep(LOOK);
                }
            }
        }
    }

    fn follow(&mut self) -> Result<(), ApiError> {
        self.lines = Some(self.api.follow(&format!("{}&follow=true", self.log_path()))?);
        Ok(())
    }

    /// Of what the collector has said so far. The container is named, as a mesh may have added one.
    fn log_path(&self) -> String {
        format!("{}/log?container={}", self.path, objects::COLLECTOR)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::sync::Mutex;

    use serde_json::{Value, json};

    use super::*;

    const POD: &str = "/api/v1/namespaces/shop/pods/p";

    /// A cluster whose collector's log is read in pieces.
    struct Fake {
        pod: Result<Option<Value>, ApiError>,
        log: Mutex<VecDeque<Vec<Result<String, ApiError>>>>,
    }

    impl Api for Fake {
        fn get(&self, path: &str) -> Result<Option<Value>, ApiError> {
            assert_eq!(path, POD);
            self.pod.clone()
        }

        fn create(&self, collection: &str, _object: &Value) -> Result<Value, ApiError> {
            panic!("nothing is made: {collection}")
        }

        fn delete(&self, path: &str) -> Result<(), ApiError> {
            panic!("nothing is removed: {path}")
        }

        fn delete_version(&self, path: &str, _version: &str) -> Result<(), ApiError> {
            panic!("no version is removed: {path}")
        }

        fn patch(&self, path: &str, _operations: &Value) -> Result<Value, ApiError> {
            panic!("nothing is changed: {path}")
        }

        fn run(&self, path: &str) -> Result<Lines, ApiError> {
            panic!("nothing is run: {path}")
        }

        fn follow(&self, path: &str) -> Result<Lines, ApiError> {
            assert_eq!(path, format!("{POD}/log?container=collector&follow=true"));
            let piece = self.log.lock().unwrap().pop_front().unwrap_or_default();
            Ok(Box::new(piece.into_iter()))
        }
    }

    /// A pod that has ended, and its log in these pieces.
    fn saying(pieces: Vec<Vec<Result<String, ApiError>>>) -> Fake {
        let pod = Ok(Some(json!({"status": {"phase": "Succeeded"}})));
        Fake { pod, log: Mutex::new(pieces.into()) }
    }

    fn log(fake: &Fake) -> PodLog<'_> {
        PodLog::new(fake, "/api/v1/namespaces/shop/pods", "p".into())
    }

    fn gone() -> ApiError {
        ApiError::Unreachable { why: "reset".into() }
    }

    fn said(number: u64) -> Relay {
        Relay::Failed { why: number.to_string() }
    }

    fn line(number: u64) -> Result<String, ApiError> {
        Ok(said(number).line(number))
    }

    #[test]
    fn a_log_that_breaks_off_is_gone_on_with_also_where_its_beginning_is_gone() {
        let fake = saying(vec![vec![line(1), line(2), Err(gone())], vec![line(2), line(3)]]);
        let mut log = log(&fake);
        let lines: Vec<Said> = std::iter::from_fn(|| log.next_said().unwrap()).collect();
        assert_eq!(lines, [1, 2, 3].map(|number| Said::Relay(said(number))), "each once");
    }

    #[test]
    fn a_line_that_is_gone_with_its_file_is_noticed() {
        let fake = saying(vec![vec![line(1), line(4)]]);
        let mut log = log(&fake);
        assert_eq!(log.next_said(), Ok(Some(Said::Relay(said(1)))));
        let gap = LogError::Gap { pod: "p".into(), first: 2, last: 3 };
        assert_eq!(log.next_said(), Err(gap));
    }

    #[test]
    fn the_last_of_what_is_said_to_people_is_kept() {
        let words = |number: usize| format!("line {number}");
        let fake = saying(vec![(1..=LAST_LINES + 1).map(|number| Ok(words(number))).collect()]);
        let mut log = log(&fake);
        assert_eq!(log.last_words(), "");
        assert_eq!(log.next_said(), Ok(Some(Said::Words(words(1)))));
        while log.next_said().unwrap().is_some() {}
        let last: Vec<String> = (2..=LAST_LINES + 1).map(words).collect();
        assert_eq!(log.last_words(), last.join(" / "));
    }

    #[test]
    fn the_node_is_silent_where_the_api_server_still_answers() {
        let running = json!({"spec": {"nodeName": "node1"}, "status": {"phase": "Running"}});
        let mut fake = Fake { pod: Ok(Some(running)), ..saying(Vec::new()) };
        assert!(!log(&fake).has_ended());
        let silent = LogError::Silent { pod: "p".into(), node: "node1".into() };
        assert_eq!(log(&fake).silence(gone()), silent);
        fake.pod = Err(gone());
        assert!(!log(&fake).has_ended(), "that is not known");
        assert_eq!(log(&fake).silence(gone()), LogError::Api(gone()));
    }
}
