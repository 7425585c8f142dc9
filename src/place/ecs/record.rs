//! What a service was before it was changed, in a file beside the store and as a note in each
//! revision of ours: by either another can put it back.
//!
//! In: a path, or a note. Out: the service as it was.

use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::error::EcsError;
use super::name::ServiceName;
use crate::place::private;

/// A service as it was.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Before {
    /// `CLUSTER/SERVICE/CONTAINER`.
    pub name: String,
    /// The revision that it ran.
    pub definition: String,
    /// Of the revisions of ours.
    pub own_family: String,
    pub desired_count: u32,
    pub grace_s: Option<u32>,
    /// Its `minimumHealthyPercent`; `None`: that is not changed.
    pub minimum_healthy_percent: Option<u32>,
    /// What of its scaling was suspended, as AWS has it; `None`: nothing scales it.
    pub suspended: Option<Value>,
    /// For how long each target group lets a task that ends finish, in seconds as AWS has them.
    pub drains: Vec<(String, String)>,
    /// The deployment of the setting that was applied last, by AWS's name for it; `None`: none has
    /// been.
    pub deployment: Option<String>,
    /// How far this machine's clock was ahead of AWS's when that was begun, below zero behind it,
    /// seconds; `None`: next to nothing, or it is not known.
    pub clock_ahead_s: Option<f64>,
}

impl Before {
    /// `None`: nothing has been changed.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read(path: &Path) -> Result<Option<Self>, EcsError> {
        let text = match fs::read(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(path, error)),
        };
        let read = serde_json::from_slice(&text).map_err(io::Error::from);
        read.map(Some).map_err(|error| failed(path, error))
    }

    /// Writes it, as a whole or not at all, for the user alone.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), EcsError> {
        let aside = path.with_extension(format!("new.{}", std::process::id()));
        let written = || {
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder)?;
            }
            let text = serde_json::to_vec(self)?;
            private::create(&aside, &text)?;
            fs::rename(&aside, path)
        };
        written().map_err(|error| {
            // It is not there, or of no use.
            let _ = fs::remove_file(&aside);
            failed(path, error)
        })
    }

    /// As it stands in our revisions.
    pub fn note(&self) -> String {
        serde_json::to_string(self).expect("texts and numbers can be written")
    }

    /// What such a note says of this service; `None`: it is no note, or another's.
    pub fn noted(note: &str, name: &ServiceName) -> Option<Self> {
        let before: Self = serde_json::from_str(note).ok()?;
        let whose: ServiceName = before.name.parse().ok()?;
        whose.is_same_service(name).then_some(before)
    }

    /// One of the same name in another account or region is not what was changed. `definition`: the
    /// revision that it runs.
    ///
    /// # Errors
    /// It is that one.
    pub fn refuse_elsewhere(&self, definition: &str) -> Result<(), EcsError> {
        // arn:aws:ecs:REGION:ACCOUNT:task-definition/NAME:REVISION
        let place = |arn: &str| arn.splitn(6, ':').take(5).map(str::to_string).collect::<Vec<_>>();
        match place(definition) == place(&self.definition) {
            true => Ok(()),
            false => Err(EcsError::Elsewhere {
                then: self.definition.clone(),
                now: definition.to_string(),
            }),
        }
    }

    /// # Errors
    /// It cannot be removed.
    pub fn remove(path: &Path) -> Result<(), EcsError> {
        fs::remove_file(path).map_err(|error| failed(path, error))
    }

    /// Which service it is.
    ///
    /// # Errors
    /// The file is not ours.
    pub fn service_name(&self, path: &Path) -> Result<ServiceName, EcsError> {
        let odd = |_| failed(path, io::Error::from(io::ErrorKind::InvalidData));
        self.name.parse().map_err(odd)
    }

    /// Is this revision, an ARN, the one that it ran, or one of ours?
    pub fn knows(&self, definition: &str) -> bool {
        definition == self.definition || definition.contains(&format!("/{}:", self.own_family))
    }
}

fn failed(path: &Path, source: io::Error) -> EcsError {
    EcsError::Record { path: path.to_path_buf(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_service_was_is_read_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ecs/shop.json");
        assert_eq!(Before::read(&path).unwrap(), None);
        let before = Before {
            name: "prod/shop/web".into(),
            definition: "arn:aws:ecs:eu-west-1:1:task-definition/shop:7".into(),
            own_family: "shop-sweetspot".into(),
            desired_count: 2,
            grace_s: Some(30),
            minimum_healthy_percent: Some(50),
            suspended: Some(serde_json::json!({"DynamicScalingInSuspended": false})),
            drains: vec![("arn:group".into(), "300".into())],
            deployment: Some("ecs-svc/9223370564341623665".into()),
            clock_ahead_s: Some(-119.5),
        };
        before.write(&path).unwrap();
        assert_eq!(Before::read(&path).unwrap(), Some(before.clone()));
        let noted = |name: &str| Before::noted(&before.note(), &name.parse().unwrap());
        assert_eq!(noted("prod/shop"), Some(before.clone()));
        assert_eq!(noted("prod/other"), None);
        for (revision, is_known) in
            [("shop:7", true), ("shop:8", false), ("shop-sweetspot:1", true)]
        {
            let arn = format!("arn:aws:ecs:eu-west-1:1:task-definition/{revision}");
            assert_eq!(before.knows(&arn), is_known, "{arn}");
        }
        Before::remove(&path).unwrap();
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 0);
    }
}
