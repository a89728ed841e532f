//! The schedule of splits that are not contiguous.

use super::{Order, Schedule, Setting, Synchronise};
use crate::simulate::error::Unsuitable;

/// A pipeline of virtual devices (Tarnawski 2020, section 5.2).
///
/// The nodes of a device that cannot run without interruption are cut into virtual devices, and in each round every
/// virtual device, of the forward as of the backward pass, works on the microbatch whose turn it is. No device waits
/// for the others to end a round. A device holds its weights once, as the paper counts memory, although they are updated
/// after each microbatch: the versions that [`super::Asynchronous`] keeps are not counted. The time per microbatch comes to be the largest load of a device, whatever the split.
#[derive(Debug, Clone, Copy, Default)]
pub struct VirtualDevices;

impl Schedule for VirtualDevices {
    fn name(&self) -> &'static str {
        "virtual-devices"
    }

    fn synchronise(&self) -> Synchronise {
        Synchronise::EachMicrobatch
    }

    fn order(&self, _: &Setting) -> Result<Order, Unsuitable> {
        Ok(Order::Rounds)
    }
}
