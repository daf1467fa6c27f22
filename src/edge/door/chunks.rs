//! Finds the end of a chunked body (RFC 9112, 7.1), strictly by the grammar.
//!
//! hyper decodes the body; this file only follows it to its end. Anything that hyper and other servers could read
//! differently ends the connection.
//!
//! May use: `edge::door`.

use super::limits::Limits;
use http::HeaderName;

/// Longest line with a chunk size and its extensions, in bytes.
const LONGEST_LINE: usize = 4096;
/// Most digits of a chunk size, with leading zeros.
const MOST_DIGITS: usize = 16;
/// Largest chunk, in bytes. The end of a larger chunk would never be reached.
const LARGEST: u64 = 1 << 60;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Chunks {
    /// A line with a chunk size.
    Size,
    /// Data of a chunk, of which this many bytes are left.
    Data(u64),
    /// The line end after a chunk.
    End,
    /// The trailers, of which this many bytes were read.
    Trailers(usize),
}

/// Result of one step over the present bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// This many bytes belong to the body, which continues.
    Passed(usize),
    /// This many bytes belong to the body, which ends with them.
    Ended(usize),
    /// More bytes are needed.
    More,
}

impl Chunks {
    /// Continues over `bytes`, which are not empty.
    pub(super) fn step(&mut self, bytes: &[u8], limits: Limits) -> Result<Step, &'static str> {
        match *self {
            Self::Size => self.size(bytes),
            Self::Data(left) => {
                let here = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
                let left = left - here as u64;
                *self = if left == 0 { Self::End } else { Self::Data(left) };
                Ok(Step::Passed(here))
            }
            Self::End => match bytes {
                [b'\r', b'\n', ..] => {
                    *self = Self::Size;
                    Ok(Step::Passed(2))
                }
                [b'\r'] => Ok(Step::More),
                _ => Err("a chunk is longer than its size"),
            },
            Self::Trailers(seen) => self.trailer(bytes, seen, limits),
        }
    }

    fn size(&mut self, bytes: &[u8]) -> Result<Step, &'static str> {
        let Some((line, length)) = line(bytes, LONGEST_LINE)? else { return Ok(Step::More) };
        let size = size(line).ok_or("the size of a chunk is malformed")?;
        *self = if size == 0 { Self::Trailers(0) } else { Self::Data(size) };
        Ok(Step::Passed(length))
    }

    fn trailer(&mut self, bytes: &[u8], seen: usize, limits: Limits) -> Result<Step, &'static str> {
        let Some((line, length)) = line(bytes, limits.head)? else { return Ok(Step::More) };
        if line.is_empty() {
            return Ok(Step::Ended(length));
        }
        let colon = line.iter().position(|byte| *byte == b':').ok_or("a trailer has no colon")?;
        HeaderName::from_bytes(&line[..colon]).map_err(|_| "the name of a trailer is malformed")?;
        *self = Self::Trailers(seen + length);
        if seen + length > limits.head { Err("the trailers are too large") } else { Ok(Step::Passed(length)) }
    }
}

/// Returns the first line of `bytes` without its end, and its length with its end; `None` while it is incomplete.
fn line(bytes: &[u8], longest: usize) -> Result<Option<(&[u8], usize)>, &'static str> {
    let Some(end) = memchr::memchr(b'\n', &bytes[..bytes.len().min(longest)]) else {
        return if bytes.len() < longest { Ok(None) } else { Err("a line of a chunked body is too long") };
    };
    let line = bytes[..end].strip_suffix(b"\r").ok_or("a line of a chunked body ends with a line feed alone")?;
    let printable = line.iter().all(|byte| *byte == b'\t' || !byte.is_ascii_control());
    if printable { Ok(Some((line, end + 1))) } else { Err("a line of a chunked body has a control character") }
}

/// Parses the size in a line: digits, then nothing or extensions.
fn size(line: &[u8]) -> Option<u64> {
    let digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    let (digits, rest) = line.split_at(digits);
    if !matches!(rest.trim_ascii_start(), [] | [b';', ..]) || digits.len() > MOST_DIGITS {
        return None;
    }
    let size = u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    (size <= LARGEST).then_some(size)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { head: 100, fields: 10, http2: 100 };

    /// Feeds `body` in pieces of `piece` bytes; returns how many bytes belong to the body.
    fn followed(body: &[u8], piece: usize) -> Result<Option<usize>, &'static str> {
        let (mut chunks, mut done, mut there) = (Chunks::Size, 0, 0);
        loop {
            if done == there && there == body.len() {
                return Ok(None);
            }
            let step = if done == there { Step::More } else { chunks.step(&body[done..there], LIMITS)? };
            match step {
                Step::Passed(bytes) => done += bytes,
                Step::Ended(bytes) => return Ok(Some(done + bytes)),
                Step::More if there == body.len() => return Ok(None),
                Step::More => there = (there + piece).min(body.len()),
            }
        }
    }

    #[test]
    fn the_end_is_found_however_the_bytes_arrive() {
        let body = b"3;a=b\r\nabc\r\n00A\r\n0\r\n\r\n01234\r\n0\r\nx: 1\r\n\r\n";
        let more = [&body[..], b"GET /"].concat();
        for piece in 1..more.len() {
            assert_eq!(followed(&more, piece), Ok(Some(body.len())), "pieces of {piece}");
        }
    }

    #[test]
    fn a_body_that_is_cut_off_has_no_end() {
        let body = b"3\r\nabc\r\n0\r\nx: 1\r\n\r\n";
        for end in 0..body.len() {
            assert_eq!(followed(&body[..end], 2), Ok(None), "{end} bytes");
        }
    }

    #[test]
    fn lines_and_trailers_have_a_largest_size() {
        assert!(followed(&[b'0'; 5000], 1000).is_err());
        let trailers = [&b"0\r\n"[..], &b"x: 1\r\n".repeat(20), b"\r\n"].concat();
        assert!(followed(&trailers, 1000).is_err());
    }
}
