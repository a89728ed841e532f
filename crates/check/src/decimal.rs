//! Decimal numbers as files state them, without rounding.

/// A number of at least zero: `digits` · 10^`exponent`, without trailing zeros among its digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decimal {
    digits: i128,
    exponent: i32,
}

/// No number of a file has an exponent beyond this, or more decimals.
const MOST_PLACES: i32 = 400;

/// Whole numbers stay below this, so that sums and differences of some of them are exact.
pub const LARGEST: i128 = 1 << 120;

impl Decimal {
    /// Nothing.
    pub const ZERO: Self = Self { digits: 0, exponent: 0 };

    /// One.
    pub const ONE: Self = Self { digits: 1, exponent: 0 };

    /// The number that a JSON number states.
    ///
    /// # Errors
    /// It is below zero, has more than 36 digits, or an exponent beyond 400.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = |cause: &str| format!("{text} {cause}");
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => {
                (mantissa, exponent.parse::<i32>().map_err(|_| wrong("is too small or large"))?)
            }
            None => (text, 0),
        };
        let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let part = part.trim_end_matches('0');
        let digits = format!("{whole}{part}");
        let digits = digits.trim_start_matches('0');
        let trimmed = digits.trim_end_matches('0');
        if trimmed.starts_with('-') && trimmed.chars().any(|c| ('1'..='9').contains(&c)) {
            return Err(wrong("is below zero"));
        }
        let digit_value = trimmed.trim_start_matches(['-', '0']);
        if digit_value.is_empty() {
            return Ok(Self::ZERO);
        }
        if digit_value.len() > 36 || !digit_value.bytes().all(|c| c.is_ascii_digit()) {
            return Err(wrong("is no number of at most 36 digits"));
        }
        let exponent = exponent.saturating_add((digits.len() - trimmed.len()) as i32).saturating_sub(part.len() as i32);
        if exponent.abs() > MOST_PLACES {
            return Err(wrong("is too small or large"));
        }
        Ok(Self { digits: digit_value.parse().map_err(|_| wrong("is no number"))?, exponent })
    }

    /// How many decimals it has.
    pub fn places(self) -> u32 {
        self.exponent.min(0).unsigned_abs()
    }

    /// The product.
    ///
    /// # Errors
    /// It has too many digits.
    pub fn times(self, other: Self) -> Result<Self, String> {
        let digits = self.digits.checked_mul(other.digits).ok_or("a product has too many digits")?;
        Ok(Self { digits, exponent: if digits == 0 { 0 } else { self.exponent + other.exponent } })
    }

    /// The number times 10^`places`, as a whole number.
    ///
    /// # Errors
    /// It has more decimals, or is too large.
    pub fn scaled(self, places: u32) -> Result<i128, String> {
        let shift = u32::try_from(self.exponent + places as i32);
        let shift = shift.map_err(|_| format!("a number has more than {places} decimals"))?;
        let scaled = match self.digits {
            0 => Some(0),
            digits => power_of_ten(shift).and_then(|power| digits.checked_mul(power)),
        };
        scaled.filter(|&scaled| scaled < LARGEST).ok_or_else(|| format!("a number is too large for {places} decimals"))
    }
}

/// 10^`exponent`, where there is such a number.
pub fn power_of_ten(exponent: u32) -> Option<i128> {
    10_i128.checked_pow(exponent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_scaled_without_error() {
        let scaled = |text: &str, places| Decimal::parse(text).unwrap().scaled(places).unwrap();
        assert_eq!(scaled("6.959999999999999", 15), 6_959_999_999_999_999);
        assert_eq!(scaled("17185374208.0", 0), 17_185_374_208);
        assert_eq!(scaled("1.5e-3", 6), 1500);
        assert_eq!(scaled("25E+2", 1), 25_000);
        assert_eq!([scaled("-0.0", 3), scaled("0e9", 3), scaled("1200", 0)], [0, 0, 1200]);
        assert_eq!(Decimal::parse("0.250").unwrap().places(), 2);
        let product = Decimal::parse("0.25").unwrap().times(Decimal::parse("1000").unwrap()).unwrap();
        assert_eq!(product.scaled(0), Ok(250));
    }

    #[test]
    fn what_no_whole_number_holds_is_an_error() {
        for text in ["-1", "1e401", "1234567890123456789012345678901234567", "1e-500"] {
            assert!(Decimal::parse(text).is_err(), "{text}");
        }
        for (text, places) in [("1e30", 20), ("0.011", 2), ("1e-300", 30)] {
            assert!(Decimal::parse(text).unwrap().scaled(places).is_err(), "{text}");
        }
    }
}
