//! What goes with a setting besides the lines to paste, in English.

use crate::terms::{
    Configuration, CoreCount, Counts, DatabaseAdvice, HealthCheck, HostAdvice, PoolSetting,
    RunningAdvice, SettingAdvice, SettingsPlace, code,
};

pub fn place(place: &SettingsPlace) -> String {
    match place {
        SettingsPlace::OnCommandLine => "on the command line".into(),
        SettingsPlace::InFile { path } => path.clone(),
        SettingsPlace::InNewFile => "in a file beside the app's own".into(),
        SettingsPlace::InNginxConfiguration => "nginx's configuration".into(),
        SettingsPlace::InCluster => "in the cluster".into(),
        SettingsPlace::ByCommand => "by your command".into(),
        SettingsPlace::InTaskDefinition => "in the task definition".into(),
    }
}

fn counts(counts: Counts) -> &'static str {
    match counts {
        Counts::Workers => "workers",
        Counts::Threads => "threads",
        Counts::WorkersAndThreads => "workers and threads",
    }
}

pub fn setting(advice: &SettingAdvice) -> String {
    match advice {
        SettingAdvice::FileAsksForThreads { file, least_threads } => format!(
            "no variable sets this in {file}, which asks for at least {least_threads} threads: put \
             these lines there instead"
        ),
        SettingAdvice::FixedInPumaFile { file, counts: which } => format!(
            "no variable was found that sets the {} of {file}: put these lines in their place",
            counts(*which)
        ),
        SettingAdvice::FixedInThinFile { file } => format!(
            "no variable was found that sets the numbers of {file}: put these lines in their place"
        ),
        SettingAdvice::FixedInUnicornFile { file } => format!(
            "no variable was found that sets the number of workers of {file}: put this line in its \
             place"
        ),
        SettingAdvice::UnicornNeedsFile { file } => format!(
            "Unicorn takes the number of workers from its configuration file alone, and this app \
             has none: write these lines to {file} and start it with 'unicorn -c {file}'"
        ),
        SettingAdvice::ThinNeedsFile { file } => format!(
            "Thin takes these numbers from its command line or from a file, and this app has none: \
             write these lines to {file}, with `socket: /run/thin.sock` or a `port:`, and start it \
             with 'thin start -C {file}'"
        ),
        SettingAdvice::FixedInGunicornFile { file, counts: which } => format!(
            "no variable that {file} follows sets its {}: put these lines there, in place of its \
             own",
            counts(*which)
        ),
        SettingAdvice::GunicornNeedsFile { file, counts: which } => format!(
            "no variable sets gunicorn's {}: write these lines to {file} in the app's folder, \
             where gunicorn looks for it; --workers and --threads on its command line, and \
             GUNICORN_CMD_ARGS, would come before them",
            counts(*which)
        ),
        SettingAdvice::GunicornCommandLineFirst => "a --workers (-w) on gunicorn's command line \
             comes before the variable: take it away, or change it there"
            .into(),
        SettingAdvice::UvicornCommandLineFirst => "--workers on uvicorn's command line comes \
             before the variable, which it reads where there is none"
            .into(),
        SettingAdvice::MakesNoWorkers { entry, workers } => format!(
            "{entry} makes no workers that follow WEB_CONCURRENCY: put these lines beside it, or \
             run {workers} processes of it behind a balancer, or 'pm2 start {entry} -i {workers}'"
        ),
        SettingAdvice::ReplacesPoolLines { php_version } => format!(
            "put these lines in place of the pool's own pm lines, and load them with 'systemctl \
             reload php{php_version}-fpm' (where it isn't Debian's: php-fpm)"
        ),
        SettingAdvice::PlaceStays { place } => {
            format!("{{{place}}} is the one that it has where it serves users")
        }
        SettingAdvice::SetAsGiven { variables, workers, threads } => {
            let threads = threads.map(|count| format!(" and {count} threads")).unwrap_or_default();
            let variables = variables.join(" and ");
            format!("set {variables} as you gave it, with {workers} workers{threads}")
        }
    }
}

pub fn host(advice: &HostAdvice) -> String {
    match advice {
        HostAdvice::OnFly { soft_limit, hard_limit } => format!(
            "on Fly: [http_service.concurrency] of fly.toml with type = \"requests\", soft_limit = \
             {soft_limit} and hard_limit = {hard_limit}: what it works on at a time, or had in \
             flight at the rate it holds; unsaid, 20 connections count as busy"
        ),
        HostAdvice::OnCloudRun { concurrency, cores, memory } => format!(
            "on Cloud Run: 'gcloud run services update NAME --concurrency {concurrency} --cpu \
             {cores} --memory {}Mi': what it works on at a time, or had in flight at the rate it \
             holds; unsaid, an instance gets 80, and those beyond wait in it",
            memory.0 >> 20
        ),
        HostAdvice::OnHeroku { variables, dyno } => {
            let set = variables.iter().map(|(name, value)| format!(" {name}={value}"));
            let set: String = set.collect();
            let set = if set.is_empty() { set } else { format!(": 'heroku config:set{set}'") };
            let dyno = dyno.map(|dyno| {
                format!("; its memory fits a {} dyno, whose processor is another one", code(&dyno))
            });
            format!("on Heroku{set}{}: measure there", dyno.unwrap_or_default())
        }
    }
}

pub fn database(advice: &DatabaseAdvice) -> String {
    match advice {
        DatabaseAdvice::PoolPerWorker { configuration, pool } => pool_of(*configuration, pool),
        DatabaseAdvice::PythonPoolPerWorker { workers } => format!(
            "each worker opens database connections of its own: a pool of n connections \
             (SQLAlchemy's pool_size, asyncpg's max_size) makes {workers} x n on each machine; \
             Django, outside of an event loop, keeps one a worker"
        ),
        DatabaseAdvice::NodePoolPerWorker { workers } => format!(
            "each worker opens database connections of its own: a pool of n makes {workers} x n on \
             each machine; what a worker keeps in memory (sessions, caches, rate limits) the \
             others do not see"
        ),
        DatabaseAdvice::ConnectionPerWorker { workers, has_database_yml } => {
            let pool = match has_database_yml {
                true => "`pool: 1` in config/database.yml is enough",
                false => "a pool of one is enough",
            };
            format!(
                "each worker needs one database connection ({pool}); all workers together hold up \
                 to {workers} on each machine"
            )
        }
        DatabaseAdvice::PhpConnectionPerWorker { workers } => format!(
            "each worker holds its own database connection while it answers; all workers together \
             hold up to {workers} on each machine, and keep them with persistent connections"
        ),
        DatabaseAdvice::ConnectionPerRequest { workers } => format!(
            "a database connection for each request that a worker serves at once: with one each, \
             all workers together hold up to {workers} on each machine"
        ),
    }
}

fn pool_of(configuration: Configuration, pool: &PoolSetting) -> String {
    let threads = configuration.threads;
    let how = match pool {
        PoolSetting::DatabaseYml { variable: Some(name) } => {
            format!(" (in config/database.yml, pool: <%= ENV.fetch(\"{name}\") {{ {threads} }} %>)")
        }
        PoolSetting::DatabaseYml { variable: None } => {
            format!(" (in config/database.yml, pool: {threads})")
        }
        PoolSetting::RubyCode => " (where the app opens its database, such as ActiveRecord's \
             `pool` or Sequel's `max_connections`)"
            .into(),
        PoolSetting::Code => " (where the app opens its database)".into(),
        PoolSetting::PythonLibrary => " (SQLAlchemy's pool_size; Django keeps one a thread, over \
             requests with CONN_MAX_AGE)"
            .into(),
        PoolSetting::Unknown => String::new(),
    };
    format!(
        "{article}database pool of at least {threads} connection{plural} per worker{how}; all \
         workers together hold up to {all} ({configuration}) on each machine",
        article = if *pool == PoolSetting::Unknown { "a " } else { "" },
        plural = if threads.get() == 1 { "" } else { "s" },
        all = configuration.slots(),
    )
}

pub fn running(advice: &RunningAdvice) -> String {
    match advice {
        RunningAdvice::CheckHealthBy { check } => {
            format!("health checks should not wait in the app's own queue: {}", health(*check))
        }
        RunningAdvice::CoreCountIgnoresQuota { count } => core_count(*count).into(),
        RunningAdvice::NodePoolOfFour => "files, DNS, zlib and password hashes wait for libuv's \
             pool of 4 in each worker; where they are what is slow, UV_THREADPOOL_SIZE raises it"
            .into(),
        RunningAdvice::PhpMemoryLimit { workers } => format!(
            "one request may take as much memory as memory_limit says: see that {workers} times \
             that is there on bad days"
        ),
        RunningAdvice::PhpListenQueue => "requests wait in the socket's queue when every worker \
             is busy (listen.backlog, 511); where it is full nginx answers 502"
            .into(),
        RunningAdvice::SlowClientsHoldWorkers => "a slow client holds a whole worker as long as \
             it takes: keep a proxy in front that reads requests and replies in full, such as \
             nginx with its default buffering"
            .into(),
        RunningAdvice::ThinBalancer { workers } => {
            let servers = match workers.saturating_sub(1) {
                0 => "server unix:/run/thin.0.sock".to_string(),
                last => {
                    format!("server unix:/run/thin.0.sock to server unix:/run/thin.{last}.sock")
                }
            };
            format!(
                "each worker listens for itself, so the proxy in front needs a line for each of \
                 them: in nginx, {servers} within `upstream`, which takes them in turn (with a \
                 port, Thin counts up from it)"
            )
        }
        RunningAdvice::ThinDoesNotRestart => "a process that ends is not started again by Thin: \
             have the system's own service manager keep each of them running"
            .into(),
    }
}

fn health(check: HealthCheck) -> &'static str {
    match check {
        HealthCheck::OpenPort => {
            "with every worker busy they time out and a busy server is taken for a dead one; check \
             that the port accepts connections"
        }
        HealthCheck::OpenPortOrPumaControl => {
            "with every thread busy they time out and a busy server is taken for a dead one; check \
             that the port accepts connections, or ask Puma's control socket"
        }
        HealthCheck::PhpFpmStatus => {
            "pm.status_listen gives PHP-FPM's status page an address and a process of its own"
        }
    }
}

fn core_count(count: CoreCount) -> &'static str {
    match count {
        CoreCount::Ruby => {
            "Etc.nprocessors counts cores and ignores a container's CPU quota; where there is one, \
             use a fixed number"
        }
        CoreCount::RubyWithConcurrent => {
            "Etc.nprocessors counts cores and ignores a container's CPU quota; where there is one, \
             use fixed numbers, or Concurrent.available_processor_count (concurrent-ruby 1.3.1 or \
             later)"
        }
        CoreCount::Python => {
            "os.cpu_count() and os.sched_getaffinity() count cores and ignore a container's CPU \
             quota; where there is one, use fixed numbers"
        }
        CoreCount::Node => {
            "os.cpus() counts cores and ignores a container's CPU quota; where there is one, use a \
             fixed number"
        }
    }
}
