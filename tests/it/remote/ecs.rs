//! `sweetspot tune --ecs`: a small ECS of the tests' own, which runs real Pumas for tasks, and what
//! can come between a session and its end there.

use std::fs;
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use serde_json::{Value, json};
use sweetspot::session::ecs::ENDS_SESSION;

use super::{Elsewhere, note};
use crate::failures::site::{Running, Site, configuration, set_mode};
use crate::process::{Ended, Kept, codes, long_ones_are_wanted, wait_until, write_files};

/// A service of two tasks, behind a load balancer and scaled, which AWS is about to start.
const ACCOUNT: &str = include_str!("account.json");

/// The service of [`ACCOUNT`], and AWS's command in front of it.
pub struct Account {
    pub site: Site,
    elsewhere: Elsewhere,
    tools: String,
    /// What it was made with.
    before: Value,
    _balancer: Kept,
}

impl Account {
    pub fn new() -> Self {
        Self::of(|_| {})
    }

    /// Its limits for deployments leave no room to replace one task.
    fn without_room() -> Self {
        Self::of(|state| state["service"]["deploymentConfiguration"] = limits(50, 100))
    }

    /// One whose limits leave that room, and then one whose limits don't.
    pub fn with_and_without_room() -> impl Iterator<Item = Self> {
        [Self::new as fn() -> Self, Self::without_room].into_iter().map(|make| make())
    }

    /// With this changed of [`ACCOUNT`]; its tasks run.
    fn of(change: impl FnOnce(&mut Value)) -> Self {
        // Most of the time its tasks are waited for, a look each two seconds.
        let (site, elsewhere) = (Site::new(&[]), Elsewhere::not_started());
        let mut before: Value = serde_json::from_str(ACCOUNT).unwrap();
        change(&mut before);
        let state = before.to_string();
        let files = [
            ("state.json", &*state),
            ("tools/aws", include_str!("aws.rb")),
            ("balancer.rb", include_str!("balancer.rb")),
        ];
        write_files(elsewhere.folder.path(), &files);
        set_mode(&elsewhere.path("tools/aws"), 0o755);
        fs::create_dir(elsewhere.path("tasks")).unwrap();
        let mut balancer = Command::new("ruby");
        balancer.arg(elsewhere.path("balancer.rb")).env("HOST_FOLDER", elsewhere.folder.path());
        let path = std::env::var("PATH").unwrap();
        let tools = format!("{}:{path}", elsewhere.path("tools").display());
        let balancer = Kept::start(&mut balancer);
        let account = Self { site, elsewhere, tools, before, _balancer: balancer };
        account.begin();
        account
    }

    /// Waits until all of its tasks run.
    fn begin(&self) {
        let describe = ["ecs", "describe-services", "--cluster", "prod", "--services", "shop"];
        wait_until("its tasks run", || {
            // Ruby reads it: what was just written may not be run by itself.
            let mut aws = Command::new("ruby");
            aws.arg("--disable=gems")
                .arg(self.elsewhere.path("tools/aws"))
                .args(describe)
                .args(["--output", "json"]);
            let answer = self.with_tools(aws).output().unwrap();
            assert!(answer.status.success(), "{answer:?}");
            let rollout = self.state()["service"]["deployments"][0]["rolloutState"].take();
            // A look costs as much as a start, and the tasks need the cores for theirs.
            if rollout != "COMPLETED" {
                std::thread::sleep(Duration::from_millis(200));
            }
            rollout == "COMPLETED"
        });
        let address = self.elsewhere.url.trim_start_matches("http://");
        wait_until("its balancer listens", || TcpStream::connect(address).is_ok());
    }

    pub fn with_tools(&self, mut command: Command) -> Command {
        command.env("HOST_FOLDER", self.elsewhere.folder.path()).env("PATH", &self.tools);
        command
    }

    pub fn tune(&self, threads: &str, more: &[&str]) -> Running {
        // Room for each setting, also where many tests run at a time.
        let budget = format!("{}s", 45 * threads.split(',').count());
        self.tune_within(&budget, threads, more)
    }

    fn tune_within(&self, budget: &str, threads: &str, more: &[&str]) -> Running {
        let url = &self.elsewhere.url;
        let mut command = self.site.command(&["tune", "--ecs", "prod/shop", "--url", url]);
        let today = format!("1x{}", threads.split(',').next().unwrap());
        command.args(["--workers", "1", "--threads", threads, "--today", &today]);
        command.args(["--slo", "p95<500ms", "--budget", budget]).args(more);
        Running::begin(self.with_tools(command))
    }

    /// A session that is killed once it measures.
    pub fn kill_a_tune(&self) {
        let mut running = self.tune("8", &["--fresh-session"]);
        running.expect(", unloaded, ");
        running.signal(libc::SIGKILL);
        running.end();
    }

    /// What a session has the program do to the service, done without one.
    fn run_own(&self, what: &[&str]) -> Ended {
        self.site.run_command(self.own(what))
    }

    /// The same, killed while AWS's command is asked for this (see its stand-in), which ends too
    /// before it is done.
    fn run_killed(&self, what: &[&str], fatal: &str) {
        let (operation, number) = fatal.split_once(' ').unwrap_or((fatal, "1"));
        let done = || {
            let calls = fs::read_to_string(self.elsewhere.path("calls")).unwrap();
            calls.lines().filter(|call| call.starts_with(operation)).count()
        };
        let expected = done() + number.parse::<usize>().unwrap() - 1;
        self.put("fatal", fatal);
        let killed = self.run_own(what);
        assert_eq!(killed.code, None, "{killed:?}");
        let pid = fs::read_to_string(self.elsewhere.path("fatal.pid")).unwrap();
        let stat = || fs::read_to_string(format!("/proc/{pid}/stat"));
        // Whoever adopts it may not have waited for it yet.
        wait_until("its aws ends", || stat().map_or(true, |stat| stat.contains(") Z ")));
        assert_eq!(done(), expected, "it was done all the same");
    }

    fn own(&self, what: &[&str]) -> Command {
        let record = self.record();
        let at = ["--record", record.to_str().unwrap()];
        let command = self.site.command(&[&["__ecs"][..], what, &at].concat());
        let mut command = self.with_tools(command);
        command.env("SWEETSPOT_VARIABLES", "WEB_CONCURRENCY,RAILS_MAX_THREADS");
        command.env("SWEETSPOT_VALUE_WEB_CONCURRENCY", "1");
        command.env("SWEETSPOT_VALUE_RAILS_MAX_THREADS", "8");
        command
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
        self.site.path("app/.sweetspot/ecs/prod.shop.json")
    }

    fn state(&self) -> Value {
        let text = fs::read_to_string(self.elsewhere.path("state.json")).unwrap();
        serde_json::from_str(&text).unwrap()
    }

    fn minimum_healthy_percent(&self) -> Value {
        self.state()["service"]["deploymentConfiguration"]["minimumHealthyPercent"].clone()
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
        let (now, before) = (self.state(), &self.before);
        for key in ["desiredCount", "healthCheckGracePeriodSeconds", "deploymentConfiguration"] {
            assert_eq!(now["service"][key], before["service"][key], "{key}");
        }
        self.assert_scaled_as_before();
        let tasks = now["tasks"].as_array().unwrap();
        assert_eq!(json!(tasks.len()), before["service"]["desiredCount"], "{tasks:#?}");
        let definition = &now["service"]["taskDefinition"];
        let runs = |it: &Value| it["status"] == "RUNNING" && it["taskDefinition"] == *definition;
        assert!(tasks.iter().all(runs), "{tasks:#?}");
        let definitions = now["definitions"].as_array().unwrap();
        assert_eq!(definitions[0], before["definitions"][0]);
        let is_gone = |it: &Value| it["status"] == "INACTIVE" || it["family"] == "shop";
        assert!(definitions.iter().all(is_gone), "{definitions:#?}");
        assert!(!self.record().exists() && !note(&self.site).exists());
    }

    fn assert_scaled_as_before(&self) {
        let (now, before) = (self.state(), &self.before);
        assert_eq!((&now["suspended"], &now["drain"]), (&before["suspended"], &before["drain"]));
    }
}

/// Of tasks in a deployment, in percent.
fn limits(least: u32, most: u32) -> Value {
    json!({
        "minimumHealthyPercent": least, "maximumPercent": most,
        "deploymentCircuitBreaker": {"enable": true, "rollback": true},
    })
}

/// A revision's name in full.
fn arn(revision: &str) -> String {
    format!("arn:aws:ecs:eu-west-1:1:task-definition/{revision}")
}

/// What the warning of this code says; `None`: there is none.
fn warned<'a>(result: &'a Value, code: &str) -> Option<&'a str> {
    let mut warnings = result["warnings"].as_array()?.iter();
    warnings.find(|it| it["code"] == code)?["message"].as_str()
}

#[test]
fn a_service_of_ecs_is_tuned_with_one_task_and_is_as_before() {
    let account = Account::new();
    let ended = account.tune("8", &["--json"]).end();
    ended.assert_code(0);
    let result = ended.json();
    assert_eq!(configuration(&result["decision"]), (1, 8), "{result:#}");
    // No load is long enough for what CloudWatch keeps.
    let unseen = warned(&result, "not_seen").unwrap();
    for said in ["no shell was given", "no whole minute"] {
        assert!(unseen.contains(said), "{unseen}");
    }
    assert!(!ended.stdout.contains("CloudWatch"), "{}", ended.stdout);
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
    assert_eq!(env, "COLOUR=blue\nRAILS_MAX_THREADS=1\nWEB_CONCURRENCY=1\n");
    account.assert_as_before();

    // A task that does not start is given up with ECS's own words for it, which also tells of those
    // of other settings.
    account.change(|state| {
        state["stopped"] = json!([{
            "taskArn": "arn:task/other", "taskDefinitionArn": arn("shop-sweetspot:1"),
            "stoppedAt": 9e9, "stoppedReason": "Scaling activity initiated by deployment",
        }]);
    });
    let refused = account.tune("7", &[]).end();
    refused.assert_code(1);
    refused.assert_says(&["Essential container in task exited", "container web: exit status 1"]);
    assert!(!format!("{refused:?}").contains("Scaling activity"), "{refused:?}");
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

/// A rate is held for two minutes where there is time for that, and only such a load has a whole
/// minute for certain. Where it may not be read, that is said, and nothing else of it.
#[test]
fn what_cloudwatch_recorded_while_the_rate_was_held_stands_in_the_result() {
    if !long_ones_are_wanted() {
        return;
    }
    let account = Account::new();
    let tune = || {
        let running = account.tune_within("10m", "8", &["--fresh-session", "--json"]);
        let ended = running.end_within(Duration::from_secs(1200));
        ended.assert_code(0);
        account.assert_as_before();
        ended
    };
    let ended = tune();
    // Each minute is recorded later than the load is over.
    ended.assert_says(&["which do not count, for what the platform records of this load"]);
    let result = ended.json();
    // Also where nothing was seen of the loads before.
    assert!(warned(&result, "not_seen").is_some(), "{result:#}");
    let whose = warned(&result, "only_whole_minutes").unwrap_or_else(|| panic!("{result:#}"));
    assert!(whose.contains("CloudWatch's figure"), "{whose}");
    let trials = result["trials"].as_array().unwrap();
    let is_long = |trial: &&Value| trial["load_s"].as_f64() >= Some(124.0);
    let held = trials.iter().find(is_long).unwrap_or_else(|| panic!("{result:#}"));
    assert_eq!(held["purpose"], "hold");
    // Of one core, for hundreds of requests a second: some of it, and not all.
    let cpu_s = held["cpu_s"]["other"].as_f64().unwrap();
    assert!((1.0..120.0).contains(&cpu_s), "{held:#}");
    let memory_bytes = held["memory_bytes"].as_u64().unwrap();
    assert!((10 << 20..1 << 30).contains(&memory_bytes), "{held:#}");
    let short = trials.iter().filter(|it| !is_long(it)).collect::<Vec<_>>();
    let is_blind = |it: &&Value| it["cpu_s"]["other"].is_null() && it["memory_bytes"].is_null();
    assert!(short.iter().all(is_blind), "{short:#?}");
    assert!(!codes(&result).contains(&"metrics_unread"), "{result:#}");

    account.put("denied", "get-metric-data");
    let denied = tune();
    denied.assert_says(&["their policy needs cloudwatch:GetMetricData"]);
    assert!(codes(&denied.json()).contains(&"metrics_unread"), "{}", denied.stdout);
    assert!(!denied.stdout.contains("CloudWatch's figure"), "{}", denied.stdout);
    account.site.nothing_left.check();
}

#[test]
fn what_somebody_else_has_set_on_a_service_meanwhile_stays() {
    let account = Account::new();
    let mut running = account.tune("8", &[]);
    running.expect(", unloaded, ");
    // From another folder it is seen to be tuned.
    let other = account.elsewhere.path("another.db");
    let second = account.tune("8", &["--store", other.to_str().unwrap()]).end();
    second.assert_code(1);
    second.assert_says(&["runs a setting of another session of sweetspot"]);
    running.signal(libc::SIGKILL);
    running.end();
    account.change(|state| state["drain"] = "60".into());
    // There it is put back by what is written down in AWS; and by the record all the same.
    let there = ["restore", "--ecs", "prod/shop", "--store", other.to_str().unwrap()];
    let there = account.site.run_command(account.with_tools(account.site.command(&there)));
    assert_eq!(account.state()["service"]["taskDefinition"], arn("shop:7"));
    for restored in [there, account.restore()] {
        restored.assert_code(0);
        restored.assert_says(&[
            "service prod/shop is put back, but for what somebody else set meanwhile",
            "service prod/shop: the time in which target group arn:group lets a task finish is \
             left at 60 s, as somebody else set it meanwhile (it was 300 s)",
        ]);
        assert_eq!(account.state()["drain"], "60");
    }
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
        account.run_killed(&["apply", "prod/shop"], fatal);
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
    running.expect(", saturate, ");
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
    let account = Account::without_room();
    account.kill_a_tune();
    account.put("stuck", "");
    let stuck = account.restore();
    stuck.assert_code(1);
    stuck.assert_says(&["could not be put back", "2 of its tasks did not start"]);
    account.assert_scaled_as_before();
    // What ran with the setting of the session goes on meanwhile.
    assert_eq!(account.minimum_healthy_percent(), 50);
    assert_eq!(account.state()["tasks"][0]["status"], "RUNNING");
    assert!(note(&account.site).exists() && account.record().exists());
    account.remove("stuck");
    account.restore().assert_code(0);
    account.assert_as_before();
    account.site.nothing_left.check();
}

/// Tasks of two settings are there side by side for a while, whenever it is deployed.
#[test]
fn a_service_of_three_tasks_is_measured_with_one_alone_and_has_three_again() {
    let account = Account::of(|state| {
        state["service"]["desiredCount"] = 3.into();
        state["service"]["deployments"][0]["desiredCount"] = 3.into();
    });
    let plan = account.tune("4,8", &["--dry-run"]).end();
    plan.assert_code(0);
    plan.assert_says(&["one task of it deployed in place of all that run"]);
    let ended = account.tune("4,8", &["--json"]).end();
    ended.assert_code(0);
    let result = ended.json();
    // Eight threads that wait for 20 ms each.
    let capacity = result["decision"]["capacity_rps"].as_f64().unwrap();
    assert!(capacity <= 400.0, "{result:#}");
    let mixed = fs::read_to_string(account.elsewhere.path("mixed")).unwrap_or_default();
    assert_eq!(mixed, "", "was asked while tasks of two deployments were there");
    account.assert_as_before();
    account.site.nothing_left.check();
}

/// One task may neither go before another is there, nor another come before it has gone.
#[test]
fn limits_that_leave_no_room_to_replace_one_task_are_lifted_for_the_time() {
    for (least, most) in [(50, 100), (100, 150)] {
        let of_it = limits(least, most);
        let account =
            Account::of(|state| state["service"]["deploymentConfiguration"] = of_it.clone());
        account.run_own(&["apply", "prod/shop"]).assert_code(0);
        assert_eq!(account.minimum_healthy_percent(), 0);
        account.run_own(&["check", "prod/shop"]).assert_code(0);
        // Of its own two tasks one is replaced after the other.
        account.remove("down");
        account.run_own(&["restore"]).assert_code(0);
        assert!(!account.elsewhere.path("down").exists(), "none of its tasks ran for a while");
        account.assert_as_before();
        account.site.nothing_left.check();
    }
}

/// Killed once they are lifted and nothing is deployed yet, and once they are put back and what ran
/// before is not deployed yet.
#[test]
fn limits_that_were_lifted_are_put_back_by_whoever_comes_next_unless_others_have_set_them() {
    let account = Account::without_room();
    account.run_killed(&["apply", "prod/shop"], "update-service 2");
    assert_eq!(account.minimum_healthy_percent(), 0);
    account.run_own(&["restore"]).assert_code(0);
    account.assert_as_before();

    account.run_killed(&["apply", "prod/shop"], "update-service 2");
    account.run_own(&["apply", "prod/shop"]).assert_code(0);
    account.run_killed(&["restore"], "update-service 2");
    assert_eq!(account.minimum_healthy_percent(), 50);
    assert_eq!(account.state()["service"]["desiredCount"], 1);
    account.run_own(&["restore"]).assert_code(0);
    account.assert_as_before();

    account.run_own(&["apply", "prod/shop"]).assert_code(0);
    let set = |state: &mut Value, to: u32| {
        state["service"]["deploymentConfiguration"]["minimumHealthyPercent"] = to.into();
    };
    account.change(|state| set(state, 25));
    let restored = account.run_own(&["restore"]);
    restored.assert_code(0);
    restored.assert_says(&[
        "service prod/shop: minimumHealthyPercent is left at 25, as somebody else set it meanwhile \
         (it was 50)",
    ]);
    assert_eq!(account.minimum_healthy_percent(), 25);
    account.change(|state| set(state, 50));
    account.assert_as_before();
    account.site.nothing_left.check();
}

/// Killed once all runs again that ran before.
#[test]
fn limits_that_leave_no_room_for_the_services_own_tasks_either_are_put_back_last() {
    let account =
        Account::of(|state| state["service"]["deploymentConfiguration"] = limits(100, 100));
    account.run_own(&["apply", "prod/shop"]).assert_code(0);
    account.run_killed(&["restore"], "update-service 2");
    assert_eq!(account.minimum_healthy_percent(), 0);
    assert_eq!(account.state()["service"]["desiredCount"], 2);
    account.run_own(&["restore"]).assert_code(0);
    account.assert_as_before();
    account.site.nothing_left.check();
}

/// It is told of as inactive for a while, and then not at all.
#[test]
fn around_a_service_that_was_deleted_meanwhile_all_is_as_before() {
    for status in ["INACTIVE", "MISSING"] {
        let account = Account::new();
        account.run_own(&["apply", "prod/shop"]).assert_code(0);
        account.change(|state| {
            state["service"]["status"] = status.into();
            state["service"]["desiredCount"] = 0.into();
        });
        let restored = account.run_own(&["restore"]);
        restored.assert_code(0);
        restored.assert_says(&["service prod/shop: somebody else deleted it meanwhile"]);
        account.assert_scaled_as_before();
        assert!(!account.record().exists());
        account.site.nothing_left.check();
    }
}

/// AWS may tell for a moment more what it was before it was changed.
#[test]
fn a_service_that_is_told_as_it_was_is_put_back_all_the_same() {
    for account in Account::with_and_without_room() {
        let before = account.state()["service"].to_string();
        account.run_own(&["apply", "prod/shop"]).assert_code(0);
        account.put("stale", &before);
        account.run_own(&["restore"]).assert_code(0);
        account.assert_as_before();
        account.site.nothing_left.check();
    }
}

#[test]
fn a_task_that_never_becomes_healthy_is_given_up_after_the_deployments_time() {
    let account = Account::new();
    account.put("silent", "");
    let mut apply = account.own(&["apply", "prod/shop"]);
    apply.env("SWEETSPOT_WITHIN_S", "31");
    let late = account.site.run_command(apply);
    late.assert_code(1);
    late.assert_says(&["the service was not stable after 0 minutes; --boot-timeout gives it"]);
    account.remove("silent");
    account.run_own(&["restore"]).assert_code(0);
    account.assert_as_before();
    account.site.nothing_left.check();
}

#[test]
fn a_parameter_that_somebody_else_sets_meanwhile_stays_and_is_what_its_tasks_get_again() {
    let account = Account::new();
    account.run_own(&["apply", "prod/shop"]).assert_code(0);
    let env = || fs::read_to_string(account.elsewhere.path("env")).unwrap();
    assert_eq!(env(), "COLOUR=blue\nRAILS_MAX_THREADS=8\nWEB_CONCURRENCY=1\n");
    account.change(|state| state["parameters"]["arn:parameter"] = "2".into());
    account.run_own(&["check", "prod/shop"]).assert_code(0);
    account.run_own(&["restore"]).assert_code(0);
    assert_eq!(env(), "COLOUR=blue\nRAILS_MAX_THREADS=1\nWEB_CONCURRENCY=2\n");
    assert_eq!(account.state()["parameters"]["arn:parameter"], "2");
    account.assert_as_before();
    account.site.nothing_left.check();
}

/// Whichever step it is. What was done before it is undone without it.
#[test]
fn a_step_that_is_not_allowed_is_named_with_its_permission_and_all_is_as_before() {
    for account in Account::with_and_without_room() {
        for (denied, permission) in [
            ("register-scalable-target", "application-autoscaling:RegisterScalableTarget"),
            ("modify-target-group-attributes", "elasticloadbalancing:ModifyTargetGroupAttributes"),
            ("register-task-definition", "ecs:RegisterTaskDefinition"),
            ("update-service", "ecs:UpdateService"),
        ] {
            account.put("denied", denied);
            let refused = account.run_own(&["apply", "prod/shop"]);
            refused.assert_code(i32::from(ENDS_SESSION));
            refused.assert_says(&[&format!("their policy needs {permission}")]);
            assert!(account.record().exists());
            account.run_own(&["restore"]).assert_code(0);
            account.assert_as_before();
        }
        account.site.nothing_left.check();
    }
}
