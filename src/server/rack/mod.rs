//! What Ruby's app servers have in common: Bundler, the production environment, Ruby's own text.
//!
//! In: an app. Out: parts of recipes. Only computes.

pub mod failure;
pub mod probe;

use std::collections::BTreeMap;
use std::path::Path;

use super::command_line::{port, text};
use super::{App, CommandLine, Framework, Launch, ReadyLine};
use crate::terms::{Configuration, Cores, Remark, SettingsRemark, Workers};

/// The apps that Ruby's servers run.
pub const APPS: &[Framework] = &[Framework::Rails, Framework::Sinatra, Framework::Rack];

/// The beginning of a command line: `bundle exec` for an app with a Gemfile.
pub fn through_bundler(app: &App) -> Vec<String> {
    if app.is_bundled { vec!["bundle".into(), "exec".into()] } else { Vec::new() }
}

/// A command that runs `script`, behind what all inspections have in common, with the server's own
/// configuration file as its argument.
pub fn inspect(app: &App, script: &str) -> CommandLine {
    let mut arguments = through_bundler(app);
    // Ruby joins them, a line each.
    let scripts = ["ruby", "-e", include_str!("inspect.rb"), "-e", script, "--"];
    arguments.extend(scripts.map(String::from));
    arguments.extend(app.server_config.as_deref().map(text));
    CommandLine::new(arguments, &app.folder)
}

/// Log lines of workers that cannot load the app, which are started again without end; once may be
/// an accident, so one more failure than there are workers is needed.
pub fn failing_workers(texts: &[&str], configuration: Configuration) -> ReadyLine {
    ReadyLine::of(texts, configuration.workers.get().saturating_add(1))
}

/// Lines for a configuration file that keep the ratio of workers to cores elsewhere; `directive` is
/// the server's word for the number of workers.
pub fn same_ratio(directive: &str, workers: Workers, cores: Cores) -> [String; 4] {
    [
        String::new(),
        format!("# The same ratio on a machine of another size (this one has {cores} cores):"),
        "#   require \"etc\"".into(),
        format!(
            "#   {directive} [({workers} * Etc.nprocessors / {:?}).round, 1].max",
            // Always with a point: Ruby would round a whole number down.
            cores.get()
        ),
    ]
}

/// A line of a configuration file that sets what has this name to a value.
pub fn directive(name: &str, value: &str) -> String {
    format!("{name} {value}")
}

/// The variables that name the environment; the first of them is Rack's own.
pub const ENVIRONMENT: [&str; 3] = ["RACK_ENV", "RAILS_ENV", "APP_ENV"];

/// The name of the environment that the app runs in: production, unless the user says otherwise.
pub fn environment(app: &App) -> &str {
    named(&app.env)
}

fn named(own: &BTreeMap<String, String>) -> &str {
    let own = ENVIRONMENT.iter().find_map(|name| own.get(*name));
    own.map_or("production", String::as_str)
}

/// Each of the variables that name it as the user has it, or else as the user has another of them.
pub fn environments(own: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let usual = named(own);
    let of = |name: &str| own.get(name).map_or(usual, String::as_str);
    ENVIRONMENT.map(|name| (name.to_string(), of(name).to_string())).into()
}

/// What is to be said where the app's own settings were read for another environment than it is
/// measured in. `setting`: what they say; `None`: the number of workers alone is meant.
pub fn other_environment(
    app: &App,
    read_for: &str,
    setting: Option<Configuration>,
) -> Option<Remark> {
    let measured = environment(app);
    (read_for != measured).then(|| {
        let (environment, measured) = (read_for.to_string(), Some(measured.to_string()));
        SettingsRemark::OtherEnvironment { environment, setting, measured }.into()
    })
}

/// The environment of an app, in production unless the user says otherwise. Ours writes nothing
/// into its folder; what Bundler makes of the lock file is what the user's own start makes of it: a
/// frozen one would refuse what that accepts (Bundler 4: a lock file whose checksums are empty).
pub fn production(Launch { app, listen, scratch, .. }: Launch<'_>) -> BTreeMap<String, String> {
    let mut env = environments(&app.env);
    let mut set = |name: &str, value: String| {
        env.insert(name.to_string(), value);
    };
    set("PORT", port(listen).to_string());
    if app.framework == Framework::Rails {
        set("RAILS_LOG_TO_STDOUT", "1".into());
        // Its cache would otherwise be written below the app's own tmp/.
        set("BOOTSNAP_CACHE_DIR", text(&scratch.join("bootsnap")));
    }
    env
}

/// A path as it stands between double quotes in Ruby, in ASCII: files of settings are read in the
/// locale's encoding, which may know nothing else.
pub fn quoted(path: &Path) -> String {
    let written = |c: char| match c {
        '\\' | '"' | '#' => format!("\\{c}"),
        _ if c.is_ascii() => c.to_string(),
        _ => c.escape_unicode().to_string(),
    };
    text(path).chars().map(written).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::Adapter;
    use crate::server::puma::Puma;
    use crate::terms::SettingsError;

    #[test]
    fn a_path_is_read_by_ruby_as_it_is_in_every_locale() {
        let folder = tempfile::tempdir().unwrap();
        let (settings, path) = (folder.path().join("overlay.rb"), "/srv/Läden/ア\"b\\#{c}");
        let text = format!("print \"{}\"\n", quoted(Path::new(path)));
        std::fs::write(&settings, text).unwrap();
        // As servers load them.
        let load = "instance_eval(File.read(ARGV[0]), ARGV[0])";
        let mut ruby = std::process::Command::new("ruby");
        let ruby = ruby.args(["-e", load]).arg(&settings).env("LC_ALL", "C");
        let printed = String::from_utf8(ruby.output().unwrap().stdout).unwrap();
        assert_eq!(printed, path);
    }

    #[test]
    fn settings_that_abort_have_failed_with_their_message_and_line() {
        let folder = tempfile::tempdir().unwrap();
        let settings = "\nabort \"DATABASE_URL is missing\"\n";
        std::fs::write(folder.path().join("puma.rb"), settings).unwrap();
        let app = App {
            server_config: Some("puma.rb".into()),
            ..App::new(folder.path(), Framework::Rack, "config.ru")
        };
        // As Puma loads them.
        let load = "print_inspection_of(\"puma\") { instance_eval(File.read(ARGV[0]), ARGV[0]) }";
        let command = inspect(&app, load);
        let mut process = std::process::Command::new(&command.arguments[0]);
        process.args(&command.arguments[1..]).current_dir(&command.folder);
        let printed = String::from_utf8(process.output().unwrap().stdout).unwrap();
        let error = Puma.read_inspection(&app, &printed).unwrap_err();
        let is_told = matches!(&error.why, SettingsError::Failed { error, at: Some(at) }
            if error == "SystemExit: DATABASE_URL is missing" && at.starts_with("puma.rb:2:"));
        assert!(is_told, "{error:?}");
    }
}
