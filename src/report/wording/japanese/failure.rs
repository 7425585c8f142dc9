//! Why a server did not become ready, or ended, and the way out; in Japanese.

use super::Japanese;
use crate::report::wording::{Counted, Phrases};
use crate::terms::{
    BootCause, BootEnd, BootFailureKind, Bytes, CertificateFault, Configuration, FrameworkSetting,
    ProcessEnd, ReplyAdvice, ServerEnd, StartAdvice,
};

pub fn cause(cause: &BootCause) -> String {
    with_way_out(cause, LONGER)
}

/// The cause where no option gives a server longer, as in an experiment's runs.
pub fn cause_in_lab(cause: &BootCause) -> String {
    with_way_out(cause, "")
}

/// `longer`: what is said after that which has not come in time.
fn with_way_out(cause: &BootCause, longer: &str) -> String {
    match cause {
        BootCause::NotReady { seen, end, connections_for } => {
            // More time would not keep a server from killing its workers.
            let is_killed = *seen == Some(BootFailureKind::WorkerTimeout);
            let longer = if is_killed { "" } else { longer };
            let seen = seen.map(|kind| format!("{}: ", shown(kind))).unwrap_or_default();
            let needed = connections_for.map(|it| format!("（{}）", connections(it)));
            let needed = needed.unwrap_or_default();
            format!("アプリサーバーの準備ができませんでした: {seen}{}{needed}", ending(end, longer))
        }
        BootCause::RunsUnchanged { line } => format!("変更なしで動いています: {line}"),
        BootCause::ConnectionsRefused { setting } => format!(
            "データベースが接続を断りました。{}が、同時に受け付ける接続はそれより少なくなっています\
             （max_connections）",
            connections(*setting)
        ),
        BootCause::KilledForMemory { setting, needed_bytes, limit_bytes } => {
            let (needed, limit) = (Bytes(*needed_bytes), Bytes(*limit_bytes));
            format!("強制終了されました: {setting} には {limit} のうち {needed} が必要です")
        }
    }
}

/// What a server's log shows.
fn shown(kind: BootFailureKind) -> &'static str {
    match kind {
        BootFailureKind::SecretKeyBase => "SECRET_KEY_BASE がありません",
        BootFailureKind::Database => "データベースに接続できないか、データベースがありません",
        BootFailureKind::TooManyConnections => "データベースがこれ以上の接続を断っています",
        BootFailureKind::PendingMigration => {
            "マイグレーションが残っていて、データベースにテーブルがありません"
        }
        BootFailureKind::VariableMissing => "アプリが読む環境変数が設定されていません",
        BootFailureKind::AssetsMissing => "アセットがコンパイルされていません",
        BootFailureKind::NotInstalled => "サーバーか、その一部がインストールされていません",
        BootFailureKind::PortTaken => "ほかのものが同じポートで listen しています",
        BootFailureKind::OtherPort => "アプリが PORT とは違うポートで listen しています",
        BootFailureKind::WorkerTimeout => {
            "時間内に起動しなかったワーカーを、サーバー自身が強制終了しました"
        }
        BootFailureKind::Exited
        | BootFailureKind::NeverReady
        | BootFailureKind::ForcedSsl
        | BootFailureKind::Redirected
        | BootFailureKind::Unauthorized
        | BootFailureKind::Forbidden
        | BootFailureKind::NotFound
        | BootFailureKind::RateLimited
        | BootFailureKind::ServerError
        | BootFailureKind::NotSuccess => "失敗しました",
    }
}

fn connections(setting: Configuration) -> String {
    let workers = Japanese.count(setting.workers.get().into(), Counted::Workers);
    let threads = Japanese.count(setting.threads.get().into(), Counted::Threads);
    let most = setting.slots();
    format!("{workers} x {threads} には最大 {most} 接続（1 スレッドに 1 つ）が必要です")
}

/// After what has not come in time.
const LONGER: &str = "（--boot-timeout で延ばせます）";

fn ending(end: &BootEnd, longer: &str) -> String {
    match end {
        BootEnd::NotRun { error } => error.clone(),
        BootEnd::LogUnreadable { error } => format!("ログを読めませんでした: {error}"),
        BootEnd::WorkersEndAtOnce => "ワーカーが起動するとすぐに終了します".into(),
        BootEnd::TooFewBooted { booted, of, patience_s } => {
            format!("{patience_s} 秒以内に起動したのは {of} プロセスのうち {booted} でした{longer}")
        }
        BootEnd::InitContainerRuns { container, patience_s } => {
            format!(
                "{patience_s} 秒以内に init コンテナー {container} が終わりませんでした{longer}"
            )
        }
        BootEnd::UserRefused { user: None } => {
            "Pod は root では動かせません（runAsNonRoot）が、root で動こうとしました".into()
        }
        BootEnd::UserRefused { user: Some(user) } => format!(
            "Pod は root では動かせません（runAsNonRoot）が、イメージのユーザーが名前（{user}）なので、\
             root かどうかノードが確かめられません"
        ),
        BootEnd::EndedEarly { how } => {
            format!("準備ができる前に終了しました（{}）", server_end(how))
        }
        BootEnd::NotApplied { how: Some(how) } => {
            format!("設定を適用するコマンドが失敗しました（{}）", process_end(how))
        }
        BootEnd::NotApplied { how: None } => {
            format!("設定を適用するコマンドが時間内に終わりませんでした{longer}")
        }
        BootEnd::NotSaidReady { how } => {
            let last = how.as_ref().map(|how| format!("（最後: {}）", process_end(how)));
            let last = last.unwrap_or_default();
            format!("準備完了を確かめるコマンドが一度も成功しませんでした{last}{longer}")
        }
        BootEnd::NotHttp { target } => format!("{target} に HTTP でない応答が返ります"),
        BootEnd::CertificateRefused { target, fault } => {
            format!("{target} を送れませんでした。サーバーの証明書{}", refused_for(*fault))
        }
        BootEnd::NotAnswered { target, patience_s } => {
            format!("起動から {patience_s} 秒以内に {target} の応答がありませんでした{longer}")
        }
        BootEnd::NotGood { target, status, leads_to } => {
            let place = leads_to.as_ref().map(|place| format!("（{place} へ転送）"));
            let place = place.unwrap_or_default();
            format!("{target} の応答が {status}{place} です（2xx が必要）")
        }
    }
}

/// Why a server's certificate was not accepted.
fn refused_for(fault: Option<CertificateFault>) -> &'static str {
    match fault {
        Some(CertificateFault::Untrusted) => "に署名した CA を、このマシンは信頼していません",
        Some(CertificateFault::Expired) => "の有効期限が切れています",
        Some(CertificateFault::OtherName) => "は別のホスト名のものです",
        None => "が受け入れられませんでした",
    }
}

pub fn server_end(end: &ServerEnd) -> String {
    match end {
        ServerEnd::ProcessEnded { how } => process_end(how),
        ServerEnd::PartEnded { process, of, how } => {
            format!("{of} 個のうち {process} 番目のプロセス: {}", process_end(how))
        }
        ServerEnd::ProxyEnded { how } => format!("前段の nginx: {}", process_end(how)),
        ServerEnd::ProcessesKilled { killed } => {
            format!("プロセスが {killed} 個、メモリ不足で強制終了されました")
        }
        ServerEnd::WorkersLost { left, expected } => {
            format!("{expected} ワーカーのうち {left} だけが残り、ほかは補充されませんでした")
        }
    }
}

pub fn process_end(end: &ProcessEnd) -> String {
    match end {
        ProcessEnd::ExitStatus(status) => format!("終了ステータス {status}"),
        ProcessEnd::Signal(signal) => {
            let name = end.signal_name().map(|name| format!(" ({name})")).unwrap_or_default();
            format!("シグナル {signal}{name} で終了")
        }
        ProcessEnd::Other(text) => text.clone(),
    }
}

const PROXY_HEADER: &str =
    "前段のプロキシが送るものを送ってください: -H 'X-Forwarded-Proto: https'";

const NUMBER_USER: &str = "イメージでのユーザーの番号（`id -u` の値、0 は root）を `securityContext: \
     {runAsUser: 1000}` とファイルに書き、--pod-template で指定してください。すでに\
     テンプレートがあれば、その Pod の spec に書きます";
const SET_VARIABLE: &str = "最後の出力にある変数を --env NAME=VALUE で与えてください。.env ファイルにあれば、先に \
     `set -a; . ./.env; set +a` を実行します";
const RUN_IN_FOREGROUND: &str = "コマンドがすぐに、エラーなしで終わりました。サーバーをバックグラウンドに移すもの（--daemon \
     などのフラグ）を外してください";
const LISTEN_ON_PORT_VARIABLE: &str = "環境変数 PORT のポートで listen するようにしてください（Node.js: \
     server.listen(process.env.PORT || 3000)）";

pub fn to_start(advice: &StartAdvice) -> String {
    match advice {
        StartAdvice::MendApp => "アプリの最後の出力にある問題を直してください".into(),
        StartAdvice::MendService => "その最後の出力にある問題を直してください".into(),
        StartAdvice::NameVariable { place } => {
            format!("アプリが従う変数を指定してください: --env 'NAME={{{place}}}'")
        }
        StartAdvice::NumberUser => NUMBER_USER.into(),
        StartAdvice::SetSecret { command } => {
            format!("計測のために設定してください。長い文字列なら何でもかまいません: `{command}`")
        }
        StartAdvice::StartDatabase => {
            "データベースを起動し、アプリが期待する名前で指定してください".into()
        }
        StartAdvice::StartNamedDatabase { variable, create } => {
            format!(
                "データベースを起動して {variable} で指定してください。作成と読み込み: `{create}`"
            )
        }
        StartAdvice::RaiseConnectionLimit => {
            "データベースの上限（MariaDB、MySQL、PostgreSQL では max_connections）を上げるか、\
             --db-connections でそれより多く要る設定を除いてください"
                .into()
        }
        StartAdvice::RunMigrations => {
            "データベースでアプリのマイグレーションを実行してください".into()
        }
        StartAdvice::CreateTables { create, fill } => format!(
            "テーブルを作り（`{create}`）、本番と同じくらいのデータを入れてください（例: `{fill}`）"
        ),
        StartAdvice::CreateTablesOfFramework { command } => format!(
            "テーブルを作り（{}: `{}`）、本番と同じくらいのデータを入れてください",
            command.framework, command.setting
        ),
        StartAdvice::InstallGems { gem } => format!(
            "アプリの gem をインストールしてください: `bundle install`（Gemfile に gem \"{gem}\"。\
             `bundle` コマンド自体は `gem install bundler` か `apt install ruby-bundler`）"
        ),
        StartAdvice::InstallServer { commands } => {
            format!("インストールしてください: `{}`", commands.join("`、または `"))
        }
        StartAdvice::InstallPackageWith { program } => {
            format!("インストールしてください: プログラム {program} を含むパッケージ")
        }
        StartAdvice::InstallNamed => {
            "その行にあるものをインストールするか、フルパスで書いてください".into()
        }
        StartAdvice::SetVariable => SET_VARIABLE.into(),
        StartAdvice::CompileAssets { command } => {
            format!("コンパイルしてください: `{command}`")
        }
        StartAdvice::RunInForeground => RUN_IN_FOREGROUND.into(),
        StartAdvice::FreeOwnPort { port } => format!(
            "アプリはサーバーに与えられたポートのほかにポート {port} も使い、そこではほかのものか、\
             アプリの別のワーカーが listen しています。それを終了するか、計測の間だけ別のポートにするか、\
             使わないようにしてください"
        ),
        StartAdvice::FreePort => {
            "そこで listen しているものを終了するか、ポートを自由に選ばせてください".into()
        }
        StartAdvice::ListenOnPortVariable => LISTEN_ON_PORT_VARIABLE.into(),
        StartAdvice::RaiseWorkerTimeout { setting } => {
            format!("この強制終了を決めている、サーバー自身の設定の {setting} を延ばしてください")
        }
        StartAdvice::SeeWhatItWaitsFor => {
            "起動時にアプリが待っているものか、要求しているページを見てください".into()
        }
        StartAdvice::MendCertificate { fault } => to_mend(*fault).into(),
    }
}

/// What to do about a certificate that was not accepted.
fn to_mend(fault: CertificateFault) -> &'static str {
    match fault {
        CertificateFault::Untrusted => {
            "署名した CA の証明書（PEM ファイル）を環境変数で指定してください: SSL_CERT_FILE=FILE。\
             システムの CA の代わりに信頼されます"
        }
        CertificateFault::Expired => {
            "サーバーの証明書を更新するか、このマシンの時計が進んでいれば合わせてください"
        }
        CertificateFault::OtherName => "証明書のホスト名を --url に書いてください",
    }
}

pub fn to_reply(advice: &ReplyAdvice) -> String {
    match advice {
        ReplyAdvice::MendError => {
            "エラーを直す（アプリの最後の出力にあるはずです）か、別のページを --target 'GET /path' \
             で指定してください"
                .into()
        }
        ReplyAdvice::SendHttpsHeader => PROXY_HEADER.into(),
        ReplyAdvice::SendHttpsHeaderOrSwitchOff { off } => format!(
            "{PROXY_HEADER}（{} では、計測の間だけ {} を false にしてもかまいません）",
            off.framework, off.setting
        ),
        ReplyAdvice::SendTrustedHttpsHeader { framework, trust, lead } => format!(
            "{PROXY_HEADER}（{framework} では {trust} を設定するか、計測の間だけ {lead} を外します）"
        ),
        ReplyAdvice::AvoidRedirect => {
            "転送せずに応答するページを --target 'GET /path' で指定するか、ログイン済みの利用者が送る\
             ものを送ってください: -H 'Cookie: ...'"
                .into()
        }
        ReplyAdvice::SendCredentials => {
            "認証情報を送る（-H 'Authorization: ...'）か、別のページを --target 'GET /path' で指定して\
             ください"
                .into()
        }
        ReplyAdvice::NameAllowedHost { hosts } => {
            let hosts = hosts.as_ref().map(|it| format!("（{}）", spelt(it))).unwrap_or_default();
            format!(
                "アプリが許すホスト{hosts}を -H 'Host: www.example.com' で送るか、別のページを \
                 --target 'GET /path' で指定してください"
            )
        }
        ReplyAdvice::NameExistingPage { list: None } => {
            "存在するページを --target 'GET /path' で指定してください".into()
        }
        ReplyAdvice::NameExistingPage { list: Some(command) } => format!(
            "存在するページを --target 'GET /path' で指定してください。`{command}` で一覧できます"
        ),
        ReplyAdvice::NameGoodPage => {
            "2xx を返すページを --target 'GET /path' で指定してください".into()
        }
        ReplyAdvice::NameReadyPage => {
            "2xx を返すページを --ready /path で指定してください".into()
        }
        ReplyAdvice::LiftRateLimit { limits } => {
            let limits = match limits.as_slice() {
                [] => String::new(),
                limits => format!("（{}）", limits.join("、")),
            };
            format!(
                "計測の間だけアプリのレート制限{limits}を切るか、負荷を送るアドレス（このマシンでは \
                 127.0.0.1）を除外してください"
            )
        }
    }
}

/// `Rails: config.hosts`.
fn spelt(setting: &FrameworkSetting) -> String {
    format!("{}: {}", setting.framework, setting.setting)
}
