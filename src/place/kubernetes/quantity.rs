//! Amounts as Kubernetes writes them: `500m`, `2`, `1.5Gi`, `128974848`, `129e6`.
//!
//! In: a text, or cores and bytes. Out: the other. Only computes.

use serde_json::{Value, json};

/// Suffixes and what they multiply by (the API reference's "Quantity").
const SUFFIXES: [(&str, f64); 15] = [
    ("Ki", 1024.0),
    ("Mi", 1_048_576.0),
    ("Gi", 1_073_741_824.0),
    ("Ti", 1_099_511_627_776.0),
    ("Pi", 1_125_899_906_842_624.0),
    ("Ei", 1_152_921_504_606_846_976.0),
    ("n", 1e-9),
    ("u", 1e-6),
    ("m", 1e-3),
    ("k", 1e3),
    ("M", 1e6),
    ("G", 1e9),
    ("T", 1e12),
    ("P", 1e15),
    ("E", 1e18),
];

/// `None`: it is no amount, or is not above zero.
pub fn read(text: &str) -> Option<f64> {
    let suffix = SUFFIXES.iter().find(|(suffix, _)| text.ends_with(suffix));
    let (number, factor) = match suffix {
        Some((suffix, factor)) => (text.strip_suffix(suffix)?, *factor),
        None => (text, 1.0),
    };
    let amount = factor * number.parse::<f64>().ok()?;
    (amount.is_finite() && amount > 0.0).then_some(amount)
}

/// How much of this resource a container may use, by its spec or by its status; `None`: no limit.
pub fn limit(container: &Value, resource: &str) -> Option<f64> {
    read(container["resources"]["limits"][resource].as_str()?)
}

/// Cores and bytes of memory, as a container requests them and is limited to them.
pub fn size(cores: f64, memory_bytes: u64) -> Value {
    json!({ "cpu": format!("{}m", (1e3 * cores).round()), "memory": memory_bytes.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_with_every_suffix() {
        for (text, expected) in [
            ("500m", Some(0.5)),
            ("2", Some(2.0)),
            ("1.5Gi", Some(1_610_612_736.0)),
            ("128974848", Some(128_974_848.0)),
            ("129e6", Some(129e6)),
            ("129M", Some(129e6)),
            ("1E", Some(1e18)),
            ("2Ei", Some(2_305_843_009_213_693_952.0)),
            ("100n", Some(1e-7)),
            ("0", None),
            ("-1", None),
            ("", None),
            ("Gi", None),
            ("many", None),
        ] {
            let read = read(text);
            let is_close = |(a, b): (f64, f64)| (a / b - 1.0).abs() < 1e-12;
            assert!(read.zip(expected).map_or(read == expected, is_close), "{text}: {read:?}");
        }
    }
}
