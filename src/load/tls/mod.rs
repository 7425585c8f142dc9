//! TLS: what is asked of it, and connections that speak it.

mod layer;
mod settings;

pub use layer::{TlsLayer, is_alert, trouble};
pub use settings::{TlsOptions, TlsSettings};
