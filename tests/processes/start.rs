//! A start that is stopped before it has ended.

use rustix::process::{Pid, Signal, kill_process};
use std::process::{Command, Stdio};
use tokio::net::TcpListener;

/// The first process of a container does not get signals that it does not catch.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_signal_during_the_start_ends_it_in_order() {
    let silent = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let store = format!("postgres://test@{}/test", silent.local_addr().expect("an address"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_causeway"));
    command.args(["serve", "--listen", "127.0.0.1:0", "--upstream", "http://127.0.0.1:1", "--store", &store]);
    let mut process = command.stdin(Stdio::null()).stderr(Stdio::null()).spawn().expect("a process");
    let (_connection, _) = silent.accept().await.expect("the start has come to the store");
    kill_process(Pid::from_child(&process), Signal::TERM).expect("a process");
    let status = tokio::task::spawn_blocking(move || process.wait()).await.expect("a thread").expect("an end");
    assert_eq!(status.code(), Some(0), "{status}");
}
