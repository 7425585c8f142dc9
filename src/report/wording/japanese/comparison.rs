//! What a comparison or a verification says beside its figures, in Japanese.

use super::Japanese;
use super::reason::name;
use crate::report::figures::{latency, number, rate, span};
use crate::report::outside::line;
use crate::report::wording::{Counted, Language, Phrases, PlanPhrases};
use crate::terms::{
    CompareNote, CompareRefusal, Difference, FigureKind, FigureLeftOut, LoadOffered, Machine,
    MachineDifference, MetricRead, NamedPart, NamedSetting, ShapeSummary, StageSummary,
};

/// More stages than this are not named one by one.
const STAGES_NAMED: usize = 4;

pub fn machines(difference: &MachineDifference) -> String {
    let one = |it: &Machine| format!("{}（{} コア）", it.cpu_model, it.cores);
    match difference {
        MachineDifference::MachineNotKnown => "一方のマシンがわかりません".into(),
        MachineDifference::MeasuredElsewhere { a, b } => {
            format!("A は {}、B は {}で計測しました", one(a), one(b))
        }
    }
}

pub fn refusal(refusal: &CompareRefusal) -> String {
    match refusal {
        CompareRefusal::MachinesDiffer { why } => format!(
            "マシンが違います: {}。差が出ても、アプリの差かマシンの差かわかりません。両方を同じマシンで計測するか、\
             マシンを比べたいのなら --machines を付けてください",
            machines(why)
        ),
        CompareRefusal::TooFewStarts { side, starts, needed } => format!(
            "{side} の設定の起動は {starts} 回です。マシンを比べるには、それぞれ {needed} 回以上必要です。\
             tune の --budget を増やしてください"
        ),
        CompareRefusal::OneStartEach { needed } => format!(
            "どちらも 1 回の起動の結果です。マシンを比べるには、それぞれ {needed} 回以上必要です。両方で tune し\
             て、そのセッションを比べてください"
        ),
        CompareRefusal::GoalsDiffer { a, b, .. } => {
            format!("目標が違います: A は {a}、B は {b} です。両方を同じ --slo で計測してください")
        }
        CompareRefusal::PlansDiffer { a, b, flag } => {
            let (what, [a, b]) = Japanese.both([a.as_ref(), b.as_ref()], Language::Japanese);
            format!(
                "{what}が違います: A は {a}、B は {b} です。両方を同じ {flag} で計測してください"
            )
        }
        CompareRefusal::LoadsDiffer { a, b } => format!(
            "負荷が違います（A: {}、B: {}）。両方に同じ負荷をかけてください",
            load(*a),
            load(*b)
        ),
        CompareRefusal::ShapesDiffer { a, b } => format!(
            "負荷が違います（A: {}、B: {}）。両方に同じ負荷をかけてください",
            shape(a),
            shape(b)
        ),
        CompareRefusal::LoadNotValid { side } => format!(
            "{side} は有効ではありません。サーバーではなく、負荷生成側かマシンを表しています。直し方は、その警告に\
             あります"
        ),
        CompareRefusal::ArrivalsDiffer => "到着が違います。同じ --arrivals にしてください".into(),
        CompareRefusal::CapacityNotFound { side } => {
            format!("{side} では、さばける量が見つかっていません")
        }
        CompareRefusal::BlocksTooFew { blocks, block_s, needed } => format!(
            "判定できません。期間のうち、A と B の両方にあるのは {} ごとの値が {blocks} 個で、{needed} 個以上\
             必要です。しばらくしてから見直すか、期間を長くしてください",
            span(f64::from(*block_s))
        ),
        CompareRefusal::HoursUnmatched => {
            "判定できません。後の期間には、前の期間の同じ曜日の同じ時刻と比べられる時間が 12 時間以上ある日が\
             ありません。1 週間単位か、ちょうど何週間か離れた 1 日単位の期間にしてください"
                .into()
        }
        CompareRefusal::TooFewDays { days, needed } => format!(
            "判定できません。後の期間のうち、前の期間の同じ曜日と比べられるのは {days} 日で、{needed} 日以上必要で\
             す。期間を長くしてください"
        ),
        CompareRefusal::MostlyGaps { present, possible } => format!(
            "判定できません。期間の {possible} 個（前後を比べるときは日）のうち、両方に値があるのは {present} \
             個だけです。リクエストが少ないときは、--block を長く（1h まで）してください"
        ),
    }
}

fn load(offered: Option<LoadOffered>) -> String {
    match offered {
        Some(LoadOffered::RateRps(rate)) => format!("{rate:.1}/s"),
        Some(LoadOffered::Clients(clients)) => format!("{clients} クライアント"),
        None => "不明".into(),
    }
}

fn shape(shape: &ShapeSummary) -> String {
    match shape {
        ShapeSummary::Constant => "一定のレート".into(),
        ShapeSummary::Stages { stages } => {
            let mut named: Vec<String> = stages.iter().take(STAGES_NAMED).map(stage).collect();
            let others = stages.len().saturating_sub(STAGES_NAMED);
            if others > 0 {
                named.push(format!("さらに {others} 段階"));
            }
            named.join("、次に ")
        }
        ShapeSummary::Recorded { requests } => format!("{requests} リクエストの再生"),
        ShapeSummary::Clients { think_s } if *think_s == 0.0 => "間を置かないクライアント".into(),
        ShapeSummary::Clients { think_s } => {
            format!("{} の間を置くクライアント", latency(*think_s))
        }
    }
}

fn stage(stage: &StageSummary) -> String {
    let StageSummary { from_rps, to_rps, duration_s } = *stage;
    if from_rps == to_rps {
        format!("{} で {}", rate(to_rps), span(duration_s))
    } else {
        format!("{} から {} へ {}", rate(from_rps), rate(to_rps), span(duration_s))
    }
}

pub fn left_out(why: &FigureLeftOut) -> String {
    let of = |figure: FigureKind, why: &str| format!("{}: {why}", name(figure).trim_end());
    match why {
        FigureLeftOut::ServerCpuNotInLoad => {
            of(FigureKind::CpuPerRequest, "負荷の結果からは、サーバーが使った分がわかりません")
        }
        FigureLeftOut::NothingAnswered { figure } => {
            of(*figure, "一方では、応答が 1 件もありませんでした")
        }
        FigureLeftOut::NotMeasuredOnBoth { figure } => of(*figure, "両方では計測していません"),
        FigureLeftOut::MissingOnOneSide { figure } => of(*figure, "一方にありません"),
        FigureLeftOut::SettingHoldsNothing { figure, setting, side } => {
            of(*figure, &format!("{side} の {setting} は何もさばけないか、計測していません"))
        }
        FigureLeftOut::NoCommonRate => of(FigureKind::LatencyP95, "両方にかけたレートがありません"),
        FigureLeftOut::MetricAbsent { figure, near } if near.is_empty() => {
            of(*figure, "それを示すメトリクスがありません（docs/observe.md に一覧があります）")
        }
        FigureLeftOut::MetricAbsent { figure, near } => of(
            *figure,
            &format!(
                "それを示すメトリクスがありません。近い名前は{}です。--metric で指定できます",
                Japanese.list(near)
            ),
        ),
        FigureLeftOut::OnlySummary { figure, metric } => of(
            *figure,
            &format!("{metric} は summary で、プロセスごとの分位数は 1 つにまとめられません"),
        ),
        FigureLeftOut::BeyondBuckets { figure, bound_s } => {
            of(*figure, &format!("ヒストグラムの最後の境界 {} を超えています", latency(*bound_s)))
        }
        FigureLeftOut::NotInLog { figure } => of(*figure, "アクセスログからはわかりません"),
        FigureLeftOut::NotAtLoadBalancer { figure } => {
            of(*figure, "ロードバランサーのメトリクスからはわかりません")
        }
        FigureLeftOut::NotInTraces { figure } => of(*figure, "トレースからはわかりません"),
    }
}

pub fn difference(difference: &Difference) -> String {
    let tell = |what: &str, a: &str, b: &str| format!("{what}: A は {a}、B は {b}");
    match difference {
        Difference::NameDiffers { what, a, b } => {
            let what = match what {
                NamedPart::App => "アプリ",
                NamedPart::Server => "サーバー",
                NamedPart::Kernel => "カーネル",
            };
            tell(what, a, b)
        }
        Difference::PlannedOtherwise { a, b } => {
            let (what, [a, b]) = Japanese.both([a.as_ref(), b.as_ref()], Language::Japanese);
            tell(what, &a, &b)
        }
        Difference::ServerMemoryDiffers { a, b } => {
            tell("サーバーのメモリ", &a.to_string(), &b.to_string())
        }
        Difference::RecommendedDiffers { a, b } => tell("推奨設定", &setting(*a), &setting(*b)),
        Difference::KnobsNotVerified { changes, at } => {
            let at = at.map_or_else(String::new, |at| format!("（{}）", setting(at)));
            format!(
                "追加設定: {}{at} も推奨されていますが、確かめていません。前回も今回も、それを除いた値です",
                Japanese.all_of(changes)
            )
        }
    }
}

fn setting(NamedSetting { workers, threads }: NamedSetting) -> String {
    match threads {
        Some(threads) => format!("{workers} x {threads}"),
        None => Japanese.count(workers.into(), Counted::Workers),
    }
}

const NOT_MEASURED_IN_TURN: &str = "2 つは交互に計測したものではありません。レイテンシ、メモリー、CPU の区間には、起動ごとの差は入って\
     いますが、時間を置いたことによるマシンの差は入っていません。1 つのセッションで両方を計測すれば、それも入ります";
const RAN_AT_ONCE: &str =
    "両方が同時に動いていて、期間の始まりが同じである限り、区間は何度見ても成り立ちます。";
const INSTANCES_DIFFER: &str = "A と B のインスタンスそのものの差は入っていません。両方が同じ設定だったときの 2 つを比べれば、\
     それがわかります";
const BALANCERS_OWN_ERRORS: &str = "ターゲットグループの失敗は、そこからの 5xx と、そこへつながらなかった接続です。ロードバランサー自身が返すほかの \
     502 や 504 は、ロードバランサー全体でしか数えられていません";
const HOURS_MATCHED: &str = "同じ曜日の同じ時刻どうしを比べています。2 つの期間の間に変わったほかのことは区別できません。2 つの設定を\
     半分ずつ同時に動かせば区別できます";

pub fn note(note: &CompareNote) -> String {
    match note {
        CompareNote::NotMeasuredInTurn => NOT_MEASURED_IN_TURN.into(),
        CompareNote::NoCommonBlock => {
            "両方の設定を計測したブロックがないため、探索のときの値で比べています".into()
        }
        CompareNote::FiguresOfRace { side } => format!(
            "{side} の設定は、選んだ後に計測し直していません。値は探索のときのものです"
        ),
        CompareNote::PlanNotKnown { side } => format!(
            "{side} には何を指定したかが残っておらず、ターゲット、到着、接続が同じかどうかを確かめられませんでした"
        ),
        CompareNote::MachinesNotSaid { starts_differ_ratio } => format!(
            "どちらの結果にも、どのマシンで計測したかが残っていません。同じマシンで、同じくらい静かだったかどうかは、\
             ご自身で確かめてください。起動ごとの差（約 {:.0} %）は区間に入っています",
            starts_differ_ratio * 100.0
        ),
        CompareNote::ChangesNotMeasured { files } => format!(
            "コミットしていない変更のあるファイルが {files} 個あります。計測したのはコミットです"
        ),
        CompareNote::SubmodulesLeftOut { side } => format!(
            "{side} にはサブモジュールがあり、チェックアウトしていません。--prepare 'git submodule \
             update --init' で取得できます"
        ),
        CompareNote::CodeShared { paths } => code_shared(paths),
        CompareNote::GoalOutOfReach => {
            "クライアントが 1 つでも目標を満たさないため、さばける量は比べられません。満たせる --slo を指定してください"
                .into()
        }
        CompareNote::FewBlocks { blocks, block_s, wanted, budget_s } => {
            few_blocks(*blocks, *block_s, *wanted, *budget_s)
        }
        CompareNote::RanAtOnce => format!("{RAN_AT_ONCE}{INSTANCES_DIFFER}"),
        CompareNote::RanAtOnceLately { from } => lately(from),
        CompareNote::MetricsRead { metrics } => metrics_read(metrics),
        CompareNote::BalancersOwnErrors => BALANCERS_OWN_ERRORS.into(),
        CompareNote::HoursMatched => HOURS_MATCHED.into(),
        CompareNote::BlocksMissing { missing, possible } => {
            format!("抜け: {possible} 個のうち {missing} 個は一方に値がなく、どちらでも数えていません")
        }
        CompareNote::TrafficUneven { traffic_ratio } => format!(
            "B のリクエストは A の {} 倍です。インスタンスも同じ倍率でなければ、レイテンシ、メモリ、CPU の差はその\
             ためかもしれません",
            number(*traffic_ratio)
        ),
        CompareNote::ClocksApart { ahead_s } => format!(
            "Prometheus の時計はこちらより {} {}います。期間は Prometheus の時計によります",
            span(ahead_s.abs()),
            if *ahead_s > 0.0 { "進んで" } else { "遅れて" }
        ),
        CompareNote::RangeCut { to } => format!("期間は {to} までにしました。その後はまだわかりません"),
        CompareNote::CountersReset { side, times } => format!(
            "{side} のカウンターは {times} 回やり直されました。その間にプロセスが起動していて、その影響も値に入ってい\
             ます"
        ),
        CompareNote::BucketWide { figure, low_s, high_s } => format!(
            "{}はヒストグラムの {} から {} までのバケットの中で補間した値です。変化の向きは確かですが、大きさは違うこと\
             があります",
            name(*figure),
            latency(*low_s),
            latency(*high_s)
        ),
        CompareNote::LinesLeftOut { side, lines, of } => format!(
            "{side} のログの {of} 行のうち {lines} 行は、読めないか、応答時間がありません"
        ),
        CompareNote::SourceWarned { text } => {
            format!("記録元からの注意: {}", line(text))
        }
    }
}

fn lately(from: &str) -> String {
    format!(
        "両方が同時に動いていて、区間はこの 1 回に限り成り立ちます。--last の期間は見るたびに始まりが変わるためです。次からは \
         '--between {from}..' としてください。そこから始まる期間なら、何度見ても成り立ちます。{INSTANCES_DIFFER}"
    )
}

fn metrics_read(metrics: &[MetricRead]) -> String {
    let each =
        metrics.iter().map(|it| format!("{}は {}", name(it.figure).trim_end(), line(&it.metric)));
    format!("読んだメトリクス: {}", each.collect::<Vec<_>>().join("、"))
}

fn code_shared(paths: &[String]) -> String {
    format!(
        "A と B のどちらも、作業フォルダーのコードを動かしているかもしれません（{}）。そこにある違いは計測されません。\
         --prepare 'COMMAND' でそれぞれに作れます（'npm ci && npm run build' など）",
        Japanese.list(paths)
    )
}

fn few_blocks(blocks: u64, block_s: f64, wanted: u64, budget_s: f64) -> String {
    let (each, minutes) = (span(block_s), (budget_s / 60.0).ceil());
    format!(
        "1 ブロックに {each} かかるため、この時間では {blocks} ブロックしか計測できません。{wanted} ブロックに満たないと\
         大きな差しかわかりません。--budget {minutes}m なら {wanted} ブロック計測できます"
    )
}
