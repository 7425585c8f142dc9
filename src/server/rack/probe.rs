//! What looks into a Ruby app server from inside: a script that Ruby loads before the server.
//!
//! In: a recipe. Out: the same, with the script among its files and the variables that have it
//! loaded. Only computes.

use std::path::{Path, PathBuf};

use crate::server::command_line::text;
use crate::server::{App, Recipe};

/// Ruby reads options from it before those of its command line. Ours come first, and what stands
/// there already is kept.
pub const OPTIONS: &str = "RUBYOPT";

/// Tells the script where to send what it counts; without it the script does nothing.
const SOCKET: &str = "SWEETSPOT_PROBE";

/// Has it tell requests one by one.
const EACH: &str = "SWEETSPOT_PROBE_EACH";

/// The script in the scratch folder.
const SCRIPT: &str = "probe.rb";

/// Where the server's processes send what they count; the folder is there as long as they are.
pub fn socket(scratch: &Path) -> PathBuf {
    scratch.join("probe.sock")
}

/// Has every process of the server's own load the script. Ruby takes its options apart at blanks
/// and knows no quotation marks there: in a folder with a blank in its name nothing is loaded, and
/// whoever listens says that nothing was heard.
pub fn add_to(recipe: &mut Recipe, app: &App, scratch: &Path) {
    let script = text(&scratch.join(SCRIPT));
    if script.contains(char::is_whitespace) {
        return;
    }
    recipe.files.push((SCRIPT.into(), include_str!("probe.rb").into()));
    for command in &mut recipe.commands {
        let before = command.env.get(OPTIONS).or(app.env.get(OPTIONS));
        let options = match before {
            Some(before) => format!("-r{script} {before}"),
            None => format!("-r{script}"),
        };
        command.env.insert(OPTIONS.to_string(), options);
        command.env.insert(SOCKET.to_string(), text(&socket(scratch)));
    }
}

/// The script as a file of its own, for a server that somebody else starts: it tells `socket` each
/// request too, whenever somebody listens there.
pub fn standing_alone(socket: &Path) -> String {
    let quoted = text(socket).replace('\\', "\\\\").replace('\'', "\\'");
    format!(
        "# Loaded by Ruby before the app server: RUBYOPT=-r and the path of this file. It counts \
         while\n# `sweetspot advise` listens.\n\
         ENV[\"{SOCKET}\"] ||= '{quoted}'\nENV[\"{EACH}\"] ||= \"1\"\n\n{}",
        include_str!("probe.rb")
    )
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::server::{Framework, Ports, Proxy, find, recipe};
    use crate::terms::Configuration;

    fn app() -> App {
        App { is_probed: true, ..App::new("/srv/shop", Framework::Rack, "config.ru") }
    }

    fn recipe_for(app: &App, server: &str, scratch: &str) -> Recipe {
        let configuration = Configuration::new(2, 1).unwrap();
        let ports = Ports { front: 4000, behind: 4001 };
        recipe(app, find(server).unwrap(), configuration, ports, Path::new(scratch))
    }

    #[test]
    fn every_process_of_the_server_loads_the_script_and_its_proxy_does_not() {
        for server in ["puma", "unicorn", "thin"] {
            let app = App { proxy: Proxy::Nginx, ..app() };
            let recipe = recipe_for(&app, server, "/tmp/scratch");
            assert!(!recipe.commands.is_empty());
            for command in &recipe.commands {
                assert_eq!(command.env["RUBYOPT"], "-r/tmp/scratch/probe.rb", "{server}");
                assert_eq!(command.env["SWEETSPOT_PROBE"], "/tmp/scratch/probe.sock", "{server}");
            }
            let proxy = recipe.proxy.unwrap();
            assert!(!proxy.env.contains_key("RUBYOPT"), "{server}");
            let script = recipe.files.iter().find(|(name, _)| name == Path::new("probe.rb"));
            assert!(script.unwrap().1.contains("SWEETSPOT_PROBE"), "{server}");
        }
    }

    #[test]
    fn without_the_probe_nothing_of_it_is_there() {
        let app = App { is_probed: false, ..app() };
        let recipe = recipe_for(&app, "puma", "/tmp/scratch");
        assert!(!recipe.commands[0].env.contains_key("RUBYOPT"));
        assert!(!recipe.commands[0].env.contains_key("SWEETSPOT_PROBE"));
        assert!(recipe.files.iter().all(|(name, _)| name != Path::new("probe.rb")));
    }

    #[test]
    fn options_that_the_user_gave_are_kept_behind_ours() {
        let env = [("RUBYOPT".to_string(), "-W0 -Eutf-8".to_string())].into();
        let recipe = recipe_for(&App { env, ..app() }, "unicorn", "/tmp/scratch");
        let options = &recipe.commands[0].env["RUBYOPT"];
        assert_eq!(options, "-r/tmp/scratch/probe.rb -W0 -Eutf-8");
    }

    /// Two rackup files' builders, of which the first is there before the gem's probe is loaded.
    const OUTSIDE_RAILS: &str = "
        module Rack
          class Builder
            def to_app
              ->(_env) { [200, {}, []] }
            end
          end
        end
        module Puma
          module Rack
          end
        end
        require ARGV[0]
        class Puma::Rack::Builder
          def to_app
            ->(_env) { [201, {}, []] }
          end
        end
        apps = [Rack::Builder, Puma::Rack::Builder].map { |it| it.new.to_app }
        print(*apps.map { |app| \"#{app.class} #{app.call({})[0]} \" })";

    #[test]
    fn outside_rails_the_gems_probe_counts_what_rackup_files_run_and_elsewhere_nothing() {
        let probe = concat!(env!("CARGO_MANIFEST_DIR"), "/gem/lib/sweetspot/probe.rb");
        let folder = tempfile::tempdir().unwrap();
        let told = folder.path().join("tmp/sweetspot");
        let ruby = || {
            let mut ruby = Command::new("ruby");
            ruby.args(["-e", OUTSIDE_RAILS, probe]).current_dir(folder.path());
            for name in [OPTIONS, SOCKET, EACH] {
                ruby.env_remove(name);
            }
            let ended = ruby.output().unwrap();
            assert!(ended.stderr.is_empty(), "{ended:?}");
            String::from_utf8(ended.stdout).unwrap()
        };
        assert_eq!((ruby().as_str(), told.exists()), ("Proc 200 Proc 201 ", false));
        std::fs::write(folder.path().join("config.ru"), "").unwrap();
        assert_eq!(ruby(), "SweetspotProbe::App 200 SweetspotProbe::App 201 ");
        assert!(told.is_dir());
    }

    #[test]
    fn a_folder_that_ruby_would_take_apart_is_not_named_to_it() {
        let recipe = recipe_for(&app(), "puma", "/tmp/my scratch");
        assert!(!recipe.commands[0].env.contains_key("RUBYOPT"));
    }
}
