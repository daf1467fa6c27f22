//! Answers in gzip form for clients that ask for it. The data is stored, not compressed: any gzip reader accepts it,
//! and the sandbox needs no compression library. May use: nothing of this crate.

/// Wraps data into a gzip member of stored blocks.
pub(crate) fn wrap(data: &[u8]) -> Vec<u8> {
    let mut out = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    let mut blocks = data.chunks(65_535).peekable();
    if blocks.peek().is_none() {
        out.extend([1, 0, 0, 255, 255]);
    }
    while let Some(block) = blocks.next() {
        let length = u16::try_from(block.len()).unwrap_or(u16::MAX);
        out.push(u8::from(blocks.peek().is_none()));
        out.extend(length.to_le_bytes());
        out.extend((!length).to_le_bytes());
        out.extend_from_slice(block);
    }
    out.extend(checksum(data).to_le_bytes());
    let size = u32::try_from(data.len() & 0xffff_ffff).unwrap_or(u32::MAX);
    out.extend(size.to_le_bytes());
    out
}

/// CRC-32 as gzip defines it.
fn checksum(data: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for &byte in data {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            let low = crc & 1;
            crc >>= 1;
            if low == 1 {
                crc ^= 0xedb8_8320;
            }
        }
    }
    !crc
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_the_usual_one() {
        assert_eq!(checksum(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn data_is_stored_in_blocks() {
        let data = vec![7_u8; 70_000];
        let wrapped = wrap(&data);
        assert_eq!(wrapped.len(), 10 + 2 * 5 + 70_000 + 8);
        assert_eq!(wrapped[10], 0, "a first block that is not the last");
    }
}
