//! One of the two services that a `leave` command calls: the target's v2, or our own v1.
//!
//! Requests wait as long as the service says (`Retry-After`). A read without an answer is sent again. A write is
//! not, because it may have been carried out; the next run checks what is there.
//! May use: `outgoing`, `settings` (addresses).

use crate::outgoing::{self, Answer};
use crate::settings::HttpAddress;
use reqwest::{Client, Method};
use serde_json::{Map, Value};
use std::time::Duration;

/// Longest time for one answer.
const PATIENCE: Duration = Duration::from_secs(90);
/// Longest total time that one request waits before it may be sent again.
const LONGEST_WAIT: Duration = Duration::from_secs(900);
/// Largest number of tries for a read that gets no answer.
const READS: u32 = 4;
/// Largest number of times that a list of v1 is read because it changed meanwhile.
const WALKS: usize = 5;
const PAGE: usize = 200;

/// A service and its API key.
#[derive(Debug, Clone)]
pub(super) struct Side {
    http: Client,
    base: String,
    key: String,
    /// Name of the service in messages.
    name: &'static str,
}

impl Answer {
    /// Checks whether a refusal comes from v1 itself, and not from a proxy before it.
    pub(super) fn is_of_v1(&self) -> bool {
        ["error", "detail"].iter().any(|key| self.json[*key].is_string())
    }

    pub(super) fn record(self) -> Map<String, Value> {
        match self.json {
            Value::Object(record) => record,
            _ => Map::new(),
        }
    }
}

impl Side {
    pub(super) fn new(base: &HttpAddress, key: &str, name: &'static str) -> Result<Self, String> {
        let (http, base) = (outgoing::client_for(base.as_str(), PATIENCE)?, base.as_str().to_owned());
        Ok(Self { http, base, key: key.to_owned(), name })
    }

    pub(super) fn base(&self) -> &str {
        &self.base
    }

    pub(super) async fn get(&self, path: &str) -> Result<Answer, String> {
        let mut tried = 1;
        loop {
            let outcome = self.send(Method::GET, path, None, true).await;
            let again = match &outcome {
                Ok(answer) => matches!(answer.status, 500 | 502 | 504),
                Err(_) => true,
            };
            if !again || tried == READS {
                return outcome;
            }
            tokio::time::sleep(Duration::from_millis(200) * 2_u32.pow(tried)).await;
            tried += 1;
        }
    }

    /// Reads a resource that must exist.
    pub(super) async fn read(&self, path: &str) -> Result<Value, String> {
        let answer = self.get(path).await?;
        match answer.status {
            200 => Ok(answer.json),
            _ => Err(self.refused("GET", path, &answer)),
        }
    }

    /// Sends a write, without a body when `body` is null. The answer may be a refusal.
    pub(super) async fn write(&self, method: Method, path: &str, body: &Value) -> Result<Answer, String> {
        let word = method.to_string();
        // After a 503 only a write that may safely be repeated is sent again.
        let body = (!body.is_null()).then_some(body);
        let answer = self.send(method.clone(), path, body, method != Method::POST).await?;
        match answer.status {
            401 | 403 | 500.. => Err(self.refused(&word, path, &answer)),
            _ => Ok(answer),
        }
    }

    /// Sends a write that must succeed, and returns the record.
    pub(super) async fn done(
        &self,
        method: Method,
        path: &str,
        body: &Value,
    ) -> Result<Map<String, Value>, String> {
        let word = method.to_string();
        let answer = self.write(method, path, body).await?;
        match answer.status {
            200..300 => Ok(answer.record()),
            _ => Err(self.refused(&word, path, &answer)),
        }
    }

    /// Returns all rows of a v2 list in its order; `path` may have a query.
    pub(super) async fn rows(&self, path: &str) -> Result<Vec<Map<String, Value>>, String> {
        let sign = if path.contains('?') { '&' } else { '?' };
        let by_cursor = path.contains("paginate=cursor");
        let (mut rows, mut next) = (Vec::new(), String::new());
        loop {
            let page = self.read(&format!("{path}{sign}per_page={PAGE}{next}")).await?;
            let Some(data) = page["data"].as_array() else {
                return Err(format!("{} answered GET {path} with something that is no list of v2", self.named()));
            };
            rows.extend(data.iter().filter_map(Value::as_object).cloned());
            next = match (by_cursor, page["next_cursor"].as_str(), page["next"].as_u64()) {
                (true, Some(cursor), _) => {
                    let cursor: String = form_urlencoded::byte_serialize(cursor.as_bytes()).collect();
                    format!("&cursor={cursor}")
                }
                (false, _, Some(offset)) => format!("&offset={offset}"),
                _ => return Ok(rows),
            };
        }
    }

    /// Returns all rows of a paged v1 list, with `fields` only, or with all fields. Pages are positions in the list: when
    /// a record goes while they are read, another one is in none of them. So such a list is read again.
    ///
    /// # Errors
    /// A sentence, also when the list changes each time that it is read.
    pub(super) async fn v1_rows(&self, path: &str, fields: &str) -> Result<Vec<Map<String, Value>>, String> {
        for _ in 0..WALKS {
            if let Some(rows) = self.unchanged_rows(path, fields).await? {
                return Ok(rows);
            }
        }
        Err(format!("GET {path} of {} changes while it is read; run the command again", self.named()))
    }

    /// Returns the rows of all pages; none when rows have gone meanwhile. New rows are at the end.
    async fn unchanged_rows(&self, path: &str, fields: &str) -> Result<Option<Vec<Map<String, Value>>>, String> {
        let (mut rows, mut total) = (Vec::new(), None);
        for number in 0.. {
            let fields = if fields.is_empty() { String::new() } else { format!("&fields={fields}") };
            let page = format!("{path}?per_page=1000&cursor=1000:{number}:0&order_by=created_at{fields}");
            let page = self.read(&page).await?;
            let Some(results) = page["results"].as_array() else {
                return Err(format!("{} answered GET {path} with something that is no list of v1", self.named()));
            };
            rows.extend(results.iter().filter_map(Value::as_object).cloned());
            let now = page["total_results"].as_u64();
            if let (Some(before), Some(now)) = (total, now)
                && now < before
            {
                return Ok(None);
            }
            total = now;
            if page["next_page_results"] != true || results.is_empty() {
                break;
            }
        }
        Ok(Some(rows))
    }

    pub(super) fn named(&self) -> String {
        format!("{} ({})", self.name, self.base)
    }

    fn refused(&self, method: &str, path: &str, answer: &Answer) -> String {
        let advice = match answer.status {
            401 => "; its key is not accepted",
            403 => "; its key must be that of an administrator of the workspace who is in all its projects",
            500.. => "; run the command again, it goes on where it stopped",
            _ => "",
        };
        format!("{} answered {method} {path} with {}{advice}", self.named(), answer.brief())
    }

    async fn send(&self, method: Method, path: &str, body: Option<&Value>, again: bool) -> Result<Answer, String> {
        let mut waited = Duration::ZERO;
        loop {
            let request = self.http.request(method.clone(), format!("{}{path}", self.base));
            let answer = outgoing::ask(request, Some(&self.key), body).await.map_err(|fault| {
                format!(
                    "{} gave no answer to {method} {path}: {}; when it does again, run the command again, it goes on \
                     where it stopped",
                    self.named(),
                    outgoing::causes(&fault.without_url()).join(": ")
                )
            })?;
            let seconds = answer.retry_after();
            let later = answer.status == 429 || answer.status == 503 && again && seconds.is_some();
            let pause = Duration::from_secs(seconds.unwrap_or(5)).max(Duration::from_secs(1));
            if !later || waited.saturating_add(pause) > LONGEST_WAIT {
                return Ok(answer);
            }
            waited += pause;
            tokio::time::sleep(pause).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::time::Instant;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    /// Starts a service that sends these answers one after the other. Returns a client for it.
    async fn scripted(answers: &'static [&'static str]) -> Side {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move {
            for answer in answers {
                let (mut client, _) = listener.accept().await.unwrap();
                let mut request = [0; 4096];
                let _ = client.read(&mut request).await.unwrap();
                let head = format!("HTTP/1.1 {answer}\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{{}}");
                client.write_all(head.as_bytes()).await.unwrap();
            }
        });
        Side::new(&HttpAddress::parse(&address).unwrap(), "key", "the target").unwrap()
    }

    #[tokio::test]
    async fn a_request_waits_as_long_as_it_is_told() {
        let side = scripted(&["429 Too Many Requests\r\nretry-after: 1", "201 Created"]).await;
        let began = Instant::now();
        assert_eq!(side.write(Method::POST, "/x/", &Value::Null).await.unwrap().status, 201);
        assert!(began.elapsed() >= Duration::from_secs(1));
        let far = &["429 Too Many Requests\r\nretry-after: 1", "429 No\r\nretry-after: 18446744073709551615"];
        assert_eq!(scripted(far).await.write(Method::POST, "/x/", &Value::Null).await.unwrap().status, 429);
    }

    #[tokio::test]
    async fn creates_are_not_retried_but_reads_and_updates_are() {
        let busy = &["503 Service Unavailable\r\nretry-after: 1", "200 OK"];
        let fault = scripted(busy).await.write(Method::POST, "/x/", &Value::Null).await.unwrap_err();
        assert!(fault.contains("503") && fault.contains("run the command again"), "{fault}");
        assert_eq!(scripted(busy).await.write(Method::PATCH, "/x/", &Value::Null).await.unwrap().status, 200);
        let broken = &["500 Internal Server Error", "502 Bad Gateway", "200 OK"];
        assert_eq!(scripted(broken).await.get("/x/").await.unwrap().status, 200);
    }

    #[test]
    fn a_refusal_of_a_proxy_is_not_v1s() {
        let is_of_v1 = |json| Answer { json, ..Answer::default() }.is_of_v1();
        assert!(is_of_v1(json!({"error": "The requested resource does not exist."})));
        assert!(is_of_v1(json!({"detail": "Not found."})));
        for other in [Value::Null, json!({}), json!({"message": "no route"}), json!({"error": {"code": 5}})] {
            assert!(!is_of_v1(other.clone()), "{other}");
        }
    }
}
