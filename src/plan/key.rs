//! The settings that can be given as a flag and in the plan file, under the same name.

/// One setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    App,
    Entry,
    Server,
    Proxy,
    Start,
    StopSignal,
    Workers,
    Threads,
    Targets,
    Slo,
    Goal,
    Rate,
    PricePerCoreHour,
    PricePerGibHour,
    Cpus,
    Memory,
    Arrivals,
    Connection,
    Timeout,
    Budget,
    Precision,
    Place,
    Probe,
    Ready,
    DbConnections,
    Seed,
    Store,
}

/// How a setting is written in TOML.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `"text"`.
    Text,
    /// `2`, `1.5` or `"2"`.
    Number,
    /// `"1..4"`, `[1, 2, 4]` or `2`.
    Counts,
    /// `true` or `false`.
    Switch,
}

impl Key {
    /// Every setting, in the order in which they are explained.
    pub const ALL: [Self; 27] = [
        Self::App,
        Self::Entry,
        Self::Server,
        Self::Proxy,
        Self::Start,
        Self::StopSignal,
        Self::Workers,
        Self::Threads,
        Self::Targets,
        Self::Slo,
        Self::Goal,
        Self::Rate,
        Self::PricePerCoreHour,
        Self::PricePerGibHour,
        Self::Cpus,
        Self::Memory,
        Self::Arrivals,
        Self::Connection,
        Self::Timeout,
        Self::Budget,
        Self::Precision,
        Self::Place,
        Self::Probe,
        Self::Ready,
        Self::DbConnections,
        Self::Seed,
        Self::Store,
    ];

    /// As flag (after its dashes) and as key. The plan file may have `_` for `-`.
    pub fn name(self) -> &'static str {
        match self {
            Self::App => "app",
            Self::Entry => "entry",
            Self::Server => "server",
            Self::Proxy => "proxy",
            Self::Start => "start",
            Self::StopSignal => "stop-signal",
            Self::Workers => "workers",
            Self::Threads => "threads",
            Self::Targets => "targets",
            Self::Slo => "slo",
            Self::Goal => "goal",
            Self::Rate => "rate",
            Self::PricePerCoreHour => "price-per-core-hour",
            Self::PricePerGibHour => "price-per-gib-hour",
            Self::Cpus => "cpus",
            Self::Memory => "memory",
            Self::Arrivals => "arrivals",
            Self::Connection => "connection",
            Self::Timeout => "timeout",
            Self::Budget => "budget",
            Self::Precision => "precision",
            Self::Place => "place",
            Self::Probe => "probe",
            Self::Ready => "ready",
            Self::DbConnections => "db-connections",
            Self::Seed => "seed",
            Self::Store => "store",
        }
    }

    /// How it is written in TOML.
    pub fn form(self) -> Form {
        match self {
            Self::Workers | Self::Threads => Form::Counts,
            Self::Cpus | Self::DbConnections | Self::Seed => Form::Number,
            Self::Rate | Self::PricePerCoreHour | Self::PricePerGibHour => Form::Number,
            Self::Probe => Form::Switch,
            _ => Form::Text,
        }
    }

    /// A value as it may stand in the plan file.
    pub fn example(self) -> &'static str {
        match self {
            Self::App => "\"../shop\"",
            Self::Entry => "\"shop.wsgi:application\"",
            Self::Server => "\"puma\"",
            Self::Proxy => "\"nginx\"",
            Self::Start => "\"bin/serve --workers {workers} --port {port}\"",
            Self::StopSignal => "\"TERM\"",
            Self::Workers => "\"1..4\" or [1, 2, 4]",
            Self::Threads => "\"1..8\" or [1, 2, 4, 8]",
            Self::Targets => "\"targets.txt\"",
            Self::Slo => "\"p95<200ms,errors<1%\"",
            Self::Goal => "\"memory\"",
            Self::Rate => "\"120/s\"",
            Self::PricePerCoreHour => "0.04",
            Self::PricePerGibHour => "0.005",
            Self::Cpus => "2",
            Self::Memory => "\"4GiB\"",
            Self::Arrivals => "\"poisson\"",
            Self::Connection => "\"fresh\"",
            Self::Timeout => "\"10s\"",
            Self::Budget => "\"10m\"",
            Self::Precision => "\"3%\"",
            Self::Place => "\"local\"",
            Self::Probe => "true",
            Self::Ready => "\"/up\"",
            Self::DbConnections => "20",
            Self::Seed => "1",
            Self::Store => "\"results.db\"",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_is_listed_once() {
        // The discriminants count up from 0, so the last one tells how many there are.
        assert_eq!(Key::ALL.len(), Key::Store as usize + 1);
        assert!(Key::ALL.windows(2).all(|pair| pair[0] < pair[1]));
    }
}
