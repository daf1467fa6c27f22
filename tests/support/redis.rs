//! A Redis server of a test's own, which it may stop, start again and empty.
//!
//! May use: nothing of the crate.

use redis::{Client, Connection};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Longest time for a start.
const PATIENCE: Duration = Duration::from_secs(60);

/// The server; it ends with the test.
pub struct Redis {
    port: u16,
    running: Option<Child>,
}

impl Redis {
    /// An empty server on a free port.
    pub fn start() -> Self {
        let mut server = Self { port: 0, running: None };
        // Another program may take the free port first.
        let has_begun = (0..5).any(|_| {
            let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
            server.port = free.expect("a free port").port();
            server.begin()
        });
        assert!(has_begun, "Redis ended at its start");
        server
    }

    /// Starts it again after [`Redis::stop`], empty.
    pub fn start_again(&mut self) {
        assert!(self.begin(), "Redis ended at its start");
    }

    /// Starts it and waits until it answers; returns false when it has ended by itself.
    fn begin(&mut self) -> bool {
        let programs = ["redis-server", "valkey-server"];
        let started = programs.into_iter().find_map(|program| {
            let mut command = Command::new(program);
            command.args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--daemonize", "no"]);
            command.args(["--port", &self.port.to_string()]);
            command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().ok()
        });
        let started = started.expect("redis-server or valkey-server: apt-get install redis-server");
        let own = format!("process_id:{}\r", started.id());
        let running = self.running.insert(started);
        let patience = Instant::now() + PATIENCE;
        while running.try_wait().expect("a process").is_none() {
            if told(self.port).is_ok_and(|told| told.contains(&own)) {
                return true;
            }
            assert!(Instant::now() < patience, "Redis does not answer after {PATIENCE:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
        false
    }

    /// Kills it.
    pub fn stop(&mut self) {
        if let Some(mut running) = self.running.take() {
            let _ = running.kill();
            let _ = running.wait();
        }
    }

    /// Its address.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Returns the port of its listener.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// A connection.
    pub fn connection(&self) -> Connection {
        Client::open(self.url()).and_then(|client| client.get_connection()).expect("a connection to Redis")
    }

    /// Deletes all its data.
    pub fn flush(&self) {
        redis::cmd("FLUSHALL").exec(&mut self.connection()).expect("an empty Redis");
    }

    /// Returns the number of scripts it has run.
    pub fn scripts_run(&self) -> u64 {
        let told: String =
            redis::cmd("INFO").arg("commandstats").query(&mut self.connection()).expect("its figures");
        let line = told.lines().find_map(|line| line.strip_prefix("cmdstat_evalsha:calls="));
        line.and_then(|line| line.split(',').next()?.parse().ok()).unwrap_or_default()
    }

    /// Returns the number of subscriptions to its channels.
    pub fn subscriptions(&self) -> usize {
        let mut connection = self.connection();
        let channels: Vec<String> =
            redis::cmd("PUBSUB").arg("CHANNELS").query(&mut connection).expect("its channels");
        let mut subscriptions = 0;
        for channel in channels {
            let counted: (String, usize) =
                redis::cmd("PUBSUB").arg("NUMSUB").arg(channel).query(&mut connection).expect("a number");
            subscriptions += counted.1;
        }
        subscriptions
    }

    /// Returns all its keys and values as text.
    pub fn contents(&self) -> String {
        let mut connection = self.connection();
        let keys: Vec<String> = redis::cmd("KEYS").arg("*").query(&mut connection).expect("its keys");
        let mut all = String::new();
        for key in keys {
            let kind: String = redis::cmd("TYPE").arg(&key).query(&mut connection).expect("a type");
            let mut question = match kind.as_str() {
                "hash" => redis::cmd("HGETALL"),
                "zset" => redis::cmd("ZRANGE"),
                _ => redis::cmd("GET"),
            };
            question.arg(&key);
            if kind == "zset" {
                question.arg(0).arg(-1);
            }
            let value: redis::Value = question.query(&mut connection).expect("a value");
            all += &format!("{key} {}\n", text_of(&value));
        }
        all
    }
}

/// Returns the words of the server at this port about itself.
fn told(port: u16) -> std::io::Result<String> {
    let mut socket = TcpStream::connect(("127.0.0.1", port))?;
    socket.set_read_timeout(Some(Duration::from_secs(1)))?;
    socket.write_all(b"INFO server\r\n")?;
    let mut words = [0; 4096];
    let read = socket.read(&mut words)?;
    Ok(String::from_utf8_lossy(&words[..read]).into_owned())
}

fn text_of(value: &redis::Value) -> String {
    match value {
        redis::Value::BulkString(text) => String::from_utf8_lossy(text).into_owned(),
        redis::Value::Array(items) => items.iter().map(text_of).collect::<Vec<_>>().join(" "),
        other => format!("{other:?}"),
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        self.stop();
    }
}
