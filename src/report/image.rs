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
    /// The file's name does not tell.
    #[error("give a name that ends with .svg, .pdf or .png")]
    Unknown,
    /// The program has SVG alone.
    #[error("this dagsplit is built without PDF and PNG (the feature `images`); give a name that ends with .svg")]
    NotBuilt,
    /// There is nothing to write text with.
    #[error(
        "this system has no font to write text with; install one (such as DejaVu), or give a name that ends with .svg"
    )]
    NoFont,
    /// Pixels beyond what memory is for.
    #[error(
        "the picture has {width} × {height} pixels, more than 100 million; give a name that ends with .svg or .pdf"
    )]
    TooLarge {
        /// How many pixels wide it is.
        width: u32,
        /// How many pixels high it is.
        height: u32,
    },
    /// The picture is none.
    #[error("the picture cannot be made: {0}")]
    Failed(String),
}

impl Format {
    /// That of a file, by the end of its name.
    ///
    /// # Errors
    /// It names none of them.
    pub fn of(path: &Path) -> Result<Self, ImageError> {
        let end = path.extension().map(|end| end.to_string_lossy().to_lowercase());
        match end.as_deref() {
            Some("svg") => Ok(Self::Svg),
            Some("pdf") => Ok(Self::Pdf),
            Some("png") => Ok(Self::Png),
            _ => Err(ImageError::Unknown),
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
    /// The most of them in a picture, which take four bytes each.
    const MOST_PIXELS: u64 = 100_000_000;
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
        let (width, height) = (pixels(size.width()), pixels(size.height()));
        if u64::from(width) * u64::from(height) > MOST_PIXELS {
            return Err(ImageError::TooLarge { width, height });
        }
        let map = Pixmap::new(width, height);
        let mut map = map.ok_or_else(|| ImageError::Failed("it has no size".into()))?;
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

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_picture_of_too_many_pixels_is_refused() {
            let picture =
                |side: u32| format!("<svg xmlns='http://www.w3.org/2000/svg' width='{side}' height='{side}'/>");
            // 10 000 pixels a side are the most.
            assert!(png(&picture(32)).is_ok());
            assert!(matches!(png(&picture(3_201)), Err(ImageError::TooLarge { width: 10_004, height: 10_004 })));
            assert!(pdf(&picture(3_201)).is_ok());
        }
    }
}
