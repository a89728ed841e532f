//! Splits with several chunks on each device: to the frameworks that run them, and to no other.

use dagsplit::instance::{Instance, Platform};
use dagsplit::internals::report::framework::{Framework, Launch, export};
use dagsplit::problem::{Chunks, DeviceAssignment, DeviceKind, Objective, Placement, ProblemSpec, Scope, Solution};
use dagsplit::verify::{self, Verified};
use proptest::prelude::*;

use super::{PARTS, chain, unwrapped};

/// Layers of each stage, in pipeline order, over so many devices; the verifier has passed it.
fn verified(instance: &Instance, counts: &[usize], chunks: Chunks) -> Verified {
    let devices = counts.len() / chunks.count;
    let mut next = 0;
    let mut stages = counts.iter().enumerate().map(|(stage, &count)| {
        let ends = if stage == 0 { 2 } else { 0 } + usize::from(stage + 1 == counts.len());
        let nodes = next..next + (PARTS.len() * count + ends) as u64;
        next = nodes.end;
        nodes.collect::<Vec<u64>>()
    });
    let mut held = vec![DeviceAssignment::new(DeviceKind::Accelerator(0), Vec::new()); devices];
    for home in (0..counts.len()).map(|stage| home(stage, devices, chunks.placement)) {
        let nodes = stages.next().unwrap();
        held[home].nodes.extend(&nodes);
        held[home].chunks.push(nodes);
    }
    let spec = ProblemSpec {
        platform: Platform::uniform(devices, None, 0),
        scope: Scope::Acyclic,
        objective: Objective::Step { microbatches: devices },
        chunks: Some(chunks),
        ..ProblemSpec::of(instance)
    };
    verify::check(instance, &spec, &Solution { devices: held, objective: None }).unwrap()
}

/// The rank of a stage, by the words of the frameworks: round the ranks, or down and up again.
fn home(stage: usize, ranks: usize, placement: Placement) -> usize {
    match placement {
        Placement::Interleaved => stage % ranks,
        Placement::VShape => [stage, 2 * ranks - 1 - stage.min(2 * ranks - 1)][stage / ranks],
    }
}

/// The stages of a layout by the grammar that Megatron-LM documents: `E` is the embedding, `t` a layer, `L` the loss, `|` stands
/// between stages, commas mean nothing, and `x*n` is x n times.
fn stages(layout: &str) -> Result<Vec<String>, String> {
    let mut stages = vec![String::new()];
    let mut letters = layout.chars().filter(|&letter| letter != ',').peekable();
    while let Some(letter) = letters.next() {
        let mut digits = String::new();
        if letters.next_if_eq(&'*').is_some() {
            while let Some(digit) = letters.next_if(char::is_ascii_digit) {
                digits.push(digit);
            }
        }
        let times = if digits.is_empty() { 1 } else { digits.parse().map_err(|_| digits)? };
        match letter {
            '|' => stages.extend(vec![String::new(); times]),
            'E' | 't' | 'L' => stages.last_mut().unwrap().extend(vec![letter; times]),
            other => return Err(format!("{other} is no layer")),
        }
    }
    Ok(stages)
}

/// The value after a name, up to the next space.
fn after<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.split_once(name)?.1.trim_start().split([' ', '\n']).next()
}

fn launch(placement: Placement) -> Launch<'static> {
    Launch { placement, ..Launch::default() }
}

fn counts() -> impl Strategy<Value = (Vec<usize>, usize)> {
    (1..5_usize, 2..5_usize)
        .prop_flat_map(|(devices, chunks)| (prop::collection::vec(1..4_usize, devices * chunks), Just(chunks)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Each rank gets the layers of its device's chunks, in their order.
    #[test]
    fn megatron_and_torchtitan_get_the_chunks_of_each_rank((counts, chunks) in counts(), is_v in any::<bool>()) {
        let placement = if is_v && chunks == 2 { Placement::VShape } else { Placement::Interleaved };
        let (instance, ranks) = (chain(counts.iter().sum()), counts.len() / chunks);
        let degree = ranks.to_string();
        let split = verified(&instance, &counts, Chunks::new(chunks, placement));
        let megatron = export(Framework::Megatron, &instance, &split, &launch(placement));
        if placement == Placement::Interleaved {
            let text = megatron.unwrap();
            prop_assert_eq!(after(&text, "--pipeline-model-parallel-size"), Some(degree.as_str()));
            // Megatron-LM takes one of the layout and the number of virtual stages, and has the latter from the former.
            prop_assert!(!text.contains("virtual"));
            let stages = stages(text.split('"').nth(1).unwrap()).unwrap();
            let layers: Vec<usize> = stages.iter().map(|stage| stage.matches('t').count()).collect();
            prop_assert_eq!(&layers, &counts);
            prop_assert!(stages[0].starts_with('E') && stages.last().unwrap().ends_with('L'));
        } else {
            let message = megatron.unwrap_err().to_string();
            prop_assert!(message.contains("Megatron-LM goes round the devices"), "{message}");
        }

        let model = unwrapped(instance.clone());
        let text = export(Framework::Torchtitan, &model, &split, &launch(placement)).unwrap();
        let schedule = if placement == Placement::VShape { "\"ZBVZeroBubble\"" } else { "\"Interleaved1F1B\"" };
        prop_assert_eq!(after(&text, "pipeline_parallel_schedule ="), Some(schedule));
        prop_assert_eq!(after(&text, "pipeline_parallel_degree ="), Some(degree.as_str()));
        let lists = text.split_once("part = ").unwrap().1.replace("],\n]", "]\n]");
        let lists: Vec<Vec<String>> = serde_json::from_str(&lists).unwrap();
        prop_assert_eq!(lists.len(), counts.len());
        let mut of_rank = vec![0..; ranks];
        for (stage, modules) in lists.iter().enumerate() {
            let rank = home(stage, ranks, placement);
            let chunk: usize = of_rank[rank].next().unwrap();
            let is_held = |id: &&u64| {
                let name = model.nodes[**id as usize].name.as_ref().unwrap();
                modules.iter().any(|module| name == module || name.starts_with(&format!("{module}.")) || name.starts_with(&format!("{module}/")))
            };
            let nodes = &split.devices()[rank].chunks()[chunk];
            let costly = || nodes.iter().filter(|&&id| model.nodes[id as usize].parameter_bytes > 0.0);
            prop_assert_eq!(costly().filter(is_held).count(), costly().count(), "stage {}: {:?}", stage, modules);
        }
    }
}

#[test]
fn the_grammar_knows_layers_alone() {
    assert_eq!(stages("Et*2|t,t|tL").unwrap(), ["Ett", "tt", "tL"]);
    assert!(stages("Ex|L").is_err());
}

#[test]
fn other_frameworks_refuse_chunks_by_name() {
    let instance = chain(4);
    let split = verified(&instance, &[1, 1, 1, 1], Chunks::new(2, Placement::Interleaved));
    let others = [
        (Framework::PytorchPipelining, "pytorch-pipelining"),
        (Framework::Deepspeed, "deepspeed"),
        (Framework::Vllm, "vllm"),
        (Framework::Sglang, "sglang"),
        (Framework::Accelerate, "accelerate"),
        (Framework::LlamaCpp, "llama.cpp"),
    ];
    for (framework, name) in others {
        let message = export(framework, &instance, &split, &Launch::default()).unwrap_err().to_string();
        assert!(message.contains(&format!("several chunks, and `{name}` puts one stage on each")), "{message}");
    }
    let gpipe = Launch { schedule: Some("1f1b"), ..Launch::default() };
    let message = export(Framework::Megatron, &instance, &split, &gpipe).unwrap_err().to_string();
    assert!(message.contains("the schedule: it is 1f1b"), "{message}");
}
