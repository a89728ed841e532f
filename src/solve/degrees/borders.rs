//! What stages move at least over the borders of sets, by a few kinds of borders.
//!
//! A set is *narrow* if every other one contains it or is part of it: in a model of successive layers there is one between any two
//! of them, where least is moved. All others lie between two narrow sets.

use super::model::{Incident, Model};
use crate::graph::{Graph, reachability};
use crate::solve::dp::lattice::Lattice;

/// What sums of floats may be off by, as a part of them.
const ROUNDING: f64 = 1e-9;

/// Narrow sets over whose borders nearly the same is moved are of one kind, but of so many kinds at most.
const MOST_NARROW: usize = 4;

/// Bytes are the same if they differ by less than this part.
const SAME: f64 = 1e-3;

/// Bytes of a stage's edges to the set behind it, and to what lies before it.
pub type Bytes = [f64; 2];

/// The borders of the sets of a lattice.
pub struct Borders {
    /// By number of units: the first set that has so many, and at the end how many sets there are.
    levels: Vec<usize>,
    /// The numbers of units of which there are sets that are not narrow.
    wide: Vec<usize>,
    /// Of each narrow kind the sets, ascending. The next kind moves no less.
    pub narrow: Vec<Vec<u32>>,
    /// By kind and shape: the least that stages move. The first kind is the border of no or all units, the last that of wide sets.
    least: Vec<Vec<Bytes>>,
    /// By shape and set: what all edges over the border move.
    all: Vec<Vec<Bytes>>,
    /// A stage of so many units has an end of each edge over its borders.
    whole: usize,
}

impl Borders {
    /// The borders of all sets. O(units · edges / 64 + shapes · edges of the lattice).
    pub fn new(lattice: &Lattice, model: &Model) -> Self {
        let units = model.members.len();
        let levels = lattice.levels();
        let all = moved(lattice, model);
        let (mut wide, mut alone) = (Vec::new(), Vec::new());
        for size in 1..units {
            match levels[size + 1] - levels[size] {
                1 => alone.push(levels[size]),
                _ => wide.push(size),
            }
        }
        let kinds = kinds(&all, alone);
        let of_wide: Vec<usize> = wide.iter().flat_map(|&size| levels[size]..levels[size + 1]).collect();
        let mut least = vec![least_of(&all, &of_wide)];
        for sets in kinds.iter().rev() {
            let next = &least[least.len() - 1];
            let own = least_of(&all, sets).into_iter().zip(next);
            least.push(own.map(|(own, next)| [own[0].min(next[0]), own[1].min(next[1])]).collect());
        }
        least.push(vec![[0.0; 2]; all.len()]);
        least.reverse();
        let narrow = kinds.into_iter().map(|mut sets| {
            sets.sort_unstable();
            sets.into_iter().map(|set| set as u32).collect()
        });
        Self { narrow: narrow.collect(), levels, wide, least, all, whole: whole(model) }
    }

    /// The kind of the borders of wide sets.
    pub fn wide_kind(&self) -> u32 {
        self.narrow.len() as u32 + 1
    }

    /// How many units a set has. O(log units).
    pub fn size(&self, set: u32) -> usize {
        self.levels.partition_point(|&first| first <= set as usize) - 1
    }

    /// The sets of so many units.
    pub fn of_size(&self, size: usize) -> impl Iterator<Item = u32> + use<> {
        (self.levels[size]..self.levels[size + 1]).map(|set| set as u32)
    }

    /// The numbers of units, of more than so many, of which there are wide sets.
    pub fn wide_beyond(&self, size: usize) -> &[usize] {
        &self.wide[self.wide.partition_point(|&wide| wide <= size)..]
    }

    /// The first narrow set that contains this one, or all units, if it is wide.
    pub fn next_narrow(&self, set: u32) -> Option<u32> {
        let size = self.size(set);
        let place = self.wide.binary_search(&size).ok()?;
        let run = self.wide[place..].iter().zip(size..).take_while(|&(&wide, next)| wide == next).count();
        Some(self.levels[size + run] as u32)
    }

    /// The least that a stage of this shape moves between two sets of borders of these kinds.
    pub fn least_moved(&self, shape: usize, begin: (u32, u32), end: (u32, u32)) -> f64 {
        if self.size(end.0) - self.size(begin.0) < self.whole {
            return 0.0;
        }
        self.least[begin.1 as usize][shape][0] + self.least[end.1 as usize][shape][1]
    }

    /// What a stage of this shape moves between two sets, at most.
    pub fn most_moved(&self, shape: usize, begin: u32, end: u32) -> f64 {
        self.all[shape][begin as usize][0] + self.all[shape][end as usize][1]
    }
}

/// By shape and set: what edges move over the set's border.
fn moved(lattice: &Lattice, model: &Model) -> Vec<Vec<Bytes>> {
    let mut moved = vec![vec![[0.0; 2]; lattice.count()]; model.shapes.len()];
    let mut is_known = vec![false; lattice.count()];
    for set in 0..lattice.count() {
        for &(unit, larger) in lattice.above(set) {
            if std::mem::replace(&mut is_known[larger as usize], true) {
                continue;
            }
            for (shape, moved) in model.shapes.iter().zip(&mut moved) {
                let mut sums = moved[set];
                for at in &model.incident[unit as usize] {
                    for (end, sum) in sums.iter_mut().enumerate() {
                        // A node without options of the shape is in none of its stages.
                        let exchanged = Some(shape.exchanged[at.edge][end]).filter(|bytes| bytes.is_finite());
                        let bytes = model.costs.edges[at.edge].bytes + exchanged.unwrap_or_default();
                        *sum += if at.leaves { -bytes } else { bytes };
                    }
                }
                moved[larger as usize] = sums;
            }
        }
    }
    moved
}

/// Narrow sets by what is moved over their borders, those with less first.
fn kinds(moved: &[Vec<Bytes>], sets: Vec<usize>) -> Vec<Vec<usize>> {
    let bytes = |set: usize| moved.iter().flat_map(|of_shape| of_shape[set]).fold(f64::INFINITY, f64::min).max(0.0);
    let mut sets: Vec<(f64, usize)> = sets.into_iter().map(|set| (bytes(set), set)).collect();
    sets.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut kinds: Vec<Vec<(f64, usize)>> =
        sets.chunk_by(|a, b| b.0 <= a.0 * (1.0 + SAME)).map(<[_]>::to_vec).collect();
    while kinds.len() > MOST_NARROW {
        let ratio = |i: usize| kinds[i + 1][0].0 / kinds[i][0].0.max(f64::MIN_POSITIVE);
        let Some(nearest) = (0..kinds.len() - 1).min_by(|&a, &b| ratio(a).total_cmp(&ratio(b))) else { break };
        let next = kinds.remove(nearest + 1);
        kinds[nearest].extend(next);
    }
    kinds.into_iter().map(|kind| kind.into_iter().map(|(_, set)| set).collect()).collect()
}

/// By shape: the least that is moved over the borders of these sets.
fn least_of(moved: &[Vec<Bytes>], sets: &[usize]) -> Vec<Bytes> {
    let of_shape = |of_shape: &Vec<Bytes>| {
        let least = |end: usize| sets.iter().map(|&set| of_shape[set][end]).fold(f64::INFINITY, f64::min);
        [least(0), least(1)].map(|bytes| bytes.max(0.0) * (1.0 - ROUNDING))
    };
    moved.iter().map(of_shape).collect()
}

/// How many units a stage needs to have an end of each edge over its borders: more than there are which neither come before an
/// edge's source nor after its target.
fn whole(model: &Model) -> usize {
    let units = model.members.len();
    let leaving = |(unit, all): (usize, &Vec<Incident>)| {
        all.iter().filter(|at| at.leaves).map(|at| (unit, at.other)).collect::<Vec<_>>()
    };
    let edges: Vec<(usize, usize)> = model.incident.iter().enumerate().flat_map(leaving).collect();
    let backwards: Vec<(usize, usize)> = edges.iter().map(|&(u, v)| (v, u)).collect();
    let counts = |edges: &[(usize, usize)]| -> Vec<usize> {
        let Ok(graph) = Graph::new(units, edges) else { unreachable!("units have an order") };
        reachability::descendants(&graph).iter().map(|set| set.len()).collect()
    };
    let (after, before) = (counts(&edges), counts(&backwards));
    edges.iter().map(|&(u, v)| units - before[u] - after[v]).max().map_or(0, |most| most + 1)
}
