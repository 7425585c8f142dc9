//! Why a Node app did not come up, from what it printed.
//!
//! In: its last lines. Out: a cause. Only computes.

use crate::terms::BootFailureKind::{self, *};

/// Texts in the log and the cause they prove; the first row that matches wins.
const CAUSES: &[(BootFailureKind, &[&str])] = &[
    (OtherPort, &["not where the variable PORT says"]),
    (PortTaken, &["EADDRINUSE"]),
    (
        PendingMigration,
        &["SQLITE_ERROR: no such table", "ER_NO_SUCH_TABLE", "The table `", "code: '42P01'"],
    ),
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
    let has = |text: &str| last_lines.iter().any(|line| line.contains(text));
    let proven = CAUSES.iter().find(|(_, texts)| texts.iter().any(|text| has(text)));
    proven.map_or(Exited, |(kind, _)| *kind)
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
            ("Error: SQLITE_ERROR: no such table: items", PendingMigration),
            ("Error: Cannot find module 'express'", Exited),
        ] {
            assert_eq!(recognise(&[line.to_string()]), expected, "{line}");
        }
    }
}
