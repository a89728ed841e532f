//! Figures, and the files that they are written to.

use std::path::PathBuf;

use crate::report::comparison::Measured;
use crate::report::image::{Format, ImageError};
use crate::report::named;
use crate::report::plot::{Plot, WIDTH, WIDTHS, plot};

use super::{Exit, Failure, OrFail, unwritten, values, write_file};

/// Figures to draw.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Output")]
pub struct PlotArgs {
    /// Draw a figure as SVG, PDF or PNG, which the end of the file's name says: `gaps` (the default: gap against
    /// time, and the gaps by workload), `profile` (performance profiles of the objective), `proof-time` (those of the
    /// time until the proof), `progress` (mean gap over time) or `boxes` (box plots of the gaps). May be given
    /// several times.
    #[arg(long = "plot", value_name = "[KIND=]FILE", value_parser = drawing)]
    drawings: Vec<Drawing>,

    /// How wide figures are, in millimetres, such as 84 for a column of a page of two. Their texts have 8 points.
    #[arg(long, value_name = "MM", default_value_t = WIDTH, requires = "drawings", value_parser = values::number(WIDTHS))]
    plot_width: f64,
}

/// A figure and its file.
#[derive(Debug, Clone)]
struct Drawing {
    kind: Plot,
    format: Format,
    file: PathBuf,
}

fn drawing(text: &str) -> Result<Drawing, String> {
    // What is before a `=` names a kind, unless it looks like a part of a path.
    let parts = text.split_once('=').filter(|(kind, _)| !kind.contains(['/', '.']));
    let (kind, file) = match parts {
        None => (Plot::default(), text),
        Some((kind, file)) => (named(kind)?, file),
    };
    let file = PathBuf::from(file);
    match Format::of(&file) {
        Ok(format) if format.is_built() => Ok(Drawing { kind, format, file }),
        told => Err(told.err().unwrap_or(ImageError::NotBuilt).to_string()),
    }
}

impl PlotArgs {
    /// Writes the figures asked for.
    ///
    /// # Errors
    /// A file cannot be written, or there is no font for PDF and PNG.
    pub fn write(&self, runs: &[Measured<'_>]) -> Result<(), Failure> {
        self.drawings.iter().try_for_each(|drawing| drawing.write(plot(runs, drawing.kind, self.plot_width)))
    }
}

impl Drawing {
    fn write(&self, svg: String) -> Result<(), Failure> {
        let bytes = self.format.encode(svg).map_err(|error| unwritten(&self.file, &error)).or_fail(Exit::Output)?;
        write_file(&self.file, &bytes)
    }
}
