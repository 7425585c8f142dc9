//! nginx in front of an app server: its configuration, its processes, its last words.
//!
//! In: a server's recipe. Out: the recipe with nginx in front. Only computes.

use std::fmt::Write;
use std::path::Path;

use super::command_line::{shell, text};
use super::filled::filled;
use super::knobs::{Knob, Knobs, Values};
use super::{App, CommandLine, Listen, Recipe, Upstream, failure};
use crate::terms::BootFailureKind;

/// Its configuration in the scratch folder.
const CONFIG: &str = "nginx.conf";

/// What can be tried of it.
pub const KNOBS: &[Knob] = &[
    Knob::new("nginx.worker_processes", Values::Count, directive),
    Knob::new("nginx.worker_connections", Values::Count, directive),
    Knob::new("nginx.multi_accept", Values::Switch, directive),
    Knob::new("nginx.sendfile", Values::Switch, directive),
    Knob::new("nginx.tcp_nopush", Values::Switch, directive),
    Knob::new("nginx.proxy_buffering", Values::Switch, directive),
    Knob::new("nginx.gzip", Values::Switch, directive),
    Knob::new("nginx.upstream_keepalive", Values::Switch, |_, on| match on {
        "true" => {
            format!("{KEEPALIVE} # in the upstream, and in its location: {}", kept().join(" "))
        }
        _ => "proxy_http_version 1.0;".into(),
    }),
];

/// Keeps connections to the server: as many idle ones a process of nginx as its newest versions do
/// by themselves.
const KEEPALIVE: &str = "keepalive 32;";

/// What goes with it where requests are passed on.
fn kept() -> [&'static str; 2] {
    ["proxy_http_version 1.1;", "proxy_set_header Connection \"\";"]
}

/// A number or a switch in nginx's language.
fn directive(name: &str, value: &str) -> String {
    let value = value.replace("true", "on").replace("false", "off");
    format!("{} {value};", name.trim_start_matches("nginx."))
}

/// nginx behind `port`, passing on to where `behind` answers. With the probe it tells the server
/// when a request came, in the header that such servers and their tools know.
pub fn in_front_of(mut behind: Recipe, port: u16, scratch: &Path, app: &App) -> Recipe {
    let written = configuration(&behind.upstream, port, scratch, app.is_probed);
    let lines = Knobs { list: KNOBS, ..Knobs::NONE }.lines(app);
    behind.files.push((CONFIG.into(), with_lines(written, &lines)));
    let arguments = shell(include_str!("nginx.sh"), [text(&scratch.join(CONFIG)), text(scratch)]);
    behind.proxy = Some(CommandLine {
        // A listening socket of somebody else's nginx.
        env_removed: vec!["NGINX".into()],
        ..CommandLine::new(arguments, scratch)
    });
    behind
}

/// Is this the title of one of nginx's processes? Before it has set one it shows its command line.
pub fn is_its_title(title: &str) -> bool {
    let first = title.split(' ').next().unwrap_or_default();
    first == "nginx:" || first == "nginx" || first.ends_with("/nginx")
}

/// The cause of a failed boot that is nginx's; `None`: it says nothing of that kind.
pub fn recognise_failure(last_lines: &[String]) -> Option<BootFailureKind> {
    let has = |text: &str| failure::has(last_lines, text);
    (has("[emerg] ") && has(": bind() to ") && has("(98: ")).then_some(BootFailureKind::PortTaken)
}

fn configuration(upstream: &Upstream, port: u16, scratch: &Path, stamps: bool) -> String {
    let mut servers = String::new();
    let location = match upstream {
        Upstream::Http(places) => {
            for place in places {
                // A reply that failed says nothing about the next one: nobody is left out.
                let _ = writeln!(servers, "    server {} max_fails=0;", address(place));
            }
            PASS_HTTP.replace("@STAMP@\n", if stamps { STAMP } else { "" })
        }
        Upstream::FastCgi { socket, root, index } => {
            let place = address(&Listen::Socket(socket.clone()));
            let _ = writeln!(servers, "    server {place} max_fails=0;");
            let (root, index) = (quoted(&text(root)), quoted(&format!("/{index}$is_args$args")));
            filled(PASS_FASTCGI, &[("@ROOT@", root), ("@INDEX@", index)])
        }
    };
    let words = [
        ("@SCRATCH@", text(scratch).replace('"', "\\\"")),
        ("@PORT@", port.to_string()),
        ("@SERVERS@", servers.trim_end().to_string()),
        ("@LOCATION@", location.trim_end().to_string()),
    ];
    filled(FRAME, &words)
}

/// A directive that may stand once takes the place of the one there is; one that is new stands at
/// the beginning of its block.
fn with_lines(written: String, lines: &[String]) -> String {
    let mut written = written;
    for line in lines {
        if line.starts_with(KEEPALIVE) {
            written = with_kept_connections(&written);
            continue;
        }
        let name = line.split(' ').next().unwrap_or_default();
        let is_it = |there: &&str| there.trim_start().split(' ').next() == Some(name);
        let found = written.lines().find(is_it).map(str::to_string);
        let block = if name == "multi_accept" { "events {\n" } else { "http {\n" };
        written = match found {
            Some(found) => written.replacen(&found, line, 1),
            None => written.replacen(block, &format!("{block}  {line}\n"), 1),
        };
    }
    written
}

fn with_kept_connections(written: &str) -> String {
    let (upstream, http, fastcgi) =
        ("  upstream app {\n", "proxy_pass http://app;", "fastcgi_pass app;");
    written
        .replacen(upstream, &format!("{upstream}    {KEEPALIVE}\n"), 1)
        .replacen(http, &format!("{http}\n      {}", kept().join("\n      ")), 1)
        .replacen(fastcgi, &format!("{fastcgi}\n      fastcgi_keep_conn on;"), 1)
}

fn address(place: &Listen) -> String {
    match place {
        Listen::Port(port) => format!("127.0.0.1:{port}"),
        Listen::Socket(path) => quoted(&format!("unix:{}", path.display())),
    }
}

/// As one word of nginx's language.
fn quoted(word: &str) -> String {
    format!("\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Everything that nginx writes is below the scratch folder, and none of its own limits comes
/// before the server's: connections, open files, requests on a connection, sizes, times.
///
/// Whether connections to the server are kept is nginx's own default: to 1.29.6 each request has
/// one of its own, in turn; later versions keep them.
const FRAME: &str = r#"# Written by sweetspot for one run.
daemon off;
worker_processes auto;
pid "@SCRATCH@/nginx.pid";
error_log stderr error;

events {
  worker_connections 16384;
}

http {
  access_log off;
  default_type application/octet-stream;
  client_body_temp_path "@SCRATCH@/nginx-body";
  proxy_temp_path "@SCRATCH@/nginx-proxy";
  fastcgi_temp_path "@SCRATCH@/nginx-fastcgi";
  uwsgi_temp_path "@SCRATCH@/nginx-uwsgi";
  scgi_temp_path "@SCRATCH@/nginx-scgi";
  client_max_body_size 0;
  keepalive_requests 1000000000;
  keepalive_timeout 3600s;
  sendfile on;
  tcp_nopush on;

  map $http_x_forwarded_proto $is_https {
    default "";
    https on;
  }

  upstream app {
@SERVERS@
  }

  server {
    listen 127.0.0.1:@PORT@ backlog=4096;
@LOCATION@
  }
}
"#;

const PASS_HTTP: &str = "    location / {
      proxy_pass http://app;
      proxy_set_header Host $http_host;
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
      proxy_set_header X-Forwarded-Proto $http_x_forwarded_proto;
@STAMP@
      proxy_connect_timeout 60s;
      proxy_send_timeout 3600s;
      proxy_read_timeout 3600s;
      proxy_next_upstream off;
    }
";

/// Seconds since 1970, with milliseconds.
const STAMP: &str = "      proxy_set_header X-Request-Start \"t=${msec}\";\n";

/// A page may be followed by a path of its own: `/index.php/orders`.
const PASS_FASTCGI: &str = r#"    root @ROOT@;
    index index.php index.html;
    # Names that begin with a dot are settings and secrets, but for this one.
    location ~ /\.(?!well-known(/|$)) {
      return 404;
    }
    location / {
      try_files $uri $uri/ @INDEX@;
    }
    location ~ [^/]\.php(/|$) {
      fastcgi_split_path_info ^(.+?\.php)(|/.*)$;
      fastcgi_pass app;
      fastcgi_connect_timeout 60s;
      fastcgi_send_timeout 3600s;
      fastcgi_read_timeout 3600s;
      fastcgi_next_upstream off;
      fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name;
      fastcgi_param SCRIPT_NAME $fastcgi_script_name;
      fastcgi_param PATH_INFO $fastcgi_path_info;
      fastcgi_param DOCUMENT_ROOT $document_root;
      fastcgi_param QUERY_STRING $query_string;
      fastcgi_param REQUEST_METHOD $request_method;
      fastcgi_param REQUEST_URI $request_uri;
      fastcgi_param DOCUMENT_URI $document_uri;
      fastcgi_param CONTENT_TYPE $content_type;
      fastcgi_param CONTENT_LENGTH $content_length;
      fastcgi_param SERVER_PROTOCOL $server_protocol;
      fastcgi_param GATEWAY_INTERFACE CGI/1.1;
      fastcgi_param SERVER_SOFTWARE nginx/$nginx_version;
      fastcgi_param REMOTE_ADDR $remote_addr;
      fastcgi_param REMOTE_PORT $remote_port;
      fastcgi_param SERVER_ADDR $server_addr;
      fastcgi_param SERVER_PORT $server_port;
      fastcgi_param SERVER_NAME $host;
      fastcgi_param HTTPS $is_https if_not_empty;
      fastcgi_param REDIRECT_STATUS 200;
    }
"#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_passed_to_every_socket_in_turn() {
        let places =
            ["/tmp/s/app.sock.0", "/tmp/s/app.sock.1"].map(|path| Listen::Socket(path.into()));
        let upstream = Upstream::Http(places.into());
        let text = configuration(&upstream, 4000, Path::new("/tmp/s"), false);
        for line in [
            "    server \"unix:/tmp/s/app.sock.0\" max_fails=0;\n",
            "    server \"unix:/tmp/s/app.sock.1\" max_fails=0;\n",
            "    listen 127.0.0.1:4000 backlog=4096;\n",
            "  proxy_temp_path \"/tmp/s/nginx-proxy\";\n",
        ] {
            assert!(text.contains(line), "{line} is missing in:\n{text}");
        }
        for placeholder in ["@", "X-Request-Start"] {
            assert!(!text.contains(placeholder), "{placeholder} is left in:\n{text}");
        }
        let odd = configuration(&upstream, 4000, Path::new("/tmp/@PORT@"), false);
        assert!(odd.contains("  proxy_temp_path \"/tmp/@PORT@/nginx-proxy\";\n"), "{odd}");
        let stamped = configuration(&upstream, 4000, Path::new("/tmp/s"), true);
        assert!(stamped.contains("      proxy_set_header X-Request-Start \"t=${msec}\";\n"));
    }

    #[test]
    fn connections_to_the_server_are_kept_where_that_is_tried() {
        let upstream = Upstream::Http(vec![Listen::Port(5000)]);
        let written = configuration(&upstream, 4000, Path::new("/tmp/s"), false);
        let tried = |value: &str| {
            let knob = KNOBS.iter().find(|knob| knob.name == "nginx.upstream_keepalive").unwrap();
            with_lines(written.clone(), &[(knob.line)(knob.name, value)])
        };
        let kept = tried("true");
        for lines in [
            "  upstream app {\n    keepalive 32;\n    server 127.0.0.1:5000",
            "      proxy_pass http://app;\n      proxy_http_version 1.1;\n      \
             proxy_set_header Connection \"\";\n",
        ] {
            assert!(kept.contains(lines), "{lines} is missing in:\n{kept}");
        }
        assert!(tried("false").contains("http {\n  proxy_http_version 1.0;\n"));
    }

    #[test]
    fn its_processes_are_told_by_their_titles() {
        for title in [
            "nginx: master process nginx -e stderr",
            "nginx: worker process",
            "/usr/sbin/nginx -e x",
        ] {
            assert!(is_its_title(title), "{title}");
        }
        for title in ["puma: cluster worker 0: 12 [nginx]", "ruby nginx.rb", ""] {
            assert!(!is_its_title(title), "{title}");
        }
    }

    #[test]
    fn a_port_that_is_taken_is_recognised() {
        let bind = "2026/11/21 [emerg] 7#7: bind() to 127.0.0.1:1 \
                    failed (98: Address already in use)";
        assert_eq!(recognise_failure(&[bind.to_string()]), Some(BootFailureKind::PortTaken));
        assert_eq!(recognise_failure(&["boom (RuntimeError)".to_string()]), None);
    }
}
