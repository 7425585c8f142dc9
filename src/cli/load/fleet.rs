//! `sweetspot load`: arguments for a load that several programs send together.

use std::net::SocketAddr;
use std::time::Duration;

use clap::ValueEnum;

use crate::cli::UsageError;
use crate::session::load::{ClusterAsked, FLEET_TOKEN, FleetAsked, OnLoss, Role};
use crate::terms::parse_duration;

const WHO_COLLECTS: &str = "\
who adds up what the generators record? Give
  --collect 0.0.0.0:7077     to the program that does, and to each generator
  --join HOST:7077           with all other arguments the same
or --place kubernetes        and pods do both";

// No doc comment: clap would take it for the description of the whole command.
#[derive(Debug, clap::Args)]
pub struct FleetArguments {
    /// Send it from so many programs together, which all get the same arguments: each of them
    /// sends its part, all begin at one moment, and what they record is added up without loss
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=4096))]
    #[arg(conflicts_with = "find_capacity")]
    generators: Option<u16>,

    /// Wait here for the generators, such as on 0.0.0.0:7077, send nothing, and print the result;
    /// who joins has to know SWEETSPOT_FLEET_TOKEN, if that is set
    #[arg(long, value_name = "ADDRESS", requires = "generators", group = "together")]
    collect: Option<SocketAddr>,

    /// Be one of the generators of the program that collects at this address
    #[arg(long, value_name = "HOST:PORT", requires = "generators", group = "together")]
    #[arg(conflicts_with = "output")]
    join: Option<String>,

    /// What is done when a generator is lost
    #[arg(long, value_enum, default_value_t = Loss::End, requires = "collect")]
    on_loss: Loss,

    /// How long the generators have to gather
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "2m")]
    gather: Duration,

    /// Send what is ordered here, load after load, in place of the one that is typed
    #[arg(long, hide = true, value_name = "ADDRESS", requires = "relay")]
    orders: Option<SocketAddr>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Loss {
    /// The load ends, and its result is not valid
    End,
    /// The others go on with their parts, and a warning says so
    GoOn,
}

impl FleetArguments {
    pub fn is_member(&self) -> bool {
        self.join.is_some()
    }

    /// `None`: it is sent from this program alone. `pods`: these send it instead.
    ///
    /// # Errors
    /// There are generators, and it is not said who collects.
    pub fn asked(self, pods: Option<ClusterAsked>) -> Result<Option<FleetAsked>, UsageError> {
        let on_loss = match self.on_loss {
            Loss::End => OnLoss::End,
            Loss::GoOn => OnLoss::GoOn,
        };
        let role = match (pods, self.collect, self.join) {
            (Some(pods), ..) => Role::Pods(pods),
            (_, Some(listen), _) => Role::Collect { listen, on_loss },
            (_, _, Some(collector)) => Role::Join { collector },
            (None, None, None) if self.generators.is_none() => return Ok(None),
            (None, None, None) => return Err(UsageError { message: WHO_COLLECTS.into() }),
        };
        let token = std::env::var(FLEET_TOKEN).unwrap_or_default();
        let generators = self.generators.unwrap_or(1);
        let (within, orders) = (self.gather, self.orders);
        Ok(Some(FleetAsked { generators, role, within, token, orders }))
    }
}
