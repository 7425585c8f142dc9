//! Why a verdict is what it is, in Japanese.

use super::super::labels::JAPANESE;
use super::obstacle;
use crate::report::Language;
use crate::report::figures::{fine_percent, number};
use crate::terms::{
    Certainty, ChangeReason, FigureKind, GoalCount, GoalScope, Reason, RecheckReason, SloTerm,
    TermCount,
};

pub fn sentence(reason: &Reason) -> String {
    match reason {
        Reason::Counted { goals } => of_goals(goals, judged),
        Reason::MetButUncertain { goals } => of_goals(goals, uncertified),
        Reason::NotToldApart { goals, due, resolution_ratio } => format!(
            "{}。{due} リクエストでは {:.0} % の差を見分けられません",
            of_goals(goals, judged),
            resolution_ratio * 100.0
        ),
        Reason::NoGoalYet => "目標がまだ決まっていません".into(),
        Reason::StoppedEarly { in_flight } => {
            format!("途中で止めました。処理中のリクエストが増え続け、最後は {in_flight} 件でした")
        }
        Reason::InFlightGrew { growth_per_s, first, last } => format!(
            "処理中のリクエストが毎秒 {growth_per_s:.1} 件ずつ、{first} から {last} まで増えました"
        ),
        Reason::ServerDied => "この負荷でサーバーが終了しました".into(),
        Reason::ClosedLoad => {
            "クローズド型の負荷は、どれだけ通るかを示すだけで、持続できる量は示しません".into()
        }
        Reason::Doubted { doubts } => {
            let said = doubts.iter().map(|doubt| Language::Japanese.say_warning(doubt));
            said.collect::<Vec<_>>().join("。")
        }
        Reason::StoppedByUser => "ユーザーが止めました".into(),
    }
}

fn of_goals(goals: &[GoalCount], of_term: fn(&TermCount) -> String) -> String {
    let of_goal = |goal: &GoalCount| {
        let terms = goal.terms.iter().map(of_term).collect::<Vec<_>>().join("。");
        match &goal.scope {
            Some(GoalScope::Target(target)) => format!("{target}: {terms}"),
            Some(GoalScope::OtherTargets) => format!("{}: {terms}", JAPANESE.other_targets),
            None => terms,
        }
    };
    goals.iter().map(of_goal).collect::<Vec<_>>().join("。")
}

fn figures(count: &TermCount) -> String {
    let what = match (count.term, count.counts_failures) {
        (SloTerm::Errors { .. }, _) => "失敗",
        (SloTerm::Latency { .. }, true) => "上限より遅いか失敗",
        (SloTerm::Latency { .. }, false) => "上限超過",
    };
    let TermCount { term, violations, requests, .. } = count;
    let (seen, allowed) = (fine_percent(count.share()), fine_percent(term.allowed_ratio()));
    format!("{term}: {requests} 件のうち {violations} 件が{what}（{seen}、許容は {allowed}）")
}

/// What can be done about one that is open is said too.
fn judged(count: &TermCount) -> String {
    let mut text = figures(count);
    if let Some(effective) = count.effective_requests {
        text +=
            &format!("。前後のリクエストの結果が似ているため、{effective:.0} 件分として数えました");
    }
    match count.certainty {
        Certainty::TooFew { needed } if count.term.allowed_ratio() > 0.0 => {
            text += &format!(
                "。1 件もなくても {needed} リクエストが必要です。もっと長く計測してください"
            );
        }
        Certainty::TooClose => {
            text += "。差が小さく判定できません。もっと長く計測してください";
        }
        Certainty::TooFew { .. } | Certainty::Certain => {}
    }
    text
}

fn uncertified(count: &TermCount) -> String {
    let what = if count.term.is_errors() { "エラー率" } else { "これ" };
    match count.certainty {
        Certainty::Certain => judged(count),
        Certainty::TooFew { needed } => format!(
            "{}、{what}を確かめるにはリクエストが足りません（{needed} 件必要）",
            figures(count)
        ),
        Certainty::TooClose => {
            format!("{}、{what}を確かめるには差が小さすぎます", figures(count))
        }
    }
}

const BOTH_BREAK_DOWN: &str = "A と B のどちらのサーバーも、負荷をかけると終了するか、何も応答しないか、起動しませんでした。変更とは\
     関係なく、アプリが動かなくなります";

pub fn of_change(reason: &ChangeReason) -> String {
    match reason {
        ChangeReason::NotComparable => "この 2 つは比べられません".into(),
        ChangeReason::MoreRequestsFail => "失敗するリクエストが増えています".into(),
        ChangeReason::FewerRequestsFail => "失敗するリクエストが減っています".into(),
        ChangeReason::FailuresUndecided { failed_ratio, failed_ratio_max } => {
            let [a, b] = failed_ratio.map(fine_percent);
            let [most_of_a, most_of_b] = failed_ratio_max.map(fine_percent);
            format!(
                "失敗するリクエストの割合が同じかどうか判定できません。失敗したのは A の {a} と B の {b} で、\
                 最も多い起動では {most_of_a} と {most_of_b} でした"
            )
        }
        ChangeReason::ServerDies { side } => {
            format!(
                "{side} のサーバーが、負荷をかけると終了するか、起動しないことが繰り返されました"
            )
        }
        ChangeReason::AnswersNothing { side } => {
            format!("{side} は、多くのクライアントが同時に要求すると何も応答しません")
        }
        ChangeReason::BothBreakDown => BOTH_BREAK_DOWN.into(),
        ChangeReason::TrialsNotValid { why } => {
            format!("計測からサーバーのことがわかりません: {}", Language::Japanese.say(why))
        }
        ChangeReason::TooFewBlocks => "3 ブロックを計測する前に終わりました".into(),
        ChangeReason::FigureNotKnown { figure } => {
            format!("{}がよくわからず、何も言えません", name(*figure))
        }
        ChangeReason::FigureChanged { figure } => {
            format!("{}が変わったのは確かです", name(*figure))
        }
        ChangeReason::FigureSame { figure, band_ratio } => {
            format!("{}は {:.0} % 以内で同じです", name(*figure), band_ratio * 100.0)
        }
        ChangeReason::FigureWithinNoise { figure, band_ratio, measured: [a, b], needed } => {
            let more = match needed {
                Some([of_a, of_b]) => {
                    format!("計測の数を {a} と {b} から約 {of_a} と {of_b} にすれば判定できます")
                }
                None => "計測を増やしても、すぐには判定できません".to_string(),
            };
            let (name, percent) = (name(*figure), band_ratio * 100.0);
            format!(
                "{name}の差はノイズの範囲内で、ノイズが {percent:.0} % より大きくなっています。{more}"
            )
        }
        ChangeReason::TrafficExplains { figure, traffic_ratio } => format!(
            "判定できません。{}は変わりましたが、リクエストの数も {} 倍になっていて、そのためかもしれません",
            name(*figure),
            number(*traffic_ratio)
        ),
        ChangeReason::TrendExplains { figure, daily_ratio } => format!(
            "判定できません。{}は変わりましたが、それぞれの期間の中でも 1 日に {:+.1} % ずつ変わっていて、\
             そのためかもしれません",
            name(*figure),
            (daily_ratio - 1.0) * 100.0
        ),
    }
}

/// A figure's name, as it stands before a particle.
pub fn name(figure: FigureKind) -> &'static str {
    match figure {
        FigureKind::Capacity => "さばける量",
        FigureKind::CurrentCapacity => "今の設定のさばける量",
        FigureKind::Gain => "今の設定に対する比",
        FigureKind::Memory => "メモリ",
        FigureKind::CpuPerRequest => "1 リクエストの CPU ",
        FigureKind::Throughput => "スループット",
        FigureKind::LatencyP50 => "p50 ",
        FigureKind::LatencyP95 => "p95 ",
        FigureKind::LatencyP99 => "p99 ",
        FigureKind::LatencyMean => "平均レイテンシ",
        FigureKind::QueueTime => "キューでの待ち時間",
        FigureKind::Errors => "エラー",
    }
}

pub fn of_recheck(reason: &RecheckReason) -> String {
    match reason {
        RecheckReason::NoLongerRuns { setting, why } => {
            format!("{setting}: {}", obstacle::sentence(why))
        }
        RecheckReason::NoWholeStart => "1 回の起動を通して計測できたものがありません".into(),
        RecheckReason::PrintedRateMissed { rate_rps } => {
            let rate = number(*rate_rps);
            format!("新しく起動しても、前回の {rate}/s を 2 回ともさばけませんでした")
        }
        RecheckReason::FormerHoldsMore => "前の設定のほうがさばけるのは確かです".into(),
        RecheckReason::PrintedRateHeld { rate_rps, duration_s } => {
            let rate = number(*rate_rps);
            format!("新しく起動して、前回の {rate}/s を {duration_s:.0} 秒間さばきました")
        }
        RecheckReason::TooLittleMeasured => "計測が少なく、判定できません".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_counted_is_told_with_what_it_takes_to_be_certain() {
        let count = TermCount {
            term: SloTerm::Latency { quantile_ratio: 0.95, limit_s: 0.2 },
            violations: 12,
            requests: 240,
            counts_failures: false,
            effective_requests: None,
            certainty: Certainty::TooClose,
        };
        let goals = vec![GoalCount { scope: None, terms: vec![count] }];
        assert_eq!(
            sentence(&Reason::NotToldApart { goals, due: 500, resolution_ratio: 0.128 }),
            "p95<200ms: 240 件のうち 12 件が上限超過（5 %、許容は 5 %）。差が小さく判定できません。\
             もっと長く計測してください。500 リクエストでは 13 % の差を見分けられません"
        );
    }
}
