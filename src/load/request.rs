//! Requests as bytes, made once before the load begins, and which of them is sent next.

use rand::{Rng, RngExt};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::LoadError;
use crate::terms::{ConnectionMode, Target};

/// A request ready to be sent.
#[derive(Debug)]
pub struct Request {
    pub bytes: Vec<u8>,
    /// Its reply has no body.
    pub is_head: bool,
    /// Sending it twice does no more than sending it once (RFC 9110, section 9.2.2).
    pub is_idempotent: bool,
}

/// Headers of ours that a target's own header of the same name replaces.
const USER_AGENT: &str = concat!("sweetspot/", env!("CARGO_PKG_VERSION"));

impl Request {
    /// # Errors
    /// A part that could not stand in a request without changing its meaning (line ends, spaces).
    pub fn new(target: &Target, host: &str, mode: ConnectionMode) -> Result<Self, LoadError> {
        check(target, host)?;
        let mut head = format!("{} {} HTTP/1.1\r\n", target.method, target.path);
        for (name, value) in own_headers(target, host, mode) {
            let is_replaced =
                target.headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name));
            if !is_replaced {
                head += &format!("{name}: {value}\r\n");
            }
        }
        for (name, value) in &target.headers {
            head += &format!("{name}: {value}\r\n");
        }
        head += "\r\n";
        let bytes = [head.as_bytes(), &target.body].concat();
        let idempotent = ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"];
        Ok(Self {
            bytes,
            is_head: target.method == "HEAD",
            is_idempotent: idempotent.contains(&target.method.as_str()),
        })
    }
}

fn own_headers(target: &Target, host: &str, mode: ConnectionMode) -> Vec<(&'static str, String)> {
    let mut headers = vec![
        ("Host", host.to_string()),
        ("User-Agent", USER_AGENT.to_string()),
        ("Accept", "*/*".to_string()),
    ];
    if mode == ConnectionMode::Fresh {
        headers.push(("Connection", "close".to_string()));
    }
    // A method that usually has a body says so even when it is empty; servers may insist.
    let expects_body = ["POST", "PUT", "PATCH"].contains(&target.method.as_str());
    if expects_body || !target.body.is_empty() {
        headers.push(("Content-Length", target.body.len().to_string()));
    }
    headers
}

fn check(target: &Target, host: &str) -> Result<(), LoadError> {
    let refuse = |what: String| Err(LoadError::Plan(what));
    let is_word = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_graphic());
    if !is_word(&target.method) {
        return refuse("the method of a target must be one word, such as GET".into());
    }
    if !is_word(&target.path) || !(target.path.starts_with('/') || target.path == "*") {
        return refuse(format!(
            "the path of target '{target}' must begin with '/' and hold no spaces; write a space \
             as %20"
        ));
    }
    if !is_word(host) {
        return refuse("the host name must hold no spaces or line ends".into());
    }
    for (name, value) in &target.headers {
        let is_name = is_word(name) && !name.contains(':');
        if !is_name || value.bytes().any(|b| matches!(b, b'\r' | b'\n' | 0)) {
            return refuse(format!(
                "header '{}' must be one line of the form 'Name: value'",
                name.escape_debug()
            ));
        }
        check_header(target, name)?;
    }
    Ok(())
}

/// A second one contradicts the first; servers refuse such requests, or believe either.
const ONCE: [&str; 5] = ["Host", "Content-Type", "Authorization", "User-Agent", "Connection"];

fn check_header(target: &Target, name: &str) -> Result<(), LoadError> {
    let is = |other: &str| name.eq_ignore_ascii_case(other);
    if is("Content-Length") || is("Transfer-Encoding") {
        return Err(LoadError::Plan(format!(
            "header '{name}' cannot be given: requests are sent with the length of their body"
        )));
    }
    let count = target.headers.iter().filter(|(given, _)| is(given)).count();
    if count > 1 && ONCE.iter().any(|once| is(once)) {
        return Err(LoadError::Plan(format!(
            "header '{name}' is given {count} times; a request has it once"
        )));
    }
    Ok(())
}

/// Longest cycle in which shares are kept exactly.
const LONGEST_CYCLE: u32 = 4096;

/// Chooses among targets by weight.
///
/// In each cycle of (sum of weights / their greatest common divisor) requests every target has
/// exactly its share, in an order shuffled anew, so that a short run has the mix that was asked for
/// too. Only very fine shares are drawn at random.
#[derive(Debug)]
pub struct Mix {
    random: Xoshiro256PlusPlus,
    order: Order,
}

#[derive(Debug)]
enum Order {
    Single,
    Cycle {
        cycle: Vec<u32>,
        at: usize,
    },
    /// Upper ends of each target's share, ascending.
    Drawn {
        ends: Vec<u64>,
    },
}

impl Mix {
    /// `weights` of at least one target, each 1 or more.
    pub fn new(weights: &[u32], random: Xoshiro256PlusPlus) -> Self {
        let divisor = weights.iter().copied().fold(0, greatest_common_divisor).max(1);
        let sum: u64 = weights.iter().map(|weight| u64::from(weight / divisor)).sum();
        let order = if weights.len() <= 1 {
            Order::Single
        } else if sum <= u64::from(LONGEST_CYCLE) {
            let cycle: Vec<u32> = (0u32..)
                .zip(weights)
                .flat_map(|(index, weight)| (0..weight / divisor).map(move |_| index))
                .collect();
            Order::Cycle { at: cycle.len(), cycle }
        } else {
            let mut end = 0;
            let ends = weights.iter().map(|weight| {
                end += u64::from(*weight);
                end
            });
            Order::Drawn { ends: ends.collect() }
        };
        Self { random, order }
    }

    /// The index of the next request's target.
    pub fn next(&mut self) -> u32 {
        match &mut self.order {
            Order::Single => 0,
            Order::Cycle { cycle, at } => {
                if *at == cycle.len() {
                    shuffle(cycle, &mut self.random);
                    *at = 0;
                }
                *at += 1;
                cycle[*at - 1]
            }
            Order::Drawn { ends } => {
                let drawn = self.random.random_range(0..ends.last().copied().unwrap_or(1));
                ends.partition_point(|end| *end <= drawn) as u32
            }
        }
    }
}

fn shuffle(items: &mut [u32], random: &mut impl Rng) {
    for last in (1..items.len()).rev() {
        items.swap(last, random.random_range(0..=last));
    }
}

fn greatest_common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    fn random() -> Xoshiro256PlusPlus {
        Xoshiro256PlusPlus::seed_from_u64(1)
    }

    fn text(target: &Target, mode: ConnectionMode) -> String {
        String::from_utf8(Request::new(target, "app.test:80", mode).unwrap().bytes).unwrap()
    }

    #[test]
    fn a_request_is_what_a_plain_client_sends() {
        assert_eq!(
            text(&Target::get("/a?b=1"), ConnectionMode::KeepAlive),
            format!(
                "GET /a?b=1 HTTP/1.1\r\nHost: app.test:80\r\n\
                 User-Agent: {USER_AGENT}\r\nAccept: */*\r\n\r\n"
            )
        );
        assert!(text(&Target::get("/"), ConnectionMode::Fresh).contains("Connection: close\r\n"));
    }

    #[test]
    fn given_headers_replace_ours_and_bodies_have_a_length() {
        let target = Target {
            method: "POST".into(),
            headers: vec![("host".into(), "other".into()), ("X-A".into(), "1".into())],
            body: b"hello".to_vec(),
            ..Target::get("/")
        };
        let text = text(&target, ConnectionMode::KeepAlive);
        assert!(text.contains("host: other\r\nX-A: 1\r\n\r\nhello"), "{text}");
        assert!(text.contains("Content-Length: 5\r\n"));
        assert!(!text.contains("app.test"));
        let empty = Target { method: "PUT".into(), ..Target::get("/") };
        assert!(self::text(&empty, ConnectionMode::KeepAlive).contains("Content-Length: 0\r\n"));
    }

    #[test]
    fn nothing_can_be_smuggled_into_a_request() {
        let with_header = |name: &str, value: &str| Target {
            headers: vec![(name.into(), value.into())],
            ..Target::get("/")
        };
        for target in [
            Target::get("/a b"),
            Target::get("/a\r\nX: y"),
            Target::get("relative"),
            Target { method: "GE T".into(), ..Target::get("/") },
            with_header("X", "a\r\nY: b"),
            with_header("X:", "a"),
            with_header("", "a"),
        ] {
            assert!(Request::new(&target, "app", ConnectionMode::Fresh).is_err(), "{target}");
        }
        assert!(Request::new(&Target::get("/"), "a\r\nb", ConnectionMode::Fresh).is_err());
    }

    #[test]
    fn headers_that_would_contradict_the_body_or_each_other_are_refused() {
        let refusal = |headers: &[(&str, &str)]| {
            let own = |(name, value): &(&str, &str)| (name.to_string(), value.to_string());
            let headers = headers.iter().map(own).collect();
            let target = Target { headers, ..Target::get("/") };
            let made = Request::new(&target, "app", ConnectionMode::KeepAlive);
            made.err().map(|error| error.to_string()).unwrap_or_default()
        };
        assert!(refusal(&[("content-length", "9")]).contains("the length of their body"));
        assert!(refusal(&[("Transfer-Encoding", "chunked")]).contains("'Transfer-Encoding'"));
        assert!(refusal(&[("Host", "a"), ("host", "b")]).contains("given 2 times"));
        assert_eq!(refusal(&[("Cookie", "a=1"), ("Cookie", "b=2"), ("Host", "a")]), "");
    }

    #[test]
    fn every_cycle_has_exactly_the_shares_asked_for_in_changing_order() {
        let mut mix = Mix::new(&[2, 6, 2], random());
        let mut cycles = Vec::new();
        for _ in 0..20 {
            let cycle: Vec<u32> = (0..5).map(|_| mix.next()).collect();
            let count = |target| cycle.iter().filter(|drawn| **drawn == target).count();
            assert_eq!([count(0), count(1), count(2)], [1, 3, 1]);
            cycles.push(cycle);
        }
        cycles.dedup();
        assert!(cycles.len() > 5, "the order changes");
    }

    #[test]
    fn very_fine_shares_are_drawn() {
        let mut mix = Mix::new(&[1, 9_999], random());
        let n = 200_000;
        let rare = (0..n).filter(|_| mix.next() == 0).count();
        // Expected 20; five standard deviations.
        assert!((1..=43).contains(&rare), "{rare}");
    }
}
