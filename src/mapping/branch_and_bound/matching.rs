//! Copies matched with devices.

use crate::small_set::Set;

/// Marks a device without a copy.
pub(super) const NONE: usize = usize::MAX;

/// A device for each copy within its domain, kept from call to call.
#[derive(Debug)]
pub struct Matching {
    pub(super) device: Vec<usize>,
    pub(super) copy: Vec<usize>,
}

impl Matching {
    /// No copy has a device.
    pub fn new(copies: usize, devices: usize) -> Self {
        Self { device: vec![NONE; copies], copy: vec![NONE; devices] }
    }

    /// The device of each copy, all different, each in its domain; false where there are none.
    pub fn repair<const W: usize>(&mut self, domains: &[Set<W>]) -> bool {
        for (copy, domain) in domains.iter().enumerate() {
            let device = self.device[copy];
            if device != NONE && !domain.contains(device) {
                self.copy[device] = NONE;
                self.device[copy] = NONE;
            }
        }
        (0..domains.len()).all(|copy| {
            self.device[copy] != NONE || {
                let mut open = Set::FULL;
                self.augment(copy, domains, &mut open)
            }
        })
    }

    fn augment<const W: usize>(&mut self, copy: usize, domains: &[Set<W>], open: &mut Set<W>) -> bool {
        if let Some(device) = (domains[copy] & *open).iter().find(|&device| self.copy[device] == NONE) {
            self.assign(copy, device);
            return true;
        }
        while let Some(device) = (domains[copy] & *open).first() {
            open.remove(device);
            if self.augment(self.copy[device], domains, open) {
                self.assign(copy, device);
                return true;
            }
        }
        false
    }

    fn assign(&mut self, copy: usize, device: usize) {
        self.device[copy] = device;
        self.copy[device] = copy;
    }

    /// The devices of the copies.
    pub fn devices(&self) -> &[usize] {
        &self.device
    }
}
