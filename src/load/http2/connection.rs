//! One HTTP/2 connection with several requests under way (RFC 9113).
//!
//! In: bytes that arrived, requests to send. Out: bytes to send, requests that have ended. It knows
//! no socket, no clock and no record. What a server sends is dropped as it comes; what is kept for
//! it is bounded whatever it sends.

use std::collections::VecDeque;

use super::frame::{
    self, Cutter, DataPiece, FrameHead, HEAD_BYTES, LONGEST_PAYLOAD, Piece, Reason, flag, kind,
};
use super::hpack::{Decoder, Encoder};
use super::outgoing::Outgoing;
use super::request::{Http2Request, Scratch};
use super::settings::{self, FIRST_WINDOW, ServerSettings, WINDOW};
use super::stream::{EndedStream, Resend, Stream, Unsent, error_of};
use crate::load::cookies::Jar;
use crate::load::lifecycle::Pending;
use crate::load::shape::Nanos;
use crate::terms::RequestError;

/// The highest number that a stream may have.
const LAST_STREAM: u32 = (1 << 31) - 1;

const LARGEST_WINDOW: i64 = (1 << 31) - 1;

/// Most bytes of a header block in pieces.
const LONGEST_BLOCK: usize = 64 << 10;

/// One HTTP/2 connection with its streams.
#[derive(Debug)]
pub struct Multiplexed {
    cutter: Cutter,
    out: Outgoing,
    decoder: Decoder,
    encoder: Encoder,
    scratch: Scratch,
    /// The oldest first, by their numbers.
    streams: VecDeque<Stream>,
    next_stream: u32,
    /// A header block that has not come to its end.
    block: Option<Block>,
    server: ServerSettings,
    /// How much of bodies the server takes now on all streams together.
    window: i64,
    unacknowledged: u32,
    /// Streams whose bodies have not been sent in full.
    unsent_bodies: usize,
    /// How many bytes had been sent when the server last said anything.
    sent_when_heard: u64,
    /// A reply was complete.
    has_answered: bool,
    /// No new requests may be sent.
    is_leaving: bool,
    /// Nothing comes any more, or nothing that could be believed.
    has_ended: bool,
}

#[derive(Debug)]
struct Block {
    stream: u32,
    ends_stream: bool,
    bytes: Vec<u8>,
    frame_bytes: usize,
}

impl Multiplexed {
    /// Begins a connection: what it has to say first waits to be sent. `slots`: as
    /// [`Http2Request::share_table`] chose. `keeps_cookies`: those that replies set are wanted.
    pub fn new(slots: u8, keeps_cookies: bool) -> Self {
        let mut out = Outgoing::default();
        settings::write_preface(&mut out.bytes);
        let more = WINDOW - FIRST_WINDOW as u32;
        frame::write(kind::WINDOW_UPDATE, 0, 0, &more.to_be_bytes(), &mut out.bytes);
        Self {
            cutter: Cutter::default(),
            out,
            decoder: Decoder::new(keeps_cookies),
            encoder: Encoder::new(slots),
            scratch: Scratch::default(),
            streams: VecDeque::new(),
            next_stream: 1,
            block: None,
            server: ServerSettings::default(),
            window: FIRST_WINDOW,
            unacknowledged: 0,
            unsent_bodies: 0,
            sent_when_heard: 0,
            has_answered: false,
            is_leaving: false,
            has_ended: false,
        }
    }

    /// How many requests are under way.
    pub fn busy(&self) -> usize {
        self.streams.len()
    }

    /// Bodies wait for the server to take more.
    #[inline]
    pub fn has_unsent_bodies(&self) -> bool {
        self.unsent_bodies > 0
    }

    /// How many requests the server allows at once; `None` before it has said anything.
    #[inline]
    pub fn allowed(&self) -> Option<usize> {
        self.server.are_known.then_some(self.server.most_streams)
    }

    /// Whether another request may be put on its way: fewer than `most` are, and than the server
    /// allows.
    #[inline]
    pub fn has_room(&self, most: usize) -> bool {
        let is_open = !self.is_leaving && !self.has_ended && !self.out.is_full();
        is_open && self.busy() < most.min(self.server.most_streams)
    }

    /// It is of no use any more.
    pub fn is_over(&self) -> bool {
        let takes_none = self.is_leaving || self.server.most_streams == 0;
        self.has_ended || (takes_none && self.streams.is_empty())
    }

    /// The oldest reply has begun and is not complete, or a frame.
    pub fn is_amid_reply(&self) -> bool {
        let is_begun = |stream: &Stream| stream.head.is_some();
        self.cutter.is_amid_frame() || self.streams.front().is_some_and(is_begun)
    }

    /// Puts a request on its way, for which there must be room. `cookies` are those of its client.
    pub fn send(&mut self, request: Pending, message: &Http2Request, cookies: &[u8]) {
        let (id, at) = (self.next_stream, self.out.position());
        self.is_leaving |= id == LAST_STREAM;
        self.next_stream += 2;
        let start = self.out.bytes.len();
        let out = &mut self.out.bytes;
        out.extend_from_slice(&[0; HEAD_BYTES]);
        let scratch = &mut self.scratch;
        let body = message.write(request.number, cookies, &mut self.encoder, scratch, out);
        let unsent = match (body, message.same_body()) {
            ([], _) => Unsent::Nothing,
            (_, Some(_)) => Unsent::Same(0),
            (body, None) => Unsent::Own(body.to_vec()),
        };
        let has_body = !matches!(unsent, Unsent::Nothing);
        let flags = if has_body { 0 } else { flag::END_STREAM };
        frame::complete_headers(id, flags, start, out);
        self.unsent_bodies += usize::from(has_body);
        self.streams.push_back(Stream {
            id,
            request,
            is_head: message.is_head,
            at,
            has_left: false,
            is_begun: false,
            head: None,
            body_bytes: 0,
            bytes_in: 0,
            bytes_out: (self.out.bytes.len() - start) as u64,
            window: self.server.window,
            unacknowledged: 0,
            unsent,
        });
    }

    /// What waits to be sent, with as much of the bodies as the server takes now. `messages`: those
    /// of all targets. `more`: told how many bytes of a request that has left were added.
    pub fn unsent(
        &mut self,
        messages: &[Http2Request],
        more: impl FnMut(&Pending, usize),
    ) -> &[u8] {
        if self.unsent_bodies > 0 && !self.has_ended {
            self.write_bodies(messages, more);
        }
        self.out.unsent()
    }

    fn write_bodies(&mut self, messages: &[Http2Request], mut more: impl FnMut(&Pending, usize)) {
        for stream in &mut self.streams {
            let (body, at) = match &stream.unsent {
                Unsent::Nothing => continue,
                Unsent::Own(body) => (body.as_slice(), 0),
                Unsent::Same(at) => {
                    let message = &messages[stream.request.target as usize];
                    (message.same_body().unwrap_or_default(), *at)
                }
            };
            let (mut rest, before) = (&body[at..], self.out.bytes.len());
            while !self.out.is_full() && !rest.is_empty() {
                let room = stream.window.min(self.window).max(0) as usize;
                let length = rest.len().min(room).min(LONGEST_PAYLOAD);
                if length == 0 {
                    break;
                }
                let (piece, behind) = rest.split_at(length);
                let flags = if behind.is_empty() { flag::END_STREAM } else { 0 };
                frame::write(kind::DATA, flags, stream.id, piece, &mut self.out.bytes);
                stream.window -= length as i64;
                self.window -= length as i64;
                rest = behind;
            }
            let added = self.out.bytes.len() - before;
            stream.bytes_out += added as u64;
            if stream.has_left && added > 0 {
                more(&stream.request, added);
            }
            let taken = body.len() - at - rest.len();
            if rest.is_empty() {
                stream.unsent = Unsent::Nothing;
                self.unsent_bodies -= 1;
            }
            match &mut stream.unsent {
                Unsent::Own(body) => drop(body.drain(..taken)),
                Unsent::Same(at) => *at += taken,
                Unsent::Nothing => {}
            }
        }
    }

    /// Sending begins now for the requests that it has not been tried for.
    pub fn begin(&mut self, now: Nanos) {
        let new = self.streams.iter_mut().rev().take_while(|stream| !stream.is_begun);
        for stream in new {
            stream.is_begun = true;
            stream.request.begun = now;
        }
    }

    /// So many of the unsent bytes have been sent at `now`. `left`: told each request whose first
    /// byte was among them, how many bytes it has so far, and whether it had never been sent.
    pub fn sent(&mut self, count: usize, now: Nanos, mut left: impl FnMut(&Pending, usize, bool)) {
        self.out.advance(count);
        let waiting = self.streams.iter_mut().rev().take_while(|stream| !stream.has_left);
        for stream in waiting.filter(|stream| stream.at < self.out.sent) {
            stream.has_left = true;
            let is_first = stream.request.sent.is_none();
            stream.request.sent.get_or_insert(now);
            left(&stream.request, stream.bytes_out as usize, is_first);
        }
    }

    /// Takes the next bytes from the server, in whatever pieces they come, and hands out the
    /// streams that end with them. Cookies that replies set go to their clients' `jars`, if there
    /// are any.
    pub fn receive(&mut self, mut bytes: &[u8], jars: &mut [Jar], ended: &mut Vec<EndedStream>) {
        if self.has_ended {
            return;
        }
        self.sent_when_heard = self.out.sent;
        let mut cutter = std::mem::take(&mut self.cutter);
        let outcome = loop {
            let outcome = match cutter.next(&mut bytes) {
                Ok(None) => break Ok(()),
                Ok(Some(Piece::Data(data))) => self.take_data(data, ended),
                Ok(Some(Piece::Frame(head, payload))) => {
                    self.take_frame(head, payload, jars, ended)
                }
                Err(reason) => Err(reason),
            };
            if outcome.is_err() {
                break outcome;
            }
        };
        self.cutter = cutter;
        if let Err(reason) = outcome {
            self.fail(reason, ended);
        }
    }

    /// The server breaks the rules: it is told so, and nothing more of it is believed.
    fn fail(&mut self, reason: Reason, ended: &mut Vec<EndedStream>) {
        let payload = [[0; 4], reason.0.to_be_bytes()].concat();
        frame::write(kind::GOAWAY, 0, 0, &payload, &mut self.out.bytes);
        self.end(RequestError::Malformed, ended);
    }

    /// The connection has ended in this way, and with it all that was under way.
    pub fn end(&mut self, error: RequestError, ended: &mut Vec<EndedStream>) {
        self.has_ended = true;
        let is_gone = matches!(error, RequestError::Reset | RequestError::ClosedEarly);
        let is_amid_reply = self.block.is_some() || self.cutter.is_amid_frame();
        let was_stale = is_gone && self.has_answered && !is_amid_reply;
        ended.extend(self.streams.drain(..).map(|stream| match stream.bytes_in {
            0 if was_stale => stream.ended(Err(error), Resend::IfHarmless),
            _ => stream.ended(Err(error), Resend::Never),
        }));
    }

    /// Gives up the requests for which the condition holds, with this error, and resets their
    /// streams.
    pub fn give_up(
        &mut self,
        error: RequestError,
        condition: impl Fn(&Pending) -> bool,
        ended: &mut Vec<EndedStream>,
    ) {
        let given_up = self.streams.iter().filter(|stream| condition(&stream.request));
        let given_up: Vec<(u32, u64)> = given_up.map(|stream| (stream.id, stream.at)).collect();
        // Where nobody has said a word since one was sent, there may be nobody.
        self.is_leaving |= given_up.iter().any(|(_, at)| *at >= self.sent_when_heard);
        for (id, _) in given_up {
            // A server that takes nothing need not be told.
            let _ = self.reset(id, Reason::CANCEL);
            self.close(id, Err(error), Resend::Never, ended);
        }
    }

    /// A stream that is under way; `None` for one that is over.
    ///
    /// # Errors
    /// There never was one, as far as the server can know.
    fn stream(&mut self, id: u32) -> Result<Option<&mut Stream>, Reason> {
        if id.is_multiple_of(2) || id >= self.next_stream {
            return Err(Reason::PROTOCOL_ERROR);
        }
        let Some(at) = self.place(id) else { return Ok(None) };
        let stream = &mut self.streams[at];
        if stream.has_left { Ok(Some(stream)) } else { Err(Reason::PROTOCOL_ERROR) }
    }

    /// Mostly the oldest is answered first.
    fn place(&self, id: u32) -> Option<usize> {
        match self.streams.front() {
            Some(first) if first.id == id => Some(0),
            _ => self.streams.binary_search_by_key(&id, |stream| stream.id).ok(),
        }
    }

    /// A stream has ended.
    fn close(
        &mut self,
        id: u32,
        result: Result<u16, RequestError>,
        resend: Resend,
        ended: &mut Vec<EndedStream>,
    ) {
        let Some(stream) = self.place(id).and_then(|at| self.streams.remove(at)) else { return };
        self.unsent_bodies -= usize::from(!matches!(stream.unsent, Unsent::Nothing));
        ended.push(stream.ended(result, resend));
    }

    /// The server has said all of a reply.
    fn complete(&mut self, id: u32, ended: &mut Vec<EndedStream>) -> Result<(), Reason> {
        let Some(stream) = self.stream(id)? else { return Ok(()) };
        let is_sent = matches!(stream.unsent, Unsent::Nothing);
        let Some(status) = stream.status() else { return self.refuse(id, ended) };
        if !is_sent {
            // It doesn't want the rest of the request.
            self.reset(id, Reason::CANCEL)?;
        }
        self.has_answered = true;
        self.close(id, Ok(status), Resend::Never, ended);
        Ok(())
    }

    /// A reply that breaks the rules ends its stream alone.
    fn refuse(&mut self, id: u32, ended: &mut Vec<EndedStream>) -> Result<(), Reason> {
        self.reset(id, Reason::PROTOCOL_ERROR)?;
        self.close(id, Err(RequestError::Malformed), Resend::Never, ended);
        Ok(())
    }

    fn reset(&mut self, id: u32, reason: Reason) -> Result<(), Reason> {
        self.answer(kind::RST_STREAM, 0, id, &reason.0.to_be_bytes())
    }

    /// Says something that the server makes us say.
    ///
    /// # Errors
    /// It has not taken what was said before.
    fn answer(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Result<(), Reason> {
        if self.out.is_full() {
            return Err(Reason::ENHANCE_YOUR_CALM);
        }
        frame::write(kind, flags, stream, payload, &mut self.out.bytes);
        Ok(())
    }

    fn take_data(&mut self, data: DataPiece, ended: &mut Vec<EndedStream>) -> Result<(), Reason> {
        self.check_order(kind::DATA, 0, data.stream)?;
        if let Some(count) = given_back(&mut self.unacknowledged, data.counted) {
            self.answer(kind::WINDOW_UPDATE, 0, 0, &count.to_be_bytes())?;
        }
        let Some(stream) = self.stream(data.stream)? else { return Ok(()) };
        if stream.head.is_none() {
            return self.refuse(data.stream, ended);
        }
        let head_bytes = if data.counted > 0 || data.taken == 0 { HEAD_BYTES } else { 0 };
        stream.bytes_in += (head_bytes + data.taken) as u64;
        stream.body_bytes += data.body as u64;
        if data.is_end {
            return self.complete(data.stream, ended);
        }
        if let Some(count) = given_back(&mut stream.unacknowledged, data.counted) {
            self.answer(kind::WINDOW_UPDATE, 0, data.stream, &count.to_be_bytes())?;
        }
        Ok(())
    }

    /// A server speaks of its settings first, and of nothing else within a header block.
    fn check_order(&self, kind: u8, flags: u8, stream: u32) -> Result<(), Reason> {
        let is_first = !self.server.are_known;
        let is_settings = kind == kind::SETTINGS && flags & flag::ACK == 0;
        let goes_on = kind == kind::CONTINUATION;
        let is_awaited = match &self.block {
            Some(block) => goes_on && stream == block.stream,
            None => !goes_on,
        };
        if is_awaited && (!is_first || is_settings) { Ok(()) } else { Err(Reason::PROTOCOL_ERROR) }
    }

    fn take_frame(
        &mut self,
        head: FrameHead,
        payload: &[u8],
        jars: &mut [Jar],
        ended: &mut Vec<EndedStream>,
    ) -> Result<(), Reason> {
        let FrameHead { flags, stream, length, .. } = head;
        self.check_order(head.kind, flags, stream)?;
        match head.kind {
            kind::HEADERS => {
                let block = frame::header_block(head, payload)?;
                let (ends_stream, frame_bytes) = (head.has(flag::END_STREAM), HEAD_BYTES + length);
                if head.has(flag::END_HEADERS) {
                    return self.take_head(stream, ends_stream, block, frame_bytes, jars, ended);
                }
                self.stream(stream)?;
                let bytes = block.to_vec();
                self.block = Some(Block { stream, ends_stream, bytes, frame_bytes });
                Ok(())
            }
            kind::CONTINUATION => self.go_on(head, payload, jars, ended),
            kind::RST_STREAM => self.take_reset(stream, payload, ended),
            kind::SETTINGS => self.take_settings(head, payload),
            kind::PING => match (stream, length) {
                (0, 8) if head.has(flag::ACK) => Ok(()),
                (0, 8) => self.answer(kind::PING, flag::ACK, 0, payload),
                (0, _) => Err(Reason::FRAME_SIZE_ERROR),
                _ => Err(Reason::PROTOCOL_ERROR),
            },
            kind::GOAWAY => self.take_goodbye(stream, payload, ended),
            kind::WINDOW_UPDATE => self.widen(stream, payload, ended),
            kind::PRIORITY if stream == 0 => Err(Reason::PROTOCOL_ERROR),
            kind::PRIORITY if length != 5 => Err(Reason::FRAME_SIZE_ERROR),
            // We have said that we take none.
            kind::PUSH_PROMISE => Err(Reason::PROTOCOL_ERROR),
            // PRIORITY advises servers; what is unknown may be passed over (section 4.1).
            _ => Ok(()),
        }
    }

    /// A further piece of a header block.
    fn go_on(
        &mut self,
        head: FrameHead,
        payload: &[u8],
        jars: &mut [Jar],
        ended: &mut Vec<EndedStream>,
    ) -> Result<(), Reason> {
        let mut block = self.block.take().ok_or(Reason::PROTOCOL_ERROR)?;
        block.bytes.extend_from_slice(payload);
        block.frame_bytes += HEAD_BYTES + payload.len();
        if block.bytes.len() > LONGEST_BLOCK || block.frame_bytes > 2 * LONGEST_BLOCK {
            return Err(Reason::ENHANCE_YOUR_CALM);
        }
        if !head.has(flag::END_HEADERS) {
            self.block = Some(block);
            return Ok(());
        }
        let Block { stream, ends_stream, bytes, frame_bytes } = block;
        self.take_head(stream, ends_stream, &bytes, frame_bytes, jars, ended)
    }

    /// A whole header block: a reply's head, or its trailers.
    fn take_head(
        &mut self,
        id: u32,
        ends_stream: bool,
        block: &[u8],
        frame_bytes: usize,
        jars: &mut [Jar],
        ended: &mut Vec<EndedStream>,
    ) -> Result<(), Reason> {
        let client = self.stream(id)?.map(|stream| stream.request.client as usize);
        let jar = client.and_then(|client| jars.get_mut(client));
        // What has been given up is read all the same, so that the next block can be.
        let head = match jar {
            Some(jar) => self.decoder.decode(block, |cookie| jar.set(cookie)),
            None => self.decoder.decode(block, |_| {}),
        };
        let head = head.map_err(|_| Reason::COMPRESSION_ERROR)?;
        let Some(stream) = self.stream(id)? else { return Ok(()) };
        stream.bytes_in += frame_bytes as u64;
        let is_interim = (100..200).contains(&head.status);
        let is_in_order = match stream.head {
            None => head.status != 0 && !(is_interim && ends_stream),
            // Trailers.
            Some(_) => head.status == 0 && ends_stream,
        };
        if head.is_malformed || !is_in_order {
            return self.refuse(id, ended);
        }
        if stream.head.is_none() && !is_interim {
            stream.head = Some(head);
        }
        if ends_stream { self.complete(id, ended) } else { Ok(()) }
    }

    fn take_reset(
        &mut self,
        id: u32,
        payload: &[u8],
        ended: &mut Vec<EndedStream>,
    ) -> Result<(), Reason> {
        let reason = Reason(frame::number(payload)?);
        self.stream(id)?;
        let is_refused = reason == Reason::REFUSED_STREAM;
        let resend = if is_refused { Resend::Always } else { Resend::Never };
        self.close(id, Err(error_of(reason)), resend, ended);
        Ok(())
    }

    fn take_settings(&mut self, head: FrameHead, payload: &[u8]) -> Result<(), Reason> {
        if head.stream != 0 {
            return Err(Reason::PROTOCOL_ERROR);
        }
        if head.has(flag::ACK) {
            return if payload.is_empty() { Ok(()) } else { Err(Reason::FRAME_SIZE_ERROR) };
        }
        let before = self.server.window;
        self.server.take(payload, |table_bytes| self.encoder.limit(table_bytes))?;
        // Also for what is under way (section 6.9.2).
        let difference = self.server.window - before;
        for stream in &mut self.streams {
            stream.window += difference;
            if stream.window > LARGEST_WINDOW {
                return Err(Reason::FLOW_CONTROL_ERROR);
            }
        }
        self.answer(kind::SETTINGS, flag::ACK, 0, &[])
    }

    /// The server takes no more requests; those that it has not begun with are over.
    fn take_goodbye(
        &mut self,
        stream: u32,
        payload: &[u8],
        ended: &mut Vec<EndedStream>,
    ) -> Result<(), Reason> {
        let [a, b, c, d, reason @ ..] = payload else { return Err(Reason::FRAME_SIZE_ERROR) };
        let last = u32::from_be_bytes([a & 0x7f, *b, *c, *d]);
        let reason = reason.first_chunk().ok_or(Reason::FRAME_SIZE_ERROR)?;
        if stream != 0 {
            return Err(Reason::PROTOCOL_ERROR);
        }
        let error = error_of(Reason(u32::from_be_bytes(*reason)));
        self.is_leaving = true;
        while let Some(id) = self.streams.back().map(|stream| stream.id).filter(|id| *id > last) {
            self.close(id, Err(error), Resend::Always, ended);
        }
        Ok(())
    }

    /// The server takes more of bodies.
    fn widen(
        &mut self,
        id: u32,
        payload: &[u8],
        ended: &mut Vec<EndedStream>,
    ) -> Result<(), Reason> {
        // The highest bit has no meaning.
        let more = i64::from(frame::number(payload)? & (u32::MAX >> 1));
        if id == 0 {
            self.window += more;
            return match more {
                0 => Err(Reason::PROTOCOL_ERROR),
                _ if self.window > LARGEST_WINDOW => Err(Reason::FLOW_CONTROL_ERROR),
                _ => Ok(()),
            };
        }
        let Some(stream) = self.stream(id)? else { return Ok(()) };
        stream.window += more;
        if more == 0 || stream.window > LARGEST_WINDOW {
            return self.refuse(id, ended);
        }
        Ok(())
    }
}

/// Counts bytes of bodies; half a window of them is given back at once.
fn given_back(unacknowledged: &mut u32, bytes: usize) -> Option<u32> {
    *unacknowledged += bytes as u32;
    (*unacknowledged >= WINDOW / 2).then(|| std::mem::take(unacknowledged))
}
