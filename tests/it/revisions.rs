//! `compare --revisions`: whole comparisons on two simulated places, seeded, with a known answer;
//! and two commits of a real app, as a user types it.

mod troubled;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use sweetspot::model::Form;
use sweetspot::place::Place;
use sweetspot::place::simulated::{Drift, Simulated, SimulatedApp, SimulatedMemory};
use sweetspot::plan::Plan;
use sweetspot::search::{Revisions, RevisionsAnswer, RevisionsPlan};
use sweetspot::session::revisions::measure;
use sweetspot::terms::{
    Arrivals, ChangeReason, Configuration, FigureKind, Side, Standing, StopSignal,
};
use tempfile::TempDir;
use troubled::{Trouble, troubled};

use crate::failures::site::{Running, Site};
use crate::process::{long_ones_are_wanted, wait_until, write_files};
use crate::schema::assert_valid;
use crate::{tune, turn};

/// 12 ms of CPU and as much waiting, on a machine whose starts differ as real ones do.
fn app() -> SimulatedApp {
    SimulatedApp {
        cpu_s: 0.012,
        wait_s: 0.012,
        waits: 2,
        drift: Drift { start: 0.012, window: 0.01, cold: 0.2, cold_s: 1.0, ..Drift::default() },
        ..SimulatedApp::default()
    }
}

/// The answer, and the seconds that it took.
fn compared([a, b]: [&SimulatedApp; 2], seed: u64) -> (RevisionsAnswer, f64) {
    let form = if a.is_event_loop { Form::EventLoop } else { Form::Threads };
    let mut a = Simulated::new(a.clone(), 2 * seed);
    let mut b = Simulated::new(b.clone(), 2 * seed + 1);
    measured(form, [&mut a, &mut b], seed)
}

/// The answer of two equal revisions of whose starts these shares are in trouble.
fn in_trouble(trouble: Trouble, [a, b]: [f64; 2], seed: u64) -> RevisionsAnswer {
    let mut a = troubled(app(), 2 * seed, trouble, a);
    let mut b = troubled(app(), 2 * seed + 1, trouble, b);
    measured(Form::Threads, [&mut a, &mut b], seed).0
}

fn measured(form: Form, places: [&mut dyn Place; 2], seed: u64) -> (RevisionsAnswer, f64) {
    let _turn = turn::compute();
    let folder = TempDir::new().unwrap();
    let plan = Plan { seed, ..tune::plan(&folder) };
    let mut search = Revisions::new(RevisionsPlan {
        configuration: Configuration::new(2, 3).unwrap(),
        form,
        slo: Some("p95<200ms".parse().unwrap()),
        arrivals: Arrivals::Poisson,
        budget: Duration::from_secs(360),
    });
    let stop = StopSignal::default();
    let (elapsed_s, _) = measure::run(&mut search, &plan, places, &stop, &mut |_, _| {}).unwrap();
    (search.answer(), elapsed_s)
}

/// How many of these pairs come out so.
fn count(
    b: &SimulatedApp,
    seeds: std::ops::RangeInclusive<u64>,
    is_it: fn(Standing) -> bool,
) -> usize {
    seeds.filter(|seed| is_it(compared([&app(), b], *seed).0.change)).count()
}

#[test]
fn equal_revisions_are_hardly_ever_called_different_and_most_are_called_equal() {
    let is_different = |change| matches!(change, Standing::Better | Standing::Worse);
    assert!(count(&app(), 1..=30, is_different) <= 1);
    assert!(count(&app(), 1..=30, |change| change == Standing::Equivalent) >= 24);
}

#[test]
fn five_percent_more_cpu_a_request_is_found_in_time() {
    let slower = SimulatedApp { cpu_s: 0.012 * 1.05, ..app() };
    assert!(count(&slower, 1..=20, |change| change == Standing::Worse) >= 18);
    let (answer, elapsed_s) = compared([&slower, &app()], 1);
    assert_eq!(
        (answer.change, answer.decided_by),
        (Standing::Better, Some(FigureKind::CpuPerRequest))
    );
    assert!(elapsed_s <= 360.0, "{elapsed_s}");
}

#[test]
fn what_differs_much_is_known_after_few_blocks() {
    let slower = SimulatedApp { cpu_s: 0.012 * 1.3, ..app() };
    let (answer, elapsed_s) = compared([&app(), &slower], 1);
    assert_eq!(answer.change, Standing::Worse);
    assert!(answer.blocks <= 3 && elapsed_s < 180.0, "{answer:?}");
    let waiting = SimulatedApp { wait_s: 0.012 * 1.6, ..app() };
    let (answer, _) = compared([&app(), &waiting], 1);
    let of_p95 = answer.figures.iter().find(|it| it.kind == FigureKind::LatencyP95).unwrap();
    assert_eq!(answer.change, Standing::Worse, "{answer:?}");
    assert!(of_p95.ratio.value > 0.0, "{of_p95:?}");
}

#[test]
fn a_revision_whose_server_dies_again_and_again_is_worse_and_one_death_is_not() {
    let once = SimulatedApp { dies_at: Some(Duration::from_secs(30)), ..app() };
    let (answer, _) = compared([&app(), &once], 3);
    assert_eq!(answer.fault, None, "{answer:?}");
    assert_ne!(answer.change, Standing::Worse, "{answer:?}");
}

#[test]
fn servers_of_both_that_die_again_and_again_leave_it_undecided_and_those_of_b_alone_do_not() {
    let answer = in_trouble(Trouble::Dies, [1.0, 1.0], 1);
    assert_eq!(answer.fault, Some(ChangeReason::BothBreakDown), "{answer:?}");
    assert_eq!(answer.change, Standing::Undecided, "{answer:?}");
    let answer = in_trouble(Trouble::Dies, [0.0, 1.0], 1);
    assert_eq!(answer.fault, Some(ChangeReason::ServerDies { side: Side::B }), "{answer:?}");
    assert_eq!(answer.change, Standing::Worse, "{answer:?}");
}

#[test]
fn equal_revisions_whose_servers_die_now_and_then_are_hardly_ever_called_different() {
    let is_different = |seed: &u64| {
        let answer = in_trouble(Trouble::Dies, [0.3, 0.3], *seed);
        answer.change.is_changed()
    };
    assert!((1..=20).filter(is_different).count() <= 3);
}

#[test]
fn equal_revisions_of_which_some_starts_fail_requests_are_hardly_ever_called_different() {
    let is_different = |seed: &u64| {
        let answer = in_trouble(Trouble::Fails(0.03), [0.25, 0.25], *seed);
        answer.change.is_changed()
    };
    assert!((1..=20).filter(is_different).count() <= 2);
}

#[test]
fn a_revision_half_of_whose_starts_fail_requests_is_hardly_ever_called_as_good() {
    let is_as_good = |seed: &u64| {
        let answer = in_trouble(Trouble::Fails(0.3), [0.0, 0.5], *seed);
        let is_open = answer.change == Standing::Undecided;
        assert!(!is_open || answer.decided_by == Some(FigureKind::Errors), "{answer:?}");
        matches!(answer.change, Standing::Equivalent | Standing::Better)
    };
    // Where the first three starts of B are fine, one in eight, and it is sure by then.
    assert!((1..=20).filter(is_as_good).count() <= 1);
}

#[test]
fn requests_of_b_that_fail_in_every_block_make_it_worse_and_not_at_the_first_look() {
    let answer = in_trouble(Trouble::Fails(0.05), [0.0, 1.0], 1);
    let expected = (Standing::Worse, Standing::Worse, Some(FigureKind::Errors));
    assert_eq!((answer.change, answer.of_failures, answer.decided_by), expected, "{answer:?}");
    assert!(answer.blocks > 3, "{answer:?}");
}

#[test]
fn less_memory_beyond_doubt_does_not_end_what_is_worse_by_a_figure_that_is_less_sure() {
    let memory = SimulatedMemory { worker_bytes: 30 << 20, ..app().memory };
    let smaller = SimulatedApp { memory, ..app() };
    let (answer, _) = compared([&app(), &smaller], 1);
    assert_eq!((answer.change, answer.decided_by), (Standing::Better, Some(FigureKind::Memory)));
    let waiting = SimulatedApp { wait_s: 0.012 * 1.6, ..smaller };
    let (answer, _) = compared([&app(), &waiting], 1);
    assert_eq!(answer.change, Standing::Worse, "{answer:?}");
    assert!(answer.blocks > 3, "{answer:?}");
}

#[test]
fn event_loops_that_wait_are_compared_near_what_they_hold() {
    let app = SimulatedApp { cpu_s: 0.004, wait_s: 0.06, is_event_loop: true, ..app() };
    let (answer, _) = compared([&app, &app], 1);
    // Two cores compute 500 a second; of twelve clients, twice the slots, they get below 200.
    assert!(answer.rate_rps.unwrap() > 200.0, "{answer:?}");
}

/// An app below the repository's top, which needs a file that git does not have.
const APP: &str = "KEY = File.read(File.join(__dir__, 'config/master.key'))\n";

fn git(folder: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    command.current_dir(folder).args(["-c", "user.name=t", "-c", "user.email=t@localhost"]);
    let output = command.args(arguments).output().expect("git is needed");
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

const IGNORED: &str =
    "/shop/config/master.key\n/shop/tmp/\n/shop/vendor/bundle/\n/shop/.bundle/\n*.local\n";

/// A commit for each of these apps, in the repository that the site's app folder is then.
fn repository(apps: &[&str]) -> Site {
    let site = Site::working(&[
        (".gitignore", IGNORED),
        ("shop/config/puma.rb", "threads 2, 2\n"),
        ("shop/config/master.key", "secret"),
    ]);
    let top = site.path("app");
    git(&top, &["init", "-q"]);
    for app in apps {
        let file = ("shop/config.ru", format!("{APP}{app}"));
        write_files(&top, &[(file.0, file.1.as_str())]);
        git(&top, &["add", "-A"]);
        git(&top, &["commit", "-q", "-m", "next"]);
    }
    site
}

fn worktrees(site: &Site) -> usize {
    git(&site.path("app"), &["worktree", "list"]).lines().count()
}

/// Folders of ours for what is only there for a while.
fn scratch(site: &Site) -> usize {
    let found = fs::read_dir(site.path("tmp")).unwrap().flatten();
    found.filter(|it| it.file_name().to_string_lossy().starts_with("sweetspot-")).count()
}

const FINE: &str = "run ->(env) { [200, {}, [KEY]] }\n";
/// Needs what a command made in its folder, in an environment of the user's; fine at first, and
/// then not.
const FAILING: &str = "made = File.read(File.join(__dir__, 'made.local'))\n\
    raise \"made in #{made}\" if made != \"staging\\n\"\n\
    count = 0\nrun ->(env) { count += 1; count < 20 ? [200, {}, ['']] : [500, {}, ['']] }\n";

#[test]
fn a_revision_that_fails_under_load_is_worse_and_nothing_is_left_of_either_nor_of_a_killed_one() {
    let site = repository(&[FINE, FAILING]);
    // By B's files its connections are kept.
    write_files(&site.path("app"), &[("shop/config/deploy.yml", "service: shop\n")]);
    git(&site.path("app"), &["add", "-A"]);
    git(&site.path("app"), &["commit", "-q", "--amend", "--no-edit"]);
    let asked = ["compare", "--revisions", "HEAD~1..HEAD", "--app", "shop"];
    let mut killed = Running::begin(site.command(&asked));
    killed.expect("0 blocks; now HEAD~1");
    assert_eq!(worktrees(&site), 3);
    killed.signal(libc::SIGKILL);
    drop(killed);
    wait_until("the guardian has removed what was left", || scratch(&site) == 0);
    site.nothing_left.check();

    let files = [("shop/config.ru", "not committed"), ("shop/lib/new.rb", "not committed")];
    write_files(&site.path("app"), &files);
    let prepare = ["--prepare", "printenv RACK_ENV >made.local", "--env", "RAILS_ENV=staging"];
    let outputs = ["--json", "-o", "comment=comment.md", "-o", "junit=compare.xml"];
    let ended = site.run(&[&asked[..], &prepare, &outputs].concat());
    ended.assert_code(3);
    let report = ended.json();
    assert_valid("compare.schema.json", &report);
    assert_eq!(report["change"], "worse", "{report}");
    assert_eq!(report["reason_fact"]["side"], "b", "{report}");
    assert_eq!(report["notes_fact"][0]["files"], 2, "{report}");
    assert_eq!(report["differences"][0], "connection: A fresh, B keep-alive", "{report}");
    assert_eq!(
        (report["a"]["threads"].as_u64(), report["a"]["name"].as_str()),
        (Some(2), Some("HEAD~1"))
    );
    assert_eq!(report["b"]["commit"].as_str().unwrap().len(), 40);
    let comment = fs::read_to_string(site.path("app/comment.md")).unwrap();
    assert!(comment.starts_with("**Worse: HEAD than HEAD"), "{comment}");
    assert!(comment.contains("<details>") && comment.contains("2 files have changes"), "{comment}");
    assert_eq!((worktrees(&site), scratch(&site)), (1, 0));
    assert!(!site.path("app/shop/made.local").exists());
}

#[test]
fn what_keeps_revisions_from_being_compared_is_said() {
    let site = repository(&["raise 'boom'\n", FINE]);
    let top = site.path("app");
    git(&top, &["tag", "fine"]);
    git(&top, &["commit", "-q", "--allow-empty", "-m", "empty"]);
    git(&top, &["rm", "-rq", "--cached", "shop"]);
    git(&top, &["commit", "-q", "-m", "without the app"]);
    git(&top, &["tag", "without"]);
    git(&top, &["reset", "-q", "--hard", "fine"]);
    let built = "start = \"sh .bundle/serve {port}\"\n";
    let files = [("shop/config/master.key", "secret"), ("shop/.bundle/serve", "")];
    write_files(&top, &[&files[..], &[("built.toml", built)]].concat());
    let compare = |range: &str, more: &[&str]| {
        let asked = ["compare", "--revisions", range, "--app", "shop"];
        site.run(&[&asked[..], more].concat())
    };
    for (range, more, code, says) in [
        ("fine..", &[][..], 2, "one side of 'fine..' is missing"),
        ("fine..nowhere", &[], 2, "there is no revision 'nowhere' in"),
        ("fine..HEAD", &[], 2, "'fine' and 'HEAD' are the same commit"),
        ("fine~1..fine", &["--workers", "1..4"], 2, "give --workers one number"),
        ("fine~1..fine", &["--plan", "built.toml"], 2, "from shop/.bundle/serve of the working"),
        ("fine..without", &[], 2, "without ("),
        ("fine~1..fine", &["--prepare", "echo no gems >&2; false"], 1, "of fine~1 ("),
        ("fine~1..fine", &["--prepare", "echo no gems >&2; false"], 1, "no gems"),
    ] {
        let ended = compare(range, more);
        ended.assert_code(code).assert_says(&[says]);
    }
    let ended = compare("fine~1..fine", &[]);
    ended.assert_code(1);
    ended.assert_says(&["fine~1 (", "does not start", "--prepare 'COMMAND'", "boom"]);
    assert_eq!((worktrees(&site), scratch(&site)), (1, 0));

    let elsewhere = Site::answering("[200, {}, ['']]");
    let ended = elsewhere.run(&["compare", "--revisions", "main..HEAD"]);
    ended.assert_code(2).assert_says(&["is in no git repository"]);
    // A folder of programs that git is not among.
    let programs = elsewhere.path("programs");
    write_files(&programs, &[("puma", "")]);
    let mut command = elsewhere.command(&["compare", "--revisions", "main..HEAD"]);
    command.env("PATH", &programs);
    let ended = elsewhere.run_command(command);
    ended.assert_code(1).assert_says(&["could not run git", "apt install git"]);
}

/// Ends while it boots, with the files that it finds.
const LOOKING: &str = "found = Dir.glob('{lib,vendor/bundle}/*', base: __dir__).sort\n\
                       raise \"found #{found.join(' and ')}\"\n";

#[test]
fn a_revision_has_what_git_ignores_whole_folders_too_and_no_code_that_is_not_committed() {
    let site = repository(&[LOOKING, FINE]);
    let files = ["shop/vendor/bundle/gem.rb", "shop/lib/new.rb", "shop/lib/own.local"];
    write_files(&site.path("app"), &files.map(|file| (file, "")));
    let ended = site.run(&["compare", "--revisions", "HEAD~1..HEAD", "--app", "shop"]);
    ended.assert_code(1).assert_says(&["found lib/own.local and", "vendor/bundle/gem.rb"]);
    assert_eq!((worktrees(&site), scratch(&site)), (1, 0));
}

#[test]
fn a_revision_has_its_own_gemfile_although_a_variable_names_the_working_folders() {
    let app = "raise \"it has #{File.read(ENV.fetch('BUNDLE_GEMFILE'))}\"\n";
    let site = repository(&[app]);
    let (top, gemfile) = (site.path("app"), "gems/Gemfile");
    write_files(&top, &[(gemfile, "# one that is committed")]);
    git(&top, &["add", "-A"]);
    git(&top, &["commit", "-q", "-m", "gems"]);
    write_files(&top, &[(gemfile, "# another")]);
    let asked = ["compare", "--revisions", "HEAD..HEAD", "--app", "shop"];
    let prepared = ["--prepare", "cat \"$BUNDLE_GEMFILE\"; false"];
    for more in [&prepared[..0], &prepared] {
        let mut command = site.command(&[&asked[..], more].concat());
        command.env("BUNDLE_GEMFILE", top.join(gemfile));
        site.run_command(command).assert_code(1).assert_says(&["# one that is committed"]);
    }
}

#[test]
fn a_revision_runs_its_own_code_although_a_variable_leads_to_the_working_folders() {
    let app = "require 'own'\nraise \"it has #{OWN} of #{ENV['RUBYLIB'][-15..]}\"\n";
    let site = repository(&[app]);
    let (top, code) = (site.path("app"), "lib/own.rb");
    write_files(&top, &[(code, "OWN = 'committed_code'\n")]);
    git(&top, &["add", "-A"]);
    git(&top, &["commit", "-q", "-m", "code"]);
    write_files(&top, &[(code, "OWN = 'other_code'\n")]);
    let asked = ["compare", "--revisions", "HEAD..HEAD", "--app", "shop"];
    let prepare = "ruby -r own -e 'puts \"has #{OWN} of \" + ENV[\"RUBYLIB\"][-15..]'; false";
    let prepared = ["--prepare", prepare];
    for more in [&prepared[..0], &prepared] {
        let mut command = site.command(&[&asked[..], more].concat());
        command.env("RUBYLIB", format!("{}:/nowhere", top.join("lib").display()));
        let ended = site.run_command(command);
        ended.assert_code(1).assert_says(&["committed_code", "/a/lib:/nowhere"]);
    }
}

#[test]
fn what_a_command_writes_to_ignored_files_is_the_revisions_own() {
    let site = repository(&[FINE]);
    let files = [
        ("shop/config/master.key", "secret"),
        ("shop/.bundle/config", "settings"),
        ("shop/vendor/bundle/gem.rb", "gem"),
    ];
    write_files(&site.path("app"), &files);
    let written = "config/master.key .bundle/config vendor/bundle/gem.rb";
    let prepare = format!("for it in {written}; do echo more >> $it; cat $it; done; false");
    let asked = ["compare", "--revisions", "HEAD..HEAD", "--app", "shop", "--prepare", &prepare];
    site.run(&asked).assert_code(1).assert_says(&["secretmore", "settingsmore", "gemmore"]);
    for (file, content) in files {
        assert_eq!(fs::read_to_string(site.path("app").join(file)).unwrap(), content, "{file}");
    }
}

#[test]
fn a_revision_that_computes_more_is_found_on_a_real_server() {
    if !long_ones_are_wanted() {
        return;
    }
    let computing = |additions: u32| {
        format!("run ->(env) {{ {additions}.times {{ |i| i * i }}; [200, {{}}, [KEY]] }}\n")
    };
    let site = repository(&[&computing(100_000), &computing(140_000)]);
    let asked = ["compare", "--revisions", "HEAD~1..HEAD", "--app", "shop", "--json"];
    let ended = Running::begin(site.command(&asked)).end_within(Duration::from_secs(500));
    ended.assert_code(3);
    let report = ended.json();
    assert_valid("compare.schema.json", &report);
    assert_eq!(report["reason_fact"]["figure"], "cpu_per_request", "{report}");
    let cpu = &report["figures"][0]["ratio"];
    assert!((1.1..1.6).contains(&cpu.as_f64().unwrap()), "{report}");
    assert_eq!((worktrees(&site), scratch(&site)), (1, 0));
}
