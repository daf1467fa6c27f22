//! Faults of the content: v1's answer in another shape.
//!
//! May use: the table of kinds.

use super::Answer;
use super::kinds::Shape;
use crate::support::random::Random;
use serde_json::{Map, Value, json};

/// Elements of a gzip bomb, 258 bytes each.
const RUNS: usize = 40_000;
/// A size above the gateway's limit in these tests.
pub const HUGE: usize = 3 << 20;

/// Returns the answer in another shape; none where the kind does not apply to this answer. `records` are other records
/// that v1 has shown.
pub fn apply(
    shape: Shape,
    real: &Answer,
    random: &mut Random,
    records: &[Value],
    is_person: bool,
) -> Option<Answer> {
    let json: Value = serde_json::from_slice(&real.body).ok()?;
    let with = |body: Vec<u8>| Some(Answer { body, ..real.clone() });
    let said = |body: Value| with(body.to_string().into_bytes());
    let text = String::from_utf8_lossy(&real.body).into_owned();
    match shape {
        Shape::Null => said(Value::Null),
        Shape::List => said(json!([])),
        Shape::Object => said(json!({})),
        Shape::Text => said(json!("ok")),
        Shape::Number => said(json!(1)),
        Shape::Nothing => with(Vec::new()),
        Shape::NoContent => Some(Answer { status: 204, body: Vec::new(), ..real.clone() }),
        Shape::Accepted => Some(Answer { status: 202, ..real.clone() }),
        Shape::Partial => Some(Answer { status: 206, ..real.clone() }).filter(|_| real.method != "GET"),
        Shape::Truncated => with(real.body[..real.body.len() / 2].to_vec()),
        Shape::Trailing => with(format!("{text} {text}").into_bytes()),
        Shape::Bom => with(format!("\u{feff}{text}").into_bytes()),
        Shape::BadUtf8 => with([&real.body[..1], b"\"\xff\":1,", &real.body[1..]].concat()),
        Shape::NotANumber => with(text.replacen(':', ":NaN,\"x\":", 1).into_bytes()),
        Shape::Deep => with(format!("{}{text}{}", "[".repeat(5_000), "]".repeat(5_000)).into_bytes()),
        Shape::Wrapped => said(json!({"data": json})),
        Shape::InAList => said(json!([json])).filter(|_| json.is_object()),
        Shape::NoId | Shape::OnlyId | Shape::MissingMember | Shape::NullMember | Shape::WrongType => {
            said(changed(shape, json, random, is_person)?)
        }
        Shape::WrongId | Shape::IdOfNoForm | Shape::Another => {
            said(of_another(shape, json, random, records, is_person)?)
        }
        Shape::DuplicateKey => {
            let name = json.get("name")?.as_str()?;
            with(text.replacen('{', &format!("{{\"name\":{},", json!(format!("not {name}"))), 1).into_bytes())
        }
        Shape::HtmlType => Some(Answer { content_type: Some("text/html"), ..real.clone() }),
        Shape::NoType => Some(Answer { content_type: None, ..real.clone() }),
        Shape::GzipNamed => Some(Answer { gzip: true, ..real.clone() }),
        Shape::Gzipped => Some(Answer { gzip: true, body: stored(&real.body), ..real.clone() }),
        Shape::GzipBomb => Some(Answer { gzip: true, body: bomb(), ..real.clone() }),
        Shape::Huge => with(format!("{}{text}", " ".repeat(HUGE)).into_bytes()),
        Shape::HugeAnnounced => Some(Answer { announced: Some(1 << 40), ..real.clone() }),
    }
}

/// Returns the object to damage: the record itself, or the first row of a list.
fn record_of(json: &mut Value) -> Option<&mut Map<String, Value>> {
    if json.get("results").is_some() {
        return json.get_mut("results")?.get_mut(0)?.as_object_mut();
    }
    json.as_object_mut()
}

fn changed(shape: Shape, mut json: Value, random: &mut Random, is_person: bool) -> Option<Value> {
    let members = record_of(&mut json)?;
    match shape {
        Shape::NoId => drop(members.shift_remove("id")?),
        Shape::OnlyId => {
            let id = members.get("id")?.clone();
            *members = Map::from_iter([("id".to_owned(), id)]);
        }
        // A missing or damaged member of a person cannot be detected.
        _ if is_person => return None,
        Shape::MissingMember => {
            let key = members.keys().nth(random.below(members.len()))?.clone();
            members.shift_remove(&key);
        }
        // Other members may be null.
        Shape::NullMember => *members.get_mut("name")? = Value::Null,
        _ => *members.get_mut("name")? = json!(5),
    }
    Some(json)
}

/// Replaces a single record, which can be told from another one only by its id.
fn of_another(
    shape: Shape,
    mut json: Value,
    random: &mut Random,
    records: &[Value],
    is_person: bool,
) -> Option<Value> {
    if is_person || json.get("results").is_some() || json.get("id").is_none() {
        return None;
    }
    match shape {
        Shape::WrongId => {
            json["id"] = json!(format!("00000000-0000-4000-8000-{:012x}", random.next() & 0xffff_ffff))
        }
        Shape::IdOfNoForm => json["id"] = json!("seven"),
        _ => {
            let like = |other: &&Value| {
                other["id"] != json["id"] && other.as_object().map(Map::len) == json.as_object().map(Map::len)
            };
            let others: Vec<&Value> = records.iter().filter(like).collect();
            json = (*others.get(random.below(others.len().max(1)))?).clone();
        }
    }
    Some(json)
}

/// Returns gzip with uncompressed blocks.
fn stored(body: &[u8]) -> Vec<u8> {
    let mut out = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    for (index, block) in body.chunks(0xffff).enumerate() {
        let last = (index + 1) * 0xffff >= body.len();
        let length = u16::try_from(block.len()).expect("a short block");
        out.push(u8::from(last));
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(&(!length).to_le_bytes());
        out.extend_from_slice(block);
    }
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&u32::try_from(body.len()).expect("a short body").to_le_bytes());
    out
}

/// Returns gzip of ten megabytes of zeros, as longest repetitions: the first zero, then runs of 258.
fn bomb() -> Vec<u8> {
    let mut bits = Bits::default();
    bits.push(0b1, 1);
    bits.push(0b01, 2);
    bits.code(0b0011_0000, 8);
    for _ in 0..RUNS {
        bits.code(0b1100_0101, 8);
        bits.code(0, 5);
    }
    bits.code(0, 7);
    let mut out = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    out.extend(bits.bytes);
    out.extend_from_slice(&[0; 8]);
    out
}

#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    used: usize,
}

impl Bits {
    /// Appends bits, the lowest first.
    fn push(&mut self, value: u32, count: usize) {
        for bit in 0..count {
            if self.used.is_multiple_of(8) {
                self.bytes.push(0);
            }
            let last = self.bytes.len() - 1;
            self.bytes[last] |= (((value >> bit) & 1) as u8) << (self.used % 8);
            self.used += 1;
        }
    }

    /// Appends a Huffman code, the highest bit first.
    fn code(&mut self, value: u32, count: usize) {
        for bit in (0..count).rev() {
            self.push((value >> bit) & 1, 1);
        }
    }
}
