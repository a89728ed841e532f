//! The program `dagsplit-check`: whether a proof file proves what it claims.

use std::fs::File;
use std::io::Read;
use std::process::ExitCode;

use dagsplit_check::{Error, check};

const USAGE: &str = "\
usage: dagsplit-check INSTANCE PROOF [SPLIT]

Says whether PROOF proves that no split of INSTANCE has a load below its claim, and
whether SPLIT reaches that, and so is optimal. The format is dagsplit-proof/1.

Exit codes: 0 accepted, 1 refused, 2 usage, 3 a file cannot be read.";

/// Files above this size are not read: half a GiB.
const MOST_BYTES: u64 = 1 << 29;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (instance, proof, split) = match &arguments[..] {
        [help] if help == "-h" || help == "--help" => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        [instance, proof] => (instance, proof, None),
        [instance, proof, split] => (instance, proof, Some(split)),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match run(instance, proof, split.map(String::as_str)) {
        Ok(accepted) => {
            println!("{accepted}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(if matches!(error, Error::Refused { .. }) { 1 } else { 3 })
        }
    }
}

fn run(instance: &str, proof: &str, split: Option<&str>) -> Result<String, Error> {
    let (instance, proof) = (read("instance", instance)?, read("proof", proof)?);
    let split = split.map(|split| read("split", split)).transpose()?;
    let accepted = check(&instance, &proof, split.as_deref())?;
    let optimal = if split.is_some() { ", and the split has no more" } else { "" };
    Ok(format!("accepted: {accepted}{optimal}"))
}

fn read(file: &'static str, path: &str) -> Result<String, Error> {
    let unreadable = |cause: String| Error::Unreadable { file, line: None, cause: format!("{path}: {cause}") };
    let opened = File::open(path).map_err(|error| unreadable(error.to_string()))?;
    let mut bytes = Vec::new();
    opened.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(|error| unreadable(error.to_string()))?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(unreadable(format!("it is larger than {MOST_BYTES} bytes")));
    }
    String::from_utf8(bytes).map_err(|error| unreadable(error.to_string()))
}
