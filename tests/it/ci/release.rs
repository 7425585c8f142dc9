//! A release of this program: gathered from what was built, its image pushed, and its workflow.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{GH, Job, yaml};
use crate::process::{Ended, ended, in_shell, project, write_files};

/// Records its arguments and its standard input. An image's file has its digest; of what is pushed
/// the index is kept, once its digest and its size are true.
const SKOPEO: &str = r#"#!/bin/sh
set -eu
printf '%s\n' "skopeo $*" >>"$SITE/log"
case $* in
    login*) cat >>"$SITE/secrets" ;;
    *docker://*)
        layout=${5#oci:}
        cd "${layout%:*}"
        digest=$(jq -r '.manifests[].digest' index.json)
        index=blobs/sha256/${digest#sha256:}
        echo "${digest#sha256:}  $index" | sha256sum --check --status
        [ "$(wc -c <"$index")" = "$(jq '.manifests[].size' index.json)" ]
        cp "$index" "$SITE/pushed"
        echo "$digest" >"$4" ;;
    *)
        name=${3##*:} layout=${3#oci:} image=$(cat "${2#docker-archive:}")
        mkdir -p "${layout%:*}/blobs/sha256"
        cd "${layout%:*}"
        [ -e index.json ] || echo '{"manifests": []}' >index.json
        jq --arg name "$name" --arg image "$image" '.manifests += [{
            mediaType: "manifest", digest: $image, size: 7,
            annotations: {"org.opencontainers.image.ref.name": $name}}]' index.json >new
        mv new index.json ;;
esac
"#;

/// A project at a version, and what two machines built of it.
fn built() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let changes = "# Changelog\n\n## [Unreleased]\n\n## [1.2.0] - 2027-01-01\n\n- news\n\n\
        ## [1.1.0]\n\n- old\n";
    let files = [("Cargo.toml", "[package]\nversion = \"1.2.0\"\n"), ("CHANGELOG.md", changes)];
    write_files(folder.path(), &files);
    let make = "mkdir -p scripts/ci && cp \"$PROJECT\"/scripts/ci/gather scripts/ci/
        for it in x86_64:amd64 aarch64:arm64; do
            processor=${it%:*}; mkdir -p built/packages-$processor; cd built/packages-$processor
            for name in sweetspot-1.2.0-$processor-linux.tar.gz sweetspot_1.2.0_${it#*:}.deb \
                sweetspot-1.2.0-$processor-linux.gem sweetspot-1.2.0-$processor-linux-musl.gem \
                sweetspot-1.2.0-${it#*:}-image.tar \
                sweetspot-1.2.0.gem sweetspot-1.2.0.crate; do echo $name >$name; done
            sha256sum *.* >SHA256SUMS; echo {} >sweetspot-$processor.cdx.json; cd ../..
        done";
    in_shell(folder.path(), make, &[]);
    folder
}

fn gather(folder: &Path, tag: &str) -> Ended {
    let mut script = Command::new("sh");
    script.args(["scripts/ci/gather", "built", "release", tag]).current_dir(folder);
    ended(&mut script)
}

#[test]
fn a_release_is_whole_and_as_it_was_built_or_it_is_none() {
    let folder = built();
    gather(folder.path(), "v1.3.0").assert_says(&["the tag has to be v1.2.0"]);
    let gathered = gather(folder.path(), "v1.2.0");
    gathered.assert_code(0);
    assert_eq!(gathered.stdout.lines().count(), 14, "{}", gathered.stdout);
    let notes = fs::read_to_string(folder.path().join("release/notes.txt")).unwrap();
    assert_eq!(notes.trim(), "- news");

    let job = Job::new(&[("gh", GH)]);
    let publish = format!(
        "sh '{}' '{}' v1.2.0",
        project().join("scripts/ci/publish").display(),
        folder.path().join("release").display()
    );
    job.shell(&publish, &BTreeMap::new()).assert_code(0);
    let asked = job.asked();
    assert!(asked.starts_with("gh release create v1.2.0 --verify-tag"), "{asked}");
    for part in [
        "SHA256SUMS",
        "sweetspot_1.2.0_arm64.deb",
        "sweetspot-1.2.0-amd64-image.tar",
        "sweetspot-x86_64.cdx.json",
    ] {
        assert!(asked.contains(part), "{part}: {asked}");
    }

    let folder = built();
    write_files(folder.path(), &[("built/packages-aarch64/sweetspot-1.2.0.gem", "other")]);
    gather(folder.path(), "v1.2.0").assert_says(&["packages-aarch64/ is not what was built"]);
    let folder = built();
    fs::remove_file(folder.path().join("built/packages-x86_64/sweetspot-x86_64.cdx.json")).unwrap();
    gather(folder.path(), "v1.2.0").assert_says(&["sweetspot-x86_64.cdx.json is missing"]);
    let folder = built();
    let without = "cd built/packages-aarch64 && rm *-image.tar && sha256sum *.* >SHA256SUMS";
    in_shell(folder.path(), without, &[]);
    gather(folder.path(), "v1.2.0").assert_says(&["sweetspot-1.2.0-arm64-image.tar is missing"]);
}

/// What cargo tells of a crate that is linked, one that this needs, and others that only build and
/// test.
const TOLD: &str = r#"{
    "packages": [
        {"id": "0", "name": "ours", "version": "1.0", "license": "MIT",
            "manifest_path": "./Cargo.toml"},
        {"id": "1", "name": "one", "version": "1.0", "license": "MIT",
            "manifest_path": "one/Cargo.toml"},
        {"id": "2", "name": "two", "version": "2.0", "license": "MIT",
            "manifest_path": "two/Cargo.toml"},
        {"id": "3", "name": "tests", "version": "3.0", "license": "MIT",
            "manifest_path": "no/Cargo.toml"}
    ],
    "resolve": {"root": "0", "nodes": [
        {"id": "0", "deps": [
            {"pkg": "1", "dep_kinds": [{"kind": "build"}, {"kind": null}]},
            {"pkg": "3", "dep_kinds": [{"kind": "build"}, {"kind": "dev"}]}
        ]},
        {"id": "1", "deps": [{"pkg": "2", "dep_kinds": [{"kind": null}]}]},
        {"id": "2", "deps": [{"pkg": "3", "dep_kinds": [{"kind": "dev"}]}]},
        {"id": "3", "deps": []}
    ]}
}"#;

/// The packages of a page that imports one of them, which needs another version of the second.
const LOCKED: &str = r#"{"packages": {
    "": {"devDependencies": {"lines": "1"}},
    "node_modules/@plots/plot": {
        "version": "2.0", "license": "ISC", "dependencies": {"lines": "3"}
    },
    "node_modules/@plots/plot/node_modules/lines": {"version": "3.0", "license": "Zlib"},
    "node_modules/lines": {"version": "1.0", "license": "MIT"}
}}"#;

#[test]
fn licences_of_all_that_is_linked_and_of_the_pages_packages_go_with_a_release() {
    let folder = tempfile::tempdir().unwrap();
    let page = "import { dot } from \"@plots/plot/marks\";\nimport { it } from \"./lines\";\n";
    let files = [
        ("told.json", TOLD),
        ("stub", "#!/bin/sh\ncat told.json\n"),
        ("one/LICENSE-MIT", "You may\ndo anything.\n"),
        ("two/license.md", "You may do\nanything.\n"),
        ("ui/package-lock.json", LOCKED),
        ("ui/src/a/main.tsx", page),
        ("ui/node_modules/@plots/plot/LICENSE", "A plot's terms."),
        ("ui/node_modules/@plots/plot/node_modules/lines/README.md", "no terms"),
        ("bom.json", "{\"components\": [{\"name\": \"one\"}]}"),
    ];
    write_files(folder.path(), &files);
    in_shell(folder.path(), "install -m 755 stub cargo", &[]);
    let run = |words: [&str; 2]| {
        let mut python = Command::new("python3");
        python.arg(project().join("scripts/third_party.py")).args(words).env("CARGO", "./cargo");
        ended(python.current_dir(folder.path()))
    };
    let texts = run(["texts", "x86_64-unknown-linux-gnu"]);
    texts.assert_says(&[
        "one 1.0 (MIT), two 2.0 (MIT): You may do anything.",
        "@plots/plot 2.0 (ISC): A plot's terms.",
        "lines 3.0 (Zlib): (Their packages have no text",
    ]);
    if texts.stderr.starts_with("not there") {
        eprintln!("SKIPPED: the licences of Rust's library and of C's are {}", texts.stderr.trim());
    } else {
        let own = ["Rust's standard library", "GNU LESSER GENERAL PUBLIC LICENSE"];
        texts.assert_code(0).assert_says(&own);
    }
    for other in ["ours 1.0", "tests 3.0", "lines 1.0"] {
        assert!(!texts.stdout.contains(other), "{other}");
    }

    run(["sbom", "bom.json"]).assert_code(0);
    let bom = fs::read_to_string(folder.path().join("bom.json")).unwrap();
    let bom: Value = serde_json::from_str(&bom).unwrap();
    let components = bom["components"].as_array().unwrap();
    let purls: Vec<&str> = components.iter().filter_map(|it| it["purl"].as_str()).collect();
    assert_eq!(components[0]["name"], "one");
    assert_eq!(purls, ["pkg:npm/%40plots/plot@2.0", "pkg:npm/lines@3.0"]);
}

/// Pushes the image of a release to a registry, as this user and by their password.
fn push(job: &Job, image: &str, (user, password): (&str, &str)) -> Ended {
    let script = project().join("scripts/ci/push").display().to_string();
    let output = job.path("output").display().to_string();
    let env: [(&str, &str); 4] = [
        ("IMAGE", image),
        ("REGISTRY_USER", user),
        ("REGISTRY_PASSWORD", password),
        ("GITHUB_OUTPUT", &output),
    ];
    let env = env.map(|(name, value)| (name.to_string(), value.to_string()));
    job.shell(&format!("sh '{script}' ../release v1.2.0"), &BTreeMap::from(env))
}

#[test]
fn the_image_of_both_processors_goes_to_a_registry_under_one_name() {
    let job = Job::new(&[("skopeo", SKOPEO)]);
    let files = [
        ("release/sweetspot-1.2.0-amd64-image.tar", "sha256:aa"),
        ("release/sweetspot-1.2.0-arm64-image.tar", "sha256:bb"),
    ];
    write_files(&job.path(""), &files);
    let image = "registry.example:5000/tools/sweetspot";
    let pushed = push(&job, image, ("somebody", "hidden"));
    pushed.assert_code(0);
    let index: Value = serde_json::from_str(&job.text("pushed")).unwrap();
    let manifest = |digest: &str, architecture: &str| {
        let platform = json!({"os": "linux", "architecture": architecture});
        json!({"mediaType": "manifest", "digest": digest, "size": 7, "platform": platform})
    };
    let both = [manifest("sha256:aa", "amd64"), manifest("sha256:bb", "arm64")];
    assert_eq!(index["manifests"], Value::from(both.to_vec()));
    assert_eq!(index["mediaType"], "application/vnd.oci.image.index.v1+json");
    let output = job.text("output");
    let digest = output.trim().strip_prefix("digest=").unwrap();
    assert_eq!(pushed.stdout.trim(), format!("{image}:1.2.0@{digest}"));
    let asked = job.asked();
    let login = "skopeo login --username somebody --password-stdin registry.example:5000\n";
    assert!(asked.starts_with(login), "{asked}");
    assert!(asked.ends_with(&format!(" docker://{image}:1.2.0\n")), "{asked}");
    assert!(!asked.contains("hidden"), "{asked}");
    assert_eq!(job.text("secrets"), "hidden");
}

#[test]
fn an_image_that_cannot_be_pushed_is_told_before_anything_is_asked() {
    let job = Job::new(&[("skopeo", SKOPEO)]);
    let whole = ("somebody", "hidden");
    for (image, login, said) in [
        ("registry.example/sweetspot", ("somebody", ""), "registry.example needs the secrets"),
        ("registry.example/sweetspot", ("", "hidden"), "registry.example needs the secrets"),
        ("sweetspot", whole, "it has to be REGISTRY/NAME"),
        ("ghcr.io/Somebody/sweetspot", whole, "in small letters"),
        ("ghcr.io/somebody/sweetspot:latest", whole, "its tag is the version"),
        ("localhost:5000/sweetspot:latest", whole, "its tag is the version"),
        ("somebody/sweetspot", whole, "'somebody' is no registry"),
    ] {
        push(&job, image, login).assert_code(1).assert_says(&[said]);
    }
    assert_eq!(job.asked(), "");
}

#[test]
fn the_release_runs_what_is_there_and_takes_actions_of_githubs_own_by_their_commits() {
    let workflow = yaml(".github/workflows/release.yml").remove(0);
    let [makefile, sbom] =
        ["Makefile", "scripts/sbom"].map(|path| fs::read_to_string(project().join(path)).unwrap());
    let jobs = workflow["jobs"].as_object().unwrap().values();
    let steps: Vec<&Value> = jobs.flat_map(|job| job["steps"].as_array().unwrap()).collect();
    for step in &steps {
        if let Some(uses) = step["uses"].as_str() {
            let (name, commit) = uses.split_once('@').unwrap();
            let is_hex = commit.len() == 40 && commit.bytes().all(|it| it.is_ascii_hexdigit());
            assert!(name.starts_with("actions/") && is_hex, "{uses}");
            continue;
        }
        let run = step["run"].as_str().unwrap();
        match run.split(' ').collect::<Vec<_>>()[..] {
            ["make", target] => assert!(makefile.contains(&format!("\n{target}: ")), "{run}"),
            // The version that the script names.
            ["cargo", "install", _, "--version", ..] => assert!(sbom.contains(run), "{run}"),
            ["cp", ..] => {}
            [script, ..] => assert!(project().join(script).is_file(), "{run}"),
            [] => panic!("an empty step"),
        }
    }
    assert!(steps.len() >= 8, "{steps:?}");
    // Nothing but the release's own job may write it, and an image goes nowhere by itself.
    assert_eq!(workflow["permissions"], json!({}));
    assert_eq!(workflow["jobs"]["build"]["permissions"], json!({"contents": "read"}));
    let image = &workflow["jobs"]["image"];
    assert_eq!(image["permissions"]["contents"], "read");
    assert_eq!((&image["needs"], &image["if"]), (&json!("release"), &json!("vars.IMAGE != ''")));
}
