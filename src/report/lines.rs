//! Where the records of many runs are kept while they are made: JSON lines, appended one by one.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Seek, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::formats::{MAX_FILE_BYTES, ReadCause};
use crate::text::{self, escaped_json};

/// How the names of journals in a folder end.
const EXTENSION: &str = "jsonl";

/// A record that is a line.
pub trait Line: Serialize + DeserializeOwned {
    /// The schema that this dagsplit reads.
    const SCHEMA: &'static str;

    /// The schema that it states.
    fn schema(&self) -> &str;
}

/// Why results cannot be kept.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// It cannot be read.
    #[error("{}: it cannot be read: {cause}", text::path(path))]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong.
        cause: ReadCause,
    },
    /// It cannot be written.
    #[error("{}: it cannot be written: {cause}", text::path(path))]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        cause: std::io::Error,
    },
    /// A line is no record.
    #[error("{}, line {line}: it is no such record: {cause}", text::path(path))]
    NoRecord {
        /// The file.
        path: PathBuf,
        /// The line's number, from 1.
        line: usize,
        /// What is wrong with it.
        cause: String,
    },
    /// There are results in the file already.
    #[error("{}: the file exists; resume it with --resume, or give another one", text::path(.0))]
    Exists(PathBuf),
    /// It is not said which of several versions' results count.
    #[error("{}: it has results of one run by several versions; give a file or folder of one version", text::path(.0))]
    Versions(PathBuf),
}

/// Records of one kind, and where new ones are appended.
///
/// A line is written as a whole and handed to the disk before anything else is done. A writer that dies within one
/// leaves a part of it, which counts for nothing and which the next writer removes. Several writers may share a file,
/// which each of them locks; in a folder each has a file of its own, and all files are read.
#[derive(Debug)]
pub struct Lines<R> {
    sink: Option<Sink>,
    records: Vec<R>,
}

#[derive(Debug)]
struct Sink {
    /// The file, or the folder of the file.
    path: PathBuf,
    /// The writer's own file in a folder is made with its first record.
    file: Option<File>,
    is_shared: bool,
}

impl<R> From<Vec<R>> for Lines<R> {
    /// Records that are kept nowhere else.
    fn from(records: Vec<R>) -> Self {
        Self { sink: None, records }
    }
}

impl<R> Default for Lines<R> {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl<R: Line> Lines<R> {
    /// Lines in a new file.
    ///
    /// # Errors
    /// The file exists, or cannot be made.
    pub fn create(path: &Path) -> Result<Self, JournalError> {
        let file = appending().create_new(true).open(path).map_err(|cause| match cause.kind() {
            ErrorKind::AlreadyExists => JournalError::Exists(path.into()),
            _ => JournalError::Write { path: path.into(), cause },
        })?;
        Ok(Self { sink: Some(Sink::shared(path, file)), ..Self::default() })
    }

    /// Goes on with a file, or begins it where there is none.
    ///
    /// # Errors
    /// The file cannot be read or written, or holds something else.
    pub fn resume(path: &Path) -> Result<Self, JournalError> {
        let records = read(path)?;
        let file = appending().create(true).open(path);
        let file = file.map_err(|cause| JournalError::Write { path: path.into(), cause })?;
        Ok(Self { sink: Some(Sink::shared(path, file)), records })
    }

    /// New records alone, in a file of their own in a folder, which is made where there is none.
    ///
    /// # Errors
    /// The folder cannot be made.
    pub fn beside(path: &Path) -> Result<Self, JournalError> {
        fs::create_dir_all(path).map_err(|cause| JournalError::Write { path: path.into(), cause })?;
        let sink = Sink { path: path.into(), file: None, is_shared: false };
        Ok(Self { sink: Some(sink), ..Self::default() })
    }

    /// Goes on with the files in a folder, which is made where there is none, in the order of their names.
    ///
    /// # Errors
    /// The folder or a file cannot be read, or holds something else.
    pub fn folder(path: &Path) -> Result<Self, JournalError> {
        Ok(Self { sink: Self::beside(path)?.sink, records: records(path)? })
    }

    /// The records, in the order of the lines.
    pub fn records(&self) -> &[R] {
        &self.records
    }

    /// Adds a record.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn add(&mut self, record: R) -> Result<(), JournalError> {
        if let Some(sink) = &mut self.sink {
            let line = serde_json::to_string(&record).map(|json| format!("{}\n", escaped_json(&json)));
            let written = line.map_err(io::Error::from).and_then(|line| sink.append::<R>(&line));
            written.map_err(|cause| JournalError::Write { path: sink.path.clone(), cause })?;
        }
        self.records.push(record);
        Ok(())
    }
}

impl Sink {
    fn shared(path: &Path, file: File) -> Self {
        Self { path: path.into(), file: Some(file), is_shared: true }
    }

    fn append<R: Line>(&mut self, line: &str) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(own_file(&self.path)?),
        };
        if self.is_shared {
            file.lock()?;
        }
        let written = end_line::<R>(file).and_then(|()| write(file, line));
        if self.is_shared {
            file.unlock()?;
        }
        written
    }
}

fn appending() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).append(true);
    options
}

/// The journals in a folder.
fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let paths = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    Ok(paths.into_iter().filter(|path| path.extension().is_some_and(|end| end == EXTENSION)).collect())
}

/// A new file in a folder, under a name that nobody else has, with the permissions that a new file gets.
fn own_file(folder: &Path) -> io::Result<File> {
    let suffix = format!(".{EXTENSION}");
    let mut builder = tempfile::Builder::new();
    builder.prefix("runs-").suffix(&suffix).append(true);
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    Ok(builder.tempfile_in(folder)?.keep()?.0)
}

fn write(file: &mut File, line: &str) -> io::Result<()> {
    file.write_all(line.as_bytes())?;
    file.sync_data()
}

/// Ends the last line, which a writer who died or had no space may have left without an end; what is no record goes.
fn end_line<R: Line>(file: &mut File) -> io::Result<()> {
    let length = file.seek(io::SeekFrom::End(0))?;
    let mut last = [b'\n'];
    if length > 0 {
        file.seek(io::SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
    }
    if last == [b'\n'] {
        return Ok(());
    }
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    match record::<R>(&bytes[whole..]) {
        Ok(_) => file.write_all(b"\n"),
        Err(_) => file.set_len(whole as u64),
    }
}

/// The records in a file, or in the files of a folder in the order of their names.
///
/// # Errors
/// Something cannot be read, or holds something else.
pub fn records<R: Line>(path: &Path) -> Result<Vec<R>, JournalError> {
    let unreadable = |cause: io::Error| JournalError::Read { path: path.into(), cause: cause.into() };
    if !path.is_dir() {
        return parse(path, BufReader::new(File::open(path).map_err(unreadable)?));
    }
    let mut files = files(path).map_err(unreadable)?;
    files.sort();
    let of_files: Vec<Vec<R>> = files.iter().map(|file| read(file)).collect::<Result<_, _>>()?;
    Ok(of_files.into_iter().flatten().collect())
}

/// The records in a file; none where there is no file.
fn read<R: Line>(path: &Path) -> Result<Vec<R>, JournalError> {
    match File::open(path) {
        Ok(file) => parse(path, BufReader::new(file)),
        Err(cause) if cause.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(cause) => Err(JournalError::Read { path: path.into(), cause: cause.into() }),
    }
}

/// The records of a journal, whose file is at `path`. A last line without an end counts where it is a record.
/// O(length).
///
/// # Errors
/// A line is no record, is longer than files may be, or cannot be read.
pub fn parse<R: Line>(path: &Path, mut source: impl BufRead) -> Result<Vec<R>, JournalError> {
    let unreadable = |cause| JournalError::Read { path: path.into(), cause };
    let mut records = Vec::new();
    for number in 1.. {
        let mut line = Vec::new();
        let read = source.by_ref().take(MAX_FILE_BYTES + 1).read_until(b'\n', &mut line);
        let size = read.map_err(|cause| unreadable(cause.into()))? as u64;
        if size > MAX_FILE_BYTES {
            return Err(unreadable(ReadCause::TooLarge { size, most: MAX_FILE_BYTES }));
        }
        if size == 0 {
            break;
        }
        match record(&line) {
            Ok(record) => records.push(record),
            Err(_) if line.trim_ascii().is_empty() || !line.ends_with(b"\n") => {}
            Err(cause) => return Err(JournalError::NoRecord { path: path.into(), line: number, cause }),
        }
    }
    Ok(records)
}

fn record<R: Line>(line: &[u8]) -> Result<R, String> {
    let record: R = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    match record.schema() {
        schema if schema == R::SCHEMA => Ok(record),
        other => Err(format!("its schema is `{other}`, and this dagsplit reads `{}`", R::SCHEMA)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::comparison::Record;
    use crate::report::comparison::tests::record;

    #[test]
    fn a_line_that_is_no_record_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results.jsonl");
        let line = serde_json::to_string(&record("dp", None)).unwrap();
        fs::write(&path, format!("{line}\n{}\n", line.replace("compare/1", "compare/9"))).unwrap();
        let error = Lines::<Record>::resume(&path).unwrap_err().to_string();
        assert!(error.contains("line 2") && error.contains("dagsplit-compare/9"), "{error}");
    }

    #[test]
    fn what_a_writer_that_died_has_left_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results.jsonl");
        let line = serde_json::to_string(&record("dp", Some(1.0))).unwrap();
        for rest in 1..=line.len() {
            fs::write(&path, format!("{line}\n{}", &line[..rest])).unwrap();
            let mut journal = Lines::<Record>::resume(&path).unwrap();
            // A whole record lacks its end alone, and stays.
            assert_eq!(journal.records.len(), if rest < line.len() { 1 } else { 2 });
            journal.add(record("dpl", None)).unwrap();
            assert_eq!(Lines::<Record>::resume(&path).unwrap().records, journal.records, "{rest} bytes");
        }
    }

    #[test]
    fn a_line_that_the_disk_had_no_space_for_does_not_spoil_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = Lines::<Record>::folder(folder.path()).unwrap();
        journal.add(record("dp", Some(1.0))).unwrap();
        journal.sink.as_mut().unwrap().file.as_mut().unwrap().write_all(b"{\"schema\": \"dags").unwrap();
        journal.add(record("dpl", None)).unwrap();
        assert_eq!(Lines::<Record>::folder(folder.path()).unwrap().records, journal.records);
    }

    #[test]
    fn writers_of_one_file_and_of_one_folder_lose_nothing() {
        const WRITERS: u64 = 8;
        const RECORDS: u64 = 50;
        let place = tempfile::tempdir().unwrap();
        let (file, folder) = (place.path().join("results.jsonl"), place.path().join("results"));
        let write = |writer: u64| {
            let journals = [Lines::<Record>::resume(&file).unwrap(), Lines::<Record>::folder(&folder).unwrap()];
            for mut journal in journals {
                for run in 0..RECORDS {
                    let mut record = record("dp", Some(1.0));
                    record.trial.seed = writer * RECORDS + run;
                    journal.add(record).unwrap();
                }
            }
        };
        std::thread::scope(|scope| {
            for writer in 0..WRITERS {
                let write = &write;
                scope.spawn(move || write(writer));
            }
        });
        for journal in [Lines::<Record>::resume(&file).unwrap(), Lines::<Record>::folder(&folder).unwrap()] {
            let mut seeds: Vec<u64> = journal.records.iter().map(|record| record.trial.seed).collect();
            seeds.sort_unstable();
            assert_eq!(seeds, (0..WRITERS * RECORDS).collect::<Vec<_>>());
        }
        assert_eq!(fs::read_dir(&folder).unwrap().count() as u64, WRITERS);
    }
}
