//! The apps: what `bench/holds/app` can be, how large its requests are, and what each needs beside
//! it.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use sweetspot::plan::{Key, Typed};
use sweetspot::terms::StopSignal;

use crate::common::tuned::Tuned;
use crate::common::{Result, checkout, options, site};

/// One of the kinds that the Rack app in `bench/holds/app` can be.
pub struct App {
    /// As `APPS` spells it.
    pub name: &'static str,
    pub words: &'static str,
    /// Typed as they are.
    targets: &'static [&'static str],
    service: Service,
}

/// What the app waits for.
#[derive(Clone, Copy)]
enum Service {
    /// It sleeps.
    Nothing,
    /// Each request takes as long as if it were alone.
    Steady,
    /// The more requests at once, the longer each takes.
    Thrashing,
}

pub const APPS: [App; 11] = [
    app("plain", "6 ms of computing, 24 ms of waiting"),
    app("tails", "lognormal waits, squared coefficient of variation 8"),
    app("mixture", "3 % of the requests take ten times as long"),
    App {
        targets: &["GET / weight=9", "GET /report"],
        ..app("endpoint", "one page in ten takes about five times as long")
    },
    app("errors", "0.12 % of the requests fail at any rate"),
    app("lock", "8 ms of each request one at a time in a process"),
    App {
        service: Service::Steady,
        ..app("pool", "24 ms on one of three connections of a process")
    },
    App {
        service: Service::Thrashing,
        ..app("thrashing", "a shared service that slows down the more it has at once")
    },
    app("collection", "major garbage collections over half a million objects"),
    app("cache", "the first request of a process for each of 2,000 keys is slow"),
    app("cold", "a young process computes up to twice as long"),
];

const fn app(name: &'static str, words: &'static str) -> App {
    App { name, words, targets: &["GET /"], service: Service::Nothing }
}

/// By how much requests compute and wait more than the app's words say.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    pub cpu: f64,
    pub wait: f64,
}

impl Scale {
    pub const AS_IT_IS: Self = Self { cpu: 1.0, wait: 1.0 };

    /// What `SCALED`, a seed, makes of an app: each from 0.4 to 2.5, so that nothing was tuned on
    /// it.
    pub fn drawn(app: &App, seed: Option<u64>) -> Self {
        let Some(seed) = seed else { return Self::AS_IT_IS };
        let number = APPS.iter().position(|it| it.name == app.name).unwrap_or_default();
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed.wrapping_mul(100) + number as u64);
        let mut factor = || 2.5_f64.powf(random.random_range(-1.0..1.0));
        Self { cpu: factor(), wait: factor() }
    }
}

/// What `APPS` names; where neither it nor the default names any, all.
pub fn wanted(default: &str) -> Result<Vec<&'static App>> {
    let names = options::names("APPS", default, &APPS.each_ref().map(|app| app.name))?;
    let is_wanted = |app: &&App| names.is_empty() || names.iter().any(|name| name == app.name);
    Ok(APPS.iter().filter(is_wanted).collect())
}

impl App {
    /// Starts what it needs, and plans it as it would be typed.
    pub fn prepare(
        &self,
        scale: Scale,
        slo: &str,
        budget: &str,
        stop: &StopSignal,
    ) -> Result<Tuned> {
        let folder = checkout("bench/holds/app");
        let mut services = site::services(stop)?;
        match self.service {
            Service::Nothing => {}
            Service::Steady => site::start_slow_service(&mut services)?,
            Service::Thrashing => services.start_external("ruby backend.rb", &folder)?,
        }
        let typed = Typed::default()
            .with_path(Key::App, folder)
            .with_all(Key::Target, self.targets.iter().copied())
            .with(Key::Slo, slo)
            .with(Key::Workers, "1..4")
            .with(Key::Threads, "1,2,4,8")
            .with(Key::Budget, budget)
            .with_all(
                Key::Env,
                [
                    format!("KIND={}", self.name),
                    format!("CPU_SCALE={:.3}", scale.cpu),
                    format!("WAIT_SCALE={:.3}", scale.wait),
                ],
            );
        Tuned::prepare(typed, services, stop)
    }
}
