//! What was seen of a way to cut an app at the rate that is the same for all, in Japanese.

use crate::report::figures;
use crate::terms::AtOneRate;

/// With a change, beside the app as it is.
pub fn sentence(with: &AtOneRate, as_it_is: &AtOneRate) -> String {
    let rate = figures::number(with.rate_rps);
    let seen = format!("毎秒 {rate} 件では{}（変更なしでは{}）", tail(with), tail(as_it_is));
    let other = a_pod_less(as_it_is).map(|it| format!("変更なしでは{it}"));
    let parts = [Some(seen), a_pod_less(with), other];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

fn tail(of: &AtOneRate) -> String {
    let p95 = figures::latency(of.latency_s_p95);
    let [least, most] = of.latency_s_p95_range.map(figures::latency);
    let p99 = figures::latency(of.latency_s_p99);
    format!("p95 {p95}（{least}〜{most}）、p99 {p99}")
}

/// What the other pods do once one is gone; `None`: that is not known.
pub fn a_pod_less(of: &AtOneRate) -> Option<String> {
    let Some(less) = &of.with_a_pod_less else {
        return (of.pods == 1).then(|| "唯一の Pod を失うと何も残りません".to_string());
    };
    let ended = if less.another_ended { "（別の Pod も終了）" } else { "" };
    let with = format!("{} Pod のうち {} 個が残ったとき{ended}", of.pods, less.pods_left);
    if less.failed_share >= 1.0 {
        return Some(format!("{with}すべてのリクエストが失敗"));
    }
    let [p95, p99] = [less.latency_s_p95, less.latency_s_p99].map(figures::latency);
    let failed = figures::percent(less.failed_share);
    let grew = match less.keeps_up {
        Some(false) => "、待ち行列が最後まで伸び続け、さばききれません",
        Some(true) | None => "",
    };
    Some(format!("{with} p95 {p95}、p99 {p99}、失敗 {failed}{grew}"))
}
