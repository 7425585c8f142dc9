//! Why a Node app did not come up, from what it printed.
//!
//! In: its last lines. Out: a cause. Only computes.

use crate::server::failure::{ALL_CONNECTIONS_TAKEN, Causes};
use crate::terms::BootFailureKind::*;

/// Causes by what an app that Node runs prints.
pub(super) const CAUSES: &Causes = &[
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::node::Node;
    use crate::server::tests::assert_causes;

    #[test]
    fn causes_are_recognised_by_what_node_prints() {
        let causes = [
            ("Error: listen EADDRINUSE: address already in use 127.0.0.1:4000", PortTaken),
            (
                "sweetspot: failed: the app listens on port 3000, not where the variable PORT says",
                OtherPort,
            ),
            ("Error: connect ECONNREFUSED 127.0.0.1:5432", Database),
            ("Error: ER_CON_COUNT_ERROR: Too many connections", TooManyConnections),
            ("Error: SQLITE_ERROR: no such table: items", PendingMigration),
            ("Error: Cannot find module 'express'", Exited),
        ];
        assert_causes(&Node, &causes);
    }
}
