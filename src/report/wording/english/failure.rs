//! Why a server did not become ready, or ended, and the way out; in English.

use super::English;
use crate::report::wording::{Counted, Phrases};
use crate::terms::{
    BootCause, BootEnd, BootFailureKind, Bytes, CertificateFault, Configuration, FrameworkSetting,
    ReplyAdvice, ServerEnd, StartAdvice,
};

pub fn cause(cause: &BootCause) -> String {
    with_way_out(cause, LONGER)
}

/// The cause where no option gives a server longer, as in an experiment's runs.
pub fn cause_in_lab(cause: &BootCause) -> String {
    with_way_out(cause, "")
}

/// `longer`: what is said after that which has not come in time.
fn with_way_out(cause: &BootCause, longer: &str) -> String {
    match cause {
        BootCause::NotReady { seen, end, connections_for } => {
            // More time would not keep a server from killing its workers.
            let is_killed = *seen == Some(BootFailureKind::WorkerTimeout);
            let longer = if is_killed { "" } else { longer };
            let seen = seen.map(|kind| format!("{}: ", shown(kind))).unwrap_or_default();
            let needed = connections_for.map(|it| format!(" ({})", connections(it)));
            let needed = needed.unwrap_or_default();
            format!("the app server did not become ready: {seen}{}{needed}", ending(end, longer))
        }
        BootCause::RunsUnchanged { line } => format!("it runs without the change: {line}"),
        BootCause::ConnectionsRefused { setting } => format!(
            "the database refused connections: {}, and it takes fewer at once (max_connections)",
            connections(*setting)
        ),
        BootCause::KilledForMemory { setting, needed_bytes, limit_bytes } => {
            let (needed, limit) = (Bytes(*needed_bytes), Bytes(*limit_bytes));
            format!("killed: {setting} needs {needed} of {limit}")
        }
    }
}

/// What a server's log shows.
fn shown(kind: BootFailureKind) -> &'static str {
    match kind {
        BootFailureKind::SecretKeyBase => "SECRET_KEY_BASE is missing",
        BootFailureKind::Database => "its database cannot be reached or does not exist",
        BootFailureKind::TooManyConnections => "its database refuses more connections",
        BootFailureKind::PendingMigration => "migrations are pending, its database lacks tables",
        BootFailureKind::VariableMissing => "a variable that the app reads is not set",
        BootFailureKind::AssetsMissing => "its assets are not compiled",
        BootFailureKind::NotInstalled => "the server, or a part of it, is not installed",
        BootFailureKind::PortTaken => "something else listens on its port",
        BootFailureKind::OtherPort => "the app listens on another port than PORT says",
        BootFailureKind::WorkerTimeout => {
            "the server itself killed a worker that had not booted in time"
        }
        BootFailureKind::Exited
        | BootFailureKind::NeverReady
        | BootFailureKind::ForcedSsl
        | BootFailureKind::Redirected
        | BootFailureKind::Unauthorized
        | BootFailureKind::Forbidden
        | BootFailureKind::NotFound
        | BootFailureKind::RateLimited
        | BootFailureKind::ServerError
        | BootFailureKind::NotSuccess => "it failed",
    }
}

fn connections(setting: Configuration) -> String {
    let workers = English.count(setting.workers.get().into(), Counted::Workers);
    let threads = English.count(setting.threads.get().into(), Counted::Threads);
    format!("{workers} x {threads} need up to {}, one for each thread", setting.slots())
}

/// After what has not come in time.
const LONGER: &str = "; --boot-timeout gives it longer";

fn ending(end: &BootEnd, longer: &str) -> String {
    match end {
        BootEnd::NotRun { error } => error.clone(),
        BootEnd::LogUnreadable { error } => format!("its log could not be read: {error}"),
        BootEnd::WorkersEndAtOnce => "its workers end as soon as they start".into(),
        BootEnd::TooFewBooted { booted, of, patience_s } => {
            format!("{booted} of {of} processes had booted within {patience_s} s{longer}")
        }
        BootEnd::InitContainerRuns { container, patience_s } => {
            format!("its init container {container} had not ended within {patience_s} s{longer}")
        }
        BootEnd::UserRefused { user: None } => {
            "its pod may not run as root (runAsNonRoot), and would".into()
        }
        BootEnd::UserRefused { user: Some(user) } => format!(
            "its pod may not run as root (runAsNonRoot), and the image names its user {user}, of \
             which nodes cannot tell whether it is root"
        ),
        BootEnd::EndedEarly { how } => {
            format!("it ended before it was ready ({})", server_end(how))
        }
        BootEnd::NotApplied { how: Some(how) } => {
            format!("the command that applies it failed ({how})")
        }
        BootEnd::NotApplied { how: None } => {
            format!("the command that applies it did not end in time{longer}")
        }
        BootEnd::NotSaidReady { how } => {
            let last = how.as_ref().map(|how| format!(" (the last time: {how})"));
            format!(
                "the command that says when it is ready never succeeded{}{longer}",
                last.unwrap_or_default()
            )
        }
        BootEnd::NotHttp { target } => {
            format!("{target} is answered with something that is not HTTP")
        }
        BootEnd::CertificateRefused { target, fault } => {
            format!("{target} was not sent, as the server's certificate {}", refused_for(*fault))
        }
        BootEnd::NotAnswered { target, patience_s } => {
            format!("{target} was not answered within {patience_s} s of the start{longer}")
        }
        BootEnd::NotGood { target, status, leads_to } => {
            let place = leads_to.as_ref().map(|place| format!(" and leads to {place}"));
            let place = place.unwrap_or_default();
            format!("{target} answers {status}{place}, where 2xx is needed")
        }
    }
}

/// Why a server's certificate was not accepted.
fn refused_for(fault: Option<CertificateFault>) -> &'static str {
    match fault {
        Some(CertificateFault::Untrusted) => "is signed by no CA that this machine trusts",
        Some(CertificateFault::Expired) => "has expired",
        Some(CertificateFault::OtherName) => "is for another name",
        None => "was not accepted",
    }
}

pub fn server_end(end: &ServerEnd) -> String {
    match end {
        ServerEnd::ProcessEnded { how } => how.to_string(),
        ServerEnd::PartEnded { process, of, how } => {
            format!("its process {process} of {of}: {how}")
        }
        ServerEnd::ProxyEnded { how } => format!("nginx in front of it: {how}"),
        ServerEnd::ProcessesKilled { killed } => {
            format!("{killed} of its processes were killed: out of memory")
        }
        ServerEnd::WorkersLost { left, expected } => {
            format!("{left} of its {expected} workers were left, and nothing replaced the others")
        }
    }
}

const OTHER_PAGE: &str = "or name another page with --target 'GET /path'";
const PROXY_HEADER: &str =
    "send what the proxy in front of it sends: -H 'X-Forwarded-Proto: https'";

const NUMBER_USER: &str = "\
     give the user's number in the image (`id -u` there says it; 0 is root): a file with the line \
     `securityContext: {runAsUser: 1000}`, named with --pod-template; where a template is given \
     already, the line belongs in the spec of its pods";
const SET_VARIABLE: &str = "\
     give it the variable that its last lines name: --env NAME=VALUE; where a file .env has it, \
     type `set -a; . ./.env; set +a` before";
const RUN_IN_FOREGROUND: &str = "\
     its command ended at once and without an error: leave out what sends the server to the \
     background (a flag such as --daemon)";
const LISTEN_ON_PORT_VARIABLE: &str = "\
     let the app listen on the port that the variable PORT names (Node.js: \
     server.listen(process.env.PORT || 3000))";

pub fn to_start(advice: &StartAdvice) -> String {
    match advice {
        StartAdvice::MendApp => "mend what the app's own last lines name".into(),
        StartAdvice::MendService => "mend what its own last lines name".into(),
        StartAdvice::NameVariable { place } => {
            format!("name the variable that it follows: --env 'NAME={{{place}}}'")
        }
        StartAdvice::NumberUser => NUMBER_USER.into(),
        StartAdvice::SetSecret { command } => {
            format!("set it for the measurement, any long text will do: `{command}`")
        }
        StartAdvice::StartDatabase => {
            "start the database, and name it as the app expects it".into()
        }
        StartAdvice::StartNamedDatabase { variable, create } => format!(
            "start the database and name it with {variable}; create and load it with `{create}`"
        ),
        StartAdvice::RaiseConnectionLimit => {
            "raise the database's limit (MariaDB, MySQL and PostgreSQL call it max_connections), \
             or leave out settings that need more with --db-connections"
                .into()
        }
        StartAdvice::RunMigrations => "run the app's migrations on its database".into(),
        StartAdvice::CreateTables { create, fill } => format!(
            "create its tables with `{create}`, and fill them with about as much data as in \
             production, such as with `{fill}`"
        ),
        StartAdvice::CreateTablesOfFramework { command } => format!(
            "create its tables ({}: `{}`), and fill them with about as much data as in production",
            command.framework, command.setting
        ),
        StartAdvice::InstallGems { gem } => format!(
            "install the app's gems: `bundle install` (with gem \"{gem}\" in the Gemfile; the \
             `bundle` command itself: `gem install bundler`, or `apt install ruby-bundler`)"
        ),
        StartAdvice::InstallServer { commands } => {
            format!("install it: `{}`", commands.join("`, or `"))
        }
        StartAdvice::InstallPackageWith { program } => {
            format!("install it: a package that has the program {program}")
        }
        StartAdvice::InstallNamed => "install what the line names, or write its whole path".into(),
        StartAdvice::SetVariable => SET_VARIABLE.into(),
        StartAdvice::CompileAssets { command } => format!("compile them: `{command}`"),
        StartAdvice::RunInForeground => RUN_IN_FOREGROUND.into(),
        StartAdvice::FreePort => "end what listens there, or let the port be chosen freely".into(),
        StartAdvice::FreeOwnPort { port } => format!(
            "the app takes port {port} beside the one that its server is given, and something \
             else, or another of its workers, listens there: end that, or give the app another \
             port, or none, for the measurement"
        ),
        StartAdvice::ListenOnPortVariable => LISTEN_ON_PORT_VARIABLE.into(),
        StartAdvice::RaiseWorkerTimeout { setting } => {
            format!("raise {setting} in the server's own settings, by which it kills such a worker")
        }
        StartAdvice::SeeWhatItWaitsFor => {
            "look at what the app waits for when it boots, or at the page that is asked for".into()
        }
        StartAdvice::MendCertificate { fault } => to_mend(*fault).into(),
    }
}

/// What to do about a certificate that was not accepted.
fn to_mend(fault: CertificateFault) -> &'static str {
    match fault {
        CertificateFault::Untrusted => {
            "name the CA that signed it in the environment: SSL_CERT_FILE=FILE, a PEM file, which \
             is trusted instead of the system's CAs"
        }
        CertificateFault::Expired => {
            "have the server show a new one; where it has not expired yet, set this machine's clock"
        }
        CertificateFault::OtherName => "write the host that it is for in --url",
    }
}

pub fn to_reply(advice: &ReplyAdvice) -> String {
    match advice {
        ReplyAdvice::MendError => {
            format!("mend the error, which the app's own last lines should name, {OTHER_PAGE}")
        }
        ReplyAdvice::SendHttpsHeader => PROXY_HEADER.into(),
        ReplyAdvice::SendHttpsHeaderOrSwitchOff { off } => format!(
            "{PROXY_HEADER} ({}: or set {} to false for the measurement)",
            off.framework, off.setting
        ),
        ReplyAdvice::SendTrustedHttpsHeader { framework, trust, lead } => format!(
            "{PROXY_HEADER} ({framework}: with {trust}, or without {lead} for the measurement)"
        ),
        ReplyAdvice::AvoidRedirect => {
            "name a page that answers by itself with --target 'GET /path', or send what a visitor \
             who is logged in sends: -H 'Cookie: ...'"
                .into()
        }
        ReplyAdvice::SendCredentials => {
            format!("send credentials: -H 'Authorization: ...', {OTHER_PAGE}")
        }
        ReplyAdvice::NameAllowedHost { hosts } => {
            let hosts = hosts.as_ref().map(|it| format!(" ({})", spelt(it))).unwrap_or_default();
            format!(
                "name a host that the app lets in{hosts}: -H 'Host: www.example.com', {OTHER_PAGE}"
            )
        }
        ReplyAdvice::NameExistingPage { list: None } => {
            "name a page that exists with --target 'GET /path'".into()
        }
        ReplyAdvice::NameExistingPage { list: Some(command) } => {
            format!("name a page that exists with --target 'GET /path'; `{command}` lists them")
        }
        ReplyAdvice::NameGoodPage => {
            "name a page that answers 2xx with --target 'GET /path'".into()
        }
        ReplyAdvice::NameReadyPage => "name a page that answers 2xx with --ready /path".into(),
        ReplyAdvice::LiftRateLimit { limits } => {
            let limits = match limits.as_slice() {
                [] => String::new(),
                limits => format!(" ({})", limits.join(", ")),
            };
            format!(
                "switch the app's rate limit off for the measurement{limits}, or except the \
                 address that the load comes from (on this machine 127.0.0.1)"
            )
        }
    }
}

/// `Rails: config.hosts`.
fn spelt(setting: &FrameworkSetting) -> String {
    format!("{}: {}", setting.framework, setting.setting)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::ProcessEnd;

    #[test]
    fn a_cause_says_what_the_log_shows_then_how_it_ended_then_what_was_needed() {
        let how = || ServerEnd::PartEnded { process: 1, of: 2, how: ProcessEnd::Signal(9) };
        let refused = |fault| BootEnd::CertificateRefused { target: "GET /".into(), fault };
        let not_ready = |seen, end, connections_for| {
            cause(&BootCause::NotReady { seen, end, connections_for })
                .replace("the app server did not become ready: ", "")
        };
        for (said, expected) in [
            (
                not_ready(
                    Some(BootFailureKind::TooManyConnections),
                    BootEnd::EndedEarly { how: how() },
                    Configuration::new(1, 3).ok(),
                ),
                "its database refuses more connections: it ended before it was ready (its process \
                 1 of 2: ended by signal 9 (SIGKILL)) (1 worker x 3 threads need up to 3, one for \
                 each thread)",
            ),
            (
                not_ready(
                    None,
                    BootEnd::NotGood {
                        target: "GET /items?…".into(),
                        status: 302,
                        leads_to: Some("/login".into()),
                    },
                    None,
                ),
                "GET /items?… answers 302 and leads to /login, where 2xx is needed",
            ),
            (
                not_ready(None, BootEnd::TooFewBooted { booted: 1, of: 4, patience_s: 60.0 }, None),
                "1 of 4 processes had booted within 60 s; --boot-timeout gives it longer",
            ),
            (
                not_ready(
                    Some(BootFailureKind::SecretKeyBase),
                    BootEnd::TooFewBooted { booted: 0, of: 2, patience_s: 1.5 },
                    None,
                ),
                "SECRET_KEY_BASE is missing: 0 of 2 processes had booted within 1.5 s; \
                 --boot-timeout gives it longer",
            ),
            (
                not_ready(
                    Some(BootFailureKind::WorkerTimeout),
                    BootEnd::TooFewBooted { booted: 0, of: 2, patience_s: 180.0 },
                    None,
                ),
                "the server itself killed a worker that had not booted in time: 0 of 2 processes \
                 had booted within 180 s",
            ),
            (
                not_ready(
                    None,
                    BootEnd::InitContainerRuns { container: "migrate".into(), patience_s: 300.0 },
                    None,
                ),
                "its init container migrate had not ended within 300 s; --boot-timeout gives it \
                 longer",
            ),
            (
                not_ready(None, BootEnd::UserRefused { user: None }, None),
                "its pod may not run as root (runAsNonRoot), and would",
            ),
            (
                not_ready(None, BootEnd::UserRefused { user: Some("rails".into()) }, None),
                "its pod may not run as root (runAsNonRoot), and the image names its user rails, \
                 of which nodes cannot tell whether it is root",
            ),
            (
                not_ready(
                    None,
                    BootEnd::NotAnswered { target: "GET /".into(), patience_s: 60.0 },
                    None,
                ),
                "GET / was not answered within 60 s of the start; --boot-timeout gives it longer",
            ),
            (
                not_ready(None, refused(Some(CertificateFault::Untrusted)), None),
                "GET / was not sent, as the server's certificate is signed by no CA that this \
                 machine trusts",
            ),
            (
                not_ready(None, refused(None), None),
                "GET / was not sent, as the server's certificate was not accepted",
            ),
        ] {
            assert_eq!(said, expected);
        }
    }

    #[test]
    fn the_way_out_has_the_frameworks_own_spelling() {
        let hosts = Some(FrameworkSetting::new("Rails", "config.hosts"));
        let off = FrameworkSetting::new("Rails", "config.force_ssl");
        for (said, expected) in [
            (
                ReplyAdvice::NameAllowedHost { hosts },
                "name a host that the app lets in (Rails: config.hosts): -H 'Host: \
                 www.example.com', or name another page with --target 'GET /path'",
            ),
            (
                ReplyAdvice::SendHttpsHeaderOrSwitchOff { off },
                "send what the proxy in front of it sends: -H 'X-Forwarded-Proto: https' (Rails: \
                 or set config.force_ssl to false for the measurement)",
            ),
            (
                ReplyAdvice::LiftRateLimit { limits: Vec::new() },
                "switch the app's rate limit off for the measurement, or except the address that \
                 the load comes from (on this machine 127.0.0.1)",
            ),
        ] {
            assert_eq!(to_reply(&said), expected);
        }
    }
}
