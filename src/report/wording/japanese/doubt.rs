//! What is doubtful and what to do about it, in Japanese; in English what `load --find-capacity`
//! doubts, which has no other language.

mod of_clusters;
mod of_loads;
mod of_predictions;

use super::{finding, limit_refusal, obstacle};
use crate::report::wording::{FindingWords, english};
use crate::terms::{Bytes, ChangeNotThere, Doubt, MachineDoubt, SessionDoubt};

/// What was seen.
pub fn message(doubt: &Doubt) -> String {
    match doubt {
        Doubt::Generator(doubt) => of_loads::of_generator(doubt),
        Doubt::Load(doubt) => of_loads::message(doubt),
        Doubt::Capacity(_) => english::doubt::message(doubt),
        Doubt::Machine(doubt) => of_machine(doubt),
        Doubt::Check(check) => {
            let FindingWords { what, figure, .. } = finding::words(check);
            format!("{what}: {figure}")
        }
        Doubt::Session(doubt) => of_session(doubt),
        Doubt::Prediction(doubt) => of_predictions::message(doubt),
        Doubt::Cluster(doubt) => of_clusters::message(doubt),
    }
}

/// What to do.
pub fn advice(doubt: &Doubt) -> String {
    match doubt {
        Doubt::Generator(doubt) => of_loads::advice_on_generator(doubt).into(),
        Doubt::Load(doubt) => of_loads::advice(doubt),
        Doubt::Capacity(_) => english::doubt::advice(doubt),
        Doubt::Machine(doubt) => advice_on_machine(doubt).into(),
        Doubt::Check(check) => finding::words(check).advice,
        Doubt::Session(doubt) => advice_on_session(doubt).into(),
        Doubt::Prediction(doubt) => of_predictions::advice(doubt),
        Doubt::Cluster(doubt) => of_clusters::advice(doubt),
    }
}

fn of_machine(doubt: &MachineDoubt) -> String {
    match doubt {
        MachineDoubt::GeneratorSharesCores { cores } => {
            format!("負荷生成側がアプリサーバーと同じ {cores} コアで動いています")
        }
        MachineDoubt::FewerCores { asked_cores, usable_cores } => {
            format!(
                "{asked_cores} コアを求められましたが、ここで使えるのは {usable_cores} コアです"
            )
        }
        MachineDoubt::LessMemory { asked_bytes, usable_bytes } => format!(
            "メモリ {} を求められましたが、ここで使えるのは {} です",
            Bytes(*asked_bytes),
            Bytes(*usable_bytes)
        ),
        MachineDoubt::CoresNotEnforced { cores, why } => format!(
            "{cores} コアの上限は強制されず、サーバーは丸ごと {} コアで動いています（{}）",
            cores.ceil(),
            limit_refusal::sentence(why)
        ),
        MachineDoubt::MemoryNotEnforced { limit_bytes, why } => format!(
            "メモリ {} の上限は強制されていません（{}）",
            Bytes(*limit_bytes),
            limit_refusal::sentence(why)
        ),
        MachineDoubt::AppIsRoot => {
            "アプリのフォルダーが root のものなので、アプリは root として動き、ここで何でもできます"
                .into()
        }
    }
}

fn advice_on_machine(doubt: &MachineDoubt) -> &'static str {
    match doubt {
        MachineDoubt::GeneratorSharesCores { .. } => {
            "使った分は結果ごとに表示します。--cpus をマシンのコア数より少なくすると、専用のコアを残せます"
        }
        MachineDoubt::FewerCores { .. } => "サーバーと同じコア数のマシンで計測してください",
        MachineDoubt::LessMemory { .. } => "サーバーと同じメモリ量のマシンで計測してください",
        MachineDoubt::CoresNotEnforced { .. } | MachineDoubt::MemoryNotEnforced { .. } => {
            "自分の control group の下で実行してください（'systemd-run --user --scope -p Delegate=yes \
             sweetspot ...'）。そうでなければ、上限のない結果として読んでください"
        }
        MachineDoubt::AppIsRoot => "権限の少ないユーザーを --user NAME で指定してください",
    }
}

fn of_session(doubt: &SessionDoubt) -> String {
    match doubt {
        SessionDoubt::OneThreadOnly => {
            "アプリは今ワーカーごとに 1 スレッドで動いているため、それより多くは試しませんでした"
                .into()
        }
        SessionDoubt::KnobsNotThere { changes } => {
            let why =
                |it: &ChangeNotThere| format!("{}: {}", it.change, obstacle::sentence(&it.why));
            let all: Vec<String> = changes.iter().map(why).collect();
            format!("ここでは試せない追加設定があります: {}", all.join("; "))
        }
        SessionDoubt::StoreDamaged { error, readable_events }
        | SessionDoubt::StoreNewer { error, readable_events } => {
            format!("{error}。このレポートは、読めた {readable_events} 件のイベントから作りました")
        }
    }
}

fn advice_on_session(doubt: &SessionDoubt) -> &'static str {
    match doubt {
        SessionDoubt::OneThreadOnly => {
            "コードを複数のスレッドで安全に動かせるなら、--yes か --threads を付けて実行し直してください"
        }
        SessionDoubt::KnobsNotThere { .. } => "追加設定から外してください。ほかは試します",
        SessionDoubt::StoreDamaged { .. } | SessionDoubt::StoreNewer { .. } => "",
    }
}
