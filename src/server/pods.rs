//! Pods of a Deployment that runs in a cluster: variables tell them how many workers and threads to
//! have, and the cluster starts them itself.
//!
//! In: an app with its [`PodTemplate`], and a configuration. Out: its variables filled in. Must not
//! run, read or write anything.

use std::collections::BTreeMap;

use super::command::{CAUSES, Command, advice_on, filled_in, has_place};
use super::knobs::{Knob, Knobs, Values};
use super::manifest::{Cut, Manifest};
use super::{
    About, Adapter, App, CommandLine, Framework, Inspection, InspectionError, Launch, ProcessFacts,
    Recipe, Recommended,
};
use crate::terms::{
    Change, Configuration, Cores, Role, Settings, SettingsError, SettingsPlace, Stated,
};

/// A server of which nothing is known but the variables that its pods are given.
pub struct Pods;

/// A Deployment of a cluster, whose pods run the app.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodTemplate {
    /// Its name.
    pub deployment: String,
    /// `None`: the one of the context that is used.
    pub namespace: Option<String>,
    /// Which container of its pods runs the app; `None`: the only one.
    pub container: Option<String>,
    /// Into how many pods an image's app is cut at first; `None`: the Deployment is the user's.
    pub cut: Option<u16>,
}

/// The setting that says into how many pods the app is cut.
pub const CUT: &str = "pods";

/// The setting that says how many cores all pods of an image may use together.
pub const CPUS: &str = "cpus";

/// Of the pods that an image is tuned in. A limit is never recommended, so nobody writes it down.
const KNOBS: Knobs =
    Knobs { usual_file: None, list: &[Knob::new(CPUS, Values::Cores, |_, it| it.to_string())] };

const ABOUT: About = About {
    name: "kubernetes",
    title: "the Deployment",
    runs: &[Framework::Other],
    // Where one of its variables has a place for them.
    has_threads: true,
    knobs: KNOBS,
    causes: CAUSES,
    ..About::NONE
};

impl Adapter for Pods {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn has_threads(&self, app: &App) -> bool {
        uses(&app.env, "threads")
    }

    fn inspect(&self, _app: &App) -> Option<CommandLine> {
        None
    }

    /// Nothing is printed: what the pods run with today stands in their Deployment.
    fn read_inspection(&self, _app: &App, _stdout: &str) -> Result<Inspection, InspectionError> {
        Err(SettingsError::NothingPrinted.into())
    }

    fn launch(&self, _launch: Launch<'_>) -> Recipe {
        unreachable!("pods are started by their cluster, and by no recipe")
    }

    fn role(&self, configuration: Configuration, process: ProcessFacts<'_>) -> Role {
        Command.role(configuration, process)
    }

    fn settings(&self, recommended: Recommended<'_>) -> Settings {
        let app = recommended.app;
        let configuration = share(app, recommended.configuration);
        let (env, unseen) = filled_in(&app.env, configuration);
        let advice = advice_on(configuration, self.has_threads(app), unseen);
        Settings {
            config_snippet: lines(&recommended, &env),
            place: Some(SettingsPlace::InCluster.into()),
            env,
            advice: advice.map(Stated::from).collect(),
            ..Settings::default()
        }
    }
}

/// Into how many pods the app is cut; each has an even share of cores, memory and workers.
pub fn count(app: &App) -> u16 {
    let tried = pods_in(&app.changed.settings);
    tried.or(app.pods.as_ref().and_then(|pods| pods.cut)).unwrap_or(1)
}

/// Into how many pods settings that are changed cut the app; `None`: into as many as without them.
pub fn pods_in(settings: &BTreeMap<String, String>) -> Option<u16> {
    settings.get(CUT)?.parse().ok()
}

/// Is this another limit of CPU, and nothing else?
pub fn is_of_cpus(change: &Change) -> bool {
    cpus_in(&change.settings).is_some() && change.settings.len() == 1 && change.env.is_empty()
}

/// How many cores all pods together may use by settings that are changed; `None`: the plan's.
pub fn cpus_in(settings: &BTreeMap<String, String>) -> Option<Cores> {
    settings.get(CPUS)?.parse().ok()
}

/// What each of the app's pods has of a configuration of all together; at least one worker.
pub fn share(app: &App, all: Configuration) -> Configuration {
    let workers = (all.workers.get() / count(app)).max(1);
    Configuration::new(workers, all.threads.get()).unwrap_or(all)
}

/// The variable that has this place alone for its value, such as `WEB_CONCURRENCY` for `workers`.
pub fn variable_of(app: &App, place: &str) -> Option<String> {
    let alone = format!("{{{place}}}");
    app.env.iter().find(|(_, value)| value.trim() == alone).map(|(name, _)| name.clone())
}

/// Does this place, such as `workers`, stand in one of these variables?
pub fn uses(env: &BTreeMap<String, String>, place: &str) -> bool {
    env.values().any(|value| has_place(value, place))
}

/// What the user writes down, the number of workers first.
fn lines(recommended: &Recommended<'_>, env: &BTreeMap<String, String>) -> String {
    let Recommended { app, cores, memory, a_pod_less, .. } = *recommended;
    let template = app.pods.as_ref().expect("only an app in pods is run by this server");
    let is_of_workers =
        |name: &String| app.env.get(name).is_some_and(|value| has_place(value, "workers"));
    let (of_workers, others): (Vec<_>, Vec<_>) =
        env.iter().partition(|(name, _)| is_of_workers(name));
    let variables: Vec<_> = of_workers.into_iter().chain(others).collect();
    let cut = template.cut.map(|_| Cut { pods: count(app), cores, memory, a_pod_less });
    Manifest { template, variables: &variables, cut }.lines()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Language;
    use crate::server::command::environment;
    use crate::server::tests::{inspection, obeying, settings};
    use crate::server::{ADAPTERS, find};

    fn app(env: &[(&str, &str)]) -> App {
        let pods =
            PodTemplate { deployment: "shop".into(), namespace: None, container: None, cut: None };
        App {
            pods: Some(pods),
            env: env.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect(),
            ..App::new("/srv/shop", Framework::Other, "")
        }
    }

    /// What is written down for four workers of five threads.
    fn written(app: &App) -> Settings {
        settings(&Pods, app, &inspection(1, 1, "", obeying(None, None)), 4, 5)
    }

    #[test]
    fn the_variables_are_filled_in_and_what_is_tried_is_given_as_it_stands() {
        let app = app(&[
            ("KEY", "{\"a\": 1}"),
            ("POOL", "max={threads}"),
            ("PORT", "{port}"),
            ("WEB_CONCURRENCY", "{workers}"),
        ]);
        let change = Change {
            knob: "A".into(),
            name: "A={workers}".into(),
            env: [("A".to_string(), "{workers}".to_string())].into(),
            settings: [].into(),
        };
        let configuration = Configuration::new(3, 5).unwrap();
        let env = environment(&app.with_changes([&change]), configuration);
        let env: Vec<_> = env.iter().map(|(name, it)| (name.as_str(), it.as_str())).collect();
        let expected = [
            ("A", "{workers}"),
            ("KEY", "{\"a\": 1}"),
            ("POOL", "max=5"),
            ("PORT", "{port}"),
            ("WEB_CONCURRENCY", "3"),
        ];
        assert_eq!(env, expected);
    }

    #[test]
    fn it_has_threads_when_a_variable_has_a_place_for_them() {
        assert!(Pods.has_threads(&app(&[("T", "{threads}"), ("W", "{workers}")])));
        assert!(!Pods.has_threads(&app(&[("T", "5"), ("W", "{workers}")])));
    }

    #[test]
    fn the_setting_is_a_command_for_the_deployment_and_shows_no_secret() {
        let mut app = app(&[
            ("KEY", "s3cret"),
            ("RAILS_MAX_THREADS", "{threads}"),
            ("URL", "db://u:s3cret@h?pool={threads}"),
            ("WEB_CONCURRENCY", "{workers}"),
        ]);
        let settings = written(&app);
        let expected = "kubectl set env deployment/shop WEB_CONCURRENCY=4 RAILS_MAX_THREADS=5";
        let values = "\
# or as a Helm chart's values, where its template names them so
env: [{name: WEB_CONCURRENCY, value: \"4\"}, {name: RAILS_MAX_THREADS, value: \"5\"}]";
        assert_eq!(settings.config_snippet, format!("{expected}\n{values}"));
        let env = [("RAILS_MAX_THREADS", "5"), ("WEB_CONCURRENCY", "4")];
        assert_eq!(settings.env, env.map(|(name, value)| (name.into(), value.into())).into());
        let advice = Language::DATA.say_each(&settings.advice).join("\n");
        assert!(advice.contains("set URL as you gave it, with 4 workers and 5 "), "{advice}");
        assert!(advice.contains("(4 x 5)"), "{advice}");
        assert!(!format!("{settings:?}").contains("s3cret"));

        let (namespace, container) = (Some("web".to_string()), Some("app".to_string()));
        app.pods = Some(PodTemplate { deployment: "shop".into(), namespace, container, cut: None });
        let lines = written(&app).config_snippet;
        let patch = "\
# or as a patch, for kustomize or kubectl patch
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop, namespace: web}
spec:
  template:
    spec:
      containers:
      - name: app
        env:
        - {name: WEB_CONCURRENCY, value: \"4\"}
        - {name: RAILS_MAX_THREADS, value: \"5\"}";
        assert_eq!(lines, format!("{expected} -n web -c app\n{patch}\n{values}"));
    }

    #[test]
    fn pods_of_an_image_share_the_workers_that_were_measured_together() {
        let mut app = app(&[("RAILS_MAX_THREADS", "{threads}"), ("WEB_CONCURRENCY", "{workers}")]);
        let of_all = Configuration::new(4, 5).unwrap();
        assert_eq!((count(&app), share(&app, of_all)), (1, of_all));
        app.pods.as_mut().unwrap().cut = Some(1);
        let two = Change {
            knob: CUT.into(),
            name: "pods=2".into(),
            env: [].into(),
            settings: [(CUT.to_string(), "2".to_string())].into(),
        };
        let cut = app.with_changes([&two]);
        assert_eq!((count(&cut), share(&cut, of_all)), (2, Configuration::new(2, 5).unwrap()));
        assert_eq!(pods_in(&two.settings), Some(2));
        let lines = written(&cut).config_snippet;
        let expected = "\
# 2 pods, each with an equal part of the cores and memory measured: a lost one takes 50 % along
kubectl set env deployment/shop WEB_CONCURRENCY=2 RAILS_MAX_THREADS=5
kubectl set resources deployment/shop --requests=cpu=1000m,memory=512Mi \
--limits=cpu=1000m,memory=512Mi
kubectl scale deployment/shop --replicas=2
# or as a patch, for kustomize or kubectl patch
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop}
spec:
  replicas: 2
  template:
    spec:
      containers:
      - name: shop
        resources: {requests: {cpu: 1000m, memory: 512Mi}, limits: {cpu: 1000m, memory: 512Mi}}
        env:
        - {name: WEB_CONCURRENCY, value: \"2\"}
        - {name: RAILS_MAX_THREADS, value: \"5\"}
# or as a Helm chart's values, where its template names them so
replicaCount: 2
resources: {requests: {cpu: 1000m, memory: 512Mi}, limits: {cpu: 1000m, memory: 512Mi}}
env: [{name: WEB_CONCURRENCY, value: \"2\"}, {name: RAILS_MAX_THREADS, value: \"5\"}]";
        assert_eq!(lines, expected);
    }

    #[test]
    fn there_is_no_command_where_no_variable_may_be_shown() {
        let settings = written(&app(&[("POOL", "max={threads}")]));
        assert_eq!((settings.config_snippet.as_str(), settings.env.len()), ("", 0));
    }

    #[test]
    fn it_is_found_by_its_name_and_chosen_for_no_app_of_a_folder() {
        assert_eq!(find(ABOUT.name).map(|it| it.name()), Some(ABOUT.name));
        assert!(ADAPTERS.iter().all(|it| it.name() != ABOUT.name));
    }
}
