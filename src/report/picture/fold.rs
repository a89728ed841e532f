//! Layouts folded to a page: bands of layers beside each other, every second one turned by half, so that data goes on where
//! it left the band before.

/// Space between bands.
const BAND_GAP: f64 = 30.0;
/// Room for arrows that turn into the next band, and the least of it that they take.
const TURN: f64 = 30.0;
const LEAST_TURN: f64 = 8.0;

/// A point of a picture; y points down.
pub type Point = (f64, f64);

/// Where a layout is cut in which data flows down, and where its bands go: from left to right.
pub struct Fold {
    bands: Vec<Band>,
    /// The extent of them all along the flow, once folded.
    extent: (f64, f64),
}

/// What lies between two cuts.
struct Band {
    /// Its extent along the flow, and across it.
    along: (f64, f64),
    across: (f64, f64),
    /// Its left side, and where its flow begins, once folded: where that of the band before ends.
    left: f64,
    begin: f64,
}

/// A smooth line: cubic curves by their points, a curve's last point being the first one of the next. The same points
/// backwards are the same line.
pub struct Route(pub Vec<Point>);

impl Fold {
    /// Cuts a layout of things, each a centre and a size, into so many bands of about the same length, or fewer: no thing is
    /// cut through. O(n log n).
    pub fn new(things: impl Iterator<Item = (Point, Point)>, bands: usize) -> Self {
        let span = |at: f64, size: f64| (at - size / 2.0, at + size / 2.0);
        let mut spans: Vec<_> = things.map(|((x, y), (width, height))| (span(y, height), span(x, width))).collect();
        spans.sort_by(|(a, _), (b, _)| a.0.total_cmp(&b.0));
        let whole = spans.iter().map(|(along, _)| along.1).fold(0.0, f64::max);
        let mut folded: Vec<Band> = Vec::new();
        for (along, across) in spans {
            let share = whole * folded.len() as f64 / bands as f64;
            match folded.last_mut() {
                Some(band) if along.0 <= band.along.1 || along.0 < share => {
                    band.along.1 = band.along.1.max(along.1);
                    band.across = (band.across.0.min(across.0), band.across.1.max(across.1));
                }
                _ => folded.push(Band { along, across, left: 0.0, begin: 0.0 }),
            }
        }
        Self::of(folded)
    }

    /// These bands beside each other.
    fn of(mut bands: Vec<Band>) -> Self {
        let (mut left, mut begin, mut extent) = (0.0, 0.0_f64, (0.0_f64, 0.0_f64));
        for (number, band) in bands.iter_mut().enumerate() {
            (band.left, band.begin) = (left, begin);
            left += band.across.1 - band.across.0 + BAND_GAP;
            let length = band.along.1 - band.along.0;
            begin += if number.is_multiple_of(2) { length } else { -length };
            extent = (extent.0.min(begin), extent.1.max(begin));
        }
        Self { bands, extent }
    }

    /// How many bands there are.
    pub fn bands(&self) -> usize {
        self.bands.len()
    }

    /// Extent across the flow, and along it.
    pub fn size(&self) -> Point {
        let across = self.bands.last().map_or(0.0, |last| last.left + last.across.1 - last.across.0);
        (across, self.extent.1 - self.extent.0 + 2.0 * self.room())
    }

    fn room(&self) -> f64 {
        if self.bands.len() > 1 { TURN } else { 0.0 }
    }

    fn band(&self, (_, y): Point) -> usize {
        self.bands.partition_point(|band| band.along.0 <= y).saturating_sub(1)
    }

    /// Where a point of the layout goes.
    pub fn place(&self, point: Point) -> Point {
        let number = self.band(point);
        let Band { along, across, left, begin } = self.bands[number];
        let (x, y) = (point.0 - across.0, point.1 - along.0);
        let begin = self.room() + begin - self.extent.0;
        if number.is_multiple_of(2) { (left + x, begin + y) } else { (left + across.1 - across.0 - x, begin - y) }
    }

    /// A line through points of the layout that leaves and enters each of them along the flow. It turns into the next band
    /// behind all that is in its own.
    pub fn route(&self, points: &[Point]) -> Route {
        let mut stops = vec![points[0]];
        for pair in points.windows(2) {
            let [last, next] = [pair[0], pair[1]].map(|point| self.band(point));
            if next == last + 1 {
                stops.extend([(pair[0].0, self.bands[last].along.1), (pair[1].0, self.bands[next].along.0)]);
            }
            stops.push(pair[1]);
        }
        // An arrow's head needs a direction.
        stops.dedup();
        let curve = |pair: &[Point]| -> [Point; 3] {
            let (from, to) = (self.place(pair[0]), self.place(pair[1]));
            let (last, next) = (self.band(pair[0]), self.band(pair[1]));
            let y = if next == last + 1 { self.turning(last, from, to) } else { f64::midpoint(from.1, to.1) };
            [(from.0, y), (to.0, y), to]
        };
        Route(std::iter::once(self.place(stops[0])).chain(stops.windows(2).flat_map(curve)).collect())
    }

    /// How far down, or up, an arrow between two bands is drawn: the farther its ends are apart the more, so that arrows do
    /// not cross.
    fn turning(&self, band: usize, from: Point, to: Point) -> f64 {
        let beyond = LEAST_TURN + (TURN - LEAST_TURN) * (to.0 - from.0).abs() / self.size().0;
        if band.is_multiple_of(2) { from.1 + beyond } else { from.1 - beyond }
    }
}

impl Route {
    /// The middle of its middle curve.
    pub fn middle(&self) -> Point {
        let curves = (self.0.len() - 1) / 3;
        let mut middle = (0.0, 0.0);
        for (&(x, y), weight) in self.0[(curves - 1) / 2 * 3..].iter().zip([1.0, 3.0, 3.0, 1.0]) {
            middle = (middle.0 + weight * x / 8.0, middle.1 + weight * y / 8.0);
        }
        middle
    }
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// Layers of things, one below the other, each a centre and a size.
    fn layout(layers: &[Vec<Point>]) -> Vec<Vec<(Point, Point)>> {
        let mut top = 0.0;
        let mut placed = Vec::new();
        for sizes in layers {
            let (mut left, height) = (0.0, sizes.iter().map(|size| size.1).fold(0.0, f64::max));
            placed.push(Vec::new());
            for &(width, own) in sizes {
                placed.last_mut().unwrap().push(((left + width / 2.0, top + height / 2.0), (width, own)));
                left += width + 10.0;
            }
            top += height + 20.0;
        }
        placed
    }

    /// Points of a cubic curve.
    pub fn along(curve: &[Point]) -> Vec<Point> {
        let weighted = |t: f64, side: fn(&Point) -> f64| {
            let weights = [(1.0 - t).powi(3), 3.0 * t * (1.0 - t).powi(2), 3.0 * t * t * (1.0 - t), t.powi(3)];
            curve.iter().map(side).zip(weights).map(|(value, weight)| value * weight).sum()
        };
        (0..=32).map(|step| f64::from(step) / 32.0).map(|t| (weighted(t, |p| p.0), weighted(t, |p| p.1))).collect()
    }

    proptest! {
        /// Things stay apart and within the size that is told, and arrows begin and end at their sides; into the next band
        /// they go round all things.
        #[test]
        fn folding_keeps_things_apart(layers in vec(vec((1.0..90.0, 1.0..40.0), 1..4), 1..30), bands in 1_usize..12) {
            let layers = layout(&layers);
            let things: Vec<(Point, Point)> = layers.iter().flatten().copied().collect();
            let fold = Fold::new(things.iter().copied(), bands);
            prop_assert!((1..=bands).contains(&fold.bands()));
            let (width, height) = fold.size();
            let is_within = |(x, y): Point| (-1e-9..=width + 1e-9).contains(&x) && (-1e-9..=height + 1e-9).contains(&y);
            let placed: Vec<(Point, Point)> = things.iter().map(|&(centre, size)| (fold.place(centre), size)).collect();
            for (i, &((x, y), (w, h))) in placed.iter().enumerate() {
                prop_assert!(is_within((x - w / 2.0, y - h / 2.0)) && is_within((x + w / 2.0, y + h / 2.0)));
                for &((u, v), (p, q)) in &placed[..i] {
                    prop_assert!((x - u).abs() >= (w + p) / 2.0 - 1e-9 || (y - v).abs() >= (h + q) / 2.0 - 1e-9);
                }
            }
            for pair in layers.windows(2) {
                let ((from, size), (to, other)) = (pair[0][0], pair[1][0]);
                let Route(points) = fold.route(&[(from.0, from.1 + size.1 / 2.0), (to.0, to.1 - other.1 / 2.0)]);
                let ends = [(points[0], from, size), (points[points.len() - 1], to, other)];
                for (end, centre, (_, high)) in ends {
                    let centre = fold.place(centre);
                    prop_assert!((end.0 - centre.0).abs() < 1e-9 && ((end.1 - centre.1).abs() - high / 2.0).abs() < 1e-9);
                }
                prop_assert!(points.iter().all(|&point| is_within(point)));
                let turns = fold.band(from) < fold.band(to);
                for (x, y) in points.windows(4).step_by(3).filter(|_| turns).flat_map(along) {
                    let is_in = |&((u, v), (p, q)): &(Point, Point)| {
                        (x - u).abs() < p / 2.0 - 1e-6 && (y - v).abs() < q / 2.0 - 1e-6
                    };
                    prop_assert!(!placed.iter().any(is_in), "({x}, {y}) of an arrow into the next band is in a box");
                }
            }
        }
    }
}
