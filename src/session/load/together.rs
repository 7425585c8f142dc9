//! A load of several generators: joined, collected, passed on to whoever asked for it elsewhere, or
//! sent by pods of a cluster.
//!
//! In: a load that all were given alike. Out: a summary, or what was gathered as it comes.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use super::asked::{ClusterAsked, FleetAsked, Role};
use super::error::LoadVerbError;
use super::prepared::{Finished, Prepared};
use super::receivers::{Receivers, Seconds};
use super::{cluster, fleet, tls};
use crate::fleet::{
    Collector, FleetError, Gate, Gathered, Membership, Offer, Orders, Relay, gather_hosts,
};
use crate::load::Length;
use crate::session::cluster::connect;
use crate::terms::{ClusterDoubt, LiveSecond, LoadSecond, StopSignal, Warning};

/// For a load in pods that ends by its count.
const LONGEST_IN_PODS: Duration = Duration::from_secs(3600);

/// What a program does that joins others: it sends its part and has no result of its own. Returns
/// how many loads it was.
///
/// # Errors
/// This load is not for joining, or the collector cannot be reached, refuses or is gone.
pub fn join(prepared: &Prepared, stop: &StopSignal) -> Result<u32, LoadVerbError> {
    let Some((asked, Role::Join { collector, is_own })) =
        prepared.fleet.as_ref().map(|asked| (asked, &asked.role))
    else {
        return Err(LoadVerbError::Usage("it is not asked to join others (--join)".into()));
    };
    let gate =
        if *is_own { Gate::of_own(&asked.token) } else { fleet::gate(&prepared.spec, asked) };
    let membership = Membership { collector: collector.clone(), gate, patience: asked.within };
    Ok(crate::fleet::join(&|| prepared.to_who_listens(), &membership, stop)?)
}

/// Has generators send the load, and adds up what they record.
pub(super) fn run(
    prepared: &Prepared,
    asked: &FleetAsked,
    stop: &StopSignal,
    receivers: Receivers<'_>,
) -> Result<Finished, LoadVerbError> {
    let mut seconds = Seconds::new(prepared, receivers.second);
    let begin = RefCell::new(Begin { tell: receivers.begin, answer: None });
    let mut second = |second| {
        if begin.borrow_mut().unless_told(SECOND).is_continue() {
            seconds.take(&second);
        }
    };
    let mut watch = |live: &LiveSecond| {
        begin.borrow_mut().unless_told(live.at)?;
        (receivers.watch)(live)
    };
    let (gathered, shared) = match &asked.role {
        Role::Pods(pods) => in_pods(prepared, (asked, pods), stop, &mut watch, &mut second)?,
        role => {
            // The hosts' generators end when they are dropped.
            let (mut collector, _hosts) = match role {
                Role::Hosts(hosts) => {
                    let (collector, hosts) = gather_hosts(hosts, asked.within, stop)?;
                    (collector, Some(hosts))
                }
                _ => (fleet::gather(&prepared.spec, asked, stop, &mut |_| ())?, None),
            };
            let gathered = collector.send(prepared.spec.loops, None, stop, &mut watch, &mut second);
            collector.dismiss();
            (gathered?, None)
        }
    };
    let Gathered { run, generators } = gathered;
    let (mut summary, all) = seconds.fold.finish(&run);
    let (doubts, holds) = fleet::doubts(&generators, &asked.role);
    summary.valid &= holds;
    summary.warnings.extend(doubts);
    summary.warnings.extend(shared.map(Warning::from));
    summary.warnings.extend(tls::warning(&run, &summary.errors));
    summary.warnings.extend(prepared.warnings.iter().cloned());
    summary.fleet = generators.iter().map(fleet::summary).collect();
    summary.shape = Some(prepared.shape());
    summary.arrivals = prepared.arrivals();
    Ok(Finished { summary, all })
}

/// The least time since a load began of which a second is told.
const SECOND: Duration = Duration::from_secs(1);

/// Tells once that the load has begun, as its first second says.
struct Begin<'a> {
    tell: &'a mut dyn FnMut(Duration) -> ControlFlow<()>,
    /// What was answered; `None`: it has not been told.
    answer: Option<ControlFlow<()>>,
}

impl Begin<'_> {
    fn unless_told(&mut self, ago: Duration) -> ControlFlow<()> {
        let tell = &mut self.tell;
        *self.answer.get_or_insert_with(|| tell(ago))
    }
}

/// Collects, and passes on what comes line by line, for whoever asked for it elsewhere: of one
/// load, or of all that it is told to send.
///
/// # Errors
/// As [`super::run`]; they are passed on too.
pub fn relay(
    prepared: &Prepared,
    stop: &StopSignal,
    tell: &mut dyn FnMut(Relay),
) -> Result<(), LoadVerbError> {
    let Some(asked) = &prepared.fleet else {
        return Err(LoadVerbError::Usage("there is nothing to collect (--collect)".into()));
    };
    let relayed = relay_all(prepared, asked, stop, tell);
    if let Err(error) = &relayed {
        tell(failed(error));
    }
    relayed
}

/// Whoever asked for it elsewhere knows better than we do how generators are started there.
fn failed(error: &LoadVerbError) -> Relay {
    match error {
        LoadVerbError::Fleet(FleetError::TooFew { joined, wanted, within }) => {
            Relay::TooFew { joined: *joined, wanted: *wanted, within: *within }
        }
        error => Relay::Failed { why: error.to_string() },
    }
}

/// Between two words on how many generators have joined.
const BETWEEN_COUNTS: Duration = Duration::from_secs(1);

fn relay_all(
    prepared: &Prepared,
    asked: &FleetAsked,
    stop: &StopSignal,
    tell: &mut dyn FnMut(Relay),
) -> Result<(), LoadVerbError> {
    let orders = asked.orders.map(listen).transpose()?;
    let mut told = (0, Instant::now());
    let mut joined = |count: u16| {
        if count > told.0 && told.1.elapsed() > BETWEEN_COUNTS {
            tell(Relay::Joined { joined: count });
            told = (count, Instant::now());
        }
    };
    let mut collector = fleet::gather(&prepared.spec, asked, stop, &mut joined)?;
    let program = std::env::current_exe().map(|path| path.display().to_string());
    tell(Relay::Ready { program: program.unwrap_or_default() });
    let Some(orders) = orders else {
        relay_one(&mut collector, (prepared.spec.loops, None), (stop, stop), tell)?;
        collector.dismiss();
        return Ok(());
    };
    while let Some(ordered) = orders.next(stop) {
        let load = (ordered.loops, Some(ordered.offer));
        relay_one(&mut collector, load, (stop, &ordered.ending), tell)?;
    }
    collector.dismiss();
    Ok(())
}

fn listen(address: SocketAddr) -> Result<Orders, FleetError> {
    let unusable = |source| FleetError::Listen { address: address.to_string(), source };
    Orders::listen(address).map_err(unusable)
}

/// Of the two signals one is the program's, the other this load's.
fn relay_one(
    collector: &mut Collector,
    (loops, offer): (u16, Option<Offer>),
    (stop, ending): (&StopSignal, &StopSignal),
    tell: &mut dyn FnMut(Relay),
) -> Result<(), FleetError> {
    let tell = RefCell::new(tell);
    let mut watch = |second: &LiveSecond| {
        (tell.borrow_mut())(Relay::Live(*second));
        match stop.is_raised() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    };
    let mut second = |second| (tell.borrow_mut())(Relay::Second(Box::new(second)));
    let gathered = collector.send(loops, offer, ending, &mut watch, &mut second)?;
    let Gathered { run, generators } = gathered;
    (tell.borrow_mut())(Relay::Gathered { run, generators });
    Ok(())
}

/// Has pods of a cluster send it; and whether they shared a node with the app.
fn in_pods(
    prepared: &Prepared,
    (asked, pods): (&FleetAsked, &ClusterAsked),
    stop: &StopSignal,
    watch: &mut dyn FnMut(&LiveSecond) -> ControlFlow<()>,
    second: &mut dyn FnMut(LoadSecond),
) -> Result<(Gathered, Option<ClusterDoubt>), LoadVerbError> {
    let length = match prepared.spec.length {
        Length::Duration(length) => prepared.spec.warm_up + length,
        // It ends by its count; a cluster needs a time all the same.
        Length::Requests(_) => LONGEST_IN_PODS,
    };
    let (context, namespace) = (pods.context.as_deref(), pods.namespace.as_deref());
    let found = connect(context, namespace, pods.is_confirmed)?;
    let timeout = prepared.spec.timeout;
    let order = cluster::order(pods, asked, (length + timeout, timeout), &found.namespace)?;
    cluster::collect(&*found.api, order, asked.within, stop, watch, second)
}
