//! What an app elsewhere answers once a setting was applied, and for how long a better answer is
//! waited for.
//!
//! In: what came of each request, and when. Out: whether waiting is over. Only computes.

use std::time::{Duration, Instant};

use crate::terms::{CertificateFault, LoadRecord, LoadSecond, StartAdvice, TlsTrouble};

/// Time for an app that answers something else than 2xx to answer better.
const WARMING_UP: Duration = Duration::from_secs(10);

/// What came of one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answered {
    /// 2xx.
    Good,
    /// Another status.
    Badly(u16),
    /// No reply; what went wrong with TLS, where something did.
    Not(Option<TlsTrouble>),
}

impl Answered {
    /// As it was recorded.
    pub fn of(record: &LoadRecord) -> Self {
        let status = |second: &LoadSecond| second.status.keys().next().copied();
        match record.seconds.iter().find_map(status) {
            Some(200..=299) => Self::Good,
            Some(status) => Self::Badly(status),
            None => Self::Not(record.run.tls_trouble.clone()),
        }
    }
}

/// What the TLS library says of a trouble, a line; none where it has no words for it.
pub fn in_its_words(trouble: Option<TlsTrouble>) -> Vec<String> {
    use TlsTrouble::{Alert, Certificate, Other};
    match trouble {
        Some(Certificate { why, .. } | Alert { why } | Other { why }) => vec![why],
        _ => Vec::new(),
    }
}

/// What to do about a certificate that is not accepted.
pub fn way_out(fault: Option<CertificateFault>) -> StartAdvice {
    fault.map_or(StartAdvice::MendApp, |fault| StartAdvice::MendCertificate { fault })
}

/// Waiting for a good answer.
#[derive(Debug)]
pub struct Waiting {
    deadline: Instant,
    /// When the app itself first answered badly.
    bad_since: Option<Instant>,
}

impl Waiting {
    /// For this long at most.
    pub fn until(deadline: Instant) -> Self {
        Self { deadline, bad_since: None }
    }

    /// No better answer than this one, which came now, is waited for.
    pub fn is_over(&mut self, answered: &Answered, now: Instant) -> bool {
        let is_late = now >= self.deadline;
        match answered {
            Answered::Good => true,
            // Said by what stands in front of an app that is not there yet.
            Answered::Badly(502..=504) => is_late,
            Answered::Badly(_) => {
                let since = *self.bad_since.get_or_insert(now);
                is_late || now.duration_since(since) >= WARMING_UP
            }
            // It does not mend itself.
            Answered::Not(Some(TlsTrouble::Certificate { .. })) => true,
            Answered::Not(_) => is_late,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::{GeneratorUse, LoadRun, Offered};

    fn record(status: Option<u16>, tls_trouble: Option<TlsTrouble>) -> LoadRecord {
        let run = LoadRun {
            offered: Offered::Closed { clients: 1, think: Duration::ZERO },
            warm_up: Duration::ZERO,
            duration: Duration::from_secs(1),
            last_reply: Duration::ZERO,
            is_cut_short: false,
            tls_trouble,
            rows_left_out: 0,
            generator: GeneratorUse::default(),
        };
        let status = status.into_iter().map(|status| (status, 1)).collect();
        LoadRecord { run, seconds: vec![LoadSecond { status, ..LoadSecond::default() }] }
    }

    fn untrusted() -> TlsTrouble {
        let fault = Some(CertificateFault::Untrusted);
        TlsTrouble::Certificate { fault, why: "UnknownIssuer".into() }
    }

    #[test]
    fn an_answer_is_known_by_its_status_and_the_lack_of_one_by_what_tls_says() {
        let of = |status, trouble| Answered::of(&record(status, trouble));
        assert_eq!(of(Some(204), None), Answered::Good);
        assert_eq!(of(Some(302), None), Answered::Badly(302));
        assert_eq!(of(None, None), Answered::Not(None));
        assert_eq!(of(None, Some(untrusted())), Answered::Not(Some(untrusted())));
        let alert = TlsTrouble::Alert { why: "CertificateRequired".into() };
        assert_eq!(in_its_words(Some(alert)), ["CertificateRequired"]);
        assert_eq!(in_its_words(Some(untrusted())), ["UnknownIssuer"]);
        for wordless in [None, Some(TlsTrouble::NotTls)] {
            assert!(in_its_words(wordless).is_empty());
        }
        let fault = CertificateFault::Expired;
        assert_eq!(way_out(Some(fault)), StartAdvice::MendCertificate { fault });
        assert_eq!(way_out(None), StartAdvice::MendApp);
    }

    /// Each with the second in which it comes, of 60.
    #[test]
    fn who_answers_badly_has_ten_seconds_from_its_own_first_answer_on() {
        use Answered::{Badly, Good, Not};
        let began = Instant::now();
        for answers in [
            &[(0, Badly(404), false), (9, Badly(500), false), (10, Badly(404), true)][..],
            // What stands in front of it takes none of that time.
            &[(0, Badly(502), false), (12, Badly(500), false), (21, Badly(500), false)],
            &[(0, Badly(502), false), (12, Badly(404), false), (22, Badly(404), true)],
            &[(0, Badly(503), false), (59, Badly(504), false), (60, Badly(503), true)],
            &[(0, Not(None), false), (59, Badly(500), false), (60, Badly(500), true)],
            &[(0, Not(None), false), (59, Not(Some(TlsTrouble::Closed)), false)],
            &[(60, Not(None), true)],
            &[(0, Not(Some(untrusted())), true)],
            &[(0, Badly(500), false), (1, Good, true)],
        ] {
            let mut waiting = Waiting::until(began + Duration::from_secs(60));
            for (at_s, answered, expected) in answers {
                let now = began + Duration::from_secs(*at_s);
                assert_eq!(waiting.is_over(answered, now), *expected, "{answers:?}, {at_s} s");
            }
        }
    }
}
