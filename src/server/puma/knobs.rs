//! What can be tried of Puma's settings, and since when Puma has them.
//!
//! In: an app with changes. Out: lines of `config/puma.rb`. Only computes.

use crate::server::App;
use crate::server::knobs::{Knob, Values};
use crate::server::rack::directive;

/// Goes with the address that Puma is bound to, and not on a line of its own.
pub(super) const BACKLOG: &str = "backlog";
pub(super) const PRELOAD: &str = "preload_app";

pub(super) const ALL: &[Knob] = &[
    Knob::new(PRELOAD, Values::Switch, |_, value| format!("preload_app! {value}")),
    Knob::new("nakayoshi_fork", Values::Switch, directive)
        .since((5, 0))
        .until((6, 0), "compaction is the app's own to do before it forks"),
    Knob::new("wait_for_less_busy_worker", Values::Number, directive).since((5, 0)),
    Knob::new(BACKLOG, Values::Count, |_, value| {
        format!("bind \"tcp://0.0.0.0:3000?backlog={value}\" # in place of port, or of its bind")
    }),
    Knob::new("queue_requests", Values::Switch, directive),
    Knob::new("persistent_timeout", Values::Count, directive),
    Knob::new("max_fast_inline", Values::Count, directive).since((5, 1)),
    Knob::new("max_keep_alive", Values::Count, directive).since((7, 0)),
    Knob::new("enable_keep_alives", Values::Switch, directive).since((6, 5)),
    Knob::new("fiber_per_request", Values::Switch, directive).since((7, 0)),
    // Beside its threads, for requests that the app marks as waiting most of their time.
    Knob::new("max_io_threads", Values::Count, directive).since((8, 0)),
    Knob::new(
        "io_selector_backend",
        Values::OneOf(&["auto", "ruby", "epoll", "poll", "select", "linuxaio", "io_uring"]),
        |name, value| format!("{name} :{value}"),
    )
    .since((5, 2)),
];

/// The overlay with what is tried.
pub(super) fn added_to(overlay: String, app: &App) -> String {
    let tried = &app.changed.settings;
    let knobs = ALL.iter().filter(|knob| knob.name != BACKLOG);
    let lines = knobs.filter_map(|knob| Some((knob.line)(knob.name, tried.get(knob.name)?)));
    let lines: Vec<String> = lines.collect();
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
