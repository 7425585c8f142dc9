//! A real cluster's API, by the configuration that `kubectl` would use.
//!
//! In: paths and JSON. Out: the same. Each call ends within a deadline.

use std::io::ErrorKind;
use std::iter;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};

use futures_util::io::AsyncBufReadExt;
use futures_util::stream::StreamExt;
use http::{Method, Request, Uri};
use kube::client::AuthError;
use kube::config::{ExecConfig, Kubeconfig, KubeconfigError};
use kube::core::Status;
use kube::{Config, Error};
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

use super::api::{Api, ApiError, Lines};
use super::{no_proxy, refusal};
use crate::terms::{HIDDEN, Secrets};

/// For one call.
const PATIENCE: Duration = Duration::from_secs(20);

/// A connection over which nothing came for this long may be dead.
const QUIET: Duration = Duration::from_secs(30);

/// Lines of a log that may wait for whoever reads them.
const WAITING: usize = 256;

/// A cluster.
pub struct Client {
    runtime: Runtime,
    client: kube::Client,
    /// The command that gives its login, if one does.
    plugin: Option<String>,
    outage: refusal::Outage,
    /// Of the context.
    pub namespace: String,
    /// Name of the context, and where its API server is.
    pub context: String,
    pub server: String,
}

impl Client {
    /// By KUBECONFIG or the usual file, else as a pod of the cluster. `context`: of the file's.
    ///
    /// # Errors
    /// There is no configuration, or it cannot be used.
    pub fn new(context: Option<&str>) -> Result<Self, ApiError> {
        let unusable = |why: String| ApiError::NoConfiguration { why };
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .map_err(|error| unusable(error.to_string()))?;
        let Access { mut config, context, has_proxy } = access(context).map_err(unusable)?;
        leave_proxy(&mut config, has_proxy)?;
        let (namespace, server) =
            (config.default_namespace.clone(), config.cluster_url.to_string());
        let plugin = config.auth_info.exec.as_ref().map(command_of);
        let client = {
            let _inside = runtime.enter();
            kube::Client::try_from(config).map_err(|error| {
                let failed = plugin_failed(&error, plugin.as_deref());
                failed.unwrap_or_else(|| unusable(error.to_string()))
            })?
        };
        let outage = refusal::Outage::default();
        Ok(Self { runtime, client, plugin, outage, namespace, context, server })
    }

    fn ask(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Value, ApiError> {
        let of_body = match method {
            Method::PATCH => "application/json-patch+json",
            _ => "application/json",
        };
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("Content-Type", of_body)
            .body(body.map(|body| as_the_server_writes(body).into_bytes()).unwrap_or_default());
        let request = request.map_err(|error| refused(400, error.to_string()))?;
        self.answer(self.client.request::<Value>(request))
    }

    fn answer<T>(&self, asked: impl Future<Output = Result<T, Error>>) -> Result<T, ApiError> {
        let within = self.runtime.block_on(async { tokio::time::timeout(PATIENCE, asked).await });
        let answer = match within {
            Ok(answer) => answer.map_err(|error| of(error, self.plugin.as_deref())),
            Err(_) => {
                let why = format!("no answer within {} s", PATIENCE.as_secs());
                Err(ApiError::Unreachable { why })
            }
        };
        answer.map_err(|error| self.outage.judge(error, Instant::now()))
    }

    fn remove(&self, path: &str, mut how: Value) -> Result<(), ApiError> {
        how["kind"] = "DeleteOptions".into();
        how["apiVersion"] = "v1".into();
        how["propagationPolicy"] = "Background".into();
        match self.ask(Method::DELETE, path, Some(&how)) {
            Ok(_) | Err(ApiError::Refused { status: 404, .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

impl Api for Client {
    fn get(&self, path: &str) -> Result<Option<Value>, ApiError> {
        match self.ask(Method::GET, path, None) {
            Ok(found) => Ok(Some(found)),
            Err(ApiError::Refused { status: 404, .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn create(&self, collection: &str, object: &Value) -> Result<Value, ApiError> {
        self.ask(Method::POST, collection, Some(object))
    }

    fn delete(&self, path: &str) -> Result<(), ApiError> {
        self.remove(path, json!({}))
    }

    fn delete_version(&self, path: &str, version: &str) -> Result<(), ApiError> {
        self.remove(path, json!({ "preconditions": { "resourceVersion": version } }))
    }

    fn patch(&self, path: &str, operations: &Value) -> Result<Value, ApiError> {
        self.ask(Method::PATCH, path, Some(operations))
    }

    fn run(&self, path: &str) -> Result<Lines, ApiError> {
        let connection = self.answer(self.client.connect(question(path)?))?;
        let mut messages = connection.into_stream();
        let (sender, lines) = sync_channel(WAITING);
        self.runtime.spawn(async move {
            let mut output = Output::default();
            while let Some(message) = in_time(messages.next()).await.transpose() {
                let message = match message {
                    Ok(message) => message,
                    Err(silence) => {
                        drop(tokio::task::block_in_place(|| sender.send(Err(silence))));
                        return;
                    }
                };
                let ready = match message {
                    Ok(message) if message.is_binary() => output.take(&message.into_data()),
                    Ok(message) if message.is_close() => return,
                    Ok(_) => continue,
                    Err(error) => vec![Err(unreachable(&error))],
                };
                for line in ready {
                    // A full channel holds up this thread alone, and by it the command.
                    if tokio::task::block_in_place(|| sender.send(line)).is_err() {
                        return;
                    }
                }
            }
        });
        Ok(Box::new(lines.into_iter()))
    }

    fn follow(&self, path: &str) -> Result<Lines, ApiError> {
        let reader = self.answer(self.client.request_stream(question(path)?))?;
        let (sender, lines): (_, Receiver<Result<String, ApiError>>) = sync_channel(WAITING);
        self.runtime.spawn(async move {
            let mut read = reader.lines();
            while let Some(line) = in_time(read.next()).await.transpose() {
                let line = line.and_then(|line| line.map_err(|error| unreachable(&error)));
                let is_over = line.is_err();
                // A full channel holds up this thread alone, and by it the log.
                if tokio::task::block_in_place(|| sender.send(line)).is_err() || is_over {
                    return;
                }
            }
        });
        Ok(Box::new(lines.into_iter()))
    }
}

/// What a stream says next, unless it has been silent for so long that its connection may be dead:
/// who wants to go on asks again.
async fn in_time<T>(next: impl Future<Output = Option<T>>) -> Result<Option<T>, ApiError> {
    let why = format!("nothing came for {} s", QUIET.as_secs());
    tokio::time::timeout(QUIET, next).await.map_err(|_| ApiError::Unreachable { why })
}

/// What a command in a container prints, as messages bring it: the first byte of each says which
/// stream the rest is of.
#[derive(Default)]
struct Output {
    /// Of standard output, since the last end of a line.
    open: Vec<u8>,
}

/// Streams, as the protocol numbers them (`v4.channel.k8s.io`).
const STANDARD_OUTPUT: u8 = 1;
const OUTCOME: u8 = 3;

impl Output {
    /// The lines that end with this message, and how the command ended, if it failed.
    fn take(&mut self, message: &[u8]) -> Vec<Result<String, ApiError>> {
        match message.split_first() {
            Some((&STANDARD_OUTPUT, text)) => {
                self.open.extend_from_slice(text);
                let mut lines = Vec::new();
                while let Some(end) = memchr::memchr(b'\n', &self.open) {
                    let line: Vec<u8> = self.open.drain(..=end).collect();
                    lines.push(Ok(String::from_utf8_lossy(&line[..end]).into_owned()));
                }
                lines
            }
            Some((&OUTCOME, status)) => {
                let status: Value = serde_json::from_slice(status).unwrap_or_default();
                let message = status["message"].as_str().unwrap_or_default().to_string();
                match status["status"].as_str() {
                    Some("Failure") => vec![Err(ApiError::Command { message })],
                    _ => Vec::new(),
                }
            }
            _ => Vec::new(),
        }
    }
}

/// JSON as the API server writes it itself, with these characters escaped (`encoding/json` of Go
/// does so for HTML's sake): a patch's `test` compares a text as it is written, so that one with
/// `&&` in a command would never be equal. They stand nowhere in JSON but in texts.
fn as_the_server_writes(body: &Value) -> String {
    let escapes = [
        ('<', "\\u003c"),
        ('>', "\\u003e"),
        ('&', "\\u0026"),
        ('\u{2028}', "\\u2028"),
        ('\u{2029}', "\\u2029"),
    ];
    escapes.iter().fold(body.to_string(), |text, (one, escape)| text.replace(*one, escape))
}

fn question(path: &str) -> Result<Request<Vec<u8>>, ApiError> {
    Request::get(path).body(Vec::new()).map_err(|error| refused(400, error.to_string()))
}

fn refused(status: u16, message: String) -> ApiError {
    ApiError::Refused { status, message }
}

fn unreachable(error: &dyn std::error::Error) -> ApiError {
    let mut why = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        why = format!("{why}: {cause}");
        source = cause.source();
    }
    ApiError::Unreachable { why }
}

fn of(error: Error, plugin: Option<&str>) -> ApiError {
    match error {
        Error::Api(answer) => match answer.code {
            403 if is_of_ending_namespace(&answer) => ApiError::Ending { message: answer.message },
            status => refusal::of(status, with_causes(&answer)),
        },
        other => plugin_failed(&other, plugin).unwrap_or_else(|| unreachable(&other)),
    }
}

/// The command that gives the login has failed; `None`: it is something else. What a command says
/// that may ask people goes to the terminal, and cannot be told here.
fn plugin_failed(
    error: &(dyn std::error::Error + 'static),
    plugin: Option<&str>,
) -> Option<ApiError> {
    let mut causes = iter::successors(Some(error), |it| it.source());
    let said = match causes.find_map(|cause| cause.downcast_ref::<AuthError>())? {
        AuthError::AuthExecStart(error) => error.to_string(),
        AuthError::AuthExecRun { out, .. } => {
            let words = String::from_utf8_lossy(&out.stderr);
            let words: Vec<&str> = words.lines().map(str::trim).collect();
            format!("{}; {}", out.status, words.join(" / "))
        }
        // Its own words repeat a part of that, which may be the login itself.
        AuthError::AuthExecParse(_) => "what it printed is no credential".into(),
        other => other.to_string(),
    };
    let said = Secrets::default().mask(said.trim_end_matches(['.', ';', ' ']));
    Some(ApiError::Plugin { command: plugin?.to_string(), said })
}

/// How a cluster is asked.
#[derive(Debug)]
struct Access {
    config: Config,
    context: String,
    /// The kubeconfig itself names a proxy for it.
    has_proxy: bool,
}

/// By the kubeconfig; as a pod of the cluster where there is none and no context is named. In words
/// why there is none.
fn access(context: Option<&str>) -> Result<Access, String> {
    let read = Kubeconfig::read();
    let is_named = context.is_some() || is_there(&read);
    let error = match read.and_then(|file| of_file(file, context)) {
        Ok(access) => return Ok(access),
        Err(error) if is_named => return Err(unread(&error)),
        Err(error) => error,
    };
    match Config::incluster() {
        Ok(config) => Ok(Access { config, context: "in the cluster".into(), has_proxy: false }),
        Err(of_pod) => Err(format!("{}; as a pod of one: {of_pod}", unread(&error))),
    }
}

/// Somebody has written a kubeconfig that names a cluster: whatever is wrong in it, a pod's own
/// account is not what they meant.
fn is_there(read: &Result<Kubeconfig, KubeconfigError>) -> bool {
    match read {
        Ok(file) => !file.contexts.is_empty(),
        Err(KubeconfigError::FindPath) => false,
        Err(KubeconfigError::ReadConfig(error, _)) => error.kind() != ErrorKind::NotFound,
        Err(_) => true,
    }
}

/// By this context of the kubeconfig, or by its current one.
fn of_file(mut file: Kubeconfig, context: Option<&str>) -> Result<Access, KubeconfigError> {
    if let Some(name) = context {
        file.current_context = Some(name.to_string());
    }
    let (context, has_proxy) = (file.current_context.clone(), names_proxy(&file));
    let (config, context) = (Config::try_from(file)?, context.unwrap_or_default());
    Ok(Access { config, context, has_proxy })
}

/// Why the kubeconfig leads to no cluster, in words that repeat no line of it: it may hold a token
/// or a key.
fn unread(error: &KubeconfigError) -> String {
    match error {
        KubeconfigError::Parse(syntax) => {
            let line = syntax.location().map_or(1, |place| place.line());
            format!("the kubeconfig cannot be read at its line {line}")
        }
        other => other.to_string(),
    }
}

/// As one types it, without what may be secret.
fn command_of(exec: &ExecConfig) -> String {
    let secrets = Secrets::default();
    let mut shown: Vec<String> = Vec::new();
    for word in exec.command.iter().chain(exec.args.iter().flatten()) {
        let flag = shown.last().filter(|it| it.starts_with('-') && !it.contains('='));
        let pair = flag.map(|flag| secrets.mask(&format!("{flag}={word}")));
        let is_secret = pair.is_some_and(|pair| pair.ends_with(HIDDEN));
        shown.push(if is_secret { HIDDEN.into() } else { secrets.mask(word) });
    }
    shown.join(" ")
}

/// Whether the kubeconfig itself has a proxy for the cluster of its current context.
fn names_proxy(file: &Kubeconfig) -> bool {
    let name = file.current_context.as_deref();
    let mut contexts = file.contexts.iter().filter(|it| Some(it.name.as_str()) == name);
    let of = contexts.find_map(|it| Some(it.context.as_ref()?.cluster.as_str()));
    let clusters = file.clusters.iter().filter(|it| Some(it.name.as_str()) == of);
    let mut proxies = clusters.filter_map(|it| it.cluster.as_ref()?.proxy_url.as_ref());
    proxies.any(|proxy| !proxy.is_empty())
}

/// Asks without the proxy of HTTPS_PROXY where NO_PROXY says so, as kubectl does; this client, as
/// it is built, speaks through none.
fn leave_proxy(config: &mut Config, of_kubeconfig: bool) -> Result<(), ApiError> {
    let Some(proxy) = &config.proxy_url else { return Ok(()) };
    let (host, port) = address_of(&config.cluster_url);
    let list = no_proxy::list(|name| std::env::var(name).ok());
    if !of_kubeconfig && no_proxy::is_direct((host, port), &list) {
        config.proxy_url = None;
        return Ok(());
    }
    // Without a password that stands in it.
    let port = proxy.port().map(|port| format!(":{port}")).unwrap_or_default();
    let proxy = format!("{}{port}", proxy.host().unwrap_or_default());
    Err(ApiError::Proxied { proxy, host: host.to_string(), of_kubeconfig })
}

/// Host and port; where no port is named, the scheme's.
fn address_of(url: &Uri) -> (&str, u16) {
    let usual = if url.scheme_str() == Some("http") { 80 } else { 443 };
    (url.host().unwrap_or_default(), url.port_u16().unwrap_or(usual))
}

/// What it says, and the causes that it gives beside where the words do not hold them.
fn with_causes(answer: &Status) -> String {
    let causes = answer.details.iter().flat_map(|details| &details.causes);
    let causes = causes.map(|cause| cause.message.as_str());
    let untold = causes.filter(|cause| !answer.message.contains(cause));
    let said: Vec<&str> = iter::once(answer.message.as_str()).chain(untold).collect();
    said.join(": ")
}

/// As the API server's admission of namespaces marks it.
fn is_of_ending_namespace(answer: &Status) -> bool {
    const REASON: &str = "NamespaceTerminating";
    let causes = answer.details.iter().flat_map(|details| &details.causes);
    causes.into_iter().any(|cause| cause.reason == REASON)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_escaped_as_in_go_and_mean_the_same() {
        let body =
            json!([{ "op": "test", "value": ["a && b >\u{2028}<c", "\u{8}\u{1f}\u{7f}é\""] }]);
        let written = as_the_server_writes(&body);
        let escaped = r#"["a \u0026\u0026 b \u003e\u2028\u003cc","\b\u001f"#;
        assert!(written.contains(escaped), "{written}");
        assert_eq!(serde_json::from_str::<Value>(&written).unwrap(), body);
    }

    #[test]
    fn lines_are_put_together_from_messages_and_a_failure_is_told() {
        let mut output = Output::default();
        assert!(output.take(b"\x01one").is_empty());
        let lines = output.take(b"\x01 and\ntwo\nth");
        assert_eq!(lines, [Ok("one and".to_string()), Ok("two".to_string())]);
        assert!(output.take(b"\x02words\n").is_empty(), "standard error is left out");
        assert!(output.take(b"").is_empty());
        assert!(output.take(b"\x03{\"status\":\"Success\"}").is_empty());
        let failure = b"\x03{\"status\":\"Failure\",\"message\":\"exit code 127\"}";
        let message = "exit code 127".to_string();
        assert_eq!(output.take(failure), [Err(ApiError::Command { message })]);
    }

    #[test]
    fn the_command_for_the_login_is_shown_without_secrets_and_with_what_it_says() {
        let words = ["get-token", "--oidc-client-secret=s3cr3t", "--client-secret", "s3cr3t", "x"];
        let args = Some(words.map(String::from).to_vec());
        let exec = ExecConfig { command: Some("kubelogin".into()), args, ..Default::default() };
        let command = command_of(&exec);
        let shown = "kubelogin get-token --oidc-client-secret=[hidden] --client-secret [hidden] x";
        assert_eq!(command, shown);
        let missing = AuthError::AuthExecStart(std::io::ErrorKind::NotFound.into());
        let refreshed = AuthError::AuthExec("it has expired.".into());
        let syntax = serde_saphyr::from_str::<Value>("token: [s3cr3t\n").unwrap_err();
        let printed = AuthError::AuthExecParse(Box::new(syntax));
        for (error, words) in [
            (Error::Auth(missing), "entity not found"),
            (Error::Service(Box::new(refreshed)), "failed exec auth: it has expired"),
            (Error::Auth(printed), "what it printed is no credential"),
        ] {
            let (command, said) = (command.clone(), words.to_string());
            let failed = plugin_failed(&error, Some(&command));
            assert_eq!(failed, Some(ApiError::Plugin { command, said }));
        }
        assert_eq!(plugin_failed(&Error::TlsRequired, Some(&command)), None);
    }

    #[test]
    fn a_kubeconfig_that_cannot_be_read_is_not_repeated() {
        let text = "users:\n- name: ada\n  user: {token: s3cr3t\n";
        let said = unread(&Kubeconfig::from_yaml(text).unwrap_err());
        assert!(said.starts_with("the kubeconfig cannot be read at its line "), "{said}");
        assert!(!said.contains("s3cr3t"), "{said}");
        assert_eq!(unread(&KubeconfigError::FindPath), "failed to find the path of kubeconfig");
    }

    #[test]
    fn only_where_there_is_no_kubeconfig_a_pod_goes_by_its_own_account() {
        let of_text = |text: &str| is_there(&Kubeconfig::from_yaml(text));
        let misspelt = "current-context: b\ncontexts: [{name: a, context: {cluster: c}}]\n";
        assert!(of_text(misspelt));
        assert!(of_text("users:\n- name: ada\n  user: {token: s3cr3t\n"), "it was written");
        assert!(!of_text("current-context: gone\n"), "it names no cluster");
        let not_read = |kind: ErrorKind| {
            is_there(&Err(KubeconfigError::ReadConfig(kind.into(), "config".into())))
        };
        assert!(!not_read(ErrorKind::NotFound) && not_read(ErrorKind::PermissionDenied));
        assert!(!is_there(&Err(KubeconfigError::FindPath)));
    }

    #[test]
    fn a_proxy_of_the_kubeconfig_is_told_from_one_of_the_environment() {
        let file = Kubeconfig::from_yaml(
            "current-context: a\n\
             contexts: [{name: a, context: {cluster: c}}, {name: b, context: {cluster: d}}]\n\
             clusters: [{name: c, cluster: {server: 'https://c'}}, \
             {name: d, cluster: {server: 'https://d', proxy-url: 'http://u:pw@p:3128'}}]\n",
        );
        let file = file.unwrap();
        for (asked, found) in [(None, ("a", "c", false)), (Some("b"), ("b", "d", true))] {
            let Access { config, context, has_proxy } = of_file(file.clone(), asked).unwrap();
            let host = config.cluster_url.host().unwrap();
            assert_eq!((context.as_str(), host, has_proxy), found);
        }
        let said = unread(&of_file(file, Some("none")).unwrap_err());
        assert_eq!(said, "failed to load current context: none");
        let mut config = Config::new("https://d.example".parse().unwrap());
        config.proxy_url = Some("http://u:pw@p:3128".parse().unwrap());
        let error = leave_proxy(&mut config, true).unwrap_err();
        let (proxy, host) = ("p:3128".to_string(), "d.example".to_string());
        assert_eq!(error, ApiError::Proxied { proxy, host, of_kubeconfig: true });
        let mut here = Config::new("https://127.0.0.1:6443".parse().unwrap());
        here.proxy_url = config.proxy_url;
        leave_proxy(&mut here, false).unwrap();
        assert_eq!(here.proxy_url, None);
        for (url, port) in [("https://d", 443), ("http://d", 80), ("https://d:6443", 6443)] {
            assert_eq!(address_of(&url.parse().unwrap()), ("d", port), "{url}");
        }
    }
}
