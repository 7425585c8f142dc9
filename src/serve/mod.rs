//! The sessions of a store in a browser, live while one runs.
//!
//! In: a listening socket and a store. Out: the page, and what it asks for as JSON and as
//! server-sent events. Only those who know the token in the address are answered, and only on
//! loopback. Must not measure, and writes nothing.

mod api;
mod follow;
mod live;
mod reading;
mod served;

pub use api::{Failure, ListRow};
pub use follow::Second;
pub use served::Served;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{Html, IntoResponse, Redirect, Response};
use axum::routing::get;
use thiserror::Error;

use crate::report::page;
use crate::terms::StopSignal;

/// Why nothing can be served.
#[derive(Debug, Error)]
pub enum ServeError {
    #[error(
        "{address} is no loopback address; the page shows what an app is, so it is not served to a \
         network"
    )]
    NotLoopback { address: SocketAddr },
    #[error("could not serve on {address}: {source}")]
    Listen {
        address: SocketAddr,
        #[source]
        source: io::Error,
    },
}

/// How often it is asked whether it should stop.
const LOOK: Duration = Duration::from_millis(100);

/// Serves until the signal is raised.
///
/// # Errors
/// The socket is not on loopback, or cannot be used.
pub fn run(listener: TcpListener, served: Served, stop: &StopSignal) -> Result<(), ServeError> {
    let unknown = SocketAddr::from(([0, 0, 0, 0], 0));
    let address = listener.local_addr().unwrap_or(unknown);
    if !address.ip().is_loopback() {
        return Err(ServeError::NotLoopback { address });
    }
    let broken = |source| ServeError::Listen { address, source };
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(broken)?;
    let ended = runtime.block_on(async {
        listener.set_nonblocking(true)?;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        tokio::select! {
            ended = async { axum::serve(listener, router(served)).await } => ended,
            () = raised(stop) => Ok(()),
        }
    });
    // Streams never end by themselves.
    runtime.shutdown_timeout(Duration::from_secs(1));
    ended.map_err(broken)
}

async fn raised(stop: &StopSignal) {
    while !stop.is_raised() {
        tokio::time::sleep(LOOK).await;
    }
}

fn router(served: Served) -> Router {
    let base = format!("/{}", served.token);
    let inside = Router::new()
        .route("/", get(page))
        .route("/api/sessions", get(api::sessions))
        .route("/api/sessions/{id}", get(api::session))
        .route("/api/sessions/{id}/live", get(live::session))
        .route("/api/compare", get(api::compare))
        .route("/api/predict", get(api::predict))
        .fallback(|| async { StatusCode::NOT_FOUND });
    let to_page = Redirect::permanent(&format!("{base}/"));
    Router::new()
        .route(&base, get(move || async { to_page }))
        .nest(&format!("{base}/"), inside)
        .fallback(|| async {
            let text = "not here: 'sweetspot serve' prints the address, which has a token in it\n";
            (StatusCode::NOT_FOUND, text)
        })
        .with_state(Arc::new(served))
        .layer(middleware::from_fn(guarded))
}

async fn page(State(_): State<Arc<Served>>) -> Response {
    let (document, policy) = page::shell(&page::assets());
    let mut response = Html(document).into_response();
    if let Ok(policy) = HeaderValue::from_str(&policy) {
        response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    response
}

/// A page of another site that has its own name point here (DNS rebinding) is refused, and nothing
/// is kept or handed on by the browser.
async fn guarded(request: Request, next: Next) -> Response {
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    if !host.is_some_and(is_loopback) {
        return (StatusCode::FORBIDDEN, "only for this machine itself\n").into_response();
    }
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_FRAME_OPTIONS, "DENY"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

fn is_loopback(host: &str) -> bool {
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    ["127.0.0.1", "localhost", "[::1]"].contains(&name) || host == "[::1]"
}

#[cfg(test)]
mod tests {
    use super::is_loopback;

    #[test]
    fn only_names_of_this_machine_itself_are_served() {
        for host in ["127.0.0.1:4747", "localhost:80", "localhost", "[::1]:4747", "[::1]"] {
            assert!(is_loopback(host), "{host}");
        }
        for host in ["example.com:4747", "127.0.0.1.example.com:1", "", "10.0.0.1:4747"] {
            assert!(!is_loopback(host), "{host}");
        }
    }
}
