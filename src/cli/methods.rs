//! `dagsplit methods`

use dagsplit::report::capabilities;
use dagsplit::solve::registry;

use super::{Exit, Failure, print};

/// List the methods: what each takes, what it promises, where it comes from.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print the table in Markdown, as in `docs/methods.md`.
    #[arg(long)]
    markdown: bool,
}

impl Args {
    pub fn run(self) -> Result<Exit, Failure> {
        let methods = registry::methods();
        print(&if self.markdown { capabilities::markdown(methods) } else { capabilities::text(methods) })?;
        Ok(Exit::Done)
    }
}
