//! How large the page of a long session is, how long it takes to write, and (with Node.js and
//! Chromium) how soon it is there in a browser and how smoothly it scrolls. Run by `make
//! bench-page`.
//!
//! `TRIALS` and `SECONDS` are the session's size (500 and 120), `TIMES` how often each is measured.

#[path = "../tests/it/sessions/long.rs"]
mod long;
#[path = "../tests/it/sessions/sample.rs"]
pub mod sample;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use sweetspot::stats::median;
use sweetspot::store::{SessionHead, Store};

use crate::common::bars::{self, Bar, Limit};
use crate::common::options::number;
use crate::common::{Result, machine, program};

pub fn run() -> Result<()> {
    let (trials, seconds) = (number("TRIALS", 500)?, number("SECONDS", 120)?);
    let times: usize = number("TIMES", 5)?;
    println!("{}", machine::line());
    let folder = Path::new("target/bench-page");
    fs::create_dir_all(folder)?;
    let store = stored(folder, trials, seconds)?;
    let page = folder.join("long.html");
    let mut took_s = Vec::new();
    for _ in 0..times {
        let began = Instant::now();
        report(&store, &page)?;
        took_s.push(began.elapsed().as_secs_f64());
    }
    let megabytes = fs::metadata(&page)?.len() as f64 / 1e6;
    println!("\n{trials} trials of {seconds} s, the median of {times}:\n");
    println!("| figure | measured | bar |\n|---|---|---|");
    println!("| `report -o html` | {:.2} s | |", median(&took_s).unwrap_or(f64::NAN));
    let opened = in_browser(&page, times);
    bars::hold(&[Bar::new("the file, MB", Some(megabytes), Limit::AtMost(6.0))])?;
    opened
}

fn stored(folder: &Path, trials: usize, seconds: usize) -> Result<PathBuf> {
    let path = folder.join("long.db");
    for end in ["", "-wal", "-shm"] {
        let file = folder.join(format!("long.db{end}"));
        if file.exists() {
            fs::remove_file(file)?;
        }
    }
    let mut store = Store::open(&path)?;
    let head = SessionHead {
        fingerprint: "long".to_string(),
        app: "/srv/shop".to_string(),
        server: "puma 5.6.5".to_string(),
    };
    let id = store.begin(&head, "2026-11-20T18:46:44Z")?;
    for event in long::events(trials, seconds) {
        store.append(id, &event)?;
    }
    Ok(path)
}

fn report(store: &Path, page: &Path) -> Result<()> {
    let output = format!("html={}", page.display());
    let status = Command::new(program())
        .args(["report", "last", "--quiet", "-o", &output, "--store"])
        .arg(store)
        .status()?;
    if status.success() { Ok(()) } else { Err("the report could not be written".into()) }
}

/// Prints its own rows of the table.
fn in_browser(page: &Path, times: usize) -> Result<()> {
    let status = Command::new("node")
        .args(["ui/bench/open.mjs", &page.display().to_string(), &times.to_string()])
        .status()?;
    if status.success() {
        Ok(())
    } else {
        Err("the browser did not measure, or the page was not there within 1 s".into())
    }
}
