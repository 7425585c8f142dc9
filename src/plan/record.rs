//! The settled plan as it is shown and stored: every value with where it came from, and no secret.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::cluster::AskedCluster;
use super::deployment::Deployment;
use super::elsewhere::{AskedRemote, Platform};
use super::settings::Sourced;
use super::targets::Asked;
use crate::place::local::inherited_secrets;
use crate::server::{self, Adapter, App, Proxy, RunAs};
use crate::terms::{Allowance, PlanRecord, PlanSource, PlannedValue, Target};

/// What is tuned.
pub struct Subject {
    pub app: Sourced<App>,
    /// Where the app's own variables came from.
    pub env_source: PlanSource,
    /// Where the user wrote a place for threads, in a command or a variable, and so wants them
    /// tried; `None`: nowhere.
    pub threads_asked: Option<PlanSource>,
    /// What the server runs, where the user named that.
    pub entry_asked: Option<String>,
    pub deployment: Deployment,
    pub server: Sourced<&'static dyn Adapter>,
    pub proxy: Sourced<Proxy>,
    pub probe: Sourced<bool>,
    /// `None` where we are not root.
    pub run_as: Option<Sourced<RunAs>>,
    /// `None` where the app does not run in a cluster.
    pub cluster: Option<AskedCluster>,
    /// `None` where no command of the user's changes it.
    pub remote: Option<AskedRemote>,
}

impl Subject {
    /// What is shown first.
    pub fn records(&self) -> Records {
        if let Some(asked) = &self.cluster {
            return Records(of_cluster(asked, &self.app.value.folder));
        }
        if let Some(AskedRemote { remote, source, .. }) = &self.remote {
            let (by_kamal, destination, service) = match &remote.by {
                Platform::Any => (false, None, None),
                Platform::Kamal { destination } => (true, destination.clone(), None),
                Platform::Ecs(name) => (false, None, Some(name.to_string())),
            };
            let value = PlannedValue::Remote {
                url: remote.url.to_string(),
                by_kamal,
                destination,
                is_asked_when_ready: remote.commands.ready.is_some(),
                service,
                from: remote.from.as_ref().map(ToString::to_string),
            };
            return Records(vec![PlanRecord { value, source: source.clone() }]);
        }
        let app = record(&self.app, |app| PlannedValue::App {
            folder: app.folder.display().to_string(),
            framework: app.framework,
            entry: self.entry_asked.clone(),
        });
        let program = self.app.value.command.as_ref().map(|command| command.program().to_string());
        let server = record(&self.server, |adapter| PlannedValue::Server {
            name: adapter.name().to_string(),
            program,
        });
        let named = |name: &str| record(&self.proxy, |_| PlannedValue::Proxy(name.to_string()));
        let proxy = self.proxy.value.name().map(named);
        Records([app, server].into_iter().chain(proxy).collect())
    }

    /// Every server that we know is started as it runs where it serves users, unless the user says
    /// otherwise. `None`: that of what runs elsewhere is not known.
    fn environment(&self) -> Option<PlanRecord> {
        let (name, source) = match server::environment(&self.app.value) {
            Some((name, Some(_))) => (Some(name.to_string()), self.env_source.clone()),
            Some((name, None)) => (Some(name.to_string()), PlanSource::Default),
            None if self.cluster.is_some() || self.remote.is_some() => return None,
            None => (None, PlanSource::Default),
        };
        Some(PlanRecord { value: PlannedValue::Environment(name), source })
    }

    fn variables(&self) -> Option<PlanRecord> {
        let is_own = |name: &&String| !self.deployment.variables.contains_key(*name);
        let names: Vec<String> = self.app.value.env.keys().filter(is_own).cloned().collect();
        (!names.is_empty()).then(|| PlanRecord {
            value: PlannedValue::Variables(names),
            source: self.env_source.clone(),
        })
    }

    fn deployed_variables(&self) -> Option<PlanRecord> {
        let variables = &self.deployment.variables;
        let all = variables.iter().map(|(name, (value, _))| format!("{name}={value}"));
        let files: BTreeSet<String> =
            variables.values().map(|(_, file)| file.to_string()).collect();
        (!variables.is_empty()).then(|| PlanRecord {
            value: PlannedValue::DeployedVariables(all.collect()),
            source: PlanSource::Deployment { files: files.into_iter().collect() },
        })
    }

    /// `None` where its server keeps no flags of those that deploy it.
    fn kept_flags(&self) -> Option<PlanRecord> {
        let (app, kept) = (&self.app.value, &self.deployment.kept);
        if kept.is_empty() {
            return None;
        }
        // A flag's value may be that of a variable.
        let given = app.env.iter().map(|(name, value)| (&**name, &**value));
        let secrets = inherited_secrets().with_given(given);
        let list = self.server.value.about().flag_names.kept;
        let flags = kept.iter().flat_map(|(_, it)| it.shown(list, &app.folder, &secrets));
        let places = kept.iter().rev().map(|(place, _)| place.clone());
        Some(PlanRecord {
            value: PlannedValue::KeptFlags(flags.collect()),
            source: PlanSource::DeployedFlags { places: places.collect() },
        })
    }
}

/// What is written down of a plan, in the order in which it is shown.
pub struct Records(pub Vec<PlanRecord>);

impl Records {
    /// Writes a value down with its source, and hands it on.
    pub fn of<T>(&mut self, sourced: Sourced<T>, value: impl FnOnce(&T) -> PlannedValue) -> T {
        self.0.push(record(&sourced, value));
        sourced.value
    }

    /// The targets, and the names of the headers that they have.
    pub fn of_targets(&mut self, Asked { targets, headers }: Asked) -> Vec<Target> {
        let mut names: Vec<String> = Vec::new();
        for (name, _) in targets.value.iter().flat_map(|target| &target.headers) {
            if !names.iter().any(|known| known.eq_ignore_ascii_case(name)) {
                names.push(name.clone());
            }
        }
        let targets = self
            .of(targets, |targets| PlannedValue::Targets(targets.iter().map(Into::into).collect()));
        if !names.is_empty() {
            self.0.push(PlanRecord { value: PlannedValue::Headers(names), source: headers });
        }
        targets
    }

    /// How the app is run and asked whether it is ready.
    pub fn of_app(&mut self, subject: Subject, ready: Sourced<String>) -> App {
        let probe = record(&subject.probe, |it| PlannedValue::Probe(*it));
        self.0.extend(subject.probe.value.then_some(probe));
        let user = |run_as: &RunAs| PlannedValue::User(run_as.name.clone());
        self.0.extend(subject.run_as.as_ref().map(|run_as| record(run_as, user)));
        self.0.extend(subject.environment());
        self.0.extend(subject.variables());
        self.0.extend(subject.deployed_variables());
        self.0.extend(subject.kept_flags());
        let ready_path = self.of(ready, |path| PlannedValue::ReadyPath(path.as_str().into()));
        App { ready_path, ..subject.app.value }
    }

    /// The store, shown as people would type it here.
    pub fn of_store(&mut self, store: Sourced<PathBuf>, folder: &Path) -> PathBuf {
        self.of(store, |store| {
            let path = store.strip_prefix(folder).unwrap_or(store);
            PlannedValue::Store(path.display().to_string())
        })
    }
}

fn record<T>(sourced: &Sourced<T>, value: impl FnOnce(&T) -> PlannedValue) -> PlanRecord {
    PlanRecord { value: value(&sourced.value), source: sourced.source.clone() }
}

/// A limit, or all that there is.
pub fn allowance<T: Copy>(limit: &Option<T>, all: T) -> Allowance<T> {
    limit.map_or(Allowance::All(all), Allowance::Limit)
}

/// In place of the app and its server. `folder`: the one in whose place the cluster stands.
fn of_cluster(asked: &AskedCluster, folder: &Path) -> Vec<PlanRecord> {
    let cluster = &asked.cluster;
    let (name, namespace) = (cluster.deployment.clone(), cluster.namespace.clone());
    let (pods, image) = (cluster.generators, cluster.generator_image.clone());
    let deployment = match &cluster.own {
        Some(own) => PlannedValue::PodsOf {
            image: own.image.clone(),
            port: own.port,
            namespace,
            cuts: own.cuts.clone(),
            at_once: own.at_once,
        },
        None => PlannedValue::Deployment { name, namespace },
    };
    let like = asked.template.as_ref().map(|template| {
        record(template, |file| PlannedValue::PodsLike {
            file: file.strip_prefix(folder).unwrap_or(file).display().to_string(),
            container: cluster.container.clone(),
        })
    });
    let generators = PlannedValue::Generators { pods, image };
    let of = |value, source: &PlanSource| PlanRecord { value, source: source.clone() };
    let deployment = of(deployment, &asked.source);
    let generators = of(generators, &asked.generators_source);
    [Some(deployment), like, Some(generators)].into_iter().flatten().collect()
}
