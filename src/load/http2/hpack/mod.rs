//! Header fields as HTTP/2 writes them (HPACK, RFC 7541).
//!
//! In: the fields of requests, header blocks of replies. Out: header blocks, and what a reply's
//! head says. Nothing of a reply is kept but its entries in the dynamic table, and every block is
//! read in full, so that this table stays what the server believes it to be.

mod decoder;
mod encoder;
mod huffman;
mod number;
mod static_table;

pub use decoder::{Decoder, Head};
pub use encoder::{Encoder, Field, share_table, write_name, write_text};

/// A header block that cannot be read: from here on no other can be either.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unreadable;

/// Bytes of a dynamic table, unless something else is agreed on.
const TABLE_BYTES: usize = 4096;

/// What an entry counts besides its name and value (section 4.1).
const ENTRY_BYTES: usize = 32;

/// The first entry of the dynamic table, behind the static ones.
const FIRST_DYNAMIC: usize = static_table::LENGTH + 1;
