//! The consent page: an app asks, a person decides.
//!
//! The first check of a request: is the address proven to be the app's? Only then may an answer be sent to it.
//! An app that registered itself gets no answer before a person has decided, because anybody can register
//! an address and have people sent there (RFC 9700, 4.11.2).
//!
//! May use: `edge`, `limits`, `settings`, `store`, this folder, `protocol`, `service`.

use super::page::{Page, STYLE, ScopeLine, failure, lines, redirect, redirect_after_form, stale};
use super::proof::{FormCookie, Unproven, is_cross_site, with_form};
use super::{OAuthPages, ParsedRequest};
use crate::edge::Body;
use crate::oauth::OAuth;
use crate::oauth::protocol::authorize::{self, Authorization, Target};
use crate::oauth::protocol::error::OAuthError;
use crate::oauth::protocol::form::Form;
use crate::oauth::protocol::redirect::policy_source;
use crate::oauth::service::NOT_SET_UP;
use crate::settings::HttpAddress;
use crate::store::oauth::Client;
use askama::Template;
use http::Response;
use serde::{Deserialize, Serialize};

const PURPOSE: &str = "consent";
const TITLE: &str = "This app cannot be allowed";

#[derive(Template)]
#[template(path = "consent.html")]
struct ConsentPage<'a> {
    style: &'static str,
    client: &'a str,
    self_registered: bool,
    scopes: Vec<ScopeLine>,
    grants: String,
    site: Option<&'a str>,
    keys_url: Option<&'a str>,
    destination: String,
    action: String,
    request: String,
    problem: Option<&'static str>,
}

/// A request as the page showed it. It is sealed into the form, so that the person decides about exactly this request.
#[derive(Serialize, Deserialize)]
struct ConsentRequest {
    #[serde(flatten)]
    target: Target,
    state: Option<String>,
    #[serde(flatten)]
    wanted: Authorization,
}

impl OAuthPages {
    /// `GET`: shows the app's request.
    pub(super) async fn ask(&self, asked: &ParsedRequest) -> Page {
        if !self.oauth.is_set_up() {
            return Err(failure(503, TITLE, NOT_SET_UP));
        }
        let form = Form::urlencoded(asked.query().as_bytes());
        let form = form.ok_or_else(|| failure(400, TITLE, "The app sent something that cannot be read."))?;
        let target = authorize::target(&form).map_err(|problem| failure(400, TITLE, problem))?;
        let client = self.known_client(&target).await?;
        let state = authorize::state(&form);
        let public = client.secret_hash.is_none();
        let judged = authorize::judge(&form, public, |scope| OAuth::may_ask(&client, scope));
        Ok(match (state, judged) {
            (Ok(state), Ok(wanted)) => self.show(asked, &client, ConsentRequest { target, state, wanted }, None),
            (state, judged) => {
                let error = state.as_ref().err().or(judged.as_ref().err()).cloned();
                let error = error.unwrap_or_else(|| OAuthError::invalid_request("The request is not valid."));
                back(asked, &client, &target.redirect_uri, &error, state.ok().flatten().as_deref())
            }
        })
    }

    /// `POST`: carries out the person's decision.
    pub(super) async fn decide(&self, asked: &ParsedRequest) -> Page {
        if !self.oauth.is_set_up() {
            return Err(failure(503, TITLE, NOT_SET_UP));
        }
        let form = sent_form(asked).ok_or_else(|| stale(TITLE))?;
        let shown = self.open_form::<ConsentRequest>(PURPOSE, asked, form.get("request")).await;
        let shown = shown.ok_or_else(|| stale(TITLE))?;
        let client = self.known_client(&shown.target).await?;
        let (uri, state) = (shown.target.redirect_uri.as_str(), shown.state.as_deref());
        Ok(match form.get("decision") {
            Some("deny") => {
                let denied = OAuthError::new("access_denied", "The person did not allow it.");
                redirect_after_form(&authorize::error_redirect(uri, &denied, state, &asked.base))
            }
            Some("allow") => {
                let mut proven = self.person(asked, form.get("api_key").unwrap_or_default()).await;
                // The person is proven, so strangers cannot use up the consents of others.
                if let Ok((_, user)) = &proven
                    && let Err(wait) = self.limits.take_named(&format!("consents of {}", user.id)).await
                {
                    proven = Err(Unproven {
                        status: 429,
                        problem: "You have allowed too many apps within a minute. Wait a little, then try again.",
                        retry_after: Some(wait),
                    });
                }
                match proven {
                    Err(unproven) => self.show(asked, &client, shown, Some(&unproven)),
                    Ok((key, user)) => match self.oauth.grant(&client, &shown.wanted, uri, user.id, &key).await {
                        Ok(code) => redirect_after_form(&authorize::code_redirect(uri, &code, state, &asked.base)),
                        Err(error) => failure(error.status, TITLE, &error.description),
                    },
                }
            }
            _ => failure(400, TITLE, "The form does not say what was decided."),
        })
    }

    /// Returns the client of a request, after checking that the redirect address belongs to the client.
    async fn known_client(&self, target: &Target) -> Result<Client, Response<Body>> {
        let client = self.oauth.client(&target.client_id).await;
        let client = client.map_err(|error| failure(error.status, TITLE, &error.description))?;
        let client = client.ok_or_else(|| failure(400, TITLE, "No app is registered under the name it gave."))?;
        if !authorize::is_registered(&client.redirect_uris, &target.redirect_uri) {
            let text =
                format!("{} is registered, but not with the address it wants to be answered at.", client.name);
            return Err(failure(400, TITLE, &text));
        }
        Ok(client)
    }

    fn show(
        &self,
        asked: &ParsedRequest,
        client: &Client,
        shown: ConsentRequest,
        unproven: Option<&Unproven>,
    ) -> Response<Body> {
        let cookie = FormCookie::of(asked);
        let Some(request) = self.seal_form(PURPOSE, &cookie, &shown) else {
            return failure(503, TITLE, NOT_SET_UP);
        };
        let destination = policy_source(&shown.target.redirect_uri);
        let settings = &self.oauth.inner.settings;
        let page = ConsentPage {
            style: STYLE,
            client: &client.name,
            self_registered: client.self_registered,
            scopes: lines(&shown.wanted.scopes),
            grants: format!("{}/auth/o/grants/", asked.base),
            site: settings.site_name.as_deref(),
            keys_url: settings.keys_url.as_ref().map(HttpAddress::as_str),
            // The policy source of a private scheme or an IPv6 address names no host; then show the full address.
            destination: if destination.contains("//") {
                destination.clone()
            } else {
                shown.target.redirect_uri.clone()
            },
            action: asked.public_path("/auth/o/authorize/"),
            request,
            problem: unproven.map(|unproven| unproven.problem),
        };
        with_form(&cookie, &page, &destination, unproven)
    }
}

/// Sends the error of a request back to the app; a self-registered app gets none, and the person sees a page instead.
fn back(
    asked: &ParsedRequest,
    client: &Client,
    uri: &str,
    error: &OAuthError,
    state: Option<&str>,
) -> Response<Body> {
    if client.self_registered {
        return failure(400, TITLE, &format!("The app asked for something impossible. {}", error.description));
    }
    redirect(&authorize::error_redirect(uri, error, state, &asked.base))
}

/// Reads a form; `None` when no page of the gateway can have sent it.
pub(super) fn sent_form(asked: &ParsedRequest) -> Option<Form> {
    let form_type = asked.text_header("content-type").unwrap_or_default();
    if is_cross_site(asked) || !form_type.starts_with("application/x-www-form-urlencoded") {
        return None;
    }
    Form::urlencoded(asked.body.as_ref().ok()?).filter(|form| form.repeated().is_empty())
}
