//! The packages that are watched, and where the names are in them.

use super::registry::PackageSource;

/// A package of an agent or an SDK.
pub(super) struct WatchedPackage {
    /// Its name in `acceptance/drift.json`.
    pub(super) name: &'static str,
    pub(super) source: PackageSource,
    /// A program of the package that writes its own types into an empty home: the path in the folder of
    /// the package, and the arguments. What it writes and prints is below `described/`.
    pub(super) describe: Option<(&'static str, &'static [&'static str])>,
    /// The files that are searched; `*` stands for any text.
    pub(super) files: &'static [&'static str],
    pub(super) watches: &'static [NameWatch],
    /// Where a new name may have to be handled.
    pub(super) reader: &'static str,
    /// The option of `cargo xtask agents` for it, and its program.
    pub(super) trial: Option<(&'static str, &'static str)>,
}

/// Names of one sort.
pub(super) struct NameWatch {
    pub(super) what: &'static str,
    /// Its groups are the name; see [`names_in`](super::scan::names_in).
    pub(super) pattern: &'static str,
    /// The agent whose known columns they are.
    pub(super) store: Option<&'static str>,
}

const fn watch(what: &'static str, pattern: &'static str) -> NameWatch {
    NameWatch { what, pattern, store: None }
}

/// A `type` with one value in a JSON schema.
const SCHEMA_TYPE: &str = r#""type"\s*:\s*\{[^{}]*?"(?:const|enum)"\s*:\s*\[?\s*"([a-z_./-]+)""#;

/// A `type` with one value in a declaration of TypeScript.
const DECLARED_TYPE: &str = r#"\btype: ['"]([A-Za-z0-9_.-]+)['"]"#;

/// A package without a program that is tried or describes itself.
const PLAIN: WatchedPackage = WatchedPackage {
    name: "",
    source: PackageSource::Npm(""),
    describe: None,
    files: &[],
    watches: &[],
    reader: "",
    trial: None,
};

/// What cannot be watched: Crush, whose package downloads its binary from elsewhere, and Neovate, which
/// has no package.
pub(super) const PACKAGES: &[WatchedPackage] = &[
    WatchedPackage {
        name: "claude-code",
        source: PackageSource::Npm("@anthropic-ai/claude-code-linux-x64"),
        files: &["package/claude"],
        watches: &[
            watch(
                "record kind",
                r#"\btype:"([a-z][a-z-]{2,40})",(?:(?:[A-Za-z]+:[^{},]{1,40},)?sessionId|parentUuid|uuid|leafUuid|messageId)\b"#,
            ),
            watch("system subtype", r#"\btype:"system",subtype:"([a-z_]{3,40})""#),
        ],
        reader: "crates/sessions/src/claude_code.rs",
        trial: Some(("--claude-code", "package/claude")),
        ..PLAIN
    },
    WatchedPackage {
        name: "codex",
        source: PackageSource::NpmBuild("@openai/codex", "-linux-x64"),
        describe: Some((
            "package/vendor/x86_64-unknown-linux-musl/bin/codex",
            &["app-server", "generate-json-schema", "--out", "."],
        )),
        files: &[
            "package/vendor/x86_64-unknown-linux-musl/bin/codex",
            "described/codex_app_server_protocol.schemas.json",
        ],
        watches: &[
            watch("item type", SCHEMA_TYPE),
            watch("column", r"ALTER TABLE (threads) ADD COLUMN ([a-z_]+)"),
        ],
        reader: "crates/sessions/src/codex.rs and crates/local/src/agents/codex.rs",
        trial: Some(("--codex", "package/vendor/x86_64-unknown-linux-musl/bin/codex")),
    },
    WatchedPackage {
        name: "gemini-cli",
        source: PackageSource::Npm("@google/gemini-cli"),
        files: &["package/bundle/*.js"],
        watches: &[
            watch("record kind", r#"is(?:String|Object)Property\(record\d*, "([$A-Za-z]+)"\)"#),
            watch("record kind", r"appendRecord\(\{ (\$[A-Za-z]+)"),
        ],
        reader: "crates/sessions/src/gemini_cli.rs",
        trial: Some(("--gemini-cli", "package/bundle/gemini.js")),
        ..PLAIN
    },
    WatchedPackage {
        name: "copilot-cli",
        source: PackageSource::Npm("@github/copilot-linux-x64"),
        // It unpacks itself when it starts.
        describe: Some(("package/copilot", &["--version"])),
        files: &["described/*/schemas/session-events.schema.json"],
        watches: &[watch("event type", SCHEMA_TYPE)],
        reader: "crates/sessions/src/copilot_cli.rs",
        trial: Some(("--copilot-cli", "package/copilot")),
    },
    WatchedPackage {
        name: "kimi-code",
        source: PackageSource::Npm("@moonshot-ai/kimi-code"),
        files: &["package/dist/main.mjs"],
        watches: &[watch(
            "record kind",
            r#"["'`](context\.[a-z_]+|step\.[a-z_]+|content\.part|tool\.(?:call|result)[a-z_.]*)["'`]"#,
        )],
        reader: "crates/sessions/src/kimi_code.rs",
        trial: Some(("--kimi-code", "package/dist/main.mjs")),
        ..PLAIN
    },
    WatchedPackage {
        name: "pi",
        source: PackageSource::Npm("@earendil-works/pi-coding-agent"),
        files: &["package/dist/core/session-manager.d.ts", "package/dist/core/messages.d.ts"],
        watches: &[
            watch("record kind", DECLARED_TYPE),
            watch("role", r#"\brole: ['"]([A-Za-z]+)['"]"#),
        ],
        reader: "crates/sessions/src/pi.rs",
        trial: Some(("--pi", "package/dist/bundle/cli.js")),
        ..PLAIN
    },
    WatchedPackage {
        name: "qwen-code",
        source: PackageSource::Npm("@qwen-code/qwen-code"),
        files: &["package/cli.js", "package/chunks/*.js"],
        watches: &[watch("record subtype", r#"\bsubtype: ?["']([a-z_]+)["']"#)],
        reader: "crates/sessions/src/qwen_code.rs",
        trial: Some(("--qwen-code", "package/cli.js")),
        ..PLAIN
    },
    WatchedPackage {
        name: "opencode",
        source: PackageSource::Npm("opencode-linux-x64"),
        describe: Some(("package/bin/opencode", &["generate"])),
        files: &["package/bin/opencode", "described/stdout"],
        watches: &OPENCODE_WATCHES,
        reader: "crates/sessions/src/opencode.rs and crates/sessions/src/store_tables.rs",
        trial: Some(("--opencode", "package/bin/opencode")),
    },
    WatchedPackage {
        name: "kilo",
        source: PackageSource::Npm("@kilocode/cli-linux-x64"),
        describe: Some(("package/bin/kilo", &["generate"])),
        files: &["package/bin/kilo", "described/stdout"],
        watches: &OPENCODE_WATCHES,
        reader: "crates/sessions/src/opencode.rs and crates/sessions/src/store_tables.rs",
        ..PLAIN
    },
    WatchedPackage {
        name: "goose",
        source: PackageSource::Npm("@aaif/goose-binary-linux-x64"),
        files: &["package/bin/goose"],
        watches: &[
            NameWatch {
                what: "column",
                pattern: r"CREATE TABLE IF NOT EXISTS (?P<table>messages) \((?P<columns>[^;]{0,900})",
                store: Some("goose"),
            },
            watch("migration", r"ALTER TABLE (sessions|messages) ADD COLUMN ([a-z_]+)"),
        ],
        reader: "crates/sessions/src/goose.rs and crates/sessions/src/store_tables.rs",
        ..PLAIN
    },
    WatchedPackage {
        name: "openai-sdk",
        source: PackageSource::Npm("openai"),
        files: &[
            "package/resources/responses/responses.d.ts",
            "package/resources/chat/completions/completions.d.ts",
        ],
        watches: &[watch("item or event type", DECLARED_TYPE)],
        reader: "crates/formats/src/openai_responses/ and crates/formats/src/openai_chat/",
        ..PLAIN
    },
    WatchedPackage {
        name: "anthropic-sdk",
        source: PackageSource::Npm("@anthropic-ai/sdk"),
        files: &["package/resources/messages/messages.d.ts"],
        watches: &[watch("block or event type", DECLARED_TYPE)],
        reader: "crates/formats/src/anthropic/",
        ..PLAIN
    },
    WatchedPackage {
        name: "google-genai",
        source: PackageSource::Npm("@google/genai"),
        files: &["package/dist/genai.d.ts"],
        watches: &[watch(
            "field of a part",
            r"\n    ((?:function|tool|thought|inline|file|executable|code|video|part|speech|media)[A-Za-z]*)\?: (?:FunctionCall|FunctionResponse|ToolCall|ToolResponse|Blob|FileData|ExecutableCode|CodeExecutionResult|VideoMetadata|[A-Z][A-Za-z]*Metadata);",
        )],
        reader: "crates/formats/src/gemini/",
        ..PLAIN
    },
    WatchedPackage {
        name: "ai-sdk",
        source: PackageSource::Npm("ai"),
        files: &["package/dist/index.d.ts"],
        watches: &[watch("part or chunk type", DECLARED_TYPE)],
        reader: "crates/sessions/src/ai_sdk/ and crates/run/src/",
        ..PLAIN
    },
    WatchedPackage {
        name: "claude-agent-sdk",
        source: PackageSource::PyPi("claude-agent-sdk"),
        files: &["package/claude_agent_sdk/*.py"],
        watches: &[
            watch("control subtype", r#"\bsubtype: Literal\["([a-z_]+)"\]"#),
            watch("message type", r#"\bcase "([a-z_]+)":"#),
        ],
        reader: "crates/agents/src/",
        ..PLAIN
    },
];

const OPENCODE_WATCHES: [NameWatch; 3] = [
    NameWatch {
        what: "column",
        pattern: r"CREATE TABLE `?(?P<table>message|part)`? \((?P<columns>[^;]{0,900})",
        store: Some("opencode"),
    },
    watch("migration", r"\b(20\d{12}_[a-z_0-9]+)\b"),
    watch("part or event type", SCHEMA_TYPE),
];
