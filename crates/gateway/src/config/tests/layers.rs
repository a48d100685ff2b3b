//! Defaults, the file, variables, flags: each overrides the previous ones.

use super::*;

#[test]
fn every_layer_overrides_the_previous_ones() {
    let here = Here::new();
    assert_eq!(setting(&here.loaded(), "[guard]", "mode"), "\"fix\" # default");
    let here = here.saying("[guard]\n\nmode = \"observe\"\n");
    let loaded = here.loaded();
    assert_eq!(setting(&loaded, "[guard]", "mode"), "\"observe\" # foxwedge.toml:3");
    assert_eq!(loaded.config.guard.mode, GuardMode::Observe);
    let here = here.with("FOXWEDGE_MODE", "off");
    assert_eq!(setting(&here.loaded(), "[guard]", "mode"), "\"off\" # FOXWEDGE_MODE");
    let here = here.typed(|flags| flags.mode = Some("strict".to_owned()));
    let loaded = here.loaded();
    assert_eq!(setting(&loaded, "[guard]", "mode"), "\"strict\" # --mode");
    assert_eq!(loaded.config.guard.mode, GuardMode::Strict);
    // A route without a setting of its own uses the global one.
    assert!(loaded.config.routes.iter().all(|route| route.guard.mode == GuardMode::Strict));
}

#[test]
fn flags_and_variables_have_their_settings() {
    let here = Here::new()
        .with("FOXWEDGE_LISTEN", "127.0.0.1:1")
        .with("FOXWEDGE_STORE", "memory:")
        .with("FOXWEDGE_STORE_RUNS", "false")
        .with("FOXWEDGE_STORE_CONTENT", "true")
        .with("FOXWEDGE_LOG", "json")
        .with("FOXWEDGE_LANG", "zh")
        .with("OTEL_EXPORTER_OTLP_ENDPOINT", "http://one:4318")
        .with("FOXWEDGE_OTLP", "http://two:4318")
        .with("FOXWEDGE_MODE", "");
    let loaded = here.loaded();
    let table = [
        ("", "listen", "\"127.0.0.1:1\" # FOXWEDGE_LISTEN"),
        ("", "store", "\"memory:\" # FOXWEDGE_STORE"),
        ("[record]", "store_runs", "false # FOXWEDGE_STORE_RUNS"),
        ("[record]", "store_content", "true # FOXWEDGE_STORE_CONTENT"),
        ("[telemetry]", "log", "\"json\" # FOXWEDGE_LOG"),
        ("[telemetry]", "otlp", "\"http://two:4318\" # FOXWEDGE_OTLP"),
        ("[guard]", "language", "\"zh\" # FOXWEDGE_LANG"),
        // An empty variable counts as not set.
        ("[guard]", "mode", "\"fix\" # default"),
    ];
    for (header, key, expected) in table {
        assert_eq!(setting(&loaded, header, key), expected, "{key}");
    }
    let typed = here.typed(|flags| {
        flags.listen = Some("[::1]:2".to_owned());
        flags.store = Some("runs.db".to_owned());
        flags.store_runs = Some("true".to_owned());
        flags.store_content = Some("false".to_owned());
        flags.log = Some("off".to_owned());
    });
    let loaded = typed.loaded();
    let table = [
        ("", "listen", "\"[::1]:2\" # --listen"),
        ("", "store", "\"sqlite:runs.db\" # --store"),
        ("[record]", "store_runs", "true # --store-runs"),
        ("[record]", "store_content", "false # --store-content"),
        ("[telemetry]", "log", "\"off\" # --log"),
    ];
    for (header, key, expected) in table {
        assert_eq!(setting(&loaded, header, key), expected, "{key}");
    }
}

#[test]
fn a_file_of_the_current_folder_is_never_taken() {
    let local = "[guard]\nmode = \"off\"\n[[upstream]]\nname = \"evil\"\n";
    let here =
        || Here::new().holding("foxwedge.toml", local).holding("/somewhere/foxwedge.toml", local);
    let loaded = here().loaded();
    assert_eq!((loaded.file, loaded.config.guard.mode), (None, GuardMode::Fix));
    // A relative path is not a valid configuration folder.
    let loaded = here().with("XDG_CONFIG_HOME", ".").loaded();
    assert_eq!((loaded.file, loaded.config.guard.mode), (None, GuardMode::Fix));
    let issues = here().with("FOXWEDGE_CONFIG", "foxwedge.toml").complaints();
    assert_eq!(issues, ["FOXWEDGE_CONFIG: the path is relative | use an absolute path"]);
    let issues = Here::default().with("HOME", ".").complaints();
    assert_eq!(issues.len(), 2, "{issues:?}");
}

#[test]
fn the_file_is_found_where_it_is_named() {
    let says = |listen| format!("listen = \"127.0.0.1:{listen}\"\n");
    let here = Here::new()
        .saying(&says("1"))
        .holding("/etc/xdg/foxwedge/foxwedge.toml", &says("2"))
        .holding("/etc/fw.toml", &says("3"))
        .holding("here.toml", &says("4"));
    let port = |here: &Here| here.loaded().config.listen.port();
    assert_eq!(port(&here), 1);
    let here = here.with("XDG_CONFIG_HOME", "/etc/xdg");
    assert_eq!(port(&here), 2);
    let here = here.with("FOXWEDGE_CONFIG", "/etc/fw.toml");
    assert_eq!(port(&here), 3);
    // A path from the command line may be relative.
    let here = here.typed(|flags| flags.config = Some("here.toml".into()));
    assert_eq!(port(&here), 4);
    let here = here.typed(|flags| flags.config = Some("missing.toml".into()));
    assert_eq!(here.complaints(), ["--config: `missing.toml` cannot be read: entity not found"]);
}

#[test]
fn paths_of_the_file_lie_beside_it() {
    let upstream = "[[upstream]]\nname = \"o\"\nkind = \"openai\"\nkey_file = \"keys/o\"\n";
    let token = "[access]\ntoken_file = \"~/secret\"\n";
    let here = Here::new()
        .saying(&format!("store = \"runs.db\"\n{token}{upstream}"))
        .holding("/home/fox/.config/foxwedge/keys/o", "sk-1\n")
        .holding("/home/fox/secret", "a-token-that-is-long-enough\n");
    let loaded = here.loaded();
    assert_eq!(loaded.config.store.to_string(), "sqlite:/home/fox/.config/foxwedge/runs.db");
    assert!(loaded.config.access.tokens[0].secret.equals("a-token-that-is-long-enough"));
    assert_eq!(loaded.token_state, TokenState::Ready);
    let UpstreamKey::Configured(key) = &loaded.config.upstreams[0].key else { panic!("no key") };
    assert!(key.equals("sk-1"));
}

#[test]
fn nothing_set_is_the_default() {
    let loaded = Here::new().loaded();
    let GatewayConfig {
        listen,
        access,
        store,
        limits,
        timeouts,
        guard,
        sessions,
        record,
        telemetry,
        ..
    } = loaded.config;
    assert_eq!(listen.to_string(), "127.0.0.1:4177");
    assert_eq!(store.to_string(), "sqlite:/home/fox/.local/share/foxwedge/foxwedge.db");
    assert_eq!(limits, GatewayLimits::default());
    assert_eq!(timeouts, GatewayTimeouts::default());
    assert_eq!(guard, GuardConfig::default());
    assert_eq!(sessions, SessionConfig::default());
    assert_eq!(record, RecordConfig::default());
    assert_eq!((telemetry.log, telemetry.otlp), (GatewayLogFormat::Auto, None));
    assert!(access.tokens.is_empty() && access.hosts.is_empty() && access.origins.is_empty());
    assert_eq!(loaded.token_state, TokenState::Missing("/home/fox/.config/foxwedge/token".into()));
    assert!(loaded.warnings.is_empty());
    let usual = |block: &ConfigSection| block.settings.iter().all(|it| it.is_default);
    assert!(loaded.sections.iter().all(usual));
}

/// A file with every setting.
const FULL: &str = r#"
listen = "127.0.0.1:9000"
store = "/var/runs.db"
[access]
hosts = ["Gateway.example:8443"]
origins = ["https://chat.example"]
[[token]]
owner = "alice"
token = "a-token-of-alice-0123456789"
scope = "admin"
[limits]
request_head = "32KiB"
request_body = "1MiB"
decompressed_body = 2_097_152
history_messages = 5
json_depth = 6
connections = 7
connections_per_address = 8
requests_per_owner = 9
stream_event = "3MiB"
whole_reply = "4MiB"
[timeouts]
request_head = "1s"
request_body = "2s"
keep_alive = "3s"
client_write = "4s"
upstream_connect = "5s"
upstream_first_byte = "6s"
stream_idle = "7s"
shutdown = "8s"
shutdown_delay = "3s"
[network]
proxy = "http://proxy.example:3128"
no_proxy = ["intern.example", "10.0.0.0/8"]
proxy_loopback = true
[guard]
mode = "observe"
unanswered = "drop-turn"
language = "zh"
overflow = "pass"
repair_after_refusal = false
repair_streams = true
[sessions]
call_timeout = "1m"
reply_ttl = "2m"
session_ttl = "3m"
max_prefixes = 10
reply_cache = "5MiB"
retries = "identical"
busy_wait = "refuse"
[record]
store_runs = false
store_content = true
max_repairs = 0
max_repair_bytes = 0
[telemetry]
log = "json"
otlp_content = true
otlp = "http://collector:4318"
otlp_headers = { authorization = "Bearer canary-otlp" }
[console]
session_files = false
[[upstream]]
name = "own"
kind = "openai-compatible"
base_url = "http://vllm.internal:8000/v1"
allow_private = true
key = "none"
profile = "mistral"
formats = ["openai-chat", "anthropic"]
attempts = 2
headers = { x-team = "canary-team" }
[[route]]
model = "claude-*"
upstream = "own"
upstream_model = "qwen"
mode = "strict"
unanswered = "drop-call"
language = "en"
overflow = "compact"
repair_after_refusal = true
repair_streams = false
context_window = 200000
[[route]]
model = "claude-*"
upstream = "own"
upstream_model = "qwen-small"
mode = "strict"
unanswered = "drop-call"
language = "en"
overflow = "compact"
repair_after_refusal = true
repair_streams = false
context_window = 200000
fallback = true
"#;

#[test]
fn every_setting_can_be_set_in_a_file_and_is_shown_as_written() {
    let loaded = Here::new().saying(FULL).loaded();
    assert!(loaded.warnings.is_empty(), "{:?}", loaded.warnings);
    let mut text = String::new();
    for block in &loaded.sections {
        if block.header == "[[upstream]]" && block.settings[0].value == "\"scripted\""
            || block.settings.iter().any(|it| it.value == "\"scripted*\"")
        {
            continue;
        }
        text.push_str(&format!("{}\n", block.header));
        for ConfigSetting { key, value, origin, is_default: usual } in &block.settings {
            assert!(matches!(origin, SettingOrigin::File { .. }) && !usual, "{key} {origin}");
            text.push_str(&format!("{key} = {value}\n"));
        }
    }
    // The shown configuration can be read again, with the same result.
    let text = text.replace("token = \"[secret]\"", "token = \"another-token-0123456789\"");
    let again = Here::new().saying(&text).loaded();
    let values = |loaded: &LoadedConfig| -> Vec<(String, String)> {
        let all = loaded.sections.iter().flat_map(|block| &block.settings);
        all.map(|it| (it.key.clone(), it.value.clone())).collect()
    };
    assert_eq!(values(&again), values(&loaded));
    assert_eq!(again.config.limits, loaded.config.limits);
    assert_eq!(again.config.sessions, loaded.config.sessions);
    let route = loaded.config.route("claude-x").expect("a route");
    assert_eq!(
        (route.upstream_model.as_deref(), route.context_window),
        (Some("qwen"), Some(200_000))
    );
    assert!(route.guard.mode == GuardMode::Strict && route.guard.repair_after_refusal);
    let upstream = &loaded.config.upstreams[0];
    assert_eq!((upstream.attempts, &*upstream.version), (2, "/v1"));
    assert_eq!(loaded.config.access.hosts, ["gateway.example:8443"]);
    assert_eq!(loaded.config.access.tokens[0].scope, TokenScope::Admin);
}

#[test]
fn flags_of_the_command_line_may_stand_in_the_same_file() {
    let here = Here::new().saying("listen = \"127.0.0.1:1\"\n[check]\nprofile = \"claude\"\n");
    assert_eq!(here.loaded().config.listen.to_string(), "127.0.0.1:1");
    let issues = Here::new().saying("[guard]\ncheck = 1\n").complaints();
    assert_eq!(issues.len(), 1, "{issues:?}");
}
