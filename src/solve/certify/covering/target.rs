//! The search for the largest target that given profits refute.

/// Nearly the largest target between `low` and `high` that profits refute by themselves; `low` where there is none.
///
/// `worth` tells what all units are worth at a target as a part of the most that devices can earn there, a part above
/// one being a refutation; `None` ends the search. It is asked at most `steps` times.
pub fn largest_refuted((low, high): (f64, f64), steps: usize, mut worth: impl FnMut(f64) -> Option<f64>) -> f64 {
    let mut target = high;
    for _ in 0..steps {
        let Some(part) = worth(target) else { break };
        if part > 1.0 {
            return target;
        }
        // What devices earn grows about as their load does.
        target *= part * (1.0 - BELOW);
        if !target.is_finite() || target <= low {
            break;
        }
    }
    low
}

/// By how much a target is put below the one at which profits seem to be worth as much as devices earn, lest a small
/// error makes another step necessary.
const BELOW: f64 = 2e-6;

#[cfg(test)]
mod tests {
    use super::largest_refuted;

    #[test]
    fn targets_fall_to_what_profits_refute() {
        // Devices earn their load and one more.
        let found = largest_refuted((1.0, 20.0), 20, |target| Some(6.0 / (target + 1.0)));
        assert!((4.99..5.0).contains(&found), "{found}");
        assert_eq!(largest_refuted((5.0, 20.0), 20, |target| Some(6.0 / (target + 1.0))), 5.0);
        assert_eq!(largest_refuted((1.0, 20.0), 20, |_| None), 1.0);
        assert_eq!(largest_refuted((1.0, 20.0), 20, |_| Some(f64::NAN)), 1.0);
    }
}
