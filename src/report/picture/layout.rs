//! Where boxes and arrows go: a layered layout from left to right, or from top to bottom, folded to a page.

use std::ops::Range;

use rust_sugiyama::configure::{Config, RankingType};

use super::Detail;
use super::fold::{Fold, Point, Route};
use super::scene::{Scene, Shape};

/// The most vertices given to the layout, bends of arrows included: a third of a second.
const MOST_VERTICES: usize = 8_000;
/// Space between neighbouring boxes, between layers, and between layers of stages.
const GAP: f64 = 14.0;
const LAYER_GAP: f64 = 24.0;
const STAGE_GAP: f64 = 70.0;
const CHARACTER: f64 = 6.6;
const LINE: f64 = 15.0;
/// Side of a box without a label.
const DOT: f64 = 14.0;
/// The ratios of width to height between which a picture fits a page, the header above it allowed for.
const PAGE: Range<f64> = 0.75..1.6;
/// The most bands that a picture is folded to.
const MOST_BANDS: usize = 24;
/// Labels are written while there are at most this many boxes.
const MOST_LABELS: usize = 150;

/// A box's place.
#[derive(Clone, Copy)]
pub struct Place {
    pub centre: Point,
    pub width: f64,
    pub height: f64,
}

/// Places of all boxes, routes of all arrows, and the size of the whole.
pub struct Layout {
    pub boxes: Vec<Place>,
    /// For each arrow its line, from the side of one box to the side of the other.
    pub routes: Vec<Route>,
    pub width: f64,
    pub height: f64,
    pub labelled: bool,
}

/// A layout before it is folded, in the library's coordinates: data flows down.
struct Flat {
    direction: Direction,
    /// The size of each box, and the centre of each box and each bend behind them.
    sizes: Vec<Point>,
    centres: Vec<Point>,
    /// For each arrow its bends among the centres.
    bends: Vec<Range<usize>>,
}

/// Where the data flows, in the first band.
#[derive(Clone, Copy)]
enum Direction {
    Right,
    Down,
}

impl Direction {
    /// Exchanges x and y where data flows to the right; the library always lets it flow down.
    fn turn(self, (x, y): Point) -> Point {
        match self {
            Direction::Right => (y, x),
            Direction::Down => (x, y),
        }
    }
}

/// Lays the scene out in the direction and in the fewest bands that fit a page, or come nearest to one; gives `None` when
/// it is too big to do so quickly.
pub fn arrange(scene: &Scene) -> Option<Layout> {
    let layers = scene.layers();
    let span = |i: usize| {
        let (from, to) = scene.arrows[i].ends_for_layout();
        layers[to].saturating_sub(layers[from])
    };
    let vertices = scene.boxes.len() + (0..scene.arrows.len()).map(span).sum::<usize>();
    if vertices > MOST_VERTICES {
        return None;
    }
    let labelled = scene.boxes.len() <= MOST_LABELS;
    let flats = [Direction::Right, Direction::Down].map(|direction| Flat::new(scene, &layers, labelled, direction));
    let folds = flats.iter().flat_map(|flat| (1..=MOST_BANDS).map(move |bands| (flat, flat.fold(bands))));
    let best = folds.map(|(flat, fold)| (flat.misfit(&fold), flat, fold)).min_by(|(a, ..), (b, ..)| a.total_cmp(b));
    best.map(|(_, flat, fold)| flat.folded(scene, &fold, labelled))
}

/// Lays the scene out after dropping as many of its weakest arrows as it takes.
pub fn arrange_all(scene: &mut Scene) -> Layout {
    loop {
        if let Some(layout) = arrange(scene) {
            return layout;
        }
        scene.arrows.sort_by(|a, b| b.traffic.total_cmp(&a.traffic).then((a.from, a.to).cmp(&(b.from, b.to))));
        let kept = scene.arrows.len() / 2;
        scene.left_out += scene.arrows.len() - kept;
        scene.arrows.truncate(kept);
    }
}

impl Flat {
    fn new(scene: &Scene, layers: &[usize], labelled: bool, direction: Direction) -> Self {
        let gap = if scene.detail == Detail::Stages { STAGE_GAP } else { LAYER_GAP };
        let sizes: Vec<Point> = scene.boxes.iter().map(|shape| direction.turn(box_size(shape, labelled))).collect();
        // The library spaces layers and neighbours alike, so the difference is padding between the layers.
        let padded = |&(across, along): &Point| (across, along + gap - GAP);
        let mut vertices: Vec<(u32, Point)> =
            sizes.iter().enumerate().map(|(v, size)| (v as u32, padded(size))).collect();
        let mut edges = Vec::new();
        let mut bends = Vec::with_capacity(scene.arrows.len());
        for arrow in &scene.arrows {
            let (from, to) = arrow.ends_for_layout();
            let first = vertices.len();
            // A vertex on every layer that the arrow passes: it then bends round the boxes there.
            for _ in layers[from] + 1..layers[to] {
                vertices.push((vertices.len() as u32, (2.0, 2.0)));
            }
            let bend = first..vertices.len();
            let stops = std::iter::once(from).chain(bend.clone()).chain([to]).map(|v| v as u32);
            edges.extend(stops.clone().zip(stops.skip(1)));
            bends.push(bend);
        }
        let config = Config { vertex_spacing: GAP, ranking_type: RankingType::Up, ..Config::default() };
        Self { direction, sizes, centres: centres(&vertices, &edges, &config), bends }
    }

    fn fold(&self, bands: usize) -> Fold {
        let bend = (0.0, 0.0);
        Fold::new(self.centres.iter().copied().zip(self.sizes.iter().copied().chain(std::iter::repeat(bend))), bands)
    }

    /// How far the shape is from that of a page; of two that fit one, more bands are worse.
    fn misfit(&self, fold: &Fold) -> f64 {
        let (width, height) = self.direction.turn(fold.size());
        let ratio = width.max(1.0) / height.max(1.0);
        (ratio / PAGE.end).max(PAGE.start / ratio).ln().max(0.0) + 1e-3 * fold.bands() as f64
    }

    fn folded(&self, scene: &Scene, fold: &Fold, labelled: bool) -> Layout {
        let turn = |point| self.direction.turn(point);
        let place = |v: usize| {
            let (width, height) = turn(self.sizes[v]);
            Place { centre: turn(fold.place(self.centres[v])), width, height }
        };
        // The middle of the side where data leaves (`way` 1) or enters (`way` -1).
        let side = |v: usize, way: f64| (self.centres[v].0, self.centres[v].1 + way * self.sizes[v].1 / 2.0);
        let route = |i: usize| {
            let (arrow, bends) = (&scene.arrows[i], self.bends[i].clone());
            let (from, to) = arrow.ends_for_layout();
            let bends = bends.map(|bend| self.centres[bend]);
            let points: Vec<Point> = std::iter::once(side(from, 1.0)).chain(bends).chain([side(to, -1.0)]).collect();
            let mut route = Route(fold.route(&points).0.into_iter().map(turn).collect());
            if arrow.against {
                route.0.reverse();
            }
            route
        };
        let (width, height) = turn(fold.size());
        let boxes = (0..self.sizes.len()).map(place).collect();
        Layout { boxes, routes: (0..scene.arrows.len()).map(route).collect(), width, height, labelled }
    }
}

fn box_size(shape: &Shape, labelled: bool) -> (f64, f64) {
    if !labelled {
        let grown = 4.0 * (shape.nodes.len() as f64).log2();
        return (DOT + grown, DOT);
    }
    let longest = shape.lines.iter().map(|line| line.chars().count()).max().unwrap_or(1);
    (longest as f64 * CHARACTER + 14.0, shape.lines.len() as f64 * LINE + 8.0)
}

/// The centre of every vertex, data flowing down; parts of the graph that are not connected lie side by side.
fn centres(vertices: &[(u32, Point)], edges: &[(u32, u32)], config: &Config) -> Vec<Point> {
    let mut centres = vec![(0.0, 0.0); vertices.len()];
    let mut left = 0.0;
    for (part, _, _) in rust_sugiyama::from_vertices_and_edges(vertices, edges, config) {
        let corner = |(v, (x, y)): &(usize, Point)| (x - vertices[*v].1.0 / 2.0, y - vertices[*v].1.1 / 2.0);
        let least = |side: fn(Point) -> f64| part.iter().map(|p| side(corner(p))).fold(f64::INFINITY, f64::min);
        let (leftmost, top) = (least(|c| c.0), least(|c| c.1));
        let mut right = left;
        for (v, (x, y)) in part {
            centres[v] = (x - leftmost + left, y - top);
            right = f64::max(right, centres[v].0 + vertices[v].1.0 / 2.0);
        }
        left = right + 2.0 * GAP;
    }
    centres
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::fold::tests::along;
    use super::super::scene::Subject;
    use super::*;
    use crate::graph::Graph;
    use crate::instance::{Edge, Instance, Node};

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        /// A constant's arrow to a node far down a chain goes round all boxes, from band to band.
        #[test]
        fn long_arrows_go_round_boxes(length in 2_usize..90, part in 0.0..1.0) {
            let mut edges: Vec<(usize, usize)> = (1..length).map(|v| (v - 1, v)).collect();
            edges.push((length, (part * length as f64) as usize));
            let edge = |&(source, target): &(usize, usize)| Edge { source: source as u64, target: target as u64 };
            let instance = Instance {
                nodes: (0..=length as u64).map(Node::new).collect(),
                edges: edges.iter().map(edge).collect(),
                ..Instance::default()
            };
            let graph = Graph::new(length + 1, &edges).unwrap();
            let layout = arrange(&Subject::new(&instance, &graph, None).scene(Detail::Nodes)).unwrap();
            for (x, y) in layout.routes.iter().flat_map(|route| route.0.windows(4).step_by(3)).flat_map(along) {
                let is_in = |place: &Place| {
                    (x - place.centre.0).abs() < place.width / 2.0 - 1e-6
                        && (y - place.centre.1).abs() < place.height / 2.0 - 1e-6
                };
                prop_assert!(!layout.boxes.iter().any(is_in), "({x}, {y}) is in a box");
            }
        }
    }
}
