//! The same code or refresh token presented many times at once: to one gateway on SQLite, and to two that share a
//! PostgreSQL database.

use crate::oauth::stage::{ME, Stage, Tokens, expect_dead, expect_error};
use crate::support::gateway::{Answer, Gateway, WEB, serve_sandbox};
use crate::support::postgres::Database;
use causeway::sandbox::{Config, Sandbox, Seed};
use futures_util::future::join_all;

const LOG: &str = "/api/v2/workspaces/acme/audit-logs/?per_page=100&order_by=created_at";
const ADA: &str = "00000000-0000-4000-a000-000000000001";
/// Number of presentations at once.
const TIMES: usize = 8;

/// Gateways on one store. An app that is registered with one is registered with all.
struct Shared {
    stages: Vec<Stage>,
    _database: Option<Database>,
}

impl Shared {
    async fn on_sqlite(settings: &[(&str, &str)]) -> Self {
        Self::seen(vec![Stage::with(settings).await], None).await
    }

    async fn on_postgres(settings: &[(&str, &str)]) -> Self {
        let (database, sandbox) = (Database::create().await, Sandbox::new(config()));
        let (v1, url) = (serve_sandbox(&sandbox).await, database.url());
        // Each gateway notices the other's revocations at once.
        let mut all = vec![
            ("secrets.key", crate::oauth::stage::SECRET),
            ("store.url", &*url),
            ("oauth.revocation_delay", "1ms"),
        ];
        all.extend_from_slice(settings);
        let first = Stage::over(Gateway::with(&v1, &all).await).await;
        let (app, native) = (first.app.clone(), first.native.clone());
        let second = Stage { gateway: Gateway::with(&v1, &all).await, app, native };
        Self::seen(vec![first, second], Some(database)).await
    }

    /// Every gateway has seen ada in `acme`, so each of them would write a misuse to its audit log.
    async fn seen(stages: Vec<Stage>, database: Option<Database>) -> Self {
        for stage in &stages {
            stage.gateway.get("ada", &format!("{WEB}/states/")).await.expect(200);
        }
        Self { stages, _database: database }
    }

    fn first(&self) -> &Stage {
        &self.stages[0]
    }

    /// Sends one request to the token endpoint many times at once, to the gateways in turn.
    async fn present(&self, content: &[(&str, &str)]) -> Vec<Answer> {
        join_all((0..TIMES).map(|turn| self.stages[turn % self.stages.len()].token(content))).await
    }

    /// Expects that no gateway accepts these tokens, the grant is gone, and the audit log has one entry about it.
    async fn expect_ended_once(&self, given: &[Tokens], event: &str) {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        for stage in &self.stages {
            for tokens in given {
                expect_dead(stage.call(&tokens.access, ME).await);
                expect_error(stage.token(&stage.refreshing(&tokens.refresh)).await, 400, "invalid_grant");
            }
            let left = stage.gateway.oauth().grants(ADA.parse().expect("an id")).await.expect("the store");
            assert!(left.is_empty(), "{left:?}");
        }
        assert_eq!(self.reports(event).await, 1);
    }

    async fn reports(&self, event: &str) -> usize {
        let log = self.first().gateway.get("ada", LOG).await.expect(200);
        log.column("event_name").iter().filter(|name| *name == event).count()
    }
}

fn config() -> Config {
    Config { seed: Seed::Recorded, ..Config::default() }
}

fn pairs(answers: &[Answer]) -> Vec<Tokens> {
    answers.iter().filter(|answer| answer.status == 200).map(Tokens::of).collect()
}

async fn a_code(shared: Shared) {
    let stage = shared.first();
    let code = stage.code(&stage.request(), "ada").await;
    let answers = shared.present(&stage.exchange(&code)).await;
    let given = pairs(&answers);
    assert_eq!(given.len(), 1, "a code gives one pair");
    for refused in answers.into_iter().filter(|answer| answer.status != 200) {
        expect_error(refused, 400, "invalid_grant");
    }
    shared.expect_ended_once(&given, "oauth_grant.code_misused").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_code_gives_one_pair_and_its_misuse_is_told_once_on_sqlite() {
    a_code(Shared::on_sqlite(&[]).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_code_gives_one_pair_and_its_misuse_is_told_once_on_postgres() {
    a_code(Shared::on_postgres(&[]).await).await;
}

/// A code with a wrong verifier is used up; attempts at the same time count as one misuse.
async fn a_wrong_verifier(shared: Shared) {
    let stage = shared.first();
    let code = stage.code(&stage.request(), "ada").await;
    let wrong = "wrong-wrong-wrong-wrong-wrong-wrong-wrong-wrong";
    let content = crate::oauth::stage::changed(stage.exchange(&code), "code_verifier", Some(wrong));
    for refused in shared.present(&content).await {
        expect_error(refused, 400, "invalid_grant");
    }
    expect_error(stage.token(&stage.exchange(&code)).await, 400, "invalid_grant");
    shared.expect_ended_once(&[], "oauth_grant.code_misused").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_code_with_a_wrong_verifier_is_told_once_on_sqlite() {
    a_wrong_verifier(Shared::on_sqlite(&[]).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_code_with_a_wrong_verifier_is_told_once_on_postgres() {
    a_wrong_verifier(Shared::on_postgres(&[]).await).await;
}

async fn a_rotated_token(shared: Shared) {
    let stage = shared.first();
    let first = stage.tokens("read").await;
    let second = Tokens::of(&stage.token(&stage.refreshing(&first.refresh)).await.expect(200));
    let third = Tokens::of(&stage.token(&stage.refreshing(&second.refresh)).await.expect(200));
    for refused in shared.present(&stage.refreshing(&first.refresh)).await {
        expect_error(refused, 400, "invalid_grant");
    }
    shared.expect_ended_once(&[first, second, third], "oauth_grant.refresh_token_reused").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_rotated_refresh_token_ends_the_family_and_is_told_once_on_sqlite() {
    a_rotated_token(Shared::on_sqlite(&[]).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_rotated_refresh_token_ends_the_family_and_is_told_once_on_postgres() {
    a_rotated_token(Shared::on_postgres(&[]).await).await;
}

async fn without_a_grace(shared: Shared) {
    let stage = shared.first();
    let first = stage.tokens("read").await;
    let mut given = pairs(&shared.present(&stage.refreshing(&first.refresh)).await);
    assert_eq!(given.len(), 1, "a refresh token gives one pair");
    given.push(first);
    shared.expect_ended_once(&given, "oauth_grant.refresh_token_reused").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_refresh_token_without_a_grace_gives_one_pair_on_sqlite() {
    without_a_grace(Shared::on_sqlite(&[("oauth.refresh_retry", "0s")]).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_refresh_token_without_a_grace_gives_one_pair_on_postgres() {
    without_a_grace(Shared::on_postgres(&[("oauth.refresh_retry", "0s")]).await).await;
}

/// Within the grace each exchange replaces the tokens given before, any number of times, and none is misuse.
async fn within_the_grace(shared: Shared) {
    let stage = shared.first();
    let first = stage.tokens("read").await;
    let given = pairs(&shared.present(&stage.refreshing(&first.refresh)).await);
    assert_eq!(given.len(), TIMES, "each of them may be the one whose answer was lost");
    tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    let alive = join_all(given.iter().map(|tokens| stage.call(&tokens.access, ME))).await;
    assert_eq!(alive.iter().filter(|answer| answer.status == 200).count(), 1, "the last one stands");
    assert_eq!(shared.reports("oauth_grant.refresh_token_reused").await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn repetitions_within_the_grace_leave_one_pair_on_sqlite() {
    within_the_grace(Shared::on_sqlite(&[]).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn repetitions_within_the_grace_leave_one_pair_on_postgres() {
    within_the_grace(Shared::on_postgres(&[]).await).await;
}

/// A refresh token is revoked while it is exchanged: in either order, no token stays valid.
async fn given_back_meanwhile(shared: Shared) {
    for _ in 0..4 {
        let stage = shared.first();
        let tokens = stage.tokens("read").await;
        let exchanged = stage.refreshing(&tokens.refresh);
        let last = &shared.stages[shared.stages.len() - 1];
        let (answers, revoked) =
            tokio::join!(shared.present(&exchanged), last.about("/auth/o/revoke/", &tokens.refresh));
        revoked.expect(200);
        let mut given = pairs(&answers);
        given.push(tokens);
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        for tokens in given {
            for stage in &shared.stages {
                expect_dead(stage.call(&tokens.access, ME).await);
                expect_error(stage.token(&stage.refreshing(&tokens.refresh)).await, 400, "invalid_grant");
            }
        }
    }
    assert_eq!(shared.reports("oauth_grant.token_revoked").await, 4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_refresh_token_that_is_given_back_meanwhile_leaves_nothing_on_sqlite() {
    given_back_meanwhile(Shared::on_sqlite(&[]).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_refresh_token_that_is_given_back_meanwhile_leaves_nothing_on_postgres() {
    given_back_meanwhile(Shared::on_postgres(&[]).await).await;
}
