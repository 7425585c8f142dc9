//! What is doubtful of a Deployment that was tuned where it runs, in Japanese.

use crate::terms::{ClusterDoubt, LimitedResource};

/// What was seen.
pub(super) fn message(doubt: &ClusterDoubt) -> String {
    match doubt {
        ClusterDoubt::OnePodOfSeveral { pods } => {
            format!(
                "Deployment の {pods} 個の Pod のうち 1 個を測ります。容量は Pod 1 個のものです"
            )
        }
        ClusterDoubt::NoLimit { of: LimitedResource::Cpu } => {
            "コンテナに CPU の制限がなく、ノードに余っている分で測ります".into()
        }
        ClusterDoubt::NoLimit { of: LimitedResource::Memory } => {
            "コンテナにメモリの制限がなく、ノードにある分で測ります".into()
        }
        ClusterDoubt::KeptByRepository { program } => {
            format!(
                "{program} が Deployment をリポジトリの内容に戻すため、試す変更が消えることがあります"
            )
        }
        ClusterDoubt::AutoscalerOwned { owner } => {
            format!("オートスケーラーは {owner} のもので、途中で設定し直されることがあります")
        }
        ClusterDoubt::VerticalAutoscaler { name, .. } => format!(
            "垂直オートスケーラー {name} は Pod を作るときに requests と limits を変え、\
             Pod を退去させることもあります。制限が Deployment のものと違うおそれがあります"
        ),
        ClusterDoubt::VariablesElsewhere { variables } => format!(
            "{} の値は ConfigMap か Secret にあり、現在の設定は推定です",
            variables.join(", ")
        ),
        ClusterDoubt::ContainersLeftOut { containers } => format!(
            "Pod ではアプリだけが動き、テンプレートにあるほかのコンテナーはありません: {}",
            containers.join(", ")
        ),
        ClusterDoubt::NodesNotCompared { first, other } => format!(
            "Pod はノード {first} と {other} で動きましたが、同じ種類かどうかを調べられませんでした\
             （イメージに 'cat' がないか、実行する権限がありません）。種類の違うノードの値を比べているおそれがあります"
        ),
        ClusterDoubt::GeneratorSharesNode { node, generators: 0 } => format!(
            "アプリの Pod と負荷を集計する Pod がノード {node} で動きました。集計に使う CPU は、\
             そのノードでアプリが使える分から取られます"
        ),
        ClusterDoubt::GeneratorSharesNode { node, generators } => format!(
            "アプリの Pod と負荷を送る Pod（{generators} 個）がノード {node} で動きました。\
             負荷の生成に使う CPU は、そのノードでアプリが使える分から取られます"
        ),
    }
}

/// Of a vertical autoscaler, that it changes nothing by itself.
const TO_RECOMMEND: &str = "{\"spec\":{\"updatePolicy\":{\"updateMode\":\"Off\"}}}";

/// What to do.
pub(super) fn advice(doubt: &ClusterDoubt) -> String {
    let always = match doubt {
        ClusterDoubt::OnePodOfSeveral { .. } => {
            "複数の Pod は、共有するものが足りる限り、その数だけ倍の負荷に耐えます"
        }
        ClusterDoubt::NoLimit { .. } => {
            "requests と limits を付けると、測ったものがいつも使えるものになります"
        }
        ClusterDoubt::KeptByRepository { .. } => "その間、この Deployment の同期を止めてください",
        ClusterDoubt::AutoscalerOwned { .. } => {
            "その間、所有者を止めてください（KEDA なら autoscaling.keda.sh/paused）"
        }
        ClusterDoubt::VerticalAutoscaler { name, namespace } => {
            return format!(
                "その間、推奨値を出すだけにしてください: kubectl patch vpa {name} --namespace \
                 {namespace} --type merge -p '{TO_RECOMMEND}'"
            );
        }
        ClusterDoubt::VariablesElsewhere { .. } => {
            "あとで Deployment ではなく、その場所で設定してください"
        }
        ClusterDoubt::ContainersLeftOut { .. } => {
            "アプリに必要なもの（データベースへのプロキシなど）があれば、--env でそれを通らない先を\
             指定してください"
        }
        ClusterDoubt::NodesNotCompared { .. } => {
            "nodeSelector で、同じ種類のノードだけで動かしてください"
        }
        ClusterDoubt::GeneratorSharesNode { .. } => {
            "ほかのノードに空きを作ってください。ノードを増やすか、--generators を減らすか、\
             nodeSelector と、アプリの Pod だけが許容する taint で、アプリ専用のノードにします"
        }
    };
    always.to_string()
}
