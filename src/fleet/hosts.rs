//! Generators on other hosts, over ssh: the program is copied there, runs, reaches the collector
//! through ssh's own tunnel, and is gone with its folder when its connection ends.
//!
//! In: hosts, and the arguments of their loads. Out: processes that join a collector here.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, ToSocketAddrs};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::TOKEN;
use super::collector::{Collector, OnLoss};
use super::error::FleetError;
use super::identifier;
use super::message::Gate;
use crate::terms::StopSignal;

/// Scheme of a host as it is typed.
const SCHEME: &str = "ssh://";

/// Lines that people are shown where it fails.
const LAST_LINES: usize = 20;

/// What runs there: takes the program and then a script with its arguments from its input. What
/// they were written to is removed in the end, however that comes. Both are written to one file
/// first: `head` may read more of a pipe than it hands on (BusyBox's does), and that is lost then.
/// Where the folder for temporary files lets no program run (`noexec`), the home is taken: a file
/// that is empty is run to see that.
///
/// Each line is a command, and none has a character that [`line_of`] could not quote.
const THERE: &str = r#"set -eu
umask 077
here=$(uname -sm)
[ "$here" = "SYSTEM" ] || { echo "this program runs on SYSTEM, and the host is $here" >&2; exit 9; }
tmp=${TMPDIR:-/tmp}
folder=
gone() { rm -rf "$folder"; }
trap gone EXIT
trap "exit 130" HUP INT TERM
runs() { touch "$1" && chmod 700 "$1" && "$1"; }
made() { folder=$(mktemp -d "$1/sweetspot.XXXXXX") && runs "$folder/all"; }
way_out="TMPDIR in its /etc/environment can name another folder"
none() { echo "no program can be run in $tmp or $HOME of the host; $way_out" >&2; exit 9; }
made "$tmp" || { gone; made "$HOME"; } || none
cd "$folder"
cat >all
head -c BYTES all >sweetspot
tail -c +NEXT all >arguments
rm all
chmod 700 sweetspot
sh ./arguments
"#;

/// Who is silent for this long while a load runs is lost. A tunnel that is held up hands on later
/// what the generator, which goes on all the while, has said; ssh ends one that is dead after 15 to
/// 20 s.
const SILENCE: Duration = Duration::from_secs(20);

/// A host as ssh knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// `host` or `user@host`; an IPv6 address without brackets, as ssh has it.
    destination: String,
    /// `None`: ssh's own.
    port: Option<u16>,
}

impl Host {
    /// Whether an app with one of these addresses runs there, as far as names say it here: ssh may
    /// have its own for it. A host's own address, such as `localhost`, leads there back to itself.
    pub fn is_at(&self, addresses: &[SocketAddr]) -> bool {
        let (_, host) = user_and_host(&self.destination);
        let has = |ip: IpAddr| addresses.iter().any(|address| address.ip() == ip);
        addresses.iter().any(|address| address.ip().is_loopback())
            || (host, 0).to_socket_addrs().is_ok_and(|mut found| found.any(|it| has(it.ip())))
    }
}

impl FromStr for Host {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("'{text}' is no host for ssh, such as ssh://deploy@load1");
        let rest = text.strip_prefix(SCHEME).ok_or_else(wrong)?;
        let (user, place) = user_and_host(rest);
        let (host, port) = host_and_port(place).ok_or_else(wrong)?;
        let destination = format!("{user}{host}");
        // What ssh would take for an option of its own, or a shell for several words.
        let is_odd = |letter: char| letter.is_whitespace() || letter == '/' || letter.is_control();
        if host.is_empty() || destination.starts_with('-') || destination.contains(is_odd) {
            return Err(wrong());
        }
        let port = port.map(str::parse::<u16>).transpose().map_err(|_| wrong())?;
        Ok(Self { destination, port })
    }
}

/// The user's name with its `@`, which may be missing, and what follows.
fn user_and_host(text: &str) -> (&str, &str) {
    text.split_at(text.rfind('@').map_or(0, |at| at + 1))
}

/// A host, and its port where one is given. An IPv6 address stands in brackets where a port
/// follows; several colons without them are an address alone. `None`: it is neither.
fn host_and_port(text: &str) -> Option<(&str, Option<&str>)> {
    if let Some(inside) = text.strip_prefix('[') {
        let (address, behind) = inside.split_once(']')?;
        let port = if behind.is_empty() { None } else { Some(behind.strip_prefix(':')?) };
        return is_ipv6(address).then_some((address, port));
    }
    match text.split_once(':') {
        Some((_, behind)) if behind.contains(':') => is_ipv6(text).then_some((text, None)),
        Some((host, port)) => Some((host, Some(port))),
        None => Some((text, None)),
    }
}

/// The interface that it is reached by may be named too, as in `fe80::1%eth0`.
fn is_ipv6(text: &str) -> bool {
    let address = text.split_once('%').map_or(text, |(address, _)| address);
    address.parse::<Ipv6Addr>().is_ok()
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (user, host) = user_and_host(&self.destination);
        match host.contains(':') {
            true => write!(f, "{SCHEME}{user}[{host}]")?,
            false => write!(f, "{SCHEME}{user}{host}")?,
        }
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

/// Hosts, and what each of them is to run. No `Debug`: files may be secret.
#[derive(Clone, PartialEq)]
pub struct ForHosts {
    /// At least one.
    pub hosts: Vec<Host>,
    /// Of `sweetspot`, without where it joins; they name a file as [`FOLDER`] and its name.
    pub arguments: Vec<String>,
    /// By name.
    pub files: Vec<(String, String)>,
    pub on_loss: OnLoss,
}

/// Before the name of a file that goes along.
pub const FOLDER: &str = "./";

/// This program, as the kernel has it even where its file was replaced.
const OWN_PROGRAM: &str = "/proc/self/exe";

/// Has the hosts run generators, and waits for them for at most `within`. They end when the second
/// is dropped.
///
/// # Errors
/// ssh is not here or one of them has ended, too few came in time, or the user wanted to end.
pub fn gather_hosts(
    order: &ForHosts,
    within: Duration,
    stop: &StopSignal,
) -> Result<(Collector, Hosts), FleetError> {
    let token = identifier()?;
    let here = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let unusable = |source| FleetError::Listen { address: here.to_string(), source };
    let listener = TcpListener::bind(here).map_err(unusable)?;
    let collector = listener.local_addr().map_err(unusable)?;
    let begin = |host: &Host| {
        Running::begin(host, (order, &token), collector)
            .map_err(|source| FleetError::Ssh { host: host.to_string(), source })
    };
    let mut hosts = Hosts(order.hosts.iter().map(begin).collect::<Result<_, _>>()?);
    let many = (order.hosts.len() as u16, within);
    let mut look = |_: u16| if stop.is_raised() { Err(FleetError::Stopped) } else { hosts.check() };
    let gate = Gate::of_own(&token);
    match Collector::gather(&listener, many, &gate, order.on_loss, &mut look) {
        Ok(collector) => Ok((collector.with_patience(SILENCE), hosts)),
        Err(FleetError::TooFew { .. }) => Err(hosts.silent(within)),
        Err(error) => Err(error),
    }
}

/// The hosts' generators; ended when they are dropped.
pub struct Hosts(Vec<Running>);

struct Running {
    host: Host,
    ssh: Child,
    /// What it and the program there have said last, and who reads that.
    said: Arc<Mutex<Vec<String>>>,
    reader: JoinHandle<()>,
}

/// For what it said last to be read, once it has ended; something of it may hold the pipe open.
const LAST_WORDS: Duration = Duration::from_secs(1);

impl Hosts {
    /// Why one of them has ended already, in its own words.
    ///
    /// # Errors
    /// One has.
    pub fn check(&mut self) -> Result<(), FleetError> {
        for one in &mut self.0 {
            if one.ssh.try_wait().is_ok_and(|status| status.is_some()) {
                let (host, said) = (one.host.to_string(), one.last_words());
                return Err(FleetError::HostEnded { host, said });
            }
        }
        Ok(())
    }

    /// Not all came in time, and none has ended.
    fn silent(&self, within: Duration) -> FleetError {
        let names = self.0.iter().map(|one| one.host.to_string()).collect::<Vec<_>>();
        let said = self.0.iter().map(Running::said).filter(|said| !said.is_empty());
        let said = said.map(|said| format!("; said there: {said}")).collect();
        FleetError::HostsSilent { hosts: names.join(", "), within, said }
    }
}

impl Running {
    fn said(&self) -> String {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).join(" / ")
    }

    /// Of one that has ended.
    fn last_words(&self) -> String {
        let ended = Instant::now();
        while !self.reader.is_finished() && ended.elapsed() < LAST_WORDS {
            thread::sleep(Duration::from_millis(5));
        }
        self.said()
    }

    fn begin(
        host: &Host,
        (order, token): (&ForHosts, &str),
        collector: SocketAddr,
    ) -> io::Result<Self> {
        let mut copy = File::open(OWN_PROGRAM)?;
        let bytes = copy.metadata()?.len();
        // One that is free here is mostly free there.
        let far = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?;
        let arguments = script(order, token, far)?;
        let there = line_of(&there(bytes));
        let mut command = Command::new("ssh");
        command
            .args(["-T", "-o", "BatchMode=yes", "-o", "ExitOnForwardFailure=yes"])
            .args(["-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3"])
            .arg("-R")
            .arg(format!("{far}:{collector}"));
        if let Some(port) = host.port {
            command.args(["-p", &port.to_string()]);
        }
        command.arg("--").arg(&host.destination).arg(&there);
        // Ctrl-C is for this program, which ends them.
        command.process_group(0);
        let mut ssh =
            command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
        let pipes = (ssh.stdin.take(), ssh.stderr.take());
        let (Some(mut input), Some(errors)) = pipes else {
            unreachable!("both are pipes, as asked for")
        };
        thread::spawn(move || {
            // What ends before it has read all has said why.
            let copied = io::copy(&mut copy, &mut input);
            copied.and_then(|_| input.write_all(arguments.as_bytes()))
        });
        let said = Arc::new(Mutex::new(Vec::new()));
        let saying = Arc::clone(&said);
        let reader = thread::spawn(move || {
            for line in lines_of(errors) {
                let mut said = saying.lock().unwrap_or_else(PoisonError::into_inner);
                said.push(line);
                let beyond = said.len().saturating_sub(LAST_LINES);
                said.drain(..beyond);
            }
        });
        Ok(Self { host: host.clone(), ssh, said, reader })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Its tunnel ends with it, and the generator with that.
        drop(self.ssh.kill());
        drop(self.ssh.wait());
    }
}

/// Its lines as they come, those that are no UTF-8 too: what is to be shown may follow them.
fn lines_of(errors: impl Read) -> impl Iterator<Item = String> {
    let lines = BufReader::new(errors).split(b'\n').map_while(Result::ok);
    lines.map(|line| String::from_utf8_lossy(&line).trim_end_matches('\r').to_string())
}

/// [`THERE`] for a program of this many bytes that runs on this system.
fn there(bytes: u64) -> String {
    let there = THERE.replace("SYSTEM", &format!("Linux {}", std::env::consts::ARCH));
    there.replace("BYTES", &bytes.to_string()).replace("NEXT", &(bytes + 1).to_string())
}

/// A script as one line that every login shell reads alike: fish and csh have other words than sh
/// has, and csh takes no quoted end of a line.
fn line_of(script: &str) -> String {
    format!("exec sh -c '{}'", script.lines().collect::<Vec<_>>().join("; "))
}

/// Writes the files and runs the program, as a shell reads it.
fn script(order: &ForHosts, token: &str, collector: SocketAddr) -> io::Result<String> {
    let quoted = |text| shlex::try_quote(text).map_err(io::Error::other);
    let mut text = String::new();
    for (name, content) in &order.files {
        text += &format!("printf %s {} >{}\n", quoted(content)?, quoted(name)?);
    }
    text += &format!("export {TOKEN}={}\n./sweetspot", quoted(token)?);
    for word in &order.arguments {
        text += &format!(" {}", quoted(word)?);
    }
    Ok(text + &format!(" --join {collector} --own --quiet\n"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_host_is_read_as_ssh_takes_it() {
        for (text, destination, port) in [
            ("ssh://load1", "load1", None),
            ("ssh://deploy@load1.example:2222", "deploy@load1.example", Some(2222)),
            ("ssh://deploy@[2001:db8::7]:2222", "deploy@2001:db8::7", Some(2222)),
            ("ssh://[fe80::1%eth0]", "fe80::1%eth0", None),
        ] {
            let host: Host = text.parse().unwrap();
            assert_eq!((host.destination.as_str(), host.port), (destination, port));
            assert_eq!(host.to_string(), text);
        }
        let bare: Host = "ssh://2001:db8::1:5".parse().unwrap();
        assert_eq!((bare.destination.as_str(), bare.port), ("2001:db8::1:5", None));
        assert_eq!(bare.to_string(), "ssh://[2001:db8::1:5]");
        for text in [
            "load1",
            "ssh://",
            "ssh://deploy@",
            "ssh://-oProxyCommand=x",
            "ssh://a b",
            "ssh://a:x",
            "ssh://a:1:2",
            "ssh://[a]:22",
            "ssh://[::1]22",
            "http://a",
        ] {
            assert!(text.parse::<Host>().is_err(), "{text}");
        }
    }

    #[test]
    fn an_app_is_at_a_host_by_its_address_and_always_where_the_host_asks_itself() {
        let host: Host = "ssh://deploy@192.0.2.7:2222".parse().unwrap();
        for (address, expected) in [
            ("192.0.2.7:80", true),
            ("192.0.2.8:80", false),
            ("127.0.0.1:80", true),
            ("[::1]:80", true),
            ("[2001:db8::7]:80", false),
        ] {
            assert_eq!(host.is_at(&[address.parse().unwrap()]), expected, "{address}");
        }
        let host: Host = "ssh://[2001:db8::7]".parse().unwrap();
        assert!(host.is_at(&["[2001:db8::7]:80".parse().unwrap()]));
    }

    #[test]
    fn what_runs_there_is_one_line_that_fish_and_csh_read_too() {
        assert!(!THERE.contains(['\'', '\\', '!']));
        assert_eq!(line_of("a\nb \"$c\"\n"), "exec sh -c 'a; b \"$c\"'");
    }

    #[test]
    fn what_is_said_there_is_read_to_its_end_also_behind_a_line_that_is_no_utf8() {
        let said = b"Welcome\r\ncaf\xe9\n\nNo space left on device";
        let lines: Vec<String> = lines_of(&said[..]).collect();
        assert_eq!(lines, ["Welcome", "caf\u{fffd}", "", "No space left on device"]);
    }

    #[test]
    fn the_script_gives_a_shell_every_byte_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let program =
            "#!/bin/sh\nprintf '%s|' \"$@\" >got\nprintf %s \"$SWEETSPOT_FLEET_TOKEN\" >token\n";
        std::fs::write(folder.path().join("sweetspot"), program).unwrap();
        let odd = "it's $HOME `x` \"y\"\n";
        let order = ForHosts {
            hosts: Vec::new(),
            arguments: vec!["load".to_string(), odd.to_string()],
            files: vec![("file0".to_string(), odd.to_string())],
            on_loss: OnLoss::End,
        };
        let script = script(&order, odd, "127.0.0.1:2".parse().unwrap()).unwrap();
        // Not by its own name: another test's child may still have it open.
        let script = script.replace("./sweetspot", "sh ./sweetspot");
        let run = Command::new("sh").args(["-c", &script]).current_dir(&folder).status().unwrap();
        assert!(run.success());
        let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
        assert_eq!(read("got"), format!("load|{odd}|--join|127.0.0.1:2|--own|--quiet|"));
        assert_eq!((read("file0"), read("token")), (odd.to_string(), odd.to_string()));
    }

    #[test]
    fn program_and_arguments_arrive_whole_where_head_reads_ahead() {
        let system = format!("uname() {{ echo Linux {}; }}\n", std::env::consts::ARCH);
        let reads_ahead = "head() { command head \"$@\"; cat >/dev/null; }\n";
        let program = "#!/bin/sh\nprintf '%s|' \"$@\" >../got\n";
        let order = ForHosts {
            hosts: Vec::new(),
            arguments: vec!["load".to_string()],
            files: Vec::new(),
            on_loss: OnLoss::End,
        };
        let arguments = script(&order, "t0k3n", "127.0.0.1:2".parse().unwrap()).unwrap();
        let text = format!("{system}{reads_ahead}{}", there(program.len() as u64));
        let run = |tmp: &Path, home: &Path| {
            let mut shell = Command::new("sh")
                .args(["-c", &line_of(&text)])
                .envs([("TMPDIR", tmp), ("HOME", home)])
                .stdin(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            let mut input = shell.stdin.take().unwrap();
            // Where there is no folder for it, it is not read.
            let _ = input.write_all(format!("{program}{arguments}").as_bytes());
            drop(input);
            shell.wait_with_output().unwrap()
        };
        let none = Path::new("/proc");
        for is_home in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let (tmp, home) = if is_home { (none, folder.path()) } else { (folder.path(), none) };
            assert!(run(tmp, home).status.success());
            let got = std::fs::read_to_string(folder.path().join("got")).unwrap();
            assert_eq!(got, "load|--join|127.0.0.1:2|--own|--quiet|");
            let left = std::fs::read_dir(folder.path()).unwrap().count();
            assert_eq!(left, 1, "what was written there is gone");
        }
        let refused = run(none, none);
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(9), "{said}");
        assert!(said.contains("no program can be run in /proc or /proc"), "{said}");
    }
}
