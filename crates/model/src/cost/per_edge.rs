//! A transfer for each edge in place of one for each producer.

use super::{CostModel, Costs, Transfer};
use crate::instance::Instance;
use crate::spec::ProblemSpec;

/// The costs of another model, where a device pays for each consumer's copy of an output by itself: an output that three
/// nodes of a device need comes in three times. For frameworks that send along edges, without multicast and without a
/// cache of what was received.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PerEdge<M>(pub M);

impl<M: CostModel> CostModel for PerEdge<M> {
    fn costs(&self, instance: &Instance, spec: &ProblemSpec) -> Costs {
        let mut costs = self.0.costs(instance, spec);
        let parts = |transfer: &Transfer| transfer.consumers.len();
        for kind in &mut costs.kinds {
            let times = costs.transfers.iter().zip(&kind.transfers);
            kind.transfers = times.flat_map(|(transfer, &time)| std::iter::repeat_n(time, parts(transfer))).collect();
        }
        let of_edge = |transfer: &Transfer, consumer| Transfer { consumers: vec![consumer], ..*transfer };
        let edges = costs.transfers.iter().flat_map(|t| t.consumers.iter().map(move |&v| of_edge(t, v)));
        costs.transfers = edges.collect();
        costs
    }
}
