//! The document around the page: its policy, its style, its script and its data.

use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use ring::digest::{SHA256, digest};

use super::{Page, Words};
use crate::report::Language;
use crate::report::facts::with_sentences;

/// What `ui/` was built to; empty in a program that was built without Node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Assets {
    pub script: &'static str,
    pub style: &'static str,
}

/// Those that this program was built with; `build.rs` puts them there.
pub fn assets() -> Assets {
    Assets {
        script: include_str!(concat!(env!("OUT_DIR"), "/page.js")),
        style: include_str!(concat!(env!("OUT_DIR"), "/page.css")),
    }
}

impl Assets {
    /// A program that was built without Node has no page.
    pub fn is_there(&self) -> bool {
        !self.script.is_empty()
    }
}

/// What the reader sees without a script, and without the page's own style.
const PLAIN_STYLE: &str = "
#static{max-width:60rem;margin:2rem auto;padding:0 1rem;font:1rem/1.5 system-ui,sans-serif}
#static table{border-collapse:collapse}
#static th,#static td{padding:.2rem .6rem;border-bottom:1px solid #8884;text-align:left}
#static pre{padding:.8rem;border:1px solid #8884;overflow-x:auto}
#static .wide{overflow-x:auto;content-visibility:auto}
[hidden]{display:none!important}";

/// A whole file. `plain`: what is read where no script runs.
pub fn render(
    title: &str,
    plain: Markup,
    page: &Page<'_>,
    assets: &Assets,
    language: Language,
) -> String {
    let data = if assets.is_there() { packed(page) } else { String::new() };
    let left_out = html! {
        p { small {
            "This file was written by a program that was built without Node.js, so its pictures \
             are left out; the figures are all here."
        } }
    };
    document(
        title,
        &policy(assets, false),
        assets,
        language,
        html! {
            main #static { (plain) @if !assets.is_there() { (left_out) } }
            div #page {}
            @if assets.is_there() {
                script #data type="application/octet-stream;base64" { (PreEscaped(data)) }
            }
        },
    )
}

/// The page without data: it asks the address that it came from.
pub fn shell(assets: &Assets) -> (String, String) {
    let policy = policy(assets, true);
    let body = html! {
        main #static {
            h1 { "sweetspot" }
            @if assets.is_there() {
                noscript { p { "This page needs JavaScript. 'sweetspot report' writes reports that \
                                are read without." } }
            } @else {
                p { "This program was built without Node.js, so it has no page. Install Node.js \
                     and build it again, or write a report with 'sweetspot report last'." }
            }
        }
        div #page {}
    };
    (document("sweetspot", &policy, assets, Language::English, body), policy)
}

fn document(
    title: &str,
    policy: &str,
    assets: &Assets,
    language: Language,
    body: Markup,
) -> String {
    let whole = html! {
        (DOCTYPE)
        html lang=(language.name()) {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content=(policy);
                meta name="referrer" content="no-referrer";
                title { (title) }
                style { (PreEscaped(PLAIN_STYLE)) (PreEscaped(assets.style)) }
            }
            body {
                (body)
                // In the order that a browser needs them: the script last.
                @if assets.is_there() {
                    script #words type="application/json" { (PreEscaped(words())) }
                    script { (PreEscaped(assets.script)) }
                }
            }
        }
    };
    whole.into_string() + "\n"
}

/// Nothing may be fetched and no script may run but the page's own, whatever a value says.
fn policy(assets: &Assets, is_served: bool) -> String {
    let hash = STANDARD.encode(digest(&SHA256, assets.script.as_bytes()));
    let connect = if is_served { "; connect-src 'self'" } else { "" };
    format!(
        "default-src 'none'; script-src 'sha256-{hash}'; style-src 'unsafe-inline'; img-src data:; \
         base-uri 'none'; form-action 'none'{connect}"
    )
}

/// The page's words, without a character that ends a script element.
fn words() -> String {
    let json = serde_json::to_string(&Words::all()).expect("our types have string keys");
    json.replace('<', "\\u003c")
}

/// Base64 has no character that ends a script element.
fn packed(page: &Page<'_>) -> String {
    let json = with_sentences(page).to_string();
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    let bytes = gzip.write_all(json.as_bytes()).and_then(|()| gzip.finish());
    STANDARD.encode(bytes.expect("writing to memory does not fail"))
}
