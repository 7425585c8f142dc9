//! What is noticed of an answered request beside its reply's status.

/// Each is counted a second, beside the status.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Marks {
    /// The reply came from a cache: its headers say so, or it says that nothing changed (304).
    pub is_cached: bool,
    /// The reply passed a proxy that says so (`Via`).
    pub has_via: bool,
    /// The request was sent before, on a connection that the server had closed meanwhile.
    pub is_retry: bool,
}
