//! A range of zones, in as few pieces as the levels allow.

use super::{FAN_BITS, LEVELS};

/// Neighbouring zones of one level; both ends are included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) level: usize,
    pub(crate) first: i64,
    pub(crate) last: i64,
}

/// The pieces that together are these zones of the lowest level, in ascending order: small zones at
/// both ends, larger ones between.
pub(crate) fn cover(mut first: i64, mut last: i64) -> Vec<Piece> {
    const FAN: i64 = 1 << FAN_BITS;
    let (mut front, mut back) = (Vec::new(), Vec::new());
    for level in 0..LEVELS {
        // The zones above that lie wholly within.
        let from = first.div_euclid(FAN) + i64::from(first.rem_euclid(FAN) != 0);
        let before = (last + 1).div_euclid(FAN);
        if level + 1 == LEVELS || from >= before {
            if first <= last {
                front.push(Piece { level, first, last });
            }
            break;
        }
        if first < from * FAN {
            front.push(Piece { level, first, last: from * FAN - 1 });
        }
        if last >= before * FAN {
            back.push(Piece { level, first: before * FAN, last });
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
    fn pieces_join_and_are_few() {
        let base = 1 << bits(0);
        for (first, last) in
            [(0, 0), (0, 63), (1, 63), (5, 4), (0, 64), (3, 4096), (63, 1_000_000), (64, 127)]
        {
            let pieces = cover(first, last);
            let mut next = first * base;
            for piece in &pieces {
                assert_eq!(super::super::first_in(piece.level, piece.first), next);
                next = super::super::last_in(piece.level, piece.last) + 1;
            }
            assert_eq!(next, (last + 1) * base, "{first} to {last}: {pieces:?}");
            let rows: i64 = pieces.iter().map(|piece| piece.last - piece.first + 1).sum();
            assert!(pieces.len() <= 2 * LEVELS && rows <= 126 * 4, "{pieces:?}");
        }
        assert_eq!(cover(64, 127), [Piece { level: 1, first: 1, last: 1 }]);
    }
}
