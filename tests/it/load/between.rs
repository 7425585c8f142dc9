//! What lies between: caches, proxies, the route, and connections that were closed while idle.

use serde_json::Value;

use super::command::sweetspot;
use super::engine::closing_between_requests;
use super::server::{Server, ok};
use crate::process::codes;

/// What `load --json` says of a few requests, and what the text says.
fn load(server: &Server, more: &[&str]) -> (Value, String) {
    let run = |format: &str| {
        let arguments = [&server.url(), "--requests", "20", "--quiet", "-o", format];
        sweetspot(&[&arguments[..], more].concat()).stdout
    };
    (serde_json::from_str(&run("json")).unwrap(), run("text"))
}

const AT_A_RATE: [&str; 4] = ["--rate", "200/s", "--slo", "p50<10s"];

fn with_headers(headers: &str) -> Server {
    Server::answering(format!("HTTP/1.1 200 OK\r\n{headers}Content-Length: 2\r\n\r\nhi"))
}

#[test]
fn replies_of_a_cache_are_counted_and_doubted() {
    for headers in ["Age: 12\r\n", "X-Cache-Status: HIT\r\n", "CF-Cache-Status: HIT\r\n"] {
        let (result, text) = load(&with_headers(headers), &AT_A_RATE);
        assert_eq!((&result["cached"], &result["via"]), (&20.into(), &0.into()), "{headers}");
        assert!(codes(&result).contains(&"cached_replies"), "{result}");
        assert!(text.contains("20 of 20 replies came from a cache"), "{text}");
    }
    let not_modified = Server::answering("HTTP/1.1 304 Not Modified\r\n\r\n");
    assert_eq!(load(&not_modified, &AT_A_RATE).0["cached"], 20);
}

#[test]
fn a_proxy_on_the_way_is_told() {
    let (result, text) = load(&with_headers("Via: 1.1 front\r\nAge: 0\r\n"), &AT_A_RATE);
    assert_eq!((&result["cached"], &result["via"]), (&0.into(), &20.into()));
    assert!(codes(&result).contains(&"proxy_between"), "{result}");
    assert!(text.contains("20 of 20 replies passed a proxy (Via)"), "{text}");
}

#[test]
fn the_apps_own_replies_are_not_doubted() {
    let (result, text) = load(&Server::answering(ok("hi")), &AT_A_RATE);
    assert_eq!(
        (&result["cached"], &result["via"], &result["retries"]),
        (&0.into(), &0.into(), &0.into())
    );
    let codes = codes(&result);
    assert!(!codes.contains(&"cached_replies") && !codes.contains(&"proxy_between"), "{codes:?}");
    assert!(!text.contains("Sent again"), "{text}");
}

#[test]
fn the_route_is_measured_before_the_load_and_not_counted_with_it() {
    let server = Server::answering(ok("hi"));
    let (result, text) = load(&server, &AT_A_RATE);
    assert_eq!((&result["route"]["samples"], &result["due"]), (&15.into(), &20.into()));
    assert!(result["route"]["connect_s"].as_f64().unwrap() > 0.0);
    assert!(result["route"]["jitter_s"].as_f64().unwrap() >= 0.0);
    assert!(text.contains(" to connect, jitter ") && text.contains("(15 times)"), "{text}");
}

#[test]
fn requests_that_were_sent_again_are_counted() {
    let server = closing_between_requests();
    let (result, text) = load(&server, &["--clients", "1", "--slo", "p50<10s"]);
    assert_eq!(result["status"]["200"], 20, "{result}");
    // Every connection but the last one was closed on a request.
    assert_eq!(result["retries"], 19, "{result}");
    assert!(text.contains("Sent again  19 requests: the server had closed"), "{text}");
}
