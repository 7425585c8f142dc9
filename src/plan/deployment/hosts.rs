//! What the files of those who run an app say: fly.toml, Kamal's config/deploy.yml, a Procfile.
//!
//! In: a file's text. Out: variables and the command of what serves the web. Only computes.

use super::said::{Pair, Said};
use super::shell::{is_comment, pairs, uncommented, unquoted};

/// The role that answers requests, unless Kamal's configuration names another.
pub const ROLE: &str = "web";

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

/// The role that this configuration of Kamal's says to answer requests.
pub fn primary_role(text: &str) -> Option<&str> {
    let named = text.lines().filter_map(|line| line.strip_prefix("primary_role:")).next_back();
    named.and_then(|it| uncommented(it).next()).map(|it| it.trim_matches(['"', '\'']))
}

/// What all roles have, then what the one has that answers requests, which comes before it; of
/// other roles, and of hosts with a tag, nothing. Line by line, as the file is a template of Ruby's
/// before it is YAML.
pub fn kamal(text: &str) -> Said {
    let primary = primary_role(text).unwrap_or(ROLE);
    let mut path: Vec<(usize, &str)> = Vec::new();
    let mut found: [Vec<Pair>; 2] = [Vec::new(), Vec::new()];
    let mut command = String::new();
    for line in text.lines().filter(|line| !is_comment(line) && !line.trim().is_empty()) {
        let indent = line.len() - line.trim_start().len();
        path.retain(|(outer, _)| *outer < indent);
        let Some((key, value)) = line.trim().split_once(':') else { continue };
        path.push((indent, key));
        let keys: Vec<&str> = path.iter().map(|(_, key)| *key).collect();
        match &keys[..] {
            ["env", first, ..] if *first != "tags" => found[0].extend(variables(line, key, value)),
            ["servers", role, "env", _, ..] if *role == primary => {
                found[1].extend(variables(line, key, value));
            }
            ["servers", role, "cmd"] if *role == primary => command = value.trim().to_string(),
            _ => {}
        }
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
