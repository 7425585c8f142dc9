//! What went through network interfaces and disks between two moments.
//!
//! In: a process, whose network is meant. Out: a [`DeviceUse`] for each device that was ever used.

use std::fs;
use std::path::{Path, PathBuf};

use super::text::{self, DeviceCounters};
use crate::terms::DeviceUse;

/// Counts from one call to the next.
pub(super) struct Devices {
    network: PathBuf,
    networks: Vec<DeviceCounters>,
    disks: Vec<DeviceCounters>,
}

impl Devices {
    /// Begins to count, in the network that `pid` sees.
    pub fn start(pid: u32) -> Self {
        let network = PathBuf::from(format!("/proc/{pid}/net/dev"));
        let networks = read_networks(&network);
        Self { network, networks, disks: read_disks() }
    }

    /// What networks and disks carried since the last call.
    pub fn used(&mut self) -> (Vec<DeviceUse>, Vec<DeviceUse>) {
        let networks = std::mem::replace(&mut self.networks, read_networks(&self.network));
        let disks = std::mem::replace(&mut self.disks, read_disks());
        (between(&networks, &self.networks), between(&disks, &self.disks))
    }
}

fn read_networks(file: &Path) -> Vec<DeviceCounters> {
    let counters = text::network_counters(&fs::read(file).unwrap_or_default());
    counters.into_iter().filter(DeviceCounters::was_used).collect()
}

/// Whole disks that were ever used: what goes through a partition is counted with its disk.
fn read_disks() -> Vec<DeviceCounters> {
    let counters = text::disk_counters(&fs::read("/proc/diskstats").unwrap_or_default());
    let is_partition =
        |name: &str| Path::new("/sys/class/block").join(name).join("partition").exists();
    counters.into_iter().filter(|disk| disk.was_used() && !is_partition(&disk.name)).collect()
}

/// A device that has come since is left out of its first interval; a counter that ran backwards, as
/// when a device is taken out and another put in, counts as nothing.
fn between(before: &[DeviceCounters], now: &[DeviceCounters]) -> Vec<DeviceUse> {
    let pairs = now
        .iter()
        .filter_map(|now| Some((before.iter().find(|before| before.name == now.name)?, now)));
    pairs
        .map(|(before, now)| DeviceUse {
            name: now.name.clone(),
            in_bytes: now.in_bytes.saturating_sub(before.in_bytes),
            out_bytes: now.out_bytes.saturating_sub(before.out_bytes),
            busy_s: now
                .busy_ms
                .zip(before.busy_ms)
                .map(|(now, before)| now.saturating_sub(before) as f64 / 1e3),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn bytes_through_the_loopback_are_counted_both_ways() {
        let mut devices = Devices::start(std::process::id());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        let mut used = || {
            client.write_all(&[7; 20_000]).unwrap();
            server.read_exact(&mut [0; 20_000]).unwrap();
            devices.used().0
        };
        // A loopback without any traffic before is counted from the second interval on.
        let (_, networks) = (used(), used());
        let loopback = networks.iter().find(|device| device.name == "lo").expect("it has traffic");
        assert!(loopback.in_bytes >= 20_000 && loopback.out_bytes >= 20_000, "{loopback:?}");
        assert_eq!(loopback.busy_s, None);
    }

    #[test]
    fn counters_that_run_backwards_and_new_devices_do_no_harm() {
        let disk = |name: &str, in_bytes, busy_ms| DeviceCounters {
            name: name.to_string(),
            in_bytes,
            out_bytes: 0,
            busy_ms: Some(busy_ms),
        };
        let used = between(&[disk("vda", 500, 900)], &[disk("vda", 100, 1900), disk("vdb", 9, 9)]);
        assert_eq!(used.len(), 1);
        assert_eq!((used[0].in_bytes, used[0].busy_s), (0, Some(1.0)));
    }
}
