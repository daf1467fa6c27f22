//! The store on both engines: its content, its guarantees under load, and its failures.
//!
//! May use: the public interface of the crate and `tests/support/postgres.rs`.

/// Runs each test, a function of the place of a store, once on each engine.
macro_rules! on_both_engines {
    ($($test:ident),+ $(,)?) => {
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() {
                super::$test(crate::store::place::Place::sqlite()).await;
            })+
        }
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() {
                super::$test(crate::store::place::Place::postgres().await).await;
            })+
        }
    };
}

mod care;
mod definitions;
mod deltas;
mod effects;
mod failing;
mod files;
mod no_store;
mod oauth;
mod overlay;
mod peers;
pub mod place;
mod repeatable;
mod server;
mod side_by_side;
mod stopped_disk;
mod turns;
mod upkeep;
