//! The location of a store: its file, options for files that only their owner can read, words for people, and advice
//! when the store cannot be opened there.
//!
//! May use: `kind`, `error`.

use super::error::StoreError;
use super::kind::Kind;
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};
use rustix::fs::{Access, access};
use rustix::io::Errno;
use sqlx::any::AnyConnectOptions;
use sqlx::postgres::{PgConnectOptions, PgSslMode};
use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Returns the file of a SQLite store; none for other kinds and for memory. Where the URL names a symbolic link, this
/// is the file behind it: SQLite keeps its log and its other files beside that one.
pub fn file_of(url: &str) -> Option<PathBuf> {
    named_in(url).map(|file| behind_links(&file))
}

/// Returns the file that the URL of a SQLite store names, which may be a symbolic link. As in every URL, `%20` stands
/// for a space.
pub(super) fn named_in(url: &str) -> Option<PathBuf> {
    let file = url.strip_prefix("sqlite:")?.trim_start_matches("//");
    let file = file.split('?').next().filter(|file| !file.is_empty() && !in_memory(url))?;
    percent_decode_str(file).decode_utf8().ok().map(|file| PathBuf::from(&*file))
}

/// Number of symbolic links in a row that are followed, as many as Linux follows.
const MOST_LINKS: usize = 40;

/// Returns the file that a symbolic link leads to, which need not exist. Any other file is returned as it is.
pub fn behind_links(file: &Path) -> PathBuf {
    let mut file = file.to_owned();
    for _ in 0..MOST_LINKS {
        let Ok(next) = file.read_link() else { break };
        file = folder_of(&file).join(next);
    }
    file
}

/// Returns the file of the store at `url` when it does not exist yet. Returns none when it exists, and for a store
/// without a file.
///
/// # Errors
/// [`StoreError::Forbidden`] when the user of this process may not see the file, or not read it.
pub fn missing_file(url: &str) -> Result<Option<PathBuf>, StoreError> {
    let Some(file) = file_of(url) else { return Ok(None) };
    match lacking_right(&file) {
        Some(right) => Err(StoreError::Forbidden { file, right }),
        None => Ok(Some(file).filter(|file| !file.exists())),
    }
}

/// Checks that the file of the store at `url` exists, so that a mistyped path does not create an empty store that looks
/// healthy.
///
/// # Errors
/// [`StoreError::Missing`], and errors of [`missing_file`].
pub fn expect_file(url: &str) -> Result<(), StoreError> {
    missing_file(url)?.map_or(Ok(()), |file| Err(StoreError::Missing(file)))
}

/// Returns the right that the user of this process lacks to see or read this file.
fn lacking_right(file: &Path) -> Option<&'static str> {
    match file.metadata() {
        Err(fault) if fault.kind() == ErrorKind::PermissionDenied => Some("enter the folder"),
        Ok(_) if access(file, Access::READ_OK) == Err(Errno::ACCESS) => Some("read the file"),
        _ => None,
    }
}

/// Checks whether the URL of a SQLite store has a mode with which SQLite does not create a missing file.
pub(super) fn makes_no_file(url: &str) -> bool {
    url.contains("mode=") && !url.contains("mode=rwc") && !in_memory(url)
}

/// Checks whether a SQLite store has no file.
pub(super) fn in_memory(url: &str) -> bool {
    url.contains(":memory:") || url.contains("mode=memory")
}

/// Returns options for opening a file that only its owner can read.
pub(super) fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).mode(0o600);
    options
}

/// Characters that would end the file name in a URL, or encode another character in it.
const SIGNS: &AsciiSet = &CONTROLS.add(b'?').add(b'#').add(b'%');

/// Returns the URL of the SQLite store in `file`.
pub fn url_of(file: &Path) -> String {
    format!("sqlite:{}", utf8_percent_encode(&file.to_string_lossy(), SIGNS))
}

/// Returns the location of the store at `url`: its file, or its server and database without user and password.
pub fn in_words(url: &str) -> String {
    if let Some(file) = named_in(url) {
        return file.display().to_string();
    }
    match Kind::of(url) {
        Some(Kind::Sqlite) => url.split('?').next().unwrap_or(url).to_owned(),
        _ => server_of(url).unwrap_or_else(|| {
            let scheme = url.split_once(':').map_or("", |(scheme, _)| scheme);
            format!("{scheme}://…")
        }),
    }
}

/// Returns the server and the database of a URL. Returns none for a URL that cannot be read, and when an `@` comes
/// after the server: then a sign in the password may have ended the password, and its begin looks like a server.
fn server_of(url: &str) -> Option<String> {
    let url = AnyConnectOptions::from_str(url).ok()?.database_url;
    let rest = [url.path(), url.query().unwrap_or_default(), url.fragment().unwrap_or_default()];
    if url.cannot_be_a_base() || rest.iter().any(|part| part.contains('@')) {
        return None;
    }
    let port = url.port().map_or_else(String::new, |port| format!(":{port}"));
    Some(format!("{}://{}{port}{}", url.scheme(), url.host_str().unwrap_or_default(), url.path()))
}

/// Returns the use of TLS that the URL of a database, or else `PGSSLMODE`, asks for. Returns none for a URL that cannot
/// be read.
pub(super) fn tls_of(url: &str) -> Option<PgSslMode> {
    PgConnectOptions::from_str(url).ok().map(|options| options.get_ssl_mode())
}

/// Adds the location and the remedy to an error from opening the store at `url`.
pub(super) fn opening(error: StoreError, url: &str) -> StoreError {
    let place = in_words(url);
    let told = |cause: String| {
        let cause = cause.trim_start_matches("error returned from database: ").to_owned();
        let remedy = remedy(url, &cause);
        format!("{place}: {cause}; {remedy}")
    };
    match error {
        StoreError::Unavailable(cause) => StoreError::Unavailable(told(cause)),
        StoreError::Damaged(cause) => StoreError::Damaged(format!("{place}: {cause}")),
        StoreError::Schema(cause) => StoreError::Schema(format!("{place}: {cause}")),
        other => other,
    }
}

fn remedy(url: &str, cause: &str) -> String {
    match Kind::of(url) {
        Some(Kind::Sqlite) if cause.contains("address cannot be read") => "correct the setting store.url".into(),
        Some(Kind::Sqlite) => file_of(url).map_or_else(String::new, |file| of_a_file(url, &file)),
        _ if cause.contains("permission denied") => {
            "let the user of the setting store.url make and change tables there".into()
        }
        _ if cause.contains("does not support TLS") => {
            "switch TLS on at the server (ssl = on), or correct sslmode in the setting store.url".into()
        }
        _ if cause.contains("no encryption") => {
            "let the server accept this user from here (pg_hba.conf), or use TLS with ?sslmode=require in the setting \
             store.url"
                .into()
        }
        _ if cause.contains("SSL encryption") => {
            "let the server accept this user from here with TLS (pg_hba.conf), or do without TLS with \
             ?sslmode=disable in the setting store.url"
                .into()
        }
        _ if cause.contains("peer certificate") && !checks_certificates(url) => {
            "correct the certificate of the server, or do without TLS with ?sslmode=disable in the setting store.url"
                .into()
        }
        _ if ["not valid for name", "NotValidForName"].iter().any(|words| cause.contains(words)) => {
            "write a host that the certificate of the server names in the setting store.url, or renew the certificate \
             for this host"
                .into()
        }
        _ if is_about_certificates(url, cause) => {
            "name the file with the root certificate of the server in the setting store.url \
             (?sslmode=verify-full&sslrootcert=FILE) or in SSL_CERT_FILE"
                .into()
        }
        _ if ["password", "authentication", "role"].iter().any(|word| cause.contains(word)) => {
            "check user and password in the setting store.url".into()
        }
        _ if cause.contains("encoding") => {
            "make a database with ENCODING 'UTF8', for example with `createdb -T template0 -E UTF8 --locale=C`, and \
             name it in the setting store.url; `causeway store backup` and `causeway store restore` carry the data over"
                .into()
        }
        _ if cause.contains("does not exist") => {
            "make the database first, for example with `createdb`, or name another in the setting store.url".into()
        }
        _ if server_of(url).is_none() => {
            "in the setting store.url, write / ? # @ % of a user or password as %2F %3F %23 %40 %25".into()
        }
        _ if cause.contains("address cannot be read") => "correct the setting store.url".into(),
        _ => "see whether PostgreSQL runs there and can be reached from this machine, or correct the setting \
              store.url"
            .into(),
    }
}

/// Checks whether connections require a certificate from a known issuer. Others only require one that can be read.
fn checks_certificates(url: &str) -> bool {
    matches!(tls_of(url), Some(PgSslMode::VerifyCa | PgSslMode::VerifyFull))
}

/// Checks whether a connection failed because of the certificate of the server, or of a file with certificates.
fn is_about_certificates(url: &str, cause: &str) -> bool {
    let names_a_file = ["sslrootcert=", "sslcert="].iter().any(|name| url.contains(name));
    cause.contains("certificate") || cause.contains("TLS") || names_a_file && cause.contains("No such file")
}

/// Returns the folder of a file, which need not exist.
pub fn folder_of(file: &Path) -> &Path {
    file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn of_a_file(url: &str, file: &Path) -> String {
    let (folder, may_look) = (folder_of(file), lacking_right(file).is_none());
    if may_look && !folder.is_dir() {
        return format!(
            "there is no folder {}: make it, or name another file in the setting store.url",
            folder.display()
        );
    }
    if file.is_dir() {
        return "this is a folder: name a file in it in the setting store.url".into();
    }
    if may_look && makes_no_file(url) && !file.exists() {
        return "the file is missing, and with its mode the setting store.url makes none: leave the mode out, or name \
                the file of a store"
            .into();
    }
    format!(
        "the user that runs this must be able to write the file and the folder {}, and there must be room on its disk",
        folder.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_told_without_credentials() {
        for (url, words) in [
            ("sqlite:/var/lib/c.db", "/var/lib/c.db"),
            ("sqlite://c.db?mode=ro", "c.db"),
            ("sqlite:/srv/my%20store%3F.db?mode=ro", "/srv/my store?.db"),
            ("sqlite::memory:", "sqlite::memory:"),
            ("sqlite:shared?mode=memory", "sqlite:shared"),
            ("postgres://ada:s@cret@db:5432/causeway?sslmode=require", "postgres://db:5432/causeway"),
            ("postgres://ada@[::1]/causeway?password=secret", "postgres://[::1]/causeway"),
            ("postgres:///causeway?host=/var/run/postgresql", "postgres:///causeway"),
            // A sign ends the password, and nobody can tell where the server begins.
            ("postgres://ada:s?cret@db/c", "postgres://…"),
            ("postgres://ada:s/cret@db/c", "postgres://…"),
            ("postgres://ada:s#cret@db/c", "postgres://…"),
            ("postgres://ada:1?x@db/c", "postgres://…"),
            ("postgres://ada:1/x@db/c", "postgres://…"),
            ("postgres://ada:1#x@db/c", "postgres://…"),
            ("postgresql:ada:secret@db/c", "postgresql://…"),
        ] {
            assert_eq!(in_words(url), words);
        }
    }

    #[test]
    fn a_file_of_any_name_is_found_in_its_url() {
        for file in ["/srv/my store.db", "50%.db", "/srv/is it?.db", "/srv/größe #1.db", "/srv/%20.db"] {
            let file = Path::new(file);
            assert_eq!(file_of(&url_of(file)).as_deref(), Some(file));
        }
    }

    #[test]
    fn links_are_followed_to_a_file_that_need_not_exist() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let (link, again, store) = (folder.path().join("a"), folder.path().join("b"), folder.path().join("c.db"));
        symlink("b", &link).unwrap();
        symlink(&store, &again).unwrap();
        assert_eq!(file_of(&url_of(&link)), Some(store.clone()));
        assert_eq!(in_words(&url_of(&link)), link.display().to_string());
        std::fs::write(&store, "").unwrap();
        assert_eq!(file_of(&url_of(&link)), Some(store));
        std::fs::remove_file(&again).unwrap();
        symlink("a", &again).unwrap();
        assert!(file_of(&url_of(&link)).is_some_and(|file| !file.exists()), "links in a circle lead nowhere");
    }

    #[test]
    fn each_failure_has_its_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let url = |name: &str| format!("sqlite:{}", folder.path().join(name).display());
        let told = |url: &str, cause: &str| opening(StoreError::Unavailable(cause.into()), url).to_string();
        assert!(told(&url("no/store.db"), "x").contains("there is no folder"));
        assert!(told(&format!("sqlite:{}", folder.path().display()), "x").contains("this is a folder"));
        assert!(told(&url("store.db"), "x").contains("must be able to write"));
        assert!(told(&url("store.db?mode=ro"), "x").contains("leave the mode out"));
        let postgres = "postgres://u:secret@db/c";
        for (cause, remedy) in [
            ("password authentication failed for user \"u\"", "check user and password"),
            ("database \"c\" does not exist", "make the database first"),
            ("permission denied for schema public", "make and change tables"),
            ("Connection refused (os error 111)", "see whether PostgreSQL runs"),
            ("its encoding is LATIN1", "make a database with ENCODING 'UTF8'"),
            ("server does not support TLS", "switch TLS on at the server"),
            (
                "no pg_hba.conf entry for host \"::1\", user \"u\", database \"c\", no encryption",
                "?sslmode=require",
            ),
            (
                "no pg_hba.conf entry for host \"::1\", user \"u\", database \"c\", SSL encryption",
                "with TLS (pg_hba.conf)",
            ),
            ("invalid peer certificate: Other(OtherError(UnsupportedCertVersion))", "?sslmode=disable"),
            ("its address cannot be read: unknown value \"x\" for `ssl_mode`", "correct the setting store.url"),
        ] {
            let told = told(postgres, cause);
            assert!(
                told.contains(remedy) && told.contains("postgres://db/c") && !told.contains("secret"),
                "{told}"
            );
        }
        let unknown = told("postgres://u@db/c?sslmode=verify-full", "invalid peer certificate: UnknownIssuer");
        assert!(unknown.contains("sslrootcert=FILE"), "{unknown}");
        let other_name = "invalid peer certificate: certificate not valid for name \"db\"; certificate is only \
                          valid for DnsName(\"localhost\")";
        let elsewhere = told("postgres://u@db/c?sslmode=verify-full", other_name);
        assert!(elsewhere.contains("write a host") && !elsewhere.contains("sslrootcert"), "{elsewhere}");
        let missing = told("postgres://u@db/c?sslrootcert=/none.pem", "No such file or directory (os error 2)");
        assert!(missing.contains("name the file with the root certificate"), "{missing}");
        let cut = told("postgres://u:1?x@db/c", "failed to lookup address information");
        assert!(cut.contains("write / ? # @ % of a user or password as %2F %3F %23 %40 %25"), "{cut}");
    }
}
