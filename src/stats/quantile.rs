//! Quantiles of a handful of values.

/// The value that this share (0..=1) of them lies at or below, between neighbours in proportion;
/// `None` of none. Hyndman and Fan's seventh definition (1996), which R and NumPy use.
pub fn quantile(values: &[f64], share: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    let position = share.clamp(0.0, 1.0) * last as f64;
    let below = position.floor() as usize;
    let above = (below + 1).min(last);
    Some(sorted[below] + (sorted[above] - sorted[below]) * (position - below as f64))
}

/// The middle one, or halfway between the middle two; `None` of none.
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_number_lies_between_the_middle_two() {
        for (values, wanted) in [
            (vec![], None),
            (vec![3.0], Some(3.0)),
            (vec![4.0, 1.0], Some(2.5)),
            (vec![9.0, 1.0, 2.0], Some(2.0)),
        ] {
            assert_eq!(median(&values), wanted);
        }
    }

    #[test]
    fn the_outermost_quantiles_are_the_least_and_the_most_and_others_lie_in_proportion() {
        let values = [30.0, 10.0, 20.0, 50.0, 40.0];
        for (share, wanted) in [(0.0, 10.0), (0.25, 20.0), (0.9, 46.0), (1.0, 50.0), (7.0, 50.0)] {
            assert_eq!(quantile(&values, share), Some(wanted), "{share}");
        }
    }
}
