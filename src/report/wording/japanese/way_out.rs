//! What to do when nothing can be recommended, in Japanese.

use crate::report::wording::WayOut;

pub(super) fn say(way: &WayOut<'_>) -> String {
    let text = match way {
        WayOut::TakeUpAgain => {
            "プログラムが落ちたのなら、同じフォルダーで同じ計画の 'sweetspot tune' \
             を実行すると、計測済みの分を引き継ぎます"
        }
        WayOut::LetItEnd => "最後まで実行するか、--budget で短い時間を指定してください",
        WayOut::FindWhatEndsIt => {
            "サーバーが終了する原因を調べてください。各試行にサーバー自身の最後の出力があります。\
             自分で起動したサーバーには 'sweetspot load' で同じ負荷をかけられます"
        }
        WayOut::Mend { reason } => return format!("まずこれを直してください: {reason}"),
        WayOut::AskDoctor => "'sweetspot doctor' で、このマシンが計測に向くかどうかがわかります",
        WayOut::MoreTime => "時間を増やしてください: --budget 20m",
        WayOut::FasterApp { alone, quantile, goal, has_threads } => {
            let threads = if *has_threads { "やスレッド" } else { "" };
            return format!(
                "アプリを速くしてください。リクエスト 1 つだけでも {alone}（{quantile}）かかり、目標は \
                 {goal} なので、ワーカー{threads}をいくつにしても満たせません"
            );
        }
        WayOut::SeeErrors { status } => {
            let most = status.map(|it| format!("（最も多いステータスは {it}）"));
            return format!(
                "リクエストが失敗する理由{}を見てください。'sweetspot report last --json' に各試行の\
                 ステータスとエラーの一覧があります",
                most.unwrap_or_default()
            );
        }
        WayOut::AskForLess => "目標を緩めてください: --slo でレイテンシの上限かエラー率を上げます",
    };
    text.to_string()
}
