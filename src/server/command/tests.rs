use std::path::Path;

use super::*;
use crate::report::Language;
use crate::server::tests::{assert_causes, settings};

fn app(text: &str, env: &[(&str, &str)]) -> App {
    let command = CommandTemplate {
        text: text.to_string(),
        words: text.split(' ').map(String::from).collect(),
        stop_signal: 15,
        today: Configuration::new(1, 1).unwrap(),
        runs: Runs::Server,
    };
    App {
        command: Some(command),
        env: env.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect(),
        ..App::new("/srv/shop", Framework::Other, "")
    }
}

fn launch(app: &App, listen: &Listen) -> CommandLine {
    let (configuration, scratch) = (Configuration::new(3, 5).unwrap(), Path::new("/tmp/scratch"));
    Command.launch(Launch { app, configuration, listen, scratch }).commands.remove(0)
}

#[test]
fn the_command_and_its_variables_are_filled_in() {
    let app = app(
        "bin/serve -w {workers} -t {threads} -p {port}",
        &[("POOL", "max={threads}"), ("KEY", "{\"a\": 1}")],
    );
    let line = launch(&app, &Listen::Port(4000));
    assert_eq!(line.arguments, ["/srv/shop/bin/serve", "-w", "3", "-t", "5", "-p", "4000"]);
    let expected = [("KEY", "{\"a\": 1}"), ("POOL", "max=5"), ("PORT", "4000")];
    for (name, value) in expected.iter().chain(&[("WEB_CONCURRENCY", "3")]) {
        assert_eq!(line.env[*name], *value, "{name}");
    }
    assert_eq!(line.env.len(), 4, "{:?}", line.env);
}

#[test]
fn nothing_is_said_of_workers_to_a_command_without_them() {
    let line = launch(&app("serve {socket}", &[]), &Listen::Socket("/tmp/app.sock".into()));
    assert_eq!(line.arguments, ["serve", "/tmp/app.sock"]);
    assert!(line.env.is_empty(), "{:?}", line.env);
    assert!(line.env_removed.contains(&"PORT".to_string()));
}

#[test]
fn a_port_of_the_users_own_stays_where_the_command_listens_on_a_socket() {
    let own = app("serve {socket}", &[("PORT", "3000")]);
    let line = launch(&own, &Listen::Socket("/tmp/app.sock".into()));
    assert_eq!(line.env["PORT"], "3000");
    assert!(!line.env_removed.contains(&"PORT".to_string()), "{:?}", line.env_removed);
}

#[test]
fn the_users_own_variables_come_before_the_convention() {
    let env = [("WEB_CONCURRENCY", "7"), ("N", "{workers}")];
    assert_eq!(launch(&app("serve {port}", &env), &Listen::Port(1)).env["WEB_CONCURRENCY"], "7");
}

#[test]
fn it_has_threads_when_its_command_or_a_variable_has_a_place_for_them() {
    for (text, env, expected) in [
        ("serve {threads}", vec![], true),
        ("serve", vec![("T", "{threads}")], true),
        ("serve {workers}", vec![("T", "5")], false),
    ] {
        assert_eq!(Command.has_threads(&app(text, &env)), expected, "{text}");
    }
}

#[test]
fn those_that_serve_are_workers_wherever_they_stand() {
    let configuration = Configuration::new(2, 1).unwrap();
    for (is_root, serves, role) in [
        (true, true, Role::Worker),
        (true, false, Role::Master),
        (false, true, Role::Worker),
        (false, false, Role::Other),
    ] {
        let facts = ProcessFacts { is_root, serves, title: "serve" };
        assert_eq!(Command.role(configuration, facts), role, "{is_root} {serves}");
    }
}

#[test]
fn the_setting_is_the_command_and_shows_no_secret() {
    let app = app(
        "serve -w {workers} -t {threads} -p {port}",
        &[("POOL", "{threads}"), ("URL", "db://u:s3cret@h?pool={threads}"), ("KEY", "s3cret")],
    );
    let inspection = Command.read_inspection(&app, "").unwrap();
    assert_eq!(inspection.server_version, "serve");
    let settings = settings(&Command, &app, &inspection, 3, 5);
    assert_eq!(settings.start, "serve -w 3 -t 5 -p {port}");
    let env = [("POOL", "5"), ("WEB_CONCURRENCY", "3")];
    assert_eq!(settings.env, env.map(|(name, value)| (name.into(), value.into())).into());
    let advice = Language::DATA.say_each(&settings.advice).join("\n");
    assert!(advice.contains("{port} is the one"), "{advice}");
    assert!(advice.contains("set URL as you gave it, with 3 workers and 5 threads"), "{advice}");
    assert!(advice.contains("(3 x 5)"), "{advice}");
    assert!(!format!("{settings:?}").contains("s3cret"));
}

#[test]
fn where_the_numbers_stand_within_other_text_alone_there_is_nothing_to_paste() {
    let numbers = ("GUNICORN_CMD_ARGS", "--workers {workers} --threads {threads}");
    for (runs, alone) in [
        (Runs::KamalSetting, "env:\n  clear:\n    POOL: \"5\""),
        (Runs::EcsSetting, "\"environment\": [\n  { \"name\": \"POOL\", \"value\": \"5\" }\n]"),
    ] {
        for (env, snippet) in [(vec![numbers], ""), (vec![numbers, ("POOL", "{threads}")], alone)] {
            let mut app = app("deploy", &env);
            app.command.iter_mut().for_each(|command| command.runs = runs);
            let inspection = Command.read_inspection(&app, "").unwrap();
            let settings = settings(&Command, &app, &inspection, 3, 5);
            assert_eq!(settings.config_snippet, snippet, "{runs:?}");
            let advice = Language::DATA.say_each(&settings.advice).join("\n");
            let expected = "set GUNICORN_CMD_ARGS as you gave it, with 3 workers and 5 threads";
            assert!(advice.contains(expected), "{advice}");
        }
    }
}

#[test]
fn nothing_is_said_of_threads_where_there_is_no_place_for_them() {
    let app = app("serve -w {workers} -p {port}", &[]);
    let inspection = Command.read_inspection(&app, "").unwrap();
    let settings = settings(&Command, &app, &inspection, 3, 1);
    let said = Language::DATA.say_each(&inspection.remarks).join("\n");
    let all = format!("{settings:?} {said}");
    assert!(!all.contains("thread"), "{all}");
}

#[test]
fn a_taken_port_is_recognised_in_the_words_of_several_languages() {
    for line in [
        "OSError: [Errno 98] Address already in use",
        "Error: listen EADDRINUSE: address already in use 127.0.0.1:4000",
        "[ERROR] Connection in use: ('127.0.0.1', 4000)",
        "panicked: listen tcp 127.0.0.1:4000: bind: address already in use",
    ] {
        assert_causes(&Command, &[(line, BootFailureKind::PortTaken)]);
    }
    assert_causes(&Command, &[("boom", BootFailureKind::Exited)]);
}
