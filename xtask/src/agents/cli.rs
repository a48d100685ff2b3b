//! The command lines of vendors: how each is started, and where it keeps its session.

use std::{
    env,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use foxwedge_core::Format;

use super::{process, scratch::Desk};

/// Whose command line it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Vendor {
    ClaudeCode,
    Codex,
    GeminiCli,
}

impl Vendor {
    pub(super) const ALL: [Vendor; 3] = [Vendor::ClaudeCode, Vendor::Codex, Vendor::GeminiCli];

    pub(super) fn name(self) -> &'static str {
        match self {
            Vendor::ClaudeCode => "Claude Code",
            Vendor::Codex => "Codex",
            Vendor::GeminiCli => "Gemini CLI",
        }
    }

    pub(super) fn option(self) -> &'static str {
        match self {
            Vendor::ClaudeCode => "--claude-code",
            Vendor::Codex => "--codex",
            Vendor::GeminiCli => "--gemini-cli",
        }
    }

    pub(super) fn variable(self) -> &'static str {
        match self {
            Vendor::ClaudeCode => "FOXWEDGE_CLAUDE_CODE",
            Vendor::Codex => "FOXWEDGE_CODEX",
            Vendor::GeminiCli => "FOXWEDGE_GEMINI_CLI",
        }
    }

    /// The format of its requests.
    pub(super) fn wire(self) -> Format {
        match self {
            Vendor::ClaudeCode => Format::Anthropic,
            Vendor::Codex => Format::OpenaiResponses,
            Vendor::GeminiCli => Format::Gemini,
        }
    }

    /// Whether calls are on disk before they are answered.
    pub(super) fn keeps_open_calls(self) -> bool {
        match self {
            Vendor::ClaudeCode | Vendor::Codex => true,
            Vendor::GeminiCli => false,
        }
    }
}

/// A command line, installed.
pub(super) struct Cli {
    pub(super) vendor: Vendor,
    pub(super) version: String,
    path: PathBuf,
}

impl Cli {
    /// Asks the program for its version, in a home that is not the user's.
    pub(super) fn new(vendor: Vendor, path: &Path, home: &Path) -> Result<Cli, String> {
        let path = path.canonicalize().map_err(|error| format!("{}: {error}", path.display()))?;
        let mut cli = Cli { vendor, version: String::new(), path };
        let mut command = cli.program();
        command.arg("--version").env_clear().env("HOME", home).envs(search_path());
        let told = process::run(command, home)
            .map_err(|error| format!("{}: {error}", cli.path.display()))?;
        let is_number = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit());
        let version = told.printed.split_whitespace().find(is_number);
        let missing = || format!("{} does not tell its version", cli.path.display());
        cli.version = version.ok_or_else(missing)?.to_owned();
        Ok(cli)
    }

    /// The program itself; scripts need node.
    fn program(&self) -> Command {
        if self.path.extension().is_some_and(|ending| ending == "js") {
            let mut command = Command::new("node");
            command.arg(&self.path);
            command
        } else {
            Command::new(&self.path)
        }
    }

    /// Puts settings into a new home.
    pub(super) fn settle(&self, desk: &Desk, port: u16) -> Result<(), String> {
        let (folder, name, settings) = match self.vendor {
            Vendor::ClaudeCode => return Ok(()),
            Vendor::GeminiCli => {
                let settings = r#"{"security":{"auth":{"selectedType":"gemini-api-key"}}}"#;
                (".gemini", "settings.json", settings.to_owned())
            }
            Vendor::Codex => {
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
        let folder = desk.home().join(folder);
        fs::create_dir_all(&folder)
            .and_then(|()| fs::write(folder.join(name), settings))
            .map_err(|error| format!("{}: {error}", folder.display()))
    }

    /// One turn: a prompt in a new session, or in one that is resumed.
    pub(super) fn turn(&self, desk: &Desk, port: u16, prompt: &str, turn: Turn<'_>) -> Command {
        let mut command = self.program();
        match (self.vendor, turn) {
            (Vendor::ClaudeCode, Turn::First) => {
                command.args(["-p", "--dangerously-skip-permissions", "--session-id", SESSION]);
            }
            (Vendor::ClaudeCode, Turn::Resumed(id)) => {
                command.args(["-p", "--dangerously-skip-permissions", "--resume", id]);
            }
            (Vendor::Codex, Turn::First) => {
                command.args(["exec", "--json", "--skip-git-repo-check"]);
            }
            (Vendor::Codex, Turn::Resumed(id)) => {
                command.args(["exec", "--json", "--skip-git-repo-check", "resume", id]);
            }
            (Vendor::GeminiCli, turn) => {
                command.args(["-y", "--skip-trust", "-o", "stream-json", "-m", "gemini-2.5-pro"]);
                command.args(match turn {
                    Turn::First => ["--session-id", SESSION, "-p"],
                    Turn::Resumed(id) => ["--resume", id, "-p"],
                });
            }
        }
        command.arg(prompt).current_dir(desk.workspace());
        self.surround(&mut command, desk, port);
        command
    }

    /// An environment without anything of the user's.
    fn surround(&self, command: &mut Command, desk: &Desk, port: u16) {
        command.env_clear().envs(search_path());
        let here = format!("http://127.0.0.1:{port}");
        command.env("HOME", desk.home()).env("TMPDIR", desk.temporary());
        // Whatever is not for the scripted model ends there too, and is refused.
        for name in ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"] {
            command.env(name, &here);
        }
        command.env("NO_PROXY", "127.0.0.1").env("no_proxy", "127.0.0.1");
        match self.vendor {
            Vendor::ClaudeCode => {
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
            Vendor::Codex => {
                command.env("CODEX_HOME", desk.home().join(".codex"));
                command.env("SCRIPTED_KEY", "scripted");
            }
            Vendor::GeminiCli => {
                command.env("GOOGLE_GEMINI_BASE_URL", &here).env("GEMINI_API_KEY", "scripted");
            }
        }
    }

    /// The session file in a home that has seen one session, and the id of the session.
    pub(super) fn session(&self, desk: &Desk) -> Option<(PathBuf, String)> {
        let folder = match self.vendor {
            Vendor::ClaudeCode => desk.home().join(".claude/projects"),
            Vendor::Codex => desk.home().join(".codex/sessions"),
            Vendor::GeminiCli => desk.home().join(".gemini/tmp"),
        };
        // Some versions keep files of sub-agents beside it.
        let is_own = |stem: &str| match self.vendor {
            Vendor::ClaudeCode => stem == SESSION,
            Vendor::Codex => stem.starts_with("rollout-"),
            Vendor::GeminiCli => stem.starts_with("session-"),
        };
        let file = find(&folder, &is_own)?;
        let stem = file.file_stem()?.to_str()?;
        let id = match self.vendor {
            Vendor::ClaudeCode | Vendor::GeminiCli => SESSION,
            Vendor::Codex => stem.get(stem.len().checked_sub(SESSION.len())?..)?,
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
pub(super) enum Turn<'t> {
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
