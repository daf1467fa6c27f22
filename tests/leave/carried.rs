//! What is carried is there as it was here, told beforehand, and not carried twice.

use super::filled::fill;
use super::two::Two;
use super::walk::walk;
use causeway::leave::{Class, Kind, Wish, text};

#[tokio::test]
async fn a_little_of_everything_is_carried_and_then_there_is_nothing_to_do() {
    let two = Two::new().await;
    fill(&two).await;
    let plan = two.run(Wish::DryRun).await.unwrap();
    println!("{}", text(&plan));
    let done = two.run(Wish::Carry).await.unwrap();
    println!("{}", text(&done));
    assert!(done.is_clean());
    let walked = walk(&two).await;
    println!("{} {:?}", walked.reads, walked.operations);
    for one in &walked.unlike { println!("{one}"); }
    assert!(walked.unlike.is_empty());
}
