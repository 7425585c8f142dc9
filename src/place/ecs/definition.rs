//! A task definition: what of it the app may use, and the same with other variables.
//!
//! In: what `describe-task-definition` answers. Out: what `register-task-definition` takes. Only
//! computes. JSON rather than types: a field that is not known here has to go along.

use serde_json::{Map, Value, json};

use super::error::EcsError;
use crate::terms::{Bytes, Configuration, Cores};

/// What ECS adds to a registered definition by itself, and does not take.
const ADDED: [&str; 9] = [
    "taskDefinitionArn",
    "revision",
    "status",
    "requiresAttributes",
    "compatibilities",
    "registeredAt",
    "registeredBy",
    "deregisteredAt",
    "deleteRequestedAt",
];

/// By which the app's container is known among several.
const USUAL: [&str; 2] = ["WEB_CONCURRENCY", "RAILS_MAX_THREADS"];

/// Of a core, as ECS counts.
pub const UNITS: f64 = 1024.0;

/// Added to a family's name for the time.
const SUFFIX: &str = "-sweetspot";

/// The label of the app's container that says in a revision of ours what the service was: a label
/// may be long, takes no further right, and the app does not see it.
const NOTE: &str = "sweetspot.before";

/// What a task may use, and what it runs with.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    /// The revision that it is of, as an ARN, which holds account and region.
    pub revision: String,
    /// `None`: neither it nor the app's container says one.
    pub size: Option<(Cores, Bytes)>,
    /// `None`: its variables do not say.
    pub today: Option<Configuration>,
    /// The app's.
    pub container: String,
    /// What that is started with in place of what its image says, as a shell takes it; empty: the
    /// image alone says it.
    pub command: String,
    pub reserved: Reserved,
}

/// What a definition reserves for a whole task: that of which AWS tells what the task uses as a
/// share.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Reserved {
    /// `None`: it says none.
    pub cores: Option<Cores>,
    /// `None`: it says none, or containers of it say their own.
    pub memory: Option<Bytes>,
    /// The app's container may use memory of its own, and there are others: what all of them use
    /// says nothing of it.
    pub is_memory_apart: bool,
}

/// What of a task its app may use.
///
/// # Errors
/// The app's container is not known.
pub fn task(definition: &Value, asked: Option<&str>) -> Result<Task, EcsError> {
    let container = container(definition, asked)?;
    let memory = memory(container).or_else(|| memory(definition));
    let variable = |name: &str| {
        let all = container["environment"].as_array()?;
        let one = all.iter().find(|it| it["name"] == name)?;
        one["value"].as_str()?.parse::<u16>().ok()
    };
    // Who is told no number of workers runs one; what a secret or `auto` comes to is not seen here.
    let workers = if is_given(container, USUAL[0]) { variable(USUAL[0]) } else { Some(1) };
    let today = workers
        .zip(variable(USUAL[1]))
        .and_then(|(workers, threads)| Configuration::new(workers, threads).ok());
    // A container's own cores are its share while all are busy, and no limit.
    let size = cores(definition).zip(memory);
    let reserved = reserved(definition, container);
    let revision = text(&definition["taskDefinitionArn"]);
    let command = command(container);
    Ok(Task { revision, size, today, container: text(&container["name"]), command, reserved })
}

fn command(container: &Value) -> String {
    let all = ["entryPoint", "command"].into_iter().filter_map(|key| container[key].as_array());
    let words = all.flatten().filter_map(Value::as_str);
    // Nothing can be started with the one byte that a shell cannot be told.
    shlex::try_join(words).unwrap_or_default()
}

fn reserved(definition: &Value, container: &Value) -> Reserved {
    let all = definition["containerDefinitions"].as_array().map_or(&[][..], Vec::as_slice);
    let has_own = |it: &Value| amount(&it["memory"]).or(amount(&it["memoryReservation"])).is_some();
    let is_memory_apart = all.len() > 1 && memory(container).is_some();
    let memory = match all.iter().any(has_own) {
        true => None,
        false => memory(definition),
    };
    Reserved { cores: cores(definition), memory, is_memory_apart }
}

fn cores(definition: &Value) -> Option<Cores> {
    Cores::new(amount(&definition["cpu"])? / UNITS).ok()
}

/// Of a task's definition or a container's.
fn memory(of: &Value) -> Option<Bytes> {
    Some(Bytes((amount(&of["memory"])? as u64) << 20))
}

/// A number above zero, which AWS may write as text.
fn amount(value: &Value) -> Option<f64> {
    let number = match value {
        Value::String(text) => text.parse::<f64>().ok(),
        other => other.as_f64(),
    };
    number.filter(|it| *it > 0.0)
}

/// The app's container.
fn container<'a>(definition: &'a Value, asked: Option<&str>) -> Result<&'a Value, EcsError> {
    let all = definition["containerDefinitions"].as_array().map_or(&[][..], Vec::as_slice);
    let there = || all.iter().map(|it| text(&it["name"])).collect::<Vec<_>>().join(", ");
    if let Some(asked) = asked {
        let found = all.iter().find(|it| it["name"] == asked);
        let none = || EcsError::NoContainer { asked: asked.to_string(), there: there() };
        return found.ok_or_else(none);
    }
    let is_usual = |it: &&Value| USUAL.iter().any(|name| is_given(it, name));
    let has_port = |it: &&Value| it["portMappings"].as_array().is_some_and(|all| !all.is_empty());
    let mut usual = all.iter().filter(is_usual);
    let mut open = all.iter().filter(has_port);
    match (all, usual.next(), usual.next(), open.next(), open.next()) {
        ([one], ..) => Ok(one),
        (_, Some(one), None, ..) | (_, None, None, Some(one), None) => Ok(one),
        _ => Err(EcsError::SeveralContainers { there: there() }),
    }
}

/// Whether a container has a variable of this name, also where a secret or a parameter gives it.
fn is_given(container: &Value, name: &str) -> bool {
    let all = [&container["environment"], &container["secrets"]].into_iter();
    all.filter_map(Value::as_array).flatten().any(|one| one["name"] == name)
}

/// Empty: it is none.
fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_string()
}

/// The family of a revision of ours, which stands beside the user's own: who deploys by that
/// family's name never gets one of ours. That of one of ours is its own.
pub fn own_family(definition: &Value) -> String {
    let family = text(&definition["family"]);
    format!("{}{SUFFIX}", family.strip_suffix(SUFFIX).unwrap_or(&family))
}

/// Is it a revision of ours?
pub fn is_own(definition: &Value) -> bool {
    definition["family"].as_str().is_some_and(|family| family.ends_with(SUFFIX))
}

/// What a revision of ours says that the service was; `None`: it says nothing.
pub fn note(definition: &Value) -> Option<&str> {
    let all = definition["containerDefinitions"].as_array()?;
    all.iter().find_map(|it| it["dockerLabels"][NOTE].as_str())
}

/// The same with these variables in one container, and with a note of what the service was, to be
/// registered. A variable that comes from a secret or a parameter is given its value here instead,
/// as ECS takes no name twice. What a container is called unhealthy by is left out, unless another
/// waits for it: a server that is loaded to its limit may answer too late.
pub fn with_variables(
    definition: &Value,
    (container, tags): (&str, &Value),
    variables: &[(String, String)],
    note: &str,
) -> Value {
    let mut made = definition.as_object().cloned().unwrap_or_default();
    ADDED.iter().for_each(|key| drop(made.remove(*key)));
    made.insert("family".into(), own_family(definition).into());
    // AWS's own are not to be given.
    let is_own = |tag: &Value| tag["key"].as_str().is_some_and(|key| key.starts_with("aws:"));
    let tags: Vec<Value> =
        tags.as_array().into_iter().flatten().filter(|tag| !is_own(tag)).cloned().collect();
    if !tags.is_empty() {
        made.insert("tags".into(), tags.into());
    }
    let empty = Vec::new();
    let all = definition["containerDefinitions"].as_array().unwrap_or(&empty);
    let is_awaited = |name: &str| {
        let waits = all.iter().filter_map(|it| it["dependsOn"].as_array()).flatten();
        let mut waits = waits.filter(|it| it["containerName"] == name);
        waits.any(|it| it["condition"] == "HEALTHY")
    };
    let changed = all.iter().map(|it| {
        let mut one = it.as_object().cloned().unwrap_or_default();
        if it["name"] == container {
            given(&mut one, variables);
            let labels = one.entry("dockerLabels").or_insert_with(|| json!({}));
            if let Value::Object(labels) = labels {
                labels.insert(NOTE.into(), note.into());
            }
            if !is_awaited(container) {
                one.remove("healthCheck");
            }
        }
        Value::Object(one)
    });
    made.insert("containerDefinitions".into(), changed.collect());
    Value::Object(made)
}

/// Gives a container variables, in place of others of their names.
fn given(container: &mut Map<String, Value>, variables: &[(String, String)]) {
    let is_tried = |it: &Value| variables.iter().any(|(name, _)| it["name"] == name.as_str());
    for key in ["environment", "secrets"] {
        if let Some(Value::Array(all)) = container.get_mut(key) {
            all.retain(|it| !is_tried(it));
        }
    }
    let tried = variables.iter().map(|(name, value)| json!({ "name": name, "value": value }));
    let environment = container.entry("environment").or_insert_with(|| json!([]));
    if let Value::Array(all) = environment {
        all.extend(tried);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition() -> Value {
        json!({
            "taskDefinitionArn": "arn:aws:ecs:eu-west-1:1:task-definition/shop:7",
            "family": "shop", "revision": 7, "status": "ACTIVE", "cpu": "1024", "memory": "2048",
            "networkMode": "awsvpc", "volumes": [], "somethingNew": {"kept": true},
            "containerDefinitions": [
                {
                    "name": "web", "image": "shop:1", "cpu": 0,
                    "portMappings": [{"containerPort": 3000}],
                    "environment": [
                        {"name": "RAILS_MAX_THREADS", "value": "3"}, {"name": "A", "value": "b"},
                    ],
                    "secrets": [
                        {"name": "WEB_CONCURRENCY", "valueFrom": "arn:parameter"},
                        {"name": "DATABASE_URL", "valueFrom": "arn:secret"},
                    ],
                    "dockerLabels": {"team": "shop"},
                    "healthCheck": {"command": ["CMD", "curl"]},
                },
                {"name": "logs", "image": "logs:1"},
            ],
        })
    }

    #[test]
    fn other_variables_take_the_place_of_those_of_their_names_and_all_else_goes_along() {
        let before = definition();
        let tried = [("WEB_CONCURRENCY", "2"), ("RAILS_MAX_THREADS", "5")]
            .map(|(name, value)| (name.to_string(), value.to_string()));
        let tags = json!([{"key": "aws:cloudformation:stack-name", "value": "shop"}]);
        let made = with_variables(&before, ("web", &tags), &tried, "it was");
        assert_eq!((&made["family"], &made["revision"]), (&json!("shop-sweetspot"), &Value::Null));
        assert_eq!((note(&made), note(&before)), (Some("it was"), None));
        assert_eq!([own_family(&before), own_family(&made)], ["shop-sweetspot"; 2]);
        assert_eq!((&made["somethingNew"], &made["tags"]), (&before["somethingNew"], &Value::Null));
        let web = &made["containerDefinitions"][0];
        let expected = json!([
            {"name": "A", "value": "b"}, {"name": "WEB_CONCURRENCY", "value": "2"},
            {"name": "RAILS_MAX_THREADS", "value": "5"},
        ]);
        assert_eq!(web["environment"], expected);
        assert_eq!(web["secrets"].as_array().unwrap().len(), 1);
        assert_eq!(web["dockerLabels"]["team"], "shop");
        assert_eq!(web["healthCheck"], Value::Null);
        assert_eq!(made["containerDefinitions"][1], before["containerDefinitions"][1]);
    }

    #[test]
    fn what_the_app_may_use_and_runs_with_is_read_of_its_own_container() {
        let (cores, memory) = (Cores::new(1.0).unwrap(), Bytes(2 << 30));
        let expected = Task {
            revision: "arn:aws:ecs:eu-west-1:1:task-definition/shop:7".into(),
            size: Some((cores, memory)),
            today: None,
            container: "web".into(),
            command: String::new(),
            reserved: Reserved { cores: Some(cores), memory: Some(memory), is_memory_apart: false },
        };
        assert_eq!(task(&definition(), None).unwrap(), expected);
        let mut own = definition();
        own["containerDefinitions"][0]["cpu"] = json!(512);
        own["containerDefinitions"][0]["memory"] = json!(512);
        let whole = Some((Cores::new(1.0).unwrap(), Bytes(512 << 20)));
        let web = task(&own, Some("web")).unwrap();
        assert_eq!(web.size, whole);
        let expected = Reserved { cores: Some(cores), memory: None, is_memory_apart: true };
        assert_eq!(web.reserved, expected, "a share of what is unknown");
        let reserved = task(&own, Some("logs")).unwrap().reserved;
        assert!(!reserved.is_memory_apart, "it may use all of the task's");
        let mut alone = own.clone();
        alone["containerDefinitions"].as_array_mut().unwrap().truncate(1);
        assert!(!task(&alone, None).unwrap().reserved.is_memory_apart);
        let logs = task(&definition(), Some("logs")).unwrap();
        assert_eq!((logs.container.as_str(), logs.today), ("logs", None));
        assert!(task(&definition(), Some("db")).unwrap_err().to_string().contains("web, logs"));
        own["containerDefinitions"][1]["environment"] =
            json!([{"name": "WEB_CONCURRENCY", "value": "1"}]);
        assert!(matches!(task(&own, None), Err(EcsError::SeveralContainers { .. })));
        let mut unsaid = definition();
        unsaid["memory"] = Value::Null;
        assert_eq!(task(&unsaid, Some("web")).unwrap().size, None);
        own["cpu"] = Value::Null;
        assert_eq!(task(&own, Some("web")).unwrap().size, None, "its share is no limit");
    }

    #[test]
    fn what_it_runs_with_is_not_known_where_the_number_of_its_workers_is_not_seen() {
        let of = |workers: Option<&str>, secrets: Value| {
            let mut made = definition();
            let web = &mut made["containerDefinitions"][0];
            web["secrets"] = secrets;
            if let (Some(workers), Some(all)) = (workers, web["environment"].as_array_mut()) {
                all.push(json!({"name": "WEB_CONCURRENCY", "value": workers}));
            }
            task(&made, Some("web")).unwrap().today
        };
        let secret = json!([{"name": "WEB_CONCURRENCY", "valueFrom": "arn:parameter"}]);
        let other = json!([{"name": "DATABASE_URL", "valueFrom": "arn:secret"}]);
        assert_eq!(of(None, secret), None);
        assert_eq!(of(Some("auto"), Value::Null), None);
        assert_eq!(of(Some("2"), other.clone()), Configuration::new(2, 3).ok());
        assert_eq!(of(None, other), Configuration::new(1, 3).ok());
    }

    #[test]
    fn what_its_container_is_started_with_is_read_as_a_shell_takes_it() {
        let mut made = definition();
        let web = &mut made["containerDefinitions"][0];
        web["entryPoint"] = json!(["sh", "-c"]);
        web["command"] = json!(["exec puma -w 4"]);
        assert_eq!(task(&made, Some("web")).unwrap().command, "sh -c 'exec puma -w 4'");
    }
}
