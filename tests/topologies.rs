//! Topologies: generators, formats, errors, and the files in `instances/topologies`.

use std::path::Path;

use dagsplit::formats::{
    TopologyOptions, parse_mapping, parse_stages, parse_topology, read_topology, write_mapping, write_stages,
    write_topology,
};
use dagsplit::generate::topology::{
    Dgx1, FatTree, Hierarchical, Host, Mesh, Network, Nvswitch, RandomBlk1, RandomBlk2, Server, TopologyFamily,
    TopologyRecipe, Torus, UniformDist, generate, join,
};
use dagsplit::mapping::{ClaimedMapping, Device, Message, PlacedCopy, Rate, Stage, StageGraph, Topology};
use proptest::prelude::*;
use serde_json::Value;

fn make(family: impl Into<TopologyFamily>) -> Topology {
    generate(&TopologyRecipe::new(family)).expect("a sensible recipe")
}

fn parse(text: &str) -> Result<Topology, String> {
    parse_topology(text, &TopologyOptions::default()).map_err(|error| error.to_string())
}

/// Bandwidth in units of 2³⁰ bytes per second.
fn gib(topology: &Topology, a: usize, b: usize) -> f64 {
    topology.bandwidth(a, b) / Rate::gib(1.0).bytes_per_ms()
}

/// Every family with its default parameters, and larger ones.
fn families() -> Vec<TopologyFamily> {
    vec![
        Hierarchical::default().into(),
        Dgx1::default().into(),
        Mesh::default().into(),
        Torus { shape: "2x3x4".parse().expect("a shape") }.into(),
        RandomBlk1::default().into(),
        RandomBlk2::default().into(),
        UniformDist::default().into(),
        FatTree { switch_latency: 0.5, ..FatTree::default() }.into(),
        Nvswitch { network_latency: 2.0, ..Nvswitch::default() }.into(),
        Nvswitch { nodes: 2, nics: Some(3), ..Nvswitch::default() }.into(),
        Hierarchical { shared_uplink: true, ..Hierarchical::default() }.into(),
    ]
}

#[test]
fn the_papers_figures_are_reproduced() {
    let hierarchical = make(Hierarchical::default());
    assert_eq!((gib(&hierarchical, 0, 3), gib(&hierarchical, 3, 4)), (11.0, 1.1));
    let dgx = make(Dgx1::default());
    let figures: Vec<f64> = [1, 3, 4, 5, 8].iter().map(|&b| (10.0 * gib(&dgx, 0, b)).round() / 10.0).collect();
    assert_eq!(figures, [21.4, 43.2, 43.2, 10.1, 1.4]);
    // From corner to corner of 8 × 8: 14 hops, on the torus 2.
    let (mesh, torus) = (make(Mesh::default()), make(Torus::default()));
    assert_eq!(
        [gib(&mesh, 0, 1), gib(&mesh, 0, 63), gib(&torus, 0, 63)].map(|x| (x * 100.0).round()),
        [7810.0, 59.0, 3900.0]
    );
    // 1e-4 to 1e-2 MB/us are 100 to 10 000 MiB/s.
    let blocks = make(RandomBlk1::default());
    let pairs = || (0..64).flat_map(|a| (0..a).map(move |b| (a, b)));
    let (least, most) = (Rate::mib(100.0).bytes_per_ms(), Rate::mib(10_000.0).bytes_per_ms());
    assert!(pairs().all(|(a, b)| (least..=most).contains(&blocks.bandwidth(a, b))));
    assert!(pairs().filter(|&(a, b)| blocks.bandwidth(a, b) == least).count() > 1000);
}

#[test]
fn distant_blocks_are_slower_by_their_distance() {
    let family = RandomBlk2 { devices: 4, nodes: Some(4), ..RandomBlk2::default() };
    let topology = make(family);
    let near = topology.bandwidth(0, 1);
    assert_eq!((topology.bandwidth(1, 3), topology.bandwidth(0, 3)), (near / 2.0, near / 3.0));
}

#[test]
fn switches_on_the_way_count() {
    let tree = make(FatTree { switch_latency: 2.0, ..FatTree::default() });
    let figures = |b| (tree.bandwidth(0, b) / 12.5e6, tree.latency(0, b));
    assert_eq!([figures(1), figures(2), figures(4)], [(1.0, 0.002), (0.5, 0.006), (0.25, 0.01)]);
    let servers = make(Nvswitch { server: Server::DgxH100, ..Nvswitch::default() });
    assert_eq!(
        (servers.bandwidth(0, 7), servers.bandwidth(0, 8), servers.devices[0].memory),
        (450e6, 50e6, Some(80e9))
    );
}

#[test]
fn neighbours_share_cards_and_nodes_an_uplink() {
    let servers = make(Nvswitch { nodes: 2, nics: Some(3), ..Nvswitch::default() });
    let shared: Vec<&[usize]> = servers.channels.iter().map(|channel| &channel.devices[..]).collect();
    assert_eq!(shared, [&[0, 1, 2][..], &[3, 4, 5], &[6, 7], &[8, 9, 10], &[11, 12, 13], &[14, 15]]);
    let last = &servers.channels[5];
    assert_eq!((&last.name[..], last.inside.len(), last.bandwidth), ("node1/nic2", 8, servers.bandwidth(0, 8)));
    let nodes = make(Hierarchical { shared_uplink: true, ..Hierarchical::default() });
    assert!(nodes.channels.iter().all(|channel| channel.devices == channel.inside && channel.devices.len() == 4));
    assert_eq!(nodes.channels.len(), 4);
    for nics in [0, 9] {
        let recipe = TopologyRecipe::new(Nvswitch { nics: Some(nics), ..Nvswitch::default() });
        assert!(generate(&recipe).unwrap_err().to_string().contains("--nics"));
    }
}

/// Hosts that are alike make what the families of several nodes do.
#[test]
fn joined_hosts_are_a_cluster() {
    let (lone, nodes) = (Hierarchical { nodes: 1, node_size: 3, ..Hierarchical::default() }, 4);
    let server = Nvswitch { nodes: 1, nics: Some(3), ..Nvswitch::default() };
    let cases: [(Topology, Topology, Network); 3] = [
        (
            make(lone.clone()),
            make(Hierarchical { nodes, shared_uplink: true, ..lone.clone() }),
            Network { between: lone.between, latency: 0.0, shared_uplink: true },
        ),
        (
            make(server.clone()),
            make(Nvswitch { nodes, network_latency: 3.0, ..server }),
            Network { between: Rate::gb(25.0), latency: 3.0, shared_uplink: false },
        ),
        (
            make(Dgx1 { nodes: 1, ..Dgx1::default() }),
            make(Dgx1 { nodes, ..Dgx1::default() }),
            Network { between: Rate::gib(1.4), latency: 0.0, shared_uplink: false },
        ),
    ];
    for (inside, whole, network) in cases {
        let host = |i: usize| Host { name: format!("node{i}"), inside: &inside };
        let hosts: Vec<Host> = (0..nodes).map(host).collect();
        let joined = join(&whole.name[..], &whole.source[..], &hosts, &network).unwrap();
        assert_eq!(joined, whole);
    }
}

#[test]
fn unlike_hosts_keep_what_is_theirs() {
    let smi = parse(NVIDIA_SMI).unwrap();
    let pair = parse("GB/s, x/a, y/a\nx/a, , 4\ny/a, 5,\n\nus, x/a, y/a\nx/a, , 7\ny/a, 8,\n").unwrap();
    let hosts = [("s", &smi), ("p", &pair)].map(|(name, inside)| Host { name: name.into(), inside });
    let network = Network { between: Rate::gb(1.0), latency: 9.0, shared_uplink: false };
    let cluster = join("", "", &hosts, &network).unwrap();
    // A file of two hosts keeps what it calls them.
    assert_eq!(
        cluster.devices.iter().map(|device| &device.name[..]).collect::<Vec<_>>(),
        ["s/GPU0", "s/GPU1", "s/GPU2", "p/x/a", "p/y/a"]
    );
    let links = |pairs: [(usize, usize); 5]| pairs.map(|(a, b)| (cluster.bandwidth(a, b), cluster.latency(a, b)));
    assert_eq!(
        links([(0, 1), (3, 4), (4, 3), (2, 3), (4, 0)]),
        [(300e6, 0.0), (4e6, 0.007), (5e6, 0.008), (1e6, 0.009), (1e6, 0.009)]
    );
    let [channel] = &cluster.channels[..] else { panic!("{:?}", cluster.channels) };
    assert_eq!(
        (&channel.name[..], &channel.devices[..], &channel.inside[..]),
        ("s/NIC0", &[0, 1, 2][..], &[0, 1, 2][..])
    );
    assert_eq!((channel.carries(0, 1), channel.carries(0, 3), channel.carries(3, 0)), (0, 1, 0));

    let twice = [hosts[0].clone(), Host { name: "s".into(), ..hosts[1].clone() }];
    let wrong = join("", "", &twice, &Network { latency: -1.0, ..network }).unwrap_err().to_string();
    assert!(wrong.contains("two are called s") && wrong.contains("--network-latency: -1 is out of range"), "{wrong}");
    assert!(join("", "", &[], &network).unwrap_err().to_string().contains("0 devices"));
}

#[test]
fn equal_recipes_give_equal_files_and_seeds_matter() {
    for family in families() {
        assert_eq!(make(family.clone()), make(family));
    }
    let seeded = |seed| generate(&TopologyRecipe::seeded(UniformDist::default(), seed)).expect("a sensible recipe");
    assert_ne!(seeded(1), seeded(2));
}

#[test]
fn senseless_recipes_are_refused_with_every_option() {
    let family = RandomBlk1 {
        devices: 3,
        nodes: Some(4),
        slowest: Rate::gb(9.0),
        fastest: Rate::gb(1.0),
        between: Rate::gb(1.0),
    };
    let recipe = TopologyRecipe { memory: Some(-1.0), ..TopologyRecipe::new(family) };
    insta::assert_snapshot!(generate(&recipe).unwrap_err(), @r#"
    cannot generate this: 3 problems found
      --nodes: 4 is out of range; give 1 to 3
      --slowest: 9GB is more than the fastest, 1GB; give the smaller of the two
      --memory: -1 is out of range; give a number above 0 up to 1e15
    "#);
    let huge = TopologyRecipe::new(Hierarchical { nodes: usize::MAX, ..Hierarchical::default() });
    assert!(generate(&huge).unwrap_err().to_string().contains("more than 4096 devices"));
    let odd = TopologyRecipe::new(FatTree { ports: 5, oversubscription: 0.5, ..FatTree::default() });
    let message = generate(&odd).unwrap_err().to_string();
    assert!(message.contains("5 is odd") && message.contains("--oversubscription"), "{message}");
}

#[test]
fn native_files_round_trip_and_follow_the_schema() {
    let schema: Value = serde_json::from_str(include_str!("../docs/topology.schema.json")).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let mut topologies: Vec<Topology> = families().into_iter().map(make).collect();
    topologies[0].devices[1] = Device { name: "é\"".into(), speed: 0.5, memory: Some(1.0) };
    for topology in topologies {
        let text = write_topology(&topology);
        assert_eq!(parse(&text).unwrap(), topology);
        assert!(validator.is_valid(&serde_json::from_str(&text).unwrap()), "{}", topology.name);
    }
}

/// The examples of docs/mapping.md, by the schema they state.
fn example(schema: &str) -> &'static str {
    let blocks =
        include_str!("../docs/mapping.md").split("```json\n").skip(1).filter_map(|rest| rest.split("```").next());
    blocks.into_iter().find(|block| block.contains(schema)).expect("an example")
}

#[test]
fn the_documented_examples_are_files() {
    let topology = parse(example("dagsplit-topology/1")).unwrap();
    assert_eq!((topology.name.as_str(), topology.devices[1].speed, topology.latency(0, 1)), ("two hosts", 0.5, 0.02));
    let stages = parse_stages(example("dagsplit-stages/1")).unwrap();
    assert_eq!(parse_stages(&write_stages(&stages)).unwrap(), stages);
    let mapping = parse_mapping(example("dagsplit-mapping/1")).unwrap();
    assert_eq!(parse_mapping(&write_mapping(&stages, &topology, &mapping)).unwrap(), mapping);
    for (schema, text) in [
        (include_str!("../docs/topology.schema.json"), example("dagsplit-topology/1").to_owned()),
        (include_str!("../docs/stages.schema.json"), example("dagsplit-stages/1").to_owned()),
        (include_str!("../docs/stages.schema.json"), write_stages(&stages)),
        (include_str!("../docs/mapping.schema.json"), example("dagsplit-mapping/1").to_owned()),
        (include_str!("../docs/mapping.schema.json"), write_mapping(&stages, &topology, &mapping)),
    ] {
        let validator = jsonschema::validator_for(&serde_json::from_str(schema).unwrap()).unwrap();
        assert!(validator.is_valid(&serde_json::from_str(&text).unwrap()), "{text}");
    }
    let csv = include_str!("../docs/mapping.md").split("```csv\n").nth(1).and_then(|rest| rest.split("```").next());
    let topology = parse(csv.expect("an example")).unwrap();
    assert_eq!((topology.bandwidth(0, 1), topology.latency(1, 0)), (48.4e6, 1.9e-3));
}

#[test]
fn a_later_version_and_other_units_are_refused() {
    let message = parse(r#"{"schema": "dagsplit-topology/2"}"#).unwrap_err();
    assert_eq!(message, r#"the schema is "dagsplit-topology/2"; here "dagsplit-topology/1" is read"#);
    let text = example("dagsplit-topology/1").replace("\"bytes/ms\"", "\"GB/s\"");
    assert!(
        parse(&text).unwrap_err().contains("units: time is in \"ms\", memory in \"bytes\" and bandwidth in \"GB/s\"")
    );
}

const NVIDIA_SMI: &str = "\
\t\u{1b}[4mGPU0\tGPU1\tGPU2\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\u{1b}[0m
GPU0\t X \tNV12\tSYS\tPXB\t0-31\t0\t\tN/A
GPU1\tNV12\t X \tNODE\tPXB\t0-31\t0\t\tN/A
GPU2\tSYS\tNODE\t X \tSYS\t32-63\t1\t\tN/A
NIC0\tPXB\tPXB\tSYS\t X \t\t\t\t

Legend:

  X    = Self
  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)
";

const CUDA: &str = "\
[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]
Device: 0, Tesla V100-SXM2-16GB, pciBusID: 6, pciDeviceID: 0, pciDomainID:0
Device: 1, Tesla V100-SXM2-16GB, pciBusID: 7, pciDeviceID: 0, pciDomainID:0
Device=0 CAN Access Peer Device=1
Device=1 CAN Access Peer Device=0

P2P Connectivity Matrix
     D\\D     0     1
     0\t     1     1
     1\t     1     1
Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)
   D\\D     0      1 
     0 735.24   9.73 
     1   9.75 738.72 
Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)
   D\\D     0      1 
     0 735.24  48.34 
     1  48.33 739.42 
Bidirectional P2P=Disabled Bandwidth Matrix (GB/s)
   D\\D     0      1 
     0 740.12  10.11 
     1  10.10 741.17 
P2P=Disabled Latency Matrix (us)
   GPU     0      1 
     0   1.78  17.46 
     1  17.16   1.77 

   CPU     0      1 
     0   3.75   9.70 
     1   9.55   3.71 
P2P=Enabled Latency (P2P Writes) Matrix (us)
   GPU     0      1 
     0   1.78   1.81 
     1   1.80   1.77 

   CPU     0      1 
     0   3.75   2.70 
     1   2.55   3.71 
";

#[test]
fn the_text_of_nvidia_smi_gives_links_their_bandwidths() {
    let topology = parse(NVIDIA_SMI).unwrap();
    assert_eq!(topology.devices.iter().map(|d| d.name.as_str()).collect::<Vec<_>>(), ["GPU0", "GPU1", "GPU2"]);
    let figures = [(0, 1), (0, 2), (1, 2), (2, 1)].map(|(a, b)| topology.bandwidth(a, b));
    assert_eq!(figures, [300e6, 9e6, 10e6, 10e6]);
    let mut options = TopologyOptions::default();
    *options.links.of_kind("NV").unwrap() = Rate::gib(21.4);
    let measured = parse_topology(NVIDIA_SMI, &options).unwrap();
    assert_eq!(gib(&measured, 0, 1), 12.0 * 21.4);
    assert!(measured.source.contains("21.4GiB/s"));
    let broken = NVIDIA_SMI.replace("NODE\tPXB", "NVX\tPXB").replace("GPU2\tSYS\tNODE", "GPU3\tSYS");
    insta::assert_snapshot!(parse(&broken).unwrap_err(), @r#"
    3 problems found
      line 4: the row of GPU2 begins with GPU3; give the rows in the order of the columns
      line 3, GPU2: the bandwidth is "NVX"; give X on the diagonal, elsewhere NV1 to NV64, PIX, PXB, PHB, NODE or SYS
      line 4, GPU1: there is no bandwidth; give X on the diagonal, elsewhere NV1 to NV64, PIX, PXB, PHB, NODE or SYS
    "#);
}

/// Who is next to which card: two switches with two cards each, a card of its own behind a third one, and one that is only
/// farther away.
#[test]
fn cards_are_shared_by_those_that_are_next_to_them() {
    let text = "\tGPU0\tGPU1\tGPU2\tGPU3\tmlx5_0\tmlx5_1\tmlx5_2\tmlx5_3\tCPU Affinity\tNUMA Affinity
GPU0\t X \tNV4\tNV4\tNV4\tPXB\tPXB\tNODE\tSYS\t0-31\t0
GPU1\tNV4\t X \tNV4\tNV4\tNODE\tNODE\tPIX\tSYS\t0-31\t0
GPU2\tNV4\tNV4\t X \tNV4\tPXB\tPXB\tNODE\tSYS\t0-31\t0
GPU3\tNV4\tNV4\tNV4\t X \t0-31\t0
mlx5_0\tPXB\tNODE\tPXB\tSYS\t X \tPIX\tNODE\tSYS
";
    let mut options = TopologyOptions::default();
    *options.links.of_kind("NIC").unwrap() = Rate::gb(10.0);
    let topology = parse_topology(text, &options).unwrap();
    let shared: Vec<(&str, &[usize], f64)> =
        topology.channels.iter().map(|c| (&c.name[..], &c.devices[..], c.bandwidth)).collect();
    assert_eq!(shared, [("mlx5_0+mlx5_1", &[0, 2][..], 20e6), ("mlx5_2", &[1][..], 10e6)]);
    assert!(topology.channels.iter().all(|channel| channel.inside == [0, 1, 2, 3]));
    assert!(parse(&text.replace("PXB", "X").replace("PIX", "X").replace("NODE", "X").replace("SYS", "X")).is_ok());
}

#[test]
fn the_text_of_the_cuda_sample_gives_bandwidths_and_latencies() {
    let topology = parse(CUDA).unwrap();
    assert_eq!(topology.devices[1].name, "GPU 1 (Tesla V100-SXM2-16GB)");
    assert_eq!((topology.bandwidth(0, 1), topology.bandwidth(1, 0)), (48.34e6, 48.33e6));
    assert_eq!((topology.latency(0, 1), topology.latency(1, 0)), (1.81 * 1e-3, 1.8 * 1e-3));
    // Without peer access the other matrices count.
    let disabled: String = CUDA.lines().take(14).map(|line| format!("{line}\n")).collect();
    assert_eq!(parse(&disabled).unwrap().bandwidth(0, 1), 9.73e6);
    let broken = CUDA.replace("     1  48.33 739.42 \n", "").replace("48.34", "fast");
    insta::assert_snapshot!(parse(&broken).unwrap_err(), @r#"
    2 problems found
      line 16: the bandwidth matrix has 1 rows for 2 devices; give one row for each device
      line 17, column 3: the bandwidth is "fast"; give a number of GB/s from 1e-9 to 1e9
    "#);
}

#[test]
fn problems_of_channels_come_all_at_once() {
    let text = r#"{"schema": "dagsplit-topology/1", "devices": [{}, {}], "bandwidth": [[null, 1], [1, null]], "channels": [
        {"devices": [], "bandwidth": 1}, {"devices": [1, 2], "inside": [2], "bandwidth": 0}, {"devices": [0], "speed": 1}]}"#;
    let message = parse(text).unwrap_err().to_string();
    for problem in [
        "channels[2]",
        "channels[0]: it has no devices",
        "channels[1]: it names device 2 of 2",
        "channels[1]: device 1 is not among those inside",
        "channels[1]: its bandwidth is 0",
    ] {
        assert!(message.contains(problem), "{message}");
    }
}

#[test]
fn problems_of_a_file_come_all_at_once() {
    let text = r#"{"schema": "dagsplit-topology/1", "devices": [{}, {}, {}],
        "bandwidth": [[null, 0, "fast"], [1, null], [1, null, 2], [1, 1, 1]], "latency": [[null, -1, 0], [0, null, 0], [0, 0, null]]}"#;
    insta::assert_snapshot!(parse(text).unwrap_err(), @r#"
    6 problems found
      bandwidth[3]: the bandwidth matrix has 4 rows for 3 devices; give one row for each device
      bandwidth[0][1]: the bandwidth is 0; give a number of bytes/ms from 1e-3 to 1e15
      bandwidth[0][2]: the bandwidth is "fast"; give a number of bytes/ms from 1e-3 to 1e15
      bandwidth[1]: it has 2 entries for 3 devices; give one entry for each device
      bandwidth[2][1]: there is no bandwidth; give a number of bytes/ms from 1e-3 to 1e15
      latency[0][1]: the latency is -1; give a number of ms from 0 to 1e9
    "#);
    let text = r#"{"schema": "dagsplit-topology/1", "devices": [{"speed": 0}, {"memory": -1}, {"colour": 1}, 7], "bandwidth": []}"#;
    insta::assert_snapshot!(parse(text).unwrap_err(), @r#"
    4 problems found
      devices[2]: unknown field `colour`, expected one of `name`, `speed`, `memory`; write it as docs/mapping.md states
      devices[3]: expected an object, found 7; write it as docs/mapping.md states
      devices[0]: its speed is 0; give 1e-6 to 1e6
      devices[1]: its memory is -1; give a finite number of bytes that is at least 0, or leave it out
    "#);
    insta::assert_snapshot!(parse("GB/s, a, b\na, , x\nc, 1,\n\nus, b, a\nb, , 1\na, 1,\n").unwrap_err(), @r#"
    3 problems found
      line 3: the row of "b" begins with "c"; give the rows in the order of the columns
      line 2, column 3: the bandwidth is "x"; give a number of GB/s from 1e-9 to 1e9
      latency matrix: its devices are not those of the bandwidth matrix; name the same devices in the same order
    "#);
    insta::assert_snapshot!(parse("furlongs, a, b\na, , 1\nb, 1,\n").unwrap_err(), @r#"
    1 problem found
      line 1: the corner of the matrix is "furlongs"; give the unit there: GB/s, MB/s, GiB/s, MiB/s or bytes/ms for bandwidths, us or ms for latencies
    "#);
    insta::assert_snapshot!(parse("node1 -- A -- forward").unwrap_err(), @r#"
    this is no known topology format: JSON begins with `{`, CSV with a unit such as `GB/s,`, and the texts of `nvidia-smi topo -m` and p2pBandwidthLatencyTest are known by their headers
    "#);
    assert!(parse("").is_err());
}

#[test]
fn a_matrix_of_too_many_devices_is_told() {
    let error = parse(&format!("GB/s{}\n", ", a".repeat(Topology::MAX_DEVICES + 1))).unwrap_err();
    assert!(error.contains("it names 4097 devices; name 1 to 4096 devices"), "{error}");
    let error = parse(&format!("GB/s, a, b\na, , 1\nb, 1,\n\nus{}\n", ", a".repeat(4097))).unwrap_err();
    assert!(error.contains("line 5: it names 4097 devices"), "{error}");
}

#[test]
fn names_in_a_matrix_may_read_like_another_format() {
    let text = "GB/s, GPU0 (node a), Matrix (GB/s)\nGPU0 (node a), , 10\nMatrix (GB/s), 10,\n";
    let topology = parse(text).unwrap();
    assert_eq!((topology.source.as_str(), topology.bandwidth(0, 1)), ("CSV matrix", 1e7));
    assert_eq!(topology.devices[1].name, "Matrix (GB/s)");
}

#[test]
fn problems_of_stages_come_all_at_once() {
    let text = r#"{"schema": "dagsplit-stages/1", "units": {"time": "s", "memory": "bytes"},
        "stages": [{"forward": -1}, {"forward": 1, "memory": 1e19}],
        "messages": [{"source": 0, "target": 0, "bytes": 1}, {"source": 0, "target": 1, "bytes": -2}, {"source": 0, "target": 1, "bytes": 3}]}"#;
    insta::assert_snapshot!(parse_stages(text).unwrap_err(), @r#"
    6 problems found
      units: time is in "s" and memory in "bytes"; convert times to "ms" and memory to "bytes"
      stages[0]: `forward` is -1; give 0 to 1e18 ms
      stages[1]: `memory` is 10000000000000000000; give 0 to 1e18 bytes
      messages[0]: a stage cannot send to itself; drop the message
      messages[1]: `bytes` is -2; give 0 to 1e18 bytes
      messages[2]: stage 0 sends to stage 1 in an entry before; add the bytes up in one entry
    "#);
    let text = r#"{"schema": "dagsplit-stages/1", "stages": [{"forward": 1}], "messages": [{"source": 0, "target": 1, "bytes": 1}, 7]}"#;
    insta::assert_snapshot!(parse_stages(text).unwrap_err(), @r#"
    2 problems found
      messages[1]: expected an object, found 7; write it as docs/mapping.md states
      messages[0]: its target 1 is no stage; name a stage by its place in the list, from 0
    "#);
    insta::assert_snapshot!(parse_mapping(r#"{"schema": "dagsplit-mapping/1", "copies": [{"stage": 0, "device": -1}]}"#).unwrap_err(), @r#"
    1 problem found
      copies[0]: invalid value: integer `-1`, expected usize; write it as docs/mapping.md states
    "#);
}

#[test]
fn the_files_at_hand_are_what_their_commands_make() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("instances/topologies");
    let shape = |text: &str| text.parse().expect("a shape");
    let files: [(&str, TopologyFamily); 14] = [
        ("hierarchical-4x4", Hierarchical::default().into()),
        ("dgx1-4x8", Dgx1::default().into()),
        ("mesh-4x4", Mesh { shape: shape("4x4") }.into()),
        ("torus-4x4", Torus { shape: shape("4x4") }.into()),
        ("mesh-8x8", Mesh { shape: shape("8x8") }.into()),
        ("torus-8x8", Torus { shape: shape("8x8") }.into()),
        ("mesh-4x4x4", Mesh { shape: shape("4x4x4") }.into()),
        ("torus-4x4x4", Torus { shape: shape("4x4x4") }.into()),
        ("random-blk-1-64", RandomBlk1::default().into()),
        ("random-blk-2-64", RandomBlk2::default().into()),
        ("uniform-dist-64", UniformDist::default().into()),
        ("fat-tree-16", FatTree::default().into()),
        ("dgx-a100-4x8", Nvswitch::default().into()),
        ("dgx-h100-4x8", Nvswitch { server: Server::DgxH100, ..Nvswitch::default() }.into()),
    ];
    let count = std::fs::read_dir(&folder).unwrap().count();
    assert_eq!(count, files.len(), "a file without a line here");
    for (name, family) in files {
        let made = make(family);
        let path = folder.join(format!("{name}.json"));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), write_topology(&made), "{name}");
        assert_eq!(read_topology(&path, &TopologyOptions::default()).unwrap(), made);
    }
}

/// Small files of every format, to mutate.
fn files() -> Vec<String> {
    let csv = "GB/s, a, b\na, , 48.4\nb, 48.4,\n\nus, a, b\na, , 1.9\nb, 1.9,\n";
    let stage = |forward| Stage {
        name: "s".into(),
        forward,
        backward: 2.0,
        parameter_bytes: 3.0,
        memory: 4.0,
        lasting_bytes: None,
        working_bytes: 0.0,
    };
    let message = Message { source: 0, target: 1, bytes: 5.0 };
    let stages = StageGraph { name: "g".into(), stages: vec![stage(1.0), stage(2.0)], messages: vec![message] };
    let topology = parse(csv).unwrap();
    let copies = vec![PlacedCopy { stage: 0, replica: 0, device: 1, time: Some(1.5) }];
    let mapping = ClaimedMapping { copies, objective: Some(1.5), ..ClaimedMapping::default() };
    vec![
        csv.into(),
        NVIDIA_SMI.into(),
        CUDA.into(),
        write_topology(&topology),
        write_stages(&stages),
        write_mapping(&stages, &topology, &mapping),
    ]
}

/// What pieces of a file are replaced by.
const WORDS: [&str; 16] = [
    "NaN",
    "-1",
    "0",
    "1e999",
    "1e308",
    "1e-320",
    "4097",
    "18446744073709551616",
    "null",
    "[]",
    "{}",
    "\u{1b}[",
    "GPU0",
    "D\\D",
    ",",
    "\n",
];

fn mutated() -> impl Strategy<Value = String> {
    let change = (0.0..1.0_f64, 0..12_usize, prop::sample::select(WORDS.to_vec()));
    (0..files().len(), prop::collection::vec(change, 0..5)).prop_map(|(file, changes)| {
        let mut text: Vec<char> = files()[file].chars().collect();
        for (at, length, word) in changes {
            let start = (at * text.len() as f64) as usize;
            let end = (start + length).min(text.len());
            text.splice(start..end, word.chars());
        }
        text.into_iter().collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn mutated_files_are_refused_or_valid(text in mutated()) {
        if let Ok(topology) = parse(&text) {
            let pairs = (0..topology.len()).flat_map(|a| (0..topology.len()).map(move |b| (a, b)));
            prop_assert!(pairs.into_iter().all(|(a, b)| topology.message_time(a, b, 1e18).is_finite()));
            prop_assert_eq!(parse(&write_topology(&topology)).unwrap(), topology);
        }
        if let Ok(stages) = parse_stages(&text) {
            prop_assert_eq!(parse_stages(&write_stages(&stages)).unwrap(), stages);
        }
        let _ = parse_mapping(&text);
    }
}
