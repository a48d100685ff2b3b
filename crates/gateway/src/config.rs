//! The gateway configuration: a file, environment variables and flags. Every value knows its
//! origin.
//!
//! [`read`] builds a [`LoadedConfig`] from them, or reports everything that is wrong at once.
//! Nothing here reads the environment or the disk itself: a [`ConfigEnvironment`] is passed in.

mod origin;
mod environment;
mod values;
mod nearest;
mod document;
mod config_reader;
mod address;
mod secrets;
mod access;
mod upstream;
mod upstreams;
mod agent;
mod routes;
mod sections;
mod read;
mod token;
#[cfg(test)]
mod tests;

pub use agent::{AgentConfig, AgentKind};
pub use config_reader::{ConfigSection, ConfigSetting};
pub use environment::{
    ConfigEnvironment, ConfigFile, ConfigFlags, FileExposure, TokenRequirement,
    file as config_file, token_file,
};
pub use origin::{ConfigError, ConfigIssue, ConfigIssueSeverity, SettingOrigin};
pub use read::{LoadedConfig, TokenState, read};
pub use token::{TokenError, new_token};

use std::{net::SocketAddr, sync::Arc, time::Duration};

use foxwedge_core::{PlaceholderLanguage, UnansweredPolicy};
use foxwedge_store::StoreUrl;
use http::HeaderName;

use foxwedge_upstream::{NetworkTarget, SecretText, UpstreamConfig};

/// The checked configuration.
#[derive(Clone, Debug)]
pub struct GatewayConfig {
    /// The address to listen on.
    pub listen: SocketAddr,
    /// Access control.
    pub access: AccessConfig,
    /// Where runs are stored.
    pub store: StoreUrl,
    /// Size limits.
    pub limits: GatewayLimits,
    /// Timeouts.
    pub times: GatewayTimeouts,
    /// The guard settings, unless a route overrides them.
    pub guard: GuardConfig,
    /// Session matching.
    pub sessions: SessionConfig,
    /// Recording of runs.
    pub record: RecordConfig,
    /// Logs and traces.
    pub telemetry: TelemetryConfig,
    /// What the console may show.
    pub console: ConsoleConfig,
    /// The upstreams.
    pub upstreams: Vec<Arc<UpstreamConfig>>,
    /// The model routes; the first match wins.
    pub routes: Vec<Arc<ModelRoute>>,
}

/// Access control.
#[derive(Clone, Debug)]
pub struct AccessConfig {
    /// The accepted tokens. The list may be empty only on a loopback address and on explicit
    /// request.
    pub tokens: Vec<AccessToken>,
    /// Allowed `Host` headers, beside loopback names and the listen address.
    pub hosts: Vec<String>,
    /// Web origins that may send requests, exactly as written.
    pub origins: Vec<String>,
}

/// A token and its scope.
#[derive(Clone, Debug)]
pub struct AccessToken {
    /// The owner of everything that is requested with it.
    pub owner: Arc<str>,
    /// The token.
    pub secret: SecretText,
    /// Whether it may also see and stop what belongs to other owners.
    pub scope: TokenScope,
}

/// The scope of a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TokenScope {
    /// Requests, and the owner's sessions and runs.
    User,
    /// Everything.
    Admin,
}

/// Size limits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GatewayLimits {
    /// Bytes of a request head.
    pub head: usize,
    /// Bytes of a request body as received.
    pub body: usize,
    /// Bytes of a request body after decompression.
    pub unpacked: usize,
    /// Messages of a history, and parts of a message.
    pub messages: usize,
    /// Nesting depth of JSON.
    pub depth: usize,
    /// Total connections.
    pub connections: usize,
    /// Connections from one address; loopback is exempt.
    pub per_address: usize,
    /// Concurrent requests of one owner.
    pub per_owner: usize,
    /// Bytes of one stream event.
    pub event: usize,
    /// Bytes of a reply that is read completely.
    pub reply: usize,
}

impl Default for GatewayLimits {
    fn default() -> GatewayLimits {
        GatewayLimits {
            head: 64 << 10,
            body: 32 << 20,
            unpacked: 64 << 20,
            messages: 12_000,
            depth: 512,
            connections: 4_096,
            per_address: 256,
            per_owner: 1_024,
            event: 4 << 20,
            reply: 64 << 20,
        }
    }
}

/// Timeouts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GatewayTimeouts {
    /// To receive a request head.
    pub head: Duration,
    /// Between parts of a request body.
    pub body: Duration,
    /// For an idle client connection.
    pub keep_alive: Duration,
    /// To write to a client that does not read.
    pub write: Duration,
    /// To connect to an upstream.
    pub connect: Duration,
    /// Until the first byte of an upstream's reply.
    pub first_byte: Duration,
    /// Between parts of a stream.
    pub idle: Duration,
    /// For running streams at shutdown.
    pub drain: Duration,
}

impl Default for GatewayTimeouts {
    fn default() -> GatewayTimeouts {
        let seconds = Duration::from_secs;
        GatewayTimeouts {
            head: seconds(10),
            body: seconds(30),
            keep_alive: seconds(75),
            write: seconds(30),
            connect: seconds(10),
            first_byte: seconds(600),
            idle: seconds(300),
            drain: seconds(25),
        }
    }
}

/// The guard settings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GuardConfig {
    /// How findings are handled.
    pub mode: GuardMode,
    /// How a repair handles calls without a result.
    pub unanswered: UnansweredPolicy,
    /// The language of placeholder text.
    pub language: PlaceholderLanguage,
    /// How a history that is too long for its model is handled.
    pub overflow: OverflowPolicy,
    /// Whether a request is repaired and sent again after the provider refused its history.
    pub heal: RepairRetry,
}

impl Default for GuardConfig {
    fn default() -> GuardConfig {
        GuardConfig {
            mode: GuardMode::Fix,
            unanswered: UnansweredPolicy::Answer,
            language: PlaceholderLanguage::default(),
            overflow: OverflowPolicy::Compact,
            heal: RepairRetry::Once,
        }
    }
}

/// How findings are handled.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum GuardMode {
    /// Requests are not checked.
    Off,
    /// Findings are reported, and nothing is changed.
    Observe,
    /// The history is repaired.
    Fix,
    /// The request is refused.
    Strict,
}

impl GuardMode {
    /// The name in files and headers.
    pub fn name(self) -> &'static str {
        match self {
            GuardMode::Off => "off",
            GuardMode::Observe => "observe",
            GuardMode::Fix => "fix",
            GuardMode::Strict => "strict",
        }
    }
}

/// How a history that is too long for its model is handled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OverflowPolicy {
    /// It is compacted: old tool results are shortened, then the oldest units are dropped.
    Compact,
    /// The model itself summarizes the old part.
    Summarize,
    /// It is sent as it is; the provider returns an error.
    Pass,
}

/// Whether a request is repaired and sent again after the provider refused its history.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RepairRetry {
    /// Once.
    Once,
    /// Never.
    Never,
}

/// Session matching. `call` ≤ `snapshot` ≤ `session`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SessionConfig {
    /// How long calls may wait for their results before their run is closed.
    pub call: Duration,
    /// How long a reply is cached for retries.
    pub snapshot: Duration,
    /// How long a conversation can be found again.
    pub session: Duration,
    /// How many conversation prefixes are indexed.
    pub nodes: usize,
    /// Bytes of replies that are cached for retries.
    pub replies: usize,
    /// Which requests count as retries.
    pub again: ReplayPolicy,
    /// How a second request on a busy session is handled.
    pub busy: BusyPolicy,
}

impl Default for SessionConfig {
    fn default() -> SessionConfig {
        let minutes = |minutes: u64| Duration::from_secs(minutes * 60);
        SessionConfig {
            call: minutes(10),
            snapshot: minutes(10),
            session: minutes(24 * 60),
            nodes: 1_000_000,
            replies: 32 << 20,
            again: ReplayPolicy::Marked,
            busy: BusyPolicy::Wait(Duration::from_secs(60)),
        }
    }
}

/// Which requests count as retries. A client that samples a model sends identical requests on
/// purpose.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReplayPolicy {
    /// The same body with the same `idempotency-key`, with a retry count above zero, or with the
    /// same explicit session.
    Marked,
    /// The same body.
    Identical,
    /// Nothing.
    Never,
}

/// How a second request on a busy session is handled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BusyPolicy {
    /// It waits for at most this time, and is then rejected.
    Wait(Duration),
    /// It is rejected at once.
    Refuse,
}

/// Recording of runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecordConfig {
    /// Which requests become runs in the store.
    pub runs: RunRecording,
    /// Whether message content is stored with them.
    pub content: ContentRecording,
    /// How many repairs are kept for the console.
    pub repairs: usize,
    /// Bytes of the kept repairs.
    pub repair_bytes: usize,
}

impl Default for RecordConfig {
    fn default() -> RecordConfig {
        RecordConfig {
            runs: RunRecording::All,
            content: ContentRecording::Omitted,
            repairs: 1_000,
            repair_bytes: 16 << 20,
        }
    }
}

/// Which requests become runs in the store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RunRecording {
    /// All.
    All,
    /// None.
    None,
}

/// Whether message content is stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ContentRecording {
    /// Names, ids, sizes and statuses only.
    Omitted,
    /// Everything.
    Stored,
}

/// Logs and traces.
#[derive(Clone, Debug)]
pub struct TelemetryConfig {
    /// The log format.
    pub log: GatewayLogFormat,
    /// The OpenTelemetry collector for spans (`http://host:4318`).
    pub otlp: Option<NetworkTarget>,
    /// Headers for the collector.
    pub otlp_headers: Vec<(HeaderName, SecretText)>,
}

/// What the console may show.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ConsoleConfig {
    /// The session files of agents on this machine.
    pub files: SessionFileAccess,
}

/// Whether session files of agents are shown and can be repaired.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SessionFileAccess {
    /// For administrators on this machine.
    #[default]
    Shown,
    /// Never.
    Hidden,
}

/// The log format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GatewayLogFormat {
    /// For people, colored on a terminal.
    Text,
    /// One JSON object per line.
    Json,
    /// No log.
    Off,
}

/// A model route.
#[derive(Clone, Debug)]
pub struct ModelRoute {
    /// The requested model: a name, or a prefix that ends with `*`.
    pub model: Box<str>,
    /// The upstream.
    pub upstream: Arc<UpstreamConfig>,
    /// The agent, if the upstream is one.
    pub agent: Option<Arc<AgentConfig>>,
    /// The upstream's name of the model; the same if `None`.
    pub rename: Option<Box<str>>,
    /// The guard settings.
    pub guard: GuardConfig,
    /// The context window in tokens, if it differs from the built-in one.
    pub window: Option<u64>,
}
