//! The kinds of apps.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What kind of app it is, as far as it changes what we do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Framework {
    Rails,
    Sinatra,
    /// Anything else with a `config.ru`.
    Rack,
    /// Python, a request a call: Django, Flask.
    Wsgi,
    /// Python, on an event loop: FastAPI, Starlette.
    Asgi,
    Php,
    Node,
    /// Known by nothing but the command that starts it.
    #[default]
    Other,
}

impl Framework {
    /// Starts from a `config.ru`.
    pub fn is_rack(self) -> bool {
        matches!(self, Self::Rails | Self::Sinatra | Self::Rack)
    }
}
