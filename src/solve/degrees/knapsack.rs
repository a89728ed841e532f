//! The multiple-choice knapsack problem: one item of each class, of least value together, within a capacity.
//!
//! Its linear relaxation is a walk along the classes' lower convex hulls (Sinha and Zoltners 1979). It decides nearly
//! all questions by itself: whether the least value is within a cutoff. Where it does not, the price of capacity that
//! it ends at fixes most classes, and a dynamic program over the rest settles it.

use crate::search::{SearchContext, Stopped};

/// One item of a class.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Item {
    pub value: f64,
    pub weight: f64,
}

/// What is known of the least value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    pub lower: f64,
    pub upper: f64,
}

impl Bounds {
    /// No choice fits.
    pub const INFEASIBLE: Self = Self { lower: f64::INFINITY, upper: f64::INFINITY };

    /// Whether the least value is at most `cutoff`, where that is known.
    pub fn is_within(&self, cutoff: f64) -> Option<bool> {
        if self.lower.is_infinite() || self.lower > cutoff {
            return Some(false);
        }
        (self.upper <= cutoff).then_some(true)
    }

    /// Whether the least value is known.
    pub fn meet(&self) -> bool {
        self.upper - self.lower <= SAME * self.upper.abs()
    }

    /// The better ones of each.
    pub fn or(&self, other: &Self) -> Self {
        Self { lower: self.lower.min(other.lower), upper: self.upper.min(other.upper) }
    }
}

/// An answer: bounds that tell whether the least value is within the cutoff, and the item of each class that has the
/// upper.
pub struct Answer {
    pub bounds: Bounds,
    pub choice: Vec<usize>,
}

/// Values that differ by less than this part of the cutoff are the same.
const SAME: f64 = 1e-13;

/// Tells whether some choice within `capacity` has a value of at most `cutoff`; where the `least` such value is asked
/// for, bounds that meet at it. O(items · log items) where the relaxation tells, else pseudopolynomial in what it
/// leaves open.
///
/// # Errors
/// A limit came first.
pub fn solve(
    classes: &[Vec<Item>],
    capacity: f64,
    cutoff: f64,
    least: bool,
    cx: &SearchContext,
) -> Result<Answer, Stopped> {
    let Some(relaxed) = Relaxation::new(classes, capacity) else {
        return Ok(Answer { bounds: Bounds::INFEASIBLE, choice: Vec::new() });
    };
    let Relaxation { bounds, price, choice } = relaxed;
    match bounds.is_within(cutoff) {
        Some(true) if least && !bounds.meet() => {}
        Some(_) => return Ok(Answer { bounds, choice }),
        None => {}
    }
    let cutoff = cutoff.min(bounds.upper);
    let exact = Core::new(classes, capacity, price, cutoff).least(cx)?;
    Ok(match exact {
        Some((value, choice)) => Answer { bounds: Bounds { lower: value, upper: value }, choice },
        None => Answer { bounds: Bounds { lower: cutoff.next_up(), ..bounds }, choice },
    })
}

/// The linear relaxation.
struct Relaxation {
    bounds: Bounds,
    /// Value of a unit of capacity, where the walk ends.
    price: f64,
    /// The items that the walk comes to, which fit.
    choice: Vec<usize>,
}

/// A step along the hull of a class: to this item, for so much more value for each unit of weight that it saves.
pub struct Step {
    pub slope: f64,
    pub class: usize,
    pub item: usize,
    pub costs: f64,
    pub saved: f64,
}

/// The steps along the `hull` of a class.
pub fn steps<'a>(class: usize, items: &'a [Item], hull: &'a [usize]) -> impl Iterator<Item = Step> + 'a {
    hull.windows(2).map(move |pair| Step {
        slope: slope(items, pair[0], pair[1]),
        class,
        item: pair[1],
        costs: items[pair[1]].value - items[pair[0]].value,
        saved: items[pair[0]].weight - items[pair[1]].weight,
    })
}

impl Relaxation {
    /// `None` where nothing fits.
    fn new(classes: &[Vec<Item>], capacity: f64) -> Option<Self> {
        let mut choice = Vec::with_capacity(classes.len());
        let mut all = Vec::new();
        for (class, items) in classes.iter().enumerate() {
            let hull = hull(items);
            choice.push(*hull.first()?);
            all.extend(steps(class, items, &hull));
        }
        let sum = |choice: &[usize], amount: fn(&Item) -> f64| -> f64 {
            classes.iter().zip(choice).map(|(items, &item)| amount(&items[item])).sum()
        };
        let mut weight = sum(&choice, |item| item.weight);
        let mut lower = sum(&choice, |item| item.value);
        all.sort_by(|a, b| a.slope.total_cmp(&b.slope));
        let mut price = 0.0;
        for step in &all {
            if weight <= capacity {
                break;
            }
            price = step.slope;
            lower += step.slope * step.saved.min(weight - capacity);
            weight -= step.saved;
            choice[step.class] = step.item;
            if weight <= capacity {
                // Free of what the differences have lost.
                weight = sum(&choice, |item| item.weight);
            }
        }
        let upper = sum(&choice, |item| item.value);
        (weight <= capacity).then(|| Self { bounds: Bounds { lower: lower.min(upper), upper }, price, choice })
    }
}

/// The lower convex hull of the items, from the least value to the least weight.
pub fn hull(items: &[Item]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..items.len()).collect();
    order.sort_by(|&a, &b| {
        let (a, b) = (items[a], items[b]);
        a.value.total_cmp(&b.value).then(a.weight.total_cmp(&b.weight))
    });
    let mut hull: Vec<usize> = Vec::with_capacity(items.len());
    for item in order {
        if hull.last().is_some_and(|&last| items[last].weight <= items[item].weight) {
            continue;
        }
        while let [.., a, b] = hull[..]
            && slope(items, b, item) <= slope(items, a, b)
        {
            hull.pop();
        }
        hull.push(item);
    }
    hull
}

/// The value that each unit of weight costs which `to` saves.
fn slope(items: &[Item], from: usize, to: usize) -> f64 {
    (items[to].value - items[from].value) / (items[from].weight - items[to].weight)
}

/// What the price of capacity leaves open: all items that some choice within the cutoff may use.
struct Core<'a> {
    classes: &'a [Vec<Item>],
    capacity: f64,
    price: f64,
    cutoff: f64,
    /// The open items of each class, none where no choice is within the cutoff.
    open: Vec<Vec<usize>>,
    /// The least priced value of the classes from each on, and their least weight.
    rest: Vec<Item>,
}

/// A choice for the classes so far.
struct State {
    value: f64,
    weight: f64,
    before: usize,
    item: usize,
}

impl<'a> Core<'a> {
    fn new(classes: &'a [Vec<Item>], capacity: f64, price: f64, cutoff: f64) -> Self {
        let priced = |item: &Item| item.value + price * item.weight;
        let least =
            |items: &[Item], amount: &dyn Fn(&Item) -> f64| items.iter().map(amount).fold(f64::INFINITY, f64::min);
        let mut rest = vec![Item { value: 0.0, weight: 0.0 }; classes.len() + 1];
        for (class, items) in classes.iter().enumerate().rev() {
            rest[class].value = rest[class + 1].value + least(items, &priced);
            rest[class].weight = rest[class + 1].weight + least(items, &|item| item.weight);
        }
        let cutoff = cutoff + SAME * cutoff.abs();
        let slack = cutoff - (rest[0].value - price * capacity);
        let open = classes.iter().map(|items| {
            let least = least(items, &priced);
            (0..items.len()).filter(|&item| priced(&items[item]) - least <= slack).collect()
        });
        Self { classes, capacity, price, cutoff, open: open.collect(), rest }
    }

    /// The least value within the cutoff, and the choice that has it.
    fn least(&self, cx: &SearchContext) -> Result<Option<(f64, Vec<usize>)>, Stopped> {
        let mut layers = vec![vec![State { value: 0.0, weight: 0.0, before: 0, item: 0 }]];
        for class in 0..self.classes.len() {
            if cx.should_stop() {
                return Err(Stopped);
            }
            layers.push(self.extended(class, &layers[class]));
        }
        let last = &layers[self.classes.len()];
        // Beyond the cutoff there may be better ones that were not looked at.
        let within = (0..last.len()).filter(|&state| last[state].value <= self.cutoff);
        let best = within.min_by(|&a, &b| last[a].value.total_cmp(&last[b].value));
        Ok(best.map(|best| (last[best].value, traced(&layers, best))))
    }

    /// The choices for one class more that no other of them is better than.
    fn extended(&self, class: usize, states: &[State]) -> Vec<State> {
        let mut all = Vec::with_capacity(states.len() * self.open[class].len());
        for (before, state) in states.iter().enumerate() {
            for &item in &self.open[class] {
                let Item { value, weight } = self.classes[class][item];
                let (value, weight) = (state.value + value, state.weight + weight);
                let bound = value + self.price * (weight - self.capacity) + self.rest[class + 1].value;
                if bound <= self.cutoff && weight + self.rest[class + 1].weight <= self.capacity {
                    all.push(State { value, weight, before, item });
                }
            }
        }
        all.sort_by(|a, b| a.weight.total_cmp(&b.weight).then(a.value.total_cmp(&b.value)));
        let mut least = f64::INFINITY;
        all.retain(|state| {
            let is_better = least.is_infinite() || state.value < least - SAME * self.cutoff;
            least = least.min(state.value);
            is_better
        });
        all
    }
}

/// The items that lead to a state of the last layer.
fn traced(layers: &[Vec<State>], last: usize) -> Vec<usize> {
    let mut at = last;
    let mut choice: Vec<usize> = Vec::with_capacity(layers.len() - 1);
    for layer in layers[1..].iter().rev() {
        choice.push(layer[at].item);
        at = layer[at].before;
    }
    choice.reverse();
    choice
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The least value of a choice that fits, by all choices.
    fn least(classes: &[Vec<Item>], capacity: f64) -> f64 {
        let Some((items, rest)) = classes.split_first() else {
            return if capacity >= 0.0 { 0.0 } else { f64::INFINITY };
        };
        let values = items.iter().map(|item| item.value + least(rest, capacity - item.weight));
        values.fold(f64::INFINITY, f64::min)
    }

    fn classes() -> impl Strategy<Value = Vec<Vec<Item>>> {
        let item = (0_u8..20, 0_u8..20).prop_map(|(value, weight)| Item { value: value.into(), weight: weight.into() });
        prop::collection::vec(prop::collection::vec(item, 1..4), 1..7)
    }

    proptest! {
        #[test]
        fn bounds_hold_and_tell_what_is_asked(classes in classes(), capacity in 0_u8..90, cutoff in 0_u8..90) {
            let (capacity, cutoff) = (f64::from(capacity), f64::from(cutoff));
            let optimum = least(&classes, capacity);
            let Answer { bounds, choice } = solve(&classes, capacity, cutoff, false, &SearchContext::new()).unwrap();
            prop_assert!(bounds.lower <= optimum + 1e-9 && optimum <= bounds.upper + 1e-9);
            prop_assert_eq!(bounds.is_within(cutoff), Some(optimum <= cutoff));
            let exact = solve(&classes, capacity, cutoff, true, &SearchContext::new()).unwrap().bounds;
            prop_assert!(optimum > cutoff || exact.meet() && (exact.upper - optimum).abs() < 1e-9);
            if bounds.upper.is_finite() {
                let chosen = || classes.iter().zip(&choice).map(|(items, &item)| items[item]);
                prop_assert!(chosen().map(|item| item.weight).sum::<f64>() <= capacity);
                prop_assert!((chosen().map(|item| item.value).sum::<f64>() - bounds.upper).abs() < 1e-9);
            }
        }
    }
}
