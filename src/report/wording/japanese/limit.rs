//! What a limit is known by, and what to do about it, in Japanese.

use super::doubt;
use crate::report::Language;
use crate::report::figures::whole_percent as percent;
use crate::terms::{
    CpuBusy, LimitAdvice, MemoryFill, NeighbourCores, ProcessNames, ResourceEvidence, Slots,
    WaitingEvidence,
};

pub fn waiting(evidence: &WaitingEvidence) -> String {
    match evidence {
        WaitingEvidence::NotSaturated => "限界まで負荷をかけていません".into(),
        WaitingEvidence::NoRuleHolds { cpu, in_flight_mean, slots } => format!(
            "当てはまる規則がありません: {}、{} 個の{}に処理中のリクエスト {in_flight_mean:.1}",
            busy(cpu),
            slots.count,
            slots_name(*slots),
        ),
        WaitingEvidence::BackendBusy { backend_cores, server_cores, cores, processes } => format!(
            "アプリの後ろで働くプロセスが {backend_cores:.2} コア、サーバーが {cores} コアのうち \
             {server_cores:.2} コアを使っていました: {}",
            names(processes)
        ),
        WaitingEvidence::BackendWaits { by_workers, held_s, stretch, cpu } => format!(
            "{} 1 つが 1 リクエストに平均 {:.1} ms かかり、単独のときの {stretch:.1} 倍でした。その間の{} \
             です。リクエストはアプリの後ろで互いを待っています",
            if *by_workers { "ワーカー" } else { "スレッド" },
            held_s * 1e3,
            busy(cpu),
        ),
        WaitingEvidence::SlotsTaken { slots, in_flight_mean, cpu } => format!(
            "{}すべてふさがっていました（処理中のリクエストは平均 {in_flight_mean:.1}）。その間の{} です。\
             リクエストは外の何かを待っています",
            match slots.count {
                1 => "唯一のワーカーが".to_string(),
                several => format!("{several} 個の{}が", slots_name(*slots)),
            },
            busy(cpu),
        ),
        WaitingEvidence::Unbalanced { busiest_ratio, idlest_ratio } => format!(
            "あるワーカーは時間の {} が処理中で、別のワーカーは {} でした。空いているワーカーにリクエストが届いて\
             いません",
            percent(*busiest_ratio),
            percent(*idlest_ratio)
        ),
        WaitingEvidence::ProxyTurnedAway { due, closed, status_502, cpu } => format!(
            "{due} リクエストのうち、プロキシが {closed} 接続を閉じ、{status_502} 件に 502 を返しました。\
             その間の{} でした",
            busy(cpu)
        ),
        WaitingEvidence::ListenQueueFull { backlog, turned_away, p99_s, cores_busy_ratio } => {
            format!(
                "listen キュー（backlog {backlog}）があふれて {turned_away} 接続が断られました\
                 （p99 {p99_s:.1} 秒。断られた接続は 1、3、7 秒後に再試行されます）。その間のコアの\
                 使用率は {} でした",
                percent(*cores_busy_ratio)
            )
        }
    }
}

pub fn resource(evidence: &ResourceEvidence) -> String {
    match evidence {
        ResourceEvidence::GeneratorLimits { doubt } => doubt::message(&(*doubt).into()),
        ResourceEvidence::CoresBusy { cores, busy_ratio, server_cores, generator_cores } => {
            format!(
                "{cores} コアが {} 使われていました（サーバー {server_cores:.2}、負荷生成側 \
                 {generator_cores:.2} コア）",
                percent(*busy_ratio),
            )
        }
        ResourceEvidence::WorkersBusy {
            workers,
            busy_ratio,
            has_one_thread,
            idle_cores,
            cores,
        } => format!(
            "{}時間の {} が処理中で、{}の上限に達していましたが、{cores} コアのうち {idle_cores:.2} \
             コアは空いていました",
            if *workers == 1 { "唯一のワーカーは" } else { "各ワーカーは" },
            percent(*busy_ratio),
            if *has_one_thread {
                "一度に 1 コア"
            } else {
                "インタープリターのロック"
            },
        ),
        ResourceEvidence::Throttled { cores, throttled_ratio, server_cores } => format!(
            "control group のクォータ（{cores} コア）により、スケジューリング期間の {} でサーバーが\
             止められました。使ったのは {server_cores:.2} コアです",
            percent(*throttled_ratio)
        ),
        ResourceEvidence::Collecting { ratio, per_request_s } => format!(
            "ワーカーの CPU 時間の {} が GC でした（1 リクエストあたり {:.1} ms）",
            percent(*ratio),
            per_request_s * 1e3
        ),
        ResourceEvidence::OutOfMemory { kills, memory } => format!(
            "メモリ不足で {kills} プロセスが強制終了されました{}",
            of_limit(memory.as_ref())
        ),
        ResourceEvidence::MemoryPressure { reread_pages_per_s, waited_ratio, memory } => format!(
            "毎秒 {reread_pages_per_s:.0} ページが場所を空けてディスクから読み直され{}、時間の {} は何かが\
             それを待っていました",
            of_limit(memory.as_ref()),
            percent(*waited_ratio)
        ),
        ResourceEvidence::Stolen { ratio } => {
            format!("ハイパーバイザーがコア時間の {} をほかに回しました", percent(*ratio))
        }
        ResourceEvidence::TakenByOthers { cores, busy_ratio, taken_ratio, processes } => format!(
            "{cores} コアが {} 使われ、そのうち {} はサーバー以外のプロセスでした: {}",
            percent(*busy_ratio),
            percent(*taken_ratio),
            names(processes)
        ),
    }
}

pub fn advice(advice: &LimitAdvice) -> String {
    match *advice {
        LimitAdvice::MendGenerator { doubt } => doubt::advice(&doubt.into()),
        LimitAdvice::MoreCoresOrLessCpu { has_threads } => format!(
            "コアを増やすか、1 リクエストの CPU を減らしてください。{}を増やしても、サーバーの中で待つだけです",
            either(has_threads)
        ),
        LimitAdvice::MoreWorkers => "ワーカーを増やしてください".into(),
        LimitAdvice::MoreWorkersNotThreads => {
            "ワーカーを増やしてください。スレッドを増やしても、同じロックを待つだけです".into()
        }
        LimitAdvice::MoreThreadsOrWorkers => "スレッドかワーカーを増やしてください".into(),
        LimitAdvice::LookAtBackend { has_threads } => format!(
            "アプリがバックエンドに何を頼んでいるかを見てください（クエリー、インデックス、コネクションプールの\
             大きさ）。{}を増やしても、そこで待つだけです",
            either(has_threads)
        ),
        LimitAdvice::MoreMemoryOrFewerWorkers => {
            "メモリを増やすか、ワーカーを減らしてください。1 ワーカーあたりの量は結果にあります".into()
        }
        LimitAdvice::HigherQuotaOrWorkersPerCore => {
            "クォータを増やすか、ワーカー数をクォータのコア数（切り捨て）にしてください。それより多いと、早く\
             使い切って全員が止まるだけです"
                .into()
        }
        LimitAdvice::LessGarbage => {
            "ごみを減らしてください。1 リクエストのオブジェクトを減らし、最初のヒープ（\
             RUBY_GC_HEAP_0_INIT_SLOTS から RUBY_GC_HEAP_4_INIT_SLOTS。Ruby 3.2 までは \
             RUBY_GC_HEAP_INIT_SLOTS）と RUBY_GC_MALLOC_LIMIT を大きくします"
                .into()
        }
        LimitAdvice::MeasureAtAnotherTime => {
            "時間を変えて計測してください。専有コアのマシン（dedicated など、バースト型でないもの）なら性能が\
             変わりません"
                .into()
        }
        LimitAdvice::EndNeighbours => {
            "それらを終了するか、それらが動かないコアをサーバーに割り当てて、計測し直してください".into()
        }
        LimitAdvice::FreshConnections => {
            "前段のプロキシのように、リクエストごとに新しい接続で計測してください。接続を保つと、クライアントは\
             どれだけ待っても同じワーカーに付いたままです"
                .into()
        }
        LimitAdvice::RaiseProxyLimits => {
            "プロキシの上限（worker_connections、limit_conn、limit_req、開けるファイル数）と、後ろの\
             サーバーの listen キューを大きくしてください"
                .into()
        }
        LimitAdvice::LongerListenQueue => {
            "listen キューを長くするか（サーバーの backlog と net.core.somaxconn）、待ちを引き受ける\
             プロキシを前に置いてください"
                .into()
        }
    }
}

fn either(has_threads: bool) -> &'static str {
    if has_threads { "ワーカーやスレッド" } else { "ワーカー" }
}

fn busy(cpu: &CpuBusy) -> String {
    let (all, worker) = (percent(cpu.cores_ratio), percent(cpu.worker_ratio));
    format!("コアの使用率は {all}、最も忙しいワーカーは {worker}")
}

fn slots_name(slots: Slots) -> &'static str {
    if slots.are_workers { "ワーカー" } else { "スレッド" }
}

fn of_limit(memory: Option<&MemoryFill>) -> String {
    let text =
        |it: &MemoryFill| format!("（{} MiB / {} MiB）", it.most_bytes >> 20, it.limit_bytes >> 20);
    memory.map(text).unwrap_or_default()
}

pub fn processes(names: &ProcessNames) -> String {
    let ProcessNames::Alike { name, others } = names;
    format!("{name} ほか同様の {others} 個")
}

fn names(processes: &[NeighbourCores]) -> String {
    let name = |one: &NeighbourCores| Language::Japanese.say(&one.name);
    let named = processes.iter().map(|one| format!("{}（{:.2} コア）", name(one), one.cores));
    named.collect::<Vec<_>>().join("、")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_of_the_first_heap_is_named_as_each_ruby_calls_it() {
        let said = advice(&LimitAdvice::LessGarbage);
        for name in ["RUBY_GC_HEAP_0_INIT_SLOTS", "Ruby 3.2", "RUBY_GC_HEAP_INIT_SLOTS"] {
            assert!(said.contains(name), "{name} is missing in: {said}");
        }
    }
}
