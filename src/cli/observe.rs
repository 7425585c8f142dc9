//! `sweetspot observe`: arguments.

use std::time::Duration;

use super::compare::Shown;
use super::{Exit, UsageError, say};
use crate::session::observe::{Named, Question, Range, Source, When, observe};
use crate::terms::parse_duration;

const EXAMPLES: &str = "\
Examples:
  sweetspot observe 'pod=~\"web-a.*\"' 'pod=~\"web-b.*\"' --prometheus 127.0.0.1:9090 --last 6h
  sweetspot observe 'pod=~\"web-a.*\"' 'pod=~\"web-b.*\"' --prometheus 127.0.0.1:9090 \\
    --between 2026-11-16..
  sweetspot observe 'app=\"shop\"' --prometheus 127.0.0.1:9090 \\
    --before 2026-11-09..2026-11-16 --after 2026-11-16..2026-11-23
  sweetspot observe web-a web-b --cloudwatch --last 6h
  sweetspot observe 'service:web,version:1' 'service:web,version:2' --datadog --last 6h
  sweetspot observe web1.log web2.log
  sweetspot observe access.log --before 2026-11-09..2026-11-16 --after 2026-11-16..2026-11-23

Best are two settings at once on two halves of the fleet: then look as often as you like, with
--between FROM.. from the same moment on each time.

Exit codes: 0 better or equivalent; 3 worse; 4 undecided, or it cannot be told.";

/// Says what changed in production between two settings: at once on two parts of the fleet, or
/// before and after.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// What it is judged against: a label selector with --prometheus, a target group or load
    /// balancer with --cloudwatch, a scope of tags with --datadog, else an access log that says
    /// response times.
    a: String,
    /// What is judged, likewise; left out with --before and --after.
    b: Option<String>,
    /// Where Prometheus is, such as http://127.0.0.1:9090.
    #[arg(long, value_name = "URL", group = "recorder")]
    prometheus: Option<String>,
    /// By what an application load balancer of AWS counted; the aws command asks.
    #[arg(long, group = "recorder")]
    cloudwatch: bool,
    /// By what Datadog's tracing counted at DD_SITE, asked with DD_API_KEY and DD_APP_KEY.
    #[arg(long, group = "recorder")]
    datadog: bool,
    /// Both at once: so long until now.
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    last: Option<Duration>,
    /// Both at once: in this range, without TO until now; times without a zone are in UTC [default:
    /// of logs, as long as both are].
    #[arg(long, value_name = "FROM..TO", conflicts_with = "last")]
    between: Option<Range>,
    /// A before the change: whole weeks are best.
    #[arg(long, value_name = "FROM..TO", requires = "after",
          conflicts_with_all = ["last", "between"])]
    before: Option<Range>,
    /// A after the change.
    #[arg(long, value_name = "FROM..TO", requires = "before")]
    after: Option<Range>,
    /// Length of a block: figures of both are compared block by block where they ran at once;
    /// longer where there is little traffic.
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = block)]
    block: Duration,
    /// A metric of another name: latency=NAME, queue=NAME, memory=NAME or cpu=NAME; of Datadog
    /// latency=trace.NAME alone. Repeatable.
    #[arg(
        long = "metric",
        value_name = "FIGURE=NAME",
        requires = "recorder",
        conflicts_with = "cloudwatch"
    )]
    metrics: Vec<Named>,
    /// A header for Prometheus, 'Name: value', or @FILE with one a line. Repeatable.
    #[arg(short = 'H', long, value_name = "HEADER", requires = "prometheus")]
    header: Vec<String>,
    /// Prometheus may be at a public address.
    #[arg(long, requires = "prometheus")]
    allow_public: bool,
    #[command(flatten)]
    shown: Shown,
}

/// Rates need some samples in a block.
const SHORTEST_BLOCK: Duration = Duration::from_secs(15);
/// An hour must have a whole one.
const LONGEST_BLOCK: Duration = Duration::from_secs(3600);

fn block(text: &str) -> Result<Duration, String> {
    let block = parse_duration(text).map_err(|error| error.to_string())?;
    match block.subsec_nanos() == 0 && (SHORTEST_BLOCK..=LONGEST_BLOCK).contains(&block) {
        true => Ok(block),
        false => Err("a block is whole seconds, at least 15s and at most 1h".to_string()),
    }
}

pub fn run(arguments: Arguments) -> anyhow::Result<Exit> {
    let when = when(&arguments);
    let source = match arguments.prometheus {
        None if arguments.cloudwatch => Source::CloudWatch,
        None if arguments.datadog => Source::Datadog { named: arguments.metrics },
        None => Source::AccessLogs,
        Some(url) => Source::Prometheus {
            url,
            headers: arguments.header,
            allows_public: arguments.allow_public,
            named: arguments.metrics,
        },
    };
    let block = arguments.block;
    let question = Question { source, a: arguments.a, b: arguments.b, when, block };
    let report = observe(&question, tell);
    let report = report.map_err(|it| UsageError::only_if(it.is_usage(), it))?;
    arguments.shown.show(&report)
}

/// Why it takes longer than it should.
fn tell(line: &str) {
    say(line);
}

fn when(arguments: &Arguments) -> When {
    match (arguments.before.zip(arguments.after), arguments.between, arguments.last) {
        (Some((before, after)), ..) => When::BeforeAfter(before, after),
        (_, Some(range), _) => When::Between(range),
        (_, _, Some(length)) => When::Last(length),
        _ => When::Whole,
    }
}
