//! Stages: a dynamic program over blocks, stages and devices (RaNNC 2021, section III-C, Algorithm 1).

use super::profile::{Profile, StageTime};

/// What the dynamic program is to form: the parameters of Algorithm 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// How many stages, S in the paper.
    pub stages: usize,
    /// How many devices they may share, D in the paper.
    pub devices: usize,
    /// The most devices of one stage.
    pub most_replicas: usize,
    /// Samples of a microbatch of the whole pipeline, BS / R / MB in the paper; a stage's devices share them, none without
    /// a sample.
    pub samples: usize,
}

/// Stages of successive blocks.
#[derive(Debug, Clone, PartialEq)]
pub struct Pipeline {
    /// For each stage the block after its last one, and how many devices share it.
    pub stages: Vec<(usize, usize)>,
    /// The longest forward and the longest backward time of a stage for a microbatch.
    pub time: StageTime,
}

#[derive(Debug, Clone, Copy)]
struct Cell {
    time: StageTime,
    /// Blocks and devices of the stages before the last.
    before: (usize, usize),
}

/// The stages whose longest forward and longest backward times sum up to least; `None` where none fit, or `stop` says
/// so.
///
/// For each number of stages, of blocks and of devices the table holds the best pipeline, by its last stage. The
/// published program never lowers d_min again, so that one interval too large for any device leaves all later stages
/// next to no devices. Here it holds for one number of stages, where it is exact: what cannot be done with d devices
/// cannot be done for more blocks, or with fewer devices. The paper gives each device ⌊samples / devices⌋ of a microbatch,
/// by which twenty devices would be done with 32 samples as soon as each had one; here, as in the published program, the
/// busiest one counts, which has ⌈samples / devices⌉. Devices may be left over. Only the empty pipeline has no
/// blocks. O(S · (B² · D · replicas + B · nets)).
pub fn form_stages(profile: &Profile, request: &Request, stop: &dyn Fn() -> bool) -> Option<Pipeline> {
    let Request { stages, devices, most_replicas, samples } = *request;
    let blocks = profile.blocks();
    if stages > blocks.min(devices) {
        return None;
    }
    // The time of the busiest replica of a stage, relative to one sample.
    let share = |replicas: usize| (replicas <= samples).then(|| samples.div_ceil(replicas) as f64);
    let at = |b: usize, d: usize| b * (devices + 1) + d;
    let mut table: Vec<Vec<Option<Cell>>> = vec![vec![None; at(blocks + 1, 0)]; stages + 1];
    let empty = Cell { time: [0.0; 2], before: (0, 0) };
    table[0][..=devices].fill(Some(empty));
    for s in 1..=stages {
        let mut least_devices = s;
        for b in s..=blocks - (stages - s) {
            if stop() {
                return None;
            }
            let row = profile.ending_at(b);
            for d in (least_devices..=devices - (stages - s)).rev() {
                let mut best: Option<Cell> = None;
                for (before, time) in (s - 1..b).rev().zip(&row) {
                    for replicas in 1..=most_replicas.min(d - (s - 1)) {
                        let Some(share) = share(replicas) else { break };
                        let Some(earlier) = table[s - 1][at(before, d - replicas)] else { continue };
                        let time = [0, 1].map(|pass| earlier.time[pass].max(time[pass] * share));
                        if best.is_none_or(|best| time[0] + time[1] < best.time[0] + best.time[1]) {
                            best = Some(Cell { time, before: (before, d - replicas) });
                        }
                    }
                }
                if best.is_none() {
                    least_devices = d + 1;
                    break;
                }
                table[s][at(b, d)] = best;
            }
        }
    }
    let time = table[stages][at(blocks, devices)]?.time;
    let mut reached = Vec::with_capacity(stages);
    let (mut b, mut d) = (blocks, devices);
    for s in (1..=stages).rev() {
        let before = table[s][at(b, d)]?.before;
        reached.push((b, d - before.1));
        (b, d) = before;
    }
    reached.reverse();
    Some(Pipeline { stages: reached, time })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::instance::{Edge, Instance, Node, Platform};
    use crate::preprocess::Reduced;
    use crate::problem::{Problem, ProblemSpec};

    /// A path of forward nodes that take these times and bytes and send nothing.
    fn path(nodes: &[(u8, u8)], memory: u8) -> Reduced {
        let node = |(id, &(time, memory)): (u64, &(u8, u8))| Node {
            accelerator_times: vec![Some(time.into())],
            memory: memory.into(),
            ..Node::new(id)
        };
        let n = nodes.len() as u64;
        let instance = Instance {
            platform: Platform::uniform(1, Some(memory.into()), 0),
            nodes: (0..n).zip(nodes).map(node).collect(),
            edges: (1..n).map(|id| Edge { source: id - 1, target: id }).collect(),
            ..Instance::default()
        };
        Reduced::contracted_only(&Problem::new(&instance, ProblemSpec::of(&instance)).expect("valid"))
    }

    /// The least time over all ways to cut the nodes and to share the devices.
    fn least(nodes: &[(u8, u8)], memory: u8, request: &Request) -> Option<f64> {
        if request.stages == 0 {
            return nodes.is_empty().then_some(0.0);
        }
        let first = |cut: usize, replicas: usize| {
            let bytes: u32 = nodes[..cut].iter().map(|node| u32::from(node.1)).sum();
            let time: u32 = nodes[..cut].iter().map(|node| u32::from(node.0)).sum();
            let share = request.samples.div_ceil(replicas);
            let fits = bytes <= memory.into() && replicas <= request.samples;
            let devices = request.devices.checked_sub(replicas).filter(|_| fits)?;
            let rest = Request { stages: request.stages - 1, devices, ..*request };
            Some(least(&nodes[cut..], memory, &rest)?.max(f64::from(time) * share as f64))
        };
        let ways = (1..=nodes.len()).flat_map(|cut| (1..=request.most_replicas).map(move |replicas| (cut, replicas)));
        ways.filter_map(|(cut, replicas)| first(cut, replicas)).min_by(f64::total_cmp)
    }

    proptest! {
        #[test]
        fn it_finds_the_least_time(
            nodes in prop::collection::vec((1..9u8, 0..5u8), 1..6),
            memory in 0..12u8,
            stages in 1..4usize,
            devices in 1..6usize,
            most_replicas in 1..4usize,
            samples in 1..7usize,
        ) {
            let reduced = path(&nodes, memory);
            let request = Request { stages, devices, most_replicas, samples };
            let found = form_stages(&Profile::new(&reduced, 0), &request, &|| false);
            prop_assert_eq!(found.as_ref().map(|found| found.time[0] + found.time[1]), least(&nodes, memory, &request));
            if let Some(found) = found {
                prop_assert_eq!(found.stages.len(), stages);
                prop_assert_eq!(found.stages.last().map(|stage| stage.0), Some(nodes.len()));
                prop_assert!(found.stages.iter().map(|stage| stage.1).sum::<usize>() <= devices);
            }
        }
    }
}
