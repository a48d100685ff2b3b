//! An upstream that is a process of an agent: how it is started, what it may see and do.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use foxwedge_agent::{Kind as AnyAgent, claude_code::ClaudeCode};
use foxwedge_core::Wire;

use super::{
    Key, Origin, Reach, Upstream,
    desk::{Desk, Part, cut, told},
    secrets::HIDDEN,
    upstream::note_wires,
    values::{Truth, quoted},
    world,
};
use crate::Secret;

/// How an agent is started and kept.
#[derive(Clone, Debug)]
pub struct Agent {
    /// Which agent it is, and how it is used.
    pub kind: AgentKind,
    /// The command and its first arguments; never empty.
    pub command: Vec<String>,
    /// The folder that every process works in; a new private one for each if not told.
    pub folder: Option<PathBuf>,
    /// Variables that it may see beside the usual ones.
    pub env: Vec<String>,
    /// Variables that are set for it.
    pub set: Vec<(String, Secret)>,
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
    pub(crate) fn traces(&self) -> Option<PathBuf> {
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

const MOST: usize = 16;
const IDLE: Duration = Duration::from_secs(600);
const START: Duration = Duration::from_secs(60);
const TURN: Duration = Duration::from_secs(600);

/// Everything but its name and its kind.
pub(super) fn claude_code(
    desk: &mut Desk<'_>,
    part: &mut Part<'_>,
    origin: &Origin,
) -> Option<Upstream> {
    let command = command(desk, part);
    let folder = folder(desk, part);
    let (state, moved) = state(desk, part, origin);
    let env = env(desk, part);
    let mut set = set(desk, part);
    if let (true, Some(state)) = (moved, &state) {
        let text = Secret::new(state.to_string_lossy());
        set.insert(0, ("CLAUDE_CONFIG_DIR".to_owned(), text));
    }
    let tools = listed(desk, part, "tools");
    let permissions = desk.text(part, "permissions").map(|(text, origin)| {
        part.note("permissions", quoted(&text), &origin);
        text
    });
    let bare = desk.set(part, "bare", Truth(true)).value.0;
    let asks = desk.set(part, "asks", Truth(false));
    if bare && asks.value.0 {
        let message = "a bare agent asks for permissions only: it has no tool for questions";
        desk.warn(&asks.origin, part.full("asks"), message, "`bare = false` for questions");
    }
    let asks = asks.value.0;
    let most = desk.positive(part, "most", MOST).value;
    let idle = desk.positive(part, "idle", IDLE).value;
    let start = desk.positive(part, "start", START).value;
    let turn = desk.positive(part, "turn", TURN).value;
    let speaks = vec![Wire::Anthropic];
    note_wires(part, &speaks, &Origin::Default);
    let claude = ClaudeCode { state: state?, tools, permissions, bare, asks };
    let agent = Agent {
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
    Some(Upstream {
        name: Arc::from(""),
        reach: Reach::Agent(Arc::new(agent)),
        version: "".into(),
        speaks,
        profile: None,
        key: Key::None,
        headers: Vec::new(),
        tries: 1,
    })
}

/// A name or a path, and arguments that come before ours. No shell reads it.
fn command(desk: &mut Desk<'_>, part: &mut Part<'_>) -> Option<Vec<String>> {
    let found = desk.text_or_texts(part, "command");
    let Some((first, origin)) = found.first() else {
        if part.has("command") {
            let help = "`command = \"claude\"`, or a list: [\"node\", \"cli.js\"]";
            desk.refuse(&part.origin(), part.full("command"), "it is empty", help);
            return None;
        }
        part.note("command", quoted(usual_command()), &Origin::Default);
        return Some(vec![usual_command().to_owned()]);
    };
    let origin = origin.clone();
    if first.trim().is_empty() || found.iter().any(|(text, _)| text.contains('\0')) {
        let help = "`command = \"claude\"`, or a list: [\"node\", \"cli.js\"]";
        desk.refuse(&origin, part.full("command"), "there is nothing to start", help);
        return None;
    }
    let mut all: Vec<String> = found.into_iter().map(|(text, _)| text).collect();
    // A name is looked up by the system; a path lies beside the file, as others do.
    if let Some(first) = all.first_mut().filter(|first| first.contains('/')) {
        *first = desk.path(Path::new(first.as_str())).to_string_lossy().into_owned();
    }
    part.note("command", list(&all), &origin);
    Some(all)
}

fn usual_command() -> &'static str {
    "claude"
}

fn folder(desk: &mut Desk<'_>, part: &mut Part<'_>) -> Option<PathBuf> {
    let (text, origin) = desk.text(part, "folder")?;
    let path = desk.path(Path::new(&text));
    part.note("folder", quoted(&told(&path)), &origin);
    if !path.is_absolute() {
        let help = "name it by its whole path";
        desk.refuse(&origin, part.full("folder"), "the path depends on the current folder", help);
    }
    Some(path)
}

/// Where it keeps its state, and whether that is another place than it would take by itself.
fn state(desk: &mut Desk<'_>, part: &mut Part<'_>, origin: &Origin) -> (Option<PathBuf>, bool) {
    if let Some((text, from)) = desk.text(part, "state") {
        let path = desk.path(Path::new(&text));
        part.note("state", quoted(&told(&path)), &from);
        return (Some(path), true);
    }
    let named = desk.variable("CLAUDE_CONFIG_DIR").map(|(text, from)| (PathBuf::from(text), from));
    let home = || world::home(desk.world).map(|home| (home.join(".claude"), Origin::Default));
    match named.or_else(home) {
        Some((path, from)) => {
            part.note("state", quoted(&told(&path)), &from);
            (Some(path), false)
        }
        None => {
            let help = "`state = \"/var/lib/agent\"`, or set HOME";
            desk.refuse(origin, part.full("state"), "nobody knows where it is", help);
            (None, false)
        }
    }
}

/// Names of variables that it may see.
fn env(desk: &mut Desk<'_>, part: &mut Part<'_>) -> Vec<String> {
    let mut names = Vec::new();
    let mut from = Origin::Default;
    for (name, origin) in desk.texts(part, "env") {
        if !is_variable(&name) {
            let message = format!("{} is no name of a variable", quoted(&cut(&name)));
            desk.refuse(&origin, part.full("env"), message, "write names only: [\"AWS_REGION\"]");
            continue;
        }
        from = origin;
        names.push(name);
    }
    if !names.is_empty() {
        part.note("env", list(&names), &from);
    }
    names
}

/// Variables and their values, which may be secrets.
fn set(desk: &mut Desk<'_>, part: &mut Part<'_>) -> Vec<(String, Secret)> {
    let mut all = Vec::new();
    for (name, text, origin) in desk.pairs(part, "set") {
        let full = format!("{}.{}", part.full("set"), cut(&name));
        if !is_variable(&name) {
            desk.refuse(&origin, full, "this is no name of a variable", "");
            continue;
        }
        let Some(text) = desk.resolved(text, &origin, &full) else { continue };
        if text.contains('\0') {
            desk.refuse(&origin, full, "its value cannot be set", "");
            continue;
        }
        part.note(&format!("set.{name}"), HIDDEN.to_owned(), &origin);
        all.push((name, Secret::new(text)));
    }
    all
}

/// A list of texts that is shown if it is there.
fn listed(desk: &mut Desk<'_>, part: &mut Part<'_>, key: &'static str) -> Vec<String> {
    let found = desk.texts(part, key);
    let origin = found.first().map_or(Origin::Default, |(_, origin)| origin.clone());
    let all: Vec<String> = found.into_iter().map(|(text, _)| text).collect();
    part.note(key, list(&all), &origin);
    all
}

fn list(texts: &[String]) -> String {
    let shown: Vec<String> = texts.iter().map(|text| quoted(text)).collect();
    format!("[{}]", shown.join(", "))
}

fn is_variable(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    !name.is_empty() && name.len() <= 256 && name.bytes().all(plain)
}
