//! Variables of a process, whose values may be secret: `Debug` shows their names alone.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::{Deref, DerefMut};

use serde::{Deserialize, Serialize};

/// Values by their names.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Variables(BTreeMap<String, String>);

impl fmt::Debug for Variables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.0.keys().map(|name| (name, "[hidden]"))).finish()
    }
}

impl Deref for Variables {
    type Target = BTreeMap<String, String>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for Variables {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

impl From<BTreeMap<String, String>> for Variables {
    fn from(variables: BTreeMap<String, String>) -> Self {
        Self(variables)
    }
}

impl<const N: usize> From<[(String, String); N]> for Variables {
    fn from(variables: [(String, String); N]) -> Self {
        Self(variables.into())
    }
}

impl FromIterator<(String, String)> for Variables {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(variables: I) -> Self {
        Self(variables.into_iter().collect())
    }
}

impl IntoIterator for Variables {
    type Item = (String, String);
    type IntoIter = <BTreeMap<String, String> as IntoIterator>::IntoIter;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_not_shown() {
        let variables = Variables::from([("API_KEY".into(), "s3cret".into())]);
        assert_eq!(format!("{variables:?}"), "{\"API_KEY\": \"[hidden]\"}");
    }
}
