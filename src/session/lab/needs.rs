//! Is everything here that an experiment needs?
//!
//! In: what it needs. Out: whether it is here. Looks at folders and asks Ruby for its gems.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::error::LabError;
use crate::lab::{Need, Part};

/// Prints which of the gems that it is given are not here: each as it was given, a tab, and the
/// version that is here in place of the one that is wanted, if there is one. Ruby itself is the gem
/// `ruby`.
const UNMET_GEMS: &str = r##"ARGV.each do |gem|
  name, versions = gem.split(" ", 2)
  wanted = Gem::Requirement.new(versions.to_s.split(","))
  here = Gem::Specification.find_all_by_name(name).map(&:version)
  here = [Gem.ruby_version] if name == "ruby"
  puts "#{gem}\t#{here.max}" unless here.any? { |version| wanted.satisfied_by?(version) }
rescue ArgumentError => error
  puts "#{gem}\t#{error.message}"
end"##;

/// Looks for everything on this machine.
///
/// # Errors
/// Something is not installed, or not in the version that is needed.
pub fn check(needs: &[Need], program_folders: &[PathBuf]) -> Result<(), LabError> {
    let is_there = |program: &str| program_folders.iter().any(|it| it.join(program).is_file());
    let gems = needs.iter().filter_map(|need| match &need.part {
        Part::Gem(gem) => Some(gem.as_str()),
        Part::Program(_) => None,
    });
    let unmet = unmet_gems(&gems.collect::<Vec<_>>());
    let (mut packages, mut others) = (Vec::new(), Vec::new());
    for need in needs {
        match &need.part {
            Part::Program(name) if is_there(name) => {}
            Part::Program(_) => packages.push(need.package.clone()),
            Part::Gem(gem) => match unmet.get(gem) {
                None => {}
                Some(here) if here.is_empty() => packages.push(need.package.clone()),
                Some(here) => others.push(format!("{gem} (here: {here})")),
            },
        }
    }
    // First: a system with other versions has no packages that would help.
    if !others.is_empty() {
        return Err(LabError::OtherVersions { others });
    }
    if !packages.is_empty() {
        return Err(LabError::Lacks { packages });
    }
    Ok(())
}

/// Gems that are not here, and what is here in their place; all of them where there is no Ruby.
fn unmet_gems(gems: &[&str]) -> BTreeMap<String, String> {
    if gems.is_empty() {
        return BTreeMap::new();
    }
    let mut ruby = Command::new("ruby");
    ruby.args(["-e", UNMET_GEMS, "--"]).args(gems).stdin(Stdio::null()).stderr(Stdio::null());
    let owned = |(gem, here): (&str, &str)| (gem.to_string(), here.to_string());
    match ruby.output() {
        Ok(output) => {
            let lines = String::from_utf8_lossy(&output.stdout);
            lines.lines().filter_map(|line| line.split_once('\t').map(owned)).collect()
        }
        Err(_) => gems.iter().map(|&gem| owned((gem, ""))).collect(),
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
        let refused = check(&needs, &[folder.path().to_path_buf()]);
        let Err(LabError::Lacks { packages }) = &refused else { panic!("{refused:?}") };
        assert_eq!(*packages, ["memcached", "ruby-no-such-gem"]);
    }

    #[test]
    fn a_version_that_will_not_do_is_named_beside_the_one_that_is_here() {
        let of = |gem: &str| {
            let needs = [need(Part::Gem(gem.into()), "p"), need(Part::Gem("none".into()), "p")];
            check(&needs, &[]).unwrap_err()
        };
        let will_do = of("ruby >= 2.6, < 99");
        assert!(matches!(will_do, LabError::Lacks { .. }), "{will_do}");
        for gem in ["ruby < 2.6", "ruby ~> six"] {
            let refused = of(gem);
            let LabError::OtherVersions { others } = &refused else { panic!("{refused}") };
            let [other] = &others[..] else { panic!("{refused}") };
            assert!(other.starts_with(&format!("{gem} (here: ")), "{other}");
        }
    }
}
