//! Classes of devices that exclude each other.

use crate::small_set::Set;

/// Classes of devices: where a copy has one of a class, no other copy has any of it.
#[derive(Debug)]
pub struct Classes<const W: usize> {
    /// By device: the number of its class.
    class: Vec<usize>,
    /// By class.
    devices: Vec<Set<W>>,
}

impl<const W: usize> Classes<W> {
    /// The classes that say by device which is the first of its own.
    pub fn new(first: &[usize]) -> Self {
        let (mut class, mut devices) = (vec![0; first.len()], Vec::new());
        for (device, &first) in first.iter().enumerate() {
            if device == first {
                class[device] = devices.len();
                devices.push(Set::EMPTY);
            }
            class[device] = class[first];
            devices[class[device]].insert(device);
        }
        Self { class, devices }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.devices.len()
    }

    /// The class of a device.
    pub fn around(&self, device: usize) -> Set<W> {
        self.devices[self.class[device]]
    }

    /// The numbers of the classes of these devices.
    pub fn of(&self, devices: Set<W>) -> Set<W> {
        devices.iter().map(|device| self.class[device]).collect()
    }

    /// The devices of classes of these numbers.
    pub fn devices(&self, classes: Set<W>) -> Set<W> {
        classes.iter().fold(Set::EMPTY, |devices, class| devices | self.devices[class])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_numbered_by_their_first_devices() {
        let classes = Classes::<1>::new(&[0, 1, 0, 3, 1]);
        assert_eq!(classes.len(), 3);
        assert_eq!(classes.around(4), [1, 4].into_iter().collect());
        assert_eq!(classes.of([2, 3].into_iter().collect()), [0, 2].into_iter().collect());
        assert_eq!(classes.devices([0, 2].into_iter().collect()), [0, 2, 3].into_iter().collect());
    }
}
