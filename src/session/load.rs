//! What `sweetspot load` does: one load, one result.
//!
//! In: what was typed, taken apart by the command line ([`Asked`]). Out: a summary. Must not print.

pub(super) mod addresses;
mod asked;
pub mod capacity;
mod cluster;
mod describe;
mod error;
mod fleet;
mod prepared;
mod receivers;
mod route;
pub(super) mod tls;
mod together;
mod window;

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

pub use crate::fleet::{
    FOLDER as FILES_OF_HOSTS, ForHosts, Host, OnLoss, Relay, TOKEN as FLEET_TOKEN, hand_over,
};
use crate::load::shape::Part;
pub use crate::load::shape::{Shape, Stages};
use crate::load::{self, Address, Callbacks, LoadSpec};
pub use crate::load::{Closing, Length, Protocol, TlsOptions};
use crate::plan::header::given_or_read;
use crate::plan::traffic::{self, Traffic, Url};
pub use crate::plan::traffic::{LogSpec, Speed};
use crate::terms::{
    Goals, LoadDoubt, LoadRun, LoadSummary, Rate, RequestRow, RouteSummary, StopSignal, Target,
    Warning,
};
use addresses::addresses;
pub use asked::{Asked, ClusterAsked, FleetAsked, Role};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use describe::describe;
pub use error::LoadVerbError;
pub use prepared::{Finished, Prepared};
use receivers::Seconds;
pub use receivers::{Receivers, RowSink};
pub use together::{join, relay};

/// How a load ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conclusion {
    /// Measured, and the SLO met if there was one.
    Done,
    NotMet,
    /// Limited by the generator, or too few requests to judge the SLO.
    Invalid,
    /// Not one request was answered.
    NothingAnswered,
}

/// Checks what was typed, and finds the server's addresses (without sending anything).
///
/// # Errors
/// What was typed makes no sense or is not allowed, or the name is not known.
pub fn prepare(mut asked: Asked) -> Result<Prepared, LoadVerbError> {
    let targets_text = asked.targets_file.as_deref().map(traffic::read_targets_file).transpose()?;
    let url = match &asked.url {
        Some(url) => Url::parse(url)?,
        None => traffic::server(targets_text.as_deref().unwrap_or_default())?,
    };
    let variables = asked.variables_file.as_deref().map(traffic::read_table).transpose()?;
    let mut traffic = asked.access_log.as_ref().map(traffic::read_log).transpose()?;
    let speed = asked.access_log.as_ref().and_then(|log| log.replay);
    let shape = shape_of(&asked, traffic.as_mut())?;
    if let Some(length) = shape.length(asked.warm_up) {
        asked.length = Length::Duration(length);
    } else if asked.length == Length::Duration(Duration::ZERO) {
        return Err(LoadVerbError::Usage("the duration must be above zero, such as 10s".into()));
    }
    let targets = targets_of(&asked, &url, targets_text.as_deref(), traffic.as_ref())?;
    let goals = Goals::of(&targets, asked.slo.clone(), false)
        .map_err(|error| LoadVerbError::Usage(error.to_string()))?;
    let address = match &asked.unix {
        Some(path) => Address::Unix(path.clone()),
        // Whoever sends it finds the address, and whether it is public: a cluster has names of its
        // own.
        None if asked.is_sent_elsewhere() => Address::Tcp(Vec::new()),
        None => Address::Tcp(addresses(&url, asked.allows_public)?),
    };
    let tls = tls::settings(&asked.tls, &url)?;
    let mut description = describe(&asked, &shape, &url, &targets, &address);
    description.extend(traffic.as_ref().map(|traffic| traffic.description(speed)));
    description.extend(tls.is_some().then(|| tls::describe(&asked.tls)));
    let warnings = traffic.as_ref().map(Traffic::warnings).unwrap_or_default();
    let loops = asked.loops.unwrap_or_else(|| match &asked.fleet {
        // They may have other cores than this program has.
        Some(fleet) => loops_needed(&fleet::share_of(&shape, fleet.generators), u16::MAX),
        None => loops_needed(&shape, own_cores()),
    });
    let spec = LoadSpec {
        address,
        host: url.host_header(),
        targets,
        variables: variables.map(Arc::new),
        keeps_cookies: asked.keeps_cookies,
        shape,
        warm_up: asked.warm_up,
        length: asked.length,
        connection: asked.connection,
        closing: asked.closing,
        records_each_target: goals.are_apart(),
        keeps_rows: false,
        protocol: asked.protocol,
        tls,
        timeout: asked.timeout,
        max_in_flight: asked.max_in_flight,
        part: Part::WHOLE,
        loops,
        seed: asked.seed,
        placement: asked.placement,
    };
    let of = asked.fleet.as_ref().map_or(1, |fleet| fleet.generators.max(1));
    load::check(&LoadSpec { part: Part { index: 0, of }, ..spec.clone() })?;
    let (fleet, allows_public) = (asked.fleet, asked.allows_public);
    Ok(Prepared { url, allows_public, spec, fleet, goals, warnings, description })
}

/// A loop sends several times as much on a core of its own; shared with a server it may be less.
const RATE_OF_A_LOOP: f64 = 20_000.0;

/// With fewer each, more loops only wake each other's cores.
const CLIENTS_OF_A_LOOP: u32 = 32;

fn loops_needed(shape: &Shape, cores: u16) -> u16 {
    let needed = match *shape {
        Shape::Clients { clients, .. } => clients.div_ceil(CLIENTS_OF_A_LOOP),
        _ => {
            let rate = shape.highest_rate().map_or(0.0, Rate::as_per_second);
            (rate / RATE_OF_A_LOOP).ceil() as u32
        }
    };
    needed.clamp(1, u32::from(cores)) as u16
}

/// Cores that this process may use, as far as its affinity and its control group's quota say.
fn own_cores() -> u16 {
    std::thread::available_parallelism().map_or(1, |cores| cores.get().min(1 << 10) as u16)
}

fn rows_left_out(run: &LoadRun) -> Option<Warning> {
    (run.rows_left_out > 0).then(|| LoadDoubt::RowsLeftOut { requests: run.rows_left_out }.into())
}

/// Runs the load to its end, until `stop` is raised, or until the watcher breaks.
///
/// # Errors
/// The generator cannot work.
pub fn run(
    prepared: &Prepared,
    stop: &StopSignal,
    receivers: Receivers<'_>,
) -> Result<Finished, LoadVerbError> {
    if let Some(fleet) = &prepared.fleet {
        return together::run(prepared, fleet, stop, receivers);
    }
    let (mut spec, route) = on_the_way(prepared, stop);
    spec.keeps_rows = receivers.rows.is_some();
    let mut seconds = Seconds::new(prepared, receivers.second);
    let mut ignored = |_: &[RequestRow]| {};
    let rows: RowSink<'_> = receivers.rows.unwrap_or(&mut ignored);
    let measured_from = spec.warm_up.as_nanos() as u64;
    let mut measured = |all: &[RequestRow]| {
        all.chunk_by(|a, b| (a.due_ns < measured_from) == (b.due_ns < measured_from))
            .filter(|part| part[0].due_ns >= measured_from)
            .for_each(&mut *rows);
    };
    let callbacks = Callbacks {
        watch: receivers.watch,
        second: &mut |second| seconds.take(&second),
        rows: &mut measured,
        begin: &mut || (receivers.begin)(Duration::ZERO),
    };
    let run = load::stream(&spec, stop, callbacks)?;
    let (mut summary, all) = seconds.fold.finish(&run);
    summary.warnings.extend(tls::warning(&run, &summary.errors));
    summary.warnings.extend(rows_left_out(&run));
    summary.warnings.extend(prepared.warnings.iter().cloned());
    route::add(route, prepared.goals.tightest_limit(), &mut summary);
    summary.shape = Some(prepared.shape());
    summary.arrivals = prepared.arrivals();
    Ok(Finished { summary, all })
}

/// The load as it will be sent, to those addresses where a server listens; and the way there.
fn on_the_way(prepared: &Prepared, stop: &StopSignal) -> (LoadSpec, Option<RouteSummary>) {
    let spec = prepared.to_who_listens();
    let route = match &spec.address {
        Address::Tcp(addresses) => route::measure(addresses, stop),
        Address::Unix(_) => None,
    };
    (spec, route)
}

/// What the exit code says.
pub fn conclude(summary: &LoadSummary) -> Conclusion {
    if summary.completed == 0 {
        return Conclusion::NothingAnswered;
    }
    match summary.slo.as_ref().map(|slo| slo.met) {
        _ if !summary.valid => Conclusion::Invalid,
        Some(None) => Conclusion::Invalid,
        Some(Some(false)) => Conclusion::NotMet,
        Some(Some(true)) | None => Conclusion::Done,
    }
}

/// The shape that was typed, or the log's own rhythm.
fn shape_of(asked: &Asked, traffic: Option<&mut Traffic>) -> Result<Shape, LoadVerbError> {
    let speed = asked.access_log.as_ref().and_then(|log| log.replay);
    if let (Some(speed), Some(traffic)) = (speed, traffic) {
        return Ok(Shape::Times(Arc::new(traffic.take_times(speed)?)));
    }
    let missing = || LoadVerbError::Usage("a load needs a rate, clients or a log to replay".into());
    asked.shape.clone().ok_or_else(missing)
}

fn targets_of(
    asked: &Asked,
    url: &Url,
    targets_text: Option<&str>,
    traffic: Option<&Traffic>,
) -> Result<Vec<Target>, LoadVerbError> {
    let usage = |what: &str| Err(LoadVerbError::Usage(what.to_string()));
    // Those of a log come first: its arrivals name them by their place.
    let mut targets = traffic.map(|traffic| traffic.targets.clone()).unwrap_or_default();
    targets.extend(asked.targets.iter().cloned());
    if let Some(text) = targets_text {
        targets.extend(traffic::parse_targets(text, url, &read_file)?);
    }
    if targets.is_empty() {
        targets.push(own_target(asked, url)?);
    } else if !url.is_bare() {
        return usage(
            "with --target, --targets or --access-log the URL names the server only; leave out \
             its path",
        );
    } else if asked.method.is_some() || asked.data.is_some() {
        return usage(
            "-X and -d are for the URL's own request; write --target 'POST /path' instead, \
                      and bodies into a targets file",
        );
    }
    let common = common_headers(asked, url)?;
    for target in &mut targets {
        // A target's own header is nearer to it; one that was given twice for all stays two.
        let is_new = |(name, _): &&(String, String)| !has_header(&target.headers, name);
        let added: Vec<_> = common.iter().filter(is_new).cloned().collect();
        target.headers.extend(added);
    }
    Ok(targets)
}

fn has_header(headers: &[(String, String)], name: &str) -> bool {
    headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name))
}

/// What `-H`, `--user` and the URL ask for in every request.
fn common_headers(asked: &Asked, url: &Url) -> Result<Vec<(String, String)>, LoadVerbError> {
    let read = |given: &String| {
        given_or_read(given).map_err(|error| LoadVerbError::Usage(error.to_string()))
    };
    let mut headers = Vec::new();
    for line in asked.headers.iter().map(read).collect::<Result<Vec<_>, _>>()?.concat() {
        headers.push(traffic::header(&line).map_err(LoadVerbError::Usage)?);
    }
    let typed = asked.user.as_ref().map(read).transpose()?.map(|lines| lines.concat());
    let user = match (&typed, &url.user) {
        (Some(user), _) if !user.contains(':') => {
            // The text is not repeated: it may be the password alone.
            let what = "--user lacks the ':' between user and password (both may be empty)";
            return Err(LoadVerbError::Usage(what.into()));
        }
        (Some(user), _) => Some(user.clone()),
        // In a URL the password may be left out with its colon, and is then empty.
        (None, Some(user)) if !user.contains(':') => Some(format!("{user}:")),
        (None, user) => user.clone(),
    };
    if let Some(user) = user.filter(|_| !has_header(&headers, "Authorization")) {
        headers
            .push(("Authorization".to_string(), format!("Basic {}", BASE64_STANDARD.encode(user))));
    }
    Ok(headers)
}

/// The request that the URL itself names.
fn own_target(asked: &Asked, url: &Url) -> Result<Target, LoadVerbError> {
    let body = match asked.data.as_deref().map(|data| (data, data.strip_prefix('@'))) {
        None => Vec::new(),
        Some((_, Some(file))) => read_file(file)
            .map_err(|error| LoadVerbError::Usage(format!("could not read '{file}': {error}")))?,
        Some((data, None)) => data.as_bytes().to_vec(),
    };
    let method =
        asked.method.as_deref().unwrap_or(if asked.data.is_some() { "POST" } else { "GET" });
    let target =
        Target::new(method, &url.path).map_err(|error| LoadVerbError::Usage(error.to_string()))?;
    Ok(Target { body, ..target })
}

/// `-` is standard input.
fn read_file(name: &str) -> io::Result<Vec<u8>> {
    if name == "-" {
        let mut bytes = Vec::new();
        io::stdin().read_to_end(&mut bytes)?;
        return Ok(bytes);
    }
    std::fs::read(Path::new(name))
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::report::load::RequestLine;
    use crate::terms::{Arrivals, ShapeSummary, StageSummary};

    fn asked(url: &str) -> Asked {
        let rate = Rate::per_second(10.0).unwrap();
        let shape = Shape::Constant { rate, arrivals: Arrivals::Uniform };
        let warm_up = Duration::from_secs(5);
        Asked { warm_up, ..Asked::new(url, shape, Duration::from_secs(30)) }
    }

    #[test]
    fn credentials_become_a_header_and_are_never_shown() {
        let prepared = prepare(asked("http://me:secret@127.0.0.1:9/a?token=t0k")).unwrap();
        let header = ("Authorization".to_string(), "Basic bWU6c2VjcmV0".to_string());
        assert_eq!(prepared.spec.targets[0].headers, [header]);
        let shown = prepared.description.join("\n");
        assert_eq!(
            shown,
            "GET /a?… on 127.0.0.1:9 (127.0.0.1:9)\n\
             10.0/s, uniform arrivals, for 30s after 5s of warm-up, keep-alive connections, \
             timeout 10s"
        );
    }

    #[test]
    fn stages_are_named_and_say_how_long_it_takes() {
        let described = |text: &str| {
            let Stages(stages) = text.parse().unwrap();
            let shape = Shape::Stages { stages, arrivals: Arrivals::Poisson };
            let prepared = prepare(Asked { shape: Some(shape), ..asked("127.0.0.1:9") }).unwrap();
            prepared.description[1].clone()
        };
        let shown = described("0..500/s:60s,500/s:2m,10/s:30s");
        let expected = "0.00/s to 500/s in 1m, then 500/s for 2m, then 10.0/s for 30s, poisson \
                        arrivals, for 3m30s after 5s of warm-up";
        assert!(shown.starts_with(expected), "{shown}");
        let shown = described(&["1/s:1s"; 9].join(","));
        assert!(shown.contains("1.00/s for 1s, then 3 more stages, poisson"), "{shown}");
    }

    #[test]
    fn results_say_how_the_load_went_on() {
        let of = |shape| prepare(Asked { shape: Some(shape), ..asked("127.0.0.1:9") }).unwrap();
        let shape_of = |shape: Shape| of(shape).shape();
        let Stages(stages) = "50/s:10s,0..150/s:5s".parse().unwrap();
        let stage = |from_rps, to_rps, duration_s| StageSummary { from_rps, to_rps, duration_s };
        let expected = vec![stage(50.0, 50.0, 10.0), stage(0.0, 150.0, 5.0)];
        let shape = Shape::Stages { stages, arrivals: Arrivals::Uniform };
        assert_eq!(shape_of(shape), ShapeSummary::Stages { stages: expected });
        let clients = Shape::Clients { clients: 3, think: Duration::from_millis(500) };
        assert_eq!(of(clients.clone()).arrivals(), None);
        assert_eq!(shape_of(clients), ShapeSummary::Clients { think_s: 0.5 });
        let rate = Rate::per_second(10.0).unwrap();
        for arrivals in [Arrivals::Uniform, Arrivals::Poisson] {
            assert_eq!(of(Shape::Constant { rate, arrivals }).arrivals(), Some(arrivals));
        }
        assert_eq!(prepare(asked("127.0.0.1:9")).unwrap().shape(), ShapeSummary::Constant);
    }

    #[test]
    fn reports_know_where_it_goes_and_no_secret() {
        let url = "http://me:secret@app.localhost:9292/a?token=t0k";
        let mut with_body = asked(url);
        (with_body.unix, with_body.data) = (Some("socket".into()), Some("x".into()));
        let about = prepare(with_body).unwrap().about(Timestamp::UNIX_EPOCH);
        assert_eq!((about.server.as_str(), about.port), ("http://app.localhost:9292", 9292));
        let only = RequestLine { method: "POST".into(), path: "/a?…".into() };
        assert_eq!((about.targets, about.has_bodies), (vec![only], true));
        assert_eq!((about.duration, about.loops), (Some(Duration::from_secs(30)), 1));
    }

    #[test]
    fn data_makes_it_a_post_and_headers_go_to_every_target() {
        let mut one = asked("127.0.0.1:9/orders");
        one.data = Some("a=1".into());
        one.headers = vec!["X-A: 1".into()];
        let prepared = prepare(one).unwrap();
        let target = &prepared.spec.targets[0];
        assert_eq!(
            (target.to_string().as_str(), target.body.as_slice()),
            ("POST /orders", b"a=1".as_slice())
        );

        let mut several = asked("127.0.0.1:9");
        several.targets = vec!["/a".parse().unwrap(), "HEAD /b weight=2".parse().unwrap()];
        several.headers = vec!["X-A: 1".into()];
        let prepared = prepare(several).unwrap();
        assert!(prepared.spec.targets.iter().all(|target| target.headers.len() == 1));
    }

    #[test]
    fn loops_are_as_many_as_the_load_needs_and_never_more_than_cores() {
        let open = |rate| Shape::Constant {
            rate: Rate::per_second(rate).unwrap(),
            arrivals: Arrivals::Uniform,
        };
        let closed = |clients| Shape::Clients { clients, think: Duration::ZERO };
        assert_eq!([open(1.0), open(20_000.0)].map(|load| loops_needed(&load, 8)), [1, 1]);
        assert_eq!([open(50_000.0), open(1e6)].map(|load| loops_needed(&load, 8)), [3, 8]);
        assert_eq!(
            [closed(0), closed(32), closed(64)].map(|load| loops_needed(&load, 8)),
            [1, 1, 2]
        );
        assert_eq!(loops_needed(&closed(10_000), 2), 2);
    }

    #[test]
    fn what_contradicts_itself_is_refused() {
        let mut with_path = asked("127.0.0.1:9/path");
        with_path.targets = vec!["/a".parse().unwrap()];
        let mut with_data = asked("127.0.0.1:9");
        with_data.targets = vec!["/a".parse().unwrap()];
        with_data.data = Some("x".into());
        let mut without_file = asked("127.0.0.1:9");
        without_file.data = Some("@/no/such/file".into());
        let mut bad_header = asked("127.0.0.1:9");
        bad_header.headers = vec!["secret".into()];
        for asked in [with_path, with_data, without_file, bad_header] {
            let error = prepare(asked).err().unwrap();
            assert!(error.is_usage(), "{error}");
            assert!(!error.to_string().contains("secret"), "{error}");
        }
    }

    #[test]
    fn a_name_is_looked_up_for_each_load_and_what_may_not_be_loaded_is_not_gone_to() {
        let mut prepared = prepare(asked("127.0.0.1:9")).unwrap();
        let (now, before) = ("127.0.0.1:9".parse().unwrap(), "127.0.0.2:9".parse().unwrap());
        prepared.spec.address = Address::Tcp(vec![before]);
        assert_eq!(prepared.to_who_listens().address, Address::Tcp(vec![now]));
        prepared.url.host = "8.8.8.8".into();
        assert_eq!(prepared.to_who_listens().address, Address::Tcp(vec![before]));
    }

    #[test]
    fn load_is_sent_to_a_public_address_only_when_that_was_allowed() {
        let mut public = asked("8.8.8.8");
        assert!(prepare(public.clone()).err().unwrap().to_string().contains("--allow-public"));
        public.allows_public = true;
        assert!(prepare(public).is_ok());
    }
}
