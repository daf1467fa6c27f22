//! Seals v1 keys and form states: XChaCha20-Poly1305 under secrets that are not in the store.
//!
//! Every sealed text is bound to its place (the id of its row, the cookie of its form), so that one cannot be
//! moved to another place. Nonces are 192 random bits, which never repeat. The first secret seals new texts
//! and makes names. Every secret opens the texts that it has sealed.
//!
//! May use: `aside`, `settings`, `protocol::secret`.

use super::protocol::secret;
use crate::aside::WorkLock;
use crate::settings::SecretSettings;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{Key, XChaCha20Poly1305, XNonce};
use hmac::{Hmac, Mac};
use parking_lot::RwLock;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use std::fmt;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

const NONCE: usize = 24;
/// Longest wait of a request for the file of secrets; reading can hang, depending on where the file lies.
const READING: Duration = Duration::from_secs(2);

#[derive(Debug, thiserror::Error)]
pub enum KeyringError {
    #[error("{}; {}", self.found(), self.remedy())]
    Unreadable {
        path: String,
        cause: String,
        /// Whether the file exists, but this user may not read it.
        denied: bool,
    },
    #[error("{}; {}", self.found(), self.remedy())]
    Malformed {
        /// Setting or file that holds the malformed secrets.
        place: &'static str,
    },
}

impl KeyringError {
    pub fn found(&self) -> String {
        match self {
            Self::Unreadable { path, cause, .. } => format!("secrets.key_file {path} cannot be read: {cause}"),
            Self::Malformed { place } => {
                format!("{place} must hold secrets of 32 bytes in base64, one a line or separated by commas")
            }
        }
    }

    pub fn remedy(&self) -> String {
        match self {
            Self::Unreadable { path, denied: true, .. } => format!(
                "the user that the gateway runs as must be able to read it (chown USER {path}), and commands are run \
                 as that user"
            ),
            Self::Unreadable { path, .. } => format!("make it with `causeway secrets new --file {path}`"),
            Self::Malformed { .. } => "make one with `causeway secrets new`".to_owned(),
        }
    }
}

struct Ring {
    secrets: Vec<(String, XChaCha20Poly1305)>,
    /// The key that makes names; derived from the first secret.
    names: Hmac<Sha256>,
    changed: Option<SystemTime>,
}

/// The configured secrets; cheap to clone.
#[derive(Clone)]
pub struct Keyring {
    ring: Arc<RwLock<Ring>>,
    file: Option<Arc<Path>>,
    /// Lets only one thread at a time read the file again.
    reading: WorkLock,
}

/// Equal keyrings have the same secrets in the same order.
impl PartialEq for Keyring {
    fn eq(&self, other: &Self) -> bool {
        // Read one after the other, because clones share a lock.
        self.ids() == other.ids()
    }
}

impl fmt::Debug for Keyring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keyring").field("current", &self.current()).finish_non_exhaustive()
    }
}

impl Keyring {
    /// Opens the secrets that `settings` name; `None` when `settings` name none.
    pub fn open(settings: &SecretSettings) -> Result<Option<Self>, KeyringError> {
        if let Some(text) = &settings.key {
            let ring = Ring::of(text.expose(), None).ok_or(KeyringError::Malformed { place: "secrets.key" })?;
            return Ok(Some(Self { ring: Arc::new(RwLock::new(ring)), file: None, reading: WorkLock::default() }));
        }
        let Some(path) = &settings.key_file else { return Ok(None) };
        let ring = Arc::new(RwLock::new(read(path)?));
        Ok(Some(Self { ring, file: Some(path.as_path().into()), reading: WorkLock::default() }))
    }

    fn ids(&self) -> Vec<String> {
        self.with_ring(|ring| ring.secrets.iter().map(|(id, _)| id.clone()).collect())
    }

    /// Creates a new secret, as text.
    pub fn new_secret() -> String {
        STANDARD.encode(secret::random())
    }

    /// Checks whether `text` holds only secrets and remarks, so that a new secret can be put before it.
    pub fn are_secrets(text: &str) -> bool {
        parse_any(text).is_some()
    }

    /// Returns the id of the secret that seals new texts.
    pub fn current(&self) -> String {
        self.with_ring(|ring| ring.secrets[0].0.clone())
    }

    /// Seals `plain` for `place`. Returns the sealed text and the id of the secret.
    pub fn seal(&self, plain: &str, place: &str) -> (String, String) {
        self.with_ring(|ring| {
            let (id, cipher) = &ring.secrets[0];
            (sealed_by(cipher, plain, place), id.clone())
        })
    }

    /// Seals a value for `place`. Returns one text that also names the secret.
    pub fn seal_value(&self, value: &impl Serialize, place: &str) -> Option<String> {
        let (sealed, with) = self.seal(&serde_json::to_string(value).ok()?, place);
        Some(format!("{with}.{sealed}"))
    }

    /// Opens a text that [`Keyring::seal_value`] has sealed for `place`.
    pub async fn unseal_value<T: DeserializeOwned>(&self, text: &str, place: &str) -> Option<T> {
        let (with, sealed) = text.split_once('.')?;
        serde_json::from_str(&self.unseal(sealed, with, place).await?).ok()
    }

    /// Returns a name for `what` that reveals nothing about it. Only holders of the secret can compute it. Each
    /// `purpose` gives a different name.
    pub fn name(&self, purpose: &str, what: &[&[u8]]) -> String {
        let mut mac = self.with_ring(|ring| ring.names.clone());
        for part in [purpose.as_bytes()].iter().chain(what) {
            // Each part with its length, so that no two lists of parts give the same bytes.
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part);
        }
        URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes())
    }

    /// Opens a text that was sealed for `place` with the secret `with`. Returns `None` when it was not, or when that
    /// secret is gone. A changed file is read again first, in a separate thread, because reading can hang.
    pub async fn unseal(&self, sealed: &str, with: &str, place: &str) -> Option<String> {
        if self.file.is_some() && !self.knows(with) {
            let (ring, wanted) = (self.clone(), with.to_owned());
            self.reading.aside("secrets", READING, move || ring.read_again(&wanted)).await;
        }
        self.with_ring(|ring| {
            let (_, cipher) = ring.secrets.iter().find(|(id, _)| id == with)?;
            opened_by(cipher, sealed, place)
        })
    }

    fn knows(&self, id: &str) -> bool {
        self.with_ring(|ring| ring.secrets.iter().any(|(known, _)| known == id))
    }

    /// Reads the file again, unless it is unchanged or the secret `wanted` is already known.
    fn read_again(&self, wanted: &str) {
        let Some(path) = self.file.as_deref().filter(|_| !self.knows(wanted)) else { return };
        let changed = std::fs::metadata(path).and_then(|file| file.modified()).ok();
        if self.with_ring(|ring| ring.changed == changed) {
            return;
        }
        match read(path) {
            Ok(ring) => *self.ring.write() = ring,
            Err(error) => tracing::error!(%error, "the secrets stay as they were"),
        }
    }

    fn with_ring<T>(&self, look: impl FnOnce(&Ring) -> T) -> T {
        look(&self.ring.read())
    }
}

/// Returns `plain`, sealed for `place`, as text.
pub fn sealed_by(cipher: &XChaCha20Poly1305, plain: &str, place: &str) -> String {
    let mut nonce = XNonce::default();
    nonce.copy_from_slice(&secret::random()[..NONCE]);
    let payload = Payload { msg: plain.as_bytes(), aad: place.as_bytes() };
    let sealed = cipher.encrypt(&nonce, payload).expect("a short text can be sealed");
    URL_SAFE_NO_PAD.encode([nonce.as_slice(), &sealed].concat())
}

/// Returns the text that the same cipher has sealed for `place`.
pub fn opened_by(cipher: &XChaCha20Poly1305, sealed: &str, place: &str) -> Option<String> {
    let bytes = URL_SAFE_NO_PAD.decode(sealed).ok()?;
    let (start, text) = bytes.split_at_checked(NONCE)?;
    let mut nonce = XNonce::default();
    nonce.copy_from_slice(start);
    String::from_utf8(cipher.decrypt(&nonce, Payload { msg: text, aad: place.as_bytes() }).ok()?).ok()
}

fn read(path: &Path) -> Result<Ring, KeyringError> {
    let unreadable = |cause: std::io::Error| KeyringError::Unreadable {
        path: path.display().to_string(),
        cause: cause.to_string(),
        denied: cause.kind() == ErrorKind::PermissionDenied,
    };
    // The time comes first: if the file is replaced in between, it is read once more than necessary.
    let changed = std::fs::metadata(path).and_then(|file| file.modified()).ok();
    let text = std::fs::read_to_string(path).map_err(unreadable)?;
    Ring::of(&text, changed).ok_or(KeyringError::Malformed { place: "secrets.key_file" })
}

impl Ring {
    fn of(text: &str, changed: Option<SystemTime>) -> Option<Self> {
        let (mut secrets, mut names) = (Vec::new(), None);
        for bytes in parse(text)? {
            // Names have a key of their own: a key that seals is used for nothing else.
            let derived = Sha256::new().chain_update(b"causeway names\0").chain_update(bytes).finalize();
            names = names.or_else(|| Hmac::new_from_slice(&derived).ok());
            secrets.push(one(bytes));
        }
        Some(Self { secrets, names: names?, changed })
    }
}

/// Parses secrets, one per line or separated by commas. Lines that begin with # are remarks. Needs at least one secret.
fn parse(text: &str) -> Option<Vec<[u8; 32]>> {
    parse_any(text).filter(|secrets| !secrets.is_empty())
}

/// Parses secrets like [`parse`], but accepts a text without secrets.
fn parse_any(text: &str) -> Option<Vec<[u8; 32]>> {
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
    let words = lines.flat_map(|line| line.split(',')).map(str::trim).filter(|word| !word.is_empty());
    words.map(|word| STANDARD.decode(word).ok()?.try_into().ok()).collect()
}

fn one(bytes: [u8; 32]) -> (String, XChaCha20Poly1305) {
    // The id distinguishes secrets and reveals nothing about them.
    let id = Sha256::new().chain_update(b"causeway secret id\0").chain_update(bytes).finalize();
    (URL_SAFE_NO_PAD.encode(&id[..9]), XChaCha20Poly1305::new(&Key::from(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring(text: &str) -> Keyring {
        let ring = Ring::of(text, None).unwrap();
        Keyring { ring: Arc::new(RwLock::new(ring)), file: None, reading: WorkLock::default() }
    }

    #[test]
    fn two_are_the_same_with_the_same_secrets_in_the_same_order() {
        let (old, new) = (Keyring::new_secret(), Keyring::new_secret());
        let both = ring(&format!("{new}\n{old}"));
        assert!(ring(&old) == ring(&old) && both == both.clone());
        assert!(ring(&old) != ring(&new) && ring(&old) != both);
        assert!(both != ring(&format!("{old}\n{new}")), "the first one seals");
    }

    #[tokio::test]
    async fn a_sealed_secret_opens_only_in_its_own_context() {
        let ring = ring(&Keyring::new_secret());
        let (sealed, with) = ring.seal("a v1 key", "grant 1");
        assert_eq!(ring.unseal(&sealed, &with, "grant 1").await.as_deref(), Some("a v1 key"));
        assert_eq!(ring.unseal(&sealed, &with, "grant 2").await, None);
        assert_eq!(ring.unseal(&sealed[1..], &with, "grant 1").await, None);
        assert_eq!(ring.unseal("", &with, "grant 1").await, None);
        assert_ne!(ring.seal("a v1 key", "grant 1").0, sealed, "no two are alike");
        assert!(!sealed.contains("key"));
    }

    #[tokio::test]
    async fn old_secrets_open_and_the_first_seals() {
        let (old, new) = (Keyring::new_secret(), Keyring::new_secret());
        let (sealed, with) = ring(&old).seal("k", "p");
        let both = ring(&format!("# two\n{new}\n{old}\n"));
        assert_eq!(both.unseal(&sealed, &with, "p").await.as_deref(), Some("k"));
        assert_ne!(both.current(), with);
        assert_eq!(ring(&new).unseal(&sealed, &with, "p").await, None);
    }

    #[tokio::test]
    async fn a_file_that_changed_is_read_again() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let (old, new) = (Keyring::new_secret(), Keyring::new_secret());
        std::fs::write(file.path(), &old).unwrap();
        let settings = SecretSettings { key_file: Some(file.path().into()), key: None };
        let opened = Keyring::open(&settings).unwrap().unwrap();
        let (sealed, with) = ring(&new).seal("k", "p");
        assert_eq!(opened.unseal(&sealed, &with, "p").await, None);
        std::fs::write(file.path(), format!("{new}\n{old}")).unwrap();
        let later = SystemTime::now() + std::time::Duration::from_secs(5);
        file.as_file().set_modified(later).unwrap();
        assert_eq!(opened.unseal(&sealed, &with, "p").await.as_deref(), Some("k"));
        assert_eq!(opened.current(), with);
    }

    #[tokio::test]
    async fn a_file_that_hangs_holds_up_nobody_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secrets");
        std::fs::write(&path, Keyring::new_secret()).unwrap();
        let settings = SecretSettings { key_file: Some(path.clone()), key: None };
        let opened = Keyring::open(&settings).unwrap().unwrap();
        std::fs::remove_file(&path).unwrap();
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        let mut reading = Box::pin(opened.unseal("", "unknown", "p"));
        tokio::select! {
            // On a machine that stands still meanwhile both have ended, and this one counts.
            biased;
            () = tokio::time::sleep(Duration::from_millis(10)) => {}
            _ = &mut reading => panic!("nothing went on beside it"),
        }
        assert!(reading.await.is_none());
        let (sealed, with) = opened.seal("k", "p");
        assert_eq!(opened.unseal(&sealed, &with, "p").await.as_deref(), Some("k"), "what is known needs no file");
    }

    #[test]
    fn names_are_made_with_the_first_secret_and_tell_purposes_and_parts_apart() {
        let (first, second) = (Keyring::new_secret(), Keyring::new_secret());
        let name = |text: &str, purpose: &str, what: &[&[u8]]| ring(text).name(purpose, what);
        let known = name(&first, "a", &[b"key"]);
        assert_eq!(name(&format!("{first},{second}"), "a", &[b"key"]), known);
        for other in [
            name(&second, "a", &[b"key"]),
            name(&first, "b", &[b"key"]),
            name(&first, "a", &[b"ke", b"y"]),
            name(&first, "a", &[]),
        ] {
            assert_ne!(other, known);
        }
    }

    #[test]
    fn a_file_that_may_not_be_read_is_not_to_be_made_anew() {
        let told = |denied| {
            let (path, cause) = ("/etc/causeway/secrets".to_owned(), "no".to_owned());
            KeyringError::Unreadable { path, cause, denied }.to_string()
        };
        assert!(told(true).contains("chown USER /etc/causeway/secrets") && !told(true).contains("secrets new"));
        assert!(told(false).contains("secrets new --file /etc/causeway/secrets"));
    }

    #[test]
    fn malformed_secrets_are_refused() {
        for text in ["", "# nothing", "short", "AAAA"] {
            assert!(parse(text).is_none(), "{text}");
        }
        let secret = Keyring::new_secret();
        for text in ["", "# nothing", &secret, &format!("# one\n{secret},{secret}\n")] {
            assert!(Keyring::are_secrets(text), "{text}");
        }
        for text in ["strict_query = true", &format!("{secret}\nshort")] {
            assert!(!Keyring::are_secrets(text), "{text}");
        }
    }
}
