//! Numbers are read as their files state them: without rounding, or not at all.

use dagsplit_check::{Error, digits, hash, split_value};

/// One node for one accelerator.
fn instance(time: &str) -> String {
    format!(
        r#"{{"schema":"dagsplit-instance/1","platform":{{"accelerators":[{{"count":1}}],"cpus":0}},"nodes":[{{"id":1,"accelerator_times":[{time}],"transfer_time":0.25}}],"edges":[]}}"#
    )
}

/// What the split of that node comes to, in units of so many decimals.
fn value(time: &str, digits: u32) -> Result<i128, Error> {
    let instance = instance(time);
    let line = format!(
        r#"{{"format":"dagsplit-proof/1","instance":"{}","objective":"throughput","scope":"acyclic","accelerators":[{{"count":1,"load":[[1,1,1]]}}],"cpus":0,"digits":{digits},"claim":0}}"#,
        hash(instance.as_bytes())
    );
    split_value(&instance, &line, r#"{"fpgas":[{"nodes":[1]}]}"#)
}

#[test]
fn decimals_are_scaled_without_error() {
    assert_eq!(value("6.959999999999999", 15), Ok(6_959_999_999_999_999));
    assert_eq!(value("17185374208.0", 2), Ok(1_718_537_420_800));
    assert_eq!(value("1.5e-3", 6), Ok(1500));
    assert_eq!(value("25E+2", 2), Ok(250_000));
    for zero in ["-0.0", "0e9", "0.000"] {
        assert_eq!(value(zero, 3), Ok(0), "{zero}");
    }
    assert_eq!(value("1200", 2), Ok(120_000));
    assert_eq!(value("1000000000000000000000000000000000000000000e-42", 2), Ok(100));
}

#[test]
fn a_claim_counts_the_decimals_of_times_and_of_scaled_transfers() {
    assert_eq!(digits(&instance("0.250"), "1"), Ok(2));
    assert_eq!(digits(&instance("0.1250"), "1"), Ok(3));
    assert_eq!(digits(&instance("1"), "0.5"), Ok(3));
    assert_eq!(digits(&instance("1"), "1000"), Ok(0));
}

#[test]
fn what_no_whole_number_holds_is_an_error() {
    let cases = [
        ("-1", 2, "-1 is below zero"),
        ("1e401", 2, "is too small or large"),
        ("1e-500", 2, "is too small or large"),
        ("1e99999999999", 2, "is too small or large"),
        ("1234567890123456789012345678901234567", 2, "is no number of at most 36 digits"),
        ("1e30", 20, "a number is too large for 20 decimals"),
        ("0.011", 2, "a number has more than 2 decimals"),
        ("1e-300", 30, "a number has more than 30 decimals"),
        ("\"1\"", 2, "is no number"),
    ];
    for (time, digits, why) in cases {
        let said = value(time, digits).map_err(|error| error.to_string());
        assert!(said.as_ref().is_err_and(|said| said.contains(why)), "{time}: {said:?}, expected `{why}`");
    }
    assert!(digits(&instance("1"), "inf").is_err());
}
