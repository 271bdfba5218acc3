//! Kubernetes `Lease` objects as the API server stores them: `k8s\0`, then protobuf. Read for
//! the five fields that say who holds a lease since when
//! (`k8s.io/api/coordination/v1/generated.proto`).

use crate::domain::protobuf::{Content, Fields, int32};
use crate::domain::{Millis, Timestamp};

use super::Decoded;

/// What a `Lease` says. Fields the object leaves out are `None`; no holder means released.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lease {
    /// Who holds it: `spec.holderIdentity`, `None` when it is missing or empty.
    pub holder: Option<String>,
    /// How long a candidate has to wait after the last renewal before it may take over:
    /// `spec.leaseDurationSeconds`.
    pub duration: Option<Millis>,
    /// When the holder got it: `spec.acquireTime`.
    pub acquired: Option<Timestamp>,
    /// When the holder last renewed it: `spec.renewTime`.
    pub renewed: Option<Timestamp>,
    /// How often it changed hands: `spec.leaseTransitions`. It grows with every new holder,
    /// so it can fence.
    pub transitions: Option<i32>,
}

impl Lease {
    /// Reads a value; `None` when it is no `Lease` or does not read to its end.
    pub fn parse(value: &[u8]) -> Option<Self> {
        let unknown = value.strip_prefix(b"k8s\0")?;
        let type_meta = message(unknown, 1)?;
        let version = message(type_meta, 1)?;
        if message(type_meta, 2)? != b"Lease" || !version.starts_with(b"coordination.k8s.io/") {
            return None;
        }
        // An object without a spec is a lease that nobody ever took.
        let raw = message(unknown, 2)?;
        let mut lease = Self::default();
        for field in Fields::of(raw) {
            if let (2, Content::Bytes(spec)) = field? {
                lease.read_spec(spec)?;
            }
        }
        Some(lease)
    }

    fn read_spec(&mut self, spec: &[u8]) -> Option<()> {
        for field in Fields::of(spec) {
            match field? {
                (1, Content::Bytes(holder)) => {
                    let holder = String::from_utf8_lossy(holder);
                    self.holder = (!holder.is_empty()).then(|| holder.into_owned());
                }
                (2, Content::Number(seconds)) => self.duration = Some(Millis::from_secs(i64::from(int32(seconds)))),
                (3, Content::Bytes(time)) => self.acquired = Some(micro_time(time)?),
                (4, Content::Bytes(time)) => self.renewed = Some(micro_time(time)?),
                (5, Content::Number(transitions)) => self.transitions = Some(int32(transitions)),
                _ => {}
            }
        }
        Some(())
    }

    /// When candidates may take it over: last renewal plus duration. `None` when it is
    /// released or one of both is not told.
    pub fn expires(&self) -> Option<Timestamp> {
        self.holder.as_ref()?;
        Some(self.renewed? + self.duration?)
    }
}

/// Decodes a value for people.
pub(super) fn decode(value: &[u8]) -> Decoded {
    if value.starts_with(b"k8s:enc:") {
        return Decoded::default().with("value", "encrypted at rest");
    }
    let Some(lease) = Lease::parse(value) else { return Decoded::default() };
    let holder = lease.holder.clone().unwrap_or_else(|| "none, released".to_owned());
    let fields = [
        ("holder", Some(holder)),
        ("acquired", lease.acquired.and_then(rfc3339)),
        ("renewed", lease.renewed.and_then(rfc3339)),
        ("duration", lease.duration.map(|duration| format!("{}s", duration.secs()))),
        ("transitions", lease.transitions.map(|count| count.to_string())),
    ];
    let fields = fields.into_iter().filter_map(|(label, text)| Some((label, text?))).collect();
    Decoded { owner: lease.holder, fields }
}

fn rfc3339(time: Timestamp) -> Option<String> {
    jiff::Timestamp::from_millisecond(time.0).ok().map(|time| time.to_string())
}

/// A `MicroTime`: seconds since 1970 and nanoseconds. Absent members are 0, as protobuf has it.
fn micro_time(bytes: &[u8]) -> Option<Timestamp> {
    let (mut seconds, mut nanos) = (0_i64, 0_i32);
    for field in Fields::of(bytes) {
        match field? {
            (1, Content::Number(number)) => seconds = number.cast_signed(),
            (2, Content::Number(number)) => nanos = int32(number),
            _ => {}
        }
    }
    Some(Timestamp(seconds.checked_mul(1000)?.checked_add(i64::from(nanos / 1_000_000))?))
}

/// The last length-delimited field with this number; an absent one is an error here.
fn message(bytes: &[u8], wanted: u64) -> Option<&[u8]> {
    let mut found = None;
    for field in Fields::of(bytes) {
        match field? {
            (number, Content::Bytes(bytes)) if number == wanted => found = Some(bytes),
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HEAD: &[u8] = b"k8s\0\n\x1f\n\x16coordination.k8s.io/v1\x12\x05Lease";

    fn delimited(number: u8, content: &[u8]) -> Vec<u8> {
        let length = u8::try_from(content.len()).expect("short");
        assert!(length < 128);
        [&[number << 3 | 2, length], content].concat()
    }

    fn object(spec: &[u8]) -> Vec<u8> {
        [HEAD, &delimited(2, &delimited(2, spec))].concat()
    }

    #[test]
    fn a_held_lease_reads_whole() {
        let time = [8, 0xf3, 0xf2, 0xb0, 0xd8, 6, 0x10, 0x80, 0x94, 0xef, 0x3a];
        let spec =
            [&delimited(1, b"cp1_x")[..], &[0x10, 15], &delimited(3, &time), &delimited(4, &time), &[0x28, 7]].concat();
        let lease = Lease::parse(&object(&spec)).expect("a lease");
        let at = Timestamp(1_795_963_251_123);
        let expected = Lease {
            holder: Some("cp1_x".into()),
            duration: Some(Millis(15_000)),
            acquired: Some(at),
            renewed: Some(at),
            transitions: Some(7),
        };
        assert_eq!(lease, expected);
        assert_eq!(lease.expires(), Some(Timestamp(1_795_963_266_123)));
        let decoded = decode(&object(&spec));
        assert_eq!(decoded.owner.as_deref(), Some("cp1_x"));
        assert!(decoded.fields.contains(&("renewed", "2026-11-29T14:40:51.123Z".into())), "{decoded:?}");
    }

    #[test]
    fn an_empty_holder_has_released() {
        let lease = Lease::parse(&object(&[0x0a, 0, 0x10, 15])).expect("a lease");
        assert_eq!(lease.holder, None);
        assert_eq!(lease.expires(), None);
        assert_eq!(decode(&object(&[0x0a, 0])).fields[0], ("holder", "none, released".to_owned()));
    }

    #[test]
    fn numbers_of_64_bits_read_whole() {
        // Go's zero time is the year 1, a negative number of seconds in ten bytes.
        let time = [&[8][..], &[0x80, 0x92, 0xb8, 0xc3, 0x98, 0xfe, 0xff, 0xff, 0xff, 0x1]].concat();
        let lease = Lease::parse(&object(&delimited(4, &time))).expect("a lease");
        assert_eq!(lease.renewed, Some(Timestamp(-62_135_596_800_000)));
        assert_eq!(lease.renewed.and_then(rfc3339).as_deref(), Some("0001-01-01T00:00:00Z"));
    }

    #[test]
    fn unknown_fields_are_skipped() {
        let spec = [&[0x31, 1, 2, 3, 4, 5, 6, 7, 8, 0x3d, 1, 2, 3, 4, 0x98, 1, 9][..], &delimited(1, b"x")].concat();
        assert_eq!(Lease::parse(&object(&spec)).and_then(|lease| lease.holder).as_deref(), Some("x"));
    }

    #[test]
    fn other_objects_and_broken_ones_are_none() {
        let good = object(&delimited(1, b"cp1"));
        for cut in 0..good.len() {
            assert_eq!(Lease::parse(&good[..cut]), None, "cut at {cut}");
        }
        let pod =
            [b"k8s\0", &delimited(1, &[delimited(1, b"v1"), delimited(2, b"Pod")].concat())[..], &delimited(2, b"")]
                .concat();
        assert_eq!(Lease::parse(&pod), None);
        assert_eq!(Lease::parse(&object(&[0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1])), None);
        assert_eq!(Lease::parse(&object(&[0x80; 12])), None, "a varint without end");
        assert_eq!(Lease::parse(&object(&[0x0b])), None, "a group");
    }

    #[test]
    fn encrypted_values_say_so() {
        assert_eq!(decode(b"k8s:enc:aescbc:v1:k:x").fields, [("value", "encrypted at rest".to_owned())]);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(spec in proptest::collection::vec(any::<u8>(), 0..100)) {
            Lease::parse(&object(&spec));
            decode(&object(&spec));
            Lease::parse(&spec);
        }
    }
}
