//! The table of settings. Each key is declared once, with its type, default, range, words, one line
//! of documentation, variables, flag and former name.
//!
//! The reader, the listing of a configuration and the manual follow the table. A key whose value is
//! read by code of its own has an example in the table instead of a default.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    time::Duration,
};

use foxwedge_core::{PlaceholderLanguage, UnansweredPolicy};
use foxwedge_upstream::UpstreamKind;

use super::{
    BusyPolicy, ContentRecording, GatewayLogFormat, GuardMode, OverflowPolicy, ReplayPolicy,
    TokenScope,
    config_reader::{ConfigReader, SectionReader},
    setting_row::{SectionTable, SettingRow},
    values::{ByteSize, ConfigValue},
};

/// Declares a section as a typed struct: its fields are the keys. After the default come other
/// fields of [`SettingRow`].
macro_rules! settings {
    (@kind $type:ty) => { $type };
    (@kind $type:ty, $kind:ty) => { $kind };
    ($($(#[$meta:meta])* $vis:vis struct $name:ident { $(
        #[doc = $doc:literal]
        $key:ident: $type:ty $(as $kind:ty)? = $default:expr $(, $field:ident: $value:expr)*;
    )+ })+) => { $(
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        $vis struct $name { $(#[doc = $doc] $vis $key: $type,)+ }

        impl Default for $name {
            fn default() -> $name {
                $name { $($key: $default),+ }
            }
        }

        impl $name {
            /// The rows of the table.
            fn rows() -> Vec<SettingRow> {
                vec![$(SettingRow {
                    key: stringify!($key),
                    doc: $doc.trim().trim_end_matches('.'),
                    value: <settings!(@kind $type $(, $kind)?)>::to_toml(&$default),
                    words: <settings!(@kind $type $(, $kind)?)>::allowed_words(),
                    $($field: $value,)*
                    ..SettingRow::default()
                }),+]
            }

            /// Reads every key. With `base`, keys that are not set have its values.
            pub(super) fn read(
                reader: &mut ConfigReader<'_>,
                section: &mut SectionReader<'_>,
                base: Option<$name>,
            ) -> $name {
                $name { $($key: reader.read_setting::<settings!(@kind $type $(, $kind)?)>(
                    section, stringify!($key), $default, base.map(|base| base.$key),
                )),+ }
            }
        }
    )+ };
}

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

settings! {
    /// The settings before the first header.
    pub(super) struct RootSettings {
        /// Address to listen on.
        listen: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 4177),
            variables: &["FOXWEDGE_LISTEN"], flag: Some(("--listen", |flags| &flags.listen));
    }

    /// Size limits.
    pub struct GatewayLimits {
        /// Bytes of a request head; at least 8KiB.
        request_head: usize as ByteSize = 64 << 10, min: "8KiB", former: "head";
        /// Bytes of a request body as received; at most `decompressed_body`.
        request_body: usize as ByteSize = 32 << 20, warn_below: "64KiB", former: "body";
        /// Bytes of a request body after decompression.
        decompressed_body: usize as ByteSize = 64 << 20, warn_below: "64KiB", former: "unpacked";
        /// Messages of a history, and parts of a message.
        history_messages: usize = 12_000, former: "messages";
        /// Nesting depth of JSON.
        json_depth: usize = 512, former: "depth";
        /// Connections in total.
        connections: usize = 4_096;
        /// Connections from one address; loopback is exempt.
        connections_per_address: usize = 2048, former: "per_address";
        /// Concurrent requests of one owner.
        requests_per_owner: usize = 1_024, former: "per_owner";
        /// Bytes of one stream event.
        stream_event: usize as ByteSize = 4 << 20, warn_below: "4KiB", former: "event";
        /// Bytes of a reply that is read completely.
        whole_reply: usize as ByteSize = 64 << 20, warn_below: "64KiB", former: "reply";
    }

    /// Timeouts.
    pub struct GatewayTimeouts {
        /// To receive a request head.
        request_head: Duration = seconds(10), former: "head";
        /// Between parts of a request body.
        request_body: Duration = seconds(30), former: "body";
        /// For an idle client connection.
        keep_alive: Duration = seconds(75);
        /// To write to a client that does not read.
        client_write: Duration = seconds(30), former: "write";
        /// To connect to an upstream.
        upstream_connect: Duration = seconds(10), former: "connect";
        /// Until the first byte of an upstream's reply.
        upstream_first_byte: Duration = seconds(600), former: "first_byte";
        /// Between parts of a stream.
        stream_idle: Duration = seconds(300), former: "idle";
        /// For open requests at shutdown; `0s` does not wait.
        shutdown: Duration = seconds(25), may_be_zero: true, former: "drain";
        /// How much of it requests are still accepted, while `/readiness` answers 503.
        shutdown_delay: Duration = seconds(0), may_be_zero: true,
            variables: &["FOXWEDGE_SHUTDOWN_DELAY"];
    }

    /// The guard settings.
    pub struct GuardConfig {
        /// How findings are handled.
        mode: GuardMode = GuardMode::Fix,
            variables: &["FOXWEDGE_MODE"], flag: Some(("--mode", |flags| &flags.mode));
        /// How a repair handles calls without a result.
        unanswered: UnansweredPolicy = UnansweredPolicy::Answer;
        /// Language of placeholder text.
        language: PlaceholderLanguage = PlaceholderLanguage::English,
            variables: &["FOXWEDGE_LANG"];
        /// How a history that is too long for its model is handled.
        overflow: OverflowPolicy = OverflowPolicy::Compact;
        /// Repair a history and send it once more after the provider refused it.
        repair_after_refusal: bool = true,
            former: "heal", former_words: &[("once", "true"), ("never", "false")];
        /// Repair calls of streamed replies whose arguments are not JSON, or that lack an id or a name.
        repair_streams: bool = false;
    }

    /// Session matching. `call_timeout` ≤ `reply_ttl` ≤ `session_ttl`.
    pub struct SessionConfig {
        /// How long calls may wait for their results before their run is closed.
        call_timeout: Duration = seconds(600), former: "call";
        /// How long a reply is cached for retries; at least `call_timeout`.
        reply_ttl: Duration = seconds(600), former: "snapshot";
        /// How long a conversation can be found again; at least `reply_ttl`.
        session_ttl: Duration = seconds(86_400), former: "session";
        /// Conversation prefixes that are indexed.
        max_prefixes: usize = 1_000_000, may_be_zero: true, former: "nodes";
        /// Bytes of cached replies; an eighth is for retries.
        reply_cache: usize as ByteSize = 32 << 20, may_be_zero: true, former: "replies";
        /// Repeated requests that count as retries.
        retries: ReplayPolicy = ReplayPolicy::Marked, former: "again";
        /// How long a second request on a busy session waits; or "refuse".
        busy_wait: BusyPolicy = BusyPolicy::Wait(seconds(60)), former: "busy";
    }

    /// Recording of runs.
    pub struct RecordConfig {
        /// Whether requests are stored as runs.
        store_runs: bool = true, former: "runs",
            former_words: &[("all", "true"), ("none", "false")],
            variables: &["FOXWEDGE_STORE_RUNS"], former_variable: "FOXWEDGE_RECORD",
            flag: Some(("--store-runs", |flags| &flags.store_runs)),
            former_flag: Some(("--record", |flags| &flags.former_record));
        /// Whether runs include message content; live followers see it in any case.
        store_content: ContentRecording = ContentRecording::Omitted, former: "content",
            former_words: &[("kept", "true"), ("left", "false")],
            variables: &["FOXWEDGE_STORE_CONTENT"], former_variable: "FOXWEDGE_CONTENT",
            flag: Some(("--store-content", |flags| &flags.store_content)),
            former_flag: Some(("--content", |flags| &flags.former_content));
        /// Repairs that are kept for the console.
        max_repairs: usize = 1_000, may_be_zero: true, former: "repairs";
        /// Bytes of the kept repairs.
        max_repair_bytes: usize as ByteSize = 16 << 20, may_be_zero: true, former: "repair_bytes";
    }

    /// The words of `[telemetry]`.
    pub(super) struct TelemetrySettings {
        /// Log format; `auto`: text on a terminal, JSON elsewhere.
        log: GatewayLogFormat = GatewayLogFormat::Auto,
            variables: &["FOXWEDGE_LOG"], flag: Some(("--log", |flags| &flags.log));
        /// Whether spans include the messages of requests and replies.
        otlp_content: bool = false, variables: &["FOXWEDGE_OTLP_CONTENT"];
    }

    /// The simple settings of `[network]`.
    pub(super) struct NetworkSettings {
        /// Whether upstreams on this machine, too, are reached through the proxy.
        proxy_loopback: bool = false;
    }

    /// What the console may show.
    pub struct ConsoleConfig {
        /// Whether administrators on this machine see and repair the session files of agents.
        session_files: bool = true, former: "files";
    }

    /// The words of a `[[token]]`.
    pub(super) struct TokenSettings {
        /// Access to the own sessions and runs, or to everything.
        scope: TokenScope = TokenScope::User;
    }

    /// The simple settings of an `[[upstream]]` that is reached over the network.
    pub(super) struct UpstreamSettings {
        /// Whether the host name may resolve to a private or loopback address.
        allow_private: bool = false, former: "private";
        /// Attempts per request, 1 to 10.
        attempts: usize = 3, max: "10", former: "tries";
    }

    /// The simple settings of an `[[upstream]]` that is an agent.
    pub(super) struct AgentSettings {
        /// Start without the user's own settings, hooks, plugins and memory.
        bare: bool = true;
        /// Whether the agent may ask the user for permissions and answers.
        ask_user: bool = false, former: "asks";
        /// Maximum number of processes.
        max_processes: usize = 16, former: "most";
        /// How long a process may be idle.
        idle_timeout: Duration = seconds(600), former: "idle";
        /// How long a process may take to start.
        start_timeout: Duration = seconds(60), former: "start";
        /// How long a process may be silent while a client waits.
        turn_timeout: Duration = seconds(600), former: "turn";
    }
}

/// A key that is read by code of its own.
fn example(key: &'static str, value: &str, doc: &'static str) -> SettingRow {
    SettingRow { key, doc, value: value.to_owned(), ..SettingRow::default() }
}

/// An example of a key that is usually not set.
fn unset(key: &'static str, value: &str, doc: &'static str) -> SettingRow {
    SettingRow { is_unset: true, ..example(key, value, doc) }
}

/// All sections, in the order of the manual. The second `upstream` and `route` are for an agent.
pub(super) fn sections() -> Vec<SectionTable> {
    let section = |name: &'static str, former_name, rows| SectionTable {
        name,
        former_name,
        header: if name.is_empty() { String::new() } else { format!("[{name}]") },
        rows,
    };
    let list =
        |name, rows| SectionTable { name, former_name: "", header: format!("[[{name}]]"), rows };
    vec![
        section("", "", root_rows()),
        section("access", "", access_rows()),
        section("limits", "", GatewayLimits::rows()),
        section("timeouts", "times", GatewayTimeouts::rows()),
        section("network", "", network_rows()),
        section("guard", "", GuardConfig::rows()),
        section("sessions", "", SessionConfig::rows()),
        section("record", "", RecordConfig::rows()),
        section("telemetry", "", telemetry_rows()),
        section("console", "", ConsoleConfig::rows()),
        list("token", token_rows()),
        list("upstream", upstream_rows()),
        list("upstream", agent_rows()),
        list("route", route_rows()),
        list("route", agent_route_rows()),
    ]
}

/// The keys before the first header, and the names of the sections.
pub fn root_keys() -> Vec<&'static str> {
    let rows = root_rows();
    let keys = rows.iter().flat_map(|row| [row.key, row.former]);
    let sections = sections();
    let names = sections.iter().flat_map(|section| [section.name, section.former_name]);
    let mut known: Vec<&str> = keys.chain(names).filter(|name| !name.is_empty()).collect();
    known.dedup();
    known
}

fn root_rows() -> Vec<SettingRow> {
    let store = "\"sqlite:/home/me/.local/share/foxwedge/foxwedge.db\"";
    let store = SettingRow {
        variables: &["FOXWEDGE_STORE"],
        flag: Some(("--store", |flags| &flags.store)),
        ..unset("store", store, "Where runs are stored: a file, or postgres://…")
    };
    let advertise = "Where other gateways on the same PostgreSQL reach this one";
    let advertise = SettingRow {
        variables: &["FOXWEDGE_ADVERTISE"],
        ..unset("advertise", "\"10.0.0.5:4177\"", advertise)
    };
    [RootSettings::rows(), vec![advertise, store]].concat()
}

fn access_rows() -> Vec<SettingRow> {
    let hosts = "Allowed `Host` headers, beside loopback names and the listen address";
    let origins = "Web origins that may send requests, such as \"https://chat.example\"";
    let token = "File with the token of the owner `local`";
    vec![
        example("hosts", "[]", hosts),
        example("origins", "[]", origins),
        unset("token_file", "\"~/.config/foxwedge/token\"", token),
    ]
}

fn network_rows() -> Vec<SettingRow> {
    let proxy = "Proxy for all upstreams; may be \"env:NAME\"; \"none\" ignores the variables";
    let no_proxy = "Hosts and networks that are reached without the proxy";
    let ca_file = "PEM file with certificate authorities to trust, beside those of the system";
    let rows = vec![
        SettingRow {
            variables: &["HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY"],
            ..unset("proxy", "\"http://proxy.example:3128\"", proxy)
        },
        SettingRow {
            variables: &["NO_PROXY"],
            ..unset("no_proxy", "[\".internal\", \"10.0.0.0/8\"]", no_proxy)
        },
        unset("ca_file", "\"/etc/ssl/company.pem\"", ca_file),
    ];
    [rows, NetworkSettings::rows()].concat()
}

fn telemetry_rows() -> Vec<SettingRow> {
    let otlp = SettingRow {
        variables: &["FOXWEDGE_OTLP", "OTEL_EXPORTER_OTLP_ENDPOINT"],
        ..unset("otlp", "\"http://localhost:4318\"", "OpenTelemetry collector for traces")
    };
    let headers = "{ x-scope = \"env:OTLP_SCOPE\" }";
    let headers = SettingRow {
        variables: &["OTEL_EXPORTER_OTLP_HEADERS"],
        ..unset("otlp_headers", headers, "Headers for the collector")
    };
    [TelemetrySettings::rows(), vec![otlp, headers]].concat()
}

fn token_rows() -> Vec<SettingRow> {
    let rows = vec![
        example("owner", "\"alice\"", "Owner of all sessions and runs of this token"),
        example("env", "\"ALICE_TOKEN\"", "Variable that contains the token"),
        unset("token_file", "\"alice.token\"", "Or a file with the token"),
        unset("token", "\"…\"", "Or the token itself"),
    ];
    [rows, TokenSettings::rows()].concat()
}

fn upstream_rows() -> Vec<SettingRow> {
    let kind = example("kind", "\"openai-compatible\"", "Kind of provider");
    let key = "The key: \"env:NAME\", \"caller\", \"none\", or the key itself";
    let formats = example("formats", "[\"openai-chat\"]", "Formats, the preferred one first");
    let headers = "More headers; values may be \"env:NAME\"";
    let rows = vec![
        example("name", "\"own\"", "Name for routes, at most 64 characters"),
        SettingRow { words: UpstreamKind::allowed_words(), ..kind },
        example("base_url", "\"https://vllm.example/v1\"", "Base URL of the provider"),
        example("key", "\"none\"", key),
        unset("key_file", "\"own.key\"", "Or a file with the key"),
        example("profile", "\"mistral\"", "Rules that histories must follow"),
        SettingRow { former: "speaks", ..formats },
        example("headers", "{ x-team = \"agents\" }", headers),
    ];
    let identity = vec![
        unset("client_cert", "\"gateway.pem\"", "Certificate that the upstream asks for"),
        unset("client_key", "\"gateway.key\"", "Its key"),
    ];
    [rows, UpstreamSettings::rows(), identity, cloud_rows()].concat()
}

/// The keys of an `[[upstream]]` that is a cloud.
fn cloud_rows() -> Vec<SettingRow> {
    vec![
        unset("api_version", "\"2024-10-21\"", "azure: the dated API"),
        unset("tenant", "\"contoso.example\"", "azure: tenant in Entra"),
        unset("authority", "\"login.microsoftonline.us\"", "azure: Entra of another cloud"),
        unset("client_id", "\"00000000-…\"", "azure: application"),
        unset("client_secret", "\"env:ENTRA_SECRET\"", "azure: its secret"),
        unset("project", "\"my-project\"", "vertex"),
        unset("region", "\"us-east-1\"", "vertex (default \"global\"), bedrock"),
        unset("credentials_file", "\"vertex.json\"", "vertex: account"),
        unset("access_key_id", "\"env:AWS_ACCESS_KEY_ID\"", "bedrock: requests are signed"),
        unset("secret_access_key", "\"env:AWS_SECRET_ACCESS_KEY\"", "bedrock"),
        unset("session_token", "\"env:AWS_SESSION_TOKEN\"", "bedrock"),
    ]
}

/// The keys of an `[[upstream]]` that is an agent.
pub(super) fn agent_rows() -> Vec<SettingRow> {
    let folder = "Working folder; by default a new private one for each process";
    let state = "Folder with the agent's settings and session files";
    let env = "More environment variables that the agent may see";
    let set_env = "Environment variables to set; values may be \"env:NAME\"";
    let tools = "The agent's own tools that it may use, such as [\"Read\", \"Grep\"]";
    let rows = vec![
        example("name", "\"agent\"", "Another upstream: an agent"),
        example("kind", "\"claude-code\"", "A process that lives as long as its conversation"),
        example("command", "\"claude\"", "Command, or a list with its first arguments"),
        SettingRow { former: "folder", ..unset("working_folder", "\"/srv/work\"", folder) },
        unset("state", "\"~/.claude\"", state),
        example("env", "[]", env),
        SettingRow { former: "set", ..example("set_env", "{}", set_env) },
        example("tools", "[]", tools),
        unset("permissions", "\"plan\"", "The agent's `--permission-mode`"),
    ];
    [rows, AgentSettings::rows()].concat()
}

fn route_rows() -> Vec<SettingRow> {
    let model = example("upstream_model", "\"qwen3-coder\"", "Name of the model at the upstream");
    let window = "Context window in tokens; longer histories are handled by `overflow`";
    let rows = vec![
        example("model", "\"fast\"", "Requested model: a name, or a prefix and `*`"),
        example("upstream", "\"own\"", "Name of the upstream"),
        SettingRow { former: "rename", ..model },
        SettingRow { former: "window", ..example("context_window", "32768", window) },
    ];
    // A route overrides the guard settings in the file only.
    let doc = "As in [guard]";
    let guard = GuardConfig::rows().into_iter();
    let guard = guard.map(|row| SettingRow {
        variables: &[],
        flag: None,
        is_unset: true,
        doc,
        words: Vec::new(),
        ..row
    });
    let fallback = "Whether it is used only while the earlier routes of this model fail";
    rows.into_iter().chain(guard).chain([unset("fallback", "true", fallback)]).collect()
}

/// The route of the agent in the manual.
fn agent_route_rows() -> Vec<SettingRow> {
    vec![
        example("model", "\"claude-code\"", "Requests for this model go to the agent"),
        example("upstream", "\"agent\"", "Name of the upstream"),
    ]
}
