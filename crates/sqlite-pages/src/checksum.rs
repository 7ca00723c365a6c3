//! The checksum at the end of a page.

use twox_hash::XxHash3_64;

/// Bytes at the end of each page that hold its checksum.
pub const CHECKSUM_BYTES: usize = 8;

/// Odd, so that no two page numbers have the same product.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Writes the checksum of the page with this number (from 1) into its last bytes.
pub fn seal(page: &mut [u8], number: u32) {
    let end = page.len() - CHECKSUM_BYTES;
    let checksum = checksum(&page[..end], number);
    page[end..].copy_from_slice(&checksum.to_le_bytes());
}

/// Whether the page is as it was sealed under this number.
#[must_use]
pub fn is_intact(page: &[u8], number: u32) -> bool {
    let end = page.len() - CHECKSUM_BYTES;
    checksum(&page[..end], number).to_le_bytes() == page[end..]
}

/// The number is included, so that a page that was written to the wrong place is noticed.
fn checksum(content: &[u8], number: u32) -> u64 {
    XxHash3_64::oneshot(content) ^ u64::from(number).wrapping_mul(SPREAD)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flipped_bit_is_noticed() {
        let mut page = [7; 512];
        seal(&mut page, 3);
        assert!(is_intact(&page, 3));
        for bit in 0..page.len() * 8 {
            page[bit / 8] ^= 1 << (bit % 8);
            assert!(!is_intact(&page, 3), "bit {bit}");
            page[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn a_page_belongs_to_its_place() {
        let mut page = [7; 512];
        seal(&mut page, 3);
        assert!((1..2000).filter(|number| *number != 3).all(|number| !is_intact(&page, number)));
    }

    #[test]
    fn a_page_of_zeros_is_damaged() {
        assert!((1..2000).all(|number| !is_intact(&[0; 8192], number)));
    }
}
