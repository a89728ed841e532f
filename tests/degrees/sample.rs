//! Small instances with options, drawn from a seed.

use dagsplit::instance::{AcceleratorClass, Edge, EdgeBytes, Instance, Node, NodeOption, Parallelism, Platform};
use dagsplit::problem::{
    Degrees, InFlight, Interconnect, Objective, Optimizer, Precision, ProblemSpec, StageMemory, Training,
};

/// SplitMix64.
struct Random(u64);

impl Random {
    fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.draw() % n
    }

    fn amount(&mut self, n: u64) -> f64 {
        self.below(n) as f64
    }

    fn one_of<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize].clone()
    }
}

/// An instance of up to five nodes with up to three options for each of two tensor degrees, and what is asked of it.
pub fn problem(seed: u64) -> (Instance, ProblemSpec) {
    let random = &mut Random(seed);
    let nodes = 1 + random.below(5);
    let density = random.one_of(&[1, 2, 4]);
    let is_chain = random.below(3) == 0;
    let pairs = (0..nodes).flat_map(|target| (0..target).map(move |source| Edge { source, target }));
    let edges: Vec<Edge> =
        pairs.filter(|e| if is_chain { e.source + 1 == e.target } else { random.below(4) < density }).collect();
    of_edges(random, nodes, edges)
}

/// The same of three to five successive blocks of one to three nodes side by side, eight at most, some of which also lead to the block after
/// the next.
pub fn blocks(seed: u64) -> (Instance, ProblemSpec) {
    let random = &mut Random(seed);
    let mut block_of: Vec<u64> = Vec::new();
    for block in 0..3 + random.below(3) {
        block_of.extend((0..1 + random.below(3)).map(|_| block));
    }
    block_of.truncate(8);
    let nodes = block_of.len() as u64;
    let pairs = (0..nodes).flat_map(|target| (0..target).map(move |source| Edge { source, target }));
    let apart = |edge: &Edge| block_of[edge.target as usize] - block_of[edge.source as usize];
    let edges = pairs.filter(|edge| apart(edge) == 1 || apart(edge) == 2 && random.below(8) == 0).collect();
    of_edges(random, nodes, edges)
}

/// An instance of these nodes and edges.
fn of_edges(random: &mut Random, nodes: u64, edges: Vec<Edge>) -> (Instance, ProblemSpec) {
    let mut options = Vec::new();
    let classes = 1 + random.below(2) as usize;
    for node in 0..nodes {
        for tensor_degree in [1, 2] {
            // Now and then a node has none of a degree, but never none at all.
            if tensor_degree == 2 && random.below(6) == 0 {
                continue;
            }
            for name in &["vanilla", "recompute", "offload"][..1 + random.below(3) as usize] {
                // With two classes some options are for one of them, or differ between them.
                let classes: &[Option<usize>] = match random.below(3 * classes as u64) {
                    3 => &[Some(0), Some(1)],
                    4 => &[Some(1)],
                    5 => &[Some(0)],
                    _ => &[None],
                };
                for &class in classes {
                    options.push(NodeOption { class, ..option(random, node, tensor_degree, name, &edges) });
                }
            }
        }
    }
    let mut moved = |e: &Edge| EdgeBytes { source: e.source, target: e.target, bytes: random.amount(20) };
    let moved: Vec<EdgeBytes> = edges.iter().map(&mut moved).collect();
    let parallelism =
        Parallelism { bandwidth: random.one_of(&[0.5, 4.0, 1000.0]), edges: moved, options, ..Parallelism::default() };
    let mut class = || {
        let memory = random.one_of(&[None, Some(12.0), Some(30.0), Some(60.0), Some(150.0)]);
        AcceleratorClass { count: 1 + random.below(6 / classes as u64) as usize, memory, ..AcceleratorClass::default() }
    };
    let accelerators: Vec<AcceleratorClass> = (0..classes).map(|_| class()).collect();
    let node = |id: u64| Node { accelerator_times: vec![None; classes], ..Node::new(id) };
    let instance = Instance {
        platform: Platform { accelerators, ..Platform::uniform(0, None, 0) },
        nodes: (0..nodes).map(node).collect(),
        edges,
        parallelism: Some(parallelism),
        ..Instance::default()
    };
    let microbatches = random.one_of(&[1, 2, 3, 4, 6, 12]);
    let mut degrees = Degrees::any(microbatches);
    if random.below(5) == 0 {
        degrees.data = Some(vec![1, microbatches]);
    }
    if random.below(5) == 0 {
        degrees.tensor = Some(vec![1]);
    }
    // Where there is one of each, memory has a bound of its own.
    if random.below(3) == 0 {
        (degrees.tensor, degrees.data) = (Some(vec![1]), Some(vec![1]));
    }
    let objective = random.one_of(&[Objective::Throughput, Objective::Step { microbatches }]);
    degrees.memory = stage_memory(random);
    if degrees.memory.in_flight == InFlight::Asynchronous && objective != Objective::Throughput {
        degrees.memory.in_flight = InFlight::GPipe;
    }
    if instance.parallelism.iter().flat_map(|stated| &stated.options).all(|option| option.parameter_bytes == 0.0) {
        degrees.memory.training = None;
    }
    let are_filled = |size: &usize| instance.platform.accelerators.iter().all(|class| class.count % size == 0);
    let sizes: Vec<usize> = [1, 2, 3].into_iter().filter(are_filled).collect();
    let servers = Interconnect { server_size: random.one_of(&sizes), between_factor: 1.0 };
    let interconnect = (random.below(6) == 0).then_some(servers);
    let spec = ProblemSpec { degrees: Some(degrees), objective, interconnect, ..ProblemSpec::of(&instance) };
    (instance, spec)
}

fn stage_memory(random: &mut Random) -> StageMemory {
    let in_flight = random.one_of(&[
        InFlight::GPipe,
        InFlight::OneForwardOneBackward,
        InFlight::Asynchronous,
        InFlight::ZbH1,
        InFlight::ZbH2,
        InFlight::Constant(2),
    ]);
    let training = Training {
        optimizer: random.one_of(&[Optimizer::None, Optimizer::Sgd, Optimizer::Momentum, Optimizer::Adam]),
        precision: random.one_of(&[Precision::Fp32, Precision::Bf16, Precision::Fp16]),
    };
    let training = (random.below(4) == 0).then_some(training);
    StageMemory { in_flight, training, zero: random.below(4) as usize, cache_tokens: random.below(3) as usize }
}

fn option(random: &mut Random, node: u64, tensor_degree: usize, name: &str, edges: &[Edge]) -> NodeOption {
    let mut exchanged = |edges: Vec<u64>| {
        let some: Vec<u64> = edges.into_iter().filter(|_| random.below(2) == 0).collect();
        some.into_iter().map(|id| (id, random.amount(10))).collect()
    };
    let sync_in = exchanged(edges.iter().filter(|e| e.target == node).map(|e| e.source).collect());
    let sync_out = exchanged(edges.iter().filter(|e| e.source == node).map(|e| e.target).collect());
    // One decimal, so that sums are not exact.
    let time = random.amount(100) / (10.0 * tensor_degree as f64);
    NodeOption {
        node,
        tensor_degree,
        class: None,
        name: name.into(),
        time,
        parameter_bytes: random.one_of(&[0.0, 2.0, 7.0, 30.0]),
        memory_per_microbatch: random.amount(10),
        memory: random.amount(10),
        weight_bytes: random.amount(4),
        gradient_bytes: random.amount(4),
        optimizer_bytes: 1.0 + random.amount(4),
        working_bytes: random.amount(6),
        cache_bytes_per_token: random.amount(3),
        sync_in,
        sync_out,
    }
}
