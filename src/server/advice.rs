//! What to do about a server that did not become ready.
//!
//! In: the cause and the app. Out: what to do, as this app's framework spells it. Only computes.

use super::{About, App, Framework};
use crate::terms::{BootAdvice, BootFailureKind, FrameworkSetting, ReplyAdvice, StartAdvice};

/// The way out of a failed start.
pub fn for_failure(app: &App, about: &About, kind: BootFailureKind) -> BootAdvice {
    for_start(app, about, kind)
        .map(BootAdvice::Start)
        .unwrap_or_else(|| BootAdvice::Reply(for_reply(app, kind)))
}

/// What has it come up; `None`: it came up, and answers something else than 2xx.
fn for_start(app: &App, about: &About, kind: BootFailureKind) -> Option<StartAdvice> {
    let is_rails = app.framework == Framework::Rails;
    let prepare = || "RAILS_ENV=production bin/rails db:prepare".to_string();
    Some(match kind {
        BootFailureKind::Exited => StartAdvice::MendApp,
        BootFailureKind::SecretKeyBase => StartAdvice::SetSecret {
            command: "export SECRET_KEY_BASE=\"$(ruby -rsecurerandom -e 'puts \
                      SecureRandom.hex(64)')\""
                .into(),
        },
        BootFailureKind::Database if is_rails => {
            StartAdvice::StartNamedDatabase { variable: "DATABASE_URL".into(), create: prepare() }
        }
        BootFailureKind::Database => StartAdvice::StartDatabase,
        BootFailureKind::TooManyConnections => StartAdvice::RaiseConnectionLimit,
        BootFailureKind::PendingMigration if is_rails => StartAdvice::CreateTables {
            create: prepare(),
            fill: "RAILS_ENV=production bin/rails db:seed".into(),
        },
        BootFailureKind::PendingMigration if is_python(app) => {
            StartAdvice::CreateTablesOfFramework { command: in_django("python manage.py migrate") }
        }
        BootFailureKind::PendingMigration => StartAdvice::RunMigrations,
        BootFailureKind::VariableMissing => StartAdvice::SetVariable,
        BootFailureKind::AssetsMissing if is_rails => StartAdvice::CompileAssets {
            command: "RAILS_ENV=production bin/rails assets:precompile".into(),
        },
        BootFailureKind::AssetsMissing if is_python(app) => StartAdvice::CompileAssets {
            command: "python manage.py collectstatic --noinput".into(),
        },
        BootFailureKind::AssetsMissing => StartAdvice::MendApp,
        BootFailureKind::NotInstalled if app.is_bundled => {
            StartAdvice::InstallGems { gem: about.name.into() }
        }
        BootFailureKind::NotInstalled if about.install.is_empty() => StartAdvice::InstallNamed,
        BootFailureKind::NotInstalled => StartAdvice::InstallServer {
            commands: about.install.iter().map(ToString::to_string).collect(),
        },
        BootFailureKind::PortTaken => StartAdvice::FreePort,
        BootFailureKind::OtherPort => StartAdvice::ListenOnPortVariable,
        BootFailureKind::WorkerTimeout => {
            let raise = |setting: &str| StartAdvice::RaiseWorkerTimeout { setting: setting.into() };
            about.worker_timeout.map_or(StartAdvice::MendApp, raise)
        }
        BootFailureKind::NeverReady => StartAdvice::SeeWhatItWaitsFor,
        BootFailureKind::ForcedSsl
        | BootFailureKind::Redirected
        | BootFailureKind::Unauthorized
        | BootFailureKind::Forbidden
        | BootFailureKind::NotFound
        | BootFailureKind::RateLimited
        | BootFailureKind::ServerError
        | BootFailureKind::NotSuccess => return None,
    })
}

/// What has it answer 2xx.
fn for_reply(app: &App, kind: BootFailureKind) -> ReplyAdvice {
    let in_rails = |setting| FrameworkSetting::new("Rails", setting);
    let is_rack = app.framework.is_rack();
    match kind {
        BootFailureKind::ForcedSsl if is_rack => {
            ReplyAdvice::SendHttpsHeaderOrSwitchOff { off: in_rails("config.force_ssl") }
        }
        BootFailureKind::ForcedSsl if is_python(app) => ReplyAdvice::SendTrustedHttpsHeader {
            framework: "Django".into(),
            trust: "SECURE_PROXY_SSL_HEADER".into(),
            lead: "SECURE_SSL_REDIRECT".into(),
        },
        BootFailureKind::ForcedSsl => ReplyAdvice::SendHttpsHeader,
        BootFailureKind::Redirected => ReplyAdvice::AvoidRedirect,
        BootFailureKind::Unauthorized => ReplyAdvice::SendCredentials,
        BootFailureKind::Forbidden if is_rack => {
            ReplyAdvice::NameAllowedHost { hosts: Some(in_rails("config.hosts")) }
        }
        BootFailureKind::Forbidden | BootFailureKind::NotSuccess if is_python(app) => {
            ReplyAdvice::NameAllowedHost { hosts: Some(in_django("ALLOWED_HOSTS")) }
        }
        BootFailureKind::Forbidden => ReplyAdvice::NameAllowedHost { hosts: None },
        BootFailureKind::NotFound => {
            let is_rails = app.framework == Framework::Rails;
            ReplyAdvice::NameExistingPage { list: is_rails.then(|| "bin/rails routes".into()) }
        }
        BootFailureKind::RateLimited => {
            let limits = is_rack.then(|| ["Rack::Attack", "rate_limit"].map(String::from).into());
            ReplyAdvice::LiftRateLimit { limits: limits.unwrap_or_default() }
        }
        BootFailureKind::ServerError => ReplyAdvice::MendError,
        _ => ReplyAdvice::NameGoodPage,
    }
}

fn is_python(app: &App) -> bool {
    matches!(app.framework, Framework::Wsgi | Framework::Asgi)
}

fn in_django(setting: &str) -> FrameworkSetting {
    FrameworkSetting::new("Django", setting)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::ADAPTERS;

    #[test]
    fn nobody_is_told_of_another_languages_ways() {
        use BootFailureKind::*;
        let about = ADAPTERS[0].about();
        let kinds = [
            Exited,
            Database,
            PendingMigration,
            VariableMissing,
            AssetsMissing,
            PortTaken,
            OtherPort,
            WorkerTimeout,
            NeverReady,
            ForcedSsl,
            Redirected,
            Unauthorized,
            Forbidden,
            NotFound,
            RateLimited,
            ServerError,
            NotSuccess,
        ];
        for framework in [Framework::Wsgi, Framework::Asgi, Framework::Node, Framework::Php] {
            let app = App::new("/srv/shop", framework, "x");
            for kind in kinds {
                let text = crate::report::Language::DATA.say_fact(&for_failure(&app, about, kind));
                for word in ["Rails", "Rack", "bundle", "ruby", "gem"] {
                    assert!(!text.contains(word), "{framework:?} {kind:?}: {text}");
                }
            }
        }
    }
}
