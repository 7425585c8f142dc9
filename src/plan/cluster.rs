//! `--deployment`: a Deployment of a Kubernetes cluster that is tuned where it runs; `--image`: one
//! that is made for it; and the pods that send it load.
//!
//! In: the settings. Out: what was asked for, checked as far as the texts go. Reads the file that
//! says what pods are to be like, if one does; no cluster is asked.

use std::fs;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use super::cuts;
use super::error::{PlanError, Problem};
use super::options::Key;
use super::settings::{Given, Settings, Sourced};
use crate::place::kubernetes::Template;
use crate::terms::{Bytes, Cores, PlanSource};

/// A Deployment of a Kubernetes cluster, and the pods that send it load.
#[derive(Debug, Clone, PartialEq)]
pub struct Cluster {
    /// Its name; of one that is made for the time what stands for it.
    pub deployment: String,
    /// What is made for the time; `None`: the Deployment is the user's.
    pub own: Option<OwnPods>,
    /// Which container of its pods runs the app; `None`: the only one. Of an image the one that
    /// the template describes.
    pub container: Option<String>,
    /// The Service that leads to its pods; `None`: the one that does.
    pub service: Option<String>,
    /// `None`: the context's.
    pub namespace: Option<String>,
    /// A name of the kubeconfig's; `None`: its current context.
    pub context: Option<String>,
    /// An image of sweetspot for the pods that send the load.
    pub generator_image: String,
    /// `Always`, `IfNotPresent` or `Never`; `None`: as the cluster has it for such an image.
    pub generator_pull_policy: Option<String>,
    /// How many pods send the load together: 1 to 256.
    pub generators: u16,
    /// Cores of each of these pods: 0.001 to 64.
    pub generator_cpus: f64,
}

/// Pods that are made to be tuned.
#[derive(Debug, Clone, PartialEq)]
pub struct OwnPods {
    /// Of the app.
    pub image: String,
    /// `Always`, `IfNotPresent` or `Never`; `None`: as the cluster has it for such an image.
    pub pull_policy: Option<String>,
    /// Where the app answers.
    pub port: u16,
    /// Into how many the app is cut: each number a way to do it, ascending.
    pub cuts: Vec<u16>,
    /// Settings measured at the same time, each on a node of its own: 1 to 8.
    pub at_once: u16,
    /// What else the pods are to be like.
    pub template: Option<Template>,
}

/// A cluster as it was asked for, with where that came from.
pub struct AskedCluster {
    pub cluster: Cluster,
    /// Of the Deployment's name, or of the app's image.
    pub source: PlanSource,
    /// Of the number of generators, or else of their image.
    pub generators_source: PlanSource,
    /// The file that the template was read from.
    pub template: Option<Sourced<PathBuf>>,
}

/// Where trials run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Where {
    Local,
    Kubernetes,
}

pub const PLACES: [(&str, Where); 2] = [("local", Where::Local), ("kubernetes", Where::Kubernetes)];

/// As Kubernetes spells them.
pub const PULL_POLICIES: [(&str, &str); 3] =
    [("Always", "Always"), ("IfNotPresent", "IfNotPresent"), ("Never", "Never")];

/// What stands for the name of a Deployment that is made for the time.
const UNNAMED: &str = "NAME";

/// What is said of a server that we start.
pub const STARTED_HERE: [Key; 7] =
    [Key::Start, Key::StopSignal, Key::Server, Key::Entry, Key::Proxy, Key::Probe, Key::User];

/// What has no meaning without an image.
pub const FOR_IMAGES: [Key; 6] =
    [Key::ImagePullPolicy, Key::Port, Key::Pods, Key::CpusPerPod, Key::Parallel, Key::PodTemplate];

/// What has no meaning without a Deployment or an image.
pub const FOR_CLUSTERS: [Key; 8] = [
    Key::Container,
    Key::Service,
    Key::Namespace,
    Key::Context,
    Key::GeneratorImage,
    Key::GeneratorImagePullPolicy,
    Key::Generators,
    Key::GeneratorCpus,
];

/// The longest name of an object.
const LONGEST_NAME: usize = 253;
const MOST_GENERATORS: u64 = 256;
/// A search has seldom more at once that are worth measuring.
const MOST_AT_ONCE: u64 = 8;
/// A thousandth of a core is the smallest share that Kubernetes gives.
const GENERATOR_CPUS: RangeInclusive<f64> = 0.001..=64.0;

/// The cluster that was asked for; `None`: trials run on this machine.
///
/// # Errors
/// What was given contradicts itself or is impossible; a Deployment without an image for the pods
/// that send its load.
pub fn asked_cluster(settings: &Settings<'_>) -> Result<Option<AskedCluster>, PlanError> {
    let place = settings.get(Key::Place);
    let is_there = settings.value(Key::Place, |given| given.choice(&PLACES))?;
    let (deployment, image) = (settings.get(Key::Deployment), settings.get(Key::Image));
    match (deployment, image, &place, is_there) {
        (None, None, Some(place), Some(Where::Kubernetes)) => {
            Err(place.problem(Problem::DeploymentMissing))
        }
        (None, None, ..) => {
            settings.refuse(&FOR_IMAGES, Problem::NoImage)?;
            settings.refuse(&FOR_CLUSTERS, Problem::NoDeployment)?;
            Ok(None)
        }
        (.., Some(place), Some(Where::Local)) => Err(place.problem(Problem::DeploymentNotHere)),
        (Some(deployment), ..) => {
            settings.refuse(&STARTED_HERE, Problem::OfDeployment)?;
            settings.refuse(&[Key::Cpus, Key::Memory, Key::Image], Problem::OfDeployment)?;
            settings.refuse(&FOR_IMAGES, Problem::OfDeployment)?;
            cluster_of(settings, &deployment, None).map(Some)
        }
        (None, Some(image), ..) => {
            settings.refuse(&STARTED_HERE, Problem::OfImage)?;
            settings.refuse(&[Key::Service], Problem::OfImage)?;
            let own = own_pods(settings, &image)?;
            cluster_of(settings, &image, Some(own)).map(Some)
        }
    }
}

fn own_pods(settings: &Settings<'_>, image: &Given<'_>) -> Result<OwnPods, PlanError> {
    let port = settings.get(Key::Port);
    let port = port.ok_or_else(|| image.problem(Problem::PortMissing))?;
    let (Some(cpus), Some(memory)) = (settings.get(Key::Cpus), settings.get(Key::Memory)) else {
        return Err(image.problem(Problem::LimitsMissing));
    };
    let cores = cpus.read(str::parse::<Cores>)?.value;
    let memory = memory.read(str::parse::<Bytes>)?.value;
    let policy = settings.value(Key::ImagePullPolicy, |given| given.choice(&PULL_POLICIES))?;
    let container = settings.value(Key::Container, |given| given.read(name))?;
    let template = pod_template(settings, container.as_deref())?;
    if template.is_none() {
        settings.refuse(&[Key::Container], Problem::NoTemplate)?;
    }
    Ok(OwnPods {
        image: image.read(not_empty)?.value,
        pull_policy: policy.map(str::to_string),
        port: port.number(1, u64::from(u16::MAX))?.value as u16,
        cuts: cuts::asked(settings, cores, memory)?,
        at_once: match settings.get(Key::Parallel) {
            Some(given) => given.number(1, MOST_AT_ONCE)?.value as u16,
            None => 1,
        },
        template,
    })
}

/// What the file of `--pod-template` says that pods are to be like; `None`: there is none.
/// `container`: the name of the one that runs the app, where that was given.
fn pod_template(
    settings: &Settings<'_>,
    container: Option<&str>,
) -> Result<Option<Template>, PlanError> {
    let Some(file) = settings.path(Key::PodTemplate) else { return Ok(None) };
    let path = file.value;
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(source) => return Err(PlanError::Unreadable { path, source }),
    };
    match Template::read(&text, container) {
        Ok(template) => Ok(Some(template)),
        Err(source) => Err(PlanError::PodTemplate { path, source }),
    }
}

/// `subject`: the Deployment's name, or of pods of our own their image.
fn cluster_of(
    settings: &Settings<'_>,
    subject: &Given<'_>,
    own: Option<OwnPods>,
) -> Result<AskedCluster, PlanError> {
    let named = |key: Key| settings.value(key, |given| given.read(name));
    let image = settings.get(Key::GeneratorImage);
    let image = image.ok_or_else(|| subject.problem(Problem::GeneratorImageMissing))?;
    let generators = settings.get(Key::Generators);
    let policy =
        settings.value(Key::GeneratorImagePullPolicy, |given| given.choice(&PULL_POLICIES))?;
    let described = own.as_ref().and_then(|own| own.template.as_ref()?.container.clone());
    let cluster = Cluster {
        deployment: match &own {
            Some(_) => UNNAMED.to_string(),
            None => subject.read(name)?.value,
        },
        own,
        container: named(Key::Container)?.or(described),
        service: named(Key::Service)?,
        namespace: named(Key::Namespace)?,
        context: settings.value(Key::Context, |given| given.read(not_empty))?,
        generator_image: image.read(not_empty)?.value,
        generator_pull_policy: policy.map(str::to_string),
        generators: match &generators {
            Some(given) => given.number(1, MOST_GENERATORS)?.value as u16,
            None => 1,
        },
        generator_cpus: settings.value(Key::GeneratorCpus, cores)?.map_or(1.0, Cores::get),
    };
    Ok(AskedCluster {
        cluster,
        source: subject.source(),
        generators_source: generators.map_or_else(|| image.source(), |given| given.source()),
        template: settings.path(Key::PodTemplate),
    })
}

/// A name of an object.
fn name(text: &str) -> Result<String, Problem> {
    let name = not_empty(text)?;
    let is_border = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let is_part = |c: char| is_border(c) || c == '-' || c == '.';
    let is_name = name.len() <= LONGEST_NAME
        && name.chars().all(is_part)
        && name.starts_with(is_border)
        && name.ends_with(is_border);
    if is_name { Ok(name) } else { Err(Problem::ObjectName) }
}

fn not_empty(text: &str) -> Result<String, Problem> {
    let text = text.trim();
    if text.is_empty() { Err(Problem::NameEmpty) } else { Ok(text.to_string()) }
}

fn cores(given: &Given<'_>) -> Result<Sourced<Cores>, PlanError> {
    let cores = given.read(str::parse::<Cores>)?;
    if GENERATOR_CPUS.contains(&cores.value.get()) {
        return Ok(cores);
    }
    let (least, most) = (GENERATOR_CPUS.start().to_string(), GENERATOR_CPUS.end().to_string());
    Err(given.problem(Problem::Bounds { least, most }))
}

#[cfg(test)]
mod tests;
