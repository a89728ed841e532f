//! Every finite `f64` is a whole number times a power of two, so that sums of them are exact in one common unit.

use num_bigint::BigInt;

/// Whole numbers stand for multiples of 2^-SHIFT: below the product of any four numbers that are drawn.
pub const SHIFT: i64 = 640;

/// `x` as mantissa · 2^exponent, with an odd mantissa; (0, 0) for zero.
pub fn parts(x: f64) -> (i64, i64) {
    assert!(x.is_finite(), "{x} is no number");
    let bits = x.to_bits();
    let (field, fraction) = (((bits >> 52) & 0x7ff) as i64, (bits & ((1 << 52) - 1)) as i64);
    let (mantissa, exponent) = if field == 0 { (fraction, -1074) } else { (fraction | 1 << 52, field - 1075) };
    if mantissa == 0 {
        return (0, 0);
    }
    let zeros = i64::from(mantissa.trailing_zeros());
    let sign = if x < 0.0 { -1 } else { 1 };
    (sign * (mantissa >> zeros), exponent + zeros)
}

/// `whole` · 2^`exponent`, rounded down where that is no whole number.
pub fn shifted(whole: BigInt, exponent: i64) -> BigInt {
    if exponent >= 0 { whole << exponent } else { whole >> -exponent }
}

/// The product of `factors` in units of 2^-`shift`; it has to be a whole number of them.
pub fn product(factors: &[f64], shift: i64) -> BigInt {
    let (mut whole, mut exponent) = (BigInt::from(1), shift);
    for &factor in factors {
        let (mantissa, power) = parts(factor);
        whole *= mantissa;
        exponent += power;
    }
    assert!(whole == BigInt::ZERO || exponent >= 0, "{factors:?} is finer than the unit");
    if exponent >= 0 { whole << exponent } else { whole }
}

#[test]
fn decimals_are_what_they_are() {
    let of = |x: f64| product(&[x], SHIFT);
    assert_eq!(parts(0.75), (3, -2));
    assert_eq!(of(0.5) + of(0.25), of(0.75));
    // The classic: the sum of the doubles 0.1 and 0.2 lies above the double 0.3, and 1e15 swallows neither.
    assert!(of(0.1) + of(0.2) > of(0.3));
    assert!(of(1e15) + of(1e-12) > of(1e15));
    assert_eq!(product(&[1e-12, 3.0, 0.5], SHIFT), product(&[1e-12, 1.5], SHIFT));
}
