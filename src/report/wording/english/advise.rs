//! What is advised from watching, in English.

use crate::report::Language;
use crate::report::figures::{bytes, cores, latency, number, percent, rate, span};
use crate::terms::{AdviseNote, AdviseRefusal};

pub fn refusal(refusal: &AdviseRefusal) -> String {
    match refusal {
        AdviseRefusal::RequestsTooFew { requests, needed } => format!(
            "not enough seen: {requests} requests, and as they differ it takes {needed} to know \
             the mean one; watch for longer, or at a busier time"
        ),
        AdviseRefusal::CpuNotExplained { cpu_s, app_s } => format!(
            "the server takes {} of CPU for a request that the app has for {}: other work runs in \
             its processes (jobs, for example), or not all requests were told",
            latency(*cpu_s),
            latency(*app_s)
        ),
        AdviseRefusal::AlreadyFull { rate_rps } => format!(
            "at {} this setting is expected to be busy all the time, and of a full server nothing \
             says what a request needs; watch at a quieter time",
            rate(*rate_rps)
        ),
        AdviseRefusal::NothingWithinGoal => {
            "not even one request alone is within the goal; give a --slo that can be met".into()
        }
        AdviseRefusal::NothingFits { needed_bytes, limit_bytes } => format!(
            "even the smallest setting that is within the goal needs about {}, and of {} a part \
             has to stay free: give the server more memory, or say with --memory how much there is",
            bytes(*needed_bytes),
            bytes(*limit_bytes)
        ),
    }
}

pub fn note(note: &AdviseNote) -> String {
    match note {
        AdviseNote::LockWaitInferred => {
            "nothing tells how long requests wait for the interpreter's lock (the gem gvltools \
             would, from Ruby 3.2 on): the model says what of the rest is a wait for others"
                .into()
        }
        AdviseNote::TrafficFarBelow { capacity_ratio } => format!(
            "the traffic was {} of what the current setting is expected to hold: what slows down \
             with more (a database, a pool) was not to be seen",
            percent(*capacity_ratio)
        ),
        AdviseNote::QueueTimeNotSeen => {
            "how long requests wait before the app was not to be seen: nothing in front sets \
             X-Request-Start"
                .into()
        }
        AdviseNote::ThreadsSeen { threads } => format!(
            "at most {threads} threads that answer requests were seen in a worker; where its \
             settings allow more, say so with --threads"
        ),
        AdviseNote::OneThreadConsidered => {
            "it runs one thread a worker, and whether more are safe is not known: only one was \
             considered (--threads 1 considers more)"
                .into()
        }
        AdviseNote::SlowerWhenBusy { ratio, expected_ratio } => slower(*ratio, *expected_ratio),
        AdviseNote::OthersUseCores { cores } => format!(
            "other processes of this machine used {} cores; the figures are of a server that has \
             all of its own",
            number(*cores)
        ),
        AdviseNote::MemoryOfOneSetting => {
            "memory of other numbers of workers follows from that of one setting".into()
        }
        AdviseNote::OnlyAppCpu => {
            "CPU outside the app's own call (the server's, garbage collection of other threads) is \
             not in the figures"
                .into()
        }
        AdviseNote::NotWatched { what } => Language::English.say(what),
        AdviseNote::MemoryNotSeen => {
            "the server's memory was not seen, so that no setting is ruled out by it".into()
        }
        AdviseNote::SettingChanged { workers, threads, time_ratio } => {
            changed(*workers, *threads, *time_ratio)
        }
        AdviseNote::ServerEnded { after_s } => {
            format!("the server ended after {}: the figures are of that time", span(*after_s))
        }
        AdviseNote::FewerCoresThere { asked_cores, usable_cores } => {
            capped("--cpus", &cores(*asked_cores), &cores(*usable_cores))
        }
        AdviseNote::LessMemoryThere { asked_bytes, usable_bytes } => {
            capped("--memory", &bytes(*asked_bytes), &bytes(*usable_bytes))
        }
        AdviseNote::RecordedInBatches => RECORDED_IN_BATCHES.into(),
    }
}

const RECORDED_IN_BATCHES: &str = "perfm says when it wrote down a batch of requests, and not when \
     each one ended: whether they slow down when there are more of them was not looked at, and the \
     busiest time is the mean of so long that the batches do not count";

fn slower(ratio: f64, expected_ratio: f64) -> String {
    format!(
        "in the busiest tenth of the time requests took {} times as long as in the quietest, \
         where {} was expected: they wait for each other elsewhere (a database, a pool), and more \
         of them at once hold less than is said here; more threads in all are advised only where \
         even the low end of what they are expected to hold is more than what is expected of the \
         present setting",
        number(ratio),
        number(expected_ratio)
    )
}

fn changed(workers: u16, threads: Option<u16>, time_ratio: f64) -> String {
    let threads = threads.map_or_else(String::new, |threads| format!(" x {threads}"));
    format!(
        "the setting changed meanwhile: for {} of the time it was another, most often \
         {workers}{threads}, and the figures are of all of it; watch once more while it stays as \
         it is",
        percent(time_ratio)
    )
}

fn capped(flag: &str, asked: &str, usable: &str) -> String {
    format!("{flag} {asked} is more than the server may use here: {usable} is what counts")
}
