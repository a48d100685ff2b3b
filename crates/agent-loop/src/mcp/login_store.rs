//! The file of logins. Only its owner can read it.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use http::HeaderValue;
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep};

const FILE_NAME: &str = "mcp-logins.json";
/// Size limit of the file.
const MAX_FILE_BYTES: u64 = 1 << 20;
/// How long another process may hold the file.
const LOCK_TIMEOUT: Duration = Duration::from_secs(20);
const LOCK_PAUSE: Duration = Duration::from_millis(50);
/// A token that expires this soon is renewed first.
const EXPIRY_MARGIN_SECONDS: u64 = 30;

/// Keeps the logins at MCP servers in a file.
#[derive(Clone, Debug)]
pub struct LoginStore {
    file: PathBuf,
}

/// A client of an authorization server.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct OauthClient {
    pub(super) id: String,
    pub(super) secret: Option<String>,
    /// Whether the secret is sent in a header instead of the form.
    #[serde(default)]
    pub(super) uses_basic: bool,
}

/// A login at one server. It holds secrets, so it has no `Debug`.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct SavedLogin {
    /// The URL of the server.
    pub(super) server: String,
    /// Who issued the tokens. They are never sent to another issuer.
    pub(super) issuer: String,
    /// What the tokens are for, as the server calls it.
    pub(super) resource: String,
    pub(super) token_endpoint: String,
    pub(super) revocation_endpoint: Option<String>,
    pub(super) client: OauthClient,
    pub(super) access_token: String,
    pub(super) refresh_token: Option<String>,
    /// Seconds since 1970.
    pub(super) expires_at: Option<u64>,
    /// The granted scopes.
    pub(super) scope: Option<String>,
    /// Scopes that the server missed in a request.
    pub(super) missing_scope: Option<String>,
}

impl SavedLogin {
    /// Sets when the access token expires.
    pub(super) fn set_lifetime(&mut self, seconds: Option<u64>) {
        self.expires_at = seconds.map(|seconds| now().saturating_add(seconds));
    }

    pub(super) fn is_expired(&self) -> bool {
        self.expires_at.is_some_and(|end| end <= now() + EXPIRY_MARGIN_SECONDS)
    }

    /// The header of a request; `None` if the token is no header.
    pub(super) fn authorization(&self) -> Option<HeaderValue> {
        if self.access_token.is_empty() {
            return None;
        }
        let mut value = HeaderValue::from_str(&format!("Bearer {}", self.access_token)).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

impl LoginStore {
    /// The logins that are kept in a folder.
    pub fn in_folder(folder: &Path) -> LoginStore {
        LoginStore { file: folder.join(FILE_NAME) }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.file
    }

    pub(super) fn find(&self, server: &str) -> io::Result<Option<SavedLogin>> {
        Ok(self.read()?.into_iter().find(|login| login.server == server))
    }

    /// Replaces the login at a server.
    pub(super) fn save(&self, _: &LoginLock, login: SavedLogin) -> io::Result<()> {
        let mut all = self.read()?;
        all.retain(|other| other.server != login.server);
        all.push(login);
        self.write(&all)
    }

    /// Removes the login at a server.
    pub(super) fn remove(&self, _: &LoginLock, server: &str) -> io::Result<()> {
        let mut all = self.read()?;
        all.retain(|other| other.server != server);
        self.write(&all)
    }

    /// Waits until no other process changes the file or renews a token.
    pub(super) async fn lock(&self) -> io::Result<LoginLock> {
        if let Some(folder) = self.file.parent() {
            create_private_folder(folder)?;
        }
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true);
        restrict_mode(&mut options);
        let file = options.open(self.file.with_extension("lock"))?;
        let deadline = Instant::now() + LOCK_TIMEOUT;
        loop {
            match file.try_lock() {
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                    sleep(LOCK_PAUSE).await;
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(io::Error::other("another process is using it"));
                }
                // Some file systems have no locks.
                Ok(()) | Err(TryLockError::Error(_)) => return Ok(LoginLock(file)),
            }
        }
    }

    fn read(&self) -> io::Result<Vec<SavedLogin>> {
        let mut text = String::new();
        match File::open(&self.file) {
            Ok(file) => file.take(MAX_FILE_BYTES).read_to_string(&mut text)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        // The error of the parser would repeat a part of the file.
        serde_json::from_str(&text).map_err(|_| io::Error::other("it is not a list of logins"))
    }

    fn write(&self, logins: &[SavedLogin]) -> io::Result<()> {
        let number = getrandom::u64().map_err(io::Error::other)?;
        let temporary = self.file.with_extension(format!("{number:016x}.tmp"));
        let mut options = OpenOptions::new();
        options.create_new(true).write(true);
        restrict_mode(&mut options);
        let written = options.open(&temporary).and_then(|mut file| {
            file.write_all(&serde_json::to_vec_pretty(logins)?)?;
            file.sync_all()?;
            fs::rename(&temporary, &self.file)
        });
        written.inspect_err(|_| {
            let _ = fs::remove_file(&temporary);
        })
    }
}

/// Held while the file is changed. Dropping it releases the file.
pub(super) struct LoginLock(#[expect(dead_code, reason = "closing the file unlocks it")] File);

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(unix)]
fn restrict_mode(options: &mut OpenOptions) {
    use std::os::unix::fs::OpenOptionsExt as _;
    options.mode(0o600);
}

#[cfg(not(unix))]
fn restrict_mode(_: &mut OpenOptions) {}

#[cfg(unix)]
fn create_private_folder(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

#[cfg(not(unix))]
fn create_private_folder(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}
