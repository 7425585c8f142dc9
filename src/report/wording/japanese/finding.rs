//! What `doctor` found, in Japanese; in English what it found of a cluster, which no session shows.

use super::limit_refusal;
use crate::report::wording::{FindingWords, english};
use crate::terms::{
    Bytes, GroupPermission, LocalPorts, MachineCheck, MemoryLeft, Priority, RefusedGroup,
};

const NOT_VISIBLE: &str = "見えません";

pub fn words(check: &MachineCheck) -> FindingWords {
    let advice = match (check, advice(check)) {
        (MachineCheck::ProgramFound { program, .. }, advice) => {
            format!("このフォルダーのアプリには `{program}` が必要です。{advice}")
        }
        (_, advice) => advice.to_string(),
    };
    FindingWords { what: what(check).into(), figure: figure(check), advice }
}

fn what(check: &MachineCheck) -> &str {
    match check {
        MachineCheck::CoresFound { .. } => "コア",
        MachineCheck::GovernorsFound { .. } => "周波数ガバナー",
        MachineCheck::StealFound { .. } => "steal",
        MachineCheck::LoadFound { .. } => "ほかのプログラムの負荷",
        MachineCheck::NoiseFound { .. } => "A/A ノイズ",
        MachineCheck::OpenFilesFound { .. } => "開けるファイル数",
        MachineCheck::PortsFound { .. } => "ローカルポート",
        MachineCheck::ListenQueueFound { .. } => "listen キューの上限",
        MachineCheck::ClockFound { .. } => "クロックソース",
        MachineCheck::ControlGroupsFound { .. } => "control group",
        MachineCheck::LeftBehindFound { .. } => "残るもの",
        MachineCheck::PriorityFound { .. } => "優先度",
        MachineCheck::MemoryFound { .. } => "メモリ",
        MachineCheck::SwapFound { .. } => "スワップ",
        MachineCheck::DiskFound { .. } => "ディスク",
        MachineCheck::ProgramFound { program, .. } => program,
        MachineCheck::OfCluster(_) => english::finding::what(check),
    }
}

fn figure(check: &MachineCheck) -> String {
    match check {
        MachineCheck::CoresFound { available, online, quota } => {
            let held = quota.as_ref().map(|quota| {
                format!("、{} のクォータにより {:.2} まで", quota.folder, quota.cores)
            });
            format!("オンラインの {online} のうち {available}{}", held.unwrap_or_default())
        }
        MachineCheck::GovernorsFound { names } if names.is_empty() => {
            format!("{NOT_VISIBLE}（ホストかファームウェアが決めます）")
        }
        MachineCheck::GovernorsFound { names } => names.join(", "),
        MachineCheck::StealFound { steal_ratio, over_s } => {
            format!("{over_s:.1} 秒の {:.1} %", steal_ratio * 100.0)
        }
        MachineCheck::LoadFound { busy_ratio, over_s, busiest } => {
            let by = busiest.as_ref().map(|it| {
                format!("（最も多いのは {}、pid {} の {:.2} コア）", it.name, it.pid, it.cores)
            });
            let (percent, by) = (busy_ratio * 100.0, by.unwrap_or_default());
            format!("{over_s:.1} 秒間のコアの使用率 {percent:.0} %{by}")
        }
        MachineCheck::NoiseFound { spread: Some(spread) } => format!(
            "同じ計算の時間が、1 つのコアで {:.1} %、コアの間で {:.1} % ばらついています（{} コアで {} \
             回）",
            spread.within_ratio * 100.0,
            spread.between_ratio * 100.0,
            spread.cores,
            spread.repeats
        ),
        MachineCheck::NoiseFound { spread: None } => "計測できませんでした".into(),
        MachineCheck::OpenFilesFound { limit, raisable_to } if raisable_to > limit => {
            format!("{limit}（{raisable_to} まで上げられます）")
        }
        MachineCheck::OpenFilesFound { limit, .. } => limit.to_string(),
        MachineCheck::PortsFound { ports } => ports.map_or(NOT_VISIBLE.into(), local_ports),
        MachineCheck::ListenQueueFound { connections_max } => {
            connections_max.map_or(NOT_VISIBLE.into(), |most| most.to_string())
        }
        MachineCheck::ClockFound { source } => source.clone().unwrap_or(NOT_VISIBLE.into()),
        MachineCheck::ControlGroupsFound { permission } => control_groups(permission),
        MachineCheck::LeftBehindFound { group_ends_all: true } => {
            "何も残りません。サーバー全体がコントロールグループごと終了されます".into()
        }
        MachineCheck::LeftBehindFound { group_ends_all: false } => {
            "セッション、環境変数、出力のどれかを保つサーバーなら何も残りません。三つとも隠すサーバーは、sweetspot と監視プロセスが同時に強制終了されると\
             残ることがあります"
                .into()
        }
        MachineCheck::PriorityFound { permitted } => priority(*permitted).into(),
        MachineCheck::MemoryFound { memory } => memory.map_or(NOT_VISIBLE.into(), memory_left),
        MachineCheck::SwapFound { total_bytes: 0, .. } => "ありません".into(),
        MachineCheck::SwapFound { used_bytes, total_bytes } => {
            format!("{} のうち {} を使用中", Bytes(*total_bytes), Bytes(*used_bytes))
        }
        MachineCheck::DiskFound { free_bytes: Some(free), folder } => {
            format!("{folder} の空き {}", Bytes(*free))
        }
        MachineCheck::DiskFound { free_bytes: None, .. } => NOT_VISIBLE.into(),
        MachineCheck::ProgramFound { path, .. } => path.clone().unwrap_or("ありません".into()),
        MachineCheck::OfCluster(_) => english::finding::figure(check),
    }
}

fn local_ports(ports: LocalPorts) -> String {
    let reuse = match ports.is_reused {
        true => "すぐに再利用されます".to_string(),
        false => {
            format!("毎秒 {} の新しい接続が 1 分以上続けられる数", ports.fresh_per_s())
        }
    };
    format!("{}（{}〜{}）、{reuse}", ports.count(), ports.first, ports.last)
}

fn control_groups(permission: &GroupPermission) -> String {
    match permission {
        GroupPermission::Both { version } => {
            format!("バージョン {version}、CPU とメモリの上限を設定できます")
        }
        GroupPermission::Without { version, missing } => {
            format!("バージョン {version}、{} の上限は設定できません", missing.join("、"))
        }
        GroupPermission::Refused { version, tried } => {
            let of_one =
                |it: &RefusedGroup| format!("{}: {}", it.folder, limit_refusal::sentence(&it.why));
            let reason = tried.iter().map(of_one).collect::<Vec<_>>().join("、");
            format!("バージョン {version}、作れません（{reason}）")
        }
        GroupPermission::None => "マウントされていません".into(),
    }
}

fn priority(permitted: Priority) -> &'static str {
    match permitted {
        Priority::RealTime => "SCHED_FIFO を使えます",
        Priority::Nice => "nice は使え、SCHED_FIFO は使えません",
        Priority::Normal => "上げられません",
    }
}

fn memory_left(memory: MemoryLeft) -> String {
    let limit = memory.limit_bytes.map(|limit| format!("、上限 {}", Bytes(limit)));
    let (available, total) = (Bytes(memory.available_bytes), Bytes(memory.total_bytes));
    format!("{total} のうち {available} が空き{}", limit.unwrap_or_default())
}

/// What to do where it is not as it should be.
fn advice(check: &MachineCheck) -> &'static str {
    match check {
        MachineCheck::CoresFound { quota: Some(_), .. } => {
            "コア数を数えるサーバーは全コアを見て、ワーカーを起動しすぎます。--cpus でクォー\
             タを指定するか、クォータの代わりにコアを丸ごと（cpuset）割り当ててください"
        }
        MachineCheck::CoresFound { quota: None, .. } => {
            "負荷生成側がサーバーと唯一のコアを共有します。使った分は試行ごとに表示します。2 \
             つ目のコアがあれば分けられます"
        }
        MachineCheck::GovernorsFound { .. } => {
            "root で `cpupower frequency-set -g performance` を実行すると、空いていたコアが最\
             初だけ遅いことがなくなります"
        }
        MachineCheck::StealFound { .. } => {
            "ホストがこのマシンのコアをほかに回しています。専有コアか、静かな時間に計測してく\
             ださい"
        }
        MachineCheck::LoadFound { .. } => {
            "ほかのプログラムがサーバーの使う分を取っています。終了するか、終わるまで待ってく\
             ださい"
        }
        MachineCheck::NoiseFound { spread: Some(_) } => {
            "これより小さい設定間の差は偶然と見分けられません。ほかの負荷、周波数の変化、速さ\
             の違うコアがないかを見てください"
        }
        MachineCheck::NoiseFound { spread: None } => {
            "このプログラムがスレッドをコアに固定できるようにしてください"
        }
        MachineCheck::OpenFilesFound { .. } => {
            "始める前にこのシェルで `ulimit -n 65536` を実行するか、/etc/security/limits.conf \
             の nofile を上げてください。1 接続に 1 つ使います"
        }
        MachineCheck::PortsFound { .. } => {
            "root で `sysctl net.ipv4.tcp_tw_reuse=1` と `sysctl net.ipv4.ip_local_port_range=\
             '10240 65535'` を実行するか、unix ソケットを使ってください"
        }
        MachineCheck::ListenQueueFound { .. } => {
            "root で `sysctl net.core.somaxconn=4096` を実行してください。サーバーは 1024 の\
             キューを求めても、この値までしかもらえず、急増したときに早く断られます"
        }
        MachineCheck::ClockFound { .. } => {
            "このクロックソースでは、時刻を読むのに 1 マイクロ秒以上かかります。マシンの TSC \
             が安定していれば、clocksource=tsc で起動してください"
        }
        MachineCheck::ControlGroupsFound { .. } | MachineCheck::LeftBehindFound { .. } => {
            "`systemd-run --user --scope -p Delegate=yes` の下で実行してくだ\
             さい。そうしないと、--cpus と --memory はクォータや上限として強制されません"
        }
        MachineCheck::PriorityFound { .. } => {
            "このプログラムに `setcap cap_sys_nice+ep` を設定すると、忙し\
             いマシンでも負荷を時刻どおりに送れます"
        }
        MachineCheck::MemoryFound { .. } => {
            "メモリを持っているプログラムを終了してください。サーバーがスワップしたり強制終了\
             されたりすると、それしか計測できません"
        }
        MachineCheck::SwapFound { .. } => {
            "計測中は root で `swapoff -a` を実行してください。ディスクから戻るページは遅いリ\
             クエストに見えます"
        }
        MachineCheck::DiskFound { .. } => "空きを作るか、--store でストアを別の場所にしてください",
        MachineCheck::ProgramFound { .. } => "インストールするか、PATH に置いてください",
        MachineCheck::OfCluster(_) => english::finding::advice(check),
    }
}
