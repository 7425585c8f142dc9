//! Why a control group's limit could not be set, in Japanese.

use crate::terms::LimitRefusal;

pub fn sentence(refusal: &LimitRefusal) -> String {
    match refusal {
        LimitRefusal::GroupNotWritable { file } => format!("{file} に書く権限がありません"),
        LimitRefusal::NoController { controller, folder } => {
            format!("{folder} では {controller} コントローラーを使えません")
        }
        LimitRefusal::NoControlGroups => {
            "このマシンにはそのための control group がありません".into()
        }
        LimitRefusal::MayNotJoin { error } => {
            format!("どのプロセスも control group に入れません: {error}")
        }
        LimitRefusal::LimitRefused { error } => error.clone(),
    }
}
