//! The cluster, and a namespace of it for each test.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::process::{ended, program};

/// Two pods of Puma behind a Service, with a setting that variables give.
const SHOP: &str = include_str!("../../../scripts/kubernetes/shop.yaml");

/// The program that is tested, for generators.
pub const GENERATOR_IMAGE: &str = "sweetspot.test/sweetspot:1";

/// A namespace, removed in the end.
pub struct Namespace {
    folder: PathBuf,
    pub name: String,
}

impl Namespace {
    /// `None`: there is no cluster here.
    pub fn new(name: &str) -> Option<Self> {
        let folder = PathBuf::from(std::env::var("SWEETSPOT_KUBERNETES").ok()?);
        let namespace = Self { folder, name: name.to_string() };
        namespace.kubectl(&["create", "namespace", name]);
        Some(namespace)
    }

    /// With Puma behind a Service; returns its URL.
    pub fn with_puma(name: &str) -> Option<(Self, String)> {
        let namespace = Self::new(name)?;
        namespace.apply(SHOP);
        namespace.kubectl(&["rollout", "status", "deployment/shop", "--timeout=120s"]);
        let service = namespace.kubectl(&["get", "service", "shop", "-o", "json"]);
        let address = service["spec"]["clusterIP"].as_str().unwrap().to_string();
        Some((namespace, format!("http://{address}/")))
    }

    /// A kubeconfig with every right.
    pub fn admin(&self) -> PathBuf {
        self.folder.join("run/admin.kubeconfig")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.folder.join("bin/kubectl"));
        command.args(["--namespace", &self.name]).args(arguments);
        command.env("KUBECONFIG", self.admin());
        command
    }

    /// What kubectl prints, if it is JSON.
    #[track_caller]
    pub fn kubectl(&self, arguments: &[&str]) -> Value {
        let ended = ended(&mut self.command(arguments));
        assert_eq!(ended.code, Some(0), "{arguments:?}: {ended:?}");
        serde_json::from_str(&ended.stdout).unwrap_or_default()
    }

    #[track_caller]
    pub fn apply(&self, yaml: &str) {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), yaml).unwrap();
        self.kubectl(&["apply", "-f", file.path().to_str().unwrap()]);
    }

    /// What this Deployment would be with what is written down of it as a patch; `named`: what
    /// stands for its name there. Asked of the API server, which changes nothing.
    #[track_caller]
    pub fn patched(&self, deployment: &str, lines: &str, named: &str) -> Value {
        let (_, patch) = lines.split_once("kubectl patch\n").expect("a patch is written down");
        let (patch, _) = patch.split_once("\n# or as").expect("a chart's values follow");
        let file = tempfile::NamedTempFile::new().unwrap();
        let name = |key: &str| [key, named].concat();
        let patch = patch.replace(&name("name: "), &format!("name: {deployment}"));
        std::fs::write(file.path(), patch).unwrap();
        let file = file.path().to_str().unwrap();
        let what = ["patch", "deployment", deployment, "--patch-file", file];
        self.kubectl(&[&what[..], &["--dry-run=server", "-o", "json"]].concat())
    }

    /// Everything of the kinds that a load makes, by name.
    pub fn objects(&self) -> BTreeSet<String> {
        self.listed("jobs,pods,secrets,configmaps")
    }

    /// Everything of these kinds, by name.
    pub fn listed(&self, kinds: &str) -> BTreeSet<String> {
        let list = self.kubectl(&["get", kinds, "-o", "json"]);
        let name = |item: &Value| {
            let ending = !item["metadata"]["deletionTimestamp"].is_null();
            let name = format!("{}/{}", item["kind"], item["metadata"]["name"]).replace('"', "");
            (!ending).then_some(name)
        };
        list["items"].as_array().unwrap().iter().filter_map(name).collect()
    }

    /// Waits until there is nothing more than there was of what [`Self::objects`] lists.
    #[track_caller]
    pub fn await_only(&self, before: &BTreeSet<String>, patience: Duration) {
        self.await_listed("jobs,pods,secrets,configmaps", before, patience);
    }

    /// Waits until there is of these kinds what there was.
    #[track_caller]
    pub fn await_listed(&self, kinds: &str, before: &BTreeSet<String>, patience: Duration) {
        let began = Instant::now();
        loop {
            let now = self.listed(kinds);
            if &now == before {
                return;
            }
            let more: Vec<_> = now.difference(before).collect();
            assert!(began.elapsed() < patience, "left after {patience:?}: {more:?}");
            std::thread::sleep(Duration::from_millis(500));
        }
    }

    /// `sweetspot load` to this URL by pods. `kubeconfig`: whose rights it has.
    pub fn load(&self, url: &str, arguments: &[&str], kubeconfig: Option<&PathBuf>) -> Command {
        self.load_of(GENERATOR_IMAGE, url, arguments, kubeconfig)
    }

    pub fn load_of(
        &self,
        image: &str,
        url: &str,
        arguments: &[&str],
        kubeconfig: Option<&PathBuf>,
    ) -> Command {
        let admin = self.admin();
        let mut command = program(std::path::Path::new("."));
        command.args(["load", url, "--place", "kubernetes", "--namespace", &self.name]);
        command.args(["--image", image, "--image-pull-policy", "Never"]);
        command.args(["--generator-cpus", "0.2", "--json"]).args(arguments);
        command.env("KUBECONFIG", kubeconfig.unwrap_or(&admin)).env("SWEETSPOT_LOCK", "");
        command
    }

    /// A kubeconfig of an account that has this role alone.
    pub fn account_with(&self, role: &str, folder: &std::path::Path) -> PathBuf {
        let applied = self.kubectl(&["apply", "-f", role, "-o", "json"]);
        let name = applied["metadata"]["name"].as_str().unwrap();
        self.kubectl(&["create", "serviceaccount", "tester"]);
        let account = format!("{}:tester", self.name);
        self.kubectl(&[
            "create",
            "rolebinding",
            "tester",
            "--role",
            name,
            "--serviceaccount",
            &account,
        ]);
        let token = ended(&mut self.command(&["create", "token", "tester"])).stdout;
        let authority = self.folder.join("run/pki/ca.crt");
        let path = folder.join("kubeconfig");
        let text = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: c\n\
             contexts: [{{name: c, context: {{cluster: c, user: u, namespace: {}}}}}]\n\
             clusters: [{{name: c, cluster: {{server: 'https://127.0.0.1:16443', \
             certificate-authority: {}}}}}]\n\
             users: [{{name: u, user: {{token: {}}}}}]\n",
            self.name,
            authority.display(),
            token.trim()
        );
        std::fs::write(&path, text).unwrap();
        path
    }
}

impl Namespace {
    /// The API server is not there for this long.
    pub fn without_server(&self, time: Duration) {
        let pid = std::fs::read_to_string(self.folder.join("run/server.pid")).unwrap();
        let pid: i32 = pid.trim().parse().unwrap();
        // SAFETY: a signal to a process of the cluster that was made for this test.
        assert_eq!(unsafe { libc::kill(pid, libc::SIGKILL) }, 0);
        std::thread::sleep(time);
        let ended = ended(Command::new("scripts/kubernetes-testbed").arg("server"));
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }
}

/// A node whose kubelet stands still until this is dropped.
pub struct Silenced(i32);

impl Silenced {
    fn signal(&self, signal: i32) {
        // SAFETY: a signal to a process of the cluster that was made for this test.
        assert_eq!(unsafe { libc::kill(self.0, signal) }, 0);
    }
}

impl Drop for Silenced {
    fn drop(&mut self) {
        self.signal(libc::SIGCONT);
    }
}

/// A node that is given no new pods until this is dropped.
pub struct Cordoned<'a> {
    namespace: &'a Namespace,
    node: &'a str,
}

impl Drop for Cordoned<'_> {
    fn drop(&mut self) {
        drop(self.namespace.command(&["uncordon", self.node]).output());
    }
}

impl Namespace {
    /// This node is given no new pods; those that it has stay.
    pub fn cordon<'a>(&'a self, node: &'a str) -> Cordoned<'a> {
        self.kubectl(&["cordon", node]);
        Cordoned { namespace: self, node }
    }

    /// This node does not answer any more.
    pub fn silence(&self, node: &str) -> Silenced {
        let number = node.strip_prefix("node").unwrap();
        let file = self.folder.join(format!("run/kubelet{number}.pid"));
        let pid = std::fs::read_to_string(file).unwrap();
        let silenced = Silenced(pid.trim().parse().unwrap());
        silenced.signal(libc::SIGSTOP);
        silenced
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let arguments = ["delete", "namespace", &self.name, "--wait=false"];
        drop(self.command(&arguments).output());
    }
}
