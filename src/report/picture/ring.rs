//! The slowest copy of a mapping, and the ring that it is part of.

use svg::node::element::{Circle, Group, Polygon};

use super::svg::{rectangle, title};
use crate::report::mapping::CopyRecord;
use crate::units::short;

const COLOUR: &str = "#c81e1e";
/// The ring passes so far from the right and the lower edge of a tile, beside its letters.
const INSET: f64 = 5.0;

/// A frame about the tile of the `slowest` copy, and a line through the copies of its stage in the order of their numbers, which
/// is that of their all-reduce; `places` are the upper left corners of all tiles, by device.
pub(super) fn ring(
    mut copies: Vec<&CopyRecord>,
    slowest: &CopyRecord,
    places: &[(f64, f64)],
    (width, height): (f64, f64),
) -> Group {
    let (left, top) = places[slowest.device];
    let outline = rectangle(left, top, width, height).set("rx", 3);
    let frame = outline.set("fill", "none").set("stroke", COLOUR).set("stroke-width", 2.5);
    let group = Group::new().set("pointer-events", "none").add(frame);
    if copies.len() < 2 {
        return group;
    }
    copies.sort_unstable_by_key(|copy| copy.replica);
    let corner = |copy: &&CopyRecord| {
        let (x, y) = places[copy.device];
        (x + width - INSET, y + height - INSET)
    };
    let corners: Vec<(f64, f64)> = copies.iter().map(corner).collect();
    let points: Vec<String> = corners.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    let told = format!("ring of {}: all-reduce {} ms", slowest.stage_name, short(slowest.all_reduce));
    let line = Polygon::new()
        .set("class", "ring")
        .set("points", points.join(" "))
        .set("fill", "none")
        .set("stroke", COLOUR)
        .set("stroke-width", 1.5)
        .set("stroke-opacity", 0.8)
        .add(title(&crate::text::escaped(&told)));
    let dot = |&(x, y): &(f64, f64)| {
        Circle::new().set("cx", format!("{x:.1}")).set("cy", format!("{y:.1}")).set("r", 2.5).set("fill", COLOUR)
    };
    corners.iter().map(dot).fold(group.add(line), Group::add)
}
