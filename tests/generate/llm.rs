//! Language models: their sizes, layers as operators together, and options of tensor parallelism.

use clap::ValueEnum;
use dagsplit::generate::{
    Accelerator, Architecture, Granularity, Hardware, LanguageModel, Llm, Model, Precision, Recipe,
};
use dagsplit::instance::{Instance, Node, NodeOption};

use super::{assert_well_formed, made};

/// A language model, operator by operator.
pub fn llm(model: LanguageModel) -> Llm {
    Llm { model, granularity: Granularity::Operator, ..Llm::default() }
}

/// DeepSeek's module for a second token comes on top: a layer with experts, a projection, and copies of embedding and head.
#[test]
fn deepseek_is_as_large_as_published() {
    let operators = Architecture::from(llm(LanguageModel::DeepseekV3)).operators().unwrap().operators;
    let of_module = |of: bool| {
        let within = operators.iter().filter(|op| op.name.starts_with("second_token/") == of);
        within.map(|op| op.parameters).sum::<f64>()
    };
    assert_eq!(of_module(false), 671_026_404_352.0);
    let embedding = 129_280.0 * 7168.0;
    let own = of_module(true) - 2.0 * embedding;
    assert!((11.5e9..11.7e9).contains(&own), "{own}");
}

/// Six digits of each time are kept.
fn nearly(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-4 * a.max(b)
}

#[test]
fn layers_are_their_operators_together() {
    for (model, training) in [(LanguageModel::Llama3_8b, true), (LanguageModel::DeepseekV3, false)] {
        let tensor_degrees = if training { vec![] } else { vec![1, 4] };
        let operators = Llm { layers: Some(5), tensor_degrees, ..llm(model) };
        let layers = Llm { granularity: Granularity::Layer, ..operators.clone() };
        let [operators, layers] = [operators, layers].map(|llm| made(&Recipe { training, ..Recipe::new(llm) }));
        assert_well_formed(&layers);
        let (passes, modules) = if training { (2, 0) } else { (1, 1) };
        assert_eq!(layers.nodes.len(), passes * (5 + 2 + modules));
        let sums: [fn(&Node) -> f64; 4] = [
            |node| node.accelerator_times[0].unwrap(),
            |node| node.cpu_time.unwrap(),
            |node| node.memory,
            |node| node.parameter_bytes,
        ];
        for sum in sums {
            let total = |instance: &Instance| instance.nodes.iter().map(sum).sum::<f64>();
            assert!(nearly(total(&operators), total(&layers)), "{model:?}");
        }
        // One hidden state goes from layer to layer, and one gradient back.
        let hidden = layers.nodes[1].output_bytes;
        let handed_on = layers.nodes.iter().filter(|node| node.output_bytes == hidden && hidden > Some(0.0)).count();
        assert_eq!(handed_on, passes * (5 + 1), "{model:?}");
        let Some((of_operators, of_layers)) = operators.parallelism.zip(layers.parallelism) else { continue };
        for (degree, name) in [(1, "vanilla"), (4, "vanilla")] {
            let time = |options: &[NodeOption]| {
                let these = options.iter().filter(|option| option.tensor_degree == degree && option.name == name);
                these.map(|option| option.time).sum::<f64>()
            };
            assert!(nearly(time(&of_operators.options), time(&of_layers.options)));
        }
        // What the module for a second token reads goes on to the head.
        let unpaid: Vec<(u64, u64)> =
            of_layers.edges.iter().filter(|edge| Some(edge.bytes) != hidden).map(|e| (e.source, e.target)).collect();
        assert_eq!(unpaid, [(5, 6)], "{:?}", of_layers.edges);
    }
}

/// Alone, a device takes what the nodes of a training graph take; several share it, and pay for sums.
#[test]
fn options_are_passes_and_what_devices_sum_up() {
    let plain = Llm { layers: Some(2), ..llm(LanguageModel::Llama3_8b) };
    let training = made(&Recipe { training: true, ..Recipe::new(plain.clone()) });
    let instance = made(&Recipe::new(Llm { tensor_degrees: vec![1, 8], ..plain }));
    let options = instance.parallelism.unwrap().options;
    let of = |node: u64, degree: usize, name: &str| {
        options.iter().find(|o| (o.node, o.tensor_degree, o.name.as_str()) == (node, degree, name))
    };
    let mut sums = 0;
    for node in &instance.nodes {
        let alone = of(node.id, 1, "vanilla").unwrap();
        let backward = training.nodes.iter().find(|other| other.backward && other.color_class == Some(node.id));
        let time = |node: &Node| node.accelerator_times[0].unwrap();
        let (forward, backward) = (time(node), backward.map_or(0.0, time));
        assert!(nearly(alone.time, forward + backward), "{node:?}");
        let shared = of(node.id, 8, "vanilla").unwrap();
        assert_eq!(shared.parameter_bytes, (alone.parameter_bytes / 8.0).round());
        let lasting = [alone.weight_bytes, alone.gradient_bytes, alone.optimizer_bytes];
        assert_eq!(lasting, [1.0, 1.0, 2.0].map(|times| times * alone.parameter_bytes), "two moments of four bytes");
        if let Some(again) = of(node.id, 1, "recompute") {
            assert!(nearly(again.time, alone.time + forward));
            let output = node.output_bytes.unwrap();
            assert_eq!([again, alone].map(|option| option.memory_per_microbatch), [0.0, output]);
            assert_eq!(again.working_bytes, alone.working_bytes + output);
        }
        // A reduction and a collection of the output over NVLink in each pass, 150 GB/s.
        let both = 2.0 * 2.0 * 7.0 / 8.0 * node.output_bytes.unwrap() / 150e6;
        let name = node.name.as_deref().unwrap();
        if ["words", "attention/output", "feed_forward/down"].iter().any(|end| name.ends_with(end)) {
            assert!(shared.time > both && shared.time < both + alone.time, "{name}");
            sums += 1;
        } else {
            assert!(shared.time <= alone.time, "{name}");
        }
    }
    assert_eq!(sums, 5);
}

/// Published: 516,096 bytes for each token of Llama 3.1 405B, 70,272 of DeepSeek-V3 (Zhao et al., 2025, table 1), in
/// numbers of two bytes; those here have four.
#[test]
fn serving_keeps_keys_and_values_and_no_training() {
    for (model, bytes, is_shared) in
        [(LanguageModel::Llama3_405b, 516_096.0, true), (LanguageModel::DeepseekV3, 70_272.0, false)]
    {
        let served = Llm { tensor_degrees: vec![1, 8], serving: true, ..llm(model) };
        let trained = Llm { serving: false, ..served.clone() };
        let layers = Llm { granularity: Granularity::Layer, ..served.clone() };
        let [served, trained, layers] = [served, trained, layers].map(|llm| made(&Recipe::new(llm)));
        let own = |instance: &Instance, degree: usize| {
            let options = instance.parallelism.clone().unwrap().options;
            let is_of_module =
                |id: u64| instance.nodes[id as usize].name.as_deref().unwrap().starts_with("second_token");
            let these = options.into_iter().filter(move |o| o.tensor_degree == degree && o.name == "vanilla");
            these.filter(|option| !is_of_module(option.node)).collect::<Vec<_>>()
        };
        let bytes = 2.0 * bytes;
        for instance in [&served, &layers] {
            let cache = |degree| own(instance, degree).iter().map(|o| o.cache_bytes_per_token).sum::<f64>();
            assert_eq!([cache(1), cache(8)], [bytes, if is_shared { bytes / 8.0 } else { bytes }]);
            assert_eq!(instance.parallelism.as_ref().unwrap().options.len(), 2 * instance.nodes.len());
        }
        for (serve, train) in own(&served, 8).iter().zip(own(&trained, 8)) {
            assert!(serve.time <= train.time && serve.weight_bytes == train.weight_bytes);
            let of_training = [serve.gradient_bytes, serve.optimizer_bytes, serve.parameter_bytes];
            assert_eq!(of_training, [0.0; 3]);
        }
        let largest = |instance: &Instance| own(instance, 1).iter().map(|o| o.working_bytes).fold(0.0, f64::max);
        assert_eq!(largest(&served), largest(&layers), "operators of a layer run one after another");
        let moved = |instance: &Instance| {
            instance.parallelism.iter().flat_map(|p| &p.edges).map(|edge| edge.bytes).sum::<f64>()
        };
        assert_eq!(moved(&trained), 2.0 * moved(&served), "both passes are paid for");
    }
}

/// What Llama 3 8B's widths are, in elements.
const HIDDEN: f64 = 4096.0;
const KEYS: f64 = 1024.0;
const INNER: f64 = 14_336.0;
const WORDS: f64 = 128_256.0;

/// Gradients of what an operator gives, reads and multiplies with, in numbers of two bytes: those of a loss are two of the logits' size.
#[test]
fn a_backward_pass_works_with_its_gradients() {
    for tokens in [4096_u32, 8192] {
        let by_operator = llama("llama3-8b", 2, tokens, Granularity::Operator);
        let by_layer = llama("llama3-8b", 2, tokens, Granularity::Layer);
        let tokens = f64::from(tokens);
        let swiglu = 3.0 * tokens * INNER;
        let words = tokens * HIDDEN + WORDS * HIDDEN;
        let logits = f64::max(2.0 * tokens * WORDS, tokens * (HIDDEN + WORDS) + HIDDEN * WORDS);
        let operators = [
            ("model.embed_tokens/ids", 0.0),
            ("model.embed_tokens/words", words),
            ("model.layers.1/attention/norm", 2.0 * tokens * HIDDEN + HIDDEN),
            ("model.layers.1/attention/query", 2.0 * tokens * HIDDEN + HIDDEN * HIDDEN),
            ("model.layers.1/attention/attend", 2.0 * tokens * (HIDDEN + KEYS)),
            ("model.layers.1/attention/residual", 3.0 * tokens * HIDDEN),
            ("model.layers.1/feed_forward/swiglu", swiglu),
            ("model.layers.1/feed_forward/down", tokens * (HIDDEN + INNER) + HIDDEN * INNER),
            ("lm_head/vocabulary", logits),
        ];
        let (ends, norm) = (words.max(logits), tokens * HIDDEN);
        let inside = tokens * (8.0 * HIDDEN + 3.0 * KEYS + 3.0 * INNER);
        for degree in [1_u32, 2] {
            let bytes = |elements: f64| (2.0 * elements / f64::from(degree)).round();
            let of = |instance, name, option| working(instance, name, degree as usize, option);
            for (name, elements) in operators {
                assert_eq!(of(&by_operator, name, "vanilla"), bytes(elements), "{name}");
            }
            assert_eq!(of(&by_layer, "model.layers.1", "vanilla"), bytes(swiglu));
            assert_eq!(of(&by_layer, "model.layers.1", "recompute"), bytes(inside + swiglu));
            assert_eq!(of(&by_layer, "lm_head", "recompute"), bytes(norm + logits));
            let all = |instance: &Instance| {
                let options = &instance.parallelism.as_ref().unwrap().options;
                let these = options.iter().filter(|o| o.tensor_degree == degree as usize && o.name == "vanilla");
                these.map(|option| option.working_bytes).fold(0.0, f64::max)
            };
            assert_eq!([all(&by_operator), all(&by_layer)], [bytes(ends); 2], "operators run one after another");
        }
    }
}

/// Options of two degrees, on H100s in half precision.
fn llama(model: &str, layers: u32, sequence: u32, granularity: Granularity) -> Instance {
    let model = LanguageModel::from_str(model, false).unwrap();
    let architecture =
        Llm { model, layers: Some(layers), granularity, sequence, tensor_degrees: vec![1, 2], ..Llm::default() }.into();
    let hardware = Hardware { accelerator: Accelerator::H100, precision: Precision::Fp16, ..Hardware::default() };
    made(&Recipe::new(Model { architecture, hardware }))
}

fn option<'a>(instance: &'a Instance, name: &str, degree: usize, option: &str) -> &'a NodeOption {
    let node = instance.nodes.iter().find(|node| node.name.as_deref() == Some(name)).unwrap();
    let mut all = instance.parallelism.as_ref().unwrap().options.iter();
    all.find(|o| (o.node, o.tensor_degree, o.name.as_str()) == (node.id, degree, option)).unwrap()
}

fn working(instance: &Instance, name: &str, degree: usize, of: &str) -> f64 {
    option(instance, name, degree, of).working_bytes
}

/// The table of docs/measured.md: what it says is predicted of a stage is what options come to, and what an H100 took at its peak
/// is within 4 % of that.
#[test]
fn stages_take_what_an_h100_measured() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/measured.md")).unwrap();
    let rows = page.lines().skip_while(|line| !line.starts_with("| model | stage |")).skip(2);
    let (mut instance, mut found) = (None, 0);
    for row in rows.take_while(|line| line.starts_with('|')) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        if let Some((model, rest)) = cells[1].split_once(", ") {
            let tokens = rest.split(' ').next().unwrap().parse().unwrap();
            instance = Some(llama(model, 32, tokens, Granularity::Layer));
        }
        let number = |cell: usize| cells[cell].parse::<f64>().unwrap();
        let predicted = stage(instance.as_ref().unwrap(), cells[2].split_once(": ").unwrap().1, number(3));
        let printed = [4, 6, 9, 11].map(|cell| cells[cell]);
        assert_eq!(predicted.map(|bytes| format!("{bytes:.2}")), printed, "{row}");
        let ratio = number(12) / predicted[3];
        assert!((0.96..=1.04).contains(&ratio), "{ratio}: {row}");
        found += 1;
    }
    assert_eq!(found, 18);
}

/// What lasts of a stage's layers, what they keep of microbatches in flight, what is on top and all of it, in GB; a star says
/// that a layer is recomputed.
fn stage(instance: &Instance, layers: &str, in_flight: f64) -> [f64; 4] {
    let of_layer = |word: &str| {
        let plain = word.trim_end_matches('*');
        let name = match plain {
            "embedding" => "model.embed_tokens".to_owned(),
            "head" => "lm_head".to_owned(),
            layer => format!("model.layers.{layer}"),
        };
        option(instance, &name, 1, if plain == word { "vanilla" } else { "recompute" })
    };
    let all: Vec<&NodeOption> = layers.split(' ').map(of_layer).collect();
    let lasts = all.iter().map(|o| o.weight_bytes + o.gradient_bytes + o.optimizer_bytes).sum::<f64>();
    let kept = in_flight * all.iter().map(|o| o.memory_per_microbatch).sum::<f64>();
    let on_top = all.iter().map(|o| o.working_bytes).fold(0.0, f64::max);
    [lasts, kept, on_top, lasts + kept + on_top].map(|bytes| bytes / 1e9)
}
