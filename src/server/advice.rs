//! What to do about a server that did not become ready.
//!
//! In: the cause and the app. Out: a sentence. Only computes.

use super::{About, App, Framework};
use crate::terms::{BootFailureKind, Configuration};

const MORE_CONNECTIONS: &str = "raise the database's limit (MariaDB, MySQL and PostgreSQL call it \
                                max_connections), or leave out settings that need more with \
                                --db-connections";

/// What a configuration may ask of a database, when each thread holds a connection.
pub fn connections_needed(configuration: Configuration) -> String {
    let Configuration { workers, threads } = configuration;
    let of =
        |count: u16, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    format!(
        "{} x {} need up to {}, one for each thread",
        of(workers.get(), "worker"),
        of(threads.get(), "thread"),
        configuration.slots()
    )
}

/// The way out of a failed start; lower case, no full stop.
pub fn for_failure(app: &App, about: &About, kind: BootFailureKind) -> String {
    if let Some(text) = in_rails(app, kind).or_else(|| outside_of_ruby(app, kind)) {
        return text.to_string();
    }
    let text = match kind {
        BootFailureKind::Exited => "mend what the app's own last lines name",
        BootFailureKind::SecretKeyBase => {
            "set it for the measurement, any long text will do: export SECRET_KEY_BASE=\"$(ruby \
             -rsecurerandom -e 'puts SecureRandom.hex(64)')\""
        }
        BootFailureKind::Database => "start the database, and name it as the app expects it",
        BootFailureKind::TooManyConnections => MORE_CONNECTIONS,
        BootFailureKind::PendingMigration => "run the app's migrations on its database",
        BootFailureKind::NotInstalled if app.is_bundled => {
            return format!(
                "install the app's gems: bundle install (with gem \"{}\" in the Gemfile; the \
                 `bundle` command itself: gem install bundler, or apt install ruby-bundler)",
                about.name
            );
        }
        BootFailureKind::NotInstalled => {
            return format!("install it: {}", about.install.join(", or "));
        }
        BootFailureKind::PortTaken => "end what listens there, or let the port be chosen freely",
        BootFailureKind::OtherPort => {
            "let the app listen on the port that the variable PORT names (Node.js: \
             server.listen(process.env.PORT || 3000))"
        }
        BootFailureKind::NeverReady => {
            "look at what the app waits for when it boots, or at the page that is asked for; a \
             page that answers sooner can be named with --ready"
        }
        BootFailureKind::ForcedSsl => {
            "send what the proxy in front of it sends: -H 'X-Forwarded-Proto: https' (Rails: or \
             set config.force_ssl to false for the measurement)"
        }
        BootFailureKind::Redirected => {
            "name a page that answers by itself with --target 'GET /path', or send what a visitor \
             who is logged in sends: -H 'Cookie: ...'"
        }
        BootFailureKind::Unauthorized => {
            "send credentials: -H 'Authorization: ...', or name another page with --target \
             'GET /path'"
        }
        BootFailureKind::Forbidden => {
            "name a host that the app lets in (Rails: config.hosts): -H 'Host: www.example.com', \
             or name another page with --target 'GET /path'"
        }
        BootFailureKind::NotFound => {
            "name a page that exists with --target 'GET /path' (or --ready /path)"
        }
        BootFailureKind::RateLimited => {
            "switch the app's rate limit off for the measurement (Rack::Attack, rate_limit), or \
             except 127.0.0.1 from it"
        }
        BootFailureKind::ServerError => {
            "mend the error, which the app's own last lines should name, or name another page with \
             --target 'GET /path'"
        }
        BootFailureKind::NotSuccess => "name a page that answers 2xx with --target 'GET /path'",
    };
    text.to_string()
}

/// What Rails has a way of its own for.
fn in_rails(app: &App, kind: BootFailureKind) -> Option<&'static str> {
    if app.framework != Framework::Rails {
        return None;
    }
    Some(match kind {
        BootFailureKind::Database => {
            "start the database and name it with DATABASE_URL; create and load it with: \
             RAILS_ENV=production bin/rails db:prepare"
        }
        BootFailureKind::PendingMigration => {
            "create its tables with: RAILS_ENV=production bin/rails db:prepare, and fill them with \
             about as much data as in production, such as with: RAILS_ENV=production bin/rails \
             db:seed"
        }
        BootFailureKind::NotFound => {
            "name a page that exists with --target 'GET /path'; bin/rails routes lists them"
        }
        _ => return None,
    })
}

/// What is called otherwise, or is not there, in another language than Ruby.
fn outside_of_ruby(app: &App, kind: BootFailureKind) -> Option<&'static str> {
    if app.framework.is_rack() {
        return None;
    }
    let is_python = matches!(app.framework, Framework::Wsgi | Framework::Asgi);
    Some(match kind {
        BootFailureKind::PendingMigration if is_python => {
            "create its tables (Django: python manage.py migrate), and fill them with about as \
             much data as in production"
        }
        BootFailureKind::Forbidden | BootFailureKind::NotSuccess if is_python => {
            "name a host that the app lets in (Django: ALLOWED_HOSTS): -H 'Host: www.example.com', \
             or name another page with --target 'GET /path'"
        }
        BootFailureKind::Forbidden => {
            "name a host that the app lets in: -H 'Host: www.example.com', or name another page \
             with --target 'GET /path'"
        }
        BootFailureKind::ForcedSsl if is_python => {
            "send what the proxy in front of it sends: -H 'X-Forwarded-Proto: https' (Django: with \
             SECURE_PROXY_SSL_HEADER, or without SECURE_SSL_REDIRECT for the measurement)"
        }
        BootFailureKind::ForcedSsl => {
            "send what the proxy in front of it sends: -H 'X-Forwarded-Proto: https'"
        }
        BootFailureKind::RateLimited => {
            "switch the app's rate limit off for the measurement, or except 127.0.0.1 from it"
        }
        _ => return None,
    })
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
            PortTaken,
            OtherPort,
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
                let text = for_failure(&app, about, kind);
                for word in ["Rails", "Rack", "bundle", "ruby", "gem"] {
                    assert!(!text.contains(word), "{framework:?} {kind:?}: {text}");
                }
            }
        }
    }
}
