//! Masks secrets in what others print: an app that fails shows what it was given.
//!
//! In: values that are secret, and text. Out: the text with each of them, and with whatever is
//! written as secrets are, replaced. Only computes.

use std::borrow::Cow;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use super::target::Target;

/// What stands in the place of a secret.
pub const HIDDEN: &str = "[hidden]";

/// Words in the name of a variable, a setting or a field whose value is secret.
const SECRET_NAMES: [&str; 13] = [
    "authorization",
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "apikey",
    "api_key",
    "api-key",
    "private_key",
    "access_key",
    "credential",
    "cookie",
];

/// What says so as a word of its own only: `SENTRY_DSN`, `STRIPE_KEY_LIVE`, `DB_PASS`.
const SECRET_WORDS: [&str; 4] = ["key", "dsn", "pass", "pwd"];

/// Variables and headers whose values everybody may see, and that messages are not understood
/// without.
const PUBLIC_NAMES: [&str; 21] = [
    "accept",
    "accept-encoding",
    "accept-language",
    "app_env",
    "bundle_gemfile",
    "connection",
    "content-type",
    "home",
    "host",
    "lang",
    "lc_all",
    "ld_preload",
    "node_env",
    "path",
    "rack_env",
    "rails_env",
    "rubyopt",
    "tz",
    "user",
    "user-agent",
    "x-forwarded-proto",
];

/// A part of a secret value that may be printed alone: a token without its scheme, one cookie.
const LEAST_LENGTH_OF_PART: usize = 8;

/// A shorter value is found in too much that is not secret.
const LEAST_LENGTH: usize = 6;

/// Of a value whose variable's name says that it is secret.
const LEAST_LENGTH_NAMED: usize = 4;

/// A private key as a text (PEM, RFC 7468): what stands in the lines around it.
const PRIVATE_KEY: &str = "PRIVATE KEY";
const KEY_BEGINS: &str = "-----BEGIN ";
const KEY_ENDS: &str = "-----END ";

/// Values to be masked wherever they stand.
#[derive(Clone, Default)]
pub struct Secrets {
    /// The longest first, so that none is masked in part.
    values: Vec<String>,
}

/// Says how many, and none.
impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Secrets({} {HIDDEN})", self.values.len())
    }
}

impl Secrets {
    /// With the values of variables that the user gave the app, which are secret unless everybody
    /// may see them.
    pub fn with_given<'a>(self, variables: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let is_public = |name: &str, value: &str| {
            let is_plain = value.parse::<f64>().is_ok() || matches!(value, "true" | "false");
            let is_named = PUBLIC_NAMES.contains(&&*name.to_ascii_lowercase());
            !says_secret(name) && (is_plain || is_named)
        };
        let given = variables.into_iter().filter(|(name, value)| !is_public(name, value));
        self.with_variables(given)
    }

    /// With the values of variables that are inherited, where their names say that these are
    /// secret, and with passwords in URLs.
    pub fn with_inherited<'a>(
        self,
        variables: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Self {
        let is_secret =
            |(name, value): &(&str, &str)| says_secret(name) || user_info_of(value).is_some();
        self.with_variables(variables.into_iter().filter(is_secret))
    }

    fn with_variables<'a>(self, variables: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        self.with(variables.flat_map(|(name, value)| values_of(name, value)))
    }

    /// With what requests carry: the values of their headers, and their bodies.
    pub fn with_requests(self, targets: &[Target]) -> Self {
        let headers = targets.iter().flat_map(|target| &target.headers);
        let bodies = targets.iter().filter_map(|it| std::str::from_utf8(&it.body).ok());
        self.with_given(headers.map(|(name, value)| (&**name, &**value))).with_values(bodies)
    }

    /// With these, such as bodies of requests.
    pub fn with_values<'a>(self, values: impl IntoIterator<Item = &'a str>) -> Self {
        let values = values.into_iter().map(str::trim).filter(|value| value.len() >= LEAST_LENGTH);
        self.with(values.map(str::to_string))
    }

    /// Each of them, and the lines of one that has several: what is printed is masked line by line.
    fn with(mut self, values: impl Iterator<Item = String>) -> Self {
        for value in values {
            let lines = value.lines().map(str::trim).filter(|_| value.trim().contains('\n'));
            let lines = lines.filter(|line| line.len() >= LEAST_LENGTH_OF_PART);
            self.values.extend(lines.map(str::to_string));
            self.values.push(value);
        }
        self.values.sort_by(|a, b| b.len().cmp(&a.len()).then(a.cmp(b)));
        self.values.dedup();
        self
    }

    /// The lines of a text with every secret replaced. A private key is one line.
    pub fn mask_lines(&self, lines: &[String]) -> Vec<String> {
        let mut shown = Vec::new();
        let mut is_key = false;
        for line in lines {
            let is = |edge: &str| line.contains(edge) && line.contains(PRIVATE_KEY);
            let (begins, ends) = (is(KEY_BEGINS), is(KEY_ENDS));
            match (is_key || begins, ends) {
                // The beginning may lie before the lines that were read.
                (false, true) => shown = vec![HIDDEN.to_string()],
                (true, _) if !is_key => shown.push(HIDDEN.to_string()),
                (true, _) => {}
                (false, false) => shown.push(self.mask(line)),
            }
            is_key = (is_key || begins) && !ends;
        }
        shown
    }

    /// A line with every secret replaced.
    pub fn mask(&self, line: &str) -> String {
        let mut masked = Cow::Borrowed(line);
        for value in self.values.iter().filter(|value| line.contains(value.as_str())) {
            masked = Cow::Owned(masked.replace(value.as_str(), HIDDEN));
        }
        mask_named(&mask_authorization(&mask_user_info(&masked)))
    }
}

/// What is secret of a variable's value: the whole, the password in a URL, and of one that says
/// that it is secret its parts and the password in a basic authorization.
fn values_of(name: &str, value: &str) -> Vec<String> {
    let is_named = says_secret(name);
    let password = user_info_of(value).and_then(|info| info.split_once(':'));
    let least = if is_named { LEAST_LENGTH_NAMED } else { LEAST_LENGTH };
    let mut found = vec![(value.to_string(), least)];
    found.extend(password.map(|(_, password)| (password.to_string(), LEAST_LENGTH_NAMED)));
    if is_named {
        let parts = value.split([' ', ';', '=', ',']);
        found.extend(parts.map(|part| (part.to_string(), LEAST_LENGTH_OF_PART)));
        found.extend(password_of_basic(value).map(|password| (password, LEAST_LENGTH_NAMED)));
    }
    found.into_iter().filter(|(text, least)| text.len() >= *least).map(|(text, _)| text).collect()
}

/// Of `Basic dXNlcjpwYXNzd29yZA==` (RFC 7617).
fn password_of_basic(value: &str) -> Option<String> {
    let decoded = BASE64_STANDARD.decode(value.split(' ').next_back()?).ok()?;
    Some(String::from_utf8(decoded).ok()?.split_once(':')?.1.to_string())
}

/// Does a variable of this name hold a secret?
fn says_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_NAMES.iter().any(|word| name.contains(word))
        || name.split(['_', '-']).any(|word| SECRET_WORDS.contains(&word))
}

/// What ends a URL in a text. A password that should have been encoded may hold anything else.
fn ends_url(c: char) -> bool {
    c.is_whitespace() || "\"'`<>|\\,;)]}".contains(c)
}

/// `user:password`, where it stands after the scheme of a URL.
fn user_info(after_scheme: &str) -> Option<&str> {
    let whole = after_scheme.split(ends_url).next()?;
    whole.rsplit_once('@').map(|(info, _)| info).filter(|info| !info.is_empty())
}

fn user_info_of(url: &str) -> Option<&str> {
    user_info(url.split_once("://")?.1)
}

/// `scheme://[hidden]@host`, in every URL of the line.
fn mask_user_info(line: &str) -> String {
    let mut parts = line.split("://");
    let mut masked = parts.next().unwrap_or_default().to_string();
    for part in parts {
        masked.push_str("://");
        let hidden = user_info(part).map(|info| &part[info.len()..]);
        masked.push_str(hidden.map_or("", |_| HIDDEN));
        masked.push_str(hidden.unwrap_or(part));
    }
    masked
}

/// `Bearer [hidden]` and `Basic [hidden]`, where a token follows and no word does.
fn mask_authorization(line: &str) -> String {
    let is_token = |c: char| c.is_ascii_alphanumeric() || "-._~+/=".contains(c);
    let lower = line.to_ascii_lowercase();
    let (mut masked, mut at) = (String::new(), 0);
    let next = |scheme: &str, at: usize| Some(at + lower[at..].find(scheme)? + scheme.len());
    while let Some(begins) = ["bearer ", "basic "].iter().filter_map(|it| next(it, at)).min() {
        let rest = &line[begins..];
        let token = &rest[..rest.find(|c| !is_token(c)).unwrap_or(rest.len())];
        masked.push_str(&line[at..begins]);
        masked.push_str(if is_no_word(token) { HIDDEN } else { token });
        at = begins + token.len();
    }
    masked + &line[at..]
}

/// Long, and with a sign, a digit or a capital where words have none.
fn is_no_word(token: &str) -> bool {
    let has_other = |c: char| c.is_ascii_digit() || c.is_ascii_uppercase() || "=_.+/".contains(c);
    token.len() >= 8 && token.trim_end_matches('.').chars().skip(1).any(has_other)
}

/// `password=[hidden]`, `"token" => "[hidden]"`, `secret_key_base: [hidden]`, and the whole value
/// of a header `Authorization` or `Cookie`.
fn mask_named(line: &str) -> String {
    let is_name = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    let mut masked = String::new();
    let mut rest = line;
    while let Some(start) = rest.find(is_name) {
        let length = rest[start..].find(|c| !is_name(c)).unwrap_or(rest.len() - start);
        let (name, after) = rest[start..].split_at(length);
        masked.push_str(&rest[..start + length]);
        rest = after;
        let is_header = ["authorization", "cookie"]
            .iter()
            .any(|header| name.to_ascii_lowercase().replace('-', "_").ends_with(header));
        if !is_header && !says_secret(name) {
            continue;
        }
        let Some(between) = separator(after) else { continue };
        let value = &after[between..];
        let ends = |c: char| if is_header { "\"'`".contains(c) } else { ends_url(c) || c == '&' };
        let length = value.find(ends).unwrap_or(value.len());
        if length >= LEAST_LENGTH_NAMED {
            masked.push_str(&after[..between]);
            masked.push_str(HIDDEN);
            rest = &value[length..];
        }
    }
    masked + rest
}

/// Bytes of what stands between a name and its value: quotes, blanks, and one of `=`, `:` and `=>`.
/// A word and a colon without a blank is no pair: `credentials:edit`.
fn separator(after: &str) -> Option<usize> {
    let blank = |text: &str| text.len() - text.trim_start_matches([' ', '\t']).len();
    let quote = |text: &str| usize::from(text.starts_with(['"', '\'', '`']));
    let mut at = quote(after);
    let is_quoted = at > 0;
    at += blank(&after[at..]);
    let sign = ["=>", "=", ":"].into_iter().find(|sign| after[at..].starts_with(sign))?;
    at += sign.len();
    let blanks = blank(&after[at..]);
    at += blanks;
    let quotes = quote(&after[at..]);
    let is_pair = sign != ":" || is_quoted || blanks > 0 || quotes > 0;
    is_pair.then_some(at + quotes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn masked(line: &str) -> String {
        Secrets::default().mask(line)
    }

    #[test]
    fn what_is_written_as_secrets_are_is_masked_and_the_rest_is_not() {
        for (line, shown) in [
            ("bad URI: \"postgres://u:pw@db/shop\"", "bad URI: \"postgres://[hidden]@db/shop\""),
            ("bad URI: mysql2://u:p#w/d@db/shop now", "bad URI: mysql2://[hidden]@db/shop now"),
            ("GET http://127.0.0.1:9292/a?b=c@d.e", "GET http://[hidden]@d.e"),
            (
                "no route to http://db.internal:5432/shop",
                "no route to http://db.internal:5432/shop",
            ),
            ("Authorization: Bearer abc.def-123", "Authorization: [hidden]"),
            ("got bearer eyJhbGciOi.x from", "got bearer [hidden] from"),
            ("the bearer of this", "the bearer of this"),
            ("Basic Authentication failed.", "Basic Authentication failed."),
            ("Basic am9lOmFiYw== and basic x", "Basic [hidden] and basic x"),
            ("\"HTTP_COOKIE\"=>\"a=1; b=2\", \"x\"=>1", "\"HTTP_COOKIE\"=>\"[hidden]\", \"x\"=>1"),
            ("password=hunter2&user=joe", "password=[hidden]&user=joe"),
            ("{:password=>\"hunter2\", :user=>1}", "{:password=>\"[hidden]\", :user=>1}"),
            ("{\"api_key\": \"sk_live_1\"}", "{\"api_key\": \"[hidden]\"}"),
            ("SECRET_KEY_BASE=0123abcd rails", "SECRET_KEY_BASE=[hidden] rails"),
            ("RAILS_MASTER_KEY: abcdef", "RAILS_MASTER_KEY: [hidden]"),
            ("run bin/rails credentials:edit", "run bin/rails credentials:edit"),
            ("unexpected token at 'x'", "unexpected token at 'x'"),
            ("KeyError: key not found: \"STRIPE\"", "KeyError: key not found: \"STRIPE\""),
            (
                "Missing `secret_key_base` for 'production'",
                "Missing `secret_key_base` for 'production'",
            ),
        ] {
            assert_eq!(masked(line), shown);
        }
    }

    #[test]
    fn a_private_key_is_one_hidden_line_also_where_its_beginning_is_not_there() {
        let lines = |text: &str| text.lines().map(String::from).collect::<Vec<_>>();
        let key = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nxyz\n-----END RSA PRIVATE KEY-----";
        let key = format!("before\n{key}\nafter");
        let shown = Secrets::default().mask_lines(&lines(&key));
        assert_eq!(shown, ["before", HIDDEN, "after"]);
        let cut = Secrets::default().mask_lines(&lines("xyz\n-----END PRIVATE KEY-----\nafter"));
        assert_eq!(cut, [HIDDEN, "after"]);
        let open = Secrets::default().mask_lines(&lines("-----BEGIN PRIVATE KEY-----\nabc"));
        assert_eq!(open, [HIDDEN]);
    }

    #[test]
    fn variables_that_say_nothing_of_a_secret_stay_readable() {
        let given = [("RAILS_ENV", "production"), ("POOL", "1000000"), ("REGION", "eu-west-1")];
        let secrets = Secrets::default().with_given(given);
        assert_eq!(
            secrets.mask("production has 1000000 in eu-west-1"),
            "production has 1000000 in [hidden]"
        );
        let inherited = [("REGION", "eu-west-2"), ("GITHUB_TOKEN", "ghp_12345")];
        let secrets = Secrets::default().with_inherited(inherited);
        assert_eq!(secrets.mask("eu-west-2 ghp_12345"), "eu-west-2 [hidden]");
        let url = [("DATABASE_URL", "postgres://u:s3cretpw@db/shop")];
        let secrets = Secrets::default().with_inherited(url);
        assert_eq!(secrets.mask("no entry for s3cretpw"), "no entry for [hidden]");
        assert_eq!(format!("{secrets:?}"), "Secrets(2 [hidden])");
    }

    #[test]
    fn a_headers_token_is_masked_without_its_scheme_too() {
        let headers = [
            ("Authorization", "Basic am9lOnMzY3JldHB3"),
            ("Cookie", "_session=abcdefgh12; a=b"),
            ("Host", "shop.example"),
        ];
        let secrets = Secrets::default().with_given(headers);
        let said = "joe s3cretpw abcdefgh12 shop.example";
        assert_eq!(secrets.mask(said), "joe [hidden] [hidden] shop.example");
    }

    proptest! {
        #[test]
        fn no_given_value_stands_in_what_is_shown(
            before in "[ -~]{0,40}",
            after in "[ -~]{0,40}",
            secret in "[A-Za-z0-9_/+=.-]{8,40}",
        ) {
            let secrets = Secrets::default().with_given([("API_KEY", secret.as_str())]);
            let shown = secrets.mask(&format!("{before}{secret}{after}"));
            prop_assert!(!shown.contains(&secret), "{shown}");
        }
    }
}
