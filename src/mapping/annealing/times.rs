//! Times that annealing keeps up to date.

/// Times that follow from where the copies are, and how to take back the latest changes.
#[derive(Debug, Default)]
pub struct Times {
    /// By copy, without the all-reduce.
    pub loads: usize,
    /// By copy: of the link to the next replica.
    pub links: usize,
    /// By copy: its share of the energy.
    pub energies: usize,
    /// By stage: of the slowest link of its ring.
    pub rings: usize,
    values: Vec<f64>,
    changes: Vec<(usize, f64)>,
}

impl Times {
    pub fn new(copies: usize, stages: usize) -> Self {
        let values = vec![0.0; 3 * copies + stages];
        Self { loads: 0, links: copies, energies: 2 * copies, rings: 3 * copies, values, changes: Vec::new() }
    }

    pub fn load(&self, copy: usize) -> f64 {
        self.values[self.loads + copy]
    }

    pub fn link(&self, copy: usize) -> f64 {
        self.values[self.links + copy]
    }

    pub fn energy(&self, copy: usize) -> f64 {
        self.values[self.energies + copy]
    }

    pub fn ring(&self, stage: usize) -> f64 {
        self.values[self.rings + stage]
    }

    /// Sets a value and returns by how much it grew.
    pub fn set(&mut self, index: usize, value: f64) -> f64 {
        let before = std::mem::replace(&mut self.values[index], value);
        self.changes.push((index, before));
        value - before
    }

    /// The changes so far are to stay.
    pub fn keep(&mut self) {
        self.changes.clear();
    }

    /// Undoes the changes since the last that are to stay.
    pub fn take_back(&mut self) {
        while let Some((index, before)) = self.changes.pop() {
            self.values[index] = before;
        }
    }
}
