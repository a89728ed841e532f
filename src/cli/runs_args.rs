//! What the commands that make many runs have in common.

use super::export_args::ExportArgs;
use super::search_args::SearchArgs;
use super::series::SeriesArgs;

/// How each method runs, where results are kept, and where tables go.
#[derive(Debug, clap::Args)]
pub struct RunsArgs {
    #[command(flatten)]
    pub search: SearchArgs,

    /// Have the independent checker confirm a proof of each optimum, as `solve --certify` does: the status is then
    /// `certified`.
    #[arg(long, help_heading = "Search")]
    pub certify: bool,

    #[command(flatten)]
    pub series: SeriesArgs,

    #[command(flatten)]
    pub export: ExportArgs,
}
