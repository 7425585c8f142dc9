//! Whether this machine's clock goes as AWS's does, which is known from what AWS says of a
//! deployment that was just begun: minutes that it recorded are chosen by this one.
//!
//! In: AWS's answer, and when it was asked for. Out: how far apart they are. Only computes.

use serde_json::Value;

use super::cloudwatch::seconds;

/// Apart by no more than this, they are taken for the same. AWS's command takes a second or two
/// itself, so that five may go unseen: a minute then has a twelfth of another in it.
const SAME_S: f64 = 3.0;

/// How far this machine's clock was ahead of AWS's, below zero behind it, seconds; `None`: next to
/// nothing, or AWS does not say. `answer`: of what began a deployment of this revision, asked for
/// at the first and there by the second of these times.
pub fn ahead_s(answer: &Value, definition: &str, (asked_s, there_s): (f64, f64)) -> Option<f64> {
    let mut all = answer["service"]["deployments"].as_array()?.iter();
    let begun = all.find(|it| it["taskDefinition"] == definition)?;
    // It was begun in this second.
    let begun_s = seconds(&begun["createdAt"])? as f64;
    let (ahead_s, behind_s) = (asked_s - begun_s - 1.0, begun_s - there_s);
    let apart_s = if ahead_s > behind_s { ahead_s } else { -behind_s };
    (ahead_s.max(behind_s) > SAME_S).then_some(apart_s)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_clock_is_apart_where_a_deployment_was_begun_before_it_was_asked_for_or_later() {
        let answer = json!({"service": {"deployments": [
            {"taskDefinition": "arn:2", "createdAt": "2026-11-16T01:00:00.750000+01:00"},
            {"taskDefinition": "arn:1", "createdAt": 1_794_000_000.5},
        ]}});
        let begun_s = 1_794_787_200.0;
        let of =
            |from_s: f64, to_s: f64| ahead_s(&answer, "arn:2", (begun_s + from_s, begun_s + to_s));
        assert_eq!(of(-0.5, 1.5), None);
        assert_eq!(of(-40.0, 30.0), None, "AWS throttled");
        assert_eq!(of(3.5, 4.5), None);
        assert_eq!(of(121.0, 122.0), Some(120.0));
        assert_eq!(of(-62.0, -60.0), Some(-60.0));
        assert_eq!(ahead_s(&answer, "arn:3", (0.0, 1.0)), None);
        assert_eq!(ahead_s(&json!(null), "arn:2", (0.0, 1.0)), None);
    }
}
