//! Devices in an order in which near ones follow one another.

use rand::RngExt;
use rand::rngs::Xoshiro256PlusPlus;

/// How far from each other near devices are at most.
const FAR: f64 = 64.0;

/// Devices in a row.
#[derive(Debug, Clone)]
pub struct Line {
    devices: Vec<usize>,
    /// By device.
    places: Vec<usize>,
}

impl Line {
    /// All devices in this order.
    pub fn new(devices: Vec<usize>) -> Self {
        let mut places = vec![0; devices.len()];
        devices.iter().enumerate().for_each(|(place, &device)| places[device] = place);
        Self { devices, places }
    }

    /// Another device near this one, or itself at the ends: close ones as often as less close ones.
    pub fn pick(&self, device: usize, rng: &mut Xoshiro256PlusPlus) -> usize {
        let distance = (rng.random::<f64>() * FAR.log2()).exp2() as usize;
        let place = self.places[device];
        let there = if rng.random_bool(0.5) { place.checked_sub(distance) } else { place.checked_add(distance) };
        there.and_then(|there| self.devices.get(there)).copied().unwrap_or(device)
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn near_devices_are_picked_more_often_than_far_ones() {
        let line = Line::new((0..200).rev().collect());
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(0);
        let mut counts = vec![0; 200];
        (0..20_000).for_each(|_| counts[line.pick(100, &mut rng)] += 1);
        assert!(counts[99] > 3 * counts[110] && counts[110] > counts[150] && counts[150] > 0);
        assert!((0..200).all(|device: usize| device.abs_diff(100) <= 64 || counts[device] == 0));
        assert!(line.pick(0, &mut rng) < 64);
    }
}
