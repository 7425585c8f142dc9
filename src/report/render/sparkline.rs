//! Values in a row as small columns: `▁▂▃▅▇`.
//!
//! In: values, oldest first. Out: text. Computes only.

/// Columns of one, at most.
pub const COLUMNS: usize = 8;

const LEVELS: [char; 5] = ['▁', '▂', '▃', '▅', '▇'];

/// One column for each value; neighbours share one, by their highest, where there are more than
/// [`COLUMNS`]. The lowest column stands for 0 and little more, the highest for the largest value;
/// empty without values.
pub fn draw(values: &[f64]) -> String {
    let columns = values.len().min(COLUMNS);
    let of_column = |at: usize| {
        let (from, to) = (at * values.len() / columns, (at + 1) * values.len() / columns);
        values[from..to].iter().copied().filter(|value| value.is_finite()).fold(0.0, f64::max)
    };
    let shown: Vec<f64> = (0..columns).map(of_column).collect();
    let most = shown.iter().copied().fold(0.0, f64::max);
    let level = |value: f64| match most > 0.0 {
        true => LEVELS[((value / most * LEVELS.len() as f64) as usize).min(LEVELS.len() - 1)],
        false => LEVELS[0],
    };
    shown.into_iter().map(level).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_value_is_the_highest_column() {
        for (values, expected) in [
            (&[][..], ""),
            (&[0.0, 0.0], "▁▁"),
            (&[1.0, 2.0, 3.0, 4.0, 5.0], "▂▃▅▇▇"),
            (&[0.1, 10.0, f64::NAN], "▁▇▁"),
        ] {
            assert_eq!(draw(values), expected);
        }
        let many: Vec<f64> = (0..120).map(f64::from).collect();
        assert_eq!(draw(&many).chars().count(), COLUMNS);
        assert!(draw(&many).ends_with('▇'));
    }
}
