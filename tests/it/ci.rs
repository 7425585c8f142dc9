//! What runs in other people's CI: the GitHub Action and the GitLab template, step by step, as they
//! stand in their files, with stand-ins for GitHub and GitLab; and the release.

mod release;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::process::{Ended, ended, in_shell, project, write_files};

/// The documents of a YAML file.
fn yaml(path: &str) -> Vec<Value> {
    let program = "puts JSON.dump(YAML.load_stream(File.read(ARGV[0])))";
    let mut ruby = Command::new("ruby");
    let ended = ended(ruby.args(["-ryaml", "-rjson", "-e", program]).arg(project().join(path)));
    ended.assert_code(0);
    serde_json::from_str(&ended.stdout).unwrap()
}

/// Records its arguments. `gh api` answers with what is asked of the comments that are there
/// (`comments`), and says no where it may not (`denied`); a release is what `release/` has.
const GH: &str = r#"#!/bin/sh
printf '%s\n' "gh $*" >>"$SITE/log"
case $1 in
    api)
        case $* in
            *--method*) [ ! -e "$SITE/denied" ] || {
                echo 'gh: Resource not accessible by integration (HTTP 403)' >&2; exit 1; } ;;
            *) for filter; do :; done
                [ ! -e "$SITE/comments" ] || jq -r "$filter" "$SITE/comments" ;;
        esac
        for word; do case $word in body=@*) cp "${word#body=@}" "$SITE/body" ;; esac; done ;;
    release) [ "$2" != download ] || cp "$SITE"/release/* . ;;
    attestation) [ ! -e "$SITE/denied" ] ;;
esac
"#;

/// Records its arguments and its standard input; answers as GitLab, with pages of notes (`notes1`
/// and so on), or as a file server.
const CURL: &str = r#"#!/bin/sh
body() { for word; do case $word in body@*) cp "${word#body@}" "$SITE/body" ;; esac; done; }
printf '%s\n' "curl $*" >>"$SITE/log"
case $* in *'--config -'*) cat >>"$SITE/secrets" ;; esac
case $* in
    *--output*) while [ $# -gt 2 ]; do shift; done; cp "$SITE"/release/*.tar.gz "$1" ;;
    *per_page*)
        for url; do :; done
        page=${url##*page=}
        next=$((page + 1))
        [ -e "$SITE/notes$next" ] || next=
        while [ "$1" != --dump-header ]; do shift; done
        printf 'HTTP/2 200\r\nx-next-page: %s\r\n\r\n' "$next" >"$2"
        cat "$SITE/notes$page" 2>/dev/null || echo '[]' ;;
    *--data-urlencode*) body "$@" ;;
esac
"#;

/// Knows the options that busybox knows, and no others.
const SHA256SUM: &str = r#"#!/bin/sh
case $* in *--*) echo "sha256sum: unrecognized option in '$*'" >&2; exit 1 ;; esac
PATH=${PATH#*:}
exec sha256sum "$@"
"#;

/// A verdict for each verb, from the file of its name, with the exit code that goes with it; where
/// that is `none`, it could not measure.
const SWEETSPOT: &str = r#"#!/bin/sh
printf '%s\n' "sweetspot $*" >>"$SITE/log"
verdict=$(cat "$SITE/$1" 2>/dev/null || echo yes)
[ "$verdict" != none ] || exit 1
for word; do case $word in markdown=*) echo "**$1: $verdict**" >"${word#markdown=}" ;; esac; done
case $1 in compare) key=change ;; *) key=verdict ;; esac
printf '{\n  "%s": "%s",\n  "of": {\n    "%s": "no"\n  }\n}\n' $key "$verdict" $key
case $verdict in no | worse) exit 3 ;; undecided) exit 4 ;; esac
"#;

/// Keeps its arguments, each in brackets.
const WORDS: &str = r#"#!/bin/sh
for word; do printf '<%s>' "$word"; done >"$SITE/words"
"#;

/// A job's machine: stand-ins on its `PATH`, and what they were asked.
struct Job {
    site: TempDir,
}

impl Job {
    fn new(programs: &[(&str, &str)]) -> Self {
        let job = Self { site: tempfile::tempdir().unwrap() };
        write_files(job.site.path(), programs);
        let install = "mkdir bin app; for one; do install -m 755 $one bin/; rm $one; done";
        let names: Vec<&str> = programs.iter().map(|(name, _)| *name).collect();
        in_shell(job.site.path(), install, &names);
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
        for name in ["GITLAB_CI", "CI_JOB_NAME", "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"] {
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
        let mut known = BTreeMap::from([
            ("inputs.command".to_string(), "sweetspot".to_string()),
            ("github.action_repository".into(), "somebody/sweetspot".into()),
            ("inputs.directory".into(), ".".into()),
            ("github.job".into(), "speed".into()),
            ("strategy.job-index".into(), "0".into()),
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
        // In a container's job it is not what the context says: `runner.temp` is the host's.
        env.insert("RUNNER_TEMP".into(), self.path("results").display().to_string());
        env.insert("GITHUB_ACTION_PATH".into(), project().display().to_string());
        env.insert("GITHUB_REPOSITORY".into(), "shop/app".into());
        env.insert("GITHUB_WORKFLOW".into(), "ci".into());
        env.insert("GITHUB_JOB".into(), known["github.job"].clone());
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

/// The first line of what the job writes.
const MARK: &str = "<!-- sweetspot: ci / speed 0, in . -->";

/// Comments with these numbers and first lines, as GitHub and GitLab tell them.
fn comments(all: &[(u32, &str)]) -> String {
    let comment = |(id, mark): &(u32, &str)| json!({"id": id, "body": format!("{mark}\nold")});
    Value::from_iter(all.iter().map(comment)).to_string()
}

#[test]
fn the_action_measures_and_writes_one_comment_where_something_changed() {
    let job = Job::new(&[("gh", GH), ("sweetspot", SWEETSPOT)]);
    job.has("compare", "equivalent");
    let step = |name| job.step(name, &PULL_REQUEST);
    step("Install").assert_code(0);
    step("Verify").assert_code(0);
    step("Compare").assert_code(0);
    let comment = step("Comment");
    comment.assert_code(0).assert_says(&["nothing has surely changed", "none is made"]);
    let asked = job.asked();
    assert!(asked.contains("sweetspot verify last --json -o markdown="), "{asked}");
    assert!(asked.contains("sweetspot compare --revisions abc...def -o comment="), "{asked}");
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
    let begins = format!("{MARK}\n**verify: yes**\n\n**compare: worse**");
    assert!(body.starts_with(&begins), "{body}");

    // The next push mends it: the same comment says so.
    job.next();
    job.has("comments", &comments(&[(7, "hello"), (42, MARK)]));
    job.has("compare", "undecided");
    step("Compare").assert_code(0).assert_says(&["::warning::sweetspot compare: undecided"]);
    step("Comment").assert_says(&["the comment is written anew"]);
    let asked = job.asked();
    assert!(asked.contains("gh api --method PATCH repos/shop/app/issues/comments/42"), "{asked}");
    assert!(job.text("body").contains("nothing has surely changed"), "{}", job.text("body"));
}

#[test]
fn the_comment_of_another_job_or_of_another_folder_is_left_alone() {
    let job = Job::new(&[("gh", GH), ("sweetspot", SWEETSPOT)]);
    let all = [
        (1, "<!-- sweetspot: ci / tests 0, in . -->"),
        (2, "<!-- sweetspot: ci / speed 1, in . -->"),
        (3, "<!-- sweetspot: ci / speed 0, in shop -->"),
        (4, "<!-- sweetspot: ci / _a_ --_ 0, in . -->"),
    ];
    job.has("comments", &comments(&all));
    // One job measures each of its folders.
    for (folder, change, code, said) in [
        ("shop", "worse", 3, "the comment is written anew"),
        (".", "equivalent", 0, "none is made"),
        ("admin", "equivalent", 0, "none is made"),
    ] {
        let values = [&PULL_REQUEST[..], &[("inputs.directory", folder)]].concat();
        job.has("compare", change);
        job.step("Compare", &values).assert_code(code);
        job.step("Comment", &values).assert_says(&[said]);
    }
    let asked = job.asked();
    assert_eq!(asked.matches("--method").count(), 1, "{asked}");
    assert!(asked.contains("--method PATCH repos/shop/app/issues/comments/3"), "{asked}");

    // A name that would end the mark, or the text that it is looked for with.
    job.next();
    let values = [&PULL_REQUEST[..], &[("github.job", "\"a\\ -->")]].concat();
    job.step("Compare", &values).assert_code(0);
    job.step("Comment", &values).assert_says(&["the comment is written anew"]);
    let asked = job.asked();
    assert!(asked.contains("--method PATCH repos/shop/app/issues/comments/4"), "{asked}");
}

#[test]
fn what_could_not_be_measured_takes_nothing_back() {
    let job = Job::new(&[("gh", GH), ("sweetspot", SWEETSPOT)]);
    job.has("comments", &comments(&[(42, MARK)]));
    job.has("compare", "none");
    let step = |name| job.step(name, &PULL_REQUEST);
    step("Verify").assert_code(0);
    step("Compare").assert_code(1);
    let comment = step("Comment");
    comment.assert_code(0).assert_says(&["could not be measured: compare", "it stays"]);
    let asked = job.asked();
    assert!(!asked.contains("--method"), "{asked}");

    // What surely changed is said all the same.
    job.next();
    job.has("verify", "no");
    step("Verify").assert_code(3);
    step("Compare").assert_code(1);
    step("Comment").assert_says(&["the comment is written anew"]);
    let body = job.text("body");
    assert_eq!(body, format!("{MARK}\n**verify: no**\n\nCould not be measured: compare.\n"));
}

#[test]
fn arguments_are_parted_as_a_shell_does_and_nothing_in_them_is_run() {
    let job = Job::new(&[("sweetspot", WORDS)]);
    let verify =
        |text| job.step("Verify", &[("inputs.session", "last"), ("inputs.arguments", text)]);
    for (text, words) in [
        ("", ""),
        ("--budget 5m", "<--budget><5m>"),
        (
            "--budget 5m \\\n\t--workers 2\n--threads 5\n",
            "<--budget><5m><--workers><2><--threads><5>",
        ),
        ("--prepare 'bundle install && rake x'", "<--prepare><bundle install && rake x>"),
        ("--prepare 'first\nsecond' 'its'\\''own'", "<--prepare><first\nsecond><its'own>"),
        (r#"-H "X: \"a\" it's \d" a\ b '' x"y""#, r#"<-H><X: "a" it's \d><a b><><xy>"#),
        ("/?a=1&b=2;c * $HOME", "</?a=1&b=2;c><*><$HOME>"),
        ("$(touch run) `touch run`", "<$(touch><run)><`touch><run`>"),
    ] {
        verify(text).assert_code(0);
        let all = job.text("words");
        assert!(all.starts_with(&format!("<verify><last>{words}<--json>")), "{text}: {all}");
    }
    assert!(!job.path("app/run").exists());
    let open = verify("--start 'bundle exec puma");
    open.assert_code(2);
    open.assert_says(&["a quote (') has no end in the arguments: --start 'bundle exec puma"]);
}

#[test]
fn each_verb_gets_the_arguments_of_both_and_its_own() {
    let job = Job::new(&[("sweetspot", SWEETSPOT)]);
    let own = [
        ("inputs.arguments", "--budget 5m"),
        ("inputs.verify-arguments", "--machines"),
        ("inputs.compare-arguments", "--workers 2"),
    ];
    let values = [&PULL_REQUEST[..], &own].concat();
    job.step("Verify", &values).assert_code(0);
    job.step("Compare", &values).assert_code(0);
    let asked = job.asked();
    assert!(asked.contains("sweetspot verify last --budget 5m --machines --json"), "{asked}");
    let compare = "sweetspot compare --revisions abc...def --budget 5m --workers 2 -o comment=";
    assert!(asked.contains(compare), "{asked}");
}

#[test]
fn examples_of_revisions_name_branches_as_a_runner_has_them() {
    for path in ["action.yml", "docs/ci.md", "scripts/ci/measure"] {
        let text = fs::read_to_string(project().join(path)).unwrap();
        let words = text.split(|it: char| it.is_whitespace() || "`,;".contains(it));
        let ranges: Vec<&str> = words.filter(|word| word.contains("..HEAD")).collect();
        assert!(!ranges.is_empty(), "{path}");
        assert!(ranges.iter().all(|it| *it == "origin/main...HEAD"), "{path}: {ranges:?}");
    }
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
    verify.assert_code(2).assert_says(&["sweetspot.db", "verify: no verdict (exit code 2)"]);
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
    in_shell(&job.path(""), make, &[]);
}

/// The action as a runner has it, at a version.
fn checked_out(job: &Job, version: &str) {
    let script = fs::read_to_string(project().join("scripts/ci/install")).unwrap();
    let cargo = format!("[package]\nversion = \"{version}\"\n");
    let files = [("scripts/ci/install", script.as_str()), ("Cargo.toml", cargo.as_str())];
    write_files(&job.path("action"), &files);
}

/// A folder with what the scripts need beside sweetspot, which may be installed here.
fn without_sweetspot(job: &Job) -> String {
    let texts = ["cat", "dirname", "grep", "head", "ls", "sed"];
    let tools = ["cp", "gzip", "mkdir", "sh", "sha256sum", "tar", "uname"];
    let make = "mkdir tools && for one; do ln -s \"$(command -v $one)\" tools/; done";
    in_shell(&job.path(""), make, &[&texts[..], &tools].concat());
    format!("{}:{}", job.path("bin").display(), job.path("tools").display())
}

/// Fetches a release: the one with the version that was typed.
fn install(job: &Job, path: &str, version: &str) -> Ended {
    let [script, results, on_path] = ["action/scripts/ci/install", "results", "path"]
        .map(|name| job.path(name).display().to_string());
    let env: [(&str, &str); 6] = [
        ("COMMAND", "sweetspot"),
        ("REPOSITORY", "somebody/sweetspot"),
        ("VERSION", version),
        ("FOLDER", &results),
        ("GITHUB_PATH", &on_path),
        ("PATH", path),
    ];
    let env = env.map(|(name, value)| (name.to_string(), value.to_string()));
    job.shell(&format!("sh '{script}'"), &BTreeMap::from(env))
}

#[test]
fn the_action_fetches_its_own_release_and_trusts_only_what_was_built_there() {
    let job = Job::new(&[("gh", GH), ("sha256sum", SHA256SUM)]);
    released(&job);
    checked_out(&job, "0.1.0");
    let path = without_sweetspot(&job);
    install(&job, &path, "").assert_code(0);
    let asked = job.asked();
    assert!(asked.contains("gh release download v0.1.0 --repo somebody/sweetspot"), "{asked}");
    assert!(asked.contains("gh attestation verify sweetspot-0.1.0-"), "{asked}");
    let program = Path::new(job.text("path").trim()).join("sweetspot");
    let version = ended(&mut Command::new(program));
    assert_eq!(version.stdout, "released\n");

    job.has("denied", "");
    job.has("path", "");
    install(&job, &path, "").assert_code(1);
    assert_eq!(job.text("path"), "");
    fs::remove_file(job.path("denied")).unwrap();
    let sums = job.text("release/SHA256SUMS");
    job.has("release/SHA256SUMS", &format!("{}{}", "0".repeat(64), &sums[64..]));
    install(&job, &path, "").assert_code(1);
    assert_eq!(job.text("path"), "");
}

#[test]
fn the_release_is_the_one_that_was_typed_or_the_actions_own_and_never_just_the_latest() {
    let job = Job::new(&[("gh", GH)]);
    released(&job);
    checked_out(&job, "1.2.0");
    let path = without_sweetspot(&job);
    for (typed, tag) in [("", "v1.2.0"), ("0.1.0", "v0.1.0"), ("v0.1.0", "v0.1.0")] {
        install(&job, &path, typed).assert_code(0);
        let asked = job.asked();
        assert!(asked.contains(&format!("gh release download {tag} --repo")), "{asked}");
    }
    fs::remove_file(job.path("action/Cargo.toml")).unwrap();
    let unknown = install(&job, &path, "");
    unknown.assert_code(1);
    unknown.assert_says(&["which release to fetch is not known; name it by 'version'"]);
    assert_eq!(job.asked(), "");
    // What names the action, such as a commit, is no version.
    let step = yaml("action.yml").remove(0)["runs"]["steps"][0].take();
    assert_eq!(step["env"]["VERSION"], "${{ inputs.version }}");
}

#[test]
fn what_is_on_the_path_is_run_but_where_another_release_was_typed() {
    let job = Job::new(&[("gh", GH), ("sweetspot", "#!/bin/sh\necho sweetspot 0.1.0\n")]);
    released(&job);
    checked_out(&job, "1.2.0");
    let path = without_sweetspot(&job);
    for typed in ["", "0.1.0", "v0.1.0"] {
        install(&job, &path, typed).assert_code(0);
        assert_eq!(job.asked(), "", "{typed}");
    }
    install(&job, &path, "0.2.0").assert_code(0);
    let asked = job.asked();
    assert!(asked.contains("gh release download v0.2.0 --repo"), "{asked}");

    // Containers lack what fetches it.
    fs::remove_file(job.path("bin/gh")).unwrap();
    let without = install(&job, &path, "0.3.0");
    without.assert_code(1).assert_says(&["its container needs gh, or sweetspot"]);
    // And nothing is measured then with what is not there.
    let steps = yaml("action.yml").remove(0)["runs"]["steps"].take();
    let compare = steps.as_array().unwrap().iter().find(|step| step["name"] == "Compare").unwrap();
    assert!(compare["if"].as_str().unwrap().contains("steps.install.outcome == 'success'"));
}

/// What the template's job runs, but that its program is the stand-in of this job.
fn gitlab_script() -> String {
    let template = yaml("templates/sweetspot.yml").remove(1)["sweetspot"].take();
    let lines = template["script"].as_array().unwrap();
    let lines: Vec<&str> = lines.iter().map(|line| line.as_str().unwrap()).collect();
    let program = |line: &&str| !line.starts_with("export PATH=");
    lines.iter().copied().filter(program).collect::<Vec<_>>().join("\n")
}

/// The variables of the template's job on a merge request.
fn gitlab_env(job: &Job, token: &str) -> BTreeMap<String, String> {
    let sums = job.text("release/SHA256SUMS");
    let results = job.path("results").display().to_string();
    let env: [(&str, &str); 18] = [
        ("GITLAB_CI", "true"),
        ("CI_API_V4_URL", "https://gitlab.example/api/v4"),
        ("CI_JOB_NAME", "sweetspot: [3.4]"),
        ("CI_MERGE_REQUEST_PROJECT_ID", "5"),
        ("CI_MERGE_REQUEST_IID", "7"),
        ("CI_MERGE_REQUEST_DIFF_BASE_SHA", "abc"),
        ("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA", ""),
        ("CI_COMMIT_SHA", "def"),
        ("SWEETSPOT_TOKEN", token),
        ("ARCHIVE", "https://files.example/sweetspot.tar.gz"),
        ("SHA256", &sums[..64]),
        ("SESSION", "last"),
        ("COMPARE", "yes"),
        ("ARGUMENTS", "--budget 5m"),
        ("VERIFY_ARGUMENTS", "--machines"),
        ("COMPARE_ARGUMENTS", "--prepare 'bundle install'"),
        ("DIRECTORY", "."),
        ("FOLDER", &results),
    ];
    BTreeMap::from(env.map(|(name, value)| (name.to_string(), value.to_string())))
}

#[test]
fn the_gitlab_template_does_the_same_and_shows_its_token_to_nobody() {
    let job = Job::new(&[("curl", CURL), ("sweetspot", SWEETSPOT), ("sha256sum", SHA256SUM)]);
    released(&job);
    let script = gitlab_script();
    job.has("compare", "worse");
    let made = job.shell(&script, &gitlab_env(&job, "glpat-secret"));
    made.assert_code(3).assert_says(&["the comment is made"]);
    let asked = job.asked();
    assert!(asked.contains("sweetspot verify last --budget 5m --machines --json"), "{asked}");
    let compare = "compare --revisions abc..def --budget 5m --prepare bundle install -o comment=";
    assert!(asked.contains(compare), "{asked}");
    let results = job.path("results").display().to_string();
    let notes = "https://gitlab.example/api/v4/projects/5/merge_requests/7/notes";
    let written = format!("--data-urlencode body@{results}/body.md {notes}");
    assert!(asked.contains(&format!("--request POST {written}")), "{asked}");
    assert!(!asked.contains("secret"), "{asked}");
    assert!(job.text("secrets").contains("header = \"PRIVATE-TOKEN: glpat-secret\""));

    // Ours is on the second page of notes; those of other jobs are not ours.
    job.next();
    job.has("notes1", &comments(&[(1, "hello"), (2, "<!-- sweetspot: sweetspot, in . -->")]));
    job.has("notes2", &comments(&[(9, "<!-- sweetspot: sweetspot: [3.4], in . -->")]));
    let again = job.shell(&script, &gitlab_env(&job, "glpat-secret"));
    again.assert_says(&["the comment is written anew"]);
    let asked = job.asked();
    assert!(asked.contains(&format!("--request PUT {written}/9")), "{asked}");

    job.next();
    let fork = job.shell(&script, &gitlab_env(&job, ""));
    fork.assert_code(3);
    fork.assert_says(&["has no SWEETSPOT_TOKEN", "is in the job's log", "**compare: worse**"]);
}

#[test]
fn of_a_merged_results_pipeline_the_merge_requests_own_head_is_compared() {
    let job = Job::new(&[("curl", CURL), ("sweetspot", SWEETSPOT)]);
    released(&job);
    let mut env = gitlab_env(&job, "glpat-secret");
    env.insert("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA".into(), "fed".into());
    job.shell(&gitlab_script(), &env).assert_code(0);
    let asked = job.asked();
    assert!(asked.contains("sweetspot compare --revisions abc..fed "), "{asked}");
}
