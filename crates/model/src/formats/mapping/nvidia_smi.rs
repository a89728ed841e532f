//! The text of `nvidia-smi topo -m`: the kind of link of every pair of devices of one host, and of each to the network cards.

use std::collections::BTreeSet;

use super::matrix::{self, Entry, Quantity};
use crate::instance::Problems;
use crate::instance::validate::shorten;
use crate::mapping::{Channel, Device, Rate, Topology};

/// The bandwidth of each kind of link, in one direction. The default of NVLink is its peak, the same for each link of
/// V100, A100 and H100; those of the others are what PCIe 3.0 x16 usually reaches, and of cards what HDR InfiniBand does. Measure to know better.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkBandwidths {
    /// `NV#`: one NVLink; # of them carry as many times more.
    pub nvlink: Rate,
    /// `PIX`: at most one PCIe bridge.
    pub pix: Rate,
    /// `PXB`: several PCIe bridges, but no host bridge.
    pub pxb: Rate,
    /// `PHB`: a PCIe host bridge.
    pub phb: Rate,
    /// `NODE`: the interconnect between the host bridges of one NUMA node.
    pub node: Rate,
    /// `SYS`: the interconnect between NUMA nodes.
    pub sys: Rate,
    /// `NIC`: a network card.
    pub nic: Rate,
}

impl Default for LinkBandwidths {
    fn default() -> Self {
        Self {
            nvlink: Rate::gb(25.0),
            pix: Rate::gb(12.0),
            pxb: Rate::gb(12.0),
            phb: Rate::gb(11.0),
            node: Rate::gb(10.0),
            sys: Rate::gb(9.0),
            nic: Rate::gb(25.0),
        }
    }
}

impl LinkBandwidths {
    /// The kinds of links, as `nvidia-smi` names them: the nearer first, and last the cards.
    pub const KINDS: [&str; 7] = ["NV", "PIX", "PXB", "PHB", "NODE", "SYS", "NIC"];

    /// The bandwidth of a kind of link, for NVLink that of one; `None` where there is no such kind.
    pub fn of_kind(&mut self, kind: &str) -> Option<&mut Rate> {
        Some(match kind {
            "NV" => &mut self.nvlink,
            "PIX" => &mut self.pix,
            "PXB" => &mut self.pxb,
            "PHB" => &mut self.phb,
            "NODE" => &mut self.node,
            "SYS" => &mut self.sys,
            "NIC" => &mut self.nic,
            _ => return None,
        })
    }

    /// Bytes per millisecond over what a cell such as `NV2` or `SYS` names.
    fn of_cell(&self, cell: &str) -> Option<f64> {
        let rate = match cell {
            "PIX" => self.pix,
            "PXB" => self.pxb,
            "PHB" => self.phb,
            "NODE" => self.node,
            "SYS" => self.sys,
            _ => {
                let links: u32 = cell.strip_prefix("NV")?.parse().ok().filter(|links| (1..=64).contains(links))?;
                return Some(f64::from(links) * self.nvlink.bytes_per_ms());
            }
        };
        Some(rate.bytes_per_ms())
    }

    fn describe(&self) -> String {
        let Self { nvlink, pix, pxb, phb, node, sys, nic } = self;
        format!("NV# # x {nvlink}/s, PIX {pix}/s, PXB {pxb}/s, PHB {phb}/s, NODE {node}/s, SYS {sys}/s, NIC {nic}/s")
    }
}

/// Whether a line is the header of the matrix: `GPU0 GPU1 … CPU Affinity …`.
pub(super) fn is_header(line: &str) -> bool {
    plain(line).split_whitespace().next() == Some("GPU0")
}

/// The line without the escape sequences that underline the header on terminals.
fn plain(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(start) = rest.find("\u{1b}[") {
        plain.push_str(&rest[..start]);
        let sequence = &rest[start + 2..];
        let end = sequence.find(|c: char| c.is_ascii_alphabetic()).map_or(sequence.len(), |end| end + 1);
        rest = &sequence[end..];
    }
    plain + rest
}

/// How near a network card is, by the kind of the link to it.
fn distance(cell: &str) -> Option<usize> {
    LinkBandwidths::KINDS[1..6].iter().position(|kind| *kind == cell)
}

/// The cards that no other is nearer than, by the cells of a device's row.
fn nearest(cells: &[&str]) -> Vec<usize> {
    let distances = || cells.iter().enumerate().filter_map(|(card, cell)| Some((card, distance(cell)?)));
    let least = distances().map(|(_, distance)| distance).min();
    distances().filter(|&(_, distance)| Some(distance) == least).map(|(card, _)| card).collect()
}

/// What the devices share on the way to the network: those that share one of their nearest cards share all of them. `near` has
/// the nearest cards of each device.
fn channels(near: &[Vec<usize>], cards: &[&str], links: &LinkBandwidths) -> Vec<Channel> {
    // Cards, with the devices next to some of them.
    let mut sharing: Vec<(BTreeSet<usize>, Vec<usize>)> = Vec::new();
    for (device, own) in near.iter().enumerate().filter(|(_, own)| !own.is_empty()) {
        let mut all = (own.iter().copied().collect::<BTreeSet<usize>>(), vec![device]);
        for (cards, devices) in sharing.extract_if(.., |(cards, _)| own.iter().any(|card| cards.contains(card))) {
            all.0.extend(cards);
            all.1.extend(devices);
        }
        all.1.sort_unstable();
        sharing.push(all);
    }
    sharing.sort();
    let size = near.len();
    let channel = |(near, devices): (BTreeSet<usize>, Vec<usize>)| Channel {
        name: near.iter().map(|&card| cards[card]).collect::<Vec<_>>().join("+"),
        devices,
        inside: (0..size).collect(),
        bandwidth: near.len() as f64 * links.nic.bytes_per_ms(),
    };
    sharing.into_iter().map(channel).collect()
}

/// Whether a word names a device: `GPU` and a number.
fn is_device(word: &str) -> bool {
    word.strip_prefix("GPU").is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

pub(super) fn parse(text: &str, links: &LinkBandwidths, problems: &mut Problems) -> Topology {
    let lines: Vec<String> = text.lines().map(plain).collect();
    let header = lines.iter().position(|line| is_header(line)).unwrap_or_default();
    let words = lines.get(header).map(|line| line.split_whitespace()).into_iter().flatten();
    let names: Vec<&str> = words.take_while(|word| is_device(word)).collect();
    let size = names.len();
    if size > Topology::MAX_DEVICES {
        let cure = format!("keep at most {}", Topology::MAX_DEVICES);
        problems.add("header", format!("it names {size} devices"), cure);
        return Topology::default();
    }
    // After the columns of the devices come those of the network cards, and then those of affinities.
    let words = lines.get(header).map(|line| line.split_whitespace()).into_iter().flatten();
    let cards: Vec<&str> = words.skip(size).take_while(|word| !["CPU", "NUMA"].contains(word)).collect();
    let mut rows: Vec<Vec<Entry>> = Vec::new();
    let mut near = Vec::new();
    let mut numbers = Vec::new();
    for (line, content) in lines.iter().enumerate().skip(header + 1) {
        let mut words = content.split_whitespace();
        let Some(name) = words.next().filter(|word| is_device(word)) else { continue };
        if names.get(rows.len()).is_some_and(|&expected| expected != name) {
            let cause = format!("the row of {} begins with {}", names[rows.len()], shorten(name, 40));
            problems.add(format!("line {}", line + 1), cause, "give the rows in the order of the columns");
        }
        let cells: Vec<&str> = words.take(size + cards.len()).collect();
        rows.push(cells.iter().take(size).map(|cell| links.entry(cell)).collect());
        near.push(nearest(cells.get(size..).unwrap_or_default()));
        numbers.push(line + 1);
    }
    let place = |a: usize, b: Option<usize>| {
        let line = numbers.get(a).copied().unwrap_or(header + 1);
        b.map_or_else(|| format!("line {line}"), |b| format!("line {line}, GPU{b}"))
    };
    let cure = "give X on the diagonal, elsewhere NV1 to NV64, PIX, PXB, PHB, NODE or SYS".to_owned();
    let quantity = Quantity { cure, ..Quantity::bandwidth("bytes/ms", 1.0) };
    let bandwidth = matrix::values(&rows, size, &quantity, &place, problems);
    let devices = names.iter().map(|&name| Device::new(name)).collect();
    let source = format!("nvidia-smi topo -m, with {}", links.describe());
    let mut topology = Topology::new("", source, devices, |a, b| bandwidth[a * size + b]);
    topology.channels = channels(&near, &cards, links);
    topology
}

impl LinkBandwidths {
    fn entry(&self, cell: &str) -> Entry {
        match (cell, self.of_cell(cell)) {
            ("X", _) => Entry::Empty,
            (_, Some(bandwidth)) => Entry::Number(bandwidth),
            (other, None) => Entry::Other(format!("{:?}", shorten(other, 40))),
        }
    }
}
