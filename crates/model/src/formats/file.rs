//! Files in and out: guarded reading, atomic writing.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::{ReadCause, ReadError};

/// Files above this size are refused before they are read: half a GiB, millions of nodes.
pub const MAX_FILE_BYTES: u64 = 1 << 29;

/// The text of a file of at most [`MAX_FILE_BYTES`]; that of standard input for the name `-`.
///
/// # Errors
/// A [`ReadError`] when the file cannot be read, is larger, or is not UTF-8.
pub fn read_text(path: &Path) -> Result<String, ReadError> {
    text(path).map_err(ReadError::at(path))
}

/// The bytes of a file of at most `most` bytes; those of standard input for the name `-`.
///
/// # Errors
/// A [`ReadError`] when the file cannot be read or is larger.
pub fn read_bytes(path: &Path, most: u64) -> Result<Vec<u8>, ReadError> {
    bytes(path, most).map_err(ReadError::at(path))
}

/// [`read_text`] for a caller who knows the file's name.
///
/// # Errors
/// Why the file could not be read.
pub fn text(path: &Path) -> Result<String, ReadCause> {
    String::from_utf8(bytes(path, MAX_FILE_BYTES)?).map_err(|e| ReadCause::NotUtf8(e.utf8_error().valid_up_to()))
}

/// The file name that stands for standard input.
const STANDARD_INPUT: &str = "-";

/// [`read_bytes`] for a caller who knows the file's name.
///
/// # Errors
/// Why the file could not be read.
pub fn bytes(path: &Path, most: u64) -> Result<Vec<u8>, ReadCause> {
    if path == Path::new(STANDARD_INPUT) {
        return standard_input(most);
    }
    let file = File::open(path)?;
    let size = file.metadata()?.len();
    if size > most {
        return Err(ReadCause::TooLarge { size, most });
    }
    read_at_most(file, most)
}

/// What came on standard input, however often it is asked for.
fn standard_input(most: u64) -> Result<Vec<u8>, ReadCause> {
    static READ: Mutex<Option<Vec<u8>>> = Mutex::new(None);
    let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
    match &*read {
        Some(bytes) => Ok(bytes.clone()),
        None => read_at_most(std::io::stdin().lock(), most).inspect(|bytes| *read = Some(bytes.clone())),
    }
}

/// All that comes from `source`, if that is not too much. Pipes and devices have no size of their own, so the limit holds
/// while reading.
fn read_at_most(source: impl Read, most: u64) -> Result<Vec<u8>, ReadCause> {
    let mut bytes = Vec::new();
    source.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    match bytes.len() as u64 {
        size if size > most => Err(ReadCause::TooLarge { size, most }),
        _ => Ok(bytes),
    }
}

/// Writes `contents` to `path` so that a reader sees the old file or the new one, never a part.
///
/// The bytes go to a temporary file in the same directory, which then takes the place of `path`; both are on the disk,
/// and not on their way there, when this returns. An existing file keeps its permissions, a symbolic link its target;
/// what is no regular file is written directly. Temporary files that programs left there when they were killed go.
///
/// # Errors
/// What the system reports; `path` is then as it was, but where the directory alone could not be written to the disk.
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
    remove_leftovers(&directory);
    let mut temporary = new_file_in(&directory)?;
    if let Some(meta) = existing {
        temporary.as_file().set_permissions(meta.permissions())?;
    }
    temporary.write_all(contents)?;
    temporary.as_file().sync_all()?;
    temporary.persist(&target).map_err(|e| e.error)?;
    sync_directory(&directory)
}

/// What the names of our temporary files begin with, and how many letters and digits follow.
const TEMPORARY: (&str, usize) = (".dagsplit-", 6);

/// Nobody writes a file for so long, or stops for so long while he does: what is older was left behind.
const LEFT: Duration = Duration::from_secs(24 * 60 * 60);

/// A temporary file with the permissions that a new file gets, not the private ones of a temporary file.
fn new_file_in(directory: &Path) -> std::io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(TEMPORARY.0).rand_bytes(TEMPORARY.1);
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(directory)
}

/// Removes our temporary files of old from `directory`. What cannot be looked at or removed stays: that is no reason not
/// to write.
fn remove_leftovers(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let is_old = |meta: &fs::Metadata| {
            let age = meta.modified().ok().and_then(|modified| modified.elapsed().ok());
            meta.is_file() && age.is_some_and(|age| age > LEFT)
        };
        // The entry's own data, not those of what a link leads to.
        if is_temporary(&entry.file_name().to_string_lossy()) && entry.metadata().is_ok_and(|meta| is_old(&meta)) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn is_temporary(name: &str) -> bool {
    let (prefix, letters) = TEMPORARY;
    let rest = name.strip_prefix(prefix);
    rest.is_some_and(|rest| rest.len() == letters && rest.chars().all(|c| c.is_ascii_alphanumeric()))
}

/// Brings the names in `directory` to the disk, where the system lets one ask for that.
#[cfg(unix)]
fn sync_directory(directory: &Path) -> std::io::Result<()> {
    use std::io::ErrorKind;
    // A directory may be open to writing alone, and some file systems know no such call.
    match File::open(directory).and_then(|directory| directory.sync_all()) {
        Err(error) if !matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::InvalidInput) => Err(error),
        _ => Ok(()),
    }
}

#[cfg(not(unix))]
fn sync_directory(_: &Path) -> std::io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn only_our_own_old_files_are_left_behind() {
        let folder = tempfile::tempdir().unwrap();
        let old = SystemTime::now() - 2 * LEFT;
        let aged = |name: &str, modified: SystemTime| {
            let file = File::create(folder.path().join(name)).unwrap();
            file.set_modified(modified).unwrap();
        };
        let kept = [".dagsplit-abc", ".dagsplit-abc-12", ".dagsplit-notes.md", "dagsplit-abc123", ".other-abc123"];
        kept.into_iter().for_each(|name| aged(name, old));
        aged(".dagsplit-abc123", old);
        aged(".dagsplit-abc124", SystemTime::now());
        fs::create_dir(folder.path().join(".dagsplit-folder")).unwrap();
        write_atomically(&folder.path().join("out.json"), b"{}").unwrap();
        let names = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        let mut expected: Vec<&str> =
            kept.into_iter().chain([".dagsplit-abc124", ".dagsplit-folder", "out.json"]).collect();
        expected.sort_unstable();
        assert_eq!(names, expected);
    }
}
