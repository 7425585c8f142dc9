//! Whole numbers in header blocks (RFC 7541, section 5.1): in the low bits of a byte as far as they
//! fit there, and in further bytes, seven bits each.

use super::Unreadable;

/// Nothing in a block is larger; more bytes than this takes are refused.
const LARGEST: usize = 1 << 28;

/// Writes a number into the low `bits` bits of a byte whose others are those of `first`.
pub fn write(first: u8, bits: u32, value: usize, out: &mut Vec<u8>) {
    let most = (1 << bits) - 1;
    if value < most {
        return out.push(first | value as u8);
    }
    out.push(first | most as u8);
    let mut rest = value - most;
    while rest >= 0x80 {
        out.push(0x80 | (rest & 0x7f) as u8);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// Takes a number that begins in the low `bits` bits of the first of these bytes.
///
/// # Errors
/// The bytes end within it, or it is larger than anything that could be meant.
#[inline]
pub fn read(bits: u32, bytes: &mut &[u8]) -> Result<usize, Unreadable> {
    let most = (1 << bits) - 1;
    let mut value = usize::from(take_byte(bytes)?) & most;
    if value < most {
        return Ok(value);
    }
    for shift in (0..).step_by(7).take_while(|shift| *shift < 28) {
        let byte = take_byte(bytes)?;
        value += (usize::from(byte) & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return if value <= LARGEST { Ok(value) } else { Err(Unreadable) };
        }
    }
    Err(Unreadable)
}

fn take_byte(bytes: &mut &[u8]) -> Result<u8, Unreadable> {
    let (first, rest) = bytes.split_first().ok_or(Unreadable)?;
    *bytes = rest;
    Ok(*first)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_are_those_of_the_standards_examples() {
        for (bits, value, expected) in
            [(5, 10, &[10][..]), (5, 1337, &[31, 0b1001_1010, 0b0000_1010]), (8, 42, &[42])]
        {
            let mut out = Vec::new();
            write(0, bits, value, &mut out);
            assert_eq!(out, expected);
        }
    }

    #[test]
    fn what_does_not_end_or_is_too_large_is_refused() {
        for bytes in [&[][..], &[0x7f], &[0x7f, 0x80], &[0x7f, 0xff, 0xff, 0xff, 0xff, 0x01]] {
            assert_eq!(read(7, &mut &*bytes), Err(Unreadable), "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(value in 0..LARGEST, bits in 4u32..8, behind: u8) {
            let mut out = Vec::new();
            write(0, bits, value, &mut out);
            out.push(behind);
            let mut bytes = out.as_slice();
            prop_assert_eq!(read(bits, &mut bytes), Ok(value));
            prop_assert_eq!(bytes, &[behind]);
        }
    }
}
