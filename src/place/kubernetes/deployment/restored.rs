//! What a Deployment is to be again once it was tuned.
//!
//! In: its `spec` today, and what it was before anything was changed. Out: its `spec` with what we
//! have set taken back. Only computes.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::starting::{
    CONTAINER, GRACE, PROBES, PROBES_REMOVED, RUN, START, VARIABLES, grace_s, history, mark,
    place_of,
};
use crate::place::kubernetes::fields::{elements, text};

/// What of a Deployment's `spec` is changed besides its pods' template.
const OF_SPEC: [&str; 4] = ["replicas", "strategy", "revisionHistoryLimit", "minReadySeconds"];

/// What a Deployment's `spec` is to be again: what it is, with everything that is as we have set it
/// as it was before. Equal to what it was, unless somebody else has deployed since: that stays.
pub fn restored(today: &Value, before: &Value) -> Value {
    let mut spec = today.clone();
    let ours = OF_SPEC.iter().filter(|key| is_as_set(today, before, key));
    ours.for_each(|key| copy(&mut spec, before, key));
    let (pod, pod_before) = (&mut spec["template"]["spec"], &before["template"]["spec"]);
    if pod[GRACE] == grace_s(pod_before) {
        copy(pod, pod_before, GRACE);
    }
    let annotations = spec["template"]["metadata"]["annotations"].clone();
    let (container, variables) = (text(&annotations[CONTAINER]), text(&annotations[VARIABLES]));
    if let Some(all) = spec["template"]["metadata"]["annotations"].as_object_mut() {
        [RUN, START, CONTAINER, VARIABLES].iter().for_each(|key| drop(all.remove(*key)));
    }
    let had_none = !before["template"]["metadata"]["annotations"].is_object();
    let has_none = spec["template"]["metadata"]["annotations"] == json!({});
    if let Some(metadata) = spec["template"]["metadata"].as_object_mut()
        && had_none
        && has_none
    {
        metadata.remove("annotations");
    }
    let of = |spec: &Value| {
        let all = spec["template"]["spec"]["containers"].as_array().cloned().unwrap_or_default();
        all.into_iter().enumerate().find(|(_, one)| one["name"] == *container)
    };
    let (Some((index, _)), Some((_, was))) = (of(&spec), of(before)) else { return spec };
    let now = &mut spec["template"]["spec"]["containers"][index];
    if now["startupProbe"]["failureThreshold"] == PROBES {
        copy(now, &was, "startupProbe");
    }
    for key in PROBES_REMOVED {
        if now[key].is_null() {
            copy(now, &was, key);
        }
    }
    let set: BTreeMap<String, String> = serde_json::from_str(variables).unwrap_or_default();
    let run = text(&annotations[RUN]);
    set.iter().for_each(|(name, noted)| copy_variable(now, &was, (name, noted, run)));
    if was["env"].is_null() && now["env"] == json!([]) {
        copy(now, &was, "env");
    }
    spec
}

/// Is this of its `spec` still what a start has set?
fn is_as_set(today: &Value, before: &Value, key: &str) -> bool {
    match key {
        "replicas" => today[key] == 1,
        "strategy" => today[key]["type"] == "Recreate",
        "revisionHistoryLimit" => today[key] == history(before),
        // The API server leaves zeros out.
        _ => today[key].as_u64().unwrap_or(0) == 0,
    }
}

/// As it is there, or not at all.
fn copy(to: &mut Value, from: &Value, key: &str) {
    let Some(object) = to.as_object_mut() else { return };
    match from.get(key) {
        Some(value) => drop(object.insert(key.to_string(), value.clone())),
        None => drop(object.remove(key)),
    }
}

/// Where it still has the value that the run has given it.
fn copy_variable(to: &mut Value, from: &Value, (name, noted, run): (&str, &str, &str)) {
    let Some(env) = to["env"].as_array_mut() else { return };
    let before = elements(&from["env"]);
    let is_ours = |value: &str| mark(run, value) == noted;
    let ours = place_of(env, name).filter(|index| is_ours(text(&env[*index]["value"])));
    match (ours, place_of(before, name)) {
        (Some(index), Some(was)) => env[index] = before[was].clone(),
        (Some(index), None) => drop(env.remove(index)),
        (None, _) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::super::starting::tests::first_start;
    use super::super::tests::shop;
    use super::super::{container, spec};
    use super::*;

    #[test]
    fn everything_that_was_changed_is_as_it_was_and_what_others_changed_stays() {
        let before = shop()["spec"].clone();
        let found = container(&shop(), None).unwrap();
        let variables = BTreeMap::from([
            ("RAILS_MAX_THREADS".to_string(), "8".to_string()),
            ("WEB_CONCURRENCY".to_string(), "4".to_string()),
        ]);
        let port = json!(80);
        let wanted = first_start(&found, &variables, &port);
        let ours = spec(&before, &wanted);
        assert_ne!(ours, before);
        assert_eq!(restored(&ours, &before), before);
        let mut theirs = ours;
        let one = &mut theirs["template"]["spec"]["containers"][0];
        one["image"] = "shop:2".into();
        one["env"].as_array_mut().unwrap().push(json!({ "name": "NEW", "value": "1" }));
        let merged = restored(&theirs, &before);
        let mut expected = before.clone();
        let one = &mut expected["template"]["spec"]["containers"][0];
        one["image"] = "shop:2".into();
        one["env"].as_array_mut().unwrap().push(json!({ "name": "NEW", "value": "1" }));
        assert_eq!(merged, expected);
        theirs["replicas"] = 5.into();
        assert_eq!(restored(&theirs, &before)["replicas"], 5);
    }

    #[test]
    fn of_a_variable_that_stands_there_twice_the_last_is_set_and_comes_back() {
        let mut before = shop()["spec"].clone();
        let again = json!({ "name": "WEB_CONCURRENCY", "value": "3" });
        let env = &mut before["template"]["spec"]["containers"][0]["env"];
        env.as_array_mut().unwrap().push(again.clone());
        let found = container(&shop(), None).unwrap();
        let variables = BTreeMap::from([("WEB_CONCURRENCY".to_string(), "4".to_string())]);
        let port = json!(80);
        let ours = spec(&before, &first_start(&found, &variables, &port));
        let last = |of: &Value| of["template"]["spec"]["containers"][0]["env"][3].clone();
        assert_eq!((&last(&ours)["value"], last(&restored(&ours, &before))), (&"4".into(), again));
    }

    #[test]
    fn what_is_noted_of_variables_holds_no_value_and_takes_just_these_back() {
        let before = shop()["spec"].clone();
        let found = container(&shop(), None).unwrap();
        let value = "pg://u:s3cret@db".to_string();
        let variables = BTreeMap::from([("DATABASE_URL".to_string(), value)]);
        let port = json!(80);
        let ours = spec(&before, &first_start(&found, &variables, &port));
        let annotations = |of: &Value| of["template"]["metadata"]["annotations"].clone();
        assert!(annotations(&ours)[VARIABLES].as_str().unwrap().contains("DATABASE_URL"));
        assert!(!annotations(&ours).to_string().contains("s3cret"), "{}", annotations(&ours));
        assert_eq!(restored(&ours, &before), before);
        let mut theirs = ours;
        theirs["template"]["spec"]["containers"][0]["env"][3]["value"] = "pg://other".into();
        let env = restored(&theirs, &before)["template"]["spec"]["containers"][0]["env"].clone();
        assert_eq!(env[3], json!({ "name": "DATABASE_URL", "value": "pg://other" }));
    }

    #[test]
    fn what_others_have_set_where_we_had_something_else_stays() {
        let before = shop()["spec"].clone();
        let found = container(&shop(), None).unwrap();
        let variables = BTreeMap::from([("WEB_CONCURRENCY".to_string(), "4".to_string())]);
        let port = json!(80);
        let wanted = first_start(&found, &variables, &port);
        let mut theirs = spec(&before, &wanted);
        let probe = json!({ "tcpSocket": { "port": 80 } });
        theirs["strategy"] = json!({ "type": "RollingUpdate", "rollingUpdate": {} });
        theirs["minReadySeconds"] = 5.into();
        theirs["revisionHistoryLimit"] = 3.into();
        theirs["template"]["spec"][GRACE] = 60.into();
        let one = &mut theirs["template"]["spec"]["containers"][0];
        one["env"][0]["value"] = "6".into();
        one["startupProbe"] = probe.clone();
        one["readinessProbe"] = probe.clone();
        let merged = restored(&theirs, &before);
        for key in OF_SPEC {
            let expected = if key == "replicas" { &before[key] } else { &theirs[key] };
            assert_eq!(&merged[key], expected, "{key}");
        }
        let of = |spec: &Value| spec["template"]["spec"].clone();
        assert_eq!(of(&merged)[GRACE], 60);
        let one = &of(&merged)["containers"][0];
        assert_eq!(one["env"][0]["value"], "6");
        assert_eq!((&one["startupProbe"], &one["readinessProbe"]), (&probe, &probe));
        assert_eq!(one["livenessProbe"], of(&before)["containers"][0]["livenessProbe"]);
    }
}
