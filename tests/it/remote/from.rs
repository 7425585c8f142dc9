//! The load from another host, by a stand-in for ssh that runs what it is given on this machine.

use std::fs;
use std::process::Command;

use crate::failures::site::{Running, Site, configuration, set_mode};
use crate::process::{Ended, wait_until, write_files};
use crate::schema::assert_valid;

use super::{Elsewhere, note};

/// An app, and hosts that can be reached.
struct Hosts {
    site: Site,
    elsewhere: Elsewhere,
}

impl Hosts {
    fn new() -> Self {
        let (site, elsewhere) = (Site::new(&[]), Elsewhere::new());
        write_files(elsewhere.folder.path(), &[("tools/ssh", include_str!("ssh.rb"))]);
        set_mode(&elsewhere.path("tools/ssh"), 0o755);
        fs::create_dir(elsewhere.path("tmp")).unwrap();
        Self { site, elsewhere }
    }

    fn run(&self, mut command: Command) -> Ended {
        let path = std::env::var("PATH").unwrap();
        command
            .env("PATH", format!("{}:{path}", self.elsewhere.path("tools").display()))
            .env("HOST_FOLDER", self.elsewhere.path("tmp"));
        Running::begin(command).end()
    }

    fn load(&self, more: &[&str]) -> Ended {
        let mut command = self.site.command(&["load", &self.elsewhere.url, "--duration", "2s"]);
        command.args(["--rate", "40/s", "--json", "-H", "X-Key: s3cret"]).args(more);
        self.run(command)
    }

    /// Nothing of ours is there any more, soon after its connection has ended.
    fn assert_empty(&self) {
        let is_empty = || fs::read_dir(self.elsewhere.path("tmp")).unwrap().next().is_none();
        wait_until("what was copied to the host is gone", is_empty);
    }
}

#[test]
fn two_hosts_send_a_load_together_and_nothing_of_ours_is_left_there() {
    let hosts = Hosts::new();
    let ended = hosts.load(&["--from", "ssh://load1", "--from", "ssh://deploy@load2:2222"]);
    // A machine that does other work may be late.
    assert!(matches!(ended.code, Some(0 | 4)), "{ended:?}");
    let result = ended.json();
    assert_valid("load.schema.json", &result);
    assert_eq!((&result["due"], &result["completed"]), (&80.into(), &80.into()), "{result:#}");
    assert_eq!(result["fleet"].as_array().unwrap().len(), 2);
    hosts.assert_empty();
}

#[test]
fn a_host_that_lets_nobody_in_is_said_in_sshs_own_words() {
    let hosts = Hosts::new();
    let ended = hosts.load(&["--from", "ssh://nobody@load1"]);
    ended.assert_code(1);
    ended.assert_says(&["the generator on ssh://nobody@load1 ended", "Permission denied"]);
    let ended = hosts.load(&["--from", "load1"]);
    ended.assert_code(2).assert_says(&["'load1' is no host for ssh, such as ssh://deploy@load1"]);
}

#[test]
fn an_app_that_moves_is_tuned_from_another_host_whose_connection_breaks_once() {
    let mut hosts = Hosts::new();
    hosts.elsewhere.begin_to_move();
    write_files(hosts.elsewhere.folder.path(), &[("breaks", "")]);
    let more = ["--threads", "8", "--today", "1x8", "--from", "ssh://load1", "--json"];
    let tune = hosts.elsewhere.tune(&hosts.site, &more);
    let ended = hosts.run(hosts.elsewhere.apart(&hosts.site, &tune));
    ended.assert_code(0);
    assert!(!hosts.elsewhere.path("breaks").exists());
    let result = ended.json();
    assert_eq!(configuration(&result["decision"]), (1, 8), "{result:#}");
    let facts = result["plan"].as_array().unwrap().iter().map(|line| &line["fact"]);
    let of_app = facts.into_iter().find(|fact| fact["what"] == "remote").unwrap();
    assert_eq!(of_app["value"]["from"], "ssh://load1", "{of_app}");
    assert_eq!(hosts.elsewhere.setting(), "1 x 1");
    assert!(!note(&hosts.site).exists());
    hosts.assert_empty();
}
