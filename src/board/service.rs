//! Answers requests for the board.
//!
//! May use: `admin` (what a page is), `migration`, `plan`, `shadow`, `store`, `usage` (which day it is), `board::page`.

use super::page::Page;
use crate::admin::{AdminPage, rendered, text};
use crate::migration::{CountSelection, Counts, QUIET, Report, csv};
use crate::plan::Plan;
use crate::shadow;
use crate::store::{Store, StoreError};
use crate::usage::today;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use std::sync::Arc;

const PATH: &str = "/migration/";
/// Path of the same data as CSV.
const CSV: &str = "/migration/counts.csv";
const MOST_DAYS: i64 = 3660;

pub struct Board {
    plan: Arc<Plan>,
    store: Store,
}

impl Board {
    pub fn new(plan: Arc<Plan>, store: Store) -> Self {
        Self { plan, store }
    }
}

impl AdminPage for Board {
    fn path(&self) -> &'static str {
        PATH
    }

    fn title(&self) -> &'static str {
        "The move from v1 to v2"
    }

    fn answer(&self, request: Request<Bytes>) -> BoxFuture<'static, Response<Bytes>> {
        let (plan, store) = (Arc::clone(&self.plan), self.store.clone());
        Box::pin(async move {
            if request.method() != Method::GET {
                return text(StatusCode::METHOD_NOT_ALLOWED, "There is nothing to change here.\n");
            }
            let path = request.uri().path();
            if path != PATH && path != CSV {
                return text(StatusCode::NOT_FOUND, "There is no such page; /migration/ is the board.\n");
            }
            let wanted = match wanted(request.uri().query().unwrap_or_default()) {
                Ok(wanted) => wanted,
                Err(sentence) => return text(StatusCode::BAD_REQUEST, sentence),
            };
            let today = i64::from(today());
            let read = async {
                let counts = Counts::read(&store, &plan, &wanted, today).await?;
                Ok((counts, shadow::Report::read(&store).await?))
            };
            let (counts, compared) = match read.await {
                Ok(read) => read,
                Err::<_, StoreError>(fault) => {
                    tracing::warn!(%fault, "the board could not be shown");
                    return text(StatusCode::SERVICE_UNAVAILABLE, "The store cannot be read; the log says why.\n");
                }
            };
            if path == CSV {
                return table(csv(&counts));
            }
            let report = Report::of(&plan, &counts, today, QUIET);
            rendered(&Page::of(&report, &wanted, &compared))
        })
    }
}

fn table(csv: String) -> Response<Bytes> {
    let mut response = text(StatusCode::OK, csv);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/csv; charset=utf-8"));
    headers.insert(CONTENT_DISPOSITION, HeaderValue::from_static("attachment; filename=\"v1-to-v2.csv\""));
    response
}

fn wanted(query: &str) -> Result<CountSelection, String> {
    let mut wanted = CountSelection::default();
    for (name, value) in form_urlencoded::parse(query.as_bytes()).filter(|(_, value)| !value.is_empty()) {
        match &*name {
            "days" => match value.parse() {
                Ok(days @ 1..=MOST_DAYS) => wanted.days = Some(days),
                _ => return Err(format!("days is a whole number from 1 to {MOST_DAYS}.\n")),
            },
            "client" => wanted.client = Some(value.into_owned()),
            "caller" => wanted.caller = Some(value.into_owned()),
            "operation" => wanted.operation = Some(value.into_owned()),
            _ => return Err("The board takes days, client, caller and operation.\n".into()),
        }
    }
    Ok(wanted)
}
