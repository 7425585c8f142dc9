//! The manual's pages, in the format of man(7).
//!
//! In: the command line's definition. Out: `sweetspot.1` and a page for each verb that people type.

use std::io;
use std::path::Path;

use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

/// Writes them into a folder, which is made.
///
/// # Errors
/// The folder cannot be made or written into.
pub fn write(whole: Command, folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let mut whole = whole.disable_help_subcommand(true);
    whole.build();
    write_pages(&whole, folder)
}

fn write_pages(command: &Command, folder: &Path) -> io::Result<()> {
    for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set()) {
        write_pages(verb, folder)?;
    }
    let (name, page) = page(command)?;
    // Unlike a report, it is for every user to read.
    std::fs::write(folder.join(name), page)
}

/// A page's name and its text. Examples keep their lines, which `Man` would fill.
fn page(command: &Command) -> io::Result<(String, Vec<u8>)> {
    let examples = command.get_after_help().map(ToString::to_string);
    let man = Man::new(command.clone().after_help(None::<&str>));
    let mut page = Vec::new();
    man.render(&mut page)?;
    if let Some(examples) = examples {
        section(&examples).to_writer(&mut page)?;
    }
    Ok((man.get_filename(), page))
}

/// What stands below a verb's options in its help.
fn section(text: &str) -> Roff {
    let (heading, text) = match text.strip_prefix("Examples:\n") {
        Some(examples) => ("EXAMPLES", examples),
        None => ("NOTES", text),
    };
    let mut roff = Roff::new();
    roff.control("SH", [heading]).control("nf", []);
    for line in text.lines() {
        roff.text([roman(line)]);
    }
    roff.control("fi", []);
    roff
}
