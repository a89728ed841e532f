//! Arithmetic on the few numbers that tell shapes.

use crate::generate::onnx::call::{Call, Fault};
use crate::generate::onnx::value::Scalar::{self, Real, Whole};
use crate::generate::onnx::value::{MOST_NUMBERS, OPEN, Value, data_type};

/// The result of an operator on one number of each input; `None` where it is of no use for shapes or not defined.
pub(super) fn apply(operator: &str, inputs: &[Scalar]) -> Option<Scalar> {
    match (operator, inputs) {
        ("Add" | "Sum", _) => fold(inputs, i64::checked_add, |a, b| a + b),
        ("Mul", _) => fold(inputs, i64::checked_mul, |a, b| a * b),
        ("Sub", _) => fold(inputs, i64::checked_sub, |a, b| a - b),
        ("Div", _) => fold(inputs, i64::checked_div, |a, b| a / b),
        ("Min", _) => fold(inputs, |a, b| Some(a.min(b)), f64::min),
        ("Max", _) => fold(inputs, |a, b| Some(a.max(b)), f64::max),
        // The sign is the divisor's, for whole numbers.
        ("Mod", _) => fold(inputs, |a, b| a.checked_rem(b)?.checked_add(b)?.checked_rem(b), |a, b| a % b),
        ("Pow", [Whole(base), exponent]) => {
            let exponent = u32::try_from(exponent.whole()).ok().filter(|_| exponent.real().fract() == 0.0)?;
            base.checked_pow(exponent).map(Whole)
        }
        ("Pow", [base, exponent]) => Some(Real(base.real().powf(exponent.real()))),
        ("Equal", [a, b]) => truth(a.real() == b.real()),
        ("Greater", [a, b]) => truth(a.real() > b.real()),
        ("Less", [a, b]) => truth(a.real() < b.real()),
        ("GreaterOrEqual", [a, b]) => truth(a.real() >= b.real()),
        ("LessOrEqual", [a, b]) => truth(a.real() <= b.real()),
        ("And", [a, b]) => truth(a.whole() != 0 && b.whole() != 0),
        ("Or", [a, b]) => truth(a.whole() != 0 || b.whole() != 0),
        ("Xor", [a, b]) => truth((a.whole() != 0) != (b.whole() != 0)),
        ("Not", [a]) => truth(a.whole() == 0),
        ("Identity", [a]) => Some(*a),
        ("Neg", [Whole(a)]) => a.checked_neg().map(Whole),
        ("Neg", [Real(a)]) => Some(Real(-a)),
        ("Abs", [Whole(a)]) => a.checked_abs().map(Whole),
        ("Abs", [Real(a)]) => Some(Real(a.abs())),
        ("Floor", [a]) => Some(Real(a.real().floor())),
        ("Ceil", [a]) => Some(Real(a.real().ceil())),
        ("Round", [a]) => Some(Real(a.real().round_ties_even())),
        ("Sqrt", [a]) => Some(Real(a.real().sqrt())),
        ("Reciprocal", [a]) => Some(Real(1.0 / a.real())),
        ("Sign", [Whole(a)]) => Some(Whole(a.signum())),
        ("Relu", [a]) => Some(if a.real() > 0.0 { *a } else { zero(*a) }),
        _ => None,
    }
}

/// The number as one of another type.
pub(super) fn cast(number: Scalar, to: i32) -> Scalar {
    match Value::new(Vec::new(), to).width() {
        _ if to == data_type::BOOL => Whole((number.real() != 0.0).into()),
        Some(_) => Whole(number.whole()),
        None => Real(number.real()),
    }
}

fn zero(like: Scalar) -> Scalar {
    match like {
        Whole(_) => Whole(0),
        Real(_) => Real(0.0),
    }
}

fn truth(is: bool) -> Option<Scalar> {
    Some(Whole(is.into()))
}

/// All inputs one after another; whole numbers whose result is out of range have none.
pub(super) fn fold(
    inputs: &[Scalar],
    whole: impl Fn(i64, i64) -> Option<i64>,
    real: impl Fn(f64, f64) -> f64,
) -> Option<Scalar> {
    let (&first, rest) = inputs.split_first()?;
    rest.iter().try_fold(first, |a, &b| match (a, b) {
        (Whole(a), Whole(b)) => whole(a, b).map(Whole),
        _ => Some(Real(real(a.real(), b.real()))),
    })
}

/// Numbers from a start to a limit.
pub(super) fn range(call: &Call) -> Result<Value, Fault> {
    let data_type = call.input(0)?.data_type;
    let one = |input: usize| call.given(input).and_then(|value| value.numbers.as_ref()?.first().copied());
    let (Some(start), Some(limit), Some(step)) = (one(0), one(1), one(2)) else {
        return Ok(Value::new(vec![OPEN], data_type));
    };
    let count = ((limit.real() - start.real()) / step.real()).ceil().max(0.0);
    if !count.is_finite() {
        return Err(Fault::Wrong("it has no end".into()));
    }
    let number = |at: i64| fold(&[Whole(at), step], i64::checked_mul, |a, b| a * b);
    let numbers = |at: i64| fold(&[start, number(at)?], i64::checked_add, |a, b| a + b);
    let few = count <= MOST_NUMBERS as f64;
    let numbers = if few { (0..count as i64).map(numbers).collect() } else { None };
    Ok(Value { numbers, ..Value::new(vec![count as i64], data_type) })
}
