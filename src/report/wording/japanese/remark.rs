//! What is to be known of an app's own server settings, in Japanese.

use crate::terms::{
    CommandRemark, NodeRemark, PhpRemark, PythonRemark, RubyRemark, SettingsRemark,
};

pub fn of_settings(remark: &SettingsRemark) -> String {
    match remark {
        SettingsRemark::AddressesNotOpened { addresses } => format!(
            "設定のアドレス（{}）は開かず、127.0.0.1 の空きポートで listen します",
            addresses.join(", ")
        ),
        SettingsRemark::AddressesNotOpenedBehindNginx { addresses } => format!(
            "設定のアドレス（{}）は開きません。nginx が 127.0.0.1 の空きポートで listen し、\
             ワーカーごとのソケットへ中継します",
            addresses.join(", ")
        ),
        SettingsRemark::AddressNotOpened { address } => {
            format!("設定のアドレス（{address}）は開きません")
        }
        SettingsRemark::FilesNotWritten { files } => {
            format!("計測中は {} に書き込みません", files.join("、"))
        }
        SettingsRemark::FlagsComeFirst { file, flags } => format!(
            "{file} の {flags} は、環境変数やサーバーの設定ファイルより優先されます。\
             設定を変えるときはそこを変えてください"
        ),
        SettingsRemark::WithoutTls => {
            "証明書を使わず、平文の HTTP で計測します。TLS にかかる CPU は数値に含まれません".into()
        }
        SettingsRemark::OtherEnvironment { environment, setting, measured } => {
            let what = setting.map_or("ワーカー数".into(), |it| it.to_string());
            let measured = measured.as_deref().unwrap_or("production");
            format!("{what} は環境 '{environment}' から読んだ値で、計測は {measured} で行います")
        }
    }
}

fn loaded(is_preloaded: bool, spelt: &str) -> String {
    match is_preloaded {
        true => format!("アプリはワーカーを fork する前に 1 回だけ読み込まれます（{spelt}）"),
        false => format!(
            "ワーカーがそれぞれアプリを読み込むため、共有されるメモリはわずかです（{spelt}）"
        ),
    }
}

pub fn of_ruby(remark: &RubyRemark) -> String {
    let its = |file: &Option<String>| file.clone().unwrap_or("設定".into());
    match remark {
        RubyRemark::MaxThreadsFromStart { min, max } => format!(
            "threads {min}:{max} は {max}:{max} として動かします（メモリとレイテンシが、\
             それまでの経過に左右されないように）"
        ),
        RubyRemark::SingleMode => "シングルモード: マスターのない 1 プロセス".into(),
        RubyRemark::OneWorkerInSingleMode => {
            "マスターの下の 1 ワーカーは、Puma の勧めるとおりシングルモードで動かします\
             （さばける量は同じで、メモリは少なくなります）"
                .into()
        }
        RubyRemark::PluginsRun { names } => {
            format!("{} がサーバーの中で動き、その負荷も一緒に測られます", names.join("、"))
        }
        RubyRemark::PluginOff { plugin, variable } => format!(
            "ここでは {variable} が設定されていないので、プラグイン {plugin} は読み込まれません。本番で\
             設定しているなら、--env {variable}=1 を付けて一緒に計測してください"
        ),
        RubyRemark::ChannelsWithoutClients { channels } => format!(
            "Action Cable が同じプロセスで app/channels の {channels} 個のチャンネルを受け持つことが\
             あります。ここでは誰も接続しないので、その分の余裕を残してください"
        ),
        RubyRemark::NotPreloadedToday => {
            "現在アプリはプリロードされていません。Puma 5 と 6 は WEB_CONCURRENCY が 1 より\
             大きいと（ここではそうします）既定でプリロードします"
                .into()
        }
        RubyRemark::UnicornWorkers { is_preloaded, timeout_s } => format!(
            "{}。1 つのリクエストに {timeout_s} 秒より長くかかるワーカーは強制終了されます\
             （timeout）",
            loaded(*is_preloaded, &format!("preload_app {is_preloaded}"))
        ),
        RubyRemark::ThinWorkers { connections_max, timeout_s } => format!(
            "ワーカーはそれぞれアプリを読み込む独立したプロセスで、最大 {connections_max} 接続を\
             受け付けます。スレッドが複数のとき、{timeout_s} 秒より長くかかる応答は打ち切られます\
             （timeout）"
        ),
        RubyRemark::SettingsLeftOut { file, names } => {
            format!("{} の {} は計測中は適用しません", its(file), names.join("、"))
        }
        RubyRemark::OtherRackup { file, rackup, measured } => {
            format!("{} は {rackup} から起動しますが、計測するのは {measured} です", its(file))
        }
    }
}

pub fn of_python(remark: &PythonRemark) -> String {
    match remark {
        PythonRemark::GunicornWorkers { is_preloaded, timeout_s } => {
            let preloads = if *is_preloaded { "preload_app = True" } else { "preload_app = False" };
            let loaded = loaded(*is_preloaded, preloads);
            // With 0 there is no timeout.
            if *timeout_s == 0 {
                return loaded;
            }
            format!(
                "{loaded}。{timeout_s} 秒より長く反応しないワーカーは強制終了されます（timeout）"
            )
        }
        PythonRemark::ClassWithoutThreads { class } => {
            format!("ワーカークラス {class} ではスレッド数に意味がありません: --threads 1 を指定")
        }
        PythonRemark::ClassKept { class } => format!("ワーカークラス {class} はそのままです"),
        PythonRemark::OneThreadIsSync => {
            "1 スレッドでは sync ワーカーになり、応答のたびに接続を閉じます。2 以上では gunicorn が \
             gthread ワーカーにし、接続を開いたままにします"
                .into()
        }
        PythonRemark::ReplacedWhileMeasuring { requests } => format!(
            "ワーカーは {requests} リクエストごとに入れ替わります（max_requests、計測中も）"
        ),
        PythonRemark::DjangoDebugs => {
            "Django の設定が DEBUG = True です。すべてのクエリをメモリに残し、production より遅く\
             なります。DJANGO_SETTINGS_MODULE で production の設定を指定してください"
                .into()
        }
        PythonRemark::WithoutAccessLog => {
            "uvicorn のアクセスログなし（--no-access-log）で計測します。ログはワーカーの時間を\
             使います"
                .into()
        }
        PythonRemark::EndedWorkersStayAway { version } => format!(
            "uvicorn {version} は終了したワーカーを補充せず、気付かれないまま少ない数で動き続けます\
             （0.30 以降は補充します）"
        ),
    }
}

pub fn of_php(remark: &PhpRemark) -> String {
    match remark {
        PhpRemark::WorkersOfMachine { files } => format!(
            "現在のワーカー数は {} のものです。そのほかの設定は計測中は適用しません\
             （config/php-fpm.conf にコピーすれば適用します）",
            files.join("、")
        ),
        PhpRemark::WorkersNotKnown { assumed } => {
            format!("現在のワーカー数は不明です。パッケージの既定は {assumed} です")
        }
        PhpRemark::NoPool { file, assumed } => {
            format!("{file} にプールがないため、{assumed} ワーカーとみなします")
        }
        PhpRemark::FirstPoolMeasured { file, pools, pool } => {
            format!("{file} の {pools} プールのうち、最初の [{pool}] を計測します")
        }
        PhpRemark::WorkersManaged { manager } => format!(
            "pm = {manager}: 現在ワーカーは、現在の数として示した数を上限に負荷に応じて増減します"
        ),
        PhpRemark::ReplacedAfterRequests { requests } => {
            format!("ワーカーは {requests} リクエストごとに入れ替わります（pm.max_requests）")
        }
        PhpRemark::EndedAfter { limit } => format!(
            "リクエストに {limit} より長くかかるワーカーは終了されます\
             （request_terminate_timeout）"
        ),
        PhpRemark::OtherUser { user } => {
            format!("{user} ではなく、計測するユーザーとして動きます")
        }
        PhpRemark::StaticBehindNginx => {
            "固定のワーカー数（pm = static）で、ファイルには自分で応答する nginx の背後で計測します。\
             エラーはログに残し、表示しません（display_errors off）"
                .into()
        }
    }
}

pub fn of_node(remark: &NodeRemark) -> String {
    let text = match remark {
        NodeRemark::OwnCluster => "アプリ自身が WEB_CONCURRENCY 個のワーカーのクラスターを作ります",
        NodeRemark::OwnClusterOfFixedSize => {
            "アプリ自身のクラスターは WEB_CONCURRENCY に従いません。複数のワーカーは sweetspot が\
             作り、アプリはその中で自分をワーカーとみなします"
        }
        NodeRemark::OneProcessToday => {
            "現在は 1 プロセスです。複数のワーカーは sweetspot が Node の cluster モジュールで作り、\
             接続を順番に渡します"
        }
        NodeRemark::FixedPort => {
            "固定のポートで listen しているようです。PORT で listen する必要があります"
        }
    };
    text.into()
}

pub fn of_command(remark: &CommandRemark) -> String {
    match remark {
        CommandRemark::WorkersAssumed { workers, variable } => format!(
            "コマンドからは現在の動かし方がわからないため、{workers} ワーカーとみなします\
             （ほかの数: --env {variable}=N）"
        ),
        CommandRemark::ReadyAtRest => {
            "ページが 2xx を返し、プロセスが落ち着いた時点で準備完了とみなします".into()
        }
        CommandRemark::TodayUnknown { workers, threads } => format!(
            "現在の設定がわからないため、試すなかで最小の {workers} x {threads} とみなします\
             （--today で指定できます）"
        ),
    }
}
