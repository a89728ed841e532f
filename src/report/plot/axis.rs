//! Axes: where a value lies, and what is written along them.

use std::iter::successors;

/// About how many ticks a linear axis has.
const TICKS: f64 = 5.0;

/// The least factor between the ends of a logarithmic axis, and how much of the axis is left beyond its values.
const SHORTEST: f64 = 1.01;
const MARGIN: f64 = 0.04;

/// An axis from its beginning (0) to its end (1).
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// What it measures.
    pub label: String,
    /// Values with what is written there.
    pub ticks: Vec<(f64, String)>,
    low: f64,
    high: f64,
    is_logarithmic: bool,
}

impl Axis {
    /// A linear axis with ticks at multiples of 1, 2 or 5 times a power of ten.
    pub fn linear(label: &str, low: f64, high: f64) -> Self {
        let ticks = linear_ticks(low, high).into_iter().map(|value| (value, tick(value))).collect();
        Self { label: label.into(), ticks, low, high, is_logarithmic: false }
    }

    /// A logarithmic axis that holds all `values`, which are positive. Its ticks are powers of ten, with 2 and 5
    /// times them where it is short, and multiples as on a linear one where it is shorter than that.
    pub fn logarithmic(label: &str, values: impl Iterator<Item = f64>) -> Self {
        let (low, high) = values.fold((f64::MAX, 0.0f64), |(low, high), value| (low.min(value), high.max(value)));
        let (low, high) = if low <= high { (low, high.max(SHORTEST * low)) } else { (1.0, 10.0) };
        let margin = (high / low).powf(MARGIN);
        let (low, high) = (low / margin, high * margin);
        let ticks = logarithmic_ticks(low, high).into_iter().map(|value| (value, tick(value))).collect();
        Self { label: label.into(), ticks, low, high, is_logarithmic: true }
    }

    /// Rows from top to bottom, the first one from 0 to 1, with what is written beside them.
    pub fn rows(count: f64, ticks: Vec<(f64, String)>) -> Self {
        Self { label: String::new(), ticks, low: count, high: 0.0, is_logarithmic: false }
    }

    /// Where a value lies, from 0 to 1 within the axis.
    pub fn place(&self, value: f64) -> f64 {
        let of = |value: f64| if self.is_logarithmic { value.ln() } else { value };
        (of(value) - of(self.low)) / (of(self.high) - of(self.low))
    }

    /// Whether lines are drawn at its ticks.
    pub fn has_grid(&self) -> bool {
        self.low < self.high
    }

    /// Its lower end.
    pub fn low(&self) -> f64 {
        self.low
    }

    /// Its upper end.
    pub fn high(&self) -> f64 {
        self.high
    }
}

/// Multiples of 1, 2 or 5 times a power of ten.
fn linear_ticks(low: f64, high: f64) -> Vec<f64> {
    let rough = (high - low) / TICKS;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0].map(|factor| factor * power).into_iter().find(|step| *step >= rough);
    let step = step.unwrap_or(10.0 * power);
    let multiples = (low / step).ceil() as i64..=(high / step).floor() as i64;
    multiples.map(|multiple| multiple as f64 * step).collect()
}

fn logarithmic_ticks(low: f64, high: f64) -> Vec<f64> {
    const DECADES: f64 = 1e3;
    let steps: &[f64] = if high / low < DECADES { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let first = 10f64.powf(low.log10().floor());
    let decades = successors(Some(first), |decade| Some(decade * 10.0)).take_while(|decade| *decade <= high);
    let ticks = decades.flat_map(|decade| steps.iter().map(move |step| step * decade));
    let ticks: Vec<f64> = ticks.filter(|tick| (low..=high).contains(tick)).collect();
    if ticks.len() < 3 { linear_ticks(low, high) } else { ticks }
}

/// A tick's label, such as 0.001 or 10,000.
fn tick(value: f64) -> String {
    if value >= 1000.0 {
        format!("{},{:03.0}", tick((value / 1000.0).floor()), value % 1000.0)
    } else {
        let text = format!("{value:.6}");
        text.trim_end_matches('0').trim_end_matches('.').into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn decades_lie_one_distance_apart(low in -3.0..5.0f64, decades in 3.0..6.0f64) {
            let ends = [10f64.powf(low), 10f64.powf(low + decades)];
            let axis = Axis::logarithmic("seconds", ends.into_iter());
            let places: Vec<f64> = axis.ticks.iter().map(|(value, _)| axis.place(*value)).collect();
            prop_assert!(places.len() >= 3 && places.iter().all(|place| (0.0..=1.0).contains(place)), "{:?}", axis);
            for ((value, label), pair) in axis.ticks.iter().zip(places.windows(2)) {
                let exponent = value.log10();
                prop_assert!((exponent - exponent.round()).abs() < 1e-9, "{}", value);
                let shown: f64 = label.replace(',', "").parse().unwrap();
                prop_assert!((shown / value - 1.0).abs() < 1e-9, "{} {}", label, value);
                // A decade is a part of the axis as long as one of all the decades that it spans.
                let decade = 1.0 / (axis.high / axis.low).log10();
                prop_assert!((pair[1] - pair[0] - decade).abs() < 1e-9);
            }
        }

        #[test]
        fn short_axes_have_ticks_within_them(low in 0.01..10.0f64, factor in 1.0..20.0f64) {
            let high = low * factor;
            for axis in [Axis::logarithmic("", [low, high].into_iter()), Axis::linear("", low, high + 0.1)] {
                prop_assert!((2..20).contains(&axis.ticks.len()), "{:?}", axis);
                let is_inside = |value: &f64| (axis.low..=axis.high).contains(value);
                prop_assert!(axis.ticks.iter().all(|(value, _)| is_inside(value)), "{:?}", axis);
            }
        }
    }
}
