//! The size of a waiting job in 16 bits, to fit beside its sequence number.

/// Exact up to 4 KiB. Above that, rounded up by at most a two-thousandth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Size(u16);

const MANTISSA_BITS: u32 = 11;
const ONE: u64 = 1 << MANTISSA_BITS;

impl Size {
    pub fn of(bytes: u64) -> Self {
        if bytes < ONE {
            return Self(bytes as u16);
        }
        let exponent = 63 - bytes.leading_zeros() - MANTISSA_BITS;
        let mantissa = (bytes + (1 << exponent) - 1) >> exponent;
        let (exponent, mantissa) =
            if mantissa == 2 * ONE { (exponent + 1, ONE) } else { (exponent, mantissa) };
        if exponent >= 31 {
            return Self(u16::MAX);
        }
        Self(((exponent as u16 + 1) << MANTISSA_BITS) | (mantissa - ONE) as u16)
    }

    pub fn bytes(self) -> u64 {
        let (exponent, mantissa) = (u64::from(self.0) >> MANTISSA_BITS, u64::from(self.0) % ONE);
        if exponent == 0 { mantissa } else { (ONE + mantissa) << (exponent - 1) }
    }

    pub fn code(self) -> u16 {
        self.0
    }

    pub fn from_code(code: u16) -> Self {
        Self(code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_never_too_small_and_nearly_exact() {
        for bytes in (0..20_000).chain([65_535, 65_536, 1 << 20, (1 << 20) + 1, 9_999_999]) {
            let kept = Size::of(bytes).bytes();
            assert!(kept >= bytes && kept - bytes <= bytes / 2_000, "{bytes} {kept}");
            assert_eq!(Size::of(kept).bytes(), kept);
            if bytes < 4_096 {
                assert_eq!(kept, bytes);
            }
        }
    }
}
