//! Figures as people read them: three significant digits, the unit beside them.
//!
//! In: numbers in base units. Out: text. Computes only.

use std::time::Duration;

use crate::terms::Bytes;

/// `412`, `41.2`, `4.12`: three significant digits, at most two decimals.
pub fn number(value: f64) -> String {
    match value.abs() {
        v if !v.is_finite() => "?".to_string(),
        v if v >= 99.95 => format!("{value:.0}"),
        v if v >= 9.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// The shortest text that a plan reads as these counts (ascending): `1..4,8`.
pub fn counts(counts: impl Iterator<Item = u16>) -> String {
    let counts: Vec<u16> = counts.collect();
    let run = |run: &[u16]| match run {
        [first, _, .., last] => format!("{first}..{last}"),
        _ => run.iter().map(u16::to_string).collect::<Vec<_>>().join(","),
    };
    counts.chunk_by(|a, b| *a + 1 == *b).map(run).collect::<Vec<_>>().join(",")
}

/// Requests a second: `412/s`.
pub fn rate(per_second: f64) -> String {
    format!("{}/s", number(per_second))
}

/// `402 to 421`.
pub fn interval(bounds: [f64; 2]) -> String {
    format!("{} to {}", number(bounds[0]), number(bounds[1]))
}

/// A ratio around one, always with two decimals: `1.53`.
pub fn ratio(value: f64) -> String {
    if value.is_finite() { format!("{value:.2}") } else { "?".to_string() }
}

/// `1.46 to 1.60`.
pub fn ratio_interval(bounds: [f64; 2]) -> String {
    format!("{} to {}", ratio(bounds[0]), ratio(bounds[1]))
}

/// The change that a ratio means: `+53 %`, `-4 %`, `0 %`.
pub fn change(value: f64) -> String {
    let percent = ((value - 1.0) * 100.0).round();
    if !percent.is_finite() {
        "?".to_string()
    } else if percent == 0.0 {
        "0 %".to_string()
    } else {
        format!("{percent:+.0} %")
    }
}

/// A share as a percentage without decimals: `97 %`, `0 %`.
pub fn whole_percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// How far a ratio is from one, either way: `22 %`.
pub fn size_of_change(value: f64) -> String {
    whole_percent((value - 1.0).abs())
}

/// Of an interval, relative, at least 1 %: `\u{b1}3 %`.
pub fn half_width(ratio: f64) -> String {
    format!("\u{b1}{}", whole_percent(ratio.max(0.01)))
}

/// A share as a percentage: `97 %`; below ten with a decimal: `0.3 %`; what is not none never reads
/// as none: `<0.01 %`.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        p if !p.is_finite() => "?".to_string(),
        0.0 => "0 %".to_string(),
        p if p >= 9.95 => format!("{p:.0} %"),
        p if p >= 0.095 => format!("{p:.1} %"),
        p if p > 0.0 && p < 0.005 => "<0.01 %".to_string(),
        p => format!("{p:.2} %"),
    }
}

/// A share that is set beside one as small as 0.1 %: `25 %`, `4.8 %`, `0.24 %`, `0.003 %`, without
/// zeros at the end; what is not none never reads as `0 %`.
pub fn fine_percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent <= 0.0 || percent >= 9.95 {
        return format!("{percent:.0} %");
    }
    let first_digit = (-percent.log10()).ceil().clamp(2.0, 9.0) as usize;
    let text = format!("{percent:.first_digit$}");
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

/// A short time such as a latency: `0.52 ms`, `3.8 ms`, `38 ms`, `1.24 s`.
pub fn latency(seconds: f64) -> String {
    match seconds {
        s if !s.is_finite() => "?".to_string(),
        s if s >= 0.9995 => format!("{s:.2} s"),
        s if s >= 0.00995 => format!("{:.0} ms", s * 1e3),
        s if s >= 0.000_995 => format!("{:.1} ms", s * 1e3),
        s => format!("{:.2} ms", s * 1e3),
    }
}

/// A long time in words: `48 s`, `6 min 12 s`, `2 h 5 min`.
pub fn span(seconds: f64) -> String {
    let total = if seconds.is_finite() { seconds.max(0.0).round() as u64 } else { 0 };
    match (total / 3600, total / 60 % 60, total % 60) {
        (0, 0, s) => format!("{s} s"),
        (0, m, 0) => format!("{m} min"),
        (0, m, s) => format!("{m} min {s} s"),
        (h, 0, _) => format!("{h} h"),
        (h, m, _) => format!("{h} h {m} min"),
    }
}

/// A clock's face, for columns: `0:48`, `6:12`, `1:02:05`.
pub fn clock(time: Duration) -> String {
    let total = time.as_secs();
    match (total / 3600, total / 60 % 60, total % 60) {
        (0, m, s) => format!("{m}:{s:02}"),
        (h, m, s) => format!("{h}:{m:02}:{s:02}"),
    }
}

/// Memory: `412 MiB`.
pub fn bytes(value: u64) -> String {
    Bytes(value).to_string()
}

/// `1 worker`, `3 workers`.
pub fn count(value: u64, one: &str, many: &str) -> String {
    if value == 1 { format!("1 {one}") } else { format!("{value} {many}") }
}

/// Of a machine or a limit: `1 core`, `2 cores`, `1.5 cores`.
pub fn cores(cores: f64) -> String {
    let many = if cores == 1.0 { "core" } else { "cores" };
    if cores.fract() == 0.0 {
        return format!("{cores:.0} {many}");
    }
    let text = number(cores);
    // A hundred and more have no decimals, and their zeros are not to go.
    let zeros: &[char] = if text.contains('.') { &['0'] } else { &[] };
    format!("{} {many}", text.trim_end_matches(zeros).trim_end_matches('.'))
}

/// A quantile as it is named, in percent: 99.9 of 0.999, without the dust of binary fractions.
pub fn percentile(quantile_ratio: f64) -> f64 {
    (quantile_ratio * 1e8).round() / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_keep_three_digits_and_their_unit() {
        for (value, text) in
            [(412.4, "412/s"), (41.23, "41.2/s"), (4.127, "4.13/s"), (0.0, "0.00/s")]
        {
            assert_eq!(rate(value), text);
        }
        assert_eq!(number(99.96), "100", "rounding must not add a digit");
        for (value, text) in
            [(0.000_52, "0.52 ms"), (0.0038, "3.8 ms"), (0.0382, "38 ms"), (1.239, "1.24 s")]
        {
            assert_eq!(latency(value), text);
        }
        for (value, text) in [(0.97, "97 %"), (0.003, "0.3 %"), (0.0, "0 %"), (0.0002, "0.02 %")] {
            assert_eq!(percent(value), text);
        }
        for (value, text) in [(0.000_051, "0.01 %"), (0.000_049, "<0.01 %"), (1e-9, "<0.01 %")] {
            assert_eq!(percent(value), text);
        }
        let all = [(0.25, "25 %"), (0.048, "4.8 %"), (0.0024, "0.24 %"), (0.0, "0 %")];
        for (value, text) in all.into_iter().chain([(0.000_029, "0.003 %"), (0.000_1, "0.01 %")]) {
            assert_eq!(fine_percent(value), text);
        }
        for (value, text) in [(1.53, "+53 %"), (0.96, "-4 %"), (1.001, "0 %"), (0.999, "0 %")] {
            assert_eq!(change(value), text);
        }
    }

    #[test]
    fn times_are_read_at_a_glance() {
        for (seconds, text) in [
            (48.2, "48 s"),
            (372.0, "6 min 12 s"),
            (600.0, "10 min"),
            (7500.0, "2 h 5 min"),
            (f64::NAN, "0 s"),
        ] {
            assert_eq!(span(seconds), text);
        }
        assert_eq!(clock(Duration::from_secs(3725)), "1:02:05");
        assert_eq!(clock(Duration::from_secs(8)), "0:08");
    }

    #[test]
    fn cores_are_counted_in_words_that_fit() {
        for (many, text) in [
            (1.0, "1 core"),
            (2.0, "2 cores"),
            (0.5, "0.5 cores"),
            (1.5, "1.5 cores"),
            (4.0 / 3.0, "1.33 cores"),
            (128.0, "128 cores"),
            (120.25, "120 cores"),
        ] {
            assert_eq!(cores(many), text);
        }
    }

    #[test]
    fn a_quantile_keeps_its_digits_and_gets_none_by_chance() {
        for (ratio, text) in [(0.95, "95"), (0.999, "99.9"), (0.995, "99.5"), (0.99999, "99.999")] {
            assert_eq!(format!("{}", percentile(ratio)), text);
        }
    }
}
