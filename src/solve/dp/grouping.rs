//! The best way to put the stages of a chain into servers, and chains to be put so.
//!
//! Linearized DP charges nets by the boundaries of a stage, which flatters small stages at the ends of a server: nets
//! pass them by. So it also splits each order as if all devices shared one server, and as if each were in its own; the
//! latter overestimates every load. All chains found are then grouped into servers by exact loads.

use super::Setting;
use super::chain::{Bits, IdealChain};
use super::consumption::Consumption;
use super::loads::{Loads, SetLoads, Value, objective};
use super::stage::{Boundary, StageKind};
use crate::preprocess::Reduced;
use crate::problem::{Problem, Replication};

/// Problems without servers whose chains are to be grouped.
pub struct Flat {
    problem: Problem,
    /// Every net at its price in a server; every net at its price between servers.
    reduced: [Reduced; 2],
}

impl Flat {
    /// The flat problems of `setting`; `None` where it has no servers.
    pub fn new(setting: &Setting) -> Option<Self> {
        let size = setting.problem.spec.interconnect?.server_size;
        let mut problem = setting.problem.clone();
        problem.spec.interconnect = None;
        let limited = |r: Replication| Replication { max_replicas: r.max_replicas.min(size), ..r };
        problem.spec.replication = problem.spec.replication.map(limited);
        let flat = |by_price: bool| {
            let mut reduced = setting.reduced.clone();
            for (e, price) in reduced.between.iter_mut().enumerate() {
                let price = std::mem::replace(price, 1.0);
                if by_price {
                    reduced.kinds.iter_mut().for_each(|kind| kind.transfers[e] *= price);
                }
            }
            reduced
        };
        Some(Self { problem, reduced: [flat(false), flat(true)] })
    }

    /// What linearized DP splits instead.
    pub fn settings(&self) -> [Setting<'_>; 2] {
        [0, 1].map(|i| self.setting(i))
    }

    /// The problem with all devices in one server.
    pub fn near(&self) -> Setting<'_> {
        self.setting(0)
    }

    fn setting(&self, i: usize) -> Setting<'_> {
        Setting::new(&self.problem, &self.reduced[i])
    }
}

/// Groups chains into servers.
pub struct Grouping<'a> {
    /// Exact loads.
    pub loads: &'a Loads<'a>,
    /// The stage kinds to choose from.
    pub stages: &'a [StageKind],
    /// The uses of devices.
    pub consumption: &'a Consumption,
}

/// The best grouping of the first stages with one use of devices.
#[derive(Clone)]
struct Prefix {
    used: usize,
    value: Value,
    /// How many stages there are before the last group, the rank of their prefix, and the kinds of the group.
    from: (usize, usize, Vec<usize>),
}

impl Grouping<'_> {
    /// The grouping of least objective, with its value; `None` when no grouping has enough servers.
    ///
    /// Each stage of `chain` is the ideal after it and a stage kind, of which the boundaries do not matter. For
    /// [`Objective::GPipe`](crate::problem::Objective::GPipe) and [`Objective::Step`](crate::problem::Objective::Step) the
    /// least objective of each prefix is kept, which need not lead to the least of all. O(stages · server size · loads).
    pub fn best(&self, mut chain: Vec<(Bits, StageKind)>) -> Option<(Value, IdealChain)> {
        chain.retain(|(ideal, _)| ideal.iter().any(|&word| word != 0));
        chain.dedup_by(|next, stage| next.0 == stage.0);
        let empty: Bits = vec![0; chain.first()?.0.len()].into();
        let mut sets = SetLoads::new(self.loads);
        let start = Prefix { used: 0, value: [0.0; 2], from: (0, 0, vec![]) };
        let mut table: Vec<Vec<Prefix>> = vec![vec![]; chain.len() + 1];
        table[0].push(start);
        for i in 0..chain.len() {
            let mut j = i + 1;
            while j <= chain.len()
                && let Some(kinds) = self.kinds(&chain[i..j])
            {
                let from = if i > 0 { &chain[i - 1].0 } else { &empty };
                if let Some(value) = self.value(&mut sets, from, &chain[i..j], &kinds) {
                    for rank in 0..table[i].len() {
                        let Prefix { used, value: before, .. } = table[i][rank];
                        let to = kinds.iter().try_fold(used, |used, &s| self.consumption.add(used, self.stages[s]));
                        if let Some(used) = to {
                            let from = (i, rank, kinds.clone());
                            put(&mut table[j], Prefix { used, value: self.loads.together(before, value), from });
                        }
                    }
                }
                j += 1;
            }
        }
        let end = table[chain.len()].iter().min_by(|a, b| objective(a.value).total_cmp(&objective(b.value)))?;
        let mut kinds = Vec::new();
        let mut prefix = end;
        while !prefix.from.2.is_empty() {
            kinds.extend(prefix.from.2.iter().rev());
            prefix = &table[prefix.from.0][prefix.from.1];
        }
        Some((end.value, chain.into_iter().map(|(ideal, _)| ideal).zip(kinds.into_iter().rev()).collect()))
    }

    /// The kinds of stages that share a server, or of one CPU stage; `None` where these cannot.
    fn kinds(&self, group: &[(Bits, StageKind)]) -> Option<Vec<usize>> {
        let side = |is_end: bool| if is_end { Boundary::Between } else { Boundary::Inside };
        let kind = |(i, (_, stage)): (usize, &(Bits, StageKind))| {
            let (lower, upper) = (side(i == 0), side(i + 1 == group.len()));
            self.stages.iter().position(|s| *s == StageKind { lower, upper, ..*stage })
        };
        let kinds = group.iter().enumerate().map(kind).collect::<Option<Vec<usize>>>()?;
        let meet = kinds.windows(2).all(|pair| self.stages[pair[0]].meets(&self.stages[pair[1]]));
        let fits = kinds.iter().try_fold(0, |used, &s| self.consumption.add(used, self.stages[s])).is_some();
        (meet && fits).then_some(kinds)
    }

    fn value(&self, sets: &mut SetLoads, start: &Bits, group: &[(Bits, StageKind)], kinds: &[usize]) -> Option<Value> {
        let end = &group.last()?.0;
        let mut from = start;
        let mut value = [0.0; 2];
        for ((to, _), &s) in group.iter().zip(kinds) {
            let set: Bits = to.iter().zip(from).map(|(j, a)| j & !a).collect();
            value = self.loads.together(value, sets.value_in_server(self.stages[s], &set, Some(start), Some(end))?);
            from = to;
        }
        Some(value)
    }
}

/// Keeps the best prefix of each use.
fn put(prefixes: &mut Vec<Prefix>, new: Prefix) {
    match prefixes.iter_mut().find(|old| old.used == new.used) {
        Some(old) if objective(new.value) < objective(old.value) => *old = new,
        Some(_) => {}
        None => prefixes.push(new),
    }
}
