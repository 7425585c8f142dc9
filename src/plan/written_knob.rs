//! A knob as it was written, and why it cannot be tried.
//!
//! In and out: values.

use thiserror::Error;

use super::variable::VariableError;
use crate::server::KnobError;
use crate::terms::Variant;

/// One knob as it was written, with the values to try.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    pub name: Option<String>,
    pub subject: Subject,
    pub values: Vec<String>,
}

/// What a knob turns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// A variable of the app.
    Variable(String),
    /// Several at once, each with its value.
    Variables(Vec<(String, String)>),
    /// A setting of the server's.
    Setting(String),
    /// What a ready-made set of this name has.
    ReadyMade(String),
}

/// A knob that cannot be tried.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum WrittenError {
    #[error(
        "a knob is either a variable, env = \"MALLOC_ARENA_MAX\" with values = [\"2\"], or a \
         setting of the server's, setting = \"preload_app\" with values = [true, false], or a \
         ready-made set, set = \"ruby\"; write one of them"
    )]
    Subject,
    #[error("it has no value to try; write values = [\"2\"], or on the command line NAME=2")]
    NoValues,
    #[error("its variables have their values already; leave values out")]
    TwoValues,
    #[error("several variables at once need a name; write for example name = \"jemalloc\"")]
    NoName,
    #[error(
        "it has no '=' after its name; write for example MALLOC_ARENA_MAX=2, or =2,4 for two; or \
         ruby for what is usually tried there"
    )]
    NoEquals,
    #[error("there is no ready-made set '{set}'; there is {}", known.join(", "))]
    NoSuchSet { set: String, known: &'static [&'static str] },
    #[error("the set '{set}' is for apps in another language than those of {server}; leave it out")]
    OtherLanguage { set: String, server: &'static str },
    #[error("{name} is what tune sets by itself; leave it out")]
    Reserved { name: String },
    #[error(
        "a Deployment's pods are measured with the limits that it gives them; {name} is tried of \
         an image (--image)"
    )]
    OfDeployment { name: String },
    #[error("{change} is what the app has already; name another value")]
    AsItIs { change: String },
    #[error("{change} is named twice; keep one of the two")]
    Repeated { change: String },
    #[error("there are {count} values to try, and a session tells {most} apart; name fewer",
        most = Variant::MOST_CHANGES)]
    TooMany { count: usize },
    #[error(transparent)]
    Variable(#[from] VariableError),
    #[error(transparent)]
    Server(#[from] KnobError),
}
