//! `sweetspot load`: arguments for a load that several programs send together.

use std::net::SocketAddr;
use std::time::Duration;

use super::elsewhere;
use crate::cli::UsageError;
use crate::cli::options::one_of;
use crate::session::load::{
    ClusterAsked, FILES_OF_HOSTS, FLEET_TOKEN, FleetAsked, ForHosts, Host, OnLoss, Role,
};
use crate::terms::parse_duration;

const WHO_COLLECTS: &str = "\
who adds up what the generators record? Give
  --collect 0.0.0.0:7077     to the program that does, and to each generator
  --join HOST:7077           with all other arguments the same
or --place kubernetes        and pods do both";

// No doc comment: clap would take it for the description of the whole command.
#[derive(Debug, clap::Args)]
#[command(group(
    clap::ArgGroup::new("others_send").multiple(true).args(["generators", "from", "image"])
))]
pub struct FleetArguments {
    /// Send it from so many programs together, which all get the same arguments: each of them
    /// sends its part, all begin at one moment, and what they record is added up without loss
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=4096))]
    #[arg(conflicts_with = "find_capacity")]
    generators: Option<u16>,

    /// Wait here for the generators, such as on 0.0.0.0:7077, send nothing, and print the result;
    /// who joins has to know SWEETSPOT_FLEET_TOKEN, if that is set
    #[arg(long, value_name = "ADDRESS", requires = "generators", groups = ["together", "adds_up"])]
    collect: Option<SocketAddr>,

    /// Be one of the generators of the program that collects at this address
    #[arg(long, value_name = "HOST:PORT", requires = "generators", group = "together")]
    #[arg(conflicts_with = "output")]
    join: Option<String>,

    /// The collector has started this program itself
    #[arg(long, hide = true, requires = "join")]
    own: bool,

    /// Send it from this host instead, or from several together: the program is copied there by ssh
    /// (your keys and its configuration; no password is asked for), and removed afterwards
    #[arg(long, value_name = "ssh://HOST", conflicts_with_all = ["together", "generators"])]
    #[arg(conflicts_with = "find_capacity", group = "adds_up")]
    from: Vec<Host>,

    /// What is done when a generator is lost: end the load, whose result is not valid, or go-on
    /// with the others' parts, and a warning says so
    #[arg(long, value_parser = one_of(&ON_LOSS), default_value = "end", requires = "adds_up")]
    on_loss: OnLoss,

    /// How long the generators have to gather
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "2m")]
    #[arg(requires = "others_send")]
    gather: Duration,

    /// Send what is ordered here, load after load, in place of the one that is typed
    #[arg(long, hide = true, value_name = "ADDRESS", requires = "relay")]
    orders: Option<SocketAddr>,
}

const ON_LOSS: [(&str, OnLoss); 2] = [("end", OnLoss::End), ("go-on", OnLoss::GoOn)];

impl FleetArguments {
    pub fn is_member(&self) -> bool {
        self.join.is_some()
    }

    /// `None`: it is sent from this program alone. `pods`: these send it instead. `typed`:
    /// everything behind the verb.
    ///
    /// # Errors
    /// There are generators, and it is not said who collects; a file that hosts need cannot be
    /// read.
    pub fn asked(
        self,
        pods: Option<ClusterAsked>,
        typed: &[String],
    ) -> Result<Option<FleetAsked>, UsageError> {
        let on_loss = self.on_loss;
        let from = (!self.from.is_empty()).then_some(self.from);
        let many = from.as_ref().map(|hosts| hosts.len() as u16);
        let hosts = from.map(|hosts| for_hosts(hosts, on_loss, typed)).transpose()?;
        let role = match (hosts, pods, self.collect, self.join) {
            (Some(hosts), ..) => Role::Hosts(hosts),
            (_, Some(pods), ..) => Role::Pods(ClusterAsked { on_loss, ..pods }),
            (_, _, Some(listen), _) => Role::Collect { listen, on_loss },
            (.., Some(collector)) => Role::Join { collector, is_own: self.own },
            (None, None, None, None) if self.generators.is_none() => return Ok(None),
            (None, None, None, None) => return Err(UsageError::of(WHO_COLLECTS)),
        };
        let token = std::env::var(FLEET_TOKEN).unwrap_or_default();
        let generators = many.or(self.generators).unwrap_or(1);
        let (within, orders) = (self.gather, self.orders);
        Ok(Some(FleetAsked { generators, role, within, token, orders }))
    }
}

fn for_hosts(hosts: Vec<Host>, on_loss: OnLoss, typed: &[String]) -> Result<ForHosts, UsageError> {
    let (arguments, files) = elsewhere::of(typed, FILES_OF_HOSTS)?;
    let many = ["--generators".to_string(), hosts.len().to_string()];
    let arguments = ["load".to_string()].into_iter().chain(arguments).chain(many).collect();
    Ok(ForHosts { hosts, on_loss, arguments, files })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::super::options::Options;
    use super::*;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        options: Options,
    }

    fn parse(typed: &str) -> Result<Options, clap::Error> {
        let words = ["load", "http://shop/", "--rate", "1/s"].into_iter().chain(typed.split(' '));
        Command::try_parse_from(words).map(|command| command.options)
    }

    #[test]
    fn a_time_to_gather_is_for_several_that_send() {
        for typed in [
            "--generators 2 --collect 127.0.0.1:7077 --gather 5s",
            "--generators 2 --collect [::]:7077 --relay --orders 127.0.0.1:1 --gather 5s",
            "--generators 2 --join collector:7077 --gather 5s",
            "--from ssh://load1 --from ssh://load2 --gather 5s",
            "--place kubernetes --image sweetspot:1 --gather 5s",
            "--place kubernetes --image sweetspot:1 --generators 2 --gather 5s",
        ] {
            let options = parse(typed).unwrap_or_else(|error| panic!("{typed}: {error}"));
            assert_eq!(options.fleet.gather, Duration::from_secs(5), "{typed}");
        }
        let alone = parse("--seed 2").unwrap();
        assert_eq!(alone.fleet.gather, Duration::from_secs(120), "its default needs nobody");
        let error = parse("--gather 5s").unwrap_err().to_string();
        let ways = ["--generators", "--from", "--image"];
        assert!(ways.iter().all(|way| error.contains(way)), "{error}");
    }
}
