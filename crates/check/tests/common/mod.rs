//! Small generated workloads, and their optima by looking at every split.

#![allow(dead_code)] // Each test takes what it needs.

pub mod python;
pub mod tree;

use dagsplit_check::{Error, check, hash, split_value};
use serde_json::Value;

/// Numbers that look random, the same each time (Knuth's MMIX generator).
pub struct Draw(pub u64);

impl Draw {
    pub fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }

    pub fn is(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    pub fn decimal(&mut self, most: u64) -> String {
        format!("{}.{}", self.below(most), self.below(10))
    }
}

/// A workload, and a question about it.
pub struct Case {
    pub instance: String,
    pub nodes: usize,
    /// How many devices there are of each class, then CPUs.
    pub counts: Vec<usize>,
    scope: &'static str,
    objective: &'static str,
    question: String,
    /// How many pieces the load of each class has.
    pieces: Vec<usize>,
}

impl Case {
    /// A workload of up to `most` nodes.
    pub fn drawn(draw: &mut Draw, most: u64, scope: &'static str, replicas: bool) -> Self {
        let nodes = 2 + draw.below(most - 1) as usize;
        let classes = 1 + usize::from(draw.is(30));
        let has_passes = draw.is(40);
        let backward: Vec<bool> = (0..nodes).map(|v| has_passes && 2 * v >= nodes).collect();
        let node = |v: usize, draw: &mut Draw| {
            // Some take no time anywhere, and some of these nothing else: they may be leaves that are free.
            let (is_quick, is_free) = (draw.is(40), draw.is(40));
            let timed = |draw: &mut Draw, percent, most| match () {
                () if is_quick => "0".into(),
                () if draw.is(percent) => "null".into(),
                () => draw.decimal(most),
            };
            let times: Vec<String> = (0..classes).map(|c| timed(draw, if c > 0 { 20 } else { 0 }, 9)).collect();
            let cpu = timed(draw, 20, 20);
            let bytes = |draw: &mut Draw, most| if is_quick && is_free { 0 } else { draw.below(most) };
            let color = if draw.is(30) { format!(",\"color_class\":{}", draw.below(3)) } else { String::new() };
            format!(
                "{{\"id\":{},\"accelerator_times\":[{}],\"cpu_time\":{cpu},\"memory\":{},\"transfer_time\":{},\"parameter_bytes\":{},\"backward\":{}{color}}}",
                7 * v + 1,
                times.join(","),
                bytes(draw, 6),
                draw.decimal(3),
                bytes(draw, 9),
                backward[v],
            )
        };
        let list: Vec<String> = (0..nodes).map(|v| node(v, draw)).collect();
        let mut edges = Vec::new();
        for b in 0..nodes {
            for a in (0..b).filter(|&a| !backward[a] || backward[b]) {
                if draw.is(40) {
                    edges.push(format!("{{\"source\":{},\"target\":{}}}", 7 * a + 1, 7 * b + 1));
                }
            }
        }
        let mut counts: Vec<usize> = (0..classes).map(|_| 1 + draw.below(2) as usize).collect();
        let mut pieces = Vec::new();
        let mut of_class = |count: &usize, draw: &mut Draw| {
            let (is_overlapped, is_limited) = (draw.is(40), draw.is(50));
            pieces.push(1 + usize::from(is_overlapped));
            let memory = if is_limited { format!("{}", 5 + draw.below(12)) } else { "null".into() };
            let load = if is_overlapped { "[[1,0,0.5],[0,1,1]]" } else { "[[1,1,1]]" };
            format!("{{\"count\":{count},\"memory\":{memory},\"load\":{load}}}")
        };
        let classes: Vec<String> = counts.iter().map(|count| of_class(count, draw)).collect();
        counts.push(draw.below(2) as usize);
        let how = if draw.is(50) { "added" } else { "overlapped" };
        let replication = format!("{{\"most\":2,\"bandwidth\":7.5,\"synchronisation\":\"{how}\"}}");
        let platform: Vec<&str> = classes.iter().map(|_| "{\"count\":1}").collect();
        let instance = format!(
            "{{\"schema\":\"dagsplit-instance/1\",\"platform\":{{\"accelerators\":[{}],\"cpus\":0}},\"nodes\":[{}],\"edges\":[{}]}}",
            platform.join(","),
            list.join(","),
            edges.join(","),
        );
        let question = format!(
            "\"accelerators\":[{}],\"cpus\":{},\"replication\":{}",
            classes.join(","),
            counts[counts.len() - 1],
            if replicas { replication.as_str() } else { "null" },
        );
        Self { instance, nodes, counts, scope, objective: "throughput", question, pieces }
    }

    /// The same workload and question for another objective.
    pub fn of_objective(self, objective: &'static str) -> Self {
        Self { objective, ..self }
    }

    /// The first line of a proof of this claim.
    pub fn first_line(&self, claim: i128) -> String {
        let order: Vec<String> = (0..self.nodes).map(|v| v.to_string()).collect();
        format!(
            "{{\"format\":\"dagsplit-proof/1\",\"instance\":\"{}\",\"objective\":\"{}\",\"scope\":\"{}\",{},\"digits\":2,\"order\":[{}],\"claim\":{claim}}}",
            hash(self.instance.as_bytes()),
            self.objective,
            self.scope,
            self.question,
            order.join(","),
        )
    }

    /// A proof of these lines.
    pub fn proof(&self, claim: i128, lines: &[String]) -> String {
        let all: Vec<String> = std::iter::once(self.first_line(claim)).chain(lines.iter().cloned()).collect();
        all.join("\n") + "\n"
    }

    pub fn check(&self, claim: i128, lines: &[String]) -> Result<(), Error> {
        check(&self.instance, &self.proof(claim, lines), None).map(|_| ())
    }

    /// The best split and its largest load; `None` where no split is possible.
    pub fn optimum(&self) -> Option<(i128, String)> {
        self.optimum_of(&self.first_line(0))
    }

    /// The load of the best split of a workload of the same nodes and edges.
    pub fn optimum_on(&self, instance: &str) -> Option<i128> {
        self.best(instance, &self.first_line(0)).map(|(value, _)| value)
    }

    /// The same for the question of another first line.
    pub fn optimum_of(&self, first_line: &str) -> Option<(i128, String)> {
        self.best(&self.instance, first_line)
    }

    fn best(&self, instance: &str, first_line: &str) -> Option<(i128, String)> {
        let question: Value = serde_json::from_str(first_line).unwrap();
        let count = |value: &Value| value.as_u64().unwrap() as usize;
        let mut counts: Vec<usize> =
            question["accelerators"].as_array().unwrap().iter().map(|class| count(&class["count"])).collect();
        counts.push(count(&question["cpus"]));
        let most = question["replication"].as_object().map_or(1, |replication| count(&replication["most"]));
        let mut devices: Vec<(usize, usize)> = Vec::new();
        for (kind, &count) in counts.iter().enumerate() {
            let most = if kind + 1 < counts.len() { most.min(count) } else { 1 };
            devices.extend((1..=most).flat_map(|replicas| (0..count / replicas).map(move |_| (kind, replicas))));
        }
        let mut best: Option<(i128, String)> = None;
        for number in 0..devices.len().pow(self.nodes as u32) {
            let of = |v: usize| number / devices.len().pow(v as u32) % devices.len();
            let list = |is_cpu: bool| {
                let own = (0..devices.len()).filter(|&d| (devices[d].0 + 1 == counts.len()) == is_cpu);
                let entry = |d: usize| {
                    let ids: Vec<String> =
                        (0..self.nodes).filter(|&v| of(v) == d).map(|v| (7 * v + 1).to_string()).collect();
                    let (class, replicas) = devices[d];
                    let about =
                        if is_cpu { String::new() } else { format!("\"class\":{class},\"replicas\":{replicas},") };
                    format!("{{{about}\"nodes\":[{}]}}", ids.join(","))
                };
                own.map(entry).collect::<Vec<_>>().join(",")
            };
            let split = format!("{{\"fpgas\":[{}],\"cpus\":[{}]}}", list(false), list(true));
            if let Ok(value) = split_value(instance, first_line, &split)
                && best.as_ref().is_none_or(|(least, _)| value < *least)
            {
                best = Some((value, split));
            }
        }
        best
    }

    /// How many pieces the load of a kind has.
    pub fn pieces(&self, kind: usize) -> usize {
        self.pieces.get(kind).copied().unwrap_or(1)
    }

    /// As many numbers as there are kinds of devices, as a list.
    pub fn for_kinds(&self, number: usize) -> String {
        format!("[{}]", vec![number.to_string(); self.counts.len()].join(","))
    }
}
