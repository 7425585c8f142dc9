//! The gem: packed with the program, installed by RubyGems, and used in a Rails app.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::process::{Ended, ended, in_shell, project, write_files};
use crate::rails;

const PLATFORM: &str = if cfg!(target_arch = "aarch64") { "aarch64-linux" } else { "x86_64-linux" };

/// Packs a gem as `gem/package.rake` does, into a folder; its path.
fn packed(folder: &Path, task: &str) -> PathBuf {
    let mut rake = Command::new("rake");
    rake.args(["--silent", "--rakefile", "gem/package.rake", task]).current_dir(project());
    rake.env("FOLDER", folder).env("PROGRAM", env!("CARGO_BIN_EXE_sweetspot"));
    ended(rake.env("PLATFORM", PLATFORM).env("THIRD_PARTY", "LICENSE-MIT")).assert_code(0);
    let gems = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut gems: Vec<PathBuf> =
        gems.filter(|it| it.extension().is_some_and(|e| e == "gem")).collect();
    assert_eq!(gems.len(), 1, "{gems:?}");
    gems.remove(0)
}

/// What a program of this Ruby's says that finds gems in `home`.
fn with_gems(home: &Path, program: &str, arguments: &[&str]) -> Ended {
    let mut command = Command::new(program);
    command.args(arguments).env("GEM_HOME", home).env("GEM_PATH", home).env("HOME", home);
    ended(command.env_remove("SWEETSPOT_EXECUTABLE"))
}

fn install(home: &Path, gem: &Path) {
    let gem = gem.to_str().unwrap();
    let arguments = ["install", "--local", "--force", "--no-document", gem];
    with_gems(home, "gem", &arguments).assert_code(0);
}

/// Bundler in an app's folder, with nothing inherited that would lead it elsewhere.
fn bundle(app: &Path, home: &Path) -> Command {
    let mut command = Command::new("bundle");
    command.current_dir(app).env("HOME", home).env("LC_ALL", "C.UTF-8").env("SWEETSPOT_LOCK", "");
    for name in ["RAILS_ENV", "RACK_ENV", "BUNDLE_GEMFILE", "GEM_HOME", "SECRET_KEY_BASE"] {
        command.env_remove(name);
    }
    command
}

/// The tests' Rails app with the gem in its Gemfile, and a folder for gems beside this machine's.
struct Bundled {
    /// `app/` and `gems/`.
    folder: TempDir,
}

impl Bundled {
    /// As docs/start.md says: gems' files are installed, and the bundle takes what is installed.
    /// Its lock is for several platforms, as newer Bundlers make it.
    fn with(gems: &[PathBuf]) -> Self {
        let bundled = Self { folder: tempfile::tempdir().unwrap() };
        let app = bundled.folder.path().join("app");
        rails::copy_app(&app);
        let gemfile = fs::read_to_string(app.join("Gemfile")).unwrap();
        let ours = "gem \"sweetspot\", group: :development\n";
        let lock = format!("PLATFORMS\n  arm64-darwin\n  {PLATFORM}\n\nDEPENDENCIES\n");
        write_files(&app, &[("Gemfile", &(gemfile + ours)), ("Gemfile.lock", &lock)]);
        fs::create_dir(bundled.gems()).unwrap();
        for gem in gems {
            install(&bundled.gems(), gem);
        }
        bundled.bundle(&["install", "--local"]).assert_code(0);
        bundled
    }

    fn gems(&self) -> PathBuf {
        self.folder.path().join("gems")
    }

    fn bundle(&self, arguments: &[&str]) -> Ended {
        let mut command = bundle(&self.folder.path().join("app"), self.folder.path());
        command.args(arguments).env("GEM_HOME", self.gems());
        ended(command.env_remove("SWEETSPOT_EXECUTABLE"))
    }
}

#[test]
fn a_platforms_gem_runs_its_program_and_the_plain_one_says_how_to_have_it() {
    let (home, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    install(home.path(), &packed(folder.path(), "plain"));
    let program = home.path().join("bin/sweetspot");
    let run = |arguments: &[&str]| with_gems(home.path(), program.to_str().unwrap(), arguments);
    let without = run(&["--version"]);
    without.assert_code(1);
    let which = format!("the gem without the program for {PLATFORM}:");
    without.assert_says(&[&which, "--add-platform"]);

    let folder = tempfile::tempdir().unwrap();
    let gem = packed(folder.path(), "package");
    let name = format!("sweetspot-{}-{PLATFORM}.gem", env!("CARGO_PKG_VERSION"));
    assert_eq!(gem.file_name().unwrap().to_str(), Some(name.as_str()));
    install(home.path(), &gem);
    let installed = home.path().join("gems").join(gem.file_stem().unwrap());
    assert!(installed.join("THIRD-PARTY").is_file(), "{installed:?}");
    let version = run(&["--version"]);
    version.assert_code(0);
    assert_eq!(version.stdout, format!("sweetspot {}\n", env!("CARGO_PKG_VERSION")));
    run(&["tune", "--wrokers", "2"]).assert_code(2).assert_says(&["--workers"]);
}

#[test]
fn a_gem_in_a_folder_with_an_odd_name_runs_its_program_without_arguments_too() {
    let folder = tempfile::tempdir().unwrap();
    write_files(folder.path(), &[("program", "#!/bin/sh\necho \"$# arguments\"\n")]);
    let make = "at='of [ours]' && mkdir -p \"$at/exe/$1\" \"$at/lib/sweetspot\" && \
        install -m 755 program \"$at/exe/$1/sweetspot\" && \
        cp \"$PROJECT/gem/exe/sweetspot\" \"$at/exe/\" && \
        cp \"$PROJECT\"/gem/lib/sweetspot/*.rb \"$at/lib/sweetspot/\"";
    in_shell(folder.path(), make, &[PLATFORM]);
    let mut ruby = Command::new("ruby");
    ruby.arg("of [ours]/exe/sweetspot").current_dir(folder.path());
    let run = ended(ruby.env_remove("SWEETSPOT_EXECUTABLE"));
    run.assert_code(0);
    assert_eq!(run.stdout, "0 arguments\n");
}

#[test]
fn which_gem_a_machine_needs_is_said_by_the_machines_own_words() {
    let program = "require 'sweetspot/executable'
        # As JRuby has it on each machine.
        Gem::Platform.define_singleton_method(:local) { Gem::Platform.new('universal-java-17') }
        RbConfig::CONFIG.update('host_cpu' => ARGV[0], 'host_os' => ARGV[1])
        puts Sweetspot::Executable.missing";
    for (cpu, os, said) in [
        ("x86_64", "linux", "without the program for x86_64-linux:"),
        ("x86_64", "linux-gnu", "without the program for x86_64-linux:"),
        ("aarch64", "linux-musl", "without the program for aarch64-linux-musl:"),
        ("arm64", "darwin23", "and this is arm64-darwin23: run it in a container"),
    ] {
        let mut ruby = Command::new("ruby");
        ruby.arg("-I").arg(project().join("gem/lib")).args(["-e", program, cpu, os]);
        ended(&mut ruby).assert_code(0).assert_says(&[said]);
    }
}

#[test]
fn a_rake_task_of_any_rack_app_waits_for_what_ctrl_c_makes_the_program_say() {
    let folder = tempfile::tempdir().unwrap();
    // Ctrl-C goes to all that run in a terminal.
    let program = "#!/bin/sh\ntrap 'echo the answer so far; exit 3' INT\nkill -INT 0\n";
    let files = [("Rakefile", "load \"sweetspot/tasks.rake\"\n"), ("program", program)];
    write_files(folder.path(), &files);
    in_shell(folder.path(), "install -m 755 program installed", &[]);
    let mut rake = Command::new("rake");
    rake.arg("-I").arg(project().join("gem/lib")).arg("sweetspot:tune");
    rake.current_dir(folder.path()).env("SWEETSPOT_EXECUTABLE", "./installed").process_group(0);
    let run = ended(&mut rake);
    run.assert_code(3).assert_says(&["the answer so far"]);
    assert!(!run.stderr.contains("rake aborted!"), "{}", run.stderr);
}

#[test]
fn a_rails_app_has_a_generator_and_tasks_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let app = folder.path().join("shop");
    let mut new = Command::new("rails");
    new.args(["new", "shop", "--api", "--minimal", "--skip-listen", "--skip-git", "--skip-bundle"]);
    new.env("HOME", folder.path()).env("LC_ALL", "C.UTF-8");
    ended(new.current_dir(folder.path())).assert_code(0);
    // Tools for developers are not among Debian's packages of Rails.
    let is_served = |line: &&str| {
        let gem = line.trim().strip_prefix("gem ").map(|rest| rest.trim_start_matches(['"', '\'']));
        gem.is_none_or(|gem| ["rails", "sqlite3", "puma"].iter().any(|it| gem.starts_with(it)))
    };
    let gemfile = fs::read_to_string(app.join("Gemfile")).unwrap();
    let lines = gemfile.lines().filter(is_served).map(|line| format!("{line}\n"));
    let ours = format!("gem \"sweetspot\", path: {:?}\n", project().join("gem"));
    write_files(&app, &[("Gemfile", &(lines.collect::<String>() + &ours))]);
    let bundle = |arguments: &[&str]| {
        let mut command = bundle(&app, folder.path());
        command.env("SWEETSPOT_EXECUTABLE", env!("CARGO_BIN_EXE_sweetspot"));
        ended(command.args(arguments))
    };
    bundle(&["lock", "--local"]).assert_code(0);
    bundle(&["exec", "rails", "generate", "sweetspot:install"]).assert_code(0);
    let plan = fs::read_to_string(app.join("sweetspot.toml")).unwrap();
    for line in ["# server = \"puma\"", "# workers = \"1..", "# slo = ", "# [[target]]"] {
        assert!(plan.contains(line), "{line} is missing in:\n{plan}");
    }
    // Without its '#' each line is one that the program takes.
    let taken = |line: &str| match line.strip_prefix("# ") {
        Some(rest) if rest.contains(" = ") || rest.starts_with("[[") => format!("{rest}\n"),
        _ => String::new(),
    };
    let all: String = plan.lines().map(taken).collect();
    fs::write(app.join("sweetspot.toml"), all).unwrap();
    let tasks = bundle(&["exec", "rails", "sweetspot:plan", "ARGS=--budget 3m"]);
    tasks.assert_code(0).assert_says(&["3m", "command line", "plan file, line"]);
    let ours = fs::read_to_string(app.join("sweetspot.toml")).unwrap();
    let again = bundle(&["exec", "rails", "generate", "sweetspot:install"]);
    again.assert_code(0).assert_says(&["sweetspot.toml is there already and stays as it is"]);
    assert_eq!(fs::read_to_string(app.join("sweetspot.toml")).unwrap(), ours);
}

#[test]
fn a_bundle_with_a_platforms_gem_runs_its_program_and_its_tasks() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let plain = packed(other.path(), "plain");
    let app = Bundled::with(&[plain, packed(folder.path(), "package")]);
    let version = app.bundle(&["exec", "sweetspot", "--version"]);
    version.assert_code(0);
    assert_eq!(version.stdout, format!("sweetspot {}\n", env!("CARGO_PKG_VERSION")));
    let tasks = app.bundle(&["exec", "rake", "-T"]);
    tasks.assert_code(0);
    tasks.assert_says(&["rake sweetspot:plan", "rake sweetspot:tune", "rake sweetspot:verify"]);

    let rake = |task: &str, arguments: &str| {
        app.bundle(&["exec", "rake", task, &format!("ARGS={arguments}")])
    };
    let planned = rake("sweetspot:tune", "--dry-run --budget 3m --target 'GET /items'");
    planned.assert_code(0);
    planned.assert_says(&["puma (found in the app)", "GET /items (command line)", "3m (command"]);
    rake("sweetspot:tune", "--wrokers 2").assert_code(2).assert_says(&["--workers"]);
    let unmatched = rake("sweetspot:tune", "--target 'GET /items");
    unmatched.assert_code(1).assert_says(&["sweetspot: ARGS: Unmatched quote"]);
    assert!(!unmatched.stderr.contains("rake aborted!"), "{}", unmatched.stderr);
    let without_session = rake("sweetspot:verify", "");
    without_session.assert_code(2);
    without_session.assert_says(&["could not read the store", "'sweetspot tune' makes it"]);
}

#[test]
fn a_bundle_with_the_plain_gem_is_told_what_to_install_and_then_runs_the_program() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let app = Bundled::with(&[packed(folder.path(), "plain")]);
    let gem = packed(other.path(), "package");
    let way = format!("gem install --local ./{}", gem.file_name().unwrap().display());
    let elsewhere = format!("bundle lock --add-platform {PLATFORM} && bundle install");
    for arguments in [["exec", "sweetspot", "--version"], ["exec", "rake", "sweetspot:plan"]] {
        let without = app.bundle(&arguments);
        without.assert_code(1).assert_says(&[&way, &elsewhere]);
        assert!(!without.stderr.contains("rake aborted!"), "{}", without.stderr);
    }
    install(&app.gems(), &gem);
    app.bundle(&["exec", "sweetspot", "--version"]).assert_code(0);
}
