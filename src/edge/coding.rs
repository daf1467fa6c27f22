//! Compressed answers, in a coding that the client accepts: gzip or zstd (RFC 9110, 8.4 and 12.5.3).
//!
//! Answers that are the same for all clients (the pages of the documentation, the OpenAPI document) are always
//! compressed, and their compressed forms are cached. For answers of v2 a setting decides (`edge.compress`): when an
//! attacker chose a part of an answer, its compressed length tells something about the rest. Answers below `/auth/`,
//! answers of v1 or of another v2, and short answers are never compressed.
//!
//! A compressed form has a tag of its own: the tag of the plain form with the name of the coding (`v2::tag`).
//!
//! May use: `cache`, `settings`, `v2`, `edge::body`, `edge::weight`.

use super::body::{self, Body};
use super::weight::weight;
use crate::cache::{Bounds, Cache};
use crate::settings::EdgeSettings;
use crate::v2::{NamedVersions, tag};
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, ETAG, IF_NONE_MATCH, VARY};
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use http_body::Body as _;
use http_body_util::BodyExt;
use std::io::{self, Write};
use std::sync::Arc;
use tokio::sync::Semaphore;

/// Smallest size of a compressed answer, in bytes: about the content of one packet.
const SHORT: usize = 1_024;
/// Uncached answers up to this many bytes are compressed on the thread of the request, in less than a millisecond.
const QUICK: usize = 64 * 1024;
/// Size limit of the cache of compressed forms, in bytes.
const KEPT: u64 = 8 * 1024 * 1024;
/// Compression levels: of cached forms, and of answers compressed each time. Both codings use the same number.
const LEVEL_KEPT: u8 = 6;
const LEVEL_LIVE: u8 = 1;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
enum Coding {
    Gzip,
    Zstd,
}

impl Coding {
    /// All codings. The first one wins when a client gives both the same weight.
    const ALL: [Self; 2] = [Self::Zstd, Self::Gzip];

    fn name(self) -> &'static str {
        self.into()
    }

    /// Checks whether `tags` contains the tag of a form in this coding.
    fn is_in(self, tags: &str) -> bool {
        tags.contains(&tag::ending(self.name()))
    }

    fn of(self, plain: &[u8], level: u8) -> io::Result<Vec<u8>> {
        match self {
            Self::Zstd => zstd::bulk::compress(plain, level.into()),
            Self::Gzip => {
                let mut encoder =
                    GzEncoder::new(Vec::with_capacity(plain.len() / 4), Compression::new(level.into()));
                encoder.write_all(plain)?;
                encoder.finish()
            }
        }
    }
}

/// The coding that a client prefers, and the forms that it already has.
pub(super) struct Accepted {
    coding: Option<Coding>,
    /// Value of `If-None-Match`, when one of its tags is that of a compressed form.
    known: Option<String>,
}

impl Accepted {
    /// Reads the headers of a request.
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let known = known(headers).filter(|known| Coding::ALL.iter().any(|one| one.is_in(known)));
        Self { coding: preferred(headers), known }
    }

    /// Reads the headers of a read. Removes from `If-None-Match` the forms in a coding that this client refuses. A
    /// cache on the way may list forms that it has for other clients, and after a 304 it would give such a form to this
    /// client.
    pub(super) fn of_read(headers: &mut HeaderMap) -> Self {
        let accepted = Self::of(headers);
        let Some(known) = &accepted.known else { return accepted };
        let taken = Coding::ALL.map(|coding| takes(headers, coding));
        let refused = |tag: &str| Coding::ALL.iter().zip(taken).any(|(coding, taken)| !taken && coding.is_in(tag));
        let known: Vec<&str> = known.split(',').map(str::trim).filter(|tag| !refused(tag)).collect();
        let known = known.join(",");
        match HeaderValue::try_from(&known) {
            Ok(known) if !known.is_empty() => drop(headers.insert(IF_NONE_MATCH, known)),
            _ => drop(headers.remove(IF_NONE_MATCH)),
        }
        Self { known: Some(known), ..accepted }
    }
}

/// Returns the versions in `If-None-Match`, which the client of a read has already.
pub(crate) fn known_versions(headers: &HeaderMap) -> Option<NamedVersions> {
    NamedVersions::of_read(headers.get_all(IF_NONE_MATCH).iter().map(HeaderValue::as_bytes))
}

/// Returns all lines of `If-None-Match`, joined by commas.
fn known(headers: &HeaderMap) -> Option<String> {
    let lines: Vec<&str> = headers.get_all(IF_NONE_MATCH).iter().filter_map(|line| line.to_str().ok()).collect();
    (!lines.is_empty()).then(|| lines.join(","))
}

/// Checks whether a client accepts this coding. Without `Accept-Encoding` it accepts any (RFC 9110, 12.5.3).
fn takes(headers: &HeaderMap, coding: Coding) -> bool {
    let weight = |(of, weight): (Coding, f32)| of == coding && weight > 0.0;
    !headers.contains_key(ACCEPT_ENCODING) || weights(headers).into_iter().any(weight)
}

/// Returns the coding with the highest weight; none when all weights are zero.
fn preferred(headers: &HeaderMap) -> Option<Coding> {
    let weights = weights(headers);
    // Take the first coding of those with the highest weight.
    let heaviest = weights.iter().map(|(_, weight)| *weight).fold(0.0, f32::max);
    weights.into_iter().find(|(_, weight)| *weight > 0.0 && *weight >= heaviest).map(|(coding, _)| coding)
}

/// Returns the weight that a client gives each coding.
fn weights(headers: &HeaderMap) -> [(Coding, f32); 2] {
    let mut weights = Coding::ALL.map(|coding| (coding, None));
    let mut others = 0.0;
    let lines = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|line| line.to_str().ok());
    for one in lines.flat_map(|line| line.split(',')) {
        let mut parts = one.split(';');
        let name = parts.next().unwrap_or_default().trim().to_ascii_lowercase();
        let weight = weight(parts);
        if name == "*" {
            others = weight;
        }
        for (coding, known) in &mut weights {
            if name == coding.name() || (name == "x-gzip" && *coding == Coding::Gzip) {
                *known = Some(weight);
            }
        }
    }
    weights.map(|(coding, weight): (_, Option<f32>)| (coding, weight.unwrap_or(others)))
}

/// The cached compressed forms, and the setting. Cheap to clone; all clones share one cache.
#[derive(Clone)]
pub(super) struct Codings {
    live: bool,
    kept: Cache<(String, Coding), Bytes>,
    /// Lets one long or cached answer be compressed at a time.
    long: Arc<Semaphore>,
}

impl Codings {
    pub(super) fn new(settings: &EdgeSettings) -> Self {
        let weight =
            |(tag, _): &(String, Coding), coded: &Bytes| u32::try_from(tag.len() + coded.len()).unwrap_or(u32::MAX);
        let kept = Cache::weighed(Bounds::of(KEPT), weight);
        Self { live: settings.compress, kept, long: Arc::new(Semaphore::new(1)) }
    }

    pub(super) fn with_settings(&self, settings: &EdgeSettings) -> Self {
        Self { live: settings.compress, ..self.clone() }
    }

    /// Compresses the answer as `accepted` allows. `fixed`: it is the same for all clients until its tag changes.
    pub(super) async fn coded(&self, accepted: &Accepted, response: Response<Body>, fixed: bool) -> Response<Body> {
        // Also for a form that was sent before the setting was switched off.
        let response = match response.status() {
            StatusCode::NOT_MODIFIED => as_it_is_known(accepted, response),
            _ => response,
        };
        let wanted = fixed || self.live;
        if !wanted || response.headers().contains_key(CONTENT_ENCODING) {
            return response;
        }
        let mut response = match (response.status(), accepted.coding) {
            (status, Some(coding)) if status.is_success() => self.with(coding, response, fixed).await,
            _ => response,
        };
        response.headers_mut().append(VARY, HeaderValue::from_static("accept-encoding"));
        response
    }

    async fn with(&self, coding: Coding, response: Response<Body>, fixed: bool) -> Response<Body> {
        let size = response.body().size_hint().exact().and_then(|size| usize::try_from(size).ok());
        if size.is_none_or(|size| size < SHORT) {
            return response;
        }
        let tag = response.headers().get(ETAG).and_then(|tag| tag.to_str().ok()).map(str::to_owned);
        let key = tag.clone().filter(|_| fixed).map(|tag| (tag, coding));
        let known = key.as_ref().and_then(|key| self.kept.get(key));
        let (mut parts, plain) = response.into_parts();
        let coded = match known {
            Some(coded) => coded,
            None => {
                // All bytes of the body are present, so this neither waits nor fails.
                let Ok(whole) = plain.collect().await else { return Response::from_parts(parts, body::empty()) };
                let plain = whole.to_bytes();
                let Some(coded) = self.make(coding, &plain, fixed).await else {
                    return Response::from_parts(parts, body::full(plain));
                };
                if let Some(key) = key {
                    self.kept.insert(key, coded.clone());
                }
                coded
            }
        };
        parts.headers.insert(CONTENT_ENCODING, HeaderValue::from_static(coding.name()));
        if let Some(tag) = tag.and_then(|tag| HeaderValue::try_from(tag::coded(&tag, coding.name())).ok()) {
            parts.headers.insert(ETAG, tag);
        }
        Response::from_parts(parts, body::full(coded))
    }

    /// Returns none while another long answer is being compressed: this answer is then sent uncompressed.
    async fn make(&self, coding: Coding, plain: &Bytes, fixed: bool) -> Option<Bytes> {
        let level = if fixed { LEVEL_KEPT } else { LEVEL_LIVE };
        if plain.len() <= QUICK && !fixed {
            return coding.of(plain, level).ok().map(Bytes::from);
        }
        let turn = Arc::clone(&self.long).try_acquire_owned().ok()?;
        let plain = plain.clone();
        let made = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            coding.of(&plain, level)
        });
        made.await.ok()?.ok().map(Bytes::from)
    }
}

/// Sets the tag of a 304 to the tag of the form that the client has: a cache finds the stored answer by it (RFC 9111,
/// 4.3.4).
fn as_it_is_known(accepted: &Accepted, mut response: Response<Body>) -> Response<Body> {
    let known = accepted.known.as_ref();
    let tag = response.headers().get(ETAG).and_then(|tag| tag.to_str().ok());
    if let (Some(known), Some(tag)) = (known, tag) {
        let form =
            Coding::ALL.iter().map(|coding| tag::coded(tag, coding.name())).find(|form| known.contains(form));
        if let Some(form) = form.and_then(|tag| HeaderValue::try_from(tag).ok()) {
            response.headers_mut().insert(ETAG, form);
        }
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(lines: &[&str]) -> Option<&'static str> {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(ACCEPT_ENCODING, HeaderValue::from_str(line).unwrap());
        }
        preferred(&headers).map(Coding::name)
    }

    #[test]
    fn the_coding_is_the_one_that_the_client_likes_best() {
        assert_eq!(of(&[]), None);
        assert_eq!(of(&["identity"]), None);
        assert_eq!(of(&["br, deflate"]), None);
        assert_eq!(of(&["gzip, deflate, br"]), Some("gzip"));
        assert_eq!(of(&["gzip, deflate, br, zstd"]), Some("zstd"));
        assert_eq!(of(&["gzip", "zstd;q=0.5"]), Some("gzip"));
        assert_eq!(of(&["gzip;q=0, zstd;q=0"]), None);
        assert_eq!(of(&["*"]), Some("zstd"));
        assert_eq!(of(&["*;q=0.1, zstd;q=0"]), Some("gzip"));
        assert_eq!(of(&["X-GZIP"]), Some("gzip"));
        assert_eq!(of(&["gzip;q=many"]), None);
    }

    fn answer(bytes: &[u8], tag: &'static str) -> Response<Body> {
        let mut response = Response::new(body::full(bytes.to_vec()));
        response.headers_mut().insert(ETAG, HeaderValue::from_static(tag));
        response
    }

    fn accepted(coding: Coding) -> Accepted {
        Accepted { coding: Some(coding), known: None }
    }

    #[tokio::test]
    async fn a_compressed_answer_decodes_to_the_same_bytes_and_has_its_own_tag() {
        let plain = "{\"name\":\"Ada\"},".repeat(10_000).into_bytes();
        let codings = Codings::new(&EdgeSettings { compress: true, ..EdgeSettings::default() });
        for coding in Coding::ALL {
            for fixed in [true, false, true] {
                let coded = codings.coded(&accepted(coding), answer(&plain, "\"a\""), fixed).await;
                assert_eq!(coded.headers()[CONTENT_ENCODING], coding.name());
                assert_eq!(coded.headers()[ETAG], format!("\"a.{}\"", coding.name()));
                assert_eq!(coded.headers()[VARY], "accept-encoding");
                let bytes = coded.into_body().collect().await.unwrap().to_bytes();
                assert!(bytes.len() * 20 < plain.len(), "{}", bytes.len());
                let read = match coding {
                    Coding::Zstd => zstd::decode_all(&bytes[..]).unwrap(),
                    Coding::Gzip => {
                        io::read_to_string(flate2::read::GzDecoder::new(&bytes[..])).unwrap().into_bytes()
                    }
                };
                assert!(read == plain);
            }
        }
    }

    #[tokio::test]
    async fn short_answers_and_those_that_are_not_to_be_coded_stay_as_they_are() {
        let off = Codings::new(&EdgeSettings::default());
        let long = vec![b' '; 4 * SHORT];
        let live = off.coded(&accepted(Coding::Gzip), answer(&long, "\"a\""), false).await;
        assert!(!live.headers().contains_key(CONTENT_ENCODING) && !live.headers().contains_key(VARY));
        let short = off.coded(&accepted(Coding::Gzip), answer(b"{}", "\"a\""), true).await;
        assert!(!short.headers().contains_key(CONTENT_ENCODING));
        assert_eq!(
            (&short.headers()[ETAG], &short.headers()[VARY]),
            (&"\"a\"".parse().unwrap(), &"accept-encoding".parse().unwrap())
        );
        let mut zipped = answer(&long, "\"a\"");
        zipped.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("br"));
        let zipped = off.coded(&accepted(Coding::Gzip), zipped, true).await;
        assert_eq!(zipped.headers()[CONTENT_ENCODING], "br");
    }

    #[tokio::test]
    async fn a_304_has_the_tag_of_the_coding_that_the_client_holds() {
        let codings = Codings::new(&EdgeSettings::default());
        let tag_of = async |known: &str| {
            let mut headers = HeaderMap::new();
            for line in known.lines() {
                headers.append(IF_NONE_MATCH, HeaderValue::from_str(line).unwrap());
            }
            let mut response = answer(b"", "\"a\"");
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            let answer = codings.coded(&Accepted::of_read(&mut headers), response, true).await;
            answer.headers()[ETAG].to_str().unwrap().to_owned()
        };
        assert_eq!(tag_of("\"a\"").await, "\"a\"");
        assert_eq!(tag_of("\"b\", \"a.gzip\"").await, "\"a.gzip\"");
        assert_eq!(tag_of("\"b\"\n\"a.gzip\"").await, "\"a.gzip\"", "in two lines");
        assert_eq!(tag_of("*").await, "\"a\"");
    }

    #[test]
    fn forms_that_a_client_cannot_read_are_not_what_it_has() {
        let left = |accept: Option<&'static str>, known: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(IF_NONE_MATCH, HeaderValue::from_static(known));
            accept.map(|accept| headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(accept)));
            Accepted::of_read(&mut headers);
            headers.get(IF_NONE_MATCH).map(|left| left.to_str().unwrap().to_owned())
        };
        assert_eq!(left(Some("gzip"), "\"a.zstd\""), None);
        assert_eq!(left(Some("gzip"), "\"a.zstd\",\"a.gzip\",\"b\"").unwrap(), "\"a.gzip\",\"b\"");
        assert_eq!(left(Some("identity"), "W/\"a.gzip\", \"a\"").unwrap(), "\"a\"");
        for accept in [None, Some("*"), Some("zstd;q=0.1")] {
            assert_eq!(left(accept, "\"a.zstd\"").unwrap(), "\"a.zstd\"");
        }
        assert_eq!(left(Some("gzip"), "\"a\"").unwrap(), "\"a\"");
    }
}
