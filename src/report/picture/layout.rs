//! Where boxes and arrows go: a layered layout from left to right, or from top to bottom.

use rust_sugiyama::configure::{Config, RankingType};

use super::Detail;
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
/// The ratio of width to height that a picture should come near to.
const ASPECT: f64 = 1.5;
/// Labels are written while there are at most this many boxes.
const MOST_LABELS: usize = 150;

/// A point of the picture; y points down.
pub type Point = (f64, f64);

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
    /// For each arrow its points, from the side of one box to the side of the other.
    pub routes: Vec<Vec<Point>>,
    pub width: f64,
    pub height: f64,
    pub labelled: bool,
    pub direction: Direction,
}

/// Where the data flows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Direction {
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

/// Lays the scene out in the direction that gives the better shape, or gives `None` when it is too big to do so
/// quickly.
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
    let layouts = [Direction::Right, Direction::Down].map(|direction| place(scene, &layers, direction));
    layouts.into_iter().min_by(|a, b| a.distortion().total_cmp(&b.distortion()))
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

impl Layout {
    /// How far the shape is from the wanted one.
    fn distortion(&self) -> f64 {
        (self.width.max(1.0) / self.height.max(1.0) / ASPECT).ln().abs()
    }
}

fn place(scene: &Scene, layers: &[usize], direction: Direction) -> Layout {
    let labelled = scene.boxes.len() <= MOST_LABELS;
    let gap = if scene.detail == Detail::Stages { STAGE_GAP } else { LAYER_GAP };
    let sizes: Vec<(f64, f64)> = scene.boxes.iter().map(|shape| box_size(shape, labelled)).collect();
    // The library spaces layers and neighbours alike, so the difference is padding between the layers.
    let padded = |&size: &(f64, f64)| {
        let (across, along) = direction.turn(size);
        (across, along + gap - GAP)
    };
    let mut vertices: Vec<(u32, Point)> = sizes.iter().enumerate().map(|(v, size)| (v as u32, padded(size))).collect();
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
    let centres: Vec<Point> = centres(&vertices, &edges, &config).into_iter().map(|c| direction.turn(c)).collect();
    let boxes: Vec<Place> =
        sizes.iter().zip(&centres).map(|(&(width, height), &centre)| Place { centre, width, height }).collect();
    let routes = scene
        .arrows
        .iter()
        .zip(bends)
        .map(|(arrow, bend)| {
            let (from, to) = arrow.ends_for_layout();
            let mut points = vec![boxes[from].side(direction, 1.0)];
            points.extend(&centres[bend]);
            points.push(boxes[to].side(direction, -1.0));
            if arrow.against {
                points.reverse();
            }
            points
        })
        .collect();
    let corners = boxes.iter().map(|b| (b.centre.0 + b.width / 2.0, b.centre.1 + b.height / 2.0));
    let (width, height) =
        corners.chain(centres.iter().copied()).fold((0.0, 0.0), |(w, h), (x, y)| (f64::max(w, x), f64::max(h, y)));
    Layout { boxes, routes, width, height, labelled, direction }
}

impl Place {
    /// The middle of the side where data leaves (`way` 1) or enters (`way` -1).
    fn side(&self, direction: Direction, way: f64) -> Point {
        let (x, y) = self.centre;
        match direction {
            Direction::Right => (x + way * self.width / 2.0, y),
            Direction::Down => (x, y + way * self.height / 2.0),
        }
    }
}

fn box_size(shape: &Shape, labelled: bool) -> (f64, f64) {
    if !labelled {
        let grown = 4.0 * (shape.node_count as f64).log2();
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
