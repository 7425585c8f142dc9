//! Whether a load can be believed, in Japanese.

use super::super::failure;
use crate::report::wording::Language;
use crate::terms::{GeneratorDoubt, LoadDoubt, ReplyAdvice, TlsTrouble};

pub(super) fn of_generator(doubt: &GeneratorDoubt) -> String {
    match doubt {
        GeneratorDoubt::SentLate { late, requests, limit_s } => format!(
            "負荷生成側が {requests} リクエストのうち {late} 件を {:.1} ms より遅れて送りました",
            limit_s * 1e3
        ),
        GeneratorDoubt::LoopBusy { busy_ratio } => {
            format!("負荷生成側の最も忙しいループがコアの {:.0} % を使いました", busy_ratio * 100.0)
        }
        GeneratorDoubt::OutOfAddresses { requests } => format!(
            "{requests} リクエストで、こちら側の空きポートかファイルディスクリプターが足りませんでした"
        ),
        GeneratorDoubt::LittleViolated { in_flight_mean, expected_mean } => format!(
            "処理中のリクエストは平均 {in_flight_mean:.1} 件でしたが、レート x 平均レイテンシは \
             {expected_mean:.1} です"
        ),
        GeneratorDoubt::Lost { lost, of, after_s } => format!(
            "負荷生成プログラム {of} 個のうち {lost} 個が失われました（最初は {after_s:.1} 秒後）"
        ),
        GeneratorDoubt::BeganApart { apart_s } => format!(
            "負荷生成プログラムの開始が互いに最大 {:.0} ms ずれた可能性があり、一つの負荷とは言えません",
            apart_s * 1e3
        ),
    }
}

pub(super) fn advice_on_generator(doubt: &GeneratorDoubt) -> &'static str {
    match doubt {
        GeneratorDoubt::SentLate { .. } => {
            "負荷生成側に専用のコアを割り当てるか、負荷を減らすか、別のマシンで動かしてください"
        }
        GeneratorDoubt::LoopBusy { .. } => {
            "ループを増やす（--loops）か、別のマシンで動かしてください"
        }
        GeneratorDoubt::OutOfAddresses { .. } => {
            "--connection keep-alive を使うか、開けるファイル数（'ulimit -n'）か \
             net.ipv4.ip_local_port_range を広げてください"
        }
        GeneratorDoubt::LittleViolated { .. } => {
            "レイテンシか件数が正しくありません。マシンが一時停止していたか、過負荷だったかもしれません"
        }
        GeneratorDoubt::Lost { .. } => "なぜ終わったかを調べ、測り直してください",
        GeneratorDoubt::BeganApart { .. } => {
            "集計側と生成側を互いに近くに置くか、専用のコアを割り当ててください"
        }
    }
}

pub(super) fn message(doubt: &LoadDoubt) -> String {
    match doubt {
        LoadDoubt::WaitedForPlace { requests, dropped } => format!(
            "同時に処理中にできる上限に達したため {requests} リクエストが待たされ、そのうち {dropped} 件は\
             送れませんでした"
        ),
        LoadDoubt::Unanswered { requests, due, silent_s } => {
            let percent = *requests as f64 / (*due).max(1) as f64 * 100.0;
            let since = silent_s.map(|s| format!("（最後の {s:.1} 秒間は 1 件もなし）"));
            format!(
                "{due} リクエストのうち {requests} 件（{percent:.0} %）に応答がありませんでした{}。かかった\
                 時間はレイテンシに含まれます",
                since.unwrap_or_default()
            )
        }
        LoadDoubt::FailedReplies { failed, replies, commonest_status } => {
            let percent = *failed as f64 / (*replies).max(1) as f64 * 100.0;
            let most = commonest_status.map(|status| format!("（最も多いのは {status}）"));
            let most = most.unwrap_or_default();
            format!("応答の {percent:.0} % が 2xx でも 3xx でもありません{most}")
        }
        LoadDoubt::LoadCutShort { after_s, is_unmeasured } => {
            let when = if *is_unmeasured { "（何も計測しないうちに）" } else { "" };
            format!("負荷は {after_s:.1} 秒で打ち切られました{when}")
        }
        LoadDoubt::RouteVaries { jitter_s, connect_s, limit_s } => format!(
            "サーバーまでの経路が {:.1} ms ゆらいでいます（接続に {:.1} ms）。SLO の上限の {:.0} % に\
             あたります",
            jitter_s * 1e3,
            connect_s * 1e3,
            jitter_s / limit_s * 100.0
        ),
        LoadDoubt::RepliesCached { cached, replies } => format!(
            "{replies} 応答のうち {cached} 件がキャッシュから返りました。計測されたのはキャッシュです"
        ),
        LoadDoubt::ProxyBetween { passed, replies } => {
            format!("{replies} 応答のうち {passed} 件がプロキシを通りました（Via）")
        }
        LoadDoubt::WorkersUneven { busiest_cores, idlest_cores } => format!(
            "ワーカーの使われ方に偏りがあります。最も忙しいものはコアの {:.0} %、最も暇なものは {:.0} %",
            busiest_cores * 100.0,
            idlest_cores * 100.0
        ),
        LoadDoubt::TlsFailed { trouble } => of_tls(trouble),
        LoadDoubt::RowsLeftOut { requests } => {
            format!("書き込みが間に合わず、{requests} リクエストの行がありません")
        }
        LoadDoubt::RareTargetsLeftOut { targets_kept, requests, targets } => format!(
            "アクセスログのターゲットが {targets_kept} を超えています。まれな {targets} ターゲットの \
             {requests} リクエストを除きました"
        ),
        LoadDoubt::LogLinesNotUnderstood { lines, .. } => {
            format!("アクセスログの {lines} 行を解釈できませんでした")
        }
        LoadDoubt::NotSeen { what } => Language::Japanese.say(what),
        LoadDoubt::MetricsUnread { said } => {
            format!("CloudWatch に記録されたサービスの値を読めませんでした: {said}")
        }
    }
}

fn of_tls(trouble: &TlsTrouble) -> String {
    match trouble {
        TlsTrouble::Certificate { why, .. } => {
            format!("サーバーの証明書が受け入れられませんでした（{why}）")
        }
        TlsTrouble::Alert { why } => format!("サーバーが TLS をアラートで終えました（{why}）"),
        TlsTrouble::NotTls => "このポートのサーバーは TLS を話しません".into(),
        TlsTrouble::Closed => "サーバーが TLS ハンドシェイクの途中で接続を閉じました".into(),
        TlsTrouble::NoHttp2 => "このポートのサーバーは HTTP/2 を話しません".into(),
        TlsTrouble::Other { why } => format!("TLS に失敗しました（{why}）"),
        TlsTrouble::Unasked => "このポートのサーバーは TLS を話します".into(),
        TlsTrouble::OnlyHttp2 => "このポートのサーバーは HTTP/2 だけを話します".into(),
    }
}

pub(super) fn advice(doubt: &LoadDoubt) -> String {
    let advice = match doubt {
        LoadDoubt::LogLinesNotUnderstood { first_line, .. } => {
            return format!("最初のものは {first_line} 行目です。見てください");
        }
        LoadDoubt::FailedReplies { commonest_status: Some(429), .. } => {
            return failure::to_reply(&ReplyAdvice::LiftRateLimit { limits: Vec::new() });
        }
        LoadDoubt::WaitedForPlace { .. } => {
            "サーバーが追いつかなかったか、--max-in-flight か開けるファイル数の上限が低すぎます"
        }
        LoadDoubt::Unanswered { .. } => {
            "エラーを見てください。サーバーが落ちていたか、終了したか、過負荷かもしれません"
        }
        LoadDoubt::FailedReplies { .. } => {
            "ターゲット、ヘッダー、認証情報を確かめてください。エラーはたいてい正常な応答より速く返ります"
        }
        LoadDoubt::LoadCutShort { .. } => "",
        LoadDoubt::RouteVaries { .. } => {
            "サーバーのマシンか同じネットワークなど、近くから計測してください"
        }
        LoadDoubt::RepliesCached { .. } => {
            "アプリサーバーに直接向けるか、リクエストごとに違うクエリーを付けてください"
        }
        LoadDoubt::ProxyBetween { .. } => {
            "結果にはプロキシも含まれます。除くには、アプリサーバーに直接向けてください"
        }
        LoadDoubt::WorkersUneven { .. } => {
            "保たれた接続は、受け付けたワーカーに付いたままです。リクエストごとに新しい接続\
             （--connection fresh）か、ワーカーよりずっと多いクライアントで計測してください"
        }
        LoadDoubt::TlsFailed { trouble } => advice_on_tls(trouble),
        LoadDoubt::RowsLeftOut { .. } => "行をもっと速いディスクに書くか、負荷を減らしてください",
        LoadDoubt::RareTargetsLeftOut { .. } => {
            "パスの違いが番号だけなら、代わりに --variables を使ってください"
        }
        LoadDoubt::NotSeen { .. } => "見えるものはそのまま使います",
        LoadDoubt::MetricsUnread { .. } => "アプリの使用量は --observe でも見られます",
    };
    advice.into()
}

fn advice_on_tls(trouble: &TlsTrouble) -> &'static str {
    match trouble {
        TlsTrouble::Certificate { .. } => {
            "署名した CA を --cacert FILE で、証明書のホスト名を --sni NAME で指定するか、--insecure で\
             どの証明書も信頼してください"
        }
        TlsTrouble::Alert { .. } => {
            "クライアント証明書が必要なら --cert FILE --key FILE で指定してください。サーバーのログに詳細が\
             あるかもしれません"
        }
        TlsTrouble::NotTls => {
            "ポートは正しいですか。平文の HTTP なら https:// ではなく http:// と書いてください"
        }
        TlsTrouble::Closed => {
            "そのポートは TLS を話しますか。サーバーのログに理由があるかもしれません"
        }
        TlsTrouble::NoHttp2 => "--http 2 を外すか、HTTP/2 を話すポートを指定してください",
        TlsTrouble::Other { .. } => {
            "サーバーのログに詳細があるかもしれません。'openssl s_client' でサーバーの対応を確かめられます"
        }
        TlsTrouble::Unasked => "http:// ではなく https:// と書いてください",
        TlsTrouble::OnlyHttp2 => "--http 2 を付けて、HTTP/2 で送ってください",
    }
}
