//! What an operator sets: a file, the environment, flags. Every value knows which of them set it.
//!
//! [`read`] makes a [`Config`] of them, or says everything that is wrong with them at once. Nothing
//! here looks at the environment or the disk itself: a [`World`] is given in.

mod origin;
mod environment;
mod values;
mod nearest;
mod document;
mod config_reader;
mod address;
mod secrets;
mod access;
mod upstream_kind;
mod upstream;
mod upstreams;
mod single;
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
pub use nearest::distance;
pub use origin::{ConfigError, ConfigIssue, ConfigIssueSeverity, SettingOrigin};
pub use read::{LoadedConfig, TokenState, read};
pub(crate) use single::{builtin_upstream, single_upstream};
pub use token::{TokenError, new_token};

use std::{net::SocketAddr, sync::Arc, time::Duration};

use foxwedge_core::{Format, PlaceholderLanguage, Profile, UnansweredPolicy};
use foxwedge_store::StoreUrl;
use http::{HeaderName, HeaderValue};

use crate::SecretText;

/// Everything that is set, checked.
#[derive(Clone, Debug)]
pub struct GatewayConfig {
    /// Where to listen.
    pub listen: SocketAddr,
    /// Who may come in.
    pub access: AccessConfig,
    /// Where runs are kept.
    pub store: StoreUrl,
    /// How much of everything.
    pub limits: GatewayLimits,
    /// How long.
    pub times: GatewayTimeouts,
    /// What happens to histories, unless a route says otherwise.
    pub guard: GuardConfig,
    /// How conversations are found again.
    pub sessions: SessionConfig,
    /// What is kept.
    pub record: RecordConfig,
    /// What is told to operators.
    pub telemetry: TelemetryConfig,
    /// What the console may look at.
    pub console: ConsoleConfig,
    /// Who is asked.
    pub upstreams: Vec<Arc<UpstreamConfig>>,
    /// Which model goes where; the first that fits.
    pub routes: Vec<Arc<ModelRoute>>,
}

/// Who may come in.
#[derive(Clone, Debug)]
pub struct AccessConfig {
    /// Tokens that open the door; none only on a loopback address and by an explicit wish.
    pub tokens: Vec<AccessToken>,
    /// What the `Host` header may say, beside loopback names and the address itself.
    pub hosts: Vec<String>,
    /// Which web pages may ask: exact origins.
    pub origins: Vec<String>,
}

/// A token, and what it opens.
#[derive(Clone, Debug)]
pub struct AccessToken {
    /// Whose it is: the owner of what is asked with it.
    pub owner: Arc<str>,
    /// The token.
    pub secret: SecretText,
    /// Whether it may see what belongs to others, and end it.
    pub scope: TokenScope,
}

/// What a token opens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TokenScope {
    /// Requests, and one's own sessions and runs.
    User,
    /// Everything.
    Admin,
}

/// How much of everything.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GatewayLimits {
    /// Bytes of a request's head.
    pub head: usize,
    /// Bytes of a body as it comes.
    pub body: usize,
    /// Bytes of a body unpacked.
    pub unpacked: usize,
    /// Messages of a history, and parts of them.
    pub messages: usize,
    /// How deep JSON may nest.
    pub depth: usize,
    /// Connections in all.
    pub connections: usize,
    /// Connections from one address; loopback is not counted.
    pub per_address: usize,
    /// Requests of one owner at a time.
    pub per_owner: usize,
    /// Bytes of one event of a stream.
    pub event: usize,
    /// Bytes of a reply that has to be read whole.
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

/// How long.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GatewayTimeouts {
    /// A head has to be there.
    pub head: Duration,
    /// A body has to go on coming.
    pub body: Duration,
    /// A connection may rest between requests.
    pub keep_alive: Duration,
    /// A client that does not read is let go.
    pub write: Duration,
    /// An upstream has to take a connection.
    pub connect: Duration,
    /// An upstream has to begin its reply.
    pub first_byte: Duration,
    /// A stream has to go on.
    pub idle: Duration,
    /// Streams may finish after the wish to stop.
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

/// What happens to histories.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GuardConfig {
    /// What is done about a finding.
    pub mode: GuardMode,
    /// What a repair does with calls that nobody answered.
    pub unanswered: UnansweredPolicy,
    /// The language of what a repair invents.
    pub language: PlaceholderLanguage,
    /// What happens to a history that is too long for its model.
    pub overflow: OverflowPolicy,
    /// Whether a refusal for the shape of a history is repaired and sent once more.
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

/// What is done about a finding.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum GuardMode {
    /// Nobody looks.
    Off,
    /// It is told, and nothing changes.
    Observe,
    /// It is repaired.
    Fix,
    /// The request is refused.
    Strict,
}

impl GuardMode {
    /// The word in files and headers.
    pub fn name(self) -> &'static str {
        match self {
            GuardMode::Off => "off",
            GuardMode::Observe => "observe",
            GuardMode::Fix => "fix",
            GuardMode::Strict => "strict",
        }
    }
}

/// What happens to a history that is too long for its model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OverflowPolicy {
    /// It is made shorter: old answers shrink, then the oldest units go.
    Compact,
    /// The model itself is asked for a summary of what is old.
    Summarize,
    /// It goes as it is; the provider will say so.
    Pass,
}

/// Whether a refusal for the shape of a history is repaired and sent once more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RepairRetry {
    /// Once.
    Once,
    /// Never.
    Never,
}

/// How conversations are found again. `call` ≤ `snapshot` ≤ `session`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SessionConfig {
    /// How long calls may stay unanswered before their run is closed.
    pub call: Duration,
    /// How long a reply is kept for a client that asks the same again.
    pub snapshot: Duration,
    /// How long a conversation can be found again.
    pub session: Duration,
    /// How many places in conversations are remembered.
    pub nodes: usize,
    /// Bytes of replies that are kept for clients that ask again.
    pub replies: usize,
    /// What counts as asking again.
    pub again: ReplayPolicy,
    /// A second request on a session that is at work.
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

/// What counts as asking the same again. Whoever samples a model asks the same on purpose.
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

/// A second request on a session that is at work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BusyPolicy {
    /// Waits, so long, and is then refused.
    Wait(Duration),
    /// Is refused at once.
    Refuse,
}

/// What is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecordConfig {
    /// Which requests become runs in the store.
    pub runs: RunRecording,
    /// Whether what was said is kept with them.
    pub content: ContentRecording,
    /// How many repairs are kept for the console.
    pub repairs: usize,
    /// Bytes of them.
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

/// Whether what was said is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ContentRecording {
    /// Names, ids, sizes and statuses only.
    Omitted,
    /// Everything.
    Stored,
}

/// What is told to operators.
#[derive(Clone, Debug)]
pub struct TelemetryConfig {
    /// How lines of the log look.
    pub log: GatewayLogFormat,
    /// Where spans go, an address of an OpenTelemetry collector (`http://host:4318`).
    pub otlp: Option<NetworkTarget>,
    /// Headers for the collector.
    pub otlp_headers: Vec<(HeaderName, SecretText)>,
}

/// What the console may look at.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ConsoleConfig {
    /// The session files of agents on this machine.
    pub files: SessionFileAccess,
}

/// Whether session files of agents are shown, and repaired.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SessionFileAccess {
    /// To administrators on this machine.
    #[default]
    Shown,
    /// To nobody.
    Hidden,
}

/// How lines of the log look.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GatewayLogFormat {
    /// For people, coloured on a terminal.
    Text,
    /// One JSON object a line.
    Json,
    /// None.
    Off,
}

/// Who is asked.
#[derive(Clone, Debug)]
pub struct UpstreamConfig {
    /// Its name.
    pub name: Arc<str>,
    /// How it is reached.
    pub transport: UpstreamTransport,
    /// What stands between the address and `/chat/completions` or `/messages`: `/v1` for most, and
    /// nothing where the address says all of it. For Gemini `/v1beta`.
    pub version: Box<str>,
    /// The formats it speaks, the preferred one first.
    pub speaks: Vec<Format>,
    /// Whose rules its histories have to obey; that of the format's owner if not told.
    pub profile: Option<Profile>,
    /// In whose name it is asked.
    pub key: UpstreamKey,
    /// Headers that every request carries.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// How often a request is tried in all, before anything was streamed.
    pub tries: u32,
}

impl UpstreamConfig {
    /// Whose rules a history in that format has to obey.
    pub fn profile(&self, wire: Format) -> Profile {
        self.profile.unwrap_or(Profile::for_format(wire))
    }
}

/// How an upstream is reached.
#[derive(Clone, Debug)]
pub enum UpstreamTransport {
    /// Over the network.
    Network(NetworkTarget),
    /// It is the built-in model.
    Scripted,
    /// It is a process of an agent that lives as long as its conversation.
    Agent(Arc<AgentConfig>),
}

/// An address on the network. Only a configuration names one, never a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NetworkTarget {
    /// Encrypted.
    pub tls: bool,
    /// The host in small letters: a name or an address; IPv6 without brackets.
    pub host: Box<str>,
    /// The port.
    pub port: u16,
    /// The path before the version (`/v1`), without a slash at its end; mostly empty.
    pub prefix: Box<str>,
    /// Which addresses the name may lead to.
    pub addresses: AddressPolicy,
}

/// Which addresses a name may lead to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AddressPolicy {
    /// Those of the open network only.
    Public,
    /// Loopback and private ones, too: the configuration says so, or names such an address itself.
    /// Link-local and metadata addresses never.
    Private,
}

/// In whose name an upstream is asked.
#[derive(Clone, Debug)]
pub enum UpstreamKey {
    /// With a key of the configuration.
    Configured(SecretText),
    /// With the key that the client sent.
    FromCaller,
    /// With none.
    None,
}

/// Which model goes where.
#[derive(Clone, Debug)]
pub struct ModelRoute {
    /// The model that a client asks for: a name, or a beginning with `*`.
    pub model: Box<str>,
    /// The upstream.
    pub upstream: Arc<UpstreamConfig>,
    /// The name that the upstream knows it by; the same if not told.
    pub rename: Option<Box<str>>,
    /// What happens to its histories.
    pub guard: GuardConfig,
    /// The model's window in tokens, if it is not the known one.
    pub window: Option<u64>,
}
