//! Channels that devices share: against closed forms, and against a count of what passes each of them.

mod common;
mod mappings;
mod timelines;

use std::collections::BTreeMap;

use dagsplit::mapping::{Channel, Device, Mapping, MappingProblem, MessageTime, Topology};
use dagsplit::simulate::schedule::GPipe;
use dagsplit::simulate::{Collective, Communication, Links, Pipeline, TrackKind, Work};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use timelines::{chain, microbatches, run};

/// Two hosts of so many devices, each with one uplink.
fn uplinks(size: usize, bandwidth: f64) -> Vec<Channel> {
    let channel = |host: usize| {
        let devices: Vec<usize> = (host * size..(host + 1) * size).collect();
        Channel { name: format!("uplink {host}"), inside: devices.clone(), devices, bandwidth }
    };
    (0..2).map(channel).collect()
}

/// Two stages on two hosts, forward 1 and backward 2 with messages of 3 and weights of `pipelines`, all at 1 byte each.
fn pipelines(count: usize, how: impl Into<Communication>) -> Pipeline {
    let mut problem = chain(&[(1.0, 2.0); 2], count);
    problem.topology.channels = uplinks(count, 1.0);
    let devices = (0..problem.copies()).collect();
    Pipeline::of_mapping(&problem, &Mapping { devices }, how).unwrap()
}

#[test]
fn pipelines_over_one_uplink_share_it() {
    for count in [1, 2, 8] {
        let makespan = |links: Links, batch| run(&pipelines(count, links), &GPipe, microbatches(batch)).makespan();
        // Weights of a stage move inside of its host: 2 (count - 1) messages of one byte.
        let (r, reduce) = (count as f64, 2.0 * (count - 1) as f64);
        // All pipelines send at once, and each message takes as long as all of them: 3 count.
        assert_eq!(makespan(Links::Blocking, 1), (1.0 + 6.0 * r + 1.0) + (2.0 + 6.0 * r + 2.0) + reduce);
        assert_eq!(makespan(Links::Overlapped, 1), (1.0 + 3.0 * r + 1.0) + (2.0 + 3.0 * r + 2.0) + reduce);
        // One after another, the last of them is as late; then its gradients come back last, and no other ones wait.
        let queued = makespan(Links::Contended, 1);
        assert!(queued >= 1.0 + 3.0 * r + 1.0 + 2.0 + 3.0 + 2.0 + reduce, "{queued} of {count}");
        assert!(queued <= makespan(Links::Overlapped, 1), "{queued} of {count}");
        // Four microbatches of all of them keep an uplink busy that long.
        assert!(makespan(Links::Contended, 4) >= 4.0 * 3.0 * r + 2.0);
    }
}

/// The gradients of a stage whose copies are on two hosts: by hosts, rails share their uplinks.
#[test]
fn rails_share_what_their_devices_share() {
    let mut topology =
        Topology::new("hosts", "made up", (0..8).map(|d| Device::new(d.to_string())).collect(), |a, b| {
            if a / 4 == b / 4 { 16.0 } else { 2.0 }
        });
    let time = |topology: &Topology, collective: Collective| {
        let problem = MappingProblem { topology: topology.clone(), ..chain(&[(1.0, 2.0)], 8) };
        let how = Communication { links: Links::Blocking, all_reduce: collective };
        let pipeline = Pipeline::of_mapping(&problem, &Mapping { devices: (0..8).collect() }, how).unwrap();
        pipeline.all_reduces[0].time(1)
    };
    // Eight bytes: 14 messages of one; 6 of two inside and 2 of one between; halves inside, quarters, then eighths between.
    let alone = [Collective::Ring, Collective::Hierarchical, Collective::Tree].map(|way| time(&topology, way));
    assert_eq!(alone, [14.0 / 2.0, 6.0 * 2.0 / 16.0 + 2.0 / 2.0, 2.0 * (4.0 + 2.0) / 16.0 + 2.0 * 1.0 / 2.0]);
    topology.channels = uplinks(4, 2.0);
    let shared = [Collective::Ring, Collective::Hierarchical, Collective::Tree].map(|way| time(&topology, way));
    assert_eq!(
        shared,
        [alone[0], 6.0 * 2.0 / 16.0 + 4.0 * 2.0 / 2.0, 2.0 * (4.0 + 2.0) / 16.0 + 4.0 * 2.0 * 1.0 / 2.0]
    );
    // An uplink for each is as good as none.
    topology.channels = (0..8)
        .map(|d| Channel {
            name: String::new(),
            devices: vec![d],
            inside: (d / 4 * 4..d / 4 * 4 + 4).collect(),
            bandwidth: 2.0,
        })
        .collect();
    assert_eq!([Collective::Ring, Collective::Hierarchical, Collective::Tree].map(|way| time(&topology, way)), alone);
}

fn channel(devices: usize) -> impl Strategy<Value = Channel> {
    (vec(0..devices, 1..4), vec(0..devices, 0..4), select(vec![0.5, 1.0, 2.0, 4.0])).prop_map(
        |(shared, others, bandwidth)| {
            let mut devices = shared;
            devices.sort_unstable();
            let mut inside = [&devices[..], &others].concat();
            inside.sort_unstable();
            inside.dedup();
            Channel { name: "channel".into(), devices, inside, bandwidth }
        },
    )
}

/// What each message takes, by the bytes that every channel carries in each direction.
fn counted(topology: &Topology, messages: &[(usize, usize)], bytes: f64) -> Vec<f64> {
    let mut carried: BTreeMap<(usize, bool), f64> = BTreeMap::new();
    let passed = |&(a, b): &(usize, usize)| {
        let mut passed = Vec::new();
        for (c, channel) in topology.channels.iter().enumerate() {
            for (near, far, is_out) in [(a, b, true), (b, a, false)] {
                for _ in channel.devices.iter().filter(|&&device| device == near && !channel.inside.contains(&far)) {
                    passed.push((c, is_out));
                }
            }
        }
        passed
    };
    messages.iter().flat_map(passed).for_each(|way| *carried.entry(way).or_default() += bytes);
    let time = |message: &(usize, usize)| {
        let on_channel = |way: (usize, bool)| carried[&way] / topology.channels[way.0].bandwidth;
        let alone = topology.message_time(message.0, message.1, bytes) - topology.latency(message.0, message.1);
        passed(message).into_iter().map(on_channel).fold(alone, f64::max) + topology.latency(message.0, message.1)
    };
    messages.iter().map(time).collect()
}

proptest! {
    #[test]
    fn messages_at_once_share_what_they_pass(
        channels in vec(channel(6), 0..4), rates in vec(select(vec![1.0, 2.0, 4.0]), 36), latency in 0..3u8,
        messages in vec((0..6usize, 0..6usize).prop_filter("between two", |(a, b)| a != b), 1..6), bytes in 1..9u8,
    ) {
        let devices = (0..6).map(|d| Device::new(d.to_string())).collect();
        let mut topology = Topology::new("any", "made up", devices, |a, b| rates[a * 6 + b]).with_latency(|_, _| latency.into());
        topology.channels = channels;
        let times: Vec<f64> = topology.at_once(&messages, bytes.into()).iter().map(|MessageTime { latency, transfer }| latency + transfer).collect();
        let expected = counted(&topology, &messages, bytes.into());
        prop_assert!(times.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-9), "{times:?} for {expected:?}");
    }

    /// Channels only make pipelines slower, and what queues for one of them passes it one at a time.
    #[test]
    fn channels_make_nothing_faster(
        times in vec((1..5u8, 1..5u8), 1..4), replicas in 1..4usize, channels in vec(channel(9), 1..4), count in 1..4usize,
        links in select(vec![Links::Blocking, Links::Overlapped, Links::Contended]),
        all_reduce in select(vec![Collective::Ring, Collective::Hierarchical, Collective::Tree, Collective::Auto]),
    ) {
        let times: Vec<(f64, f64)> = times.into_iter().map(|(forward, backward)| (forward.into(), backward.into())).collect();
        let mut problem = chain(&times, replicas);
        let mapping = Mapping { devices: (0..problem.copies()).collect() };
        let how = Communication { links, all_reduce };
        let free = run(&Pipeline::of_mapping(&problem, &mapping, how).unwrap(), &GPipe, microbatches(count));
        let copies = problem.copies();
        problem.topology.channels = channels.into_iter().filter(|channel| channel.inside.iter().all(|&device| device < copies)).collect();
        let shared = run(&Pipeline::of_mapping(&problem, &mapping, how).unwrap(), &GPipe, microbatches(count));
        prop_assert!(shared.makespan() >= free.makespan() * (1.0 - 1e-12));
        prop_assert!(shared.lower_bound() <= shared.makespan() * (1.0 + 1e-12));
        let mut on_channels: BTreeMap<(usize, bool), Vec<(f64, f64)>> = BTreeMap::new();
        for span in shared.spans().filter(|span| shared.operation(span).work == Work::Message) {
            if let TrackKind::Channel { index, is_out } = shared.track(&span).kind {
                on_channels.entry((index, is_out)).or_default().push((span.start, span.end));
            }
        }
        prop_assert!(links == Links::Contended || on_channels.is_empty());
        for spans in on_channels.values_mut() {
            spans.sort_by(|a, b| a.partial_cmp(b).unwrap());
            prop_assert!(spans.windows(2).all(|pair| pair[0].1 <= pair[1].0 + 1e-9), "{spans:?}");
        }
    }
}
