//! `sweetspot serve`: arguments.

use std::fs::File;
use std::io::{self, Read};
use std::net::{Ipv4Addr, TcpListener};

use anyhow::Context as _;

use super::sessions::StoreArgument;
use super::{Exit, UsageError, print};
use crate::serve::{self, Served};

const EXAMPLES: &str = "\
Examples:
  sweetspot serve
  sweetspot serve --port 0 --store /srv/shop/.sweetspot/sweetspot.db

It runs until Ctrl-C, beside a 'sweetspot tune' that writes the same store.";

/// Shows the sessions of this folder in a browser, live while one runs.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Port on 127.0.0.1; 0 takes any that is free.
    #[arg(long, default_value_t = 4747)]
    port: u16,
    #[command(flatten)]
    store: StoreArgument,
    /// Print the address as JSON.
    #[arg(long, conflicts_with = "quiet")]
    json: bool,
    /// Print the address alone.
    #[arg(short, long)]
    quiet: bool,
}

pub fn run(arguments: Arguments) -> anyhow::Result<Exit> {
    let stop = super::interrupt::install();
    let listener = listen(arguments.port)?;
    let port = listener.local_addr().context("could not ask for the port")?.port();
    let token = token()?;
    let address = format!("http://127.0.0.1:{port}/{token}/");
    let said = match (arguments.json, arguments.quiet) {
        (true, _) => serde_json::json!({ "address": address }).to_string(),
        (_, true) => address,
        _ => format!("open {address}\nCtrl-C ends it; whoever has this address sees the sessions"),
    };
    print(said + "\n")?;
    serve::run(listener, Served::new(arguments.store.path, token), &stop)?;
    Ok(Exit::Done)
}

fn listen(port: u16) -> anyhow::Result<TcpListener> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => UsageError::of(format!(
            "port {port} is taken; name another with --port, or take any with --port 0"
        ))
        .into(),
        _ => anyhow::Error::from(error).context(format!("could not listen on port {port}")),
    })
}

/// Of 128 bits that the kernel drew.
fn token() -> anyhow::Result<String> {
    let mut bytes = [0_u8; 16];
    let mut random = File::open("/dev/urandom").context("could not open /dev/urandom")?;
    random.read_exact(&mut bytes).context("could not read /dev/urandom")?;
    Ok(format!("{:032x}", u128::from_be_bytes(bytes)))
}
