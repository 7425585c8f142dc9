//! Is everything here that an experiment needs?
//!
//! In: what it needs. Out: what has to be installed. Looks at folders and asks Ruby for its gems.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::lab::{Need, Part};

/// Prints which of the gems that it is given are not there.
const MISSING_GEMS: &str = "ARGV.each do |name|
  Gem::Specification.find_by_name(name)
rescue LoadError
  puts name
end";

/// Debian's packages of what is not here, in the order of the needs.
pub fn missing(needs: &[Need], program_folders: &[PathBuf]) -> Vec<String> {
    let is_there = |program: &str| program_folders.iter().any(|it| it.join(program).is_file());
    let gems = needs.iter().filter_map(|need| match &need.part {
        Part::Gem(name) => Some(name.as_str()),
        Part::Program(_) => None,
    });
    let gems = missing_gems(&gems.collect::<Vec<_>>());
    let is_missing = |need: &&Need| match &need.part {
        Part::Program(name) => !is_there(name),
        Part::Gem(name) => gems.contains(name),
    };
    needs.iter().filter(is_missing).map(|need| need.package.clone()).collect()
}

/// All of them where there is no Ruby.
fn missing_gems(names: &[&str]) -> Vec<String> {
    if names.is_empty() {
        return Vec::new();
    }
    let mut ruby = Command::new("ruby");
    ruby.args(["-e", MISSING_GEMS, "--"]).args(names).stdin(Stdio::null()).stderr(Stdio::null());
    match ruby.output() {
        Ok(output) => String::from_utf8_lossy(&output.stdout).lines().map(str::to_string).collect(),
        Err(_) => names.iter().map(ToString::to_string).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn need(part: Part, package: &str) -> Need {
        Need { part, package: package.into() }
    }

    #[test]
    fn what_is_not_here_is_named_by_its_package() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("mariadbd"), "").unwrap();
        let needs = [
            need(Part::Program("mariadbd".into()), "mariadb-server"),
            need(Part::Program("memcached".into()), "memcached"),
            need(Part::Gem("no_such_gem".into()), "ruby-no-such-gem"),
        ];
        let missing = missing(&needs, &[folder.path().to_path_buf()]);
        assert_eq!(missing, ["memcached", "ruby-no-such-gem"]);
    }
}
