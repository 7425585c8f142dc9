//! uvicorn as it is really inspected and started.

use sweetspot::terms::BootFailureKind;

use super::*;

/// An app that answers with its process id.
const APP: &str = "import os\nasync def app(scope, receive, send):\n    \
                   assert scope['type'] == 'http'\n    body = str(os.getpid()).encode()\n    \
                   await send({'type': 'http.response.start', 'status': 200, 'headers': []})\n    \
                   await send({'type': 'http.response.body', 'body': body})\n";

#[test]
fn it_is_inspected_without_starting_anything() {
    let app = TestApp::new(&[("asgi.py", "raise ValueError('booted')\napp = 1\n")]);
    let inspection = app.inspect_on("uvicorn");
    assert_eq!(inspection.current, configuration(1, 1));
    assert_eq!(inspection.obeys.workers.as_deref(), Some("WEB_CONCURRENCY"));
    let remarks = remarks(&inspection);
    assert!(!remarks.contains("thread") && remarks.contains("access log"), "{remarks}");
}

#[test]
fn an_app_that_silences_logging_and_a_factory_come_up_and_write_nothing() {
    let silent = format!(
        "import logging.config\n\
         logging.config.dictConfig({{'version': 1, 'disable_existing_loggers': True}})\n{APP}"
    );
    let factory = "from asgi import app as inner\ndef create_app():\n    return inner\n";
    let app = TestApp::new(&[("asgi.py", &silent), ("made.py", factory)]);
    let before = app.listing();
    for entry in ["asgi:app", "made:create_app()"] {
        for workers in [1, 2] {
            let mut settings = app.settings_on("uvicorn");
            settings.app.entry = entry.to_string();
            let mut local = started(settings, workers, 1);
            assert!(get(local.address().unwrap(), "/").parse::<u32>().is_ok());
            app.end(&mut local);
        }
    }
    app.assert_is(&before);
}

#[test]
fn it_is_measured_with_the_folder_and_the_flags_of_the_command_that_deploys_it() {
    let text = APP.replace("str(os.getpid())", "scope['root_path']");
    let command = "web: uvicorn --app-dir src --root-path /api --loop asyncio main:app\n";
    let app = TestApp::new(&[("src/main.py", &text), ("Procfile", command)]);
    let before = app.listing();
    for workers in [1, 2] {
        let settings = LocalSettings { app: app.planned(), ..app.settings_on("uvicorn") };
        let mut local = started(settings, workers, 1);
        assert_eq!(get(local.address().unwrap(), "/"), "/api");
        app.end(&mut local);
    }
    app.assert_is(&before);
}

#[test]
fn a_worker_that_ended_is_not_replaced_and_the_others_answer() {
    let app = TestApp::new(&[("asgi.py", APP)]);
    let mut local = started(app.settings_on("uvicorn"), 2, 1);
    let address = local.address().unwrap();
    let killed: u32 = get(address, "/").parse().unwrap();
    kill(killed, libc::SIGKILL);
    wait_until("another answers", || {
        get(address, "/").parse::<u32>().is_ok_and(|pid| pid != killed)
    });
    let left: u32 = get(address, "/").parse().unwrap();
    assert_eq!(get(address, "/").parse::<u32>().unwrap(), left, "there is only one");
    app.end(&mut local);
}

#[test]
fn an_app_that_does_not_start_up_and_one_that_is_not_there_are_shown() {
    let raising = "async def app(scope, receive, send):\n    await receive()\n    \
                   await send({'type': 'lifespan.startup.failed', 'message': 'boom at startup'})\n";
    for (text, entry, expected) in [
        (raising, "asgi:app", "boom at startup"),
        ("x = 1\n", "asgi:app", "Attribute \"app\" not found"),
        ("x = 1\n", "gone:app", "Could not import module \"gone\""),
    ] {
        for workers in [1, 2] {
            let app = TestApp::new(&[("asgi.py", text)]);
            let mut settings = app.settings_on("uvicorn");
            settings.app.entry = entry.to_string();
            let failure = failing(settings, workers, 1);
            assert_eq!(failure.kind, BootFailureKind::Exited, "{failure:?}");
            assert!(failure.last_lines.join("\n").contains(expected), "{failure:#?}");
            app.assert_nothing_is_left();
        }
    }
}
