//! How large cells are in which loads and memory are counted.
//!
//! Costs are rounded down to whole cells, so that no set that fits is lost; what is rounded off is lost to the bound. Times that
//! are measured to a few decimals lie on the lattice of those decimals. In larger cells tensors come first, as a device pays for
//! few of them, each as much as for many units: they are often multiples of one another, and cells that divide most of them lose
//! next to nothing.

/// The largest power of ten that divides all times, up to rounding.
pub fn decimal_cell(times: &[f64]) -> Option<f64> {
    let divides = |cell: f64| times.iter().all(|time| ((time / cell).round() * cell - time).abs() <= 1e-11 * time);
    (-6..6).rev().map(|exponent| 10.0f64.powi(exponent)).find(|&cell| divides(cell))
}

/// The size of a cell along a line: what divides all times, and else a small part of them all, which rough cells consist of.
pub fn cell_of(times: &[f64]) -> Option<f64> {
    decimal_cell(times).or_else(|| Some(times.iter().sum::<f64>() * SMALL_PART).filter(|cell| cell.is_normal()))
}

/// Costs that cells may divide: the most frequent ones, each with how often it occurs.
#[derive(Debug, Clone)]
pub struct Costs(Vec<(f64, f64)>);

impl Costs {
    /// The most frequent ones of these, but for those that are zero.
    pub fn of(values: impl Iterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.filter(|&value| value > 0.0).collect();
        values.sort_by(f64::total_cmp);
        let mut counted: Vec<(f64, f64)> =
            values.chunk_by(|a, b| a == b).map(|alike| (alike[0], alike.len() as f64)).collect();
        counted.sort_by(|a, b| b.1.total_cmp(&a.1).then(b.0.total_cmp(&a.0)));
        counted.truncate(MOST_COSTS);
        Self(counted)
    }

    /// The cell in which least of them is lost, of those that divide one of them: not much smaller than `most`, which it is where
    /// there is none.
    pub fn cell(&self, most: f64) -> f64 {
        let parts = move |&(cost, _): &(f64, f64)| {
            let first = (cost / most).ceil().max(1.0);
            let divided = move |more: usize| cost / (first + more as f64);
            (0..MOST_DIVISORS).map(divided).take_while(move |cell| *cell >= LEAST_PART * most)
        };
        let cells = self.0.iter().flat_map(parts).map(|cell| (self.lost(cell), cell));
        cells.min_by(|a, b| a.0.total_cmp(&b.0).then(b.1.total_cmp(&a.1))).map_or(most, |(_, cell)| cell)
    }

    /// What is rounded off of all of them in such cells.
    fn lost(&self, cell: f64) -> f64 {
        let lost = |cost: f64| cost / cell - (cost / cell * HALF_ROOM).floor();
        let part = |cost: f64| Some(lost(cost)).filter(|&lost| lost > NEARLY_WHOLE).unwrap_or_default();
        self.0.iter().map(|&(cost, count)| count * part(cost)).sum::<f64>() * cell
    }
}

/// Times that lie on the lattice are not rounded below it: half of the room that capacities have.
pub(super) const HALF_ROOM: f64 = 1.0 + 5e-11;

/// What is consumed beyond whole cells by less than this part of one is taken for rounding.
pub(super) const NEARLY_WHOLE: f64 = 1e-9;

/// Cells of times that are no decimals, as a part of all.
const SMALL_PART: f64 = 1e-6;

/// How many different costs are looked at, and how many cells that divide each.
const MOST_COSTS: usize = 64;
const MOST_DIVISORS: usize = 64;

/// The least cell, as a part of the most.
const LEAST_PART: f64 = 0.75;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_lie_on_a_lattice() {
        assert_eq!(decimal_cell(&[3.0, 18.0, 0.0]), Some(1.0));
        assert_eq!(decimal_cell(&[0.358, 18.962, 9.7]), Some(0.001));
        assert_eq!(decimal_cell(&[200.0, 1500.0]), Some(100.0));
        assert_eq!(decimal_cell(&[1.0, 1.0 / 3.0]), None);
    }

    #[test]
    fn cells_divide_most_costs() {
        // Feature maps of a convolutional network, and one that is none.
        let costs = [4.01408, 0.6422528, 0.6422528, 0.1605632, 3.8535168, 1.01];
        let cell = Costs::of(costs.into_iter()).cell(0.0405);
        assert!((cell - 0.0401408).abs() < 1e-12, "{cell}");
        for cost in &costs[..5] {
            assert_eq!((cost / cell * HALF_ROOM).floor(), (cost / cell).round());
        }
        // Nothing to divide, or nothing that such cells divide.
        assert_eq!(Costs::of([].into_iter()).cell(0.3), 0.3);
        assert_eq!(Costs::of([0.1, 0.0].into_iter()).cell(0.3), 0.3);
        assert_eq!(Costs::of([0.25].into_iter()).cell(0.3), 0.25);
    }
}
