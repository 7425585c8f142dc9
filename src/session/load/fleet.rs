//! A load that several programs send together: who collects, who joins, and what of it is doubted.
//!
//! In: what was typed, and the load that all were given alike. Out: a collector, and what is
//! doubted.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::time::Duration;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use ring::digest::{Context, SHA256};

use super::asked::{FleetAsked, Role};
use super::error::LoadVerbError;
use crate::fleet::{Collector, FleetError, ForHosts, Gate, OnLoss};
use crate::load::LoadSpec;
use crate::load::shape::Shape;
use crate::terms::{FleetMember, GeneratorDoubt, MemberSummary, Rate, StopSignal, Warning};

/// Generators that begin further apart than this don't send one load.
const APART: Duration = Duration::from_millis(50);

/// Waits for the generators; `joined` is told again and again how many are there.
pub(super) fn gather(
    spec: &LoadSpec,
    asked: &FleetAsked,
    stop: &StopSignal,
    joined: &mut dyn FnMut(u16),
) -> Result<Collector, LoadVerbError> {
    let Role::Collect { listen, on_loss } = asked.role else {
        return Err(LoadVerbError::Usage("a program that joins has no result".into()));
    };
    let listener = bound(listen)
        .map_err(|source| FleetError::Listen { address: listen.to_string(), source })?;
    let many = (asked.generators, asked.within);
    let mut look = |count: u16| {
        joined(count);
        if stop.is_raised() { Err(FleetError::Stopped) } else { Ok(()) }
    };
    Ok(Collector::gather(&listener, many, &gate(spec, asked), on_loss, &mut look)?)
}

/// Listens there. `[::]` means both protocols, and IPv4 alone where the kernel has no IPv6.
fn bound(listen: SocketAddr) -> io::Result<TcpListener> {
    TcpListener::bind(listen).or_else(|error| {
        let is_everywhere = listen.ip() == IpAddr::V6(Ipv6Addr::UNSPECIFIED);
        match error.raw_os_error() {
            Some(libc::EAFNOSUPPORT | libc::EADDRNOTAVAIL) if is_everywhere => {
                TcpListener::bind((Ipv4Addr::UNSPECIFIED, listen.port()))
            }
            _ => Err(error),
        }
    })
}

/// All must send the same load. Where it goes is not compared: names lead to other addresses
/// elsewhere.
pub(super) fn gate(spec: &LoadSpec, asked: &FleetAsked) -> Gate {
    let (shape, length) = (&spec.shape, (spec.warm_up, spec.length));
    let how = (spec.connection, spec.closing, spec.protocol, spec.timeout, spec.keeps_cookies);
    // Only a digest of it leaves: queries, headers and bodies may be secret.
    let sent: Vec<_> = spec.targets.iter().map(|it| (&it.path, &it.headers, &it.body)).collect();
    let what = (&spec.host, &spec.targets, spec.records_each_target, spec.seed, asked.generators);
    let text = format!("{shape:?} {length:?} {how:?} {what:?} {sent:?} {:?}", spec.max_in_flight);
    let mut hash = Context::new(&SHA256);
    hash.update(text.as_bytes());
    if let Some(table) = &spec.variables {
        hash.update(format!("{table:?}").as_bytes());
        for value in table.values() {
            hash.update(&value.len().to_be_bytes());
            hash.update(value.as_bytes());
        }
    }
    let load = BASE64_STANDARD.encode(hash.finish());
    Gate { version: env!("CARGO_PKG_VERSION").into(), token: asked.token.clone(), load }
}

/// What one of the generators is to send of it, for how many loops that needs.
pub(super) fn share_of(shape: &Shape, generators: u16) -> Shape {
    let generators = generators.max(1);
    match *shape {
        Shape::Constant { rate, arrivals } => {
            let share = rate.as_per_second() / f64::from(generators);
            Shape::Constant { rate: Rate::per_second(share).unwrap_or(rate), arrivals }
        }
        Shape::Clients { clients, think } => {
            Shape::Clients { clients: clients.div_ceil(generators.into()), think }
        }
        ref other => other.clone(),
    }
}

/// What is doubted of a load because of its generators, and whether it holds all the same.
pub(super) fn doubts(generators: &[FleetMember], role: &Role) -> (Vec<Warning>, bool) {
    let lost: Vec<_> = generators.iter().filter_map(|one| one.lost_at).collect();
    let mut warnings: Vec<Warning> = Vec::new();
    if let Some(first) = lost.iter().min() {
        let (lost, of) = (lost.len() as u16, generators.len() as u16);
        warnings.push(GeneratorDoubt::Lost { lost, of, after_s: first.as_secs_f64() }.into());
    }
    let late = || generators.iter().filter_map(|one| one.late);
    let spread = late().max().unwrap_or_default() - late().min().unwrap_or_default();
    let unknown = generators.iter().filter_map(|one| one.round_trip).max().unwrap_or_default() / 2;
    let apart = spread + unknown;
    if apart > APART {
        warnings.push(GeneratorDoubt::BeganApart { apart_s: apart.as_secs_f64() }.into());
    }
    let goes_on = match role {
        Role::Collect { on_loss, .. } | Role::Hosts(ForHosts { on_loss, .. }) => {
            *on_loss == OnLoss::GoOn
        }
        Role::Pods(asked) => asked.on_loss == OnLoss::GoOn,
        Role::Join { .. } => false,
    };
    (warnings, lost.is_empty() || goes_on)
}

/// As scripts see it.
pub(super) fn summary(member: &FleetMember) -> MemberSummary {
    let seconds = |time: Option<Duration>| time.map(|time| time.as_secs_f64());
    MemberSummary {
        address: member.address.clone(),
        due: member.due,
        sent: member.sent,
        send_lag_s_p99: seconds(member.send_lag_p99),
        late_s: seconds(member.late),
        round_trip_s: seconds(member.round_trip),
        busiest_loop_ratio: member.busiest_loop,
        lost_after_s: seconds(member.lost_at),
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream;
    use std::sync::Arc;

    use super::*;
    use crate::load::Variables;
    use crate::session::load::{Asked, prepare};

    fn member(late_ms: u64, round_trip_ms: u64, lost_at: Option<Duration>) -> FleetMember {
        FleetMember {
            address: "10.0.0.1:1".into(),
            round_trip: Some(Duration::from_millis(round_trip_ms)),
            late: Some(Duration::from_millis(late_ms)),
            due: 10,
            sent: 10,
            send_lag_p99: None,
            busiest_loop: 0.1,
            lost_at,
        }
    }

    #[test]
    fn both_protocols_are_listened_to_at_once() {
        let listener = bound("[::]:0".parse().unwrap()).unwrap();
        let port = listener.local_addr().unwrap().port();
        TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
    }

    fn collecting(on_loss: OnLoss) -> Role {
        Role::Collect { listen: "127.0.0.1:1".parse().unwrap(), on_loss }
    }

    #[test]
    fn who_has_other_values_of_variables_is_not_let_in() {
        let rate = Rate::per_second(10.0).unwrap();
        let shape = Shape::Constant { rate, arrivals: crate::terms::Arrivals::Uniform };
        let length = Duration::from_secs(1);
        let spec = prepare(Asked::new("127.0.0.1:9", shape, length)).unwrap().spec;
        let asked = FleetAsked {
            generators: 2,
            role: collecting(OnLoss::End),
            within: Duration::from_secs(1),
            token: String::new(),
            orders: None,
        };
        let load_with = |names: &[&str], rows: &[[&str; 2]]| {
            let names = names.iter().map(ToString::to_string).collect();
            let mut table = Variables::new(names).unwrap();
            rows.iter().for_each(|row| table.push(*row));
            gate(&LoadSpec { variables: Some(Arc::new(table)), ..spec.clone() }, &asked).load
        };
        let names = ["user", "password"];
        let one = load_with(&names, &[["me", "secret"], ["you", "safe"]]);
        assert_eq!(one, load_with(&names, &[["me", "secret"], ["you", "safe"]]));
        for (what, other) in [
            ("a value", load_with(&names, &[["me", "secret"], ["you", "sure"]])),
            ("their order", load_with(&names, &[["you", "safe"], ["me", "secret"]])),
            ("where one ends", load_with(&names, &[["mes", "ecret"], ["you", "safe"]])),
            ("a name", load_with(&["user", "pass"], &[["me", "secret"], ["you", "safe"]])),
            ("no table", gate(&spec, &asked).load),
        ] {
            assert_ne!(one, other, "{what} differs");
        }
    }

    #[test]
    fn generators_that_may_have_begun_apart_are_doubted() {
        let codes = |members: &[FleetMember]| {
            let (warnings, holds) = doubts(members, &collecting(OnLoss::End));
            assert!(holds);
            warnings.iter().map(|warning| warning.code()).collect::<Vec<_>>()
        };
        assert!(codes(&[member(3, 2, None), member(40, 20, None)]).is_empty());
        assert_eq!(codes(&[member(0, 2, None), member(45, 20, None)]), ["generators_apart"]);
        let far = "their clocks are not known better than that";
        assert_eq!(codes(&[member(0, 200, None)]), ["generators_apart"], "{far}");
    }

    #[test]
    fn a_load_without_one_of_its_generators_holds_only_where_that_was_asked_for() {
        let members = [member(0, 1, None), member(0, 1, Some(Duration::from_secs(3)))];
        let holds = |role: &Role| doubts(&members, role).1;
        assert!(!holds(&collecting(OnLoss::End)) && holds(&collecting(OnLoss::GoOn)));
        let warnings = doubts(&members, &collecting(OnLoss::GoOn)).0;
        assert_eq!(warnings.len(), 1, "it is said all the same");
    }

    #[test]
    fn each_generator_needs_loops_for_its_share() {
        let rate = |rate| Rate::per_second(rate).unwrap();
        let arrivals = crate::terms::Arrivals::Uniform;
        let open = Shape::Constant { rate: rate(90.0), arrivals };
        assert_eq!(share_of(&open, 3), Shape::Constant { rate: rate(30.0), arrivals });
        let closed = |clients| Shape::Clients { clients, think: Duration::ZERO };
        assert_eq!(share_of(&closed(7), 2), closed(4));
    }
}
