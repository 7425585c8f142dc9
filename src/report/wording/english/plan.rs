//! The values of a plan and where they came from, in English.

use super::English;
use crate::report::wording::{PlanPhrases, PlanWord};
use crate::terms::{
    FlagPlace, Framework, Objective, ObjectiveKind, PlanSource, PlannedGoal, PlannedValue, Prices,
    Rate, StepKind, StepTime,
};

impl PlanPhrases for English {
    fn plan_label(&self, value: &PlannedValue) -> &'static str {
        match value {
            PlannedValue::App { .. } => "app",
            PlannedValue::Server { .. } => "server",
            PlannedValue::Deployment { .. } => "deployment",
            PlannedValue::PodsOf { .. } => "image",
            PlannedValue::PodsLike { .. } => "pods like",
            PlannedValue::Remote { .. } => "app at",
            PlannedValue::Generators { .. } => "generators",
            PlannedValue::Proxy(_) => "proxy",
            PlannedValue::Workers(_) => "workers",
            PlannedValue::Threads(_) => "threads",
            PlannedValue::Knob(_) => "knob",
            PlannedValue::Targets(_) => "targets",
            PlannedValue::Headers(_) => "headers",
            PlannedValue::Slo { .. } => "SLO",
            PlannedValue::Objective(_) => "goal",
            PlannedValue::Cores(_) => "cores",
            PlannedValue::Memory(_) => "memory",
            PlannedValue::Arrivals(_) => "arrivals",
            PlannedValue::Connection(_) => "connection",
            PlannedValue::Timeout { .. } => "timeout",
            PlannedValue::Budget { .. } => "budget",
            PlannedValue::Soak { .. } => "soak",
            PlannedValue::Precision(_) => "precision",
            PlannedValue::Probe(_) => "probe",
            PlannedValue::User(_) => "user",
            PlannedValue::Environment(_) => "environment",
            PlannedValue::Variables(_) => "variables",
            PlannedValue::DeployedVariables(_) => "deployed with",
            PlannedValue::KeptFlags(_) => "kept flags",
            PlannedValue::ReadyPath(_) => "ready path",
            PlannedValue::BootTimeout { .. } => "boot timeout",
            PlannedValue::DbConnections(_) => "db connections",
            PlannedValue::Seed(_) => "seed",
            PlannedValue::Store(_) => "store",
            PlannedValue::CurrentSetting { .. } => "current setting",
            PlannedValue::Runtime(_) => "runtime",
            PlannedValue::Remark(_) => "note",
        }
    }

    fn plan_source(&self, source: &PlanSource) -> String {
        match source {
            PlanSource::Flag => "command line".to_string(),
            PlanSource::PlanFile { line } => format!("plan file, line {line}"),
            PlanSource::App => "found in the app".to_string(),
            PlanSource::Inspection => "app".to_string(),
            PlanSource::Default => "default".to_string(),
            PlanSource::Deployment { files } => files.join(", "),
            PlanSource::DeployedFlags { places } => {
                let place = |FlagPlace { file, variable }: &FlagPlace| match variable {
                    Some(variable) => format!("{variable} in {file}"),
                    None => file.clone(),
                };
                places.iter().map(place).collect::<Vec<_>>().join(" and ")
            }
            PlanSource::ReverseProxy { name, file } => {
                format!("as {} keeps them, named in {file}", name.name())
            }
            PlanSource::NoReverseProxy => {
                "as nginx to 1.29.6 by default; no file of the app names a proxy".into()
            }
            PlanSource::FolderOwner => "owner of the app's folder".into(),
            PlanSource::SudoUser => "who called sudo".into(),
            PlanSource::OwnUser => "as sweetspot itself; --user NAME lets the app do less".into(),
        }
    }

    fn plan_word(&self, word: PlanWord) -> &'static str {
        match word {
            PlanWord::AsTheBudgetAllows => "as the budget allows",
            PlanWord::OfTheApp => "the app's own",
            PlanWord::NoLimit => "no limit",
            PlanWord::NoValue => "none",
            PlanWord::On => "on",
            PlanWord::Off => "off",
        }
    }

    fn framework(&self, framework: Framework) -> &'static str {
        match framework {
            Framework::Rails => "Rails",
            Framework::Sinatra => "Sinatra",
            Framework::Rack => "Rack",
            Framework::Wsgi => "Python, WSGI",
            Framework::Asgi => "Python, ASGI",
            Framework::Php => "PHP",
            Framework::Node => "Node.js",
            Framework::Other => "started by a command",
        }
    }

    fn deployment(&self, name: &str, namespace: Option<&str>) -> String {
        match namespace {
            Some(namespace) => format!("{name} in namespace {namespace}"),
            None => name.to_string(),
        }
    }

    fn step_time(&self, when: StepTime) -> &'static str {
        match when {
            StepTime::First => "first",
            StepTime::EachStart => "each start",
            StepTime::AtEnd => "at the end",
        }
    }

    fn step(&self, what: &StepKind) -> String {
        match what {
            StepKind::RunOwnCommand { flag } => format!("your command ({flag}) is run"),
            StepKind::RunCommand { command } => command.trim().to_string(),
            StepKind::NoteService { file } => format!("what the service is is noted in {file}"),
            StepKind::SuspendScaling => "its automatic scaling is suspended".into(),
            StepKind::ShortenDrain { seconds } => {
                format!("its target groups let a task that ends finish for {seconds} s")
            }
            StepKind::MakeRoom => {
                "where its limits for deployments leave no room to replace one task, \
                 minimumHealthyPercent is 0, so that it may end before the next is there"
                    .into()
            }
            StepKind::DeployRevision { variables } => format!(
                "a revision of its task definition with {} is registered, and one task of it \
                 deployed in place of all that run, with a day of grace for health checks",
                variables.join(", ")
            ),
            StepKind::PutServiceBack => {
                "the service runs what it ran, with as many tasks; its scaling, target groups, \
                 grace and limits are as they were, and our revisions are gone"
                    .into()
            }
            StepKind::TakeDeployment { name } => format!(
                "a Lease says that Deployment {name} is ours; its spec is noted on it in the \
                 annotation sweetspot/before"
            ),
            StepKind::HoldAutoscalers => "its autoscalers are held at one pod".into(),
            StepKind::RollOut { variables } => format!(
                "the pods are replaced by those of the setting ({}), without liveness and \
                 readiness probes",
                variables.join(", ")
            ),
            StepKind::PutDeploymentBack { name } => format!(
                "the spec of Deployment {name}, its autoscalers and its history are as they were"
            ),
            StepKind::MakeDeployment { image } => {
                format!("a Deployment and a Service are made for {image}")
            }
            StepKind::RemoveWhatWasMade => "all that was made is removed".into(),
        }
    }

    fn pods_like(&self, file: &str, container: Option<&str>) -> String {
        match container {
            Some(container) => format!("{file}, container {container}"),
            None => file.to_string(),
        }
    }

    fn generators(&self, pods: u16, image: &str) -> String {
        format!("{pods} pod{} of {image}", if pods == 1 { "" } else { "s" })
    }

    fn planned_goal(&self, common: Option<&PlannedGoal>, has_own: bool) -> String {
        let common = match common {
            None => return "each target's own".to_string(),
            Some(PlannedGoal::Given(slo)) => slo.to_string(),
            Some(PlannedGoal::FromUnloaded) => {
                "p95 < 10 x unloaded p95 (50 to 200 ms; at least 3 x), errors < 0.1 %".to_string()
            }
        };
        match has_own {
            true => format!("{common} for targets without their own"),
            false => common,
        }
    }

    fn objective(&self, objective: &Objective) -> String {
        let at = |word: &str, rate: Option<Rate>| {
            rate.map_or_else(String::new, |rate| format!(" {word} {rate}"))
        };
        let what = match objective.kind {
            ObjectiveKind::Capacity => "the highest capacity".to_string(),
            ObjectiveKind::Memory => format!("the least memory{}", at("for", objective.rate)),
            ObjectiveKind::Latency => format!("the lowest p95{}", at("at", objective.rate)),
            ObjectiveKind::Cost => format!("the lowest cost{}", at("at", objective.rate)),
        };
        match objective.prices {
            Some(Prices { per_core_hour, per_gib_hour }) => {
                format!("{what} ({per_core_hour} a core and hour, {per_gib_hour} a GiB and hour)")
            }
            None => what,
        }
    }

    fn plans_differ(&self, what: &str, [then, now]: [&str; 2], flag: &str) -> String {
        format!("{what} was {then}, and is {now} now; give it with {flag}")
    }

    texts! {
        cut(image: &str, pods: &str) =>
            "{image}, cut into pods: {pods}, which share cores, memory and workers";
        at_once(image: &str, settings: u16) =>
            "{image}, {settings} settings at once, each on a node of its own";
        load_from(host: &str) => "load from {host}";
        weight(weight: u32) => "weight {weight}";
        names_alone(names: &str) => "{names} (values not shown)";
        all_of_it(amount: &str) => "all ({amount})";
        at_most(most: u32) => "at most {most}";
    }
}
