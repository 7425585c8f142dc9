//! Figures that Amazon CloudWatch keeps.
//!
//! In: metrics and a range of time. Out: the request for them, and their values in what is
//! answered. Asks nothing by itself.

use jiff::Timestamp;
use serde_json::{Value, json};

/// By AWS's command.
pub const SERVICE: &str = "cloudwatch";
/// What takes a request of [`data_request`].
pub const GET_DATA: (&str, &str) = (SERVICE, "get-metric-data");

/// One metric, and by which name its values are known in the answer.
#[derive(Debug, Clone, Copy)]
pub struct Metric<'a> {
    pub id: &'a str,
    pub namespace: &'a str,
    pub name: &'a str,
    /// As AWS has them.
    pub dimensions: &'a Value,
    pub statistic: &'a str,
}

/// The request for all of them in a range of seconds since 1970, the end not in it.
pub fn data_request(metrics: &[Metric<'_>], (from_s, to_s): (i64, i64), period_s: i64) -> Value {
    let query = |metric: &Metric<'_>| {
        let of = json!({
            "Namespace": metric.namespace,
            "MetricName": metric.name,
            "Dimensions": metric.dimensions,
        });
        json!({
            "Id": metric.id,
            "MetricStat": {"Metric": of, "Period": period_s, "Stat": metric.statistic},
        })
    };
    json!({
        "StartTime": time(from_s),
        "EndTime": time(to_s),
        "ScanBy": "TimestampAscending",
        "MetricDataQueries": metrics.iter().map(query).collect::<Vec<_>>(),
    })
}

/// The values of one metric: when each period began, seconds since 1970, and its value; oldest
/// first in each page. An answer in several pages has the same name several times.
pub fn points(answer: &Value, id: &str) -> Vec<(i64, f64)> {
    let results = answer["MetricDataResults"].as_array().into_iter().flatten();
    let of_it = results.filter(|result| result["Id"] == id);
    let pairs = of_it.flat_map(|result| {
        let times = result["Timestamps"].as_array().into_iter().flatten();
        times.zip(result["Values"].as_array().into_iter().flatten())
    });
    pairs.filter_map(|(time, value)| Some((seconds(time)?, value.as_f64()?))).collect()
}

/// A second since 1970 as text, as AWS takes it too (RFC 3339).
pub fn time(second: i64) -> String {
    Timestamp::from_second(second).map_or_else(|_| "?".into(), |it| it.to_string())
}

/// Since 1970. The command writes a time as the service sent it, which may be a number.
pub fn seconds(time: &Value) -> Option<i64> {
    let of_text = || Some(time.as_str()?.parse::<Timestamp>().ok()?.as_second());
    time.as_f64().map(|seconds| seconds as i64).or_else(of_text)
}
