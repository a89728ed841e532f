//! The order in which a network's variables are maximised away, with everything about it that no prices change.

use super::network::Network;
use crate::graph::TreeDecomposition;

/// One bag: a variable together with the later variables it is still tied to.
#[derive(Debug, Clone)]
pub struct Bucket<const D: usize> {
    /// The variable that is maximised away here; `None` at the root, which has no variables at all.
    pub variable: Option<usize>,
    /// How many values it has.
    pub values: usize,
    /// The later variables, the slowest first.
    pub separator: Vec<usize>,
    /// How many joint values the separator has.
    pub rows: usize,
    /// Consumption by joint value of separator and variable, the variable fastest; `None` is forbidden.
    pub base: Vec<Option<[f64; D]>>,
    /// The buckets below.
    pub children: Vec<Child>,
}

/// A bucket below another one.
#[derive(Debug, Clone)]
pub struct Child {
    /// Which one.
    pub bucket: usize,
    /// The joint value of its separator at each joint value of the bag above.
    pub rows: Vec<u32>,
}

/// Buckets in the order of their elimination, the root last.
#[derive(Debug, Clone)]
pub struct Plan<const D: usize> {
    /// The buckets.
    pub buckets: Vec<Bucket<D>>,
    /// How many units there are: their variables come first.
    pub units: usize,
}

impl<const D: usize> Plan<D> {
    /// Plans the elimination of `network`; `None` where its tables would hold more than `max_entries`.
    pub fn new(network: &Network<D>, max_entries: usize, stop: &dyn Fn() -> bool) -> Option<Self> {
        let n = network.domains.len();
        let max_width = max_entries.ilog2() as usize;
        let scopes = network.factors.iter().map(|factor| factor.scope.as_slice());
        let tree = TreeDecomposition::min_fill(n, scopes, max_width, stop)?;
        if entries(network, &tree) > max_entries as f64 {
            return None;
        }
        let mut rank = vec![n; n];
        tree.order.iter().enumerate().for_each(|(i, &v)| rank[v] = i);
        let mut factors_at = vec![Vec::new(); n + 1];
        for (f, factor) in network.factors.iter().enumerate() {
            let first = factor.scope.iter().map(|&v| rank[v]).min().unwrap_or(n);
            factors_at[first].push(f);
        }
        let mut children_at = vec![Vec::new(); n + 1];
        for (i, &v) in tree.order.iter().enumerate() {
            children_at[tree.parent(v).map_or(n, |parent| rank[parent])].push(i);
        }
        let mut buckets: Vec<Bucket<D>> = Vec::with_capacity(n + 1);
        for i in 0..=n {
            let variable = tree.order.get(i).copied();
            let separator = variable.map_or_else(Vec::new, |v| tree.separators[v].clone());
            let bucket = Bucket::new(network, variable, separator, &factors_at[i], &children_at[i], &buckets);
            buckets.push(bucket);
        }
        Some(Self { buckets, units: network.units })
    }

    /// How many entries all tables hold.
    pub fn entry_count(&self) -> usize {
        self.buckets.iter().map(|bucket| bucket.base.len()).sum()
    }
}

fn entries<const D: usize>(network: &Network<D>, tree: &TreeDecomposition) -> f64 {
    let values = |v: usize| f64::from(network.domains[v]);
    let bag = |v: usize| tree.separators[v].iter().map(|&u| values(u)).product::<f64>() * values(v);
    (0..network.domains.len()).map(bag).sum()
}

impl<const D: usize> Bucket<D> {
    fn new(
        network: &Network<D>,
        variable: Option<usize>,
        separator: Vec<usize>,
        factors: &[usize],
        children: &[usize],
        below: &[Bucket<D>],
    ) -> Self {
        let bag: Vec<usize> = separator.iter().copied().chain(variable).collect();
        let values = variable.map_or(1, |v| usize::from(network.domains[v]));
        let rows = separator.iter().map(|&v| usize::from(network.domains[v])).product();
        let mut base = vec![Some([0.0; D]); rows * values];
        for &f in factors {
            let factor = &network.factors[f];
            for (sum, row) in base.iter_mut().zip(projection(network, &bag, &factor.scope)) {
                *sum = sum.zip(factor.costs[row as usize]).map(|(a, b)| std::array::from_fn(|r| a[r] + b[r]));
            }
        }
        let child = |&bucket: &usize| Child { bucket, rows: projection(network, &bag, &below[bucket].separator) };
        Self { variable, values, separator, rows, base, children: children.iter().map(child).collect() }
    }
}

/// For each joint value of `bag` the joint value of `part`, which lies in it.
fn projection<const D: usize>(network: &Network<D>, bag: &[usize], part: &[usize]) -> Vec<u32> {
    let mut stride_in_part = vec![0; bag.len()];
    let mut stride = 1;
    for &v in part.iter().rev() {
        if let Some(i) = bag.iter().position(|&u| u == v) {
            stride_in_part[i] = stride;
        }
        stride *= u32::from(network.domains[v]);
    }
    let mut rows = vec![0];
    for (&v, stride) in bag.iter().zip(stride_in_part) {
        let values = u32::from(network.domains[v]);
        rows = rows.iter().flat_map(|row| (0..values).map(move |value| row + value * stride)).collect();
    }
    rows
}
