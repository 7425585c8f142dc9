//! What is around a watched server, a line each: its listen queue, its control group, devices, and
//! the processes beside it. A line that would have nothing to say is left out.
//!
//! In: one [`WatchSecond`]. Out: lines of text, not yet cut to the terminal's width.

use crate::report::Language;
use crate::terms::{Bytes, DeviceUse, GroupUse, WatchSecond};

/// The lines below the cores.
pub(super) fn lines(second: &WatchSecond) -> Vec<String> {
    let interval = &second.second;
    let length_s = interval.length_s;
    let mut lines = vec![host(second)];
    lines.extend(interval.group.as_ref().and_then(|group| memory(group, length_s)));
    lines.extend(devices(&interval.host.networks, &interval.host.disks, length_s));
    lines.extend(beside(second));
    lines
}

/// The line that is always there.
pub(super) fn host(second: &WatchSecond) -> String {
    let host = &second.second.host;
    let core_seconds = second.second.length_s * host.cores_busy.len().max(1) as f64;
    let percent = |seconds: f64| 100.0 * seconds / core_seconds;
    format!(
        "{}steal {:.1}%  iowait {:.1}%  throttled {} periods, {:.2} s",
        queue(second),
        percent(host.steal_s),
        percent(host.iowait_s),
        host.throttled_periods,
        host.throttled_s,
    )
}

fn queue(second: &WatchSecond) -> String {
    let interval = &second.second;
    let Some(depth) = interval.listen_queue else { return String::new() };
    let room = interval.listen_backlog.map(|room| format!("/{room}")).unwrap_or_default();
    let lost = match interval.listen_overflows {
        Some(lost @ 1..) => format!(", {lost} turned away"),
        _ => String::new(),
    };
    format!("listen queue {depth}{room}{lost}  ")
}

fn memory(group: &GroupUse, length_s: f64) -> Option<String> {
    let used = Bytes(group.memory_bytes?);
    let of = group.memory_limit_bytes.map(|limit| format!(" of {}", Bytes(limit)));
    let own = group.anonymous_bytes.map(|own| format!(", {} anonymous", Bytes(own)));
    let hits = match group.memory_limit_hits {
        Some(hits @ 1..) => format!(", at the limit {hits} times"),
        _ => String::new(),
    };
    let waited = [
        ("cpu", group.cpu_pressure_s),
        ("memory", group.memory_pressure_s),
        ("disk", group.io_pressure_s),
    ];
    let waited: String = waited
        .into_iter()
        .filter_map(|(what, seconds)| {
            Some(format!("  {what} waited for {:.0}%", 100.0 * seconds? / length_s))
        })
        .collect();
    let (of, own) = (of.unwrap_or_default(), own.unwrap_or_default());
    Some(format!("group memory {used}{of}{own}{hits}{waited}"))
}

/// Those that carried something.
fn devices(networks: &[DeviceUse], disks: &[DeviceUse], length_s: f64) -> Option<String> {
    let rate = |bytes: u64| format!("{}/s", Bytes((bytes as f64 / length_s) as u64));
    let is_used = |device: &&DeviceUse| device.in_bytes + device.out_bytes > 0;
    let network = |device: &DeviceUse| {
        let (received, sent) = (rate(device.in_bytes), rate(device.out_bytes));
        format!("{} in {received} out {sent}", device.name)
    };
    let disk = |device: &DeviceUse| {
        let (read, written) = (rate(device.in_bytes), rate(device.out_bytes));
        let busy = 100.0 * device.busy_s.unwrap_or(0.0) / length_s;
        format!("{} read {read} write {written} busy {busy:.0}%", device.name)
    };
    let all = networks.iter().filter(is_used).map(network);
    let all: Vec<String> = all.chain(disks.iter().filter(is_used).map(disk)).collect();
    (!all.is_empty()).then(|| all.join("  "))
}

fn beside(second: &WatchSecond) -> Option<String> {
    let neighbours = &second.second.host.neighbours;
    let one = |it: &crate::terms::NeighbourUse| {
        let serves = if it.serves_app == Some(true) { ", serves the app" } else { "" };
        let name = Language::English.say(&it.name);
        format!("{name} ({:.2} cores{serves})", it.cpu_s / second.second.length_s)
    };
    let all: Vec<String> = neighbours.iter().map(one).collect();
    (!all.is_empty()).then(|| format!("beside it: {}", all.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::{HostUse, MonitorSecond, NeighbourUse, Stated};

    #[test]
    fn everything_around_the_server_is_told_in_four_lines() {
        let device = |name: &str, in_bytes, out_bytes, busy_s| DeviceUse {
            name: name.to_string(),
            in_bytes,
            out_bytes,
            busy_s,
        };
        let neighbour = |name: &str, cpu_s, serves_app| NeighbourUse {
            pid: 9,
            name: Stated::Verbatim(name.to_string()),
            cpu_s,
            serves_app,
        };
        let second = WatchSecond {
            time: String::new(),
            second: MonitorSecond {
                length_s: 2.0,
                listen_queue: Some(3),
                listen_backlog: Some(1024),
                listen_overflows: Some(12),
                group: Some(GroupUse {
                    memory_bytes: Some(800 << 20),
                    memory_limit_bytes: Some(2 << 30),
                    anonymous_bytes: Some(700 << 20),
                    cpu_pressure_s: Some(0.5),
                    ..GroupUse::default()
                }),
                host: HostUse {
                    cores_busy: vec![0.5, 0.5],
                    steal_s: 0.04,
                    networks: vec![device("lo", 4 << 20, 2048, None), device("eth0", 0, 0, None)],
                    disks: vec![device("vda", 0, 2 << 20, Some(0.1))],
                    neighbours: vec![
                        neighbour("mariadbd", 1.0, Some(true)),
                        neighbour("ffmpeg", 0.4, Some(false)),
                    ],
                    ..HostUse::default()
                },
                ..MonitorSecond::default()
            },
            memory: Vec::new(),
            blind_spots: Vec::new(),
        };
        let expected = [
            "listen queue 3/1024, 12 turned away  steal 1.0%  iowait 0.0%  throttled 0 periods, \
             0.00 s",
            "group memory 800 MiB of 2.0 GiB, 700 MiB anonymous  cpu waited for 25%",
            "lo in 2 MiB/s out 1 KiB/s  vda read 0 B/s write 1 MiB/s busy 5%",
            "beside it: mariadbd (0.50 cores, serves the app), ffmpeg (0.20 cores)",
        ];
        assert_eq!(lines(&second), expected);
    }

    #[test]
    fn a_line_with_nothing_to_say_is_left_out() {
        let second = WatchSecond {
            time: String::new(),
            second: MonitorSecond { length_s: 1.0, ..MonitorSecond::default() },
            memory: Vec::new(),
            blind_spots: Vec::new(),
        };
        let expected = "steal 0.0%  iowait 0.0%  throttled 0 periods, 0.00 s";
        assert_eq!(lines(&second), [expected]);
    }
}
