//! Why a Deployment of a cluster cannot be tuned as it was asked for, with the way out.
//!
//! In and out: a value.

use thiserror::Error;

/// What is wrong with a setting that is about a Deployment of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ClusterError {
    #[error(
        "a Deployment of the cluster or an image is needed, such as --deployment shop, or --image \
         registry.internal/shop:1"
    )]
    DeploymentMissing,
    #[error("pods are made of an image with what that has itself; leave this out")]
    OfImage,
    #[error("it is not known where its app answers; say it, such as --port 3000")]
    PortMissing,
    #[error("its pods need limits to be measured with; give --cpus 1 --memory 512MiB, say")]
    LimitsMissing,
    #[error("--deployment names one of a cluster; write kubernetes, or leave one of the two out")]
    NotHere,
    #[error(
        "a Deployment is measured with what it has itself; leave this out, or --deployment to tune \
         an app on this machine"
    )]
    OfDeployment,
    #[error("it is for a Deployment of a cluster; name that with --deployment, or leave this out")]
    NoDeployment,
    #[error("it is for an image that is tuned in a cluster; name that with --image")]
    NoImage,
    #[error("it names a container in the file of --pod-template; give that, or leave this out")]
    NoTemplate,
    #[error(
        "its load is sent by pods of the cluster, of an image of sweetspot; give one that the \
         cluster's nodes can pull, such as --generator-image registry.internal/sweetspot:1"
    )]
    ImageMissing,
    #[error(
        "it is no name that Kubernetes has; a-z, 0-9, '-' and '.' may stand in it, at most 253, \
         with a letter or digit first and last"
    )]
    Name,
    #[error("it is empty; write what it is called, or leave it out")]
    Empty,
    #[error(
        "no variable has {{{place}}} to fill in, so nothing would change; give one that the app \
         follows, such as --env {variable}={{{place}}}"
    )]
    NoPlace { place: &'static str, variable: &'static str },
    #[error(
        "{{{name}}} is no place that can be filled in (did you mean {{{close}}}?); there are \
         {{workers}} and {{threads}}"
    )]
    UnknownPlace { name: String, close: &'static str },
    #[error(
        "at most {most} ways to cut the app are tried, with numbers of pods that at most {workers} \
         workers can be shared by evenly, such as 1,2,4"
    )]
    Cuts { most: usize, workers: u16 },
    #[error(
        "no number of this range above 1 shares {cores} cores so that each pod has whole ones; \
         name numbers one by one, such as 1,2,4"
    )]
    NoUsualShare { cores: String },
    #[error(
        "{cores} cores make no whole number of pods with {size} each; sizes that divide them: \
         {fitting}"
    )]
    NotDivided { size: String, cores: String, fitting: String },
    #[error(
        "none of the numbers of pods that follow from it is among those of --pods; leave one of \
         the two out"
    )]
    NotAmongPods,
    #[error("each pod would have less than 0.01 cores or 16 MiB; cut it into fewer, or give more")]
    TooThin,
    #[error(
        "{pods} pods cannot share {workers} evenly; workers are those of all pods together: write \
         multiples of {together}, or leave them out"
    )]
    NotShared { workers: u16, pods: u16, together: u16 },
}
