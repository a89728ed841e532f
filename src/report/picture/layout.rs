//! Where boxes and arrows go: a layered layout from left to right.

use rust_sugiyama::configure::{Config, RankingType};

use super::Detail;
use super::scene::{Scene, Shape};

/// The most vertices given to the layout, bends of arrows included: a third of a second.
const MOST_VERTICES: usize = 8_000;
/// Space between neighbouring boxes, and between layers where boxes are labelled or not.
const GAP: f64 = 14.0;
const STAGE_GAP: f64 = 56.0;
const CHARACTER: f64 = 6.6;
const LINE: f64 = 15.0;
/// Side of a box without a label.
const DOT: f64 = 14.0;
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
    /// For each arrow its points from the right side of one box to the left side of the other.
    pub routes: Vec<Vec<Point>>,
    pub width: f64,
    pub height: f64,
    pub labelled: bool,
}

/// Lays the scene out, or gives `None` when it is too big to do so quickly.
pub fn arrange(scene: &Scene) -> Option<Layout> {
    let layers = scene.layers();
    let span = |i: usize| {
        let (from, to) = scene.arrows[i].ends_for_layout();
        layers[to].saturating_sub(layers[from])
    };
    let vertices = scene.boxes.len() + (0..scene.arrows.len()).map(span).sum::<usize>();
    (vertices <= MOST_VERTICES).then(|| place(scene, &layers))
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

/// The library lays out from top to bottom: its x is our y, and widths and heights change places.
fn place(scene: &Scene, layers: &[usize]) -> Layout {
    let labelled = scene.boxes.len() <= MOST_LABELS;
    let gap = if scene.detail == Detail::Stages { STAGE_GAP } else { GAP };
    let sizes: Vec<(f64, f64)> = scene.boxes.iter().map(|shape| box_size(shape, labelled)).collect();
    // The library spaces layers and neighbours alike, so the difference is padding between the layers.
    let padded = |&(w, h): &(f64, f64)| (h, w + gap - GAP);
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
    let centres = centres(&vertices, &edges, &config);
    let boxes: Vec<Place> =
        sizes.iter().zip(&centres).map(|(&(width, height), &centre)| Place { centre, width, height }).collect();
    let routes = scene
        .arrows
        .iter()
        .zip(bends)
        .map(|(arrow, bend)| route(&boxes, arrow.ends_for_layout(), &centres[bend], arrow.against))
        .collect();
    let extent = |side: fn(&Place) -> f64| boxes.iter().map(side).fold(0.0, f64::max);
    let (width, height) = (extent(|p| p.centre.0 + p.width / 2.0), extent(|p| p.centre.1 + p.height / 2.0));
    let lowest_bend = centres.iter().map(|c| c.1).fold(0.0, f64::max);
    Layout { boxes, routes, width, height: height.max(lowest_bend), labelled }
}

fn box_size(shape: &Shape, labelled: bool) -> (f64, f64) {
    if !labelled {
        let grown = 4.0 * (shape.node_count as f64).log2();
        return (DOT + grown, DOT);
    }
    let longest = shape.lines.iter().map(|line| line.chars().count()).max().unwrap_or(1);
    (longest as f64 * CHARACTER + 14.0, shape.lines.len() as f64 * LINE + 8.0)
}

/// The centre of every vertex; parts of the graph that are not connected lie one below the other.
fn centres(vertices: &[(u32, Point)], edges: &[(u32, u32)], config: &Config) -> Vec<Point> {
    let mut centres = vec![(0.0, 0.0); vertices.len()];
    let mut top = 0.0;
    for (part, _, _) in rust_sugiyama::from_vertices_and_edges(vertices, edges, config) {
        let edge = |(v, (x, y)): &(usize, Point)| (y - vertices[*v].1.1 / 2.0, x - vertices[*v].1.0 / 2.0);
        let left = part.iter().map(|p| edge(p).0).fold(f64::INFINITY, f64::min);
        let highest = part.iter().map(|p| edge(p).1).fold(f64::INFINITY, f64::min);
        let mut bottom = top;
        for (v, (x, y)) in part {
            centres[v] = (y - left, x - highest + top);
            bottom = f64::max(bottom, centres[v].1 + vertices[v].1.0 / 2.0);
        }
        top = bottom + 2.0 * GAP;
    }
    centres
}

fn route(boxes: &[Place], (from, to): (usize, usize), bend: &[Point], against: bool) -> Vec<Point> {
    let (from, to) = (&boxes[from], &boxes[to]);
    let start = (from.centre.0 + from.width / 2.0, from.centre.1);
    let end = (to.centre.0 - to.width / 2.0, to.centre.1);
    let mut points: Vec<Point> = std::iter::once(start).chain(bend.iter().copied()).chain([end]).collect();
    if against {
        points.reverse();
    }
    points
}
