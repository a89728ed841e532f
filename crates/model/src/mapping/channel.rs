//! Channels: what devices share on the way out of their host.

/// What carries all that some devices send out of their host, and all that they get from there: a network card, or an uplink.
/// It carries as much in each direction at once.
#[derive(Debug, Clone, PartialEq)]
pub struct Channel {
    /// What it is called.
    pub name: String,
    /// The devices that share it, ascending; one that stands for k of them k times.
    pub devices: Vec<usize>,
    /// The devices that these reach without it, themselves included, ascending.
    pub inside: Vec<usize>,
    /// Bytes per time unit.
    pub bandwidth: f64,
}

/// What a message takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MessageTime {
    /// Until its first byte.
    pub latency: f64,
    /// For its bytes.
    pub transfer: f64,
}

impl Channel {
    /// The same for some of the devices alone, by their places among `devices`, which ascend.
    #[must_use]
    pub fn among(&self, devices: &[usize]) -> Self {
        let places = |all: &[usize]| all.iter().filter_map(|device| devices.binary_search(device).ok()).collect();
        Self { devices: places(&self.devices), inside: places(&self.inside), ..self.clone() }
    }

    /// How many messages it carries where `near` sends one to `far`, or gets one from it.
    pub fn carries(&self, near: usize, far: usize) -> usize {
        let below = |device: usize| self.devices.partition_point(|&other| other < device);
        if self.inside.binary_search(&far).is_ok() { 0 } else { below(near + 1) - below(near) }
    }
}
