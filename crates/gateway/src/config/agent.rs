//! An upstream that is an agent process: how it is started, what it may see and do.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use foxwedge_agents::{AgentConfig, AgentKind, AgentVariable, claude_code::ClaudeCode};
use foxwedge_core::Format;

use super::{
    SettingOrigin,
    config_reader::{ConfigReader, SectionReader, display_path, excerpt, invalid},
    environment,
    secrets::REDACTED_SECRET,
    table::AgentSettings,
    values::quote,
};
use foxwedge_upstream::{UpstreamConfig, UpstreamKey, UpstreamTransport};

/// Reads everything but the name and the kind.
pub(super) fn read_claude_code(
    reader: &mut ConfigReader<'_>,
    section: &mut SectionReader<'_>,
    origin: &SettingOrigin,
) -> Option<(UpstreamConfig, AgentConfig)> {
    let command = read_command(reader, section);
    let working_folder = read_folder(reader, section);
    let (state, is_custom) = read_state_folder(reader, section, origin);
    let env = read_env(reader, section);
    let mut set_env = read_variables(reader, section);
    if let (true, Some(state)) = (is_custom, &state) {
        set_env.insert(0, AgentVariable::new("CLAUDE_CONFIG_DIR", state.to_string_lossy()));
    }
    let tools = read_list(reader, section, "tools");
    let permissions = reader.read_text(section, "permissions").map(|(text, origin)| {
        section.add_setting("permissions", quote(&text), &origin);
        text
    });
    let AgentSettings { bare, ask_user, max_processes, idle_timeout, start_timeout, turn_timeout } =
        AgentSettings::read(reader, section, None);
    if bare && ask_user {
        let message = "a bare agent asks for permissions only: it has no tool for questions";
        let (origin, key) = (section.setting_origin("ask_user"), section.full_key("ask_user"));
        reader.report_warning(&origin, key, message, "`bare = false` allows questions");
    }
    let formats = vec![Format::Anthropic];
    section.add_formats(&formats, &SettingOrigin::Default);
    let claude = ClaudeCode { state: state?, tools, permissions, bare, may_ask: ask_user };
    let agent = AgentConfig {
        kind: AgentKind::ClaudeCode(claude),
        command: command?,
        working_folder,
        env,
        set_env,
        max_processes,
        idle_timeout,
        start_timeout,
        turn_timeout,
    };
    let upstream = UpstreamConfig {
        name: Arc::from(""),
        transport: UpstreamTransport::Agent,
        version: "".into(),
        platform: None,
        formats,
        profile: None,
        key: UpstreamKey::None,
        headers: Vec::new(),
        attempts: 1,
    };
    Some((upstream, agent))
}

/// Reads the command: a name or a path, and arguments that come before ours. It is not run by a
/// shell.
fn read_command(
    reader: &mut ConfigReader<'_>,
    section: &mut SectionReader<'_>,
) -> Option<Vec<String>> {
    let found = reader.read_text_or_texts(section, "command");
    let Some((first, origin)) = found.first() else {
        if section.has("command") {
            reader.report_error(
                &section.origin(),
                section.full_key("command"),
                EMPTY,
                COMMAND_HELP,
            );
            return None;
        }
        section.add_setting("command", quote("claude"), &SettingOrigin::Default);
        return Some(vec!["claude".to_owned()]);
    };
    let origin = origin.clone();
    if first.trim().is_empty() || found.iter().any(|(text, _)| text.contains('\0')) {
        reader.report_error(&origin, section.full_key("command"), EMPTY, COMMAND_HELP);
        return None;
    }
    let mut command: Vec<String> = found.into_iter().map(|(text, _)| text).collect();
    // The system looks up a name; a path is relative to the configuration file, as others are.
    if let Some(first) = command.first_mut().filter(|first| first.contains('/')) {
        *first = reader.resolve_path(Path::new(first.as_str())).to_string_lossy().into_owned();
    }
    section.add_setting("command", format_list(&command), &origin);
    Some(command)
}

const EMPTY: &str = "the command is empty or contains a NUL byte";
const COMMAND_HELP: &str = "`command = \"claude\"`, or a list: [\"node\", \"cli.js\"]";

fn read_folder(reader: &mut ConfigReader<'_>, section: &mut SectionReader<'_>) -> Option<PathBuf> {
    let (text, origin) = reader.read_text(section, "working_folder")?;
    let path = reader.resolve_path(Path::new(&text));
    section.add_setting("working_folder", quote(&display_path(&path)), &origin);
    if !path.is_absolute() {
        let (key, help) = (section.full_key("working_folder"), "use an absolute path");
        reader.report_error(&origin, key, "the path is relative", help);
    }
    Some(path)
}

/// Reads the state folder, and whether it differs from the agent's own default.
fn read_state_folder(
    reader: &mut ConfigReader<'_>,
    section: &mut SectionReader<'_>,
    origin: &SettingOrigin,
) -> (Option<PathBuf>, bool) {
    if let Some((text, from)) = reader.read_text(section, "state") {
        let path = reader.resolve_path(Path::new(&text));
        section.add_setting("state", quote(&display_path(&path)), &from);
        return (Some(path), true);
    }
    let from_variable =
        reader.read_variable("CLAUDE_CONFIG_DIR").map(|(text, from)| (PathBuf::from(text), from));
    let home = || {
        environment::home(reader.environment)
            .map(|home| (home.join(".claude"), SettingOrigin::Default))
    };
    match from_variable.or_else(home) {
        Some((path, from)) => {
            section.add_setting("state", quote(&display_path(&path)), &from);
            (Some(path), false)
        }
        None => {
            let help = "`state = \"/var/lib/agent\"`, or set HOME";
            let message = "there is no default state folder";
            reader.report_error(origin, section.full_key("state"), message, help);
            (None, false)
        }
    }
}

/// Reads the names of variables that the agent may see.
fn read_env(reader: &mut ConfigReader<'_>, section: &mut SectionReader<'_>) -> Vec<String> {
    let mut names = Vec::new();
    let mut from = SettingOrigin::Default;
    for (name, origin) in reader.read_texts(section, "env") {
        if !is_variable_name(&name) {
            let help = "expected names of variables, such as [\"AWS_REGION\"]";
            reader.report_error(&origin, section.full_key("env"), invalid(&name), help);
            continue;
        }
        from = origin;
        names.push(name);
    }
    if !names.is_empty() {
        section.add_setting("env", format_list(&names), &from);
    }
    names
}

/// Reads variables and their values, which may be secrets.
fn read_variables(
    reader: &mut ConfigReader<'_>,
    section: &mut SectionReader<'_>,
) -> Vec<AgentVariable> {
    let mut variables = Vec::new();
    for (name, text, origin) in reader.read_pairs(section, "set_env") {
        let full_key = format!("{}.{}", section.full_key("set_env"), excerpt(&name));
        if !is_variable_name(&name) {
            reader.report_error(&origin, full_key, "invalid variable name", "");
            continue;
        }
        let Some(text) = reader.resolve_env(text, &origin, &full_key) else { continue };
        if text.contains('\0') {
            reader.report_error(&origin, full_key, "the value contains a NUL byte", "");
            continue;
        }
        section.add_setting(&format!("set_env.{name}"), REDACTED_SECRET.to_owned(), &origin);
        variables.push(AgentVariable::new(name, text));
    }
    variables
}

/// Reads a list of texts.
fn read_list(
    reader: &mut ConfigReader<'_>,
    section: &mut SectionReader<'_>,
    key: &'static str,
) -> Vec<String> {
    let found = reader.read_texts(section, key);
    let origin = found.first().map_or(SettingOrigin::Default, |(_, origin)| origin.clone());
    let texts: Vec<String> = found.into_iter().map(|(text, _)| text).collect();
    section.add_setting(key, format_list(&texts), &origin);
    texts
}

fn format_list(texts: &[String]) -> String {
    let quoted: Vec<String> = texts.iter().map(|text| quote(text)).collect();
    format!("[{}]", quoted.join(", "))
}

fn is_variable_name(name: &str) -> bool {
    let is_valid_byte = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    !name.is_empty() && name.len() <= 256 && name.bytes().all(is_valid_byte)
}
