//! Why a Ruby app server did not come up, from what it printed.
//!
//! In: its last lines. Out: a cause. Only computes.

use crate::server::failure::{ALL_CONNECTIONS_TAKEN, Causes};
use crate::terms::BootFailureKind::*;

/// Causes by what any server for Ruby apps prints.
pub const CAUSES: &Causes = &[
    // The last are the words of EventMachine, which Thin runs on.
    (PortTaken, &["EADDRINUSE", "Address already in use", "no acceptor (port is in use"]),
    (SecretKeyBase, &["secret_key_base", "SECRET_KEY_BASE"]),
    (
        PendingMigration,
        &[
            "PendingMigrationError",
            "Migrations are pending",
            "Could not find table '",
            "SQLite3::SQLException: no such table",
            "PG::UndefinedTable",
            "Mysql2::Error: Table '",
        ],
    ),
    (TooManyConnections, ALL_CONNECTIONS_TAKEN),
    (
        Database,
        &[
            "ActiveRecord::NoDatabaseError",
            "ActiveRecord::ConnectionNotEstablished",
            "ActiveRecord::DatabaseConnectionError",
            "ActiveRecord::AdapterNotSpecified",
            "PG::ConnectionBad",
            "Mysql2::Error::ConnectionError",
            "Trilogy::BaseConnectionError",
            "SQLite3::CantOpenException",
            "Sequel::DatabaseConnectionError",
        ],
    ),
    // As Propshaft and Sprockets say it.
    (
        AssetsMissing,
        &[
            "Propshaft::MissingAssetError",
            "' was not found in the load path",
            "is not present in the asset pipeline",
            "was not declared to be precompiled",
        ],
    ),
    (
        NotInstalled,
        &[
            "Bundler::GemNotFound",
            "Bundler::GemfileNotFound",
            // A lock file from another kind of machine.
            "Your bundle only supports platforms",
            "Could not find gem '",
            "in any of the sources",
            "in locally installed gems",
            "can't find gem bundler",
        ],
    ),
    // Puma's master says it. What made the worker late comes first.
    (WorkerTimeout, &["failed to boot within "]),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::failure::recognise;
    use crate::server::{Adapter, puma::Puma, unicorn::Unicorn};

    #[test]
    fn causes_are_recognised_by_what_ruby_rails_and_bundler_print() {
        for (line, expected) in [
            (
                "/gems/railties/application.rb:1: Missing `secret_key_base` for 'production' \
                 environment (ArgumentError)",
                SecretKeyBase,
            ),
            ("We could not find your database: shop. (ActiveRecord::NoDatabaseError)", Database),
            ("could not connect to server: Connection refused (PG::ConnectionBad)", Database),
            ("unable to open database file (SQLite3::CantOpenException)", Database),
            ("[id] Mysql2::Error::ConnectionError (Too many connections)", TooManyConnections),
            ("Migrations are pending. To resolve this issue, run:", PendingMigration),
            (
                "[id] ActiveRecord::StatementInvalid (Could not find table 'products'):",
                PendingMigration,
            ),
            (
                "Address already in use - bind(2) for \"127.0.0.1\" port 9292 (Errno::EADDRINUSE)",
                PortTaken,
            ),
            (
                "Could not find puma-6.4.2 in locally installed gems (Bundler::GemNotFound)",
                NotInstalled,
            ),
            ("bundler: command not found: puma", NotInstalled),
            (
                "! Terminating timed out worker (Worker 0 failed to boot within 60 seconds): 72",
                WorkerTimeout,
            ),
            (
                "! Terminating timed out worker (Worker 0 failed to check in within 60 seconds): 7",
                Exited,
            ),
            (
                "ActionView::Template::Error (The asset 'application.css' was not found in the \
                 load path.):",
                AssetsMissing,
            ),
            ("app.rb:1:in `fetch': key not found: \"DATABASE_URL\" (KeyError)", VariableMissing),
            ("app.rb:1:in `fetch': key not found: \"HTTP_X_SHOP\" (KeyError)", Exited),
            ("app.rb:1:in `fetch': key not found: :name (KeyError)", Exited),
            ("config.ru:1:in `block in <main>': boom (RuntimeError)", Exited),
            ("cannot load such file -- pumice (LoadError)", Exited),
            ("bundler: command not found: unicorn", Exited),
        ] {
            let lines = ["* Puma".into(), line.into()];
            assert_eq!(recognise(Puma.about(), &lines), expected, "{line}");
        }
        let missing = ["bundler: command not found: unicorn".to_string()];
        assert_eq!(recognise(Unicorn.about(), &missing), NotInstalled);
        assert_eq!(recognise(Puma.about(), &[]), Exited);
    }
}
