//! What `sweetspot load` does: one load, one result.
//!
//! In: what was typed, taken apart by the command line ([`Asked`]). Out: a summary. Must not print.

mod targets;
mod tls;
mod url;

use std::io::{self, Read};
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use thiserror::Error;

pub use crate::load::{Length, TlsOptions};
use crate::load::{self, Address, LoadError, LoadSpec, Placement};
use crate::summary::load::{Rules, summarise};
use crate::terms::{
    ConnectionMode, LiveSecond, LoadSummary, Offered, Slo, StopSignal, Target, format_duration,
};
use url::Url;

/// What was typed.
#[derive(Clone)]
pub struct Asked {
    pub url: String,
    pub unix: Option<PathBuf>,
    /// `--target`, in order.
    pub targets: Vec<Target>,
    pub targets_file: Option<PathBuf>,
    /// Of the URL's own request.
    pub method: Option<String>,
    /// Body of the URL's own request, or `@FILE`.
    pub data: Option<String>,
    /// Of all requests, each `Name: value`.
    pub headers: Vec<String>,
    /// `user:password`.
    pub user: Option<String>,
    pub offered: Offered,
    pub warm_up: Duration,
    pub length: Length,
    pub connection: ConnectionMode,
    pub timeout: Duration,
    pub max_in_flight: Option<u32>,
    pub loops: u16,
    pub seed: u64,
    pub slo: Option<Slo>,
    pub allows_public: bool,
    /// For `https://`.
    pub tls: TlsOptions,
}

/// Why there is no result.
#[derive(Debug, Error)]
pub enum LoadVerbError {
    /// What was typed makes no sense.
    #[error("{0}")]
    Usage(String),
    /// A rule that protects others' machines.
    #[error(
        "{host} is at {address}, a public address; load is sent to this machine and private \
         networks only, unless you may load that server and say --allow-public"
    )]
    PublicAddress { host: String, address: IpAddr },
    // The cause is told after it, as that of every error.
    #[error("could not find the address of '{host}' (check the name)")]
    Resolve {
        host: String,
        #[source]
        source: io::Error,
    },
    #[error(transparent)]
    Load(#[from] LoadError),
}

impl LoadVerbError {
    /// The user's to mend on the command line, rather than the environment's.
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Usage(_) | Self::PublicAddress { .. } | Self::Load(LoadError::Plan(_)) => true,
            Self::Resolve { .. } | Self::Load(LoadError::Environment { .. }) => false,
        }
    }
}

/// A load that can begin.
pub struct Prepared {
    spec: LoadSpec,
    slo: Option<Slo>,
    /// What is going to be done, for people; without secrets.
    pub description: Vec<String>,
}

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
pub fn prepare(asked: Asked) -> Result<Prepared, LoadVerbError> {
    if asked.length == Length::Duration(Duration::ZERO) {
        return Err(LoadVerbError::Usage("the duration must be above zero, such as 10s".into()));
    }
    let url = Url::parse(&asked.url)?;
    let targets = targets_of(&asked, &url)?;
    let address = match &asked.unix {
        Some(path) => Address::Unix(path.clone()),
        None => Address::Tcp(addresses(&url, asked.allows_public)?),
    };
    let tls = tls::settings(&asked.tls, &url)?;
    let mut description = describe(&asked, &url, &targets, &address);
    description.extend(tls.is_some().then(|| tls::describe(&asked.tls)));
    let spec = LoadSpec {
        address,
        host: url.host_header(),
        targets,
        shape: asked.offered.into(),
        warm_up: asked.warm_up,
        length: asked.length,
        connection: asked.connection,
        tls,
        timeout: asked.timeout,
        max_in_flight: asked.max_in_flight,
        loops: asked.loops,
        seed: asked.seed,
        placement: Placement::default(),
    };
    Ok(Prepared { spec, slo: asked.slo, description })
}

/// Runs the load to its end, until `stop` is raised, or until `watch` breaks.
///
/// # Errors
/// The generator cannot work.
pub fn run(
    prepared: &Prepared,
    stop: &StopSignal,
    watch: &mut dyn FnMut(&LiveSecond) -> ControlFlow<()>,
) -> Result<LoadSummary, LoadVerbError> {
    // Nothing is started from this process, so nothing inherits the higher limit.
    load::raise_descriptor_limit();
    let mut spec = prepared.spec.clone();
    if let Address::Tcp(addresses) = &mut spec.address {
        *addresses = reachable(std::mem::take(addresses));
    }
    let record = load::run(&spec, stop, watch)?;
    let mut summary = summarise(&record, spec.warm_up, prepared.slo.as_ref(), &Rules::default());
    summary.warnings.extend(tls::warning(&record, &summary.errors));
    Ok(summary)
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

/// Says what happened instead, most frequent first, and where to look.
pub fn why_nothing_was_answered(summary: &LoadSummary) -> String {
    let errors = &summary.errors;
    let tls = tls::explained(summary);
    let not_http = tls.clone().unwrap_or("is that the right port?".into());
    let malformed = format!("answered with something that is not HTTP/1: {not_http}");
    let tls = format!("ended by TLS: {}", tls.unwrap_or("the server's log may say why".into()));
    let kinds = [
        (
            errors.refused,
            "refused: nothing listens there; is the server running, on that port or socket?",
        ),
        (
            errors.timeout,
            "not answered in time: is the server overloaded, or the timeout too short?",
        ),
        (errors.reset, "reset by the server: its own log may say why"),
        (errors.closed_early, "cut off by the server before a whole reply: its log may say why"),
        (errors.malformed, malformed.as_str()),
        (errors.tls, tls.as_str()),
        (errors.address_unavailable, "without a free port or descriptor on this side (ulimit -n)"),
        (errors.dropped, "never sent"),
    ];
    match kinds.iter().max_by_key(|(count, _)| *count) {
        Some((count, what)) if *count > 0 => {
            format!("not one request was answered: {count} of {} were {what}", summary.due)
        }
        _ => "the load was ended before anything was measured".to_string(),
    }
}

fn targets_of(asked: &Asked, url: &Url) -> Result<Vec<Target>, LoadVerbError> {
    let usage = |what: &str| Err(LoadVerbError::Usage(what.to_string()));
    let mut targets = asked.targets.clone();
    if let Some(file) = &asked.targets_file {
        let text = std::fs::read_to_string(file).map_err(|error| {
            LoadVerbError::Usage(format!(
                "could not read the targets file {}: {error}",
                file.display()
            ))
        })?;
        targets.extend(targets::parse(&text, url, &read_file)?);
    }
    if targets.is_empty() {
        targets.push(own_target(asked, url)?);
    } else if !url.is_bare() {
        return usage(
            "with --target or --targets the URL names the server only; leave out its path",
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
    let headers = asked.headers.iter().map(|text| targets::header(text));
    let mut headers = headers.collect::<Result<Vec<_>, _>>().map_err(LoadVerbError::Usage)?;
    let user = match (&asked.user, &url.user) {
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
        headers.push(("Authorization".to_string(), format!("Basic {}", base64(user.as_bytes()))));
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

fn addresses(url: &Url, allows_public: bool) -> Result<Vec<SocketAddr>, LoadVerbError> {
    let host = url.host.clone();
    let mut addresses: Vec<SocketAddr> = match (url.host.as_str(), url.port).to_socket_addrs() {
        Ok(found) => found.collect(),
        Err(source) => return Err(LoadVerbError::Resolve { host, source }),
    };
    addresses.dedup();
    match addresses.iter().map(SocketAddr::ip).find(|ip| is_public(*ip)) {
        Some(address) if !allows_public => Err(LoadVerbError::PublicAddress { host, address }),
        _ => Ok(addresses),
    }
}

/// Anything that is not this machine, a private network or a single link.
fn is_public(ip: IpAddr) -> bool {
    match ip.to_canonical() {
        IpAddr::V4(ip) => {
            // 100.64.0.0/10 is shared behind a provider's translation, as overlay networks use it.
            let is_shared = ip.octets()[0] == 100 && ip.octets()[1] & 0xc0 == 0x40;
            let is_near = ip.is_loopback() || ip.is_private() || ip.is_link_local();
            !(is_near || is_shared || ip.is_unspecified())
        }
        IpAddr::V6(ip) => {
            let is_near = ip.is_loopback() || ip.is_unique_local() || ip.is_unicast_link_local();
            !(is_near || ip.is_unspecified())
        }
    }
}

/// Of several addresses, those where somebody listens: `localhost` is often two, and most servers
/// listen on one. All of them when none answers, so that the load shows how it fails.
fn reachable(addresses: Vec<SocketAddr>) -> Vec<SocketAddr> {
    const PATIENCE: Duration = Duration::from_secs(1);
    if addresses.len() < 2 {
        return addresses;
    }
    let answers = |address: &SocketAddr| TcpStream::connect_timeout(address, PATIENCE).is_ok();
    let found: Vec<SocketAddr> = addresses.iter().copied().filter(answers).collect();
    if found.is_empty() { addresses } else { found }
}

fn describe(asked: &Asked, url: &Url, targets: &[Target], address: &Address) -> Vec<String> {
    let place = match address {
        Address::Unix(path) => format!("unix socket {}", path.display()),
        Address::Tcp(addresses) => {
            let texts: Vec<String> = addresses.iter().map(ToString::to_string).collect();
            texts.join(", ")
        }
    };
    let what = match targets {
        [target] => target.to_string(),
        several => format!("{} targets", several.len()),
    };
    let load = match asked.offered {
        Offered::Open { rate, arrivals } => {
            format!("{rate}, {} arrivals", format!("{arrivals:?}").to_lowercase())
        }
        Offered::Closed { clients, think } if think.is_zero() => format!("{clients} clients"),
        Offered::Closed { clients, think } => {
            format!("{clients} clients that think {}", format_duration(think))
        }
    };
    let length = match asked.length {
        Length::Duration(length) => format!("for {}", format_duration(length)),
        Length::Requests(count) => format!("for {count} requests"),
    };
    let warm_up = match asked.warm_up {
        Duration::ZERO => String::new(),
        warm_up => format!(" after {} of warm-up", format_duration(warm_up)),
    };
    let (connection, timeout) = (asked.connection, format_duration(asked.timeout));
    vec![
        format!("{what} on {} ({place})", url.host_header()),
        format!("{load}, {length}{warm_up}, {connection} connections, timeout {timeout}"),
    ]
}

/// RFC 4648, section 4.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let padded = [chunk[0], *chunk.get(1).unwrap_or(&0), *chunk.get(2).unwrap_or(&0)];
        let bits = padded.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte));
        for place in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * place)) as usize & 63];
            text.push(if place <= chunk.len() { char::from(digit) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::{Arrivals, Rate};

    fn asked(url: &str) -> Asked {
        let rate = Rate::per_second(10.0).unwrap();
        Asked {
            url: url.into(),
            unix: None,
            targets: Vec::new(),
            targets_file: None,
            method: None,
            data: None,
            headers: Vec::new(),
            user: None,
            offered: Offered::Open { rate, arrivals: Arrivals::Uniform },
            warm_up: Duration::from_secs(5),
            length: Length::Duration(Duration::from_secs(30)),
            connection: ConnectionMode::KeepAlive,
            timeout: Duration::from_secs(10),
            max_in_flight: None,
            loops: 1,
            seed: 1,
            slo: None,
            allows_public: false,
            tls: TlsOptions::default(),
        }
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
    fn public_addresses_are_told_from_private_ones() {
        for ip in ["8.8.8.8", "100.128.0.1", "172.32.0.1", "2001:4860::8888", "::ffff:1.1.1.1"] {
            assert!(is_public(ip.parse().unwrap()), "{ip}");
        }
        for ip in [
            "127.9.9.9",
            "10.1.2.3",
            "172.31.0.1",
            "192.168.1.1",
            "169.254.1.1",
            "100.64.0.1",
            "0.0.0.0",
            "::1",
            "fd00::1",
            "fe80::1",
            "::ffff:10.0.0.1",
        ] {
            assert!(!is_public(ip.parse().unwrap()), "{ip}");
        }
        let mut public = asked("8.8.8.8");
        assert!(prepare(public.clone()).err().unwrap().to_string().contains("--allow-public"));
        public.allows_public = true;
        assert!(prepare(public).is_ok());
    }

    #[test]
    fn base64_pads_as_it_should() {
        for (plain, coded) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v")] {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
        assert_eq!(base64(&[0xfb, 0xff, 0xfe]), "+//+");
    }
}
