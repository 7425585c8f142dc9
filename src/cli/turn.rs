//! `--no-wait`: what is done where another sweetspot measures on this machine.

use std::path::Path;

use super::say;
use crate::session::turn::{self, Sharing, Turn, TurnError, measuring};
use crate::terms::StopSignal;

#[derive(Debug, Clone, Copy, clap::Args)]
pub struct TurnArgument {
    /// Give up where another sweetspot measures on this machine, rather than wait for its end.
    #[arg(long)]
    no_wait: bool,
}

impl TurnArgument {
    /// The machine, for as long as what is returned is kept.
    pub fn take_alone(self, stop: &StopSignal) -> Result<Turn, TurnError> {
        self.take(Sharing::Alone, None, stop)
    }

    /// The machine, and the store: another container may measure into the same one.
    pub fn take_with_store(self, store: &Path, stop: &StopSignal) -> Result<Turn, TurnError> {
        self.take(Sharing::Alone, Some(store), stop)
    }

    /// The machine, beside others that put a load on something: said, as each is in the others'
    /// figures.
    pub fn take_shared(self, stop: &StopSignal) -> Result<Turn, TurnError> {
        let turn = self.take(Sharing::Shared, None, stop)?;
        let others = turn.others();
        if !others.is_empty() {
            let others = measuring(&others);
            say(format!("{others} on this machine: each disturbs the other"));
        }
        Ok(turn)
    }

    fn take(
        self,
        sharing: Sharing,
        store: Option<&Path>,
        stop: &StopSignal,
    ) -> Result<Turn, TurnError> {
        turn::take(sharing, store, stop, &mut |others| {
            if !self.no_wait {
                say(format!(
                    "{} on this machine: waiting until that has ended (--no-wait gives up instead)",
                    measuring(others)
                ));
            }
            !self.no_wait
        })
    }
}
