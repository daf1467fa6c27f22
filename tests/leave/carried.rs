//! Carried records are the same at the target, are announced beforehand, and are not carried twice.

use super::filled::fill;
use super::two::{ACME, Side, Two, id};
use super::walk::{READS, walk, walk_to};
use crate::support::losing::Losing;
use causeway::leave::{Kind, Outcome, Report, RunMode, text};
use serde_json::{Value, json};

/// Output of a dry run of [`fill`], without the address of the target.
const PLAN: &str = "\
Workspace acme to TARGET

                         HERE    ALIKE TO CARRY CONFLICTS NOT CARRIED IMPOSSIBLE
features                    1        0        1         0           0          0
types                       6        0        6         0           0          0
properties                 10        0       10         0           0          0
options                     7        0        7         0           0          0
contexts                    4        0        4         0           0          0
properties on types        10        0       10         0           0          0
imported types              2        0        2         0           0          0
work items                  4        0        3         0           0          1
values                     14        0       11         0           0          3
archive marks               1        0        1         0           0          0
overlays                    2        0        2         0           0          0
audit entries              42        0        0         0           0         42

Changed on the way:
  - archived_at of archived work items: the target keeps its own
  - ids, created_at and icons of definitions: the target sets its own

Impossible through v2:
  - types and values of work items that are archived, deleted or hidden
  - values that do not show here: of a property that is switched off, does not apply to the item's type \
or holds something else now
  - entries of the audit log: no operation writes them

Nothing was written. Without --dry-run this is carried.

";

fn outcome(report: &Report) -> Outcome {
    report.workspaces[0].outcome
}

/// Returns all records of a side that a run could have changed.
async fn definitions(side: Side<'_>) -> Vec<Value> {
    let mut all = Vec::new();
    for path in ["features/", "work-item-types/", "work-item-properties/"] {
        all.push(side.read(&format!("{ACME}/{path}")).await.json);
    }
    for path in ["work-item-types/", "work-item-properties/", "work-items/", "cycles/"] {
        all.push(side.read(&side.web(path)).await.json);
    }
    all
}

#[tokio::test]
async fn a_little_of_everything_is_told_carried_and_then_there_is_nothing_to_do() {
    let two = Two::new().await;
    fill(&two).await;
    let before = definitions(Side::there(&two)).await;
    let plan = two.run(RunMode::DryRun).await.unwrap();
    assert_eq!(text(&plan).replace(two.there.base(), "TARGET"), PLAN);
    assert_eq!(definitions(Side::there(&two)).await, before, "a dry run writes nothing");
    assert_eq!(two.store.left("acme").await.unwrap(), None);
    let done = two.run(RunMode::Carry).await.unwrap();
    assert_eq!(outcome(&done), Outcome::Alike, "{}", text(&done));
    let left = two.store.left("acme").await.unwrap().unwrap();
    assert_eq!(left.url, two.there.base());
    let walked = walk(&two).await;
    assert_eq!(walked.unlike, Vec::<String>::new());
    assert_eq!(walked.operations.len(), READS, "{:?}", walked.operations);
    // The walk finds the differences.
    let there = Side::there(&two);
    let item = id(&there.read(&there.web("work-items/?search=Typed")).await.data()[0]);
    let item = there.web(&format!("work-items/{item}/"));
    there.changed(&item, json!({"custom_fields": {"points": 9}})).await;
    assert!(!walk(&two).await.unlike.is_empty());
    let check = two.run(RunMode::Check).await.unwrap();
    assert_eq!(outcome(&check), Outcome::Unlike, "{}", text(&check));
    assert!(text(&check).contains("custom_fields.points is 2.5 here and 9 there"), "{}", text(&check));
    there.changed(&item, json!({"custom_fields": {"points": 2.5}})).await;
    let before = definitions(there).await;
    let again = two.run(RunMode::Carry).await.unwrap();
    assert!(outcome(&again) == Outcome::Alike && again.workspaces[0].carried.is_none(), "{}", text(&again));
    assert!(text(&again).contains("There was nothing to do"), "{}", text(&again));
    assert_eq!(definitions(there).await, before);
}

#[tokio::test]
async fn a_deployment_that_is_given_a_v2_keeps_the_ids_of_what_v1_holds() {
    let two = Two::upgraded().await;
    fill(&two).await;
    let done = two.run(RunMode::Carry).await.unwrap();
    assert_eq!(outcome(&done), Outcome::Alike, "{}", text(&done));
    let line = done.workspaces[0].findings.lines[&Kind::Archive];
    assert_eq!((line.here, line.alike), (1, 1), "it is archived on both sides already");
    assert_eq!(walk(&two).await.unlike, Vec::<String>::new());
}

#[tokio::test]
async fn changes_after_leaving_are_carried_by_the_next_run() {
    let two = Two::new().await;
    let filled = fill(&two).await;
    two.run(RunMode::Carry).await.unwrap();
    let here = Side::here(&two);
    let types = format!("{ACME}/work-item-types/");
    let rows = here.read(&types).await.data().clone();
    let other = id(rows.iter().find(|row| row["name"] == "Other").unwrap());
    here.changed(&format!("{types}{other}/"), json!({"name": "Another", "description": "else"})).await;
    let properties = format!("{ACME}/work-item-properties/");
    let rows = here.read(&properties).await.data().clone();
    let area = id(rows.iter().find(|row| row["name"] == "area").unwrap());
    here.made(&format!("{properties}{area}/options/"), json!({"name": "centre"})).await;
    here.changed(&format!("{properties}{area}/"), json!({"display_name": "Region", "description": "where"})).await;
    let item = here.web(&format!("work-items/{}/", filled.items[4]));
    here.changed(&item, json!({"custom_fields": {"note": "as it is now"}})).await;
    let check = two.run(RunMode::Check).await.unwrap();
    assert_eq!(outcome(&check), Outcome::Unlike);
    let done = two.run(RunMode::Carry).await.unwrap();
    assert_eq!(outcome(&done), Outcome::Alike, "{}", text(&done));
    let carried = &done.workspaces[0].carried.as_ref().unwrap().lines;
    let of = |kind: Kind| carried[&kind].carried;
    assert_eq!((of(Kind::Type), of(Kind::Property), of(Kind::Option), of(Kind::Item)), (1, 1, 1, 1));
    assert_eq!(walk(&two).await.unlike, Vec::<String>::new());
}

#[tokio::test]
async fn whichever_answer_is_lost_nothing_is_made_twice() {
    let two = Two::new().await;
    fill(&two).await;
    let wire = Losing::before(two.there.base()).await;
    let mut lost = 0;
    let done = loop {
        wire.lose("POST");
        match two.run_to(RunMode::Carry, wire.base_url(), |_| {}).await {
            Ok(done) => break done,
            Err(fault) => {
                assert!(fault.contains("run the command again"), "{fault}");
                lost += 1;
                assert!(lost < 100, "it does not come to an end");
            }
        }
    };
    assert_eq!(outcome(&done), Outcome::Alike, "{}", text(&done));
    assert!(lost > 20, "only {lost} answers were lost");
    assert_eq!(walk_to(&two, wire.base_url()).await.unlike, Vec::<String>::new());
}
