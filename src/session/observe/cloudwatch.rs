//! What Amazon CloudWatch recorded of target groups behind an application load balancer, or of all
//! that is behind one.
//!
//! In: the question, whose sides are names. Out: p95, throughput and errors of each, and what there
//! is to say of them. AWS's own command asks, with its own credentials and region.

use std::collections::BTreeMap;

use serde_json::Value;

use super::blocks::blocks;
use super::counted::{self, Counted, UNSEEN};
use super::question::{ObserveError, Question, Recorded};
use super::range::Blocks;
use crate::observe::Observed;
use crate::place::ecs::ask;
use crate::place::ecs::cloudwatch::{GET_DATA, Metric, SERVICE, data_request, points};
use crate::report::outside::line;
use crate::terms::{CompareNote, FigureLeftOut, Side};

const NAMESPACE: &str = "AWS/ApplicationELB";
/// From the request's leaving the load balancer to the reply's head, seconds.
const RESPONSE_TIME: &str = "TargetResponseTime";
/// What is asked for: by which name we know the answer, the metric and its statistic.
const ASKED: [(&str, &str, &str); 3] = [
    ("p95", RESPONSE_TIME, "p95"),
    ("requests", "RequestCount", "Sum"),
    ("failed", "HTTPCode_Target_5XX_Count", "Sum"),
];
/// How we know what no target answered, which has another metric for what is behind a balancer (see
/// [`Balanced::unanswered`]).
const UNANSWERED: &str = "unanswered";
/// CloudWatch keeps nothing shorter of it.
const MINUTE_S: i64 = 60;
/// Names that are shown where none fits.
const MOST_SHOWN: usize = 8;

/// Reads both sides.
///
/// # Errors
/// AWS says no, has no such target group or balancer, or counted no request of it.
pub fn of_balancer(
    question: &Question,
    now_s: i64,
) -> Result<([Blocks; 2], Recorded), ObserveError> {
    let (both, mut notes) = blocks(question, now_s, None)?;
    let there = list()?;
    let name_b = question.b.as_ref().unwrap_or(&question.a);
    // Both names before anything is asked for that takes longer.
    let (of_a, of_b) = (find(&there, Side::A, &question.a)?, find(&there, Side::B, name_b)?);
    let (a, of_it) = read((Side::A, of_a), both[0])?;
    let (b, of_other) = read((Side::B, of_b), both[1])?;
    notes.extend(of_it.into_iter().chain(of_other));
    if of_a.is_group || of_b.is_group {
        notes.push(CompareNote::BalancersOwnErrors);
    }
    let left_out = UNSEEN.map(|figure| FigureLeftOut::NotAtLoadBalancer { figure }).into();
    Ok((both, Recorded { a, b, left_out, notes }))
}

/// What has metrics of its own: its name, and the dimensions that tell it from others.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Balanced {
    name: String,
    dimensions: Value,
    /// A target group, and not a whole balancer.
    is_group: bool,
}

impl Balanced {
    /// The metric of requests that no target answered. The 502 and 504 that a balancer makes itself
    /// are counted of all its groups together; of one only the connections that failed.
    fn unanswered(&self) -> &'static str {
        match self.is_group {
            true => "TargetConnectionErrorCount",
            false => "HTTPCode_ELB_5XX_Count",
        }
    }
}

/// All that has response times.
fn list() -> Result<Vec<Balanced>, ObserveError> {
    let arguments = ["--namespace", NAMESPACE, "--metric-name", RESPONSE_TIME];
    Ok(balanced(&ask((SERVICE, "list-metrics"), &arguments, None)?))
}

/// What was recorded of one, in blocks of whole minutes, and what was remarked of that.
fn read(
    (side, of): (Side, &Balanced),
    blocks: Blocks,
) -> Result<(Observed, Vec<CompareNote>), ObserveError> {
    if blocks.block_s % MINUTE_S != 0 {
        return Err(ObserveError::CloudWatchBlock);
    }
    let answer = ask(GET_DATA, &[], Some(&request(of, blocks)))?;
    let nothing =
        || ObserveError::CloudWatchNothing { side, name: of.name.clone(), range: blocks.range() };
    Ok((observed(&answer, blocks).ok_or_else(nothing)?, remarks(&answer)))
}

/// What has response times, zone by zone left out.
fn balanced(listed: &Value) -> Vec<Balanced> {
    let metrics = listed["Metrics"].as_array().into_iter().flatten();
    let mut all: Vec<Balanced> =
        metrics.filter_map(|metric| of_dimensions(&metric["Dimensions"])).collect();
    all.sort_by(|one, other| one.name.cmp(&other.name));
    // A group is behind one balancer; a list in several pages may say it again.
    all.dedup_by(|one, other| one.name == other.name);
    all
}

fn of_dimensions(dimensions: &Value) -> Option<Balanced> {
    let each = dimensions.as_array()?.iter();
    let each: BTreeMap<&str, &str> =
        each.filter_map(|it| Some((it["Name"].as_str()?, it["Value"].as_str()?))).collect();
    let balancer = each.get("LoadBalancer")?;
    let (name, is_group) = match (each.get("TargetGroup"), each.len()) {
        (Some(group), 2) => (group, true),
        (None, 1) => (balancer, false),
        _ => return None,
    };
    Some(Balanced { name: name.to_string(), dimensions: dimensions.clone(), is_group })
}

/// By its name, by what CloudWatch calls it (`targetgroup/NAME/ID`, `app/NAME/ID`) or by its ARN.
fn find<'a>(there: &'a [Balanced], side: Side, name: &str) -> Result<&'a Balanced, ObserveError> {
    let is_called = |one: &&Balanced| {
        let of_arn = [":", "/"].map(|before| format!("{before}{}", one.name));
        one.name == name
            || of_arn.iter().any(|end| name.ends_with(end))
            || one.name.split('/').nth(1) == Some(name)
    };
    let found: Vec<&Balanced> = there.iter().filter(is_called).collect();
    let name = name.to_string();
    match found.as_slice() {
        [one] => Ok(one),
        [] => {
            let there = there.iter().map(|one| one.name.clone()).take(MOST_SHOWN).collect();
            Err(ObserveError::Unknown { side, name, there })
        }
        several => {
            let may_be = several.iter().map(|one| one.name.clone()).collect();
            Err(ObserveError::Ambiguous { side, name, may_be })
        }
    }
}

/// All figures of one side, as `get-metric-data` takes it.
fn request(of: &Balanced, blocks: Blocks) -> Value {
    let unanswered = (UNANSWERED, of.unanswered(), "Sum");
    let metric = |(id, name, statistic)| Metric {
        id,
        namespace: NAMESPACE,
        name,
        dimensions: &of.dimensions,
        statistic,
    };
    let metrics: Vec<Metric<'_>> = ASKED.into_iter().chain([unanswered]).map(metric).collect();
    data_request(&metrics, (blocks.start_s, blocks.end_s()), blocks.block_s)
}

/// `None`: no request was counted.
fn observed(answer: &Value, blocks: Blocks) -> Option<Observed> {
    let [p95_s, requests, failed] = ASKED.map(|(id, ..)| values(answer, id, blocks));
    let unanswered = values(answer, UNANSWERED, blocks);
    let both = |(one, other): (Option<f64>, Option<f64>)| {
        one.into_iter().chain(other).reduce(|one, other| one + other)
    };
    let failed = failed.into_iter().zip(unanswered).map(both).collect();
    counted::observed(Counted { p95_s, requests, failed }, blocks)
}

/// A value a block.
fn values(answer: &Value, id: &str, blocks: Blocks) -> Vec<Option<f64>> {
    let mut values = vec![None; blocks.count];
    for (second, value) in points(answer, id) {
        if let Some(block) = blocks.index(second) {
            values[block] = Some(value);
        }
    }
    values
}

fn remarks(answer: &Value) -> Vec<CompareNote> {
    let messages = answer["Messages"].as_array().into_iter().flatten();
    let said = messages.filter_map(|message| message["Value"].as_str());
    said.map(|text| CompareNote::SourceWarned { text: line(text) }).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::terms::FigureKind;

    fn metric(dimensions: &[(&str, &str)]) -> Value {
        let each = dimensions.iter().map(|(name, value)| json!({"Name": name, "Value": value}));
        json!({"Dimensions": each.collect::<Vec<_>>()})
    }

    fn there() -> Vec<Balanced> {
        let balancer = ("LoadBalancer", "app/shop/50dc");
        balanced(&json!({"Metrics": [
            metric(&[("TargetGroup", "targetgroup/web-b/98af"), balancer]),
            metric(&[balancer, ("TargetGroup", "targetgroup/web-a/73e2")]),
            metric(&[balancer, ("TargetGroup", "targetgroup/x/1"), ("AvailabilityZone", "a")]),
            metric(&[balancer]),
            metric(&[balancer]),
            metric(&[("LoadBalancer", "app/web-b/1234")]),
        ]}))
    }

    #[test]
    fn a_side_is_called_by_its_name_its_metrics_name_or_its_arn() {
        let there = there();
        assert_eq!(there.len(), 4, "none of a zone, and each once");
        let arn = "arn:aws:elasticloadbalancing:eu-west-1:1:";
        for (name, expected) in [
            ("web-a", "targetgroup/web-a/73e2"),
            ("targetgroup/web-b/98af", "targetgroup/web-b/98af"),
            (&*format!("{arn}targetgroup/web-a/73e2"), "targetgroup/web-a/73e2"),
            (&*format!("{arn}loadbalancer/app/shop/50dc"), "app/shop/50dc"),
            ("shop", "app/shop/50dc"),
        ] {
            assert_eq!(find(&there, Side::A, name).unwrap().name, expected);
        }
        let said = |name| find(&there, Side::B, name).unwrap_err().to_string();
        assert!(said("web-c").contains("there are app/shop/50dc, app/web-b/1234, targetgroup/"));
        assert!(said("web-b").contains("app/web-b/1234 or targetgroup/web-b/98af"));
    }

    #[test]
    fn of_a_balancer_its_own_errors_are_asked_for_and_of_a_group_connections() {
        let blocks = Blocks { start_s: 0, block_s: 300, count: 1 };
        let there = there();
        for (name, metric) in
            [("shop", "HTTPCode_ELB_5XX_Count"), ("web-a", "TargetConnectionErrorCount")]
        {
            let asked = request(find(&there, Side::A, name).unwrap(), blocks);
            let queries = asked["MetricDataQueries"].as_array().unwrap();
            let last = queries.last().unwrap();
            assert_eq!((queries.len(), &last["Id"]), (4, &json!(UNANSWERED)));
            assert_eq!(last["MetricStat"]["Metric"]["MetricName"], metric);
        }
    }

    #[test]
    fn values_stand_at_their_blocks_whatever_page_they_came_on() {
        let blocks = Blocks { start_s: 1_794_787_200, block_s: 300, count: 3 };
        let result = |id: &str, minutes: &[u32], values: &[f64]| {
            let time = |minute: &u32| format!("2026-11-16T00:{minute:02}:00+00:00");
            let times: Vec<String> = minutes.iter().map(time).collect();
            json!({"Id": id, "Timestamps": times, "Values": values})
        };
        let answer = json!({"MetricDataResults": [
            result("requests", &[0, 5], &[600.0, 10.0]),
            result("p95", &[0, 5], &[0.12, 0.5]),
            result("failed", &[0], &[6.0]),
            result("unanswered", &[0, 10], &[3.0, 6.0]),
            json!({"Id": "requests", "Timestamps": [1_794_787_800.0], "Values": [300.0]}),
            result("p95", &[10], &[0.2]),
        ]});
        let seen = observed(&answer, blocks).unwrap().figures;
        assert_eq!(seen[&FigureKind::LatencyP95], [Some(0.12), None, Some(0.2)], "10 are too few");
        assert_eq!(seen[&FigureKind::Errors], [Some(0.015), Some(0.0), Some(0.02)]);
        assert_eq!(seen[&FigureKind::Throughput], [Some(2.0), Some(10.0 / 300.0), Some(1.0)]);
        assert_eq!(observed(&json!({"MetricDataResults": []}), blocks), None);
    }
}
