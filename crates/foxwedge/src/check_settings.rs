//! The settings of a check or repair, from command-line flags.

use std::{borrow::Cow, collections::HashSet, path::Path};

use foxwedge_core::{CheckOptions, Finding, Format, Policy, Profile, Rule, RuleSet, rules};
use foxwedge_sessions::{ParsedSession, SessionAgent};

use crate::{
    cli::{CheckArgs, InputFormat},
    cli_output::CliError,
    nearest::nearest,
};

/// Settings that apply to every checked document.
#[derive(Clone, Debug)]
pub(crate) struct CheckSettings {
    format: Option<InputFormat>,
    profile: Option<Profile>,
    policy: Policy,
    /// The file is in the session folder of its agent.
    in_agent_folder: bool,
    /// Findings that an agent tolerates are ignored in its sessions.
    skips_tolerated: bool,
    /// Open calls at the end of a session are ignored too.
    skips_open_tail: bool,
    /// Selected rule codes; empty means all.
    select: Vec<u16>,
    ignore: Vec<u16>,
    /// Flags that a suggested command must repeat.
    flags: String,
    /// The targets, as they were typed.
    targets: String,
}

impl CheckSettings {
    /// Builds the settings from the flags.
    pub(crate) fn new(args: &CheckArgs) -> Result<CheckSettings, CliError> {
        let policy = args.repair.policy(args.unsafe_fixes);
        Ok(CheckSettings {
            format: args.format,
            profile: args.profile,
            policy,
            in_agent_folder: false,
            // With explicit rules or a profile, tolerated findings are reported too.
            skips_tolerated: !args.for_api && args.select.is_empty() && args.profile.is_none(),
            skips_open_tail: args.repair.spares_tail(),
            select: parse_rule_codes(&args.select)?,
            ignore: parse_rule_codes(&args.ignore)?,
            flags: format_flags(args),
            targets: format_targets(args),
        })
    }

    /// Settings without selected rules and suggested commands.
    pub(crate) fn of(format: Option<InputFormat>, policy: Policy) -> CheckSettings {
        CheckSettings {
            format,
            profile: None,
            policy,
            in_agent_folder: false,
            skips_tolerated: false,
            skips_open_tail: false,
            select: Vec::new(),
            ignore: Vec::new(),
            flags: String::new(),
            targets: String::new(),
        }
    }

    /// These settings with the format that a session was read as, so that its repair is read alike.
    pub(crate) fn for_session(
        &self,
        session: Option<&crate::outcome::SessionRef>,
    ) -> CheckSettings {
        let format = session.map(|session| InputFormat::Agent(session.agent));
        CheckSettings { format: format.or(self.format), ..self.clone() }
    }

    /// These settings for a file in the session folder of its agent.
    pub(crate) fn in_agent_folder(self) -> CheckSettings {
        CheckSettings { in_agent_folder: true, ..self }
    }

    /// Whether the file is in the session folder of its agent.
    pub(crate) fn is_in_agent_folder(&self) -> bool {
        self.in_agent_folder
    }

    /// These settings, but ignoring findings that an agent tolerates in its sessions. Open calls at
    /// the end are ignored only if `tail` is set.
    pub(crate) fn skipping_tolerated(self, tail: bool) -> CheckSettings {
        CheckSettings { skips_tolerated: true, skips_open_tail: tail, ..self }
    }

    /// Removes what its agent tolerates from a session and from `options`. Returns the tolerated
    /// findings.
    pub(crate) fn remove_tolerated(
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

    /// These settings with another profile.
    pub(crate) fn with_profile(self, profile: Option<Profile>) -> CheckSettings {
        CheckSettings { profile, ..self }
    }

    /// These settings with a known format.
    pub(crate) fn with_format(self, format: InputFormat) -> CheckSettings {
        CheckSettings { format: Some(format), ..self }
    }

    /// The format that a flag or the caller set.
    pub(crate) fn format(&self) -> Option<InputFormat> {
        self.format
    }

    /// These settings for a file whose name identifies its agent; its content may be ambiguous.
    pub(crate) fn for_file(&self, path: &Path) -> Cow<'_, CheckSettings> {
        let is_cline = path.file_name().is_some_and(|name| name == "api_conversation_history.json");
        if self.format.is_some() || !is_cline {
            return Cow::Borrowed(self);
        }
        Cow::Owned(CheckSettings {
            format: Some(InputFormat::Agent(SessionAgent::Cline)),
            ..self.clone()
        })
    }

    /// Whether unsafe fixes are allowed.
    pub(crate) fn allows_unsafe_fixes(&self) -> bool {
        self.policy.allow_unsafe
    }

    /// The check options for a document of this format.
    pub(crate) fn options_for_format(&self, format: Format) -> CheckOptions {
        self.options_for_profile(self.profile.unwrap_or_else(|| Profile::for_format(format)))
    }

    /// The check options for a session of this agent.
    pub(crate) fn options_for_agent(&self, agent: SessionAgent) -> CheckOptions {
        let mut options = self.options_for_profile(self.profile.unwrap_or_else(|| agent.profile()));
        agent.restrict_rules(&mut options);
        options
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

    /// Whether rules are selected, but the profile has none of them.
    pub(crate) fn selects_no_rule(&self, profile: Profile) -> bool {
        let required = RuleSet::of(profile);
        !self.select.is_empty() && !self.select.iter().any(|code| required.has(*code))
    }

    /// The shell command that repairs a target, or all targets if `target` is `None`.
    pub(crate) fn fix_command(&self, target: Option<&str>, allow_unsafe: bool) -> String {
        let unsafe_flag = if allow_unsafe { "--unsafe-fixes " } else { "" };
        let target = target.map_or_else(|| self.targets.clone(), shell_argument);
        format!("foxwedge fix {unsafe_flag}{}{target}", self.flags)
    }
}

/// The flags that affect a repair, as shell words.
fn format_flags(args: &CheckArgs) -> String {
    let mut words = Vec::new();
    let mut flag = |name: &str, value: Option<&str>| {
        words.extend(value.map(|value| format!("--{name} {} ", shell_quote(value))));
    };
    flag("profile", args.profile.map(Profile::name));
    flag("format", args.format.map(InputFormat::name));
    flag("policy", args.repair.policy.map(foxwedge_core::UnansweredPolicy::name));
    flag(
        "orphans",
        args.repair.orphans.map(|orphans| match orphans {
            foxwedge_core::OrphanPolicy::Quote => "quote",
            foxwedge_core::OrphanPolicy::Drop => "drop",
        }),
    );
    flag(
        "tail",
        args.repair.tail.map(|tail| match tail {
            foxwedge_core::TailPolicy::Dead => "dead",
            foxwedge_core::TailPolicy::Pending => "pending",
        }),
    );
    if args.for_api {
        words.push("--for-api ".to_owned());
    }
    let mut flag = |name: &str, value: Option<&str>| {
        words.extend(value.map(|value| format!("--{name} {} ", shell_quote(value))));
    };
    let (select, ignore) = (args.select.join(","), args.ignore.join(","));
    flag("select", Some(select.as_str()).filter(|rules| !rules.is_empty()));
    flag("ignore", Some(ignore.as_str()).filter(|rules| !rules.is_empty()));
    words.concat()
}

fn format_targets(args: &CheckArgs) -> String {
    if args.targets.len() > 3 {
        return "TARGET…".to_owned();
    }
    let arguments: Vec<String> =
        args.targets.iter().map(|target| shell_argument(&target.to_string_lossy())).collect();
    match arguments.is_empty() {
        true if args.all || !args.agent.is_empty() => "SESSION…".to_owned(),
        true => "-".to_owned(),
        false => arguments.join(" "),
    }
}

/// Quotes a target for a shell. Handles stdin and names that look like a flag.
fn shell_argument(target: &str) -> String {
    match target {
        crate::target::STDIN | "-" => "-".to_owned(),
        flag if flag.starts_with('-') => {
            format!("./{}", shell_quote(&crate::cli_output::clean(flag)))
        }
        path => shell_quote(&crate::cli_output::clean(path)),
    }
}

/// Quotes a word for a shell.
pub(crate) fn shell_quote(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./,:=@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Finds a rule by code or name, or all rules of a family.
pub(crate) fn find_rules(typed: &str) -> Result<Vec<&'static Rule>, CliError> {
    let codes = parse_rule_codes(&[typed.to_owned()])?;
    let found: Vec<&Rule> =
        rules::ALL.iter().copied().filter(|rule| codes.contains(&rule.code)).collect();
    if found.is_empty() { Err(unknown_rule_error(typed)) } else { Ok(found) }
}

fn parse_rule_codes(typed: &[String]) -> Result<Vec<u16>, CliError> {
    let mut codes = Vec::new();
    for word in typed.iter().map(|word| word.trim()).filter(|word| !word.is_empty()) {
        let before = codes.len();
        codes.extend(rules::find_rule(word).map(|rule| rule.code));
        if codes.len() == before {
            codes.extend(family_codes(word));
        }
        if codes.len() == before {
            return Err(unknown_rule_error(word));
        }
    }
    Ok(codes)
}

/// The codes of a family: `FW1`, `FW10`, `FW`, `ALL`.
fn family_codes(word: &str) -> impl Iterator<Item = u16> {
    let word = word.to_ascii_uppercase();
    let word = if word == "ALL" { "FW".to_owned() } else { word };
    rules::ALL
        .iter()
        .filter(move |rule| word.starts_with("FW") && rule.label().starts_with(&word))
        .map(|rule| rule.code)
}

fn unknown_rule_error(typed: &str) -> CliError {
    let labels: Vec<String> = rules::ALL.iter().map(|rule| rule.label()).collect();
    let names = rules::ALL.iter().map(|rule| rule.name).chain(labels.iter().map(String::as_str));
    let shown = crate::cli_output::cut(&crate::cli_output::clean(typed), 60);
    let error = CliError::new(format!("there is no rule `{shown}`"));
    match nearest(typed, names).and_then(rules::find_rule) {
        Some(rule) => error.help(format!(
            "did you mean {} {}? `foxwedge rules` lists all of them",
            rule.label(),
            rule.name
        )),
        None => error.help(
            "a rule is a code (FW101), a family (FW1) or a name (unanswered-call); \
             `foxwedge rules` lists all of them",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_found_by_code_family_and_name() {
        let of = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            parse_rule_codes(&words).map_err(|error| error.to_string())
        };
        assert_eq!(of(&["FW101", "orphan-result"]), Ok(vec![101, 102]));
        assert_eq!(of(&["fw10"]).map(|codes| codes.iter().all(|code| code / 10 == 10)), Ok(true));
        assert_eq!(of(&["ALL"]).map(|codes| codes.len()), Ok(rules::ALL.len()));
        assert_eq!(of(&["FW999"]), Err("there is no rule `FW999`".to_owned()));
        assert_eq!(of(&["1"]), Err("there is no rule `1`".to_owned()));
        assert_eq!(of(&[""]), Ok(vec![]));
    }

    #[test]
    fn words_are_quoted_for_a_shell() {
        let table = [("a.json", "a.json"), ("a b.json", "'a b.json'"), ("it's", "'it'\\''s'")];
        for (word, expected) in table {
            assert_eq!(shell_quote(word), expected);
        }
    }
}
