//! Why a Python app server did not come up, from what it printed.
//!
//! In: its last lines. Out: a cause. Only computes.

use crate::server::failure::{ALL_CONNECTIONS_TAKEN, Causes};
use crate::terms::BootFailureKind::*;

/// Causes by what any server for Python apps prints.
pub const CAUSES: &Causes = &[
    (PortTaken, &["ddress already in use", "Connection in use: "]),
    (
        PendingMigration,
        &[
            "no such table: ",
            "UndefinedTable",
            "UndefinedTableError",
            "ProgrammingError: (1146, ",
            "ProgrammingError) (1146, ",
        ],
    ),
    (TooManyConnections, ALL_CONNECTIONS_TAKEN),
    (
        Database,
        &[
            "psycopg2.OperationalError",
            "psycopg.OperationalError",
            "asyncpg.exceptions.InvalidCatalogNameError",
            "MySQLdb.OperationalError: (20",
            "pymysql.err.OperationalError: (20",
            "OperationalError: (2002, ",
            "OperationalError: (2003, ",
            "unable to open database file",
            "pymongo.errors.ServerSelectionTimeoutError",
        ],
    ),
    // As Django says it, then django-environ and python-decouple.
    (AssetsMissing, &["Missing staticfiles manifest entry"]),
    (VariableMissing, &["ImproperlyConfigured: Set the ", "Declare it as envvar"]),
    // A worker class in a package of its own.
    (NotInstalled, &["worker requires gevent", "worker requires eventlet"]),
    // gunicorn's master says it. What made the worker late comes first.
    (WorkerTimeout, &["WORKER TIMEOUT"]),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::gunicorn::Gunicorn;
    use crate::server::tests::assert_causes;

    #[test]
    fn causes_are_recognised_by_what_python_prints() {
        let causes = [
            ("[ERROR] Connection in use: ('127.0.0.1', 4000)", PortTaken),
            ("ERROR:    [Errno 98] Address already in use", PortTaken),
            (
                "ERROR:    [Errno 98] error while attempting to bind on address \
                 ('127.0.0.1', 4000): address already in use",
                PortTaken,
            ),
            ("django.db.utils.OperationalError: no such table: shop_item", PendingMigration),
            (
                "psycopg2.OperationalError: FATAL:  sorry, too many clients already",
                TooManyConnections,
            ),
            ("psycopg2.OperationalError: connection to server failed", Database),
            ("sqlite3.OperationalError: unable to open database file", Database),
            ("ModuleNotFoundError: No module named 'gunicorn'", NotInstalled),
            ("ModuleNotFoundError: No module named 'gunicorn.app'", NotInstalled),
            ("RuntimeError: gevent worker requires gevent 1.4 or higher", NotInstalled),
            ("[2026-11-21 04:00:00 +0000] [71] [CRITICAL] WORKER TIMEOUT (pid:72)", WorkerTimeout),
            ("ValueError: Missing staticfiles manifest entry for 'shop/a.css'", AssetsMissing),
            (
                "django.core.exceptions.ImproperlyConfigured: Set the DATABASE_URL environment \
                 variable",
                VariableMissing,
            ),
            ("KeyError: 'DATABASE_URL'", VariableMissing),
            ("KeyError: 'name'", Exited),
            ("ModuleNotFoundError: No module named 'shop'", Exited),
            ("Failed to find attribute 'application' in 'shop'.", Exited),
            ("", Exited),
        ];
        assert_causes(&Gunicorn, &causes);
    }
}
