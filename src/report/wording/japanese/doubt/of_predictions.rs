//! What makes predictions doubtful, in Japanese.

use crate::report::figures;
use crate::terms::{MissingTrial, PredictionDoubt, QuantumOwner};

pub(super) fn message(doubt: &PredictionDoubt) -> String {
    match doubt {
        PredictionDoubt::FewTrials { saturated_settings, .. } => {
            format!("モデルは、飽和させた {saturated_settings} 個の設定だけに合わせてあります")
        }
        PredictionDoubt::SeveralGoals { goals, quantile_ratio, limit_s } => format!(
            "このセッションには目標が複数あります（{goals}）。予測は全リクエストをまとめて、p{} < {} に\
             ついてのものです。単独でかかる時間に、最初に外れる目標が許す待ち時間を足しています",
            figures::percentile(*quantile_ratio),
            figures::latency(*limit_s)
        ),
        PredictionDoubt::ContradictoryTrials { setting, times } => {
            format!("{setting} のスループットが、試行によって {times:.1} 倍違いました")
        }
        PredictionDoubt::NotSteady { change_ratio } => format!(
            "設定による違いを除いても、セッションの終わりでは初めより {:.0} % {}処理できました",
            change_ratio.abs() * 100.0,
            if *change_ratio < 0.0 { "少なくしか" } else { "多く" }
        ),
        PredictionDoubt::UnknownServer { server, curve } => {
            let how = match curve {
                Some(curve) => format!(
                    "スループットは、計測値に合わせた universal scalability 曲線に従うとします（競合 \
                     {:.3}、一貫性 {:.4}、ずれ {:.0} %）",
                    curve.contention,
                    curve.coherency,
                    curve.misfit_ratio * 100.0
                ),
                None => "スレッドがリクエストを 1 つずつ受け持つものとみなします".into(),
            };
            format!("{server} の動き方はわかっていません。{how}")
        }
        PredictionDoubt::NoQuantum { of } => {
            let whose = match of {
                QuantumOwner::EventLoop => "イベントループのワーカー",
                QuantumOwner::UnknownRuntime => "不明なランタイム",
                QuantumOwner::Runtime(runtime) => runtime,
            };
            format!("{whose} には、スレッドがロックを持ち続ける時間の設定がありません")
        }
        PredictionDoubt::PoorFit { misfit_ratio } => {
            format!("モデルは計測値から {:.0} % ずれています", misfit_ratio * 100.0)
        }
        PredictionDoubt::Extrapolation {
            workers,
            threads,
            cores,
            asked_workers,
            asked_threads,
            asked_cores,
        } => format!(
            "計測したのは {cores} コアでの {} ワーカー、{} スレッドです。{asked_cores} コアでの \
             {asked_workers} x {asked_threads} は遠く離れています",
            range(*workers),
            range(*threads),
        ),
        PredictionDoubt::GeneratorIncluded { cores_ratio } => format!(
            "計測のとき負荷生成側がコアの {:.0} % を使っていて、予測にもそれが含まれます",
            cores_ratio * 100.0
        ),
    }
}

/// `1`, `1～4`.
fn range([least, most]: [u16; 2]) -> String {
    if least == most { most.to_string() } else { format!("{least}～{most}") }
}

pub(super) fn advice(doubt: &PredictionDoubt) -> String {
    let advice = match doubt {
        PredictionDoubt::FewTrials { missing, .. } => {
            let missing = match missing {
                MissingTrial::OneClientAlone => "クライアント 1 つだけの".into(),
                MissingTrial::SaturatedWorkers(workers) => {
                    format!("{workers} ワーカーを飽和させる")
                }
                MissingTrial::SaturatedSetting(setting) => format!("{setting} を飽和させる"),
            };
            return format!(
                "{missing}試行があると最もよくわかります。'tune' をもっと長く、またはもっと広い範囲で実行して\
                 ください"
            );
        }
        PredictionDoubt::SeveralGoals { .. } => {
            "コアや設定で変わるのは待ち時間で、これはすべての目標に共通です。ほかと違うリソースを使う\
             ターゲットがあれば、実際に計測してください"
        }
        PredictionDoubt::ContradictoryTrials { .. } => {
            "その間にほかの何かが変わりました。モデルはその中間に合わせてあります"
        }
        PredictionDoubt::NotSteady { .. } => {
            "キャッシュが埋まったか、リークか、マシンが遅くなったかです。予測はどちらの端のものでもありません"
        }
        PredictionDoubt::UnknownServer { curve: Some(_), .. } => {
            "レイテンシや理由についてはわかりません。計測した範囲の外は推測です"
        }
        PredictionDoubt::UnknownServer { curve: None, .. } => {
            "専用の曲線には、セッションに 3 通り以上のワーカー数が必要です。曲線に従うのは、コア、ワーカー、\
             スレッドのほかに何も尋ねないときです"
        }
        PredictionDoubt::NoQuantum { .. } => {
            "Ruby 3.4 以降には RUBY_THREAD_TIMESLICE、Python には sys.setswitchinterval があります"
        }
        PredictionDoubt::PoorFit { .. } => {
            "同時実行とともに延びる待ち（限界のデータベースなど）、アプリ自身のロック、スレッドより小さい接続\
             プールが考えられます。計測した設定のほうを信じてください"
        }
        PredictionDoubt::Extrapolation { .. } => {
            "そのため区間は広く、しかもモデルはそこで確かめられていません。頼る前に計測してください"
        }
        PredictionDoubt::GeneratorIncluded { .. } => {
            "負荷が別の場所から来る場合のように、--without-generator で除けます"
        }
    };
    advice.into()
}
