//! Configuration of a server, and the errors of a connection.

use std::{fmt, path::PathBuf, time::Duration};

use foxwedge_upstream::{SecretText, http};

use super::login_store::LoginStore;

/// A configured server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct McpServer {
    /// Its name, which is part of the names of its tools.
    pub name: String,
    /// How to reach it.
    pub transport: McpTransport,
    /// The tools to offer, by their names at the server; `None` offers all.
    pub allow: Option<Vec<String>>,
    /// Whether to trust a tool's read-only hint. A trusted tool runs in parallel with others and
    /// without approval.
    pub trust_read_only: bool,
    /// Timeout of one call.
    pub call_timeout: Duration,
    /// Settings of a login.
    pub oauth: OauthSettings,
}

/// Settings of a login at an HTTP server. By default, everything is negotiated.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct OauthSettings {
    /// A client that was registered by hand; `None` registers one.
    pub client_id: Option<String>,
    /// Its secret, if it has one.
    pub client_secret: Option<SecretText>,
    /// The scopes to request, separated by blanks; `None` requests those that the server names.
    pub scopes: Option<String>,
    /// The port on this machine that the browser is sent back to; `None` takes a free one.
    pub callback_port: Option<u16>,
}

impl McpServer {
    /// Default timeout of one call.
    pub const DEFAULT_CALL_TIMEOUT: Duration = Duration::from_secs(120);

    /// A server with default settings.
    pub fn new(name: impl Into<String>, transport: McpTransport) -> McpServer {
        McpServer {
            name: name.into(),
            transport,
            allow: None,
            trust_read_only: true,
            call_timeout: McpServer::DEFAULT_CALL_TIMEOUT,
            oauth: OauthSettings::default(),
        }
    }
}

/// How to reach a server.
#[derive(Clone, PartialEq, Eq)]
pub enum McpTransport {
    /// A child process, over stdin and stdout.
    Stdio {
        /// The program and its arguments.
        command: Vec<String>,
        /// Additional environment variables.
        env: Vec<(String, String)>,
        /// Its working directory; ours if `None`.
        folder: Option<PathBuf>,
    },
    /// Over HTTP: "streamable HTTP", or the older transport if the server has only that.
    Http {
        /// The full URL.
        url: String,
        /// Headers of every request.
        headers: Vec<(String, String)>,
    },
    /// Over the older HTTP transport: an event stream, and an address for messages.
    Sse {
        /// The full URL of the event stream.
        url: String,
        /// Headers of every request.
        headers: Vec<(String, String)>,
    },
}

impl McpTransport {
    /// The address of an HTTP server.
    pub fn url(&self) -> Option<&str> {
        match self {
            McpTransport::Stdio { .. } => None,
            McpTransport::Http { url, .. } | McpTransport::Sse { url, .. } => Some(url),
        }
    }

    /// Values that must not appear in messages.
    pub(super) fn secret_values(&self) -> Vec<String> {
        const MIN_LENGTH: usize = 8;
        let pairs = match self {
            McpTransport::Stdio { env, .. } => env,
            McpTransport::Http { headers, .. } | McpTransport::Sse { headers, .. } => headers,
        };
        let values = pairs.iter().map(|(_, value)| value.clone());
        let mut all: Vec<String> = values.filter(|value| value.len() >= MIN_LENGTH).collect();
        // Longest first: one may be the start of another.
        all.sort_by_key(|value| std::cmp::Reverse(value.len()));
        all
    }
}

/// Leaves out the values of variables and headers: most are keys.
impl fmt::Debug for McpTransport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |pairs: &[(String, String)]| -> Vec<String> {
            pairs.iter().map(|(name, _)| name.clone()).collect()
        };
        match self {
            McpTransport::Stdio { command, env, folder } => formatter
                .debug_struct("Stdio")
                .field("program", &command.first())
                .field("env", &names(env))
                .field("folder", folder)
                .finish_non_exhaustive(),
            McpTransport::Http { url: _, headers } => formatter
                .debug_struct("Http")
                .field("headers", &names(headers))
                .finish_non_exhaustive(),
            McpTransport::Sse { url: _, headers } => formatter
                .debug_struct("Sse")
                .field("headers", &names(headers))
                .finish_non_exhaustive(),
        }
    }
}

/// Environment that all servers share.
#[derive(Clone, Debug)]
pub struct McpEnvironment {
    /// The working directory that servers get as root, if they request it.
    pub root: Option<PathBuf>,
    /// How long a server may take until its tools are known.
    pub start_timeout: Duration,
    /// Maximum bytes of text of one tool result; the middle of a longer one is left out.
    pub max_result_text: usize,
    /// Maximum bytes that wait for a server process that does not read. It is killed when more is
    /// sent.
    pub max_unread_input: usize,
    /// Client for HTTP servers.
    pub client: http::HttpClient,
    /// Where logins are kept; `None` supports no logins.
    pub logins: Option<LoginStore>,
    /// How long a login waits for the user.
    pub login_timeout: Duration,
}

impl Default for McpEnvironment {
    fn default() -> McpEnvironment {
        // Calls have their own timeout, and a notification stream is mostly silent.
        let timeout = Duration::from_secs(24 * 60 * 60);
        let settings = http::HttpSettings {
            first_byte: timeout,
            idle: timeout,
            ..http::HttpSettings::default()
        };
        McpEnvironment {
            root: None,
            start_timeout: Duration::from_secs(30),
            max_result_text: 64 << 10,
            max_unread_input: 64 << 20,
            client: http::HttpClient::new(settings),
            logins: None,
            login_timeout: Duration::from_secs(5 * 60),
        }
    }
}

impl McpEnvironment {
    /// Uses the proxies and certificates of a configuration for HTTP servers.
    #[must_use]
    pub fn with_network(self, network: &http::NetworkConfig) -> McpEnvironment {
        McpEnvironment { client: self.client.with_network(network), ..self }
    }
}

/// Why a server cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum McpError {
    /// The program or the address does not exist.
    #[error("MCP server `{server}` cannot be started: {why}")]
    Start {
        /// Its name.
        server: String,
        /// What is wrong.
        why: String,
    },
    /// It was not ready in time.
    #[error("MCP server `{server}` did not get ready within {} s{said}", within.as_secs_f32())]
    StartTimeout {
        /// Its name.
        server: String,
        /// The timeout.
        within: Duration,
        /// Its output meanwhile, after a colon; or empty.
        said: String,
    },
    /// It ended.
    #[error("MCP server `{server}` is gone: {why}")]
    Exited {
        /// Its name.
        server: String,
        /// How it ended, and its last output.
        why: String,
    },
    /// Its response is invalid.
    #[error("MCP server `{server}` cannot be used: {why}")]
    Refused {
        /// Its name.
        server: String,
        /// Its error.
        why: String,
    },
    /// It requires a login, another one, or one with more rights.
    #[error("MCP server `{server}` cannot be used: {why}")]
    LoginRequired {
        /// Its name.
        server: String,
        /// What it requires.
        why: String,
    },
    /// It was closed on our side.
    #[error("MCP server `{server}` was closed")]
    Closed {
        /// Its name.
        server: String,
    },
}
