//! Texts of header blocks in the code of RFC 7541, appendix B.
//!
//! The code is canonical: codes of one length are consecutive, in the order of their symbols, and
//! follow those that are shorter. So the lengths say all of it.

use super::Unreadable;

/// Bits of the code of each byte, and of the end of a text, which is never written.
const LENGTHS: [u8; SYMBOLS] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28,
    28, 28, 28, 28, 28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5,
    5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
    7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6, 15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6,
    6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23, 22,
    23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22,
    21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20,
    22, 22, 22, 23, 22, 22, 23, 26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19,
    21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22,
    22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26, 30,
];

const SYMBOLS: usize = 257;
const LONGEST: usize = 30;

/// What no text may hold: the end as a symbol.
const END: u16 = 256;

/// Codes of up to this many bits are looked up.
const SHORT: u32 = 8;

/// The codes, by their lengths.
struct Codes {
    /// Symbols in the order of their codes.
    symbols: [u16; SYMBOLS],
    /// Of each length its first code, how many codes there are, and the place of the first one's
    /// symbol.
    first: [u32; LONGEST + 1],
    count: [u32; LONGEST + 1],
    place: [u32; LONGEST + 1],
    /// By the next eight bits: the symbol whose code they begin with, and its length; a length of 0
    /// where the code is longer.
    short: [(u8, u8); 1 << SHORT],
}

static CODES: Codes = codes();

const fn codes() -> Codes {
    let mut codes = Codes {
        symbols: [0; SYMBOLS],
        first: [0; LONGEST + 1],
        count: [0; LONGEST + 1],
        place: [0; LONGEST + 1],
        short: [(0, 0); 1 << SHORT],
    };
    let (mut code, mut place, mut length) = (0, 0, 1);
    while length <= LONGEST {
        code <<= 1;
        codes.first[length] = code;
        codes.place[length] = place;
        let mut symbol = 0;
        while symbol < SYMBOLS {
            if LENGTHS[symbol] as usize == length {
                codes.symbols[place as usize] = symbol as u16;
                if length <= SHORT as usize {
                    let spare = SHORT as usize - length;
                    let mut at = (code as usize) << spare;
                    let end = at + (1 << spare);
                    while at < end {
                        codes.short[at] = (symbol as u8, length as u8);
                        at += 1;
                    }
                }
                codes.count[length] += 1;
                code += 1;
                place += 1;
            }
            symbol += 1;
        }
        length += 1;
    }
    codes
}

/// Appends the text that these bytes stand for.
///
/// # Errors
/// They are no text: the end as a symbol, or a last byte that is not filled up with ones.
pub fn decode(bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Unreadable> {
    let mut bytes = bytes.iter();
    // The lowest `count` bits of `bits` are those that have not been read.
    let (mut bits, mut count) = (0u64, 0u32);
    loop {
        while count <= u64::BITS - 8
            && let Some(byte) = bytes.next()
        {
            bits = bits << 8 | u64::from(*byte);
            count += 8;
        }
        // As many as a text may end in the middle of a byte with.
        let ones = u64::MAX >> (64 - SHORT);
        let window = match count.checked_sub(SHORT) {
            Some(more) => bits >> more,
            None => bits << (SHORT - count) | ones >> count,
        };
        let (symbol, length) = CODES.short[(window & ones) as usize];
        let length = u32::from(length);
        if length > 0 && length <= count {
            out.push(symbol);
            count -= length;
        } else if count < SHORT {
            let padding = (1u64 << count) - 1;
            return if bits & padding == padding { Ok(()) } else { Err(Unreadable) };
        } else {
            let (symbol, length) = long(bits, count).ok_or(Unreadable)?;
            out.push(symbol);
            count -= length;
        }
    }
}

/// The symbol whose code the unread bits begin with, and the length of that.
#[cold]
fn long(bits: u64, count: u32) -> Option<(u8, u32)> {
    for length in SHORT + 1..=count.min(LONGEST as u32) {
        let code = (bits >> (count - length)) as u32 & ((1 << length) - 1);
        let at = length as usize;
        let offset = code.wrapping_sub(CODES.first[at]);
        if offset < CODES.count[at] {
            let symbol = CODES.symbols[(CODES.place[at] + offset) as usize];
            return (symbol != END).then_some((symbol as u8, length));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Each code, its bits as text.
    fn code(symbol: usize) -> String {
        let length = usize::from(LENGTHS[symbol]);
        let before = (0..symbol).filter(|other| usize::from(LENGTHS[*other]) == length).count();
        let code = CODES.first[length] as usize + before;
        format!("{code:0length$b}")
    }

    fn bytes_of(bits: &str) -> Vec<u8> {
        let bits: Vec<char> = bits.chars().collect();
        let byte = |bits: &[char]| {
            let text: String = bits.iter().chain(std::iter::repeat(&'1')).take(8).collect();
            u8::from_str_radix(&text, 2).unwrap()
        };
        bits.chunks(8).map(byte).collect()
    }

    fn decoded(bytes: &[u8]) -> Result<Vec<u8>, Unreadable> {
        let mut out = Vec::new();
        decode(bytes, &mut out).map(|()| out)
    }

    #[test]
    fn codes_are_those_of_the_standard() {
        for (symbol, expected) in [
            (b'0' as usize, "00000"),
            (b'a' as usize, "00011"),
            (b' ' as usize, "010100"),
            (b':' as usize, "1011100"),
            (b'Z' as usize, "11111101"),
            (b'!' as usize, "1111111000"),
            (b'\\' as usize, "1111111111111110000"),
            (1, "11111111111111111011000"),
            (b'\n' as usize, "111111111111111111111111111100"),
            (256, "111111111111111111111111111111"),
        ] {
            assert_eq!(code(symbol), expected, "{symbol}");
        }
    }

    #[test]
    fn texts_are_those_of_the_standards_examples() {
        let www = [0xf1, 0xe3, 0xc2, 0xe5, 0xf2, 0x3a, 0x6b, 0xa0, 0xab, 0x90, 0xf4, 0xff];
        assert_eq!(decoded(&www).unwrap(), b"www.example.com");
        assert_eq!(decoded(&[0xa8, 0xeb, 0x10, 0x64, 0x9c, 0xbf]).unwrap(), b"no-cache");
        assert_eq!(decoded(&[0x64, 0x02]).unwrap(), b"302");
        assert_eq!(decoded(&[]).unwrap(), b"");
    }

    #[test]
    fn what_is_not_filled_up_with_ones_or_says_that_it_ends_is_refused() {
        let a = code(usize::from(b'a'));
        for (what, bits) in [
            ("zeros", format!("{a}000")),
            ("a whole byte of ones", format!("{a}{}", "1".repeat(11))),
            ("only ones", "1".repeat(8)),
            ("the end", format!("{a}{}111", code(256))),
        ] {
            assert_eq!(decoded(&bytes_of(&bits)), Err(Unreadable), "{what}");
        }
    }

    proptest! {
        #[test]
        fn every_text_comes_back(text in prop::collection::vec(any::<u8>(), 0..60)) {
            let bits: String = text.iter().map(|byte| code(usize::from(*byte))).collect();
            prop_assert_eq!(decoded(&bytes_of(&bits)).unwrap(), text);
        }
    }
}
