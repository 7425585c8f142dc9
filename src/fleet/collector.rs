//! The collector: lets generators in, has them begin at one moment, and adds up what they tell.
//!
//! In: how many, and the load. Out: one record while it grows, and what is known of each generator.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver as Channel, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use ring::digest::{SHA256, digest};

use super::clocks::{Offset, RoundTrip};
use super::error::FleetError;
use super::merge::Merge;
use super::message::{FromCollector, FromGenerator, Gate, Load, Offer};
use super::wire::{self, Writer};
use crate::load::monotonic_ns;
use crate::load::shape::Part;
use crate::terms::{FleetMember, LiveSecond, LoadRun, LoadSecond, StopRequest, StopSignal};

/// Who is silent for this long while a load runs is lost, unless somebody asks for more patience;
/// signs of life come five times as often.
const SILENCE: Duration = Duration::from_secs(1);

/// Who is silent for this long before a load begins is lost: nothing is measured yet, and a node
/// that starts an app has little left for others.
const SILENCE_BEFORE: Duration = Duration::from_secs(10);

/// Whoever has not looked for this long was held up itself: what came meanwhile is yet to be read.
const HELD_UP: Duration = Duration::from_millis(250);

/// Between two looks at the clock and at the user's wish to end.
const TICK: Duration = Duration::from_millis(20);

/// For a hello, so that whoever only connects keeps nobody waiting.
const HELLO: Duration = Duration::from_secs(5);

/// Round trips to each generator: the shortest of them says how far its clock is off.
const PINGS: u32 = 8;

/// From the order to begin to the beginning, at least: time for the order to arrive everywhere.
const AHEAD: Duration = Duration::from_millis(200);

/// What is done when a generator is lost in the middle of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnLoss {
    /// The load ends.
    End,
    /// The others go on with theirs.
    GoOn,
}

/// What was gathered of one load, beside its seconds.
#[derive(Debug, Clone, PartialEq)]
pub struct Gathered {
    pub run: LoadRun,
    pub generators: Vec<FleetMember>,
}

/// A generator that has joined.
struct Member {
    address: SocketAddr,
    writer: Writer,
    offset: Option<Offset>,
    /// When its last message came, by our monotonic clock in nanoseconds: the thread that reads
    /// says so, as whoever adds up may be behind.
    heard_ns: Arc<AtomicU64>,
    is_ready: bool,
    late: Option<Duration>,
    /// Since the load began.
    lost_at: Option<Duration>,
    told: LoadSecond,
    busiest_loop: f64,
}

/// Which generator, when by our monotonic clock, and what; `None`: its connection has ended.
type Told = (usize, u64, Option<FromGenerator>);

/// A fleet that has gathered.
pub struct Collector {
    members: Vec<Member>,
    told: Channel<Told>,
    on_loss: OnLoss,
    /// Who is silent for this long while a load runs is lost.
    silence: Duration,
    /// All generators were told to end the load.
    is_ending: bool,
    attention: Attention,
}

/// Since when somebody has looked again and again without being held up.
struct Attention {
    since: Instant,
    last: Instant,
}

impl Attention {
    fn begin() -> Self {
        let now = Instant::now();
        Self { since: now, last: now }
    }

    /// One more look. Returns for how long there have been looks without a gap.
    fn look(&mut self, now: Instant) -> Duration {
        if now.saturating_duration_since(self.last) > HELD_UP {
            self.since = now;
        }
        self.last = now;
        now.saturating_duration_since(self.since)
    }
}

impl Collector {
    /// Waits for this many generators, at most `within`; `look` is told meanwhile how many are
    /// there, and asked whether it is any use.
    ///
    /// # Errors
    /// Too few came or could be let in, or it is no use.
    pub fn gather(
        listener: &TcpListener,
        (wanted, within): (u16, Duration),
        gate: &Gate,
        on_loss: OnLoss,
        look: &mut dyn FnMut(u16) -> Result<(), FleetError>,
    ) -> Result<Self, FleetError> {
        let address = || listener.local_addr().map(|it| it.to_string()).unwrap_or_default();
        let unusable = |source| FleetError::Listen { address: address(), source };
        listener.set_nonblocking(true).map_err(unusable)?;
        let began = Instant::now();
        let (teller, told) = channel();
        let mut members: Vec<Member> = Vec::new();
        let mut unaccepted = None;
        while members.len() < usize::from(wanted) {
            let joined = members.len() as u16;
            look(joined)?;
            if began.elapsed() > within {
                return Err(match unaccepted {
                    None => FleetError::TooFew { joined, wanted, within },
                    Some(source) => FleetError::NotAccepted { joined, wanted, within, source },
                });
            }
            let accepted = listener.accept().and_then(|(stream, address)| {
                // Where both protocols are listened to, IPv4's have the form of IPv6's.
                let address = SocketAddr::new(address.ip().to_canonical(), address.port());
                let_in(stream, address, members.len(), gate, &teller)
            });
            match accepted {
                Ok(Some(member)) => {
                    members.push(member);
                    unaccepted = None;
                }
                Ok(None) => {}
                Err(error) => {
                    if is_of_this_side(&error) {
                        unaccepted = Some(error);
                    }
                    thread::sleep(TICK);
                }
            }
        }
        let attention = Attention::begin();
        Ok(Self { members, told, on_loss, silence: SILENCE, is_ending: false, attention })
    }

    /// Gives up nobody that is silent for less than this.
    pub fn with_patience(self, silence: Duration) -> Self {
        Self { silence, ..self }
    }

    /// Sends one load. `offer`: what of it differs from what was typed. `second` is given each
    /// second of the record in order, as soon as nothing can be added to it.
    ///
    /// # Errors
    /// The load could not begin, or nothing was gathered of it.
    pub fn send(
        &mut self,
        loops: u16,
        offer: Option<Offer>,
        stop: &StopSignal,
        watch: &mut dyn FnMut(&LiveSecond) -> ControlFlow<()>,
        second: &mut dyn FnMut(LoadSecond),
    ) -> Result<Gathered, FleetError> {
        self.is_ending = false;
        self.prepare(loops, offer)?;
        self.wait_until_ready(stop)?;
        self.compare_clocks()?;
        let began = self.begin()?;
        let mut merge = Merge::new(self.members.len() as u16);
        let mut asked = StopRequest::None;
        while !merge.is_over() {
            match self.told.recv_timeout(TICK) {
                Ok((index, _, told)) => self.take(index, told, &mut merge, began)?,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            self.look_for_the_silent(&mut merge, began);
            if stop.requested() > asked {
                asked = stop.requested();
                self.end_load(asked == StopRequest::Now);
            }
            while let Some(live) = merge.next_live() {
                if watch(&live).is_break() && asked == StopRequest::None {
                    asked = StopRequest::Finish;
                    self.end_load(false);
                }
            }
            while let Some(one) = merge.next_second() {
                second(one);
            }
        }
        let why = "its connection ended".to_string();
        let run = merge.run().ok_or(FleetError::AllLost { why })?;
        Ok(Gathered { run, generators: self.members.iter().map(Member::report).collect() })
    }

    /// There is no further load.
    pub fn dismiss(&self) {
        self.tell_all(&FromCollector::Bye);
    }

    fn end_load(&mut self, now: bool) {
        self.is_ending = true;
        self.tell_all(&FromCollector::Stop { now });
    }

    fn tell_all(&self, message: &FromCollector) {
        // Who cannot be told is seen to be lost.
        self.members.iter().for_each(|member| drop(member.writer.send(message)));
    }

    fn prepare(&mut self, loops: u16, offer: Option<Offer>) -> Result<(), FleetError> {
        let of = self.members.len() as u16;
        for (index, member) in self.members.iter_mut().enumerate() {
            member.forget();
            let part = Part { index: index as u16, of };
            let load = FromCollector::Load(Load { part, loops, offer });
            member.writer.send(&load).map_err(|error| lost(index, member, &error.to_string()))?;
        }
        Ok(())
    }

    fn wait_until_ready(&mut self, stop: &StopSignal) -> Result<(), FleetError> {
        while !self.members.iter().all(|member| member.is_ready) {
            if stop.is_raised() {
                self.tell_all(&FromCollector::Stop { now: true });
                return Err(FleetError::Stopped);
            }
            if let Some((index, _, FromGenerator::Ready)) = self.hear()? {
                self.members[index].is_ready = true;
            }
        }
        Ok(())
    }

    /// What is told next before a load begins, by which generator and when; `None`: nothing yet.
    fn hear(&mut self) -> Result<Option<(usize, u64, FromGenerator)>, FleetError> {
        let Ok((index, at_ns, told)) = self.told.recv_timeout(TICK) else {
            return match self.silent(SILENCE_BEFORE.max(self.silence)).first() {
                Some(&index) => Err(lost(index, &self.members[index], "it fell silent")),
                None => Ok(None),
            };
        };
        let member = &self.members[index];
        match told {
            None => Err(lost(index, member, "its connection ended")),
            Some(FromGenerator::Failed { why }) => Err(failed(index, member, why)),
            // It would not be waited for: nothing more comes of its load.
            Some(FromGenerator::Ended(_)) if member.lost_at.is_none() => {
                Err(lost(index, member, "its load ended before it had begun"))
            }
            Some(told) => Ok(Some((index, at_ns, told))),
        }
    }

    /// Those of whom nothing was heard for this long while somebody listened.
    fn silent(&mut self, silence: Duration) -> Vec<usize> {
        let listened = self.attention.look(Instant::now());
        let is_silent = |index: &usize| self.members[*index].silence().min(listened) > silence;
        (0..self.members.len()).filter(is_silent).collect()
    }

    /// All at once, and again: what a generator takes to answer does not add up over many.
    fn compare_clocks(&mut self) -> Result<(), FleetError> {
        let mut trips = vec![Vec::new(); self.members.len()];
        for number in 0..PINGS {
            let mut sent_ns = Vec::new();
            for (index, member) in self.members.iter().enumerate() {
                sent_ns.push(monotonic_ns());
                let ping = FromCollector::Ping { number };
                member
                    .writer
                    .send(&ping)
                    .map_err(|error| lost(index, member, &error.to_string()))?;
            }
            let mut missing = self.members.len();
            while missing > 0 {
                let Some((index, received_ns, told)) = self.hear()? else { continue };
                if let FromGenerator::Pong { number: of, at_ns: theirs_ns } = told
                    && of == number
                {
                    let sent_ns = sent_ns[index];
                    trips[index].push(RoundTrip { sent_ns, theirs_ns, received_ns });
                    missing -= 1;
                }
            }
        }
        for (member, trips) in self.members.iter_mut().zip(&trips) {
            member.offset = Offset::of(trips);
        }
        Ok(())
    }

    /// Names the moment to each, by its own clock. Returns it by ours.
    fn begin(&mut self) -> Result<Instant, FleetError> {
        let trips = self.members.iter().filter_map(|member| member.offset);
        let longest = trips.map(|offset| offset.round_trip).max().unwrap_or_default();
        let ahead = AHEAD.max(4 * longest);
        let at_ns = monotonic_ns() + ahead.as_nanos() as u64;
        let began = Instant::now() + ahead;
        for (index, member) in self.members.iter().enumerate() {
            let at_ns = member.offset.map_or(at_ns, |offset| offset.theirs_ns(at_ns));
            let order = FromCollector::Begin { at_ns };
            member.writer.send(&order).map_err(|error| lost(index, member, &error.to_string()))?;
        }
        Ok(began)
    }

    fn take(
        &mut self,
        index: usize,
        told: Option<FromGenerator>,
        merge: &mut Merge,
        began: Instant,
    ) -> Result<(), FleetError> {
        if merge.generators[index].is_lost {
            return Ok(());
        }
        let member = &mut self.members[index];
        match told {
            Some(FromGenerator::Began { late }) => member.late = Some(late),
            Some(FromGenerator::Live(second)) => merge.generators[index].live.push_back(second),
            Some(FromGenerator::Second(second)) => {
                member.told.add(&second);
                merge.second(index, &second);
            }
            Some(FromGenerator::Ended(run)) => {
                member.busiest_loop = run.generator.busiest_loop;
                // It was ended by somebody else, such as who drains its node.
                let is_lost = run.is_cut_short && !self.is_ending;
                merge.generators[index].run = Some(run);
                if is_lost {
                    self.miss(index, began);
                }
            }
            Some(FromGenerator::Failed { why }) => return Err(failed(index, member, why)),
            None => self.lose(index, merge, began),
            Some(_) => {}
        }
        Ok(())
    }

    fn look_for_the_silent(&mut self, merge: &mut Merge, began: Instant) {
        self.silent(self.silence).into_iter().for_each(|index| self.lose(index, merge, began));
    }

    /// After its end it is no loss.
    fn lose(&mut self, index: usize, merge: &mut Merge, began: Instant) {
        if merge.generators[index].is_over() {
            return;
        }
        merge.generators[index].is_lost = true;
        // One that was only silent would go on sending what is not counted.
        drop(self.members[index].writer.send(&FromCollector::Stop { now: true }));
        self.miss(index, began);
    }

    /// The rest of its part is not sent.
    fn miss(&mut self, index: usize, began: Instant) {
        self.members[index].lost_at = Some(began.elapsed());
        if self.on_loss == OnLoss::End {
            self.end_load(false);
        }
    }
}

impl Member {
    /// For how long nothing was heard of it.
    fn silence(&self) -> Duration {
        let heard_ns = self.heard_ns.load(Ordering::Relaxed);
        Duration::from_nanos(monotonic_ns().saturating_sub(heard_ns))
    }

    /// What it told of a load before.
    fn forget(&mut self) {
        (self.is_ready, self.late, self.busiest_loop) = (false, None, 0.0);
        self.told = LoadSecond::default();
    }

    fn report(&self) -> FleetMember {
        FleetMember {
            address: self.address.to_string(),
            round_trip: self.offset.map(|offset| offset.round_trip),
            late: self.late,
            due: self.told.due,
            sent: self.told.sent,
            send_lag_p99: self.told.send_lag.quantile(0.99),
            busiest_loop: self.busiest_loop,
            lost_at: self.lost_at,
        }
    }
}

fn lost(index: usize, member: &Member, why: &str) -> FleetError {
    let (index, address) = (index as u16, member.address.to_string());
    FleetError::LostBefore { index, address, why: why.into() }
}

fn failed(index: usize, member: &Member, why: String) -> FleetError {
    FleetError::Failed { index: index as u16, address: member.address.to_string(), why }
}

/// A connection could not be accepted here, as without a free descriptor; not that there is none to
/// accept, or that who had connected is gone.
fn is_of_this_side(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted, WouldBlock};
    !matches!(error.kind(), ConnectionAborted | ConnectionReset | Interrupted | WouldBlock)
}

/// Who says what all others say is a member; others are told why not.
///
/// # Errors
/// The connection cannot be used here.
fn let_in(
    stream: TcpStream,
    address: SocketAddr,
    index: usize,
    gate: &Gate,
    teller: &Sender<Told>,
) -> io::Result<Option<Member>> {
    stream.set_nonblocking(false)?;
    let (mut receiver, writer) = wire::open(stream)?;
    receiver.wait_at_most(Some(HELLO))?;
    let Ok(Some(FromGenerator::Hello(theirs))) = receiver.next() else { return Ok(None) };
    if let Some(why) = refusal(gate, &theirs) {
        drop(writer.send(&FromCollector::Refused { why: why.into() }));
        return Ok(None);
    }
    receiver.wait_at_most(None)?;
    let teller = teller.clone();
    let heard_ns = Arc::new(AtomicU64::new(monotonic_ns()));
    let hearing_ns = Arc::clone(&heard_ns);
    thread::spawn(move || {
        while let Ok(Some(message)) = receiver.next::<FromGenerator>() {
            let now_ns = monotonic_ns();
            hearing_ns.store(now_ns, Ordering::Relaxed);
            if teller.send((index, now_ns, Some(message))).is_err() {
                return;
            }
        }
        drop(teller.send((index, monotonic_ns(), None)));
    });
    Ok(Some(Member {
        address,
        writer,
        offset: None,
        heard_ns,
        is_ready: false,
        late: None,
        lost_at: None,
        told: LoadSecond::default(),
        busiest_loop: 0.0,
    }))
}

fn refusal(ours: &Gate, theirs: &Gate) -> Option<&'static str> {
    // By their hashes: how long that takes says nothing of how much of a token is right.
    let hash = |token: &str| digest(&SHA256, token.as_bytes());
    if hash(&ours.token).as_ref() != hash(&theirs.token).as_ref() {
        return Some("the token is another; give both the same SWEETSPOT_FLEET_TOKEN");
    }
    if ours.version != theirs.version {
        return Some("it is another version of sweetspot");
    }
    (ours.load != theirs.load).then_some("its load is another; give all the same arguments")
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;
    use std::os::fd::OwnedFd;

    use super::*;

    #[test]
    fn whoever_was_held_up_itself_calls_nobody_silent() {
        let mut attention = Attention::begin();
        let begin = attention.since;
        let look = |attention: &mut Attention, ms: u64| {
            attention.look(begin + Duration::from_millis(ms)).as_millis()
        };
        assert_eq!([20, 200, 400].map(|ms| look(&mut attention, ms)), [20, 200, 400]);
        assert_eq!(look(&mut attention, 3000), 0, "2.6 s in which nothing was read");
        assert_eq!(look(&mut attention, 3200), 200);
    }

    #[test]
    fn why_no_connection_could_be_accepted_is_told_and_not_that_there_was_none() {
        let gate = Gate::of_own("t0k3n");
        let gather = |listener: &TcpListener, within_ms: u64| {
            let many = (3, Duration::from_millis(within_ms));
            Collector::gather(listener, many, &gate, OnLoss::End, &mut |_| Ok(())).err().unwrap()
        };
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let said = gather(&listener, 0);
        assert!(matches!(said, FleetError::TooFew { joined: 0, wanted: 3, .. }), "{said}");
        // Nothing can be accepted from it, as nothing can without a free descriptor.
        let socket = OwnedFd::from(UdpSocket::bind("127.0.0.1:0").unwrap());
        let said = gather(&TcpListener::from(socket), 200);
        assert!(matches!(said, FleetError::NotAccepted { joined: 0, wanted: 3, .. }), "{said}");
        let said = said.to_string();
        assert!(said.contains("only 0 of 3") && said.contains("(os error "), "{said}");
    }

    #[test]
    fn one_that_was_lost_is_told_to_stop_and_what_it_tells_later_is_in_no_second() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let theirs = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (stream, address) = listener.accept().unwrap();
        let member = Member {
            address,
            writer: wire::open(stream).unwrap().1,
            offset: None,
            heard_ns: Arc::default(),
            is_ready: true,
            late: None,
            lost_at: None,
            told: LoadSecond::default(),
            busiest_loop: 0.0,
        };
        let (_teller, told) = channel();
        let mut collector = Collector {
            members: vec![member],
            told,
            on_loss: OnLoss::GoOn,
            silence: SILENCE,
            is_ending: false,
            attention: Attention::begin(),
        };
        let (mut merge, began) = (Merge::new(2), Instant::now());
        let second = LoadSecond { due: 10, ..LoadSecond::default() };
        let told = || Some(FromGenerator::Second(Box::new(second.clone())));
        collector.take(0, told(), &mut merge, began).unwrap();
        merge.second(1, &second);
        assert_eq!(merge.next_second().map(|it| it.due), Some(20));
        collector.lose(0, &mut merge, began);
        merge.second(1, &second);
        assert_eq!(merge.next_second().map(|it| it.due), Some(10), "nobody waits for it");
        // It was only silent, and tells of that time.
        for _ in 0..2 {
            collector.take(0, told(), &mut merge, began).unwrap();
        }
        merge.second(1, &second);
        assert_eq!(merge.next_second().map(|it| it.due), Some(10));
        assert_eq!(collector.members[0].report().due, 10);
        let (mut receiver, _writer) = wire::open(theirs).unwrap();
        let stop = FromCollector::Stop { now: true };
        assert_eq!(receiver.next::<FromCollector>().unwrap(), Some(stop));
    }
}
