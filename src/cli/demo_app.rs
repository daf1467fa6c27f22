//! The app of the demo that people can allow. Its link ends on a page that exchanges the code, as any app does, and
//! shows the result.
//!
//! It is an ordinary client of the gateway, on a port of its own, and knows only what it got at its registration.
//! May use: what `cli` may use.

use crate::html::{self, INLINE, NOWHERE};
use crate::outgoing;
use crate::task::spawn;
use askama::Template;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;

/// Path to which the browser brings the code.
const CALLBACK: &str = "/callback";
/// The `state` in the link of the demo; the code must come back with the same value.
pub(super) const STATE: &str = "demo";
/// Longest wait for the gateway.
const PATIENCE: Duration = Duration::from_secs(30);
/// Number of characters that the page shows of a code.
const SHOWN: usize = 12;

/// Returns the address to which the gateway sends the browser back.
pub(super) fn redirect(app: SocketAddr) -> String {
    format!("http://{app}{CALLBACK}")
}

pub(super) struct DemoApp {
    pub(super) gateway: SocketAddr,
    pub(super) redirect: String,
    pub(super) client: String,
    pub(super) secret: String,
}

#[derive(Template, Default)]
#[template(path = "finished.html")]
struct Finished {
    gateway: String,
    code: String,
    scope: String,
    seconds: u64,
    person: String,
    error: String,
}

impl DemoApp {
    /// Serves the page as long as the demo runs.
    pub(super) async fn serve(self, listener: TcpListener) {
        let app = Arc::new(self);
        while let Ok((socket, _)) = listener.accept().await {
            let app = Arc::clone(&app);
            spawn(async move {
                let answer = service_fn(|request| {
                    let app = Arc::clone(&app);
                    async move { Ok::<_, Infallible>(app.answer(&request).await) }
                });
                // Ignore browsers that disconnect.
                let _ =
                    hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(socket), answer).await;
            });
        }
    }

    async fn answer(&self, request: &Request<Incoming>) -> Response<Full<Bytes>> {
        if request.uri().path() != CALLBACK {
            return page(StatusCode::NOT_FOUND, "There is nothing at this path.".into());
        }
        let query = request.uri().query().unwrap_or_default();
        let finished = match self.finish(query).await {
            Ok(finished) => finished,
            Err(error) => Finished { error, gateway: self.gateway.to_string(), ..Finished::default() },
        };
        match finished.render() {
            Ok(text) => page(StatusCode::OK, text),
            Err(_) => page(StatusCode::INTERNAL_SERVER_ERROR, "The page could not be written.".into()),
        }
    }

    /// Exchanges the code for a token and reads the person, as any app does.
    async fn finish(&self, query: &str) -> Result<Finished, String> {
        let given = |name: &str| {
            let mut pairs = form_urlencoded::parse(query.as_bytes());
            pairs.find(|(known, _)| known == name).map(|(_, value)| value.into_owned())
        };
        if let Some(error) = given("error") {
            return Err(given("error_description").unwrap_or(error));
        }
        if given("state").as_deref() != Some(STATE) {
            return Err("the state is not the one that was sent along".to_owned());
        }
        let code = given("code").ok_or("there is no code in the address")?;
        let client = outgoing::client(PATIENCE).no_proxy().build().map_err(in_words)?;
        let form = form_urlencoded::Serializer::new(String::new())
            .append_pair("grant_type", "authorization_code")
            .append_pair("code", &code)
            .append_pair("redirect_uri", &self.redirect)
            .append_pair("client_id", &self.client)
            .append_pair("client_secret", &self.secret)
            .finish();
        let asked = client.post(format!("http://{}/auth/o/token/", self.gateway));
        let token = json(asked.header(CONTENT_TYPE, "application/x-www-form-urlencoded").body(form)).await?;
        let text = |value: &Value, name: &str| value[name].as_str().unwrap_or_default().to_owned();
        let access = text(&token, "access_token");
        if access.is_empty() {
            return Err(format!("the code was not exchanged: {}", text(&token, "error")));
        }
        let me = client.get(format!("http://{}/api/v2/users/me/", self.gateway));
        let me = json(me.header("Authorization", format!("Bearer {access}"))).await?;
        Ok(Finished {
            gateway: self.gateway.to_string(),
            code: format!("{}…", code.chars().take(SHOWN).collect::<String>()),
            scope: text(&token, "scope"),
            seconds: token["expires_in"].as_u64().unwrap_or_default(),
            person: text(&me, "email"),
            error: String::new(),
        })
    }
}

async fn json(request: reqwest::RequestBuilder) -> Result<Value, String> {
    let bytes = request.send().await.map_err(in_words)?.bytes().await.map_err(in_words)?;
    serde_json::from_slice(&bytes).map_err(|_| "the gateway did not answer with JSON".to_owned())
}

fn in_words(fault: reqwest::Error) -> String {
    // Without the address, because it holds a code.
    fault.without_url().to_string()
}

fn page(status: StatusCode, text: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    html::page(response.headers_mut(), INLINE, NOWHERE);
    response
}
