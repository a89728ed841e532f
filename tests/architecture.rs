//! What may use what: modules form no cycles, and the verifier sees the model alone.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use petgraph::algo::tarjan_scc;
use petgraph::graphmap::DiGraphMap;

/// A module by the names that lead to it from the root of its crate.
type Module = Vec<String>;

/// The sources of one crate.
struct Sources {
    /// The text of each module without comments and tests.
    texts: BTreeMap<Module, String>,
}

impl Sources {
    /// All modules below a folder but for those of the command line, which nothing uses.
    fn read(root: &Path) -> Self {
        let mut files = Vec::new();
        collect(root, &mut files);
        let texts = files.into_iter().filter_map(|file| {
            let relative = file.strip_prefix(root).unwrap().with_extension("");
            let mut module: Module = relative.iter().map(|part| part.to_str().unwrap().to_owned()).collect();
            if module.last().is_some_and(|last| last == "mod" || last == "lib") {
                module.pop();
            }
            let is_program = module.first().is_some_and(|first| first == "cli" || first == "main");
            (!is_program).then(|| (module, code(&std::fs::read_to_string(&file).unwrap())))
        });
        Self { texts: texts.collect() }
    }

    /// The modules that each module names, by what its paths lead to: through re-exports to where a name comes from.
    fn uses(&self) -> Vec<(&Module, Module)> {
        let mut exports = BTreeMap::new();
        let paths: Vec<(&Module, Vec<Module>)> = self.texts.iter().map(|(m, text)| (m, paths(text))).collect();
        for (module, paths) in &paths {
            for path in paths {
                let from: Module = module.iter().chain(&path[..path.len() - 1]).cloned().collect();
                if path.len() > 1 && self.texts.contains_key(&[&module[..], &path[..1]].concat()) {
                    exports.insert(((*module).clone(), path[path.len() - 1].clone()), from);
                }
            }
        }
        let named = paths.iter().flat_map(|(module, paths)| {
            paths.iter().filter_map(|path| Some((*module, self.resolve(module, path, &exports)?)))
        });
        named.collect()
    }

    /// The module that a path leads to; `None` where it leads out of the crate.
    fn resolve(&self, from: &Module, path: &Module, exports: &BTreeMap<(Module, String), Module>) -> Option<Module> {
        let ups = path.iter().take_while(|part| *part == "super").count();
        let (mut module, rest) = match path[0].as_str() {
            "crate" => (Module::new(), &path[1..]),
            "super" => (from[..from.len().checked_sub(ups)?].to_vec(), &path[ups..]),
            "self" => (from.clone(), &path[1..]),
            first => {
                let child = [&from[..], &[first.to_owned()]].concat();
                self.texts.contains_key(&child).then_some((child, &path[1..]))?
            }
        };
        for part in rest {
            let child = [&module[..], std::slice::from_ref(part)].concat();
            if self.texts.contains_key(&child) {
                module = child;
            } else if let Some(origin) = exports.get(&(module.clone(), part.clone())) {
                module.clone_from(origin);
            } else {
                break;
            }
        }
        Some(module)
    }

    /// The cycles among modules of one parent, each with the uses that make it.
    fn cycles(&self) -> Vec<String> {
        let mut uses: BTreeMap<Module, BTreeMap<(String, String), String>> = BTreeMap::new();
        for (from, to) in self.uses() {
            let shared = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
            if let (Some(a), Some(b)) = (from.get(shared), to.get(shared)) {
                let seen = uses.entry(from[..shared].to_vec()).or_default();
                seen.insert((a.clone(), b.clone()), format!("{} uses {}", from.join("::"), to.join("::")));
            }
        }
        let mut found = Vec::new();
        for edges in uses.values() {
            let graph: DiGraphMap<&str, ()> = edges.keys().map(|(a, b)| (a.as_str(), b.as_str())).collect();
            for cycle in tarjan_scc(&graph).into_iter().filter(|modules| modules.len() > 1) {
                let within: BTreeSet<&str> = cycle.into_iter().collect();
                let inside = |(a, b): &(String, String)| within.contains(a.as_str()) && within.contains(b.as_str());
                let lines = edges.iter().filter(|(edge, _)| inside(edge)).map(|(_, line)| line.as_str());
                found.push(lines.collect::<Vec<_>>().join("\n"));
            }
        }
        found
    }
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display())) {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// The text without comments, and without the tests at its end.
fn code(text: &str) -> String {
    let end = text.find("#[cfg(test)]\nmod tests").unwrap_or(text.len());
    let lines = text[..end].lines().map(|line| line.split("//").next().unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

/// The paths of `use` items, and those in the code that begin with `crate`, `super` or `self`.
fn paths(text: &str) -> Vec<Module> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find("use ") {
        let begins = rest[..start].chars().next_back().is_none_or(|c| !c.is_alphanumeric() && c != '_');
        rest = &rest[start + 4..];
        if let Some(end) = rest.find(';').filter(|_| begins) {
            expand(&rest[..end], &Module::new(), &mut found);
            rest = &rest[end..];
        }
    }
    let is_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    for word in text.split(|c| !is_path(c)).filter(|word| word.contains("::")) {
        let path = parts(word);
        if path.first().is_some_and(|first| matches!(first.as_str(), "crate" | "super" | "self")) {
            found.push(path);
        }
    }
    found
}

/// The paths of a tree such as `a::{b, c::d}`.
fn expand(tree: &str, before: &Module, found: &mut Vec<Module>) {
    let tree = tree.trim();
    let Some((prefix, inner)) = tree.split_once('{') else {
        let path: Module = before.iter().cloned().chain(parts(tree.split(" as ").next().unwrap_or(tree))).collect();
        let is_self = path.len() > 1 && path.last().is_some_and(|last| last == "self");
        found.push(if is_self { path[..path.len() - 1].to_vec() } else { path });
        return;
    };
    let before: Module = before.iter().cloned().chain(parts(prefix)).collect();
    let (mut depth, mut start) = (0, 0);
    let inner = inner.trim_end().trim_end_matches('}');
    for (at, c) in inner.char_indices().chain([(inner.len(), ',')]) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth <= 0 => {
                if !inner[start..at].trim().is_empty() {
                    expand(&inner[start..at], &before, found);
                }
                start = (at + 1).min(inner.len());
            }
            _ => {}
        }
    }
}

fn parts(path: &str) -> Module {
    path.split("::").map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

fn root(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)
}

#[test]
fn modules_form_no_cycles() {
    for folder in ["src", "crates/check/src", "crates/model/src", "crates/verify/src"] {
        let sources = Sources::read(&root(folder));
        assert!(sources.texts.len() > 5, "{folder} has hardly any modules");
        let cycles = sources.cycles();
        assert!(cycles.is_empty(), "{folder}: cycles of modules\n{}", cycles.join("\n\n"));
    }
}

#[test]
fn cycles_are_found() {
    let texts = [
        ("", "mod a; mod b; mod c; pub use b::Shown;"),
        ("a", "use crate::Shown;"),
        ("b", "use super::{c::{self, Other}, unknown::Thing}; pub struct Shown;"),
        ("c", "fn f() -> crate::a::Name {}"),
    ];
    let module = |name: &str| parts(name);
    let sources = Sources { texts: texts.iter().map(|(m, text)| (module(m), code(text))).collect() };
    assert_eq!(sources.cycles(), ["a uses b\nb uses c\nc uses a"]);
    let without = |name: &str| Sources {
        texts: sources.texts.iter().filter(|(m, _)| **m != module(name)).map(|(m, t)| (m.clone(), t.clone())).collect(),
    };
    assert!(["a", "b", "c"].into_iter().all(|name| without(name).cycles().is_empty()));
}

#[test]
fn the_verifier_sees_the_model_alone() {
    let manifest = std::fs::read_to_string(root("crates/verify/Cargo.toml")).unwrap();
    let dependencies = manifest.split("[dependencies]").nth(1).and_then(|rest| rest.split('[').next()).unwrap();
    let names: Vec<&str> = dependencies.lines().filter_map(|line| line.split(['.', ' ', '=']).next()).collect();
    let names: Vec<&str> = names.into_iter().filter(|name| !name.is_empty()).collect();
    assert_eq!(names, ["dagsplit-model", "rustc-hash", "thiserror"]);
    let manifest = std::fs::read_to_string(root("crates/model/Cargo.toml")).unwrap();
    assert!(!manifest.contains("dagsplit-verify") && !manifest.contains("dagsplit.workspace"), "{manifest}");
    // What the solvers' cost model and order graph say, the verifier works out by itself.
    for (module, text) in Sources::read(&root("crates/verify/src")).texts {
        for name in ["CostModel", "ProfiledCost", "OrderGraph", "Solver"] {
            assert!(!text.contains(name), "{} names {name}", module.join("::"));
        }
    }
}

/// The checker of proofs shares no code with anything: its manifest names a JSON reader alone, in its two halves. `serde` says what
/// the fields of the format are, and refuses those that are unknown or stand twice; `serde_json` reads the text.
#[test]
fn the_checker_depends_on_a_json_reader_alone() {
    let manifest = std::fs::read_to_string(root("crates/check/Cargo.toml")).unwrap();
    let dependencies = manifest.split("[dependencies]").nth(1).and_then(|rest| rest.split('[').next()).unwrap();
    let names: Vec<&str> = dependencies.lines().filter_map(|line| line.split(['.', ' ', '=']).next()).collect();
    let names: Vec<&str> = names.into_iter().filter(|name| !name.is_empty()).collect();
    assert_eq!(names, ["serde", "serde_json"]);
    assert!(!manifest.contains("dev-dependencies"), "{manifest}");
    for (module, text) in Sources::read(&root("crates/check/src")).texts {
        assert!(!text.contains("f64") && !text.contains("f32"), "{} counts in floating point", module.join("::"));
    }
}

/// The checkers of proofs are small enough to be read as a whole: so many lines of code, without comments and blank lines, and in
/// Python so many lines in all.
#[test]
fn the_checker_stays_small() {
    let mut files = Vec::new();
    collect(&root("crates/check/src"), &mut files);
    let texts = files.iter().map(|file| code(&std::fs::read_to_string(file).unwrap()));
    let lines: usize = texts.map(|text| text.lines().filter(|line| !line.trim().is_empty()).count()).sum();
    assert!(lines < 1500, "{lines} lines of code, fewer than 1500 are asked for");
    let python = std::fs::read_to_string(root("tools/check.py")).unwrap();
    let lines = python.lines().count();
    assert!(lines < 500, "{lines} lines in Python with comments and blank ones, fewer than 500 are asked for");
}

/// The mutants of `tools/mutants` are edits of the code as it is.
#[test]
fn every_mutant_has_its_place() {
    let python = |arguments: &[&str]| {
        std::process::Command::new("python3").args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).output()
    };
    if !python(&["-c", "import tomllib"]).is_ok_and(|output| output.status.success()) {
        eprintln!("not looked at: there is no Python 3.11");
        return;
    }
    let output = python(&["tools/mutants/mutants.py", "--check"]).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
