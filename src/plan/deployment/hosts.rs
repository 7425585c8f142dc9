//! What the files of those who run an app say: fly.toml, Kamal's config/deploy.yml, a Procfile.
//!
//! In: a file's text. Out: variables and the command of what serves the web. Only computes.

use super::said::{Pair, Said};
use super::shell::{is_comment, pairs, unquoted};

/// Tables `[env]` and `[processes]` (Fly's configuration reference). A file that is no TOML says
/// nothing.
pub fn fly(text: &str) -> Said {
    let file: toml::Table = text.parse().unwrap_or_default();
    let table = |name: &str| file.get(name).and_then(toml::Value::as_table).cloned();
    let text = |value: &toml::Value| match value {
        toml::Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let variables = table("env").unwrap_or_default();
    let processes = table("processes").unwrap_or_default();
    // Without a name of its own a process is called app.
    let web = ["web", "app"].iter().find_map(|name| processes.get(*name)?.as_str());
    Said {
        variables: variables.iter().map(|(name, value)| (name.clone(), text(value))).collect(),
        command: web.unwrap_or_default().to_string(),
        ..Said::default()
    }
}

/// What all roles have, then what that of the web has, which comes before it; of other roles
/// nothing. Line by line, as the file is a template of Ruby's before it is YAML.
pub fn kamal(text: &str) -> Said {
    let mut path: Vec<(usize, &str)> = Vec::new();
    let mut found: [Vec<Pair>; 2] = [Vec::new(), Vec::new()];
    let mut command = String::new();
    for line in text.lines().filter(|line| !is_comment(line) && !line.trim().is_empty()) {
        let indent = line.len() - line.trim_start().len();
        path.retain(|(outer, _)| *outer < indent);
        let keys: Vec<&str> = path.iter().map(|(_, key)| *key).collect();
        let Some((key, value)) = line.trim().split_once(':') else { continue };
        match (&keys[..], key) {
            (["env", ..], _) => found[0].extend(variables(line, key, value)),
            (["servers", "web", "env", ..], _) => found[1].extend(variables(line, key, value)),
            (["servers", "web"], "cmd") => command = value.trim().to_string(),
            _ => {}
        }
        path.push((indent, key));
    }
    Said { variables: found.concat(), command, ..Said::default() }
}

/// What stands in a line, also in braces; last its key with all of its value.
fn variables(line: &str, key: &str, value: &str) -> Vec<Pair> {
    let whole = (key.trim_matches(['"', '\'']).to_string(), unquoted(value).join(" "));
    pairs(line).into_iter().chain([whole]).collect()
}

/// The process `web`.
pub fn procfile(text: &str) -> Said {
    let command = text.lines().find_map(|line| line.trim().strip_prefix("web:"));
    let command = command.unwrap_or_default().trim().to_string();
    Said { command, ..Said::default() }
}
