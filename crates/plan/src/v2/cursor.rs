//! The cursor token: opaque to clients, versioned, limited in size, carrying the position only.
//!
//! The token holds the id and every cursor-eligible sort value of the last row sent, so that any eligible
//! ordering can resume from it (O19). Filters, order and page size are read anew from each request.
//!
//! May use: nothing of this crate but `record`.

use super::record::Cell;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Longest token accepted, in characters.
pub const MAX_TOKEN: usize = 512;
/// Version of the token that this gateway writes and reads.
const VERSION: u8 = 1;

/// A position in an ordered list: after the row with this id and these sort values.
#[derive(Debug, Clone, PartialEq)]
pub struct Cursor {
    /// Id of the last row sent.
    pub id: Uuid,
    /// Its cursor-eligible sort values by field name, without `id`.
    pub keys: Vec<(String, Cell)>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wire {
    v: u8,
    id: Uuid,
    k: Vec<(String, WireCell)>,
}

#[derive(Serialize, Deserialize)]
enum WireCell {
    #[serde(rename = "t")]
    Instant(i64),
    #[serde(rename = "n")]
    Number(f64),
    #[serde(rename = "0")]
    Null,
}

impl Cursor {
    /// Returns the sort value of `field`, if the token carries it.
    pub fn key(&self, field: &str) -> Option<&Cell> {
        self.keys.iter().find(|(name, _)| name == field).map(|(_, cell)| cell)
    }

    /// Encodes this position as a token.
    pub fn encode(&self) -> String {
        let keys = self.keys.iter().map(|(name, cell)| (name.clone(), WireCell::from(cell))).collect();
        let wire = Wire { v: VERSION, id: self.id, k: keys };
        URL_SAFE_NO_PAD.encode(serde_json::to_vec(&wire).unwrap_or_default())
    }

    /// Decodes a token; `None` for any text that this gateway did not write.
    pub fn decode(token: &str) -> Option<Self> {
        if token.len() > MAX_TOKEN {
            return None;
        }
        let bytes = URL_SAFE_NO_PAD.decode(token).ok()?;
        let wire: Wire = serde_json::from_slice(&bytes).ok().filter(|wire: &Wire| wire.v == VERSION)?;
        let keys = wire.k.into_iter().map(|(name, cell)| (name, Cell::from(cell))).collect();
        Some(Self { id: wire.id, keys })
    }
}

impl From<&Cell> for WireCell {
    fn from(cell: &Cell) -> Self {
        match cell {
            Cell::Instant(micros) => Self::Instant(*micros),
            Cell::Number(number) => Self::Number(*number),
            _ => Self::Null,
        }
    }
}

impl From<WireCell> for Cell {
    fn from(cell: WireCell) -> Self {
        match cell {
            WireCell::Instant(micros) => Self::Instant(micros),
            WireCell::Number(number) => Self::Number(number),
            WireCell::Null => Self::Null,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_comes_back_as_it_was() {
        let cursor =
            Cursor { id: Uuid::new_v4(), keys: vec![("created_at".into(), Cell::Instant(1_795_257_372_630_235))] };
        let token = cursor.encode();
        assert!(token.len() < MAX_TOKEN);
        assert_eq!(Cursor::decode(&token), Some(cursor));
    }

    #[test]
    fn anything_else_is_refused() {
        let token = Cursor { id: Uuid::nil(), keys: Vec::new() }.encode();
        let longer = "A".repeat(MAX_TOKEN + 1);
        for bad in ["", "x", "%%", "eyJpZCI6IjAifQ", &token[..token.len() - 2], &longer] {
            assert_eq!(Cursor::decode(bad), None, "{bad}");
        }
    }
}
