//! A load in words: what is sent, where to and how.
//!
//! In: what was typed, and what became of it. Out: lines for people, without secrets.

use std::time::Duration;

use super::{Asked, Length, Shape};
use crate::load::Address;
use crate::plan::traffic::Url;
use crate::terms::{Arrivals, Target, format_duration};

/// What is going to be done, a line each.
pub fn describe(
    asked: &Asked,
    shape: &Shape,
    url: &Url,
    targets: &[Target],
    address: &Address,
) -> Vec<String> {
    let place = match address {
        Address::Unix(path) => format!("unix socket {}", path.display()),
        Address::Tcp(addresses) => {
            let texts: Vec<String> = addresses.iter().map(ToString::to_string).collect();
            texts.join(", ")
        }
    };
    let what = match targets {
        [target] => target.to_string(),
        several => format!("{} targets", several.len()),
    };
    let load = describe_shape(shape);
    let length = match asked.length {
        Length::Duration(length) => format!("for {}", format_duration(length)),
        Length::Requests(count) => format!("for {count} requests"),
    };
    let warm_up = match asked.warm_up {
        Duration::ZERO => String::new(),
        warm_up => format!(" after {} of warm-up", format_duration(warm_up)),
    };
    let (connection, timeout) = (asked.connection, format_duration(asked.timeout));
    vec![
        format!("{what} on {} ({place})", url.host_header()),
        format!("{load}, {length}{warm_up}, {connection} connections, timeout {timeout}"),
    ]
}

/// More stages than this are not named one by one.
const STAGES_NAMED: usize = 6;

fn describe_shape(shape: &Shape) -> String {
    let spaced = |arrivals: &Arrivals| match arrivals {
        Arrivals::Uniform => "uniform arrivals",
        Arrivals::Poisson => "poisson arrivals",
    };
    match shape {
        Shape::Constant { rate, arrivals } => format!("{rate}, {}", spaced(arrivals)),
        Shape::Stages { stages, arrivals } => {
            let mut texts: Vec<String> =
                stages.iter().take(STAGES_NAMED).map(ToString::to_string).collect();
            if stages.len() > STAGES_NAMED {
                texts.push(format!("{} more stages", stages.len() - STAGES_NAMED));
            }
            format!("{}, {}", texts.join(", then "), spaced(arrivals))
        }
        Shape::Times(times) => format!("a replay of {} requests", times.count()),
        Shape::Clients { clients, think } if think.is_zero() => format!("{clients} clients"),
        Shape::Clients { clients, think } => {
            format!("{clients} clients that think {}", format_duration(*think))
        }
    }
}
