//! The page where people see and revoke what they have allowed.
//!
//! May use: `edge`, `store`, this folder, `admin`.

use super::consent::sent_form;
use super::page::{Page, STYLE, ScopeLine, failure, lines, stale};
use super::proof::{FormCookie, Unproven, with_form};
use super::{OAuthPages, ParsedRequest};
use crate::edge::Body;
use crate::oauth::service::NOT_SET_UP;
use crate::store::StoreError;
use askama::Template;
use http::{Method, Response};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Purposes of the forms: one asks for a key, the other revokes a grant or a key.
const ASKING: &str = "grants";
const TAKING_BACK: &str = "take back";
const TITLE: &str = "This cannot be shown";

#[derive(Template)]
#[template(path = "grants.html")]
struct GrantsPage {
    style: &'static str,
    action: String,
    problem: Option<&'static str>,
    done: Option<&'static str>,
    form: String,
    person: Option<Person>,
}

struct Person {
    name: String,
    proof: String,
    grants: Vec<Row>,
    keys: Vec<Row>,
}

struct Row {
    id: Uuid,
    title: String,
    about: String,
    scopes: Vec<ScopeLine>,
}

/// The person who has proved a key; sealed into the forms of the list.
#[derive(Serialize, Deserialize)]
struct Proven {
    user: Uuid,
    name: String,
}

impl OAuthPages {
    /// `GET` asks for a key; `POST` shows the list or revokes an entry.
    pub(super) async fn grants(&self, asked: &ParsedRequest) -> Page {
        if !self.oauth.is_set_up() {
            return Err(failure(503, TITLE, NOT_SET_UP));
        }
        if asked.parts.method == Method::GET {
            return Ok(self.asking(asked, None));
        }
        let form = sent_form(asked).ok_or_else(|| stale(TITLE))?;
        if let Some(proof) = form.get("proof") {
            let proven: Proven =
                self.open_form(TAKING_BACK, asked, Some(proof)).await.ok_or_else(|| stale(TITLE))?;
            let done = self.take_back(&proven, form.get("grant"), form.get("key")).await.map_err(unreadable)?;
            return self.listed(asked, &proven, done).await.map_err(unreadable);
        }
        let own = self.open_form::<()>(ASKING, asked, form.get("form")).await;
        own.ok_or_else(|| stale(TITLE))?;
        match self.person(asked, form.get("api_key").unwrap_or_default()).await {
            Err(unproven) => Ok(self.asking(asked, Some(&unproven))),
            Ok((_, user)) => {
                let proven = Proven { user: user.id, name: user.display_name.clone() };
                self.listed(asked, &proven, None).await.map_err(unreadable)
            }
        }
    }

    async fn take_back(
        &self,
        proven: &Proven,
        grant: Option<&str>,
        key: Option<&str>,
    ) -> Result<Option<&'static str>, StoreError> {
        let id = |text: Option<&str>| text.and_then(|text| Uuid::try_parse(text).ok());
        let (mut done, mut found) = (None, false);
        if let Some(grant) = id(grant) {
            found = self.oauth.revoke_grant(proven.user, grant).await?;
            done = Some("The app can no longer act for you.");
        } else if let Some(key) = id(key) {
            found = self.oauth.revoke_key(key, Some(proven.user)).await?;
            done = Some("The key no longer opens anything.");
        }
        Ok(if found { done } else { Some("There was nothing to take back.") })
    }

    async fn listed(
        &self,
        asked: &ParsedRequest,
        proven: &Proven,
        done: Option<&'static str>,
    ) -> Result<Response<Body>, StoreError> {
        let cookie = FormCookie::of(asked);
        let proof = self.seal_form(TAKING_BACK, &cookie, proven).unwrap_or_default();
        let grants = self.oauth.grants(proven.user).await?.into_iter().map(|grant| Row {
            id: grant.id,
            title: grant.client_name,
            about: match grant.last_token_at {
                0 => format!("allowed {}, not used yet", day(grant.created_at)),
                last => format!("allowed {}, last token {}", day(grant.created_at), day(last)),
            },
            scopes: lines(&grant.scopes),
        });
        let keys = self.oauth.keys(Some(proven.user)).await?.into_iter().map(|key| {
            let place = key.workspace.map_or("all workspaces".to_owned(), |(_, slug)| format!("workspace {slug}"));
            let until = key.expires_at.map_or("for ever".to_owned(), |at| format!("until {}", day(at)));
            Row { id: key.id, title: key.title, about: format!("{place}, {until}"), scopes: lines(&key.scopes) }
        });
        let person = Person { name: proven.name.clone(), proof, grants: grants.collect(), keys: keys.collect() };
        let page = GrantsPage {
            style: STYLE,
            action: asked.public_path("/auth/o/grants/"),
            problem: None,
            done,
            form: String::new(),
            person: Some(person),
        };
        Ok(with_form(&cookie, &page, "", None))
    }

    fn asking(&self, asked: &ParsedRequest, unproven: Option<&Unproven>) -> Response<Body> {
        let cookie = FormCookie::of(asked);
        let page = GrantsPage {
            style: STYLE,
            action: asked.public_path("/auth/o/grants/"),
            problem: unproven.map(|unproven| unproven.problem),
            done: None,
            form: self.seal_form(ASKING, &cookie, &()).unwrap_or_default(),
            person: None,
        };
        with_form(&cookie, &page, "", unproven)
    }
}

fn unreadable(fault: StoreError) -> Response<Body> {
    tracing::error!(cause = %fault, "grants could not be read or changed");
    failure(503, TITLE, "The store of the gateway cannot be used just now. Try again.")
}

/// Formats an instant, in microseconds since 1970, as its day in UTC.
fn day(micros: i64) -> String {
    jiff::Timestamp::from_microsecond(micros)
        .map_or_else(|_| "long ago".to_owned(), |at| at.strftime("%Y-%m-%d").to_string())
}
