//! Why a setting or a change was not measured, in Japanese.

use super::super::Language;
use crate::terms::{Bytes, Obstacle};

pub fn sentence(obstacle: &Obstacle) -> String {
    match obstacle {
        Obstacle::NeedsMemory { needed_bytes, limit_bytes } => {
            format!("{} のうち約 {} が必要です", Bytes(*limit_bytes), Bytes(*needed_bytes))
        }
        Obstacle::NeedsDatabaseConnections { needed, limit } => {
            format!("データベース接続が {needed} 必要です（上限 {limit}）")
        }
        Obstacle::DoesNotStart { why } => {
            format!("起動しません: {}", Language::Japanese.say(why))
        }
        Obstacle::DiedTwice => "負荷をかけるとサーバーが 2 回終了しました".into(),
        Obstacle::NotMeasurable { why } => {
            format!("計測できませんでした: {}", Language::Japanese.say(why))
        }
        Obstacle::AnsweredNothing => "飽和させる負荷では何も応答しませんでした".into(),
        Obstacle::SetsWorkersOrThreads { variable } => {
            format!("{variable} はワーカー数やスレッド数を決めます。これらはもともと試します")
        }
        Obstacle::SettingTooNew { server, setting, since, version } => {
            format!("{setting} は {server} {since} からで、これは {version} です")
        }
        Obstacle::SettingGone { server, setting, until, instead, version } => {
            format!(
                "{server} {until} で {setting} はなくなりました（{instead}）。これは {version} です"
            )
        }
        Obstacle::NoYjit { runtime } => {
            format!("この Ruby（{runtime}）は YJIT なしで作られています")
        }
        Obstacle::NoTimeLeft { more_s } => {
            let minutes = (more_s / 60.0).round().max(1.0);
            format!("試す時間がありませんでした。あと {minutes} 分あれば試せます")
        }
        Obstacle::SessionEnded => "試す前にセッションが終わりました".into(),
    }
}
