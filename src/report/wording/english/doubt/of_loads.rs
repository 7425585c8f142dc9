//! Whether a load can be believed, in English.

use super::super::failure;
use crate::report::wording::Language;
use crate::terms::{GeneratorDoubt, LoadDoubt, ReplyAdvice, TlsTrouble};

pub(super) const MORE_LOOPS: &str = "use more loops (--loops), or run it on another machine";

pub(super) fn of_generator(doubt: &GeneratorDoubt) -> String {
    match doubt {
        GeneratorDoubt::SentLate { late, requests, limit_s } => format!(
            "the generator sent {late} of {requests} requests more than {:.1} ms late",
            limit_s * 1e3
        ),
        GeneratorDoubt::LoopBusy { busy_ratio } => {
            format!("the generator's busiest loop used {:.0} % of a core", busy_ratio * 100.0)
        }
        GeneratorDoubt::OutOfAddresses { requests } => {
            format!("{requests} requests found no free port or file descriptor on this side")
        }
        GeneratorDoubt::LittleViolated { in_flight_mean, expected_mean } => format!(
            "{in_flight_mean:.1} requests were in flight on average, but rate x mean latency is \
             {expected_mean:.1}"
        ),
        GeneratorDoubt::Lost { lost, of, after_s } => {
            format!("{lost} of {of} generators were lost, the first after {after_s:.1} s")
        }
        GeneratorDoubt::BeganApart { apart_s } => format!(
            "the generators may have begun {:.0} ms from each other: they did not send one load",
            apart_s * 1e3
        ),
    }
}

pub(super) fn advice_on_generator(doubt: &GeneratorDoubt) -> &'static str {
    match doubt {
        GeneratorDoubt::SentLate { .. } => {
            "give it a core of its own, ask for less load, or run it on another machine"
        }
        GeneratorDoubt::LoopBusy { .. } => MORE_LOOPS,
        GeneratorDoubt::OutOfAddresses { .. } => {
            "use --connection keep-alive, raise the limit on open files ('ulimit -n'), or widen \
             net.ipv4.ip_local_port_range"
        }
        GeneratorDoubt::LittleViolated { .. } => {
            "the latencies or the counts cannot be right; the machine may have been suspended or \
             overloaded"
        }
        GeneratorDoubt::Lost { .. } => "see what ended them, and measure again",
        GeneratorDoubt::BeganApart { .. } => {
            "bring collector and generators nearer to each other, or give them cores of their own"
        }
    }
}

pub(super) fn message(doubt: &LoadDoubt) -> String {
    match doubt {
        LoadDoubt::WaitedForPlace { requests, dropped } => format!(
            "{requests} requests had to wait because as many were in flight as allowed; {dropped} \
             of them were never sent"
        ),
        LoadDoubt::Unanswered { requests, due, silent_s } => {
            let percent = *requests as f64 / (*due).max(1) as f64 * 100.0;
            let since = silent_s.map(|s| format!(", and none came in the last {s:.1} s"));
            format!(
                "{requests} of {due} requests got no reply ({percent:.0} %){}; the time they took \
                 is among the latencies",
                since.unwrap_or_default()
            )
        }
        LoadDoubt::FailedReplies { failed, replies, commonest_status } => {
            let percent = *failed as f64 / (*replies).max(1) as f64 * 100.0;
            let most = commonest_status.map(|status| format!(", most often {status}"));
            let most = most.unwrap_or_default();
            format!("{percent:.0} % of the replies are neither 2xx nor 3xx{most}")
        }
        LoadDoubt::LoadCutShort { after_s, is_unmeasured } => {
            let when = if *is_unmeasured { ", before anything was measured" } else { "" };
            format!("the load was ended after {after_s:.1} s{when}")
        }
        LoadDoubt::RouteVaries { jitter_s, connect_s, limit_s } => format!(
            "the way to the server varies by {:.1} ms (connecting takes {:.1} ms), which is {:.0} \
             % of the SLO's limit",
            jitter_s * 1e3,
            connect_s * 1e3,
            jitter_s / limit_s * 100.0
        ),
        LoadDoubt::RepliesCached { cached, replies } => format!(
            "{cached} of {replies} replies came from a cache; what was measured is the cache"
        ),
        LoadDoubt::ProxyBetween { passed, replies } => {
            format!("{passed} of {replies} replies passed a proxy (Via)")
        }
        LoadDoubt::WorkersUneven { busiest_cores, idlest_cores } => format!(
            "the workers were unevenly used: the busiest {:.0} % of a core, the idlest {:.0} %",
            busiest_cores * 100.0,
            idlest_cores * 100.0
        ),
        LoadDoubt::TlsFailed { trouble } => of_tls(trouble),
        LoadDoubt::RowsLeftOut { requests } => {
            format!("{requests} requests have no row: they could not be written in time")
        }
        LoadDoubt::RareTargetsLeftOut { targets_kept, requests, targets } => format!(
            "the access log has more than {targets_kept} targets: {requests} requests of the \
             {targets} rarest were left out"
        ),
        LoadDoubt::LogLinesNotUnderstood { lines, .. } => {
            format!("{lines} lines of the access log were not understood")
        }
        LoadDoubt::NotSeen { what } => Language::English.say(what),
        LoadDoubt::MetricsUnread { said } => {
            format!("what CloudWatch recorded of the service could not be read: {said}")
        }
    }
}

fn of_tls(trouble: &TlsTrouble) -> String {
    match trouble {
        TlsTrouble::Certificate { why, .. } => {
            format!("the server's certificate was not accepted ({why})")
        }
        TlsTrouble::Alert { why } => format!("the server ended TLS with an alert ({why})"),
        TlsTrouble::NotTls => "the server does not speak TLS on this port".into(),
        TlsTrouble::Closed => "the server closed the connection in the TLS handshake".into(),
        TlsTrouble::NoHttp2 => "the server does not speak HTTP/2 on this port".into(),
        TlsTrouble::Other { why } => format!("TLS failed ({why})"),
        TlsTrouble::Unasked => "the server speaks TLS on this port".into(),
        TlsTrouble::OnlyHttp2 => "the server speaks only HTTP/2 on this port".into(),
    }
}

pub(super) fn advice(doubt: &LoadDoubt) -> String {
    let advice = match doubt {
        LoadDoubt::LogLinesNotUnderstood { first_line, .. } => {
            return format!("look at line {first_line}, the first of them");
        }
        LoadDoubt::FailedReplies { commonest_status: Some(429), .. } => {
            return failure::to_reply(&ReplyAdvice::LiftRateLimit { limits: Vec::new() });
        }
        LoadDoubt::WaitedForPlace { .. } => {
            "the server fell behind, or --max-in-flight or the limit on open files is too low"
        }
        LoadDoubt::Unanswered { .. } => {
            "see the errors: the server may have been down, have ended, or be overloaded"
        }
        LoadDoubt::FailedReplies { .. } => {
            "check the target, its headers and its credentials: errors are often faster than \
             answers"
        }
        LoadDoubt::LoadCutShort { .. } => "",
        LoadDoubt::RouteVaries { .. } => {
            "measure from nearer by, from the server's own machine or network"
        }
        LoadDoubt::RepliesCached { .. } => {
            "aim at the app server itself, or give each request another query"
        }
        LoadDoubt::ProxyBetween { .. } => {
            "what was measured includes it; aim at the app server itself to leave it out"
        }
        LoadDoubt::WorkersUneven { .. } => {
            "kept connections stay with the worker that accepted them: measure with a fresh \
             connection a request (--connection fresh), or with many more clients than workers"
        }
        LoadDoubt::TlsFailed { trouble } => advice_on_tls(trouble),
        LoadDoubt::RowsLeftOut { .. } => "write the rows to a faster disk, or ask for less load",
        LoadDoubt::RareTargetsLeftOut { .. } => {
            "if their paths differ in nothing but a number, use --variables instead"
        }
        LoadDoubt::NotSeen { .. } => "what can be seen is used all the same",
        LoadDoubt::MetricsUnread { .. } => "--observe can show what the app uses too",
    };
    advice.into()
}

fn advice_on_tls(trouble: &TlsTrouble) -> &'static str {
    match trouble {
        TlsTrouble::Certificate { .. } => {
            "name the CA that signed it with --cacert FILE or the host it is for with --sni NAME, \
             or trust any with --insecure"
        }
        TlsTrouble::Alert { .. } => {
            "if it wants a client certificate, name one with --cert FILE --key FILE; its own log \
             may say more"
        }
        TlsTrouble::NotTls => {
            "is that the right port? for plain HTTP write http:// instead of https://"
        }
        TlsTrouble::Closed => "does that port speak TLS? the server's log may say why",
        TlsTrouble::NoHttp2 => "leave --http 2 out, or aim at a port that speaks it",
        TlsTrouble::Other { .. } => {
            "the server's log may say more; 'openssl s_client' shows what it offers"
        }
        TlsTrouble::Unasked => "write https:// instead of http://",
        TlsTrouble::OnlyHttp2 => "ask in HTTP/2: --http 2",
    }
}
