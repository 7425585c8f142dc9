//! Servers that are known by their command alone.
//!
//! In: an app. Out: the command to give with `--start`. Only computes.

use crate::server::{App, Framework};

const OF_PYTHON: [&str; 6] =
    ["daphne", "hypercorn", "granian", "uwsgi", "waitress-serve", "waitress"];
const OF_RUBY: [&str; 4] = ["falcon", "pitchfork", "passenger", "iodine"];

/// The programs that start such a server for an app of this kind.
pub fn programs(framework: Framework) -> &'static [&'static str] {
    match framework {
        Framework::Wsgi | Framework::Asgi => &OF_PYTHON,
        _ if framework.is_rack() => &OF_RUBY,
        _ => &[],
    }
}

/// The command by which this program starts the app, with places for its numbers; `None`: it is not
/// known. Those of `docs/command.md` are tried.
pub fn start(program: &str, app: &App) -> Option<String> {
    let entry = &app.entry;
    let interface = if app.framework == Framework::Asgi { "asgi" } else { "wsgi" };
    let through = if app.is_bundled { "bundle exec " } else { "" };
    Some(match program {
        "daphne" => format!("daphne -b 127.0.0.1 -p {{port}} {entry}"),
        "hypercorn" => {
            format!("hypercorn --workers {{workers}} --bind 127.0.0.1:{{port}} {entry}")
        }
        "granian" => format!(
            "granian --interface {interface} --workers {{workers}} --host 127.0.0.1 --port \
             {{port}} {entry}"
        ),
        "uwsgi" => format!(
            "uwsgi --http-socket 127.0.0.1:{{port}} --master --die-on-term --need-app --processes \
             {{workers}} --threads {{threads}} --module {entry}"
        ),
        "waitress-serve" | "waitress" => {
            format!("waitress-serve --listen=127.0.0.1:{{port}} --threads={{threads}} {entry}")
        }
        "passenger" => format!(
            "{through}passenger start --engine builtin --address 127.0.0.1 --port {{port}} \
             --max-pool-size {{workers}} --min-instances {{workers}} --environment production"
        ),
        _ => return None,
    })
}
