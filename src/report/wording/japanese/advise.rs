//! 監視から勧める設定について、日本語で。

use crate::report::figures::{bytes, latency, number, percent, rate};
use crate::terms::{AdviseNote, AdviseRefusal};

pub fn refusal(refusal: &AdviseRefusal) -> String {
    match refusal {
        AdviseRefusal::RequestsTooFew { requests, needed } => format!(
            "まだ足りません: リクエストは {requests} 件でした。ばらつきから見て、平均を知るには {needed} 件必要です。\
             もっと長く、またはもっと混む時間に見てください"
        ),
        AdviseRefusal::CpuNotExplained { cpu_s, app_s } => format!(
            "リクエストあたりの CPU が {} で、アプリにいる時間 {} では説明できません。同じプロセスでほかの仕事（ジョブな\
             ど）が動いているか、伝わっていないリクエストがあります",
            latency(*cpu_s),
            latency(*app_s)
        ),
        AdviseRefusal::AlreadyFull { rate_rps } => format!(
            "{} ではこの設定は常に一杯だと見込まれ、一杯のサーバーからはリクエストに何が要るかがわかりません。もっと空い\
             た時間に見てください",
            rate(*rate_rps)
        ),
        AdviseRefusal::NothingWithinGoal => {
            "1 つだけのリクエストでも目標を満たしません。満たせる --slo を指定してください".into()
        }
        AdviseRefusal::NothingFits { needed_bytes, limit_bytes } => format!(
            "目標を満たす設定は、最も小さいものでも約 {} のメモリが必要で、{} では空きが残りません。サーバーのメモリを\
             増やすか、使える量を --memory で指定してください",
            bytes(*needed_bytes),
            bytes(*limit_bytes)
        ),
    }
}

pub fn note(note: &AdviseNote) -> String {
    match note {
        AdviseNote::LockWaitInferred => {
            "インタープリターのロックを待つ時間はわかりません（Ruby 3.2 以降なら gvltools でわかります）。残りのうちほか\
             を待つ時間は、モデルによります"
                .into()
        }
        AdviseNote::TrafficFarBelow { capacity_ratio } => format!(
            "トラフィックは、いまの設定がさばけると見込まれる量の {} でした。増えると遅くなるもの（データベース、プール）\
             は見えていません",
            percent(*capacity_ratio)
        ),
        AdviseNote::QueueTimeNotSeen => {
            "アプリの前で待つ時間は見えませんでした。手前で X-Request-Start が付いていません".into()
        }
        AdviseNote::ThreadsSeen { threads } => format!(
            "リクエストに応えるスレッドは、ワーカーあたり最大 {threads} 個見えました。設定がそれより多いときは --threads \
             で指定してください"
        ),
        AdviseNote::OneThreadConsidered => {
            "ワーカーあたり 1 スレッドで動いていて、増やして安全かどうかがわからないため、1 スレッドだけを考えました\
             （--threads 1 で増やす場合も考えます）"
                .into()
        }
        AdviseNote::SlowerWhenBusy { ratio, expected_ratio } => format!(
            "最も混んだ 1 割の時間には、最も空いた 1 割の {} 倍かかりました（見込みは {} 倍）。リクエストどうしがほかの\
             ところ（データベース、プール）で待ち合っていて、ここに示す量はさばけません。スレッドの合計を増やす設定は、\
             見込みの下限でも今の設定の見込みを上回るときだけ勧めます",
            number(*ratio),
            number(*expected_ratio)
        ),
        AdviseNote::OthersUseCores { cores } => format!(
            "このマシンのほかのプロセスが {} コアを使っていました。数字は、自分のコアをすべて使えるサーバーのものです",
            number(*cores)
        ),
        AdviseNote::MemoryOfOneSetting => {
            "ほかのワーカー数のメモリは、1 つの設定からの見込みです".into()
        }
        AdviseNote::OnlyAppCpu => {
            "アプリの呼び出しの外の CPU（サーバー自身、ほかのスレッドのガベージコレクション）は入っていません".into()
        }
    }
}
