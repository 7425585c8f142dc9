//! The figures that the search was given, all of them, by what they are.
//!
//! Each says its unit where it is not a share, a count or a standard deviation of a logarithm, and
//! where it comes from: a formula, a bench that set it, or judgement, which nothing measured yet
//! contradicts. `make bench-sensitivity` says what halving and doubling one does.

use std::time::Duration;

// Statistical levels and bands: shares and probabilities, 0 to 1.

/// Two capacities, or two p95, this near to each other are as good: less is not noticed, and starts
/// of one setting differ by 2 %. Judgement.
pub(super) const EQUIVALENCE: f64 = 0.03;
/// A setting that needs less memory wins over one that holds more where it holds at least this
/// share as much, with 80 %: what is lost at most is less than starts and days differ by, and three
/// blocks can show it, where equality within 3 % takes dozens. Judgement.
pub(super) const NOT_WORSE: f64 = 0.95;
/// Of the central interval for that: 80 % lie above its lower end.
pub(super) const NOT_WORSE_LEVEL: f64 = 0.6;
/// Less memory than this share of the other's is a saving; a few pages are not. Judgement.
pub(super) const SAVING: f64 = 0.95;
/// A p95 this much above another's, as a share of it, is noticed; two starts, a window each, differ
/// by half of it. Judgement.
pub(super) const LATENCY_NOTICED: f64 = 0.1;
/// Two starts of one setting differ by about as much in memory.
pub(super) const MEMORY_EQUIVALENCE: f64 = 0.01;
/// After every block it is asked anew who is out, so that the interval has to be surer than the one
/// that is printed: at 95 % a look, equals were told apart in 7 of 100 sessions (`make bench-search
/// PARTS=pairs`).
pub(super) const SURELY: f64 = 0.99;
/// Out: the whole interval of its capacity by the best one's lies below this. Judgement.
pub(super) const BEATEN: f64 = 0.99;
/// Out after a single block: its whole interval lies below this. Judgement.
pub(super) const FAR_BEATEN: f64 = 0.9;
/// Likely to be far beaten: its capacity in the race by the best one's. Judgement.
pub(super) const FAR_BEHIND: f64 = 0.8;
/// Likely to be as good: its capacity in the race by the best one's. Judgement.
pub(super) const CLOSE: f64 = 0.96;
/// Plausibly as good as the winner: an interval of this level of the race's ratio reaches 1.
/// Judgement.
pub(super) const PLAUSIBLE: f64 = 0.8;
/// After two probes of a block that were held, or one of the race, and none missed, the next is at
/// this quantile of the belief. Measured: `make bench-zoo`, 360 sessions: in blocks printed rates
/// held 93 to 94 %, lower ends 97 to 98 %; in the race as well 95.6 to 96.4 % and 98.3 to 98.6 %.
pub(super) const BOLD: f64 = 0.8;
/// The rate to be printed is held by the setting with this probability, before it is tried.
/// Measured: `make bench-zoo`; at 95 % another fresh start held 91 % of the rates, at 98 % 93 %.
pub(super) const SURE: f64 = 0.98;
/// It is said that more fail than allowed when the lower bound of this level is above the goal.
/// Judgement: it is asked once a session.
pub(super) const FAILING_LEVEL: f64 = 0.99;
/// It is said that few enough fail when the upper bound of this level is within the goal. As
/// `ALPHA` of verdicts.
pub(super) const SHOWN: f64 = 0.95;
/// A rate is the reason for failures where lower rates would have had as few with no more than this
/// probability: each session asks some thirty times.
pub(super) const BY_CHANCE: f64 = 0.01;
/// None of so many failures that are expected fails to come with a probability of 5 %.
pub(super) const TELLING: f64 = 3.0;
/// Where it is not known whether a rate is why requests fail, this share of it is held next.
/// Judgement.
pub(super) const WITHOUT_ERRORS: f64 = 0.5;
/// Rates below this share of another are lower ones. Judgement.
pub(super) const LOWER: f64 = 0.9;
/// All comparisons of knobs of a kind may be wrong with this probability together.
pub(super) const KNOBS_ERROR: f64 = 0.05;
/// Ending one comparison of knobs before its time may be wrong with this probability.
pub(super) const KNOBS_ERROR_EARLY: f64 = 0.001;
/// Sure that a server changes: the interval of this level leaves out what is too little to matter.
/// Judgement: every session asks.
pub(super) const STEADY_LEVEL: f64 = 0.999;
/// What changes by less than this a minute of a start is not worth a word. Judgement.
pub(super) const CHANGE_A_MINUTE: f64 = 0.03;
/// What changes by less than this over the whole session is not worth a word.
pub(super) const CHANGE_A_SESSION: f64 = 0.10;
/// Replies from which their mean cost is known to some percent.
pub(super) const COST_REPLIES_LEAST: f64 = 100.0;
/// Standard deviations above the mean that one in ten exceeds: the normal distribution's.
pub(super) const ONE_IN_TEN: f64 = 1.2816;
/// What holds so many times as much as the best is worth a note. Judgement.
pub(super) const MUCH_BETTER: f64 = 1.1;
/// Known no better than this, a setting that is a tenth better looks the same.
pub(super) const VAGUE: f64 = 0.10;
/// A measured setting may hold a rate that is so much above its median in the race. Judgement.
pub(super) const SEEMS: f64 = 0.97;
/// An untried one should be expected to hold so much more than the rate. Judgement.
pub(super) const ROOM: f64 = 1.05;
/// One that costs up to so many times as much as the cheapest may turn out to be cheaper.
/// Judgement.
pub(super) const AS_CHEAP: f64 = 1.1;
/// An answer that could not have noticed a fall of this much says nothing. Judgement.
pub(super) const NOTICED: f64 = 0.15;

// What machines do by themselves: standard deviations of logarithms, and what they are worth.

/// Two fresh starts of one configuration differ by about this much on a quiet machine: the part of
/// the spread that no number of probes on one start removes. Measured: `make bench-aa`, 30 starts
/// of four apps each; 0.3 to 1.3 % beyond their windows, 0.5 to 2.3 % with them.
pub const START_SD_LOG: f64 = 0.02;
/// What the probes scatter by follows from their windows; it counts as this many.
pub(super) const PROBES_SD_DEGREES: f64 = 12.0;
/// A machine's speed over some minutes differs by about this much from what it is over the day.
/// Measured: `make bench-aa`, nothing within an hour, 1 to 11 % between days and machines.
pub const DRIFT_SD_LOG: f64 = 0.025;
/// These guesses count as so many measured starts, or comparisons. Judgement: half and twice as
/// many make no difference (`make bench-sensitivity`).
pub const GUESS_DEGREES: f64 = 3.0;
/// Two windows on one server differ by about this much on a quiet machine, which no number of
/// requests removes. Measured: `make bench-aa`, 0.4 to 2.9 %, their requests' chance in it.
pub const NOISE_SD_LOG: f64 = 0.02;
/// The variance of a start's capacity by that of most, above which it says nothing of others.
/// Judgement.
pub(super) const KNOWN_BADLY: f64 = 9.0;
/// Two starts take part in each ratio.
pub(super) const STARTS_IN_A_RATIO: f64 = 2.0;
/// The model has never been better than this on machines it has not seen.
pub(super) const MODEL_ERROR_LEAST: f64 = 0.10;
/// A worker shares at most this much with the others: one more needs half as much again at least.
/// Judgement.
pub(super) const OWN_SHARE_LEAST: f64 = 0.5;

// Beliefs about a capacity: standard deviations of its logarithm, and shares.

/// Before it is probed, a start holds what is known of its setting, give or take this: wide enough
/// that the race, which chose the luckiest, has little say in the figure that is printed.
/// Judgement.
pub(super) const START_PRIOR_SD_LOG: f64 = 0.15;
/// A burst is good to so much: what got through is noise of a few thousand replies, and of the
/// first seconds of a start. Judgement.
pub(super) const BURST_SD_LOG: f64 = 0.04;
/// Out of the race: even saturated it stays so many standard deviations of a burst below the best.
pub(super) const OUT_BY_BURST: f64 = 1.5;
/// Squared coefficient of variation of what a request takes, where it was not measured: that of an
/// exponential distribution.
pub(super) const USUAL_CV2: f64 = 1.0;
/// A burst of which this share fails was refused. Judgement.
pub(super) const REFUSED: f64 = 0.1;
/// A setting that seems no better than the best so far is asked just above it.
pub(super) const ABOVE_BAR: f64 = 1.01;
/// After a burst, where the model expects the goal to allow four fifths or more of what went
/// through. Judgement.
pub(super) const NEAR_SATURATION_SD_LOG: f64 = 0.12;
/// After a burst with too few clients, or where the model expects the goal to allow less than that.
/// Judgement: half and twice as much make no difference (`make bench-sensitivity`).
pub(super) const BELOW_SATURATION_SD_LOG: f64 = 0.5;
/// The race begins anywhere.
pub(super) const RACE_PRIOR_SD_LOG: f64 = 0.35;
/// A change lets as much more arrive as it lets through at most, give or take this: before a start
/// is probed, its burst says where its capacity is. Judgement.
pub(super) const CHANGE_PRIOR_SD_LOG: f64 = 0.08;
/// How far off a user's guess may be. Judgement.
pub(super) const GUESS_SD_LOG: f64 = 0.7;
/// Expected to do about as well: by the best so far. Judgement.
pub(super) const AS_EXPECTED: f64 = 0.9;
/// What is expected of another before the reference's own capacity can wait, by it. Judgement.
pub(super) const FAR_MORE: f64 = 1.15;
/// A server that is offered a little too much goes on answering about as much as it can. One that
/// answers less than this share of what it is offered has collapsed. Judgement.
pub(super) const COLLAPSED: f64 = 0.5;
/// A request that takes this share of the limit alone is late under any load: it hardly ever finds
/// the server idle. Judgement.
pub(super) const NEARLY_LATE: f64 = 0.8;
/// At least this share of what the goal allows is the rate's, however many are slow alone.
pub(super) const RATE_LEAST: f64 = 0.1;
/// What the rate is the reason for is known no better than to this part of its standard error.
pub(super) const BEYOND_LEAST: f64 = 0.5;
/// A logarithm with a standard error above this says nothing of the edge.
pub(super) const EDGE_SD_MOST: f64 = 2.0;
/// An interval whose ends lie further apart, as a ratio, answers nothing.
pub(super) const INTERVAL_WIDEST: f64 = 2.5;
/// With fewer arrivals than this their number is chance.
pub(super) const FEWEST_ARRIVALS: u64 = 30;
/// Some hundred requests: from fewer, no capacity is named. They leave the bursts' word, and that
/// is not about latency.
pub(super) const RESOLUTION_COARSEST: f64 = 0.25;

// Loads: how long, how many requests, how many clients.

/// Before each window the queue gets used to the rate. Near its capacity a server needs seconds to
/// build the queue it will have: what is measured before reads too well. Judgement.
pub const SETTLE: Duration = Duration::from_secs(2);
/// Requests a probe should see, so that it tells some 5 % apart: 2 sqrt(2 / N) of Poisson arrivals.
pub(super) const PROBE_REQUESTS: f64 = 2500.0;
/// Requests that a goal lets be late, in a window at its edge: what share of them is late is known
/// to 9 % then, 1 / sqrt(N), and the rate to 2 %. [`PROBE_REQUESTS`] are as many for a p95.
pub(super) const PROBE_LATE: f64 = 125.0;
/// No window of the race or of a block is shorter, seconds: requests of one second fare alike, and
/// from fewer than ten such blocks it is not seen how much. Measured: `make bench-zoo` with four
/// minutes, 270 sessions: with 4 s printed rates held 88.9 %, with this 91.9 %.
pub(super) const WINDOW_LEAST_S: f64 = 10.0;
/// In a shorter budget than this a window is not shorter than [`LOOK_LEAST_S`]: with ten seconds
/// each there would be no time left for blocks.
pub(super) const LONG_WINDOWS_BUDGET: Duration = Duration::from_secs(240);
/// No window of a knob, a verification or a URL is shorter, seconds: many short looks tell more
/// there. Judgement.
pub(super) const LOOK_LEAST_S: f64 = 4.0;
/// How long is looked at what the others do once a pod was taken away: as long in every session, as
/// under too much load latencies grow with time; about what a cluster needs at the least until
/// another pod serves. Judgement.
pub(super) const LOST_POD_LOOK: Duration = Duration::from_secs(10);
/// No window is longer, seconds: another start tells more. Judgement.
pub(super) const WINDOW_MOST_S: f64 = 20.0;
/// Where so many requests take longer than [`WINDOW_LEAST_S`], a window gets this part of the
/// budget: fewer settings are tried then, not shorter windows. Measured: `make bench-zoo`; 50 and
/// 20 were worse.
pub(super) const WINDOWS_OF_BUDGET: f64 = 30.0;
/// Replies of a burst from which its throughput is known to a few percent: 1 / sqrt(N).
pub(super) const BURST_REQUESTS: f64 = 2000.0;
/// A burst that is only to warm the server up.
pub(super) const WARM_BURST: Duration = Duration::from_secs(3);
/// Still getting warm: a request of this burst costs less than this share of the CPU of one of the
/// burst before. Judgement.
pub(super) const CHEAPER: f64 = 0.95;
/// Bursts of one start until it is taken to be warm.
pub(super) const WARMING_BURSTS_MOST: u32 = 4;
/// No fresh start is warmed for longer, seconds. Judgement.
pub(super) const WARM_MOST_S: f64 = 30.0;
/// So many clients are enough, unless there are more threads.
pub(super) const MANY_CLIENTS: u32 = 512;
/// More connections than this are more than a process may have open by default, here or there.
pub(super) const CLIENTS_MOST: u32 = 900;
/// Clients that got nothing are tried again with so many times fewer.
pub(super) const FEWER: u32 = 16;
/// Clients that were each served as one alone is are tried again with so many times more.
/// Judgement.
pub(super) const MORE_CLIENTS: u32 = 4;
/// They were where as many requests were inside at once, by what one takes alone, as this share of
/// them: threads that are all busy hold half of twice their number. Judgement.
pub(super) const AS_IF_ALONE: f64 = 0.75;
/// A burst of slow requests goes on for so many of what one takes alone, and no longer than
/// [`BURST_MOST_S`]. Judgement.
pub(super) const SLOW_REPLIES: f64 = 3.0;
/// Seconds.
pub(super) const BURST_MOST_S: f64 = 60.0;
/// Of a URL: clients of one burst after another, while more get more through.
pub(super) const BURST_CLIENTS: [u32; 5] = [1, 4, 16, 64, 256];
/// Each of these lasts so long.
pub(super) const BURST: Duration = Duration::from_secs(2);
/// Growth below this is none.
pub(super) const GROWTH: f64 = 0.1;
/// More requests a second are beyond what one loop can be asked to send.
pub(super) const RATE_MOST: f64 = 900_000.0;
/// A generator that failed at one rate is tried again at this share of it.
pub(super) const BELOW_CEILING: f64 = 0.7;
/// A rate is hopeless below this share of what goes through.
pub(super) const RATE_HOPELESS: f64 = 0.05;
/// At a rate this far above what a start holds, as a share of it, its latency says nothing.
pub(super) const LATENCY_HOPELESS: f64 = 0.9;

// Patience: what part of the time goes where, and what is enough.

/// As precise as it gets when nobody asks for more: differences below it are none.
pub const PRECISION: f64 = 0.03;
/// The part of the budget after which no new configuration is begun: the rest makes sure.
/// Judgement.
pub(super) const RACE_SHARE: f64 = 0.55;
/// After it a configuration is begun only if it is expected to hold so many times as much as the
/// best. Judgement.
pub(super) const WORTH_THE_BLOCKS: f64 = 1.25;
/// Share of the budget that blocks leave to the last part. Measured: `make bench-zoo`; 0.22 was no
/// better.
pub(super) const HOLD_SHARE: f64 = 0.3;
/// A shorter budget may have no time for blocks, and has none for the last part.
pub(super) const SHORT_BUDGET: Duration = Duration::from_secs(120);
/// Enough probes of one start: the standard deviation of the belief's logarithm. Judgement.
pub(super) const PROBES_PRECISION: f64 = 0.025;
/// More probes on one start of the race buy little beside a fresh start.
pub(super) const PROBES_MAX: f64 = 3.0;
/// A short budget buys fewer still: one for so many seconds of it.
pub(super) const BUDGET_PER_PROBE_S: f64 = 100.0;
/// The reference is measured again with whatever wins: two tell what is to be beaten.
pub(super) const REFERENCE_PROBES: u32 = 2;
/// Probes on each fresh start of a block.
pub(super) const PROBES_A_START: u32 = 3;
/// More where none was held, or none missed: what lies on one side of all of them is hardly known.
pub(super) const PROBES_A_START_MOST: u32 = 6;
/// Blocks; more for a precision beyond the usual.
pub(super) const BLOCKS_MAX: f64 = 8.0;
/// The most whatever the precision.
pub(super) const BLOCKS_EVER: f64 = 60.0;
/// Before so many blocks nobody is out who is not far beaten.
pub(super) const BLOCKS_LEAST: usize = 2;
/// An attempt to hold the rate measures so long, seconds: a queue near its capacity takes many
/// seconds to show itself, and windows of ten seconds near the edge of a goal pass and fail in
/// turn.
pub(super) const HOLD_LEAST_S: f64 = 30.0;
/// An attempt to hold the rate measures no longer, seconds. Judgement.
pub(super) const HOLD_MOST_S: f64 = 120.0;
/// What a cold start holds is known from a warm one's capacity and from the cost of its first
/// requests; by so much less sure, as a standard deviation of its logarithm. Judgement.
pub(super) const COLD_SD_LOG: f64 = 0.1;
/// The rate is sent for so long before it counts: the server is cold.
pub(super) const HOLD_WARM_UP: Duration = Duration::from_secs(5);
/// A soak is sent in so many parts: half of them, six, tell a slope. Judgement.
pub(super) const SOAK_PARTS: f64 = 12.0;
/// A part of a soak measures so long at least, and at most, seconds: a shorter one has no p95, and
/// an interruption loses a longer one. Judgement.
pub(super) const SOAK_PART_LEAST_S: f64 = 10.0;
pub(super) const SOAK_PART_MOST_S: f64 = 300.0;
/// Between parts the server stands idle for about a second, and after the first as long as a
/// platform takes to record a minute; the first second of a part counts for no figure.
pub(super) const SOAK_PART_WARM_UP: Duration = Duration::from_secs(1);
/// More than so many attempts are not waited for.
pub(super) const HOLD_ATTEMPTS: f64 = 3.0;
/// After a miss the next rate is at most this share of it. Judgement.
pub(super) const STEP_DOWN: f64 = 0.95;
/// So many starts tell a p95 or a cost.
pub(super) const BLOCKS_ENOUGH: usize = 4;
/// Of a URL: bursts may use this share of the time.
pub(super) const BURSTS_SHARE: f64 = 0.25;
/// Of the time after the bursts each window gets a seventh where all of it is to be used.
pub(super) const WINDOWS: f64 = 7.0;
/// Otherwise those that look for the neighbourhood are shorter, and those within it longer: a queue
/// that begins empty needs its time to show how long it gets, and what comes before reads too well.
pub(super) const SHORT_WINDOWS: f64 = 9.0;
/// The part of the time that those within it get.
pub(super) const LONG_WINDOWS: f64 = 4.0;
/// Enough, after at least so many windows: the standard deviation of the belief's logarithm.
pub(super) const URL_PRECISION: f64 = 0.015;
/// At least so many.
pub(super) const WINDOWS_LEAST: usize = 3;
/// Knobs get at most this share of the budget.
pub(super) const KNOBS_SHARE_MOST: f64 = 0.4;
/// A single change gets less.
pub(super) const KNOBS_SHARE_OF_ONE: f64 = 0.3;
/// A change is not judged before so many blocks.
pub(super) const KNOBS_BLOCKS_LEAST: u32 = 2;
/// Nor measured in more.
pub(super) const KNOBS_BLOCKS_MOST: u32 = 8;
/// So many blocks should fit into the time.
pub(super) const KNOBS_BLOCKS_AIMED: f64 = 5.0;
/// The most for what helpful changes do together, and at other numbers of threads.
pub(super) const KNOBS_BLOCKS_MOST_TOGETHER: u32 = 2;
/// The most for the numbers of threads beside the chosen one.
pub(super) const KNOBS_BLOCKS_MOST_NEIGHBOURS: u32 = 4;
/// While a change seems to help, so much of the time left is kept for what has to be checked then.
pub(super) const KEPT_FOR_CHECKS: f64 = 0.3;
/// What a start is taken to cost beyond its load before one was seen, seconds.
pub(super) const START_COST_S: f64 = 3.0;
/// Share of the budget of `verify` for the first attempt at the printed rate. Judgement.
pub(super) const AGAIN_SHARE: f64 = 0.4;
/// Fresh starts that miss the printed rate before it is said to be held no longer: one in twenty
/// does by chance.
pub(super) const VERIFY_MISSES: u32 = 2;
/// From one start of each nothing is known of their spread.
pub(super) const VERIFY_BLOCKS_PLANNED: f64 = 2.0;
/// The most blocks of `verify`.
pub(super) const VERIFY_BLOCKS_MAX: u32 = 40;

// Two revisions beside each other.

/// All figures of a comparison of two revisions may be wrong with this probability together.
pub(super) const REVISION_ERROR: f64 = 0.05;
/// Ending before its time because one of them is sure may be wrong with this probability, each time
/// it is asked (Haybittle 1971, Peto 1976): as for knobs. Divided among the figures.
pub(super) const REVISION_ERROR_EARLY: f64 = 0.001;
/// Two capacities this near to each other are not told apart in a few minutes. Judgement.
pub(super) const REVISION_CAPACITY_BAND: f64 = 0.05;
/// Shares of requests that fail count as equal within this difference: half a percentage point.
/// Judgement: half of what a goal such as errors<1% allows, and what a few blocks of 800 requests
/// can tell.
pub(super) const REVISION_FAILURES_BAND: f64 = 0.005;
/// And within this part of A's share besides: some mixes have requests that always fail, such as
/// those for a page that is not there. Judgement.
pub(super) const REVISION_FAILURES_PART: f64 = 0.2;
/// A start of B of whose requests as much more failed than of any start of A is for a person to
/// look at, however many others were fine: ten times the band. Judgement.
pub(super) const REVISION_FAILURES_BURST: f64 = 0.05;
/// CPU of a request differs by about this much between starts. Measured: `make bench-aa`, 0.6 to
/// 2.2 % for four apps.
pub(super) const CPU_SD_LOG: f64 = 0.015;
/// A p95 differs by about this much between starts. Measured: `make bench-aa`, 3.8 to 7.8 %.
pub(super) const P95_SD_LOG: f64 = 0.06;
/// What p95 and memory differ by between starts depends on the app: these guesses count as so many
/// measured comparisons. Simulated: of equal pairs whose p95 differs by 25 % between starts and
/// whose memory by 6 %, at most 3 % are called different; with [`GUESS_DEGREES`] 20 %.
pub(super) const ROUGH_GUESS_DEGREES: f64 = 0.5;
/// Before each window at the rate that both are sent: they are warm, and far from their capacity.
pub(super) const REVISION_SETTLE: Duration = Duration::from_secs(1);
/// Requests that such a window should see. Judgement: their p95 is known to some percent.
pub(super) const REVISION_REQUESTS: f64 = 400.0;
/// A revision lets as much more arrive as it lets through at most, give or take this. Judgement:
/// what moves one without the other moves p95 as well, which is looked at by itself.
pub(super) const REVISION_PRIOR_SD_LOG: f64 = 0.04;
/// From fewer blocks nothing is said: two do not show what starts differ by.
pub(super) const REVISION_BLOCKS_LEAST: usize = 3;
/// A budget should have room for so many blocks. Simulated: 5 % more CPU a request is found in 56 %
/// of comparisons of 3 blocks, in 83 % of 4, in 99 % of 7.
pub(super) const REVISION_BLOCKS_WANTED: u32 = 4;
/// So many breakdowns of servers, of both revisions together, end a comparison. Where both break
/// down equally often, all of them are B's in one of 2^4 comparisons.
pub(super) const REVISION_BREAKDOWNS: u32 = 4;
/// So many trials in a row may say nothing.
pub(super) const REVISION_SETBACKS: u32 = 2;
