//! The options of `tune`, a row each: the flag and the key of the plan file, which have one name,
//! what stands for its value, its place in the help, how it is written, an example for the plan
//! file, and its help with the default.
//!
//! Only names them: what a value means is looked at by `resolve`.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// How an option is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `"text"`.
    Text,
    /// The path of a folder, as text.
    Folder,
    /// The path of a file, as text.
    File,
    /// `2`, `1.5` or `"2"`.
    Number,
    /// A number that may be typed with a `-` in front of it, and is refused by `resolve` then.
    Price,
    /// `"1..4"`, `[1, 2, 4]` or `2`.
    Counts,
    /// `"0.5,1"`, `[0.5, 1]` or `2`.
    Sizes,
    /// `true` or `false`; the flag alone means `true`.
    Switch,
    /// A flag that may be repeated; in the plan file a table or list of this name.
    Table(&'static str),
    /// A flag without a value, which the plan file does not have.
    Flag,
}

/// What is known of an option.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// As flag (after its dashes) and as key. The plan file may have `_` for `-`.
    pub name: &'static str,
    /// What the help has in the value's place; empty for `Form::Flag`.
    pub value_name: &'static str,
    pub form: Form,
    /// What the help has above it.
    pub heading: &'static str,
    /// Values as they may stand in the plan file; empty for `Form::Table` and `Form::Flag`.
    pub example: &'static str,
    pub help: &'static str,
}

macro_rules! options {
    ($(
        $(#[doc = $help:literal])+
        $key:ident $name:literal $value:literal $form:expr, $heading:ident $($example:literal)?;
    )+) => {
        /// One option.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Key { $($(#[doc = $help])+ $key,)+ }

        impl Key {
            /// Every option, in the order in which the plan file's are listed.
            pub const ALL: &[Self] = &[$(Self::$key),+];

            pub fn row(self) -> Row {
                match self {
                    $(Self::$key => Row {
                        name: $name,
                        value_name: $value,
                        form: $form,
                        heading: $heading,
                        example: concat!($($example)?),
                        help: concat!($($help),+).trim_start(),
                    },)+
                }
            }
        }
    };
}

const TUNED: &str = "What is tuned";
const ASKED: &str = "What is asked of it";
const BEST: &str = "What is best";
const LIMITS: &str = "What it may use";
const COURSE: &str = "How it is run";

options! {
    /// The app's folder [default: the current one, or the plan's]
    App "app" "DIR" Form::Folder, TUNED "\"../shop\"";
    /// What the server is told to run, such as config.ru, shop.wsgi:application or server.js
    /// [default: found in the app's folder]
    Entry "entry" "NAME" Form::Text, TUNED "\"shop.wsgi:application\"";
    /// The app server, such as puma or php-fpm [default: the one that the app's own files name,
    /// else the usual one for its language]
    Server "server" "NAME" Form::Text, TUNED "\"puma\"";
    /// What stands in front of the server: nginx, thruster, kamal-proxy or none [default: none,
    /// unless the server needs one]
    Proxy "proxy" "NAME" Form::Text, TUNED "\"nginx\"";
    /// Start any server with this command; {workers}, {threads}, {port} and {socket} are filled in,
    /// here and in --env
    Start "start" "COMMAND" Form::Text, TUNED "\"bin/serve --workers {workers} --port {port}\"";
    /// The signal with which that command is asked to end [default: TERM]
    StopSignal "stop-signal" "NAME" Form::Text, TUNED "\"TERM\"";
    /// Tune an app that runs elsewhere: this command, run by a shell here, has it run with
    /// {workers} and {threads}, which are filled in; it ends once that is done. Needs --restore,
    /// --url, --cpus and --memory, what the app may use there
    Apply "apply" "COMMAND" Form::Text, TUNED "\"ssh app1 sudo shop-run {workers} {threads}\"";
    /// The command that puts such an app back in the end, whatever was applied
    Restore "restore" "COMMAND" Form::Text, TUNED "\"ssh app1 sudo shop-run 2 5\"";
    /// Where such an app answers, such as http://app1:3000
    Url "url" "URL" Form::Text, TUNED "\"http://app1:3000\"";
    /// A command that succeeds once such an app runs with what was applied, asked again and again
    /// [default: the one of --apply has ended, and --ready answers]
    ReadyCommand "ready-command" "COMMAND" Form::Text, TUNED "\"ssh app1 shop-is-up\"";
    /// A command that gives a shell where such an app runs, such as 'ssh app1 sh': what the app
    /// uses is read there once a second [default: it is not seen]
    Observe "observe" "COMMAND" Form::Text, TUNED "\"ssh app1 sh\"";
    /// The host that sends the load to such an app, such as ssh://deploy@load1: the program is
    /// copied there by ssh (your keys and its configuration), and removed afterwards
    From "from" "ssh://HOST" Form::Text, TUNED "\"ssh://load1\"";
    /// What such an app runs with today, workers x threads [default: the least of what is tried]
    Today "today" "WxT" Form::Text, TUNED "\"2x5\"";
    /// The address of --url may be one of the internet's
    AllowPublic "allow-public" "true|false" Form::Switch, TUNED "true";
    /// Tune an app that Kamal deploys, on its first host: Kamal's own commands boot it with each
    /// setting (the variables of --env, else WEB_CONCURRENCY and RAILS_MAX_THREADS) and in the end
    /// as config/deploy.yml says. Needs --url, --cpus and --memory
    Kamal "kamal" "true|false" Form::Switch, TUNED "true";
    /// Kamal's destination, whose configuration is read too
    KamalDestination "kamal-destination" "NAME" Form::Text, TUNED "\"staging\"";
    /// Tune a service of AWS ECS where it runs, with one task: AWS's own command, which has to be
    /// there, gives it a revision with the variables of --env, else WEB_CONCURRENCY and
    /// RAILS_MAX_THREADS, and in the end what it was. Needs --url
    Ecs "ecs" "CLUSTER/SERVICE" Form::Text, TUNED "\"prod/shop\"";
    /// A Deployment of a Kubernetes cluster to tune where it runs: its variables are changed for
    /// the time, and put back; those of --env, {workers} and {threads} filled in, else
    /// WEB_CONCURRENCY and RAILS_MAX_THREADS
    Deployment "deployment" "NAME" Form::Text, TUNED "\"shop\"";
    /// An image of the app, tuned in a pod of the cluster that is made for it with --cpus and
    /// --memory, and removed in the end
    Image "image" "IMAGE" Form::Text, TUNED "\"registry.internal/shop:1\"";
    /// Whether nodes pull the app's image: Always, IfNotPresent or Never [default: as the cluster
    /// has it]
    ImagePullPolicy "image-pull-policy" "POLICY" Form::Text, TUNED "\"IfNotPresent\"";
    /// The port on which the image's app answers, which it is also told as PORT
    Port "port" "PORT" Form::Number, TUNED "3000";
    /// Into how many pods the image's app is cut, such as 1,2,4, or 1..8 for those that give each
    /// whole cores: --cpus, --memory and --workers are those of all pods together, of which each
    /// gets an even share [default: 1]
    Pods "pods" "RANGE" Form::Counts, TUNED "\"1..4\" or [1, 2, 4]";
    /// How many cores each of these pods has, such as 1,2,4: by that --cpus is divided into pods,
    /// in place of --pods, or into those numbers of them
    CpusPerPod "cpus-per-pod" "SIZES" Form::Sizes, TUNED "\"1,2,4\" or [0.5, 1]";
    /// A file (YAML or JSON) with a Deployment, a StatefulSet, a Pod or the spec of a pod that the
    /// image's pods are to be like: variables from Secrets, volumes, users, nodes, annotations
    PodTemplate "pod-template" "FILE" Form::File, TUNED "\"shop.yaml\"";
    /// Which container of the Deployment or the template runs the app [default: the only one]
    Container "container" "NAME" Form::Text, TUNED "\"app\"";
    /// The Service that leads to its pods [default: the one that does]
    Service "service" "NAME" Form::Text, TUNED "\"shop\"";
    /// A variable for the app, or its name alone for the value that sweetspot itself has; the value
    /// is never stored or shown; repeatable
    Env "env" "NAME[=VALUE]" Form::Table("env"), TUNED;
    /// Try a variable (in capitals) or a setting of the server's once workers and threads are
    /// chosen, each value after a comma beside what is set today, or ruby: a ready-made set; shown
    /// and stored; repeatable
    Knob "knob" "NAME=VALUES" Form::Table("knob"), TUNED;
    /// Worker processes to consider, such as 1..4 or 1,2,4 [default: 1 to twice the
    /// cores; to eight times where workers have one thread]
    Workers "workers" "RANGE" Form::Counts, TUNED "\"1..4\" or [1, 2, 4]";
    /// Threads in each worker to consider, where the server has them [default: 1,2,3,5,8,16]
    Threads "threads" "RANGE" Form::Counts, TUNED "\"1..8\" or [1, 2, 4, 8]";
    /// A request of the mix, such as 'GET /' or 'POST /orders weight=3 slo=p95<2s', which is then
    /// judged by its own goal; repeatable [default: GET /]
    Target "target" "TARGET" Form::Table("target"), ASKED;
    /// A file with more of them, one a line; # begins a comment
    Targets "targets" "FILE" Form::File, ASKED "\"targets.txt\"";
    /// A header for every request, or @FILE with one a line; values are never stored or shown;
    /// repeatable
    Header "header" "NAME: VALUE" Form::Table("headers"), ASKED;
    /// The latency goal, such as 'p95<200ms,errors<1%', of all targets without one of their own
    /// [default: p95 < 10 x unloaded p95, from 50 to 200 ms but at least 3 x; errors < 0.1 %]
    Slo "slo" "GOAL" Form::Text, ASKED "\"p95<200ms,errors<1%\"";
    /// What is looked for within the latency goal: the highest capacity; the least memory or the
    /// lowest latency for --rate; the lowest cost [default: capacity; cost with a price, else
    /// memory with a rate]
    Goal "goal" "capacity|memory|latency|cost" Form::Text, BEST "\"memory\"";
    /// The rate to be served, such as 120/s
    Rate "rate" "RATE" Form::Number, BEST "\"120/s\"";
    /// What a core costs an hour, such as 0.04 [default: 0]
    PricePerCoreHour "price-per-core-hour" "PRICE" Form::Price, BEST "0.04";
    /// What a GiB of memory costs an hour, such as 0.005 [default: 0]
    PricePerGibHour "price-per-gib-hour" "PRICE" Form::Price, BEST "0.005";
    /// Cores for the app server, such as 2 or 1.5 [default: all]
    Cpus "cpus" "CORES" Form::Number, LIMITS "2";
    /// Memory for the app server, such as 512MiB or 4GiB [default: all]
    Memory "memory" "BYTES" Form::Text, LIMITS "\"4GiB\"";
    /// How arrivals are spaced: poisson, as independent users arrive, or uniform
    /// [default: poisson]
    Arrivals "arrivals" "KIND" Form::Text, ASKED "\"poisson\"";
    /// A fresh connection for every request, as nginx in front does by default to 1.29.6, or
    /// keep-alive [default: as what stands in front by the app's files, else fresh]
    Connection "connection" "MODE" Form::Text, ASKED "\"fresh\"";
    /// When a request is given up, counted from when it was due
    /// [default: 10s, or twice the goal's limit when that is more]
    Timeout "timeout" "DURATION" Form::Text, ASKED "\"10s\"";
    /// Time for everything, from 20s to 24h [default: 8m]
    Budget "budget" "DURATION" Form::Text, LIMITS "\"10m\"";
    /// About a minute: the answer is less sure, and says by how much; the same as --budget 1m
    Quick "quick" "" Form::Flag, LIMITS;
    /// Run what is recommended at its day-to-day rate for this long at the end, besides the budget,
    /// and tell whether memory, latency and workers last; from 2m to 24h [default: not at all]
    Soak "soak" "DURATION" Form::Text, LIMITS "\"30m\"";
    /// End as soon as the capacity is known this well, such as 3% either way, and with exit code 4
    /// when the budget does not suffice for it [default: as the budget allows, 3% at best]
    Precision "precision" "SHARE" Form::Text, LIMITS "\"3%\"";
    /// Where trials run: local, on this machine, or kubernetes, on pods of a Deployment [default:
    /// local, kubernetes with --deployment]
    Place "place" "PLACE" Form::Text, COURSE "\"local\" or \"kubernetes\"";
    /// The namespace of the Deployment [default: the context's]
    Namespace "namespace" "NAME" Form::Text, COURSE "\"web\"";
    /// The context of the kubeconfig that leads to its cluster [default: its current one]
    Context "context" "NAME" Form::Text, COURSE "\"staging\"";
    /// An image of sweetspot for the pods that send the load to a Deployment
    GeneratorImage "generator-image" "IMAGE" Form::Text, COURSE "\"registry.internal/sweetspot:1\"";
    /// Whether nodes pull it: Always, IfNotPresent or Never [default: as the cluster has it]
    GeneratorImagePullPolicy "generator-image-pull-policy" "POLICY" Form::Text, COURSE
        "\"IfNotPresent\"";
    /// Settings of the image that are measured at the same time, each on a node of its own with
    /// generators of its own; nodes are to be of one kind [default: 1]
    Parallel "parallel" "N" Form::Number, COURSE "2";
    /// Pods that send the load together [default: 1]
    Generators "generators" "N" Form::Number, COURSE "2";
    /// Cores of each of these pods, such as 2 or 0.5 [default: 1]
    GeneratorCpus "generator-cpus" "CORES" Form::Number, COURSE "1.5";
    /// Look into the app from inside too: the CPU, the garbage collection and the waits of its
    /// requests; for Ruby's servers [default: false]
    Probe "probe" "true|false" Form::Switch, COURSE "true";
    /// Path that answers 2xx once the app serves [default: the first GET target]
    Ready "ready" "PATH" Form::Text, TUNED "\"/up\"";
    /// How long the server may take from its start to its first answer, from 1s to 30m [default:
    /// 60s; pods: 5m; an app that runs elsewhere has 10m at least, to be changed and to answer]
    BootTimeout "boot-timeout" "DURATION" Form::Text, TUNED "\"3m\"";
    /// Whom the app and its server run as, where sweetspot itself is root [default: the owner of
    /// the app's folder, else who called sudo]
    User "user" "NAME" Form::Text, TUNED "\"deploy\"";
    /// Most database connections that may be open at once [default: no limit]
    DbConnections "db-connections" "N" Form::Number, LIMITS "20";
    /// Seed of everything random, so that a run can be repeated [default: 1]
    Seed "seed" "N" Form::Number, COURSE "1";
    /// Where results are kept [default: .sweetspot/sweetspot.db]
    Store "store" "FILE" Form::File, COURSE "\"results.db\"";
    /// Begin anew, also when an earlier session of the same plan was cut off
    FreshSession "fresh-session" "" Form::Flag, COURSE;
    /// Answer every question with yes, such as whether an app that runs one thread may run more
    Yes "yes" "" Form::Flag, COURSE;
    /// Print the plan, with where every value came from, and of an app that runs elsewhere what
    /// will be done to it, and end
    DryRun "dry-run" "" Form::Flag, COURSE;
}

impl Key {
    /// As flag, after its dashes.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// As key of the plan file, where it is one.
    pub fn in_file(self) -> Option<&'static str> {
        match self.row().form {
            Form::Flag => None,
            Form::Table(name) => Some(name),
            _ => Some(self.name()),
        }
    }
}

/// What was typed, unchecked. No `Debug`: values of headers and variables may be secret.
#[derive(Clone, Default)]
pub struct Typed {
    /// A plan file, or a folder with one (or only with an app).
    pub plan: Option<PathBuf>,
    /// One value each, but for `Form::Table` in the order typed; `true` for a `Form::Flag`.
    pub texts: BTreeMap<Key, Vec<String>>,
    /// Of `Form::Folder` and `Form::File`, as they were typed.
    pub paths: BTreeMap<Key, PathBuf>,
}

impl Typed {
    /// Gives a value, beside the earlier ones of a `Form::Table` and in place of any other.
    pub fn set(&mut self, key: Key, value: impl Into<String>) {
        let values = self.texts.entry(key).or_default();
        if !matches!(key.row().form, Form::Table(_)) {
            values.clear();
        }
        values.push(value.into());
    }

    /// Gives a value besides.
    pub fn with(mut self, key: Key, value: impl Into<String>) -> Self {
        self.set(key, value);
        self
    }

    /// Gives a path besides.
    pub fn with_path(mut self, key: Key, path: impl Into<PathBuf>) -> Self {
        self.paths.insert(key, path.into());
        self
    }

    /// Gives these values, in their order, besides.
    pub fn with_all<T: Into<String>>(self, key: Key, values: impl IntoIterator<Item = T>) -> Self {
        values.into_iter().fold(self, |typed, value| typed.with(key, value))
    }

    /// The values in the order typed; empty where there is none.
    pub fn all(&self, key: Key) -> &[String] {
        self.texts.get(&key).map_or(&[], Vec::as_slice)
    }

    /// Was it typed?
    pub fn has(&self, key: Key) -> bool {
        self.texts.contains_key(&key) || self.paths.contains_key(&key)
    }
}
