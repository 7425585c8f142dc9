//! What a simulated server and its workers have used.

/// What one worker has used since the simulation began.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct WorkerUsage {
    pub cpu_s: f64,
    /// Time its threads were runnable but waited for a core.
    pub run_delay_s: f64,
    /// Times a thread gave up its core to wait.
    pub voluntary_switches: u64,
    /// Times the lock's timer took it away.
    pub involuntary_switches: u64,
    /// Requests it has answered.
    pub served: u64,
    /// Threads that hold a request now.
    pub busy: u32,
    /// Threads that are running or runnable now.
    pub runnable: u32,
}

/// What the server has used since the simulation began, and how full it is now.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Usage {
    /// By worker index.
    pub workers: Vec<WorkerUsage>,
    /// Connections in the listen queue now.
    pub backlog: u32,
    /// Requests due and not ended now.
    pub in_flight: u64,
    /// Integral of the number in flight over time, in request seconds: its difference over an
    /// interval, divided by the interval, is the mean in flight.
    pub in_flight_area_s: f64,
}
