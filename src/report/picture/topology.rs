//! A topology, and a mapping onto it: bandwidths as a heat map, devices as tiles in the colours of their stages.

use std::collections::BTreeMap;

use svg::node::element::{Group, Title};

use super::ring::ring;

use super::blocks::{Block, blocks};
use super::svg::{FAINT, HEADER, MARGIN, colour, document, rectangle, text, title};
use crate::mapping::{Device, Topology};
use crate::report::mapping::CopyRecord;
use crate::text::escaped;
use crate::units::{bytes, number, short};

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
/// Width of a letter of what a box says of its devices, and height of a line of it.
const LETTER: f64 = 5.0;
const LINE: f64 = 12.0;
/// Width and height of an entry of the legend of stages, and how many there are at most.
const ENTRY: (f64, f64) = (200.0, 18.0);
const MOST_ENTRIES: usize = 96;
const FREE: &str = "#e4e7eb";

/// Colours from slow to fast that also differ in brightness (viridis).
const SCALE: [(f64, f64, f64); 5] =
    [(68.0, 1.0, 84.0), (59.0, 82.0, 139.0), (33.0, 145.0, 140.0), (94.0, 201.0, 98.0), (253.0, 231.0, 37.0)];

/// An SVG picture of `topology`: a heat map of the bandwidth of every pair, logarithmic, and a tile for each device, in
/// a box for each host with speed and memory. With `copies` each tile has the colour of the stage that it holds, which a legend
/// names, and the slowest copy has a frame and the ring over which its stage brings its gradients together.
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
    slowest_copy: Option<&'a CopyRecord>,
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
        // Of several the first.
        let slowest_copy = copies.iter().rev().max_by(|a, b| a.time.total_cmp(&b.time));
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
            let parts =
                [("compute", slowest.compute), ("messages", slowest.messages), ("all-reduce", slowest.all_reduce)];
            let parts = parts.map(|(name, time)| format!("{name} {}", short(time))).join(", ");
            let (place, time) = (format!("{}·{}", slowest.stage, slowest.replica), number(slowest.time));
            facts += &format!(" · {used} in use, marked stage·copy · slowest copy {place}, {time} ms ({parts})");
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

    /// The boxes of tiles, set line by line, what belongs to the mapping, and the size of the whole.
    fn tiles(&self) -> (Group, (f64, f64)) {
        let tile = if self.topology.len() <= MOST_LABELS { LABELLED } else { PLAIN };
        let mut places = vec![(0.0, 0.0); self.topology.len()];
        let (mut group, mut widest) = (Group::new(), 0.0_f64);
        let (mut x, mut y, mut line) = (0.0, 0.0, 0.0_f64);
        for block in blocks(self.topology) {
            let facts = if tile == LABELLED { self.facts(&block) } else { String::new() };
            let top = PADDING + TITLE + if facts.is_empty() { 0.0 } else { LINE };
            let columns = block.rows.iter().map(Vec::len).max().unwrap_or(0) as f64;
            let width = (columns * (tile.0 + GAP) - GAP).max(facts.chars().count() as f64 * LETTER) + 2.0 * PADDING;
            let height = top + block.rows.len() as f64 * (tile.1 + GAP) - GAP + PADDING;
            if x > 0.0 && x + width > BOXES {
                (x, y, line) = (0.0, y + line + 10.0, 0.0);
            }
            let grey = |content: &str, below: f64, size: f64| {
                text(content, x + PADDING, y + PADDING + below, size).set("fill", "#52606d")
            };
            let frame = rectangle(x, y, width, height).set("rx", 6).set("fill", "none").set("stroke", FAINT);
            group = group.add(frame).add(grey(&block.title, 8.0, 11.0));
            if !facts.is_empty() {
                group = group.add(grey(&facts, 8.0 + LINE, 9.0));
            }
            for (r, c, device) in block.places() {
                let place = (x + PADDING + c as f64 * (tile.0 + GAP), y + top + r as f64 * (tile.1 + GAP));
                places[device] = place;
                group = group.add(self.tile(device, place, tile));
            }
            x += width + 10.0;
            (line, widest) = (line.max(height), widest.max(x));
        }
        let bottom = y + line;
        let Some(slowest) = self.slowest_copy else { return (group, (widest, bottom)) };
        let copies = self.copies.iter().flatten().filter(|copy| copy.stage == slowest.stage);
        let (stages, height) = self.stages();
        let group = group
            .add(ring(copies.copied().collect(), slowest, &places, tile))
            .add(stages.set("transform", format!("translate(0 {:.1})", bottom + PADDING)));
        (group, (widest.max(BOXES), bottom + PADDING + height))
    }

    /// Memory and speed of a box's devices, where these say any: one figure, or the least and the largest.
    fn facts(&self, block: &Block) -> String {
        let devices = || block.places().map(|(.., device)| &self.topology.devices[device]);
        let range = |values: &mut dyn Iterator<Item = f64>, shown: fn(f64) -> String| {
            let (least, most) = values.fold((f64::MAX, 0.0_f64), |(a, b), value| (a.min(value), b.max(value)));
            if least == most { shown(least) } else { format!("{} to {}", shown(least), shown(most)) }
        };
        let mut facts = Vec::new();
        if devices().any(|device| device.memory.is_some()) {
            facts.push(range(&mut devices().filter_map(|device| device.memory), bytes));
        }
        if self.topology.devices.iter().any(|device| device.speed != 1.0) {
            facts.push(format!("speed {}", range(&mut devices().map(|device| device.speed), short)));
        }
        facts.join(", ")
    }

    /// A legend of stages, each with its slowest copy's time, and its height.
    fn stages(&self) -> (Group, f64) {
        let mut stages: BTreeMap<usize, &CopyRecord> = BTreeMap::new();
        for copy in self.copies.iter().flatten() {
            let slowest = stages.entry(copy.stage).or_insert(copy);
            if copy.time > slowest.time {
                *slowest = copy;
            }
        }
        let columns = (BOXES / ENTRY.0) as usize;
        let mut group = Group::new();
        for (i, copy) in stages.values().take(MOST_ENTRIES).enumerate() {
            let (x, y) = ((i % columns) as f64 * ENTRY.0, (i / columns) as f64 * ENTRY.1);
            let name: String = copy.stage_name.chars().filter(|c| !c.is_control()).take(16).collect();
            let entry = format!("{} {name}: {} ms", copy.stage, short(copy.time));
            group = group.add(rectangle(x, y, 12.0, 12.0).set("rx", 3).set("fill", colour(copy.stage))).add(text(
                entry,
                x + 18.0,
                y + 10.0,
                11.0,
            ));
        }
        let shown = stages.len().min(MOST_ENTRIES);
        let height = shown.div_ceil(columns) as f64 * ENTRY.1;
        if shown == stages.len() {
            return (group, height);
        }
        let rest = format!("and {} more stages", stages.len() - shown);
        (group.add(text(rest, 0.0, height + 10.0, 11.0)), height + ENTRY.1)
    }

    fn tile(&self, device: usize, (x, y): (f64, f64), (width, height): (f64, f64)) -> Group {
        let Device { name, speed, memory } = &self.topology.devices[device];
        let memory = memory.map_or_else(String::new, |memory| format!(", {}", bytes(memory)));
        let facts = format!("{name} (speed {}{memory})", short(*speed));
        let short_name = self.topology.devices[device].name_in_host();
        let fill = self.copies[device].map_or_else(|| FREE.to_owned(), |copy| colour(copy.stage));
        let (ink, tooltip) = match self.copies[device] {
            None => ("#1f2933", facts),
            Some(copy) => {
                ("white", format!("{facts}: {}, copy {}, {} ms", copy.stage_name, copy.replica, number(copy.time)))
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
