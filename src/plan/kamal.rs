//! `--kamal`: an app that Kamal deploys, as an app elsewhere whose commands are Kamal's own.
//!
//! In: the app's folder. Out: commands, and the files that they need. The user's configuration is
//! never changed: Kamal reads one of ours instead, which reads the user's and gives the app the
//! variables that are tried. As of Kamal 2.12.

use std::fs;
use std::path::{Path, PathBuf};

use super::deployment::uncommented;
use super::elsewhere::{Commands, quoted, shell_quoted};
use super::error::Problem;

/// Read by Kamal in place of the user's.
const OVERRIDE: &str = include_str!("kamal/deploy.yml.erb");
/// Gives a shell in the app's container.
const OBSERVE: &str = include_str!("kamal/observe.rb");
/// What the configuration of a destination adds to ours, which has read it itself.
const NOTHING_MORE: &str = "{}\n";

const CONFIG: &str = "config/deploy.yml";
const BINSTUB: &str = "bin/kamal";

/// The role that answers requests, unless the configuration names another.
const ROLE: &str = "web";

/// Who holds Kamal's lock is the name of git's user: so ours is told from anybody else's.
const AS_US: &str = "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=user.name GIT_CONFIG_VALUE_0=sweetspot";

/// An app's configuration of Kamal's.
struct Found {
    /// The app's own files, the destination's last.
    files: Vec<PathBuf>,
    role: String,
    /// What runs Kamal there.
    program: &'static str,
}

/// The commands by which Kamal changes the app of this folder and puts it back, and the files that
/// were read for it. `beside`: where files of ours may be written, once it begins.
///
/// # Errors
/// No configuration of Kamal's is there.
pub fn commands(
    destination: Option<&str>,
    folder: &Path,
    beside: &Path,
) -> Result<Commands, Problem> {
    let found = find(destination, folder)?;
    let ours = beside.join("kamal");
    let mut files = vec![
        (ours.join("deploy.yml"), OVERRIDE.to_string()),
        (ours.join("observe.rb"), OBSERVE.to_string()),
    ];
    let named = destination.iter().map(|name| ours.join(format!("deploy.{name}.yml")));
    files.extend(named.map(|path| (path, NOTHING_MORE.to_string())));
    let Found { files: read, role, program } = found;
    let on: String = destination.iter().map(|name| format!(" --destination {name}")).collect();
    let cd = format!("cd {} || exit; export {AS_US}\n", quoted(folder));
    // One that did not come up leaves the one before it, renamed; and without any, Kamal would boot
    // what git has.
    let version = format!(
        "v=$({program} app version --primary --roles {role} --quiet{on}) \
         || {{ echo \"$v\"; exit 1; }}\n\
         v=${{v%%_replaced_*}}\n\
         [ -n \"$v\" ] || {{ echo \"no container of the app runs\"; exit 1; }}\n"
    );
    let boot = |config: &str| {
        format!("{program} app boot --primary --roles {role}{config}{on} --version \"$v\"")
    };
    // A boot that was cut off leaves the lock.
    let unlock = format!(
        "if {program} lock status{on} 2>/dev/null | grep -q '^Locked by: sweetspot at '; then\n\
         {program} lock release{on}\nfi\n"
    );
    let sources: Vec<String> = read.iter().map(|path| path.display().to_string()).collect();
    let sources = format!("export SWEETSPOT_KAMAL_FILES={}\n", shell_quoted(&sources.join("\n")));
    let config = format!(" --config-file {}", quoted(&files[0].0));
    let place = destination.unwrap_or_default();
    Ok(Commands {
        apply: [cd.clone(), version.clone(), sources, boot(&config)].concat(),
        ready: None,
        check: None,
        observe: Some(format!(
            "{cd}exec ruby {} {role} '{place}' {program} config{on} --version sweetspot",
            quoted(&files[1].0)
        )),
        restore: [cd, unlock, version, boot("")].concat(),
        files,
    })
}

fn find(destination: Option<&str>, folder: &Path) -> Result<Found, Problem> {
    let own = destination.map(|name| format!("config/deploy.{name}.yml"));
    let names = [Some(CONFIG.to_string()), own];
    let files: Vec<PathBuf> = names.into_iter().flatten().map(|it| folder.join(it)).collect();
    let mut role = ROLE.to_string();
    for path in &files {
        let text = fs::read_to_string(path);
        let text = text.map_err(|_| Problem::NoKamal { path: path.clone() })?;
        let named = text.lines().filter_map(|line| line.strip_prefix("primary_role:")).next_back();
        let named = named.and_then(|it| uncommented(it).next());
        let named = named.map(|it| it.trim_matches(['"', '\'']).to_string());
        role = named.filter(|it| is_name(it)).unwrap_or(role);
    }
    let lock = fs::read_to_string(folder.join("Gemfile.lock")).unwrap_or_default();
    let is_kamal = |line: &str| line.split_whitespace().next() == Some("kamal");
    let program = match folder.join(BINSTUB).is_file() {
        true => BINSTUB,
        false if lock.lines().any(is_kamal) => "bundle exec kamal",
        false => "kamal",
    };
    Ok(Found { files, role, program })
}

/// Of a destination.
///
/// # Errors
/// It is none.
pub fn name(text: &str) -> Result<String, Problem> {
    let text = text.trim();
    is_name(text).then(|| text.to_string()).ok_or(Problem::Destination)
}

/// A part of a file's name and of a command.
fn is_name(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    !text.is_empty() && text.chars().all(is_part) && !text.starts_with('-')
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::process::Command;

    use super::*;

    fn commands_of(folder: &Path, destination: Option<&str>) -> Result<Commands, Problem> {
        commands(destination, folder, Path::new("/store dir"))
    }

    #[test]
    fn kamal_reads_a_configuration_of_ours_and_is_put_back_by_the_users() {
        let folder = tempfile::tempdir().unwrap();
        let error = commands_of(folder.path(), None).err().unwrap().to_string();
        assert!(error.contains("config/deploy.yml"), "{error}");
        std::fs::create_dir(folder.path().join("config")).unwrap();
        std::fs::write(folder.path().join("config/deploy.yml"), "service: shop\n").unwrap();
        let at = folder.path().display();
        let made = commands_of(folder.path(), None).unwrap();
        let version = "\
v=$(kamal app version --primary --roles web --quiet) || { echo \"$v\"; exit 1; }
v=${v%%_replaced_*}
[ -n \"$v\" ] || { echo \"no container of the app runs\"; exit 1; }
";
        let cd = format!("cd {at} || exit; export {AS_US}\n");
        assert_eq!(
            made.apply,
            format!(
                "{cd}{version}export SWEETSPOT_KAMAL_FILES={at}/config/deploy.yml\n\
                 kamal app boot --primary --roles web \
                 --config-file '/store dir/kamal/deploy.yml' --version \"$v\""
            )
        );
        let boot = "kamal app boot --primary --roles web --version \"$v\"";
        assert!(made.restore.starts_with(&cd) && made.restore.ends_with(boot));
        assert!(made.restore.contains("kamal lock release\n"), "{}", made.restore);
        assert!(name("a b").is_err());
        let error = commands_of(folder.path(), Some("staging"));
        assert!(error.err().unwrap().to_string().contains("config/deploy.staging.yml"));
        let own = "primary_role: 'app'\n";
        std::fs::write(folder.path().join("config/deploy.staging.yml"), own).unwrap();
        std::fs::create_dir(folder.path().join("bin")).unwrap();
        std::fs::write(folder.path().join("bin/kamal"), "").unwrap();
        let made = commands_of(folder.path(), Some("staging")).unwrap();
        assert!(made.apply.contains("bin/kamal app boot --primary --roles app "));
        assert!(made.restore.contains(" --destination staging --version"));
        assert_eq!(made.files.len(), 3);
    }

    #[test]
    fn the_containers_shell_is_reached_through_what_kamal_goes_through() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("observe.rb"), OBSERVE).unwrap();
        // In place of ssh: prints what it is given.
        symlink("/bin/echo", at("ssh")).unwrap();
        let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
        // As Ruby writes Net::SSH's objects.
        let jump = "  :proxy: !ruby/object:Net::SSH::Proxy::Jump\n    jump_proxies: \
                    root@bastion:2200\n    options: []\n";
        let command = "  :proxy: !ruby/object:Net::SSH::Proxy::Command\n    command_line_template: \
                       aws ssm start-session --target %h\n      --parameters 'portNumber=%p'\n    \
                       command_line:\n    timeout: 60\n";
        let by_command =
            " -o ProxyCommand=aws ssm start-session --target %h --parameters 'portNumber=%p' ";
        for (proxy, expected) in [
            ("", " -p 22 deploy@10.0.0.7 docker exec -i "),
            (jump, " -p 22 -J root@bastion:2200 deploy@10.0.0.7 docker exec -i "),
            (command, by_command),
        ] {
            let config = format!(
                ":primary_host: 10.0.0.7\n:version: abc\n:service_with_version: shop-abc\n\
                 :ssh_options:\n  :user: deploy\n{proxy}  :keepalive: true\n"
            );
            fs::write(at("config"), config).unwrap();
            let mut ruby = Command::new("ruby");
            ruby.arg(at("observe.rb")).args(["web", "", "cat"]).arg(at("config"));
            let ended = ruby.env("PATH", &path).output().unwrap();
            let said = String::from_utf8_lossy(&ended.stdout);
            assert!(said.contains(expected), "{ended:?}");
        }
    }

    #[test]
    fn the_primary_role_is_read_up_to_its_comment() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("config")).unwrap();
        for (line, role) in [
            ("primary_role: app # web", "app"),
            ("primary_role: \"app\"\t# web", "app"),
            ("primary_role: # app", "web"),
            ("# primary_role: app", "web"),
        ] {
            std::fs::write(folder.path().join("config/deploy.yml"), format!("{line}\n")).unwrap();
            let made = commands_of(folder.path(), None).unwrap();
            let expected = format!(" --roles {role} ");
            assert!(made.restore.contains(&expected), "{line}: {}", made.restore);
        }
    }
}
