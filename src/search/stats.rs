//! Figures of a run.

/// What a run did, by name, in the order it was recorded.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Stats(pub Vec<(&'static str, f64)>);

impl Stats {
    /// Records or replaces a figure.
    pub fn set(&mut self, name: &'static str, value: f64) {
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some(entry) => entry.1 = value,
            None => self.0.push((name, value)),
        }
    }

    /// A figure by name.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.0.iter().find(|(known, _)| *known == name).map(|&(_, value)| value)
    }
}
