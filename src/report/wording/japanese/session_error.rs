//! Why a session could not go on, in Japanese.

use super::failure::process_end;
use crate::report::Language;
use crate::terms::{GeneratorPart, SessionError, SettingsError, Task};

pub fn sentence(error: &SessionError) -> String {
    match error {
        SessionError::AppDoesNotStart { cause, advice } => {
            format!("{}。{}", Language::Japanese.say(cause), Language::Japanese.say(advice))
        }
        SessionError::CouldNot { what, why } => {
            format!("{}に失敗しました: {why}", Language::Japanese.say(what))
        }
        SessionError::CommandFailed { what, how } => {
            format!("{}に失敗しました: {}", task(what), process_end(how))
        }
        SessionError::CommandLate { what, patience_s } => {
            format!("{}が {patience_s} 秒以内に終わりませんでした", task(what))
        }
        SessionError::NoLoadGenerator { part, why } => {
            let part = match part {
                GeneratorPart::Thread => "スレッド",
                GeneratorPart::Loop => "ループ",
                GeneratorPart::Connections => {
                    "接続（開けるファイル数の上限を上げてください: 'ulimit -n'）"
                }
            };
            format!("負荷生成器の準備に失敗しました: {part}: {why}")
        }
        SessionError::SettingsNotRead { why } => {
            format!("アプリ自身のサーバー設定を読めませんでした: {}", settings(why))
        }
        SessionError::ServiceLate { name, patience_s } => {
            format!("{name} が {patience_s} 秒以内に起動しませんでした")
        }
        SessionError::ServiceEnded { name, how } => {
            format!("{name} が終了しました: {}", process_end(how))
        }
        SessionError::Interrupted => "ユーザーが中断しました".into(),
    }
}

pub fn task(task: &Task) -> String {
    match task {
        Task::OpenAppFolder { folder } => format!("アプリのフォルダー {folder} を開くこと"),
        Task::FindCores => "使えるコアの確認".into(),
        Task::FindFreePort => "空きポートを探すこと".into(),
        Task::RemoveFile { path } => format!("{path} の削除"),
        Task::WriteFile { path } => format!("{path} への書き込み"),
        Task::WriteReport => "レポートの書き込み".into(),
        Task::StartGuardian { folders } => format!(
            "専用フォルダーを {} に持つガーディアンの起動（TMPDIR で別の場所を指定できます）",
            folders.join("か ")
        ),
        Task::OrderGuardian => "ガーディアンへの指示".into(),
        Task::AwaitGuardian => "ガーディアンから返事を得ること".into(),
        Task::ReachGuardian => {
            "強制終了されたガーディアンとの通信（コマンドを再実行してください）".into()
        }
        Task::StartServer => "アプリサーバーの起動".into(),
        Task::StartShell => "シェルの起動".into(),
        Task::EndServer => "アプリサーバーの終了".into(),
        Task::EndServerProcesses { pids } => {
            format!("アプリサーバーのプロセス {pids:?} の終了")
        }
        Task::FreeServerAddress { address } => {
            format!("アプリサーバーのアドレス {address} を閉じること")
        }
        Task::MakeServiceFolder => "サービス用フォルダーの作成".into(),
        Task::StartService { name } => format!("{name} の起動"),
        Task::MakeDatabaseTables => "MariaDB のテーブルの作成".into(),
        Task::RunSetup { command } => format!("`{command}` の実行"),
        Task::CheckOut { commit } => format!("{commit} の別フォルダーへのチェックアウト"),
    }
}

fn settings(error: &SettingsError) -> String {
    match error {
        SettingsError::NothingPrinted => "コマンドが設定を出力しませんでした".into(),
        SettingsError::VersionNotPrinted => "PHP-FPM がバージョンを出力しませんでした".into(),
        SettingsError::NotReadInTime { patience_s } => {
            format!("{patience_s} 秒以内に読めませんでした（--boot-timeout で延ばせます）")
        }
        SettingsError::Failed { error, at: None } => error.clone(),
        SettingsError::Failed { error, at: Some(at) } => format!("{error}（{at}）"),
        SettingsError::NotInstalled { server, error } => {
            format!("{server} がインストールされていません（{error}）")
        }
        SettingsError::NoWorkers => "アプリ自身の設定のワーカー数が 0 です".into(),
        SettingsError::NoThreads => "アプリ自身の設定のスレッド数が 0 です".into(),
        SettingsError::NoNumberOfWorkers { setting, value } => {
            format!("{setting} = {value} はワーカー数ではありません")
        }
    }
}
