//! What goes with a setting besides the lines to paste, in Japanese.

use crate::terms::{
    Configuration, CoreCount, Counts, DatabaseAdvice, HealthCheck, HostAdvice, PoolSetting,
    RunningAdvice, SettingAdvice, SettingsPlace, code,
};

pub fn place(place: &SettingsPlace) -> String {
    match place {
        SettingsPlace::OnCommandLine => "コマンドライン".into(),
        SettingsPlace::InFile { path } => path.clone(),
        SettingsPlace::InNewFile => "アプリのファイルの横に置くファイル".into(),
        SettingsPlace::InNginxConfiguration => "nginx の設定".into(),
        SettingsPlace::InCluster => "クラスターの中".into(),
        SettingsPlace::ByCommand => "コマンド".into(),
        SettingsPlace::InTaskDefinition => "タスク定義".into(),
    }
}

fn counts(counts: Counts) -> &'static str {
    match counts {
        Counts::Workers => "ワーカー",
        Counts::Threads => "スレッド",
        Counts::WorkersAndThreads => "ワーカーとスレッド",
    }
}

pub fn setting(advice: &SettingAdvice) -> String {
    match advice {
        SettingAdvice::FileAsksForThreads { file, least_threads } => format!(
            "{file} は少なくとも {least_threads} スレッドを求めていて、環境変数では変えられません。代\
             わりにこれらの行を書いてください"
        ),
        SettingAdvice::FixedInPumaFile { file, counts: which } => format!(
            "{file} の{}の数を決める環境変数が見つかりませんでした。元の行の代わりに、これらの行を書い\
             てください",
            counts(*which)
        ),
        SettingAdvice::FixedInThinFile { file } => format!(
            "{file} の数を決める環境変数が見つかりませんでした。元の行の代わりに、これらの行を書いてく\
             ださい"
        ),
        SettingAdvice::FixedInUnicornFile { file } => format!(
            "{file} のワーカー数を決める環境変数が見つかりませんでした。元の行の代わりに、この行を書い\
             てください"
        ),
        SettingAdvice::UnicornNeedsFile { file } => format!(
            "Unicorn のワーカー数は設定ファイルでだけ決まりますが、このアプリにはありません。{file} \
             にこれらの行を書き、こう起動してください: 'unicorn -c {file}'"
        ),
        SettingAdvice::ThinNeedsFile { file } => format!(
            "Thin のこれらの数はコマンドラインかファイルで決まりますが、このアプリにはありません。\
             {file} にこれらの行を `socket: /run/thin.sock` か `port:` とともに書き、こう起動してく\
             ださい: 'thin start -C {file}'"
        ),
        SettingAdvice::FixedInGunicornFile { file, counts: which } => format!(
            "{file} の{}を決める環境変数がありません。元の行の代わりに、これらの行を書いてください",
            counts(*which)
        ),
        SettingAdvice::GunicornNeedsFile { file, counts: which } => format!(
            "gunicorn の{}を決める環境変数がありません。アプリのフォルダーの {file}（gunicorn が探す\
             ところ）にこれらの行を書いてください。コマンドラインの --workers と \
             --threads、GUNICORN_CMD_ARGS があれば、そちらが優先されます",
            counts(*which)
        ),
        SettingAdvice::GunicornCommandLineFirst => "gunicorn のコマンドラインに --workers（-w）が\
             あると、環境変数より優先されます。外すか、そこで変えてください"
            .into(),
        SettingAdvice::UvicornCommandLineFirst => "uvicorn のコマンドラインに --workers があると、\
             環境変数より優先されます（ないときに環境変数を読みます）"
            .into(),
        SettingAdvice::MakesNoWorkers { entry, workers } => format!(
            "{entry} は WEB_CONCURRENCY に従うワーカーを作りません。これらの行を横に置くか、ロードバ\
             ランサーの後ろで {workers} プロセス動かすか、'pm2 start {entry} -i {workers}' を使ってく\
             ださい"
        ),
        SettingAdvice::ReplacesPoolLines { php_version } => format!(
            "プールの pm の行の代わりにこれらの行を書き、読み込んでください: 'systemctl reload \
             php{php_version}-fpm'（Debian 以外では php-fpm）"
        ),
        SettingAdvice::PlaceStays { place } => {
            format!("{{{place}}} には、本番で使うものが入ります")
        }
        SettingAdvice::SetAsGiven { variables, workers, threads } => {
            let threads = threads.map(|count| format!("、{count} スレッド")).unwrap_or_default();
            let variables = variables.join("、");
            format!("{variables} を指定したとおりに、{workers} ワーカー{threads}で設定してください")
        }
    }
}

pub fn host(advice: &HostAdvice) -> String {
    match advice {
        HostAdvice::OnFly { soft_limit, hard_limit } => format!(
            "Fly では fly.toml の [http_service.concurrency] を type = \"requests\"、soft_limit = \
             {soft_limit}、hard_limit = {hard_limit} に: 同時に処理できる数、または、さばけるレートで\
             処理中だった数です。指定がなければ、接続 20 本で混雑とみなされます"
        ),
        HostAdvice::OnCloudRun { concurrency, cores, memory } => format!(
            "Cloud Run では 'gcloud run services update NAME --concurrency {concurrency} --cpu \
             {cores} --memory {}Mi': 同時に処理できる数、または、さばけるレートで処理中だった数です。\
             指定がなければ 1 インスタンスに 80 まで届き、あふれた分はその中で待ちます",
            memory.0 >> 20
        ),
        HostAdvice::OnHeroku { variables, dyno } => {
            let set = variables.iter().map(|(name, value)| format!(" {name}={value}"));
            let set: String = set.collect();
            let set = if set.is_empty() { set } else { format!(" 'heroku config:set{set}'") };
            let dyno = dyno.map(|dyno| {
                format!("。メモリは {} の dyno に収まりますが、プロセッサは別物です", code(&dyno))
            });
            format!("Heroku では{set}{}。そこで測定してください", dyno.unwrap_or_default())
        }
    }
}

pub fn database(advice: &DatabaseAdvice) -> String {
    match advice {
        DatabaseAdvice::PoolPerWorker { configuration, pool } => pool_of(*configuration, pool),
        DatabaseAdvice::PythonPoolPerWorker { workers } => format!(
            "各ワーカーが自分のデータベース接続を開きます。n 接続のプール（SQLAlchemy の \
             pool_size、asyncpg の max_size）は 1 台あたり {workers} x n 接続になります。Django \
             は、イベントループの外では 1 ワーカーに 1 つです"
        ),
        DatabaseAdvice::NodePoolPerWorker { workers } => format!(
            "各ワーカーが自分のデータベース接続を開きます。n 接続のプールは 1 台あたり {workers} x n \
             接続になります。ワーカーがメモリに持つもの（セッション、キャッシュ、レート制限）は、ほ\
             かのワーカーからは見えません"
        ),
        DatabaseAdvice::ConnectionPerWorker { workers, has_database_yml } => {
            let pool = match has_database_yml {
                true => "config/database.yml は `pool: 1` で十分",
                false => "プールは 1 つで十分",
            };
            format!(
                "各ワーカーにデータベース接続が 1 つ必要です（{pool}）。全ワーカーで 1 台あたり最大 \
                 {workers} 接続になります"
            )
        }
        DatabaseAdvice::PhpConnectionPerWorker { workers } => format!(
            "各ワーカーは応答する間、自分のデータベース接続を持ちます。全ワーカーで 1 台あたり最大 \
             {workers} 接続になり、持続的接続ではそのまま保たれます"
        ),
        DatabaseAdvice::ConnectionPerRequest { workers } => format!(
            "データベース接続は、1 ワーカーが同時に処理するリクエストの数だけ必要です。1 つずつな\
             ら、全ワーカーで 1 台あたり最大 {workers} 接続になります"
        ),
    }
}

fn pool_of(configuration: Configuration, pool: &PoolSetting) -> String {
    let threads = configuration.threads;
    let how = match pool {
        PoolSetting::DatabaseYml { variable: Some(name) } => {
            format!("（config/database.yml に pool: <%= ENV.fetch(\"{name}\") {{ {threads} }} %>）")
        }
        PoolSetting::DatabaseYml { variable: None } => {
            format!("（config/database.yml に pool: {threads}）")
        }
        PoolSetting::RubyCode => "（アプリがデータベースを開くところで指定。ActiveRecord なら \
             `pool`、Sequel なら `max_connections`）"
            .into(),
        PoolSetting::Code => "（アプリがデータベースを開くところで指定）".into(),
        PoolSetting::PythonLibrary => "（SQLAlchemy は pool_size。Django は 1 スレッドに 1 つ\
             で、CONN_MAX_AGE でリクエストをまたいで保ちます）"
            .into(),
        PoolSetting::Unknown => String::new(),
    };
    format!(
        "データベースのプールは 1 ワーカーに少なくとも {threads} 接続{how}。全ワーカーで 1 台あたり最\
         大 {} 接続（{configuration}）になります",
        configuration.slots()
    )
}

pub fn running(advice: &RunningAdvice) -> String {
    match advice {
        RunningAdvice::CheckHealthBy { check } => {
            format!("ヘルスチェックをアプリの待ち行列に並ばせないでください。{}", health(*check))
        }
        RunningAdvice::CoreCountIgnoresQuota { count } => core_count(*count),
        RunningAdvice::NodePoolOfFour => "ファイル、DNS、zlib、パスワードのハッシュは、ワーカーごと\
             に 4 つの libuv のプールを待ちます。それが遅いときは UV_THREADPOOL_SIZE で増やせます"
            .into(),
        RunningAdvice::PhpMemoryLimit { workers } => format!(
            "1 リクエストは memory_limit までメモリを使えます。最悪のときに、その {workers} 倍がある\
             ようにしてください"
        ),
        RunningAdvice::PhpListenQueue => "全ワーカーが処理中のとき、リクエストはソケットのキュー\
             （listen.backlog、511）で待ちます。あふれると nginx が 502 を返します"
            .into(),
        RunningAdvice::SlowClientsHoldWorkers => "遅いクライアントは、終わるまでワーカーを丸ごと占\
             めます。リクエストと応答を最後まで読むプロキシ（既定のバッファリングの nginx など）を前\
             に置いてください"
            .into(),
        RunningAdvice::ThinBalancer { workers } => {
            let servers = match workers.saturating_sub(1) {
                0 => "server unix:/run/thin.0.sock".to_string(),
                last => {
                    format!("server unix:/run/thin.0.sock から server unix:/run/thin.{last}.sock")
                }
            };
            format!(
                "各ワーカーが自分で listen するため、前段のプロキシにはそれぞれの行が必要です。nginx \
                 では `upstream` の中に {servers} と書くと、順に使われます（ポートの場合、Thin はそ\
                 こから 1 ずつ増やします）"
            )
        }
        RunningAdvice::ThinDoesNotRestart => "終了したプロセスを Thin は再起動しません。システムの\
             サービスマネージャーに、それぞれを動かし続けさせてください"
            .into(),
    }
}

fn health(check: HealthCheck) -> &'static str {
    match check {
        HealthCheck::OpenPort => {
            "全ワーカーが処理中だと時間切れになり、忙しいだけのサーバーが死んだと見なされます。ポート\
             が接続を受け付けるかを確かめる形にします"
        }
        HealthCheck::OpenPortOrPumaControl => {
            "全スレッドが処理中だと時間切れになり、忙しいだけのサーバーが死んだと見なされます。ポート\
             が接続を受け付けるかを確かめるか、Puma の control ソケットに尋ねます"
        }
        HealthCheck::PhpFpmStatus => {
            "pm.status_listen で、PHP-FPM の状態ページに専用のアドレスとプロセスを持たせられます"
        }
    }
}

fn core_count(count: CoreCount) -> String {
    let (functions, how) = match count {
        CoreCount::Ruby => ("Etc.nprocessors", "して"),
        CoreCount::RubyWithConcurrent => (
            "Etc.nprocessors",
            "するか、Concurrent.available_processor_count（concurrent-ruby 1.3.1 以降）を使って",
        ),
        CoreCount::Python => ("os.cpu_count() と os.sched_getaffinity()", "して"),
        CoreCount::Node => ("os.cpus()", "して"),
    };
    format!(
        "{functions} はコア数を数え、コンテナーの CPU クォータを無視します。クォータがあるところでは固\
         定の数に{how}ください"
    )
}
