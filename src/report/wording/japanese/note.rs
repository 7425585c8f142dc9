//! What is to be said of an answer, in Japanese.

use super::super::labels::JAPANESE;
use super::{Japanese, Phrases, obstacle};
use crate::report::Language;
use crate::report::figures::{fine_percent, half_width, latency, rate, ratio, size_of_change};
use crate::report::wording::Counted;
use crate::terms::{
    Configuration, ConnectionMode, KnobsNote, MissingFigure, ObjectiveNote, OtherConnections,
    PlanNote, PrecisionNote, Reason, RecheckNote, SearchNote, Stated, SteadinessNote,
};

pub fn of_search(note: &SearchNote) -> String {
    match note {
        SearchNote::AloneNotMeasured { why } => {
            format!(
                "1 クライアントだけの負荷は計測できませんでした: {}",
                Language::Japanese.say(why)
            )
        }
        SearchNote::GoalsOutOfReach { goals, latency_s_p95, why } => format!(
            "{goals} はどうしても満たせません。1 クライアントだけでも p95 が {:.0} ms です（{}）",
            latency_s_p95 * 1e3,
            Language::Japanese.say(why)
        ),
        SearchNote::UntriedMayAnswerBetter { configuration } => format!(
            "{configuration} を試す前に時間が来ました。そちらのほうが良いかもしれません。時間を増やすと、もっと\
             試します"
        ),
        SearchNote::UntriedMayHoldMore { configuration, expected_ratio } => {
            let hope = expected_ratio.map_or(String::new(), |ratio| {
                format!("（予測では {} 多い）", size_of_change(ratio))
            });
            format!(
                "{configuration} を試す前に時間が来ました{hope}。推奨設定は最良ではないかもしれません。時間を\
                 増やすと、もっと試します"
            )
        }
        SearchNote::NoTimeToConfirm => {
            "推奨設定を計測し直す時間がありませんでした。値は探索のときのものです".into()
        }
        SearchNote::NotHeldAtEnd => {
            "表示した負荷は長くは試していません。短い試行から見積もった範囲の下の端です。--budget を長くすると、\
             起動し直したサーバーに 30 秒以上かけて確かめられます"
                .into()
        }
        SearchNote::OtherConnections(seen) => over_others(seen),
        SearchNote::NothingHeldAtEnd { rate_rps } => format!(
            "最後まで続けてさばけた負荷はありませんでした。起動し直したサーバーは、試した負荷（最後は {}）を\
             どれもさばけませんでした。表示した値は、すべての試行から見積もったものです",
            rate(*rate_rps)
        ),
        SearchNote::ColdAtFirst { requests, warm_rps } => cold_at_first(*requests, *warm_rps),
        SearchNote::ErrorsAtAnyRate { failed, requests, allowed_ratio } => format!(
            "レイテンシーが目標内の間にも、{requests} リクエストのうち {failed} 件（{}）が失敗しました。許容は {} \
             です。負荷のせいではなく、どの負荷でもこの目標は満たせません。エラーの原因を調べるか、--slo で\
             許容してください",
            fine_percent(*failed as f64 / *requests as f64),
            fine_percent(*allowed_ratio)
        ),
        SearchNote::ErrorsUntold { failed, requests, allowed_ratio } => format!(
            "レイテンシーが目標内の間にも、{requests} リクエストのうち {failed} 件（{}）が失敗しました。許容は {} \
             です。もっと低い負荷なら減るかどうかは確かめられませんでした。時間を増やすと確かめます。エラーの\
             原因も調べてください",
            fine_percent(*failed as f64 / *requests as f64),
            fine_percent(*allowed_ratio)
        ),
        SearchNote::ErrorsNotCertified { failed, requests, allowed_ratio, requests_needed } => {
            errors_not_certified(*failed, *requests, *allowed_ratio, *requests_needed)
        }
        SearchNote::ChoiceNotMeasuredAgain { configuration, why } => {
            not_measured_again(*configuration, why)
        }
        SearchNote::NoRateHeld { configuration } => format!(
            "{configuration} は試したどのレートもさばけませんでした。さばける量は未達の結果からの推定で、もっと\
             少ないかもしれません。時間を増やすと、より低いレートを試します"
        ),
        SearchNote::CurrentNotTriedAtRate { configuration } => format!(
            "今の {configuration} のさばける量は、飽和したときに通った量から求めたものです。決まったレートでは\
             試していません"
        ),
    }
}

fn over_others(of: &OtherConnections) -> String {
    let (connection, rate) = (of.connection, rate(of.rate_rps));
    let seen = format!("p95 {}、{:.0} 秒", latency(of.latency_s_p95), of.duration_s);
    let way = match connection {
        ConnectionMode::KeepAlive => "接続を使い続ける場合（多くのプロキシはそうします）",
        ConnectionMode::Fresh => "リクエストごとに接続し直す場合",
    };
    match of.is_held {
        true => format!("{way}も、同じ設定で {rate} をさばけました（{seen}）"),
        false => format!(
            "{way}、同じ設定では {rate} をさばけませんでした（{seen}）。実際にそのように届くなら、\
             --connection {connection} で調べ直してください"
        ),
    }
}

fn not_measured_again(configuration: Option<Configuration>, why: &Stated<Reason>) -> String {
    let one = configuration.map_or("推奨設定".to_string(), |it| it.to_string());
    let why = Language::Japanese.say(why);
    format!("{one} を計測し直せませんでした。値はその前のものです: {why}")
}

fn cold_at_first(requests: u64, warm_rps: Option<f64>) -> String {
    match warm_rps {
        None => format!(
            "起動したばかりのサーバーは、各ワーカーが約 {requests} 件に応答するまで遅くなります。表示した負荷は、温ま\
             ったサーバーのものです。新しいサーバーは、温めてからすべての負荷をかけてください"
        ),
        Some(warm_rps) => format!(
            "起動したばかりのサーバーは、各ワーカーが約 {requests} 件に応答するまで遅くなります。表示した負荷は、冷え\
             たサーバーがさばいたものです。温まれば約 {} をさばけます。ほかの値は温まったサーバーのものです",
            rate(warm_rps)
        ),
    }
}

fn errors_not_certified(failed: u64, requests: u64, allowed: f64, requests_needed: u64) -> String {
    let allowed = fine_percent(allowed);
    if failed == 0 {
        return format!(
            "{requests} リクエストに失敗はありませんでしたが、失敗が {allowed} 未満と言い切るには足りません\
             （{requests_needed} 件で足ります）。この条件は結論に含めていません"
        );
    }
    format!(
        "レイテンシーが目標内の間に {requests} リクエストのうち {failed} 件（{}）が失敗しました。{allowed} 未満とも、\
         それより多いとも言い切れません。この条件は結論に含めていません",
        fine_percent(failed as f64 / requests as f64)
    )
}

pub fn of_precision(note: &PrecisionNote) -> String {
    match *note {
        PrecisionNote::OneStart { budget_s } => format!(
            "さばける量は 1 回の起動だけによるものです。{}の --budget があれば、起動し直して計測し直します",
            minutes(budget_s)
        ),
        PrecisionNote::Improvable { reached_ratio, asked_ratio, more_s } => {
            improvable(reached_ratio, asked_ratio, more_s)
        }
        PrecisionNote::TooVague { reached_ratio, asked_ratio, more_s } => format!(
            "{}。これだけ近い設定は見分けられないため、最良ではないかもしれません",
            improvable(reached_ratio, asked_ratio, more_s)
        ),
    }
}

fn improvable(reached_ratio: f64, asked_ratio: f64, more_s: f64) -> String {
    format!(
        "このセッションの起動し直しで、さばける量は {} までわかっています。{} まで知るには、あと約 {}かかります",
        half_width(reached_ratio),
        half_width(asked_ratio),
        minutes(more_s)
    )
}

/// Whole minutes, as people plan them.
fn minutes(seconds: f64) -> String {
    match (seconds / 60.0).ceil() {
        minutes if minutes < 120.0 => format!("{:.0} 分", minutes.max(1.0)),
        minutes => format!("{} 時間", (minutes / 6.0).round() / 10.0),
    }
}

pub fn of_steadiness(note: &SteadinessNote) -> String {
    match *note {
        SteadinessNote::SlowsDown { cpu_ratio_per_minute } => format!(
            "サーバーが安定していません。動くほど遅くなり、起動から 1 分ごとに 1 リクエストの CPU が {} 増えます。\
             さばける量は起動直後のもので、長くは続きません",
            size_of_change(cpu_ratio_per_minute)
        ),
        SteadinessNote::StillWarmsUp { cpu_ratio_per_minute } => format!(
            "サーバーが安定していません。計測中もウォームアップが続き、起動から 1 分ごとに 1 リクエストの CPU が \
             {} 減ります。温まれば、もっとさばけるかもしれません",
            size_of_change(cpu_ratio_per_minute)
        ),
        SteadinessNote::ChangedOverSession { cpu_ratio } => format!(
            "マシンかアプリが安定していません。同じ設定の 1 リクエストの CPU が、どの起動でも、セッションの最後\
             では最初より {} {}なりました。さばける量はこの数分間のものです",
            size_of_change(cpu_ratio),
            if cpu_ratio > 1.0 { "多く" } else { "少なく" }
        ),
    }
}

pub fn of_objective(note: &ObjectiveNote) -> String {
    match note {
        ObjectiveNote::NothingHoldsRate {
            rate,
            configuration,
            capacity_rps: most,
            capacity_rps_interval: [low, high],
        } => format!(
            "計測した設定に {rate} をさばけるものはなく、最大は {configuration} の {most:.1}/s（{low:.1}〜\
             {high:.1}）です。'sweetspot predict last --cpus 4,8,16' でどのマシンならさばけるか、--fleet \
             {rate} を付けると何台必要かがわかります"
        ),
        ObjectiveNote::RateNotCertain {
            rate,
            configuration,
            capacity_rps_interval: [low, high],
        } => format!(
            "{rate} を確実にさばける設定はありません。最も有望なのは {configuration}（{low:.1}〜{high:.1}/s）\
             です。--budget を増やすと、もっとわかります"
        ),
        ObjectiveNote::RateHeldInRaceOnly { rate, configuration } => format!(
            "{configuration} が {rate} をさばけるというのは探索で見たもので、起動し直しての計測はしていません"
        ),
        ObjectiveNote::HighestCapacityInstead { missing } => {
            let why = match missing {
                MissingFigure::Memory => "メモリを読めなかった",
                MissingFigure::LatencyAtRate => "そのレートでレイテンシを計測する時間がなかった",
                MissingFigure::MemoryOrCpu => "メモリか CPU を読めなかった",
            };
            format!("{why}ため、さばける量が最大の設定を選びました")
        }
    }
}

pub fn of_plan(note: &PlanNote) -> String {
    let edge = |chosen: u16, what: &str, option: &str| {
        format!(
            "試した{what}は {chosen} までです。増やすともっとさばけるかもしれません: --{option} {chosen}..{} を\
             試してください",
            u32::from(chosen) * 2
        )
    };
    match note {
        PlanNote::MostWorkersChosen { workers } => edge(workers.get(), "ワーカー", "workers"),
        PlanNote::MostThreadsChosen { threads } => edge(threads.get(), "スレッド", "threads"),
        PlanNote::TooFewRequests {
            slo,
            target,
            is_of_all,
            requests,
            trial_s,
            rate_rps,
            needed,
            needed_s,
        } => {
            let others = if *is_of_all { JAPANESE.all_targets } else { JAPANESE.other_targets };
            let target = target.as_deref().unwrap_or(others);
            let requests = Japanese.count(*requests, Counted::Requests);
            let longer = needed_s
                .map_or(String::new(), |needed_s| format!("（このレートで {needed_s:.0} 秒）"));
            format!(
                "{target} の {slo} は確かではありません。{rate_rps:.1}/s の {trial_s:.0} 秒間に届いたのは \
                 {requests}で、1 件も外れなくても {needed} 件必要です{longer}。--budget を増やすと試行が長くなり、\
                 weight を増やすとリクエストが増えます"
            )
        }
    }
}

pub fn of_knobs(note: &KnobsNote) -> String {
    match note {
        KnobsNote::KnobsNotCompared { why } => {
            format!("追加設定の比較を最後までできませんでした: {}", obstacle::sentence(why))
        }
        KnobsNote::OtherThreadsBetter {
            changes,
            chosen,
            better,
            capacity_ratio,
            capacity_ratio_interval: [low, high],
        } => format!(
            "{} では別のスレッド数のほうが良く、同じ変更で {better} は {chosen} の {} 倍（{}）をさばきます。\
             設定方法は {better} のものです",
            Japanese.all_of(changes),
            ratio(*capacity_ratio),
            Japanese.between(&ratio(*low), &ratio(*high))
        ),
        KnobsNote::OtherThreadsNotTried { changes, chosen } => format!(
            "{} は {chosen} でだけ試しました。ほかのスレッド数のほうが良いかどうかを見る時間がありませんでした",
            Japanese.all_of(changes)
        ),
        KnobsNote::NotTriedTogether { changes } => format!(
            "複数の変更に効果がありますが、合わせた効果は計測していません。{} だけを推奨します。--budget を増やすと、\
             合わせて試します",
            Japanese.all_of(changes)
        ),
    }
}

pub fn of_recheck(note: &RecheckNote) -> String {
    match note {
        RecheckNote::SettingLeftOut { setting, why } => {
            format!("{setting}: {}", obstacle::sentence(why))
        }
        RecheckNote::BudgetTooSmall => {
            "計測するには時間が足りません: --budget 5m を試してください".into()
        }
        RecheckNote::BudgetNeeded { budget_s } => {
            let minutes = budget_s / 60.0;
            format!("約 {minutes:.0} 分あれば判定できます: --budget {minutes:.0}m")
        }
        RecheckNote::TooNearToDecide => {
            "境目に近すぎて、いくら確かめても判定できません。tune し直してください".into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_told_as_people_plan_with_them() {
        let (reached_ratio, asked_ratio, more_s) = (0.07, 0.03, 9000.0);
        let precision = PrecisionNote::Improvable { reached_ratio, asked_ratio, more_s };
        assert_eq!(
            of_precision(&precision),
            "このセッションの起動し直しで、さばける量は ±7 % までわかっています。±3 % まで知るには、あと約 \
             2.5 時間かかります"
        );
        let threads = crate::terms::Threads::new(8).unwrap();
        assert_eq!(
            of_plan(&PlanNote::MostThreadsChosen { threads }),
            "試したスレッドは 8 までです。増やすともっとさばけるかもしれません: --threads 8..16 を試し\
             てください"
        );
    }
}
