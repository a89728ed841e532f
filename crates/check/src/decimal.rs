//! Exact numbers: decimals as files state them, and whole numbers whose sums and products are known to fit.

use crate::Result;

/// A number of at least zero: `digits` · 10^`exponent`, without trailing zeros among its digits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Decimal {
    digits: i128,
    exponent: i32,
}

/// No number of a file has an exponent beyond this, or more decimals.
const MOST_PLACES: i64 = 400;

/// Whole numbers stay below this, so that sums and differences of some of them are exact.
pub const LARGEST: i128 = 1 << 120;

impl Decimal {
    /// Nothing.
    pub const ZERO: Self = Self { digits: 0, exponent: 0 };

    /// One.
    pub const ONE: Self = Self { digits: 1, exponent: 0 };

    /// The number without trailing zeros among its digits.
    fn new(mut digits: i128, mut exponent: i32) -> Self {
        while digits != 0 && digits % 10 == 0 {
            (digits, exponent) = (digits / 10, exponent + 1);
        }
        if digits == 0 { Self::ZERO } else { Self { digits, exponent } }
    }

    /// The number that a JSON number states; it has at most 36 digits, and no exponent beyond 400.
    pub fn parse(text: &str) -> Result<Self> {
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let exponent = i64::from(exponent.parse::<i32>().map_err(|_| format!("{text} is too small or large"))?);
        let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = format!("{whole}{part}");
        let digits = all.trim_end_matches('0');
        let exponent = exponent + (all.len() - digits.len()) as i64 - part.len() as i64;
        if digits.trim_start_matches('-').is_empty() {
            return Ok(Self::ZERO);
        }
        ensure!(!digits.starts_with('-'), "{text} is below zero");
        ensure!(exponent.abs() <= MOST_PLACES, "{text} is too small or large");
        let digits = digits.parse().ok().filter(|&digits: &i128| digits < 10_i128.pow(36));
        let number = digits.map(|digits| Self { digits, exponent: exponent as i32 });
        number.ok_or_else(|| format!("{text} is no number of at most 36 digits"))
    }

    /// The product, unless it has too many digits.
    pub fn times(self, other: Self) -> Result<Self> {
        let digits = self.digits.checked_mul(other.digits).ok_or("a product has too many digits")?;
        Ok(Self::new(digits, self.exponent + other.exponent))
    }

    /// So much more or less, at least nothing, unless it has too many digits.
    pub fn moved(self, by: Self, up: bool) -> Result<Self> {
        let places = places([self, by]);
        let (all, by) = (self.scaled(places)?, by.scaled(places)?);
        Ok(Self::new(if up { all + by } else { (all - by).max(0) }, -(places as i32)))
    }

    /// The number times 10^`places`, as a whole number, unless it has more decimals or is too large.
    pub fn scaled(self, places: u32) -> Result<i128> {
        let shift = u32::try_from(self.exponent + places as i32);
        let shift = shift.map_err(|_| format!("a number has more than {places} decimals"))?;
        let power = if self.digits == 0 { Some(1) } else { 10_i128.checked_pow(shift) };
        let scaled = power.and_then(|power| self.digits.checked_mul(power)).filter(|&scaled| scaled < LARGEST);
        scaled.ok_or_else(|| format!("a number is too large for {places} decimals"))
    }
}

/// The most decimals of these numbers.
pub fn places(numbers: impl IntoIterator<Item = Decimal>) -> u32 {
    numbers.into_iter().map(|number| number.exponent.min(0).unsigned_abs()).max().unwrap_or_default()
}

/// The sum, which is an error where it or a part of it reaches 2^120.
pub fn sum(parts: impl IntoIterator<Item = i128>) -> Result<i128> {
    exact(parts.into_iter().try_fold(0_i128, |sum, part| sum.checked_add(part)))
}

/// The product, which is an error where it or a part of it reaches 2^120.
pub fn product(parts: impl IntoIterator<Item = i128>) -> Result<i128> {
    exact(parts.into_iter().try_fold(1_i128, |product, part| product.checked_mul(part)))
}

fn exact(number: Option<i128>) -> Result<i128> {
    let small = number.filter(|number| number.unsigned_abs() < LARGEST.unsigned_abs());
    small.ok_or_else(|| "the numbers are too large for exact sums".into())
}
