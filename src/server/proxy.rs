//! What stands in front of an app server: nginx, or one of those that Rails brings along, which
//! pass requests on to a port over connections that they keep.
//!
//! In: a server's recipe. Out: the recipe with a proxy in front. Only computes.

use std::path::Path;

use super::command_line::{shell, text};
use super::{App, CommandLine, Listen, Recipe, nginx};
use crate::terms::ReverseProxy;

/// What stands between clients and the app server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Proxy {
    #[default]
    None,
    /// nginx, which reaches the server over unix sockets.
    Nginx,
    /// With its cache, compression and log as they are by default.
    Thruster,
    /// As Kamal runs it, without buffering.
    KamalProxy,
}

/// Loopback ports of one start.
#[derive(Debug, Clone, Copy)]
pub struct Ports {
    /// Where clients come.
    pub front: u16,
    /// Where the server listens behind a proxy that reaches it over a port.
    pub behind: u16,
}

/// Most have it in a container, where it cannot be started from outside.
const INSTALL_KAMAL_PROXY: &str =
    "go install github.com/basecamp/kamal-proxy/cmd/kamal-proxy@latest";

impl Proxy {
    /// As the user writes each.
    pub const CHOICES: [(&'static str, Self); 4] = [
        ("nginx", Self::Nginx),
        (ReverseProxy::Thruster.name(), Self::Thruster),
        (ReverseProxy::KamalProxy.name(), Self::KamalProxy),
        ("none", Self::None),
    ];

    /// As the user writes it; `None` for none.
    pub fn name(self) -> Option<&'static str> {
        let is_it = |(_, proxy): &&(&str, Self)| *proxy == self && self != Self::None;
        Self::CHOICES.iter().find(is_it).map(|(name, _)| *name)
    }

    /// Its program, and how that is installed.
    pub fn program(self) -> Option<(&'static str, &'static [&'static str])> {
        match self {
            Self::None => None,
            Self::Nginx => Some(("nginx", &["apt install nginx"])),
            Self::Thruster => Some(("thrust", &["gem install thruster"])),
            Self::KamalProxy => Some(("kamal-proxy", &[INSTALL_KAMAL_PROXY])),
        }
    }

    /// It finishes its requests and ends.
    pub fn stop_signal(self) -> i32 {
        if self == Self::Nginx { libc::SIGQUIT } else { libc::SIGTERM }
    }

    /// Where the server behind it is to listen.
    pub(super) fn upstream(self, ports: Ports, scratch: &Path) -> Listen {
        match self {
            Self::None => Listen::Port(ports.front),
            Self::Nginx => Listen::Socket(scratch.join("app.sock")),
            Self::Thruster | Self::KamalProxy => Listen::Port(ports.behind),
        }
    }

    /// This server with it in front.
    pub(super) fn in_front_of(
        self,
        behind: Recipe,
        ports: Ports,
        scratch: &Path,
        app: &App,
    ) -> Recipe {
        let proxy = match self {
            Self::None => return behind,
            Self::Nginx => return nginx::in_front_of(behind, ports.front, scratch, app),
            Self::Thruster => thruster(ports, scratch),
            Self::KamalProxy => kamal_proxy(ports, scratch, app),
        };
        Recipe { proxy: Some(proxy), ..behind }
    }

    /// Is this the title of one of its processes?
    pub(super) fn is_its_title(self, title: &str) -> bool {
        let program = title.split(' ').next().unwrap_or_default().rsplit('/').next();
        match self {
            Self::None => false,
            Self::Nginx => nginx::is_its_title(title),
            Self::Thruster => program == Some("thrust") || title == THRUSTERS_CHILD.join(" "),
            Self::KamalProxy => program == Some("kamal-proxy"),
        }
    }
}

/// It runs a command and ends with it; the server is not that command, as it runs already.
const THRUSTERS_CHILD: [&str; 2] = ["sleep", "infinity"];

/// What it logs of each request is written, as where it serves users, and not kept.
const THRUSTER: &str = "exec thrust \"$@\" >/dev/null";

fn thruster(ports: Ports, scratch: &Path) -> CommandLine {
    let variables = [("HTTP_PORT", ports.front), ("TARGET_PORT", ports.behind)];
    let env = variables.map(|(name, port)| (format!("THRUSTER_{name}"), port.to_string()));
    let arguments = shell(THRUSTER, THRUSTERS_CHILD.map(String::from));
    // A certificate would be asked for.
    let env_removed = ["TLS_DOMAIN", "THRUSTER_TLS_DOMAIN"].map(String::from).into();
    CommandLine { env: env.into(), env_removed, ..CommandLine::new(arguments, scratch) }
}

fn kamal_proxy(ports: Ports, scratch: &Path, app: &App) -> CommandLine {
    let folder = scratch.join("kamal-proxy");
    let (front, behind) = (ports.front.to_string(), ports.behind.to_string());
    let arguments = [text(&folder), front, behind, app.ready_path.clone()];
    let homes = ["HOME", "XDG_RUNTIME_DIR"].map(|name| (name.to_string(), text(&folder)));
    CommandLine {
        arguments: shell(include_str!("kamal_proxy.sh"), arguments),
        env: homes.into(),
        env_removed: vec!["KAMAL_PROXY_SOCKET".into()],
        folder: scratch.to_path_buf(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_told_by_its_name_and_by_the_titles_of_its_processes() {
        assert_eq!(Proxy::None.name(), None);
        assert_eq!(Proxy::KamalProxy.name(), Some("kamal-proxy"));
        for (proxy, title) in [
            (Proxy::Nginx, "nginx: worker process"),
            (Proxy::Thruster, "thrust sleep infinity"),
            (Proxy::Thruster, "/usr/local/bin/thrust sleep infinity"),
            (Proxy::Thruster, "sleep infinity"),
            (Proxy::KamalProxy, "kamal-proxy run --http-port 4000 --https-port 0"),
        ] {
            assert!(proxy.is_its_title(title), "{proxy:?}: {title}");
        }
        for title in ["puma: cluster worker 0: 12 [thrust]", "ruby kamal-proxy.rb", ""] {
            for (_, proxy) in Proxy::CHOICES {
                assert!(!proxy.is_its_title(title), "{proxy:?}: {title}");
            }
        }
    }
}
