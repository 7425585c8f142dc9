//! Flags, plan file, app and defaults, in this order, become one plan.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::app::{AppHint, is_entry, recognise_as};
use super::app_error::known;
use super::checked::{Plan, Surroundings, goals_of};
use super::cuts;
use super::deployment::Deployment;
use super::error::{PlanError, Problem};
use super::front;
use super::hosted;
use super::knobs::knobs;
use super::objective::objective;
use super::options::{Key, Typed};
use super::pm2;
use super::pods;
use super::range::{LARGEST_COUNT, parse_counts};
use super::record::{Subject, allowance};
use super::remote;
use super::run_as::run_as;
use super::server::{check_programs, choose_server};
use super::settings::{Given, SWITCH, Settings, Sourced, flag, hidden};
use super::start;
use super::targets::targets;
use super::variable::parse_variable;
use crate::search::USUAL_THREADS;
use crate::server::{ADAPTERS, Adapter, App, FOR_COMMANDS, FOR_PODS, Framework, Proxy};
use crate::terms::{
    Arrivals, BOOT_TIMEOUT_MOST, Bytes, Change, ConnectionMode, Cores, Goals, GoalsError,
    PlanSource, PlannedGoal, PlannedValue as It, Ratio, Slo, Target, Threads, Workers,
    format_duration, parse_duration,
};

const DEFAULT_BUDGET: Duration = Duration::from_secs(480);
/// Half an interval's width that can be asked for: finer than any machine is steady, and coarser
/// than any answer.
const PRECISION: std::ops::RangeInclusive<f64> = 0.005..=0.5;
/// Less does not hold one trial of each kind.
const LEAST_BUDGET: Duration = Duration::from_secs(20);
const MOST_BUDGET: Duration = Duration::from_secs(24 * 3600);
/// A shorter soak has no parts that a slope could be told from.
const LEAST_SOAK: Duration = Duration::from_secs(120);
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);
const LEAST_TIMEOUT: Duration = Duration::from_millis(10);
/// Longer latencies are not distinguished.
const MOST_TIMEOUT: Duration = Duration::from_secs(3600);
/// Hardly any server boots in less.
const LEAST_BOOT_TIMEOUT: Duration = Duration::from_secs(1);
/// Fixed, so that a run can be repeated.
const DEFAULT_SEED: u64 = 1;
const DEFAULT_STORE: &str = ".sweetspot/sweetspot.db";
/// A goal taken from the unloaded latency reaches this before it is three times that.
const USUAL_FROM_UNLOADED: Duration = Duration::from_millis(200);
const MOST_CONNECTIONS: u64 = 1_000_000;
/// More than any machine has.
const MOST_CORES: f64 = 1024.0;
const MOST_MEMORY: Bytes = Bytes(64 << 40);

/// Makes a checked plan of what was typed, the plan file, the app's folder and the defaults.
///
/// # Errors
/// Anything in them that is wrong or impossible, with the way out.
pub fn resolve(typed: &Typed, surroundings: &Surroundings) -> Result<Plan, PlanError> {
    let settings = Settings::find(typed, &surroundings.folder)?;
    let subject = subject(&settings, surroundings)?;
    let surroundings = &around(&subject, surroundings);
    let (app, server) = (&subject.app.value, subject.server.value);
    let has_threads = server.has_threads(app);
    let cores = cores(&settings, surroundings)?;
    let memory = memory(&settings, surroundings)?;
    let most_cores = cores.value.unwrap_or(surroundings.cores);
    let own = subject.cluster.as_ref().and_then(|asked| asked.cluster.own.as_ref());
    let cuts = own.map_or_else(|| vec![1], |own| own.cuts.clone());
    let workers = workers(&settings, &subject, &cuts, (most_cores, has_threads))?;
    let threads = threads(&settings, server, has_threads)?;
    let asked = targets(&settings, app)?;
    let targets = &asked.targets;
    let goal = goal(&settings)?;
    let goals = goals(&settings, targets, &goal)?;
    let timeout = timeout(&settings, &goal.value, &goals)?;
    let ready = ready(&settings, &targets.value)?;
    let slots = (workers.value[0], threads.value[0]);
    let db_connections = db_connections(&settings, server, slots, has_threads)?;
    let connection = connection(&settings, &subject)?;
    let of_cuts = cuts::changes(&cuts);
    let knobs = knobs(&settings, (app, most_cores), server, &of_cuts)?;
    let slo = |goal: &PlannedGoal| It::Slo {
        common: goals.has_common().then(|| goal.clone()),
        has_own: goals.has_own(),
    };
    let changes = |changes: &Vec<Change>| It::Knob(changes.clone());
    let mut records = subject.records();
    // The fields stand in the order in which their records are shown.
    Ok(Plan {
        server: server.name().to_string(),
        cluster: subject.cluster.as_ref().map(|asked| asked.cluster.clone()),
        remote: subject.remote.as_ref().map(|asked| asked.within(surroundings.elsewhere)),
        has_threads,
        threads_source: subject.threads_asked.clone().unwrap_or_else(|| threads.source.clone()),
        workers: records.of(workers, |it| It::Workers(it.clone())),
        threads: match has_threads {
            true => records.of(threads, |it| It::Threads(it.clone())),
            false => threads.value,
        },
        changes: knobs.into_iter().flat_map(|it| records.of(it, changes)).chain(of_cuts).collect(),
        targets: records.of_targets(asked),
        goal: records.of(goal, slo),
        objective: records.of(objective(&settings)?, |it| It::Objective(*it)),
        cores: records.of(cores, |it| It::Cores(allowance(it, surroundings.cores))),
        memory: records.of(memory, |it| It::Memory(allowance(it, surroundings.memory))),
        arrivals: records.of(arrivals(&settings)?, |it| It::Arrivals(*it)),
        connection: records.of(connection, |it| It::Connection(*it)),
        timeout: records.of(timeout, |it| It::Timeout { seconds: it.as_secs_f64() }),
        budget: records.of(budget(&settings)?, |it| It::Budget { seconds: it.as_secs_f64() }),
        soak: soak(&settings)?
            .map(|it| records.of(it, |it| It::Soak { seconds: it.as_secs_f64() })),
        precision: records.of(precision(&settings)?, |it| It::Precision(*it)),
        app: records.of_app(subject, ready),
        boot_timeout: boot_timeout(&settings)?
            .map(|it| records.of(it, |it| It::BootTimeout { seconds: it.as_secs_f64() })),
        db_connections: records.of(db_connections, |it| It::DbConnections(*it)),
        seed: records.of(seed(&settings)?, |it| It::Seed(*it)),
        store: records.of_store(store(&settings), &surroundings.folder),
        assume_yes: typed.has(Key::Yes),
        records: records.0,
    })
}

/// What a pod that is made for the time may have: whether that is too much its cluster says; what
/// another machine has its user does.
fn around(subject: &Subject, here: &Surroundings) -> Surroundings {
    let mut around = here.clone();
    let is_made = subject.cluster.as_ref().is_some_and(|asked| asked.cluster.own.is_some());
    if is_made || subject.remote.is_some() {
        let most = (Cores::new(MOST_CORES).unwrap_or(around.cores), MOST_MEMORY);
        (around.cores, around.memory) = here.elsewhere.unwrap_or(most);
    }
    around
}

/// What is tuned, found to be able to run.
fn subject(settings: &Settings<'_>, surroundings: &Surroundings) -> Result<Subject, PlanError> {
    let env = env(settings)?;
    if let Some(subject) = remote::subject(settings, &env, &store(settings).value)? {
        return Ok(subject);
    }
    if let Some(subject) = pods::subject(settings, &env)? {
        return Ok(subject);
    }
    let of_commands = start::server(settings)?;
    let mut app = match start::app(settings, &env.value, &surroundings.program_folders)? {
        Some(app) => app,
        None => app(settings)?,
    };
    app.value.env = env.value.into();
    refuse_served_store(settings, &app.value)?;
    let server = match of_commands {
        Some(server) => server,
        None => server(settings, &mut app.value)?,
    };
    let proxy = proxy(settings, &app.value, server.value)?;
    app.value.proxy = proxy.value;
    let probe = probe(settings, server.value)?;
    app.value.is_probed = probe.value;
    let checked = check_programs(&mut app.value, server.value, &surroundings.program_folders);
    let is_below_sudo = surroundings.invoker.sudo_uid.is_some();
    checked.map_err(|error| if is_below_sudo { error.below_sudo() } else { error })?;
    let run_as = run_as(settings, &app.value.folder, surroundings.invoker)?;
    app.value.run_as = run_as.as_ref().map(|it| it.value.clone()).filter(|it| it.uid != 0);
    app.value.hosts = hosted::hosts(&app.value.folder);
    let mut deployment = Deployment::read(&app.value.folder);
    deployment.apply_to(&mut app.value, server.value, |name| std::env::var(name).ok());
    let of_pm2 = pm2::flags(&app.value, &deployment, surroundings.cores);
    app.value.flags = app.value.flags.take().or(of_pm2);
    Ok(Subject {
        threads_asked: app.value.command.as_ref().map(|_| server.source.clone()),
        entry_asked: settings.get(Key::Entry).map(|_| app.value.entry.clone()),
        app,
        env_source: env.source,
        deployment,
        server,
        proxy,
        probe,
        run_as,
        cluster: None,
        remote: None,
    })
}

fn or_default<T>(
    given: Option<Given<'_>>,
    default: T,
    read: impl FnOnce(&Given<'_>) -> Result<Sourced<T>, PlanError>,
) -> Result<Sourced<T>, PlanError> {
    given.map_or_else(|| Ok(Sourced::default(default)), |given| read(&given))
}

fn app(settings: &Settings<'_>) -> Result<Sourced<App>, PlanError> {
    let named = settings.path(Key::App);
    let (folder, source) = match &named {
        Some(named) => (named.value.as_path(), named.source.clone()),
        None => (settings.plan_folder.as_path(), PlanSource::App),
    };
    let named = settings.get(Key::Entry);
    let entry = named.map(|given| {
        let is_possible = |text: &str| is_entry(text.trim()).then(|| text.trim().to_string());
        given.read(|text| is_possible(text).ok_or(Problem::Entry))
    });
    let entry = entry.transpose()?;
    let asked = asked_server(settings)?;
    let hint = AppHint {
        entry: entry.as_ref().map(|entry| entry.value.as_str()),
        runs: asked.map_or(&[], |asked| asked.value.about().runs),
    };
    let value = recognise_as(folder, hint)?;
    Ok(Sourced { value, source: entry.map_or(source, |entry| entry.source) })
}

/// The server that the user names.
fn asked_server(
    settings: &Settings<'_>,
) -> Result<Option<Sourced<&'static dyn Adapter>>, PlanError> {
    let names: Vec<_> = ADAPTERS.iter().map(|adapter| (adapter.name(), *adapter)).collect();
    settings.get(Key::Server).map(|given| given.choice(&names)).transpose()
}

fn server(
    settings: &Settings<'_>,
    app: &mut App,
) -> Result<Sourced<&'static dyn Adapter>, PlanError> {
    let given = asked_server(settings)?;
    let chosen = choose_server(app, given.as_ref().map(|given| given.value))?;
    let source = match (given, chosen.is_shown) {
        (Some(given), _) => given.source,
        (None, true) => PlanSource::App,
        (None, false) => PlanSource::Default,
    };
    Ok(Sourced { value: chosen.adapter, source })
}

/// Variables for the app: those that were typed come before the plan file's.
fn env(settings: &Settings<'_>) -> Result<Sourced<BTreeMap<String, String>>, PlanError> {
    let in_file = settings.file.as_ref().and_then(|file| file.env.as_ref());
    let mut env: BTreeMap<String, String> =
        in_file.iter().flat_map(|in_file| in_file.value.iter().cloned()).collect();
    for given in settings.typed_all(Key::Env) {
        let read = |text: &str| parse_variable(text, |name| std::env::var(name).ok());
        let (name, value) = given.read_secret(read)?.value;
        env.insert(name, value);
    }
    let source = match in_file {
        _ if settings.typed.has(Key::Env) => PlanSource::Flag,
        Some(in_file) => PlanSource::PlanFile { line: in_file.line },
        None => PlanSource::Default,
    };
    Ok(Sourced { value: env, source })
}

/// nginx stands in front of a server that needs it. Of a command it does where that listens on a
/// socket, and only there; the others reach it over a port.
fn proxy(
    settings: &Settings<'_>,
    app: &App,
    adapter: &dyn Adapter,
) -> Result<Sourced<Proxy>, PlanError> {
    let on_socket = app.command.as_ref().map(|command| command.uses(&app.env, "socket"));
    let needed_by = match (on_socket, adapter.about()) {
        (Some(true), _) => Some("a command with {socket}"),
        (_, about) => about.needs_proxy.then_some(about.title),
    };
    let default = if needed_by.is_some() { Proxy::Nginx } else { Proxy::None };
    or_default(settings.get(Key::Proxy), default, |given| {
        let proxy = given.choice(&Proxy::CHOICES)?;
        match (proxy.value, needed_by) {
            (Proxy::Nginx, _) if on_socket == Some(false) => {
                Err(given.problem(Problem::SocketNeeded))
            }
            (Proxy::Nginx, _) | (_, None) => Ok(proxy),
            (_, Some(server)) => Err(given.problem(Problem::ProxyNeeded { server })),
        }
    })
}

/// What looks in from inside is written for some servers only.
fn probe(
    settings: &Settings<'_>,
    adapter: &'static dyn Adapter,
) -> Result<Sourced<bool>, PlanError> {
    or_default(settings.get(Key::Probe), false, |given| {
        let probe = given.choice(&SWITCH)?;
        if probe.value && !adapter.about().runs_ruby() {
            let (server, probed) = (adapter.about().title, known(|about| about.title));
            return Err(given.problem(Problem::NoProbe { server, probed }));
        }
        Ok(probe)
    })
}

fn cores(
    settings: &Settings<'_>,
    surroundings: &Surroundings,
) -> Result<Sourced<Option<Cores>>, PlanError> {
    or_default(settings.get(Key::Cpus), None, |given| {
        let cores = given.read(str::parse::<Cores>)?;
        if cores.value > surroundings.cores {
            let plural = if surroundings.cores.get() == 1.0 { "" } else { "s" };
            let available = format!("{} core{plural}", surroundings.cores);
            return Err(given.problem(Problem::MoreThanMachine { available }));
        }
        Ok(Sourced { value: Some(cores.value), source: cores.source })
    })
}

fn memory(
    settings: &Settings<'_>,
    surroundings: &Surroundings,
) -> Result<Sourced<Option<Bytes>>, PlanError> {
    /// No app server starts within less.
    const LEAST: Bytes = Bytes(16 << 20);
    or_default(settings.get(Key::Memory), None, |given| {
        let memory = given.read(str::parse::<Bytes>)?;
        if memory.value > surroundings.memory {
            let available = surroundings.memory.to_string();
            return Err(given.problem(Problem::MoreThanMachine { available }));
        }
        if memory.value < LEAST {
            let (least, most) = (LEAST.to_string(), surroundings.memory.to_string());
            return Err(given.problem(Problem::Bounds { least, most }));
        }
        Ok(Sourced { value: Some(memory.value), source: memory.source })
    })
}

/// By default as many as usual; where nothing has a place for their number, the one that a variable
/// of the user's says, else the one that stands for today's.
fn workers(
    settings: &Settings<'_>,
    subject: &Subject,
    cuts: &[u16],
    (cores, has_threads): (Cores, bool),
) -> Result<Sourced<Vec<Workers>>, PlanError> {
    let app = &subject.app.value;
    let named = subject.remote.as_ref().and_then(|asked| asked.only_workers);
    let of_remote = named.map(|count| (count, start::NO_WORKERS));
    let of_command = app.command.as_ref().filter(|it| !it.uses(&app.env, "workers"));
    let of_command = of_command.map(|it| (it.today.workers.get(), start::NO_WORKERS));
    let of_pods = pods::only_workers(app).map(|count| (count, pods::NO_WORKERS));
    if let (Some((_, problem)), Some(given), true) = (&of_pods, cuts::given(settings), cuts != [1])
    {
        return Err(given.problem(problem.clone()));
    }
    let only = of_command.or(of_remote).or(of_pods);
    let default = match &only {
        Some((count, _)) => vec![*count],
        None => cuts::shared(usual_workers(cores, has_threads), cuts),
    };
    let counts = or_default(settings.get(Key::Workers), default, |given| {
        let counts = given.read(parse_counts)?;
        let is_another = named.is_some_and(|count| counts.value != [count]);
        match only {
            Some((_, problem)) if is_another || counts.value.len() > 1 => {
                Err(given.problem(problem))
            }
            _ => Ok(counts),
        }
    })?;
    let of_cuts = settings.get(Key::Workers).or_else(|| cuts::given(settings));
    if let (Err(error), Some(given)) = (cuts::check(&counts.value, cuts), of_cuts) {
        return Err(given.problem(error));
    }
    let workers = counts.value.into_iter().map(|count| {
        Workers::new(count).expect("counts that were read, and the default ones, begin at 1")
    });
    Ok(Sourced { value: workers.collect(), source: counts.source })
}

/// Up to twice the cores; where a worker has one thread, and so does nothing while it waits, up to
/// eight times, in wider steps. What memory does not hold is left out by the search.
fn usual_workers(cores: Cores, has_threads: bool) -> Vec<u16> {
    let whole = cores.get().ceil();
    let times = |factor: f64| (whole * factor).min(f64::from(LARGEST_COUNT)) as u16;
    let mut usual: Vec<u16> = (1..=times(2.0)).collect();
    if !has_threads {
        usual.extend([3.0, 4.0, 6.0, 8.0].map(times));
        usual.dedup();
    }
    usual
}

fn threads(
    settings: &Settings<'_>,
    adapter: &'static dyn Adapter,
    has_threads: bool,
) -> Result<Sourced<Vec<Threads>>, PlanError> {
    let default = if has_threads { USUAL_THREADS.to_vec() } else { vec![1] };
    let counts = or_default(settings.get(Key::Threads), default, |given| {
        let counts = given.read(parse_counts)?;
        if !has_threads && counts.value != [1] {
            let server = adapter.about().title;
            return Err(given.problem(match adapter.name() {
                name if name == FOR_COMMANDS.name() => start::NO_THREADS,
                name if name == FOR_PODS.name() => pods::NO_THREADS,
                _ => Problem::OneThreadOnly { server },
            }));
        }
        Ok(counts)
    })?;
    let threads = counts.value.into_iter().map(|count| {
        Threads::new(count).expect("counts that were read, and the default ones, begin at 1")
    });
    Ok(Sourced { value: threads.collect(), source: counts.source })
}

fn goal(settings: &Settings<'_>) -> Result<Sourced<PlannedGoal>, PlanError> {
    or_default(settings.get(Key::Slo), PlannedGoal::FromUnloaded, |given| {
        let slo = given.read(str::parse::<Slo>)?;
        Ok(Sourced { value: PlannedGoal::Given(slo.value), source: slo.source })
    })
}

/// The goals of all targets; targets' own goals must leave some target to the common one.
fn goals(
    settings: &Settings<'_>,
    targets: &Sourced<Vec<Target>>,
    goal: &Sourced<PlannedGoal>,
) -> Result<Goals, PlanError> {
    goals_of(&targets.value, &goal.value).map_err(|error| {
        let of_slo = settings.get(Key::Slo).filter(|_| error == GoalsError::NobodyLeft);
        match of_slo {
            Some(given) => given.problem(error),
            None => hidden(settings.origin(Key::Target, &targets.source), error),
        }
    })
}

/// A request that was given up counts with the time given up; only a timeout above the goal's
/// limits makes that a violation. The default grows with the goal, a timeout that was given is
/// checked.
fn timeout(
    settings: &Settings<'_>,
    goal: &PlannedGoal,
    goals: &Goals,
) -> Result<Sourced<Duration>, PlanError> {
    let least = match goal {
        PlannedGoal::FromUnloaded if goals.has_common() => USUAL_FROM_UNLOADED,
        _ => Duration::ZERO,
    };
    let limit = goals.longest_limit().unwrap_or_default().max(least);
    let default = DEFAULT_TIMEOUT.max(limit * 2);
    or_default(settings.get(Key::Timeout), default, |given| {
        let timeout = duration_within(given, LEAST_TIMEOUT, MOST_TIMEOUT)?;
        if timeout.value <= limit {
            let limit = format_duration(limit);
            return Err(given.problem(Problem::TimeoutWithinSlo { limit }));
        }
        Ok(timeout)
    })
}

fn budget(settings: &Settings<'_>) -> Result<Sourced<Duration>, PlanError> {
    or_default(settings.get(Key::Budget), DEFAULT_BUDGET, |given| {
        duration_within(given, LEAST_BUDGET, MOST_BUDGET)
    })
}

fn soak(settings: &Settings<'_>) -> Result<Option<Sourced<Duration>>, PlanError> {
    let given = settings.get(Key::Soak);
    given.map(|given| duration_within(&given, LEAST_SOAK, MOST_BUDGET)).transpose()
}

fn precision(settings: &Settings<'_>) -> Result<Sourced<Option<Ratio>>, PlanError> {
    or_default(settings.get(Key::Precision), None, |given| {
        let asked = given.read(str::parse::<Ratio>)?;
        if PRECISION.contains(&asked.value.get()) {
            return Ok(Sourced { value: Some(asked.value), source: asked.source });
        }
        let (least, most) = ("0.5%".to_string(), "50%".to_string());
        Err(given.problem(Problem::Bounds { least, most }))
    })
}

fn duration_within(
    given: &Given<'_>,
    least: Duration,
    most: Duration,
) -> Result<Sourced<Duration>, PlanError> {
    let duration = given.read(parse_duration)?;
    if (least..=most).contains(&duration.value) {
        return Ok(duration);
    }
    let (least, most) = (format_duration(least), format_duration(most));
    Err(given.problem(Problem::Bounds { least, most }))
}

pub const ARRIVALS: [(&str, Arrivals); 2] =
    [("poisson", Arrivals::Poisson), ("uniform", Arrivals::Uniform)];

pub const CONNECTIONS: [(&str, ConnectionMode); 2] =
    [("fresh", ConnectionMode::Fresh), ("keep-alive", ConnectionMode::KeepAlive)];

fn arrivals(settings: &Settings<'_>) -> Result<Sourced<Arrivals>, PlanError> {
    or_default(settings.get(Key::Arrivals), Arrivals::Poisson, |given| given.choice(&ARRIVALS))
}

/// Before a proxy of ours its clients' connections, else as what stands in front of the app has it;
/// what does before one that runs elsewhere is not known.
fn connection(
    settings: &Settings<'_>,
    subject: &Subject,
) -> Result<Sourced<ConnectionMode>, PlanError> {
    let app = &subject.app.value;
    match (settings.get(Key::Connection), app.proxy) {
        (Some(given), _) => given.choice(&CONNECTIONS),
        (None, Proxy::None) if app.pods.is_none() && subject.remote.is_none() => {
            Ok(front::connection(&app.folder, &subject.deployment))
        }
        (None, _) => Ok(Sourced::default(ConnectionMode::Fresh)),
    }
}

/// What is asked until it answers: by default the first target that a `GET` reaches.
fn ready(settings: &Settings<'_>, targets: &[Target]) -> Result<Sourced<String>, PlanError> {
    let first = targets.iter().find(|target| target.method == "GET");
    let default = first.map_or_else(|| "/".to_string(), |target| target.path.clone());
    or_default(settings.get(Key::Ready), default, |given| {
        let target = given.read_secret(|text| Target::new("GET", text.trim()))?;
        Ok(Sourced { value: target.value.path, source: target.source })
    })
}

/// How long a server may boot; `None`: as long as the place where it runs gives it by default.
fn boot_timeout(settings: &Settings<'_>) -> Result<Option<Sourced<Duration>>, PlanError> {
    let given = settings.get(Key::BootTimeout);
    given.map(|given| duration_within(&given, LEAST_BOOT_TIMEOUT, BOOT_TIMEOUT_MOST)).transpose()
}

fn db_connections(
    settings: &Settings<'_>,
    server: &dyn Adapter,
    (workers, threads): (Workers, Threads),
    has_threads: bool,
) -> Result<Sourced<Option<u32>>, PlanError> {
    or_default(settings.get(Key::DbConnections), None, |given| {
        let number = given.number(1, MOST_CONNECTIONS)?;
        if server.is_event_loop(has_threads) {
            let server = server.about().title;
            return Err(given.problem(Problem::ConnectionsOfPools { server }));
        }
        let (workers, threads) = (workers.get(), threads.get());
        let needed = u32::from(workers) * u32::from(threads);
        if number.value < u64::from(needed) {
            let threads = has_threads.then_some(threads);
            return Err(given.problem(Problem::TooFewConnections { workers, threads, needed }));
        }
        Ok(Sourced { value: Some(number.value as u32), source: number.source })
    })
}

fn seed(settings: &Settings<'_>) -> Result<Sourced<u64>, PlanError> {
    or_default(settings.get(Key::Seed), DEFAULT_SEED, |given| given.number(0, u64::MAX))
}

/// What lies in the folder of an app's pages is sent to whoever asks for it, unless a part of its
/// path begins with a dot.
fn refuse_served_store(settings: &Settings<'_>, app: &App) -> Result<(), PlanError> {
    let path = store(settings).value;
    let pages = (app.framework == Framework::Php).then_some(app.entry.as_str());
    let is_served = |folder: &str| {
        let below = path.strip_prefix(app.folder.join(folder)).ok();
        below.is_some_and(|it| !it.iter().any(|part| part.as_bytes().starts_with(b".")))
    };
    if !pages.into_iter().chain(["public"]).any(is_served) {
        return Ok(());
    }
    let typed = || hidden(flag(Key::Store), Problem::StoreServed);
    Err(settings.get(Key::Store).map_or_else(typed, |given| given.problem(Problem::StoreServed)))
}

fn store(settings: &Settings<'_>) -> Sourced<PathBuf> {
    settings
        .path(Key::Store)
        .unwrap_or_else(|| Sourced::default(settings.folder.join(Path::new(DEFAULT_STORE))))
}

#[cfg(test)]
mod tests;
