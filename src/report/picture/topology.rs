//! A topology, and a mapping onto it: bandwidths as a heat map, devices as tiles in the colours of their stages.

use svg::node::element::{Group, Title};

use super::blocks::{Block, blocks};
use super::svg::{FAINT, HEADER, MARGIN, colour, document, rectangle, text, title};
use crate::mapping::Topology;
use crate::report::mapping::CopyRecord;
use crate::text::escaped;
use crate::units::{number, short};

/// Side of the heat map, and the most cells along it; beyond, cells show means.
const MAP: f64 = 480.0;
const MOST_CELLS: usize = 128;
/// Width that boxes of tiles are set in.
const BOXES: f64 = 620.0;
/// Sides of tiles with and without a label, and how many are labelled at most.
const LABELLED: (f64, f64) = (50.0, 30.0);
const PLAIN: (f64, f64) = (14.0, 14.0);
const MOST_LABELS: usize = 160;
const GAP: f64 = 3.0;
const PADDING: f64 = 8.0;
const TITLE: f64 = 14.0;
const FREE: &str = "#e4e7eb";

/// Colours from slow to fast that also differ in brightness (viridis).
const SCALE: [(f64, f64, f64); 5] =
    [(68.0, 1.0, 84.0), (59.0, 82.0, 139.0), (33.0, 145.0, 140.0), (94.0, 201.0, 98.0), (253.0, 231.0, 37.0)];

/// An SVG picture of `topology`: a heat map of the bandwidth of every pair, logarithmic, and a tile for each device, in
/// boxes of those that belong together. With `copies` each tile has the colour of the stage that it holds.
///
/// ```
/// use dagsplit::generate::topology::{Dgx1, TopologyRecipe, generate};
/// let topology = generate(&TopologyRecipe::new(Dgx1::default()))?;
/// assert!(dagsplit::internals::report::picture::draw_topology(&topology, &[]).starts_with("<svg"));
/// # Ok::<(), dagsplit::generate::GenerateError>(())
/// ```
pub fn draw_topology(topology: &Topology, copies: &[CopyRecord]) -> String {
    let scene = Scene::new(topology, copies);
    let (tiles, (width, height)) = scene.tiles();
    let left = 2.0 * MARGIN + MAP;
    let width = (left + width + MARGIN).ceil();
    let height = (HEADER + height.max(MAP + 46.0) + MARGIN).ceil();
    let document = document(width, height)
        .add(rectangle(0.0, 0.0, width, height).set("fill", "white"))
        .add(scene.header())
        .add(scene.heat_map().set("transform", format!("translate({MARGIN} {HEADER})")))
        .add(scene.legend().set("transform", format!("translate({MARGIN} {})", HEADER + MAP + 12.0)))
        .add(tiles.set("transform", format!("translate({left} {HEADER})")));
    format!("{document}\n")
}

struct Scene<'a> {
    topology: &'a Topology,
    /// By device.
    copies: Vec<Option<&'a CopyRecord>>,
    slowest_copy: Option<f64>,
    /// The least and the largest bandwidth of a pair.
    range: (f64, f64),
}

impl<'a> Scene<'a> {
    fn new(topology: &'a Topology, copies: &'a [CopyRecord]) -> Self {
        let mut on_device = vec![None; topology.len()];
        for copy in copies.iter().filter(|copy| copy.device < topology.len()) {
            on_device[copy.device] = Some(copy);
        }
        let size = topology.len();
        let pairs = (0..size).flat_map(|a| (0..size).filter(move |&b| a != b).map(move |b| (a, b)));
        let range = pairs
            .map(|(a, b)| topology.bandwidth(a, b))
            .fold((f64::MAX, 0.0_f64), |(least, most), bandwidth| (least.min(bandwidth), most.max(bandwidth)));
        let slowest_copy = copies.iter().map(|copy| copy.time).max_by(f64::total_cmp);
        Self { topology, copies: on_device, slowest_copy, range }
    }

    fn header(&self) -> Group {
        let name: String = self.topology.name.chars().filter(|c| !c.is_control()).take(80).collect();
        let mut facts = format!("{} devices", self.topology.len());
        if self.topology.len() > 1 {
            facts += &format!(", {} to {}", gigabytes(self.range.0), gigabytes(self.range.1));
        }
        if let Some(slowest) = self.slowest_copy {
            let used = self.copies.iter().flatten().count();
            facts += &format!(" · {used} in use, marked stage·copy · slowest copy {} ms", number(slowest));
        }
        Group::new()
            .add(
                text(if name.is_empty() { "topology".into() } else { name }, MARGIN, 24.0, 15.0)
                    .set("font-weight", 600),
            )
            .add(text(facts, MARGIN, 42.0, 11.5).set("fill", "#52606d"))
    }

    /// The place of a bandwidth on the logarithmic scale, from 0 to 1.
    fn level(&self, bandwidth: f64) -> f64 {
        let (least, most) = self.range;
        let span = (most / least).ln();
        if span > 0.0 { ((bandwidth / least).ln() / span).clamp(0.0, 1.0) } else { 1.0 }
    }

    fn heat_map(&self) -> Group {
        let size = self.topology.len();
        let cells = size.clamp(1, MOST_CELLS);
        let side = MAP / cells as f64;
        let first = |cell: usize| cell * size / cells;
        let mut map = Group::new().set("shape-rendering", "crispEdges");
        for row in 0..cells {
            for column in 0..cells {
                let (rows, columns) = (first(row)..first(row + 1), first(column)..first(column + 1));
                let pairs = || rows.clone().flat_map(|a| columns.clone().map(move |b| (a, b))).filter(|(a, b)| a != b);
                let count = pairs().count();
                if count == 0 {
                    continue;
                }
                let level = pairs().map(|(a, b)| self.level(self.topology.bandwidth(a, b))).sum::<f64>() / count as f64;
                let cell = rectangle(column as f64 * side, row as f64 * side, side, side).set("fill", shade(level));
                map = map.add(if size <= MOST_LABELS / 2 {
                    cell.add(self.pair_title(first(row), first(column)))
                } else {
                    cell
                });
            }
        }
        map.add(self.stage_strip(side, cells))
    }

    fn pair_title(&self, a: usize, b: usize) -> Title {
        let device = |d: usize| &self.topology.devices[d].name;
        let latency = self.topology.latency(a, b);
        let after = if latency > 0.0 { format!(", after {} us", short(1e3 * latency)) } else { String::new() };
        title(&format!("{} → {}: {}{after}", device(a), device(b), gigabytes(self.topology.bandwidth(a, b))))
    }

    /// The stage of each device beside the rows of the heat map.
    fn stage_strip(&self, side: f64, cells: usize) -> Group {
        let size = self.topology.len();
        let stages = (0..cells).filter_map(|row| Some((row, self.copies.get(row * size / cells).copied().flatten()?)));
        let mark = |(row, copy): (usize, &CopyRecord)| {
            rectangle(-8.0, row as f64 * side, 6.0, side).set("fill", colour(copy.stage))
        };
        stages.map(mark).fold(Group::new(), Group::add)
    }

    fn legend(&self) -> Group {
        if self.topology.len() < 2 {
            return Group::new();
        }
        let steps = 60;
        let step = |i: usize| {
            let left = MAP * i as f64 / steps as f64;
            rectangle(left, 0.0, MAP / steps as f64 + 0.5, 10.0).set("fill", shade(i as f64 / (steps - 1) as f64))
        };
        let bar = (0..steps).map(step).fold(Group::new(), Group::add);
        let (least, most) = self.range;
        bar.add(text(gigabytes(least), 0.0, 24.0, 11.0))
            .add(text(gigabytes((least * most).sqrt()), MAP / 2.0, 24.0, 11.0).set("text-anchor", "middle"))
            .add(text(gigabytes(most), MAP, 24.0, 11.0).set("text-anchor", "end"))
    }

    /// The boxes of tiles, set line by line, and the size of the whole.
    fn tiles(&self) -> (Group, (f64, f64)) {
        let tile = if self.topology.len() <= MOST_LABELS { LABELLED } else { PLAIN };
        let (mut group, mut widest) = (Group::new(), 0.0_f64);
        let (mut x, mut y, mut line) = (0.0, 0.0, 0.0_f64);
        for block in blocks(self.topology) {
            let columns = block.rows.iter().map(Vec::len).max().unwrap_or(0) as f64;
            let width = 2.0 * PADDING + columns * (tile.0 + GAP) - GAP;
            let height = 2.0 * PADDING + TITLE + block.rows.len() as f64 * (tile.1 + GAP) - GAP;
            if x > 0.0 && x + width > BOXES {
                (x, y, line) = (0.0, y + line + 10.0, 0.0);
            }
            group = group
                .add(self.block(&block, tile, (width, height)).set("transform", format!("translate({x:.1} {y:.1})")));
            x += width + 10.0;
            (line, widest) = (line.max(height), widest.max(x));
        }
        (group, (widest, y + line))
    }

    fn block(&self, block: &Block, tile: (f64, f64), (width, height): (f64, f64)) -> Group {
        let frame = rectangle(0.0, 0.0, width, height).set("rx", 6).set("fill", "none").set("stroke", FAINT);
        let title = text(block.title.clone(), PADDING, PADDING + 8.0, 11.0).set("fill", "#52606d");
        let mut group = Group::new().add(frame).add(title);
        for (r, row) in block.rows.iter().enumerate() {
            for (c, device) in row.iter().enumerate() {
                let Some(device) = *device else { continue };
                let (x, y) = (PADDING + c as f64 * (tile.0 + GAP), PADDING + TITLE + r as f64 * (tile.1 + GAP));
                group = group.add(self.tile(device, (x, y), tile));
            }
        }
        group
    }

    fn tile(&self, device: usize, (x, y): (f64, f64), (width, height): (f64, f64)) -> Group {
        let name = &self.topology.devices[device].name;
        let short_name = name.rsplit_once('/').map_or(name.as_str(), |(_, last)| last);
        let fill = self.copies[device].map_or_else(|| FREE.to_owned(), |copy| colour(copy.stage));
        let (ink, tooltip) = match self.copies[device] {
            None => ("#1f2933", name.clone()),
            Some(copy) => {
                ("white", format!("{name}: {}, copy {}, {} ms", copy.stage_name, copy.replica, number(copy.time)))
            }
        };
        let shape = rectangle(x, y, width, height).set("rx", 3).set("fill", fill);
        let group = Group::new().add(title(&escaped(&tooltip))).add(shape);
        if (width, height) == PLAIN {
            return group;
        }
        let label = |content: String, below: f64, size: f64| {
            text(content, x + width / 2.0, y + below, size).set("text-anchor", "middle").set("fill", ink)
        };
        let group = group.add(label(short_name.chars().take(9).collect(), 11.0, 8.5));
        match self.copies[device] {
            None => group,
            Some(copy) => {
                group.add(label(format!("{}·{}", copy.stage, copy.replica), 24.0, 12.0).set("font-weight", 600))
            }
        }
    }
}

/// A bandwidth in bytes per millisecond, as people read it.
fn gigabytes(bandwidth: f64) -> String {
    format!("{} GB/s", short(bandwidth / 1e6))
}

/// The colour of a level from 0 to 1.
fn shade(level: f64) -> String {
    let position = level.clamp(0.0, 1.0) * (SCALE.len() - 1) as f64;
    let below = (position as usize).min(SCALE.len() - 2);
    let (from, to, share) = (SCALE[below], SCALE[below + 1], position - below as f64);
    let mix = |a: f64, b: f64| (a + share * (b - a)).round() as u8;
    format!("#{:02x}{:02x}{:02x}", mix(from.0, to.0), mix(from.1, to.1), mix(from.2, to.2))
}
