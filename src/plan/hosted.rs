//! Hosts that run an app without a server of the user's, by the files that an app has for them.
//!
//! In: the app's folder. Out: which. Reads these files.

use std::fs;
use std::path::Path;

use super::deployment::uncommented;
use crate::server::hosts::Host;

/// Where Cloud Run's service, or what deploys it, is usually described.
const OF_CLOUD_RUN: [&str; 4] = ["service.yaml", "service.yml", "cloudrun.yaml", "cloudbuild.yaml"];

/// Files that lead to another host, so that a Procfile is not for Heroku; and words of those that
/// each new Rails app has, whatever host it is for: the path of its own entry point, and an address
/// that stands for a server's.
const OF_OTHERS: [(&str, Option<&str>); 3] = [
    ("Dockerfile", Some("/rails/bin/docker-entrypoint")),
    ("config/deploy.yml", Some("192.168.0.1")),
    ("docker-compose.yml", None),
];

/// Stands in the address of each app's repository there.
const HEROKUS_GIT: &str = "heroku.com";

/// In the order in which they are told.
pub fn hosts(folder: &Path) -> Vec<Host> {
    let has = |name: &str| folder.join(name).is_file();
    let text = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
    let is_of_cloud_run = |name: &&str| {
        let text = text(name);
        // As the service's own file says it, and as a build step does.
        text.contains("serving.knative.dev/")
            || ["gcloud", "run", "deploy"].iter().all(|word| text.contains(word))
    };
    let is_of_fly = is_of_fly(folder);
    let leads_elsewhere = |(name, as_made): &(&str, Option<&str>)| {
        let is_as_made = |word: &str| {
            let words = text(name);
            let mut words = words.lines().flat_map(uncommented);
            words.any(|it| it.trim_matches(['[', ']', '"']) == word)
        };
        has(name) && !as_made.is_some_and(is_as_made)
    };
    let is_of_heroku = has("app.json")
        || has("heroku.yml")
        || text(".git/config").contains(HEROKUS_GIT)
        || (has("Procfile") && !is_of_fly && !OF_OTHERS.iter().any(leads_elsewhere));
    let all = [
        (Host::Fly, is_of_fly),
        (Host::CloudRun, OF_CLOUD_RUN.iter().any(is_of_cloud_run)),
        (Host::Heroku, is_of_heroku),
    ];
    all.into_iter().filter(|(_, is_named)| *is_named).map(|(host, _)| host).collect()
}

/// Also where each of its places has a file, such as fly.staging.toml.
fn is_of_fly(folder: &Path) -> bool {
    fs::read_dir(folder).into_iter().flatten().flatten().any(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        name.starts_with("fly.") && name.ends_with(".toml")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a folder with these files: names and texts.
    fn of(files: &[(&str, &str)]) -> Vec<Host> {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        hosts(folder.path())
    }

    #[test]
    fn hosts_are_known_by_their_files() {
        let procfile = ("Procfile", "web: puma\n");
        let service = ("service.yaml", "apiVersion: serving.knative.dev/v1\nkind: Service\n");
        let build = ("cloudbuild.yaml", "steps:\n- {name: gcloud, args: [run, deploy, shop]}\n");
        let kubernetes = ("service.yaml", "apiVersion: v1\nkind: Service\n");
        assert_eq!(of(&[]), []);
        assert_eq!(of(&[procfile]), [Host::Heroku]);
        assert_eq!(of(&[procfile, ("Dockerfile", "FROM ruby\n"), kubernetes]), []);
        for name in ["fly.toml", "fly.staging.toml"] {
            assert_eq!(of(&[procfile, (name, "app = 'shop'\n")]), [Host::Fly]);
        }
        assert_eq!(of(&[("flying.toml", ""), ("fly.tomlx", "")]), []);
        assert_eq!(of(&[service, ("app.json", "{}")]), [Host::CloudRun, Host::Heroku]);
        assert_eq!(of(&[build]), [Host::CloudRun]);
    }

    #[test]
    fn what_each_new_rails_app_has_leads_to_no_other_host_than_its_procfile_does() {
        let procfile = ("Procfile", "web: bin/rails server\n");
        let image =
            ("Dockerfile", "FROM ruby\nENTRYPOINT [\"/rails/bin/docker-entrypoint\"]\nCMD x\n");
        let made = ("config/deploy.yml", "servers:\n  web:\n    - 192.168.0.1\n");
        let edited = (made.0, "servers:\n  web:\n    - 10.0.0.7\n  # job: 192.168.0.1\n");
        assert_eq!(of(&[procfile, image, made]), [Host::Heroku]);
        assert_eq!(of(&[procfile, image, edited]), []);
        assert_eq!(of(&[image, made]), []);
        let remote = "[remote \"heroku\"]\n\turl = https://git.heroku.com/shop.git\n";
        assert_eq!(of(&[image, edited, (".git/config", remote)]), [Host::Heroku]);
        assert_eq!(of(&[image, (".git/config", "[remote \"origin\"]\n")]), []);
    }
}
