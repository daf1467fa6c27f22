//! Processes that share a database: an acknowledged write of one is known to the others, whatever happens to the
//! connection between.

use crate::store::oauth;
use crate::store::place::{PROJECT, Place, V1, WORKSPACE, all_connections, edit, execute, given};
use crate::support::pg_wire::PgWire;
use crate::support::postgres::Database;
use causeway::fresh::{Changed, Changes};
use causeway::refusal::Refusal;
use causeway::store::oauth::{SealedRow, TokenKind};
use causeway::store::{Element, Intent, IntentKind, Joined, OwnWrite, Settled, Store, StoreError, TypeChange};
use causeway::task::spawn;
use futures_util::future::{BoxFuture, join_all};
use serde_json::{Value, json};
use sqlx::Row;
use std::time::{Duration, Instant};
use uuid::Uuid;

/// Longer than any wait here, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A process of the deployment.
struct Member {
    store: Store,
    changes: Changes,
    joined: Joined,
}

impl Member {
    async fn at(url: &str) -> Self {
        let (store, changes) = (Store::open(url, V1).await.expect("a store"), Changes::default());
        let joined = store.join(&changes, Duration::ZERO).await.expect("a place among them");
        Self { store, changes, joined }
    }
}

async fn soon(what: &str, mut is: impl AsyncFnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is().await {
        assert!(Instant::now() < end, "{what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

async fn flag(store: &Store, on: bool) {
    let body = given(json!({"is_wiki_enabled": on}));
    edit(store, |edit| edit.update_features(&body)).await.expect("an edit");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unchanged_data_is_read_without_statements_and_changes_show_at_once() {
    let place = Place::postgres().await;
    let wire = PgWire::before(&place.url()).await;
    let (one, two) = (Member::at(&place.url()).await, Member::at(wire.url()).await);
    let read = async || {
        let known = two.store.epoch(PROJECT).await.expect("a number");
        two.store.project_items(PROJECT).await.expect("items");
        two.store.catalogue(WORKSPACE).await.expect("definitions");
        known
    };
    read().await;
    assert!(wire.statements() > 0, "statements are counted");
    let mut statements = 0;
    for _ in 0..20 {
        let (before, mut has_lease) = (wire.statements(), true);
        for _ in 0..500 {
            read().await;
            has_lease &= two.store.oauth().hears_revocations();
        }
        statements = wire.statements() - before;
        // Without its lease, which it may lose on a busy machine, it asks the database for each read.
        if has_lease || statements < 100 {
            break;
        }
    }
    assert!(statements < 100, "{statements} statements for 500 reads that nobody wrote between");
    for round in 1..=200 {
        let bumped = one.store.bump_epoch(PROJECT, Vec::new(), None, true).await.expect("a bump");
        assert_eq!(read().await, bumped, "round {round}");
        flag(&one.store, round % 2 == 0).await;
        let seen = two.store.catalogue(WORKSPACE).await.expect("definitions");
        assert_eq!(seen.version, one.store.catalogue(WORKSPACE).await.expect("definitions").version);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_revocation_is_known_to_all_when_it_is_answered() {
    let place = Place::postgres().await;
    let (one, two) = (Member::at(&place.url()).await, Member::at(&place.url()).await);
    for _ in 0..50 {
        let found = two.changes.now();
        one.store.oauth().revoke_key(Uuid::nil(), None).await.expect("told");
        let knows = two.changes.is_void(&[Changed::Credentials], found);
        // On a machine that is busy for seconds it may have lost its lease; then it asks the database.
        assert!(knows || !two.store.oauth().hears_revocations());
    }
    let found = two.changes.now();
    one.store.tell(vec![Changed::WorkspaceAccess("acme".into())]).await.expect("told");
    soon("it is told", async || two.changes.is_void(&[Changed::WorkspaceAccess("acme".into())], found)).await;
    // A command that has not joined hears no confirmations, and waits all the same.
    let command = place.open().await;
    let found = two.changes.now();
    command.oauth().revoke_key(Uuid::nil(), None).await.expect("told");
    assert!(two.changes.is_void(&[Changed::Credentials], found) || !two.store.oauth().hears_revocations());
}

/// A revoked credential ends in every process once the revocation is in the database, whichever process learns of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_revocation_whose_answer_is_lost_is_told_to_all() {
    let place = Place::postgres().await;
    let wire = PgWire::before(&place.url()).await;
    let (one, two) = (Member::at(wire.url()).await, Member::at(&place.url()).await);
    let store = one.store.oauth();
    oauth::fill(&store).await;
    let access = store.token("access 1").await.expect("a token").expect("it is there");
    assert_eq!(access.kind, TokenKind::Access);
    let (grant, key) = (Uuid::from_u128(1), Uuid::from_u128(2));
    let ways: [(String, BoxFuture<'_, Result<bool, StoreError>>); 4] = [
        ("access 1".into(), Box::pin(store.revoke_token("access 1", &access))),
        (key.to_string(), Box::pin(store.revoke_key(key, None))),
        (grant.to_string(), Box::pin(store.revoke_grant_of(oauth::USER, grant))),
        ("app".into(), Box::pin(store.delete_client("app"))),
    ];
    for (text, revoking) in ways {
        let (here, there) = (store.changes().now(), two.changes.now());
        wire.lose_commit_of(&text, Duration::ZERO);
        let outcome = revoking.await;
        assert!(matches!(outcome, Err(StoreError::Undecided(_))), "{text}: {outcome:?}");
        assert!(store.changes().is_void(&[Changed::Credentials], here), "{text}: its own process knows at once");
        soon(&text, async || two.changes.is_void(&[Changed::Credentials], there)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn definitions_whose_commit_arrives_late_and_without_an_answer_show_in_their_own_process() {
    let place = Place::postgres().await;
    let wire = PgWire::before(&place.url()).await;
    let one = Member::at(wire.url()).await;
    let is_there = async || {
        let catalogue = one.store.catalogue(WORKSPACE).await.expect("definitions");
        catalogue.types_of(None).iter().any(|kind| kind.name == "Late")
    };
    wire.lose_commit_of("Late", Duration::from_secs(1));
    let body = given(json!({"name": "Late"}));
    let outcome = edit(&one.store, |edit| edit.create_type(None, &body)).await;
    assert!(matches!(outcome, Err(Refusal::OutcomeUnknown { .. })), "{outcome:?}");
    assert!(!is_there().await, "not yet: it is read, and kept");
    soon("the type", is_there).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_of_the_authorization_server_waits_for_a_database_that_is_silent() {
    let place = Place::postgres().await;
    let wire = PgWire::before(&place.url()).await;
    let one = Member::at(wire.url()).await;
    let store = one.store.oauth();
    oauth::fill(&store).await;
    let (client, key) = (oauth::client("another"), oauth::key(7, None));
    let row = SealedRow { of_gateway_key: true, id: key.id.to_string(), sealed: key.sealed.clone() };
    wire.silence(true);
    let asked: [BoxFuture<'_, Result<(), StoreError>>; 13] = [
        Box::pin(async { store.client("app").await.map(drop) }),
        Box::pin(async { store.clients().await.map(drop) }),
        Box::pin(async { store.public_clients().await.map(drop) }),
        Box::pin(async { store.set_client_secret("app", "5ec2e7").await.map(drop) }),
        Box::pin(store.add_client(&client)),
        Box::pin(async { store.token("access 1").await.map(drop) }),
        Box::pin(async { store.grants_of(oauth::USER).await.map(drop) }),
        Box::pin(async { store.key("key 2").await.map(drop) }),
        Box::pin(async { store.keys(None).await.map(drop) }),
        Box::pin(store.add_key(&key)),
        Box::pin(async { store.revoke_key(key.id, None).await.map(drop) }),
        Box::pin(async { store.not_sealed_with("", "", 1).await.map(drop) }),
        Box::pin(async { store.reseal(&row, &row.sealed).await.map(drop) }),
    ];
    for (number, outcome) in join_all(asked).await.into_iter().enumerate() {
        // They were in flight when the failure was noticed; the pool alone would give another error, much later.
        let told = outcome.expect_err("it cannot be").to_string();
        assert!(told.contains("the database does not answer"), "{number}: {told}");
    }
}

/// Otherwise a gateway could not be stopped.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_whose_database_is_silent_is_closed_all_the_same() {
    let place = Place::postgres().await;
    let wire = PgWire::before(&place.url()).await;
    let Member { store, joined, .. } = Member::at(wire.url()).await;
    let writing = store.engine().writing().await.expect("a transaction");
    wire.silence(true);
    let ending = async {
        joined.leave().await;
        store.close().await;
    };
    tokio::time::timeout(PATIENCE, ending).await.expect("an end");
    drop(writing);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_is_cut_off_answers_nothing_old_and_holds_nobody_up_for_long() {
    let place = Place::postgres().await;
    let wire = PgWire::before(&place.url()).await;
    let (one, two) = (Member::at(&place.url()).await, Member::at(wire.url()).await);
    for round in 0..3 {
        let known = two.store.epoch(PROJECT).await.expect("a number");
        wire.silence(true);
        let began = Instant::now();
        let bumped = one.store.bump_epoch(PROJECT, Vec::new(), None, true).await.expect("a bump");
        assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
        assert!(bumped > known);
        // The write is acknowledged: from here on the old number may only be returned as outdated.
        match two.store.epoch(PROJECT).await {
            Ok(number) => assert!(number == bumped || two.store.away_since().is_some(), "round {round}: {number}"),
            Err(_) => assert!(two.store.away_since().is_some()),
        }
        soon("the cut is noticed", async || two.store.away_since().is_some()).await;
        assert!(two.store.bump_epoch(PROJECT, Vec::new(), None, true).await.is_err(), "refused, and at once");
        wire.silence(false);
        soon("it is over", async || two.store.away_since().is_none()).await;
        soon("all is known", async || two.store.epoch(PROJECT).await.is_ok_and(|number| number == bumped)).await;
    }
}

/// Such a server answers, but nothing can be read from it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_refuses_the_login_is_away_until_it_accepts_it() {
    let place = Place::postgres().await;
    let wire = PgWire::before(&place.url()).await;
    let one = Member::at(wire.url()).await;
    let known = one.store.bump_epoch(PROJECT, Vec::new(), None, true).await.expect("a bump");
    let is_known = async || one.store.epoch(PROJECT).await.is_ok_and(|number| number == known);
    // The user may not log in, another password, no such database, too many connections, a database that accepts none,
    // a server that starts, a pooler that cannot reach it.
    for code in ["28000", "28P01", "3D000", "53300", "55000", "57P03", "08006"] {
        soon(code, async || one.store.engine().is_writable() && is_known().await).await;
        wire.refuse_logins(Some(code));
        wire.cut(false);
        soon(code, async || one.store.away_since().is_some()).await;
        assert!(!one.store.engine().is_writable() && is_known().await, "{code}: it is read from memory");
        assert!(one.store.bump_epoch(PROJECT, Vec::new(), None, true).await.is_err(), "{code}: refused");
        wire.refuse_logins(None);
    }
    soon("it is over", async || one.store.engine().is_writable() && is_known().await).await;
}

/// Open connections need no login. Only when they have ended too, nothing can be read or written.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_may_not_listen_any_more_uses_its_open_connections() {
    let database = Database::create().await;
    let wire = PgWire::before(&database.url()).await;
    let one = Member::at(wire.url()).await;
    let works = async || {
        let bumped = one.store.bump_epoch(PROJECT, Vec::new(), None, true).await;
        bumped.is_ok() && one.store.away_since().is_none()
    };
    let mut open = Vec::new();
    for _ in 0..4 {
        open.push(one.store.engine().pool().acquire().await.expect("a connection"));
    }
    drop(open);
    soon("it listens", async || one.store.oauth().hears_revocations()).await;
    wire.refuse_logins(Some("28000"));
    // The session that listens is the only one with such a lock.
    database
        .run(
            "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND classid = 1667331443 \
             AND database = (SELECT oid FROM pg_database WHERE datname = current_database())",
        )
        .await;
    // By the third refusal, the first one has had its effect.
    soon("logins are refused", async || wire.refused_logins() > 2).await;
    soon("it works", works).await;
    assert!(!one.store.oauth().hears_revocations(), "it asks the store for each read");
    wire.cut(false);
    soon("it is away", async || one.store.away_since().is_some()).await;
    wire.refuse_logins(None);
    soon("it is over", works).await;
}

/// It refuses the statements with which this process would tell the others that it lives.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_whose_user_may_only_read_is_there() {
    let database = Database::create().await;
    Store::open(&database.url(), V1).await.expect("tables").close().await;
    database.run("GRANT SELECT ON ALL TABLES IN SCHEMA public TO pg_monitor").await;
    let one = Member::at(&format!("{}&options[role]=pg_monitor", database.url())).await;
    // On a busy machine it may count as away for a moment.
    soon("it is there", async || {
        let is_read = one.store.epoch(PROJECT).await.is_ok_and(|number| number == 0);
        is_read && one.store.away_since().is_none() && !one.store.engine().is_writable()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_of_a_dead_process_is_free_at_once() {
    let place = Place::postgres().await;
    let (one, two) = (Member::at(&place.url()).await, Member::at(&place.url()).await);
    soon("they know of each other", async || one.store.processes() == 2 && two.store.processes() == 2).await;
    let (item, user) = (Some(Uuid::from_u128(5)), Uuid::from_u128(6));
    let intent =
        Intent::new(IntentKind::Update, (WORKSPACE, PROJECT), item, user, Value::Null, OwnWrite::default());
    let running = one.store.begin_intent(intent).await.expect("a note").expect("its type is there");
    let hour = 3_600_000_000;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let left = two.store.project_items(PROJECT).await.expect("a list").open.first().cloned().expect("the note");
    assert!(two.store.is_running(&left, hour), "its process lives");
    std::mem::forget(running);
    drop(one);
    soon("its process is gone", async || !two.store.is_running(&left, hour)).await;
}

/// A reader of an item's new type must not show v1's half from before beside it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_outcome_of_a_write_is_announced_with_its_epoch() {
    let place = Place::postgres().await;
    let (one, two) = (Member::at(&place.url()).await, Member::at(&place.url()).await);
    let item = Uuid::from_u128(5);
    let begun = |kind| Intent::new(kind, (WORKSPACE, PROJECT), Some(item), item, Value::Null, OwnWrite::default());
    let ends = [
        (IntentKind::Update, Settled::Done(item), 1),
        (IntentKind::Delete, Settled::Purged(item), 1),
        (IntentKind::Update, Settled::Dropped, 0),
    ];
    for (kind, settled, steps) in ends {
        let before = one.store.bump_epoch(PROJECT, Vec::new(), None, true).await.expect("a bump");
        let running = one.store.begin_intent(begun(kind)).await.expect("a note").expect("its type is there");
        assert_eq!(two.store.epoch(PROJECT).await.expect("a number"), before);
        let epoch = one.store.settle_own(running, settled).await.expect("an end");
        assert_eq!(epoch, if steps == 0 { 0 } else { before + steps });
        assert_eq!(two.store.epoch(PROJECT).await.expect("a number"), before + steps);
        assert_eq!(two.store.project_items(PROJECT).await.expect("a list").epoch, before + steps);
    }
}

/// Each process keeps the records of the project's items in memory until it is told.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_edit_that_removes_values_of_items_is_told_to_all() {
    let place = Place::postgres().await;
    let (one, two) = (Member::at(&place.url()).await, Member::at(&place.url()).await);
    let size = given(json!({"display_name": "Size", "property_type": "TEXT"}));
    let defining = edit(&one.store, |edit| {
        let type_id = edit.create_type(Some(PROJECT), &given(json!({"name": "Bug"})))?;
        let property = edit.create_property(Some(PROJECT), &size)?;
        edit.attach(type_id, &[property])?;
        Ok((type_id, property))
    });
    let (type_id, property) = defining.await.expect("an edit");
    let values = vec![(property, vec![Element { value: json!("large"), option: None }])];
    let own = OwnWrite { type_id: TypeChange::Set(Some(type_id)), values };
    assert!(one.store.write_item(WORKSPACE, PROJECT, Uuid::from_u128(5), &own).await.expect("a write"));
    let found = two.changes.now();
    edit(&one.store, |edit| edit.detach(type_id, property)).await.expect("an edit");
    soon("it is told", async || two.changes.is_void(&[Changed::Stored(PROJECT)], found)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_that_is_given_up_while_it_begins_leaves_nothing_behind() {
    let place = Place::postgres().await;
    let store = place.open().await;
    for polls in 0..12 {
        let mut reading = Box::pin(store.engine().reading());
        for _ in 0..polls {
            if futures_util::poll!(&mut reading).is_ready() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        drop(reading);
        tokio::time::sleep(Duration::from_millis(20)).await;
        for connection in &mut all_connections(&store).await {
            let inside = "SELECT current_setting('transaction_read_only')";
            let row = sqlx::query(inside).fetch_one(&mut **connection).await.expect("a row");
            assert_eq!(row.try_get::<String, _>(0).expect("a text"), "off", "given up after {polls} looks");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_version_that_must_not_write_any_more_is_told() {
    let place = Place::postgres().await;
    let one = Member::at(&place.url()).await;
    let superseded = one.joined.superseded();
    execute(&one.store, "UPDATE service SET min_writer = 1000").await;
    tokio::time::timeout(PATIENCE, superseded).await.expect("told");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tables_of_a_newer_version_are_used_as_far_as_that_version_allows() {
    for place in [Place::sqlite(), Place::postgres().await] {
        let store = place.open().await;
        execute(&store, "INSERT INTO _sqlx_migrations (version, description, installed_on, success, checksum, execution_time) \
                 SELECT 1000, 'of a newer one', installed_on, success, checksum, 0 FROM _sqlx_migrations WHERE version = 1")
            .await;
        drop(place.open().await);
        execute(&store, "UPDATE service SET min_writer = 1000").await;
        let refused = Store::open(&place.url(), V1).await.expect_err("it must not write").to_string();
        assert!(refused.contains("whoever writes must know 1000"), "{refused}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_is_served_by_one_process() {
    let place = Place::sqlite();
    let first = Member::at(&place.url()).await;
    let command = place.open().await;
    flag(&command, true).await;
    let refused = command.join(&Changes::default(), Duration::ZERO).await.expect_err("it is served").to_string();
    for word in [place.file().to_str().expect("a path"), "another gateway", "PostgreSQL"] {
        assert!(refused.contains(word), "no {word} in {refused}");
    }
    let waiting = spawn(async move { command.join(&Changes::default(), PATIENCE).await.map(drop) });
    drop(first);
    waiting.await.expect("no panic").expect("it waits for the other's end");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pooler_that_keeps_notifications_back_is_refused() {
    let place = Place::postgres().await;
    let wire = PgWire::before(&place.url()).await;
    wire.keep_notifications_back();
    let store = Store::open(wire.url(), V1).await.expect("a store");
    let refused = store.join(&Changes::default(), Duration::ZERO).await.expect_err("no note arrives").to_string();
    assert!(refused.contains("pooler in transaction mode"), "{refused}");
}
