//! Why an app elsewhere cannot be tuned as it was asked for, with the way out.
//!
//! In and out: a value.

use std::path::PathBuf;

use thiserror::Error;

/// What is wrong with a setting that is about an app elsewhere. No command is repeated.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RemoteError {
    #[error(
        "it is for an app that runs elsewhere; give --apply, the command that changes it, --kamal \
         or --ecs"
    )]
    NoApply,
    #[error(
        "an app that runs elsewhere is started by whoever runs it; leave this out, or --apply, \
         --kamal and --ecs to tune an app that sweetspot starts"
    )]
    OfRemote,
    #[error("it is not known where the app answers; say it, such as --url http://app1:3000")]
    UrlMissing,
    #[error(
        "nothing would put the app back; give --restore, a command that has it run as it did \
         before, whatever was applied"
    )]
    RestoreMissing,
    #[error("it is not known what the app may use there; say it, such as --cpus 4 --memory 8GiB")]
    MachineMissing,
    #[error("it is empty; write a command, or leave it out")]
    Empty,
    #[error(
        "nothing in it would change: write {{workers}} or {{threads}} where the numbers belong, \
         such as \"ssh app1 sudo shop-setting WEB_CONCURRENCY={{workers}}\""
    )]
    NoPlaces,
    #[error(
        "{{{name}}} is no place that can be filled in (did you mean {{{close}}}?); there are \
         {{workers}} and {{threads}}"
    )]
    UnknownPlace { name: String, close: &'static str },
    #[error("{0}")]
    Url(String),
    #[error("{0}")]
    Host(String),
    #[error("a path in it would be left out; say what is asked for with --target")]
    PathInUrl,
    #[error("user and password in it would not be sent; give -H 'Authorization: ...'")]
    UserInUrl,
    #[error("it is no setting; write workers x threads, such as 2x5")]
    Configuration,
    #[error("the app is changed and put back without it; leave this out, or {by}")]
    HasOwn { by: &'static str },
    #[error("it is no name of a service; write CLUSTER/SERVICE, such as prod/shop")]
    Service,
    #[error("there is no {}; type it in the app's folder, or name that with --app", path.display())]
    NoKamal { path: PathBuf },
    #[error("it is no name of a destination; write it as kamal's --destination takes it")]
    Destination,
}
