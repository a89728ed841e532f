//! Pictures of a graph and its split, and of a topology and a mapping onto it, as SVG.
//!
//! A graph is laid out layer by layer ([`rust_sugiyama`]) and folded to the shape of a page, each box in the colour of its
//! device. Big graphs are drawn at a coarser [`Detail`], so that a picture stays readable and takes well under a second
//! whatever the size of the graph.

mod blocks;
mod fold;
mod layout;
mod ring;
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

/// A picture of a graph.
pub struct Picture {
    /// Its text.
    pub svg: String,
    /// The nodes, by id, that each of its boxes stands for: elements of the class `box`, in their order.
    pub boxes: Vec<Vec<u64>>,
}

/// A picture of `instance`, coloured by the devices of `split` where there is one.
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
/// assert!(picture.svg.starts_with("<svg"));
/// assert_eq!(picture.boxes, [[0], [1]]);
/// ```
pub fn draw(instance: &Instance, graph: &Graph, split: Option<&[DeviceRecord]>, detail: Option<Detail>) -> Picture {
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
            return Picture::new(&subject, &scene, &layout);
        }
    }
    let mut scene = subject.scene(Detail::Stages);
    let layout = layout::arrange_all(&mut scene);
    Picture::new(&subject, &scene, &layout)
}

impl Picture {
    fn new(subject: &scene::Subject, scene: &scene::Scene, layout: &layout::Layout) -> Self {
        let id = |&v: &usize| subject.instance.nodes[v].id;
        let boxes = scene.boxes.iter().map(|shape| shape.nodes.iter().map(id).collect()).collect();
        Self { svg: svg::render(subject, scene, layout), boxes }
    }
}
