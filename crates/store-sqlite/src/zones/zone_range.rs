//! Covering a range of zones with as few zones as possible, using all levels.

use super::{FAN_BITS, LEVELS};

/// Consecutive zones of one level, with both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ZoneRange {
    pub(crate) level: usize,
    pub(crate) first: i64,
    pub(crate) last: i64,
}

/// Covers these zones of the lowest level, in ascending order: with small zones at both ends and
/// larger ones between.
pub(crate) fn cover(mut first: i64, mut last: i64) -> Vec<ZoneRange> {
    const FAN: i64 = 1 << FAN_BITS;
    let (mut front, mut back) = (Vec::new(), Vec::new());
    for level in 0..LEVELS {
        // The zones of the level above that are completely inside.
        let from = first.div_euclid(FAN) + i64::from(first.rem_euclid(FAN) != 0);
        let before = (last + 1).div_euclid(FAN);
        if level + 1 == LEVELS || from >= before {
            if first <= last {
                front.push(ZoneRange { level, first, last });
            }
            break;
        }
        if first < from * FAN {
            front.push(ZoneRange { level, first, last: from * FAN - 1 });
        }
        if last >= before * FAN {
            back.push(ZoneRange { level, first: before * FAN, last });
        }
        (first, last) = (from, before - 1);
    }
    front.extend(back.into_iter().rev());
    front
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::zones::bits;

    #[test]
    fn ranges_are_contiguous_and_few() {
        let base = 1 << bits(0);
        for (first, last) in
            [(0, 0), (0, 63), (1, 63), (5, 4), (0, 64), (3, 4096), (63, 1_000_000), (64, 127)]
        {
            let ranges = cover(first, last);
            let mut next = first * base;
            for range in &ranges {
                assert_eq!(super::super::first_in(range.level, range.first), next);
                next = super::super::last_in(range.level, range.last) + 1;
            }
            assert_eq!(next, (last + 1) * base, "{first} to {last}: {ranges:?}");
            let rows: i64 = ranges.iter().map(|range| range.last - range.first + 1).sum();
            assert!(ranges.len() <= 2 * LEVELS && rows <= 126 * 4, "{ranges:?}");
        }
        assert_eq!(cover(64, 127), [ZoneRange { level: 1, first: 1, last: 1 }]);
    }
}
