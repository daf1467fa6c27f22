//! Ids and slugs in paths: malformed, unknown, foreign, invisible, and in capitals.

use super::operations::{Contract, NOWHERE, working};
use super::world::{FOREIGN, SEC, World};

#[tokio::test]
async fn malformed_ids_are_named() {
    let world = World::new().await;
    for operation in working() {
        for variable in operation.variables().iter().filter(|name| *name != "slug") {
            for bad in [
                "x",
                "WEB-7",
                "0000000000004000c000000000000001",
                "00000000-0000-4000-c000-00000000000g",
                // Pasted with the end of its line.
                "00000000-0000-4000-c000-000000000001%0A",
                "%C2%85",
            ] {
                let answer = world.ask(Some("ada"), operation, &world.path_but(operation, variable, bad)).await;
                // A human key in the place of a work item's id, and any other text in the place of a human key (O3).
                let missing = variable == "identifier"
                    || operation.resource() == "work_items" && variable == "pk" && bad == "WEB-7";
                match missing {
                    true => drop(world.problem(answer, 404, "resource_not_found")),
                    false => drop(world.refused(answer, &[variable])),
                }
            }
        }
    }
}

#[tokio::test]
async fn a_key_of_any_form_is_no_id() {
    let world = World::new().await;
    let of_item = |operation: &&Contract| {
        operation.resource() == "work_items" && operation.variables().iter().any(|name| name == "pk")
    };
    for operation in working().filter(of_item) {
        for key in ["web-7", "A%20B-7", "A_B-7", "%C3%84-7", "A%5BB-7", "A1-0"] {
            let answer = world.ask(Some("ada"), operation, &world.path_but(operation, "pk", key)).await;
            world.problem(answer, 404, "resource_not_found");
        }
        for neither in ["7-7", "A-", "A-x", "-7", "A.B-7"] {
            let answer = world.ask(Some("ada"), operation, &world.path_but(operation, "pk", neither)).await;
            world.refused(answer, &["pk"]);
        }
    }
}

#[tokio::test]
async fn missing_and_invisible_records_get_the_same_404() {
    let world = World::new().await;
    let mut checked = 0;
    for operation in working() {
        let variables = operation.variables();
        let has = |name: &str| variables.iter().any(|known| known == name);
        let mut paths = Vec::new();
        if has("slug") {
            for slug in ["nowhere", "other", "ACME", "acme%20", "acme%0A", "a%C3%A4"] {
                paths.push(world.path_but(operation, "slug", slug));
            }
        }
        if has("project_id") {
            for project in [NOWHERE, SEC, FOREIGN] {
                paths.push(world.path_but(operation, "project_id", project));
            }
        }
        for id in ["pk", "work_item_id", "type_id", "property_id"].into_iter().filter(|id| has(id)) {
            // The list of a workspace property's options filters by the property (14.4).
            if operation.id() == "workspace_work_item_property_options_list" {
                let answer = world.gateway.get("ada", &world.path_but(operation, id, NOWHERE)).await.expect(200);
                assert!(answer.data().is_empty());
                continue;
            }
            paths.push(world.path_but(operation, id, NOWHERE));
        }
        if has("identifier") {
            for key in
                ["WEB-99999", "SEC-1", "OTH-1", "ARC-2", "ARC-3", "ARC-4", "ARC-6", "NOPE-1", "WEB_1", "7", "-7"]
            {
                paths.push(world.path_but(operation, "identifier", key));
            }
        }
        let mut told = Vec::new();
        for path in paths {
            let answer = world.ask(Some("ada"), operation, &path).await;
            told.push(world.problem(answer, 404, "resource_not_found").json);
            checked += 1;
        }
        assert!(told.windows(2).all(|two| two[0] == two[1]), "{}: {told:#?}", operation.id());
    }
    assert!(checked > 150, "{checked}");
}

#[tokio::test]
async fn a_record_of_another_project_is_not_found_in_this_one() {
    let world = World::new().await;
    let typed = "00000000-0000-4000-c000-000000000004";
    for operation in working()
        .filter(|operation| operation.variables().contains(&"pk".to_owned()))
        .filter(|operation| operation.variables().contains(&"project_id".to_owned()))
    {
        let path = world.path_but(operation, "project_id", typed);
        let answer = world.ask(Some("ada"), operation, &path).await;
        world.problem(answer, 404, "resource_not_found");
    }
    for operation in working().filter(|operation| operation.id().ends_with("_retrieve")) {
        world.gateway.get("ada", &world.path(operation)).await.expect(200);
    }
}

#[tokio::test]
async fn capitals_in_ids_make_no_difference() {
    let world = World::new().await;
    for operation in working().filter(|operation| operation.method() == "GET") {
        let path = world.path_but(operation, "project_id", &super::world::WEB.to_uppercase());
        let item = world.record("work_items");
        let path = path.replace(item, &item.to_uppercase()).replace(&world.key, &world.key.to_lowercase());
        let path =
            path.replace(world.record(operation.resource()), &world.record(operation.resource()).to_uppercase());
        let answer = world.gateway.get("ada", &path).await.expect(200);
        assert_eq!(answer.json, world.gateway.get("ada", &world.path(operation)).await.json, "{}", operation.id());
    }
}
