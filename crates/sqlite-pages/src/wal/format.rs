//! The headers of the write-ahead log, see <https://www.sqlite.org/fileformat2.html#the_write_ahead_log>.

pub(crate) const WAL_HEADER: usize = 32;
pub(crate) const FRAME_HEADER: usize = 24;

const MAGIC: u32 = 0x377f_0682;

/// SQLite's checksum of everything up to some place in the log.
pub(crate) type Chain = [u32; 2];

/// The header of the log. It names the salts that all valid frames have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WalHeader {
    pub page_bytes: usize,
    pub salts: [u8; 8],
    chain: Chain,
    is_big_endian: bool,
}

impl WalHeader {
    /// `None` if the header is damaged, or was never written.
    pub fn parse(bytes: &[u8; WAL_HEADER]) -> Option<Self> {
        let magic = u32_at(bytes, 0);
        let page_bytes = u32_at(bytes, 8) as usize;
        let is_big_endian = magic & 1 == 1;
        let chain = chained([0, 0], &bytes[..24], is_big_endian);
        let is_valid = magic & !1 == MAGIC
            && page_bytes.is_power_of_two()
            && (512..=65536).contains(&page_bytes)
            && chain == [u32_at(bytes, 24), u32_at(bytes, 28)];
        let mut salts = [0; 8];
        salts.copy_from_slice(&bytes[16..24]);
        is_valid.then_some(Self { page_bytes, salts, chain, is_big_endian })
    }

    pub fn frame_bytes(&self) -> usize {
        FRAME_HEADER + self.page_bytes
    }

    /// Where a frame begins, counted from 0.
    pub fn offset(&self, frame: u64) -> u64 {
        WAL_HEADER as u64 + frame * self.frame_bytes() as u64
    }

    /// The checksum before the first frame.
    pub fn chain(&self) -> Chain {
        self.chain
    }

    /// Whether this is the frame that SQLite wrote behind one with the checksum `before`.
    pub fn is_intact(&self, before: Chain, frame: &FrameHeader, page: &[u8]) -> bool {
        frame.salts() == self.salts && frame.page() != 0 && self.follows(before, frame, page)
    }

    /// Whether the frame has the checksum of this page behind `before`.
    pub fn follows(&self, before: Chain, frame: &FrameHeader, page: &[u8]) -> bool {
        let chain = chained(before, &frame.bytes[..8], self.is_big_endian);
        chained(chain, page, self.is_big_endian) == frame.chain()
    }
}

/// The header of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FrameHeader {
    bytes: [u8; FRAME_HEADER],
}

impl FrameHeader {
    pub fn new(bytes: [u8; FRAME_HEADER]) -> Self {
        Self { bytes }
    }

    /// The number of the page that the frame holds.
    pub fn page(&self) -> u32 {
        u32_at(&self.bytes, 0)
    }

    /// Whether a transaction ends with this frame.
    pub fn is_commit(&self) -> bool {
        u32_at(&self.bytes, 4) != 0
    }

    pub fn salts(&self) -> &[u8] {
        &self.bytes[8..16]
    }

    /// The checksum of everything up to the end of this frame.
    pub fn chain(&self) -> Chain {
        [u32_at(&self.bytes, 16), u32_at(&self.bytes, 20)]
    }
}

fn chained(mut chain: Chain, bytes: &[u8], is_big_endian: bool) -> Chain {
    let word = |bytes: &[u8]| {
        let word = [bytes[0], bytes[1], bytes[2], bytes[3]];
        if is_big_endian { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) }
    };
    for pair in bytes.chunks_exact(8) {
        chain[0] = chain[0].wrapping_add(word(pair)).wrapping_add(chain[1]);
        chain[1] = chain[1].wrapping_add(word(&pair[4..])).wrapping_add(chain[0]);
    }
    chain
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}
