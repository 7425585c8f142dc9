//! What hosts without a server of the user's are told beside a decision.

use std::time::Duration;

use sweetspot::place::simulated::{Simulated, SimulatedApp};
use sweetspot::plan::Plan;
use sweetspot::report::Language;
use sweetspot::server::hosts::Host;
use tempfile::TempDir;

use crate::tune::{Room, chosen, plan};

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
