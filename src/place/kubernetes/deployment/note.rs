//! What a Deployment, or what scales one, was before we changed it: a note on the object, written
//! in the step that changes it.
//!
//! In: objects as JSON. Out: what they were, and operations that change them. Only computes.

use serde_json::{Value, json};

/// On the object, what it was before we changed it.
const BEFORE: &str = "sweetspot/before";

/// What an object was before we changed it, as it is kept on it.
#[derive(Debug, Clone, PartialEq)]
pub struct Before {
    pub run: String,
    pub spec: Value,
}

/// What is kept on an object; `None`: we have not changed it, or have put it back.
pub fn before(object: &Value) -> Option<Before> {
    let text = object["metadata"]["annotations"][BEFORE].as_str()?;
    let kept: Value = serde_json::from_str(text).ok()?;
    Some(Before { run: kept["run"].as_str()?.to_string(), spec: kept["spec"].clone() })
}

/// The same where it was this run that changed it; without one, whichever.
pub fn before_of(object: &Value, run: Option<&str>) -> Option<Before> {
    before(object).filter(|before| run.is_none_or(|run| run == before.run))
}

/// Operations that write down what the object is, and then change it.
pub fn first_change(object: &Value, run: &str, spec: &Value) -> Value {
    let kept = json!({ "run": run, "spec": object["spec"] }).to_string();
    let annotations = object["metadata"]["annotations"].is_object();
    let none = json!({ "op": "add", "path": "/metadata/annotations", "value": {} });
    let mut operations = vec![unchanged(object)];
    operations.extend((!annotations).then_some(none));
    operations.extend([
        json!({ "op": "add", "path": path_of(BEFORE), "value": kept }),
        json!({ "op": "replace", "path": "/spec", "value": spec }),
    ]);
    operations.into()
}

/// Operations that change it from what we made of it.
pub fn further_change(object: &Value, spec: &Value) -> Value {
    json!([unchanged(object), { "op": "replace", "path": "/spec", "value": spec }])
}

/// Operations that give it this `spec` and take our note from it.
pub fn put_back(object: &Value, spec: &Value) -> Value {
    json!([
        unchanged(object),
        { "op": "replace", "path": "/spec", "value": spec },
        { "op": "remove", "path": path_of(BEFORE) },
    ])
}

/// Nobody has changed it since it was read. How many pods a Deployment has is others' to change.
fn unchanged(object: &Value) -> Value {
    let path = if object["spec"]["template"].is_object() { "/spec/template" } else { "/spec" };
    json!({ "op": "test", "path": path, "value": object.pointer(path) })
}

fn path_of(annotation: &str) -> String {
    format!("/metadata/annotations/{}", annotation.replace('/', "~1"))
}

#[cfg(test)]
mod tests {
    use super::super::RUN;
    use super::super::tests::shop;
    use super::*;

    #[test]
    fn what_it_was_is_kept_on_it_and_comes_back() {
        let deployment = shop();
        assert_eq!(before(&deployment), None);
        let ours = json!({ "template": { "metadata": { "annotations": { RUN: "r1" } } } });
        let operations = first_change(&deployment, "r1", &ours);
        let template = &deployment["spec"]["template"];
        let unchanged = json!({ "op": "test", "path": "/spec/template", "value": template });
        assert_eq!(operations[0], unchanged, "how many pods there are may change meanwhile");
        assert_eq!(operations[1]["path"], "/metadata/annotations/sweetspot~1before");
        let mut changed = deployment.clone();
        changed["metadata"]["annotations"][BEFORE] = operations[1]["value"].clone();
        changed["spec"] = ours;
        let kept = before(&changed).unwrap();
        assert_eq!((&kept.run, &kept.spec), (&"r1".to_string(), &deployment["spec"]));
        let mut bare = deployment;
        bare["metadata"].as_object_mut().unwrap().remove("annotations");
        assert_eq!(first_change(&bare, "r1", &json!({}))[1]["path"], "/metadata/annotations");
    }
}
