//! All copies on different devices (Régin, A filtering algorithm for constraints of difference in CSPs, 1994).

use super::matching::{Matching, NONE};
use super::state::{Conflict, State};
use crate::small_set::Set;

impl<const W: usize> State<'_, W> {
    /// Takes from every copy the devices that it has in no way of giving all copies different ones, of different classes.
    pub(super) fn all_different(&mut self) -> Result<(), Conflict> {
        let (model, domains) = (self.model, &self.domains.devices);
        let allowed = match &model.classes {
            None => distinct(&mut self.matching, domains, model.devices())?,
            Some(classes) => {
                let domains: Vec<Set<W>> = domains.iter().map(|domain| classes.of(*domain)).collect();
                let allowed = distinct(&mut self.matching, &domains, classes.len())?;
                allowed.into_iter().map(|allowed| classes.devices(allowed)).collect()
            }
        };
        for (copy, allowed) in allowed.iter().enumerate() {
            self.keep(copy, allowed)?;
        }
        Ok(())
    }
}

/// By copy: the devices of its domain, all below `devices`, that it has in some way of giving all copies different ones.
fn distinct<const W: usize>(
    matching: &mut Matching,
    domains: &[Set<W>],
    devices: usize,
) -> Result<Vec<Set<W>>, Conflict> {
    if !matching.repair(domains) {
        return Err(Conflict);
    }
    let mut components = Components::new(domains, matching, devices);
    (0..domains.len()).for_each(|copy| {
        if components.number[copy] == 0 {
            components.visit(copy);
        }
    });
    Ok(components.allowed)
}

/// Strongly connected components of copies, where a copy leads to those whose devices are in its domain (Tarjan). All
/// copies that lead to a free device form one component with it.
struct Components<'a, const W: usize> {
    domains: &'a [Set<W>],
    matching: &'a Matching,
    number: Vec<usize>,
    lowest: Vec<usize>,
    counter: usize,
    path: Vec<usize>,
    /// The devices of the components that are not done.
    open: Set<W>,
    /// Those of copies that lead to a free device.
    loose: Set<W>,
    allowed: Vec<Set<W>>,
}

impl<'a, const W: usize> Components<'a, W> {
    fn new(domains: &'a [Set<W>], matching: &'a Matching, devices: usize) -> Self {
        let free: Set<W> = (0..devices).filter(|&device| matching.copy[device] == NONE).collect();
        let mut components = Self {
            domains,
            matching,
            number: vec![0; domains.len()],
            lowest: vec![0; domains.len()],
            counter: 0,
            path: Vec::new(),
            open: Set::below(devices).minus(&free),
            loose: free,
            allowed: vec![Set::EMPTY; domains.len()],
        };
        components.loosen();
        components
    }

    /// Settles the copies that lead to a free device, and their devices.
    fn loosen(&mut self) {
        loop {
            let before = self.loose;
            for copy in 0..self.domains.len() {
                if self.number[copy] == 0 && self.domains[copy].meets(&self.loose) {
                    self.number[copy] = NONE;
                    self.loose.insert(self.matching.device[copy]);
                }
            }
            if self.loose == before {
                break;
            }
        }
        self.open = self.open.minus(&self.loose);
        for copy in (0..self.domains.len()).filter(|&copy| self.number[copy] == NONE) {
            self.allowed[copy] = self.loose;
        }
    }

    fn visit(&mut self, copy: usize) {
        self.counter += 1;
        (self.number[copy], self.lowest[copy]) = (self.counter, self.counter);
        self.path.push(copy);
        let start = self.path.len() - 1;
        for device in (self.domains[copy] & self.open).iter() {
            let other = self.matching.copy[device];
            if self.number[other] == 0 {
                self.visit(other);
                self.lowest[copy] = self.lowest[copy].min(self.lowest[other]);
            } else if self.open.contains(device) {
                self.lowest[copy] = self.lowest[copy].min(self.number[other]);
            }
        }
        if self.lowest[copy] == self.number[copy] {
            let members = self.path.split_off(start);
            let devices: Set<W> = members.iter().map(|&member| self.matching.device[member]).collect();
            self.open = self.open.minus(&devices);
            members.iter().for_each(|&member| self.allowed[member] = devices);
        }
    }
}
