//! The values of a plan and where they came from, in Japanese.

use super::Japanese;
use crate::report::wording::{PlanPhrases, PlanWord};
use crate::terms::{
    FlagPlace, Framework, Objective, ObjectiveKind, PlanSource, PlannedGoal, PlannedValue, Prices,
    StepKind, StepTime,
};

impl PlanPhrases for Japanese {
    fn plan_label(&self, value: &PlannedValue) -> &'static str {
        match value {
            PlannedValue::App { .. } => "アプリ",
            PlannedValue::Server { .. } => "サーバー",
            PlannedValue::Deployment { .. } => "Deployment",
            PlannedValue::PodsOf { .. } => "イメージ",
            PlannedValue::PodsLike { .. } => "Pod の雛形",
            PlannedValue::Remote { .. } => "アプリの URL",
            PlannedValue::Generators { .. } => "負荷生成",
            PlannedValue::Proxy(_) => "プロキシ",
            PlannedValue::Workers(_) => "ワーカー",
            PlannedValue::Threads(_) => "スレッド",
            PlannedValue::Knob(_) => "追加設定",
            PlannedValue::Targets(_) => "ターゲット",
            PlannedValue::Headers(_) => "ヘッダー",
            PlannedValue::Slo { .. } => "SLO",
            PlannedValue::Objective(_) => "目的",
            PlannedValue::Cores(_) => "コア",
            PlannedValue::Memory(_) => "メモリ",
            PlannedValue::Arrivals(_) => "到着",
            PlannedValue::Connection(_) => "接続",
            PlannedValue::Timeout { .. } => "タイムアウト",
            PlannedValue::Budget { .. } => "時間枠",
            PlannedValue::Soak { .. } => "長時間運転",
            PlannedValue::Precision(_) => "精度",
            PlannedValue::Probe(_) => "内部計測",
            PlannedValue::User(_) => "ユーザー",
            PlannedValue::Environment(_) => "実行環境",
            PlannedValue::Variables(_) => "環境変数",
            PlannedValue::DeployedVariables(_) => "本番の環境変数",
            PlannedValue::KeptFlags(_) => "本番のフラグ",
            PlannedValue::ReadyPath(_) => "起動確認のパス",
            PlannedValue::BootTimeout { .. } => "起動の待ち時間",
            PlannedValue::DbConnections(_) => "DB 接続",
            PlannedValue::Seed(_) => "乱数の種",
            PlannedValue::Store(_) => "保存先",
            PlannedValue::CurrentSetting { .. } => "現行の設定",
            PlannedValue::Runtime(_) => "ランタイム",
            PlannedValue::Remark(_) => "備考",
        }
    }

    fn plan_source(&self, source: &PlanSource) -> String {
        match source {
            PlanSource::Flag => "コマンドライン".to_string(),
            PlanSource::PlanFile { line } => format!("計画ファイルの {line} 行目"),
            PlanSource::App => "アプリから判断".to_string(),
            PlanSource::Inspection => "アプリ".to_string(),
            PlanSource::Default => "既定値".to_string(),
            PlanSource::Deployment { files } => files.join("、"),
            PlanSource::DeployedFlags { places } => {
                let place = |FlagPlace { file, variable }: &FlagPlace| match variable {
                    Some(variable) => format!("{file} の {variable}"),
                    None => file.clone(),
                };
                places.iter().map(place).collect::<Vec<_>>().join("、")
            }
            PlanSource::ReverseProxy { name, file } => {
                format!("{file} にある {} が接続を保つため", name.name())
            }
            PlanSource::NoReverseProxy => {
                "nginx 1.29.6 までの既定と同じ。前段を示すファイルがアプリにないため".into()
            }
            PlanSource::FolderOwner => "アプリのフォルダーの所有者".into(),
            PlanSource::SudoUser => "sudo を呼んだユーザー".into(),
            PlanSource::OwnUser => {
                "sweetspot と同じ。--user NAME でアプリの権限を減らせます".into()
            }
        }
    }

    fn plan_word(&self, word: PlanWord) -> &'static str {
        match word {
            PlanWord::AsTheBudgetAllows => "時間枠の許すかぎり",
            PlanWord::OfTheApp => "アプリのもの",
            PlanWord::NoLimit => "上限なし",
            PlanWord::NoValue => "なし",
            PlanWord::On => "あり",
            PlanWord::Off => "なし",
        }
    }

    fn framework(&self, framework: Framework) -> &'static str {
        match framework {
            Framework::Rails => "Rails",
            Framework::Sinatra => "Sinatra",
            Framework::Rack => "Rack",
            Framework::Wsgi => "Python、WSGI",
            Framework::Asgi => "Python、ASGI",
            Framework::Php => "PHP",
            Framework::Node => "Node.js",
            Framework::Other => "コマンドで起動",
        }
    }

    fn deployment(&self, name: &str, namespace: Option<&str>) -> String {
        match namespace {
            Some(namespace) => format!("{name}（名前空間 {namespace}）"),
            None => name.to_string(),
        }
    }

    fn step_time(&self, when: StepTime) -> &'static str {
        match when {
            StepTime::First => "最初に",
            StepTime::EachStart => "起動ごとに",
            StepTime::AtEnd => "最後に",
        }
    }

    fn step(&self, what: &StepKind) -> String {
        match what {
            StepKind::RunOwnCommand { flag } => format!("指定のコマンド（{flag}）を実行"),
            StepKind::RunCommand { command } => command.trim().to_string(),
            StepKind::NoteService { file } => format!("サービスの現状を {file} に記録"),
            StepKind::SuspendScaling => "自動スケーリングを一時停止".into(),
            StepKind::ShortenDrain { seconds } => {
                format!("ターゲットグループの登録解除の待ち時間を {seconds} 秒に")
            }
            StepKind::MakeRoom => "デプロイの制限でタスク 1 つを入れ替えられない場合は、\
                 minimumHealthyPercent を 0 にして、次のタスクより先に停止できるようにする"
                .into(),
            StepKind::DeployRevision { variables } => format!(
                "{} を入れたタスク定義のリビジョンを登録し、稼働中の全タスクに代えて\
                 タスク 1 つをデプロイ（ヘルスチェックの猶予は 1 日）",
                variables.join(", ")
            ),
            StepKind::PutServiceBack => {
                "元のタスク定義とタスク数に戻し、スケーリング、ターゲットグループ、猶予、制限も\
                 元どおりにして、作ったリビジョンを消す"
                    .into()
            }
            StepKind::TakeDeployment { name } => {
                format!("Deployment {name} を Lease で確保し、spec を注釈 sweetspot/before に記録")
            }
            StepKind::HoldAutoscalers => "オートスケーラーを 1 Pod に固定".into(),
            StepKind::RollOut { variables } => format!(
                "Pod を設定（{}）のものに入れ替える（liveness と readiness のプローブなし）",
                variables.join(", ")
            ),
            StepKind::PutDeploymentBack { name } => {
                format!("Deployment {name} の spec、オートスケーラー、履歴を元どおりに")
            }
            StepKind::MakeDeployment { image } => {
                format!("{image} のための Deployment と Service を作る")
            }
            StepKind::RemoveWhatWasMade => "作ったものをすべて消す".into(),
        }
    }

    fn pods_like(&self, file: &str, container: Option<&str>) -> String {
        match container {
            Some(container) => format!("{file}（コンテナー {container}）"),
            None => file.to_string(),
        }
    }

    fn planned_goal(&self, common: Option<&PlannedGoal>, has_own: bool) -> String {
        let common = match common {
            None => return "ターゲットごとの目標".to_string(),
            Some(PlannedGoal::Given(slo)) => slo.to_string(),
            Some(PlannedGoal::FromUnloaded) => {
                "p95 < 無負荷の p95 の 10 倍（50〜200 ms、少なくとも 3 倍）, errors < 0.1 %"
                    .to_string()
            }
        };
        match has_own {
            true => format!("{common}（独自の目標がないターゲット）"),
            false => common,
        }
    }

    fn objective(&self, objective: &Objective) -> String {
        let at = objective.rate.map_or_else(String::new, |rate| format!("{rate} で"));
        let what = match objective.kind {
            ObjectiveKind::Capacity => "さばける量を最大に".to_string(),
            ObjectiveKind::Memory => format!("{at}メモリを最小に"),
            ObjectiveKind::Latency => format!("{at} p95 を最小に").trim_start().to_string(),
            ObjectiveKind::Cost => format!("{at}費用を最小に"),
        };
        match objective.prices {
            Some(Prices { per_core_hour, per_gib_hour }) => {
                format!("{what}（1 コア 1 時間 {per_core_hour}、1 GiB 1 時間 {per_gib_hour}）")
            }
            None => what,
        }
    }

    fn plans_differ(&self, what: &str, [then, now]: [&str; 2], flag: &str) -> String {
        format!("{what}は前回 {then}、今は {now} です。{flag} で指定してください")
    }

    texts! {
        cut(image: &str, pods: &str) => "{image}、Pod 数 {pods}（コア、メモリ、ワーカーを等分）";
        at_once(image: &str, settings: u16) => "{image}、同時に {settings} 設定（それぞれ別のノード）";
        generators(pods: u16, image: &str) => "{pods} Pod（{image}）";
        load_from(host: &str) => "負荷は {host} から";
        weight(weight: u32) => "重み {weight}";
        names_alone(names: &str) => "{names}（値は表示しません）";
        all_of_it(amount: &str) => "すべて（{amount}）";
        at_most(most: u32) => "最大 {most}";
    }
}
