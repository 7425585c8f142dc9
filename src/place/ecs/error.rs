//! Why a service could not be changed or put back, with the way out.
//!
//! In and out: a value.

use std::io;
use std::net::IpAddr;
use std::path::PathBuf;

use thiserror::Error;

use super::aws::AwsError;
use super::name::ServiceName;

/// What went wrong.
#[derive(Debug, Error)]
pub enum EcsError {
    #[error(transparent)]
    Aws(#[from] AwsError),
    #[error("there is no service {service} in cluster {cluster}, in this account and region")]
    NoService { cluster: String, service: String },
    #[error("service {service} is {status}; nothing can be tuned there")]
    NotActive { service: String, status: String },
    #[error("service {service} runs no task; give it one first: its desired count is 0")]
    NoTask { service: String },
    #[error(
        "service {} runs a setting of another session of sweetspot; wait for its end, or where \
         that was killed, put it back by 'sweetspot restore' in the folder it was begun in, or \
         where that is gone, by 'sweetspot restore --ecs {}/{}'",
        name.service, name.cluster, name.service
    )]
    LeftChanged { name: ServiceName },
    #[error(
        "{address} is the address of a task that service {service} runs now, and each setting is a \
         task of its own; say with --url a name that follows the service's tasks, such as Cloud \
         Map's, or its load balancer's"
    )]
    TasksOwnAddress { address: IpAddr, service: String },
    #[error("service {service} is being deployed; wait until that is over")]
    BeingDeployed { service: String },
    #[error(
        "service {service} is deployed as {how}, which is not done here; services that ECS itself \
         deploys task after task can be tuned, others by --apply with a command of yours"
    )]
    OtherDeployment { service: String, how: String },
    #[error("its task has no container {asked}; there are: {there}")]
    NoContainer { asked: String, there: String },
    #[error(
        "its task has several containers; name the app's, as CLUSTER/SERVICE/CONTAINER: {there}"
    )]
    SeveralContainers { there: String },
    #[error("somebody else deployed {definition} meanwhile, which is left as it is")]
    Others { definition: String },
    #[error(
        "somebody else began another deployment of {definition} meanwhile, a setting of this \
         session: what was measured last may be of tasks that ended and tasks that began"
    )]
    OthersDeployment { definition: String },
    #[error(
        "somebody else set the number of tasks to {tasks} meanwhile, which is left as it is: one \
         is what is measured"
    )]
    OthersTasks { tasks: u32 },
    #[error(
        "the service that was changed runs {then}, and aws answers of one that runs {now}, in \
         another account or region; set AWS_PROFILE, AWS_REGION and the like as they were"
    )]
    Elsewhere { then: String, now: String },
    #[error(
        "there is no service {service} in cluster {cluster}, and {definition}, which it ran, is \
         not known either; set AWS_PROFILE, AWS_REGION and the like as they were, or, where both \
         were deleted, remove {}, which says what the service was\n{said}",
        record.display()
    )]
    Unknown { service: String, cluster: String, definition: String, record: PathBuf, said: String },
    #[error(
        "this machine's clock is {} AWS's, so that the minutes of a load are not known there; set \
         it right",
        apart(*ahead_s)
    )]
    ClockApart { ahead_s: f64 },
    #[error("the service does not come up with it: {why}")]
    DoesNotComeUp { why: String },
    #[error("the service was not stable after {minutes} minutes{longer}{why}")]
    TooLate {
        minutes: u64,
        /// What gives it more time, with a semicolon before it; empty: nothing does.
        longer: &'static str,
        why: String,
    },
    #[error("{}: {source}", path.display())]
    Record {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// Such as `120 s ahead of`.
fn apart(ahead_s: f64) -> String {
    let way = if ahead_s > 0.0 { "ahead of" } else { "behind" };
    format!("{:.0} s {way}", ahead_s.abs())
}

impl EcsError {
    /// Asked again in some minutes, it will be the same.
    pub fn is_lasting(&self) -> bool {
        match self {
            Self::Aws(error) => error.is_lasting(),
            _ => true,
        }
    }

    /// The setting's doing: another may be had all the same. All else ends a session.
    pub fn is_of_setting(&self) -> bool {
        matches!(self, Self::DoesNotComeUp { .. } | Self::TooLate { .. })
    }
}
