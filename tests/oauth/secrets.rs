//! No credential is ever written down: the log of a gateway at its finest level, its answers, its error pages.

use crate::oauth::stage::{ME, SECRET, Stage, changed};
use crate::support::captured::Captured;
use crate::support::gateway::{Answer, WEB};
use causeway::oauth::Minting;

/// Returns all of an answer except the secrets that it must give.
fn shown(answer: &Answer) -> String {
    format!("{:?} {}", answer.all_headers, String::from_utf8_lossy(&answer.bytes))
}

/// A secret of the form that the scan of the whole suite looks for; valid nowhere.
const STRAY: &str = "cwa_stray0000000000000000000000000000000000000";

#[tokio::test]
async fn no_credential_is_written_down_whatever_happens() {
    let log = Captured::default();
    let _listening = log.listen();
    let stage = Stage::with(&[("oauth.registration", "true"), ("oauth.refresh_retry", "0s")]).await;
    let client_secret = stage.app.secret.clone().expect("a secret");
    let code = stage.code(&stage.request(), "ada").await;
    let tokens = crate::oauth::stage::Tokens::of(&stage.token(&stage.exchange(&code)).await.expect(200));
    let wanted = Minting { title: "report".into(), scopes: "read".into(), ..Minting::default() };
    let (row, key) = stage.gateway.mint("ada", wanted).await.expect("a key");
    let mut answers = Vec::new();
    for token in [&tokens.access, &tokens.refresh, &code, &client_secret, &key, STRAY] {
        for path in [ME, &format!("{WEB}/states/"), &format!("{WEB}/nothing/"), "/api/v1/users/me/", "/readyz"] {
            answers.push(stage.call(token, path).await);
            answers.push(stage.gateway.get(token, path).await);
            answers.push(stage.gateway.post(token, path, serde_json::json!({"name": 1})).await);
        }
        answers.push(stage.get(ME, &[("authorization", &format!("Basic {token}"))]).await);
        answers.push(stage.about("/auth/o/introspect/", token).await);
        answers.push(stage.token(&changed(stage.refreshing(&tokens.refresh), "client_secret", Some(token))).await);
        answers.push(stage.token(&changed(stage.exchange(token), "code_verifier", Some("wrong"))).await);
        let page = stage.page(&stage.request()).await;
        answers.push(stage.decide(&page, "allow", token).await);
    }
    stage.token(&stage.refreshing(&tokens.refresh)).await;
    answers.push(stage.token(&stage.refreshing(&tokens.refresh)).await.expect(400));
    assert!(stage.gateway.oauth().revoke_key(row.id, None).await.expect("written"));
    answers.push(stage.gateway.get(&key, &format!("{WEB}/states/")).await.expect(401));
    answers.push(stage.call(&tokens.access, &format!("{WEB}/states/")).await.expect(401));
    let log = log.text();
    assert!(log.contains("request") && log.contains("CredentialRefused"), "nothing was captured");
    for secret in [&tokens.access, &tokens.refresh, &code, &client_secret, &key, STRAY, SECRET] {
        let lines: Vec<&str> = log.lines().filter(|line| line.contains(secret)).collect();
        assert!(lines.is_empty(), "{lines:#?}");
        for answer in &answers {
            assert!(!shown(answer).contains(secret), "{}", shown(answer));
        }
    }
}
