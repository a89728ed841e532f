//! A mapping around stars that are chosen one after the other.

use super::super::model::{Link, Model};
use super::super::set::Set;
use super::Stars;
use crate::mapping::Mapping;

/// A mapping in the making.
struct Draft<'m, 'a, const W: usize> {
    model: &'m Model<'a, W>,
    /// By copy.
    devices: Vec<Option<usize>>,
    free: Set<W>,
}

/// Popular devices are among the nearest of the best middles, of which there are so many for each star, and so many for each
/// link.
const BEST: usize = 2;
const NEAREST: usize = 2;

/// The part of the target up to which popularity counts; the rest is for exchanges among neighbours.
const SPENT: f64 = 0.9985;

/// Bisections for how much popularity counts.
const STEPS: usize = 25;

impl<const W: usize> Stars<W> {
    /// A mapping in which the middle of every star is where it takes the least on the devices that are left, and what that
    /// leaves of the target is spent on devices that few others want for neighbours. All other copies follow, each as near to
    /// its neighbours as it finds a device. `None` where a copy does not fit. O(copies · D · (messages + log D)).
    pub(super) fn draft(&self, model: &Model<W>, target: f64) -> Option<Mapping> {
        let popularity = self.popularity(model);
        let mut draft = Draft { model, devices: vec![None; model.copies()], free: Set::below(model.devices()) };
        for replica in 0..model.replicas() {
            let copy = |stage: usize| stage * model.replicas() + replica;
            let least = |&device: &usize| self.least(model, device, draft.free);
            let devices = draft.free & model.stages[self.stage].fits;
            let middle = devices.iter().min_by(|a, b| least(a).total_cmp(&least(b)))?;
            let around = self.spend(model, middle, draft.free, SPENT * target, &popularity);
            draft.place(copy(self.stage), middle);
            let spokes: Vec<usize> = self.by_bytes(model).into_iter().map(copy).collect();
            spokes.iter().zip(around).for_each(|(&copy, device)| draft.place(copy, device));
            draft.arrange(copy(self.stage), &spokes, target);
        }
        while let Some(copy) = draft.next() {
            draft.place_near(copy)?;
        }
        let devices: Vec<usize> = draft.devices.into_iter().collect::<Option<_>>()?;
        model.problem.all_fit(&devices).then_some(Mapping { devices })
    }

    /// By device: how many of the best middles it is among the nearest of, and more for these themselves.
    fn popularity(&self, model: &Model<W>) -> Vec<f64> {
        let (all, near) = (Set::below(model.devices()), NEAREST * self.scales.len());
        let mut middles: Vec<(f64, usize)> =
            (0..model.devices()).map(|device| (self.least(model, device, all), device)).collect();
        middles.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut popularity = vec![0.0; model.devices()];
        for (_, middle) in middles.into_iter().take(BEST * model.replicas()) {
            popularity[middle] += near as f64;
            let nearest = model.relations[self.relation].nearest(middle, all).take(near);
            nearest.for_each(|(_, device)| popularity[device] += 1.0);
        }
        popularity
    }

    /// The least popular devices for the neighbours of a middle, the nearest first, that take no longer than the target, or
    /// else the nearest.
    fn spend(&self, model: &Model<W>, middle: usize, free: Set<W>, target: f64, popularity: &[f64]) -> Vec<usize> {
        let nearest: Vec<(f64, usize)> = model.relations[self.relation].nearest(middle, free).collect();
        let Some(&(least, _)) = nearest.first() else { return Vec::new() };
        let choose = |weight: f64| {
            let mut ranked = nearest.clone();
            ranked.sort_by(|a, b| {
                let rank = |&(cost, device): &(f64, usize)| cost + weight * popularity[device];
                rank(a).total_cmp(&rank(b))
            });
            ranked.truncate(self.scales.len());
            ranked.sort_by(|a, b| a.0.total_cmp(&b.0));
            ranked
        };
        let time = |chosen: &[(f64, usize)]| {
            let links: f64 = chosen.iter().zip(&self.scales).map(|((cost, _), scale)| cost * scale).sum();
            model.stages[self.stage].pieces[0].compute[middle] + links
        };
        let (mut chosen, mut low, mut high) = (choose(0.0), 0.0, least);
        for _ in 0..STEPS {
            let weight = f64::midpoint(low, high);
            let other = choose(weight);
            if time(&other) <= target {
                (chosen, low) = (other, weight);
            } else {
                high = weight;
            }
        }
        chosen.into_iter().map(|(_, device)| device).collect()
    }

    /// The neighbours of the stage in the middle, from the one with the most bytes on.
    fn by_bytes(&self, model: &Model<W>) -> Vec<usize> {
        let row = &model.stages[self.stage];
        let mut neighbours: Vec<(f64, usize)> =
            row.pieces[0].links.iter().map(|&(index, link)| (link.scale, row.neighbours[index])).collect();
        neighbours.sort_by(|a, b| b.0.total_cmp(&a.0));
        neighbours.into_iter().map(|(_, stage)| stage).collect()
    }
}

impl<const W: usize> Draft<'_, '_, W> {
    fn place(&mut self, copy: usize, device: usize) {
        self.devices[copy] = Some(device);
        self.free.remove(device);
    }

    /// Swaps the devices of a star's neighbours as long as that brings it nearer to the target.
    fn arrange(&mut self, middle: usize, spokes: &[usize], target: f64) {
        let mut before = self.excess(middle, spokes, target);
        let mut has_changed = true;
        while std::mem::take(&mut has_changed) {
            for second in 1..spokes.len() {
                for first in 0..second {
                    self.devices.swap(spokes[first], spokes[second]);
                    let after = self.excess(middle, spokes, target);
                    if after < before {
                        (before, has_changed) = (after, true);
                    } else {
                        self.devices.swap(spokes[first], spokes[second]);
                    }
                }
            }
        }
    }

    /// What the copies of a star take beyond the target, as far as their neighbours have devices.
    fn excess(&self, middle: usize, spokes: &[usize], target: f64) -> f64 {
        let time = |copy: usize| -> f64 {
            let Some(device) = self.devices[copy] else { return 0.0 };
            self.model.stages[copy / self.model.replicas()].pieces[0].compute[device] + self.links(copy, device)
        };
        spokes.iter().chain([&middle]).map(|&copy| (time(copy) - target).max(0.0)).sum()
    }

    /// What the links of a copy on a device take to its neighbours that have devices.
    fn links(&self, copy: usize, device: usize) -> f64 {
        let cost = |(other, link): (usize, Link)| link.scale * self.model.relations[link.relation].cost(device, other);
        self.placed(copy).map(cost).sum()
    }

    /// The copy without a device that has the most bytes to exchange with those that have one.
    fn next(&self) -> Option<usize> {
        let open = (0..self.devices.len()).filter(|&copy| self.devices[copy].is_none());
        let bytes = |copy: usize| self.placed(copy).map(|(_, link)| link.scale).sum::<f64>();
        open.map(|copy| (bytes(copy), copy)).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, copy)| copy)
    }

    /// The devices of a copy's neighbours that have one, and the links to them.
    fn placed(&self, copy: usize) -> impl Iterator<Item = (usize, Link)> {
        let (stage, replica) = (copy / self.model.replicas(), copy % self.model.replicas());
        let row = &self.model.stages[stage];
        row.pieces[0].links.iter().filter_map(move |&(index, link)| {
            Some((self.devices[row.neighbours[index] * self.model.replicas() + replica]?, link))
        })
    }

    /// Gives a copy the free device with the fastest links to its neighbours.
    fn place_near(&mut self, copy: usize) -> Option<()> {
        let devices = self.free & self.model.stages[copy / self.model.replicas()].fits;
        let timed = devices.iter().map(|device| (self.links(copy, device), device));
        let (_, device) = timed.min_by(|a, b| a.0.total_cmp(&b.0))?;
        self.place(copy, device);
        Some(())
    }
}
