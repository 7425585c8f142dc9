//! A load that can begin, and one that has run.
//!
//! In and out: values.

use jiff::Timestamp;

use super::addresses::{addresses, reachable};
use super::asked::{FleetAsked, Role};
use crate::load::shape::{Shape, Stage};
use crate::load::{self, Address, Length, LoadSpec};
use crate::plan::traffic::{self, Url};
use crate::report::load::{About, RequestLine};
use crate::summary::instrument::Lagging;
use crate::terms::{
    Arrivals, Goals, LiveSecond, LoadSecond, LoadSummary, ShapeSummary, StageSummary, Target,
    Warning,
};

/// A load that can begin.
pub struct Prepared {
    pub(super) url: Url,
    pub(super) allows_public: bool,
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
        matches!(role, Some(Role::Collect { .. } | Role::Pods(_) | Role::Hosts(_)))
    }

    /// The load as it will be sent, to those addresses where a server listens. The name is looked
    /// up again: what it leads to may have been replaced since the load before.
    pub(super) fn to_who_listens(&self) -> LoadSpec {
        // Nothing is started from this process, so nothing inherits the higher limit.
        load::raise_descriptor_limit();
        let mut spec = self.spec.clone();
        if let Address::Tcp(known) = &mut spec.address {
            let found = addresses(&self.url, self.allows_public);
            *known = reachable(found.unwrap_or_else(|_| std::mem::take(known)));
        }
        spec
    }

    /// How it goes on, as its result says it.
    pub(super) fn shape(&self) -> ShapeSummary {
        let stage = |it: &Stage| StageSummary {
            from_rps: it.from.as_per_second(),
            to_rps: it.to.as_per_second(),
            duration_s: it.length.as_secs_f64(),
        };
        match &self.spec.shape {
            Shape::Constant { .. } => ShapeSummary::Constant,
            Shape::Stages { stages, .. } => {
                ShapeSummary::Stages { stages: stages.iter().map(stage).collect() }
            }
            Shape::Times(times) => ShapeSummary::Recorded { requests: times.count() as u64 },
            Shape::Clients { think, .. } => ShapeSummary::Clients { think_s: think.as_secs_f64() },
        }
    }

    /// How its requests are spaced; `None` of clients, and of times that were recorded.
    pub(super) fn arrivals(&self) -> Option<Arrivals> {
        match self.spec.shape {
            Shape::Constant { arrivals, .. } | Shape::Stages { arrivals, .. } => Some(arrivals),
            Shape::Times(_) | Shape::Clients { .. } => None,
        }
    }

    /// Takes each second of the load while it runs, and says whether its generator is late from
    /// then on: what is measured then is this machine, and not the server.
    pub fn lateness(&self) -> impl FnMut(&LiveSecond) -> bool {
        let (tightest, mut lagging) = (self.goals.tightest_limit(), Lagging::default());
        move |second: &LiveSecond| lagging.look(second, tightest)
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
