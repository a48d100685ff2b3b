//! The command lines of vendors: how each is started, and where it keeps its session.

use std::{
    env,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use foxwedge_core::Format;

use super::{
    folder::{AgentFolder, run_turn},
    store,
};

/// Whose command line it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AgentVendor {
    ClaudeCode,
    Codex,
    GeminiCli,
    Pi,
    CopilotCli,
    KimiCode,
    QwenCode,
    Opencode,
}

impl AgentVendor {
    pub(super) const ALL: [AgentVendor; 8] = [
        AgentVendor::ClaudeCode,
        AgentVendor::Codex,
        AgentVendor::GeminiCli,
        AgentVendor::Pi,
        AgentVendor::CopilotCli,
        AgentVendor::KimiCode,
        AgentVendor::QwenCode,
        AgentVendor::Opencode,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            AgentVendor::ClaudeCode => "Claude Code",
            AgentVendor::Codex => "Codex",
            AgentVendor::GeminiCli => "Gemini CLI",
            AgentVendor::Pi => "pi",
            AgentVendor::CopilotCli => "Copilot CLI",
            AgentVendor::KimiCode => "Kimi Code",
            AgentVendor::QwenCode => "Qwen Code",
            AgentVendor::Opencode => "opencode",
        }
    }

    pub(super) fn option(self) -> &'static str {
        match self {
            AgentVendor::ClaudeCode => "--claude-code",
            AgentVendor::Codex => "--codex",
            AgentVendor::GeminiCli => "--gemini-cli",
            AgentVendor::Pi => "--pi",
            AgentVendor::CopilotCli => "--copilot-cli",
            AgentVendor::KimiCode => "--kimi-code",
            AgentVendor::QwenCode => "--qwen-code",
            AgentVendor::Opencode => "--opencode",
        }
    }

    pub(super) fn variable(self) -> &'static str {
        match self {
            AgentVendor::ClaudeCode => "FOXWEDGE_CLAUDE_CODE",
            AgentVendor::Codex => "FOXWEDGE_CODEX",
            AgentVendor::GeminiCli => "FOXWEDGE_GEMINI_CLI",
            AgentVendor::Pi => "FOXWEDGE_PI",
            AgentVendor::CopilotCli => "FOXWEDGE_COPILOT_CLI",
            AgentVendor::KimiCode => "FOXWEDGE_KIMI_CODE",
            AgentVendor::QwenCode => "FOXWEDGE_QWEN_CODE",
            AgentVendor::Opencode => "FOXWEDGE_OPENCODE",
        }
    }

    /// The format of its requests.
    pub(super) fn format(self) -> Format {
        match self {
            AgentVendor::ClaudeCode
            | AgentVendor::Pi
            | AgentVendor::CopilotCli
            | AgentVendor::KimiCode
            | AgentVendor::QwenCode
            | AgentVendor::Opencode => Format::Anthropic,
            AgentVendor::Codex => Format::OpenaiResponses,
            AgentVendor::GeminiCli => Format::Gemini,
        }
    }

    /// Whether a result is on disk before the other calls of its reply have theirs.
    pub(super) fn writes_each_result(self) -> bool {
        match self {
            AgentVendor::ClaudeCode
            | AgentVendor::Codex
            | AgentVendor::CopilotCli
            | AgentVendor::KimiCode
            | AgentVendor::Opencode => true,
            AgentVendor::GeminiCli | AgentVendor::Pi | AgentVendor::QwenCode => false,
        }
    }

    /// Whether calls are on disk before they are answered.
    pub(super) fn keeps_open_calls(self) -> bool {
        match self {
            AgentVendor::ClaudeCode
            | AgentVendor::Codex
            | AgentVendor::Pi
            | AgentVendor::CopilotCli
            | AgentVendor::KimiCode
            | AgentVendor::QwenCode
            | AgentVendor::Opencode => true,
            AgentVendor::GeminiCli => false,
        }
    }
}

/// A command line, installed.
pub(super) struct AgentCli {
    pub(super) vendor: AgentVendor,
    pub(super) version: String,
    path: PathBuf,
}

impl AgentCli {
    /// Asks the program for its version, in a home that is not the user's.
    pub(super) fn new(vendor: AgentVendor, path: &Path, home: &Path) -> Result<AgentCli, String> {
        let path = path.canonicalize().map_err(|error| format!("{}: {error}", path.display()))?;
        let mut cli = AgentCli { vendor, version: String::new(), path };
        let mut command = cli.program();
        command.arg("--version").env_clear().env("HOME", home).envs(search_path());
        let ended =
            run_turn(command, home).map_err(|error| format!("{}: {error}", cli.path.display()))?;
        let is_number = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit());
        let version = ended.stdout.split_whitespace().find(is_number);
        let missing = || format!("{} does not print its version", cli.path.display());
        cli.version = version.ok_or_else(missing)?.trim_end_matches('.').to_owned();
        Ok(cli)
    }

    /// The program itself; scripts need node.
    fn program(&self) -> Command {
        if self.path.extension().is_some_and(|ending| ending == "js" || ending == "mjs") {
            let mut command = Command::new("node");
            command.arg(&self.path);
            command
        } else {
            Command::new(&self.path)
        }
    }

    /// Puts settings into a new home.
    pub(super) fn write_settings(&self, folder: &AgentFolder, port: u16) -> Result<(), String> {
        let (inner, name, settings) = match self.vendor {
            AgentVendor::ClaudeCode
            | AgentVendor::CopilotCli
            | AgentVendor::KimiCode
            | AgentVendor::QwenCode => return Ok(()),
            AgentVendor::GeminiCli => {
                let settings = r#"{"security":{"auth":{"selectedType":"gemini-api-key"}}}"#;
                (".gemini", "settings.json", settings.to_owned())
            }
            AgentVendor::Pi => {
                let model = serde_json::json!({ "id": "scripted" });
                let provider = serde_json::json!({
                    "baseUrl": format!("http://127.0.0.1:{port}"), "apiKey": "scripted",
                    "api": "anthropic-messages", "models": [model],
                });
                let settings = serde_json::json!({ "providers": { "scripted": provider } });
                (".pi/agent", "models.json", settings.to_string())
            }
            AgentVendor::Opencode => {
                let provider = serde_json::json!({
                    "npm": "@ai-sdk/anthropic", "models": { "scripted": { "name": "scripted" } },
                    "options": { "baseURL": format!("http://127.0.0.1:{port}/v1"), "apiKey": "scripted" },
                });
                let settings = serde_json::json!({
                    "provider": { "scripted": provider }, "permission": "allow",
                    "model": "scripted/scripted", "small_model": "scripted/scripted",
                });
                (".config/opencode", "opencode.json", settings.to_string())
            }
            AgentVendor::Codex => {
                let settings = format!(
                    "model = \"scripted\"\nmodel_provider = \"scripted\"\n\
                     approval_policy = \"never\"\nsandbox_mode = \"danger-full-access\"\n\n\
                     [model_providers.scripted]\nname = \"scripted\"\n\
                     base_url = \"http://127.0.0.1:{port}/v1\"\nenv_key = \"SCRIPTED_KEY\"\n\
                     wire_api = \"responses\"\nsupports_websockets = false\n"
                );
                (".codex", "config.toml", settings)
            }
        };
        let folder = folder.home().join(inner);
        fs::create_dir_all(&folder)
            .and_then(|()| fs::write(folder.join(name), settings))
            .map_err(|error| format!("{}: {error}", folder.display()))
    }

    /// One turn: a prompt in a new session, or in one that is resumed.
    pub(super) fn turn(
        &self,
        folder: &AgentFolder,
        port: u16,
        prompt: &str,
        turn: TurnKind<'_>,
    ) -> Command {
        let mut command = self.program();
        match (self.vendor, turn) {
            (AgentVendor::ClaudeCode, TurnKind::First) => {
                command.args(["-p", "--dangerously-skip-permissions", "--session-id", SESSION]);
            }
            (AgentVendor::ClaudeCode, TurnKind::Resumed(id)) => {
                command.args(["-p", "--dangerously-skip-permissions", "--resume", id]);
            }
            (AgentVendor::Codex, TurnKind::First) => {
                command.args(["exec", "--json", "--skip-git-repo-check"]);
            }
            (AgentVendor::Codex, TurnKind::Resumed(id)) => {
                command.args(["exec", "--json", "--skip-git-repo-check", "resume", id]);
            }
            (AgentVendor::KimiCode, TurnKind::First) => drop(command.arg("-p")),
            (AgentVendor::KimiCode, TurnKind::Resumed(id)) => {
                command.args(["--session", id, "-p"]);
            }
            // Without a title, it asks the model for one.
            (AgentVendor::Opencode, TurnKind::First) => {
                command.args(["run", "--title", "A story"]);
            }
            (AgentVendor::Opencode, TurnKind::Resumed(id)) => {
                command.args(["run", "--session", id]);
            }
            (AgentVendor::QwenCode, turn) => {
                command.args(["--auth-type", "anthropic", "--yolo"]);
                command.args(match turn {
                    TurnKind::First => ["--session-id", SESSION, "-p"],
                    TurnKind::Resumed(id) => ["--resume", id, "-p"],
                });
            }
            (AgentVendor::CopilotCli, turn) => {
                command.args(["--allow-all-tools", "--no-auto-update", "--silent"]);
                command.args(match turn {
                    TurnKind::First => ["--session-id", SESSION, "-p"],
                    TurnKind::Resumed(id) => ["--session-id", id, "-p"],
                });
            }
            (AgentVendor::Pi, turn) => {
                command.args(["--provider", "scripted", "--model", "scripted"]);
                command.args(match turn {
                    TurnKind::First => ["--session-id", SESSION, "-p"],
                    TurnKind::Resumed(id) => ["--session", id, "-p"],
                });
            }
            (AgentVendor::GeminiCli, turn) => {
                command.args(["-y", "--skip-trust", "-o", "stream-json", "-m", "gemini-2.5-pro"]);
                command.args(match turn {
                    TurnKind::First => ["--session-id", SESSION, "-p"],
                    TurnKind::Resumed(id) => ["--resume", id, "-p"],
                });
            }
        }
        command.arg(prompt).current_dir(folder.workspace());
        self.set_environment(&mut command, folder, port);
        command
    }

    /// The server of the agent at an address, if it has one that shows sessions to views.
    pub(super) fn server(&self, folder: &AgentFolder, port: u16, address: &str) -> Option<Command> {
        let (host, own) = address.split_once(':')?;
        if self.vendor != AgentVendor::Opencode {
            return None;
        }
        let mut command = self.program();
        command.args(["serve", "--hostname", host, "--port", own]);
        command.current_dir(folder.workspace());
        self.set_environment(&mut command, folder, port);
        Some(command)
    }

    /// An environment without anything of the user's.
    fn set_environment(&self, command: &mut Command, folder: &AgentFolder, port: u16) {
        command.env_clear().envs(search_path());
        let here = format!("http://127.0.0.1:{port}");
        command.env("HOME", folder.home()).env("TMPDIR", folder.temporary());
        // Whatever is not for the scripted model ends there too, and is refused.
        for name in ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"] {
            command.env(name, &here);
        }
        command.env("NO_PROXY", "127.0.0.1").env("no_proxy", "127.0.0.1");
        match self.vendor {
            AgentVendor::ClaudeCode => {
                command.env("ANTHROPIC_BASE_URL", &here).env("ANTHROPIC_API_KEY", "scripted");
                // Without it, no root user may skip permissions.
                command.env("IS_SANDBOX", "1");
                for name in [
                    "DISABLE_TELEMETRY",
                    "DISABLE_ERROR_REPORTING",
                    "DISABLE_AUTOUPDATER",
                    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
                ] {
                    command.env(name, "1");
                }
            }
            AgentVendor::Codex => {
                command.env("CODEX_HOME", folder.home().join(".codex"));
                command.env("SCRIPTED_KEY", "scripted");
            }
            AgentVendor::Pi => {
                command.env("PI_OFFLINE", "1");
            }
            AgentVendor::KimiCode => {
                command.env("KIMI_MODEL_NAME", "scripted").env("KIMI_MODEL_API_KEY", "scripted");
                command.env("KIMI_MODEL_PROVIDER_TYPE", "anthropic");
                command.env("KIMI_MODEL_BASE_URL", &here);
            }
            AgentVendor::CopilotCli => {
                command.env("COPILOT_OFFLINE", "true").env("COPILOT_MODEL", "scripted");
                command.env("COPILOT_PROVIDER_BASE_URL", &here);
                command.env("COPILOT_PROVIDER_TYPE", "anthropic");
                command.env("COPILOT_PROVIDER_API_KEY", "scripted");
            }
            AgentVendor::QwenCode => {
                command.env("ANTHROPIC_BASE_URL", &here).env("ANTHROPIC_API_KEY", "scripted");
                command.env("ANTHROPIC_MODEL", "scripted");
            }
            AgentVendor::Opencode => {
                for name in ["AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS"] {
                    command.env(format!("OPENCODE_DISABLE_{name}"), "1");
                }
            }
            AgentVendor::GeminiCli => {
                command.env("GOOGLE_GEMINI_BASE_URL", &here).env("GEMINI_API_KEY", "scripted");
            }
        }
    }

    /// The session file in a home with one session, and the id of the session.
    pub(super) fn session(&self, folder: &AgentFolder) -> Option<(PathBuf, String)> {
        if self.vendor == AgentVendor::Opencode {
            let database = folder.home().join(".local/share/opencode/opencode.db");
            let id = store::only_session(&database)?;
            return Some((database.join(&id), id));
        }
        let folder = match self.vendor {
            AgentVendor::ClaudeCode => folder.home().join(".claude/projects"),
            AgentVendor::Codex => folder.home().join(".codex/sessions"),
            AgentVendor::GeminiCli => folder.home().join(".gemini/tmp"),
            AgentVendor::Pi => folder.home().join(".pi/agent/sessions"),
            AgentVendor::CopilotCli => folder.home().join(".copilot/session-state"),
            AgentVendor::KimiCode => folder.home().join(".kimi-code/sessions"),
            AgentVendor::QwenCode => folder.home().join(".qwen/projects"),
            AgentVendor::Opencode => return None,
        };
        // Some versions keep files of sub-agents beside it.
        let is_own = |stem: &str| match self.vendor {
            AgentVendor::ClaudeCode | AgentVendor::QwenCode => stem == SESSION,
            AgentVendor::Codex => stem.starts_with("rollout-"),
            AgentVendor::GeminiCli => stem.starts_with("session-"),
            AgentVendor::Pi => stem.ends_with(SESSION),
            AgentVendor::CopilotCli => stem == "events",
            AgentVendor::KimiCode => stem == "wire",
            AgentVendor::Opencode => false,
        };
        let file = find(&folder, &is_own)?;
        let stem = file.file_stem()?.to_str()?;
        let id = match self.vendor {
            AgentVendor::ClaudeCode
            | AgentVendor::GeminiCli
            | AgentVendor::Pi
            | AgentVendor::CopilotCli
            | AgentVendor::QwenCode
            | AgentVendor::Opencode => SESSION,
            AgentVendor::Codex => stem.get(stem.len().checked_sub(SESSION.len())?..)?,
            // The folder of the session, above that of the agent.
            AgentVendor::KimiCode => file.ancestors().nth(3)?.file_name()?.to_str()?,
        };
        let id = id.to_owned();
        Some((file, id))
    }
}

/// Where programs are found.
fn search_path() -> Option<(&'static str, OsString)> {
    env::var_os("PATH").map(|path| ("PATH", path))
}

/// Whether a turn begins a session.
#[derive(Clone, Copy)]
pub(super) enum TurnKind<'t> {
    First,
    Resumed(&'t str),
}

/// The id of the session, where it can be chosen.
const SESSION: &str = "5e551011-0000-4000-8000-f0c5ed6e0001";

/// The first file of records below a folder whose name will do.
fn find(folder: &Path, will_do: &dyn Fn(&str) -> bool) -> Option<PathBuf> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths.into_iter().find_map(|path| {
        if path.is_dir() {
            return find(&path, will_do);
        }
        let is_file = path.extension().is_some_and(|ending| ending == "jsonl");
        (is_file && will_do(path.file_stem()?.to_str()?)).then_some(path)
    })
}
