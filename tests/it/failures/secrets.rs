//! What an app prints when it fails holds what it was given: nothing of that is kept or shown.

use std::fs;
use std::path::{Path, PathBuf};

use super::killed::random;
use super::site::Running;
use super::*;
use crate::place::title;
use crate::serve;
use crate::sessions::push;

/// Part of every planted secret.
const PLANTED: &str = "pl4nted";

/// Puts all of them together, as an app that shows its environment would.
const ALL: &str =
    "all = ENV.values_at('SHOP_REGION', 'PAYMENT_TOKEN', 'DATABASE_URL', 'CACHE').join(' ')\n";

/// The apps, with a text that is shown of what each prints.
fn apps() -> [(&'static str, &'static str, String); 4] {
    let ok = "run ->(env) { [200, {}, ['ok']] }\n";
    let page = "run ->(env) { warn(\"asked with #{env['HTTP_X_KEY']}\"); [500, {}, ['no']] }\n";
    let dies = "served = 0\n\
                run ->(env) do\n\
                  (warn(\"given #{all}\"); exit!(7)) if (served += 1) > 40\n\
                  [200, {}, ['']]\n\
                end\n";
    [
        ("config.ru", "no such thing", format!("{ALL}raise \"no such thing: #{{all}}\"\n")),
        (
            "config/puma.rb",
            "no such setting",
            format!("{ALL}raise \"no such setting: #{{all}}\"\n{ok}"),
        ),
        ("config.ru", "asked with", page.to_string()),
        ("config.ru", "given", format!("{ALL}{dies}")),
    ]
}

#[test]
fn nothing_that_an_app_was_given_is_kept_or_shown_of_what_it_prints() {
    for (file, said, text) in apps() {
        let ok = ("config.ru", "run ->(env) { [200, {}, ['ok']] }\n");
        let site = Site::new(&[ok, (file, &text)]);
        let outputs = ["html=out.html", "markdown=out.md", "junit=out.xml", "json=out.json"];
        let outputs = outputs.iter().flat_map(|output| ["-o", output]);
        let tune = ["tune", "--workers", "1", "--threads", "5", "--budget", "20s"];
        let given = ["--env", "SHOP_REGION=pl4nted-region", "-H", "X-Key: pl4nted-header"];
        let given = [&given[..], &["--env", "CACHE=redis://joe:pl4nted#pw@127.0.0.1/0"]].concat();
        let arguments: Vec<&str> = tune.into_iter().chain(given).chain(outputs).collect();
        let mut command = site.command(&arguments);
        command.env("PAYMENT_TOKEN", "pl4nted-token");
        command.env("DATABASE_URL", "postgres://joe:pl4nted-pw@127.0.0.1/shop");
        let ended = Running::begin(command).end();
        ended.assert_code(1).assert_says(&[said, "[hidden]"]);
        for shown in [&ended.stdout, &ended.stderr] {
            assert!(!shown.contains(PLANTED), "{file}: {shown}");
        }
        let of_report = site.run(&["report", "last", "--json"]);
        // Settings that cannot be read begin no session.
        of_report.assert_code(if file == "config/puma.rb" { 2 } else { 0 });
        assert!(!of_report.stdout.contains(PLANTED), "{}", of_report.stdout);
        let files = files_below(&site.path("app"));
        assert!(files.iter().any(|path| path.ends_with("sweetspot.db")), "{files:?}");
        for path in files.iter().filter(|path| !path.ends_with(file)) {
            let bytes = fs::read(path).unwrap();
            let is_there = memchr::memmem::find(&bytes, PLANTED.as_bytes()).is_some();
            assert!(!is_there, "{file}: in {}", path.display());
        }
    }
}

/// Shows its environment, and what it is asked with; dies after some requests.
const TELLING: &str = "
names = %w[SHOP_REGION SIGNING_KEY LEGACY_URL STRIPE_KEY_LIVE PAYMENT_TOKEN DATABASE_URL]
warn \"began with #{ENV.values_at(*names).join(' ')}\"
served = 0
run ->(env) do
  asked = env.values_at('HTTP_AUTHORIZATION', 'HTTP_COOKIE', 'HTTP_X_KEY').join(' ')
  warn \"asked with #{asked} #{env['rack.input']&.read}\"
  exit!(7) if (served += 1) > 60
  next [200, {}, ['']] unless env['PATH_INFO'] == '/leave'
  [302, { 'location' => \"/to/#{ENV['SHOP_REGION']}\" }, []]
end
";

/// Values that nobody may see, each other than all others.
struct Secrets {
    seed: u64,
    made: Vec<String>,
}

impl Secrets {
    /// One more, of signs that need no quotes in a plan file.
    fn one(&mut self) -> String {
        const SIGNS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+.-";
        let length = 9 + (random(&mut self.seed) * 20.0) as usize;
        let sign = |seed: &mut u64| SIGNS[(random(seed) * (SIGNS.len() as f64 - 0.01)) as usize];
        let text: Vec<u8> = (0..length).map(|_| sign(&mut self.seed)).collect();
        // Not a number, which stays readable.
        let secret = format!("q{}", String::from_utf8(text).unwrap());
        self.made.push(secret.clone());
        secret
    }

    /// Fails where one of them stands in what was printed, written or sent.
    #[track_caller]
    fn check(&self, what: &str, bytes: &[u8]) {
        for secret in &self.made {
            let found = memchr::memmem::find(bytes, secret.as_bytes());
            assert!(found.is_none(), "seed {}: {secret} in {what}", self.seed);
        }
    }
}

/// The plan, and the variables that are inherited.
fn planted(secrets: &mut Secrets, ready: &str) -> (String, [(&'static str, String); 3]) {
    let mut one = || secrets.one();
    let plan = format!(
        "workers = 1\nthreads = 5\nbudget = \"20s\"\nready = \"{ready}\"\n\
         [env]\nSHOP_REGION = \"{}\"\nLEGACY_URL = \"redis://joe:{}@127.0.0.1/0\"\n\
         SIGNING_KEY = \"\"\"\n-----BEGIN PRIVATE KEY-----\n{}\n{}\n\
         -----END PRIVATE KEY-----\n\"\"\"\n\
         [headers]\nAuthorization = \"Bearer {}\"\nCookie = \"_shop={}; theme={}\"\n\
         [[target]]\nmethod = \"POST\"\npath = \"/orders\"\nbody = \"card={}\"\n\
         headers = {{ X-Key = \"{}\" }}\n",
        one(),
        one(),
        one(),
        one(),
        one(),
        one(),
        one(),
        one(),
        one(),
    );
    let inherited = [
        ("STRIPE_KEY_LIVE", one()),
        ("PAYMENT_TOKEN", one()),
        ("DATABASE_URL", format!("postgres://joe:{}@127.0.0.1/shop", one())),
    ];
    (plan, inherited)
}

#[test]
fn no_secret_of_any_input_is_in_any_output_while_it_runs_or_afterwards() {
    for (seed, ready, said) in [(7, "/", "asked with"), (8, "/leave", "302")] {
        let site = Site::new(&[("config.ru", TELLING)]);
        let mut secrets = Secrets { seed, made: Vec::new() };
        let (plan, inherited) = planted(&mut secrets, ready);
        fs::write(site.path("app/sweetspot.toml"), plan).unwrap();
        let mut command = site.command(&["tune", "--slo", "p95<1s"]);
        command.envs(inherited);
        let mut running = Running::begin(command);
        while !running.has_ended() {
            check_at_work(&site, &secrets);
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        let ended = running.end();
        ended.assert_code(1).assert_says(&[said]);
        secrets.check("its output", ended.stdout.as_bytes());
        secrets.check("its messages", ended.stderr.as_bytes());
        check_outputs(&site, &secrets);
    }
}

/// Command lines of ours and of what we started, and the store while it is written.
fn check_at_work(site: &Site, secrets: &Secrets) {
    for pid in site.nothing_left.processes() {
        secrets.check("a command line", title(pid).as_bytes());
    }
    if let Ok(entries) = fs::read_dir(site.path("app/.sweetspot")) {
        for path in entries.flatten().map(|entry| entry.path()) {
            secrets.check(&path.display().to_string(), &fs::read(&path).unwrap_or_default());
        }
    }
}

/// Every form in which a session is written, shown, pushed or served, and every file.
fn check_outputs(site: &Site, secrets: &Secrets) {
    let (collector, pushed) = push::collector(vec![push::reply("200 OK", "", "{}")]);
    let to = format!("otlp=http://{collector}");
    let formats = ["text", "markdown", "json", "csv", "html", "junit", "prometheus"]
        .map(|format| format!("{format}=out.{format}"));
    let mut report = vec!["report", "last", "--push", &to];
    formats.iter().for_each(|output| report.extend(["-o", output]));
    for arguments in [&report[..], &["sessions", "list", "--json"], &["report", "last", "--json"]] {
        let ended = site.run(arguments);
        ended.assert_code(0);
        secrets.check("what a verb prints", [ended.stdout, ended.stderr].concat().as_bytes());
    }
    let request = pushed.recv().unwrap();
    secrets.check("what is pushed", (request.head.join("\n") + &request.body).as_bytes());
    let served = serve::Running::on(site.store());
    for path in ["", "api/sessions", "api/sessions/1"] {
        let (status, body) = served.ask(path);
        assert_eq!(status, 200, "{path}: {body}");
        secrets.check(&format!("what is served at /{path}"), body.as_bytes());
    }
    let files = files_below(&site.path("app"));
    assert!(files.len() > formats.len() + 2, "{files:?}");
    for path in files.iter().filter(|path| !path.ends_with("sweetspot.toml")) {
        secrets.check(&path.display().to_string(), &fs::read(path).unwrap());
    }
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    super::root::below(folder).into_iter().filter(|path| !path.is_dir()).collect()
}

#[test]
fn the_store_is_the_users_own_and_left_alone_by_version_control() {
    let site = Site::new(&[("config.ru", "raise 'boom'\n")]);
    site.run(&["tune", "--workers", "1", "--threads", "5", "--budget", "20s"]).assert_code(1);
    let mode = |name: &str| {
        let permissions = fs::metadata(site.path(name)).unwrap().permissions();
        std::os::unix::fs::PermissionsExt::mode(&permissions) & 0o777
    };
    assert_eq!(mode("app/.sweetspot"), 0o700);
    assert_eq!(mode("app/.sweetspot/sweetspot.db"), 0o600);
    assert_eq!(fs::read_to_string(site.path("app/.sweetspot/.gitignore")).unwrap(), "*\n");
}
