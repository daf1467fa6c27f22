//! Definitions: saved ones come back, when each process sees them, and that a refused edit leaves nothing.

use crate::store::place::{PROJECT, Place, V1, WORKSPACE, edit, execute, given, number};
use causeway::catalogue::Catalogue;
use causeway::refusal::Refusal;
use causeway::store::{AuditActor, AuditEntry, Store};
use causeway::task::spawn;
use serde_json::json;
use std::collections::HashSet;
use std::sync::Arc;
use uuid::Uuid;

on_both_engines![
    definitions_survive_a_restart,
    settings_that_were_once_stored_without_being_readable_hide_nothing,
    deleted_definitions_stay_as_history,
    a_write_of_another_process_shows_in_the_next_read,
    an_unknown_workspace_is_empty_and_nothing_is_written_for_it,
    an_edit_without_a_difference_writes_nothing,
    a_refused_edit_leaves_nothing,
    an_edit_and_its_audit_entries_are_one,
    a_default_moves_past_the_indices,
    a_blank_external_pair_is_no_pair,
    records_are_younger_than_all_before_although_the_clock_was_set_back,
    workspaces_do_not_mix,
    a_held_catalogue_stays_until_the_write_ends,
];

/// Creates some definitions of each kind.
async fn define(store: &Store) -> Arc<Catalogue> {
    let done = store
        .edit(WORKSPACE, |edit| {
            edit.update_features(&given(json!({"is_work_item_types_enabled": true, "is_wiki_enabled": true})))?;
            let bug =
                given(json!({"name": "Bug ü", "description": "<b>", "logo_props": {"z": 1, "a": [null, 0.1]},
                "external_id": "1", "external_source": "x"}));
            let bug = edit.create_type(None, &bug)?;
            let own = edit.create_type(Some(PROJECT), &given(json!({"name": "Own"})))?;
            let size = given(json!({"display_name": "Size", "property_type": "OPTION", "is_multi": true,
                "options": [{"name": "S"}, {"name": "L", "is_default": true}]}));
            let size = edit.create_property(None, &size)?;
            let note = given(json!({"display_name": "Note", "property_type": "RELATION", "relation_type": "USER",
                "default_value": [Uuid::nil()]}));
            let note = edit.create_property(Some(PROJECT), &note)?;
            edit.attach(bug, &[size])?;
            edit.attach(own, &[note])?;
            edit.import(PROJECT, &[bug])?;
            let context =
                given(json!({"name": "Here", "project_ids": [PROJECT], "applies_to_all_work_item_types": true,
                "options": [{"name": "XL"}]}));
            edit.create_context(size, &context, &HashSet::from([PROJECT]))?;
            Ok(((), Vec::new()))
        })
        .await;
    done.expect("a sound edit").1
}

async fn definitions_survive_a_restart(place: Place) {
    let store = place.open().await;
    let written = define(&store).await;
    assert!(!written.contexts.is_empty() && !written.attachments.is_empty() && !written.imports.is_empty());
    assert!(written.contexts.values().any(|context| context.options.len() > 1));
    assert_eq!(*store.catalogue(WORKSPACE).await.unwrap(), *written);
    store.close().await;
    let store = place.open().await;
    assert_eq!(*store.catalogue(WORKSPACE).await.unwrap(), *written);
    assert_eq!(written.check(), Vec::<String>::new());
    // A process that has only read it can also change it.
    let option = *written.options.keys().next().unwrap();
    edit(&store, |edit| edit.update_option(option, &given(json!({"name": "renamed"})))).await.unwrap();
    let changed = Store::open(&place.url(), V1).await.unwrap().catalogue(WORKSPACE).await.unwrap();
    assert_eq!(changed.options[&option].name, "renamed");
}

async fn settings_that_were_once_stored_without_being_readable_hide_nothing(place: Place) {
    let store = place.open().await;
    let written = define(&store).await;
    for settings in
        [format!("{}1{}", "[".repeat(300), "]".repeat(300)), "{\"$serde_json::private::RawValue\":\"x\"}".into()]
    {
        execute(&store, &format!("UPDATE property SET settings = '{settings}'")).await;
        let read = place.open().await.catalogue(WORKSPACE).await.expect("it can be read");
        assert_eq!(read.properties.len(), written.properties.len());
        assert!(read.properties.values().all(|property| !property.settings.is_null()));
    }
}

async fn deleted_definitions_stay_as_history(place: Place) {
    let store = place.open().await;
    let written = define(&store).await;
    let property = written.properties.values().find(|property| property.project.is_none()).unwrap().id;
    edit(&store, |edit| edit.delete_property(property)).await.unwrap();
    let left = place.open().await.catalogue(WORKSPACE).await.unwrap();
    assert!(left.contexts.is_empty() && left.options.is_empty());
    assert_eq!(left.properties.len(), 1);
    assert_eq!(number(&store, "SELECT COUNT(*) FROM property WHERE deleted_at > created_at").await, 1);
    assert_eq!(number(&store, "SELECT COUNT(*) FROM property_option WHERE deleted_at IS NULL").await, 0);
    assert_eq!(number(&store, "SELECT COUNT(*) FROM property_option").await, 3);
    assert_eq!(number(&store, "SELECT COUNT(*) FROM context_option").await, 0);
    // The name can be used again.
    let again = given(json!({"display_name": "Size", "property_type": "TEXT"}));
    edit(&store, |edit| edit.create_property(None, &again)).await.unwrap();
    let names = number(&store, "SELECT COUNT(DISTINCT name) FROM property WHERE project_id IS NULL").await;
    assert_eq!(names, 1);
}

async fn a_write_of_another_process_shows_in_the_next_read(place: Place) {
    let (one, other) = (place.open().await, place.open().await);
    for round in 0..5 {
        assert_eq!(other.catalogue(WORKSPACE).await.unwrap().types.len(), round);
        let name = given(json!({"name": format!("type {round}")}));
        edit(&one, |edit| edit.create_type(None, &name)).await.unwrap();
        assert_eq!(other.catalogue(WORKSPACE).await.unwrap().types.len(), round + 1);
    }
    // A copy that is still valid is not read again: rows changed without a new version are not seen.
    execute(&one, "UPDATE work_item_type SET description = 'past the version'").await;
    let kept = other.catalogue(WORKSPACE).await.unwrap();
    assert!(kept.types.values().all(|kind| kind.description.is_empty()));
}

/// Two types, or two contexts of a property, may have it; a pair of which both halves are set only one (O41).
async fn a_blank_external_pair_is_no_pair(place: Place) {
    let store = place.open().await;
    let risk = given(json!({"display_name": "Risk", "property_type": "TEXT"}));
    let risk = edit(&store, |edit| edit.create_property(None, &risk)).await.unwrap();
    let projects = [0x31, 0x32, 0x33, 0x34, 0x35, 0x36].map(Uuid::from_u128);
    let pairs = [("", "", None), ("", "", None), ("1", "x", None), ("1", "x", Some(409)), ("1", "y", None)];
    for (n, (id, source, refused)) in pairs.into_iter().enumerate() {
        let kind = given(json!({"name": format!("t{n}"), "external_id": id, "external_source": source}));
        for owner in [None, Some(PROJECT)] {
            let made = edit(&store, |edit| edit.create_type(owner, &kind)).await;
            assert_eq!(made.err().map(|refusal| refusal.status()), refused, "type {n}");
        }
        let context = given(json!({"name": format!("c{n}"), "project_ids": [projects[n]],
            "applies_to_all_work_item_types": true, "external_id": id, "external_source": source}));
        let made = edit(&store, |edit| edit.create_context(risk, &context, &HashSet::from(projects))).await;
        assert_eq!(made.err().map(|refusal| refusal.status()), refused.map(|_| 400), "context {n}");
    }
    // Of types, `external_id` alone is no key (14.1).
    for name in ["half", "other half"] {
        let kind = given(json!({"name": name, "external_id": "2", "external_source": ""}));
        edit(&store, |edit| edit.create_type(None, &kind)).await.unwrap();
    }
    let all = place.open().await.catalogue(WORKSPACE).await.unwrap();
    assert_eq!(all.check(), Vec::<String>::new());
    let blank = all.contexts.values().filter(|context| context.external_id.as_deref() == Some(""));
    assert_eq!(blank.count(), 2, "it is shown as it was sent");
}

async fn an_unknown_workspace_is_empty_and_nothing_is_written_for_it(place: Place) {
    let store = place.open().await;
    let empty = store.catalogue(WORKSPACE).await.unwrap();
    assert_eq!(empty.features.flags, [false; 10]);
    assert_eq!(empty.features.default_level, 0);
    assert_eq!(*store.catalogue(WORKSPACE).await.unwrap(), *empty, "it looks the same every time");
    assert_eq!(number(&store, "SELECT COUNT(*) FROM workspace").await, 0);
    edit(&store, |edit| edit.create_type(None, &given(json!({"name": "x"})))).await.unwrap();
    let first = place.open().await.catalogue(WORKSPACE).await.unwrap();
    assert_eq!(first.features, empty.features, "what was shown before is what is stored now");
}

async fn an_edit_without_a_difference_writes_nothing(place: Place) {
    let store = place.open().await;
    edit(&store, |_| Ok(())).await.unwrap();
    assert_eq!(number(&store, "SELECT COUNT(*) FROM workspace").await, 0);
    define(&store).await;
    let version = number(&store, "SELECT version FROM workspace").await;
    edit(&store, |edit| edit.update_features(&given(json!({"is_wiki_enabled": true})))).await.unwrap();
    assert_eq!(number(&store, "SELECT version FROM workspace").await, version);
}

async fn a_refused_edit_leaves_nothing(place: Place) {
    let store = place.open().await;
    let before = define(&store).await;
    let refused = edit(&store, |edit| {
        edit.create_type(None, &given(json!({"name": "kept by mistake"})))?;
        edit.create_type(None, &given(json!({"name": "Bug ü"})))
    });
    assert_eq!(refused.await.unwrap_err().status(), 409);
    assert_eq!(*store.catalogue(WORKSPACE).await.unwrap(), *before);
    assert_eq!(*place.open().await.catalogue(WORKSPACE).await.unwrap(), *before);
    // The lock is free at once.
    edit(&store, |edit| edit.create_type(None, &given(json!({"name": "next"})))).await.unwrap();
}

fn entry(event_name: &'static str) -> AuditEntry {
    AuditEntry {
        event_name,
        category: "settings",
        success: true,
        source: "api",
        actor: AuditActor {
            kind: "user",
            id: Some(Uuid::nil()),
            display_name: "Ada".into(),
            email: "ada@acme.test".into(),
            ip_address: None,
            user_agent: String::new(),
        },
        target_type: "workspace",
        target_id: WORKSPACE.to_string(),
        target_display_name: "acme".into(),
        old_value: None,
        new_value: Some(json!({"a": 1})),
        reason: "",
        metadata: json!({}),
        project: None,
    }
}

async fn an_edit_and_its_audit_entries_are_one(place: Place) {
    let store = place.open().await;
    let flags = given(json!({"is_wiki_enabled": true}));
    let entries = vec![entry("settings.features_updated"), entry("settings.other")];
    store.edit(WORKSPACE, |edit| Ok((edit.update_features(&flags)?, entries.clone()))).await.unwrap();
    // A failure is recorded although nothing else changed.
    store.edit(WORKSPACE, |_| Ok(((), vec![entry("settings.refused")]))).await.unwrap();
    let refused = store.edit(WORKSPACE, |edit| {
        let _ = entry("settings.lost");
        Err::<((), Vec<AuditEntry>), _>(edit.delete_type(Uuid::nil()).unwrap_err())
    });
    refused.await.unwrap_err();
    assert_eq!(number(&store, "SELECT COUNT(*) FROM audit_log").await, 3);
    assert_eq!(number(&store, "SELECT MAX(sequence_number) FROM audit_log").await, 3);
    assert_eq!(number(&store, "SELECT sequence_number FROM audit_end").await, 3);
    for text in ["DELETE FROM audit_log", "UPDATE audit_log SET reason = 'x'"] {
        sqlx::query(text).execute(store.engine().pool()).await.expect_err("the log is never changed");
    }
}

async fn a_default_moves_past_the_indices(place: Place) {
    let store = place.open().await;
    let types: Vec<Uuid> = edit(&store, |edit| {
        (0..6).map(|number| edit.create_type(None, &given(json!({"name": format!("{number}")})))).collect()
    })
    .await
    .unwrap();
    // Ids are random, so in half of these cases taking comes before giving up unless the order is fixed.
    for id in types.iter().chain(types.iter().rev()) {
        edit(&store, |edit| edit.mark_default(*id)).await.unwrap();
        let now = place.open().await.catalogue(WORKSPACE).await.unwrap();
        let defaults: Vec<_> = now.types.values().filter(|kind| kind.is_default).map(|kind| kind.id).collect();
        assert_eq!(defaults, [*id]);
    }
}

async fn records_are_younger_than_all_before_although_the_clock_was_set_back(place: Place) {
    let store = place.open().await;
    let old = edit(&store, |edit| edit.create_type(None, &given(json!({"name": "old"})))).await.unwrap();
    execute(&store, "UPDATE work_item_type SET created_at = created_at + 3600000000").await;
    execute(&store, "UPDATE workspace SET version = version + 1").await;
    let new = edit(&store, |edit| edit.create_type(None, &given(json!({"name": "new"})))).await.unwrap();
    let all = store.catalogue(WORKSPACE).await.unwrap();
    assert!(all.types[&new].created_at > all.types[&old].created_at);
}

async fn workspaces_do_not_mix(place: Place) {
    let store = place.open().await;
    let before = define(&store).await;
    let elsewhere = Uuid::from_u128(2);
    let name = given(json!({"name": "Bug ü"}));
    let (id, other) = store.edit(elsewhere, |edit| Ok((edit.create_type(None, &name)?, Vec::new()))).await.unwrap();
    assert_eq!(other.types.keys().collect::<Vec<_>>(), [&id]);
    let refused = edit(&store, |edit| edit.update_type(id, &name)).await.unwrap_err();
    assert_eq!(refused, Refusal::not_found());
    assert_eq!(*place.open().await.catalogue(WORKSPACE).await.unwrap(), *before);
}

async fn a_held_catalogue_stays_until_the_write_ends(place: Place) {
    let (one, other) = (place.open().await, place.open().await);
    define(&one).await;
    let mut writing = one.engine().writing().await.unwrap();
    let held = one.held_catalogue(&mut writing, WORKSPACE).await.unwrap();
    assert!(!held.types.is_empty());
    let name = given(json!({"name": "later"}));
    let editing = spawn(async move { edit(&other, |edit| edit.create_type(None, &name)).await });
    tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    assert!(!editing.is_finished(), "the edit waits for the write");
    writing.commit().await.unwrap();
    editing.await.unwrap().unwrap();
}
