//! Statistics of samples, in the definitions that papers and numpy use.

/// The arithmetic mean; `None` of nothing.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The geometric mean of (value + shift), less the shift: with a shift of 0 that of positive values. A shift keeps
/// values near 0 from counting more than they matter (Achterberg 2007, appendix A.3).
pub fn geometric_mean(values: &[f64], shift: f64) -> Option<f64> {
    let logarithms: Vec<f64> = values.iter().map(|value| (value + shift).ln()).collect();
    mean(&logarithms).map(|mean| mean.exp() - shift)
}

/// The value below which this part (0 to 1) of `sorted` lies, by linear interpolation between its neighbours (type 7 of
/// Hyndman and Fan 1996, which numpy takes).
pub fn quantile(sorted: &[f64], part: f64) -> Option<f64> {
    let place = part * sorted.len().checked_sub(1)? as f64;
    let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    Some(below + (above - below) * place.fract())
}

/// A sample as Tukey draws it (1977).
#[derive(Debug, Clone, PartialEq)]
pub struct BoxPlot {
    /// The least value within 1.5 interquartile ranges of the box.
    pub low: f64,
    /// The first quartile.
    pub first: f64,
    /// The median.
    pub median: f64,
    /// The third quartile.
    pub third: f64,
    /// The greatest value within 1.5 interquartile ranges of the box.
    pub high: f64,
    /// What lies beyond, from low to high.
    pub outliers: Vec<f64>,
}

impl BoxPlot {
    /// That of `values`, in any order; `None` of nothing.
    pub fn of(values: &[f64]) -> Option<Self> {
        let sorted = sorted(values);
        let [first, median, third] = [quantile(&sorted, 0.25)?, quantile(&sorted, 0.5)?, quantile(&sorted, 0.75)?];
        let reach = 1.5 * (third - first);
        let is_near = |value: &f64| (first - reach..=third + reach).contains(value);
        let (near, outliers): (Vec<f64>, Vec<f64>) = sorted.into_iter().partition(is_near);
        // An interpolated quartile can lie beyond all that is near.
        let low = near.first().map_or(first, |&low| low.min(first));
        let high = near.last().map_or(third, |&high| high.max(third));
        Some(Self { low, first, median, third, high, outliers })
    }
}

/// The values from low to high.
pub fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    /// What Python's `statistics` says: mean, geometric mean, quartiles (inclusive), as JSON.
    fn python(values: &[f64]) -> [f64; 5] {
        const SCRIPT: &str = "import json, statistics as s, sys\n\
            x = json.load(sys.stdin)\n\
            print(json.dumps([s.fmean(x), s.geometric_mean(x)] + s.quantiles(x, n=4, method='inclusive')))";
        let mut command = std::process::Command::new("python3");
        let mut input = tempfile::tempfile().unwrap();
        serde_json::to_writer(&mut input, values).unwrap();
        std::io::Seek::rewind(&mut input).unwrap();
        let output = command.args(["-c", SCRIPT]).stdin(input).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap()
    }

    fn is_close(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        #[test]
        fn they_are_those_of_pythons_statistics(values in vec(0.01..100.0, 2..40)) {
            let box_plot = BoxPlot::of(&values).unwrap();
            let ours = [mean(&values).unwrap(), geometric_mean(&values, 0.0).unwrap()];
            let ours = ours.into_iter().chain([box_plot.first, box_plot.median, box_plot.third]);
            for (own, theirs) in ours.zip(python(&values)) {
                prop_assert!(is_close(own, theirs), "{own} {theirs}");
            }
        }
    }

    proptest! {
        #[test]
        fn a_box_plot_holds_every_value(values in vec(-10i32..10, 1..30)) {
            let values: Vec<f64> = values.into_iter().map(f64::from).collect();
            let BoxPlot { low, first, median, third, high, outliers } = BoxPlot::of(&values).unwrap();
            prop_assert!(low <= first && first <= median && median <= third && third <= high);
            for &value in &values {
                let is_far = value < first - 1.5 * (third - first) || value > third + 1.5 * (third - first);
                prop_assert_eq!(is_far, outliers.contains(&value));
                prop_assert!(is_far || (low..=high).contains(&value));
            }
        }

        #[test]
        fn a_shift_is_taken_off_again(value in 0.0..1e6f64, count in 1usize..9) {
            prop_assert!(is_close(geometric_mean(&vec![value; count], 1.0).unwrap() + 1.0, value + 1.0));
        }
    }

    #[test]
    fn nothing_has_no_statistics() {
        assert_eq!(
            (mean(&[]), geometric_mean(&[], 1.0), quantile(&[], 0.5), BoxPlot::of(&[])),
            (None, None, None, None)
        );
    }
}
