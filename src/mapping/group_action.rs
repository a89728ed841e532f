//! What a group of automorphisms makes of the copies that are placed.

use super::{Mapping, MappingProblem};

/// Where an automorphism takes each device.
pub type Image = Vec<usize>;

/// A group of automorphisms, and how the ring of a stage passes through the images of the copies that are placed.
pub struct GroupAction<'a> {
    pub(super) problem: &'a MappingProblem,
    /// The group's elements in the order in which the ring passes through them.
    pub(super) images: Vec<Image>,
    /// By device: the first of its orbit.
    pub(super) orbits: Vec<usize>,
    /// How many copies of each stage are placed.
    pub(super) placed: usize,
    /// Whether the ring passes through every other image from its last copy to its first.
    pub(super) is_snake: bool,
    /// The links from one image to the next, seen from the first image.
    pub(super) closing: Vec<Closing>,
}

/// A link of a ring from one of the copies that are placed to the image of another.
#[derive(PartialEq)]
pub(super) struct Closing {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) image: Image,
}

impl GroupAction<'_> {
    /// By device: the first of its orbit.
    pub fn orbits(&self) -> &[usize] {
        &self.orbits
    }

    /// Whether the ring passes through every other image from its last copy to its first.
    pub fn is_snake(&self) -> bool {
        self.is_snake
    }

    /// How many copies of each stage are placed.
    pub fn placed(&self) -> usize {
        self.placed
    }

    /// The mapping of all copies, from where those that are placed are.
    pub fn expanded(&self, placed: &Mapping) -> Mapping {
        let mut devices = Vec::with_capacity(self.orbits.len());
        for copies in placed.devices.chunks(self.placed) {
            for (index, image) in self.images.iter().enumerate() {
                let is_reversed = self.is_snake && index % 2 == 1;
                let copy = |copy: usize| if is_reversed { self.placed - 1 - copy } else { copy };
                devices.extend((0..self.placed).map(|index| image[copies[copy(index)]]));
            }
        }
        Mapping { devices }
    }

    /// The time of the slowest of all copies, from where those that are placed are; infinite where one does not fit.
    pub fn objective(&self, placed: &Mapping) -> f64 {
        let mapping = self.expanded(placed);
        if self.problem.all_fit(&mapping.devices) { self.problem.objective(&mapping) } else { f64::INFINITY }
    }

    /// Time of the all-reduce over the link from a copy that is placed to the next one, where those of its stage are on
    /// `devices`: for the last one, over the slowest link from one image to the next.
    pub fn link_time(&self, stage: usize, copy: usize, devices: &[usize]) -> f64 {
        if copy + 1 < self.placed {
            return self.problem.all_reduce_time(stage, devices[copy], devices[copy + 1]);
        }
        let time =
            |link: &Closing| self.problem.all_reduce_time(stage, devices[link.from], link.image[devices[link.to]]);
        self.closing.iter().map(time).fold(0.0, f64::max)
    }

    /// Where the copy goes that makes room for one that goes `from` a device `to` another: it is on another device of the
    /// orbit, one that `is_used`, and goes to the image of `from`.
    pub fn companion(&self, from: usize, to: usize, is_used: impl Fn(usize) -> bool) -> Option<(usize, usize)> {
        if self.orbits[from] == self.orbits[to] || is_used(to) {
            return None;
        }
        self.images.iter().find(|image| is_used(image[to])).map(|image| (image[to], image[from]))
    }
}
