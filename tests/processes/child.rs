//! A gateway in a process of its own, which can be killed.

use std::io::{BufRead, BufReader};
use std::process::{ChildStderr, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// Longest time for a start.
const PATIENCE: Duration = Duration::from_secs(60);

/// The process; killed when dropped.
pub struct Child {
    process: std::process::Child,
    base: String,
    log: Arc<Mutex<Vec<String>>>,
}

impl Child {
    /// Starts `causeway serve` and waits until it is ready.
    #[allow(dead_code)]
    pub async fn start(v1: &str, store_url: &str) -> Self {
        Self::start_with(v1, store_url, &[]).await
    }

    /// The same with variables of the environment.
    pub async fn start_with(v1: &str, store_url: &str, env: &[(&str, &str)]) -> Self {
        // The system chooses the port and the gateway reports it. A port chosen here could be another gateway's by
        // then, and the test would take that gateway for this one.
        let mut process = Command::new(env!("CARGO_BIN_EXE_causeway"))
            .arg("serve")
            .env("CAUSEWAY_LISTEN__ADDRESS", "127.0.0.1:0")
            .env("CAUSEWAY_UPSTREAM__BASE_URL", v1)
            .env("CAUSEWAY_STORE__URL", store_url)
            .env("CAUSEWAY_LOG__FILTER", "error,causeway::cli::serve=info")
            .env("CAUSEWAY_UPSTREAM__QUOTA", "0")
            .env("CAUSEWAY_LIMITS__RATE__API_KEY", "0")
            .env("CAUSEWAY_LIMITS__RATE__UNAUTHENTICATED", "0")
            // A busy machine is no reason to go on without Redis.
            .env("CAUSEWAY_SHARED__TIMEOUT", "2s")
            .envs(env.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let log = process.stderr.take().expect("a log");
        let mut child = Self { process, base: String::new(), log: Arc::default() };
        match tokio::time::timeout(PATIENCE, told(log, Arc::clone(&child.log))).await {
            Ok(Ok(address)) => child.base = format!("http://{address}"),
            Ok(Err(_)) => panic!("the gateway ended at its start: {:?}", child.process.wait()),
            Err(_) => panic!("the gateway does not listen after {PATIENCE:?}"),
        }
        child.ready().await;
        child
    }

    async fn ready(&mut self) {
        let patience = Instant::now() + PATIENCE;
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
        panic!("the gateway is not ready after {PATIENCE:?}");
    }

    /// Returns the address of its listener.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// How many lines of its log since its start say this.
    #[allow(dead_code)]
    pub fn times_said(&self, words: &str) -> usize {
        self.log.lock().expect("a log").iter().filter(|line| line.contains(words)).count()
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

    /// Sends a signal.
    #[allow(dead_code)]
    pub fn signal(&self, signal: rustix::process::Signal) {
        let process = rustix::process::Pid::from_child(&self.process);
        rustix::process::kill_process(process, signal).expect("a process");
    }

    /// Waits until the process has ended by itself.
    #[allow(dead_code)]
    pub fn ended(&mut self) -> std::process::ExitStatus {
        self.process.wait().expect("an end")
    }

    /// Sends SIGKILL, and waits until the process is gone.
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

/// Returns the address in the log; the rest of the log goes to the output of the test, and is `kept`.
fn told(log: ChildStderr, kept: Arc<Mutex<Vec<String>>>) -> oneshot::Receiver<String> {
    let (tell, told) = oneshot::channel();
    std::thread::spawn(move || {
        let mut tell = Some(tell);
        for line in BufReader::new(log).lines().map_while(Result::ok) {
            match address_in(&line).and_then(|address| Some((address, tell.take()?))) {
                Some((address, tell)) => drop(tell.send(address)),
                None => {
                    eprintln!("{line}");
                    kept.lock().expect("a log").push(line);
                }
            }
        }
    });
    told
}

fn address_in(line: &str) -> Option<String> {
    let (_, rest) = line.split_once("serving v2")?;
    let at = rest.find("127.0.0.1:")?;
    Some(rest[at..].chars().take_while(|c| c.is_ascii_digit() || ".:".contains(*c)).collect())
}
