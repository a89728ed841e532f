//! Meshes and tori.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use super::{Checks, Layout, Links, Rate, Rng, Topology};

/// The extents of a grid, such as `8x8` or `4x4x4`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GridShape(Vec<usize>);

impl GridShape {
    /// The grid with these extents, each at least 1.
    ///
    /// # Errors
    /// There is none, one is zero, or there are more than [`Topology::MAX_DEVICES`] places in all.
    pub fn new(extents: Vec<usize>) -> Result<Self, String> {
        let size = extents.iter().fold(1_usize, |size, &extent| size.saturating_mul(extent));
        if extents.is_empty() || size == 0 || size > Topology::MAX_DEVICES {
            let most = Topology::MAX_DEVICES;
            return Err(format!("give extents from 1, such as `8x8` or `4x4x4`, of at most {most} devices"));
        }
        Ok(Self(extents))
    }

    fn size(&self) -> usize {
        self.0.iter().product()
    }

    /// The coordinates of place `index`; the last one runs fastest.
    fn coordinates(&self, mut index: usize) -> Vec<usize> {
        let mut coordinates: Vec<usize> = self
            .0
            .iter()
            .rev()
            .map(|&extent| {
                let coordinate = index % extent;
                index /= extent;
                coordinate
            })
            .collect();
        coordinates.reverse();
        coordinates
    }

    /// How many links a shortest way between these coordinates has.
    fn hops(&self, a: &[usize], b: &[usize], wraps: bool) -> usize {
        let along = |((&a, &b), &extent): ((&usize, &usize), &usize)| {
            let straight = a.abs_diff(b);
            if wraps { straight.min(extent - straight) } else { straight }
        };
        a.iter().zip(b).zip(&self.0).map(along).sum()
    }

    fn links(&self, wraps: bool) -> Links {
        let shape = self.clone();
        let places: Vec<Vec<usize>> = (0..self.size()).map(|place| self.coordinates(place)).collect();
        Links::new(move |a, b| bandwidth_of_hops(shape.hops(&places[a], &places[b], wraps)).bytes_per_ms())
    }

    fn place_name(&self, index: usize) -> String {
        let coordinates: Vec<String> = self.coordinates(index).iter().map(usize::to_string).collect();
        format!("({})", coordinates.join(","))
    }
}

impl fmt::Display for GridShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let extents: Vec<String> = self.0.iter().map(usize::to_string).collect();
        f.write_str(&extents.join("x"))
    }
}

impl FromStr for GridShape {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::new(text.split('x').map(|extent| extent.trim().parse().unwrap_or(0)).collect())
    }
}

impl Serialize for GridShape {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Bandwidth over so many hops: Table IX of Liu et al. (2024). Its ranges 21–31 and 31–51 share 31, which counts with
/// the first.
pub fn bandwidth_of_hops(hops: usize) -> Rate {
    const UP_TO_20: [f64; 20] = [
        78.1, 39.0, 24.4, 14.6, 9.77, 7.81, 5.86, 4.4, 2.93, 1.46, 0.88, 0.78, 0.68, 0.59, 0.49, 0.39, 0.29, 0.19,
        0.098, 0.098,
    ];
    Rate::gib(match hops {
        0..=20 => UP_TO_20[hops.saturating_sub(1)],
        21..=31 => 0.088,
        32..=51 => 0.078,
        _ => 0.068,
    })
}

/// A mesh: bandwidth falls with the hops between two devices as in Table IX of Liu et al. (2024).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, clap::Args)]
pub struct Mesh {
    /// Its extents, such as `8x8` or `4x4x4`.
    #[arg(long, value_name = "EXTENTS", default_value_t = Self::default().shape)]
    pub shape: GridShape,
}

/// A torus: a mesh whose every line is closed to a ring.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, clap::Args)]
pub struct Torus {
    /// Its extents, such as `8x8` or `4x4x4`.
    #[arg(long, value_name = "EXTENTS", default_value_t = Self::default().shape)]
    pub shape: GridShape,
}

impl Default for Mesh {
    fn default() -> Self {
        Self { shape: GridShape(vec![8, 8]) }
    }
}

impl Default for Torus {
    fn default() -> Self {
        Self { shape: GridShape(vec![8, 8]) }
    }
}

impl Layout for Mesh {
    fn name(&self) -> String {
        format!("mesh-{}", self.shape)
    }

    fn check(&self, _: &mut Checks) {}

    fn devices(&self) -> usize {
        self.shape.size()
    }

    fn device_name(&self, d: usize) -> String {
        self.shape.place_name(d)
    }

    fn draw(&self, _: &mut Rng) -> Links {
        self.shape.links(false)
    }
}

impl Layout for Torus {
    fn name(&self) -> String {
        format!("torus-{}", self.shape)
    }

    fn check(&self, _: &mut Checks) {}

    fn devices(&self) -> usize {
        self.shape.size()
    }

    fn device_name(&self, d: usize) -> String {
        self.shape.place_name(d)
    }

    fn draw(&self, _: &mut Rng) -> Links {
        self.shape.links(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hops_are_shortest_ways() {
        let shape: GridShape = "4x8".parse().expect("a shape");
        assert_eq!(shape.coordinates(13), [1, 5]);
        // 3 + 7 links, or one back around each ring.
        let hops = |wraps| shape.hops(&[0, 0], &[3, 7], wraps);
        assert_eq!((hops(false), hops(true)), (10, 2));
        assert_eq!(shape.to_string(), "4x8");
        assert!(["", "0x4", "x", "4x-1", "100x100"].iter().all(|bad| bad.parse::<GridShape>().is_err()));
    }
}
