//! A watched server as CSV: a row a process in each interval; what is of the whole machine stands
//! in every row.
//!
//! In: one [`WatchSecond`]. Out: rows. An empty field is a value that could not be seen.

use super::role;
use crate::report::export::csv::optional;
use crate::report::outside;
use crate::terms::{DeviceUse, GroupUse, ProcessUse, WatchSecond};

/// The heading of [`fn@csv`]; units stand in the names. New columns come at the end.
pub const CSV_HEADING: &str = "time,at_s,length_s,pid,role,index,name,cpu_s,user_s,system_s,\
run_delay_s,voluntary_switches,involuntary_switches,threads,threads_runnable,pss_bytes,uss_bytes,\
rss_bytes,listen_queue,cores_busy_sum,steal_s,iowait_s,throttled_s,throttled_periods,\
threads_blocked,minor_faults,major_faults,resident_bytes,open_files,open_sockets,listen_backlog,\
listen_overflows,group_cpu_s,group_memory_bytes,group_anonymous_bytes,network_in_bytes,\
network_out_bytes,disk_read_bytes,disk_written_bytes,neighbours_cpu_s\n";

/// One interval as CSV.
pub fn csv(second: &WatchSecond) -> String {
    let (interval, host) = (&second.second, &second.second.host);
    let group =
        |figure: fn(&GroupUse) -> Option<u64>| optional(interval.group.as_ref().and_then(figure));
    let sum = |devices: &[DeviceUse], figure: fn(&DeviceUse) -> u64| {
        devices.iter().map(figure).sum::<u64>().to_string()
    };
    let row = |process: &ProcessUse| {
        let memory = second.memory.iter().find(|one| one.pid == process.pid);
        let fields = [
            second.time.clone(),
            format!("{:.3}", interval.at_s),
            format!("{:.6}", interval.length_s),
            process.pid.to_string(),
            role(process).split(' ').next().unwrap_or_default().to_string(),
            optional(process.index),
            outside::csv(&process.name),
            format!("{:.9}", process.cpu_s),
            format!("{:.9}", process.user_s),
            format!("{:.9}", process.system_s),
            format!("{:.9}", process.run_delay_s),
            process.voluntary_switches.to_string(),
            process.involuntary_switches.to_string(),
            process.threads.to_string(),
            format!("{:.2}", process.threads_runnable),
            optional(memory.map(|one| one.pss_bytes)),
            optional(memory.map(|one| one.uss_bytes)),
            optional(memory.map(|one| one.rss_bytes)),
            optional(interval.listen_queue),
            format!("{:.4}", host.cores_busy.iter().sum::<f64>()),
            host.steal_s.to_string(),
            host.iowait_s.to_string(),
            host.throttled_s.to_string(),
            host.throttled_periods.to_string(),
            format!("{:.2}", process.threads_blocked),
            process.minor_faults.to_string(),
            process.major_faults.to_string(),
            process.resident_bytes.to_string(),
            optional(process.open_files),
            optional(process.open_sockets),
            optional(interval.listen_backlog),
            optional(interval.listen_overflows),
            optional(interval.group.as_ref().and_then(|group| group.cpu_s)),
            group(|group| group.memory_bytes),
            group(|group| group.anonymous_bytes),
            sum(&host.networks, |device| device.in_bytes),
            sum(&host.networks, |device| device.out_bytes),
            sum(&host.disks, |device| device.in_bytes),
            sum(&host.disks, |device| device.out_bytes),
            format!("{:.6}", host.neighbours.iter().map(|it| it.cpu_s).sum::<f64>()),
        ];
        fields.join(",") + "\n"
    };
    interval.processes.iter().map(row).collect()
}
