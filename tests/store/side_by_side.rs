//! Many writers of one workspace at once, through two handles that are two processes for the database.

use crate::store::place::{PROJECT, Place, WORKSPACE, all_connections, edit, execute, given, number};
use crate::support::captured::Captured;
use causeway::refusal::Refusal;
use causeway::store::{OwnWrite, Store};
use causeway::task::spawn;
use futures_util::FutureExt;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use uuid::Uuid;

on_both_engines![
    one_type_is_the_default_whoever_marks_them,
    one_of_many_gets_the_name,
    flags_of_everybody_are_kept,
    enabling_types_provides_one_default,
    a_mixed_load_leaves_a_sound_catalogue,
    a_type_is_deleted_or_used_but_not_both,
    sequence_numbers_have_no_gaps,
    another_writer_in_the_way_is_tried_again,
    the_indices_refuse_what_slips_past_the_lock,
];

const TASKS: usize = 24;

async fn two(place: &Place) -> [Store; 2] {
    [place.open().await, place.open().await]
}

/// Runs `work` many times at once, half of it through each handle.
async fn crowd<T, F>(stores: &[Store; 2], work: impl Fn(Store, usize) -> F) -> Vec<T>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let tasks: Vec<_> = (0..TASKS).map(|number| spawn(work(stores[number % 2].clone(), number))).collect();
    let mut results = Vec::new();
    for task in tasks {
        results.push(task.await.expect("no task panics"));
    }
    results
}

/// Asserts the rules of the workspace, by the code and by plain SQL.
async fn assert_sound(place: &Place) {
    let store = place.open().await;
    assert_eq!(store.catalogue(WORKSPACE).await.unwrap().check(), Vec::<String>::new());
    for (what, text) in [
        (
            "owners with several defaults",
            "SELECT COUNT(*) FROM (SELECT 1 FROM work_item_type WHERE is_default = 1 AND deleted_at IS NULL \
             GROUP BY workspace_id, project_id HAVING COUNT(*) > 1) AS many",
        ),
        (
            "names in use twice",
            "SELECT COUNT(*) FROM (SELECT 1 FROM work_item_type WHERE deleted_at IS NULL \
             GROUP BY workspace_id, project_id, name HAVING COUNT(*) > 1) AS many",
        ),
        (
            "slugs in use twice",
            "SELECT COUNT(*) FROM (SELECT 1 FROM property WHERE deleted_at IS NULL \
             GROUP BY workspace_id, project_id, name HAVING COUNT(*) > 1) AS many",
        ),
        (
            "links to what is deleted",
            "SELECT COUNT(*) FROM type_property l JOIN work_item_type t ON t.id = l.type_id \
             JOIN property p ON p.id = l.property_id WHERE t.deleted_at IS NOT NULL OR p.deleted_at IS NOT NULL",
        ),
    ] {
        assert_eq!(number(&store, text).await, 0, "{what}");
    }
}

async fn one_type_is_the_default_whoever_marks_them(place: Place) {
    let stores = two(&place).await;
    let types: Vec<Uuid> = edit(&stores[0], |edit| {
        (0..4).map(|number| edit.create_type(None, &given(json!({"name": format!("{number}")})))).collect()
    })
    .await
    .unwrap();
    let results = crowd(&stores, |store, number| {
        let id = types[number % types.len()];
        async move { edit(&store, |edit| edit.mark_default(id)).await }
    });
    for result in results.await {
        result.unwrap();
    }
    let defaults = "SELECT COUNT(*) FROM work_item_type WHERE is_default = 1 AND deleted_at IS NULL";
    assert_eq!(number(&stores[0], defaults).await, 1);
    assert_sound(&place).await;
}

async fn one_of_many_gets_the_name(place: Place) {
    let stores = two(&place).await;
    let results = crowd(&stores, |store, _| async move {
        edit(&store, |edit| edit.create_type(None, &given(json!({"name": "Bug"})))).await
    })
    .await;
    let (done, refused): (Vec<_>, Vec<_>) = results.into_iter().partition(Result::is_ok);
    assert_eq!(done.len(), 1);
    for refusal in refused {
        assert_eq!(refusal.unwrap_err().code(), "conflict", "the rules speak, not an index");
    }
    assert_sound(&place).await;
}

async fn flags_of_everybody_are_kept(place: Place) {
    let stores = two(&place).await;
    let results = crowd(&stores, |store, number| async move {
        // The first flag also creates a default type.
        let flag = causeway::catalogue::FLAGS[number % 10];
        edit(&store, |edit| edit.update_features(&given(json!({flag: true})))).await
    });
    for result in results.await {
        result.unwrap();
    }
    assert_eq!(place.open().await.catalogue(WORKSPACE).await.unwrap().features.flags, [true; 10]);
    assert_sound(&place).await;
}

async fn enabling_types_provides_one_default(place: Place) {
    let stores = two(&place).await;
    let ids = crowd(&stores, |store, _| async move { edit(&store, |edit| edit.enable(PROJECT)).await.unwrap() });
    let ids = ids.await;
    assert!(ids.iter().all(|id| *id == ids[0]), "everybody is told of the same type");
    assert_eq!(number(&stores[0], "SELECT COUNT(*) FROM work_item_type").await, 1);
    assert_sound(&place).await;
}

async fn a_mixed_load_leaves_a_sound_catalogue(place: Place) {
    let stores = two(&place).await;
    let made = Arc::new(AtomicUsize::new(0));
    let results = crowd(&stores, |store, number| {
        let made = Arc::clone(&made);
        async move {
            let name = given(json!({"name": format!("type {}", number % 7)}));
            let size = given(json!({"display_name": format!("size {}", number % 5), "property_type": "OPTION",
                "options": [{"name": "S", "is_default": true}, {"name": "L"}]}));
            let owner = (number % 3 == 0).then_some(PROJECT);
            let done = edit(&store, |edit| {
                let property = edit.create_property(owner, &size)?;
                let type_id = edit.create_type(owner, &name)?;
                edit.attach(type_id, &[property])?;
                if owner.is_none() {
                    edit.import(PROJECT, &[type_id])?;
                }
                edit.mark_default(type_id)?;
                Ok((type_id, property))
            });
            let Ok((type_id, property)) = done.await else { return Ok(()) };
            made.fetch_add(1, Ordering::SeqCst);
            // Half of the writers undo a part of it at once.
            if number % 2 == 0 {
                edit(&store, |edit| edit.delete_property(property)).await?;
            } else {
                edit(&store, |edit| edit.detach(type_id, property)).await?;
            }
            Ok::<_, Refusal>(())
        }
    });
    for result in results.await {
        result.unwrap();
    }
    assert!(made.load(Ordering::SeqCst) >= 7, "every name is given once");
    assert_sound(&place).await;
}

async fn a_type_is_deleted_or_used_but_not_both(place: Place) {
    let stores = two(&place).await;
    for round in 0..8_u128 {
        let name = given(json!({"name": format!("{round}")}));
        let type_id = edit(&stores[0], |edit| edit.create_type(None, &name)).await.unwrap();
        let (deleter, user) = (stores[0].clone(), stores[1].clone());
        let deleting = spawn(async move { edit(&deleter, |edit| edit.delete_type(type_id)).await.is_ok() });
        let using = spawn(async move {
            let mut writing = user.engine().writing().await.unwrap();
            let held = user.held_catalogue(&mut writing, WORKSPACE).await.unwrap();
            if !held.types.contains_key(&type_id) {
                return false;
            }
            sqlx::query(
                "INSERT INTO work_item (id, workspace_id, project_id, type_id, changed_at) VALUES ($1, $2, $3, $4, 1)",
            )
            .bind(Uuid::from_u128(round).to_string())
            .bind(WORKSPACE.to_string())
            .bind(PROJECT.to_string())
            .bind(type_id.to_string())
            .execute(&mut *writing)
            .await
            .unwrap();
            writing.commit().await.unwrap();
            true
        });
        assert!(deleting.await.unwrap() != using.await.unwrap(), "exactly one of them");
    }
    let used = "SELECT COUNT(*) FROM work_item w JOIN work_item_type t ON t.id = w.type_id \
                WHERE t.deleted_at IS NOT NULL";
    assert_eq!(number(&stores[0], used).await, 0);
}

async fn sequence_numbers_have_no_gaps(place: Place) {
    let stores = two(&place).await;
    let results = crowd(&stores, |store, number| async move {
        let entry = causeway::store::AuditEntry {
            event_name: "settings.features_updated",
            category: "settings",
            success: true,
            source: "api",
            actor: causeway::store::AuditActor {
                kind: "system",
                id: None,
                display_name: String::new(),
                email: String::new(),
                ip_address: None,
                user_agent: String::new(),
            },
            target_type: "workspace",
            target_id: String::new(),
            target_display_name: String::new(),
            old_value: None,
            new_value: None,
            reason: "",
            metadata: json!({}),
            project: None,
        };
        let entries = vec![entry; 1 + number % 3];
        store.edit(WORKSPACE, |_| Ok(((), entries.clone()))).await
    });
    for result in results.await {
        result.unwrap();
    }
    let store = &stores[0];
    let count = number(store, "SELECT COUNT(*) FROM audit_log").await;
    assert_eq!(count, (0..TASKS).map(|number| 1 + number % 3).sum::<usize>() as i64);
    assert_eq!(number(store, "SELECT MAX(sequence_number) FROM audit_log").await, count);
    assert_eq!(number(store, "SELECT COUNT(DISTINCT sequence_number) FROM audit_log").await, count);
    assert_eq!(number(store, "SELECT sequence_number FROM audit_end").await, count);
}

async fn another_writer_in_the_way_is_tried_again(place: Place) {
    let store = place.open().await;
    edit(&store, |edit| edit.create_type(None, &given(json!({"name": "first"})))).await.unwrap();
    // A row that only the index sees, as a writer without the lock would leave it between reading and saving.
    execute(
        &store,
        "INSERT INTO work_item_type SELECT 'x', workspace_id, project_id, 'second', description, is_active, \
         is_default, is_epic, level, logo_props, external_id, external_source, created_at, NULL FROM work_item_type",
    )
    .await;
    let mut runs = 0;
    let refused = edit(&store, |edit| {
        runs += 1;
        edit.create_type(None, &given(json!({"name": "second"})))
    });
    assert_eq!(refused.await.unwrap_err().code(), "store_unavailable");
    assert_eq!(runs, 3, "three times, then it is said");
}

async fn the_indices_refuse_what_slips_past_the_lock(place: Place) {
    let store = place.open().await;
    edit(&store, |edit| {
        edit.enable(PROJECT)?;
        let property = given(json!({"display_name": "P", "property_type": "TEXT"}));
        edit.create_property(None, &property)
    })
    .await
    .unwrap();
    for (what, text) in [
        (
            "a second default",
            "INSERT INTO work_item_type SELECT 'x', workspace_id, project_id, 'other', description, is_active, \
             is_default, is_epic, level, logo_props, external_id, external_source, created_at, NULL \
             FROM work_item_type",
        ),
        (
            "a name twice",
            "INSERT INTO work_item_type SELECT 'x', workspace_id, project_id, name, description, is_active, 0, \
             is_epic, level, logo_props, external_id, external_source, created_at, NULL FROM work_item_type",
        ),
        (
            "two contexts for all projects",
            "INSERT INTO property_context SELECT 'x', workspace_id, property_id, 'other', all_projects, 0, \
             projects, '[\"x\"]', is_required, is_multi, is_default, default_value, settings, sort_order, \
             external_id, external_source, created_at, NULL FROM property_context",
        ),
    ] {
        let refused = sqlx::query(text).execute(store.engine().pool()).await;
        assert!(refused.is_err_and(|fault| fault.to_string().to_lowercase().contains("unique")), "{what}");
    }
}

/// The driver sends a rollback after a commit that is given up. The server has no transaction then, and warns.
#[tokio::test]
async fn a_commit_that_nobody_waits_for_is_followed_by_nothing() {
    let place = Place::postgres().await;
    let store = place.open().await;
    let log = Captured::default();
    let _listening = log.listen();
    let writing = store.engine().writing().await.unwrap();
    let mut commit = Box::pin(writing.commit());
    assert!((&mut commit).now_or_never().is_none());
    drop(commit);
    tokio::time::sleep(Duration::from_millis(500)).await;
    drop(all_connections(&store).await);
    assert!(!log.text().contains("no transaction"), "{}", log.text());
}

/// A process that hangs in the middle of a transaction once blocked the writers of its project until it went on.
#[tokio::test]
async fn a_writer_that_hangs_is_ended_and_the_next_one_writes() {
    let place = Place::postgres().await;
    let (hanging, next) = (place.open().await, place.open().await);
    let before = hanging.bump_epoch(PROJECT, Vec::new(), None, true).await.unwrap();
    let mut writing = hanging.engine().writing().await.unwrap();
    sqlx::query("UPDATE project SET epoch = epoch + 100").execute(&mut *writing).await.unwrap();
    let written = next.bump_epoch(PROJECT, Vec::new(), None, true).await;
    assert_eq!(written.unwrap(), before + 1);
    assert!(writing.commit().await.is_err());
}

/// An edit that removes values locks them before the counter of the project, and a purge locks the counter first. When
/// each waits for the other, PostgreSQL ends the one that has waited longer.
#[tokio::test]
async fn a_purge_that_is_ended_for_an_edit_begins_again() {
    let place = Place::postgres().await;
    let (editing, purging, item) = (place.open().await, place.open().await, Uuid::from_u128(5));
    assert!(purging.write_item(WORKSPACE, PROJECT, item, &OwnWrite::default()).await.unwrap());
    let mut writing = editing.engine().writing().await.unwrap();
    // PostgreSQL ends the process that finds the deadlock first: the purge.
    sqlx::query("SET LOCAL deadlock_timeout = '60s'").execute(&mut *writing).await.unwrap();
    // Otherwise its session ends when this test takes long.
    sqlx::query("SET LOCAL idle_in_transaction_session_timeout = 0").execute(&mut *writing).await.unwrap();
    sqlx::query("UPDATE work_item SET changed_at = changed_at").execute(&mut *writing).await.unwrap();
    let purge = spawn({
        let purging = purging.clone();
        async move { purging.purge_item(PROJECT, item).await }
    });
    // Until the purge has locked the counter and waits for the item.
    let waits = "SELECT COUNT(*) FROM pg_locks WHERE NOT granted AND pid IN \
                 (SELECT pid FROM pg_stat_activity WHERE datname = current_database())";
    while number(&editing, waits).await == 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    sqlx::query("UPDATE project SET epoch = epoch").execute(&mut *writing).await.unwrap();
    writing.commit().await.unwrap();
    purge.await.unwrap().unwrap();
    assert_eq!(number(&purging, "SELECT COUNT(*) FROM work_item").await, 0);
}
