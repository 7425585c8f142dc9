//! nginx in front of an app server, as it is really configured: what it must not limit, and what it
//! does when the server behind it fails.

use std::ops::ControlFlow;

use sweetspot::terms::ConnectionMode;

use super::*;

fn behind_nginx(app: &TestApp, server: &str, workers: u16, threads: u16) -> Local {
    let mut settings = app.settings_on(server);
    settings.app.proxy = Proxy::Nginx;
    started(settings, workers, threads)
}

/// From now on this many files may be open, if the machine allows it.
fn allow_open_files(files: u64) {
    // SAFETY: the structure is initialised and outlives both calls.
    unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        assert_eq!(libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit), 0);
        limit.rlim_cur = limit.rlim_cur.max(files).min(limit.rlim_max);
        assert_eq!(libc::setrlimit(libc::RLIMIT_NOFILE, &limit), 0);
    }
}

/// The next reply on a connection that stays open.
fn read_reply(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().unwrap())
    });
    let mut body = vec![0; length.unwrap_or_else(|| panic!("no length: {head}"))];
    stream.read_exact(&mut body).unwrap();
    format!("{} {}", head.split(' ').nth(1).unwrap(), String::from_utf8(body).unwrap())
}

#[test]
fn a_thousand_clients_have_their_connections_at_once_and_keep_them() {
    allow_open_files(4096);
    let app = TestApp::answering("[200, {'Content-Length' => '2'}, ['ok']]");
    let mut local = behind_nginx(&app, "puma", 1, 3);
    let address = local.address().unwrap();
    let mut clients: Vec<TcpStream> =
        (0..1000).map(|_| TcpStream::connect(address).unwrap()).collect();
    for _ in 0..2 {
        for client in &mut clients {
            client.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
            write!(client, "GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
        }
        for client in &mut clients {
            assert_eq!(read_reply(client), "200 ok");
        }
    }
    drop(clients);
    app.end(&mut local);
}

#[test]
fn what_is_larger_than_all_buffers_passes_in_both_directions() {
    const LENGTH: usize = 5_000_000;
    let app = TestApp::answering(
        "body = env['rack.input'].read; \
         [200, {'Content-Length' => body.size.to_s}, [body.reverse]]",
    );
    let before = app.listing();
    let mut local = behind_nginx(&app, "puma", 1, 1);
    let mut stream = TcpStream::connect(local.address().unwrap()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    write!(stream, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {LENGTH}\r\n\r\n").unwrap();
    stream.write_all("x".repeat(LENGTH - 1).as_bytes()).unwrap();
    stream.write_all(b"y").unwrap();
    let reply = read_reply(&mut stream);
    assert!(reply.starts_with("200 yxxx"), "{}", &reply[..20]);
    assert_eq!(reply.len(), LENGTH + "200 ".len());
    local.stop().unwrap();
    app.assert_is(&before);
}

#[test]
fn requests_whose_worker_is_killed_are_counted_as_errors_and_the_load_goes_on() {
    let page = "<?php $busy = __DIR__ . '/busy' . getmypid();
        file_put_contents($busy, hrtime(true)); usleep(100000); unlink($busy);\n";
    let app = TestApp::new(&[("index.php", page)]);
    let began = |pid: u32| std::fs::read(app.path().join(format!("busy{pid}"))).ok();
    let mut local = behind_nginx(&app, "php-fpm", 2, 1);
    let master = local.server_pid().unwrap();
    let offer = Offer { duration: Duration::from_secs(3), ..a_second(4, Duration::ZERO) };
    let mut killed = 0;
    let mut kill_one = |_: &_| {
        if killed == 0 {
            for pid in children(master) {
                // In the beginning of a request, and in none of the moments between two.
                let before = began(pid);
                wait_until("it has another", || began(pid).is_some_and(|it| Some(it) != before));
                kill(pid, libc::SIGKILL);
                killed += 1;
            }
        }
        ControlFlow::Continue(())
    };
    let observed = local.offer(&offer, &mut kill_one).unwrap();
    assert_eq!(observed.failure, None, "its master replaces it");
    let count = |status: u16| -> u64 {
        observed.load.seconds.iter().filter_map(|second| second.status.get(&status)).sum()
    };
    // Each of them had a request.
    assert_eq!((killed, count(502)), (2, 2));
    assert!(count(200) > 10, "{:?}", observed.load.seconds);
    app.end(&mut local);
}

#[test]
fn requests_are_shared_out_over_all_processes() {
    let app = TestApp::answering("[200, {}, [Process.pid.to_s]]");
    let local = behind_nginx(&app, "thin", 3, 1);
    let address = local.address().unwrap();
    let mut answers: BTreeMap<u32, u32> = BTreeMap::new();
    for _ in 0..60 {
        *answers.entry(get(address, "/").parse().unwrap()).or_default() += 1;
    }
    assert_eq!(answers.keys().copied().collect::<Vec<_>>(), {
        let mut pids = local.server_pids();
        pids.sort_unstable();
        pids
    });
    // Each of nginx's own processes takes its turns for itself.
    assert!(answers.values().all(|count| *count >= 10), "{answers:?}");
}

#[test]
fn connections_to_the_server_are_kept_where_that_is_tried() {
    let body = "$seen ||= {}; $seen[env['puma.socket'].object_id] = true; \
                File.write('connections', $seen.size); [200, {}, ['ok']]";
    let connections = |value: &str| {
        let app = TestApp::answering(body);
        let mut settings = app.settings_on("puma");
        settings.app.proxy = Proxy::Nginx;
        settings.app.changed.settings.insert("nginx.upstream_keepalive".into(), value.into());
        let mut local = started(settings, 1, 2);
        let (duration, connection) = (Duration::from_secs(3), Some(ConnectionMode::Fresh));
        let offer = Offer { duration, connection, ..a_second(2, Duration::from_millis(20)) };
        local.offer(&offer, &mut |_: &_| ControlFlow::Continue(())).unwrap();
        app.end(&mut local);
        let text = fs::read_to_string(app.path().join("connections")).unwrap();
        text.parse::<usize>().unwrap()
    };
    let (kept, fresh) = (connections("true"), connections("false"));
    assert!(fresh > 20 && kept < fresh / 2, "{kept} kept ones, {fresh} fresh ones");
}
