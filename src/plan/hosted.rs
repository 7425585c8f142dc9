//! Hosts that run an app without a server of the user's, by the files that an app has for them.
//!
//! In: the app's folder. Out: which. Reads these files.

use std::fs;
use std::path::Path;

use crate::server::hosts::Host;

/// Where Cloud Run's service, or what deploys it, is usually described.
const OF_CLOUD_RUN: [&str; 4] = ["service.yaml", "service.yml", "cloudrun.yaml", "cloudbuild.yaml"];

/// Whose command or file leads to another host, so that a Procfile is not for Heroku.
const OF_OTHERS: [&str; 4] = ["Dockerfile", "config/deploy.yml", "fly.toml", "docker-compose.yml"];

/// In the order in which they are told.
pub fn hosts(folder: &Path) -> Vec<Host> {
    let has = |name: &str| folder.join(name).is_file();
    let is_of_cloud_run = |name: &&str| {
        let text = fs::read_to_string(folder.join(name)).unwrap_or_default();
        // As the service's own file says it, and as a build step does.
        text.contains("serving.knative.dev/")
            || ["gcloud", "run", "deploy"].iter().all(|word| text.contains(word))
    };
    let is_of_heroku = has("app.json")
        || has("heroku.yml")
        || (has("Procfile") && !OF_OTHERS.iter().any(|name| has(name)));
    let all = [
        (Host::Fly, has("fly.toml")),
        (Host::CloudRun, OF_CLOUD_RUN.iter().any(is_of_cloud_run)),
        (Host::Heroku, is_of_heroku),
    ];
    all.into_iter().filter(|(_, is_named)| *is_named).map(|(host, _)| host).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_known_by_their_files() {
        let of = |files: &[(&str, &str)]| {
            let folder = tempfile::tempdir().unwrap();
            for (name, text) in files {
                let path = folder.path().join(name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            hosts(folder.path())
        };
        let procfile = ("Procfile", "web: puma\n");
        let service = ("service.yaml", "apiVersion: serving.knative.dev/v1\nkind: Service\n");
        let build = ("cloudbuild.yaml", "steps:\n- {name: gcloud, args: [run, deploy, shop]}\n");
        let kubernetes = ("service.yaml", "apiVersion: v1\nkind: Service\n");
        assert_eq!(of(&[]), []);
        assert_eq!(of(&[procfile]), [Host::Heroku]);
        assert_eq!(of(&[procfile, ("Dockerfile", "FROM ruby\n"), kubernetes]), []);
        assert_eq!(of(&[procfile, ("fly.toml", "app = 'shop'\n")]), [Host::Fly]);
        assert_eq!(of(&[service, ("app.json", "{}")]), [Host::CloudRun, Host::Heroku]);
        assert_eq!(of(&[build]), [Host::CloudRun]);
    }
}
