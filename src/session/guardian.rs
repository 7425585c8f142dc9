//! What `sweetspot __guardian` does: it watches over a server that a place has started.

/// Takes orders on standard input until it closes, then ends whatever is left of the server.
///
/// # Errors
/// The operating system refuses what the guardian needs.
pub fn run() -> std::io::Result<()> {
    crate::place::local::guardian::run()
}
