//! The commands that README and docs show do what is shown.
//!
//! A page's commands run in order, in a folder that begins with the project's `instances`, `examples` and `docs/gallery`:
//! those of blocks that are indented or fenced as `sh`, all lines where the first begins with `dagsplit`, else those behind
//! `$`. What stands below these is what they print, but for seconds; `…` stands for any lines. A line
//! `<!-- before: COMMAND -->` runs as well, and `<!-- not run: REASON -->` leaves out the next block.
#![cfg(feature = "conformance")]

use std::path::Path;
use std::process::Command;

/// Programs that are not there wherever tests run.
const NOT_HERE: [&str; 9] =
    ["dagsplit-check", "make", "cargo", "pip", "torchrun", "python", "pytest", "dagsplit-profile", "highs"];

/// A command of a page.
#[derive(Debug)]
struct Shown {
    line: usize,
    command: String,
    /// What it is shown to print; empty where nothing is shown.
    output: Vec<String>,
}

/// The commands of a page in order, those in remarks among them.
fn commands(page: &str) -> Vec<Shown> {
    let (mut found, mut skips, mut is_fenced, mut block) = (Vec::<Shown>::new(), false, false, Block::None);
    for (line, text) in (1..).zip(page.lines()) {
        if let Some(command) = text.strip_prefix("<!-- before: ").and_then(|rest| rest.strip_suffix(" -->")) {
            found.push(Shown { line, command: command.into(), output: Vec::new() });
        }
        skips |= text.starts_with("<!-- not run: ");
        if text.starts_with("```") {
            (is_fenced, block) = (text == "```sh", Block::None);
            continue;
        }
        let inside = if is_fenced { Some(text) } else { text.strip_prefix("    ") };
        let Some(text) = inside.or((block != Block::None && text.is_empty()).then_some("")) else {
            skips &= block == Block::None;
            block = Block::None;
            continue;
        };
        if block == Block::None {
            block = Block::of(text, is_fenced);
        }
        let goes_on = found.last().is_some_and(|last| last.command.ends_with('\\'));
        match (block, text.strip_prefix("$ "), found.last_mut()) {
            _ if skips || block == Block::Other || text.is_empty() && block == Block::Script => (),
            (_, _, Some(last)) if goes_on => last.command += &format!("\n{text}"),
            (Block::Session, Some(command), _) => {
                found.push(Shown { line, command: command.into(), output: Vec::new() })
            }
            (Block::Session, None, Some(last)) => last.output.push(text.into()),
            _ => found.push(Shown { line, command: text.into(), output: Vec::new() }),
        }
    }
    found
}

/// What lines of a block are.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Block {
    /// No block.
    None,
    /// Commands behind `$`, and what they print.
    Session,
    /// Commands alone.
    Script,
    /// Something else.
    Other,
}

impl Block {
    fn of(first: &str, is_shell: bool) -> Self {
        match () {
            () if first.starts_with("$ ") => Self::Session,
            () if is_shell || first.starts_with("dagsplit ") => Self::Script,
            () => Self::Other,
        }
    }
}

impl Shown {
    fn runs_here(&self) -> bool {
        self.command.split_whitespace().all(|word| !NOT_HERE.contains(&word))
    }

    /// Runs it, and tells what is wrong with it.
    fn run(&self, folder: &Path) -> Result<(), String> {
        let program = Path::new(env!("CARGO_BIN_EXE_dagsplit")).parent().unwrap();
        let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
        let run =
            Command::new("sh").args(["-c", &self.command]).current_dir(folder).env("PATH", path).output().unwrap();
        let (out, err) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
        let printed: Vec<String> = out.lines().map(without_seconds).collect();
        let mut shown: Vec<String> = self.output.iter().map(|line| without_seconds(line)).collect();
        while shown.last().is_some_and(String::is_empty) {
            shown.pop();
        }
        if shown.is_empty() {
            return run.status.success().then_some(()).ok_or_else(|| format!("{}\n{out}{err}", run.status));
        }
        is_shown(&shown, &printed).then_some(()).ok_or_else(|| format!("prints\n{out}{err}"))
    }
}

/// Whether `printed` is what is shown, where `…` stands for any lines. Empty lines at the end do not count.
fn is_shown(shown: &[String], printed: &[String]) -> bool {
    match shown.split_first() {
        None => printed.iter().all(String::is_empty),
        Some((first, rest)) if first == "…" => (0..=printed.len()).any(|skipped| is_shown(rest, &printed[skipped..])),
        Some((first, rest)) => {
            printed.split_first().is_some_and(|(next, after)| next == first && is_shown(rest, after))
        }
    }
}

/// A line without the digits of its seconds, and without what aligns them.
fn without_seconds(line: &str) -> String {
    let mut words: Vec<&str> = line.split_whitespace().collect();
    for index in 1..words.len() {
        if words[index].trim_end_matches(',') == "s" && words[index - 1].parse::<f64>().is_ok() {
            words[index - 1] = "N";
        }
    }
    words.join(" ")
}

/// Runs a page's commands, and panics with all that are not as shown.
#[track_caller]
fn run(page: &str) {
    let project = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = tempfile::tempdir().unwrap();
    for name in ["instances", "examples", "docs/gallery"] {
        let copied = Command::new("cp").arg("-R").args([project.join(name), folder.path().into()]).status().unwrap();
        assert!(copied.success());
    }
    let (here, elsewhere): (Vec<_>, Vec<_>) =
        commands(&std::fs::read_to_string(project.join(page)).unwrap()).into_iter().partition(Shown::runs_here);
    elsewhere.iter().for_each(|shown| eprintln!("{page}:{}: not run: {}", shown.line, shown.command));
    assert!(!here.is_empty(), "{page} has no commands");
    let wrong: Vec<String> = here
        .iter()
        .filter_map(|shown| {
            Some(format!("{page}:{}: {}\n{}", shown.line, shown.command, shown.run(folder.path()).err()?))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn commands_are_found_and_their_output_compared() {
    let page = "Text\n\n    $ a \\\n      b\n    prints 3 s\n    …\n    end\n\n<!-- before: c -->\n<!-- not run: long -->\n\n    \
                dagsplit d\n\nMore\n\n```json\n$ {}\n```\n```sh\ndagsplit e\nf\n```\n\n    x = y\n";
    let found = commands(page);
    let names: Vec<&str> = found.iter().map(|shown| shown.command.as_str()).collect();
    assert_eq!(names, ["a \\\n  b", "c", "dagsplit e", "f"]);
    assert_eq!(found[0].output, ["prints 3 s", "…", "end", ""]);
    let lines = |text: &str| text.lines().map(without_seconds).collect::<Vec<_>>();
    assert!(is_shown(&lines("in 3.5 s\n…\nend"), &lines("in   14.25 s\nmore\nand more\nend\n\n")));
    assert!(!is_shown(&lines("in 3.5 s\n…\nend"), &lines("in 14.25 s\nend\nmore")));
    assert!(!is_shown(&lines("3.5 ms"), &lines("3.6 ms")));
}

macro_rules! pages {
    ($($(#[$attribute:meta])* $name:ident: $page:literal,)*) => {
        $(#[test]
        $(#[$attribute])*
        fn $name() {
            run($page);
        })*

        #[test]
        fn no_page_with_commands_is_left_out() {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
            let pages = std::fs::read_dir(folder.join("docs")).unwrap().map(|entry| entry.unwrap().path());
            for page in pages.chain([folder.join("README.md")]).filter(|path| path.extension().is_some_and(|end| end == "md")) {
                let name = page.strip_prefix(folder).unwrap().to_str().unwrap();
                let is_known = [$($page),*].contains(&name);
                let has_commands = commands(&std::fs::read_to_string(&page).unwrap()).iter().any(Shown::runs_here);
                assert_eq!(is_known, has_commands, "{name}");
            }
        }
    };
}

pages! {
    readme: "README.md",
    comparing: "docs/compare.md",
    defaults: "docs/defaults.md",
    gallery: "docs/gallery.md",
    #[cfg_attr(not(feature = "highs"), ignore = "its commands use HiGHS")]
    integer_programs: "docs/integer-programs.md",
    mapping: "docs/mapping.md",
    pipelines: "docs/pipelines.md",
    planning: "docs/plan.md",
    proofs: "docs/proofs.md",
    reproducing: "docs/reproduce.md",
    simulating: "docs/simulate.md",
    sweeping: "docs/sweeps.md",
    tutorial: "docs/tutorial.md",
    your_model: "docs/your-model.md",
    your_partitioner: "docs/your-partitioner.md",
}
