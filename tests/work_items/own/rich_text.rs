//! Rich text of custom properties: sanitised when it is written, and when it was written as something else.

use super::{Place, members};
use crate::work_items::world::{ITEMS, one};
use serde_json::{Value, json};

const RICH: &str = r#"{"property_type": "RELATION", "relation_type": "RICH_TEXT"}"#;

/// A blank text is stored as no value, so the item that v1 has made shows everything that was sent.
#[tokio::test]
async fn a_lost_create_with_a_blank_text_alone_is_found_when_it_is_repeated() {
    let place = Place::new().await;
    let task = place.enabled().await;
    let mut note: Value = serde_json::from_str(RICH).expect("JSON");
    note["display_name"] = "note".into();
    place.new_property(task, note).await;
    let post = async |body: &Value| {
        place.gateway.send_with("ada", "POST", ITEMS, Some(body), &[("idempotency-key", "k")]).await
    };
    let body = json!({"name": "blank", "custom_fields": {"note": " "}});
    place.wire.lose("POST");
    post(&body).await.expect_problem(504, "upstream_timeout");
    let found = post(&body).await.expect(201);
    assert_eq!(found.headers["idempotency-replayed"], "true");
    assert_eq!((found.text("name"), &found.json["custom_fields"]), ("blank".into(), &json!({})));
}

/// The texts are kept as they were written, because the kind may change back (O67).
#[tokio::test]
async fn texts_of_another_kind_are_sanitised_when_they_are_read_as_rich_text() {
    let place = Place::new().await;
    let gateway = &place.gateway;
    let task = place.enabled().await;
    let mut properties = Vec::new();
    for (name, is_multi) in [("note", false), ("gone", false), ("several", true), ("long", false), ("deep", false)]
    {
        let given = json!({"display_name": name, "property_type": "TEXT", "is_multi": is_multi});
        properties.push(place.new_property(task, given).await);
    }
    let hostile = "<img src=x onerror=alert(1)><script>alert(2)</script>";
    let fields = json!({"note": hostile, "gone": " <script>alert(3)</script>", "long": hostile.repeat(100),
        "several": ["<style>x</style>", "a <b onclick=alert(4)>b</b>", "c & d"], "deep": "<div>".repeat(300)});
    let made = gateway.post("bob", ITEMS, json!({"name": "n", "custom_fields": fields})).await.expect(201);
    let item = one(&made.text("id"));
    let values = |fields: &Value| -> Value {
        let fields = fields.as_object().expect("an object").iter();
        fields.map(|(name, entry)| (name.clone(), entry["value"].clone())).collect::<serde_json::Map<_, _>>().into()
    };
    let become_kind = async |kind: Value| {
        let kind = members(kind);
        for property in &properties {
            place.edit(|edit| edit.update_property(*property, &kind)).await.expect("another kind");
        }
    };
    become_kind(serde_json::from_str(RICH).expect("JSON")).await;
    let harmless = json!({"note": "<img src=\"x\">", "several": ["a <b>b</b>", "c &amp; d"],
        "long": "<img src=\"x\">".repeat(100)});
    for _ in 0..2 {
        let read = gateway.get("ada", &item).await.expect(200);
        assert_eq!(values(&read.json["custom_fields"]), harmless);
    }
    let changed = gateway.patch("ada", &item, json!({"name": "m"})).await.expect(200);
    assert_eq!(values(&changed.json["custom_fields"]), harmless);
    become_kind(json!({"property_type": "TEXT"})).await;
    let read = gateway.get("ada", &item).await.expect(200);
    assert_eq!(values(&read.json["custom_fields"]), fields);
}
