//! Stages that have places, split again for these: for the links between them, and the speeds and memories of their devices.

use super::PlanError;
use super::candidate::MappedPipeline;
use super::places::Places;
use super::question::Question;
use crate::graph::topological;
use crate::mapping::{Stage, StageGraph, UnitGraph, UnitNet};
use crate::problem::{DeviceAssignment, DeviceKind, Solution, fits};
use crate::search::SearchContext;

/// The splits that are the best for the places of `pipeline`, of all that cut one order of its nodes into as many stages: the order
/// of the stages that it has, and by number within them. A few that promise a step not much longer than that it has, the best
/// first, and none that is what it has; none where nodes have options or outputs no size, or devices several chunks.
///
/// A dynamic program over the ends of stages. m microbatches take about Σ T + (m − 1) max T, and what is left of all-reduces
/// where the stages before have ended: of the ways to an end it keeps some of which no other has as little of all three. A message
/// counts for where its other end was, or has to be by now. O(S n · units of a stage · (degree + ways²)) for n units; none where a
/// limit comes first.
///
/// # Errors
/// The instance cannot be split.
pub fn resplits(
    question: &Question,
    pipeline: &MappedPipeline,
    cx: &SearchContext,
) -> Result<Vec<Solution>, PlanError> {
    if question.has_options() || question.chunks > 1 {
        return Ok(Vec::new());
    }
    let plain = question.as_it_stands()?;
    let split = pipeline.partition.verified.to_solution();
    let (stage_of, index) = (StageGraph::stage_of_nodes(question.instance, &plain, &split)?, plain.index_of_ids());
    let Ok((mut graph, members)) = UnitGraph::new(question.instance, &plain) else { return Ok(Vec::new()) };
    let costs = question.stage_costs();
    for (unit, nodes) in graph.units.iter_mut().zip(&members) {
        let options = nodes.iter().flat_map(|id| &costs.options[index[id]]);
        let bytes =
            |in_flight| options.clone().map(|one| costs.bytes(one).of(in_flight, question.shape.replicas)).sum();
        (unit.lasting_bytes, unit.memory) = (Some(bytes(0)), bytes(1));
        unit.backward += if question.recompute { unit.forward } else { 0.0 };
    }
    let was: Vec<usize> = members.iter().map(|nodes| stage_of[index[&nodes[0]]]).collect();
    let order = topological::by_priority(&graph.order, |unit| (was[unit], unit));
    let line = Line::new(question, &graph, (&order, &was), Places::of(question, pipeline));
    if !line.was.is_sorted() {
        // The order of the passes is more than that of the stages.
        return Ok(Vec::new());
    }
    // One that does not fit is worse than any that does.
    let known = if pipeline.overfull.is_some() { f64::INFINITY } else { line.known() };
    let split = |ends: Vec<usize>| {
        let mut first = 0;
        let stage = |end: usize| {
            let units = &order[std::mem::replace(&mut first, end)..end];
            let nodes = units.iter().flat_map(|&unit| members[unit].iter().copied()).collect();
            DeviceAssignment::new(DeviceKind::Accelerator(0), nodes)
        };
        Solution { devices: ends.into_iter().map(stage).collect(), objective: None }
    };
    let now = line.ends_now();
    let others = line.best(known * SLACK, cx).into_iter().filter(|ends| *ends != now);
    Ok(others.take(FEW).map(split).collect())
}

/// How much longer than the step that is one may seem that is simulated: what times and order of stages leave out.
const SLACK: f64 = 1.02;

/// So many are simulated.
const FEW: usize = 3;

/// So many ways to an end are kept at most, those that take the least so far.
const MOST_WAYS: usize = 16;

/// A list of so many has room for twice as many.
const MOST_ROOM: usize = 2 * MOST_WAYS;

/// Units in a row, to be cut into stages whose places are known; units are their positions in it.
struct Line {
    units: Vec<Stage>,
    /// What passes between them, whichever way.
    nets: Vec<UnitNet>,
    /// The nets that each unit makes, and those that it consumes.
    made: Vec<Vec<usize>>,
    consumed: Vec<Vec<usize>>,
    /// The places that they have.
    was: Vec<usize>,
    places: Places,
    microbatches: f64,
    /// The part of all time that is the backward pass.
    backward: f64,
    /// The least that stages of the units from each position on compute in sum.
    after: Vec<f64>,
}

/// Stages one after another, up to some end.
#[derive(Clone, Copy)]
struct Way {
    /// Their times in sum, and the longest.
    sum: f64,
    longest: f64,
    /// What is left of all-reduces when the stages before have run their last backward pass.
    exposed: f64,
    /// Where the last of them begins, and which of the ways there it goes on from.
    from: (usize, usize),
}

impl Way {
    const START: Self = Self { sum: 0.0, longest: 0.0, exposed: 0.0, from: (0, 0) };

    /// With one stage more, after the way of this number that ends at `begin`.
    fn with(&self, stage: &Interval, (begin, number): (usize, usize)) -> Self {
        Self {
            sum: self.sum + stage.time(),
            longest: self.longest.max(stage.time()),
            exposed: self.exposed.max(stage.all_reduce - stage.line.backward * self.sum),
            from: (begin, number),
        }
    }
}

impl Line {
    fn new(question: &Question, graph: &UnitGraph, (order, was): (&[usize], &[usize]), places: Places) -> Self {
        let mut position = vec![0; order.len()];
        order.iter().enumerate().for_each(|(at, &unit)| position[unit] = at);
        let at = |units: &[usize]| units.iter().map(|&unit| position[unit]).collect();
        let net = |net: &UnitNet| UnitNet { source: position[net.source], consumers: at(&net.consumers), ..*net };
        let units = order.iter().map(|&unit| graph.units[unit].clone()).collect();
        let was = order.iter().map(|&unit| was[unit]).collect();
        Self::of(units, graph.nets.iter().map(net).collect(), was, places, question.microbatches as f64)
    }

    fn of(units: Vec<Stage>, nets: Vec<UnitNet>, was: Vec<usize>, places: Places, microbatches: f64) -> Self {
        let (mut made, mut consumed) = (vec![Vec::new(); units.len()], vec![Vec::new(); units.len()]);
        for (number, net) in nets.iter().enumerate() {
            made[net.source].push(number);
            net.consumers.iter().for_each(|&unit| consumed[unit].push(number));
        }
        let sum = |time: fn(&Stage) -> f64| units.iter().map(time).sum::<f64>();
        let backward = sum(|unit| unit.backward) / sum(Stage::compute).max(f64::MIN_POSITIVE);
        let fastest = places.speed.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        let mut after = vec![0.0; units.len() + 1];
        for (at, unit) in units.iter().enumerate().rev() {
            after[at] = after[at + 1] + unit.compute() / fastest;
        }
        Self { units, nets, made, consumed, was, places, microbatches, backward, after }
    }

    /// The step of stages that end there, with so many stages after them that take no longer than they have to.
    fn step(&self, way: &Way, end: usize, left: usize) -> f64 {
        let rest = self.after[end];
        let longest = way.longest.max(rest / left.max(1) as f64);
        way.sum + rest + (self.microbatches - 1.0) * longest + way.exposed
    }

    /// Keeps a way to `end` that may lead to a shorter step than known, if no other is as good in all that comes of it.
    fn keep(&self, ways: &mut Vec<Way>, new: Way, known: f64, (end, left): (usize, usize)) {
        // Later stages wait for the sum, and what is left of all-reduces comes on top of it.
        let is_as_good =
            |a: &Way, b: &Way| a.sum <= b.sum && a.longest <= b.longest && a.sum + a.exposed <= b.sum + b.exposed;
        if self.step(&new, end, left) >= known || ways.iter().any(|way| is_as_good(way, &new)) {
            return;
        }
        ways.retain(|way| !is_as_good(&new, way));
        ways.push(new);
        if ways.len() > MOST_WAYS {
            let step = |number: &usize| self.step(&ways[*number], end, left);
            (0..ways.len()).max_by(|a, b| step(a).total_cmp(&step(b))).map(|worst| ways.swap_remove(worst));
        }
    }

    /// The ends of stages of the shortest steps below `known`, the shortest first; none where a limit comes first.
    fn best(&self, known: f64, cx: &SearchContext) -> Vec<Vec<usize>> {
        let (count, stages) = (self.units.len(), self.places.len());
        if !cx.admits(stages * count * MOST_ROOM * size_of::<Way>()) {
            return Vec::new();
        }
        let mut layers = vec![vec![vec![Way::START]]];
        for place in 0..stages {
            let Some(next) = self.extended(place, &layers[place], known, cx) else { return Vec::new() };
            layers.push(next);
        }
        let ways = &layers[stages][count];
        let mut numbers: Vec<usize> = (0..ways.len()).collect();
        let step = |number: usize| self.step(&ways[number], count, 0);
        numbers.sort_by(|&a, &b| step(a).total_cmp(&step(b)));
        numbers.into_iter().map(|number| ends(&layers, (count, number))).collect()
    }

    /// The ways to each end with one stage more, at this place, after those `before` that lead to each position; `None` where a
    /// limit comes first.
    fn extended(&self, place: usize, before: &[Vec<Way>], known: f64, cx: &SearchContext) -> Option<Vec<Vec<Way>>> {
        let (count, left) = (self.units.len(), self.places.len() - 1 - place);
        let mut next = vec![Vec::new(); count + 1];
        let mut interval = Interval::new(self, place);
        for (begin, ways) in before.iter().enumerate().filter(|(_, ways)| !ways.is_empty()) {
            if cx.should_stop() {
                return None;
            }
            interval.start(begin);
            while interval.end < count - left {
                interval.extend();
                if !interval.may_be_better(known) {
                    break;
                }
                if left == 0 && interval.end < count {
                    // The last stage takes all that is left.
                    continue;
                }
                let end = interval.end;
                for (number, way) in ways.iter().enumerate() {
                    self.keep(&mut next[end], way.with(&interval, (begin, number)), known, (end, left));
                }
            }
        }
        Some(next)
    }

    /// The ends of the stages that are.
    fn ends_now(&self) -> Vec<usize> {
        (0..self.places.len()).map(|place| self.was.partition_point(|&was| was <= place)).collect()
    }

    /// A step of the stages that are.
    fn known(&self) -> f64 {
        let mut way = Way::START;
        for (place, end) in self.ends_now().into_iter().enumerate() {
            let mut interval = Interval::new(self, place);
            interval.start(self.was.partition_point(|&was| was < place));
            (interval.begin..end).for_each(|_| interval.extend());
            way = way.with(&interval, (0, 0));
        }
        self.step(&way, self.units.len(), 0)
    }
}

/// The ends of the stages of a way to the last layer, by the end that it leads to and its number there.
fn ends(layers: &[Vec<Vec<Way>>], (mut end, mut number): (usize, usize)) -> Vec<usize> {
    let mut ends = vec![end];
    for layer in layers[2..].iter().rev() {
        (end, number) = layer[end][number].from;
        ends.push(end);
    }
    ends.reverse();
    ends
}

/// A stage at a place that grows by one unit after another.
struct Interval<'a> {
    line: &'a Line,
    place: usize,
    begin: usize,
    end: usize,
    compute: f64,
    messages: f64,
    all_reduce: f64,
    /// Bytes that last, and of each microbatch in flight.
    bytes: (f64, f64),
    /// Of each net whose source is inside, how many consumers outside are at each place.
    outside: Vec<u32>,
    /// Of each net whose source is outside, whether a consumer is inside.
    has_consumer: Vec<bool>,
}

impl<'a> Interval<'a> {
    fn new(line: &'a Line, place: usize) -> Self {
        let nets = line.nets.len();
        Self {
            line,
            place,
            begin: 0,
            end: 0,
            compute: 0.0,
            messages: 0.0,
            all_reduce: 0.0,
            bytes: (0.0, 0.0),
            outside: vec![0; nets * line.places.len()],
            has_consumer: vec![false; nets],
        }
    }

    /// Begins anew.
    fn start(&mut self, begin: usize) {
        let (line, places) = (self.line, self.line.places.len());
        for unit in self.begin..self.end {
            for &net in &line.made[unit] {
                self.outside[net * places..][..places].fill(0);
            }
            for &net in &line.consumed[unit] {
                self.has_consumer[net] = false;
            }
        }
        (self.begin, self.end, self.bytes) = (begin, begin, (0.0, 0.0));
        (self.compute, self.messages, self.all_reduce) = (0.0, 0.0, 0.0);
    }

    fn time(&self) -> f64 {
        self.compute + self.messages
    }

    /// Whether it has the memory, and computes no longer than a step below `known` allows. Once it is not so it never is.
    fn may_be_better(&self, known: f64) -> bool {
        let Places { memory, in_flight, .. } = &self.line.places;
        let bytes = self.bytes.0 + self.bytes.1 * in_flight[self.place] as f64;
        let step = self.line.after[0] + (self.line.microbatches - 1.0) * self.compute;
        step < known && fits(bytes, memory[self.place])
    }

    /// The place of a unit outside: where it was, or has to be by now.
    fn place_of(&self, unit: usize) -> usize {
        let (was, last) = (self.line.was[unit], self.line.places.len() - 1);
        if unit < self.begin {
            was.min(self.place.saturating_sub(1))
        } else {
            was.clamp((self.place + 1).min(last), last)
        }
    }

    /// Takes the next unit.
    fn extend(&mut self) {
        let (line, unit) = (self.line, self.end);
        let (stage, places) = (&line.units[unit], line.places.len());
        let (lasting, kept) = stage.kept();
        self.bytes = (self.bytes.0 + lasting, self.bytes.1 + kept);
        self.compute += stage.compute() / line.places.speed[self.place];
        self.all_reduce += stage.parameter_bytes * line.places.all_reduce[self.place];
        let was_at = self.place_of(unit);
        self.end += 1;
        for &number in &line.made[unit] {
            let net = &line.nets[number];
            if self.has_consumer[number] {
                self.messages -= net.bytes * line.places.per_byte(was_at, self.place);
            }
            for &consumer in net.consumers.iter().filter(|&&unit| unit < self.begin || unit >= self.end) {
                let place = self.place_of(consumer);
                let count = &mut self.outside[number * places + place];
                *count += 1;
                if *count == 1 {
                    self.messages += net.bytes * line.places.per_byte(self.place, place);
                }
            }
        }
        for &number in &line.consumed[unit] {
            let net = &line.nets[number];
            if (self.begin..self.end).contains(&net.source) {
                let count = &mut self.outside[number * places + was_at];
                *count -= 1;
                if *count == 0 {
                    self.messages -= net.bytes * line.places.per_byte(self.place, was_at);
                }
            } else if !std::mem::replace(&mut self.has_consumer[number], true) {
                self.messages += net.bytes * line.places.per_byte(self.place_of(net.source), self.place);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    const PLACES: usize = 3;

    /// A unit: forward and backward time, bytes of parameters, bytes that last and that it keeps.
    type Unit = (u8, u8, u8, u8, u8);

    fn line(
        units: &[Unit],
        nets: &[(usize, Vec<usize>, u8)],
        cuts: [usize; 2],
        rates: &[u8],
        memory: Option<u8>,
    ) -> Line {
        let count = units.len();
        let unit = |&(forward, backward, parameters, lasting, kept): &Unit| Stage {
            forward: forward.into(),
            backward: backward.into(),
            parameter_bytes: parameters.into(),
            memory: f64::from(lasting) + f64::from(kept),
            lasting_bytes: Some(lasting.into()),
            ..Stage::default()
        };
        let net = |(source, consumers, bytes): &(usize, Vec<usize>, u8)| {
            let source = source % count;
            let mut consumers: Vec<usize> =
                consumers.iter().map(|unit| unit % count).filter(|&unit| unit != source).collect();
            consumers.sort_unstable();
            consumers.dedup();
            UnitNet { source, consumers, bytes: f64::from(*bytes) }
        };
        let rate = |i: usize| f64::from(rates[i % rates.len()]);
        let places = Places {
            speed: (0..PLACES).map(|place| 1.0 + rate(place)).collect(),
            memory: vec![memory.map(f64::from); PLACES],
            in_flight: (1..=PLACES).rev().collect(),
            all_reduce: (0..PLACES).map(|place| rate(place + 1)).collect(),
            links: (0..PLACES * PLACES).map(|pair| if pair % (PLACES + 1) == 0 { 0.0 } else { rate(pair) }).collect(),
        };
        let was = (0..count).map(|unit| cuts.iter().filter(|&&cut| cut <= unit).count()).collect();
        Line::of(units.iter().map(unit).collect(), nets.iter().map(net).collect(), was, places, 4.0)
    }

    /// What [`Line::step`] should be of stages that end there; `None` where one lacks memory.
    fn step(line: &Line, ends: &[usize]) -> Option<f64> {
        let stage_of = |unit: usize| ends.iter().filter(|&&end| end <= unit).count();
        let all = |time: fn(&Stage) -> f64| line.units.iter().map(time).sum::<f64>();
        let (mut sum, mut longest, mut exposed) = (0.0, 0.0_f64, 0.0_f64);
        for place in 0..PLACES {
            let held: Vec<usize> = (0..line.units.len()).filter(|&unit| stage_of(unit) == place).collect();
            let add = |of: &dyn Fn(&Stage) -> f64| held.iter().map(|&unit| of(&line.units[unit])).sum::<f64>();
            let bytes = add(&|unit| unit.kept().0 + unit.kept().1 * line.places.in_flight[place] as f64);
            if line.places.memory[place].is_some_and(|memory| bytes > memory) {
                return None;
            }
            // A unit of another stage stays where it was, unless that is this place or beyond.
            let place_of = |unit: usize| match stage_of(unit) < place {
                true => line.was[unit].min(place - 1),
                false => line.was[unit].max(place + 1),
            };
            let sent = |net: &UnitNet| {
                let outside = net.consumers.iter().filter(|&&unit| stage_of(unit) != place);
                let targets: std::collections::BTreeSet<usize> = outside.map(|&unit| place_of(unit)).collect();
                let is_consumed = net.consumers.iter().any(|&unit| stage_of(unit) == place);
                net.bytes
                    * match (stage_of(net.source) == place, is_consumed) {
                        (true, _) => targets.iter().map(|&to| line.places.per_byte(place, to)).sum(),
                        (false, true) => line.places.per_byte(place_of(net.source), place),
                        (false, false) => 0.0,
                    }
            };
            let time = add(&Stage::compute) / line.places.speed[place] + line.nets.iter().map(sent).sum::<f64>();
            let all_reduce = add(&|unit| unit.parameter_bytes) * line.places.all_reduce[place];
            exposed = exposed.max(all_reduce - all(|unit| unit.backward) / all(Stage::compute) * sum);
            (sum, longest) = (sum + time, longest.max(time));
        }
        Some(sum + (line.microbatches - 1.0) * longest + exposed)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

        #[test]
        fn no_cuts_of_the_order_are_better(
            units in vec((1..9u8, 1..9u8, 0..9u8, 0..9u8, 0..5u8), PLACES..8),
            nets in vec((0..8usize, vec(0..8usize, 1..4), 1..9u8), 0..12),
            cuts in [1..6usize, 1..6usize],
            rates in vec(0..5u8, 9),
            memory in proptest::option::of(10..80u8),
        ) {
            let count = units.len();
            let first = cuts[0].min(count - 2);
            let line = line(&units, &nets, [first, (first + cuts[1]).min(count - 1)], &rates, memory);
            let cx = SearchContext::new();
            let found = line.best(f64::INFINITY, &cx);
            let all = (1..count - 1).flat_map(|a| (a + 1..count).map(move |b| [a, b, count]));
            let least = all.filter_map(|ends| step(&line, &ends)).min_by(f64::total_cmp);
            prop_assert_eq!(found.is_empty(), least.is_none());
            if let Some(least) = least {
                let taken = step(&line, &found[0]).expect("it fits");
                prop_assert!((taken - least).abs() < 1e-9 * least, "{} for {}", taken, least);
                prop_assert!(line.best(least * (1.0 - 1e-9), &cx).is_empty());
            }
        }
    }
}
