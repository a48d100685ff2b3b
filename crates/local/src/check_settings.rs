//! The settings of a check or repair.

use std::{borrow::Cow, collections::HashSet, fs, path::Path};

use foxwedge_core::{CheckOptions, Finding, Format, Policy, Profile, RuleSet, rules};
use foxwedge_sessions::{ParsedSession, SessionAgent};

use crate::{input_format::InputFormat, outcome::STDIN, output::clean};

/// Settings that apply to every checked document.
#[derive(Clone, Debug)]
pub struct CheckSettings {
    format: Option<InputFormat>,
    profile: Option<Profile>,
    policy: Policy,
    /// The file is in the session folder of its agent.
    in_agent_folder: bool,
    /// The agent in whose folder the file lies. It counts if the content does not show the agent.
    folder_agent: Option<SessionAgent>,
    /// Findings that an agent tolerates are ignored in its sessions.
    skips_tolerated: bool,
    /// Open calls at the end of a session are ignored too.
    skips_open_tail: bool,
    /// Selected rule codes; empty means all.
    select: Vec<u16>,
    ignore: Vec<u16>,
    /// Other settings for requests than for sessions of agents.
    requests: Option<Box<CheckSettings>>,
    /// Flags that a suggested command must repeat.
    flags: String,
    /// The targets, as they were typed.
    targets: String,
}

impl CheckSettings {
    /// Settings without selected rules and suggested commands.
    pub fn of(format: Option<InputFormat>, policy: Policy) -> CheckSettings {
        CheckSettings {
            format,
            profile: None,
            policy,
            in_agent_folder: false,
            folder_agent: None,
            skips_tolerated: false,
            skips_open_tail: false,
            select: Vec::new(),
            ignore: Vec::new(),
            requests: None,
            flags: String::new(),
            targets: String::new(),
        }
    }

    /// These settings with the format that a session was read as, so that its repair is read alike.
    pub fn for_session(&self, session: Option<&crate::outcome::SessionRef>) -> CheckSettings {
        let format = session.map(|session| InputFormat::Agent(session.agent));
        CheckSettings { format: format.or(self.format), ..self.clone() }
    }

    /// These settings for a file in the session folder of its agent.
    pub fn in_agent_folder(self) -> CheckSettings {
        CheckSettings { in_agent_folder: true, ..self }
    }

    /// Whether the file is in the session folder of its agent.
    pub fn is_in_agent_folder(&self) -> bool {
        self.in_agent_folder
    }

    /// These settings for a file in the folder of an agent.
    pub fn with_folder_agent(self, agent: SessionAgent) -> CheckSettings {
        CheckSettings { folder_agent: Some(agent), ..self }
    }

    /// The agent in whose folder the file lies, if that is known.
    pub fn folder_agent(&self) -> Option<SessionAgent> {
        self.folder_agent
    }

    /// These settings, but ignoring findings that an agent tolerates in its sessions. Open calls at
    /// the end are ignored only if `tail` is set.
    pub fn skipping_tolerated(self, tail: bool) -> CheckSettings {
        CheckSettings { skips_tolerated: true, skips_open_tail: tail, ..self }
    }

    /// Removes what its agent tolerates from a session and from `options`. Returns the tolerated
    /// findings.
    pub fn remove_tolerated(
        &self,
        session: &mut ParsedSession<'_>,
        options: &mut CheckOptions,
    ) -> Vec<Finding> {
        if !self.skips_tolerated {
            return Vec::new();
        }
        let rated = session.rate_findings(options);
        session.spare_tolerated(options, self.skips_open_tail);
        let remaining = foxwedge_core::check(session.draft(), options).findings;
        let remaining: HashSet<(u16, u32)> = remaining
            .iter()
            .map(|finding| (finding.rule.code, finding.location.span.start))
            .collect();
        let all = rated.findings.into_iter().map(|(finding, _)| finding);
        all.filter(|f| !remaining.contains(&(f.rule.code, f.location.span.start))).collect()
    }

    /// These settings with selected and ignored rules, by code. No selected rule means all.
    pub fn with_rules(self, select: Vec<u16>, ignore: Vec<u16>) -> CheckSettings {
        CheckSettings { select, ignore, ..self }
    }

    /// These settings, but with the profile, rules and policy of others for requests.
    pub fn with_requests(self, requests: CheckSettings) -> CheckSettings {
        CheckSettings { requests: Some(Box::new(requests)), ..self }
    }

    /// These settings with what a suggested command repeats: flags and targets as they were typed.
    pub fn with_command(self, flags: String, targets: String) -> CheckSettings {
        CheckSettings { flags, targets, ..self }
    }

    /// These settings with another profile.
    pub fn with_profile(self, profile: Option<Profile>) -> CheckSettings {
        CheckSettings { profile, ..self }
    }

    /// These settings with a known format.
    pub fn with_format(self, format: InputFormat) -> CheckSettings {
        CheckSettings { format: Some(format), ..self }
    }

    /// The format that a flag or the caller set.
    pub fn format(&self) -> Option<InputFormat> {
        self.format
    }

    /// These settings for a file whose name or folder identifies its agent; its content may be
    /// ambiguous.
    pub fn for_file(&self, path: &Path) -> Cow<'_, CheckSettings> {
        let is_cline = path.file_name().is_some_and(|name| name == "api_conversation_history.json");
        if self.format.is_some() {
            return Cow::Borrowed(self);
        }
        if !is_cline {
            return match self.folder_agent.or_else(|| agent_of_folder(path)) {
                Some(agent) => Cow::Owned(self.clone().with_folder_agent(agent)),
                None => Cow::Borrowed(self),
            };
        }
        Cow::Owned(CheckSettings {
            format: Some(InputFormat::Agent(SessionAgent::Cline)),
            ..self.clone()
        })
    }

    /// Whether unsafe fixes are allowed.
    pub fn allows_unsafe_fixes(&self) -> bool {
        self.policy.allow_unsafe
    }

    /// The check options for a document of this format.
    pub fn options_for_format(&self, format: Format) -> CheckOptions {
        let settings = self.requests.as_deref().unwrap_or(self);
        let profile = settings.profile.unwrap_or_else(|| Profile::for_format(format));
        settings.options_for_profile(profile)
    }

    /// The check options for a session of this agent.
    pub fn options_for_agent(&self, agent: SessionAgent) -> CheckOptions {
        let mut options = self.options_for_profile(self.profile.unwrap_or_else(|| agent.profile()));
        agent.restrict_rules(&mut options);
        options
    }

    /// The check options for a history in a trace: rules beside `judged` cannot be judged there.
    pub fn options_for_trace(&self, profile: Profile, judged: RuleSet) -> CheckOptions {
        let mut options = self.options_for_profile(profile);
        for code in rules::ALL.iter().map(|rule| rule.code) {
            if !judged.has(code) {
                options.rules.remove(code);
            }
        }
        options
    }

    /// The profile that a flag or the caller set.
    pub fn profile(&self) -> Option<Profile> {
        self.profile
    }

    fn options_for_profile(&self, profile: Profile) -> CheckOptions {
        let required = RuleSet::of(profile);
        let mut set = RuleSet::default();
        for code in rules::ALL.iter().map(|rule| rule.code) {
            let selected = self.select.is_empty() || self.select.contains(&code);
            if required.has(code) && selected && !self.ignore.contains(&code) {
                set.add(code);
            }
        }
        CheckOptions { profile, rules: set, policy: self.policy }
    }

    /// The shell command that repairs a target, or all targets if `target` is `None`.
    pub fn fix_command(&self, target: Option<&str>, allow_unsafe: bool) -> String {
        let unsafe_flag = if allow_unsafe { "--unsafe-fixes " } else { "" };
        let target = target.map_or_else(|| self.targets.clone(), shell_argument);
        format!("foxwedge fix {unsafe_flag}{}{target}", self.flags)
    }
}

/// The agent in whose folder of sessions a file lies, by the names of the folders. Not every record
/// shows its agent.
fn agent_of_folder(path: &Path) -> Option<SessionAgent> {
    const FOLDERS: [(SessionAgent, [&str; 2]); 6] = [
        (SessionAgent::ClaudeCode, [".claude", "projects"]),
        (SessionAgent::Codex, [".codex", "sessions"]),
        (SessionAgent::Codex, [".codex", "archived_sessions"]),
        (SessionAgent::Neovate, [".neovate", "projects"]),
        (SessionAgent::QwenCode, [".qwen", "projects"]),
        (SessionAgent::CopilotCli, [".copilot", "session-state"]),
    ];
    let name = path.file_name()?.to_str()?;
    let is_gemini_name = name.starts_with("session-") && name.contains(".json");
    if !is_gemini_name && !name.ends_with(".jsonl") {
        return None;
    }
    let real = fs::canonicalize(path).ok()?;
    let folders: Vec<&str> = real.parent()?.iter().filter_map(|folder| folder.to_str()).collect();
    // Gemini CLI: `.gemini/tmp/<project>/chats/session-….jsonl`.
    if is_gemini_name && matches!(folders.as_slice(), [.., ".gemini", "tmp", _, "chats"]) {
        return Some(SessionAgent::GeminiCli);
    }
    let is_inside = |pair: &[&str; 2]| folders.windows(2).any(|names| names == pair);
    FOLDERS.into_iter().find(|(_, pair)| is_inside(pair)).map(|(agent, _)| agent)
}

/// Quotes a target for a shell. Handles stdin and names that look like a flag.
pub fn shell_argument(target: &str) -> String {
    match target {
        STDIN | "-" => "-".to_owned(),
        flag if flag.starts_with('-') => {
            format!("./{}", shell_quote(&clean(flag)))
        }
        path => shell_quote(&clean(path)),
    }
}

/// Quotes a word for a shell.
pub fn shell_quote(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./,:=@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_a_shell() {
        let table = [("a.json", "a.json"), ("a b.json", "'a b.json'"), ("it's", "'it'\\''s'")];
        for (word, expected) in table {
            assert_eq!(shell_quote(word), expected);
        }
    }
}
