//! The engine and the command over TLS: what happened is counted right, and why it failed is said.

use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rustls::version::{TLS12, TLS13};
use rustls::{ServerConnection, SupportedProtocolVersion};
use sweetspot::load::shape::Shape;
use sweetspot::load::{LoadSpec, TlsOptions, TlsSettings};
use sweetspot::terms::{CertificateFault, ConnectionMode, LoadRecord, Target, TlsTrouble};

use super::command::{EASY, json, sweetspot};
use super::engine::{self, at_rate, errors_of, run, total};
use super::server::{Connection, Server, ok};
use super::tls_server::{Authority, Identity, TlsServer};

const N: u64 = 20;

static VERSIONS: [&[&SupportedProtocolVersion]; 2] = [&[&TLS13], &[&TLS12]];

/// Cryptography without optimisation takes its time beside other tests.
const PATIENCE: Duration = Duration::from_secs(20);

fn spec(server: &Server, options: &TlsOptions, shape: Shape, requests: u64) -> LoadSpec {
    let tls = Some(TlsSettings::new(&server.address.ip().to_string(), options).unwrap());
    LoadSpec { tls, timeout: PATIENCE, ..engine::spec(server, shape, requests) }
}

fn clients(clients: u32) -> Shape {
    Shape::Clients { clients, think: Duration::ZERO }
}

fn one_identity() -> (Authority, Identity) {
    let authority = Authority::new();
    let identity = authority.identity("127.0.0.1");
    (authority, identity)
}

/// A load of which every request ends in class `tls`.
fn fails_in_tls(spec: &LoadSpec, what: &str) -> TlsTrouble {
    let record = run(spec);
    let all = total(&record);
    assert_eq!(all.errors, errors_of(|e| e.tls = all.due), "{what}: {:?}", record.run.tls_trouble);
    assert!(all.due > 0, "{what}");
    record.run.tls_trouble.unwrap()
}

fn is_answered(record: &LoadRecord, what: &str) {
    let all = total(record);
    assert_eq!(all.status, [(200, all.due)].into(), "{what}: {:?}", record.run.tls_trouble);
    assert_eq!((all.sent, &record.run.tls_trouble), (all.due, &None), "{what}");
}

#[test]
fn replies_of_every_kind_and_length_come_through_tls() {
    let (authority, identity) = one_identity();
    let long = "x".repeat(10_000_000);
    let chunked = format!(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n{:x}\r\n{long}\r\n\
         0\r\nX: y\r\n\r\n",
        long.len()
    );
    let replies = [("short", ok("hello"), N), ("long", ok(&long), 3), ("chunked", chunked, 3)];
    for versions in VERSIONS {
        for (what, reply, requests) in &replies {
            let server = TlsServer::answering(identity.server(versions), reply.as_str());
            for connection in [ConnectionMode::KeepAlive, ConnectionMode::Fresh] {
                let before = server.server.seen.connections.load(Ordering::SeqCst);
                let spec = spec(&server.server, &authority.trusted(), clients(1), *requests);
                let record = run(&LoadSpec { connection, ..spec });
                is_answered(&record, &format!("{what}, {connection}, {versions:?}"));
                let bytes = reply.len() as u64 * requests;
                assert_eq!(total(&record).bytes_in, bytes, "of HTTP, without those of TLS");
                let opened = server.server.seen.connections.load(Ordering::SeqCst) - before;
                let expected = if connection == ConnectionMode::Fresh { *requests } else { 1 };
                assert_eq!(opened as u64, expected, "{what}, {connection}");
            }
        }
    }
}

#[test]
fn records_that_come_in_pieces_are_put_together() {
    let (authority, identity) = one_identity();
    let server = TlsServer::start(identity.server(VERSIONS[0]), |session| {
        while session.request() {
            session.send_bytewise(ok("hello").as_bytes());
        }
    });
    is_answered(&run(&spec(&server.server, &authority.trusted(), clients(1), N)), "bytewise");
}

#[test]
fn many_connections_at_once_and_long_requests_come_through_tls() {
    let (authority, identity) = one_identity();
    let server = TlsServer::answering(identity.server(VERSIONS[0]), ok("hello"));
    let body = vec![b'x'; 1_000_000];
    let post = Target { method: "POST".into(), body, ..Target::get("/") };
    let spec = spec(&server.server, &authority.trusted(), clients(8), 40);
    let record = run(&LoadSpec { targets: vec![post], loops: 2, ..spec });
    is_answered(&record, "long requests");
    assert!(total(&record).bytes_out >= 40_000_000);
}

#[test]
fn a_certificate_is_trusted_when_its_ca_is_or_when_nothing_is_checked() {
    let (authority, identity) = one_identity();
    let stranger = Authority::named("somebody else");
    for versions in VERSIONS {
        let server = TlsServer::answering(identity.server(versions), ok("hello"));
        let load = |options: &TlsOptions| spec(&server.server, options, at_rate(200.0), N);
        let trouble = fails_in_tls(&load(&stranger.trusted()), "another CA");
        let untrusted = Some(CertificateFault::Untrusted);
        assert!(
            matches!(&trouble, TlsTrouble::Certificate { fault, .. } if *fault == untrusted),
            "{trouble:?}"
        );
        is_answered(&run(&load(&authority.trusted())), "its own CA");
        let insecure = TlsOptions { is_insecure: true, ..TlsOptions::default() };
        is_answered(&run(&load(&insecure)), "unchecked");
    }
}

#[test]
fn the_certificate_has_to_be_for_the_name_that_is_asked_for() {
    let authority = Authority::new();
    let mut config = authority.identity("app.test").server(VERSIONS[0]);
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let server = TlsServer::answering(config, ok("hello"));
    let load = |options: &TlsOptions| spec(&server.server, options, clients(1), 3);
    let trouble = fails_in_tls(&load(&authority.trusted()), "the address");
    let other_name = Some(CertificateFault::OtherName);
    assert!(
        matches!(&trouble, TlsTrouble::Certificate { fault, .. } if *fault == other_name),
        "{trouble:?}"
    );
    let server_name = Some("app.test".to_string());
    is_answered(&run(&load(&TlsOptions { server_name, ..authority.trusted() })), "the name");
    let agreed = server.handshakes.agreed.lock().unwrap().clone();
    assert_eq!(agreed, ("app.test".to_string(), "http/1.1".to_string()));
}

#[test]
fn a_server_that_demands_a_certificate_gets_ours_or_refuses() {
    let (authority, identity) = one_identity();
    for versions in VERSIONS {
        let config = identity.demanding_server(versions, &authority);
        let server = TlsServer::answering(config, ok("hello"));
        let load = |options: &TlsOptions| spec(&server.server, options, clients(2), N);
        let trouble = fails_in_tls(&load(&authority.trusted()), "without");
        assert!(matches!(trouble, TlsTrouble::Alert { .. }), "{trouble:?}");
        let certificate = Some(authority.files(&authority.identity("client.test")));
        is_answered(&run(&load(&TlsOptions { certificate, ..authority.trusted() })), "with");
    }
}

#[test]
fn sessions_are_resumed_unless_that_is_turned_off() {
    let (authority, identity) = one_identity();
    for versions in VERSIONS {
        for is_without_resumption in [false, true] {
            let server = TlsServer::answering(identity.server(versions), ok("hello"));
            let options = TlsOptions { is_without_resumption, ..authority.trusted() };
            let spec = spec(&server.server, &options, clients(1), N);
            let connection = ConnectionMode::Fresh;
            is_answered(&run(&LoadSpec { connection, ..spec }), "resumption");
            let all = N as usize;
            let expected = if is_without_resumption { (all, 0) } else { (1, all - 1) };
            assert_eq!(server.handshakes.counts(), expected, "{versions:?}");
        }
    }
}

/// Reads what is there once: a whole ClientHello.
fn hear(connection: &mut Connection) {
    drop(connection.stream.read(&mut [0; 8192]));
}

#[test]
fn what_goes_wrong_in_the_handshake_is_counted_as_what_it_is() {
    let insecure = TlsOptions { is_insecure: true, ..TlsOptions::default() };
    let hear_then = |then: fn(&mut Connection)| {
        Server::start(move |connection| {
            hear(connection);
            then(connection);
        })
    };
    let closing = hear_then(|_| {});
    let talking = hear_then(|connection| {
        connection.send("HTTP/1.1 400 Bad Request\r\n\r\n");
        connection.hang();
    });
    let babbling = hear_then(|connection| {
        // A handshake record with nothing sensible in it.
        connection.send([0x16, 0x03, 0x03, 0, 4, 0xff, 0xff, 0xff, 0xff]);
        connection.hang();
    });
    let load = |server: &Server| spec(server, &insecure, at_rate(200.0), N);
    assert_eq!(fails_in_tls(&load(&closing), "closing"), TlsTrouble::Closed);
    assert_eq!(fails_in_tls(&load(&talking), "plain HTTP"), TlsTrouble::NotTls);
    let trouble = fails_in_tls(&load(&babbling), "garbage");
    assert!(matches!(trouble, TlsTrouble::Other { .. }), "{trouble:?}");

    let resetting = hear_then(Connection::reset);
    assert_eq!(total(&run(&load(&resetting))).errors, errors_of(|e| e.reset = N));
    let stalling = hear_then(Connection::hang);
    let timeout = Duration::from_millis(300);
    let all = total(&run(&LoadSpec { timeout, ..load(&stalling) }));
    assert_eq!(all.errors, errors_of(|e| e.timeout = N));
    assert_eq!(all.sent, 0, "no request left");
}

#[test]
fn a_server_with_tls_that_is_asked_without_is_recognised() {
    let server = Server::start(|connection| {
        connection.request();
        connection.send([0x15, 0x03, 0x01, 0, 2, 2, 0x46]);
        connection.hang();
    });
    let record = run(&engine::spec(&server, at_rate(200.0), N));
    assert_eq!(total(&record).errors, errors_of(|e| e.malformed = N));
    assert_eq!(record.run.tls_trouble, Some(TlsTrouble::Unasked));
}

#[test]
fn a_reply_that_ends_with_its_connection_needs_the_notice_that_it_is_whole() {
    let (authority, identity) = one_identity();
    let until_the_end = "HTTP/1.1 200 OK\r\n\r\nas long as it takes";
    let too_short = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhi";
    for (what, reply, has_notice, is_whole) in [
        ("with notice", until_the_end, true, true),
        ("cut off", until_the_end, false, false),
        ("too short, with notice", too_short, true, false),
        ("too short, cut off", too_short, false, false),
        ("of known length, cut off after it", &ok("hello"), false, true),
    ] {
        let reply = reply.to_string();
        let server = TlsServer::start(identity.server(VERSIONS[0]), move |session| {
            session.request();
            session.send(&reply);
            if has_notice {
                session.say_goodbye();
            }
        });
        let spec = spec(&server.server, &authority.trusted(), clients(1), 5);
        let record = run(&LoadSpec { connection: ConnectionMode::Fresh, ..spec });
        match is_whole {
            true => is_answered(&record, what),
            false => {
                assert_eq!(total(&record).errors, errors_of(|e| e.closed_early = 5), "{what}");
            }
        }
    }
}

#[test]
fn the_notice_of_the_end_is_enough_when_the_connection_stays_open() {
    let (authority, identity) = one_identity();
    let reply = format!("HTTP/1.1 200 OK\r\n\r\n{}", "x".repeat(1_000_000));
    let server = TlsServer::start(identity.server(VERSIONS[0]), move |session| {
        session.request();
        session.send(&reply);
        session.say_goodbye();
        session.hang();
    });
    let spec = spec(&server.server, &authority.trusted(), clients(2), 30);
    is_answered(&run(&LoadSpec { connection: ConnectionMode::Fresh, ..spec }), "still open");
}

/// A `POST` on it would be lost, as it is not sent twice.
#[test]
fn a_connection_whose_end_came_with_its_reply_is_not_used_again() {
    let (authority, identity) = one_identity();
    let server = TlsServer::start(identity.server(VERSIONS[0]), |session| {
        session.request();
        session.send_last(ok("hello").as_bytes());
        session.hang();
    });
    let targets = vec![Target { method: "POST".into(), ..Target::get("/") }];
    let spec = spec(&server.server, &authority.trusted(), clients(1), 5);
    is_answered(&run(&LoadSpec { targets, ..spec }), "the end beside the reply");
    assert_eq!(server.server.seen.connections.load(Ordering::SeqCst), 5);
}

#[test]
fn a_reply_sent_before_its_request_is_seen_only_after_it() {
    let (authority, identity) = one_identity();
    let mut config = identity.server(VERSIONS[0]);
    config.send_half_rtt_data = true;
    let config = Arc::new(config);
    let server = Server::start(move |connection| {
        let mut tls = ServerConnection::new(Arc::clone(&config)).unwrap();
        tls.writer().write_all(ok("early").as_bytes()).unwrap();
        drop(tls.complete_io(&mut connection.stream));
        connection.hang();
    });
    let spec = spec(&server, &authority.trusted(), clients(1), 5);
    is_answered(&run(&LoadSpec { connection: ConnectionMode::Fresh, ..spec }), "early");
}

#[test]
fn the_command_says_why_tls_fails_and_what_to_do() {
    let (authority, identity) = one_identity();
    let server = TlsServer::answering(identity.server(VERSIONS[0]), ok("hello"));
    let (url, ca_file) = (server.url(), authority.ca_file());
    let load = |url: &str, more: &[&str]| {
        let common = [url, "--rate", "50/s", "--requests", "10", "--timeout", "20s"];
        sweetspot(&[&common[..], more, &EASY].concat())
    };
    // Another CA's, because what this system trusts is not ours to know.
    let stranger = Authority::new().identity("ca.test");
    let other_ca = authority.file("other.pem", &stranger.certificate.pem());
    let untrusted = load(&url, &["--cacert", other_ca.to_str().unwrap()]);
    let said = untrusted.stderr;
    assert_eq!(untrusted.code, Some(1), "{said}");
    assert!(said.contains("10 of 10 were ended by TLS: the server's certificate"), "{said}");
    assert!(said.contains("--cacert") && said.contains("--insecure"), "{said}");
    assert!(untrusted.stdout.contains("tls: 10"));

    let trusted = load(&url, &["--cacert", ca_file.to_str().unwrap(), "--json"]);
    assert_eq!(json(&trusted)["status"]["200"], 10);
    let unchecked = load(&url, &["--insecure"]);
    unchecked.assert_code(0);
    assert!(unchecked.stdout.contains("not checked (--insecure)"));

    let missing = load(&url, &["--cacert", "/no/such/file"]);
    missing.assert_code(2);
    assert!(missing.stderr.contains("could not read /no/such/file"));
    let plain = load(&server.server.url(), &["--insecure"]);
    plain.assert_code(2);
    assert!(plain.stderr.contains("write https://"));
    // This server sends an alert to whoever does not speak TLS.
    let without = load(&server.server.url(), &[]);
    let said = without.stderr;
    assert_eq!(without.code, Some(1), "{said}");
    assert!(said.contains("write https:// instead of http://"), "{said}");
}
