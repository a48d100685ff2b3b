//! `foxwedge serve --check-config` and `--print-config`: what would run, who said so, and everything
//! that is wrong.

use crate::sandbox::{Ran, Sandbox};

/// Variables that a configuration is read from.
pub(crate) const VARIABLES: [&str; 18] = [
    "FOXWEDGE_CONFIG",
    "FOXWEDGE_LISTEN",
    "FOXWEDGE_MODE",
    "FOXWEDGE_STORE_RUNS",
    "FOXWEDGE_STORE_CONTENT",
    "FOXWEDGE_LOG",
    "FOXWEDGE_TOKEN",
    "FOXWEDGE_UPSTREAM",
    "FOXWEDGE_UPSTREAM_KEY",
    "FOXWEDGE_OTLP",
    "FOXWEDGE_OTLP_CONTENT",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_HEADERS",
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "SHELL",
];

/// A configuration with a little of everything.
const FILE: &str = r#"
listen = "127.0.0.1:9999"

[access]
hosts = ["gateway.example"]

[[token]]
owner = "alice"
token = "canary-token-of-alice"

[limits]
request_body = "1MiB"

[sessions]
busy_wait = "refuse"

[[upstream]]
name = "main"
kind = "anthropic"
key = "canary-main"
headers = { x-team = "canary-team" }

[[upstream]]
name = "own"
kind = "openai-compatible"
base_url = "http://10.0.0.7:8000/v1"
key_file = "own.key"
profile = "mistral"

[[upstream]]
name = "theirs"
kind = "openai"
key = "caller"

[[route]]
model = "claude-*"
upstream = "main"

[[route]]
model = "fast"
upstream = "own"
upstream_model = "qwen3-coder"
mode = "strict"
context_window = 32768

[[route]]
model = "gpt-*"
upstream = "theirs"
"#;

/// A machine with nothing set, and a file in the user's configuration folder.
pub(crate) fn configured(text: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("../home/.config/foxwedge/foxwedge.toml", text);
    sandbox.write("../home/.config/foxwedge/own.key", "canary-own\n");
    let folder = sandbox.home().join(".config/foxwedge");
    for name in ["foxwedge.toml", "own.key"] {
        private(&folder.join(name));
    }
    sandbox
}

#[cfg(unix)]
fn private(path: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
}

#[cfg(not(unix))]
fn private(_: &std::path::Path) {}

/// Runs the binary with these variables and no others.
pub(crate) fn ran(sandbox: &Sandbox, variables: &[(&str, &str)], arguments: &[&str]) -> Ran {
    let mut command = sandbox.command(arguments);
    for name in VARIABLES {
        command.env_remove(name);
    }
    command.envs(variables.iter().copied());
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| {
        let home = sandbox.home().to_string_lossy().into_owned();
        String::from_utf8(bytes).unwrap().replace(&home, "[home]")
    };
    let ran = Ran {
        code: output.status.code().unwrap_or(-1),
        out: text(output.stdout),
        err: text(output.stderr),
    };
    assert!(!ran.all().contains("canary"), "a secret was shown: {}", ran.all());
    assert!(!ran.err.contains("panicked"), "{}", ran.all());
    ran
}

#[test]
fn a_configuration_is_checked_and_told() {
    let sandbox = configured(FILE);
    let told = ran(&sandbox, &[("FOXWEDGE_MODE", "observe")], &["serve", "--check-config"]);
    insta::assert_snapshot!(told.all());
}

#[test]
fn the_fallbacks_of_a_route_are_told_below_it() {
    let file = "[[upstream]]\nname = \"one\"\nkind = \"openai-compatible\"\n\
                base_url = \"http://127.0.0.1:4001/v1\"\n\
                [[upstream]]\nname = \"two\"\nkind = \"openai-compatible\"\n\
                base_url = \"http://127.0.0.1:4000/v1\"\n\
                [[route]]\nmodel = \"m\"\nupstream = \"one\"\n\
                [[route]]\nmodel = \"m\"\nupstream = \"two\"\nupstream_model = \"n\"\n\
                fallback = true\n";
    let told = ran(&configured(file), &[], &["serve", "--check-config"]).all();
    let lines: Vec<&str> = told.lines().map(str::trim).collect();
    let at = lines.iter().position(|line| line.starts_with("m ") && line.ends_with("→ one"));
    let fallback = at.and_then(|at| lines.get(at + 1)).copied().unwrap_or_default();
    assert!(fallback.starts_with("→ two") && fallback.ends_with("fallback, as n"), "{told}");
}

#[test]
fn every_setting_is_printed_with_who_set_it() {
    let sandbox = configured(FILE);
    let variables = [("FOXWEDGE_MODE", "observe"), ("FOXWEDGE_LOG", "json")];
    let arguments = ["serve", "--print-config", "--log", "off", "--store", "memory:"];
    insta::assert_snapshot!(ran(&sandbox, &variables, &arguments).all());
}

#[test]
fn without_anything_the_built_in_model_would_run() {
    let sandbox = Sandbox::new();
    insta::assert_snapshot!(ran(&sandbox, &[], &["serve", "--check-config"]).all());
    // Looking makes nothing.
    assert!(!sandbox.home().join(".config/foxwedge").exists());
}

#[test]
fn a_key_in_the_environment_would_be_used() {
    let sandbox = Sandbox::new();
    let variables = [("OPENAI_API_KEY", "canary-1"), ("ANTHROPIC_API_KEY", "canary-2")];
    insta::assert_snapshot!(ran(&sandbox, &variables, &["serve", "--check-config"]).all());
}

#[test]
fn everything_that_is_wrong_is_said_at_once() {
    let text = r#"
listn = "127.0.0.1:1"

[limits]
request_body = "64MiB"
decompressed_body = "32MiB"
history_messages = 0

[sessions]
call_timeout = "1h"

[[upstream]]
name = "main"
kind = "anthropic"
base_url = "https://me:canary@api.example"
key = ""

[[upstream]]
name = "main"
kind = "gemini"
key = "canary with a space"

[[route]]
model = "gpt-*"
upstream = "mian"
"#;
    let sandbox = configured(text);
    let told = ran(&sandbox, &[("FOXWEDGE_MODE", "fixed")], &["serve", "--check-config"]);
    insta::assert_snapshot!(told.all());
    // The same without the flag: nothing is started.
    let started = ran(&sandbox, &[("FOXWEDGE_MODE", "fixed")], &["serve"]);
    assert_eq!((started.code, started.err), (2, told.err));
}

#[test]
fn former_flags_name_the_new_ones() {
    let arguments = ["serve", "--check-config", "--record", "none", "--content", "kept"];
    let told = ran(&Sandbox::new(), &[], &arguments);
    let expected = "error: --content: this flag is now `--store-content`\n  \
                    help: `--store-content true`\n\
                    error: --record: this flag is now `--store-runs`\n  \
                    help: `--store-runs false`\n\
                    2 errors in the configuration; nothing was started.\n";
    assert_eq!((told.code, told.err.as_str()), (2, expected), "{}", told.all());
    let help = ran(&Sandbox::new(), &[], &["serve", "--help"]);
    assert!(help.out.contains("--store-runs") && !help.out.contains("--record"), "{}", help.out);
}

#[test]
fn a_torn_file_is_told_without_its_text() {
    let sandbox = configured("[[upstream]]\nname = \"x\"\nkey = canary-key\n");
    let told = ran(&sandbox, &[], &["serve", "--check-config"]);
    assert_eq!((told.code, told.out.as_str()), (2, ""));
    assert!(told.err.starts_with("error: ~/.config/foxwedge/foxwedge.toml:3: "), "{}", told.err);
}

#[test]
fn a_file_of_the_current_folder_is_never_taken() {
    let sandbox = Sandbox::new();
    let evil = "[[upstream]]\nname = \"evil\"\nkind = \"openai\"\nbase_url = \"https://evil.example\"\nkey = \"x\"\n";
    for name in [
        "foxwedge.toml",
        ".foxwedge.toml",
        ".config/foxwedge/foxwedge.toml",
        "foxwedge/foxwedge.toml",
    ] {
        sandbox.write(name, evil);
    }
    sandbox.write(".env", "FOXWEDGE_UPSTREAM=https://evil.example\n");
    let usual = ran(&Sandbox::new(), &[], &["serve", "--check-config"]);
    for variables in [&[][..], &[("XDG_CONFIG_HOME", ".")], &[("XDG_CONFIG_HOME", ".config")]] {
        let told = ran(&sandbox, variables, &["serve", "--check-config"]);
        assert_eq!(told.all(), usual.all());
    }
    let told = ran(&sandbox, &[("FOXWEDGE_CONFIG", "foxwedge.toml")], &["serve", "--check-config"]);
    assert_eq!(told.code, 2, "{}", told.all());
    assert!(told.err.contains("the path is relative"), "{}", told.err);
    // Whoever types it means it.
    let told = ran(&sandbox, &[], &["serve", "--check-config", "--config", "foxwedge.toml"]);
    assert!(told.code == 0 && told.out.contains("evil.example"), "{}", told.all());
}

#[test]
fn nobody_opens_the_door_to_the_world() {
    let sandbox = Sandbox::new();
    let arguments = ["serve", "--no-token", "--check-config", "--listen"];
    for (listen, code) in [("127.0.0.1:0", 0), ("[::1]:0", 0), ("0.0.0.0:0", 2), ("10.0.0.1:0", 2)]
    {
        let told = ran(&sandbox, &[], &[&arguments[..], &[listen]].concat());
        assert_eq!(told.code, code, "{listen}: {}", told.all());
        let said = told.err.contains("error: --no-token: `listen`:");
        assert_eq!(said, code == 2, "{}", told.err);
    }
}

#[cfg(unix)]
#[test]
fn a_key_that_others_may_read_is_told() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = configured(FILE);
    let key = sandbox.home().join(".config/foxwedge/own.key");
    std::fs::set_permissions(key, std::fs::Permissions::from_mode(0o644)).unwrap();
    let told = ran(&sandbox, &[], &["serve", "--check-config"]);
    assert_eq!(told.code, 0, "{}", told.all());
    assert!(told.err.contains("warning: ~/.config/foxwedge/foxwedge.toml:"), "{}", told.err);
    assert!(told.err.contains("`upstream.own.key_file`: other users can read"), "{}", told.err);
}

#[test]
fn the_file_of_the_manual_is_a_configuration() {
    let manual = include_str!("../../../../docs/gateway/configuration.md");
    let (_, rest) = manual.split_once("```toml\n").unwrap();
    let (text, _) = rest.split_once("```").unwrap();
    let sandbox = configured(text);
    let variables = [("ALICE_TOKEN", "canary-token-of-alice")];
    let told = ran(&sandbox, &variables, &["serve", "--check-config"]);
    assert_eq!((told.code, told.err.as_str()), (0, ""), "{}", told.all());
    // It says that its values are the defaults.
    assert!(!told.out.contains("\nchanged from default\n"), "{}", told.out);
}
