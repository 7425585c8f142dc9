//! Why a Node app did not come up, from what it printed.
//!
//! In: its last lines. Out: a cause. Only computes.

use crate::server::failure::{ALL_CONNECTIONS_TAKEN, Causes, proven};
use crate::terms::BootFailureKind::{self, *};

const CAUSES: &Causes = &[
    (OtherPort, &["not where the variable PORT says"]),
    (PortTaken, &["EADDRINUSE"]),
    (
        PendingMigration,
        &["SQLITE_ERROR: no such table", "ER_NO_SUCH_TABLE", "The table `", "code: '42P01'"],
    ),
    (TooManyConnections, ALL_CONNECTIONS_TAKEN),
    (
        Database,
        &[
            "ECONNREFUSED",
            "SequelizeConnection",
            "PrismaClientInitializationError",
            "MongooseServerSelectionError",
            "MongoServerSelectionError",
            "ER_ACCESS_DENIED_ERROR",
            "SQLITE_CANTOPEN",
        ],
    ),
];

/// The cause that the last lines prove; `Exited` when they prove none.
pub(super) fn recognise(last_lines: &[String]) -> BootFailureKind {
    proven(CAUSES, last_lines).unwrap_or(Exited)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_are_recognised_by_what_node_prints() {
        for (line, expected) in [
            ("Error: listen EADDRINUSE: address already in use 127.0.0.1:4000", PortTaken),
            (
                "sweetspot: failed: the app listens on port 3000, not where the variable PORT says",
                OtherPort,
            ),
            ("Error: connect ECONNREFUSED 127.0.0.1:5432", Database),
            ("Error: ER_CON_COUNT_ERROR: Too many connections", TooManyConnections),
            ("Error: SQLITE_ERROR: no such table: items", PendingMigration),
            ("Error: Cannot find module 'express'", Exited),
        ] {
            assert_eq!(recognise(&[line.to_string()]), expected, "{line}");
        }
    }
}
