//! Header blocks of requests.
//!
//! Fields that are the same in many requests are sent once a connection; from then on a byte names
//! them. Which ones is chosen before the load, and all of them have room in the server's table, so
//! that none is ever evicted. Everything else is written in full, and without Huffman's code, which
//! only saves bytes.

use super::{ENTRY_BYTES, FIRST_DYNAMIC, TABLE_BYTES, number, static_table};

/// A field in full, which becomes an entry of the server's table.
const KEPT: (u8, u32) = (0x40, 6);

/// A field in full, for this block only.
const UNKEPT: (u8, u32) = (0x00, 4);

/// A field that is the same whenever it is sent.
#[derive(Debug)]
pub struct Field {
    name: String,
    value: Vec<u8>,
    /// As it is written where the server's table has it not, and is not to have it.
    in_full: Vec<u8>,
    /// Its number among the fields that the server's table is to have.
    slot: Option<u8>,
}

impl Field {
    /// `name`: in lower case.
    pub fn new(name: &str, value: &[u8]) -> Self {
        let text = std::str::from_utf8(value).unwrap_or_default();
        let mut in_full = Vec::new();
        match static_table::index_of(name, text).filter(|_| !text.is_empty()) {
            Some(index) => number::write(0x80, 7, index, &mut in_full),
            None => {
                write_name(name, &mut in_full);
                write_text(value, &mut in_full);
            }
        }
        Self { name: name.into(), value: value.to_vec(), in_full, slot: None }
    }

    fn bytes(&self) -> usize {
        self.name.len() + self.value.len() + ENTRY_BYTES
    }

    /// One byte says it already.
    fn is_static(&self) -> bool {
        self.in_full.len() == 1
    }
}

/// Chooses the fields that the server's table is to have: those that most requests have first, as
/// long as there is room. `fields`: each with the weight of its request. Returns how many there
/// are.
pub fn share_table<'a>(fields: impl Iterator<Item = (u32, &'a mut Field)>) -> u8 {
    let mut candidates: Vec<(u64, Vec<&mut Field>)> = Vec::new();
    let mut known = std::collections::HashMap::new();
    for (weight, field) in fields.filter(|(_, field)| !field.is_static()) {
        let at = *known.entry(field.in_full.clone()).or_insert(candidates.len());
        if at == candidates.len() {
            candidates.push((0, Vec::new()));
        }
        candidates[at].0 += u64::from(weight);
        candidates[at].1.push(field);
    }
    candidates.sort_by_key(|(weight, _)| std::cmp::Reverse(*weight));
    let (mut slots, mut bytes) = (0, 0);
    for (_, fields) in candidates {
        let all = bytes + fields.first().map_or(0, |field| field.bytes());
        if all <= TABLE_BYTES {
            bytes = all;
            fields.into_iter().for_each(|field| field.slot = Some(slots));
            slots += 1;
        }
    }
    slots
}

/// Writes the name of a field whose value follows.
pub fn write_name(name: &str, out: &mut Vec<u8>) {
    write_name_as(UNKEPT, name, out);
}

fn write_name_as((first, bits): (u8, u32), name: &str, out: &mut Vec<u8>) {
    match static_table::index_of_name(name) {
        Some(index) => number::write(first, bits, index, out),
        None => {
            out.push(first);
            write_text(name.as_bytes(), out);
        }
    }
}

/// Writes a value.
pub fn write_text(text: &[u8], out: &mut Vec<u8>) {
    number::write(0, 7, text.len(), out);
    out.extend_from_slice(text);
}

/// The server's dynamic table as our blocks have made it.
#[derive(Debug)]
pub struct Encoder {
    /// By slot: after which field it was inserted, from 1; 0 before.
    inserted: Vec<u8>,
    count: u8,
    bytes: usize,
    most_bytes: usize,
    /// The server allows less than before, and has to be told that we know.
    is_shrunk: bool,
}

impl Encoder {
    /// `slots`: how many fields the table is to have.
    pub fn new(slots: u8) -> Self {
        Self {
            inserted: vec![0; usize::from(slots)],
            count: 0,
            bytes: 0,
            most_bytes: TABLE_BYTES,
            is_shrunk: false,
        }
    }

    /// The server allows a table of this many bytes. More than before is not used.
    pub fn limit(&mut self, most_bytes: usize) {
        if most_bytes < self.most_bytes {
            self.most_bytes = most_bytes;
            (self.count, self.bytes, self.is_shrunk) = (0, 0, true);
            self.inserted.fill(0);
        }
    }

    /// Comes before the first field of a block.
    #[inline]
    pub fn begin(&mut self, out: &mut Vec<u8>) {
        if std::mem::take(&mut self.is_shrunk) {
            // The table is emptied, so that both sides know what is in it.
            number::write(0x20, 5, 0, out);
            number::write(0x20, 5, self.most_bytes, out);
        }
    }

    /// Writes a field that is the same whenever it is sent.
    #[inline]
    pub fn write(&mut self, field: &Field, out: &mut Vec<u8>) {
        let Some(slot) = field.slot else { return out.extend_from_slice(&field.in_full) };
        match self.inserted[usize::from(slot)] {
            0 => self.write_first(slot, field, out),
            at => number::write(0x80, 7, FIRST_DYNAMIC + usize::from(self.count - at), out),
        }
    }

    #[cold]
    fn write_first(&mut self, slot: u8, field: &Field, out: &mut Vec<u8>) {
        if self.bytes + field.bytes() > self.most_bytes {
            return out.extend_from_slice(&field.in_full);
        }
        self.bytes += field.bytes();
        self.count += 1;
        self.inserted[usize::from(slot)] = self.count;
        write_name_as(KEPT, &field.name, out);
        write_text(&field.value, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(encoder: &mut Encoder, fields: &[Field]) -> Vec<u8> {
        let mut out = Vec::new();
        encoder.begin(&mut out);
        fields.iter().for_each(|field| encoder.write(field, &mut out));
        out
    }

    fn get(authority: &[u8]) -> (Vec<Field>, Encoder) {
        let mut fields = vec![
            Field::new(":method", b"GET"),
            Field::new(":scheme", b"http"),
            Field::new(":path", b"/"),
            Field::new(":authority", authority),
        ];
        let slots = share_table(fields.iter_mut().map(|field| (1, field)));
        (fields, Encoder::new(slots))
    }

    /// RFC 7541, appendix C.3: the first two requests.
    #[test]
    fn fields_are_written_as_in_the_standards_examples() {
        let (fields, mut encoder) = get(b"www.example.com");
        let first = [&[0x82, 0x86, 0x84, 0x41, 0x0f][..], b"www.example.com"].concat();
        assert_eq!(block(&mut encoder, &fields), first);
        assert_eq!(block(&mut encoder, &fields), [0x82, 0x86, 0x84, 0xbe]);
    }

    #[test]
    fn a_smaller_table_is_acknowledged_and_kept_to() {
        let (fields, mut encoder) = get(b"www.example.com");
        block(&mut encoder, &fields);
        encoder.limit(50);
        encoder.limit(4096);
        let in_full = [&[0x01, 0x0f][..], b"www.example.com"].concat();
        let expected = [&[0x20, 0x3f, 19, 0x82, 0x86, 0x84][..], &in_full].concat();
        assert_eq!(block(&mut encoder, &fields), expected, "it counts 57 bytes");
        assert_eq!(block(&mut encoder, &fields), expected[3..]);
    }

    #[test]
    fn the_table_gets_what_most_requests_have_and_never_more_than_it_holds() {
        let long = |letter: &str| letter.repeat(1900);
        let mut fields = [
            (1, Field::new("seldom", long("a").as_bytes())),
            (5, Field::new("often", long("b").as_bytes())),
            (3, Field::new("twice", long("c").as_bytes())),
            (3, Field::new("twice", long("c").as_bytes())),
            (1, Field::new("short", b"d")),
        ];
        let slots = share_table(fields.iter_mut().map(|(weight, field)| (*weight, field)));
        let of: Vec<Option<u8>> = fields.iter().map(|(_, field)| field.slot).collect();
        assert_eq!((slots, of), (3, vec![None, Some(1), Some(0), Some(0), Some(2)]));
    }
}
