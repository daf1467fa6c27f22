//! Permissions: every operation with a credential in every condition.
//!
//! Other tests check the answers to a sufficient credential; here it only must not be refused.

use super::credentials::{Credential, Issuer, SETTINGS, everything};
use super::operations::{Contract, NOWHERE, OPERATIONS};
use super::world::{SLUG, World};
use crate::support::gateway::Answer;
use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use sqlx::AssertSqlSafe;

/// Challenge for a token or key that is not valid.
const DEAD: &str = "error=\"invalid_token\"";

impl Contract {
    /// Returns the scopes of which any one allows it.
    fn scopes(&self) -> Vec<String> {
        self.all("scopes_any").filter_map(|scope| scope.as_str().map(str::to_owned)).collect()
    }

    /// Returns the scopes that allow only this resource.
    fn fine_scopes(&self) -> Vec<String> {
        self.scopes().into_iter().filter(|scope| scope.contains(':')).collect()
    }

    /// Returns the scopes for the other direction: for a read those for writing, and the other way round.
    fn reverse_scopes(&self) -> Vec<String> {
        let (own, other) = if self.writes() { ("write", "read") } else { ("read", "write") };
        let reversed = self.scopes().into_iter().map(|scope| match scope.strip_suffix(own) {
            Some(resource) => format!("{resource}{other}"),
            None => panic!("{scope} is not for {own}"),
        });
        reversed.chain([other.to_owned()]).filter(|scope| everything().contains(scope)).collect()
    }

    /// Returns all scopes that do not allow it.
    fn other_scopes(&self) -> Vec<String> {
        everything().into_iter().filter(|scope| !self.scopes().contains(scope)).collect()
    }
}

impl World {
    /// Sends an operation with a credential, without preparation.
    async fn knock(&self, credential: &Credential, operation: &Contract, path: &str) -> Answer {
        let mut request =
            Request::builder().method(operation.method()).uri(format!("{}{path}", self.gateway.base()));
        request = match credential {
            Credential::None => request,
            Credential::Bearer(token) => request.header("authorization", format!("Bearer {token}")),
            Credential::Key(key) => request.header("x-api-key", key),
        };
        let body = operation.0["body"].is_array().then(|| self.body_for(operation));
        let bytes = body.map_or_else(Bytes::new, |body| Bytes::from(body.to_string()));
        let request = request.header("content-type", "application/json").body(Full::new(bytes));
        self.gateway.request(request.expect("a request")).await
    }

    /// Asserts a 401 with the challenge `why`, and that v1 got no call.
    #[track_caller]
    fn unknown(&self, answer: Answer, why: &str) {
        let answer = self.problem(answer, 401, "unauthorized");
        let bearer = challenge(&answer);
        assert!(bearer.contains("resource_metadata=\""), "{bearer}");
        assert_eq!(bearer.contains(DEAD), why == DEAD, "{bearer}");
        assert!(!bearer.contains("scope="), "{bearer}");
        self.v1_is_not_asked();
    }

    /// Asserts a 403 that names the sufficient scopes, and that v1 got no call.
    #[track_caller]
    fn too_narrow(&self, answer: Answer, operation: &Contract) {
        let answer = self.problem(answer, 403, "forbidden");
        let bearer = challenge(&answer);
        let named = format!("scope=\"{}\"", operation.scopes().join(" "));
        assert!(bearer.contains("error=\"insufficient_scope\"") && bearer.contains(&named), "{bearer}");
        assert_eq!(answer.calls(), 0, "{}", operation.id());
        self.v1_is_not_asked();
    }

    /// Asserts that the credential was accepted.
    #[track_caller]
    fn let_in(&self, answer: &Answer, operation: &Contract) {
        let (id, text) = (operation.id(), String::from_utf8_lossy(&answer.bytes));
        if operation.method() == "DELETE" {
            assert_eq!((answer.status, answer.code()), (404, "resource_not_found"), "{id}: {text}");
        } else if operation.writes() {
            let fine = answer.status == operation.status() || [400, 404, 409].contains(&answer.status);
            assert!(fine, "{id}: {} {text}", answer.status);
        } else {
            assert_eq!(answer.status, operation.status(), "{id}: {text}");
        }
        assert!(!answer.headers.contains_key("www-authenticate"), "{id}");
    }

    #[track_caller]
    fn v1_is_not_asked(&self) {
        let journal = self.gateway.sandbox().journal();
        assert!(journal.is_empty(), "{:?}", journal.first().map(|entry| &entry.path));
    }

    /// Sends an operation to existing records; a delete to a missing one, so that all records stay.
    async fn enter_with(&self, credential: &Credential, operation: &Contract) -> Answer {
        self.enter(operation).await;
        let path = match operation.method() {
            "DELETE" => self.path_but(operation, "pk", NOWHERE),
            _ => self.path(operation),
        };
        self.knock(credential, operation, &path).await
    }
}

/// The challenge for bearer tokens.
#[track_caller]
fn challenge(answer: &Answer) -> String {
    let all = answer.all_headers.get_all("www-authenticate").iter().filter_map(|value| value.to_str().ok());
    let bearer: Vec<&str> = all.filter(|value| value.starts_with("Bearer ")).collect();
    assert_eq!(bearer.len(), 1, "{bearer:?}");
    bearer[0].to_owned()
}

#[tokio::test]
async fn every_operation_is_opened_by_its_scopes_alone() {
    let world = World::with(SETTINGS).await;
    let mut issuer = Issuer::new(&world.gateway).await;
    let dead = [
        Credential::Bearer("cwa_0000000000000000000000000000000000000000000".into()),
        issuer.expired_token().await,
        issuer.revoked_token().await,
        Credential::Key("cwk_0000000000000000000000000000000000000000000".into()),
        issuer.expired_key().await,
        issuer.revoked_key().await,
    ];
    let mut refused = Vec::new();
    for operation in OPERATIONS.iter() {
        for scopes in [operation.other_scopes(), operation.reverse_scopes()] {
            refused.push((operation, issuer.token(&scopes).await));
            refused.push((operation, issuer.key(&scopes).await));
        }
    }
    // From here on ada's key is known: no refusal has a reason to call v1.
    let warm = issuer.token(&["read".to_owned()]).await;
    let me = OPERATIONS.iter().find(|operation| operation.id().contains("me_")).expect("the current user");
    world.knock(&warm, me, &world.path(me)).await.expect(200);
    world.gateway.sandbox().clear_journal();
    let mut cells = 0;
    for operation in OPERATIONS.iter() {
        let path = world.path(operation);
        world.unknown(world.knock(&Credential::None, operation, &path).await, "");
        for credential in &dead {
            world.unknown(world.knock(credential, operation, &path).await, DEAD);
        }
        cells += 1 + dead.len();
    }
    for (operation, credential) in &refused {
        world.too_narrow(world.knock(credential, operation, &world.path(operation)).await, operation);
        cells += 1;
    }
    for operation in OPERATIONS.iter() {
        let global = if operation.writes() { "write" } else { "read" };
        let fine = operation.fine_scopes();
        assert_eq!(fine.is_empty(), operation.id() == me.id(), "only the current user needs a global scope");
        for scopes in [fine, vec![global.to_owned()]] {
            let by_fine_scopes = if scopes.is_empty() {
                everything().into_iter().filter(|scope| scope.contains(':')).collect()
            } else {
                scopes.clone()
            };
            for credential in [issuer.token(&by_fine_scopes).await, issuer.key(&by_fine_scopes).await] {
                world.gateway.sandbox().clear_journal();
                if scopes.is_empty() {
                    let answer = world.knock(&credential, operation, &world.path(operation)).await;
                    world.too_narrow(answer, operation);
                } else {
                    world.let_in(&world.enter_with(&credential, operation).await, operation);
                }
                cells += 1;
            }
        }
    }
    println!("{cells} cells");
    assert!(cells >= 704, "{cells} cells");
    assert_eq!(cells, OPERATIONS.len() * 15);
}

#[tokio::test]
async fn a_key_for_one_workspace_opens_all_of_it_and_nothing_else() {
    let world = World::with(SETTINGS).await;
    let issuer = Issuer::new(&world.gateway).await;
    let (_, own) = issuer.key_of(SLUG).await;
    let (id, other) = issuer.key_of(SLUG).await;
    // The same person's key for another workspace: it differs only in its workspace.
    let moved = format!("UPDATE gateway_key SET workspace_id = '{NOWHERE}' WHERE id = '{id}'");
    let store = world.gateway.store().await;
    sqlx::query(AssertSqlSafe(moved)).execute(store.engine().pool()).await.expect("written");
    for operation in OPERATIONS.iter() {
        world.let_in(&world.enter_with(&own, operation).await, operation);
        let answer = world.knock(&other, operation, &world.path(operation)).await;
        if operation.text("surface") == "user" {
            answer.expect(200);
        } else {
            world.problem(answer, 404, "resource_not_found");
        }
    }
}
