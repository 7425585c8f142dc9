//! Puma as it is really started, inspected and stopped.

use std::net::TcpListener;
use std::ops::ControlFlow;

use sweetspot::terms::{BootFailureKind, ConnectionMode};

use super::*;

#[test]
fn each_configuration_runs_with_exactly_its_workers_and_threads() {
    let app = TestApp::answering("[200, {}, ['ok']]");
    let mut local = app.local();
    for (workers, threads) in [(1, 1), (1, 4), (2, 1), (3, 2)] {
        start(&mut local, workers, threads);
        let server = local.server_pid().unwrap();
        let serving = if workers == 1 { vec![server] } else { children(server) };
        assert_eq!(serving.len(), usize::from(workers), "{workers} x {threads}");
        for pid in serving {
            // Threads are made right after a worker says that it has booted.
            let expected = usize::from(threads);
            wait_until("all threads are there", || threads_named(pid, "puma srv tp 0") == expected);
        }
    }
    app.end(&mut local);
}

#[test]
fn the_apps_own_settings_are_read_without_starting_anything() {
    for (config, workers, threads, remark) in [
        ("threads 2, 4\nworkers 3\n", 3, 4, "threads 2:4 are run as 4:4"),
        ("threads 5, 5\n", 1, 5, "single mode"),
        ("workers 1\nthreads 3, 3\n", 1, 3, "run in single mode"),
    ] {
        let app = TestApp::new(&[("config.ru", "raise 'booted'"), ("config/puma.rb", config)]);
        let inspection = app.inspect(app.local());
        assert_eq!(inspection.current, configuration(workers, threads), "{config}");
        assert!(remarks(&inspection).contains(remark), "{config}: {inspection:?}");
        assert!(inspection.server_version.starts_with(|c: char| c.is_ascii_digit()));
        assert!(inspection.runtime_version.starts_with("ruby "));
    }
}

#[test]
fn settings_that_insist_on_a_port_are_read_without_one() {
    let config = "port Integer(ENV.fetch('PORT'))\nworkers 3\n";
    let app = TestApp::new(&[("config.ru", ""), ("config/puma.rb", config)]);
    assert_eq!(app.inspect(app.local()).current, configuration(3, 5));
}

#[test]
fn an_app_that_is_never_preloaded_is_not_told_that_it_would_be() {
    let app =
        TestApp::new(&[("config.ru", ""), ("config/puma.rb", "workers 2\npreload_app! false\n")]);
    let remarks = remarks(&app.inspect(app.local()));
    assert!(!remarks.contains("preload"), "{remarks}");
}

#[test]
fn what_an_older_puma_does_not_have_is_not_asked_of_it() {
    let config = "%i[bind_to_activated_sockets worker_check_interval].each do |name|\n  \
                  singleton_class.undef_method(name)\nend\n";
    let answer = ("config.ru", "run ->(env) { [200, {}, ['ok']] }\n");
    let app = TestApp::new(&[answer, ("config/puma.rb", config)]);
    let mut local = started(app.settings(), 2, 1);
    assert_eq!(get(local.address().unwrap(), "/"), "ok");
    app.end(&mut local);
}

#[test]
fn a_plugin_that_works_inside_the_server_is_named_and_pumas_own_is_not() {
    let plugin = "require \"puma/plugin\"\nPuma::Plugin.create { def start(_) = nil }\n";
    let config =
        "$LOAD_PATH.unshift File.expand_path(\"lib\")\nplugin :jobs\nplugin :tmp_restart\n";
    let files =
        [("config.ru", ""), ("config/puma.rb", config), ("lib/puma/plugin/jobs.rb", plugin)];
    let app = TestApp::new(&files);
    assert_remarks(&app.inspect(app.local()), &["jobs runs inside the server"]);
}

#[test]
fn sidekiq_that_the_settings_embed_is_named() {
    let config = "workers 2\nbefore_fork { $jobs = Sidekiq.configure_embed { } }\n";
    let app = TestApp::new(&[("config.ru", ""), ("config/puma.rb", config)]);
    assert_remarks(&app.inspect(app.local()), &["sidekiq runs inside the server"]);
}

#[test]
fn channels_to_which_nobody_connects_here_are_said() {
    let channel = "class ChatChannel < ApplicationCable::Channel\nend\n";
    let files = [
        ("config.ru", ""),
        ("config/puma.rb", "workers 2\n"),
        ("app/channels/application_cable/channel.rb", ""),
        ("app/channels/chat_channel.rb", channel),
    ];
    let app = TestApp::new(&files);
    assert_remarks(&app.inspect(app.local()), &["Action Cable may serve 1 channel of"]);
}

#[test]
fn settings_that_do_not_load_are_shown_with_their_line() {
    let app =
        TestApp::new(&[("config.ru", ""), ("config/puma.rb", "threads 1, 1\nno_such_setting 3\n")]);
    let failure = unread(app.local());
    assert_eq!(failure.kind, BootFailureKind::Exited);
    assert!(why(&failure).contains("no_such_setting"), "{failure:?}");
    assert!(why(&failure).contains("config/puma.rb:2"), "{failure:?}");
}

#[test]
fn settings_that_never_end_are_given_up_when_the_user_wants_to_end() {
    let app = TestApp::new(&[("config.ru", ""), ("config/puma.rb", "sleep\n")]);
    let stop = StopSignal::default();
    let mut local = Local::new(app.settings(), stop.clone()).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            wait_until("the inspection runs", || !app.processes().is_empty());
            stop.raise();
        });
        assert!(matches!(local.inspect(), Err(PlaceError::Stopped)));
    });
    app.assert_nothing_is_left();
}

/// Settings that would write into the app's folder, hide the output, and listen elsewhere.
const STUBBORN: &str = r#"
port OWN_PORT
bind "tcp://127.0.0.1:OWN_PORT"
workers 4
threads 1, 9
environment "staging"
directory "/"
pidfile "tmp/pids/server.pid"
state_path "tmp/pids/server.state"
stdout_redirect "log/out.log", "log/err.log", true
custom_logger StringIO.new if respond_to?(:custom_logger)
activate_control_app "tcp://127.0.0.1:OWN_PORT"
bind_to_activated_sockets "only"
fork_worker
preload_app!
before_fork { $hook = 'hooked' }
"#;

#[test]
fn the_apps_own_ports_files_and_numbers_give_way_and_its_hooks_stay() {
    let own_port = unused_address();
    let config = STUBBORN.replace("OWN_PORT", &own_port.port().to_string());
    let answer = "[200, {}, [[Dir.pwd, $hook, ENV['RACK_ENV'], \
                  ENV['WEB_CONCURRENCY'], ENV['RAILS_MAX_THREADS']].join(' ')]]";
    let app = TestApp::new(&[
        ("config.ru", &format!("run ->(env) {{ {answer} }}\n")),
        ("config/puma.rb", &config),
        ("tmp/pids/.keep", ""),
        ("log/.keep", ""),
    ]);
    let before = app.listing();
    let mut local = started(app.settings(), 2, 3);
    let folder = app.path();
    let expected = format!("{} hooked production 2 3", folder.display());
    assert_eq!(get(local.address().unwrap(), "/"), expected);
    assert!(TcpStream::connect(own_port).is_err(), "the app's own port is open");
    let is_worker = |pid: &u32| title(*pid).starts_with("puma: cluster worker");
    let workers: Vec<u32> = app.processes().into_iter().filter(is_worker).collect();
    assert_eq!(workers.len(), 2);
    wait_until("threads are 3:3", || threads_named(workers[0], "puma srv tp 0") == 3);

    start(&mut local, 1, 2);
    let reply = get(local.address().unwrap(), "/");
    assert!(reply.ends_with("production 0 2"), "{reply}");
    let server = local.server_pid().unwrap();
    assert_eq!(children(server), Vec::<u32>::new());
    assert!(TcpStream::connect(own_port).is_err(), "the app's own port is open");
    app.end(&mut local);

    app.assert_is(&before);
}

#[test]
fn the_address_is_free_again_and_our_own_folder_gone_when_it_was_stopped() {
    let app = TestApp::answering("[200, {}, ['ok']]");
    let scratch = tempfile::tempdir().unwrap();
    let settings = LocalSettings { scratch_in: vec![scratch.path().into()], ..app.settings() };
    let mut local = started(settings, 2, 1);
    let address = local.address().unwrap();
    assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 1);
    local.stop().unwrap();
    local.stop().unwrap();
    assert_eq!(local.server_pid(), None);
    assert!(TcpListener::bind(address).is_ok(), "{address} is still in use");
    drop(local);
    assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 0);
    app.assert_nothing_is_left();
}

#[test]
fn a_folder_that_cannot_be_written_to_is_named_with_the_way_out() {
    let app = TestApp::answering("[200, {}, ['ok']]");
    let settings = LocalSettings { scratch_in: vec!["/no/such/folder".into()], ..app.settings() };
    let error = Local::new(settings, StopSignal::default()).err().unwrap();
    let error = sweetspot::session::tune::TuneError::from(error).to_string();
    assert!(error.contains("/no/such/folder") && error.contains("TMPDIR"), "{error}");
}

#[test]
fn a_load_of_so_many_requests_ends_after_them() {
    const REQUESTS: u64 = 50;
    let app = TestApp::answering("[200, {}, ['ok']]");
    let settings = LocalSettings { most_requests: Some(REQUESTS), ..app.settings() };
    let mut local = started(settings, 1, 2);
    let second = a_second(5, Duration::from_millis(20));
    let offer = Offer { duration: Duration::from_secs(600), ..second };
    let observed = local.offer(&offer, &mut |_: &_| ControlFlow::Continue(())).unwrap();
    let due: u64 = observed.load.seconds.iter().map(|second| second.due).sum();
    assert_eq!(due, REQUESTS, "long before the time is up");
    assert!(!observed.load.run.is_cut_short);
    app.end(&mut local);
}

#[test]
fn the_last_replies_are_awaited_after_the_load_has_ended() {
    let app = TestApp::answering("sleep 2.5 if env['PATH_INFO'] == '/slow'; [200, {}, ['ok']]");
    let mut local = started(app.settings(), 1, 2);
    local.set_targets(vec![Target::get("/slow")]);
    let offer = a_second(2, Duration::ZERO);
    let observed = local.offer(&offer, &mut |_: &_| ControlFlow::Continue(())).unwrap();
    assert!(!observed.load.run.is_cut_short);
    let answered: u64 =
        observed.load.seconds.iter().filter_map(|second| second.status.get(&200)).sum();
    assert_eq!(answered, 2, "{:?}", observed.load.seconds);
    app.end(&mut local);
}

#[test]
fn an_offer_may_come_over_connections_of_another_kind_than_the_places() {
    let body = "SEEN ||= {}; SEEN[env['puma.socket'].object_id] = true; \
                File.write('connections', SEEN.size); [200, {}, ['ok']]";
    let app = TestApp::answering(&body.replace("SEEN", "$seen"));
    let mut local = started(app.settings(), 1, 2);
    let mut connections_after = |connection| {
        let offer = Offer { connection, ..a_second(2, Duration::from_millis(20)) };
        let seen = local.offer(&offer, &mut |_: &_| ControlFlow::Continue(())).unwrap();
        let text = fs::read_to_string(app.path().join("connections")).unwrap();
        let replies: u64 = seen.load.seconds.iter().map(|second| second.replies).sum();
        (text.parse::<u64>().unwrap(), replies)
    };
    let (kept, replies) = connections_after(Some(ConnectionMode::KeepAlive));
    // Puma closes a connection after some hundred requests, and the readiness probe has its own.
    assert!(kept <= 6 && replies > 6, "{kept} connections that are kept, {replies} replies");
    let (all, replies) = connections_after(None);
    // Two requests at once may write the file in either order: it may lack the last connection.
    let fresh = all - kept + 1;
    assert!(fresh >= replies && replies > 6, "{fresh} connections, {replies} replies");
    app.end(&mut local);
}
