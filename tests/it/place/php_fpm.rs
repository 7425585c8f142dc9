//! PHP-FPM behind nginx as it is really inspected, started in spite of the app's own settings, and
//! tuned.

use sweetspot::terms::BootFailureKind;

use super::*;
use crate::failures::site::Site;

#[test]
fn the_apps_own_pool_is_read_without_starting_anything() {
    for (own, workers, obeys) in [
        ("[www]\npm = static\npm.max_children = 7\n", 7, None),
        ("[www]\npm = dynamic\npm.max_children = ${NO_SUCH_NUMBER}\n", 5, Some("NO_SUCH_NUMBER")),
        ("[www]\npm = ondemand\npm.max_children = ${OWN_NUMBER}\n", 9, Some("OWN_NUMBER")),
    ] {
        let app = TestApp::new(&[("index.php", "<?php\n"), ("php-fpm.conf", own)]);
        let mut settings = app.settings_on("php-fpm");
        settings.app.env.insert("OWN_NUMBER".into(), "9".into());
        let mut local = Local::new(settings, StopSignal::default()).unwrap();
        let inspection = local.inspect().unwrap();
        assert_eq!(inspection.current, configuration(workers, 1), "{own}");
        assert_eq!(inspection.obeys.workers.as_deref(), obeys, "{own}");
        assert!(inspection.server_version.starts_with(|c: char| c.is_ascii_digit()));
        assert!(inspection.runtime_version.starts_with("php "));
    }
    // Whatever this machine's own pool says.
    let without = TestApp::new(&[("index.php", "<?php\n")]).inspect_on("php-fpm");
    let said = "today's number of workers is ";
    assert!(remarks(&without).starts_with(said), "{without:?}");
}

/// Settings that would listen, write and run elsewhere, hide errors and start another pool; and
/// some that have to stay.
const STUBBORN: &str = "[global]\npid = FOLDER/fpm.pid\nerror_log = FOLDER/fpm.log\n\
    daemonize = yes\nlog_level = error\nprocess.max = 1\n\
    [shop]\nuser = nobody\ngroup = nogroup\nlisten = 127.0.0.1:OWN_PORT\nlisten.backlog = 77\n\
    pm = dynamic\npm.max_children = 9\npm.start_servers = 2\npm.min_spare_servers = 1\n\
    pm.max_spare_servers = 3\npm.status_listen = 127.0.0.1:OWN_PORT\nchdir = /\n\
    access.log = FOLDER/access.log\nslowlog = FOLDER/slow.log\nrequest_slowlog_timeout = 1\n\
    catch_workers_output = no\nclear_env = yes\nphp_flag[display_errors] = on\n\
    php_admin_value[error_log] = FOLDER/php.log\n\
    ; kept\nphp_admin_value[memory_limit] = 77M\nenv[SHOP] = ${OWN_WORD}\n\
    request_terminate_timeout = 20s\n\
    [other]\nlisten = FOLDER/other.sock\npm = static\npm.max_children = 3\n";

#[test]
fn the_apps_own_ports_files_and_numbers_give_way_and_the_rest_stays() {
    let own_port = unused_address();
    let page = "<?php error_log('from the app'); \
                echo ini_get('memory_limit'), ' ', getenv('SHOP'), ' ', getenv('OWN_WORD'), ' ', \
                getenv('WEB_CONCURRENCY'), ' ', \
                ini_get('display_errors') ? 'shown' : 'hidden';\n";
    let app = TestApp::new(&[("public/index.php", page)]);
    let own = STUBBORN
        .replace("OWN_PORT", &own_port.port().to_string())
        .replace("FOLDER", app.path().to_str().unwrap());
    fs::create_dir(app.path().join("config")).unwrap();
    fs::write(app.path().join("config/php-fpm.conf"), own).unwrap();
    let before = app.listing();
    let mut settings = app.settings_on("php-fpm");
    settings.app.env.insert("OWN_WORD".into(), "word".into());
    let mut local = Local::new(settings, StopSignal::default()).unwrap();
    for workers in [3, 1] {
        start(&mut local, workers, 1);
        let expected = format!("77M word word {workers} hidden");
        assert_eq!(get(local.address().unwrap(), "/"), expected);
        assert!(TcpStream::connect(own_port).is_err(), "the app's own port is open");
        assert_eq!(children(local.server_pid().unwrap()).len(), usize::from(workers));
    }
    app.end(&mut local);
    app.assert_is(&before);
}

#[test]
fn a_line_that_php_fpm_does_not_know_is_shown_with_its_number() {
    let own = "[www]\nlisten = 127.0.0.1:1\nno_such_setting = 3\n";
    let app = TestApp::new(&[("index.php", "<?php\n"), ("php-fpm.conf", own)]);
    let failure = start_failing(&mut app.local_on("php-fpm"), 2, 1);
    assert_eq!(failure.kind, BootFailureKind::Exited);
    let shown = failure.last_lines.join("\n");
    assert!(shown.contains("php-fpm.conf:3]"), "{failure:?}");
    assert!(shown.contains("no_such_setting"), "{failure:?}");
    app.assert_nothing_is_left();
}

#[test]
fn a_page_that_fails_shows_why() {
    for (page, kind, expected) in [
        ("<?php shop(\n", BootFailureKind::ServerError, "PHP Parse error"),
        ("<?php no_such_function();\n", BootFailureKind::ServerError, "no_such_function()"),
        (
            "<?php throw new Exception('SQLSTATE[HY000] [2002] Connection refused');\n",
            BootFailureKind::Database,
            "SQLSTATE",
        ),
    ] {
        // Errors that are shown would make these pages good ones.
        let own = ("php-fpm.conf", "[www]\nphp_flag[display_errors] = on\n");
        let app = TestApp::new(&[("index.php", page), own]);
        let failure = start_failing(&mut app.local_on("php-fpm"), 2, 1);
        assert_eq!(failure.kind, kind, "{failure:?}");
        let shown = failure.last_lines.join("\n");
        assert!(shown.contains(expected) && shown.contains("index.php"), "{failure:?}");
        app.assert_nothing_is_left();
    }
}

#[test]
fn pages_files_folders_and_paths_are_answered_as_web_servers_have_it() {
    let front = "<?php echo 'front ', $_SERVER['REQUEST_URI'], ' ', $_GET['q'] ?? '-';\n";
    let page = "<?php echo $_SERVER['SCRIPT_NAME'], ' ', $_SERVER['PATH_INFO'], ' ', \
                $_SERVER['REQUEST_METHOD'], ' ', $_SERVER['SERVER_PORT'], ' ', \
                $_SERVER['HTTP_HOST'];\n";
    let app = TestApp::new(&[
        ("public/index.php", front),
        ("public/admin/index.php", "<?php echo 'admin';\n"),
        ("public/page.php", page),
        ("public/logo.txt", "a file"),
        ("public/root.php", "<?php echo $_SERVER['DOCUMENT_ROOT'];\n"),
        ("public/.env", "APP_KEY=s3cret"),
        ("public/.git/config", "s3cret"),
        ("public/.well-known/acme", "a proof"),
    ]);
    let local = started(app.settings_on("php-fpm"), 1, 1);
    let address = local.address().unwrap();
    let port = address.port();
    for (path, expected) in [
        ("/", "front / -".to_string()),
        ("/orders/1?q=2", "front /orders/1?q=2 2".to_string()),
        ("/index.php/orders?q=3", "front /index.php/orders?q=3 3".to_string()),
        ("/admin/", "admin".to_string()),
        ("/logo.txt", "a file".to_string()),
        ("/.well-known/acme", "a proof".to_string()),
        ("/root.php", app.folder.path().join("public").display().to_string()),
        ("/page.php", format!("/page.php  GET {port} a")),
        ("/page.php/x/y", format!("/page.php /x/y GET {port} a")),
    ] {
        assert_eq!(get(address, path), expected, "{path}");
    }
    for path in ["/.env", "/.git/config"] {
        let answer = get(address, path);
        assert!(answer.contains("404 Not Found") && !answer.contains("s3cret"), "{answer}");
    }
}

#[test]
fn a_tune_ends_in_a_decision_that_names_workers_only() {
    let page = "<?php usleep(20000); echo 'ok';\n";
    let own = "[www]\npm = static\npm.max_children = 1\n";
    let site = Site::working(&[("public/index.php", page), ("php-fpm.conf", own)]);
    let tune = ["tune", "--workers", "1,3", "--budget", "60s", "--slo", "p95<1s"];
    let ended = site.run(&tune);
    ended.assert_code(0).assert_says(&[
        "Run 3 workers: it holds",
        "times what today's 1 worker holds",
        "(PHP)",
        "php-fpm (found in the app)",
        "pm.max_children = 3",
        "php-fpm's configuration file",
    ]);
    // A warning may name a program of another test that takes the cores.
    let about_others =
        |line: &&str| ["(pid ", "load by others", " cores)"].iter().any(|it| line.contains(it));
    let printed = format!("{}{}", ended.stdout, ended.stderr);
    let printed: Vec<&str> = printed.lines().filter(|line| !about_others(line)).collect();
    let printed = printed.join("\n").to_lowercase();
    for word in ["thread", "ruby", "gem ", "rack", "gvl"] {
        assert!(!printed.contains(word), "{word} in:\n{printed}");
    }
    let report = site.run(&["sessions", "show", "last", "--json"]).json();
    assert_eq!(report["decision"]["workers"], 3);
    assert_eq!(report["decision"]["threads"], 1);
}
