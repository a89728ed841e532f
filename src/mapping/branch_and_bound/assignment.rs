//! The least that links cost a device when no two of them lead to the same device: an assignment problem.
//!
//! Solved by shortest augmenting paths (Kuhn 1955, Jonker & Volgenant 1987). Its values say how much each link may cost, too.

/// No row.
const NONE: usize = usize::MAX;

/// Some links, each with the devices that it may lead to.
#[derive(Debug, Default)]
pub struct Assignment {
    links: usize,
    /// The devices that some link may lead to.
    devices: Vec<usize>,
    /// By link and device, in rows of [`Self::width`]: infinite where the link does not lead there.
    costs: Vec<f64>,
    /// What each link is worth: at the optimum no link to a device costs less than the two are worth together.
    link_values: Vec<f64>,
    /// What each device is worth, at most 0; there is one more value for the start of paths.
    device_values: Vec<f64>,
    /// The link that leads to each device, and at the start the one looked at.
    owners: Vec<usize>,
    /// By device: whence the shortest path leads there, how long it is, and whether it is settled.
    from: Vec<usize>,
    lengths: Vec<f64>,
    settled: Vec<bool>,
}

impl Assignment {
    /// So many links that lead nowhere yet.
    pub fn reset(&mut self, links: usize) {
        self.links = links;
        self.devices.clear();
        self.costs.clear();
        self.costs.resize(links * self.width(), f64::INFINITY);
    }

    /// Links have so few devices each that this is the most there can be.
    fn width(&self) -> usize {
        self.links * self.links
    }

    /// Says what a link to a device costs. Each link's cheapest devices, as many as there are links, are enough, and no link
    /// may have more.
    pub fn offer(&mut self, link: usize, device: usize, cost: f64) {
        let known = self.devices.iter().position(|&known| known == device);
        let column = known.unwrap_or_else(|| {
            self.devices.push(device);
            self.devices.len() - 1
        });
        let width = self.width();
        self.costs[link * width + column] = cost;
    }

    /// The least cost of all links; `None` where they cannot all lead to different devices. O(links² · devices).
    pub fn solve(&mut self) -> Option<f64> {
        let devices = self.devices.len();
        let renew = |values: &mut Vec<f64>, count: usize| {
            values.clear();
            values.resize(count, 0.0);
        };
        renew(&mut self.link_values, self.links);
        renew(&mut self.device_values, devices + 1);
        self.owners.clear();
        self.owners.resize(devices + 1, NONE);
        (0..self.links).try_for_each(|link| self.augment(link))?;
        let cost = |(device, &owner): (usize, &usize)| self.costs[owner * self.width() + device];
        let taken = self.owners[..devices].iter().enumerate().filter(|(_, owner)| **owner != NONE);
        Some(taken.map(cost).sum())
    }

    /// Lets one more link lead somewhere, along a shortest augmenting path.
    fn augment(&mut self, link: usize) -> Option<()> {
        let (start, width) = (self.devices.len(), self.width());
        self.owners[start] = link;
        self.from.clear();
        self.from.resize(start, start);
        self.lengths.clear();
        self.lengths.resize(start, f64::INFINITY);
        self.settled.clear();
        self.settled.resize(start + 1, false);
        let mut end = start;
        while self.owners[end] != NONE {
            self.settled[end] = true;
            let owner = self.owners[end];
            let (mut step, mut next) = (f64::INFINITY, NONE);
            for device in (0..start).filter(|&device| !self.settled[device]) {
                let cost = self.costs[owner * width + device];
                let length = cost - self.link_values[owner] - self.device_values[device];
                if length < self.lengths[device] {
                    (self.lengths[device], self.from[device]) = (length, end);
                }
                if self.lengths[device] < step {
                    (step, next) = (self.lengths[device], device);
                }
            }
            if next == NONE {
                return None;
            }
            for device in 0..=start {
                if self.settled[device] {
                    self.link_values[self.owners[device]] += step;
                    self.device_values[device] -= step;
                } else {
                    self.lengths[device] -= step;
                }
            }
            end = next;
        }
        while end != start {
            let before = self.from[end];
            self.owners[end] = self.owners[before];
            end = before;
        }
        Some(())
    }

    /// What a link is worth: all links cost the least plus what this one costs above that.
    pub fn value(&self, link: usize) -> f64 {
        self.link_values[link]
    }

    /// The devices that links compete for, and what leading there costs another link at least, besides its own cost.
    pub fn contested(&self) -> impl Iterator<Item = (usize, f64)> {
        self.devices
            .iter()
            .zip(&self.device_values)
            .filter(|(_, value)| **value < 0.0)
            .map(|(&device, value)| (device, -value))
    }
}

#[cfg(test)]
mod tests {
    use rand::rngs::Xoshiro256PlusPlus;
    use rand::{RngExt, SeedableRng};

    use super::*;

    /// The least cost of links from `link` on to devices not yet taken, by trying all.
    fn least(costs: &[Vec<f64>], link: usize, taken: u32) -> f64 {
        let Some(row) = costs.get(link) else { return 0.0 };
        let free = (0..row.len()).filter(|device| taken >> device & 1 == 0);
        free.map(|device| row[device] + least(costs, link + 1, taken | 1 << device)).fold(f64::INFINITY, f64::min)
    }

    #[test]
    fn costs_are_least_and_values_bound_what_each_link_may_cost() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(0);
        let mut assignment = Assignment::default();
        for _ in 0..300 {
            let (links, devices) = (rng.random_range(1..=4), rng.random_range(1..=6));
            let mut cost = || if rng.random_bool(0.2) { f64::INFINITY } else { f64::from(rng.random_range(0..20)) };
            let costs: Vec<Vec<f64>> = (0..links).map(|_| (0..devices).map(|_| cost()).collect()).collect();
            assignment.reset(links);
            for (link, row) in costs.iter().enumerate() {
                let mut order: Vec<usize> = (0..devices).filter(|&device| row[device].is_finite()).collect();
                order.sort_by(|&a, &b| row[a].total_cmp(&row[b]));
                order.iter().take(links).for_each(|&device| assignment.offer(link, device, row[device]));
            }
            let optimum = least(&costs, 0, 0);
            assert_eq!(assignment.solve(), Some(optimum).filter(|optimum| optimum.is_finite()));
            if optimum.is_infinite() {
                continue;
            }
            let contested: Vec<(usize, f64)> = assignment.contested().collect();
            for (link, device) in (0..links).flat_map(|link| (0..devices).map(move |device| (link, device))) {
                let mut others = costs.clone();
                let own = others.remove(link)[device];
                let with_it = own + least(&others, 0, 1 << device);
                let besides = contested.iter().find(|(other, _)| *other == device).map_or(0.0, |(_, besides)| *besides);
                assert!(optimum - assignment.value(link) + own + besides <= with_it);
            }
        }
    }
}
