//! `sweetspot tune --ecs`: a small ECS of the tests' own, which runs real Pumas for tasks, and what
//! can come between a session and its end there.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use rustix::fs::{FlockOperation, flock};
use serde_json::Value;

use super::{Elsewhere, note};
use crate::failures::site::{Running, Site, configuration, set_mode};
use crate::process::{Ended, write_files};

/// A service that AWS runs two tasks of, behind a load balancer and scaled.
const ACCOUNT: &str = r#"{
    "definitions": [{
        "taskDefinitionArn": "arn:aws:ecs:eu-west-1:1:task-definition/shop:7",
        "family": "shop", "revision": 7, "status": "ACTIVE", "cpu": "1024", "memory": "1024",
        "networkMode": "awsvpc", "tags": [{"key": "team", "value": "shop"}],
        "containerDefinitions": [
            {
                "name": "web", "image": "shop:1",
                "environment": [
                    {"name": "RAILS_MAX_THREADS", "value": "1"}, {"name": "COLOUR", "value": "blue"}
                ],
                "secrets": [{"name": "WEB_CONCURRENCY", "valueFrom": "arn:parameter"}]
            },
            {"name": "logs", "image": "logs:1"}
        ]
    }],
    "service": {
        "serviceName": "shop", "status": "ACTIVE", "desiredCount": 2,
        "taskDefinition": "arn:aws:ecs:eu-west-1:1:task-definition/shop:7",
        "healthCheckGracePeriodSeconds": 30, "loadBalancers": [{"targetGroupArn": "arn:group"}],
        "deployments": [{
            "id": "ecs-svc/0", "status": "PRIMARY", "desiredCount": 2, "runningCount": 2,
            "pendingCount": 0, "failedTasks": 0, "rolloutState": "COMPLETED",
            "taskDefinition": "arn:aws:ecs:eu-west-1:1:task-definition/shop:7"
        }]
    },
    "suspended": {
        "DynamicScalingInSuspended": false, "DynamicScalingOutSuspended": false,
        "ScheduledScalingSuspended": true
    },
    "drain": "300"
}"#;

/// The service of [`ACCOUNT`], and AWS's command in front of it.
pub struct Account {
    pub site: Site,
    elsewhere: Elsewhere,
    tools: String,
}

impl Account {
    pub fn new() -> Self {
        let (site, elsewhere) = (Site::new(&[]), Elsewhere::new());
        let stand_in = include_str!("aws.rb");
        write_files(elsewhere.folder.path(), &[("state.json", ACCOUNT), ("tools/aws", stand_in)]);
        set_mode(&elsewhere.path("tools/aws"), 0o755);
        let path = std::env::var("PATH").unwrap();
        let tools = format!("{}:{path}", elsewhere.path("tools").display());
        Self { site, elsewhere, tools }
    }

    pub fn with_tools(&self, mut command: Command) -> Command {
        command.env("HOST_FOLDER", self.elsewhere.folder.path()).env("PATH", &self.tools);
        command
    }

    pub fn tune(&self, threads: &str, more: &[&str]) -> Running {
        let url = &self.elsewhere.url;
        let mut command = self.site.command(&["tune", "--ecs", "prod/shop", "--url", url]);
        let today = format!("1x{}", threads.split(',').next().unwrap());
        command.args(["--workers", "1", "--threads", threads, "--today", &today]);
        // Room for each setting, also where many tests run at a time.
        let budget = format!("{}s", 40 * threads.split(',').count());
        command.args(["--slo", "p95<500ms", "--budget", &budget]).args(more);
        Running::begin(self.with_tools(command))
    }

    /// A session that is killed once it measures.
    pub fn kill_a_tune(&self) {
        let mut running = self.tune("8", &["--fresh-session"]);
        running.expect("held");
        running.signal(libc::SIGKILL);
        running.end();
    }

    /// What a session has the program do to the service, done without one.
    fn run_own(&self, what: &[&str]) -> Ended {
        let record = self.record();
        let at = ["--record", record.to_str().unwrap()];
        let command = self.site.command(&[&["__ecs"][..], what, &at].concat());
        let mut command = self.with_tools(command);
        command.env("SWEETSPOT_VARIABLES", "WEB_CONCURRENCY,RAILS_MAX_THREADS");
        command.env("SWEETSPOT_VALUE_WEB_CONCURRENCY", "1");
        command.env("SWEETSPOT_VALUE_RAILS_MAX_THREADS", "8");
        self.site.run_command(command)
    }

    pub fn restore(&self) -> Ended {
        self.site.run_command(self.with_tools(self.site.command(&["restore"])))
    }

    /// Has AWS be like this: see its stand-in.
    fn put(&self, name: &str, text: &str) {
        fs::write(self.elsewhere.path(name), text).unwrap();
    }

    fn remove(&self, name: &str) {
        fs::remove_file(self.elsewhere.path(name)).unwrap();
    }

    fn record(&self) -> PathBuf {
        self.site.path("app/.sweetspot/ecs/prod-shop.json")
    }

    fn state(&self) -> Value {
        let text = fs::read_to_string(self.elsewhere.path("state.json")).unwrap();
        serde_json::from_str(&text).unwrap()
    }

    fn change(&self, change: impl FnOnce(&mut Value)) {
        let lock = fs::File::create(self.elsewhere.path("lock")).unwrap();
        // A question of a killed session's may still be answered.
        flock(&lock, FlockOperation::LockExclusive).unwrap();
        let mut state = self.state();
        change(&mut state);
        fs::write(self.elsewhere.path("state.json"), state.to_string()).unwrap();
    }

    pub fn assert_as_before(&self) {
        assert_eq!(self.state()["service"]["taskDefinition"], arn("shop:7"));
        self.assert_ours_put_back();
    }

    /// All but the revision that runs, which may be somebody else's.
    fn assert_ours_put_back(&self) {
        let (now, before) = (self.state(), serde_json::from_str::<Value>(ACCOUNT).unwrap());
        for key in ["desiredCount", "healthCheckGracePeriodSeconds"] {
            assert_eq!(now["service"][key], before["service"][key], "{key}");
        }
        self.assert_scaled_as_before();
        let definitions = now["definitions"].as_array().unwrap();
        assert_eq!(definitions[0], before["definitions"][0]);
        let is_gone = |it: &Value| it["status"] == "INACTIVE" || it["family"] == "shop";
        assert!(definitions.iter().all(is_gone), "{definitions:#?}");
        assert!(!self.record().exists() && !note(&self.site).exists());
    }

    fn assert_scaled_as_before(&self) {
        let (now, before) = (self.state(), serde_json::from_str::<Value>(ACCOUNT).unwrap());
        assert_eq!((&now["suspended"], &now["drain"]), (&before["suspended"], &before["drain"]));
    }
}

/// A revision's name in full.
fn arn(revision: &str) -> String {
    format!("arn:aws:ecs:eu-west-1:1:task-definition/{revision}")
}

#[test]
fn a_service_of_ecs_is_tuned_with_one_task_and_is_as_before() {
    let account = Account::new();
    let ended = account.tune("8", &["--json"]).end();
    ended.assert_code(0);
    let result = ended.json();
    assert_eq!(configuration(&result["decision"]), (1, 8), "{result:#}");
    let lines = result["decision"]["settings"]["config_snippet"].as_str().unwrap();
    assert!(lines.contains(r#"{ "name": "RAILS_MAX_THREADS", "value": "8" }"#), "{lines}");
    let before = serde_json::from_str::<Value>(ACCOUNT).unwrap();
    let made = account.state()["definitions"][1].clone();
    assert_eq!(
        (&made["family"], &made["tags"][0]["key"]),
        (&"shop-sweetspot".into(), &"team".into())
    );
    assert_eq!(made["containerDefinitions"][0]["secrets"], Value::Array(Vec::new()));
    assert_eq!(
        made["containerDefinitions"][1],
        before["definitions"][0]["containerDefinitions"][1]
    );
    let env = fs::read_to_string(account.elsewhere.path("env")).unwrap();
    assert_eq!(env, "COLOUR=blue\nRAILS_MAX_THREADS=1\n");
    account.assert_as_before();

    // A task that does not start is given up with ECS's own words.
    let refused = account.tune("7", &[]).end();
    refused.assert_code(1);
    refused.assert_says(&["Essential container in task exited", "container web: exit status 1"]);
    account.assert_as_before();

    // Killed in the middle, and then not allowed to put it back: what is missing is named.
    account.kill_a_tune();
    assert_eq!(account.state()["service"]["desiredCount"], 1);
    account.put("denied", "register-scalable-target");
    let denied = account.restore();
    denied.assert_code(1);
    denied.assert_says(&["application-autoscaling:RegisterScalableTarget", "not authorized"]);
    account.remove("denied");
    // Asked too much, it is asked again, which is said.
    account.put("throttled", "2");
    let restored = account.restore();
    restored.assert_code(0);
    restored.assert_says(&[
        "AWS throttles (aws ecs describe-services)",
        "service prod/shop is as it was before the session",
    ]);
    assert_eq!(fs::read_to_string(account.elsewhere.path("throttled")).unwrap(), "0");
    account.assert_as_before();
    account.site.nothing_left.check();
}

#[test]
fn what_somebody_else_has_set_on_a_service_meanwhile_stays() {
    let account = Account::new();
    let mut running = account.tune("8", &[]);
    running.expect("held");
    // From another folder it is seen to be tuned.
    let other = account.elsewhere.path("another.db");
    let second = account.tune("8", &["--store", other.to_str().unwrap()]).end();
    second.assert_code(1);
    second.assert_says(&["runs a setting of another session of sweetspot"]);
    running.signal(libc::SIGKILL);
    running.end();
    account.change(|state| state["drain"] = "60".into());
    let restored = account.restore();
    restored.assert_code(0);
    restored.assert_says(&[
        "service prod/shop is put back, but for what somebody else set meanwhile",
        "service prod/shop: the time in which target group arn:group lets a task finish is left at \
         60 s, as somebody else set it meanwhile (it was 300 s)",
    ]);
    assert_eq!(account.state()["drain"], "60");
    account.change(|state| state["drain"] = "300".into());
    account.assert_as_before();
    account.site.nothing_left.check();
}

/// Killed after it has written down what the service was: before anything of it is changed, and
/// before the last of it is, which somebody else then sets.
#[test]
fn a_first_setting_that_was_killed_is_begun_again_and_what_others_set_since_stays() {
    for (fatal, drain, drain_then) in
        [("register-scalable-target", "300", "5"), ("modify-target-group-attributes", "60", "60")]
    {
        let account = Account::new();
        account.put("fatal", fatal);
        let killed = account.run_own(&["apply", "prod/shop"]);
        assert_eq!(killed.code, None, "{killed:?}");
        assert!(account.record().exists());
        assert_eq!(account.state()["service"]["desiredCount"], 2);
        account.change(|state| state["drain"] = drain.into());

        account.run_own(&["apply", "prod/shop"]).assert_code(0);
        let state = account.state();
        let suspended = state["suspended"].as_object().unwrap();
        assert!(suspended.values().all(|it| *it == true), "{suspended:?}");
        assert_eq!(state["drain"], drain_then);
        assert_eq!(state["service"]["desiredCount"], 1);
        account.run_own(&["check", "prod/shop"]).assert_code(0);

        account.run_own(&["restore"]).assert_code(0);
        assert_eq!(account.state()["drain"], drain);
        account.change(|state| state["drain"] = "300".into());
        account.assert_as_before();
        account.site.nothing_left.check();
    }
}

/// Before the setting was measured that it landed on, and while the next one came up. What is left
/// is named with `--quiet` too.
#[test]
fn what_somebody_else_deploys_in_the_middle_ends_the_session_and_stays() {
    for (others, has_measured, more) in
        [("1 measured", false, &[][..]), ("2 deploying", true, &["--quiet"][..])]
    {
        let account = Account::new();
        account.put("others", others);
        let ended = account.tune("2,8", more).end();
        ended.assert_code(1);
        let theirs = arn("shop:8");
        ended.assert_says(&[
            &format!("cannot be measured any further: somebody else deployed {theirs} meanwhile"),
            &format!(
                "service prod/shop: {theirs}, which somebody else deployed meanwhile, is left"
            ),
        ]);
        assert!(!ended.stderr.contains("the command that applies it failed"), "{ended:?}");
        // What was measured while it landed does not count.
        assert_eq!(!account.site.trials().is_empty(), has_measured, "{others}");
        assert_eq!(account.state()["service"]["taskDefinition"], theirs);
        account.assert_ours_put_back();
        account.site.nothing_left.check();
    }
}

#[test]
fn credentials_that_expire_in_the_middle_end_the_session_and_the_way_back_is_named() {
    let account = Account::new();
    let mut running = account.tune("2,8", &[]);
    running.expect("held");
    // Asked too much in the middle, it says so and goes on.
    account.put("throttled", "1");
    running.expect("AWS throttles (aws ecs ");
    account.put("expired", "");
    let ended = running.end();
    ended.assert_code(1);
    ended.assert_says(&[
        "cannot be measured any further: the credentials are no longer good; sign in again",
        "could not be put back; do it with 'sweetspot restore",
        "ExpiredTokenException",
    ]);
    assert!(note(&account.site).exists() && account.record().exists());
    let again = account.restore();
    again.assert_code(1);
    again.assert_says(&["could not be put back", "sign in again"]);
    account.remove("expired");
    account.restore().assert_code(0);
    account.assert_as_before();
    account.site.nothing_left.check();
}

#[test]
fn a_service_that_does_not_come_up_again_is_scaled_as_before_and_put_back_once_it_does() {
    let account = Account::new();
    account.kill_a_tune();
    account.put("stuck", "");
    let stuck = account.restore();
    stuck.assert_code(1);
    stuck.assert_says(&["could not be put back", "2 of its tasks did not start"]);
    account.assert_scaled_as_before();
    assert!(note(&account.site).exists() && account.record().exists());
    account.remove("stuck");
    account.restore().assert_code(0);
    account.assert_as_before();
    account.site.nothing_left.check();
}
