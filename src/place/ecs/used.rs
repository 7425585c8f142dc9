//! What CloudWatch recorded of a service that runs one task, minute by minute.
//!
//! In: a service's name, the record of it, what its task reserves, and a range of time by this
//! machine's clock. Out: CPU and memory of the task, all of its containers together, as far as they
//! can be held against what its app may use.
//! Container Insights tells both as amounts, where it is on; without it they are shares of what the
//! definition reserves.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::{Value, json};

use super::aws::ask_in_passing;
use super::cloudwatch::{GET_DATA, Metric, data_request, points};
use super::definition::{Reserved, UNITS};
use super::error::EcsError;
use super::name::ServiceName;
use super::record::Before;
use crate::place::minutes::{MINUTE_S, Minute};
use crate::terms::StopSignal;

const SERVICES: &str = "AWS/ECS";
const INSIGHTS: &str = "ECS/ContainerInsights";

/// By which name we know an answer.
const CPU_PERCENT: &str = "cpu_percent";
const MEMORY_PERCENT: &str = "memory_percent";
const CPU_UNITS: &str = "cpu_units";
const MEMORY_MIB: &str = "memory_mib";

/// What is asked for: our name, where it is kept, and its name there.
const ASKED: [(&str, &str, &str); 4] = [
    (CPU_PERCENT, SERVICES, "CPUUtilization"),
    (MEMORY_PERCENT, SERVICES, "MemoryUtilization"),
    (CPU_UNITS, INSIGHTS, "CpuUtilized"),
    (MEMORY_MIB, INSIGHTS, "MemoryUtilized"),
];

const MIB: f64 = (1 << 20) as f64;

/// The minutes of this range, seconds since 1970, that are recorded by now; oldest first. One of
/// which nothing that is recorded can be used is among them, too. Given up where the user wants to
/// end. `at`: where it was written down how this machine's clock goes.
///
/// # Errors
/// The range is another by AWS's clock, or as AWS's command says it.
pub fn minutes(
    (name, at): (&ServiceName, &Path),
    reserved: Reserved,
    range: (i64, i64),
    stop: &StopSignal,
) -> Result<Vec<Minute>, EcsError> {
    if let Some(ahead_s) = Before::read(at)?.and_then(|before| before.clock_ahead_s) {
        return Err(EcsError::ClockApart { ahead_s });
    }
    let dimensions = json!([
        {"Name": "ClusterName", "Value": name.cluster},
        {"Name": "ServiceName", "Value": name.service},
    ]);
    let metrics = ASKED.map(|(id, namespace, name)| Metric {
        id,
        namespace,
        name,
        dimensions: &dimensions,
        statistic: "Average",
    });
    let request = data_request(&metrics, range, MINUTE_S);
    Ok(read(&ask_in_passing(GET_DATA, &request, stop)?, reserved))
}

fn read(answer: &Value, reserved: Reserved) -> Vec<Minute> {
    // `each`: what one of its unit is; nothing is known of a share where the whole is not.
    let of = |id: &str, each: Option<f64>| -> BTreeMap<i64, f64> {
        let found = each.map(|each| {
            points(answer, id).into_iter().map(move |(start_s, value)| (start_s, value * each))
        });
        found.into_iter().flatten().collect()
    };
    let mut cores = of(CPU_PERCENT, reserved.cores.map(|whole| whole.get() / 100.0));
    cores.extend(of(CPU_UNITS, Some(1.0 / UNITS)));
    let mut memory = of(MEMORY_PERCENT, reserved.memory.map(|whole| whole.0 as f64 / 100.0));
    memory.extend(of(MEMORY_MIB, (!reserved.is_memory_apart).then_some(MIB)));
    let all = ASKED.iter().flat_map(|(id, ..)| points(answer, id));
    let starts: BTreeSet<i64> = all.map(|(start_s, _)| start_s).collect();
    let minute = |start_s: i64| Minute {
        start_s,
        cores: cores.get(&start_s).copied(),
        memory_bytes: memory.get(&start_s).map(|bytes| *bytes as u64),
    };
    starts.into_iter().map(minute).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::{Bytes, Cores};

    fn answer(of: &[(&str, &[f64])]) -> Value {
        let result = |(id, values): &(&str, &[f64])| {
            let times = (0..values.len()).map(|n| format!("2026-11-16T00:0{n}:00+00:00"));
            json!({"Id": id, "Timestamps": times.collect::<Vec<_>>(), "Values": values})
        };
        json!({"MetricDataResults": of.iter().map(result).collect::<Vec<_>>()})
    }

    #[test]
    fn nothing_is_asked_of_minutes_that_are_others_by_this_machines_clock() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().join("shop.json");
        let before = Before {
            name: "prod/shop".into(),
            definition: "arn:1".into(),
            own_family: "shop-sweetspot".into(),
            desired_count: 1,
            grace_s: None,
            minimum_healthy_percent: None,
            suspended: None,
            drains: Vec::new(),
            deployment: None,
            clock_ahead_s: Some(-120.0),
        };
        before.write(&at).unwrap();
        let (name, stop) = (before.service_name(&at).unwrap(), StopSignal::default());
        let error = minutes((&name, &at), Reserved::default(), (0, 60), &stop).unwrap_err();
        assert!(error.is_lasting() && error.to_string().contains("120 s behind"), "{error}");
    }

    #[test]
    fn shares_are_of_what_the_task_reserves_and_amounts_come_before_them() {
        let answer = answer(&[
            (CPU_PERCENT, &[50.0, 40.0]),
            (MEMORY_PERCENT, &[25.0, 50.0, 75.0]),
            (CPU_UNITS, &[512.0]),
            (MEMORY_MIB, &[]),
        ]);
        let (cores, memory) = (Cores::new(2.0).ok(), Some(Bytes(1 << 30)));
        let reserved = Reserved { cores, memory, is_memory_apart: false };
        let minutes = read(&answer, reserved);
        let start_s = 1_794_787_200;
        let figures: Vec<_> = minutes.iter().map(|it| (it.start_s, it.cores)).collect();
        let expected = [(start_s, Some(0.5)), (start_s + 60, Some(0.8)), (start_s + 120, None)];
        assert_eq!(figures, expected);
        let memory: Vec<_> = minutes.iter().map(|it| it.memory_bytes).collect();
        assert_eq!(memory, [Some(256 << 20), Some(512 << 20), Some(768 << 20)]);

        let minutes = read(&answer, Reserved::default());
        assert_eq!(minutes.len(), 3, "they are recorded");
        assert_eq!(minutes[0], Minute { start_s, cores: Some(0.5), memory_bytes: None });
        assert_eq!(minutes[1], Minute { start_s: start_s + 60, ..Minute::default() });
        assert!(read(&json!({}), reserved).is_empty());
    }

    #[test]
    fn memory_of_all_containers_is_not_taken_for_that_of_one_with_memory_of_its_own() {
        let answer = answer(&[(MEMORY_MIB, &[700.0]), (CPU_UNITS, &[512.0])]);
        let of = |is_memory_apart: bool| {
            let reserved = Reserved { is_memory_apart, ..Reserved::default() };
            let [minute] = read(&answer, reserved)[..] else { panic!("one minute") };
            (minute.cores, minute.memory_bytes)
        };
        assert_eq!(of(false), (Some(0.5), Some(700 << 20)));
        assert_eq!(of(true), (Some(0.5), None));
    }
}
