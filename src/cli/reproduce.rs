//! `dagsplit reproduce`
use super::{Exit, Failure};
/// x
#[derive(Debug, clap::Args)]
pub struct Args {}
impl Args {
    pub fn run(self) -> Result<Exit, Failure> {
        Ok(Exit::Done)
    }
}
