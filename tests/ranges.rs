//! Every number that a command line or a spec string can hold, with absurd values: no panic, no hang, no flood of memory,
//! and a complaint that names the option or the parameter.
#![cfg(unix)] // Memory is limited by the shell.

mod bench;

use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use bench::Bench;
use dagsplit::registry::mappers;
use dagsplit::registry::{Parameter, Values, clusterings, methods, refinements, solver};

const ABSURD: [&str; 7] = ["0", "-1", "18446744073709551615", "1e308", "nan", "inf", "-inf"];

const STAGES: &str = r#"{"schema": "dagsplit-stages/1", "name": "pair",
    "stages": [{"name": "a", "forward": 1, "backward": 2, "parameter_bytes": 20, "memory": 4},
               {"name": "b", "forward": 1, "backward": 2, "parameter_bytes": 20, "memory": 2}],
    "messages": [{"source": 0, "target": 1, "bytes": 10}, {"source": 1, "target": 0, "bytes": 10}]}"#;

const NODES: &str = "bytes/ms, a0, a1, b0, b1\na0, , 10, 1, 1\na1, 10, , 1, 1\nb0, 1, 1, , 10\nb1, 1, 1, 10,\n";

const MAPPING: &str = r#"{"schema": "dagsplit-mapping/1", "copies": [
    {"stage": 0, "replica": 0, "device": 0}, {"stage": 1, "replica": 0, "device": 1}]}"#;

const SPLIT: &str = r#"{"cpus": [], "fpgas": [{"nodes": [10, 11]}, {"nodes": [12, 13]}]}"#;

/// The address space of a run, in KiB.
const MEMORY: u64 = 3_000_000;

/// No run takes so long, on a busy machine either: all have a time limit of a second.
const PATIENCE: Duration = Duration::from_secs(60);

/// Two nodes with an option each.
const OPTIONS: &str = r#"{"schema": "dagsplit-instance/1",
    "platform": {"accelerators": [{"count": 4, "memory": 1024}], "cpus": 0},
    "nodes": [{"id": 0, "accelerator_times": [1]}, {"id": 1, "accelerator_times": [1]}],
    "edges": [{"source": 0, "target": 1}],
    "parallelism": {"bandwidth": 1000, "edges": [{"source": 0, "target": 1, "bytes": 1}], "options": [
        {"node": 0, "tensor_degree": 1, "name": "vanilla", "time": 1},
        {"node": 1, "tensor_degree": 1, "name": "vanilla", "time": 1}]}}"#;

fn setup() -> Bench {
    let bench = Bench::new();
    for (name, content) in [
        ("stages.json", STAGES),
        ("nodes.csv", NODES),
        ("mapping.json", MAPPING),
        ("split.json", SPLIT),
        ("options.json", OPTIONS),
    ] {
        bench.file(name, content);
    }
    for (file, family) in [("model.json", "transformer --layers 1 --training"), ("chain.json", "chain --nodes 6")] {
        let (code, err) = run(&bench, &words(&format!("generate {family} --output {file}")));
        assert!(code == 0 && bench.read(file).contains("dagsplit-instance/1"), "{err}");
    }
    bench
}

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

/// The exit code of dagsplit with these arguments, and what it says on standard error.
#[track_caller]
fn run(bench: &Bench, arguments: &[String]) -> (i32, String) {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("ulimit -v {MEMORY}; exec \"$0\" \"$@\""), env!("CARGO_BIN_EXE_dagsplit")]);
    command.args(arguments).current_dir(bench.directory.path());
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("there is a shell");
    let mut pipe = child.stderr.take().expect("it is a pipe");
    let reader = std::thread::spawn(move || {
        let mut text = Vec::new();
        pipe.read_to_end(&mut text).map(|_| String::from_utf8_lossy(&text).into_owned())
    });
    let started = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if started.elapsed() > PATIENCE {
            child.kill().unwrap();
            panic!("{arguments:?}: it does not end");
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let err = reader.join().unwrap().unwrap();
    let code = status.code().unwrap_or_else(|| panic!("{arguments:?}: {status}\n{err}"));
    assert!((0..=5).contains(&code) || code == 74, "{arguments:?}: exit code {code}\n{err}");
    (code, err)
}

/// The options of a verb that take a value, by its help.
fn options(verb: &str) -> Vec<String> {
    let help = Command::new(env!("CARGO_BIN_EXE_dagsplit")).args(verb.split(' ')).arg("--help").output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let option = |line: &str| {
        let name = line.trim_start().trim_start_matches("-q, ").strip_prefix("--")?;
        name.split_once(" <").map(|(name, _)| name.to_owned())
    };
    help.lines().filter_map(option).collect()
}

/// The ends of the range that a complaint names: `from 0 to 9`, or `give 0 to 9`.
fn ends(complaint: &str) -> Option<[String; 2]> {
    let words: Vec<&str> = complaint.split_whitespace().map(|word| word.trim_end_matches([',', ';'])).collect();
    words.windows(4).find_map(|words| match words {
        ["from" | "give", least, "to", most] if least.parse::<f64>().is_ok() => {
            Some([least, most].map(|&end| end.into()))
        }
        _ => None,
    })
}

/// Tries each option of `verb` with absurd values and with the ends of its range, beside `arguments`, which make sense.
#[track_caller]
fn try_verb(verb: &str, arguments: &str) {
    let bench = setup();
    let base: Vec<String> = words(verb).into_iter().chain(words(arguments)).collect();
    let (code, err) = run(&bench, &base);
    assert_eq!(code, 0, "{base:?}: {err}");
    let options = options(verb);
    assert!(!options.is_empty());
    for option in &options {
        let with = |value: &str| {
            let needed = match option.as_str() {
                "server-size" => Some("--between-factor=2"),
                "between-factor" => Some("--server-size=1"),
                "sync-bandwidth" if verb == "draw" => Some("--split=split.json"),
                "sync-bandwidth" if verb != "simulate" => Some("--replicas=2"),
                "mapping" => Some("--stages=stages.json"),
                "stages" if verb == "draw" => Some("--mapping=mapping.json"),
                "zero" | "cache-tokens" if verb == "simulate" => Some("--microbatches=4"),
                _ => None,
            };
            let others = base.iter().filter(|word| !word.starts_with(&format!("--{option}="))).cloned();
            let given = needed.map(str::to_owned).into_iter().chain([format!("--{option}={value}")]);
            run(&bench, &others.chain(given).collect::<Vec<_>>())
        };
        let tried: Vec<(&str, (i32, String))> = ABSURD.map(|value| (value, with(value))).into();
        let refused = || tried.iter().filter(|(_, (code, _))| *code == 2);
        let range = refused().find_map(|(_, (_, err))| ends(err));
        for (value, (_, err)) in refused() {
            let bare = ["invalid digit", "invalid float", "number too large"].iter().any(|cause| err.contains(cause));
            assert!(!bare, "{verb} --{option}={value}: the complaint has no range\n{err}");
        }
        // What takes words has none. What is wrong with a problem as a whole is told of the problem.
        for (value, (_, err)) in refused().filter(|_| range.is_some()) {
            let names_it = err.contains(option.as_str()) || err.contains(" found\n  ");
            assert!(names_it, "{verb} --{option}={value}: the complaint does not name it\n{err}");
        }
        // A million cases take their time, as they should, and large graphs make large files.
        if verb.starts_with("generate") || (verb, option.as_str()) == ("conform", "cases") {
            continue;
        }
        range.iter().flatten().for_each(|end| drop(with(end)));
    }
}

macro_rules! verbs {
    ($($test:ident: $verb:literal, $arguments:literal;)*) => {
        $(#[test] fn $test() { try_verb($verb, $arguments); })*
    };
}

verbs! {
    solve: "solve", "diamond.json --time-limit=1 --quiet";
    solve_for_latency: "solve", "diamond.json --objective=latency --method=greedy --time-limit=1 --quiet";
    solve_for_sharding: "solve", "chain.json --objective=sharding --scope=arbitrary --time-limit=1 --quiet";
    map: "map", "stages.json nodes.csv --time-limit=1 --quiet";
    plan: "plan", "model.json nodes.csv --stages=2 --time-limit=1 --mapping-time=1 --quiet";
    compare: "compare", "diamond.json --methods=dpl --time-limit=1 --quiet";
    reproduce: "reproduce", "--quiet";
    verify: "verify", "diamond.json split.json";
    info: "info", "diamond.json";
    convert: "convert", "diamond.json --to=native";
    draw: "draw", "diamond.json";
    simulate_a_split: "simulate", "diamond.json split.json";
    simulate_mapped_stages: "simulate", "stages.json nodes.csv mapping.json";
    transformer: "generate transformer", "--layers=1";
    resnet: "generate resnet", "--depth=50";
    inception: "generate inception", "";
    nasnet: "generate nasnet", "";
    swin: "generate swin", "";
    semantic_fpn: "generate semantic-fpn", "";
    llm: "generate llm", "--layers=1";
    chain: "generate chain", "";
    series_parallel: "generate series-parallel", "";
    layered: "generate layered", "";
    dnn: "generate dnn", "";
    erdos_renyi: "generate erdos-renyi", "";
    hierarchical: "generate topology hierarchical", "";
    dgx1: "generate topology dgx1", "";
    mesh: "generate topology mesh", "";
    torus: "generate topology torus", "";
    random_blk_1: "generate topology random-blk-1", "";
    random_blk_2: "generate topology random-blk-2", "";
    uniform_dist: "generate topology uniform-dist", "";
    fat_tree: "generate topology fat-tree", "";
    nvswitch: "generate topology nvswitch", "";
    hosts: "generate topology hosts", "dgx-1 --between=1GB";
    conform: "conform", "--method=dpl --cases=1 --time-limit=1 --grace=60";
}

/// Tries a parameter of the step that `spec` makes of a setting.
fn try_parameter(bench: &Bench, parameter: &Parameter, verb: &str, spec: impl Fn(&str) -> String) {
    let text = |number: f64| number.to_string();
    let ends = match parameter.values {
        Values::Whole(least, most) => vec![least.to_string(), most.to_string()],
        Values::Number(least, most) | Values::Numbers(least, most) => vec![text(least), text(most)],
        Values::Switch | Values::Text => Vec::new(),
    };
    for value in ends.iter().map(String::as_str).chain(ABSURD) {
        let setting = format!("{}={value}", parameter.name);
        let mut arguments = words(verb);
        arguments.push(format!("--method={}", spec(&setting)));
        let (code, err) = run(bench, &arguments);
        if ends.iter().any(|end| end == value) {
            // The population may be too large for the workload all the same.
            assert!(code != 2 || err.contains(parameter.name), "{setting}: {err}");
        } else if code == 2 {
            assert!(err.contains(parameter.name), "{setting}: {err}");
        } else {
            let holds = match parameter.values {
                Values::Whole(least, most) => value.parse().is_ok_and(|x: u64| (least..=most).contains(&x)),
                Values::Number(least, most) | Values::Numbers(least, most) => {
                    value.parse().is_ok_and(|x: f64| (least..=most).contains(&x))
                }
                Values::Switch => false,
                Values::Text => true,
            };
            assert!(holds, "{setting}: it is taken");
        }
    }
}

#[test]
fn parameters_of_methods() {
    let bench = setup();
    for method in methods() {
        let file = match method.name {
            "degrees" => "options.json --microbatches=4",
            "chunks" => "diamond.json --cpus=0 --microbatches=4",
            _ if method.objectives.contains(&"sharding") => "chain.json",
            _ => "diamond.json",
        };
        let (scope, objective) = (method.scopes[0], method.objectives[0]);
        let verb = format!("solve {file} --scope={scope} --objective={objective} --time-limit=0.3 --quiet");
        if method.needs_more() {
            // There is nothing to run, so that what is refused has to be refused when it is read.
            for parameter in method.parameters.iter().filter(|parameter| parameter.values != Values::Text) {
                let read = |value: &str| solver(&format!("{}:{}={value}", method.name, parameter.name)).map(|_| ());
                let refused = ABSURD.into_iter().filter(|value| read(value).is_err());
                assert_eq!(refused.collect::<Vec<_>>(), ABSURD[1..], "{}: {}", method.name, parameter.name);
            }
            continue;
        }
        for parameter in method.parameters {
            try_parameter(&bench, parameter, &verb, |setting| format!("{}:{setting}", method.name));
        }
        let seed = Parameter { name: "seed", default: "0", meaning: "", values: Values::Whole(0, u64::MAX) };
        try_parameter(&bench, &seed, &verb, |setting| format!("{}:{setting}", method.name));
    }
}

#[test]
fn parameters_of_steps() {
    let bench = setup();
    let verb = "solve diamond.json --time-limit=0.3 --quiet";
    for step in clusterings() {
        for parameter in step.parameters {
            try_parameter(&bench, parameter, verb, |setting| format!("{}:{setting}+dpl", step.name));
        }
    }
    for step in refinements() {
        for parameter in step.parameters {
            try_parameter(&bench, parameter, verb, |setting| format!("dpl+{}:{setting}", step.name));
        }
    }
}

#[test]
fn parameters_of_mappers() {
    let bench = setup();
    for mapper in mappers() {
        for parameter in mapper.parameters {
            let verb = "map stages.json nodes.csv --time-limit=0.3 --quiet";
            try_parameter(&bench, parameter, verb, |setting| format!("{}:{setting}", mapper.name));
        }
    }
}
