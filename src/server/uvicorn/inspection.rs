//! What the inspection script printed becomes an [`Inspection`].
//!
//! In: everything the command printed. Out: the settings, or what went wrong. Only computes.

use serde::Deserialize;

use crate::server::knobs::first_two;
use crate::server::{Inspection, InspectionError, Obeys, inspection};
use crate::terms::{PythonRemark, Remark};

#[derive(Deserialize)]
struct Options {
    workers: u16,
    /// The variable that the number of workers follows.
    obeys: String,
    is_debugging: bool,
    uvicorn: String,
    python: String,
}

/// From this one on a worker that ended is started again.
const REPLACES: (u32, u32) = (0, 30);

pub(super) fn read(stdout: &str) -> Result<Inspection, InspectionError> {
    let options: Options = inspection::read(stdout, &super::ABOUT)?;
    let current = inspection::current(options.workers, 1)?;
    Ok(Inspection {
        remarks: remarks(&options),
        obeys: Obeys { workers: Some(options.obeys), ..Obeys::default() },
        server_version: options.uvicorn,
        runtime_version: options.python,
        ..Inspection::of(current)
    })
}

fn remarks(options: &Options) -> Vec<Remark> {
    let mut remarks = vec![PythonRemark::WithoutAccessLog.into()];
    if !replaces_workers(&options.uvicorn) {
        let version = options.uvicorn.clone();
        remarks.push(PythonRemark::EndedWorkersStayAway { version }.into());
    }
    if options.is_debugging {
        remarks.push(PythonRemark::DjangoDebugs.into());
    }
    remarks
}

fn replaces_workers(version: &str) -> bool {
    first_two(version).is_some_and(|version| version >= REPLACES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::Configuration;

    const PRINTED: &str = "\nsweetspot-inspection {\"workers\":2,\"obeys\":\"WEB_CONCURRENCY\",\
        \"is_debugging\":false,\"uvicorn\":\"0.17.6\",\"python\":\"Python 3.11.2\"}\n";

    #[test]
    fn the_number_of_workers_is_read_and_nothing_is_said_of_threads() {
        let inspection = read(PRINTED).unwrap();
        assert_eq!(inspection.current, Configuration::new(2, 1).unwrap());
        assert_eq!(inspection.obeys.workers.as_deref(), Some("WEB_CONCURRENCY"));
        let expected = ["uvicorn 0.17.6 does not replace a worker"];
        let remarks = inspection::assert_says(&inspection, &expected);
        assert!(!remarks.contains("thread"), "{remarks}");
    }

    #[test]
    fn later_versions_replace_their_workers() {
        for (version, expected) in [("0.17.6", false), ("0.30.0", true), ("1.0", true)] {
            assert_eq!(replaces_workers(version), expected, "{version}");
        }
    }
}
