//! Reports in Japanese, in the words of those who run Rails apps: the field's terms stay.

pub mod advice;
pub mod at_one_rate;
pub mod blind_spot;
pub mod comparison;
pub mod doubt;
pub mod failure;
pub mod finding;
pub mod lab;
pub mod limit;
pub mod limit_refusal;
pub mod note;
pub mod obstacle;
mod plan;
pub mod reason;
pub mod remark;
pub mod session_error;
mod undone;
mod way_out;

// `advise` answers in English alone.
pub use super::english::advise;
use super::{
    Counted, Found, FrontHeading, Inside, Language, Lasted, MemoryPart, Nearest, Phrases, Soaked,
    Sureness, Today, Undone, WayOut, Why,
};
use crate::report::figures;
use crate::report::story::{FreshStart, NoFigure, Outcome};
use crate::terms::{
    Arrivals, AtOneRate, GoalSummary, HeldRate, KnobVerdict, LimitKind, Machine, TrialPurpose,
    Verdict, Verification,
};

pub struct Japanese;

impl Japanese {
    fn holding(found: &Found<'_>) -> String {
        let (before, after) = match found.fresh_start {
            FreshStart::HoldsAsMuch => ("", String::new()),
            FreshStart::HoldsLess => ("温まれば ", String::new()),
            FreshStart::HeldIt { warm_rps } => {
                ("", format!("（温まれば約 {}）", figures::number(warm_rps)))
            }
        };
        format!("{before}{} を満たしたまま {} リクエスト/秒{after}", found.goal, found.capacity)
    }

    fn of_those(rate: Option<&str>) -> String {
        rate.map(|rate| format!("{rate} をさばける設定の中で")).unwrap_or_default()
    }

    fn in_parentheses(text: Option<&str>) -> String {
        text.map(|text| format!("（{text}）")).unwrap_or_default()
    }
}

impl Phrases for Japanese {
    fn count(&self, value: u64, what: Counted) -> String {
        match what {
            Counted::Workers => format!("{value} ワーカー"),
            Counted::Threads => format!("{value} スレッド"),
            Counted::Trials => format!("試行 {value} 回"),
            Counted::Clients => format!("{value} 並列"),
            Counted::Connections => format!("{value} 接続"),
            Counted::Settings => format!("{value} 設定"),
            Counted::Requests => format!("{value} リクエスト"),
            Counted::Errors => format!("エラー {value} 件"),
            Counted::Starts => format!("起動 {value} 回"),
        }
    }

    fn time(&self, hours: u64, minutes: u64, seconds: u64) -> String {
        let parts = [(hours, "時間"), (minutes, "分"), (seconds, "秒")];
        let shown = parts.iter().filter(|(value, _)| *value > 0);
        let shown: Vec<String> = shown.map(|(value, unit)| format!("{value} {unit}")).collect();
        if shown.is_empty() { "0 秒".to_string() } else { shown.join(" ") }
    }

    fn all_of(&self, names: &[String]) -> String {
        names.join(" と ")
    }

    fn list(&self, items: &[String]) -> String {
        items.join("、")
    }

    fn purpose(&self, purpose: TrialPurpose) -> &'static str {
        match purpose {
            TrialPurpose::Unloaded => "無負荷",
            TrialPurpose::Saturate => "飽和",
            TrialPurpose::Probe => "探索",
            TrialPurpose::Confirm => "確認",
            TrialPurpose::Hold => "維持",
            TrialPurpose::Check => "接続",
            TrialPurpose::Screen => "比較",
            TrialPurpose::LostPod => "Pod 喪失",
            TrialPurpose::Soak => "長時間",
        }
    }

    fn outcome(&self, outcome: Outcome) -> &'static str {
        match outcome {
            Outcome::DidNotStart => "起動せず",
            Outcome::OutOfMemory => "メモリ不足",
            Outcome::ServerEnded => "サーバー終了",
            Outcome::NotValid => "無効",
            Outcome::Measured => "計測済み",
            Outcome::Held => "達成",
            Outcome::DidNotHold => "未達",
            Outcome::Undecided => "判定不能",
        }
    }

    fn outcomes(&self, outcome: Outcome, count: usize) -> String {
        match outcome {
            Outcome::Measured => format!("基準の計測 {count}"),
            outcome => format!("{} {count}", self.outcome(outcome)),
        }
    }

    fn limit(&self, kind: LimitKind) -> &'static str {
        match kind {
            LimitKind::Cores => "CPU コア",
            LimitKind::Quota => "CPU クォータ",
            LimitKind::Gvl => "GVL（インタープリターのロック）",
            LimitKind::Threads => "スレッド数",
            LimitKind::Balance => "ワーカー間の偏り",
            LimitKind::Backlog => "listen キュー",
            LimitKind::Backend => "バックエンド",
            LimitKind::Memory => "メモリ",
            LimitKind::Proxy => "プロキシ",
            LimitKind::Gc => "GC",
            LimitKind::Host => "ホスト",
            LimitKind::Generator => "負荷生成側",
            LimitKind::Unknown => "不明",
        }
    }

    fn run(&self, found: &Found<'_>) -> String {
        format!("{} にしてください。{}をさばけます。", found.setting, Self::holding(found))
    }

    fn keep(&self, found: &Found<'_>) -> String {
        format!("今の {} のままで十分です。{}をさばけます。", found.setting, Self::holding(found))
    }

    fn only_todays(&self, found: &Found<'_>) -> String {
        format!(
            "比較するには時間が足りませんでした。今の {} は{}をさばけますが、ほかの設定は計測していま\
             せん。--budget を長くすると計測できます。",
            found.setting,
            Self::holding(found)
        )
    }

    fn run_instead(&self, found: &Found<'_>, today: &Today<'_>, gain: Option<&str>) -> String {
        let (holding, setting) = (Self::holding(found), found.setting);
        match gain {
            Some(gain) => format!(
                "{setting} にしてください。{holding}をさばけます（今の {} の {gain} 倍）。",
                today.setting
            ),
            None => format!(
                "{setting} にしてください。{holding}をさばけます。今の {} では、どの負荷でも目標を満たせま\
                 せん。",
                today.setting
            ),
        }
    }

    fn run_because(&self, found: &Found<'_>, is_todays: bool, why: &Why<'_>) -> String {
        let run = match is_todays {
            true => format!("今の {} のままで十分です", found.setting),
            false => format!("{} にしてください", found.setting),
        };
        let why = match why {
            Why::Likeliest { rate } => {
                format!("{rate} を確実にさばける設定はなく、これが最も有望です")
            }
            Why::LeastMemory { rate, memory } => {
                format!("{}メモリが最も少なく済みます（{memory}）", Self::of_those(*rate))
            }
            Why::LowestP95 { rate, p95 } => {
                format!("{}p95 が最も低く、その負荷で {p95} です", Self::of_those(*rate))
            }
            Why::LeastCost { rate, million } => {
                let of_those = Self::of_those(*rate);
                format!("{of_those}100 万リクエストあたりの費用が最も安く、{million} です")
            }
        };
        format!("{run}。{why}。{}をさばけます。", Self::holding(found))
    }

    fn nothing_holds(&self, found: &Found<'_>, rate: &str) -> String {
        format!(
            "計測した設定に {rate} をさばけるものはありませんでした。最大は {} で、{}です。",
            found.setting,
            Self::holding(found)
        )
    }

    fn undone(&self, why: &Undone<'_>) -> String {
        undone::sentence(why)
    }

    fn subject(&self, setting: &str, _is_in_workers: bool) -> String {
        setting.to_string()
    }

    fn holds(&self, subject: &str, rate: &str, interval: Option<&str>) -> String {
        format!("{subject} で {rate}{}", Self::in_parentheses(interval))
    }

    fn holds_not(&self, subject: &str, why: NoFigure) -> String {
        let why = match why {
            NoFigure::DoesNotStart => "では起動しません",
            NoFigure::HoldsNothing => "では、どの負荷でも目標を満たせません",
            NoFigure::EndedUnderLoad => "では、負荷をかけるとサーバーが自分で終了しました",
            NoFigure::NotFarEnough => "は、さばける量がわかるところまで計測していません",
        };
        format!("{subject} {why}")
    }

    fn gain(&self, change: &str, ratio: &str, interval: Option<(&str, bool)>) -> String {
        match interval {
            None => format!("{change}（{ratio} 倍）"),
            Some((interval, is_doubtful)) => {
                let doubt = if is_doubtful {
                    "。ここでは差があるとは言えません"
                } else {
                    ""
                };
                format!("{change}: {ratio} 倍（{interval}）{doubt}")
            }
        }
    }

    fn limit_because(&self, limit: &str, evidence: &str, confidence: Option<&str>) -> String {
        let sure = confidence.map(|it| format!("（確信度 {it}）")).unwrap_or_default();
        format!("{limit}: {evidence}{sure}")
    }

    fn held(&self, held: &HeldRate, time: &str, at_most: &str, sureness: Sureness) -> String {
        let HeldRate { requests, failed, trial, .. } = held;
        let rate = figures::rate(held.rate_rps);
        let sure = match sureness {
            Sureness::BeyondChance => "偶然では説明できない確かさで目標を満たしました",
            Sureness::InPart => "目標を満たしました",
            Sureness::PlainFigures => "目標を満たしましたが、偶然の可能性が残ります",
        };
        format!(
            "起動し直して {rate} を {time} かけ続け、{sure}（試行 {trial}）。失敗は {requests} リクエスト中 \
             {failed} 件で、95 % の確かさで {at_most} 以下です"
        )
    }

    fn soak(&self, soaked: &Soaked<'_>) -> String {
        let figure = |what: &str, it: &Lasted| {
            let growth = it.growth.as_ref().map(|it| format!("（1 時間に {it} 増加）"));
            format!("、{what}は {} から {}{}", it.first, it.last, growth.unwrap_or_default())
        };
        let missed =
            soaked.missed.map(|(missed, all)| format!("、{all} 区間のうち {missed} で目標未達"));
        let missed = missed.unwrap_or_default();
        let latency = soaked.latency.as_ref().map(|it| figure("p95 ", it)).unwrap_or_default();
        let memory = soaked.memory.as_ref().map(|it| figure("メモリ", it)).unwrap_or_default();
        let full = soaked.full_in.map(|time| format!("、あと {time} でいっぱい"));
        let ended =
            soaked.ended.map(|why| format!("。予定の {} より前に終了: {why}", soaked.asked));
        format!(
            "{} を {}。失敗は {} リクエスト中 {} 件{missed}{latency}{memory}{}、入れ替わったワーカー {}{}",
            soaked.rate,
            soaked.time,
            soaked.requests,
            soaked.failed,
            full.unwrap_or_default(),
            soaked.workers_replaced,
            ended.unwrap_or_default()
        )
    }

    fn memory_of(&self, used: &str, all: Option<&str>) -> String {
        all.map_or_else(|| used.to_string(), |all| format!("{used} / {all}"))
    }

    fn memory_part(&self, part: MemoryPart, figure: &str, interval: Option<&str>) -> String {
        let what = match part {
            MemoryPart::Shared => "共有",
            MemoryPart::Worker => "1 ワーカーあたり",
            MemoryPart::Thread => "1 スレッドあたり",
        };
        format!("{what} {figure}{}", Self::in_parentheses(interval))
    }

    fn inside(&self, request: &Inside<'_>) -> String {
        let and = |what: &str, time: Option<&str>| {
            time.map(|time| format!("、{what} {time}")).unwrap_or_default()
        };
        format!(
            "1 リクエストあたりアプリ内で {}、うち CPU {}{}{}。プローブ自体の CPU は {}（その CPU の {}）",
            request.app,
            request.cpu,
            and("GC", request.gc),
            and("GVL 待ち", request.lock_wait),
            request.probe,
            request.probe_share
        )
    }

    fn up_to_connections(&self, connections: u64) -> String {
        format!("最大 {}", self.count(connections, Counted::Connections))
    }

    fn nearest(&self, nearest: &Nearest<'_>) -> String {
        let Nearest { setting, offered, quantile, latency, failed, trial } = nearest;
        let errors = match failed {
            None => "失敗したリクエストはなし".to_string(),
            Some(share) => format!("リクエストの {share} が失敗"),
        };
        format!("{setting} に {offered} で {quantile} が {latency}、{errors}（試行 {trial}）")
    }

    fn way_out(&self, way: &WayOut<'_>) -> String {
        way_out::say(way)
    }

    fn method(&self, trials_in: &str, load: &str, outcomes: &[String]) -> String {
        let outcomes = match outcomes {
            [] => String::new(),
            some => format!("。内訳: {}", some.join("、")),
        };
        format!("{trials_in}、うち負荷をかけた時間は {load}{outcomes}。")
    }

    fn arrivals(&self, arrivals: Arrivals) -> &'static str {
        match arrivals {
            Arrivals::Poisson => {
                "リクエストは、互いに無関係なユーザーが来るように（ポアソン到着で）送りました。"
            }
            Arrivals::Uniform => {
                "リクエストは等間隔で送りました。この場合、さばける量は実際より多めに出ます。"
            }
        }
    }

    fn machine(&self, machine: &Machine) -> String {
        let cpu = machine.known_cpu_model().map(|it| format!("{it} の ")).unwrap_or_default();
        let kernel =
            machine.known_kernel().map(|it| format!("、カーネル {it}")).unwrap_or_default();
        format!("{cpu}{} コア、メモリ {}{kernel}", machine.cores, machine.memory_bytes)
    }

    fn predictions_off(&self, errors: &[String]) -> String {
        format!("計測前の予測の誤差（中央値）: {}。", errors.join("、"))
    }

    fn place(&self, place: &str, is_alternative: bool) -> String {
        format!("{}{place}", if is_alternative { "または " } else { "" })
    }

    fn map_heading(&self, has_threads: bool) -> String {
        let by = if has_threads { "ワーカー x スレッド" } else { "ワーカー" };
        format!("マップ: 目標を満たしたままさばけるリクエスト/秒（{by}）")
    }

    fn front(&self, heading: FrontHeading, rate: Option<&str>) -> String {
        let figures = match heading {
            FrontHeading::CapacityAndMemory => return "さばける量とメモリ".to_string(),
            FrontHeading::P95 { has_cost: true } => "p95 とリクエストの費用",
            FrontHeading::P95 { has_cost: false } => "p95",
            FrontHeading::Cost => "1 時間と 100 万リクエストの費用",
        };
        let at = rate.unwrap_or("さばける量の 70 %");
        format!("さばける量とメモリ、{at} のときの {figures}")
    }

    fn knob_intervals(&self, tried: usize, level: Option<&str>) -> String {
        match level {
            None => "区間は 95 % です。".to_string(),
            Some(level) => format!(
                "{tried} 個の変更を試したので、全体で 95 % になるように、各区間を {level} % にしています。"
            ),
        }
    }

    fn knobs_gain(&self, names: &str, ratio: &str, interval: &str, better: Option<&str>) -> String {
        let threads =
            better.map(|at| format!("。その場合は {at} のほうが良い")).unwrap_or_default();
        format!("{names}: さばける量が {ratio} 倍（{interval}）{threads}")
    }

    fn with_other_cpus(&self, cpus: f64, per_core: f64) -> String {
        let (cpus, per_core) = (figures::percent(cpus), figures::percent(per_core));
        format!("CPU は {cpus}、1 コアあたりでさばける量は {per_core}")
    }

    fn knob_outcome(&self, verdict: KnobVerdict, why: Option<&str>, more: Option<&str>) -> String {
        match (verdict, why, more) {
            (KnobVerdict::Helps, ..) => "効果あり".to_string(),
            (KnobVerdict::Hurts, ..) => "逆効果".to_string(),
            (KnobVerdict::NoDifference, ..) => "3 % 以内で差なし".to_string(),
            (KnobVerdict::Undecided, Some(why), _) => format!("判定不能: {why}"),
            (KnobVerdict::Undecided, None, Some(more)) => {
                format!("判定不能: あと約 {more}でわかります")
            }
            (KnobVerdict::Undecided, None, None) => "判定不能".to_string(),
            (KnobVerdict::Out, why, _) => format!("除外: {}", why.unwrap_or_default()),
        }
    }

    fn at_one_rate(&self, with: &AtOneRate, as_it_is: &AtOneRate) -> String {
        at_one_rate::sentence(with, as_it_is)
    }

    fn still_right(&self, found: &Verification, setting: &str, was_stopped: bool) -> String {
        let (session, reason) = (found.session, Language::Japanese.say(&found.reason));
        let so_far = if was_stopped {
            "途中で止められました。そこまでの結果: "
        } else {
            ""
        };
        let claim = format!("セッション {session} が勧めた {setting} ");
        let answer = match found.verdict {
            Verdict::Yes => format!("{claim}は今も正しい設定です"),
            Verdict::No => format!("{claim}は、もう正しい設定ではありません"),
            Verdict::Undecided => format!("{claim}が今も正しいかどうかは判定できません"),
        };
        format!("{so_far}{answer}: {reason}")
    }

    fn goal_met(&self, goal: &GoalSummary) -> String {
        let seen = match (goal.met, goal.leaning) {
            (Some(true), _) => return "達成".to_string(),
            (Some(false), _) => return "未達".to_string(),
            (None, Some(true)) => "達成の見込み",
            (None, Some(false)) => "未達の見込み",
            (None, None) => "リクエストなし",
        };
        match goal.requests_needed {
            Some(needed) => format!("{seen}（不確実: {needed} リクエスト必要）"),
            None => format!("{seen}（不確実: 境界に近すぎます）"),
        }
    }

    fn goal(&self, name: &str, slo: Option<(&str, &str)>, seen: &str) -> String {
        match slo {
            Some((slo, met)) => format!("{name}: {slo} {met}。{seen}"),
            None => format!("{name}: 目標なし。{seen}"),
        }
    }

    fn requests_failed(&self, requests: &str, failed: Option<u64>) -> String {
        failed.map_or_else(
            || requests.to_string(),
            |failed| format!("{requests}（うち失敗 {failed}）"),
        )
    }

    fn trial_begins(
        &self,
        trial: &str,
        load: &[String; 3],
        time: &str,
        left: Option<&str>,
    ) -> String {
        let left = left.map(|left| format!("。残り約 {left}")).unwrap_or_default();
        format!("{trial}: {}、{time}{left}", load.join("、"))
    }

    texts! {
        between(low: &str, high: &str) => "{low}〜{high}";
        with(setting: &str, changes: &str) => "{setting} + {changes}";
        trials_in(trials: &str, time: &str) => "{time}で{trials}";
        failed(error: &str) => "途中で失敗しました。そこまでの結果です: {error}";
        about(figure: &str) => "約 {figure}";
        second_by_second(rate: &str) => "最後に {rate} をかけた 1 秒ごとの記録";
        days(days: u64) => "{days} 日";
        over_the_time(rate: &str) => "{rate} をかけ続けた記録";
        day_to_day(rate: &str, share: &str) => "{rate}（さばける量の {share}）。残りは急増や不調のときの余裕です";
        best_so_far(subject: &str, rate: &str, trial: u32) =>
            "{subject} が {rate} をさばきました（試行 {trial}）";
        measured_on(machine: &str) => "計測したマシン: {machine}。";
        took_up(session: i64, trials: &str) => "セッション {session} を引き継ぎ、その{trials}を使いました。";
        stored_as(session: i64, store: &str) =>
            "セッション {session} として {store} に保存しました。レポートは次のコマンドで作れます。";
        stored_in(session: i64, store: &str, begun: &str) => "{store} のセッション {session}、開始 {begun}";
        off_by(what: &str, percent: &str, settings: &str) => "{what} {percent}（{settings}）";
        doubt(seen: &str, advice: &str) => "{seen}。{advice}";
        did_not_start(setting: &str, message: &str, advice: &str) =>
            "{setting} は起動しませんでした: {message}。{advice}";
        ended(subject: &str, trial: u32, status: &str) => "{subject} は試行 {trial} で終了しました（{status}）";
        configuration_file(server: &str) => "{server} の設定ファイル";
        and_in(place: &str) => "さらに {place}";
        knobs_heading(setting: &str) => "追加設定（それぞれ、そのままの {setting} と比べた結果）";
        knobs_together(changes: &str) => "同時に: {changes}";
        knobs_beside(setting: &str, chosen: &str, changes: &str) =>
            "{setting} と {chosen} の比較、どちらも {changes}";
        knob_figures(capacity: &str, memory: &str) => "さばける量 {capacity}、メモリ {memory}";
        now_then(setting: &str, ratio: &str) => "{setting} の今 / 前回: {ratio}";
        now_beside(setting: &str, current: &str, ratio: &str) =>
            "今の {setting} / {current}（ブロック内）: {ratio}";
        targets_at(rate: &str) => "{rate} のときのターゲット";
        starting(setting: &str) => "{setting} でサーバーを起動しています";
        trial(id: u32) => "試行 {id}";
        answered(rate: &str, p95: &str) => "{rate} 応答  p95 {p95}";
        left(time: &str) => "残り {time}";
        taking_up(session: i64, trials: u32) => "セッション {session} を引き継ぎます。試行 {trials} 回分がわかっています";
        left_out(count: usize) => "ほか {count} 件は省略しました。`-o csv=FOLDER/` と `-o json` にはすべてあります。";
    }
}
