//! Asks a Prometheus by its HTTP API.
//!
//! In: PromQL. Out: numbers, or what it said instead. Its own limits hold.

use std::cell::RefCell;
use std::collections::BTreeSet;

use serde_json::Value;

use super::asked::{Api, Tell};
use super::question::ObserveError;
use super::range::{Blocks, Range};
use crate::http_client::Peer;

/// A query is asked for so long at once: of weeks together it could take longer than we wait, or
/// give more points than Prometheus allows.
const AT_ONCE_S: i64 = 24 * 3600;

/// A Prometheus, and what it remarked so far.
pub struct Prometheus {
    api: Api,
    remarks: RefCell<BTreeSet<String>>,
}

impl Prometheus {
    pub fn new(peer: Peer, tell: Tell) -> Self {
        let hint = "the address is that in front of /api/v1, such as http://127.0.0.1:9090";
        Self { api: Api { peer, who: "Prometheus", hint, tell }, remarks: RefCell::default() }
    }

    /// What it remarked of its answers.
    pub fn remarks(&self) -> Vec<String> {
        self.remarks.borrow().iter().cloned().collect()
    }

    /// Its own time, in seconds since 1970.
    pub fn now_s(&self) -> Result<f64, ObserveError> {
        let data = self.ask("query", &[("query", "time()")])?;
        number(&data["result"]).ok_or_else(|| self.api.stranger(200).into())
    }

    /// The names of a selector's series.
    pub fn names(&self, selector: &str, range: Range) -> Result<BTreeSet<String>, ObserveError> {
        self.texts("label/__name__/values", &format!("{{{selector}}}"), range)
    }

    /// The labels that series have.
    pub fn labels(&self, series: &str, range: Range) -> Result<BTreeSet<String>, ObserveError> {
        self.texts("labels", series, range)
    }

    /// The upper bounds of a classic histogram, in its unit, ascending, without the infinite one.
    pub fn bounds(&self, series: &str, range: Range) -> Result<Vec<f64>, ObserveError> {
        let texts = self.texts("label/le/values", series, range)?;
        let numbers = texts.iter().filter_map(|text| text.parse().ok());
        let mut bounds: Vec<f64> = numbers.filter(|bound: &f64| bound.is_finite()).collect();
        bounds.sort_by(f64::total_cmp);
        Ok(bounds)
    }

    fn texts(
        &self,
        path: &str,
        series: &str,
        range: Range,
    ) -> Result<BTreeSet<String>, ObserveError> {
        let (from, to) = (range.from_s.to_string(), range.to_s.to_string());
        let data = self.ask(path, &[("match[]", series), ("start", &from), ("end", &to)])?;
        let texts = data.as_array().into_iter().flatten();
        Ok(texts.filter_map(|text| text.as_str().map(String::from)).collect())
    }

    /// One number at that time; `None` where there is none.
    pub fn at(&self, query: &str, at_s: i64) -> Result<Option<f64>, ObserveError> {
        let data = self.ask("query", &[("query", query), ("time", &at_s.to_string())])?;
        Ok(number(&data["result"][0]["value"]))
    }

    /// What a query over the length of a block gives at the end of each.
    pub fn blocks(&self, query: &str, blocks: Blocks) -> Result<Vec<Option<f64>>, ObserveError> {
        let mut values = vec![None; blocks.count];
        for (first, last) in parts(blocks) {
            let data = self.ask(
                "query_range",
                &[
                    ("query", query),
                    ("start", &first.to_string()),
                    ("end", &last.to_string()),
                    ("step", &blocks.block_s.to_string()),
                ],
            )?;
            for point in data["result"][0]["values"].as_array().into_iter().flatten() {
                let at_s = point[0].as_f64().unwrap_or(f64::NAN).round() as i64;
                // What stands at the end of a block is that block's.
                if let Some(block) = blocks.index(at_s - blocks.block_s) {
                    values[block] = number(point).filter(|value| value.is_finite());
                }
            }
        }
        Ok(values)
    }

    fn ask(&self, path: &str, parameters: &[(&str, &str)]) -> Result<Value, ObserveError> {
        let (status, answer) = self.api.get(&format!("/api/v1/{path}"), parameters)?;
        self.data(status, answer)
    }

    /// The data in an answer.
    fn data(&self, status: u16, mut answer: Value) -> Result<Value, ObserveError> {
        if answer["status"] == "error" {
            let said = answer["error"].as_str().unwrap_or("no reason");
            return Err(self.api.refused(status, said).into());
        }
        // Others answer with an object too, such as Grafana where its address was given.
        if answer["status"] != "success" {
            return Err(self.api.unlike(status, &answer.to_string()).into());
        }
        let remarks = answer["warnings"].as_array().into_iter().flatten();
        let remarks = remarks.filter_map(|it| it.as_str().map(String::from));
        self.remarks.borrow_mut().extend(remarks);
        Ok(answer["data"].take())
    }
}

/// The ends of the first and the last block of each part that is asked for at once.
fn parts(blocks: Blocks) -> impl Iterator<Item = (i64, i64)> {
    let each = (AT_ONCE_S / blocks.block_s).max(1) as usize;
    let end = move |block: usize| blocks.start_s + blocks.block_s * block as i64;
    let firsts = (0..blocks.count).step_by(each);
    firsts.map(move |first| (end(first + 1), end(blocks.count.min(first + each))))
}

/// `[time, "value"]`.
fn number(point: &Value) -> Option<f64> {
    point[1].as_str()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_range_is_asked_for_day_by_day_and_each_block_once() {
        const DAY_S: i64 = 24 * 3600;
        let blocks = Blocks { start_s: 600, block_s: 300, count: 2 * 288 + 1 };
        let all: Vec<(i64, i64)> = parts(blocks).collect();
        let days = [
            (900, 600 + DAY_S),
            (900 + DAY_S, 600 + 2 * DAY_S),
            (900 + 2 * DAY_S, 900 + 2 * DAY_S),
        ];
        assert_eq!((all.as_slice(), all[2].1), (days.as_slice(), blocks.end_s()));
        assert_eq!(parts(Blocks { count: 0, ..blocks }).count(), 0);
    }

    #[test]
    fn an_object_of_somebody_else_is_told_from_a_refusal() {
        let url = "http://127.0.0.1:3000".to_string();
        let peer = Peer { url, addresses: Vec::new(), headers: Vec::new() };
        let prometheus = Prometheus::new(peer, |_: &str| {});
        for (status, answer, expected, is_usage) in [
            (404, json!({"message": "Not found"}), "404, but not as Prometheus does", true),
            (200, json!({"version": "8.1"}), "200, but not as Prometheus does", true),
            (401, json!({"message": "Who?"}), "answered 401: {\"message\":\"Who?\"}", false),
            (422, json!({"status": "error", "error": "too many"}), "422: too many", true),
            (503, json!({"status": "error"}), "answered 503: no reason", false),
        ] {
            let error = prometheus.data(status, answer).unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
            assert_eq!(error.is_usage(), is_usage, "{error}");
        }
        let data = prometheus.data(200, json!({"status": "success", "data": [1]}));
        assert_eq!(data.unwrap(), json!([1]));
    }
}
