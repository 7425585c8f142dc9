//! Files as people have them, and pods that are made like theirs.

use super::*;

fn read(object: &Value, named: Option<&str>) -> Result<Template, TemplateError> {
    Template::read(&object.to_string(), named)
}

/// Pods of ours, as they are made where the user says nothing of them.
fn ours() -> Value {
    json!({
        "metadata": { "labels": { "sweetspot/app": "x" } },
        "spec": {
            "automountServiceAccountToken": false,
            SECURITY: { "runAsNonRoot": true, "seccompProfile": { "type": "RuntimeDefault" } },
            "containers": [{
                "name": "app",
                "image": "shop:2",
                "env": [{ "name": "PORT", "value": "3000" }],
                SECURITY: { "allowPrivilegeEscalation": false },
            }],
        },
    })
}

fn like(template: &Template) -> Value {
    let mut pods = ours();
    template.apply_to(&mut pods);
    pods
}

/// What a Deployment of a Rails app looks like, as `kubectl get -o json` prints it.
fn rails() -> Value {
    let database = json!({ "secretKeyRef": { "name": "db", "key": "url" } });
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": { "name": "shop", "annotations": { "deployment.kubernetes.io/revision": "7" } },
        "spec": {
            "replicas": 3,
            "selector": { "matchLabels": { "app": "shop" } },
            "template": {
                "metadata": {
                    "labels": { "app": "shop" },
                    "annotations": {
                        "sidecar.istio.io/inject": "false",
                        "kubectl.kubernetes.io/last-applied-configuration": "{\"s3cret\": 1}",
                        "sweetspot/run": "r0",
                    },
                },
                "spec": {
                    "imagePullSecrets": [{ "name": "registry" }],
                    "nodeSelector": { "pool": "web" },
                    "restartPolicy": "Always",
                    "schedulerName": "default-scheduler",
                    "serviceAccountName": "shop",
                    SECURITY: { "runAsUser": 1000, "fsGroup": 1000 },
                    "volumes": [{ "name": "tmp", "emptyDir": {} }],
                    "initContainers": [
                        { "name": "migrate", "image": "shop:1", "args": ["rails", "db:prepare"] },
                        { "name": "wait", "image": "busybox:1" },
                        { "name": "sql-proxy", "image": "proxy:1", "restartPolicy": "Always" },
                    ],
                    "containers": [
                        {
                            "name": "rails",
                            "image": "shop:1",
                            "args": ["bin/rails", "server"],
                            "env": [
                                { "name": "PORT", "value": "8080" },
                                { "name": "TOKEN", "value": "s3cret" },
                                { "name": "DATABASE_URL", "valueFrom": database },
                            ],
                            "envFrom": [{ "secretRef": { "name": "shop" } }],
                            "ports": [{ "containerPort": 8080 }],
                            "resources": { "limits": { "cpu": "4" } },
                            "livenessProbe": { "httpGet": { "path": "/up", "port": 8080 } },
                            "volumeMounts": [{ "name": "tmp", "mountPath": "/rails/tmp" }],
                        },
                        { "name": "envoy", "image": "envoy:1" },
                    ],
                },
            },
        },
    })
}

#[test]
fn pods_are_like_those_of_a_deployment_in_all_that_is_not_decided_here() {
    let template = read(&rails(), Some("rails")).unwrap();
    assert_eq!(template.container.as_deref(), Some("rails"));
    assert_eq!(template.left_out, ["envoy", "sql-proxy"]);
    let pods = like(&template);
    // No label of theirs: their Service would lead to these pods.
    let metadata = json!({
        "labels": { "sweetspot/app": "x" },
        "annotations": { "sidecar.istio.io/inject": "false" },
    });
    assert_eq!(pods["metadata"], metadata);
    let theirs = &rails()["spec"]["template"]["spec"];
    let env = &theirs["containers"][0]["env"];
    let spec = json!({
        "imagePullSecrets": [{ "name": "registry" }],
        "nodeSelector": { "pool": "web" },
        "serviceAccountName": "shop",
        SECURITY: { "runAsUser": 1000, "fsGroup": 1000 },
        "volumes": [{ "name": "tmp", "emptyDir": {} }],
        "initContainers": [
            { "name": "migrate", "args": ["rails", "db:prepare"], "image": "shop:2" },
            { "name": "wait", "image": "busybox:1" },
        ],
        "containers": [{
            "name": "rails",
            "image": "shop:2",
            "args": ["bin/rails", "server"],
            "env": [{ "name": "PORT", "value": "3000" }, env[1], env[2]],
            "envFrom": [{ "secretRef": { "name": "shop" } }],
            "volumeMounts": [{ "name": "tmp", "mountPath": "/rails/tmp" }],
        }],
    });
    assert_eq!(pods["spec"], spec);
    assert!(!format!("{template:?}").contains("s3cret"));
    assert!(template.contents().contains("s3cret"), "another value is another template");
}

#[test]
fn the_spec_of_a_pod_alone_is_taken_whatever_it_stands_in() {
    let spec = json!({ "nodeSelector": { "pool": "web" } });
    let pod = json!({ "kind": "Pod", "metadata": { "name": "shop" }, "spec": spec });
    let template = json!({ "metadata": {}, "spec": spec });
    for file in [
        spec.clone(),
        json!({ "spec": spec }),
        json!({ "kind": "PodTemplate", "template": template }),
        json!({ "kind": "StatefulSet", "spec": { "template": template } }),
        json!({ "kind": "List", "items": [{ "kind": "Service", "spec": {} }, pod] }),
        pod,
    ] {
        let found = read(&file, None).unwrap();
        assert_eq!(found.container, None, "{file}");
        assert_eq!(like(&found)["spec"]["nodeSelector"], spec["nodeSelector"], "{file}");
        assert_eq!(like(&found)["spec"]["containers"], ours()["spec"]["containers"], "{file}");
    }
}

#[test]
fn whom_pods_run_as_is_the_templates_to_say() {
    let user = |security: Value| {
        let template = read(&json!({ SECURITY: security }), None).unwrap();
        like(&template)["spec"][SECURITY].clone()
    };
    let profile = json!({ "type": "RuntimeDefault" });
    let numbered = json!({ "runAsUser": 1000, "runAsNonRoot": true, "seccompProfile": profile });
    assert_eq!(user(json!({ "runAsUser": 1000 })), numbered);
    let root = json!({ "runAsUser": 0, "seccompProfile": profile });
    assert_eq!(user(json!({ "runAsUser": 0 })), root);
    assert_eq!(user(json!({ "runAsNonRoot": false }))["runAsNonRoot"], false);
    // As they run elsewhere, which is as their image says.
    let whole = json!({ "containers": [{ "name": "rails", "image": "shop:1" }] });
    let pods = like(&read(&whole, None).unwrap());
    assert_eq!(pods["spec"][SECURITY], json!({}));
    assert_eq!(pods["spec"]["containers"][0].get(SECURITY), None);
    assert_eq!(pods["spec"]["automountServiceAccountToken"], false, "no account is named");
}

#[test]
fn a_file_that_says_of_no_pod_what_it_is_like_is_refused_with_the_way_out() {
    let several = json!({ "kind": "List", "items": [rails(), rails()] });
    let mut claimed = rails();
    claimed["spec"]["template"]["spec"]["volumes"] = json!([]);
    for (file, named, expected) in [
        (json!({}), None, "it holds no pod; give a Deployment, a StatefulSet, a Pod, a PodTem"),
        (json!("shop"), None, "it holds no pod; give"),
        (json!({ "kind": "Service", "spec": {} }), None, "it holds Service and no pod; give"),
        (several, None, "it holds the pods of Deployment shop, Deployment shop; leave one"),
        (rails(), None, "its pods have several containers (rails, envoy); say which runs the"),
        (rails(), Some("puma"), "its pods have no container puma, but rails, envoy"),
        (json!({ "dnsPolicy": "Default" }), Some("puma"), "its pods have no container puma"),
        (claimed, Some("rails"), "a container of it mounts the volume tmp, which its pods have"),
    ] {
        let error = read(&file, named).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}\n{expected}");
    }
}

#[cfg(feature = "kubernetes")]
#[test]
fn yaml_is_read_as_kubectl_prints_it_and_people_write_it() {
    let text = "apiVersion: v1\nkind: Service\nmetadata: {name: shop}\nspec: {type: ClusterIP}\n\
                ---\nkind: Deployment\nspec:\n  template:\n    spec:\n      containers:\n      - \
                name: rails\n        env:\n        - name: A\n          value: \"true\"\n      \
                securityContext: {runAsUser: 1000}\n";
    let pods = like(&Template::read(text, None).unwrap());
    let container = &pods["spec"]["containers"][0];
    assert_eq!(container["env"][1], json!({ "name": "A", "value": "true" }));
    assert_eq!(pods["spec"][SECURITY], json!({ "runAsUser": 1000 }));
    let alone = Template::read("securityContext: {runAsUser: 0}\n", None).unwrap();
    assert_eq!(like(&alone)["spec"][SECURITY]["runAsUser"], 0);
    let octal = "volumes:\n- name: key\n  secret: {secretName: key, defaultMode: 0400}\n\
                 nodeSelector: {number: \"0400\"}\n";
    let pods = like(&Template::read(octal, None).unwrap());
    assert_eq!(pods["spec"]["volumes"][0]["secret"]["defaultMode"], json!(256));
    assert_eq!(pods["spec"]["nodeSelector"], json!({ "number": "0400" }));
    let wrong = Template::read("spec:\n  containers: [\n  env: s3cret\n", None).unwrap_err();
    assert!(matches!(wrong, TemplateError::Syntax { .. }), "{wrong}");
    assert!(!wrong.to_string().contains("s3cret"), "{wrong}");
}

#[cfg(not(feature = "kubernetes"))]
#[test]
fn a_build_that_reads_no_yaml_says_so() {
    let refused = Template::read("kind: Pod\nspec: {}\n", None).unwrap_err();
    assert_eq!(refused, TemplateError::NotJson);
}
