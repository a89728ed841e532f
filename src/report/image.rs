//! Pictures as files: SVG as it stands, PDF for LaTeX, PNG for what shows neither.

use std::path::Path;

/// How a picture is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Text that draws it, in any size.
    Svg,
    /// A page of its size, in lines and letters, with the font in it.
    Pdf,
    /// Pixels, 300 an inch.
    Png,
}

/// A picture cannot be written as PDF or PNG.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// The program has SVG alone.
    #[error("this dagsplit is built without PDF and PNG (the feature `images`); give a name that ends with .svg")]
    NotBuilt,
    /// There is nothing to write text with.
    #[error(
        "this system has no font to write text with; install one (such as DejaVu), or give a name that ends with .svg"
    )]
    NoFont,
    /// The picture is none, or too large.
    #[error("the picture cannot be made: {0}")]
    Failed(String),
}

impl Format {
    /// That of a file, by the end of its name: PDF, PNG, or else SVG.
    pub fn of(path: &Path) -> Self {
        let end = path.extension().map(|end| end.to_string_lossy().to_lowercase());
        match end.as_deref() {
            Some("pdf") => Self::Pdf,
            Some("png") => Self::Png,
            _ => Self::Svg,
        }
    }

    /// Whether this program writes it.
    pub fn is_built(self) -> bool {
        self == Self::Svg || cfg!(feature = "images")
    }

    /// An SVG picture in this format. The fonts of PDF and PNG are those of the system.
    ///
    /// # Errors
    /// [`ImageError`], of PDF and PNG alone.
    pub fn encode(self, svg: String) -> Result<Vec<u8>, ImageError> {
        match self {
            Self::Svg => Ok(svg.into_bytes()),
            #[cfg(feature = "images")]
            Self::Pdf => drawn::pdf(&svg),
            #[cfg(feature = "images")]
            Self::Png => drawn::png(&svg),
            #[cfg(not(feature = "images"))]
            Self::Pdf | Self::Png => Err(ImageError::NotBuilt),
        }
    }
}

#[cfg(feature = "images")]
mod drawn {
    use resvg::tiny_skia::{Pixmap, Transform};
    use resvg::usvg::{Options, Tree};
    use svg2pdf::{ConversionOptions, PageOptions};

    use super::ImageError;

    /// Pixels of SVG in an inch, as CSS has them.
    const UNITS: f32 = 96.0;
    /// Those of PNG.
    const PIXELS: f32 = 300.0;
    /// What text is written with, the first that the system has; else whatever it has.
    const FONTS: [&str; 5] = ["Helvetica", "Arial", "Liberation Sans", "DejaVu Sans", "Noto Sans"];

    pub fn pdf(svg: &str) -> Result<Vec<u8>, ImageError> {
        let page = PageOptions { dpi: UNITS };
        svg2pdf::to_pdf(&tree(svg)?, ConversionOptions::default(), page).map_err(|error| failed(&error))
    }

    pub fn png(svg: &str) -> Result<Vec<u8>, ImageError> {
        let tree = tree(svg)?;
        let scale = PIXELS / UNITS;
        let pixels = |length: f32| (length * scale).ceil() as u32;
        let size = tree.size();
        let map = Pixmap::new(pixels(size.width()), pixels(size.height()));
        let mut map = map.ok_or_else(|| ImageError::Failed("it is too large".into()))?;
        resvg::render(&tree, Transform::from_scale(scale, scale), &mut map.as_mut());
        map.encode_png().map_err(|error| failed(&error))
    }

    fn tree(svg: &str) -> Result<Tree, ImageError> {
        let mut options = Options { dpi: UNITS, ..Options::default() };
        let fonts = options.fontdb_mut();
        fonts.load_system_fonts();
        let families: Vec<String> =
            fonts.faces().flat_map(|face| face.families.iter().map(|(family, _)| family.clone())).collect();
        let preferred = FONTS.iter().find(|font| families.iter().any(|family| family == *font));
        let family = preferred.map(|font| (*font).into()).or_else(|| families.into_iter().next());
        let family: String = family.ok_or(ImageError::NoFont)?;
        fonts.set_sans_serif_family(family.clone());
        options.font_family = family;
        Tree::from_str(svg, &options).map_err(|error| failed(&error))
    }

    fn failed(error: &dyn std::fmt::Display) -> ImageError {
        ImageError::Failed(error.to_string())
    }
}
