//! One session at a time on a Deployment: a Lease that whoever tunes it holds.
//!
//! In: the Deployment's name, and who asks. Out: the right to change it, until it is dropped.

use std::cell::Cell;
use std::time::{Duration, Instant, SystemTime};

use jiff::Timestamp;
use serde_json::{Value, json};

use super::api::{Api, ApiError};
use super::deployment::RUN;
use super::objects::belongs_to;
use super::paths;
use super::patience::patiently;

/// A session that has been killed holds the Deployment no longer than this after its last sign.
const HELD_FOR: Duration = Duration::from_secs(300);

/// Between two signs.
const SIGN_EVERY: Duration = Duration::from_secs(60);

/// What is held.
pub struct Lease<'a> {
    api: &'a dyn Api,
    path: String,
    holder: String,
    /// As it was taken.
    pub object: Value,
    /// When its last sign of life was given, or tried.
    signed: Cell<Instant>,
}

/// Why it is not ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeaseError {
    /// Somebody else's session goes on; until when it is taken to, at least.
    Held {
        holder: String,
        until: String,
    },
    Api(ApiError),
}

impl From<ApiError> for LeaseError {
    fn from(error: ApiError) -> Self {
        Self::Api(error)
    }
}

impl<'a> Lease<'a> {
    /// Takes the Lease of this Deployment, also one whose holder has given no sign for minutes.
    ///
    /// # Errors
    /// Another session holds it, or Leases may not be made.
    pub fn take(
        api: &'a dyn Api,
        namespace: &str,
        deployment: &str,
        (holder, run): (&str, Option<&str>),
    ) -> Result<Self, LeaseError> {
        let (collection, name) = (collection(namespace), name_of(deployment));
        let path = format!("{collection}/{name}");
        let found = patiently(|| api.get(&path))?;
        let theirs = found.as_ref().and_then(|it| held(it, SystemTime::now()));
        // Our own is there where an answer was lost on its way.
        if let Some((whose, until)) = theirs.filter(|(whose, _)| whose != holder) {
            return Err(LeaseError::Held { holder: whose, until });
        }
        let now = time(SystemTime::now());
        let spec = json!({
            "holderIdentity": holder,
            "leaseDurationSeconds": HELD_FOR.as_secs(),
            "acquireTime": now,
            "renewTime": now,
        });
        let object = json!({
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": { "name": name, "annotations": annotations(run),
                "labels": { "app.kubernetes.io/managed-by": "sweetspot" } },
            "spec": spec,
        });
        let taken = patiently(|| match &found {
            // Of two that take it over, one finds it as it was.
            Some(found) => api.patch(&path, &taken_over(found, (&spec, run))),
            None => api.create(&collection, &object),
        });
        let object = match taken {
            Ok(object) => object,
            // Somebody was a moment faster: it may be ourselves, whose answer was lost.
            Err(error) if error.is_conflict() => match patiently(|| api.get(&path))? {
                Some(now) if now["spec"]["holderIdentity"] == *holder => now,
                _ => {
                    return Err(LeaseError::Held {
                        holder: "somebody who began at the same moment".into(),
                        until: time(SystemTime::now() + HELD_FOR),
                    });
                }
            },
            Err(error) => return Err(error.into()),
        };
        let (holder, signed) = (holder.to_string(), Cell::new(Instant::now()));
        Ok(Self { api, path, holder, object, signed })
    }

    /// The run of whoever holds it, or has held it last and was killed. `None`: nobody has.
    ///
    /// # Errors
    /// It may not be read, or the API server does not answer.
    pub fn run_of(
        api: &dyn Api,
        namespace: &str,
        deployment: &str,
    ) -> Result<Option<String>, ApiError> {
        let path = format!("{}/{}", collection(namespace), name_of(deployment));
        let found = patiently(|| api.get(&path))?.unwrap_or_default();
        Ok(found["metadata"]["annotations"][RUN].as_str().map(str::to_string))
    }

    /// From now on the cluster removes it with this object, should we not be there any more.
    ///
    /// # Errors
    /// It is not ours any more, or the API server does not answer.
    pub fn belong_to(&self, owner: &Value) -> Result<(), ApiError> {
        self.api.patch(&self.path, &json!([self.is_ours(), belongs_to(owner)])).map(drop)
    }

    fn is_ours(&self) -> Value {
        json!({ "op": "test", "path": "/spec/holderIdentity", "value": self.holder })
    }

    /// Removes one that a session which was killed has left.
    ///
    /// # Errors
    /// It may not be removed, or the API server does not answer.
    pub fn release(api: &dyn Api, namespace: &str, deployment: &str) -> Result<(), ApiError> {
        api.delete(&format!("{}/{}", collection(namespace), name_of(deployment)))
    }

    /// Whether it is time for a sign of life, which is then to be given.
    pub fn is_due(&self) -> bool {
        let is_due = self.signed.get().elapsed() >= SIGN_EVERY;
        if is_due {
            self.signed.set(Instant::now());
        }
        is_due
    }

    /// Gives a sign of life, and returns the Lease as it is then.
    ///
    /// # Errors
    /// It is not ours any more, or the API server does not answer.
    pub fn renew(&self) -> Result<Value, ApiError> {
        let now = time(SystemTime::now());
        let sign = json!({ "op": "replace", "path": "/spec/renewTime", "value": now });
        self.api.patch(&self.path, &json!([self.is_ours(), sign]))
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        // Another session's by now, if this one gave no sign for minutes: that stays. What cannot
        // be removed now is nobody's in some minutes.
        let Ok(ours) = self.renew() else { return };
        let version = ours["metadata"]["resourceVersion"].as_str().unwrap_or_default();
        drop(self.api.delete_version(&self.path, version));
    }
}

fn collection(namespace: &str) -> String {
    paths::of_group("coordination.k8s.io/v1", namespace, "leases")
}

fn name_of(deployment: &str) -> String {
    format!("sweetspot-{deployment}")
}

/// Operations that give it to somebody else as long as it is what was found.
fn taken_over(found: &Value, (spec, run): (&Value, Option<&str>)) -> Value {
    let version = &found["metadata"]["resourceVersion"];
    json!([
        { "op": "test", "path": "/metadata/resourceVersion", "value": version },
        { "op": "replace", "path": "/spec", "value": spec },
        { "op": "add", "path": "/metadata/annotations", "value": annotations(run) },
    ])
}

/// Whose pods are to be removed should its holder be killed.
fn annotations(run: Option<&str>) -> Value {
    run.map_or_else(|| json!({}), |run| json!({ (RUN): run }))
}

/// Who holds this Lease now and until when; `None`: its holder has given no sign for too long.
fn held(lease: &Value, now: SystemTime) -> Option<(String, String)> {
    let spec = &lease["spec"];
    let holder = spec["holderIdentity"].as_str().filter(|holder| !holder.is_empty())?;
    let renewed: Timestamp = spec["renewTime"].as_str()?.parse().ok()?;
    let lasts = spec["leaseDurationSeconds"].as_u64().unwrap_or(0);
    let until = SystemTime::from(renewed) + Duration::from_secs(lasts);
    (until > now).then(|| (holder.to_string(), time(until)))
}

/// With microseconds, as a Lease's times are written.
fn time(at: SystemTime) -> String {
    let at = Timestamp::try_from(at).unwrap_or_default();
    at.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_is_held_as_long_as_its_holder_gives_signs() {
        let at = |seconds: u64| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        assert_eq!(time(at(0)), "1970-01-01T00:00:00.000000Z");
        let lease = |holder: &str| {
            json!({ "spec": { "holderIdentity": holder, "leaseDurationSeconds": 300,
                "renewTime": time(at(1000)) } })
        };
        let until = time(at(1300));
        assert_eq!(held(&lease("me"), at(1299)), Some(("me".to_string(), until)));
        assert_eq!(held(&lease("me"), at(1300)), None);
        assert_eq!(held(&lease(""), at(1001)), None);
        assert_eq!(held(&json!({}), at(0)), None);
    }
}
