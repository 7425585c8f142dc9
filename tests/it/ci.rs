//! What runs in other people's CI: the GitHub Action, the GitLab template and the release, step by
//! step, as they stand in their files, with stand-ins for GitHub and GitLab.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::process::{Ended, ended, write_files};

fn project() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The documents of a YAML file.
fn yaml(path: &str) -> Vec<Value> {
    let program = "puts JSON.dump(YAML.load_stream(File.read(ARGV[0])))";
    let mut ruby = Command::new("ruby");
    let ended = ended(ruby.args(["-ryaml", "-rjson", "-e", program]).arg(project().join(path)));
    ended.assert_code(0);
    serde_json::from_str(&ended.stdout).unwrap()
}

/// Records its arguments. `gh api` answers with the number of our comment where there is one
/// (`comment`), and says no where it may not (`denied`); a release is what `release/` has.
const GH: &str = r#"#!/bin/sh
printf '%s\n' "gh $*" >>"$SITE/log"
case $1 in
    api)
        case $* in
            *--method*) [ ! -e "$SITE/denied" ] || {
                echo 'gh: Resource not accessible by integration (HTTP 403)' >&2; exit 1; } ;;
            *) cat "$SITE/comment" 2>/dev/null || : ;;
        esac
        for word; do case $word in body=@*) cp "${word#body=@}" "$SITE/body" ;; esac; done ;;
    release) [ "$2" != download ] || cp "$SITE"/release/* . ;;
    attestation) [ ! -e "$SITE/denied" ] ;;
esac
"#;

/// Records its arguments and its standard input; answers as GitLab or a file server.
const CURL: &str = r#"#!/bin/sh
body() { for word; do case $word in body@*) cp "${word#body@}" "$SITE/body" ;; esac; done; }
printf '%s\n' "curl $*" >>"$SITE/log"
case $* in *'--config -'*) cat >>"$SITE/secrets" ;; esac
case $* in
    *--output*) while [ $# -gt 2 ]; do shift; done; cp "$SITE"/release/*.tar.gz "$1" ;;
    *per_page*) cat "$SITE/notes" 2>/dev/null || echo '[]' ;;
    *--data-urlencode*) body "$@" ;;
esac
"#;

/// A verdict for each verb, from the file of its name, with the exit code that goes with it.
const SWEETSPOT: &str = r#"#!/bin/sh
printf '%s\n' "sweetspot $*" >>"$SITE/log"
verdict=$(cat "$SITE/$1" 2>/dev/null || echo yes)
for word; do case $word in markdown=*) echo "**$1: $verdict**" >"${word#markdown=}" ;; esac; done
case $1 in compare) key=change ;; *) key=verdict ;; esac
printf '{\n  "%s": "%s",\n  "of": {\n    "%s": "no"\n  }\n}\n' $key "$verdict" $key
case $verdict in no | worse) exit 3 ;; undecided) exit 4 ;; esac
"#;

/// A job's machine: stand-ins on its `PATH`, and what they were asked.
struct Job {
    site: TempDir,
}

impl Job {
    fn new(programs: &[(&str, &str)]) -> Self {
        let job = Self { site: tempfile::tempdir().unwrap() };
        // A shell writes them and not this process: what it has open for writing while another test
        // forks can't be run.
        write_files(job.site.path(), programs);
        let install = "mkdir bin app; for one; do install -m 755 $one bin/; rm $one; done";
        let mut shell = Command::new("sh");
        shell.args(["-euc", install, "sh"]).args(programs.iter().map(|(name, _)| name));
        ended(shell.current_dir(job.path(""))).assert_code(0);
        job
    }

    fn path(&self, name: &str) -> PathBuf {
        self.site.path().join(name)
    }

    fn has(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// What the stand-ins were asked since the last look.
    fn asked(&self) -> String {
        let log = self.text("log");
        self.has("log", "");
        log
    }

    /// Runs text as a step of a job, in the app's folder.
    fn shell(&self, text: &str, env: &BTreeMap<String, String>) -> Ended {
        let path = format!("{}:{}", self.path("bin").display(), std::env::var("PATH").unwrap());
        let mut shell = Command::new("sh");
        shell.args(["-euc", text]).current_dir(self.path("app")).env("PATH", path);
        shell.env("SITE", self.path("")).env("SWEETSPOT_LOCK", "").env("LC_ALL", "C.UTF-8");
        // Where these tests run in somebody's CI themselves.
        for name in ["GITLAB_CI", "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"] {
            shell.env_remove(name);
        }
        shell.envs(env);
        ended(&mut shell)
    }

    /// Runs a step of the action as GitHub does, with these inputs and values of the context.
    fn step(&self, name: &str, values: &[(&str, &str)]) -> Ended {
        let action = yaml("action.yml").remove(0);
        let steps = action["runs"]["steps"].as_array().unwrap();
        let step = steps.iter().find(|step| step["name"] == name).unwrap();
        let results = self.path("results").display().to_string();
        let mut known = BTreeMap::from([
            ("inputs.command".to_string(), "sweetspot".to_string()),
            ("github.action_repository".into(), "somebody/sweetspot".into()),
            ("inputs.version || github.action_ref".into(), "v0.1.0".into()),
            ("runner.temp".into(), results.clone()),
        ]);
        known.extend(values.iter().map(|(name, value)| (name.to_string(), value.to_string())));
        let filled = |value: &Value| {
            let parts = value.as_str().unwrap().split("${{ ").enumerate();
            let part = |(index, part): (usize, &str)| match part.split_once(" }}") {
                Some((name, rest)) => known.get(name).cloned().unwrap_or_default() + rest,
                None => {
                    assert_eq!(index, 0, "{value}");
                    part.to_string()
                }
            };
            parts.map(part).collect::<String>()
        };
        let env = step["env"].as_object().unwrap();
        let mut env: BTreeMap<String, String> =
            env.iter().map(|(name, value)| (name.clone(), filled(value))).collect();
        for (name, file) in [("GITHUB_STEP_SUMMARY", "summary"), ("GITHUB_PATH", "path")] {
            env.insert(name.into(), self.path(file).display().to_string());
        }
        env.insert("GITHUB_ACTION_PATH".into(), project().display().to_string());
        env.insert("GITHUB_REPOSITORY".into(), "shop/app".into());
        env.insert("GITHUB_ACTIONS".into(), "true".into());
        self.shell(step["run"].as_str().unwrap(), &env)
    }

    /// Another job on the same pull request.
    fn next(&self) {
        let results = self.path("results");
        if results.exists() {
            fs::remove_dir_all(results).unwrap();
        }
        self.has("summary", "");
    }
}

const PULL_REQUEST: [(&str, &str); 4] = [
    ("github.event.pull_request.number", "7"),
    ("github.event.pull_request.base.sha", "abc"),
    ("github.event.pull_request.head.sha", "def"),
    ("inputs.session", "last"),
];

#[test]
fn the_action_measures_and_writes_one_comment_where_something_changed() {
    let job = Job::new(&[("gh", GH), ("sweetspot", SWEETSPOT)]);
    job.has("compare", "equivalent");
    let step = |name| job.step(name, &PULL_REQUEST);
    step("Install").assert_code(0);
    step("Verify").assert_code(0);
    step("Compare").assert_code(0);
    let comment = step("Comment");
    comment.assert_code(0);
    comment.assert_says(&["nothing has surely changed", "none is made"]);
    let asked = job.asked();
    assert!(asked.contains("sweetspot verify last --json -o markdown="), "{asked}");
    assert!(asked.contains("sweetspot compare --revisions abc..def -o comment="), "{asked}");
    assert!(!asked.contains("--method"), "{asked}");
    assert_eq!(job.text("summary"), "**verify: yes**\n**compare: equivalent**\n");

    job.next();
    job.has("compare", "worse");
    step("Verify").assert_code(0);
    step("Compare").assert_code(3);
    step("Comment").assert_says(&["the comment is made"]);
    let asked = job.asked();
    assert!(asked.contains("gh api --method POST repos/shop/app/issues/7/comments"), "{asked}");
    let body = job.text("body");
    assert!(
        body.starts_with("<!-- sweetspot -->\n**verify: yes**\n\n**compare: worse**"),
        "{body}"
    );

    // The next push mends it: the same comment says so.
    job.next();
    job.has("comment", "42\n");
    job.has("compare", "undecided");
    let undecided = step("Compare");
    undecided.assert_code(0);
    undecided.assert_says(&["::warning::sweetspot compare: undecided"]);
    step("Comment").assert_says(&["the comment is written anew"]);
    let asked = job.asked();
    assert!(asked.contains("gh api --method PATCH repos/shop/app/issues/comments/42"), "{asked}");
    assert!(job.text("body").contains("nothing has surely changed"), "{}", job.text("body"));
}

#[test]
fn from_a_fork_the_comment_is_in_the_summary_and_nothing_fails() {
    let job = Job::new(&[("gh", GH), ("sweetspot", SWEETSPOT)]);
    job.has("compare", "better");
    job.has("denied", "");
    job.step("Compare", &PULL_REQUEST).assert_code(0);
    let comment = job.step("Comment", &PULL_REQUEST);
    comment.assert_code(0);
    comment.assert_says(&["may not write comments", "HTTP 403", "is in the job's summary"]);
    let summary = job.text("summary");
    assert!(summary.starts_with("**compare: better**\n"), "{summary}");
    assert!(summary.contains("this is here and not in a comment"), "{summary}");
    // A push to a branch has no pull request.
    job.step("Comment", &[]).assert_says(&["no pull request to comment on"]);
}

#[test]
fn a_real_sweetspot_that_cannot_measure_fails_the_step_with_its_own_words() {
    let job = Job::new(&[("gh", GH)]);
    let program = env!("CARGO_BIN_EXE_sweetspot");
    let values = [&PULL_REQUEST[..], &[("inputs.command", program)]].concat();
    job.step("Install", &values).assert_code(0);
    let verify = job.step("Verify", &values);
    verify.assert_code(2);
    verify.assert_says(&["sweetspot.db", "verify: no verdict (exit code 2)"]);
    job.step("Comment", &values).assert_says(&["nothing was measured"]);
    assert_eq!(job.asked(), "");
}

/// A release's archive with the program in it, and its checksum.
fn released(job: &Job) {
    let make = "mkdir -p release files/bin files/share/sweetspot/ci && cd files && \
        printf '#!/bin/sh\\necho released\\n' >bin/sweetspot && chmod 755 bin/sweetspot && \
        cp \"$PROJECT\"/scripts/ci/measure \"$PROJECT\"/scripts/ci/comment \
        share/sweetspot/ci/ && cd .. && \
        name=sweetspot-0.1.0-$(uname -m)-linux && mv files $name && \
        tar -czf release/$name.tar.gz $name && cd release && sha256sum *.tar.gz >SHA256SUMS";
    let mut shell = Command::new("sh");
    shell.args(["-euc", make]).current_dir(job.path("")).env("PROJECT", project());
    ended(&mut shell).assert_code(0);
}

/// A folder with what the scripts need beside sweetspot, which may be installed here.
fn without_sweetspot(job: &Job) -> (&'static str, String) {
    let tools = ["uname", "mkdir", "ls", "grep", "sha256sum", "tar", "gzip", "cp", "sh", "cat"];
    let make = "mkdir tools && for one; do ln -s \"$(command -v $one)\" tools/; done";
    let mut shell = Command::new("sh");
    shell.args(["-euc", make, "sh"]).args(tools).current_dir(job.path(""));
    ended(&mut shell).assert_code(0);
    ("PATH", format!("{}:{}", job.path("bin").display(), job.path("tools").display()))
}

#[test]
fn the_action_fetches_its_own_release_and_trusts_only_what_was_built_there() {
    let job = Job::new(&[("gh", GH)]);
    released(&job);
    let (name, path) = without_sweetspot(&job);
    let [results, on_path] = ["results", "path"].map(|it| job.path(it).display().to_string());
    let install = || {
        let env: [(&str, &str); 6] = [
            ("COMMAND", "sweetspot"),
            ("REPOSITORY", "somebody/sweetspot"),
            ("VERSION", "v0.1.0"),
            ("FOLDER", &results),
            ("GITHUB_PATH", &on_path),
            (name, &path),
        ];
        let env = env.map(|(name, value)| (name.to_string(), value.to_string()));
        let script = project().join("scripts/ci/install");
        job.shell(&format!("sh '{}'", script.display()), &BTreeMap::from(env))
    };
    install().assert_code(0);
    let asked = job.asked();
    assert!(asked.contains("gh release download v0.1.0 --repo somebody/sweetspot"), "{asked}");
    assert!(asked.contains("gh attestation verify sweetspot-0.1.0-"), "{asked}");
    let program = Path::new(job.text("path").trim()).join("sweetspot");
    let version = ended(&mut Command::new(program));
    assert_eq!(version.stdout, "released\n");

    job.has("denied", "");
    job.has("path", "");
    install().assert_code(1);
    assert_eq!(job.text("path"), "");
    fs::remove_file(job.path("denied")).unwrap();
    let sums = job.text("release/SHA256SUMS");
    job.has("release/SHA256SUMS", &format!("{}{}", "0".repeat(64), &sums[64..]));
    install().assert_code(1);
    assert_eq!(job.text("path"), "");
}

#[test]
fn the_gitlab_template_does_the_same_and_shows_its_token_to_nobody() {
    let job = Job::new(&[("curl", CURL), ("sweetspot", SWEETSPOT)]);
    released(&job);
    // The archive's program is the stand-in of this job.
    let template = yaml("templates/sweetspot.yml").remove(1)["sweetspot"].take();
    let lines = template["script"].as_array().unwrap();
    let lines: Vec<&str> = lines.iter().map(|line| line.as_str().unwrap()).collect();
    let program = |line: &&str| !line.starts_with("export PATH=");
    let script = lines.iter().copied().filter(program).collect::<Vec<_>>().join("\n");
    let sums = job.text("release/SHA256SUMS");
    let results = job.path("results").display().to_string();
    let env = |token: &str| {
        let env: [(&str, &str); 14] = [
            ("GITLAB_CI", "true"),
            ("CI_API_V4_URL", "https://gitlab.example/api/v4"),
            ("CI_MERGE_REQUEST_PROJECT_ID", "5"),
            ("CI_MERGE_REQUEST_IID", "7"),
            ("CI_MERGE_REQUEST_DIFF_BASE_SHA", "abc"),
            ("CI_COMMIT_SHA", "def"),
            ("SWEETSPOT_TOKEN", token),
            ("ARCHIVE", "https://files.example/sweetspot.tar.gz"),
            ("SHA256", &sums[..64]),
            ("SESSION", "last"),
            ("COMPARE", "yes"),
            ("ARGUMENTS", "--budget 5m"),
            ("DIRECTORY", "."),
            ("FOLDER", &results),
        ];
        BTreeMap::from(env.map(|(name, value)| (name.to_string(), value.to_string())))
    };
    job.has("compare", "worse");
    let made = job.shell(&script, &env("glpat-secret"));
    made.assert_code(3);
    made.assert_says(&["the comment is made"]);
    let asked = job.asked();
    assert!(asked.contains("sweetspot compare --revisions abc..def --budget 5m"), "{asked}");
    let notes = "https://gitlab.example/api/v4/projects/5/merge_requests/7/notes";
    let written = format!("--data-urlencode body@{results}/body.md {notes}");
    assert!(asked.contains(&format!("--request POST {written}")), "{asked}");
    assert!(!asked.contains("secret"), "{asked}");
    assert!(job.text("secrets").contains("header = \"PRIVATE-TOKEN: glpat-secret\""));

    job.next();
    let note = r#"[{"id": 1, "body": "hello"}, {"id": 9, "body": "<!-- sweetspot -->\nold"}]"#;
    job.has("notes", note);
    job.shell(&script, &env("glpat-secret")).assert_says(&["the comment is written anew"]);
    let asked = job.asked();
    assert!(asked.contains(&format!("--request PUT {written}/9")), "{asked}");

    job.next();
    let fork = job.shell(&script, &env(""));
    fork.assert_code(3);
    fork.assert_says(&["has no SWEETSPOT_TOKEN", "is in the job's log", "**compare: worse**"]);
}

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
                sweetspot-1.2.0.gem sweetspot-1.2.0.crate; do echo $name >$name; done
            sha256sum *.* >SHA256SUMS; echo {} >sweetspot-$processor.cdx.json; cd ../..
        done";
    let mut shell = Command::new("sh");
    shell.args(["-euc", make]).current_dir(folder.path()).env("PROJECT", project());
    ended(&mut shell).assert_code(0);
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
    assert_eq!(gathered.stdout.lines().count(), 12, "{}", gathered.stdout);
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
    for part in ["SHA256SUMS", "sweetspot_1.2.0_arm64.deb", "sweetspot-x86_64.cdx.json"] {
        assert!(asked.contains(part), "{part}: {asked}");
    }

    let folder = built();
    write_files(folder.path(), &[("built/packages-aarch64/sweetspot-1.2.0.gem", "other")]);
    gather(folder.path(), "v1.2.0").assert_says(&["packages-aarch64/ is not what was built"]);
    let folder = built();
    fs::remove_file(folder.path().join("built/packages-x86_64/sweetspot-x86_64.cdx.json")).unwrap();
    gather(folder.path(), "v1.2.0").assert_says(&["sweetspot-x86_64.cdx.json is missing"]);
}

#[test]
fn the_release_runs_what_is_there_and_takes_actions_of_githubs_own_by_their_commits() {
    let workflow = yaml(".github/workflows/release.yml").remove(0);
    let makefile = fs::read_to_string(project().join("Makefile")).unwrap();
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
            ["cargo", "install", ..] | ["cp", ..] => {}
            [script, ..] => assert!(project().join(script).is_file(), "{run}"),
            [] => panic!("an empty step"),
        }
    }
    assert!(steps.len() >= 8, "{steps:?}");
    // Nothing but the release's own job may write.
    assert_eq!(workflow["permissions"], serde_json::json!({}));
    assert_eq!(workflow["jobs"]["build"]["permissions"], serde_json::json!({"contents": "read"}));
}
