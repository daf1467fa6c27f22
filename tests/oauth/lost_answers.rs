//! Revocations that PostgreSQL carries out although the answer is lost or comes too late: the next request gets the
//! true result, and the audit log gets one entry.

use crate::oauth::stage::{ME, SECRET, Stage, Tokens, expect_dead, expect_error};
use crate::support::gateway::{Gateway, WEB, serve_sandbox};
use crate::support::pg_wire::PgWire;
use crate::support::postgres::Database;
use causeway::oauth::protocol::secret;
use causeway::sandbox::{Config, Sandbox, Seed};
use std::time::{Duration, Instant};

const REVOKE: &str = "/auth/o/revoke/";
const LOG: &str = "/api/v2/workspaces/acme/audit-logs/?per_page=100&order_by=created_at";
/// Delay of a lost commit: long enough for a request in between.
const LATE: Duration = Duration::from_millis(1700);
/// The delay of a commit whose answer is not lost. PostgreSQL ends a session that is silent for 2 s in a transaction.
const SLOW: Duration = Duration::from_secs(1);
/// Longer than every wait here, and shorter than the life of a cached token.
const PATIENCE: Duration = Duration::from_secs(40);

/// A gateway whose cache does not expire, behind a wire to its database.
struct Cut {
    stage: Stage,
    wire: PgWire,
    _database: Database,
}

impl Cut {
    async fn new() -> Self {
        let (database, sandbox) =
            (Database::create().await, Sandbox::new(Config { seed: Seed::Recorded, ..Config::default() }));
        let (v1, wire) = (serve_sandbox(&sandbox).await, PgWire::before(&database.url()).await);
        let settings = [
            ("secrets.key", SECRET),
            ("store.url", wire.url()),
            ("oauth.revocation_delay", "60s"),
            ("oauth.refresh_retry", "0s"),
        ];
        let stage = Stage::over(Gateway::with(&v1, &settings).await).await;
        // From now on her workspace's audit log gets entries about her grants.
        stage.gateway.get("ada", &format!("{WEB}/states/")).await.expect(200);
        Self { stage, wire, _database: database }
    }

    async fn reports(&self, event: &str) -> usize {
        let log = self.stage.gateway.get("ada", LOG).await.expect(200);
        log.column("event_name").iter().filter(|name| *name == event).count()
    }

    async fn expect_one_report(&self, event: &str) {
        let end = Instant::now() + PATIENCE;
        while self.reports(event).await == 0 {
            assert!(Instant::now() < end, "{event} is not told");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        assert_eq!(self.reports(event).await, 1, "{event}");
    }

    /// Expects that a token that was found again while the commit was under way is dead soon after.
    async fn expect_soon_dead(&self, access: &str) {
        let end = Instant::now() + PATIENCE;
        while self.stage.call(access, ME).await.status != 401 {
            assert!(Instant::now() < end, "it goes on working");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        expect_dead(self.stage.call(access, ME).await);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_revocation_that_is_sent_again_works_at_once() {
    let cut = Cut::new().await;
    let stage = &cut.stage;
    for of in [|tokens: &Tokens| tokens.access.clone(), |tokens: &Tokens| tokens.refresh.clone()] {
        let tokens = stage.tokens("read").await;
        let token = of(&tokens);
        stage.call(&tokens.access, ME).await.expect(200);
        cut.wire.lose_commit_of(&secret::hash(&token), LATE);
        expect_error(stage.about(REVOKE, &token).await, 503, "temporarily_unavailable");
        // The commit has not arrived yet: the token is found again, and cached.
        stage.call(&tokens.access, ME).await.expect(200);
        stage.about(REVOKE, &token).await.expect(200);
        expect_dead(stage.call(&tokens.access, ME).await);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refresh_token_used_again_ends_the_family_and_is_told_although_the_answer_is_lost() {
    let cut = Cut::new().await;
    let stage = &cut.stage;
    let first = stage.tokens("read").await;
    let second = Tokens::of(&stage.token(&stage.refreshing(&first.refresh)).await.expect(200));
    stage.call(&second.access, ME).await.expect(200);
    cut.wire.lose_commit_of("refresh_token_reused", LATE);
    expect_error(stage.token(&stage.refreshing(&first.refresh)).await, 503, "temporarily_unavailable");
    stage.call(&second.access, ME).await.expect(200);
    expect_error(stage.token(&stage.refreshing(&first.refresh)).await, 400, "invalid_grant");
    assert_eq!(cut.reports("oauth_grant.refresh_token_reused").await, 1);
    cut.expect_soon_dead(&second.access).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_code_used_again_ends_its_grant_and_is_told_although_the_answer_is_lost() {
    let cut = Cut::new().await;
    let stage = &cut.stage;
    let code = stage.code(&stage.request(), "ada").await;
    let tokens = Tokens::of(&stage.token(&stage.exchange(&code)).await.expect(200));
    stage.call(&tokens.access, ME).await.expect(200);
    cut.wire.lose_commit_of("code_misused", LATE);
    expect_error(stage.token(&stage.exchange(&code)).await, 503, "temporarily_unavailable");
    stage.call(&tokens.access, ME).await.expect(200);
    expect_error(stage.token(&stage.exchange(&code)).await, 400, "invalid_grant");
    assert_eq!(cut.reports("oauth_grant.code_misused").await, 1);
    cut.expect_soon_dead(&tokens.access).await;
}

/// A thief need not wait for the answer, and the audit entry is written after the commit.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_end_of_a_grant_is_logged_even_if_the_client_leaves_before_the_commit() {
    let cut = Cut::new().await;
    let stage = &cut.stage;
    let leaves = async |endpoint: &str, content: &[(&str, &str)], text: &str| {
        cut.wire.slow_commit_of(text, SLOW);
        let sent = tokio::time::timeout(SLOW * 2 / 3, stage.post_form(endpoint, &[], content)).await;
        assert!(sent.is_err(), "{text}: answered before its commit");
    };
    let token = "/auth/o/token/";

    let first = stage.tokens("read").await;
    let second = Tokens::of(&stage.token(&stage.refreshing(&first.refresh)).await.expect(200));
    leaves(token, &stage.refreshing(&first.refresh), "refresh_token_reused").await;
    cut.expect_soon_dead(&second.access).await;
    cut.expect_one_report("oauth_grant.refresh_token_reused").await;

    let code = stage.code(&stage.request(), "ada").await;
    let tokens = Tokens::of(&stage.token(&stage.exchange(&code)).await.expect(200));
    leaves(token, &stage.exchange(&code), "code_misused").await;
    cut.expect_soon_dead(&tokens.access).await;
    cut.expect_one_report("oauth_grant.code_misused").await;

    let tokens = stage.tokens("read").await;
    let content = [&stage.refreshing(&tokens.refresh)[1..3], &[("token", tokens.refresh.as_str())]].concat();
    leaves(REVOKE, &content, &secret::hash(&tokens.refresh)).await;
    cut.expect_soon_dead(&tokens.access).await;
    cut.expect_one_report("oauth_grant.token_revoked").await;
}
