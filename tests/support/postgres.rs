//! A database on a PostgreSQL server for each test: the server that `TEST_POSTGRES_URL` names, else one on this
//! machine, else one started for this run. A test without any server fails and says what it needs.

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Executor};
use std::cell::Cell;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::str::FromStr;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use tokio::sync::OnceCell;
use uuid::Uuid;

/// The URL of the server without a database, and the handle that keeps it running.
struct Server {
    url: String,
    /// The throw-away server stops when its input closes, which it does when the run ends.
    _running: Option<Mutex<Child>>,
}

/// A database of one test; dropped with it.
pub struct Database {
    server: String,
    name: String,
}

impl Database {
    /// A new, empty database.
    pub async fn create() -> Self {
        Self::create_with("").await
    }

    /// A new, empty database with these options of `CREATE DATABASE`.
    pub async fn create_with(options: &'static str) -> Self {
        static SERVER: OnceCell<Server> = OnceCell::const_new();
        let server = SERVER.get_or_init(find).await.url.clone();
        let name = format!("causeway_test_{}", Uuid::new_v4().simple());
        let mut connection = connect(&server).await.expect("the server of the tests");
        connection.execute(AssertSqlSafe(format!("CREATE DATABASE {name} {options}"))).await.expect("a database");
        Self { server, name }
    }

    /// Its URL.
    pub fn url(&self) -> String {
        let (base, query) = self.server.split_once('?').unwrap_or((&self.server, ""));
        let scheme = base.find("://").expect("a URL") + 3;
        let host = base[scheme..].split('/').next().unwrap_or_default();
        format!("{}{host}/{}?{query}", &base[..scheme], self.name)
    }

    /// Runs a statement in this database.
    pub async fn run(&self, statement: &'static str) {
        let mut connection = connect(&self.url()).await.expect("the database of the test");
        connection.execute(statement).await.expect("a statement that is carried out");
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let (server, name) = (self.server.clone(), self.name.clone());
        let dropping = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async move {
                if let Ok(mut connection) = connect(&server).await {
                    let text = format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)");
                    let _ = connection.execute(AssertSqlSafe(text)).await;
                }
            });
        });
        let _ = dropping.join();
    }
}

/// Asks the database at `url` again and again until `over` has completed. Returns its result, and how many answers took
/// longer than `limit`, as on a machine that is too busy.
pub async fn late_answers<T>(url: &str, limit: Duration, over: impl Future<Output = T>) -> (T, usize) {
    let (mut connection, late) = (connect(url).await.expect("a connection"), Cell::new(0));
    let asking = async {
        for _ in 0.. {
            let asked = Instant::now();
            connection.execute("SELECT 1").await.expect("an answer");
            late.set(late.get() + usize::from(asked.elapsed() > limit));
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
    };
    tokio::select! {
        result = over => (result, late.get()),
        () = asking => unreachable!("it is asked for ever"),
    }
}

async fn connect(url: &str) -> Result<PgConnection, sqlx::Error> {
    PgConnection::connect_with(&PgConnectOptions::from_str(url)?.disable_statement_logging()).await
}

async fn find() -> Server {
    if let Ok(url) = std::env::var("TEST_POSTGRES_URL") {
        if let Err(fault) = connect(&url).await {
            panic!("TEST_POSTGRES_URL names a PostgreSQL server that cannot be used: {fault}");
        }
        return Server { url, _running: None };
    }
    let user = std::env::var("USER").unwrap_or_else(|_| "root".to_owned());
    let local = format!("postgres://{user}@127.0.0.1:5432/postgres");
    if connect(&local).await.is_ok() {
        return Server { url: local, _running: None };
    }
    start()
}

fn start() -> Server {
    let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a free port");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support/postgres.sh");
    let mut child = Command::new(script)
        .arg(free.port().to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("tests/support/postgres.sh");
    let mut said = String::new();
    let _ = BufReader::new(child.stdout.take().expect("its output")).read_line(&mut said);
    assert!(
        said.trim() == "ready",
        "no PostgreSQL: none at TEST_POSTGRES_URL, none at 127.0.0.1:5432 for this user, and none could be \
         started; install it (apt-get install postgresql) or name a server in TEST_POSTGRES_URL"
    );
    Server { url: format!("postgres://test@127.0.0.1:{}/postgres", free.port()), _running: Some(Mutex::new(child)) }
}
