//! What the header blocks of replies say.
//!
//! In: whole blocks, in the order in which they came. Out: of each what matters to us. Between two
//! ticks of their `Date` most of a server's blocks are the same to the byte, and comparing bytes is
//! cheaper than reading fields: what the last block meant, and which entries it made, is kept.

use std::collections::VecDeque;
use std::rc::Rc;

use super::{ENTRY_BYTES, FIRST_DYNAMIC, TABLE_BYTES, Unreadable, huffman, number, static_table};
use crate::load::reply::Marks;

/// Longer blocks are not remembered.
const LONGEST_REMEMBERED: usize = 2048;

/// Most bytes of the fields of one block, counted as entries of a table are. An entry of the table
/// takes one byte to name, so that a block alone could stand for a thousand times its length.
pub const LARGEST_HEAD: usize = 256 << 10;

/// The part of a head that matters to us.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Head {
    /// 0 when there is none, which only trailers may have.
    pub status: u16,
    pub content_length: Option<u64>,
    pub marks: Marks,
    /// It breaks the rules for what a head may say (RFC 9113, section 8).
    pub is_malformed: bool,
    sets_cookies: bool,
    has_field: bool,
}

/// What a name has to do with us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meaning {
    Status,
    ContentLength,
    SetCookie,
    /// Of a cache or a proxy on the way.
    Mark,
    /// No reply may have it.
    Forbidden,
    None,
}

impl Meaning {
    fn of(name: &[u8]) -> Self {
        match name {
            b":status" => Self::Status,
            b"content-length" => Self::ContentLength,
            b"set-cookie" => Self::SetCookie,
            b"connection" | b"keep-alive" | b"proxy-connection" | b"transfer-encoding"
            | b"upgrade" => Self::Forbidden,
            [] | [b':', ..] => Self::Forbidden,
            _ if name.iter().any(u8::is_ascii_uppercase) => Self::Forbidden,
            _ if Marks::are_told_by(name) => Self::Mark,
            _ => Self::None,
        }
    }
}

/// A field of the dynamic table.
#[derive(Debug)]
struct Entry {
    /// Its name, and behind that its value.
    text: Box<[u8]>,
    name_length: usize,
}

impl Entry {
    fn bytes(&self) -> usize {
        self.text.len() + ENTRY_BYTES
    }

    fn field(&self) -> (&[u8], &[u8]) {
        self.text.split_at(self.name_length)
    }
}

/// The server's dynamic table as its blocks have made it.
#[derive(Debug)]
pub struct Decoder {
    /// The newest first.
    entries: VecDeque<Rc<Entry>>,
    bytes: usize,
    most_bytes: usize,
    keeps_cookies: bool,
    /// The name and value at hand.
    text: Vec<u8>,
    last: Last,
}

/// The last block.
#[derive(Debug, Default)]
struct Last {
    /// Empty when it could mean something else if it came again.
    bytes: Vec<u8>,
    head: Head,
    /// Those that it made, in order.
    entries: Vec<Rc<Entry>>,
    /// It names an entry of the dynamic table.
    uses_table: bool,
    /// It changes more than entries.
    has_effects: bool,
}

impl Decoder {
    /// `keeps_cookies`: cookies that replies set are wanted.
    pub fn new(keeps_cookies: bool) -> Self {
        Self {
            entries: VecDeque::new(),
            bytes: 0,
            most_bytes: TABLE_BYTES,
            keeps_cookies,
            text: Vec::new(),
            last: Last::default(),
        }
    }

    /// Reads a block, and hands out the values of its `Set-Cookie` fields, if they are wanted.
    ///
    /// # Errors
    /// It can't be read, or is longer than any that makes sense.
    #[inline]
    pub fn decode(
        &mut self,
        block: &[u8],
        set_cookie: impl FnMut(&[u8]),
    ) -> Result<Head, Unreadable> {
        if self.last.bytes.is_empty() || block != self.last.bytes {
            return self.read_block(block, set_cookie);
        }
        for at in 0..self.last.entries.len() {
            self.insert(Rc::clone(&self.last.entries[at]));
        }
        Ok(self.last.head)
    }

    fn read_block(
        &mut self,
        block: &[u8],
        mut set_cookie: impl FnMut(&[u8]),
    ) -> Result<Head, Unreadable> {
        let (mut head, mut rest, mut head_bytes) = (Head::default(), block, 0);
        self.last.bytes.clear();
        self.last.entries.clear();
        (self.last.uses_table, self.last.has_effects) = (false, false);
        while let Some(first) = rest.first() {
            if first & 0xe0 == 0x20 {
                if head_bytes > 0 {
                    return Err(Unreadable);
                }
                self.resize(number::read(5, &mut rest)?)?;
                self.last.has_effects = true;
                continue;
            }
            let bytes = if first & 0x80 != 0 {
                let index = number::read(7, &mut rest)?;
                self.last.uses_table |= index >= FIRST_DYNAMIC;
                let (name, value) = self.field(index)?;
                let meaning = Meaning::of(name);
                head.take(meaning, name, value);
                if meaning == Meaning::SetCookie && self.keeps_cookies {
                    set_cookie(value);
                }
                name.len() + value.len()
            } else {
                let is_kept = first & 0x40 != 0;
                self.read_literal(is_kept, &mut rest, &mut head, &mut set_cookie)?
            };
            head_bytes += bytes + ENTRY_BYTES;
            if head_bytes > LARGEST_HEAD {
                return Err(Unreadable);
            }
        }
        self.remember(block, head);
        Ok(head)
    }

    /// A block that names entries and makes some would name others if it came again. Cookies are
    /// handed out each time that they are set.
    fn remember(&mut self, block: &[u8], head: Head) {
        let names_others = self.last.uses_table && !self.last.entries.is_empty();
        let sets_cookies = head.sets_cookies && self.keeps_cookies;
        let is_long = block.len() > LONGEST_REMEMBERED;
        if !names_others && !sets_cookies && !is_long && !self.last.has_effects {
            self.last.bytes.extend_from_slice(block);
            self.last.head = head;
        }
    }

    /// A field that stands in the block itself, and becomes an entry if it `is_kept`. Returns its
    /// bytes.
    fn read_literal(
        &mut self,
        is_kept: bool,
        rest: &mut &[u8],
        head: &mut Head,
        set_cookie: &mut impl FnMut(&[u8]),
    ) -> Result<usize, Unreadable> {
        let index = number::read(if is_kept { 6 } else { 4 }, rest)?;
        self.last.uses_table |= index >= FIRST_DYNAMIC;
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        match index {
            0 => read_text(rest, &mut text)?,
            _ => text.extend_from_slice(self.field(index)?.0),
        }
        let name_length = text.len();
        let meaning = Meaning::of(&text);
        let is_wanted = match meaning {
            Meaning::None | Meaning::Forbidden => false,
            Meaning::SetCookie => self.keeps_cookies,
            Meaning::Status | Meaning::ContentLength | Meaning::Mark => true,
        };
        let mut passed_over = 0;
        if is_wanted || is_kept {
            read_text(rest, &mut text)?;
        } else {
            passed_over = take_text(rest)?.0.len();
        }
        let (name, value) = text.split_at(name_length);
        head.take(meaning, name, value);
        if meaning == Meaning::SetCookie && is_wanted {
            set_cookie(value);
        }
        let bytes = text.len() + passed_over;
        if is_kept {
            let entry = Rc::new(Entry { text: text.as_slice().into(), name_length });
            self.insert(Rc::clone(&entry));
            self.last.entries.push(entry);
        }
        self.text = text;
        Ok(bytes)
    }

    fn field(&self, index: usize) -> Result<(&[u8], &[u8]), Unreadable> {
        match index.checked_sub(FIRST_DYNAMIC) {
            None => static_table::field(index).ok_or(Unreadable),
            Some(at) => self.entries.get(at).map(|entry| entry.field()).ok_or(Unreadable),
        }
    }

    /// One that is larger than the table empties it (RFC 7541, section 4.4).
    fn insert(&mut self, entry: Rc<Entry>) {
        let bytes = entry.bytes();
        self.evict(self.most_bytes.saturating_sub(bytes));
        if bytes <= self.most_bytes {
            self.bytes += bytes;
            self.entries.push_front(entry);
        }
    }

    fn evict(&mut self, most_bytes: usize) {
        while self.bytes > most_bytes
            && let Some(entry) = self.entries.pop_back()
        {
            self.bytes -= entry.bytes();
        }
    }

    fn resize(&mut self, most_bytes: usize) -> Result<(), Unreadable> {
        if most_bytes > TABLE_BYTES {
            return Err(Unreadable);
        }
        self.most_bytes = most_bytes;
        self.evict(most_bytes);
        Ok(())
    }
}

impl Head {
    fn take(&mut self, meaning: Meaning, name: &[u8], value: &[u8]) {
        match meaning {
            Meaning::Status => {
                let is_misplaced = self.status != 0 || self.has_field;
                self.status = status(value).unwrap_or_default();
                self.is_malformed |= is_misplaced || self.status == 0;
                return;
            }
            Meaning::ContentLength => {
                let length = length(value);
                let is_other = self.content_length.is_some_and(|before| Some(before) != length);
                self.is_malformed |= is_other || length.is_none();
                self.content_length = length;
            }
            Meaning::Mark => self.marks.notice(name, value),
            Meaning::Forbidden => self.is_malformed = true,
            Meaning::SetCookie => self.sets_cookies = true,
            Meaning::None => {}
        }
        self.has_field = true;
    }
}

/// Three digits; HTTP/2 has no 101.
fn status(value: &[u8]) -> Option<u16> {
    let [a @ b'1'..=b'9', b, c] = value else { return None };
    let number = |digit: &u8| u16::from(digit - b'0');
    let are_digits = b.is_ascii_digit() && c.is_ascii_digit();
    let status = are_digits.then(|| 100 * number(a) + 10 * number(b) + number(c))?;
    (status != 101).then_some(status)
}

fn length(value: &[u8]) -> Option<u64> {
    let is_number = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(value).ok().filter(|_| is_number)?.parse().ok()
}

/// Takes a text as it was sent, and whether that is Huffman's code of it.
fn take_text<'a>(rest: &mut &'a [u8]) -> Result<(&'a [u8], bool), Unreadable> {
    let is_coded = rest.first().is_some_and(|first| first & 0x80 != 0);
    let length = number::read(7, rest)?;
    let (text, behind) = rest.split_at_checked(length).ok_or(Unreadable)?;
    *rest = behind;
    Ok((text, is_coded))
}

/// Takes a text, and appends it.
fn read_text(rest: &mut &[u8], out: &mut Vec<u8>) -> Result<(), Unreadable> {
    match take_text(rest)? {
        (text, true) => huffman::decode(text, out),
        (text, false) => {
            out.extend_from_slice(text);
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(text: &str) -> Vec<u8> {
        let digits: Vec<char> = text.chars().filter(|c| !c.is_whitespace()).collect();
        let byte = |pair: &[char]| pair.iter().collect::<String>();
        digits.chunks(2).map(|pair| u8::from_str_radix(&byte(pair), 16).unwrap()).collect()
    }

    fn read(decoder: &mut Decoder, block: &[u8]) -> (Result<Head, Unreadable>, Vec<String>) {
        let mut cookies = Vec::new();
        let keep = |value: &[u8]| cookies.push(String::from_utf8(value.to_vec()).unwrap());
        let head = decoder.decode(block, keep);
        (head, cookies)
    }

    fn head(block: &[u8]) -> Head {
        Decoder::new(true).decode(block, |_| {}).unwrap()
    }

    /// A field in full, with a name of its own.
    fn literal(name: &str, value: &str) -> Vec<u8> {
        let text = |text: &str| [&[text.len() as u8], text.as_bytes()].concat();
        [vec![0], text(name), text(value)].concat()
    }

    fn entries(decoder: &Decoder) -> Vec<String> {
        let text = |entry: &Rc<Entry>| {
            let (name, value) = entry.field();
            format!("{}: {}", String::from_utf8_lossy(name), String::from_utf8_lossy(value))
        };
        decoder.entries.iter().map(text).collect()
    }

    /// RFC 7541, appendix C.5 and C.6: three replies on one connection, in a table of 256 bytes.
    #[test]
    fn the_standards_replies_leave_the_standards_table() {
        let plain = [
            "4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 \
             303a 3133 3a32 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 \
             6f6d",
            "4803 3330 37c1 c0bf",
            "88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 \
             5a04 677a 6970 7738 666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 \
             5745 4f49 553b 206d 6178 2d61 6765 3d33 3630 303b 2076 6572 7369 6f6e 3d31",
        ];
        let coded = [
            "4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b \
             ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3",
            "4883 640e ffc1 c0bf",
            "88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad \
             94e7 821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 \
             65c0 03ed 4ee5 b106 3d50 07",
        ];
        for blocks in [plain, coded] {
            let mut decoder = Decoder::new(true);
            decoder.resize(256).unwrap();
            let [first, second, third] = blocks.map(|block| read(&mut decoder, &hex(block)));
            assert_eq!(first.0.unwrap().status, 302);
            assert_eq!(second.0.unwrap().status, 307);
            assert_eq!(third.0.unwrap().status, 200);
            let cookie = "foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1";
            assert_eq!(third.1, [cookie]);
            assert_eq!(
                entries(&decoder),
                [
                    format!("set-cookie: {cookie}"),
                    "content-encoding: gzip".into(),
                    "date: Mon, 21 Oct 2013 20:13:22 GMT".into()
                ]
            );
            assert_eq!(decoder.bytes, 215);
        }
    }

    #[test]
    fn a_repeated_block_means_what_it_meant_until_the_table_changes() {
        let mut decoder = Decoder::new(false);
        let kept = [&[0x48, 3][..], b"404"].concat();
        assert_eq!(read(&mut decoder, &kept).0.unwrap().status, 404);
        for _ in 0..2 {
            assert_eq!(read(&mut decoder, &[0xbe]).0.unwrap().status, 404);
        }
        assert_eq!(decoder.last.bytes, [0xbe]);
        let other = [&[0x48, 3][..], b"503"].concat();
        assert_eq!(read(&mut decoder, &other).0.unwrap().status, 503);
        assert_eq!(read(&mut decoder, &[0xbe]).0.unwrap().status, 503, "the newest entry");
        assert_eq!(read(&mut decoder, &[0xbf]).0.unwrap().status, 404);
        assert_eq!(read(&mut decoder, &[0x20, 0x88]).0.unwrap().status, 200);
        assert_eq!(read(&mut decoder, &[0xbe]).0, Err(Unreadable), "the table was emptied");
    }

    #[test]
    fn a_repeated_block_makes_its_entries_again() {
        let block = [&[0x88, 0x48, 3][..], b"404", &literal("x", "y")].concat();
        let made = [0x88, 0x40, 1, b'n', 1, b'v', 0x40, 1, b'm', 1, b'w'];
        let (mut decoder, mut reader) = (Decoder::new(false), Decoder::new(false));
        for n in 0..200 {
            assert_eq!(decoder.decode(&made, |_| {}), reader.read_block(&made, |_| {}));
            assert_eq!((entries(&decoder), decoder.bytes), (entries(&reader), reader.bytes), "{n}");
        }
        assert_eq!(entries(&decoder)[..3], ["m: w", "n: v", "m: w"]);
        assert!(head(&block).is_malformed, "two statuses");
        // One that names an entry and makes another means something else the next time.
        let names = [0xbe, 0x48, 3, b'2', b'0', b'4'];
        assert!(read(&mut decoder, &names).0.unwrap().is_malformed, "a field, then a status");
        assert!(decoder.last.bytes.is_empty());
    }

    #[test]
    fn cookies_are_handed_out_each_time() {
        let block = [vec![0x88], literal("set-cookie", "a=1"), literal("set-cookie", "b=2")];
        let block = block.concat();
        let mut decoder = Decoder::new(true);
        for _ in 0..2 {
            assert_eq!(read(&mut decoder, &block).1, ["a=1", "b=2"]);
        }
        let mut indifferent = Decoder::new(false);
        assert_eq!(read(&mut indifferent, &block).1, [""; 0]);
    }

    #[test]
    fn heads_that_break_the_rules_are_told() {
        let ok = |fields: &[Vec<u8>]| !head(&fields.concat()).is_malformed;
        let good = literal(":status", "200");
        assert!(ok(&[good.clone(), literal("x", "y")]));
        assert!(ok(&[
            good.clone(),
            literal("content-length", "7"),
            literal("content-length", "7")
        ]));
        for bad in [
            vec![literal("x", "y"), good.clone()],
            vec![good.clone(), good.clone()],
            vec![literal(":status", "20")],
            vec![literal(":status", "101")],
            vec![literal(":status", "099")],
            vec![good.clone(), literal(":path", "/")],
            vec![good.clone(), literal("X", "y")],
            vec![good.clone(), literal("", "y")],
            vec![good.clone(), literal("connection", "close")],
            vec![good.clone(), literal("transfer-encoding", "chunked")],
            vec![good.clone(), literal("content-length", "+7")],
            vec![good.clone(), literal("content-length", "7"), literal("content-length", "8")],
        ] {
            assert!(!ok(&bad), "{bad:?}");
        }
    }

    #[test]
    fn caches_and_proxies_are_noticed() {
        let block = [vec![0x88], literal("x-cache", "HIT"), literal("via", "1.1 proxy")].concat();
        assert_eq!(head(&block).marks, Marks { is_cached: true, has_via: true });
        assert_eq!(head(&[0x88]).marks, Marks::default());
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        let long = [vec![0x40, 1, b'x', 0x7f, 0x80, 0x1e], vec![b'y'; 3967]].concat();
        let many = [long, vec![0xbe; 1 << 16]].concat();
        for (what, block) in [
            ("index 0", vec![0x80]),
            ("no such entry", vec![0xbe]),
            ("a text that ends early", vec![0x00, 5, b'x']),
            ("a table larger than was agreed on", vec![0x3f, 0xe2, 0x1f]),
            ("a change of the table behind a field", vec![0x88, 0x20]),
            ("a bomb", many),
        ] {
            assert_eq!(read(&mut Decoder::new(true), &block).0, Err(Unreadable), "{what}");
        }
        let largest = [0x3f, 0xe1, 0x1f, 0x88];
        assert_eq!(head(&largest).status, 200);
    }

    #[test]
    fn an_entry_larger_than_the_table_empties_it() {
        let mut decoder = Decoder::new(false);
        read(&mut decoder, &[&[0x48, 3][..], b"404"].concat()).0.unwrap();
        let large = [vec![0x40, 1, b'x', 0x7f, 0x81, 0x1f], vec![b'y'; 127 + 1 + 31 * 128]];
        read(&mut decoder, &large.concat()).0.unwrap();
        assert_eq!((decoder.entries.len(), decoder.bytes), (0, 0));
    }
}
