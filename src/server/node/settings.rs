//! A configuration as Node's users write it down.
//!
//! In: an app, the variable that it follows, and a configuration. Out: variables, lines for the
//! app, advice. Only computes.

use crate::server::{App, Recommended};
use crate::terms::{
    Advice, Configuration, CoreCount, Cores, DatabaseAdvice, RunningAdvice, Secrets, SettingAdvice,
    Settings, SettingsPlace, Stated,
};

pub(super) fn of(recommended: Recommended<'_>) -> Settings {
    let Recommended { app, inspection, configuration, cores, .. } = recommended;
    let workers = configuration.workers;
    let variable = inspection.obeys.workers.clone();
    Settings {
        place: Some(match (&variable, workers.get()) {
            (None, 2..) => SettingsPlace::InNewFile.into(),
            _ => SettingsPlace::OnCommandLine.into(),
        }),
        config_snippet: match &variable {
            Some(name) => format!("{name}={workers} {}\n", node(app, &app.entry)),
            None if workers.get() == 1 => format!("{}\n", node(app, &app.entry)),
            None => cluster(app, configuration, cores),
        },
        advice: advice(app, variable.is_some(), configuration),
        env: variable.into_iter().map(|name| (name, workers.to_string())).collect(),
        ..Settings::default()
    }
}

/// The command that runs a file as the app's own is run; a value that its name says is secret is
/// not repeated.
fn node(app: &App, file: &str) -> String {
    let shown = |(name, value): (&String, &String)| {
        let secrets = Secrets::default().with_inherited([(&**name, &**value)]);
        format!("{name}={}", word(&secrets.mask(value)))
    };
    let env = app.start_env.iter().map(shown);
    let flags = app.start_flags.iter().map(|flag| word(flag));
    let arguments = app.start_arguments.iter().map(|argument| word(argument));
    let words = env.chain(["node".into()]).chain(flags).chain([file.into()]).chain(arguments);
    words.collect::<Vec<_>>().join(" ")
}

/// A word for a shell, in quotes where it needs them.
fn word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "+-./:@_=,%".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.into(),
        // No argument holds a zero byte, the one thing that cannot be quoted.
        false => shlex::try_quote(text).unwrap_or_default().into_owned(),
    }
}

/// A file that makes the workers; started in place of the app's own.
fn cluster(app: &App, configuration: Configuration, cores: Cores) -> String {
    let workers = configuration.workers;
    let per_core = f64::from(workers.get()) / cores.get();
    format!(
        "// cluster.cjs; start it in place of {entry}: {command}\n\
         const cluster = require('node:cluster');\n\
         cluster.setupPrimary({{ exec: require.resolve('./{entry}') }});\n\
         for (let i = 0; i < (process.env.WEB_CONCURRENCY || {workers}); i += 1) cluster.fork();\n\
         let ending = false;\n\
         cluster.on('exit', () => {{ if (!ending) cluster.fork(); }});\n\
         process.on('SIGTERM', () => {{\n\
         \x20 ending = true;\n\
         \x20 for (const worker of Object.values(cluster.workers)) worker.kill();\n\
         }});\n\n\
         // The same ratio on a machine of another size (this one has {cores} cores):\n\
         //   Math.max(1, Math.round({per_core:.2} * os.availableParallelism()))\n",
        entry = app.entry.trim_start_matches("./"),
        command = node(app, "cluster.cjs"),
    )
}

fn advice(app: &App, follows: bool, configuration: Configuration) -> Vec<Stated<Advice>> {
    let workers = configuration.workers.get();
    let is_in_the_way = !follows && workers > 1;
    let makes_none =
        is_in_the_way.then(|| SettingAdvice::MakesNoWorkers { entry: app.entry.clone(), workers });
    let rest: [Advice; 3] = [
        DatabaseAdvice::NodePoolPerWorker { workers }.into(),
        RunningAdvice::NodePoolOfFour.into(),
        RunningAdvice::CoreCountIgnoresQuota { count: CoreCount::Node }.into(),
    ];
    makes_none.map(Advice::from).into_iter().chain(rest).map(Stated::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Language;
    use crate::server::Framework;
    use crate::server::node::Node;
    use crate::server::tests::{self, inspection, obeying};

    fn settings(variable: Option<&str>, workers: u16) -> Settings {
        let app = App::new("/srv/shop", Framework::Node, "server.js");
        let inspection = inspection(1, 1, "20.1.0", obeying(variable, None));
        tests::settings(&Node, &app, &inspection, workers, 1)
    }

    #[test]
    fn the_variable_is_printed_only_where_the_app_follows_it() {
        let follows = settings(Some("WEB_CONCURRENCY"), 3);
        assert_eq!(follows.env["WEB_CONCURRENCY"], "3");
        assert!(!follows.config_snippet.contains("cluster"), "{follows:?}");
        let plain = settings(None, 3);
        assert!(plain.env.is_empty());
        assert!(plain.config_snippet.contains("require.resolve('./server.js')"), "{plain:?}");
        assert!(plain.config_snippet.contains("Math.round(1.50 * os"), "{plain:?}");
        let makes_none = SettingAdvice::MakesNoWorkers { entry: "server.js".into(), workers: 3 };
        assert_eq!(plain.advice[0], Advice::from(makes_none).into());
        let one = settings(None, 1);
        assert_eq!(one.config_snippet, "node server.js\n");
        let mut app = App::new("/srv/shop", Framework::Node, "server.js");
        app.start_flags = vec!["--max-old-space-size=400".into()];
        let inspection = inspection(1, 1, "20.1.0", obeying(None, None));
        let flagged = tests::settings(&Node, &app, &inspection, 1, 1);
        assert_eq!(flagged.config_snippet, "node --max-old-space-size=400 server.js\n");
        app.start_env = [
            ("NODE_PATH".into(), "my lib".into()),
            ("STORE_URL".into(), "redis://u:pa55word@store".into()),
        ]
        .into();
        app.start_arguments = vec!["serve".into()];
        let scripted = tests::settings(&Node, &app, &inspection, 2, 1);
        let command = "NODE_PATH='my lib' STORE_URL='[hidden]' node \
                       --max-old-space-size=400 cluster.cjs serve\n";
        assert!(scripted.config_snippet.contains(command), "{scripted:?}");
        assert!(!Language::DATA.say_each(&one.advice).join("\n").contains("pm2"), "{one:?}");
    }
}
