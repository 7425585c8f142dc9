//! The percentile distribution that HdrHistogram's libraries print (`.hgrm`), which its plotter and
//! others read: values in milliseconds, with a microsecond's digits.
//!
//! The last row lacks its fourth column, as Java's does: that would be infinite.

use super::LoadResult;

/// Rows for each halving of the distance to 100 %, as everybody prints them.
const TICKS_PER_HALF_DISTANCE: u32 = 5;

const HEAD: &str = "       Value     Percentile TotalCount 1/(1-Percentile)\n\n";

const US_PER_MS: f64 = 1000.0;

pub fn render(result: &LoadResult<'_>) -> String {
    let histogram = result.all.latency.histogram();
    let mut text = HEAD.to_string();
    let mut count = 0;
    for step in histogram.iter_quantiles(TICKS_PER_HALF_DISTANCE) {
        count += step.count_since_last_iteration();
        let value = step.value_iterated_to() as f64 / US_PER_MS;
        let quantile = step.quantile_iterated_to();
        text += &format!("{value:12.3} {quantile:2.12} {count:10}");
        if quantile < 1.0 {
            text += &format!(" {:14.2}", 1.0 / (1.0 - quantile));
        }
        text.push('\n');
    }
    // Each power of two is divided into this many, so that three digits are told apart.
    let sub_buckets = (2 * 10u64.pow(histogram.sigfig().into())).next_power_of_two();
    let (mean, deviation) = (histogram.mean() / US_PER_MS, histogram.stdev() / US_PER_MS);
    let max = histogram.max() as f64 / US_PER_MS;
    let (total, buckets) = (histogram.len(), histogram.buckets());
    text += &format!("#[Mean    = {mean:12.3}, StdDeviation   = {deviation:12.3}]\n");
    text += &format!("#[Max     = {max:12.3}, Total count    = {total:12}]\n");
    text += &format!("#[Buckets = {buckets:12}, SubBuckets     = {sub_buckets:12}]\n");
    text += "#[Milliseconds from the moment a request was due to the last byte of its reply]\n";
    text
}

#[cfg(test)]
mod tests {
    use super::super::tests::Sample;
    use super::*;

    /// The rows as numbers.
    fn rows(text: &str) -> Vec<Vec<f64>> {
        let rows = text.lines().filter(|line| !line.starts_with('#')).skip(2);
        rows.map(|row| row.split_whitespace().map(|cell| cell.parse().unwrap()).collect()).collect()
    }

    #[test]
    fn rows_rise_to_the_largest_value_and_the_whole_count() {
        let sample = Sample::new();
        let rows = rows(&render(&sample.result()));
        assert!(rows.len() > 10, "{rows:?}");
        for pair in rows.windows(2) {
            assert!(pair[0].iter().zip(&pair[1]).all(|(one, next)| one <= next), "{pair:?}");
        }
        let last = rows.last().unwrap();
        assert_eq!((last.len(), last[1], last[2]), (3, 1.0, sample.all.latency.count() as f64));
        let max = sample.all.latency.max().unwrap().as_secs_f64() * 1e3;
        assert!((last[0] - max).abs() < 0.001, "{last:?}");
    }

    #[test]
    fn nothing_measured_is_a_table_without_rows() {
        let mut sample = Sample::new();
        sample.all = Default::default();
        let text = render(&sample.result());
        assert!(rows(&text).is_empty(), "{text}");
        assert!(text.contains("Total count    =            0]"), "{text}");
    }
}
