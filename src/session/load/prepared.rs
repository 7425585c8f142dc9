//! A load that can begin, and one that has run.
//!
//! In and out: values.

use jiff::Timestamp;

use super::asked::{FleetAsked, Role};
use crate::load::{Length, LoadSpec};
use crate::plan::traffic::{self, Url};
use crate::report::load::{About, RequestLine};
use crate::terms::{Goals, LoadSecond, LoadSummary, Target, Warning};

/// A load that can begin.
pub struct Prepared {
    pub(super) url: Url,
    pub(super) spec: LoadSpec,
    pub(super) fleet: Option<FleetAsked>,
    pub(super) goals: Goals,
    /// Doubts about what is sent.
    pub(super) warnings: Vec<Warning>,
    /// What is going to be done, for people; without secrets.
    pub description: Vec<String>,
}

impl Prepared {
    /// Others send it, and this program adds up what they record.
    pub fn is_collected(&self) -> bool {
        let role = self.fleet.as_ref().map(|fleet| &fleet.role);
        matches!(role, Some(Role::Collect { .. } | Role::Pods(_)))
    }

    /// What reports say of a load that begins now.
    pub fn about(&self, now: Timestamp) -> About {
        let line = |target: &Target| RequestLine {
            method: target.method.clone(),
            path: traffic::without_query(&target.path),
        };
        let server = Url { user: None, path: String::new(), ..self.url.clone() };
        About {
            description: self.description.clone(),
            server: server.to_string(),
            host: self.url.host.clone(),
            port: self.url.port,
            targets: self.spec.targets.iter().map(line).collect(),
            has_bodies: self.spec.targets.iter().any(|target| !target.body.is_empty()),
            began: now,
            duration: match self.spec.length {
                Length::Duration(length) => Some(length),
                Length::Requests(_) => None,
            },
            loops: self.spec.loops,
        }
    }
}

/// A load that has run.
pub struct Finished {
    pub summary: LoadSummary,
    /// The measured seconds as one, with their whole distributions.
    pub all: LoadSecond,
}
