//! What the inspection script printed becomes an [`Inspection`].
//!
//! In: PHP-FPM's version and a pool's settings as they stand in its file. Out: the settings, or
//! what went wrong. Only computes.

use std::collections::BTreeMap;

use crate::server::command_line::text;
use crate::server::inspection::current;
use crate::server::{App, Inspection, InspectionError, Obeys};
use crate::terms::{BootFailureKind, PhpRemark, Remark, SettingsError, SettingsRemark};

/// The lines of the script.
const SETTINGS: &str = "sweetspot-settings";
const FILE: &str = "sweetspot-file ";
const VARIABLE: &str = "sweetspot-variable ";

/// The setting that says how many workers a pool may have.
const MAX_CHILDREN: &str = "pm.max_children";

/// What packages set, and what is taken where nothing is known.
const PACKAGED: u16 = 5;

/// A pool with its settings by name; of a setting that is given twice the last.
struct Pool {
    name: String,
    settings: BTreeMap<String, String>,
}

pub(super) fn read(app: &App, printed: &str) -> Result<Inspection, InspectionError> {
    let (head, settings) = printed.split_once(SETTINGS).unwrap_or((printed, ""));
    let version = head.lines().find_map(version_in).ok_or_else(|| InspectionError {
        kind: missing_or_failed(head),
        why: SettingsError::VersionNotPrinted,
    })?;
    let named = |mark| head.lines().filter_map(move |line| line.strip_prefix(mark));
    let files: Vec<&str> = named(FILE).collect();
    let pools = pools(settings);
    // The machine's own are this app's only where there is no other.
    let pool = match (&app.server_config, pools.as_slice()) {
        (Some(_), [pool, ..]) | (None, [pool]) => Some(pool),
        _ => None,
    };
    let (workers, obeyed) = workers(pool, named(VARIABLE))?;
    Ok(Inspection {
        remarks: remarks(app, pool, &files, pools.len()),
        obeys: Obeys { workers: obeyed, ..Obeys::default() },
        runtime_version: format!("php {version}"),
        server_version: version,
        ..Inspection::of(current(workers, 1)?)
    })
}

fn missing_or_failed(printed: &str) -> BootFailureKind {
    match printed.contains("not found") {
        true => BootFailureKind::NotInstalled,
        false => BootFailureKind::Exited,
    }
}

/// `PHP 8.2.35 (fpm-fcgi) (built: ...)`.
fn version_in(line: &str) -> Option<String> {
    let (version, rest) = line.strip_prefix("PHP ")?.split_once(' ')?;
    rest.starts_with("(fpm-fcgi)").then(|| version.to_string())
}

/// The pools in these settings, in their order; one that is opened again goes on.
fn pools(settings: &str) -> Vec<Pool> {
    let mut pools: Vec<Pool> = Vec::new();
    let mut at = None;
    for line in settings.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            let name = name.trim();
            at = (name != "global").then(|| {
                let found = pools.iter().position(|pool| pool.name == name);
                found.unwrap_or_else(|| {
                    pools.push(Pool { name: name.to_string(), settings: BTreeMap::new() });
                    pools.len() - 1
                })
            });
        } else if let (Some(at), Some((name, value))) = (at, line.split_once('=')) {
            let value = value.split(';').next().unwrap_or_default();
            let value = value.trim().trim_matches('"').to_string();
            pools[at].settings.insert(name.trim().to_string(), value);
        }
    }
    pools
}

/// The workers of a pool, and the variable that sets their number, if one does.
fn workers<'a>(
    pool: Option<&Pool>,
    mut variables: impl Iterator<Item = &'a str>,
) -> Result<(u16, Option<String>), InspectionError> {
    let Some(given) = pool.and_then(|pool| pool.settings.get(MAX_CHILDREN)) else {
        return Ok((PACKAGED, None));
    };
    let number = |text: &str| {
        let (setting, value) = (MAX_CHILDREN.into(), given.into());
        let none = SettingsError::NoNumberOfWorkers { setting, value };
        text.trim().parse::<u16>().map_err(|_| none)
    };
    let Some(name) = given.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')) else {
        return Ok((number(given)?, None));
    };
    let set = variables.find_map(|line| line.split_once('=').filter(|(it, _)| *it == name));
    let workers = set.map_or(Ok(PACKAGED), |(_, value)| number(value))?;
    Ok((workers, Some(name.to_string())))
}

/// What is kept and matters, then what is measured and differs from what the settings say.
fn remarks(app: &App, pool: Option<&Pool>, files: &[&str], pools: usize) -> Vec<Remark> {
    let own = app.server_config.as_deref().map(text);
    let workers = match (own, pool) {
        (None, Some(_)) => {
            let files = files.iter().map(ToString::to_string).collect();
            Some(PhpRemark::WorkersOfMachine { files })
        }
        (None, None) => Some(PhpRemark::WorkersNotKnown { assumed: PACKAGED }),
        (Some(file), None) => Some(PhpRemark::NoPool { file, assumed: PACKAGED }),
        (Some(file), Some(pool)) if pools > 1 => {
            let (pools, pool) = (pools as u64, pool.name.clone());
            Some(PhpRemark::FirstPoolMeasured { file, pools, pool })
        }
        (Some(_), Some(_)) => None,
    };
    let is_own = app.server_config.is_some();
    let differences = pool.into_iter().flat_map(|pool| differences(pool, is_own));
    let remarks = workers.map(Remark::from).into_iter().chain(differences);
    remarks.chain([PhpRemark::StaticBehindNginx.into()]).collect()
}

/// `is_own`: the app's own file, which stays in force, and not the machine's.
fn differences(pool: &Pool, is_own: bool) -> Vec<Remark> {
    let manager = pool.settings.get("pm").filter(|manager| *manager != "static").cloned();
    let of_own = |name: &str| pool.settings.get(name).filter(|_| is_own).cloned();
    let is_set = |value: &String| value.trim_end_matches(['s', 'm', 'h']) != "0";
    let requests = of_own("pm.max_requests").filter(is_set);
    let limit = of_own("request_terminate_timeout").filter(is_set);
    let remarks = [
        manager.map(|manager| PhpRemark::WorkersManaged { manager }.into()),
        requests.map(|requests| PhpRemark::ReplacedAfterRequests { requests }.into()),
        limit.map(|limit| PhpRemark::EndedAfter { limit }.into()),
        of_own("listen").map(|address| SettingsRemark::AddressNotOpened { address }.into()),
        of_own("user").map(|user| PhpRemark::OtherUser { user }.into()),
    ];
    remarks.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::Framework;
    use crate::server::inspection::assert_says;
    use crate::terms::Configuration;

    const VERSION: &str = "PHP 8.2.35 (fpm-fcgi) (built: Oct 21 2026 06:29:51)\n\
                           Copyright (c) The PHP Group\n";

    fn read_own(own: Option<&str>, rest: &str) -> Result<Inspection, InspectionError> {
        let app = App {
            server_config: own.map(Into::into),
            ..App::new("/srv/shop", Framework::Php, ".")
        };
        read(&app, &format!("{VERSION}{rest}"))
    }

    #[test]
    fn the_first_pool_of_the_apps_own_file_is_read() {
        let own = "sweetspot-settings\n[global]\npm.max_children = 99\n[shop]\nuser = www-data\n\
                   listen = /run/php/shop.sock ; not opened\n pm=ondemand\n\
                   pm.max_children = \"12\"\n;pm.max_children = 13\npm.max_requests = 500\n\
                   request_terminate_timeout = 30s\n[other]\npm.max_children = 7\n";
        let inspection = read_own(Some("php-fpm.conf"), own).unwrap();
        assert_eq!(inspection.current, Configuration::new(12, 1).unwrap());
        assert_eq!(inspection.server_version, "8.2.35");
        assert_eq!(inspection.runtime_version, "php 8.2.35");
        let remarks = assert_says(
            &inspection,
            &[
                "php-fpm.conf has 2 pools; the first, [shop], is measured",
                "pm = ondemand: today workers come and go",
                "replaced after 500 requests",
                "longer than 30s is ended",
                "(/run/php/shop.sock) is not opened",
                "not as www-data",
            ],
        );
        assert!(!remarks.contains("thread"), "there is nothing to choose: {remarks}");
    }

    #[test]
    fn a_variable_is_followed_where_the_pool_names_one() {
        let own = "sweetspot-settings\n[www]\npm = static\npm.max_children = ${WEB_CONCURRENCY}\n";
        let set = format!("sweetspot-variable WEB_CONCURRENCY=3\n{own}");
        for (printed, workers) in [(set.as_str(), 3), (own, 5)] {
            let inspection = read_own(Some("php-fpm.conf"), printed).unwrap();
            assert_eq!(inspection.current, Configuration::new(workers, 1).unwrap());
            assert_eq!(inspection.obeys.workers.as_deref(), Some("WEB_CONCURRENCY"));
        }
    }

    #[test]
    fn the_machines_only_pool_is_todays_and_of_several_none_is() {
        let one = "sweetspot-file /etc/php/8.2/fpm/pool.d/www.conf\nsweetspot-settings\n[www]\n\
                   pm = dynamic\npm.max_children = 8\nuser = www-data\n";
        let inspection = read_own(None, one).unwrap();
        assert_eq!(inspection.current, Configuration::new(8, 1).unwrap());
        assert_says(&inspection, &["that of /etc/php"]);
        let two = format!("{one}[blog]\npm.max_children = 3\n");
        for printed in [two.as_str(), ""] {
            let inspection = read_own(None, printed).unwrap();
            assert_eq!(inspection.current, Configuration::new(5, 1).unwrap());
            assert_says(&inspection, &["is not known"]);
        }
    }

    #[test]
    fn what_cannot_run_or_is_not_there_is_said() {
        let (setting, many) = ("pm.max_children".into(), "many".into());
        let no_number = SettingsError::NoNumberOfWorkers { setting, value: many };
        for (value, expected) in [("many", no_number), ("0", SettingsError::NoWorkers)] {
            let own = format!("sweetspot-settings\n[www]\npm.max_children = {value}\n");
            let error = read_own(Some("php-fpm.conf"), &own).unwrap_err();
            assert_eq!(error.why, expected);
        }
        let app = App::new("/srv/shop", Framework::Php, ".");
        let error = read(&app, "sh: 3: php-fpm: not found\n").unwrap_err();
        assert_eq!(error.kind, BootFailureKind::NotInstalled);
    }
}
