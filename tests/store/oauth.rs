//! Clients, grants, codes, tokens and gateway keys: single-use ones are used once by all callers together, and the end
//! of a grant ends everything that was issued for it.

use crate::store::place::{Place, execute, is_sqlite, number};
use causeway::store::oauth::{
    Client, Code, Exchange, GatewayKey, NewCode, NewGrant, NewToken, OAuthStore, Refresh, Sealed, Token, TokenKind,
    Verdict,
};
use causeway::task::spawn;
use causeway::units::now_micros;
use uuid::Uuid;

on_both_engines![
    a_client_is_kept_changed_and_deleted,
    no_client_has_a_nul_in_its_id,
    a_code_is_exchanged_once_whoever_asks,
    a_code_is_judged_before_it_is_used,
    a_refresh_token_is_exchanged_once_whoever_asks,
    a_lost_answer_is_made_good_once,
    an_access_token_ends_alone_and_a_refresh_token_with_its_grant,
    a_person_ends_only_own_grants,
    rows_that_expired_long_ago_are_swept,
    clients_that_registered_themselves_and_were_never_allowed_are_swept,
    others_write_while_much_is_swept_out,
    a_gateway_key_is_kept_listed_and_revoked,
    sealed_keys_are_found_and_sealed_anew,
    restored_credentials_are_what_they_were,
];

pub const USER: Uuid = Uuid::from_u128(0xada);
const MINUTE: i64 = 60_000_000;

pub fn client(id: &str) -> Client {
    Client {
        id: id.into(),
        name: "Planner \u{1F4C5} \"'".into(),
        secret_hash: Some("5ec2e7".into()),
        redirect_uris: vec!["https://app.example/cb?a=1&b=c d".into(), "http://127.0.0.1/cb".into()],
        scopes: vec!["read".into(), "projects.states:read".into()],
        self_registered: true,
        created_at: 0,
    }
}

fn grant(number: u128) -> NewGrant {
    NewGrant {
        id: Uuid::from_u128(number),
        client_id: "app".into(),
        user: USER,
        scopes: vec!["read".into(), "write".into()],
        sealed: Sealed { text: format!("sealed {number}"), with: "old".into() },
    }
}

fn code(hash: &str, expires_at: i64) -> NewCode {
    NewCode {
        hash: hash.into(),
        redirect_uri: "http://127.0.0.1/cb".into(),
        challenge: Some("challenge".into()),
        expires_at,
    }
}

/// A pair of tokens named `access NAME` and `refresh NAME`.
fn pair(name: &str, expires_at: i64) -> [NewToken; 2] {
    [TokenKind::Access, TokenKind::Refresh].map(|kind| NewToken {
        hash: format!("{} {name}", if kind == TokenKind::Access { "access" } else { "refresh" }),
        kind,
        scopes: "read".into(),
        expires_at,
    })
}

pub fn key(number: u128, workspace: Option<(Uuid, String)>) -> GatewayKey {
    GatewayKey {
        id: Uuid::from_u128(number),
        hash: format!("key {number}"),
        title: "report".into(),
        user: USER,
        user_name: "ada".into(),
        scopes: vec!["read".into()],
        workspace,
        sealed: Sealed { text: format!("sealed {number}"), with: "old".into() },
        expires_at: None,
        revoked: false,
    }
}

/// Writes rows into every table of the authorization server.
pub async fn fill(store: &OAuthStore) {
    store.add_client(&client("app")).await.unwrap();
    let soon = now_micros() + 10 * MINUTE;
    store.add_grant(&grant(1), &code("code", soon)).await.unwrap();
    let given = store.exchange_code("code", |_| Verdict::Accept, |_| pair("1", soon)).await.unwrap();
    assert!(matches!(given, Exchange::Done(_)), "{given:?}");
    store.add_key(&key(2, Some((Uuid::from_u128(9), "acme".into())))).await.unwrap();
    store.add_key(&key(3, None)).await.unwrap();
}

async fn accepted(store: &OAuthStore, token: &str, retry: i64, name: &str) -> Refresh {
    let soon = now_micros() + MINUTE;
    store.refresh(token, retry, |_| Verdict::Accept, |_| pair(name, soon)).await.unwrap()
}

async fn is_live(store: &OAuthStore, hash: &str) -> bool {
    store.token(hash).await.unwrap().is_some_and(|token| !token.ended && token.expires_at > now_micros())
}

async fn no_client_has_a_nul_in_its_id(place: Place) {
    let store = place.open().await.oauth();
    store.add_client(&client("app")).await.unwrap();
    for id in ["\0", "app\0", "app\0x"] {
        assert_eq!(store.client(id).await.unwrap(), None, "{id:?}");
    }
}

async fn a_client_is_kept_changed_and_deleted(place: Place) {
    let store = place.open().await.oauth();
    fill(&store).await;
    let found = store.client("app").await.unwrap().unwrap();
    assert!((now_micros() - found.created_at).abs() < MINUTE);
    assert_eq!(Client { created_at: 0, ..found }, client("app"));
    assert!(store.add_client(&client("app")).await.is_err(), "the id is taken");
    assert!(store.set_client_secret("app", "another").await.unwrap());
    assert_eq!(store.client("app").await.unwrap().unwrap().secret_hash.as_deref(), Some("another"));
    let public = Client { secret_hash: None, self_registered: false, scopes: Vec::new(), ..client("public") };
    store.add_client(&public).await.unwrap();
    assert_eq!(Client { created_at: 0, ..store.client("public").await.unwrap().unwrap() }, public);
    assert!(!store.set_client_secret("public", "x").await.unwrap(), "a public client gets no secret");
    let names: Vec<_> = store.clients().await.unwrap().into_iter().map(|client| client.id).collect();
    assert_eq!(names, ["app", "public"]);
    assert!(store.delete_client("app").await.unwrap() && !store.delete_client("app").await.unwrap());
    assert!(store.client("app").await.unwrap().is_none());
    assert!(!is_live(&store, "access 1").await, "its grants have ended");
    assert_eq!(store.token("access 1").await.unwrap().unwrap().sealed.text, "", "and their keys are wiped");
}

async fn a_code_is_exchanged_once_whoever_asks(place: Place) {
    let store = place.open().await.oauth();
    let second = place.open().await.oauth();
    store.add_client(&client("app")).await.unwrap();
    store.add_grant(&grant(1), &code("code", now_micros() + MINUTE)).await.unwrap();
    let tasks: Vec<_> = (0..8)
        .map(|number| {
            let store = if number % 2 == 0 { store.clone() } else { second.clone() };
            spawn(async move {
                let tokens = move |_: &Code| pair(&number.to_string(), now_micros() + MINUTE);
                store.exchange_code("code", |_| Verdict::Accept, tokens).await.unwrap()
            })
        })
        .collect();
    let (mut done, mut ended) = (0, 0);
    for task in tasks {
        match task.await.unwrap() {
            Exchange::Done(found) => {
                assert_eq!((found.client_id.as_str(), found.scopes.as_str()), ("app", "read write"));
                assert_eq!(found.challenge.as_deref(), Some("challenge"));
                done += 1;
            }
            Exchange::Ended(..) => ended += 1,
            Exchange::Refused => {}
        }
    }
    assert_eq!(done, 1);
    assert!(ended >= 1, "who comes later ends the grant; those after find none, or end it once more");
    for number in 0..8 {
        assert!(!is_live(&store, &format!("access {number}")).await);
    }
}

async fn a_code_is_judged_before_it_is_used(place: Place) {
    let store = place.open().await.oauth();
    store.add_client(&client("app")).await.unwrap();
    store.add_grant(&grant(1), &code("one", now_micros() + MINUTE)).await.unwrap();
    let given = |hash: &'static str, verdict| {
        let store = store.clone();
        async move { store.exchange_code(hash, |_| verdict, |_| pair(hash, now_micros() + MINUTE)).await.unwrap() }
    };
    assert!(matches!(given("one", Verdict::Ignore).await, Exchange::Refused));
    assert!(matches!(given("one", Verdict::Accept).await, Exchange::Done(_)), "nothing had changed");
    store.add_grant(&grant(2), &code("two", now_micros() + MINUTE)).await.unwrap();
    assert!(matches!(given("two", Verdict::Burn).await, Exchange::Ended(_, Ok(()))));
    assert!(matches!(given("two", Verdict::Accept).await, Exchange::Refused), "its grant has ended");
    store.add_grant(&grant(3), &code("late", now_micros() - 1)).await.unwrap();
    assert!(matches!(given("late", Verdict::Accept).await, Exchange::Refused));
    assert!(matches!(given("unknown", Verdict::Accept).await, Exchange::Refused));
    assert!(store.token("access late").await.unwrap().is_none());
}

async fn a_refresh_token_is_exchanged_once_whoever_asks(place: Place) {
    let store = place.open().await.oauth();
    let second = place.open().await.oauth();
    fill(&store).await;
    let tasks: Vec<_> = (0..8)
        .map(|number| {
            let store = if number % 2 == 0 { store.clone() } else { second.clone() };
            spawn(async move { accepted(&store, "refresh 1", 0, &format!("next {number}")).await })
        })
        .collect();
    let (mut done, mut reused) = (0, 0);
    for task in tasks {
        match task.await.unwrap() {
            Refresh::Done { replaced } => {
                assert!(!replaced);
                done += 1;
            }
            Refresh::Reused(_) => reused += 1,
            Refresh::Refused => {}
        }
    }
    assert_eq!(done, 1);
    assert!(reused >= 1);
    assert!(!is_live(&store, "access 1").await, "reuse ends the whole family");
    assert!(store.grants_of(USER).await.unwrap().is_empty());
}

async fn a_lost_answer_is_made_good_once(place: Place) {
    let store = place.open().await.oauth();
    fill(&store).await;
    assert!(matches!(accepted(&store, "refresh 1", MINUTE, "2").await, Refresh::Done { replaced: false }));
    assert!(matches!(accepted(&store, "refresh 1", MINUTE, "3").await, Refresh::Done { replaced: true }));
    assert!(!is_live(&store, "refresh 2").await && !is_live(&store, "access 2").await, "replaced");
    assert!(is_live(&store, "refresh 3").await && is_live(&store, "access 3").await);
    assert!(matches!(accepted(&store, "refresh 3", MINUTE, "4").await, Refresh::Done { replaced: false }));
    assert!(
        matches!(accepted(&store, "refresh 1", MINUTE, "5").await, Refresh::Reused(Ok(()))),
        "the answer had arrived"
    );
    assert!(!is_live(&store, "refresh 4").await);
    assert!(matches!(accepted(&store, "refresh 4", MINUTE, "6").await, Refresh::Refused));
    let judged = |_: &Token| Verdict::Ignore;
    let ignored = store.refresh("refresh 4", 0, judged, |_| pair("7", 0)).await.unwrap();
    assert!(matches!(ignored, Refresh::Refused));
}

async fn an_access_token_ends_alone_and_a_refresh_token_with_its_grant(place: Place) {
    let store = place.open().await.oauth();
    fill(&store).await;
    let found = store.token("access 1").await.unwrap().unwrap();
    assert_eq!(
        (found.user, found.kind, found.scopes.as_slice()),
        (USER, TokenKind::Access, &["read".to_owned()][..])
    );
    assert_eq!(found.sealed, grant(1).sealed);
    store.revoke_token("access 1", &found).await.unwrap();
    assert!(!is_live(&store, "access 1").await && is_live(&store, "refresh 1").await);
    let found = store.token("refresh 1").await.unwrap().unwrap();
    store.revoke_token("refresh 1", &found).await.unwrap();
    let ended = store.token("refresh 1").await.unwrap().unwrap();
    assert!(ended.ended && ended.sealed.text.is_empty());
}

async fn a_person_ends_only_own_grants(place: Place) {
    let store = place.open().await.oauth();
    fill(&store).await;
    let listed = store.grants_of(USER).await.unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!((listed[0].client_name.as_str(), listed[0].scopes.len()), (client("app").name.as_str(), 2));
    assert!(listed[0].last_token_at >= listed[0].created_at);
    let app = client("app").name;
    assert_eq!(store.client_name_of(USER, listed[0].id).await.unwrap(), Some(app));
    assert_eq!(store.client_name_of(Uuid::from_u128(0xb0b), listed[0].id).await.unwrap(), None, "somebody else's");
    assert!(!store.revoke_grant_of(Uuid::from_u128(0xb0b), listed[0].id).await.unwrap());
    assert!(is_live(&store, "access 1").await);
    assert!(store.revoke_grant_of(USER, listed[0].id).await.unwrap());
    assert!(!store.revoke_grant_of(USER, listed[0].id).await.unwrap(), "once");
    assert!(!is_live(&store, "access 1").await && store.grants_of(USER).await.unwrap().is_empty());
}

async fn rows_that_expired_long_ago_are_swept(place: Place) {
    let opened = place.open().await;
    let store = opened.oauth();
    fill(&store).await;
    store.add_grant(&grant(5), &code("late", now_micros() - MINUTE)).await.unwrap();
    assert_eq!(store.prune(now_micros() - 2 * MINUTE).await.unwrap(), 0, "not yet");
    assert_eq!(store.prune(now_micros() - MINUTE / 2).await.unwrap(), 1, "the code; its grant is younger");
    assert_eq!(store.prune(now_micros() + MINUTE).await.unwrap(), 1, "the grant nobody can use");
    assert_eq!(store.prune(now_micros() + 20 * MINUTE).await.unwrap(), 4, "code, two tokens and their grant");
    assert_eq!(number(&opened, "SELECT COUNT(*) FROM oauth_grant").await, 0);
    assert_eq!(number(&opened, "SELECT COUNT(*) FROM gateway_key").await, 2, "keys are not swept");
}

async fn clients_that_registered_themselves_and_were_never_allowed_are_swept(place: Place) {
    let store = place.open().await.oauth();
    fill(&store).await;
    store.add_client(&client("unused")).await.unwrap();
    store.add_client(&Client { self_registered: false, ..client("of the operator") }).await.unwrap();
    assert_eq!(store.forget_unused_clients(now_micros() - MINUTE).await.unwrap(), 0, "not yet");
    assert_eq!(store.forget_unused_clients(now_micros() + MINUTE).await.unwrap(), 1);
    assert!(store.client("unused").await.unwrap().is_none());
    assert!(store.client("app").await.unwrap().is_some() && is_live(&store, "access 1").await);
    assert!(store.client("of the operator").await.unwrap().is_some());
    assert_eq!(store.prune(now_micros() + 20 * MINUTE).await.unwrap(), 4, "code, two tokens and their grant");
    assert_eq!(store.forget_unused_clients(now_micros() + MINUTE).await.unwrap(), 1, "the last grant is gone");
}

async fn others_write_while_much_is_swept_out(place: Place) {
    let opened = place.open().await;
    let store = opened.oauth();
    fill(&store).await;
    let kept = number(&opened, "SELECT COUNT(*) FROM oauth_token").await;
    let numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 6000)";
    let grant = grant(1).id;
    let text = format!(
        "INSERT INTO oauth_token (hash, grant_id, kind, scopes, parent, issued_at, expires_at) {numbers} \
         SELECT 'old ' || i, '{grant}', 'access', 'read', 'p', 1, 2 FROM n"
    );
    execute(&opened, &text).await;
    let sweeping = store.clone();
    let sweep = spawn(async move { sweeping.prune(3).await.expect("swept") });
    let (mut written, mut between) = (0_u128, 0);
    while !sweep.is_finished() {
        let late = code(&format!("code {written}"), now_micros() + MINUTE);
        store.add_grant(&self::grant(100 + written), &late).await.expect("added");
        written += 1;
        let left = number(&opened, "SELECT COUNT(*) FROM oauth_token WHERE expires_at = 2").await;
        between += i64::from(0 < left && left < 6000);
    }
    assert_eq!(sweep.await.expect("no panic"), 6000);
    // On PostgreSQL writers do not wait for each other, and the sweep may be over before a write looks.
    assert!(between > 0 || !is_sqlite(&opened), "no write found the sweep half done");
    assert_eq!(number(&opened, "SELECT COUNT(*) FROM oauth_token").await, kept);
}

async fn a_gateway_key_is_kept_listed_and_revoked(place: Place) {
    let store = place.open().await.oauth();
    fill(&store).await;
    let other = GatewayKey { user: Uuid::from_u128(0xb0b), expires_at: Some(7), ..key(4, None) };
    store.add_key(&other).await.unwrap();
    let found = store.key("key 2").await.unwrap().unwrap();
    assert_eq!((found.workspace, found.expires_at), (Some((Uuid::from_u128(9), "acme".into())), None));
    assert_eq!((found.sealed, found.revoked), (key(2, None).sealed, false));
    assert_eq!(store.key("key 4").await.unwrap().unwrap().expires_at, Some(7));
    let ids = |keys: Vec<GatewayKey>| keys.into_iter().map(|key| key.id.as_u128()).collect::<Vec<_>>();
    assert_eq!(ids(store.keys(Some(USER)).await.unwrap()), [2, 3]);
    assert_eq!(ids(store.keys(None).await.unwrap()), [2, 3, 4]);
    let (theirs, own) = (Uuid::from_u128(4), Some(USER));
    assert!(store.key_to_revoke(theirs, own).await.unwrap().is_none());
    assert_eq!(store.key_to_revoke(theirs, None).await.unwrap().unwrap().hash, "key 4");
    assert!(!store.revoke_key(theirs, own).await.unwrap(), "somebody else's");
    assert!(store.revoke_key(Uuid::from_u128(2), Some(USER)).await.unwrap());
    assert!(store.revoke_key(Uuid::from_u128(4), None).await.unwrap());
    let ended = store.key("key 2").await.unwrap().unwrap();
    assert!(ended.revoked && ended.sealed.text.is_empty());
    assert_eq!(ids(store.keys(None).await.unwrap()), [3]);
}

async fn sealed_keys_are_found_and_sealed_anew(place: Place) {
    let store = place.open().await.oauth();
    fill(&store).await;
    let first = store.not_sealed_with("new", "", 2).await.unwrap();
    let next = store.not_sealed_with("new", &first[1].id, 2).await.unwrap();
    let kinds: Vec<_> = first.iter().chain(&next).map(|row| row.of_gateway_key).collect();
    assert_eq!(kinds, [false, true, true]);
    let sealed = Sealed { text: "sealed anew".into(), with: "new".into() };
    for row in first.iter().chain(&next) {
        assert!(store.reseal(row, &sealed).await.unwrap());
        assert!(!store.reseal(row, &sealed).await.unwrap(), "it has changed meanwhile");
    }
    assert!(store.not_sealed_with("new", "", 10).await.unwrap().is_empty());
    assert_eq!(store.token("access 1").await.unwrap().unwrap().sealed, sealed);
    assert_eq!(store.key("key 3").await.unwrap().unwrap().sealed, sealed);
}

async fn restored_credentials_are_what_they_were(place: Place) {
    let opened = place.open().await;
    fill(&opened.oauth()).await;
    let mut lines = Vec::new();
    opened.export(&mut lines).await.unwrap();
    for target in [Place::sqlite(), Place::postgres().await] {
        let other = target.open().await;
        other.import(&mut &lines[..], true).await.unwrap();
        let other = other.oauth();
        assert!(is_live(&other, "access 1").await);
        assert_eq!(other.token("refresh 1").await.unwrap().unwrap().sealed, grant(1).sealed);
        assert!(matches!(accepted(&other, "refresh 1", 0, "next").await, Refresh::Done { .. }));
        let again = other.exchange_code("code", |_| Verdict::Accept, |_| pair("x", 0)).await.unwrap();
        assert!(matches!(again, Exchange::Ended(..)), "a used code stays used");
        assert_eq!(other.key("key 2").await.unwrap().unwrap().workspace.unwrap().1, "acme");
    }
}
