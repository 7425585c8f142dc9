//! What can be tried of Puma's settings, and since when Puma has them.
//!
//! In: an app with changes. Out: lines of `config/puma.rb`. Only computes.

use crate::server::App;
use crate::server::knobs::{Knob, Knobs, Values};

/// Goes with the address that Puma is bound to, and not on a line of its own.
pub(super) const BACKLOG: &str = "backlog";
pub(super) const PRELOAD: &str = "preload_app";

pub(super) const ALL: &[Knob] = &[
    Knob::new(PRELOAD, Values::Switch, |value| format!("preload_app! {value}")),
    Knob {
        since: Some((5, 0)),
        until: Some(((6, 0), "compaction is the app's own to do before it forks")),
        ..Knob::new("nakayoshi_fork", Values::Switch, |value| format!("nakayoshi_fork {value}"))
    },
    Knob {
        since: Some((5, 0)),
        ..Knob::new("wait_for_less_busy_worker", Values::Number, |value| {
            format!("wait_for_less_busy_worker {value}")
        })
    },
    Knob::new(BACKLOG, Values::Count, |value| {
        format!("bind \"tcp://0.0.0.0:3000?backlog={value}\" # in place of port, or of its bind")
    }),
    Knob::new("queue_requests", Values::Switch, |value| format!("queue_requests {value}")),
    Knob::new("persistent_timeout", Values::Count, |value| format!("persistent_timeout {value}")),
    Knob {
        since: Some((5, 1)),
        ..Knob::new("max_fast_inline", Values::Count, |value| format!("max_fast_inline {value}"))
    },
    Knob {
        since: Some((7, 0)),
        ..Knob::new("max_keep_alive", Values::Count, |value| format!("max_keep_alive {value}"))
    },
    Knob {
        since: Some((6, 5)),
        ..Knob::new("enable_keep_alives", Values::Switch, |value| {
            format!("enable_keep_alives {value}")
        })
    },
    Knob {
        since: Some((7, 0)),
        ..Knob::new("fiber_per_request", Values::Switch, |value| {
            format!("fiber_per_request {value}")
        })
    },
    // Beside its threads, for requests that the app marks as waiting most of their time.
    Knob {
        since: Some((8, 0)),
        ..Knob::new("max_io_threads", Values::Count, |value| format!("max_io_threads {value}"))
    },
    Knob {
        since: Some((5, 2)),
        ..Knob::new(
            "io_selector_backend",
            Values::OneOf(&["auto", "ruby", "epoll", "poll", "select", "linuxaio", "io_uring"]),
            |value| format!("io_selector_backend :{value}"),
        )
    },
];

/// The overlay with what is tried.
pub(super) fn added_to(overlay: String, app: &App) -> String {
    let settings = app.changed.settings.iter().filter(|(name, _)| *name != BACKLOG);
    let tried = settings.map(|(name, value)| (name.clone(), value.clone())).collect();
    let mut without_backlog = app.clone();
    without_backlog.changed.settings = tried;
    let lines = Knobs { usual_file: None, list: ALL }.lines(&without_backlog);
    match lines.is_empty() {
        true => overlay,
        false => format!("{overlay}\n# What is tried.\n{}\n", lines.join("\n")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::Framework;

    #[test]
    fn what_is_tried_stands_last_in_the_overlay() {
        let mut app = App::new("/srv/shop", Framework::Rack, "config.ru");
        assert_eq!(added_to("x\n".into(), &app), "x\n");
        for (name, value) in [("preload_app", "false"), ("backlog", "64")] {
            app.changed.settings.insert(name.into(), value.into());
        }
        assert_eq!(added_to("x\n".into(), &app), "x\n\n# What is tried.\npreload_app! false\n");
    }
}
