//! Why the API server refused, by its own words: a right that is missing, a quota, a policy of the
//! cluster, or a login that it does not take.
//!
//! In: a status code and the message beside it, and when it last did not answer. Out: an
//! [`ApiError`]. Only computes.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::api::ApiError;

/// An API server that has begun again refuses for a moment what it allows: it has not read every
/// role and account yet (kubernetes/kubernetes#121635).
const BEGINNING: Duration = Duration::from_secs(10);

/// What quotas say, in a message that begins with `... is forbidden: `.
const OF_QUOTAS: [&str; 3] =
    ["exceeded quota:", "failed quota:", "insufficient quota to match these scopes"];

/// What limit ranges, pod security, OpenShift's constraints, policies and webhooks say.
const OF_POLICIES: [&str; 6] = [
    " usage per Container ",
    " usage per Pod ",
    "violates PodSecurity ",
    "security context constraint",
    "ValidatingAdmissionPolicy ",
    "admission webhook ",
];

/// What a refusal with this status (4xx or 5xx) and message is.
pub fn of(status: u16, message: String) -> ApiError {
    let says = |words: &[&str]| words.iter().any(|word| message.contains(word));
    match status {
        401 => ApiError::Login { message },
        403 if says(&OF_QUOTAS) => ApiError::Quota { message },
        // A webhook, or a policy, chooses the status.
        400..=499 if says(&OF_POLICIES) => ApiError::Policy { message },
        403 => ApiError::Forbidden { message },
        _ => ApiError::Refused { status, message },
    }
}

/// When the API server last did not answer, if it ever has not.
#[derive(Debug, Default)]
pub struct Outage(Mutex<Option<Instant>>);

impl Outage {
    /// What an error is at this time: a right or a login that is refused just after the API server
    /// did not answer is asked for again.
    pub fn judge(&self, error: ApiError, now: Instant) -> ApiError {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let begins = last.is_some_and(|at| now.saturating_duration_since(at) < BEGINNING);
        if is_away(&error) {
            *last = Some(now);
        }
        match error {
            ApiError::Forbidden { message } | ApiError::Login { message } if begins => {
                ApiError::Refused { status: 503, message }
            }
            other => other,
        }
    }
}

/// Nothing answers, or a load balancer does in place of the API server, or that one as it begins.
fn is_away(error: &ApiError) -> bool {
    match error {
        ApiError::Unreachable { .. } => true,
        ApiError::Refused { status, .. } => *status >= 500,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_refused_just_after_an_outage_may_pass_and_is_told_later() {
        let (outage, began) = (Outage::default(), Instant::now());
        let at = |seconds: u64| began + Duration::from_secs(seconds);
        let judged = |error: &ApiError, seconds| outage.judge(error.clone(), at(seconds));
        let right = ApiError::Forbidden { message: "no".into() };
        let away = ApiError::Unreachable { why: "refused".into() };
        assert_eq!(judged(&right, 0), right);
        assert_eq!(judged(&away, 1), away);
        assert!(judged(&right, 2).is_passing());
        assert!(judged(&ApiError::Login { message: "no".into() }, 10).is_passing());
        let quota = ApiError::Quota { message: "few".into() };
        assert_eq!(judged(&quota, 2), quota);
        assert_eq!(judged(&right, 11), right);
        let balanced = ApiError::Refused { status: 502, message: "Bad Gateway".into() };
        let unknown = ApiError::Refused { status: 404, message: "not found".into() };
        assert_eq!(judged(&unknown, 20), unknown);
        assert_eq!(judged(&right, 20), right, "one that answers is there");
        assert_eq!(judged(&balanced, 21), balanced);
        assert!(judged(&right, 22).is_passing(), "a load balancer stood before it");
        assert_eq!(judged(&right, 31), right, "what was put off is no sign of an outage");
    }

    #[test]
    fn a_missing_right_a_quota_a_policy_and_an_expired_login_are_told_apart() {
        let pod = |why: &str| format!("pods \"x\" is forbidden: {why}");
        let quota = pod("exceeded quota: few, requested: pods=1, used: pods=1, limited: pods=1");
        assert!(matches!(of(403, quota), ApiError::Quota { .. }));
        assert!(matches!(
            of(403, pod("failed quota: few: must specify limits.cpu for: app")),
            ApiError::Quota { .. }
        ));
        for (status, policy) in [
            (403, pod("violates PodSecurity \"restricted:latest\": runAsNonRoot != true")),
            (403, pod("maximum cpu usage per Container is 2, but limit is 4")),
            (400, "admission webhook \"v.kyverno.svc\" denied the request: no".to_string()),
            (422, pod("ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no")),
        ] {
            let error = of(status, policy);
            assert!(matches!(error, ApiError::Policy { .. }), "{error}");
            assert!(!error.is_conflict() && !error.is_passing());
        }
        let right = "pods is forbidden: User \"u\" cannot list resource \"pods\" in API group \"\"";
        let error = of(403, right.to_string());
        assert!(matches!(error, ApiError::Forbidden { .. }), "{error}");
        let error = of(401, "Unauthorized".to_string());
        assert!(error.to_string().contains("log in again"), "{error}");
        let failing = "failed calling webhook \"v\": timeout".to_string();
        assert!(of(500, failing).is_passing());
        assert!(of(409, "the object has been modified".to_string()).is_conflict());
    }
}
