//! Knobs as they are written, on the command line and in a plan file.

use super::ready_made;
use crate::plan::written_knob::WrittenError;
use crate::plan::{Key, Plan, Surroundings, Typed, resolve};
use crate::report::Language;
use crate::report::planned;
use crate::server;
use crate::terms::{PlanRecord, PlanSource, PlannedValue};

/// What becomes of a plan file's text, and of knobs that were typed, for a Rack app on Puma.
fn resolved(file: &str, knobs: &[&str]) -> Result<Plan, String> {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in [("config.ru", "run App\n"), ("puma", ""), ("nginx", "")] {
        std::fs::write(folder.path().join(name), content).unwrap();
    }
    if !file.is_empty() {
        std::fs::write(folder.path().join("sweetspot.toml"), file).unwrap();
    }
    let surroundings = Surroundings::of_test(folder.path(), [folder.path().to_path_buf()]);
    let typed = Typed::default().with_all(Key::Knob, knobs.iter().copied());
    resolve(&typed, &surroundings).map_err(|error| error.to_string())
}

fn names(plan: &Plan) -> Vec<&str> {
    plan.changes.iter().map(|change| change.name.as_str()).collect()
}

fn knob_lines(plan: &Plan) -> Vec<(String, PlanSource)> {
    let knobs = plan.records.iter().filter(|it| matches!(it.value, PlannedValue::Knob(_)));
    let shown = |it: &PlanRecord| planned::value(&it.value, Language::English);
    knobs.map(|it| (shown(it), it.source.clone())).collect()
}

#[test]
fn values_after_commas_are_changes_of_one_knob() {
    let plan = resolved("", &["MALLOC_ARENA_MAX=2,4", "preload_app=false"]).unwrap();
    assert_eq!(names(&plan), ["MALLOC_ARENA_MAX=2", "MALLOC_ARENA_MAX=4", "preload_app=false"]);
    assert_eq!(plan.changes[1].env["MALLOC_ARENA_MAX"], "4");
    assert_eq!(plan.changes[1].knob, plan.changes[0].knob);
    assert_eq!(plan.changes[2].settings["preload_app"], "false");
    let shown = knob_lines(&plan);
    assert_eq!(shown[0].0, "MALLOC_ARENA_MAX=2, MALLOC_ARENA_MAX=4");
    assert_eq!(shown[1].1, PlanSource::Flag);
}

const FILE: &str = "proxy = \"none\"\n\
    [[knob]]\nenv = \"MALLOC_ARENA_MAX\"\nvalues = [2, \"4\"]\n\
    [[knob]]\nname = \"jemalloc\"\nenv = { LD_PRELOAD = \"libjemalloc.so.2\" }\n\
    [[knob]]\nsetting = \"preload_app\"\nvalues = [true, false]\n";

#[test]
fn a_plan_file_has_variables_sets_of_them_and_settings() {
    let plan = resolved(FILE, &[]).unwrap();
    let expected = [
        "MALLOC_ARENA_MAX=2",
        "MALLOC_ARENA_MAX=4",
        "jemalloc",
        "preload_app=true",
        "preload_app=false",
    ];
    assert_eq!(names(&plan), expected);
    let shown = knob_lines(&plan);
    assert_eq!(shown[1].0, "jemalloc (LD_PRELOAD=libjemalloc.so.2)");
    assert_eq!(shown[1].1, PlanSource::PlanFile { line: 5 });
}

#[test]
fn knobs_that_were_typed_take_the_place_of_the_plan_files() {
    let plan = resolved(FILE, &["RUBY_YJIT_ENABLE=1"]).unwrap();
    assert_eq!(names(&plan), ["RUBY_YJIT_ENABLE=1"]);
}

#[test]
fn a_ready_made_set_is_its_knobs_without_what_the_app_has_already() {
    let all = ["MALLOC_ARENA_MAX=2", "jemalloc", "yjit", "rarer-gc"];
    assert_eq!(names(&resolved("", &["ruby"]).unwrap()), all);
    let plan = resolved("[[knob]]\nset = \"ruby\"\n", &["ruby", "preload_app=true"]).unwrap();
    assert_eq!(plan.changes.len(), 5);
    let file = "env = { RUBY_YJIT_ENABLE = \"1\" }\n[[knob]]\nset = \"ruby\"\n";
    assert_eq!(names(&resolved(file, &[]).unwrap()), [all[0], all[1], all[3]]);
    let twice = resolved("", &["ruby", "MALLOC_ARENA_MAX=2"]).unwrap_err();
    assert!(twice.contains("MALLOC_ARENA_MAX=2 is named twice"), "{twice}");
    let gunicorn = server::find("gunicorn").unwrap().about();
    let error = ready_made::knobs("ruby", gunicorn).unwrap_err();
    assert!(matches!(error, WrittenError::OtherLanguage { server: "gunicorn", .. }), "{error}");
}

#[test]
fn a_knob_that_cannot_be_tried_is_refused_with_its_line_and_the_way_out() {
    let one = |text: &str| format!("[[knob]]\n{text}\n");
    for (file, expected) in [
        (one("values = [1]"), "sweetspot.toml line 1: knob: a knob is either a variable"),
        (one("env = \"A\"\nsetting = \"backlog\""), "write one of them"),
        (one("env = \"A\""), "it has no value to try"),
        (one("set = \"go\""), "there is no ready-made set 'go'; there is ruby"),
        (one("set = \"ruby\"\nvalues = [1]"), "leave values out"),
        (one("env = { A = \"1\" }"), "need a name"),
        (one("name = \"x\"\nenv = { A = \"1\" }\nvalues = [1]"), "leave values out"),
        (one("env = \"PORT\"\nvalues = [1]"), "PORT is what tune sets by itself"),
        (one("env = \"A\"\nvalues = [1, 1]"), "A=1 is named twice"),
        (one("setting = \"prelod\"\nvalues = [true]"), "Puma has no setting 'prelod'"),
        (one("setting = \"backlog\"\nvalues = [true]"), "backlog is a whole number, not 'true'"),
        (one("setting = \"nginx.gzip\"\nvalues = [true]"), "add --proxy nginx"),
        (one("env = \"A\"\nvalue = [1]"), "unknown key 'value' (did you mean 'values'?)"),
        (one("env = \"A\"\nvalues = 1"), "should be a list such as"),
        ("env = { A = \"1\" }\n[[knob]]\nenv = \"A\"\nvalues = [1]\n".into(), "has already"),
        ("knob = 3\n".into(), "should be written as [[knob]]"),
    ] {
        let error = resolved(&file, &[]).unwrap_err();
        assert!(error.contains(expected), "{file}: {error}");
    }
    let error = resolved("", &["MALLOC_ARENA_MAX"]).unwrap_err();
    assert!(error.starts_with("--knob 'MALLOC_ARENA_MAX': it has no '='"), "{error}");
    let many: Vec<String> = (0..33).map(|n| n.to_string()).collect();
    let error = resolved("", &[&format!("A={}", many.join(","))]).unwrap_err();
    assert!(error.contains("33 values to try, and a session tells 32 apart"), "{error}");
}
