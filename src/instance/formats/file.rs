//! Files in and out: guarded reading, atomic writing.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use super::ReadCause;

/// Files above this size are refused before they are read: half a GiB, millions of nodes.
pub const MAX_FILE_BYTES: u64 = 1 << 29;

/// The text of the file at `path`.
pub(crate) fn read_text(path: &Path) -> Result<String, ReadCause> {
    String::from_utf8(read_bytes(path, MAX_FILE_BYTES)?).map_err(|e| ReadCause::NotUtf8(e.utf8_error().valid_up_to()))
}

/// The bytes of the file at `path`, of which there may be `most`.
pub(super) fn read_bytes(path: &Path, most: u64) -> Result<Vec<u8>, ReadCause> {
    let file = File::open(path)?;
    let size = file.metadata()?.len();
    if size > most {
        return Err(ReadCause::TooLarge { size, most });
    }
    // Pipes and devices have no size of their own, so the limit holds while reading, too.
    let mut bytes = Vec::new();
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    match bytes.len() as u64 {
        size if size > most => Err(ReadCause::TooLarge { size, most }),
        _ => Ok(bytes),
    }
}

/// Writes `contents` to `path` so that a reader sees the old file or the new one, never a part.
///
/// The bytes go to a temporary file in the same directory, which then takes the place of `path`. An existing
/// file keeps its permissions, a symbolic link its target; what is no regular file is written directly.
///
/// # Errors
/// What the system reports; `path` is then as it was.
pub fn write_atomically(path: &Path, contents: &[u8]) -> std::io::Result<()> {
    let existing = fs::metadata(path).ok();
    if existing.as_ref().is_some_and(|meta| !meta.is_file()) {
        return fs::OpenOptions::new().write(true).open(path)?.write_all(contents);
    }
    let target = if existing.is_some() { fs::canonicalize(path)? } else { path.to_path_buf() };
    let directory = match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
        _ => PathBuf::from("."),
    };
    let mut temporary = new_file_in(&directory)?;
    if let Some(meta) = existing {
        temporary.as_file().set_permissions(meta.permissions())?;
    }
    temporary.write_all(contents)?;
    temporary.persist(&target).map_err(|e| e.error)?;
    Ok(())
}

/// A temporary file with the permissions that a new file gets, not the private ones of a temporary file.
fn new_file_in(directory: &Path) -> std::io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".dagsplit-");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(directory)
}
