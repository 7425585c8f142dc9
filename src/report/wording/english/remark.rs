//! What is to be known of an app's own server settings, in English.

use crate::report::figures;
use crate::terms::{
    CommandRemark, NodeRemark, PhpRemark, PythonRemark, RubyRemark, SettingsRemark,
};

pub fn of_settings(remark: &SettingsRemark) -> String {
    let not_opened = |addresses: &[String], instead: &str| {
        let names = addresses.join(", ");
        format!("its own addresses ({names}) are not opened: {instead}")
    };
    match remark {
        SettingsRemark::AddressesNotOpened { addresses } => {
            not_opened(addresses, "it listens on a free port of 127.0.0.1")
        }
        SettingsRemark::AddressesNotOpenedBehindNginx { addresses } => not_opened(
            addresses,
            "nginx listens on a free port of 127.0.0.1 and reaches each worker over a socket of \
             its own",
        ),
        SettingsRemark::AddressNotOpened { address } => {
            format!("its own address ({address}) is not opened")
        }
        SettingsRemark::FilesNotWritten { files } => {
            format!("{} is not written to while measuring", files.join(" and "))
        }
        SettingsRemark::FlagsComeFirst { file, flags } => format!(
            "{file} starts it with {flags}, which comes before its variables and its own file: \
             another setting has to be made there"
        ),
        SettingsRemark::WithoutTls => "it is measured over plain HTTP, without its certificate: \
                                       what TLS costs of the processor is not in the figures"
            .into(),
        SettingsRemark::OtherEnvironment { environment, setting, measured } => {
            let what = setting.map_or("the number of workers".into(), |it| it.to_string());
            let measured = measured.as_deref().unwrap_or("production");
            format!(
                "{what} is read for the environment '{environment}'; it is measured in {measured}"
            )
        }
    }
}

/// `spelt`: `preload_app false`.
fn loaded(is_preloaded: bool, spelt: &str) -> String {
    match is_preloaded {
        true => format!("the app is loaded once, before the workers are forked ({spelt})"),
        false => {
            format!("every worker loads the app for itself and shares little memory ({spelt})")
        }
    }
}

pub fn of_ruby(remark: &RubyRemark) -> String {
    let its = |file: &Option<String>| file.clone().unwrap_or("its settings".into());
    match remark {
        RubyRemark::MaxThreadsFromStart { min, max } => format!(
            "threads {min}:{max} are run as {max}:{max}, so that memory and latency don't depend \
             on what happened before"
        ),
        RubyRemark::SingleMode => "single mode: one process without a master".into(),
        RubyRemark::OneWorkerInSingleMode => {
            "one worker below a master is run in single mode, as Puma advises: same capacity, less \
             memory"
                .into()
        }
        RubyRemark::PluginsRun { names } => format!(
            "{} {} inside the server, and what is done there is measured with it",
            names.join(", "),
            if names.len() == 1 { "runs" } else { "run" }
        ),
        RubyRemark::PluginOff { plugin, variable } => format!(
            "the plugin {plugin} is not loaded, as {variable} is not set here: where production \
             sets it, give --env {variable}=1 to measure with it"
        ),
        RubyRemark::ChannelsWithoutClients { channels } => format!(
            "Action Cable may serve {} of app/channels in the same processes; nobody is connected \
             to them here, so leave room for what that costs",
            figures::count(u64::from(*channels), "channel", "channels")
        ),
        RubyRemark::NotPreloadedToday => {
            "the app is not preloaded today; Puma 5 and 6 preload by default once WEB_CONCURRENCY \
             is set above 1, as it is here"
                .into()
        }
        RubyRemark::UnicornWorkers { is_preloaded, timeout_s } => format!(
            "{}; a worker that is busy with one request for more than {timeout_s} s is killed \
             (timeout)",
            loaded(*is_preloaded, &format!("preload_app {is_preloaded}"))
        ),
        RubyRemark::ThinWorkers { connections_max, timeout_s } => format!(
            "each worker is a process of its own that loads the app for itself and takes at most \
             {connections_max} connections; with several threads, a reply that takes longer than \
             {timeout_s} s is cut off (timeout)"
        ),
        RubyRemark::SettingsLeftOut { file, names } => {
            let names = names.join(", ");
            format!("{} sets {names}, which is left out while measuring", its(file))
        }
        RubyRemark::OtherRackup { file, rackup, measured } => {
            format!("{} starts from {rackup}; {measured} is measured", its(file))
        }
    }
}

pub fn of_python(remark: &PythonRemark) -> String {
    match remark {
        PythonRemark::GunicornWorkers { is_preloaded, timeout_s } => {
            let preloads = if *is_preloaded { "preload_app = True" } else { "preload_app = False" };
            let loaded = loaded(*is_preloaded, preloads);
            // With 0 there is no timeout.
            if *timeout_s == 0 {
                return loaded;
            }
            format!(
                "{loaded}; a worker that does not react for more than {timeout_s} s is killed \
                 (timeout)"
            )
        }
        PythonRemark::ClassWithoutThreads { class } => {
            format!("threads mean nothing to its worker class {class}: give --threads 1")
        }
        PythonRemark::ClassKept { class } => format!("its worker class {class} is kept"),
        PythonRemark::OneThreadIsSync => {
            "one thread: sync workers, which close every connection after its reply; with more, \
             gunicorn makes them gthread workers, which keep connections open"
                .into()
        }
        PythonRemark::ReplacedWhileMeasuring { requests } => format!(
            "a worker is replaced after {requests} requests (max_requests), also while measuring"
        ),
        PythonRemark::DjangoDebugs => {
            "Django's settings say DEBUG = True, which keeps every query in memory and is slower \
             than production: name production's settings with DJANGO_SETTINGS_MODULE"
                .into()
        }
        PythonRemark::WithoutAccessLog => {
            "measured without uvicorn's access log (--no-access-log), which costs a worker a part \
             of its time"
                .into()
        }
        PythonRemark::EndedWorkersStayAway { version } => format!(
            "uvicorn {version} does not replace a worker that has ended: it goes on with fewer, \
             unseen (0.30 and later replace it)"
        ),
    }
}

pub fn of_php(remark: &PhpRemark) -> String {
    match remark {
        PhpRemark::WorkersOfMachine { files } => format!(
            "today's number of workers is that of {}; its other settings are not applied while \
             measuring: a copy of it in config/php-fpm.conf would be",
            files.join(" and ")
        ),
        PhpRemark::WorkersNotKnown { assumed } => {
            format!("today's number of workers is not known; {assumed} is what packages set")
        }
        PhpRemark::NoPool { file, assumed } => {
            format!("{file} has no pool; {assumed} workers are assumed")
        }
        PhpRemark::FirstPoolMeasured { file, pools, pool } => {
            format!("{file} has {pools} pools; the first, [{pool}], is measured")
        }
        PhpRemark::WorkersManaged { manager } => format!(
            "pm = {manager}: today workers come and go with the load, up to the number given as \
             today's"
        ),
        PhpRemark::ReplacedAfterRequests { requests } => {
            format!("a worker is replaced after {requests} requests (pm.max_requests)")
        }
        PhpRemark::EndedAfter { limit } => format!(
            "a worker whose request takes longer than {limit} is ended (request_terminate_timeout)"
        ),
        PhpRemark::OtherUser { user } => {
            format!("it runs as the user who measures, and not as {user}")
        }
        PhpRemark::StaticBehindNginx => {
            "measured with a fixed number of workers (pm = static), behind nginx, which answers \
             what is a file itself; errors are logged and not shown (display_errors off)"
                .into()
        }
    }
}

pub fn of_node(remark: &NodeRemark) -> String {
    let text = match remark {
        NodeRemark::OwnCluster => "it makes its own cluster, of WEB_CONCURRENCY workers",
        NodeRemark::OwnClusterOfFixedSize => {
            "its own cluster does not follow WEB_CONCURRENCY: several workers are made by \
             sweetspot, in which the app takes itself for a worker"
        }
        NodeRemark::OneProcessToday => {
            "one process today; several workers are made by sweetspot with Node's cluster module, \
             which hands connections to them in turn"
        }
        NodeRemark::FixedPort => "it seems to listen on a fixed port: it has to listen on PORT",
    };
    text.into()
}

pub fn of_command(remark: &CommandRemark) -> String {
    match remark {
        CommandRemark::WorkersAssumed { workers, variable } => {
            let stand = if *workers == 1 { "worker stands" } else { "workers stand" };
            format!(
                "a command does not say how it runs today: {workers} {stand} for it (another \
                 number: --env {variable}=N)"
            )
        }
        CommandRemark::ReadyAtRest => {
            "it counts as ready when its page answers 2xx and its processes have come to rest"
                .into()
        }
        CommandRemark::TodayUnknown { workers, threads } => format!(
            "nobody said what it runs with today: {workers} x {threads}, the least of what is \
             tried, stands for it (say it with --today)"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Language;
    use crate::terms::Remark;

    #[test]
    fn a_worker_is_killed_only_where_it_has_a_timeout() {
        for (timeout_s, is_killed) in [(0, false), (30, true)] {
            let remark = PythonRemark::GunicornWorkers { is_preloaded: true, timeout_s };
            for (_, language) in Language::ALL {
                let said = language.say_fact(&Remark::from(remark.clone()));
                assert!(said.contains("preload_app = True"), "{said}");
                assert_eq!(said.contains("timeout"), is_killed, "{said}");
            }
        }
    }

    #[test]
    fn where_nobody_noted_the_environment_that_was_measured_it_was_production() {
        let with = |more: &str| {
            let json = format!(
                r#"{{"fact":"other_environment","environment":"staging","setting":null{more}}}"#
            );
            let remark: Remark = serde_json::from_str(&json).unwrap();
            Language::ALL.iter().map(|(_, it)| it.say_fact(&remark)).collect::<Vec<_>>()
        };
        let older = with("");
        assert!(older[0].ends_with("it is measured in production"), "{older:?}");
        assert!(older[1].contains("計測は production で"), "{older:?}");
        let noted = with(r#","measured":"test""#);
        assert!(noted[0].ends_with("it is measured in test"), "{noted:?}");
        assert!(noted[1].contains("計測は test で"), "{noted:?}");
    }
}
