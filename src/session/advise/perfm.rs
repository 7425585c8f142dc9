//! What perfm recorded: the rows of its table of requests, as CSV or JSON.
//!
//! In: a file. Out: what was seen, or what is wrong with it, by line.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::Deserialize;

use super::question::{AdviseError, PerfmError, Question, setting};
use crate::advise::{RateSeen, Seen, Sums, Times};
use crate::plan::traffic::parse_time;
use crate::terms::{Bytes, InsideRequest};

/// A request, in milliseconds.
#[derive(Debug, Deserialize)]
struct Row {
    run_ms: f64,
    idle_ms: f64,
    stall_ms: f64,
    method: Option<String>,
    controller: Option<String>,
    action: Option<String>,
    puma_max_threads: Option<u16>,
    created_at: String,
}

/// # Errors
/// The file has no rows, or it was not said what they ran on.
pub fn seen(question: &Question, file: &Path, instances: u32) -> Result<Seen, AdviseError> {
    let cores = question.cores.ok_or(PerfmError::CoresUnknown)?;
    let workers = question.workers.ok_or(PerfmError::WorkersUnknown)?;
    let rows = rows(file)?;
    let threads = question.threads.or(rows.iter().filter_map(|row| row.puma_max_threads).max());
    let mut times = Times::default();
    let mut sums = Sums { gvl_wait_s: Some(0.0), ..Sums::default() };
    let mut seconds: BTreeMap<i64, RateSeen> = BTreeMap::new();
    // It writes down what a process has gathered at once: all of that has one time.
    let mut batches: BTreeMap<&str, u64> = BTreeMap::new();
    for row in &rows {
        let Some((second, request)) = row.request() else { continue };
        *batches.entry(&row.created_at).or_default() += 1;
        let rate = seconds.entry(second).or_default();
        rate.requests += 1;
        rate.app_s += request.app_s;
        sums.requests += 1;
        sums.app_s += request.app_s;
        sums.app_cpu_s += request.cpu_s;
        sums.gvl_wait_s = sums.gvl_wait_s.zip(request.gvl_wait_s).map(|(sum, one)| sum + one);
        times.add(&request);
    }
    let ends = seconds.keys().next().zip(seconds.keys().next_back());
    let Some((&first, &last)) = ends.filter(|_| sums.requests > 0) else {
        return Err(PerfmError::NoRows { file: file.to_path_buf() }.into());
    };
    let threads = threads.ok_or_else(|| PerfmError::ThreadsUnknown { file: file.to_path_buf() })?;
    Ok(Seen {
        setting: setting(question, workers, Some(threads))?,
        cores,
        memory: question.memory.unwrap_or(Bytes(u64::MAX)),
        length_s: (last - first + 1) as f64,
        instances: instances.max(1),
        sums,
        cpu_s: None,
        memory_bytes: None,
        others_cores: None,
        are_threads_counted: false,
        watching_cores: None,
        times,
        rates: seconds
            .into_iter()
            .map(|(second, rate)| RateSeen { second: (second - first) as u32, ..rate })
            .collect(),
        batch: batches.into_values().max(),
        remarks: Vec::new(),
    })
}

fn rows(file: &Path) -> Result<Vec<Row>, PerfmError> {
    let named = || file.to_path_buf();
    let text =
        fs::read_to_string(file).map_err(|reason| PerfmError::Read { file: named(), reason })?;
    let wrong = |what: String| PerfmError::NotRows { file: named(), what };
    match text.trim_start().chars().next() {
        Some('[') => serde_json::from_str(&text).map_err(|error| wrong(error.to_string())),
        Some('{') => Err(PerfmError::Analysis { file: named() }),
        _ => {
            let mut reader = csv::Reader::from_reader(text.as_bytes());
            let rows: Result<Vec<Row>, csv::Error> = reader.deserialize().collect();
            rows.map_err(|error| wrong(error.to_string()))
        }
    }
}

impl Row {
    /// The second in which it was written down, and what it took; `None` where a figure makes no
    /// sense.
    fn request(&self) -> Option<(i64, InsideRequest)> {
        let parts = [self.run_ms, self.idle_ms, self.stall_ms].map(|ms| ms / 1000.0);
        let is_time = |seconds: &f64| seconds.is_finite() && *seconds >= 0.0;
        let [cpu_s, wait_s, gvl_wait_s] = parts;
        let app_s = cpu_s + wait_s + gvl_wait_s;
        if !parts.iter().all(is_time) || app_s <= 0.0 {
            return None;
        }
        let at_ns = parse_time(self.created_at.trim())?;
        let part = |text: &Option<String>| text.clone().unwrap_or_default();
        let route = match &self.controller {
            Some(controller) if !controller.is_empty() => {
                format!("{controller}#{}", part(&self.action))
            }
            _ => part(&self.method),
        };
        let (gvl_wait_s, queue_s) = (Some(gvl_wait_s), None);
        let second = at_ns.div_euclid(1_000_000_000);
        Some((second, InsideRequest { app_s, cpu_s, gvl_wait_s, queue_s, route }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::advise::question::Source;
    use crate::terms::Cores;

    fn question() -> Question {
        Question {
            source: Source::Perfm { file: "x".into(), instances: 1 },
            workers: Some(2),
            threads: None,
            cores: Some(Cores::new(2.0).unwrap()),
            memory: None,
            slo: None,
        }
    }

    fn of(text: &str) -> Result<Seen, AdviseError> {
        asked(&question(), text)
    }

    fn asked(question: &Question, text: &str) -> Result<Seen, AdviseError> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("rows");
        fs::write(&file, text).unwrap();
        seen(question, &file, 2)
    }

    const HEAD: &str = "id,gc_ms,run_ms,idle_ms,stall_ms,io_percent,method,controller,action,\
                        puma_max_threads,created_at,updated_at\n";

    #[test]
    fn rows_of_the_table_are_requests() {
        let rows = "1,0.1,10,25.5,4.5,63.7,GET,items,show,5,2026-11-01 10:00:00.5,x\n\
                    2,0.1,30,0,0,0,GET,,,5,2026-11-01 10:00:09,x\n";
        let seen = of(&format!("{HEAD}{rows}")).unwrap();
        assert_eq!((seen.setting.to_string(), seen.length_s), ("2 x 5".into(), 10.0));
        let Sums { requests, app_s, app_cpu_s, gvl_wait_s, .. } = seen.sums;
        assert_eq!((requests, gvl_wait_s), (2, Some(0.0045)));
        assert!((app_s - 0.07).abs() < 1e-9 && (app_cpu_s - 0.04).abs() < 1e-9);
        let names: Vec<&String> = seen.times.routes().keys().collect();
        assert_eq!(names, ["GET", "items#show"]);
        let json = r#"[{"run_ms": 1, "idle_ms": 2.0, "stall_ms": 0, "controller": "a",
                        "action": "b", "puma_max_threads": 3, "created_at":
                        "2026-11-01T10:00:00.000Z"}]"#;
        assert_eq!(of(json).unwrap().setting.threads.get(), 3);
    }

    #[test]
    fn a_clusters_rows_do_not_say_how_many_threads_a_worker_has() {
        let row = |second: u32| {
            format!("1,0.1,10,25.5,4.5,63.7,GET,items,show,,2026-11-01 10:00:0{second},x\n")
        };
        let rows = format!("{HEAD}{}{}{}", row(0), row(0), row(9));
        let error = of(&rows).unwrap_err();
        assert!(error.is_usage() && error.to_string().contains("--threads"), "{error}");
        let said = Question { threads: Some(5), ..question() };
        let seen = asked(&said, &rows).unwrap();
        // Two of them were written down at once.
        assert_eq!((seen.setting.to_string(), seen.batch), ("2 x 5".into(), Some(2)));
    }

    #[test]
    fn what_is_no_table_of_requests_is_said() {
        let said = |text: &str| of(text).unwrap_err().to_string();
        assert!(said("{\"summary\": {}}").contains("perfm's analysis"));
        assert!(said("a,b\n1,2\n").contains("run_ms"), "{}", said("a,b\n1,2\n"));
        assert!(said(HEAD).contains("no row"));
        let bad = format!("{HEAD}1,0.1,ten,25.5,4.5,63.7,GET,items,show,5,2026-11-01,x\n");
        assert!(said(&bad).contains("line: 2"), "{}", said(&bad));
        let negative = format!("{HEAD}1,0.1,-5,0,0,0,GET,items,show,5,2026-11-01,x\n");
        assert!(said(&negative).contains("no row"));
    }
}
