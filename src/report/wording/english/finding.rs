//! What `doctor` found, in English.

use super::limit_refusal;
use crate::report::figures;
use crate::report::wording::FindingWords;
use crate::terms::{
    Bytes, ClusterCheck, GroupPermission, LocalPorts, MachineCheck, MemoryLeft, NodeLook,
    NodesAlike, Priority, QuotaLeft, RefusedGroup,
};

const NOT_VISIBLE: &str = "not visible";

pub fn words(check: &MachineCheck) -> FindingWords {
    let advice = match (check, advice(check)) {
        (MachineCheck::ProgramFound { program, .. }, advice) => {
            format!("the app in this folder needs `{program}`: {advice}")
        }
        (_, advice) => advice.to_string(),
    };
    FindingWords { what: what(check).into(), figure: figure(check), advice }
}

pub fn what(check: &MachineCheck) -> &str {
    match check {
        MachineCheck::CoresFound { .. } => "cores",
        MachineCheck::GovernorsFound { .. } => "frequency governor",
        MachineCheck::StealFound { .. } => "steal",
        MachineCheck::LoadFound { .. } => "load by others",
        MachineCheck::NoiseFound { .. } => "A/A noise",
        MachineCheck::OpenFilesFound { .. } => "open files",
        MachineCheck::PortsFound { .. } => "local ports",
        MachineCheck::ListenQueueFound { .. } => "listen queue limit",
        MachineCheck::ClockFound { .. } => "clock source",
        MachineCheck::ControlGroupsFound { .. } => "control groups",
        MachineCheck::LeftBehindFound { .. } => "left behind",
        MachineCheck::PriorityFound { .. } => "priority",
        MachineCheck::MemoryFound { .. } => "memory",
        MachineCheck::SwapFound { .. } => "swap",
        MachineCheck::DiskFound { .. } => "disk",
        MachineCheck::ProgramFound { program, .. } => program,
        MachineCheck::OfCluster(check) => match check {
            ClusterCheck::ApiServerFound { .. } => "API server",
            ClusterCheck::RightsFound { .. } => "rights",
            ClusterCheck::NodesFound { .. } => "nodes",
            ClusterCheck::QuotasFound { .. } => "quotas",
            ClusterCheck::PodMetricsFound { .. } => "pods' metrics",
            ClusterCheck::NodesLookedAt { .. } => "pods on nodes",
        },
    }
}

pub fn figure(check: &MachineCheck) -> String {
    match check {
        MachineCheck::CoresFound { available, online, quota } => {
            let held = quota.as_ref().map(|quota| {
                format!(", held to {:.2} by the quota in {}", quota.cores, quota.folder)
            });
            format!("{available} of {online} online{}", held.unwrap_or_default())
        }
        MachineCheck::GovernorsFound { names } if names.is_empty() => {
            format!("{NOT_VISIBLE} (the host or firmware decides)")
        }
        MachineCheck::GovernorsFound { names } => names.join(", "),
        MachineCheck::StealFound { steal_ratio, over_s } => {
            format!("{:.1} % of {over_s:.1} s", steal_ratio * 100.0)
        }
        MachineCheck::LoadFound { busy_ratio, over_s, busiest } => {
            let by = busiest
                .as_ref()
                .map(|it| format!(", most by {} (pid {}), {:.2} cores", it.name, it.pid, it.cores));
            let (percent, by) = (busy_ratio * 100.0, by.unwrap_or_default());
            format!("cores {percent:.0} % busy over {over_s:.1} s{by}")
        }
        MachineCheck::NoiseFound { spread: Some(spread) } => format!(
            "the same computation varies by {:.1} % on a core and {:.1} % between cores ({} times \
             on {})",
            spread.within_ratio * 100.0,
            spread.between_ratio * 100.0,
            spread.repeats,
            spread.cores
        ),
        MachineCheck::NoiseFound { spread: None } => "could not be measured".into(),
        MachineCheck::OpenFilesFound { limit, raisable_to } if raisable_to > limit => {
            format!("{limit} (may be raised to {raisable_to})")
        }
        MachineCheck::OpenFilesFound { limit, .. } => limit.to_string(),
        MachineCheck::PortsFound { ports } => ports.map_or(NOT_VISIBLE.into(), local_ports),
        MachineCheck::ListenQueueFound { connections_max } => {
            connections_max.map_or(NOT_VISIBLE.into(), |most| most.to_string())
        }
        MachineCheck::ClockFound { source } => source.clone().unwrap_or(NOT_VISIBLE.into()),
        MachineCheck::ControlGroupsFound { permission } => control_groups(permission),
        MachineCheck::LeftBehindFound { group_ends_all: true } => {
            "nothing, whatever happens: its control group ends all of a server".into()
        }
        MachineCheck::LeftBehindFound { group_ends_all: false } => {
            "nothing of a server that stays in its session or keeps its environment or output; \
             one that hides all three may stay when sweetspot and its guardian are killed at once"
                .into()
        }
        MachineCheck::PriorityFound { permitted } => priority(*permitted).into(),
        MachineCheck::MemoryFound { memory } => memory.map_or(NOT_VISIBLE.into(), memory_left),
        MachineCheck::SwapFound { total_bytes: 0, .. } => "none".into(),
        MachineCheck::SwapFound { used_bytes, total_bytes } => {
            format!("{} of {} in use", Bytes(*used_bytes), Bytes(*total_bytes))
        }
        MachineCheck::DiskFound { free_bytes: Some(free), folder } => {
            format!("{} free for {folder}", Bytes(*free))
        }
        MachineCheck::DiskFound { free_bytes: None, .. } => NOT_VISIBLE.into(),
        MachineCheck::ProgramFound { path, .. } => path.clone().unwrap_or("missing".into()),
        MachineCheck::OfCluster(check) => of_cluster(check),
    }
}

/// What was found of a cluster.
fn of_cluster(check: &ClusterCheck) -> String {
    match check {
        ClusterCheck::ApiServerFound { version, namespace, is_missing } => {
            let missing = if *is_missing { ", which is not there" } else { "" };
            format!("{version}, namespace {namespace}{missing}")
        }
        ClusterCheck::RightsFound { role, missing } if missing.is_empty() => {
            format!("all of {role}")
        }
        ClusterCheck::RightsFound { role, missing } => {
            format!("of {role} are missing: {}", missing.join(", "))
        }
        ClusterCheck::NodesFound { nodes } => each(nodes.as_deref(), nodes_alike),
        ClusterCheck::QuotasFound { quotas } => each(quotas.as_deref(), quota_left),
        ClusterCheck::PodMetricsFound { are_served: None } => NOT_VISIBLE.into(),
        ClusterCheck::PodMetricsFound { are_served: Some(true) } => {
            "served, so that an autoscaler can go by CPU".into()
        }
        ClusterCheck::PodMetricsFound { are_served: Some(false) } => "not served".into(),
        ClusterCheck::NodesLookedAt { image, looks } => {
            format!("{image}: {}", each(Some(looks), node_look))
        }
    }
}

fn each<T>(all: Option<&[T]>, one: fn(&T) -> String) -> String {
    match all {
        None => NOT_VISIBLE.into(),
        Some([]) => "none".into(),
        Some(all) => all.iter().map(one).collect::<Vec<_>>().join("; "),
    }
}

fn nodes_alike(nodes: &NodesAlike) -> String {
    let NodesAlike { count, architecture, kernel, cores, memory_gib, take_pods } = nodes;
    let closed = if *take_pods { "" } else { ", taking no pods" };
    format!("{count} of {cores} cores and {memory_gib} GiB, {architecture}, {kernel}{closed}")
}

fn node_look(look: &NodeLook) -> String {
    let NodeLook { node, said, clock_ahead_s, why } = look;
    let node = if node.is_empty() { "no node" } else { node };
    let said = said.as_ref().map(|it| format!("{}, {}", it.cpu_model, it.kernel));
    let clock = clock_ahead_s.map(|[least, most]| match (least, most) {
        (..=0.0, 0.0..) => {
            format!("its clock right within {}", figures::latency(most.max(-least)))
        }
        (0.0.., _) => format!("its clock at least {} ahead", figures::latency(least)),
        _ => format!("its clock at least {} behind", figures::latency(-most)),
    });
    let parts: Vec<String> = said.into_iter().chain(clock).chain(why.clone()).collect();
    format!("{node} ({})", parts.join(", "))
}

fn quota_left(left: &QuotaLeft) -> String {
    let QuotaLeft { quota, resource, used, hard, .. } = left;
    format!("{resource} {used} of {hard} ({quota})")
}

fn local_ports(ports: LocalPorts) -> String {
    let reuse = match ports.is_reused {
        true => "taken again at once".to_string(),
        false => {
            format!(
                "enough for {} fresh connections/s for longer than a minute",
                ports.fresh_per_s()
            )
        }
    };
    format!("{} ({} to {}), {reuse}", ports.count(), ports.first, ports.last)
}

fn control_groups(permission: &GroupPermission) -> String {
    match permission {
        GroupPermission::Both { version } => {
            format!("version {version}, limits of CPU and memory can be set")
        }
        GroupPermission::Without { version, missing } => {
            format!("version {version}, no limit can be set of {}", missing.join(" and "))
        }
        GroupPermission::Refused { version, tried } => {
            let of_one =
                |it: &RefusedGroup| format!("{}: {}", it.folder, limit_refusal::sentence(&it.why));
            let reason = tried.iter().map(of_one).collect::<Vec<_>>().join("; ");
            format!("version {version}, none can be made ({reason})")
        }
        GroupPermission::None => "not mounted".into(),
    }
}

fn priority(permitted: Priority) -> &'static str {
    match permitted {
        Priority::RealTime => "SCHED_FIFO allowed",
        Priority::Nice => "nice allowed, SCHED_FIFO not",
        Priority::Normal => "may not be raised",
    }
}

fn memory_left(memory: MemoryLeft) -> String {
    let limit = memory.limit_bytes.map(|limit| format!(", limit {}", Bytes(limit)));
    let (available, total) = (Bytes(memory.available_bytes), Bytes(memory.total_bytes));
    format!("{available} available of {total}{}", limit.unwrap_or_default())
}

/// What to do where it is not as it should be.
pub fn advice(check: &MachineCheck) -> &'static str {
    match check {
        MachineCheck::CoresFound { quota: Some(_), .. } => {
            "servers that count cores see all of them and start too many workers; name the quota \
             with --cpus, or give whole cores (cpuset) instead of a quota"
        }
        MachineCheck::CoresFound { quota: None, .. } => {
            "the load generator shares the only core with the server; its share is shown in every \
             trial, a second core would keep them apart"
        }
        MachineCheck::GovernorsFound { .. } => {
            "`cpupower frequency-set -g performance` as root, so that an idle core is not slow at \
             first"
        }
        MachineCheck::StealFound { .. } => {
            "the host gives this machine's cores to others; measure on dedicated cores or at a \
             quieter time"
        }
        MachineCheck::LoadFound { .. } => {
            "other programs take what the server would use; end them or wait until they are done"
        }
        MachineCheck::NoiseFound { spread: Some(_) } => {
            "differences between settings below this cannot be told from chance; look for other \
             load, frequency changes, or cores of different speed"
        }
        MachineCheck::NoiseFound { spread: None } => "allow this program to pin a thread to a core",
        MachineCheck::OpenFilesFound { .. } => {
            "`ulimit -n 65536` in this shell before starting, or a higher nofile in \
             /etc/security/limits.conf; each connection takes one"
        }
        MachineCheck::PortsFound { .. } => {
            "`sysctl net.ipv4.tcp_tw_reuse=1` and `sysctl net.ipv4.ip_local_port_range='10240 \
             65535'` as root, or a unix socket"
        }
        MachineCheck::ListenQueueFound { .. } => {
            "`sysctl net.core.somaxconn=4096` as root; servers ask for queues of 1024 and get no \
             more than this, so bursts are refused early"
        }
        MachineCheck::ClockFound { .. } => {
            "reading the time costs a microsecond or more with this one; boot with clocksource=tsc \
             if the machine's TSC is stable"
        }
        MachineCheck::ControlGroupsFound { .. } | MachineCheck::LeftBehindFound { .. } => {
            "run under `systemd-run --user --scope -p Delegate=yes`; without it --cpus and \
             --memory are not enforced as quota and limit"
        }
        MachineCheck::PriorityFound { .. } => {
            "`setcap cap_sys_nice+ep` on this program, so that the load is sent in time on a busy \
             machine"
        }
        MachineCheck::MemoryFound { .. } => {
            "end programs that hold memory: a server that swaps or is killed measures nothing else"
        }
        MachineCheck::SwapFound { .. } => {
            "`swapoff -a` as root while measuring: pages that come back from disk look like slow \
             requests"
        }
        MachineCheck::DiskFound { .. } => {
            "free some space, or put the store elsewhere with --store"
        }
        MachineCheck::ProgramFound { .. } => "install it or put it on PATH",
        MachineCheck::OfCluster(check) => advice_on_cluster(check),
    }
}

/// What to do where a cluster is not as it should be.
fn advice_on_cluster(check: &ClusterCheck) -> &'static str {
    match check {
        ClusterCheck::ApiServerFound { .. } => "name one that is there with --namespace",
        ClusterCheck::RightsFound { .. } => {
            "have the role of this file bound to you in the namespace (its head says how)"
        }
        ClusterCheck::NodesFound { .. } => {
            "a setting's figures are those of the nodes that its pods run on: keep the app's pods \
             on one kind (nodeSelector)"
        }
        ClusterCheck::QuotasFound { .. } => {
            "nothing more can be made of what is used up; generators and the app's pods need room"
        }
        ClusterCheck::PodMetricsFound { .. } => {
            "an autoscaler by CPU, as tune prints one, needs metrics-server"
        }
        ClusterCheck::NodesLookedAt { .. } => {
            "a pod that does not run says why; nodes with other processors, kernels or clocks \
             measure themselves: keep the app's pods on one kind (nodeSelector), and let NTP set \
             their clocks"
        }
    }
}
