//! What a plan will do to an app that runs elsewhere, step by step.
//!
//! In: a plan. Out: steps, in order; none for an app that is started here. Only computes.

use super::checked::Plan;
use super::cluster::Cluster;
use super::elsewhere::{Platform, Remote};
use super::options::Key;
use crate::place::ecs::SHORT_DRAIN;
use crate::terms::{PlannedStep, StepKind, StepTime};
use StepTime::{AtEnd, EachStart, First};

/// See the head of this file.
pub fn steps(plan: &Plan) -> Vec<PlannedStep> {
    let variables: Vec<String> = plan.app.env.keys().cloned().collect();
    let all = match (&plan.remote, &plan.cluster) {
        (Some(remote), _) => of_remote(plan, remote, variables),
        (None, Some(cluster)) => of_cluster(cluster, variables),
        (None, None) => Vec::new(),
    };
    all.into_iter().map(|(when, what)| PlannedStep { when, what }).collect()
}

fn of_remote(plan: &Plan, remote: &Remote, variables: Vec<String>) -> Vec<(StepTime, StepKind)> {
    let own = |key: Key| StepKind::RunOwnCommand { flag: format!("--{}", key.name()) };
    let shown = |command: &String| StepKind::RunCommand { command: command.clone() };
    match &remote.by {
        Platform::Any => {
            let ready = remote.commands.ready.as_ref();
            let ready = ready.map(|_| (EachStart, own(Key::ReadyCommand)));
            let apply = (EachStart, own(Key::Apply));
            [Some(apply), ready, Some((AtEnd, own(Key::Restore)))].into_iter().flatten().collect()
        }
        Platform::Kamal { .. } => vec![
            (EachStart, shown(&remote.commands.apply)),
            (AtEnd, shown(&remote.commands.restore)),
        ],
        Platform::Ecs(name) => {
            let beside = plan.store.parent().unwrap_or(&plan.app.folder);
            let file = name.record(beside).display().to_string();
            vec![
                (First, StepKind::NoteService { file }),
                (First, StepKind::SuspendScaling),
                (First, StepKind::ShortenDrain { seconds: SHORT_DRAIN.to_string() }),
                (First, StepKind::MakeRoom),
                (EachStart, StepKind::DeployRevision { variables }),
                (AtEnd, StepKind::PutServiceBack),
            ]
        }
    }
}

fn of_cluster(cluster: &Cluster, variables: Vec<String>) -> Vec<(StepTime, StepKind)> {
    let name = cluster.deployment.clone();
    match &cluster.own {
        Some(own) => vec![
            (First, StepKind::MakeDeployment { image: own.image.clone() }),
            (EachStart, StepKind::RollOut { variables }),
            (AtEnd, StepKind::RemoveWhatWasMade),
        ],
        None => vec![
            (First, StepKind::TakeDeployment { name: name.clone() }),
            (First, StepKind::HoldAutoscalers),
            (EachStart, StepKind::RollOut { variables }),
            (AtEnd, StepKind::PutDeploymentBack { name }),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Surroundings, Typed, resolve};

    /// What is done for what was typed, each with when.
    fn of(typed: &Typed, config: &str) -> Vec<(StepTime, StepKind)> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("config")).unwrap();
        std::fs::write(folder.path().join("config/deploy.yml"), config).unwrap();
        let surroundings = Surroundings::of_test(folder.path(), []);
        let plan = resolve(typed, &surroundings).unwrap();
        steps(&plan).into_iter().map(|it| (it.when, it.what)).collect()
    }

    fn elsewhere() -> Typed {
        let given = [(Key::Url, "http://10.0.0.7"), (Key::Cpus, "2"), (Key::Memory, "2GiB")];
        given.iter().fold(Typed::default(), |typed, (key, value)| typed.with(*key, *value))
    }

    #[test]
    fn a_deployment_is_taken_before_it_is_changed_and_put_back_in_the_end() {
        let with_image =
            |key, value| Typed::default().with(Key::GeneratorImage, "s:1").with(key, value);
        let times = [First, First, EachStart, AtEnd];
        let all = of(&with_image(Key::Deployment, "shop"), "");
        assert_eq!(all.iter().map(|it| it.0).collect::<Vec<_>>(), times);
        assert_eq!(all[0].1, StepKind::TakeDeployment { name: "shop".into() });
        let variables = ["RAILS_MAX_THREADS", "WEB_CONCURRENCY"].map(String::from).to_vec();
        assert_eq!(all[2].1, StepKind::RollOut { variables });
        let image = with_image(Key::Image, "shop:1").with(Key::Port, "3000");
        let image = image.with(Key::Cpus, "1").with(Key::Memory, "1GiB");
        let all = of(&image, "");
        assert_eq!(all[0].1, StepKind::MakeDeployment { image: "shop:1".into() });
        assert_eq!(all.last().unwrap(), &(AtEnd, StepKind::RemoveWhatWasMade));
    }

    #[test]
    fn commands_of_ours_are_shown_and_those_of_the_users_are_named() {
        let own = elsewhere().with(Key::Apply, "deploy s3cret {workers} {threads}");
        let all = of(&own.with(Key::Restore, "undo s3cret"), "");
        let flags =
            ["--apply", "--restore"].map(|flag| StepKind::RunOwnCommand { flag: flag.into() });
        let [apply, restore] = flags;
        assert_eq!(all, [(EachStart, apply), (AtEnd, restore)]);
        let all = of(&elsewhere().with(Key::Kamal, "true"), "service: shop\n");
        let [(EachStart, StepKind::RunCommand { command }), (AtEnd, _)] = &all[..] else {
            panic!("{all:?}");
        };
        assert!(command.contains("kamal app boot --primary --roles web"), "{command}");
    }

    #[test]
    fn a_service_is_noted_before_anything_of_it_is_changed() {
        let url = elsewhere().with(Key::Ecs, "prod/shop");
        let all = of(&url, "");
        let (first, last) = (&all[0], all.last().unwrap());
        let (First, StepKind::NoteService { file }) = first else { panic!("{first:?}") };
        assert!(file.ends_with("ecs/prod.shop.json"), "{file}");
        assert_eq!(last, &(AtEnd, StepKind::PutServiceBack));
    }
}
