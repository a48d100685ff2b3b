//! The gateway configuration: a file, environment variables and flags. Every value knows its
//! origin.
//!
//! [`read`] builds a [`LoadedConfig`] from them, or reports everything that is wrong at once.
//! Nothing here reads the environment or the disk itself: a [`ConfigEnvironment`] is passed in.

mod origin;
mod environment;
mod local_environment;
mod values;
mod table;
mod document;
mod config_reader;
mod address;
mod secrets;
mod access;
mod upstream;
mod upstreams;
mod agent;
mod cloud;
mod routes;
mod sections;
mod setting_row;
mod network;
mod read;
mod reload;
mod token;
#[cfg(test)]
mod tests;

pub use access::TokenState;
pub use config_reader::{ConfigSection, ConfigSetting};
pub use environment::{
    ConfigEnvironment, ConfigFile, ConfigFlags, FileExposure, TokenRequirement,
    file as config_file, token_file,
};
pub use foxwedge_agents::{AgentConfig, AgentKind};
pub use local_environment::LocalEnvironment;
pub use origin::{ConfigError, ConfigIssue, ConfigIssueSeverity, SettingOrigin};
pub use read::{LoadedConfig, read, read_network};
pub use reload::ConfigChanges;
pub use table::{
    ConsoleConfig, GatewayLimits, GatewayTimeouts, GuardConfig, RecordConfig, SessionConfig,
    root_keys,
};
pub use token::{TokenError, new_token};

use std::{net::SocketAddr, sync::Arc, time::Duration};

use foxwedge_store::StoreUrl;
use http::HeaderName;

use foxwedge_upstream::{NetworkTarget, SecretText, UpstreamConfig, http::NetworkConfig};

/// The checked configuration.
#[derive(Clone, Debug)]
pub struct GatewayConfig {
    /// The address to listen on.
    pub listen: SocketAddr,
    /// The address at which other gateways on the same store reach this one; `None`: the address that
    /// it listens on.
    pub advertise: Option<String>,
    /// Access control.
    pub access: AccessConfig,
    /// Where runs are stored.
    pub store: StoreUrl,
    /// Size limits.
    pub limits: GatewayLimits,
    /// Timeouts.
    pub timeouts: GatewayTimeouts,
    /// Proxies and trusted certificates.
    pub network: NetworkConfig,
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
    /// Whether spans include the messages of requests and replies.
    pub otlp_content: bool,
}

/// The log format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GatewayLogFormat {
    /// Text on a terminal, JSON elsewhere.
    Auto,
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
    pub upstream_model: Option<Box<str>>,
    /// The guard settings.
    pub guard: GuardConfig,
    /// The context window in tokens, if it differs from the built-in one.
    pub context_window: Option<u64>,
    /// Routes of the same model that are used, in this order, while this one fails.
    pub fallbacks: Vec<Arc<ModelRoute>>,
}
