//! What each tool prints about its own run, read.
//!
//! In: a tool's output. Out: a [`Reading`], or a sentence that says what was not found there:
//! nothing is guessed. Computes only; tests/it/bench_load.rs holds it against recorded outputs.

use std::str::FromStr;

use serde_json::Value;

/// What a tool says of its own run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reading {
    /// Answered, with any status.
    pub requests: u64,
    pub seconds: f64,
    /// Answered badly, not answered, or never sent.
    pub errors: u64,
    pub latency_s: Quantiles,
    /// From due to sent; ours alone says it.
    pub send_lag_s: Quantiles,
    /// Sent of the requests due in each whole second; ours alone says it.
    pub sent_by_second: Vec<u64>,
    /// What the tool itself says against its figures.
    pub remark: String,
    /// Whether it says that its figures are the server's; ours alone says it.
    pub is_valid: Option<bool>,
}

/// What is known of a distribution, in seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Quantiles {
    pub p50: Option<f64>,
    pub p99: Option<f64>,
    pub max: Option<f64>,
}

impl Quantiles {
    fn set(&mut self, percent: f64, seconds: f64) {
        match percent {
            50.0 => self.p50 = Some(seconds),
            99.0 => self.p99 = Some(seconds),
            100.0 => self.max = Some(seconds),
            _ => {}
        }
    }
}

type Read = Result<Reading, String>;

/// `sweetspot load --json`.
pub fn sweetspot(text: &str) -> Read {
    let json = json(text)?;
    let requests = figure(&json, "/completed")? as u64;
    let failed: u64 = counts(&json, "/errors")?.iter().map(|(_, count)| count).sum();
    let errors = failed + bad(&counts(&json, "/status")?);
    let duration_s = figure(&json, "/duration_s")?;
    let throughput_rps = figure(&json, "/throughput_rps")?;
    // It counts good replies only, from the first due time to the last reply.
    let is_clean = errors == 0 && throughput_rps > 0.0;
    let times = |path: &str| {
        let names = ["p50", "p99", "max"].map(|name| format!("{path}/{name}"));
        quantiles(&json, names.each_ref().map(String::as_str), 1.0)
    };
    let windows = json["windows"].as_array().ok_or("'windows' is not in the output")?;
    let is_whole = |window: &&Value| {
        window["start_s"].as_f64().is_some_and(|start| start + 1.0 <= duration_s + 1e-6)
    };
    let sent = windows.iter().filter(is_whole).filter_map(|window| window["sent"].as_u64());
    let codes = json["warnings"].as_array().into_iter().flatten();
    let codes: Vec<&str> = codes.filter_map(|warning| warning["code"].as_str()).collect();
    Ok(Reading {
        requests,
        seconds: if is_clean { requests as f64 / throughput_rps } else { duration_s },
        errors,
        latency_s: times("/latency_s"),
        send_lag_s: times("/send_lag_s"),
        sent_by_second: sent.collect(),
        remark: codes.join(" "),
        is_valid: json["valid"].as_bool(),
    })
}

/// wrk and wrk2, with `--latency`.
pub fn wrk(text: &str) -> Read {
    let summary = text.lines().find(|line| line.contains(" requests in "));
    let summary = summary.ok_or_else(|| absent("requests in"))?;
    let requests: u64 = number(summary)?;
    // Their time has two decimals; the rate is the count divided by the exact time.
    let rate: f64 = number(after(text, "Requests/sec:")?)?;
    let seconds = match rate {
        rate if rate > 0.0 => requests as f64 / rate,
        _ => time_s(after(summary, " requests in ")?)?,
    };
    let mut latency_s = Quantiles::default();
    for line in text.lines() {
        match line.split_whitespace().collect::<Vec<_>>()[..] {
            ["Latency", _, _, max, _] => latency_s.max = Some(time_s(max)?),
            [percent, value] if percent.ends_with('%') => {
                latency_s.set(number(percent.trim_end_matches('%'))?, time_s(value)?);
            }
            _ => {}
        }
    }
    let failed = after(text, "Socket errors:").unwrap_or_default();
    let failed = failed.split([' ', ',']).filter_map(|word| word.parse::<u64>().ok()).sum::<u64>();
    let refused: u64 = after(text, "Non-2xx or 3xx responses:").map_or(Ok(0), number)?;
    Ok(Reading { requests, seconds, errors: failed + refused, latency_s, ..Reading::default() })
}

/// ab; its quantiles are whole milliseconds.
pub fn ab(text: &str) -> Read {
    let requests = number(after(text, "Complete requests:")?)?;
    let seconds = number(after(text, "Time taken for tests:")?)?;
    let failed: u64 = number(after(text, "Failed requests:")?)?;
    let refused: u64 = after(text, "Non-2xx responses:").map_or(Ok(0), number)?;
    let mut latency_s = Quantiles::default();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let percent = words.next().and_then(|word| word.strip_suffix('%'));
        if let (Some(percent), Some(value)) = (percent, words.next()) {
            latency_s.set(number(percent)?, number::<f64>(value)? / 1e3);
        }
    }
    Ok(Reading { requests, seconds, errors: failed + refused, latency_s, ..Reading::default() })
}

/// h2load, which tells no quantiles.
pub fn h2load(text: &str) -> Read {
    let seconds = time_s(after(text, "finished in ")?)?;
    let counts = after(text, "requests: ")?;
    let named = |name: &str| -> Result<u64, String> {
        let one = counts.split(',').find(|one| one.trim().ends_with(name));
        number(one.ok_or_else(|| absent(name))?)
    };
    let mut latency_s = Quantiles::default();
    if let Ok(times) = after(text, "time for request:") {
        latency_s.max = Some(time_s(times.split_whitespace().nth(1).unwrap_or_default())?);
    }
    Ok(Reading {
        requests: named("done")?,
        seconds,
        errors: named("failed")? + named("errored")?,
        latency_s,
        ..Reading::default()
    })
}

/// How many replies hey looks at; those after them are in its rate only.
const HEY_KEEPS: u64 = 1_000_000;

/// hey.
pub fn hey(text: &str) -> Read {
    let seconds: f64 = number(after(text, "Total:")?)?;
    let rate: f64 = number(after(text, "Requests/sec:")?)?;
    let (replies, failures) = text.split_once("Error distribution:").unwrap_or((text, ""));
    let statuses: Vec<(String, u64)> = replies.lines().filter_map(hey_status).collect();
    let failures = failures.lines().filter_map(|line| bracketed(line)?.parse::<u64>().ok());
    let mut errors: u64 = failures.sum();
    if statuses.is_empty() && errors == 0 {
        return Err(absent("Status code distribution:"));
    }
    let mut requests: u64 = statuses.iter().map(|(_, count)| count).sum();
    if requests >= HEY_KEEPS {
        requests = ((rate * seconds).round() as u64).saturating_sub(errors);
    }
    let mut latency_s = Quantiles::default();
    for line in text.lines() {
        if let [percent, "in", value, "secs"] = line.split_whitespace().collect::<Vec<_>>()[..] {
            // One percent sign or two, by version.
            latency_s.set(number(percent.trim_end_matches('%'))?, number(value)?);
        }
    }
    latency_s.max = after(text, "Slowest:").and_then(number).ok();
    errors += bad(&statuses);
    Ok(Reading { requests, seconds, errors, latency_s, ..Reading::default() })
}

fn hey_status(line: &str) -> Option<(String, u64)> {
    let count = line.trim().strip_suffix("responses")?.split(']').nth(1)?;
    Some((bracketed(line)?.to_string(), count.trim().parse().ok()?))
}

/// `x` of a line that begins with `[x]`.
fn bracketed(line: &str) -> Option<&str> {
    line.trim().strip_prefix('[')?.split(']').next()
}

/// oha, with `--output-format json`. What it aborts at the end of its time is no error.
pub fn oha(text: &str) -> Read {
    let json = json(text)?;
    let statuses = counts(&json, "/statusCodeDistribution")?;
    let failures = counts(&json, "/errorDistribution")?;
    let failures = failures.iter().filter(|(what, _)| what != "aborted due to deadline");
    Ok(Reading {
        requests: statuses.iter().map(|(_, count)| count).sum(),
        seconds: figure(&json, "/summary/total")?,
        errors: failures.map(|(_, count)| count).sum::<u64>() + bad(&statuses),
        latency_s: quantiles(
            &json,
            ["/latencyPercentiles/p50", "/latencyPercentiles/p99", "/summary/slowest"],
            1.0,
        ),
        ..Reading::default()
    })
}

/// `vegeta report -type=json`. Code 0 is a request without a reply.
pub fn vegeta(text: &str) -> Read {
    let json = json(text)?;
    let statuses = counts(&json, "/status_codes")?;
    let answered = statuses.iter().filter(|(code, _)| code != "0");
    Ok(Reading {
        requests: answered.map(|(_, count)| count).sum(),
        seconds: figure(&json, "/duration")? / 1e9,
        errors: bad(&statuses),
        latency_s: quantiles(&json, ["/latencies/50th", "/latencies/99th", "/latencies/max"], 1e9),
        ..Reading::default()
    })
}

/// `k6 run --summary-export`. Iterations that it dropped are requests never sent.
pub fn k6(text: &str) -> Read {
    let json = json(text)?;
    let requests = figure(&json, "/metrics/http_reqs/count")?;
    let rate = figure(&json, "/metrics/http_reqs/rate")?;
    // `passes` counts the requests for which "failed" was true.
    let failed = figure(&json, "/metrics/http_req_failed/passes")?;
    let dropped = figure(&json, "/metrics/dropped_iterations/count").unwrap_or(0.0);
    if rate <= 0.0 {
        return Err("k6 sent nothing".to_string());
    }
    Ok(Reading {
        requests: requests as u64,
        seconds: requests / rate,
        errors: (failed + dropped) as u64,
        latency_s: quantiles(
            &json["metrics"]["http_req_duration"],
            ["/med", "/p(99)", "/max"],
            1e3,
        ),
        ..Reading::default()
    })
}

/// How many of these are neither 2xx nor 3xx.
fn bad(statuses: &[(String, u64)]) -> u64 {
    let bad = statuses.iter().filter(|(code, _)| !code.starts_with(['2', '3']));
    bad.map(|(_, count)| count).sum()
}

fn json(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("the output is not JSON: {error}"))
}

fn figure(json: &Value, path: &str) -> Result<f64, String> {
    json.pointer(path).and_then(Value::as_f64).ok_or_else(|| absent(path))
}

/// p50, p99 and the maximum there, in units of which a second has this many.
fn quantiles(json: &Value, paths: [&str; 3], units_a_second: f64) -> Quantiles {
    let [p50, p99, max] = paths.map(|path| Some(figure(json, path).ok()? / units_a_second));
    Quantiles { p50, p99, max }
}

/// The object of counts there, such as `{"200": 5, "503": 1}`; null is an empty one.
fn counts(json: &Value, path: &str) -> Result<Vec<(String, u64)>, String> {
    match json.pointer(path) {
        Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Object(counts)) => counts
            .iter()
            .map(|(name, count)| match count.as_u64() {
                Some(count) => Ok((name.clone(), count)),
                None => Err(format!("'{path}' holds '{count}', which is no count")),
            })
            .collect(),
        _ => Err(absent(path)),
    }
}

fn absent(what: &str) -> String {
    format!("'{}' is not in the output", what.trim())
}

/// The rest of the first line that has this label.
fn after<'a>(text: &'a str, label: &str) -> Result<&'a str, String> {
    let found = text.lines().find_map(|line| line.split_once(label));
    found.map(|(_, rest)| rest.trim()).ok_or_else(|| absent(label))
}

/// The first word as a number.
fn number<T: FromStr>(text: &str) -> Result<T, String> {
    let word = text.split_whitespace().next().unwrap_or_default().trim_end_matches(',');
    word.parse().map_err(|_| format!("'{word}' is no number"))
}

/// The first word as a time: `635.91us`, `1.20ms`, `5.00s`, `1.50m`, `1.00h`.
fn time_s(text: &str) -> Result<f64, String> {
    let word = text.split_whitespace().next().unwrap_or_default().trim_end_matches(',');
    let digits = word.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(word.len());
    let scale = match &word[digits..] {
        "us" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return Err(format!("'{word}' is no time")),
    };
    Ok(number::<f64>(&word[..digits])? * scale)
}
