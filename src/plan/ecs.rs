//! `--ecs`: a service of AWS ECS, as an app elsewhere whose commands are ours.
//!
//! In: its name. Out: commands. This program runs them, and AWS's own does what they need
//! (`place/ecs`), so that nobody needs more than that.

use std::path::Path;

use super::checked::Plan;
use super::deployment::fixed_flag;
use super::elsewhere::{Commands, quoted};
use crate::place::ecs::ServiceName;

/// The commands by which it is changed and put back. `beside`: where it is written down what it was
/// before.
pub fn commands(name: &ServiceName, beside: &Path) -> Commands {
    let at = name.record(beside);
    let own = |what: String| format!("exec \"$SWEETSPOT\" __ecs {what} --record {}", quoted(&at));
    Commands {
        apply: own(format!("apply {name}")),
        ready: None,
        check: Some(own(format!("check {name}"))),
        release: None,
        observe: None,
        restore: own("restore".to_string()),
        files: Vec::new(),
    }
}

/// The flags by which a task's own command gives its server another number of workers or threads
/// than one that is tried: they come before variables. `None`: there are none.
pub fn fixed_flags(command: &str, plan: &Plan) -> Option<String> {
    let today = plan.remote.as_ref().and_then(|remote| remote.today);
    let workers = plan.workers.iter().copied().chain(today.map(|it| it.workers));
    let threads = plan.threads.iter().copied().chain(today.map(|it| it.threads));
    // Without a place for them in a variable they are only shown as one, and may be any number.
    let threads = threads.filter(|_| plan.has_threads);
    let (workers, threads): (Vec<u16>, Vec<u16>) =
        (workers.map(|it| it.get()).collect(), threads.map(|it| it.get()).collect());
    let fixed = [
        (fixed_flag(command, |names| names.workers), workers),
        (fixed_flag(command, |names| names.threads), threads),
    ];
    let against = fixed.into_iter().filter_map(|(flag, tried)| {
        let flag = flag?;
        // Of `5:5` the most; none of Puma's workers is one process.
        let number = flag.rsplit([' ', ':']).next().and_then(|it| it.parse::<u16>().ok());
        let number = number.map(|it| it.max(1));
        tried.iter().any(|it| Some(*it) != number).then_some(flag)
    });
    let against: Vec<String> = against.collect();
    (!against.is_empty()).then(|| against.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Key, Surroundings, Typed, resolve};

    #[test]
    fn it_is_changed_and_put_back_by_the_same_record() {
        let made = commands(&"prod/shop/web".parse().unwrap(), Path::new("/store dir"));
        let record = "--record '/store dir/ecs/prod.shop.json'";
        assert_eq!(made.apply, format!("exec \"$SWEETSPOT\" __ecs apply prod/shop/web {record}"));
        let check = made.check.unwrap();
        assert_eq!(check, format!("exec \"$SWEETSPOT\" __ecs check prod/shop/web {record}"));
        assert_eq!(made.restore, format!("exec \"$SWEETSPOT\" __ecs restore {record}"));
    }

    #[test]
    fn flags_of_a_tasks_command_that_come_before_what_is_tried_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let plan = |more: &[(Key, &str)]| {
            let given = [
                (Key::Ecs, "prod/shop"),
                (Key::Url, "http://shop.internal:3000"),
                (Key::Cpus, "2"),
                (Key::Memory, "2GiB"),
                (Key::Workers, "4"),
                (Key::Today, "4x5"),
            ];
            let given = given.iter().chain(more);
            let typed = given.fold(Typed::default(), |typed, (key, text)| typed.with(*key, *text));
            resolve(&typed, &Surroundings::of_test(folder.path(), [])).unwrap()
        };
        let of_workers = plan(&[(Key::Env, "WEB_CONCURRENCY={workers}")]);
        assert_eq!(fixed_flags("puma -t 5:5", &of_workers), None);
        assert_eq!(fixed_flags("puma -w 2 -t 5:5", &of_workers).as_deref(), Some("-w 2"));
        let plan = plan(&[(Key::Threads, "3,5")]);
        for (command, expected) in [
            ("", None),
            ("bundle exec puma -C config/puma.rb", None),
            ("bundle exec puma -w 4", None),
            ("sh -c 'exec puma -w ${WEB_CONCURRENCY:-2} -t $RAILS_MAX_THREADS:5'", None),
            ("sh -c 'bin/rails db:migrate && exec puma -w 2'", Some("-w 2")),
            ("puma -w 4 -t 5:5", Some("-t 5:5")),
            ("puma -w 0 -t 5:5", Some("-w 0 -t 5:5")),
            ("gunicorn shop.wsgi --workers=auto", Some("--workers auto")),
        ] {
            assert_eq!(fixed_flags(command, &plan).as_deref(), expected, "{command}");
        }
    }
}
