//! Why PHP-FPM or its first page failed, from what was printed.
//!
//! In: its last lines. Out: a cause. Only computes.

use crate::server::failure::{ALL_CONNECTIONS_TAKEN, Causes};
use crate::terms::BootFailureKind::*;

/// Causes by what PHP-FPM, or its first page, prints.
pub(super) const CAUSES: &Causes = &[
    (PortTaken, &["unable to bind listening socket", "Another FPM instance seems to already"]),
    (
        PendingMigration,
        &[
            // MariaDB's, PostgreSQL's and SQLite's words for a table that is not there.
            "SQLSTATE[42S02]",
            "SQLSTATE[42P01]",
            "General error: 1 no such table",
        ],
    ),
    (TooManyConnections, ALL_CONNECTIONS_TAKEN),
    (
        Database,
        &[
            // Refused, unknown user, unknown database.
            "SQLSTATE[HY000] [2002]",
            "SQLSTATE[HY000] [1045]",
            "SQLSTATE[HY000] [1049]",
            "SQLSTATE[08006]",
            "Uncaught mysqli_sql_exception: Connection refused",
            "Uncaught mysqli_sql_exception: No such file or directory",
            "Uncaught mysqli_sql_exception: Access denied",
            "Uncaught mysqli_sql_exception: Unknown database",
            "Error establishing a database connection",
        ],
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::php_fpm::PhpFpm;
    use crate::server::tests::assert_causes;

    #[test]
    fn causes_are_recognised_by_what_php_prints() {
        let causes = [
            (
                "PHP Fatal error:  Uncaught PDOException: SQLSTATE[HY000] [2002] Connection \
                 refused in /srv/shop/index.php:2",
                Database,
            ),
            (
                "PHP Fatal error:  Uncaught PDOException: SQLSTATE[HY000] [1040] Too many \
                 connections in /srv/shop/index.php:2",
                TooManyConnections,
            ),
            (
                "PHP Fatal error:  Uncaught PDOException: SQLSTATE[42S02]: Base table or view not \
                 found: 1146 Table 'shop.items' doesn't exist in /srv/shop/index.php:2",
                PendingMigration,
            ),
            (
                "[21-Nov-2026 04:16:51] ERROR: unable to bind listening socket for address \
                 '127.0.0.1:9000': Address already in use (98)",
                PortTaken,
            ),
            ("PHP Fatal error:  Uncaught RuntimeException: boom at boot in /srv/x.php:1", Exited),
            ("", Exited),
        ];
        assert_causes(&PhpFpm, &causes);
    }
}
