//! `--kamal`: an app that Kamal deploys, as an app elsewhere whose commands are Kamal's own.
//!
//! In: the app's folder. Out: commands, and the files that they need. The user's configuration is
//! never changed: Kamal reads one of ours instead, which reads the user's and gives the app the
//! variables that are tried. As of Kamal 2.0 to 2.12.

use std::fs;
use std::path::{Path, PathBuf};

use super::deployment::{ROLE, primary_role};
use super::elsewhere::{Commands, quoted, shell_quoted};
use super::error::Problem;
use crate::place::remote::ENDS_SESSION;

/// Read by Kamal in place of the user's.
const OVERRIDE: &str = include_str!("kamal/deploy.yml.erb");
/// Gives a shell in the app's container.
const OBSERVE: &str = include_str!("kamal/observe.rb");
/// What the configuration of a destination adds to ours, which has read it itself.
const NOTHING_MORE: &str = "{}\n";

const CONFIG: &str = "config/deploy.yml";
const BINSTUB: &str = "bin/kamal";

/// Who holds Kamal's lock is the name of git's user: so ours is told from anybody else's, and from
/// another session's. It stands beside the store, which one session uses at a time: what puts back
/// after one that was cut off reads it there.
const AS_US: &str = "\
[ -s \"$us\" ] || echo \"sweetspot-$(uname -n)-$$\" >\"$us\"
us=$(cat \"$us\")
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=user.name GIT_CONFIG_VALUE_0=\"$us\"
";

/// Kamal tells all errors by one status, and prints last which they are. These are a setting's: the
/// container does not come up, or docker says no. Others are a lock, a way to the host or a hook.
const OF_SETTING: &str = "''|SSHKit::Command::Failed|SSHKit::Runner::ExecuteError\
|Kamal::Cli::BootError|Kamal::Cli::Healthcheck::Error";
const ITS_ERROR: &str = "sed -n 's/^  [^ ]*ERROR (\\([A-Za-z0-9:]*\\)).*/\\1/p' | tail -n 1";

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
    let cd = format!("cd {} || exit {ENDS_SESSION}\n", quoted(folder));
    let all = format!("{cd}exec 2>&1\n");
    let as_us = format!("us={}\n{AS_US}", quoted(&ours.join("locked-as")));
    // One that did not come up leaves the one before it, renamed; and without any, Kamal would boot
    // what git has. Before 2.9 it names the host too, in a line above.
    let version = format!(
        "ask() {{ {program} app version --primary --roles {role} --quiet{on}; }}\n\
         v=$(ask) || v=$(sleep 2; ask) || {{ echo \"$v\"; exit {ENDS_SESSION}; }}\n\
         v=$(echo \"$v\" | tail -n 1)\n\
         v=${{v%%_replaced_*}}\n\
         case $v in ''|*' '*) echo \"no container of the app runs\"; exit {ENDS_SESSION};; esac\n"
    );
    let same = format!(
        "[ \"$v\" = \"${{SWEETSPOT_RELEASE:-$v}}\" ] || {{ echo \"somebody else deployed $v \
         meanwhile, in place of $SWEETSPOT_RELEASE\"; exit {ENDS_SESSION}; }}\n"
    );
    let boot = |config: &str| {
        format!("{program} app boot --primary --roles {role}{config}{on} --version \"$v\"")
    };
    let told_apart = format!(
        "s=$?\nprintf '%s\\n' \"$said\"\n[ $s = 1 ] || exit $s\n\
         case $(printf '%s\\n' \"$said\" | {ITS_ERROR}) in\n\
         {OF_SETTING}) exit 1;;\nesac\nexit {ENDS_SESSION}"
    );
    // A boot that was cut off leaves the lock.
    let unlock = format!(
        "if {program} lock status{on} 2>/dev/null | grep -qF \"Locked by: $us at \"; then\n\
         {program} lock release{on}\nfi\n"
    );
    let sources: Vec<String> = read.iter().map(|path| path.display().to_string()).collect();
    let sources = format!("export SWEETSPOT_KAMAL_FILES={}\n", shell_quoted(&sources.join("\n")));
    let config = format!(" --config-file {}", quoted(&files[0].0));
    let place = destination.unwrap_or_default();
    let boot_ours = format!("said=$({} 2>&1); {told_apart}", boot(&config));
    Ok(Commands {
        apply: [&*all, &as_us, &version, &same, &sources, &boot_ours].concat(),
        ready: None,
        check: Some([&*all, &version, &same].concat()),
        release: Some([&*all, &version, "echo \"$v\""].concat()),
        observe: Some(format!(
            "{cd}exec ruby {} {role} '{place}' {program} config{on} --version sweetspot",
            quoted(&files[1].0)
        )),
        restore: [&*all, &as_us, &unlock, &version, &boot("")].concat(),
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
        let named = primary_role(&text).filter(|it| is_name(it));
        role = named.map_or(role, str::to_string);
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
        let as_us = "us='/store dir/kamal/locked-as'\n";
        for command in [&made.apply, &made.restore] {
            assert!(command.contains(as_us), "{command}");
            assert!(command.contains("kamal app version --primary --roles web --quiet;"));
        }
        let boot = format!(
            "export SWEETSPOT_KAMAL_FILES={at}/config/deploy.yml\n\
             said=$(kamal app boot --primary --roles web \
             --config-file '/store dir/kamal/deploy.yml' --version \"$v\" 2>&1); "
        );
        assert!(made.apply.contains(&boot), "{}", made.apply);
        let boot = "kamal app boot --primary --roles web --version \"$v\"";
        assert!(made.restore.ends_with(boot));
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

    /// Answers as files beside it say.
    const STAND_IN: &str = "\
echo \"$*\" >>asked
case \"$1 $2\" in
'app version') cat version ;;
'app boot') cat said; exit \"$(cat status)\" ;;
'lock status') cat lock ;;
esac
";

    /// An app's folder, with that in place of Kamal.
    fn app() -> (tempfile::TempDir, Commands) {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        ["config", "kamal"].iter().for_each(|name| fs::create_dir(at.join(name)).unwrap());
        let files = [
            ("config/deploy.yml", "service: shop\n"),
            ("stand-in", STAND_IN),
            ("version", "abc123\n\n"),
            ("said", ""),
            ("status", "0"),
            ("lock", "There is no deploy lock\n"),
        ];
        files.iter().for_each(|(name, text)| fs::write(at.join(name), text).unwrap());
        let made = commands(None, at, at).unwrap();
        (folder, made)
    }

    /// How a command ended, and what it printed.
    fn ran(command: &str) -> (Option<i32>, String) {
        let text = format!("kamal() {{ sh stand-in \"$@\"; }}\n{command}");
        let mut sh = Command::new("sh");
        let ended = sh.args(["-c", &text]).env("SWEETSPOT_RELEASE", "abc123").output().unwrap();
        (ended.status.code(), String::from_utf8_lossy(&ended.stdout).into_owned())
    }

    #[test]
    fn the_version_that_runs_is_the_last_line_and_another_one_is_somebody_elses() {
        let (folder, made) = app();
        let (check, release) = (made.check.unwrap(), made.release.unwrap());
        for (said, code, release_code) in [
            ("abc123\n\n", 0, 0),
            ("App Host: 10.0.0.7\nabc123\n\n", 0, 0),
            ("Running the pre-connect hook...\nabc123_replaced_0123456789abcdef\n\n", 0, 0),
            ("def456\n\n", 75, 0),
            ("App Host: 10.0.0.7\n\n\n", 75, 75),
            ("\n\n", 75, 75),
        ] {
            fs::write(folder.path().join("version"), said).unwrap();
            for command in [&made.apply, &check] {
                assert_eq!(ran(command).0, Some(code), "{said}: {command}");
            }
            let (ended, printed) = ran(&release);
            assert_eq!(ended, Some(release_code), "{said}");
            let is_it = said.contains(printed.lines().next_back().unwrap());
            assert_eq!(is_it, release_code == 0, "{said}: {printed}");
        }
        let asked = fs::read_to_string(folder.path().join("asked")).unwrap();
        let boots: Vec<&str> = asked.lines().filter(|it| it.starts_with("app boot")).collect();
        assert_eq!(boots.len(), 3);
        assert!(boots.iter().all(|boot| boot.ends_with(" --version abc123")), "{boots:?}");
    }

    #[test]
    fn only_a_container_that_does_not_come_up_is_the_settings_fault() {
        let (folder, made) = app();
        let error = |kind: &str| format!("  \u{1b}[31mERROR ({kind}): in words\u{1b}[0m\n");
        let failed = error("SSHKit::Command::Failed");
        for (said, status, code) in [
            (failed.clone(), 1, 1),
            (error("Kamal::Cli::Healthcheck::Error"), 1, 1),
            ("no word of why\n".to_string(), 1, 1),
            (format!("{}{failed}", error("PG::ConnectionBad")), 1, 1),
            (error("Kamal::Cli::LockError"), 1, 75),
            (error("Kamal::Cli::HookError"), 1, 75),
            (error("Net::SSH::AuthenticationFailed"), 1, 75),
            (error("Errno::EHOSTUNREACH"), 1, 75),
            (String::new(), 137, 137),
        ] {
            fs::write(folder.path().join("said"), &said).unwrap();
            fs::write(folder.path().join("status"), status.to_string()).unwrap();
            let (ended, printed) = ran(&made.apply);
            assert_eq!(ended, Some(code), "{said}");
            assert!(printed.contains(&said), "{printed}");
        }
    }

    #[test]
    fn the_lock_of_another_session_is_left_to_it() {
        let (folder, made) = app();
        let at = |name: &str| folder.path().join(name);
        assert_eq!(ran(&made.apply).0, Some(0));
        let us = fs::read_to_string(at("kamal/locked-as")).unwrap();
        let us = us.trim();
        assert!(us.starts_with("sweetspot-") && !us.contains(' '), "{us}");
        for (holder, is_released) in
            [("sweetspot", false), ("sweetspot-other-1", false), ("Jane", false), (us, true)]
        {
            fs::write(at("lock"), format!("Locked by: {holder} at 2026-09-01T10:00:00Z\n"))
                .unwrap();
            fs::write(at("asked"), "").unwrap();
            assert_eq!(ran(&made.restore).0, Some(0));
            let asked = fs::read_to_string(at("asked")).unwrap();
            assert_eq!(asked.contains("lock release"), is_released, "{holder}: {asked}");
        }
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
