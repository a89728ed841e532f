//! Devices and what the links between them carry.

use super::channel::{Channel, MessageTime};

/// One device.
#[derive(Debug, Clone, PartialEq)]
pub struct Device {
    /// Its name, as it is shown.
    pub name: String,
    /// How fast it computes: a stage takes its compute time divided by this. Above zero.
    pub speed: f64,
    /// Bytes of memory; `None` where it sets no limit.
    pub memory: Option<f64>,
}

impl Device {
    /// A device of speed 1 without a memory limit.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), speed: 1.0, memory: None }
    }

    /// The host that its name tells, which is all before the last slash, as in `a/gpu0`.
    pub fn host(&self) -> Option<&str> {
        self.name.rsplit_once('/').map(|(host, _)| host)
    }

    /// Its name without the host.
    pub fn name_in_host(&self) -> &str {
        self.name.rsplit_once('/').map_or(&self.name, |(_, name)| name)
    }
}

/// Devices and the links of every ordered pair of them, in the postal model: a message of b bytes takes
/// latency + b / bandwidth (Liu et al. 2024, section VII).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Topology {
    /// What it is called.
    pub name: String,
    /// Where its figures come from: a measurement, a data sheet, a generator and its seed.
    pub source: String,
    /// The devices.
    pub devices: Vec<Device>,
    /// What devices share on the way out of their host. A message alone takes what its link takes, or its channels where they
    /// are slower.
    pub channels: Vec<Channel>,
    bandwidth: Vec<f64>,
    latency: Vec<f64>,
}

impl Topology {
    /// The most devices that files and generators may give it: its matrices hold the square of it.
    pub const MAX_DEVICES: usize = 4096;

    /// The topology in which data goes from device `a` to device `b` at `bandwidth(a, b)` bytes per time unit,
    /// above zero and finite (files and generators give 1e-3 to 1e15), without latency and without channels.
    pub fn new(
        name: impl Into<String>,
        source: impl Into<String>,
        devices: Vec<Device>,
        bandwidth: impl Fn(usize, usize) -> f64,
    ) -> Self {
        let count = devices.len();
        let bandwidth = pairs(count).map(|(a, b)| if a == b { f64::MAX } else { bandwidth(a, b) }).collect();
        let (channels, latency) = (Vec::new(), vec![0.0; count * count]);
        Self { name: name.into(), source: source.into(), devices, channels, bandwidth, latency }
    }

    /// The same topology where a message from `a` to `b` takes `latency(a, b)` time units, at least zero and
    /// finite, before its first byte.
    #[must_use]
    pub fn with_latency(mut self, latency: impl Fn(usize, usize) -> f64) -> Self {
        self.latency = pairs(self.len()).map(|(a, b)| if a == b { 0.0 } else { latency(a, b) }).collect();
        self
    }

    /// Number of devices.
    pub fn len(&self) -> usize {
        self.devices.len()
    }

    /// Whether there is no device.
    pub fn is_empty(&self) -> bool {
        self.devices.is_empty()
    }

    /// Bytes per time unit from device `a` to device `b`.
    #[inline]
    pub fn bandwidth(&self, a: usize, b: usize) -> f64 {
        self.bandwidth[a * self.devices.len() + b]
    }

    /// Time from device `a` to device `b` before a message's first byte arrives.
    #[inline]
    pub fn latency(&self, a: usize, b: usize) -> f64 {
        self.latency[a * self.devices.len() + b]
    }

    /// Time of a message of `bytes` from device `a` to device `b`, without channels. Nothing is sent within a device, and no message
    /// of no bytes is.
    #[inline]
    pub fn message_time(&self, a: usize, b: usize, bytes: f64) -> f64 {
        if bytes == 0.0 || a == b { 0.0 } else { self.latency(a, b) + bytes / self.bandwidth(a, b) }
    }

    /// What each of these messages takes, from one device to another with so many bytes, all of them at once: those that pass a
    /// channel in one direction share it evenly, and take as long there as all of them do. Links are shared by nobody.
    /// O(messages · (1 + channels · log devices)).
    pub fn at_once(&self, messages: &[(usize, usize)], bytes: f64) -> Vec<MessageTime> {
        let alone = |&(a, b): &(usize, usize)| match bytes == 0.0 || a == b {
            true => MessageTime { latency: 0.0, transfer: 0.0 },
            false => MessageTime { latency: self.latency(a, b), transfer: bytes / self.bandwidth(a, b) },
        };
        let mut times: Vec<MessageTime> = messages.iter().map(alone).collect();
        for channel in &self.channels {
            for is_out in [true, false] {
                let carried =
                    |&(a, b): &(usize, usize)| if is_out { channel.carries(a, b) } else { channel.carries(b, a) };
                let count: usize = messages.iter().map(carried).sum();
                let shared = count as f64 * bytes / channel.bandwidth;
                for (time, _) in times.iter_mut().zip(messages).filter(|(_, message)| carried(message) > 0) {
                    time.transfer = time.transfer.max(shared);
                }
            }
        }
        times
    }
}

fn pairs(count: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..count * count).map(move |pair| (pair / count, pair % count))
}
