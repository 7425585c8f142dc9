//! Generators on other hosts, over ssh: the program is copied there, runs, reaches the collector
//! through ssh's own tunnel, and is gone with its folder when its connection ends.
//!
//! In: hosts, and the arguments of their loads. Out: processes that join a collector here.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
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
/// they were written to is removed in the end, however that comes.
const THERE: &str = r#"set -eu
umask 077
here=$(uname -sm)
[ "$here" = "SYSTEM" ] || { echo "this program runs on SYSTEM, and the host is $here" >&2; exit 9; }
folder=$(mktemp -d "${TMPDIR:-/tmp}/sweetspot.XXXXXX")
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' HUP INT TERM
cd "$folder"
head -c BYTES >sweetspot
chmod 700 sweetspot
cat >arguments
sh ./arguments
"#;

/// A host as ssh knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// `host` or `user@host`.
    destination: String,
    /// `None`: ssh's own.
    port: Option<u16>,
}

impl FromStr for Host {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("'{text}' is no host for ssh, such as ssh://deploy@load1");
        let rest = text.strip_prefix(SCHEME).ok_or_else(wrong)?;
        let (destination, port) = match rest.rsplit_once(':') {
            Some((destination, port)) if !destination.ends_with(':') => {
                (destination, Some(port.parse().map_err(|_| wrong())?))
            }
            _ => (rest, None),
        };
        // What ssh would take for an option of its own, or a shell for several words.
        let is_odd = |letter: char| letter.is_whitespace() || letter == '/' || letter.is_control();
        if destination.is_empty() || destination.starts_with('-') || destination.contains(is_odd) {
            return Err(wrong());
        }
        Ok(Self { destination: destination.to_string(), port })
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}{}", self.destination)?;
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
        Ok(collector) => Ok((collector, hosts)),
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
        let system = format!("Linux {}", std::env::consts::ARCH);
        let there = THERE.replace("SYSTEM", &system).replace("BYTES", &bytes.to_string());
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
            for line in BufReader::new(errors).lines().map_while(Result::ok) {
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
    use super::*;

    #[test]
    fn a_host_is_read_as_ssh_takes_it() {
        for (text, destination, port) in [
            ("ssh://load1", "load1", None),
            ("ssh://deploy@load1.example:2222", "deploy@load1.example", Some(2222)),
        ] {
            let host: Host = text.parse().unwrap();
            assert_eq!((host.destination.as_str(), host.port), (destination, port));
            assert_eq!(host.to_string(), text);
        }
        for text in
            ["load1", "ssh://", "ssh://-oProxyCommand=x", "ssh://a b", "ssh://a:x", "http://a"]
        {
            assert!(text.parse::<Host>().is_err(), "{text}");
        }
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
}
