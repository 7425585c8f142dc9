//! What the inspection script printed becomes an [`Inspection`].
//!
//! In: everything the command printed. Out: the settings, or what went wrong. Only computes.

use serde::Deserialize;

use crate::server::{Inspection, InspectionError, Obeys, inspection};
use crate::terms::{NodeRemark, Remark};

#[derive(Deserialize)]
struct Options {
    workers: u16,
    /// The app makes a cluster.
    forks: bool,
    /// Of as many workers as WEB_CONCURRENCY says.
    follows: bool,
    /// Nothing speaks against its listening on PORT.
    listens: bool,
    node: String,
}

pub(super) fn read(stdout: &str) -> Result<Inspection, InspectionError> {
    let options: Options = inspection::read(stdout, &super::ABOUT)?;
    let current = inspection::current(options.workers, 1)?;
    Ok(Inspection {
        remarks: remarks(&options),
        obeys: Obeys {
            workers: options.follows.then(|| "WEB_CONCURRENCY".to_string()),
            ..Obeys::default()
        },
        runtime_version: format!("Node.js {}", options.node),
        server_version: options.node,
        ..Inspection::of(current)
    })
}

fn remarks(options: &Options) -> Vec<Remark> {
    let today = match (options.forks, options.follows) {
        (true, true) => NodeRemark::OwnCluster,
        (true, false) => NodeRemark::OwnClusterOfFixedSize,
        (false, _) => NodeRemark::OneProcessToday,
    };
    let fixed = (!options.listens).then_some(NodeRemark::FixedPort);
    [today].into_iter().chain(fixed).map(Remark::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::Configuration;

    const PRINTED: &str = "\nsweetspot-inspection {\"workers\":2,\"forks\":true,\"follows\":true,\
        \"listens\":true,\"node\":\"20.1.0\"}\n";

    #[test]
    fn a_cluster_of_the_apps_own_is_told_from_one_process() {
        let own = read(PRINTED).unwrap();
        assert_eq!(own.current, Configuration::new(2, 1).unwrap());
        assert_eq!(own.obeys.workers.as_deref(), Some("WEB_CONCURRENCY"));
        assert_eq!(own.runtime_version, "Node.js 20.1.0");
        let plain = read(&PRINTED.replace("true", "false").replace("\":2", "\":1")).unwrap();
        assert_eq!(plain.obeys, Obeys::default());
        let expected = ["one process today", "it has to listen on PORT"];
        let remarks = inspection::assert_says(&plain, &expected);
        assert!(!remarks.contains("thread"), "{remarks}");
    }
}
