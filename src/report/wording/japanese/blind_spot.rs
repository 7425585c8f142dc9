//! What could not be watched, in Japanese.

use crate::terms::BlindSpot;

pub fn sentence(spot: &BlindSpot) -> String {
    match spot {
        BlindSpot::NothingWatched => {
            "観察用のスレッドを動かせなかったため、何も観察できませんでした".into()
        }
        BlindSpot::NoShell { said } => {
            format!("--observe のコマンドからシェルを得られませんでした: {said}")
        }
        BlindSpot::NoShellGiven { has_platform: false } => {
            "観察するためのシェルがない（--observe）ため、アプリの CPU とメモリは見えません".into()
        }
        BlindSpot::NoShellGiven { has_platform: true } => {
            "観察するためのシェルがなく（--observe）、プラットフォームの記録にもこの負荷だけの \
             1 分がない（2 分以上の負荷が必要です）ため、アプリの CPU とメモリは見えません"
                .into()
        }
        BlindSpot::OnlyWholeMinutes => "アプリの使用量は CloudWatch の値で、負荷の間の 1 分単位、タスクの全コンテナの合計です。\
             ワーカーごとの値は見えません"
            .into(),
        BlindSpot::CoresUnknown => "/proc/stat が読めないため、コアのことは何もわかりません".into(),
        BlindSpot::CoreWaitsUnknown => {
            "このカーネルはスケジューラーの統計を取らないため、コア待ちは見えません".into()
        }
        BlindSpot::CoreWaitsOutside => "コンテナの中からは、コア待ちの時間が見えません".into(),
        BlindSpot::GroupMissing { folder } => format!("control group {folder} がありません"),
        BlindSpot::ProcessHidden { pid } => format!(
            "/proc がプロセス {pid} を隠している（hidepid）ため、その所有者か CAP_SYS_PTRACE を持つ者でないと観察できません"
        ),
        BlindSpot::ProcessGone { pid } => {
            format!("プロセス {pid} は、観察を始める前に終了していました")
        }
        BlindSpot::ListenQueueUnseen { port } => {
            let of = port.map(|port| format!("（ポート {port}）")).unwrap_or_default();
            format!("listen キュー{of}が見えない時間がありました")
        }
        BlindSpot::MemoryRefused { pid } => format!(
            "プロセス {pid} のメモリを読む権限がありません。その所有者か CAP_SYS_PTRACE を持つ者で観察してください"
        ),
        BlindSpot::ProbeUnheard { error } => {
            format!("プローブからの知らせを受け取れません: {error}")
        }
        BlindSpot::ProbeSilent => "サーバーのどのプロセスも内部のことを伝えませんでした。終わったリクエストがないか、アプリが \
             rackup ファイルから起動しないか、ワーカーが別のユーザーで動くか、一時フォルダー（TMPDIR）の\
             パスに空白があります"
            .into(),
        BlindSpot::CollectionUnknown => "この Ruby は GC の時間を伝えない（3.1 以降は、アプリが止めていなければ伝える）ため、内部から\
             は見えません"
            .into(),
        BlindSpot::LockWaitUnknown => "この Ruby は GVL を待つ時間を伝えない（3.2 以降は、アプリの bundle に gem gvltools \
             があれば伝える）ため、内部からは見えません"
            .into(),
        BlindSpot::ProbeOfOtherVersion => {
            "別の版のプローブがサーバー内部から伝えたものは除きました".into()
        }
        BlindSpot::ProbeNotUnderstood => {
            "プローブのソケットに、プローブが送らないものが届いたため、除きました".into()
        }
        BlindSpot::StampsOdd { requests } => format!(
            "X-Request-Start の時刻がおかしいリクエストが {requests} 件ありました（前段の時計が 10 ms より進んでいるなど）。\
             それらがアプリの前で待った時間は見えません"
        ),
    }
}
