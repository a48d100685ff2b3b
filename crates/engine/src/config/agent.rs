//! An upstream that is a process of an agent: how it is started, what it may see and do.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use foxwedge_agent::{AgentLauncher as AnyAgent, claude_code::ClaudeCode};
use foxwedge_core::Format;

use super::{
    SettingOrigin, UpstreamConfig, UpstreamKey, UpstreamTransport,
    config_reader::{ConfigReader, SectionReader, display_path, excerpt},
    environment,
    secrets::REDACTED_SECRET,
    upstream::add_formats_setting,
    values::{BoolValue, quote},
};
use crate::SecretText;

/// How an agent is started and kept.
#[derive(Clone, Debug)]
pub struct AgentConfig {
    /// Which agent it is, and how it is used.
    pub kind: AgentKind,
    /// The command and its first arguments; never empty.
    pub command: Vec<String>,
    /// The folder that every process works in; a new private one for each if not told.
    pub folder: Option<PathBuf>,
    /// Variables that it may see beside the usual ones.
    pub env: Vec<String>,
    /// Variables that are set for it.
    pub set: Vec<(String, SecretText)>,
    /// How many processes there may be.
    pub most: usize,
    /// How long a process may have nothing to do.
    pub idle: Duration,
    /// How long it may take to be ready.
    pub start: Duration,
    /// How long it may give no sign of life while a client waits.
    pub turn: Duration,
}

/// Which agent it is, and how it is used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AgentKind {
    /// Claude Code.
    ClaudeCode(ClaudeCode),
}

impl AgentKind {
    /// How one is started for a conversation.
    pub fn starter(&self) -> &dyn AnyAgent {
        match self {
            AgentKind::ClaudeCode(claude) => claude,
        }
    }

    /// The folder in whose folders it writes about its sessions, under their names.
    pub(crate) fn session_folder(&self) -> Option<PathBuf> {
        match self {
            AgentKind::ClaudeCode(claude) => Some(claude.state.join("projects")),
        }
    }

    /// The model to ask the agent for; `None` leaves the choice to it. A name that it cannot know
    /// is only the client's name of the route.
    pub fn model<'m>(&self, asked: &'m str) -> Option<&'m str> {
        const WORDS: [&str; 5] = ["default", "sonnet", "opus", "haiku", "opusplan"];
        match self {
            AgentKind::ClaudeCode(_) => {
                let known = asked.starts_with("claude-") && asked != self.starter().name();
                (known || WORDS.contains(&asked)).then_some(asked)
            }
        }
    }
}

const DEFAULT_PROCESSES: usize = 16;
const DEFAULT_IDLE_TIMEOUT: Duration = Duration::from_secs(600);
const DEFAULT_START_TIMEOUT: Duration = Duration::from_secs(60);
const DEFAULT_TURN_TIMEOUT: Duration = Duration::from_secs(600);

/// Everything but its name and its kind.
pub(super) fn read_claude_code(
    desk: &mut ConfigReader<'_>,
    part: &mut SectionReader<'_>,
    origin: &SettingOrigin,
) -> Option<UpstreamConfig> {
    let command = read_command(desk, part);
    let folder = read_folder(desk, part);
    let (state, moved) = read_state_folder(desk, part, origin);
    let env = read_env(desk, part);
    let mut set = read_variables(desk, part);
    if let (true, Some(state)) = (moved, &state) {
        let text = SecretText::new(state.to_string_lossy());
        set.insert(0, ("CLAUDE_CONFIG_DIR".to_owned(), text));
    }
    let tools = read_list(desk, part, "tools");
    let permissions = desk.read_text(part, "permissions").map(|(text, origin)| {
        part.add_setting("permissions", quote(&text), &origin);
        text
    });
    let bare = desk.read_setting(part, "bare", BoolValue(true)).value.0;
    let asks = desk.read_setting(part, "asks", BoolValue(false));
    if bare && asks.value.0 {
        let message = "a bare agent asks for permissions only: it has no tool for questions";
        desk.report_warning(
            &asks.origin,
            part.full_key("asks"),
            message,
            "`bare = false` for questions",
        );
    }
    let asks = asks.value.0;
    let most = desk.read_positive(part, "most", DEFAULT_PROCESSES).value;
    let idle = desk.read_positive(part, "idle", DEFAULT_IDLE_TIMEOUT).value;
    let start = desk.read_positive(part, "start", DEFAULT_START_TIMEOUT).value;
    let turn = desk.read_positive(part, "turn", DEFAULT_TURN_TIMEOUT).value;
    let speaks = vec![Format::Anthropic];
    add_formats_setting(part, &speaks, &SettingOrigin::Default);
    let claude = ClaudeCode { state: state?, tools, permissions, bare, may_ask: asks };
    let agent = AgentConfig {
        kind: AgentKind::ClaudeCode(claude),
        command: command?,
        folder,
        env,
        set,
        most,
        idle,
        start,
        turn,
    };
    Some(UpstreamConfig {
        name: Arc::from(""),
        transport: UpstreamTransport::Agent(Arc::new(agent)),
        version: "".into(),
        speaks,
        profile: None,
        key: UpstreamKey::None,
        headers: Vec::new(),
        tries: 1,
    })
}

/// A name or a path, and arguments that come before ours. No shell reads it.
fn read_command(desk: &mut ConfigReader<'_>, part: &mut SectionReader<'_>) -> Option<Vec<String>> {
    let found = desk.read_text_or_texts(part, "command");
    let Some((first, origin)) = found.first() else {
        if part.has("command") {
            let help = "`command = \"claude\"`, or a list: [\"node\", \"cli.js\"]";
            desk.report_error(&part.origin(), part.full_key("command"), "it is empty", help);
            return None;
        }
        part.add_setting("command", quote(default_command()), &SettingOrigin::Default);
        return Some(vec![default_command().to_owned()]);
    };
    let origin = origin.clone();
    if first.trim().is_empty() || found.iter().any(|(text, _)| text.contains('\0')) {
        let help = "`command = \"claude\"`, or a list: [\"node\", \"cli.js\"]";
        desk.report_error(&origin, part.full_key("command"), "there is nothing to start", help);
        return None;
    }
    let mut all: Vec<String> = found.into_iter().map(|(text, _)| text).collect();
    // A name is looked up by the system; a path lies beside the file, as others do.
    if let Some(first) = all.first_mut().filter(|first| first.contains('/')) {
        *first = desk.resolve_path(Path::new(first.as_str())).to_string_lossy().into_owned();
    }
    part.add_setting("command", format_list(&all), &origin);
    Some(all)
}

fn default_command() -> &'static str {
    "claude"
}

fn read_folder(desk: &mut ConfigReader<'_>, part: &mut SectionReader<'_>) -> Option<PathBuf> {
    let (text, origin) = desk.read_text(part, "folder")?;
    let path = desk.resolve_path(Path::new(&text));
    part.add_setting("folder", quote(&display_path(&path)), &origin);
    if !path.is_absolute() {
        let help = "name it by its whole path";
        desk.report_error(
            &origin,
            part.full_key("folder"),
            "the path depends on the current folder",
            help,
        );
    }
    Some(path)
}

/// Where it keeps its state, and whether that is another place than it would take by itself.
fn read_state_folder(
    desk: &mut ConfigReader<'_>,
    part: &mut SectionReader<'_>,
    origin: &SettingOrigin,
) -> (Option<PathBuf>, bool) {
    if let Some((text, from)) = desk.read_text(part, "state") {
        let path = desk.resolve_path(Path::new(&text));
        part.add_setting("state", quote(&display_path(&path)), &from);
        return (Some(path), true);
    }
    let named =
        desk.read_variable("CLAUDE_CONFIG_DIR").map(|(text, from)| (PathBuf::from(text), from));
    let home = || {
        environment::home(desk.environment)
            .map(|home| (home.join(".claude"), SettingOrigin::Default))
    };
    match named.or_else(home) {
        Some((path, from)) => {
            part.add_setting("state", quote(&display_path(&path)), &from);
            (Some(path), false)
        }
        None => {
            let help = "`state = \"/var/lib/agent\"`, or set HOME";
            desk.report_error(origin, part.full_key("state"), "nobody knows where it is", help);
            (None, false)
        }
    }
}

/// Names of variables that it may see.
fn read_env(desk: &mut ConfigReader<'_>, part: &mut SectionReader<'_>) -> Vec<String> {
    let mut names = Vec::new();
    let mut from = SettingOrigin::Default;
    for (name, origin) in desk.read_texts(part, "env") {
        if !is_variable_name(&name) {
            let message = format!("{} is no name of a variable", quote(&excerpt(&name)));
            desk.report_error(
                &origin,
                part.full_key("env"),
                message,
                "write names only: [\"AWS_REGION\"]",
            );
            continue;
        }
        from = origin;
        names.push(name);
    }
    if !names.is_empty() {
        part.add_setting("env", format_list(&names), &from);
    }
    names
}

/// Variables and their values, which may be secrets.
fn read_variables(
    desk: &mut ConfigReader<'_>,
    part: &mut SectionReader<'_>,
) -> Vec<(String, SecretText)> {
    let mut all = Vec::new();
    for (name, text, origin) in desk.read_pairs(part, "set") {
        let full = format!("{}.{}", part.full_key("set"), excerpt(&name));
        if !is_variable_name(&name) {
            desk.report_error(&origin, full, "this is no name of a variable", "");
            continue;
        }
        let Some(text) = desk.resolve_env(text, &origin, &full) else { continue };
        if text.contains('\0') {
            desk.report_error(&origin, full, "its value cannot be set", "");
            continue;
        }
        part.add_setting(&format!("set.{name}"), REDACTED_SECRET.to_owned(), &origin);
        all.push((name, SecretText::new(text)));
    }
    all
}

/// A list of texts that is shown if it is there.
fn read_list(
    desk: &mut ConfigReader<'_>,
    part: &mut SectionReader<'_>,
    key: &'static str,
) -> Vec<String> {
    let found = desk.read_texts(part, key);
    let origin = found.first().map_or(SettingOrigin::Default, |(_, origin)| origin.clone());
    let all: Vec<String> = found.into_iter().map(|(text, _)| text).collect();
    part.add_setting(key, format_list(&all), &origin);
    all
}

fn format_list(texts: &[String]) -> String {
    let shown: Vec<String> = texts.iter().map(|text| quote(text)).collect();
    format!("[{}]", shown.join(", "))
}

fn is_variable_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    !name.is_empty() && name.len() <= 256 && name.bytes().all(plain)
}
