//! The checker in Python, many proofs at a time.

use std::io::Write;
use std::process::{Command, Stdio};

/// Whether the checker in Python accepts each proof of an instance, or `None` where there is no Python.
pub fn python(pairs: &[[&str; 2]]) -> Option<Vec<bool>> {
    causes(pairs).map(|causes| causes.iter().map(String::is_empty).collect())
}

/// Why the checker in Python does not accept each proof of an instance, empty where it does.
pub fn causes(pairs: &[[&str; 2]]) -> Option<Vec<String>> {
    const DRIVER: &str = "
import json, sys
sys.path.insert(0, sys.argv[1])
import check
for instance, proof in json.load(sys.stdin):
    try:
        check.check(instance.encode(), proof)
        print()
    except (check.Refused, AttributeError, LookupError, TypeError, ValueError) as cause:
        print(repr(cause))
";
    let tools = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools");
    let mut command = Command::new("python3");
    command.args(["-B", "-c", DRIVER, tools]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().ok()?;
    child.stdin.take()?.write_all(serde_json::to_string(pairs).unwrap().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "the checker in Python ends with {}", output.status);
    Some(String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect())
}
