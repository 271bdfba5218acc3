//! Protobuf messages, read by hand with every bound checked.
//!
//! For messages of which few fields are wanted, or which come by the hundred thousand: a generated
//! reader copies each field into a type of its own, from which it is then moved into another.

/// A field's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content<'a> {
    /// A varint: whole numbers of all kinds, flags, enumerations.
    Number(u64),
    /// Length-delimited: bytes, text, and messages within this one.
    Bytes(&'a [u8]),
    /// Four or eight bytes, which nothing here reads.
    Fixed,
}

/// The fields of a message in their order, each with its number; ends with a `None` where it
/// cannot be read.
#[derive(Clone, Debug)]
pub struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    /// The fields of a message.
    pub const fn of(message: &'a [u8]) -> Self {
        Self(message)
    }

    /// What is still to be read.
    pub const fn rest(&self) -> &'a [u8] {
        self.0
    }

    #[expect(clippy::inline_always, reason = "a call for each field is half of what reading a key costs")]
    #[inline(always)]
    fn field(&mut self) -> Option<(u64, Content<'a>)> {
        let tag = self.varint()?;
        let content = match tag & 7 {
            0 => Content::Number(self.varint()?),
            1 => self.take(8).map(|_| Content::Fixed)?,
            2 => {
                let length = self.varint()?;
                Content::Bytes(self.take(usize::try_from(length).ok()?)?)
            }
            5 => self.take(4).map(|_| Content::Fixed)?,
            // Groups are long gone from protobuf, 6 and 7 never were.
            _ => return None,
        };
        Some((tag >> 3, content))
    }

    #[inline]
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    #[inline]
    fn varint(&mut self) -> Option<u64> {
        // Tags, lengths of keys and small numbers are one byte.
        match self.0.split_first() {
            Some((&byte, rest)) if byte < 0x80 => {
                self.0 = rest;
                Some(u64::from(byte))
            }
            _ => self.long_varint(),
        }
    }

    fn long_varint(&mut self) -> Option<u64> {
        let (mut number, mut shift, mut rest) = (0, 0, self.0);
        while shift < 7 * LONGEST {
            let (&byte, behind) = rest.split_first()?;
            number |= u64::from(byte & 0x7f) << shift;
            rest = behind;
            if byte & 0x80 == 0 {
                self.0 = rest;
                return Some(number);
            }
            shift += 7;
        }
        None
    }
}

/// The bytes of the longest varint.
const LONGEST: u32 = 10;

impl<'a> Iterator for Fields<'a> {
    type Item = Option<(u64, Content<'a>)>;

    #[expect(clippy::inline_always, reason = "as for `field`")]
    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_none() {
            self.0 = &[];
        }
        Some(field)
    }
}

/// An `int32` on the wire is sign-extended to 64 bits; the upper half repeats the sign.
#[expect(clippy::cast_possible_truncation, reason = "protobuf defines int32 as the low half of the varint")]
pub const fn int32(number: u64) -> i32 {
    (number as u32).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_come_in_their_order_with_their_numbers() {
        let message = [0x08, 0x96, 0x01, 0x12, 2, b'o', b'k', 0x1d, 1, 2, 3, 4, 0x21, 1, 2, 3, 4, 5, 6, 7, 8];
        let fields: Option<Vec<_>> = Fields::of(&message).collect();
        let expected =
            vec![(1, Content::Number(150)), (2, Content::Bytes(b"ok")), (3, Content::Fixed), (4, Content::Fixed)];
        assert_eq!(fields, Some(expected));
    }

    #[test]
    fn what_is_cut_or_no_message_ends_with_none() {
        for broken in [&[0x08][..], &[0x08, 0x96], &[0x12, 3, b'o'], &[0x1d, 1], &[0x0b], &[0xff; 12]] {
            let mut fields = Fields::of(broken);
            assert_eq!((fields.next(), fields.next()), (Some(None), None), "{broken:?}");
        }
    }

    #[test]
    fn a_negative_number_has_ten_bytes() {
        let minus_one = [0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        assert_eq!(Fields::of(&minus_one).next(), Some(Some((1, Content::Number(u64::MAX)))));
        assert_eq!(int32(u64::MAX), -1);
    }
}
