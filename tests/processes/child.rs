//! A gateway in a process of its own, which can be killed.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tokio::net::TcpListener;

/// The process; killed when dropped.
pub struct Child {
    process: std::process::Child,
    base: String,
}

impl Child {
    /// Starts `causeway serve` and waits until it is ready.
    #[allow(dead_code)]
    pub async fn start(v1: &str, store_url: &str) -> Self {
        Self::start_with(v1, store_url, &[]).await
    }

    /// The same with variables of the environment.
    pub async fn start_with(v1: &str, store_url: &str, env: &[(&str, &str)]) -> Self {
        let probe = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = probe.local_addr().expect("an address").to_string();
        drop(probe);
        let process = Command::new(env!("CARGO_BIN_EXE_causeway"))
            .arg("serve")
            .env("CAUSEWAY_LISTEN__ADDRESS", &address)
            .env("CAUSEWAY_UPSTREAM__BASE_URL", v1)
            .env("CAUSEWAY_STORE__URL", store_url)
            .env("CAUSEWAY_LOG__FILTER", "error")
            .env("CAUSEWAY_UPSTREAM__QUOTA", "0")
            .env("CAUSEWAY_LIMITS__RATE__API_KEY", "0")
            .env("CAUSEWAY_LIMITS__RATE__UNAUTHENTICATED", "0")
            .envs(env.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::inherit())
            .spawn()
            .expect("the program starts");
        let mut child = Self { process, base: format!("http://{address}") };
        child.ready().await;
        child
    }

    async fn ready(&mut self) {
        let patience = Instant::now() + Duration::from_secs(20);
        let client = super::client();
        while Instant::now() < patience {
            if let Some(status) = self.process.try_wait().expect("a process") {
                panic!("the gateway ended at its start: {status}");
            }
            let answer = client.get(format!("{}/readyz", self.base)).send().await;
            if answer.is_ok_and(|answer| answer.status().is_success()) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("the gateway is not ready after 20 s");
    }

    /// Where it listens.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// Resident memory in bytes. Linux only.
    #[allow(dead_code)]
    pub fn memory(&self) -> usize {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).expect("a process");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("its memory");
        line.split_whitespace().find_map(|word| word.parse::<usize>().ok()).expect("a number") * 1024
    }

    /// User and system time so far, in steps of 10 ms. Linux only.
    #[allow(dead_code)]
    pub fn processor_time(&self) -> Duration {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.process.id())).expect("a process");
        let rest = stat.rsplit_once(')').expect("a name").1;
        let ticks = rest.split_whitespace().skip(11).take(2).map(|ticks| ticks.parse::<u32>().expect("ticks"));
        Duration::from_millis(10) * ticks.sum::<u32>()
    }

    /// SIGKILL, and waits until it is gone.
    #[allow(dead_code)]
    pub fn kill(mut self) {
        self.process.kill().expect("a kill");
        self.process.wait().expect("an end");
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
