//! Credentials in every condition, all issued by the gateway itself for ada.

use crate::support::gateway::{Answer, Gateway};
use bytes::Bytes;
use causeway::oauth::Minting;
use causeway::oauth::protocol::registration::Registrable;
use causeway::oauth::protocol::secret;
use causeway::plan::scopes;
use causeway::store::oauth::{Exchange, NewToken, OAuthStore, TokenKind, Verdict};
use causeway::units::now_micros;
use http::Request;
use http_body_util::Full;
use std::collections::BTreeMap;

/// Settings of a gateway that can issue credentials and has no limits.
pub const SETTINGS: &[(&str, &str)] = &[
    ("secrets.key", "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="),
    ("limits.rate.oauth", "0"),
    ("limits.rate.external", "0"),
    ("limits.rate.workspace", "0"),
];
const OWNER: &str = "ada";
const REDIRECT: &str = "https://app.example/cb";
/// The example of RFC 7636.
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

/// A credential as a request presents it.
#[derive(Clone, Debug)]
pub enum Credential {
    None,
    Bearer(String),
    Key(String),
}

/// An app that people allow to act for them, and the keys they create.
pub struct Issuer<'g> {
    gateway: &'g Gateway,
    store: OAuthStore,
    client: String,
    secret: String,
    tokens: BTreeMap<String, String>,
    keys: BTreeMap<String, String>,
}

impl<'g> Issuer<'g> {
    pub async fn new(gateway: &'g Gateway) -> Self {
        let app = Registrable {
            name: "Planner".into(),
            redirect_uris: vec![REDIRECT.into()],
            scopes: Vec::new(),
            public: false,
        };
        let (client, secret) = gateway.oauth().register(app, false).await.expect("registered");
        let store = gateway.store().await.oauth();
        let secret = secret.expect("a secret");
        Self { gateway, store, client: client.id, secret, tokens: BTreeMap::new(), keys: BTreeMap::new() }
    }

    /// Returns a valid token for these scopes, the same one each time.
    pub async fn token(&mut self, scopes: &[String]) -> Credential {
        let scope = scopes.join(" ");
        if !self.tokens.contains_key(&scope) {
            let token = self.new_token(&scope).await;
            self.tokens.insert(scope.clone(), token);
        }
        Credential::Bearer(self.tokens[&scope].clone())
    }

    /// Returns a valid gateway key for these scopes, the same one each time.
    pub async fn key(&mut self, scopes: &[String]) -> Credential {
        let scope = scopes.join(" ");
        if !self.keys.contains_key(&scope) {
            let (_, key) = self.new_key(&scope, Minting::default()).await;
            self.keys.insert(scope.clone(), key);
        }
        Credential::Key(self.keys[&scope].clone())
    }

    /// Returns an expired token for all scopes.
    pub async fn expired_token(&self) -> Credential {
        let code = self.code(&everything().join(" ")).await;
        let token = secret::new("cwa_");
        let rows = |expires_at: i64| {
            let row = |text: &str, kind| NewToken {
                hash: secret::hash(text),
                kind,
                scopes: everything().join(" "),
                expires_at,
            };
            [row(&token, TokenKind::Access), row(&secret::new("cwr_"), TokenKind::Refresh)]
        };
        let exchanged = self
            .store
            .exchange_code(&secret::hash(&code), |_| Verdict::Accept, |_| rows(now_micros() - 1))
            .await
            .expect("written");
        assert!(matches!(exchanged, Exchange::Done(_)));
        Credential::Bearer(token)
    }

    /// Returns a token for all scopes that its app has revoked.
    pub async fn revoked_token(&self) -> Credential {
        let token = self.new_token(&everything().join(" ")).await;
        let form = [("token", &*token), ("client_id", &self.client), ("client_secret", &self.secret)];
        self.post("/auth/o/revoke/", &form, "").await.expect(200);
        Credential::Bearer(token)
    }

    /// Returns an expired gateway key for all scopes.
    pub async fn expired_key(&self) -> Credential {
        let over = Minting { expires_at: Some(now_micros() - 1), ..Minting::default() };
        Credential::Key(self.new_key(&everything().join(" "), over).await.1)
    }

    /// Returns a revoked gateway key for all scopes.
    pub async fn revoked_key(&self) -> Credential {
        let (id, key) = self.new_key(&everything().join(" "), Minting::default()).await;
        assert!(self.gateway.oauth().revoke_key(id, None).await.expect("written"));
        Credential::Key(key)
    }

    /// A gateway key for all scopes in one workspace.
    pub async fn key_of(&self, workspace: &str) -> (uuid::Uuid, Credential) {
        let only = Minting { workspace: Some(workspace.to_owned()), ..Minting::default() };
        let (id, key) = self.new_key(&everything().join(" "), only).await;
        (id, Credential::Key(key))
    }

    async fn new_key(&self, scopes: &str, wanted: Minting) -> (uuid::Uuid, String) {
        let wanted = Minting { title: "test".into(), scopes: scopes.to_owned(), ..wanted };
        let (row, key) = self.gateway.mint(OWNER, wanted).await.expect("a key");
        (row.id, key)
    }

    async fn new_token(&self, scope: &str) -> String {
        let code = self.code(scope).await;
        let form = [
            ("grant_type", "authorization_code"),
            ("client_id", &self.client),
            ("client_secret", &self.secret),
            ("code", &code),
            ("redirect_uri", REDIRECT),
            ("code_verifier", VERIFIER),
        ];
        self.post("/auth/o/token/", &form, "").await.expect(200).text("access_token")
    }

    /// A code that ada allowed on the consent page.
    async fn code(&self, scope: &str) -> String {
        let query = form(&[
            ("response_type", "code"),
            ("client_id", &self.client),
            ("redirect_uri", REDIRECT),
            ("scope", scope),
            ("code_challenge", CHALLENGE),
            ("code_challenge_method", "S256"),
        ]);
        let page = Request::get(format!("{}/auth/o/authorize/?{query}", self.gateway.base()));
        let page = self.gateway.request(page.body(Full::default()).expect("a request")).await.expect(200);
        let text = String::from_utf8_lossy(&page.bytes).into_owned();
        let (_, rest) = text.split_once("name=\"request\" value=\"").expect("a form");
        let request = rest.split('"').next().expect("an end");
        let cookie = page.headers["set-cookie"].split(';').next().expect("a pair");
        let content = [("request", request), ("decision", "allow"), ("api_key", OWNER)];
        let answer = self.post("/auth/o/authorize/", &content, cookie).await.expect(303);
        let (_, query) = answer.headers["location"].split_once('?').expect("parameters");
        let code = form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "code");
        code.expect("a code").1.into_owned()
    }

    async fn post(&self, path: &str, content: &[(&str, &str)], cookie: &str) -> Answer {
        let request = Request::post(format!("{}{path}", self.gateway.base()))
            .header("content-type", "application/x-www-form-urlencoded")
            .header("cookie", cookie);
        self.gateway.request(request.body(Full::new(Bytes::from(form(content)))).expect("a request")).await
    }
}

/// Every scope of the contract.
pub fn everything() -> Vec<String> {
    scopes::all().map(str::to_owned).collect()
}

fn form(pairs: &[(&str, &str)]) -> String {
    form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
}
