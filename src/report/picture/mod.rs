//! Pictures of a graph and its split, and of a topology and a mapping onto it, as SVG.
//!
//! A graph is laid out layer by layer ([`rust_sugiyama`]), each box in the colour of its device. Big graphs are drawn at a coarser [`Detail`], so that a picture stays readable and takes well
//! under a second whatever the size of the graph.

mod blocks;
mod layout;
mod scene;
pub(in crate::report) mod svg;
mod topology;

pub use topology::draw_topology;

use crate::graph::Graph;
use crate::instance::Instance;
use crate::report::DeviceRecord;

/// How much of a graph a picture shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// One box per node.
    Nodes,
    /// Chains, constants and dead ends inside a device are drawn as one box.
    Chains,
    /// One box per device and pass with its load and memory; without a split, successive segments of the graph.
    Stages,
}

/// The most boxes of a picture that shows nodes or chains.
const MOST_BOXES: usize = 400;
/// The most boxes one behind the other in such a picture.
const MOST_LAYERS: usize = 80;

/// An SVG picture of `instance`, coloured by the devices of `split` where there is one.
///
/// Without a `detail` the finest one is taken that stays readable: at most 400 boxes, 80 in a row. A detail that
/// is asked for and too big for the layout falls back to a coarser one. `graph` is the instance's graph by node
/// index.
///
/// ```
/// use dagsplit::problem::Graph;
/// use dagsplit::instance::{Edge, Instance, Node};
/// let instance = Instance {
///     nodes: vec![Node::new(0), Node::new(1)],
///     edges: vec![Edge { source: 0, target: 1 }],
///     ..Instance::default()
/// };
/// let graph = Graph::new(2, &[(0, 1)]).unwrap();
/// let picture = dagsplit::internals::report::picture::draw(&instance, &graph, None, None);
/// assert!(picture.starts_with("<svg"));
/// ```
pub fn draw(instance: &Instance, graph: &Graph, split: Option<&[DeviceRecord]>, detail: Option<Detail>) -> String {
    let subject = scene::Subject::new(instance, graph, split);
    let finest_first = match detail {
        None | Some(Detail::Nodes) => &[Detail::Nodes, Detail::Chains][..],
        Some(Detail::Chains) => &[Detail::Chains],
        Some(Detail::Stages) => &[],
    };
    for &level in finest_first {
        let scene = subject.scene(level);
        let readable = scene.boxes.len() <= MOST_BOXES && scene.layer_count() <= MOST_LAYERS;
        if (readable || detail == Some(level))
            && let Some(layout) = layout::arrange(&scene)
        {
            return svg::render(&subject, &scene, &layout);
        }
    }
    let mut scene = subject.scene(Detail::Stages);
    let layout = layout::arrange_all(&mut scene);
    svg::render(&subject, &scene, &layout)
}
