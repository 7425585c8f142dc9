//! The HTML report: what is in the file, what a hostile value becomes in it, and how large it gets.
//! What a browser makes of it is tested in `ui/test`.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;
use serde_json::{Value, json};
use sweetspot::report::page::{self, Assets};
use sweetspot::report::{Language, Story, fold};
use sweetspot::terms::{GeneratorDoubt, OwnGoal, PlanLine, PredictTable, Stated, Warning};

use crate::process::between;
use crate::schema::assert_on_page;
use crate::sessions::{long, sample};

/// As if the page had been built.
const BUILT: Assets = Assets { script: "window.drawn = true", style: "body{margin:0}" };
const EN: Language = Language::English;
const NOT_BUILT: Assets = Assets { script: "", style: "" };

fn story() -> Story {
    fold(&sample::events(), Some(sample::stored()))
}

/// The data that a file carries, as the page reads it; fails where its schema says otherwise.
fn data(file: &str) -> Value {
    let packed = between(file, "type=\"application/octet-stream;base64\">", "</script>");
    let bytes = STANDARD.decode(packed).unwrap();
    let mut json = String::new();
    GzDecoder::new(bytes.as_slice()).read_to_string(&mut json).unwrap();
    let page = serde_json::from_str(&json).unwrap();
    assert_on_page("Page", &page);
    page
}

#[test]
fn a_file_holds_all_that_the_session_knows() {
    let page = data(&page::render(&story(), None, &BUILT, EN));
    assert_eq!(page["format"], 2);
    let session = &page["session"];
    assert_eq!(session["app"], sample::APP);
    assert_eq!(session["limits"], json!([[0.95, 0.2]]));
    assert_eq!(session["trials"].as_array().unwrap().len(), 12);
    let cells = session["map"].as_array().unwrap();
    assert_eq!(cells.len(), 24, "4 x 6, each cell once");
    let cell = |workers: u64, threads: u64| {
        let is_it = |it: &&Value| it["workers"] == workers && it["threads"] == threads;
        cells.iter().find(is_it).unwrap().clone()
    };
    let chosen = cell(3, 5);
    assert_eq!((&chosen["state"], &chosen["mark"]), (&"measured".into(), &"chosen".into()));
    assert_eq!(chosen["rps_interval"], session["decision"]["capacity_rps_interval"]);
    assert_eq!(cell(1, 5)["mark"], "today");
    assert_eq!(cell(2, 8)["mark"], "equivalent");
    assert_eq!(cell(2, 3)["state"], "at_least");
    assert_eq!(cell(4, 1)["state"], "below");
    assert_eq!(cell(1, 1)["state"], "predicted");
    assert!(cell(1, 1)["rps_interval"].is_array());
    let (ruled_out, broken) = (cell(3, 16), cell(4, 16));
    assert_eq!(ruled_out["why"]["en"], "needs 48 database connections of 32");
    assert_eq!(ruled_out["why"]["ja"], "データベース接続が 48 必要です（上限 32）");
    let evidence = session["decision"]["limit"]["evidence"]["ja"].as_str().unwrap();
    assert!(session["text"]["ja"]["facts"].to_string().contains(evidence));
    let failure = session["failures"]["ja"][0][0].as_str().unwrap();
    assert!(failure.contains("起動しませんでした"), "{failure}");
    assert_eq!(broken["state"], "did_not_start");
    let headline = session["text"]["en"]["headline"].as_str().unwrap();
    assert!(headline.starts_with("Run 3 workers x 5 threads"), "{headline}");
    let trial = &session["trials"][2];
    assert_eq!(trial["detail"]["monitor"]["processes"][0]["cores"][0], 0.95);
    assert_eq!(trial["detail"]["monitor"]["queue"][0], 0);
    let long = fold(&long::events(1, 30), None);
    let spectrum = data(&page::render(&long, None, &BUILT, EN));
    let spectrum = &spectrum["session"]["trials"][0]["detail"]["spectrum"];
    let last = spectrum.as_array().unwrap().last().unwrap();
    assert_eq!(last, &json!([1.0, 0.012_351]), "the slowest, as its bucket tells");
}

#[test]
fn without_a_script_the_decision_and_the_tables_are_read() {
    for assets in [BUILT, NOT_BUILT] {
        let file = page::render(&story(), None, &assets, EN);
        let plain = between(&file, "<main id=\"static\">", "</main>");
        for said in [
            "<h1>Run 3 workers x 5 threads: it holds 412 requests/s within",
            "WEB_CONCURRENCY=3",
            "preload_app!",
            "<td>[412]</td>",
            "4 x 16: its database cannot be reached or does not exist",
            "Out-of-sync worker list",
            "<td>confirm</td>",
            "sweetspot.toml line 4",
        ] {
            assert!(plain.contains(said), "{said}\n{plain}");
        }
        assert_eq!(plain.contains("built without Node"), !assets.is_there());
    }
}

#[test]
fn a_file_in_japanese_says_so() {
    let file = page::render(&story(), None, &BUILT, Language::Japanese);
    assert!(file.contains("<html lang=\"ja\">"), "{}", &file[..200]);
    let plain = between(&file, "<main id=\"static\">", "</main>");
    assert!(plain.contains("ワーカー") && plain.contains("WEB_CONCURRENCY=3"), "{plain}");
    let text = &data(&file)["session"]["text"];
    assert!(text["ja"]["headline"].as_str().unwrap().contains("ワーカー"));
    assert!(text["en"]["headline"].as_str().unwrap().starts_with("Run 3 workers"));
}

/// The page's words in this document, by language.
fn words(document: &str) -> Value {
    let words = between(document, "<script id=\"words\" type=\"application/json\">", "</script>");
    serde_json::from_str(words).unwrap()
}

#[test]
fn every_document_has_the_page_s_words_and_the_page_s_own_tests_know_them() {
    let (shell, _) = page::shell(&BUILT);
    let words = words(&shell);
    assert_eq!(words, self::words(&page::render(&story(), None, &BUILT, EN)));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("ui/test/words.json");
    let text = serde_json::to_string_pretty(&words).unwrap() + "\n";
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == text, "{} differs; UPDATE_GOLDEN=1 writes it anew", path.display());
}

/// The names in braces.
fn places(text: &str) -> BTreeSet<&str> {
    text.split('{').skip(1).filter_map(|rest| rest.split('}').next()).collect()
}

#[test]
fn a_word_of_the_page_has_the_same_values_in_each_language_and_its_name_once() {
    let (shell, _) = page::shell(&BUILT);
    let words = words(&shell);
    let [en, ja] = ["en", "ja"].map(|language| words[language].as_object().unwrap());
    let named = between(&shell, "{\"en\":", ",\"ja\":").matches("\":\"").count();
    assert_eq!((en.len(), ja.len()), (named, named));
    assert_on_page("Words", &words["en"]);
    for (name, text) in en {
        let [text, other] = [text, &ja[name]].map(|it| it.as_str().unwrap());
        assert_eq!(places(text), places(other), "{name}");
    }
}

#[test]
fn a_file_lets_no_script_run_but_its_own_and_asks_nobody() {
    let file = page::render(&story(), None, &BUILT, EN);
    let policy = between(&file, "http-equiv=\"Content-Security-Policy\" content=\"", "\">");
    assert!(policy.starts_with("default-src 'none'; script-src 'sha256-"), "{policy}");
    assert!(policy.contains("style-src 'unsafe-inline'; img-src data:"), "{policy}");
    assert!(!policy.contains("connect-src"), "{policy}");
    assert_eq!(file.matches("<script").count(), 3, "the data, the words and the page");
    for address in ["http://", "https://", "src=", "href=", "@import", "url("] {
        assert!(!file.contains(address), "{address}");
    }
    let (shell, served) = page::shell(&BUILT);
    assert!(served.contains("connect-src 'self'") && !shell.contains("id=\"data\""), "{served}");
}

#[test]
fn every_goal_of_a_mix_has_its_limit_on_the_page() {
    for (goals, limits) in [
        ("p95<200ms; GET /a: p99<2s", serde_json::json!([[0.95, 0.2], [0.99, 2.0]])),
        ("GET /a: p95<2s", serde_json::json!([[0.95, 2.0]])),
    ] {
        let story = Story { goals: goals.parse().unwrap(), ..story() };
        let session = &data(&page::render(&story, None, &BUILT, EN))["session"];
        assert_eq!((&session["slo"], &session["limits"]), (&goals.into(), &limits));
    }
}

#[test]
fn values_from_outside_are_text_wherever_they_stand() {
    const EVIL: &str = "</script><script>alert(1)</script><!--\"'&\u{202e}🔥\u{1b}[31m";
    let mut story = story();
    story.app = EVIL.to_string();
    story.server = EVIL.to_string();
    let slo = "p95<1s".parse().unwrap();
    story.goals.own = vec![OwnGoal { target: EVIL.to_string(), slo }];
    story.error = Some(Stated::Verbatim(EVIL.to_string()));
    story.notes = vec![Stated::Verbatim(EVIL.to_string())];
    story.plan = vec![PlanLine::Verbatim(EVIL.into(), EVIL.into(), EVIL.into())];
    for warning in &mut story.warnings {
        *warning = Warning::verbatim("evil", EVIL, EVIL);
    }
    for (_, failure) in &mut story.boot_failures {
        failure.message = Stated::Verbatim(EVIL.to_string());
        failure.advice = Stated::Verbatim(EVIL.to_string());
        failure.last_lines = vec![EVIL.to_string()];
    }
    let decision = story.decision.as_mut().unwrap();
    decision.limit.evidence = Stated::Verbatim(EVIL.to_string());
    decision.limit.advice = Some(Stated::Verbatim(EVIL.to_string()));
    decision.settings.start = EVIL.to_string();
    decision.settings.env.insert(EVIL.to_string(), EVIL.to_string());
    decision.settings.config_snippet = EVIL.to_string();
    decision.settings.place = Some(Stated::Verbatim(EVIL.to_string()));
    decision.settings.advice = vec![Stated::Verbatim(EVIL.to_string())];
    for trial in &mut story.trials {
        trial.reason = Stated::Verbatim(EVIL.to_string());
        trial.limit.evidence = Stated::Verbatim(EVIL.to_string());
    }
    let file = page::render(&story, None, &BUILT, EN);
    assert_eq!(file.matches("<script").count(), 3, "the data, the words and the page");
    assert_eq!(file.matches("</script").count(), 3);
    assert!(!file.contains("<!--"), "no comment is opened");
    assert!(!file.contains(['\u{1b}', '\u{202e}']), "nothing turns the text around it");
    assert!(file.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "it is shown as text");
    // The page gets it as it is: it is the page that shows it as text.
    assert_eq!(data(&file)["session"]["app"], EVIL);
}

#[test]
fn sessions_without_a_decision_have_a_page_too() {
    for (events, said) in [
        (sample::hopeless_events(), "No configuration held any rate"),
        (sample::unfinished_events(), "This session has not ended"),
        (sample::invalid_events(), "Nothing can be concluded"),
        (sample::untold_events(), "could not be told"),
        (Vec::new(), "has not ended"),
    ] {
        let file = page::render(&fold(&events, None), None, &BUILT, EN);
        assert!(between(&file, "<main id=\"static\">", "</main>").contains(said), "{said}");
        assert!(data(&file)["session"]["decision"].is_null());
    }
}

#[test]
fn five_hundred_trials_of_two_minutes_stay_under_six_megabytes() {
    let story = fold(&long::events(500, 120), Some(sample::stored()));
    let file = page::render(&story, None, &BUILT, EN);
    // The page itself takes up to a megabyte of these.
    assert!(file.len() < 5_000_000, "{} bytes", file.len());
    assert_eq!(data(&file)["session"]["trials"].as_array().unwrap().len(), 500);
}

#[test]
fn predictions_for_the_sliders_travel_with_the_file() {
    let table = PredictTable { cores: vec![2.0], measured_cores: 2.0, ..PredictTable::default() };
    let page = data(&page::render(&story(), Some(&table), &BUILT, EN));
    assert_eq!(page["session"]["predict"]["cores"], json!([2.0]));
}

#[test]
fn an_experiment_says_its_doubts_in_each_language() {
    let latency = json!({ "mean": 0.03, "p50": 0.02, "p90": null, "p95": 0.1, "p99": null,
        "max": 0.5 });
    let figures = json!({ "requests": 600, "throughput_rps": 12.5, "success": 1.0,
        "latency_s": latency, "status": { "200": 600 }, "cpu_cores": 0.63,
        "services_cpu_cores": {}, "cpu_share": 0.56, "memory_bytes": null, "memory_share": null,
        "by_target": [] });
    let setting = json!({ "target": "GET /", "series": "workers", "workers": 1, "threads": 1,
        "rate_rps": null, "clients": 4, "think_s": 0.0, "env": {}, "repeat": 1 });
    let evidence = json!({ "what": "cpu_share of 1 worker", "value": 0.56, "interval": [0.5, 0.6],
        "published": 0.55, "at_least": null, "at_most": 0.65, "holds": "yes" });
    let busy: Warning = GeneratorDoubt::LoopBusy { busy_ratio: 0.95 }.into();
    let result = json!({ "lab": "thin-nginx", "title": "Thin", "source": "an article",
        "is_quick": true, "machine": sample::machine(), "published_machine": "another",
        "scale": 0.66, "rule": "one worker a core", "warnings": [busy],
        "runs": [{ "setting": setting, "offered_rps": null, "measured": figures,
            "published": null, "relative_measured": 1.0, "relative_published": null,
            "failure": null, "blocks": {}, "warnings": [] }],
        "conclusions": [{ "says": "it is idle", "holds": "yes", "evidence": [evidence] }] });
    let page = data(&page::lab(&serde_json::from_value(result).unwrap(), &BUILT));
    let doubt = &page["lab"]["warnings"][0];
    let said = Language::English.say_doubt(&busy);
    assert_eq!(
        (&doubt["message"]["en"], &doubt["advice"]["en"]),
        (&said.message.into(), &said.advice.into())
    );
    assert_ne!(doubt["message"]["ja"], doubt["message"]["en"]);
}
