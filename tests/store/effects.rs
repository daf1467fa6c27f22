//! The effects of an edit on the values recorded on work items.

use crate::store::place::{PROJECT, Place, WORKSPACE, edit, execute, given, number};
use causeway::catalogue::{Catalogue, Edit};
use causeway::store::{Element, OwnWrite, Store};
use serde_json::json;
use sqlx::{Row, any::AnyRow};
use std::collections::HashSet;
use uuid::Uuid;

on_both_engines![
    a_type_in_use_cannot_be_deleted,
    a_property_takes_its_values_along,
    an_option_takes_its_values_along_and_the_rest_close_up,
    a_detached_property_loses_the_values_of_that_type_alone,
    a_value_that_was_under_way_is_not_stored_for_a_detached_property,
    a_narrower_context_takes_what_it_no_longer_offers,
    a_context_that_covers_what_it_did_takes_nothing,
    a_value_of_an_earlier_kind_outlives_a_change_of_options,
    a_refusal_keeps_the_values,
];

const ELSEWHERE: Uuid = Uuid::from_u128(0x20);

fn item(number: u128) -> Uuid {
    Uuid::from_u128(0x1000 + number)
}

async fn put_item(store: &Store, number: u128, project: Uuid, type_id: Option<Uuid>) {
    sqlx::query(
        "INSERT INTO work_item (id, workspace_id, project_id, type_id, changed_at) VALUES ($1, $2, $3, $4, 1)",
    )
    .bind(item(number).to_string())
    .bind(WORKSPACE.to_string())
    .bind(project.to_string())
    .bind(type_id.map(|id| id.to_string()))
    .execute(store.engine().pool())
    .await
    .unwrap();
}

async fn put_values(store: &Store, number: u128, property: Uuid, options: &[Uuid]) {
    for (position, option) in (0_i64..).zip(options) {
        sqlx::query(
            "INSERT INTO custom_value (work_item_id, property_id, position, value, option_id) \
             VALUES ($1, $2, $3, $4, $5)",
        )
        .bind(item(number).to_string())
        .bind(property.to_string())
        .bind(position)
        .bind(json!(option).to_string())
        .bind(option.to_string())
        .execute(store.engine().pool())
        .await
        .unwrap();
    }
}

/// Returns the values of an item for a property, by position.
async fn values(store: &Store, number: u128, property: Uuid) -> Vec<(i64, String)> {
    let rows = sqlx::query(
        "SELECT position, option_id FROM custom_value WHERE work_item_id = $1 AND property_id = $2 ORDER BY position",
    )
    .bind(item(number).to_string())
    .bind(property.to_string())
    .fetch_all(store.engine().pool())
    .await
    .unwrap();
    rows.iter().map(|row: &AnyRow| (row.get(0), row.get(1))).collect()
}

fn placed(options: &[Uuid]) -> Vec<(i64, String)> {
    (0..).zip(options.iter().map(Uuid::to_string)).collect()
}

async fn items(store: &Store, project: Uuid) -> i64 {
    number(store, &format!("SELECT COALESCE(MAX(items), 0) FROM project WHERE id = '{project}'")).await
}

/// Creates a type with a property of four options, in the workspace or in the project.
fn kind(edit: &mut Edit, owner: Option<Uuid>) -> Result<(Uuid, Uuid), causeway::refusal::Refusal> {
    let type_id = edit.create_type(owner, &given(json!({"name": "Bug"})))?;
    let names = ["a", "b", "c", "d"].map(|name| json!({"name": name}));
    let property = json!({"display_name": "P", "property_type": "OPTION", "is_multi": true, "options": names});
    let property = edit.create_property(owner, &given(property))?;
    edit.attach(type_id, &[property])?;
    if owner.is_none() {
        edit.import(PROJECT, &[type_id])?;
        edit.import(ELSEWHERE, &[type_id])?;
    }
    Ok((type_id, property))
}

fn options(catalogue: &Catalogue, property: Uuid) -> Vec<Uuid> {
    catalogue.options_of(property).into_iter().map(|option| option.id).collect()
}

async fn a_type_in_use_cannot_be_deleted(place: Place) {
    let store = place.open().await;
    let (type_id, _) = edit(&store, |edit| kind(edit, None)).await.unwrap();
    put_item(&store, 1, PROJECT, Some(type_id)).await;
    let refused = edit(&store, |edit| edit.delete_type(type_id)).await.unwrap_err();
    assert_eq!(refused.code(), "conflict");
    assert!(store.catalogue(WORKSPACE).await.unwrap().types.contains_key(&type_id));
    execute(&store, "UPDATE work_item SET type_id = NULL").await;
    edit(&store, |edit| edit.delete_type(type_id)).await.unwrap();
    assert!(store.catalogue(WORKSPACE).await.unwrap().types.is_empty());
}

async fn a_property_takes_its_values_along(place: Place) {
    let store = place.open().await;
    let (type_id, property) = edit(&store, |edit| kind(edit, None)).await.unwrap();
    let other = given(json!({"display_name": "other", "property_type": "TEXT"}));
    let other = edit(&store, |edit| edit.create_property(None, &other)).await.unwrap();
    for (number, project) in [(1, PROJECT), (2, ELSEWHERE), (3, Uuid::from_u128(0x30))] {
        put_item(&store, number, project, Some(type_id)).await;
        put_values(&store, number, other, &[Uuid::nil()]).await;
    }
    let offered = options(&store.catalogue(WORKSPACE).await.unwrap(), property);
    put_values(&store, 1, property, &offered).await;
    put_values(&store, 2, property, &offered[..1]).await;
    edit(&store, |edit| edit.delete_property(property)).await.unwrap();
    assert_eq!(number(&store, "SELECT COUNT(*) FROM custom_value").await, 3);
    assert_eq!((items(&store, PROJECT).await, items(&store, ELSEWHERE).await), (1, 1));
    assert_eq!(items(&store, Uuid::from_u128(0x30)).await, 0, "nothing changed there");
}

async fn an_option_takes_its_values_along_and_the_rest_close_up(place: Place) {
    let store = place.open().await;
    let (type_id, property) = edit(&store, |edit| kind(edit, Some(PROJECT))).await.unwrap();
    let o = options(&store.catalogue(WORKSPACE).await.unwrap(), property);
    for number in 1..=3 {
        put_item(&store, number, PROJECT, Some(type_id)).await;
    }
    put_values(&store, 1, property, &[o[3], o[1], o[0], o[2]]).await;
    put_values(&store, 2, property, &[o[1]]).await;
    put_values(&store, 3, property, &[o[2], o[0]]).await;
    edit(&store, |edit| edit.delete_option(o[1])).await.unwrap();
    assert_eq!(values(&store, 1, property).await, placed(&[o[3], o[0], o[2]]));
    assert_eq!(values(&store, 2, property).await, []);
    assert_eq!(values(&store, 3, property).await, placed(&[o[2], o[0]]));
    assert_eq!(items(&store, PROJECT).await, 1);
    let left = number(&store, "SELECT COUNT(*) FROM custom_value WHERE value LIKE '\"%' AND position >= 0").await;
    assert_eq!(left, 5, "values move with their places");
}

async fn a_detached_property_loses_the_values_of_that_type_alone(place: Place) {
    let store = place.open().await;
    let (type_id, property) = edit(&store, |edit| kind(edit, Some(PROJECT))).await.unwrap();
    let second = edit(&store, |edit| {
        let second = edit.create_type(Some(PROJECT), &given(json!({"name": "second"})))?;
        edit.attach(second, &[property])?;
        Ok(second)
    });
    let second = second.await.unwrap();
    let o = options(&store.catalogue(WORKSPACE).await.unwrap(), property);
    put_item(&store, 1, PROJECT, Some(type_id)).await;
    put_item(&store, 2, PROJECT, Some(second)).await;
    put_values(&store, 1, property, &o).await;
    put_values(&store, 2, property, &o).await;
    edit(&store, |edit| edit.detach(type_id, property)).await.unwrap();
    assert_eq!(values(&store, 1, property).await, []);
    assert_eq!(values(&store, 2, property).await, placed(&o));
    assert_eq!(items(&store, PROJECT).await, 1);
}

/// Its request had read the definitions before the property was detached.
async fn a_value_that_was_under_way_is_not_stored_for_a_detached_property(place: Place) {
    let store = place.open().await;
    let (type_id, property) = edit(&store, |edit| kind(edit, Some(PROJECT))).await.unwrap();
    let o = options(&store.catalogue(WORKSPACE).await.unwrap(), property);
    put_item(&store, 1, PROJECT, Some(type_id)).await;
    let element = Element { value: json!(o[0]), option: Some(o[0]) };
    let own = OwnWrite { values: vec![(property, vec![element])], ..OwnWrite::default() };
    let write = async || assert!(store.write_item(WORKSPACE, PROJECT, item(1), &own).await.unwrap());
    write().await;
    assert_eq!(values(&store, 1, property).await, placed(&o[..1]));
    edit(&store, |edit| edit.detach(type_id, property)).await.unwrap();
    write().await;
    edit(&store, |edit| edit.attach(type_id, &[property])).await.unwrap();
    assert_eq!(values(&store, 1, property).await, []);
    write().await;
    assert_eq!(values(&store, 1, property).await, placed(&o[..1]));
}

async fn a_narrower_context_takes_what_it_no_longer_offers(place: Place) {
    let store = place.open().await;
    let (type_id, property) = edit(&store, |edit| kind(edit, None)).await.unwrap();
    let o = options(&store.catalogue(WORKSPACE).await.unwrap(), property);
    put_item(&store, 1, PROJECT, Some(type_id)).await;
    put_item(&store, 2, ELSEWHERE, Some(type_id)).await;
    put_item(&store, 3, PROJECT, None).await;
    for number in 1..=3 {
        put_values(&store, number, property, &[o[2], o[0], o[1]]).await;
    }
    // From now on PROJECT has a context of its own with two options.
    let context = edit(&store, |edit| {
        let body = json!({"name": "here", "project_ids": [PROJECT], "issue_type_ids": [type_id],
            "options": [{"id": o[0]}, {"id": o[1]}]});
        edit.create_context(property, &given(body), &HashSet::from([PROJECT]))
    });
    let context = context.await.unwrap();
    let offered = store.catalogue(WORKSPACE).await.unwrap().offers(property, PROJECT, type_id).unwrap();
    let kept: Vec<Uuid> = [o[2], o[0], o[1]].into_iter().filter(|id| offered.contains(id)).collect();
    assert!(kept.len() < 3, "the new context offers less");
    assert_eq!(values(&store, 1, property).await, placed(&kept));
    assert_eq!(values(&store, 2, property).await, placed(&[o[2], o[0], o[1]]));
    assert_eq!(values(&store, 3, property).await, placed(&[o[2], o[0], o[1]]));
    assert_eq!((items(&store, PROJECT).await, items(&store, ELSEWHERE).await), (1, 0));
    // Without the context for all projects, ELSEWHERE has none.
    let all = store.catalogue(WORKSPACE).await.unwrap();
    let catch_all = all.contexts_of(property).into_iter().find(|other| other.id != context).unwrap().id;
    edit(&store, |edit| edit.delete_context(catch_all)).await.unwrap();
    assert_eq!(values(&store, 1, property).await, placed(&kept));
    assert_eq!(values(&store, 2, property).await, []);
    assert_eq!(values(&store, 3, property).await, []);
}

async fn a_context_that_covers_what_it_did_takes_nothing(place: Place) {
    let store = place.open().await;
    let (type_id, property) = edit(&store, |edit| kind(edit, None)).await.unwrap();
    let o = options(&store.catalogue(WORKSPACE).await.unwrap(), property);
    let all = store.catalogue(WORKSPACE).await.unwrap().contexts_of(property)[0].id;
    let context = edit(&store, |edit| {
        let body = json!({"name": "here", "project_ids": [PROJECT], "issue_type_ids": [type_id],
            "options": [{"id": o[0]}, {"id": o[1]}]});
        let context = edit.create_context(property, &given(body), &HashSet::from([PROJECT]))?;
        edit.delete_context(all)?;
        Ok(context)
    });
    let context = context.await.unwrap();
    // An item that has another type at present; its values wait for the type to return.
    put_item(&store, 1, PROJECT, None).await;
    put_values(&store, 1, property, &[o[0]]).await;
    let change = |body: serde_json::Value| {
        let body = given(body);
        let known = HashSet::from([PROJECT, ELSEWHERE]);
        edit(&store, move |edit| edit.update_context(context, &body, &known))
    };
    change(json!({"name": "renamed", "is_required": true, "sort_order": 1})).await.unwrap();
    change(json!({"options": [{"id": o[1]}, {"id": o[0], "is_default": true}]})).await.unwrap();
    assert_eq!(values(&store, 1, property).await, placed(&[o[0]]));
    // Changes for other projects do not remove them either.
    put_item(&store, 2, PROJECT, Some(type_id)).await;
    put_values(&store, 2, property, &[o[0]]).await;
    change(json!({"project_ids": [PROJECT, ELSEWHERE]})).await.unwrap();
    let another = json!({"name": "there", "project_ids": [ELSEWHERE], "applies_to_all_work_item_types": true});
    let another = edit(&store, move |edit| {
        edit.create_context(property, &given(another.clone()), &HashSet::from([ELSEWHERE]))
    });
    let another = another.await.unwrap();
    edit(&store, |edit| edit.delete_context(another)).await.unwrap();
    assert_eq!(values(&store, 1, property).await, placed(&[o[0]]));
    assert_eq!(values(&store, 2, property).await, placed(&[o[0]]));
    // A value that the context no longer covers is deleted; a value that was hidden before still waits.
    change(json!({"project_ids": [ELSEWHERE]})).await.unwrap();
    assert_eq!(values(&store, 1, property).await, placed(&[o[0]]));
    assert_eq!(values(&store, 2, property).await, []);
}

/// It points at no option, and shows again when the property gets its old kind back (O67).
async fn a_value_of_an_earlier_kind_outlives_a_change_of_options(place: Place) {
    let store = place.open().await;
    let (type_id, property) = edit(&store, |edit| kind(edit, None)).await.unwrap();
    let all = store.catalogue(WORKSPACE).await.unwrap();
    let (o, context) = (options(&all, property), all.contexts_of(property)[0].id);
    for number in 1..=3 {
        put_item(&store, number, if number == 3 { ELSEWHERE } else { PROJECT }, Some(type_id)).await;
    }
    put_values(&store, 1, property, &o[..2]).await;
    put_values(&store, 2, property, &o[..2]).await;
    put_values(&store, 3, property, &o[..2]).await;
    execute(&store, &format!("UPDATE custom_value SET option_id = NULL WHERE work_item_id <> '{}'", item(2))).await;
    let change = |body: serde_json::Value| {
        let body = given(body);
        edit(&store, move |edit| edit.update_context(context, &body, &HashSet::from([ELSEWHERE])))
    };
    let raw = "SELECT COUNT(*) FROM custom_value WHERE option_id IS NULL";
    change(json!({"options": [{"id": o[1]}, {"id": o[2]}, {"id": o[3]}, {"name": "e"}]})).await.unwrap();
    assert_eq!(number(&store, raw).await, 4);
    assert_eq!(values(&store, 2, property).await, placed(&o[1..2]));
    // A context may offer nothing.
    change(json!({"options": []})).await.unwrap();
    assert_eq!(number(&store, raw).await, 4);
    assert_eq!(values(&store, 2, property).await, []);
    // Without a context the values of every kind are deleted.
    let narrow = json!({"applies_to_all_projects": false, "project_ids": [ELSEWHERE]});
    change(narrow).await.unwrap();
    assert_eq!(number(&store, raw).await, 2);
    assert_eq!(values(&store, 2, property).await, []);
}

async fn a_refusal_keeps_the_values(place: Place) {
    let store = place.open().await;
    let (type_id, property) = edit(&store, |edit| kind(edit, Some(PROJECT))).await.unwrap();
    let o = options(&store.catalogue(WORKSPACE).await.unwrap(), property);
    put_item(&store, 1, PROJECT, Some(type_id)).await;
    put_values(&store, 1, property, &o).await;
    let refused = edit(&store, |edit| {
        edit.delete_property(property)?;
        edit.delete_type(type_id)
    });
    assert_eq!(refused.await.unwrap_err().status(), 409);
    assert_eq!(values(&store, 1, property).await, placed(&o));
    assert_eq!(items(&store, PROJECT).await, 0);
}
