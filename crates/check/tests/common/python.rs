//! The checker in Python, many proofs at a time.

use std::io::Write;
use std::process::{Command, Stdio};

/// What the checker in Python says of each instance and proof, or `None` where there is no Python.
pub fn python(pairs: &[[&str; 2]]) -> Option<Vec<bool>> {
    const DRIVER: &str = "
import json, sys
sys.path.insert(0, sys.argv[1])
import check
for instance, proof in json.load(sys.stdin):
    try:
        check.check(instance.encode(), proof)
        print('True')
    except (check.Refused, LookupError, TypeError, ValueError):
        print('False')
";
    let tools = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools");
    let mut command = Command::new("python3");
    command.args(["-B", "-c", DRIVER, tools]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().ok()?;
    child.stdin.take()?.write_all(serde_json::to_string(pairs).unwrap().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "the checker in Python ends with {}", output.status);
    Some(String::from_utf8(output.stdout).unwrap().lines().map(|line| line == "True").collect())
}
