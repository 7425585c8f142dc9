//! What was measured, a line a row, in a file that is appended to: what stands there is not
//! measured again, so that a bench that was cut goes on. The file is CSV where its name says so,
//! and JSON otherwise.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::ops::Deref;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Result;

/// All rows, in the file too.
pub struct Rows<T> {
    path: PathBuf,
    all: Vec<T>,
    /// CSV has one.
    lacks_head: bool,
}

impl<T> Deref for Rows<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.all
    }
}

impl<T: Serialize + DeserializeOwned> Rows<T> {
    /// The rows there; half a row at the end, where a run was cut, is removed.
    ///
    /// # Errors
    /// A line of the file is no row: it would be measured again without a word.
    pub fn open(path: &Path) -> Result<Self> {
        let mut text = fs::read_to_string(path).unwrap_or_default();
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        if whole < text.len() {
            text.truncate(whole);
            fs::write(path, &text)?;
        }
        let is_csv = is_csv(path);
        let wrong = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let all: std::result::Result<Vec<T>, String> = match is_csv {
            true => csv::ReaderBuilder::new()
                .comment(Some(b'#'))
                .from_reader(text.as_bytes())
                .into_deserialize()
                .map(|row| row.map_err(|error| wrong(&error)))
                .collect(),
            false => text
                .lines()
                .map(|line| serde_json::from_str(line).map_err(|error| wrong(&error)))
                .collect(),
        };
        let lacks_head = is_csv && text.lines().all(|line| line.starts_with('#'));
        Ok(Self { path: path.to_path_buf(), all: all?, lacks_head })
    }

    /// The rows there if they are of this build. A file of another build is put aside, so that the
    /// figures of two programs are never mixed.
    ///
    /// # Errors
    /// As [`Rows::open`].
    pub fn of_build(path: &Path, build: &str) -> Result<Self> {
        let opening = format!("# {build}");
        let text = fs::read_to_string(path).unwrap_or_default();
        if text.lines().next() != Some(&opening) {
            if !text.is_empty() {
                put_aside(path)?;
            }
            fs::write(path, opening + "\n")?;
        }
        Self::open(path)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends a row.
    pub fn add(&mut self, row: T) -> Result<()> {
        let line = match is_csv(&self.path) {
            true => {
                let mut writer = csv::WriterBuilder::new();
                let mut writer = writer.has_headers(self.lacks_head).from_writer(Vec::new());
                writer.serialize(&row)?;
                writer.into_inner().map_err(csv::IntoInnerError::into_error)?
            }
            false => (serde_json::to_string(&row)? + "\n").into_bytes(),
        };
        OpenOptions::new().create(true).append(true).open(&self.path)?.write_all(&line)?;
        self.lacks_head = false;
        self.all.push(row);
        Ok(())
    }
}

fn is_csv(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "csv")
}

/// Keeps an older file under the first free name.
fn put_aside(path: &Path) -> io::Result<()> {
    let mut names = (1..u32::MAX).map(|number| path.with_file_name(format!("rows-{number}.csv")));
    let aside = names.find(|name| !name.exists());
    let aside = aside.ok_or_else(|| io::Error::other("no name is left for the older rows"))?;
    eprintln!("bench: the rows there are of another build; they are now in {}", aside.display());
    fs::rename(path, &aside)
}
