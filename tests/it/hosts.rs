//! What hosts without a server of the user's are told beside a decision.

use std::time::Duration;

use sweetspot::place::simulated::{Simulated, SimulatedApp};
use sweetspot::plan::Plan;
use sweetspot::report::Language;
use sweetspot::server::hosts::Host;
use sweetspot::session::tune::Ended;
use sweetspot::terms::{EventKind, ObjectiveKind, TrialPurpose};
use tempfile::TempDir;

use crate::goals::asked;
use crate::tune::{Room, chosen, first_events, plan, tune_app};

#[test]
fn hosts_of_the_apps_folder_get_the_numbers_that_were_measured() {
    let folder = TempDir::new().unwrap();
    let mut plan = Plan { budget: Duration::from_secs(240), ..plan(&folder) };
    plan.app.hosts = vec![Host::Fly, Host::CloudRun, Host::Heroku];
    let mut place = Simulated::new(SimulatedApp::default(), 5);
    let ended = Room::default().tune_really(&plan, &mut place).unwrap();
    let decision = ended.result.decision.as_ref().unwrap();
    let slots = chosen(&ended).slots();
    let advice = Language::DATA.say_each(&decision.settings.advice);
    let of = |host: &str| {
        let found = advice.iter().find(|it| it.starts_with(&format!("on {host}")));
        found.unwrap_or_else(|| panic!("nothing of {host}: {advice:#?}")).clone()
    };
    let number = |text: &str, after: &str| -> u32 {
        let (_, rest) = text.split_once(after).unwrap();
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().unwrap()
    };
    let (soft, hard) = (number(&of("Fly"), "soft_limit = "), number(&of("Fly"), "hard_limit = "));
    assert!(hard >= slots && soft < hard, "{advice:#?}");
    assert_eq!(number(&of("Cloud Run"), "--concurrency "), hard, "{advice:#?}");
    let workers = format!("WEB_CONCURRENCY={}", decision.workers);
    assert!(of("Heroku").contains(&workers) && of("Heroku").contains(" dyno"), "{advice:#?}");
}

/// What is said of hosts beside the decision.
fn said(ended: &Ended) -> Vec<String> {
    let decision = ended.result.decision.as_ref().unwrap();
    let advice = Language::DATA.say_each(&decision.settings.advice);
    advice.into_iter().filter(|it| it.starts_with("on ")).collect()
}

#[test]
fn a_session_that_broke_off_after_it_held_its_rate_has_the_same_numbers() {
    let folder = TempDir::new().unwrap();
    let mut plan = Plan { budget: Duration::from_secs(240), ..plan(&folder) };
    plan.app.hosts = vec![Host::Fly];
    let app = SimulatedApp::default;
    let whole = tune_app(&Plan { store: folder.path().join("whole.db"), ..plan.clone() }, app());
    let is_held = |kind: &EventKind| {
        matches!(kind, EventKind::TrialFinished { summary, .. }
            if summary.purpose == TrialPurpose::Hold)
    };
    let held = whole.events.iter().rposition(|event| is_held(&event.kind)).unwrap();
    first_events(&plan, &whole, held + 1);
    assert_eq!(said(&whole).len(), 1);
    assert_eq!(said(&tune_app(&plan, app())), said(&whole));
}

#[test]
fn a_rate_that_nothing_holds_gives_a_host_no_number() {
    let folder = TempDir::new().unwrap();
    let objective = asked(ObjectiveKind::Memory, 20_000.0);
    let mut plan = Plan { budget: Duration::from_secs(240), objective, ..plan(&folder) };
    plan.app.hosts = vec![Host::Fly];
    let ended = tune_app(&plan, SimulatedApp::default());
    assert!(ended.result.decision.as_ref().unwrap().held.is_none(), "{ended:?}");
    assert_eq!(said(&ended), Vec::<String>::new());
}
