//! What will be done to an app that runs elsewhere, before it is done.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// When a step is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepTime {
    /// Once, before the first setting.
    First,
    /// For each start of a setting.
    EachStart,
    /// Once, whatever happened; also by `sweetspot restore`.
    AtEnd,
}

/// One of them, in the order in which they are taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedStep {
    pub when: StepTime,
    #[serde(flatten)]
    pub what: StepKind,
}

/// What is done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum StepKind {
    /// A command of the user's, which is not shown: it may hold secrets.
    RunOwnCommand {
        /// The flag that gave it.
        flag: String,
    },
    /// A command of ours for a shell.
    RunCommand { command: String },
    /// What a service of AWS ECS is goes into a file, by which it can be put back.
    NoteService { file: String },
    /// Automatic scaling of the service is suspended.
    SuspendScaling,
    /// Its target groups let a task that ends finish for so many seconds.
    ShortenDrain { seconds: String },
    /// Where its limits for deployments leave no room to replace one task, none has to stay healthy
    /// meanwhile.
    MakeRoom,
    /// A revision of its task definition with these variables, of which one task runs.
    DeployRevision { variables: Vec<String> },
    /// All of the service that was changed is as it was again.
    PutServiceBack,
    /// A Lease says whose the Deployment is; what it was is written down on it.
    TakeDeployment { name: String },
    /// Whatever scales it is held at one pod.
    HoldAutoscalers,
    /// One pod with these variables in place of what runs.
    RollOut { variables: Vec<String> },
    /// Its `spec`, its autoscalers and its history are as they were.
    PutDeploymentBack { name: String },
    /// A Deployment and a Service of our own, for pods of this image.
    MakeDeployment { image: String },
    /// All that was made is removed.
    RemoveWhatWasMade,
}
