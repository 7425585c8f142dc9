use crate::terms::LoadDoubt;
use proptest::prelude::*;

use super::*;

fn spec() -> LogSpec {
    LogSpec { file: "-".into(), allows_unsafe_methods: false, replay: None }
}

fn traffic(log: &str, spec: &LogSpec) -> Result<Traffic, String> {
    read_fuzzed(log.as_bytes(), spec)
}

fn line(second: u32, request: &str) -> String {
    format!("1.2.3.4 - - [10/Oct/2025:13:55:{second:02} +0200] \"{request}\" 200 5 \"-\" \"x\"\n")
}

fn shown(traffic: &Traffic) -> Vec<String> {
    traffic.targets.iter().map(ToString::to_string).collect()
}

#[test]
fn targets_are_as_frequent_as_in_the_log() {
    let log = [
        line(1, "GET /b HTTP/1.1"),
        line(1, "GET /a?x=1 HTTP/1.1"),
        "\n".to_string(),
        "{\"request\":\"HEAD /a HTTP/1.1\"}\n".to_string(),
        line(2, "GET /a?x=1 HTTP/1.1"),
        line(3, "GET /a?x=2 HTTP/1.1"),
        line(4, "POST /a HTTP/1.1"),
        line(4, "PROPFIND / HTTP/1.1"),
        line(5, "-"),
        "what?\n".to_string(),
    ];
    let log = log.concat();
    let safe = traffic(&log, &spec()).unwrap();
    assert_eq!(shown(&safe), ["GET /a?… (weight 2)", "GET /b", "HEAD /a", "GET /a?…"]);
    assert_eq!(safe.targets[3].path, "/a?x=2");
    assert!(safe.arrivals.is_empty(), "nobody asked for them");
    assert_eq!(
        safe.description(None),
        "requests of the access log: 5; left out: lines not understood: 1 (the first is line 10); \
         lines without a request: 1; requests of other methods than GET, HEAD, OPTIONS: 2 \
         (--unsafe-methods sends them too, without bodies)"
    );
    let lines = LoadDoubt::LogLinesNotUnderstood { lines: 1, first_line: 10 };
    assert_eq!(safe.warnings(), [lines.into()]);

    let all = traffic(&log, &LogSpec { allows_unsafe_methods: true, ..spec() }).unwrap();
    assert!(shown(&all).contains(&"POST /a".to_string()));
    assert!(all.description(None).contains("requests of unusual methods: 1"));
}

#[test]
fn a_log_that_is_mostly_something_else_is_refused_with_its_first_bad_line() {
    let good = line(1, "GET / HTTP/1.1");
    let half = format!("{good}\n{good}bad\nworse\n");
    assert_eq!(traffic(&half, &spec()).unwrap().requests, 2);
    let error = traffic(&format!("{half}worst\n"), &spec()).unwrap_err();
    assert!(error.starts_with("3 of 5 lines of the access log are not understood"), "{error}");
    assert!(error.contains("the first is line 4"), "{error}");
    let untimed = "{\"request\":\"GET / HTTP/1.1\"}\n";
    let wants_times = LogSpec { replay: Some(Speed::SAME), ..spec() };
    assert!(traffic(untimed, &spec()).is_ok());
    assert!(traffic(untimed, &wants_times).unwrap_err().contains("with a request and a time"));
    let posts = traffic(&line(1, "POST / HTTP/1.1"), &spec()).unwrap_err();
    assert!(posts.contains("no request that could be sent (1 lines; requests of"), "{posts}");
    assert_eq!(traffic("\n \n", &spec()).unwrap_err(), "the access log is empty");
    let compressed = Gathered::read([0x1f_u8, 0x8b, 8, 0, b'\n'].as_slice(), &spec()).unwrap();
    assert!(compressed.into_traffic(&spec()).unwrap_err().contains("zcat"));
}

#[test]
fn beyond_the_most_frequent_targets_the_rarest_are_left_out_and_so_are_their_arrivals() {
    let mut log: String =
        (0..MOST_TARGETS).map(|n| line(1, &format!("GET /rare/{n} HTTP/1.1"))).collect();
    (0..3).for_each(|_| log += &line(2, "GET /often HTTP/1.1"));
    let spec = LogSpec { replay: Some(Speed::SAME), ..spec() };
    let traffic = traffic(&log, &spec).unwrap();
    assert_eq!(traffic.targets.len(), MOST_TARGETS);
    assert_eq!((traffic.targets[0].path.as_str(), traffic.targets[0].weight), ("/often", 3));
    assert_eq!((traffic.left_out.rare_targets, traffic.left_out.of_rare_targets), (1, 1));
    assert_eq!(traffic.arrivals.len(), MOST_TARGETS + 2);
    assert_eq!(traffic.arrivals.last().unwrap().target, 0);
    let second = &traffic.targets[traffic.arrivals[1].target as usize];
    assert_eq!(second.path, "/rare/1", "indexes are those of the targets");
    let (targets_kept, requests, targets) = (MOST_TARGETS as u32, 1, 1);
    let left_out = LoadDoubt::RareTargetsLeftOut { targets_kept, requests, targets };
    assert_eq!(traffic.warnings()[0], left_out.into());
    let described = traffic.description("2x".parse().ok());
    let expected = "requests of the access log: 10002, in their own rhythm at 2x; left out: \
                    requests of the 1 rarest targets: 1";
    assert_eq!(described, expected);
}

#[test]
fn endless_lines_are_passed_over_without_keeping_them() {
    let endless = "x".repeat(3 * LONGEST_LINE as usize);
    let log = format!("{}{endless}\n{}", line(1, "GET /a HTTP/1.1"), line(1, "GET /b HTTP/1.1"));
    let traffic = traffic(&log, &spec()).unwrap();
    assert_eq!(shown(&traffic), ["GET /a", "GET /b"]);
    assert_eq!(traffic.left_out.first_not_understood, Some(2));
}

proptest! {
    #[test]
    fn any_log_is_read_or_refused_and_every_line_is_counted_once(
        bytes in proptest::collection::vec(any::<u8>(), 0..200), before in 0u64..4
    ) {
        let blank = "\n".repeat(before as usize);
        let good = line(1, "GET / HTTP/1.1").repeat(300);
        let log = [blank.as_bytes(), good.as_bytes(), &bytes].concat();
        let spec = spec();
        let gathered = Gathered::read(log.as_slice(), &spec).unwrap();
        let lines = gathered.lines;
        if let Some(first) = gathered.left_out.first_not_understood {
            prop_assert!(first > 300 + before, "{}", first);
        }
        let traffic = gathered.into_traffic(&spec).unwrap();
        let LeftOut { not_understood, without_request, of_unsafe_methods, .. } = traffic.left_out;
        let left_out = not_understood + without_request + of_unsafe_methods;
        prop_assert_eq!(traffic.requests + left_out, lines);
    }
}
