//! Workloads with limits, servers and many devices that `docs/hard.md` is about, and random ones that grow.

use anyhow::{Context, Result};
use dagsplit::formats::{PipeDreamOptions, ReadOptions, read_instance};
use dagsplit::generate::{
    Architecture, Dnn, ErdosRenyi, Layered, Model, RandomDag, RandomFamily, Recipe, SeriesParallel, Transformer,
};
use dagsplit::instance::Instance;
use dagsplit::problem::{Interconnect, Objective, ProblemSpec, Scope};

use super::family::made;
use super::workloads;

/// A workload and what is asked of it.
pub struct Question {
    /// What to call it.
    pub name: String,
    /// The workload.
    pub instance: Instance,
    /// What is asked.
    pub spec: ProblemSpec,
}

impl Question {
    fn new(name: String, instance: Instance) -> Self {
        let spec = ProblemSpec::of(&instance);
        Self { name, instance, spec }
    }

    fn with(mut self, change: impl FnOnce(&mut ProblemSpec)) -> Self {
        change(&mut self.spec);
        self
    }

    /// A PipeDream profile over so many accelerators; `None` where it is not at hand.
    fn profile(name: &str, accelerators: usize, keep_inputs: bool) -> Result<Option<Self>> {
        let Some(path) = workloads::find(&format!("pipedream2019/{name}.txt")) else { return Ok(None) };
        let pipedream = PipeDreamOptions { accelerators, keep_inputs, ..PipeDreamOptions::default() };
        let instance = read_instance(&path, &ReadOptions { pipedream, ..ReadOptions::default() })?;
        let inputs = if keep_inputs { ", inputs kept" } else { "" };
        Ok(Some(Self::new(format!("{name}{inputs}, k = {accelerators}"), instance)))
    }

    /// The same with so many times the workload's memory on all accelerators together.
    fn with_memory(mut self, times: f64) -> Result<Self> {
        let class = self.instance.platform.accelerators.first_mut().context("it has accelerators")?;
        let total: f64 = self.instance.nodes.iter().map(|node| node.memory).sum();
        class.memory = Some((times * total / class.count as f64).floor());
        self.spec.platform = self.instance.platform.clone();
        self.name += &format!(", {times} times the memory");
        Ok(self)
    }
}

/// Profiled and modelled workloads over more devices, in servers, and with little memory; those that are at hand.
pub fn questions() -> Result<Vec<Question>> {
    let mut all = Vec::new();
    for (accelerators, keep_inputs) in [(6, true), (16, true), (16, false)] {
        all.extend(Question::profile("nasnetamobile", accelerators, keep_inputs)?);
    }
    if let Some(path) = workloads::find("tarnawski2020/throughput/operator/bert_l-12_inference.json") {
        let mut instance = read_instance(&path, &ReadOptions::default())?;
        instance.platform.accelerators.iter_mut().for_each(|class| class.count = 16);
        let servers = Interconnect { server_size: 4, between_factor: 4.0 };
        let asked = Question::new("BERT-12, servers of 4, k = 16".to_owned(), instance);
        all.push(asked.with(|spec| spec.interconnect = Some(servers)));
    }
    let dnn = Recipe::new(RandomDag::new(RandomFamily::Dnn(Dnn { nodes: 1_000, ..Dnn::default() }), 1));
    all.push(over("cells of 1,000 nodes", made(&dnn), 256));
    let architecture = Architecture::from(Transformer { layers: 24, ..Transformer::bert_base() });
    let transformer = made(&Recipe::new(Model { architecture, hardware: Default::default() }));
    all.push(over("transformer of 24 layers", transformer, 6).with_memory(0.25)?);
    for name in ["resnet50", "inception_v3", "densenet121"] {
        for accelerators in [6, 16] {
            if let Some(asked) = Question::profile(name, accelerators, false)? {
                let mut asked = asked.with_memory(1.3)?.with(|spec| spec.scope = Scope::Arbitrary);
                asked.name += ", arbitrary";
                all.push(asked);
            }
        }
    }
    for (name, accelerators) in [("inception_v3", 6), ("nasnetamobile", 6), ("gnmt", 1), ("gnmt", 2)] {
        if let Some(asked) = Question::profile(name, accelerators, false)? {
            let latency = Objective::Latency { subgraphs: 1 };
            let mut asked = asked.with_memory(0.8)?.with(|spec| spec.objective = latency);
            asked.name += ", latency";
            all.push(asked);
        }
    }
    Ok(all)
}

/// The workload over so many accelerators.
fn over(name: &str, mut instance: Instance, accelerators: usize) -> Question {
    instance.platform.accelerators.iter_mut().for_each(|class| class.count = accelerators);
    Question::new(format!("{name}, k = {accelerators}"), instance)
}

/// The numbers of accelerators over which random graphs are split.
pub const DEVICES: [usize; 3] = [4, 8, 16];

/// Random graphs by width and depth, or by size: the name of each, and the questions over [`DEVICES`].
pub fn random() -> Vec<(String, Vec<Question>)> {
    let layered = [2, 4, 6, 8].into_iter().flat_map(|width| [8, 16, 32].map(|layers| (width, layers)));
    let layered = layered.map(|(width, layers)| {
        let family = Layered { width, layers, ..Layered::default() };
        (format!("layered, width {width}, depth {layers}"), RandomFamily::Layered(family))
    });
    let sized = [30, 60, 120].into_iter().flat_map(|nodes| {
        let series = RandomFamily::SeriesParallel(SeriesParallel { nodes, ..SeriesParallel::default() });
        let any = RandomFamily::ErdosRenyi(ErdosRenyi { nodes, ..ErdosRenyi::default() });
        [(format!("series-parallel, {nodes} nodes"), series), (format!("Erdős–Rényi, {nodes} nodes"), any)]
    });
    let asked = |(name, family): (String, RandomFamily)| {
        let instance = made(&Recipe::new(RandomDag::new(family, 1)));
        let questions = DEVICES.iter().map(|&devices| over(&name, instance.clone(), devices)).collect();
        (name, questions)
    };
    layered.chain(sized).map(asked).collect()
}
