//! What the pods of a Deployment print: what they run with, and why they do not come up.
//!
//! In: pods that were started. Out: their settings today, and failures with their last lines.

use serde_json::Value;

use super::{HEAD_BYTES, LOG_LINES, Pods};
use crate::place::PlaceError;
use crate::place::kubernetes::{deployment, fields, pods};
use crate::place::local::log::worth_showing;
use crate::server::{self, Inspection, Obeys, Printed};
use crate::terms::{
    BootAdvice, BootCause, BootEnd, BootFailure, BootFailureKind, Configuration, StartAdvice,
};

impl Pods<'_> {
    /// What it waited for.
    pub(super) fn too_late(&self, pods: &[Value], object: &Value) -> BootEnd {
        let patience_s = self.boot_patience().as_secs_f64();
        let of_pod = pods.iter().find_map(|pod| pods::waited_for(pod, patience_s));
        let none = || deployment::why_no_pods(object).map(|error| BootEnd::NotRun { error });
        of_pod.or_else(none).unwrap_or_else(|| {
            // A query may hold a secret.
            let path = self.settings.ready_path.split('?').next().unwrap_or_default();
            BootEnd::NotAnswered { target: format!("GET {path}"), patience_s }
        })
    }

    /// What its containers say that they run with, else its variables.
    pub(super) fn inspection(&self) -> Result<Inspection, PlaceError> {
        let pods = self.pods()?;
        let pod = pods.iter().find(|pod| pods::address(pod).is_some()).map(fields::name);
        // What it said when it started: the end of its log is somebody's requests.
        let head = format!("limitBytes={HEAD_BYTES}");
        let lines = pod.map(|pod| self.lines_of(&pod, &head)).unwrap_or_default();
        let printed = server::printed(&lines);
        let named = |place: &str| -> Option<(String, Option<u16>)> {
            let name = server::pods::variable_of(&self.settings.app, place)?;
            let value = self.container.variables.get(&name).and_then(|it| it.trim().parse().ok());
            Some((name, value))
        };
        let (workers, threads) = (named("workers"), named("threads"));
        let today = |printed: Option<(u16, String)>, named: &Option<(String, Option<u16>)>| {
            let given = named.as_ref().and_then(|(_, value)| *value);
            printed.map(|(count, _)| count).or(given).unwrap_or(1)
        };
        let current = Configuration::new(
            today(printed.workers, &workers).max(1),
            today(printed.threads, &threads).max(1),
        );
        let current = current.ok().filter(|_| self.made.is_none());
        Ok(Inspection {
            server_version: self.container.image.clone(),
            obeys: Obeys {
                workers: workers.map(|(name, _)| name),
                max_threads: threads.map(|(name, _)| name),
                ..Obeys::default()
            },
            ..Inspection::of(current.unwrap_or(self.settings.smallest))
        })
    }

    /// The container's last lines. `previous`: of the one that ended.
    pub(super) fn last_lines(&self, pod: &str, previous: bool) -> Vec<String> {
        let which = if previous { "&previous=true" } else { "" };
        self.lines_of(pod, &format!("tailLines={LOG_LINES}{which}"))
    }

    /// Lines of the container's log, with secrets masked.
    pub(super) fn lines_of(&self, pod: &str, which: &str) -> Vec<String> {
        let query = format!("log?container={}&{which}", self.container.name);
        let lines = self.api.follow(&format!("{}/{pod}/{query}", self.core("pods")));
        let lines: Vec<String> = lines.into_iter().flatten().map_while(Result::ok).collect();
        let variables = self.container.variables.iter().map(|(name, value)| (&**name, &**value));
        self.settings.secrets.clone().with_given(variables).mask_lines(&lines)
    }

    /// `pod`: whose it is; `None`: the last one's as well as another's.
    pub(super) fn boot_failure(&self, end: BootEnd, pod: Option<String>) -> BootFailure {
        let last = || self.pods().unwrap_or_default().last().map(fields::name);
        let name = pod.or_else(last).unwrap_or_default();
        let mut lines = self.last_lines(&name, true);
        if lines.is_empty() {
            lines = self.last_lines(&name, false);
        }
        let kind = match &end {
            BootEnd::NotAnswered { .. } | BootEnd::InitContainerRuns { .. } => {
                BootFailureKind::NeverReady
            }
            _ => server::recognise_failure(server::FOR_PODS, &lines),
        };
        let advice = match (&end, &self.settings.own) {
            (BootEnd::UserRefused { .. }, Some(_)) => StartAdvice::NumberUser,
            _ => StartAdvice::MendApp,
        };
        BootFailure {
            kind,
            message: BootCause::NotReady { seen: None, end, connections_for: None }.into(),
            advice: BootAdvice::Start(advice).into(),
            last_lines: worth_showing(&lines),
        }
    }

    /// A pod that is up, but whose server says that it runs with another setting than `each` pod
    /// was told.
    pub(super) fn unless_ignored(
        &self,
        each: Configuration,
        pod: &str,
    ) -> Result<(), Box<BootFailure>> {
        let lines = self.last_lines(pod, false);
        let Printed { workers, threads } = server::printed(&lines);
        let Configuration { workers: wanted, threads: most } = each;
        let wanted = [("workers", workers, wanted.get()), ("threads", threads, most.get())];
        let is_ours = |place: &str| server::pods::uses(&self.settings.app.env, place);
        let ours = wanted.into_iter().filter(|(place, ..)| is_ours(place));
        let other = ours.into_iter().find_map(|(place, printed, wanted)| {
            let (_, line) = printed.filter(|(count, _)| *count != wanted)?;
            Some((place.to_string(), line))
        });
        let Some((place, line)) = other else { return Ok(()) };
        Err(Box::new(BootFailure {
            kind: BootFailureKind::Exited,
            message: BootCause::RunsUnchanged { line: line.clone() }.into(),
            advice: BootAdvice::Start(StartAdvice::NameVariable { place }).into(),
            last_lines: vec![line],
        }))
    }
}
