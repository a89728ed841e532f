//! The program `dagsplit-check`: whether a proof file proves what it claims.

use std::fs::File;
use std::io::Read;
use std::process::ExitCode;

use dagsplit_check::{Accepted, Error, check};

const USAGE: &str = "\
usage: dagsplit-check INSTANCE PROOF [SPLIT]

Says whether PROOF proves that no split of INSTANCE has a load below its claim, and
whether SPLIT reaches that, and so is optimal. The format is dagsplit-proof/1.

Exit codes: 0 accepted, 1 refused, 2 usage, 3 a file cannot be read.";

/// Files above this size are not read: half a GiB.
const MOST_BYTES: u64 = 1 << 29;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match &arguments[..] {
        [help] if help == "-h" || help == "--help" => Ok(USAGE.to_owned()),
        [instance, proof, split @ ..] if split.len() <= 1 => run(instance, proof, split.first()),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(said) => println!("{said}"),
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(if matches!(error, Error::Refused { .. }) { 1 } else { 3 });
        }
    }
    ExitCode::SUCCESS
}

fn run(instance: &str, proof: &str, split: Option<&String>) -> Result<String, Error> {
    let (instance, proof) = (read("instance", instance)?, read("proof", proof)?);
    let split = split.map(|split| read("split", split)).transpose()?;
    let Accepted { claim, digits, is_stability } = check(&instance, &proof, split.as_deref())?;
    let what = match is_stability {
        true => "while times move so, the split is above the best one by at most",
        false => "every split has a load of at least",
    };
    let end = if split.is_some() { ", and the split has that, in whole units" } else { "" };
    Ok(format!("accepted: {what} {claim} · 10^-{digits}{end}"))
}

fn read(file: &str, path: &str) -> Result<String, Error> {
    let mut text = String::new();
    let read = File::open(path).and_then(|opened| opened.take(MOST_BYTES + 1).read_to_string(&mut text));
    match read {
        Ok(bytes) if bytes as u64 <= MOST_BYTES => Ok(text),
        Ok(_) => Err(Error::Unreadable(format!("{file}: {path}: it is larger than {MOST_BYTES} bytes"))),
        Err(error) => Err(Error::Unreadable(format!("{file}: {path}: {error}"))),
    }
}
