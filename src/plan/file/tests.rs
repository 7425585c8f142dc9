use proptest::prelude::*;

use super::*;

fn parsed(text: &str) -> PlanFile {
    match parse(text, Path::new("sweetspot.toml")) {
        Ok(file) => file,
        Err(error) => panic!("{text}: {error}"),
    }
}

fn refused(text: &str) -> String {
    match parse(text, Path::new("sweetspot.toml")) {
        Ok(_) => panic!("{text} must be refused"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn every_setting_is_taken_as_text_with_its_line() {
    let is_setting = |key: &Key| !matches!(key.row().form, Form::Table(_) | Form::Flag);
    let settings = Key::ALL.iter().copied().filter(is_setting);
    for key in settings {
        for example in key.row().example.split(" or ") {
            let file = parsed(&format!("# a comment\n\n{} = {example}\n", key.name()));
            let entry = &file.values[&key];
            assert_eq!(entry.line, 3, "{}", key.name());
            let expected = example.trim_matches(['"', '[', ']']).replace(", ", ",");
            assert_eq!(entry.value, expected, "{}", key.name());
        }
    }
}

#[test]
fn underscores_stand_for_dashes() {
    assert_eq!(parsed("db_connections = 20").values[&Key::DbConnections].value, "20");
}

#[test]
fn numbers_keep_their_value_in_every_notation() {
    for (text, expected) in [("0x10", "16"), ("1_000", "1000"), ("+2", "2"), ("nan", "nan")] {
        assert_eq!(parsed(&format!("cpus = {text}")).values[&Key::Cpus].value, expected);
    }
    assert_eq!(parsed("cpus-per-pod = 0.5").values[&Key::CpusPerPod].value, "0.5");
    assert_eq!(parsed("workers = []").values[&Key::Workers].value, "");
    assert_eq!(parsed("workers = -1").values[&Key::Workers].value, "-1");
}

#[test]
fn targets_are_read_from_tables_and_texts() {
    let file = parsed(
        "[[target]]\npath = \"/\"\n[[target]]\nmethod = \"post\"\npath = \"/orders\"\nweight = 3\n\
         slo = \"p95<2s,errors<1%\"\nheaders = { Accept = \"text/html\" }\nbody = \"a=1\"\n",
    );
    let targets = file.targets.unwrap();
    assert_eq!(targets.line, 1);
    assert_eq!(targets.value[0].to_string(), "GET /");
    let post = &targets.value[1];
    assert_eq!((post.method.as_str(), post.weight, post.body.as_slice()), ("POST", 3, &b"a=1"[..]));
    assert_eq!(post.slo, Some("p95<2s,errors<1%".parse().unwrap()));
    assert_eq!(post.headers, [("Accept".to_string(), "text/html".to_string())]);

    let file = parsed("target = [\"/\", \"POST /orders weight=3\"]");
    assert_eq!(file.targets.unwrap().value.len(), 2);
}

#[test]
fn headers_for_every_target_are_a_table() {
    let file = parsed("[headers]\nAuthorization = \"Bearer x\"\nAccept = \"text/html\"\n");
    let names: Vec<_> = file.headers.unwrap().value.into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["Authorization", "Accept"], "in the order written");
}

#[test]
fn what_is_wrong_is_named_with_key_line_and_way_out() {
    for (text, expected) in [
        (
            "server = \"puma\"\nworker = \"1..4\"",
            "sweetspot.toml line 2: unknown key 'worker' (did you mean 'workers'?); known keys: \
             app, entry, server, proxy, start, stop-signal, apply, restore, url, ready-command, \
             observe, from, today, allow-public, kamal, kamal-destination, ecs, deployment, image, \
             image-pull-policy, port, pods, cpus-per-pod, pod-template, container, service, \
             workers, threads, targets, slo, goal, rate, price-per-core-hour, price-per-gib-hour, \
             cpus, memory, arrivals, connection, timeout, budget, soak, precision, place, \
             namespace, context, generator-image, generator-image-pull-policy, parallel, \
             generators, generator-cpus, probe, ready, boot-timeout, user, db-connections, seed, \
             store, env, headers, knob, target",
        ),
        ("colour = 1", "sweetspot.toml line 1: unknown key 'colour'; known keys: app,"),
        (
            "[[target]]\npath = \"/\"\nwieght = 2",
            "sweetspot.toml line 3: unknown key 'wieght' (did you mean 'weight'?); known keys of \
             [[target]]: method, path, weight, slo, headers, body",
        ),
        (
            "db-connections = 1\n\ndb_connections = 2",
            "sweetspot.toml line 3: 'db-connections' is set twice; keep one of the two",
        ),
        (
            "budget = 600",
            "sweetspot.toml line 1: budget is a whole number, but should be a value such as \
             \"10m\"",
        ),
        (
            "slo = true",
            "sweetspot.toml line 1: slo is true or false, but should be a value such as",
        ),
        ("workers = 1.5", "sweetspot.toml line 1: workers is a number with a fraction, but"),
        (
            "workers = [1, \"2\"]",
            "sweetspot.toml line 1: workers is a list, but should be a value such as",
        ),
        ("threads = 1979-05-27", "sweetspot.toml line 1: threads is a date or time"),
        ("seed = [1]", "sweetspot.toml line 1: seed is a list"),
        ("pods = [0.5]", "sweetspot.toml line 1: pods is a list, but should be a value such as"),
        ("cpus-per-pod = [\"1\"]", "sweetspot.toml line 1: cpus-per-pod is a list, but should be"),
        (
            "probe = \"yes\"",
            "sweetspot.toml line 1: probe is a text, but should be a value such as true",
        ),
        (
            "\n[target]\npath = \"/\"",
            "sweetspot.toml line 2: target is a table, but should be \
             written as [[target]]",
        ),
        ("target = []", "sweetspot.toml names no target"),
        ("target = [1]", "sweetspot.toml line 1: target is a whole number"),
        ("[[target]]\nmethod = \"GET\"", "sweetspot.toml line 1: this target has no 'path'; add"),
        (
            "[[target]]\npath = \"/\"\nmethod = \"GRAB\"",
            "sweetspot.toml line 3: method: 'GRAB' is no method we send; use one of GET,",
        ),
        ("[[target]]\npath = \"x\"", "sweetspot.toml line 2: path: the path 'x' does not begin"),
        ("[[target]]\npath = 1", "sweetspot.toml line 2: path is a whole number"),
        ("[[target]]\npath = \"/\"\nweight = 0", "sweetspot.toml line 3: weight: '0' is no weight"),
        (
            "[[target]]\npath = \"/\"\nweight = -3",
            "sweetspot.toml line 3: weight: '-3' is no weight",
        ),
        ("[[target]]\npath = \"/\"\nweight = \"2\"", "sweetspot.toml line 3: weight is a text"),
        (
            "[[target]]\npath = \"/\"\n\nslo = \"p95\"",
            "sweetspot.toml line 4: slo: 'p95' is no SLO term; write a quantile such as",
        ),
        ("[[target]]\npath = \"/\"\nslo = 2", "sweetspot.toml line 3: slo is a whole number, but"),
        (
            "target = [\n \"GET / slo=p95<1s slo=p95<2s\"]",
            "sweetspot.toml line 2: target: 'slo=' stands there twice",
        ),
        ("target = [\n \"/\",\n \"GET\"]", "sweetspot.toml line 3: target: the target names no"),
        ("headers = \"a: b\"", "sweetspot.toml line 1: headers is a text, but should be a table"),
        ("[headers]\n\"a b\" = \"c\"", "sweetspot.toml line 2: headers: 'a b' is no header name"),
        ("[headers]\nA = 1", "sweetspot.toml line 2: headers is a whole number"),
        ("seed = 1\nseed = 2", "sweetspot.toml line 2: "),
        ("slo = p95", "sweetspot.toml line 1: "),
        ("slo = \"p95", "sweetspot.toml line 1: "),
    ] {
        let error = refused(text);
        assert!(error.starts_with(expected), "{text}\n{error}");
    }
}

#[test]
fn secrets_in_a_wrong_plan_are_not_repeated() {
    for text in [
        "[headers]\nAuthorization = \"sec\\u0000ret\"",
        "target = [\"GET http://me:secret@app.test/\"]",
        "[[target]]\npath = \"/?token=secret x\"",
    ] {
        let error = refused(text);
        assert!(!error.contains("sec"), "{error}");
    }
}

/// Stands wherever a secret may stand.
const SECRET: &str = "s3cr3t";

/// Lines from which good and bad plans can be put together.
fn line() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "seed = 1",
        "worker = 2",
        "workers = [1, \"2\"]",
        "slo = true",
        "[headers]",
        "[[target]]",
        "[target]",
        "Authorization = \"Bearer s3cr3t\"",
        "Cookie = [\"s3cr3t\"]",
        "X-Key = \"s3cr3t\\u0000\"",
        "Content-Length = \"s3cr3t\"",
        "password = \"s3cr3t\"",
        "password = s3cr3t",
        "password = 's3cr3t",
        "method = \"GRAB\"",
        "path = \"/a?token=s3cr3t\"",
        "path = \"/a?token=s3cr3t x\"",
        "path = \"http://me:s3cr3t@app.test/\"",
        "body = \"s3cr3t\"",
        "body = { password = \"s3cr3t\" }",
        "headers = { Cookie = \"s3cr3t\", \"a b\" = \"s3cr3t\" }",
        "target = [\"POST /a?s3cr3t password=s3cr3t\"]",
        "weight = 0",
        "",
    ])
    .prop_map(str::to_string)
}

proptest! {
    #[test]
    fn an_error_names_its_line_and_repeats_no_secret(
        lines in prop::collection::vec(line(), 0..8)
    ) {
        if let Err(error) = parse(&lines.join("\n"), Path::new("sweetspot.toml")) {
            let error = error.to_string();
            prop_assert!(!error.contains(SECRET), "{error}");
            let names = |line: usize| error.starts_with(&format!("sweetspot.toml line {line}: "));
            prop_assert!((1..=lines.len()).any(names), "{error}");
        }
    }

    #[test]
    fn no_text_makes_it_panic(text in "(seed|target|headers|[\\[\\]{}=.\",\n a1é-]){0,24}") {
        let _either = parse(&text, Path::new("sweetspot.toml"));
    }
}

#[test]
fn variables_are_texts_or_numbers_and_their_values_are_not_repeated() {
    let file = parsed("[env]\nKEY = \"a=b\"\nWEB_CONCURRENCY = 3\n");
    let env = file.env.unwrap();
    assert_eq!(env.line, 1);
    let expected = [("KEY", "a=b"), ("WEB_CONCURRENCY", "3")];
    assert_eq!(env.value, expected.map(|(name, value)| (name.to_string(), value.to_string())));
    for (text, expected) in [
        ("env = \"A=1\"", "sweetspot.toml line 1: env is a text, but should be a table such as"),
        ("[env]\nA = true", "line 2: env is true or false, but should be a text such as"),
        ("[env]\n\"A B\" = \"s3cret\"", "line 2: env: 'A B' is no variable's name"),
    ] {
        let error = refused(text);
        assert!(error.contains(expected) && !error.contains("s3cret"), "{text}: {error}");
    }
}
