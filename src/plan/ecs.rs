//! `--ecs`: a service of AWS ECS, as an app elsewhere whose commands are ours.
//!
//! In: its name. Out: commands. This program runs them, and AWS's own does what they need
//! (`place/ecs`), so that nobody needs more than that.

use std::path::Path;

use super::elsewhere::{Commands, quoted};
use crate::place::ecs::ServiceName;

/// The commands by which it is changed and put back. `beside`: where it is written down what it was
/// before.
pub fn commands(name: &ServiceName, beside: &Path) -> Commands {
    let at = name.record(beside);
    let own = |what: String| format!("exec \"$SWEETSPOT\" __ecs {what} --record {}", quoted(&at));
    Commands {
        apply: own(format!("apply {name}")),
        ready: None,
        check: Some(own(format!("check {name}"))),
        release: None,
        observe: None,
        restore: own("restore".to_string()),
        files: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_changed_and_put_back_by_the_same_record() {
        let made = commands(&"prod/shop/web".parse().unwrap(), Path::new("/store dir"));
        let record = "--record '/store dir/ecs/prod.shop.json'";
        assert_eq!(made.apply, format!("exec \"$SWEETSPOT\" __ecs apply prod/shop/web {record}"));
        let check = made.check.unwrap();
        assert_eq!(check, format!("exec \"$SWEETSPOT\" __ecs check prod/shop/web {record}"));
        assert_eq!(made.restore, format!("exec \"$SWEETSPOT\" __ecs restore {record}"));
    }
}
