//! The set of classes of a zone and its encoding: ascending ids as varint-encoded differences.

use std::collections::BTreeSet;

use rota_model::ClassId;

/// A zone with more classes than this does not list them; the zones below it do.
const MAX_CLASSES: usize = 16_384;

/// `None` means that the zone may have any class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClassSet(Option<BTreeSet<u32>>);

impl ClassSet {
    pub(crate) const ANY: ClassSet = ClassSet(None);

    pub(crate) fn empty() -> Self {
        Self(Some(BTreeSet::new()))
    }

    pub(crate) fn read(encoded: Option<&[u8]>) -> Self {
        Self(encoded.map(|bytes| Decoder { bytes, last: 0 }.collect()))
    }

    pub(crate) fn write(&self) -> Option<Vec<u8>> {
        let classes = self.0.as_ref()?;
        let mut out = Vec::with_capacity(classes.len() * 2);
        let mut last = 0;
        for &class in classes {
            write_varint(&mut out, class - last);
            last = class;
        }
        Some(out)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.as_ref().is_some_and(BTreeSet::is_empty)
    }

    pub(crate) fn has(&self, class: ClassId) -> bool {
        self.0.as_ref().is_none_or(|classes| classes.contains(&class.0))
    }

    pub(crate) fn add(&mut self, class: ClassId) {
        if let Some(classes) = &mut self.0 {
            classes.insert(class.0);
            self.enforce_limit();
        }
    }

    pub(crate) fn add_all(&mut self, other: &ClassSet) {
        match (&mut self.0, &other.0) {
            (Some(classes), Some(others)) => classes.extend(others),
            _ => *self = Self::ANY,
        }
        self.enforce_limit();
    }

    fn enforce_limit(&mut self) {
        if self.0.as_ref().is_some_and(|classes| classes.len() > MAX_CLASSES) {
            *self = Self::ANY;
        }
    }
}

/// Whether the encoded set contains any of the classes, which are sorted.
pub(crate) fn intersects(encoded: Option<&[u8]>, classes: &[ClassId]) -> bool {
    let Some(bytes) = encoded else { return true };
    Decoder { bytes, last: 0 }.any(|number| classes.binary_search(&ClassId(number)).is_ok())
}

fn write_varint(out: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Decodes class ids. Ends at the first invalid byte.
struct Decoder<'a> {
    bytes: &'a [u8],
    last: u32,
}

impl Iterator for Decoder<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        let mut difference = 0;
        for shift in (0..35).step_by(7) {
            let (&byte, rest) = self.bytes.split_first()?;
            self.bytes = rest;
            difference |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                self.last = u32::try_from(u64::from(self.last) + difference).ok()?;
                return Some(self.last);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_read_as_they_were_written() {
        let classes = [0, 1, 127, 128, 300, 20_000, 3_000_000, u32::MAX - 1, u32::MAX].map(ClassId);
        let mut set = ClassSet::empty();
        assert!(set.is_empty());
        classes.into_iter().rev().for_each(|class| set.add(class));
        let encoded = set.write();
        assert_eq!(ClassSet::read(encoded.as_deref()), set);
        assert!(
            classes
                .iter()
                .all(|class| set.has(*class) && intersects(encoded.as_deref(), &[*class]))
        );
        assert!(
            !set.has(ClassId(2)) && !intersects(encoded.as_deref(), &[2, 129, 301].map(ClassId))
        );
        assert!(intersects(encoded.as_deref(), &[2, 129, 300].map(ClassId)));
    }

    #[test]
    fn too_many_classes_are_any_class() {
        let mut set = ClassSet::empty();
        (0..MAX_CLASSES as u32).for_each(|n| set.add(ClassId(n)));
        assert!(!set.has(ClassId(MAX_CLASSES as u32)));
        let mut more = ClassSet::empty();
        more.add(ClassId(u32::MAX));
        set.add_all(&more);
        assert_eq!(set, ClassSet::ANY);
        assert!(
            set.has(ClassId(MAX_CLASSES as u32)) && set.write().is_none() && intersects(None, &[])
        );
        more.add_all(&set);
        assert_eq!(more, ClassSet::ANY);
    }

    #[test]
    fn invalid_bytes_end_the_set() {
        for bytes in [&[0x80][..], &[0xff; 9], &[1, 0xff, 0xff, 0xff, 0xff, 0x0f]] {
            assert!(!intersects(Some(bytes), &[ClassId(7)]), "{bytes:?}");
        }
    }
}
