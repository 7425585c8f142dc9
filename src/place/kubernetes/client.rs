//! A real cluster's API, by the configuration that `kubectl` would use.
//!
//! In: paths and JSON. Out: the same. Each call ends within a deadline.

use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

use futures_util::io::AsyncBufReadExt;
use futures_util::stream::StreamExt;
use http::{Method, Request};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::Status;
use kube::{Config, Error};
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

use super::api::{Api, ApiError, Lines};

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
        let options =
            KubeConfigOptions { context: context.map(str::to_string), ..Default::default() };
        let current = Kubeconfig::read().ok().and_then(|file| file.current_context);
        let config = runtime.block_on(async {
            match context {
                Some(_) => Config::from_kubeconfig(&options).await.map_err(|it| it.to_string()),
                None => Config::infer().await.map_err(|it| it.to_string()),
            }
        });
        let config = config.map_err(unusable)?;
        let (namespace, server) =
            (config.default_namespace.clone(), config.cluster_url.to_string());
        let name = context.map(str::to_string).or(current);
        let client = {
            let _inside = runtime.enter();
            kube::Client::try_from(config).map_err(|error| unusable(error.to_string()))?
        };
        let context = name.unwrap_or_else(|| "in the cluster".into());
        Ok(Self { runtime, client, namespace, context, server })
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
            .body(body.map(|body| body.to_string().into_bytes()).unwrap_or_default());
        let request = request.map_err(|error| refused(400, error.to_string()))?;
        self.answer(self.client.request::<Value>(request))
    }

    fn answer<T>(&self, asked: impl Future<Output = Result<T, Error>>) -> Result<T, ApiError> {
        let within = self.runtime.block_on(async { tokio::time::timeout(PATIENCE, asked).await });
        match within {
            Ok(answer) => answer.map_err(of),
            Err(_) => {
                let why = format!("no answer within {} s", PATIENCE.as_secs());
                Err(ApiError::Unreachable { why })
            }
        }
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

fn of(error: Error) -> ApiError {
    match error {
        Error::Api(answer) => match answer.code {
            403 if is_of_ending_namespace(&answer) => ApiError::Ending { message: answer.message },
            403 => ApiError::Forbidden { message: answer.message },
            status => refused(status, answer.message),
        },
        other => unreachable(&other),
    }
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
}
