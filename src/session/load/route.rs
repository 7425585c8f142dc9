//! The way to the server, before any load is on it: connections opened one after another, each
//! closed at once.
//!
//! In: addresses. Out: the route in figures. Sends no request.

use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use crate::summary::between;
use crate::terms::{LoadSummary, RouteSummary, StopSignal};

/// Connections to each address.
const SAMPLES: usize = 15;

/// All of them together.
const TIME: Duration = Duration::from_secs(2);

/// Connects to each address, within two seconds in all. Of several addresses the one that took
/// longest; `None` where no server listens.
pub fn measure(addresses: &[SocketAddr], stop: &StopSignal) -> Option<RouteSummary> {
    let deadline = Instant::now() + TIME;
    let routes = addresses.iter().filter_map(|at| between::route(&connects(at, deadline, stop)));
    routes.max_by(|a, b| a.connect_s.total_cmp(&b.connect_s))
}

/// How long each connection took. Ends early at the first that fails: the load will show why.
fn connects(address: &SocketAddr, deadline: Instant, stop: &StopSignal) -> Vec<Duration> {
    let mut times = Vec::with_capacity(SAMPLES);
    while times.len() < SAMPLES && !stop.is_raised() {
        let began = Instant::now();
        let left = deadline.saturating_duration_since(began);
        if left.is_zero() || TcpStream::connect_timeout(address, left).is_err() {
            break;
        }
        times.push(began.elapsed());
    }
    times
}

/// Puts the route into a load's result, with its doubt. `tightest`: the SLO's limit.
pub fn add(route: Option<RouteSummary>, tightest: Option<Duration>, summary: &mut LoadSummary) {
    summary.route = route;
    summary.warnings.extend(route.and_then(|route| between::doubt_route(&route, tightest)));
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn fifteen_connections_show_the_route_and_none_is_left_open() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let route = measure(&[address], &StopSignal::default()).unwrap();
        assert_eq!(route.samples, 15);
        assert!(route.connect_s > 0.0 && route.jitter_s.unwrap() >= 0.0);
        for _ in 0..SAMPLES {
            let (mut stream, _) = listener.accept().unwrap();
            let end = std::io::Read::read(&mut stream, &mut [0]).unwrap();
            assert_eq!(end, 0, "closed without a word");
        }
    }

    #[test]
    fn where_nobody_listens_there_is_no_route() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        drop(listener);
        assert_eq!(measure(&[address], &StopSignal::default()), None);
        assert_eq!(measure(&[], &StopSignal::default()), None);
    }
}
