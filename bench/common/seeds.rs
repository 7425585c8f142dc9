//! Seeds that nobody can have tuned on.

use std::process::Command;

use super::Result;
use super::options::number;

/// `SEED`, or what the commit gives.
///
/// # Errors
/// Neither is there.
pub fn first_seed() -> Result<u64> {
    if std::env::var_os("SEED").is_some() {
        let seed = number("SEED", 1)?;
        println!("seeds of development, from {seed}");
        return Ok(seed);
    }
    let commit = git(&["rev-parse", "HEAD"])?;
    let is_dirty = !git(&["status", "--porcelain", "--untracked-files=no"])?.is_empty();
    // Above those that anybody types, and short enough to be typed again.
    let seed = 1_000_000 + hash(&commit) % 1_000_000_000_000;
    let tree = if is_dirty { "with changes that are not in it" } else { "without changes" };
    println!("seeds of evaluation, from {seed}, by commit {commit}, {tree}");
    Ok(seed)
}

fn git(words: &[&str]) -> Result<String> {
    let output = Command::new("git").args(words).output()?;
    if !output.status.success() {
        return Err(
            "seeds of evaluation follow from the commit; outside a checkout, set SEED".into()
        );
    }
    Ok(String::from_utf8(output.stdout)?.trim().to_string())
}

/// FNV-1a of 64 bits (Fowler, Noll and Vo): the same on every machine and by every compiler.
pub fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
