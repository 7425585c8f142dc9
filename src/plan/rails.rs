//! What a Rails app's settings ask of who sends it requests.
//!
//! In: an app. Out: headers. Reads the file of its environment.

use std::fs;

use crate::server::{App, environment};

/// What the proxy in front of a Rails app sends, where the app wants it: since 7.1 a new one
/// answers 301 to all that did not come by TLS (`config.force_ssl = true`).
pub fn headers(app: &App) -> Vec<(String, String)> {
    // What pods of a cluster run is not what a folder here holds.
    if app.pods.is_some() {
        return Vec::new();
    }
    let name = environment(app).map_or("production", |(name, _)| name);
    let path = app.folder.join("config/environments").join(name).with_extension("rb");
    let settings = fs::read_to_string(path).unwrap_or_default();
    let https = || ("X-Forwarded-Proto".to_string(), "https".to_string());
    forces_https(&settings).then(https).into_iter().collect()
}

/// The last assignment counts; one that depends on something is none.
fn forces_https(settings: &str) -> bool {
    let assigned = settings.lines().rev().find_map(|line| {
        let value = line.trim().strip_prefix("config.force_ssl")?.trim().strip_prefix('=')?;
        value.split('#').next().map(str::trim)
    });
    assigned == Some("true")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn https_is_forced_where_the_last_assignment_says_so_whatever_runs() {
        for (settings, expected) in [
            ("  config.force_ssl = true\n", true),
            ("  config.force_ssl=true # all of it\n", true),
            ("  # config.force_ssl = true\n", false),
            ("  config.force_ssl = true\n  config.force_ssl = false\n", false),
            ("  config.force_ssl = ENV[\"FORCE_SSL\"].present?\n", false),
            ("  config.force_ssl == true\n", false),
            ("", false),
        ] {
            assert_eq!(forces_https(settings), expected, "{settings}");
        }
    }
}
