//! Why a session has no decision, in Japanese.

use crate::report::wording::{Language, Undone};

pub(super) fn sentence(why: &Undone<'_>) -> String {
    match why {
        Undone::Failed { error } => {
            format!("計測できませんでした: {}", Language::Japanese.say(error))
        }
        Undone::StillRuns { so_far } => {
            format!("このセッションは終わっていないため、まだ結論がありません（{so_far}）。")
        }
        Undone::NeverStarted => "試したどの設定でもサーバーが起動しませんでした。".to_string(),
        Undone::NoTrial => "試行が 1 回もなく、何もわかっていません。".to_string(),
        Undone::Stopped { so_far } => {
            format!("決める前に止められました（{so_far}）。")
        }
        Undone::AlwaysEnded => {
            "計測できませんでした。どの試行でもサーバーが自分で終了しました。".to_string()
        }
        Undone::NoneValid { trials } => {
            format!("何も結論できません。{trials}のうち有効なものがありません。")
        }
        Undone::NotReached { so_far } => {
            format!("時間内に結論が出ませんでした（{so_far}）。")
        }
        Undone::CouldNotTell { goal, so_far } => {
            format!("{goal} を満たせる設定があるかどうかは判定できませんでした（{so_far}）。")
        }
        Undone::NothingHeld { goal } => {
            format!("試したどの設定・負荷でも {goal} を満たせませんでした。")
        }
    }
}
