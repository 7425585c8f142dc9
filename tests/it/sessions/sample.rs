//! A whole session as events, made by hand after what real ones look like: every kind of event, and
//! values from outside that try to be markup.

use std::collections::BTreeMap;
use std::time::Duration;

use sweetspot::report::Stored;
use sweetspot::terms::*;

/// An app whose name would be markup, a colour, or the end of a table cell if it were obeyed.
pub const APP: &str = "/srv/shop | `beta` <b>🛒</b>\u{1b}[31m\u{202e}";

/// Where the sample says it is stored.
pub fn stored() -> Stored {
    Stored {
        session: 3,
        store: ".sweetspot/sweetspot.db".to_string(),
        started_at: "2026-11-20T18:46:44Z".to_string(),
    }
}

/// How many of a trial's requests were slower than the goal.
fn slower(violations: u64, certainty: Certainty) -> Vec<GoalCount> {
    let count = TermCount {
        term: SloTerm::Latency { quantile_ratio: 0.95, limit_s: 0.2 },
        violations,
        requests: 4920,
        counts_failures: false,
        effective_requests: None,
        certainty,
    };
    vec![GoalCount { scope: None, terms: vec![count] }]
}

pub fn configuration(workers: u16, threads: u16) -> Configuration {
    Configuration::new(workers, threads).unwrap()
}

fn open(rate: f64) -> Offered {
    Offered::Open { rate: Rate::per_second(rate).unwrap(), arrivals: Arrivals::Poisson }
}

fn closed(clients: u32) -> Offered {
    Offered::Closed { clients, think: Duration::ZERO }
}

pub fn event(at_s: f64, kind: EventKind) -> Event {
    Event { at_s, kind }
}

/// What a trial shows this long after its beginning.
pub fn second(at_s: u64) -> LiveSecond {
    LiveSecond {
        at: Duration::from_secs(at_s),
        phase: Phase::Measure,
        due: 260,
        sent: 260,
        replies: 257,
        errors: 0,
        in_flight: 9,
        in_flight_mean: 8.4,
        p95: None,
        send_lag_p99: None,
    }
}

pub fn machine() -> Machine {
    Machine {
        cpu_model: "AMD EPYC 7763 64-Core Processor".to_string(),
        cores: Cores::new(2.0).unwrap(),
        memory_bytes: Bytes(4 << 30),
        kernel: "6.1.0-18-amd64".to_string(),
    }
}

/// The first event of the sample.
pub fn started() -> Event {
    let lines = [
        ("app", APP, "this folder"),
        ("server", "puma 5.6.5 on ruby 3.1.2", "Gemfile.lock"),
        ("today", "1 worker x 5 threads", "config/puma.rb"),
        ("workers", "1, 2, 3, 4", "default"),
        ("threads", "1, 2, 3, 5, 8, 16", "default"),
        ("targets", "GET /products (weight 3), GET /cart?…", "flag --target"),
        ("goal", "p95<200ms,errors<0.1%", "sweetspot.toml line 4"),
        ("cores", "2", "default: all this program may use"),
        ("memory", "4.0 GiB", "default: all this program may use"),
        ("arrivals", "poisson, a fresh connection for each request", "default"),
        ("budget", "10 min", "default"),
    ];
    event(
        0.0,
        EventKind::SessionStarted {
            app: APP.to_string(),
            server: "puma 5.6.5".to_string(),
            has_threads: true,
            slo: "p95<200ms,errors<0.1%".parse().unwrap(),
            machine: machine(),
            plan: lines
                .map(|(what, value, source)| {
                    PlanLine::Verbatim(what.into(), value.into(), source.into())
                })
                .to_vec(),
            budget: Some(Duration::from_secs(600)),
            changes: changes(),
        },
    )
}

/// A variable that helps, and a setting that was not shown to.
fn changes() -> Vec<Change> {
    let one = |text: &str| -> BTreeMap<String, String> {
        text.split_once('=').map(|(a, b)| (a.to_string(), b.to_string())).into_iter().collect()
    };
    let change = |text: &str, env, settings| Change {
        knob: text.split('=').next().unwrap().to_string(),
        name: text.to_string(),
        env,
        settings,
    };
    let [arenas, preload] = ["MALLOC_ARENA_MAX=2", "preload_app=false"];
    vec![
        change(arenas, one(arenas), BTreeMap::new()),
        change(preload, BTreeMap::new(), one(preload)),
    ]
}

fn knobs() -> KnobsReport {
    let result = |change: &Change, verdict, ratio: f64, half: f64, more_s| KnobResult {
        knob: change.knob.clone(),
        change: change.name.clone(),
        verdict,
        capacity_ratio: Some(ratio),
        capacity_ratio_interval: Some([ratio - half, ratio + half]),
        memory_ratio: Some(0.81),
        memory_ratio_interval: Some([0.78, 0.84]),
        blocks: 3,
        more_s,
        at_one_rate: None,
        cpus_ratio: None,
        reason: None,
    };
    let [arenas, preload] = &changes()[..] else { unreachable!() };
    KnobsReport {
        workers: 3,
        threads: 5,
        interval_level: 0.975,
        results: vec![
            result(arenas, KnobVerdict::Helps, 1.09, 0.06, None),
            result(preload, KnobVerdict::Undecided, 1.01, 0.07, Some(420.0)),
        ],
        at_one_rate: None,
        together: None,
        neighbours: vec![KnobCheck {
            changes: vec![arenas.name.clone()],
            workers: 3,
            threads: 8,
            capacity_ratio: 0.94,
            capacity_ratio_interval: [0.89, 0.99],
            memory_ratio: None,
            memory_ratio_interval: None,
            blocks: 2,
        }],
        recommended: vec![arenas.name.clone()],
        gain_ratio: Some(1.09),
        gain_ratio_interval: Some([1.03, 1.15]),
        recommended_threads: 5,
    }
}

/// What one trial of the sample is made from.
#[derive(Clone, Copy)]
pub struct Trial {
    pub id: u32,
    pub purpose: TrialPurpose,
    pub configuration: (u16, u16),
    pub offered: Offered,
    pub verdict: Verdict,
    pub throughput: f64,
    pub p95_ms: f64,
    pub ended_s: f64,
}

impl Trial {
    pub fn summary(self) -> TrialSummary {
        let due = (self.throughput * 12.0).round() as u64;
        let p95 = self.p95_ms / 1e3;
        let scaled = |factor: f64| (p95 * factor * 1e6).round() / 1e6;
        let latency_s = LatencySummary {
            min: scaled(0.08),
            mean: scaled(0.42),
            p50: scaled(0.35),
            p75: scaled(0.55),
            p90: scaled(0.83),
            p95,
            p99: scaled(1.4),
            p999: scaled(1.9),
            max: scaled(2.2),
        };
        let (workers, threads) = self.configuration;
        TrialSummary {
            id: self.id,
            purpose: self.purpose,
            configuration: configuration(workers, threads),
            variant: Variant::AS_IT_IS,
            start: self.id.div_ceil(3),
            offered: self.offered,
            verdict: self.verdict,
            leaning: self.verdict,
            reason: match self.verdict {
                Verdict::Yes => Reason::Counted { goals: slower(12, Certainty::Certain) },
                Verdict::No => Reason::InFlightGrew { growth_per_s: 8.4, first: 12, last: 113 },
                Verdict::Undecided => Reason::NotToldApart {
                    goals: slower(236, Certainty::TooClose),
                    due: 4920,
                    resolution_ratio: 0.06,
                },
            }
            .into(),
            resolution: 0.06,
            edge: None,
            by_latency: None,
            valid: true,
            warm_up: WarmUp { kind: WarmUpKind::Warmed, left_out_s: 3.0 },
            summary: self.load_summary(due, latency_s),
            cpu_s: [("master", 0.02), ("worker", 21.4), ("generator", 1.9)]
                .map(|(role, seconds)| (role.to_string(), seconds))
                .into(),
            workers: (0..workers)
                .map(|index| WorkerShare {
                    index,
                    pid: 4100 + u32::from(index),
                    cpu_cores: (190.0 / f64::from(workers)).round() / 100.0,
                    run_delay_cores: 0.11,
                    memory_bytes: Some(74 << 20),
                })
                .collect(),
            memory_bytes: Some(u64::from(workers) * (74 << 20) + u64::from(threads) * (1 << 20)),
            memory_growth_bytes_s: Some(41_000.5),
            memory_growth_bytes_s_interval: Some([-3_000.5, 85_001.5]),
            inside: None,
            limit: busy_cores(),
            failure: None,
            load_s: 15.4,
            ended_s: self.ended_s,
        }
    }

    fn load_summary(self, due: u64, latency_s: LatencySummary) -> LoadSummary {
        LoadSummary {
            offered_load_rps: self.offered.rate().map(Rate::as_per_second),
            clients: match self.offered {
                Offered::Closed { clients, .. } => Some(clients),
                Offered::Open { .. } => None,
            },
            duration_s: 12.0,
            due,
            sent: due,
            completed: due,
            throughput_rps: self.throughput,
            goodput_rps: self.offered.rate().map(|_| self.throughput * 0.97),
            latency_s,
            exchange_time_s: latency_s,
            send_lag_s: SendLagSummary { p50: 0.000_02, p99: 0.000_3, max: 0.001_1 },
            status: BTreeMap::from([("200".to_string(), due)]),
            errors: ErrorCounts::default(),
            bytes_in: due * 512,
            bytes_out: due * 120,
            windows: vec![Window {
                start_s: 0.0,
                due: due / 12,
                sent: due / 12,
                completed: due / 12,
                errors: 0,
                failed: 0,
                latency_s: WindowLatency {
                    p50: latency_s.p50,
                    p95: latency_s.p95,
                    p99: latency_s.p99,
                    max: latency_s.max,
                },
                in_flight: 7,
            }],
            generator: GeneratorSummary {
                cpu_user_s: 1.2,
                cpu_system_s: 0.7,
                rss_bytes_max: 21 << 20,
            },
            slo: Some(SloSummary {
                met: match self.verdict {
                    Verdict::Yes => Some(true),
                    Verdict::No => Some(false),
                    Verdict::Undecided => None,
                },
                goals: "p95<200ms,errors<0.1%".parse().unwrap(),
                reason: None,
            }),
            valid: true,
            warnings: Vec::new(),
            warm_up_s: 3.0,
            cached: 0,
            via: 0,
            retries: 0,
            route: None,
            goals: Vec::new(),
            fleet: Vec::new(),
            shape: None,
            arrivals: None,
        }
    }
}

/// The trial as it starts and as it ends, with small raw records.
pub fn trial_events(trial: Trial, summary: TrialSummary) -> [Event; 2] {
    let load = load_record(trial.offered);
    let monitor = monitor_record();
    [
        event(
            trial.ended_s - 16.0,
            EventKind::TrialStarted {
                id: trial.id,
                purpose: trial.purpose,
                configuration: summary.configuration,
                variant: summary.variant,
                offered: trial.offered,
                duration: Duration::from_secs(15),
                left: Some(Duration::from_secs_f64(390.0 - trial.ended_s)),
            },
        ),
        event(
            trial.ended_s,
            EventKind::TrialFinished {
                summary: Box::new(summary),
                load: Box::new(load),
                monitor: Box::new(monitor),
            },
        ),
    ]
}

fn load_record(offered: Offered) -> LoadRecord {
    let mut second = LoadSecond { due: 3, sent: 3, replies: 3, ..LoadSecond::default() };
    second.status.insert(200, 3);
    for ms in [12, 13, 38] {
        second.latency.record(Duration::from_millis(ms));
        second.exchange_time.record(Duration::from_millis(ms));
        second.send_lag.record(Duration::from_micros(20));
    }
    LoadRecord {
        run: LoadRun {
            offered,
            warm_up: Duration::from_secs(3),
            duration: Duration::from_secs(15),
            last_reply: Duration::from_millis(15_040),
            is_cut_short: false,
            tls_trouble: None,
            rows_left_out: 0,
            generator: GeneratorUse::default(),
        },
        seconds: vec![second.clone(), second],
    }
}

fn monitor_record() -> MonitorRecord {
    MonitorRecord {
        seconds: vec![MonitorSecond {
            at_s: 0.0,
            length_s: 1.000_123,
            processes: vec![ProcessUse {
                pid: 4100,
                role: Role::Worker,
                index: Some(0),
                name: "puma: cluster worker 0: 4099 [shop]".to_string(),
                cpu_s: 0.95,
                user_s: 0.9,
                system_s: 0.05,
                run_delay_s: 0.11,
                voluntary_switches: 120,
                involuntary_switches: 14,
                threads: 12,
                threads_runnable: 1.7,
                ..ProcessUse::default()
            }],
            host: HostUse { cores_busy: vec![0.97, 0.98], ..HostUse::default() },
            listen_queue: Some(0),
            ..MonitorSecond::default()
        }],
        memory: Vec::new(),
        blind_spots: Vec::new(),
    }
}

/// The trials of the sample, oldest first.
fn trials() -> Vec<Trial> {
    use TrialPurpose::{Confirm, Probe, Saturate, Unloaded};
    use Verdict::{No, Undecided, Yes};
    [
        (Unloaded, (1, 5), closed(1), Undecided, 81.2, 14.1),
        (Saturate, (1, 5), closed(10), Undecided, 284.0, 47.0),
        (Probe, (1, 5), open(260.0), Yes, 259.1, 88.0),
        (Probe, (1, 5), open(285.0), No, 271.3, 912.0),
        (Probe, (3, 5), open(350.0), Yes, 349.0, 61.0),
        (Probe, (3, 5), open(440.0), No, 418.2, 1480.0),
        (Probe, (2, 8), open(400.0), Yes, 398.7, 120.0),
        (Probe, (4, 1), open(300.0), No, 281.0, 1210.0),
        (Probe, (2, 3), open(390.0), Yes, 388.9, 131.0),
        (Probe, (2, 3), open(410.0), Undecided, 407.0, 204.0),
        (Confirm, (3, 5), open(412.0), Yes, 411.2, 152.0),
        (Confirm, (1, 5), open(270.0), Yes, 269.5, 163.0),
    ]
    .into_iter()
    .zip(1..)
    .map(|((purpose, configuration, offered, verdict, throughput, p95_ms), id)| Trial {
        id,
        purpose,
        configuration,
        offered,
        verdict,
        throughput,
        p95_ms,
        ended_s: 12.0 + f64::from(id) * 27.5,
    })
    .collect()
}

pub fn predictions() -> Vec<Prediction> {
    let mut predictions = Vec::new();
    for workers in 1..=4_u16 {
        for threads in [1, 2, 3, 5, 8, 16_u16] {
            let slots = f64::from(workers) * f64::from(threads);
            let capacity =
                420.0 * (1.0 - (-slots / 4.5).exp()) * if workers == 1 { 0.66 } else { 1.0 };
            predictions.push(Prediction {
                workers,
                threads,
                throughput_rps_max: capacity * 1.05,
                capacity_rps: capacity,
                capacity_rps_interval: [capacity * 0.92, capacity * 1.08],
                memory_bytes: Some(u64::from(workers) * (74 << 20)),
                limit: PredictedLimit { kind: LimitKind::Cores },
                ruled_out: (slots > 32.0).then(|| {
                    Obstacle::NeedsDatabaseConnections { needed: slots as u32, limit: 32 }.into()
                }),
            });
        }
    }
    predictions
}

pub fn decision() -> Decision {
    Decision {
        workers: 3,
        threads: 5,
        capacity_rps: 412.4,
        capacity_rps_interval: [401.6, 421.3],
        gain_ratio: Some(1.527),
        gain_ratio_interval: Some([1.461, 1.596]),
        precision: None,
        held: None,
        operating_rps: 288.7,
        soak: None,
        limit: busy_cores(),
        goals: Vec::new(),
        goals_rps: None,
        latency_at_rps: Some(172.0),
        latency_s_p95: Some(0.081),
        equivalent: vec![Equivalent {
            workers: 2,
            threads: 8,
            ratio: 0.991,
            ratio_interval: [0.972, 1.01],
            memory_bytes: Some(301 << 20),
            latency_s_p95: Some(0.093),
        }],
        settings: Settings {
            start: String::new(),
            place: None,
            knobs_env: [("MALLOC_ARENA_MAX".to_string(), "2".to_string())].into(),
            knobs_lines: Vec::new(),
            env: [("RAILS_MAX_THREADS", "5"), ("WEB_CONCURRENCY", "3")]
                .map(|(name, value)| (name.to_string(), value.to_string()))
                .into(),
            config_snippet: "workers ENV.fetch(\"WEB_CONCURRENCY\", 3)\n\
                             threads_count = ENV.fetch(\"RAILS_MAX_THREADS\", 5)\n\
                             threads threads_count, threads_count\n\
                             preload_app!\n"
                .to_string(),
            advice: [
                Advice::from(DatabaseAdvice::PoolPerWorker {
                    configuration: Configuration::new(3, 5).unwrap(),
                    pool: PoolSetting::DatabaseYml { variable: Some("RAILS_MAX_THREADS".into()) },
                }),
                RunningAdvice::CoreCountIgnoresQuota { count: CoreCount::Ruby }.into(),
            ]
            .map(Stated::from)
            .into(),
        },
        memory_bytes: Some(227 << 20),
        database_connections: 15,
    }
}

/// Three settings that no other beats, the second one chosen.
fn objective() -> ObjectiveReport {
    let setting = |(workers, threads), capacity_rps: f64, mib: u64| FrontSetting {
        workers,
        threads,
        chosen: (workers, threads) == (3, 5),
        capacity_rps,
        capacity_rps_interval: [capacity_rps * 0.97, capacity_rps * 1.03],
        confirmed: (workers, threads) != (1, 16),
        memory_bytes: mib << 20,
        latency_s_p95: None,
        cost_per_hour: Some(0.081_37),
        cost_per_million_requests: Some(0.078_29),
    };
    ObjectiveReport {
        goal: ObjectiveKind::Capacity,
        rate_rps: None,
        price_per_core_hour: Some(0.04),
        price_per_gib_hour: Some(0.005),
        held: None,
        front: vec![
            setting((1, 5), 270.1, 79),
            setting((1, 16), 281.0, 90),
            setting((3, 5), 412.4, 227),
        ],
    }
}

fn result() -> TuneResult {
    TuneResult {
        current: Some(CurrentSetting {
            workers: 1,
            threads: 5,
            capacity_rps: Some(270.1),
            capacity_rps_interval: Some([261.2, 278.8]),
        }),
        decision: Some(decision()),
        predicted: predictions(),
        memory: Some(MemoryParts {
            shared_bytes: 61 << 20,
            shared_bytes_interval: Some([52 << 20, 70 << 20]),
            worker_bytes: 72 << 20,
            worker_bytes_interval: Some([66 << 20, 78 << 20]),
            thread_bytes: 1 << 20,
            thread_bytes_interval: None,
        }),
        objective: Some(objective()),
        knobs: Some(knobs()),
        elapsed_s: 371.8,
        load_s: 184.8,
        machine: machine(),
        warnings: vec![MachineDoubt::GeneratorSharesCores { cores: 2.0 }.into()],
        notes: vec![
            Note::Precision(PrecisionNote::Improvable {
                reached_ratio: 0.05,
                asked_ratio: 0.03,
                more_s: 240.0,
            })
            .into(),
        ],
    }
}

fn ended(at_s: f64, result: TuneResult) -> Event {
    let (state, result) = (SessionState::Done, Some(Box::new(result)));
    event(at_s, EventKind::SessionEnded { state, result, error: None })
}

fn boot_failure() -> BootFailure {
    BootFailure {
        kind: BootFailureKind::Database,
        // As a version before there were facts has stored it.
        message: Stated::Verbatim("its database cannot be reached or does not exist".into()),
        advice: BootAdvice::Start(StartAdvice::StartDatabase).into(),
        last_lines: vec![
            "[4099] * Booting `shop` | workers: 4".to_string(),
            "\u{1b}[31mActiveRecord::ConnectionNotEstablished\u{1b}[0m: too many <clients> 🔥"
                .to_string(),
            "```".to_string(),
        ],
    }
}

/// A session that ended with a decision.
pub fn events() -> Vec<Event> {
    let mut events = unfinished_events();
    events.push(ended(371.8, result()));
    events
}

/// The session of [`events`], killed before it could end.
pub fn unfinished_events() -> Vec<Event> {
    let not_enforced = MachineDoubt::MemoryNotEnforced {
        limit_bytes: 4 << 30,
        why: LimitRefusal::GroupNotWritable { file: "/sys/fs/cgroup".into() },
    };
    let starting = EventKind::ServerStarting {
        configuration: configuration(1, 5),
        variant: Variant::AS_IT_IS,
        start: 1,
    };
    let mut events =
        vec![started(), event(0.4, EventKind::Warned(not_enforced.into())), event(0.5, starting)];
    for trial in trials() {
        if trial.id == 8 {
            let configuration = configuration(4, 16);
            let (variant, start, failure) = (Variant::AS_IT_IS, 3, boot_failure());
            let starting = EventKind::ServerStarting { configuration, variant, start };
            events.push(event(200.0, starting));
            let failed = EventKind::BootFailed { configuration, variant, failure };
            events.push(event(203.0, failed));
        }
        if trial.id == 3 {
            events.push(event(70.0, EventKind::Predicted(predictions())));
        }
        let mut summary = trial.summary();
        match trial.id {
            7 => {
                summary.valid = false;
                summary.verdict = Verdict::Undecided;
                let late = GeneratorDoubt::SentLate { late: 51, requests: 4920, limit_s: 0.01 };
                summary.reason = Reason::Doubted { doubts: vec![late.into()] }.into();
            }
            8 => {
                summary.failure = Some(TrialFailure::Died {
                    status: ServerEnd::ProcessEnded { how: ProcessEnd::Signal(9) }.into(),
                    last_lines: vec!["[4099] ! Out-of-sync worker list | `oops`".to_string()],
                });
            }
            _ => {}
        }
        events.extend(trial_events(trial, summary));
    }
    events
}

/// A session in which nothing met the goal: one request alone is slower than that.
pub fn hopeless_events() -> Vec<Event> {
    let mut events = vec![started()];
    for mut trial in trials().into_iter().take(4) {
        trial.p95_ms += 300.0;
        if trial.verdict == Verdict::Yes {
            trial.verdict = Verdict::No;
        }
        let summary = trial.summary();
        events.extend(trial_events(trial, summary));
    }
    let result = TuneResult {
        current: Some(CurrentSetting {
            workers: 1,
            threads: 5,
            capacity_rps: None,
            capacity_rps_interval: None,
        }),
        decision: None,
        knobs: None,
        predicted: Vec::new(),
        notes: Vec::new(),
        ..result()
    };
    events.push(ended(130.0, result));
    events
}

/// A session in which no trial at a rate counts: the goal is neither held nor missed.
pub fn untold_events() -> Vec<Event> {
    let mut events = invalid_events();
    let first = events.iter_mut().find_map(|event| match &mut event.kind {
        EventKind::TrialFinished { summary, .. } => Some(summary),
        _ => None,
    });
    first.expect("a session has trials").valid = true;
    events
}

/// A session in which the generator was too slow in every trial.
pub fn invalid_events() -> Vec<Event> {
    let mut events = vec![started()];
    for trial in trials().into_iter().take(3) {
        let mut summary = trial.summary();
        summary.valid = false;
        summary.verdict = Verdict::Undecided;
        let told_before = "the machine's cores were stolen 31 % of the time".to_string();
        summary.reason = Stated::Verbatim(told_before);
        events.extend(trial_events(trial, summary));
    }
    let result = TuneResult {
        current: None,
        decision: None,
        knobs: None,
        objective: None,
        predicted: Vec::new(),
        ..result()
    };
    events.push(ended(100.0, result));
    events
}

fn busy_cores() -> Limit {
    let evidence = ResourceEvidence::CoresBusy {
        cores: 2.0,
        busy_ratio: 0.97,
        server_cores: 1.86,
        generator_cores: 0.08,
    };
    Limit {
        kind: LimitKind::Cores,
        confidence: 0.9,
        evidence: Stated::Fact(evidence.into()),
        advice: Some(LimitAdvice::MoreCoresOrLessCpu { has_threads: true }.into()),
    }
}
