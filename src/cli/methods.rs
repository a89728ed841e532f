//! `dagsplit methods`

use crate::report::capabilities;

use super::{Exit, Failure, print};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print the tables in Markdown, as in `docs/methods.md`.
    #[arg(long)]
    markdown: bool,
}

impl Args {
    pub fn run(self) -> Result<Exit, Failure> {
        print(&if self.markdown { capabilities::markdown() } else { capabilities::text() })?;
        Ok(Exit::Done)
    }
}
