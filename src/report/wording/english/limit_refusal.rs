//! Why a control group's limit could not be set, in English.

use crate::terms::LimitRefusal;

pub fn sentence(refusal: &LimitRefusal) -> String {
    match refusal {
        LimitRefusal::GroupNotWritable { file } => format!("may not write to {file}"),
        LimitRefusal::NoController { controller, folder } => {
            format!("the {controller} controller is not available in {folder}")
        }
        LimitRefusal::NoControlGroups => "this machine has no control groups for it".into(),
        LimitRefusal::MayNotJoin { error } => {
            format!("no process may join a control group: {error}")
        }
        LimitRefusal::LimitRefused { error } => error.clone(),
    }
}
