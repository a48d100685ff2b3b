//! What the user asked for, as data.

use std::{borrow::Cow, collections::HashSet, path::Path};

use foxwedge_core::{Finding, Policy, Profile, Question, Rule, RuleSet, Wire, rules};
use foxwedge_dialect::session::{Agent, Session};

use crate::{
    cli::{CheckArgs, Format},
    nearest::nearest,
    say::Trouble,
};

/// What is asked of every document.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    format: Option<Format>,
    profile: Option<Profile>,
    policy: Policy,
    /// The file lies where its agent keeps its sessions.
    placed: bool,
    /// What an agent copes with is left alone in its sessions.
    spares: bool,
    /// So are open calls at the end.
    spares_tail: bool,
    /// Codes that were selected; empty means all.
    select: Vec<u16>,
    ignore: Vec<u16>,
    /// Flags that a suggested command has to repeat.
    flags: String,
    /// The targets, as they were typed.
    targets: String,
}

impl Ask {
    /// Reads the flags.
    pub(crate) fn new(args: &CheckArgs) -> Result<Ask, Trouble> {
        let policy = args.repair.policy(args.unsafe_fixes);
        Ok(Ask {
            format: args.format,
            profile: args.profile,
            policy,
            placed: false,
            // Whoever names rules or a provider asks about these.
            spares: !args.for_api && args.select.is_empty() && args.profile.is_none(),
            spares_tail: args.repair.spares_tail(),
            select: codes(&args.select)?,
            ignore: codes(&args.ignore)?,
            flags: flags(args),
            targets: targets(args),
        })
    }

    /// What is asked where no rule is selected and no command is suggested.
    pub(crate) fn of(format: Option<Format>, policy: Policy) -> Ask {
        Ask {
            format,
            profile: None,
            policy,
            placed: false,
            spares: false,
            spares_tail: false,
            select: Vec::new(),
            ignore: Vec::new(),
            flags: String::new(),
            targets: String::new(),
        }
    }

    /// The same, for what a file was read as: its repair is read as the same.
    pub(crate) fn as_read(&self, sitting: Option<&crate::outcome::Sitting>) -> Ask {
        let format = sitting.map(|sitting| Format::Agent(sitting.agent));
        Ask { format: format.or(self.format), ..self.clone() }
    }

    /// The same, for a file that lies where its agent keeps its sessions.
    pub(crate) fn placed(self) -> Ask {
        Ask { placed: true, ..self }
    }

    /// Whether the file lies where its agent keeps its sessions.
    pub(crate) fn is_placed(&self) -> bool {
        self.placed
    }

    /// The same, but what an agent copes with is left alone in its sessions; open calls at the
    /// end only if `tail` says so.
    pub(crate) fn sparing(self, tail: bool) -> Ask {
        Ask { spares: true, spares_tail: tail, ..self }
    }

    /// Takes out of a session and of what is asked about it what its agent copes with, and tells
    /// what that is.
    pub(crate) fn spare(&self, session: &mut Session<'_>, question: &mut Question) -> Vec<Finding> {
        if !self.spares {
            return Vec::new();
        }
        let rated = session.rated(question);
        session.spare(question, self.spares_tail);
        let left = foxwedge_core::check(session.draft(), question).findings;
        let left: HashSet<(u16, u32)> =
            left.iter().map(|finding| (finding.rule.code, finding.at.span.start)).collect();
        let coped = rated.findings.into_iter().map(|(finding, _)| finding);
        coped.filter(|f| !left.contains(&(f.rule.code, f.at.span.start))).collect()
    }

    /// The same, by the rules of a profile.
    pub(crate) fn with_profile(self, profile: Option<Profile>) -> Ask {
        Ask { profile, ..self }
    }

    /// The same, for something whose format is known.
    pub(crate) fn with_format(self, format: Format) -> Ask {
        Ask { format: Some(format), ..self }
    }

    /// The format that was named.
    pub(crate) fn format(&self) -> Option<Format> {
        self.format
    }

    /// The same, for a file whose name says whose it is. The messages in it may look like anybody's.
    pub(crate) fn of_file(&self, path: &Path) -> Cow<'_, Ask> {
        let cline = path.file_name().is_some_and(|name| name == "api_conversation_history.json");
        if self.format.is_some() || !cline {
            return Cow::Borrowed(self);
        }
        Cow::Owned(Ask { format: Some(Format::Agent(Agent::Cline)), ..self.clone() })
    }

    /// Whether repairs that need asking were asked for.
    pub(crate) fn is_bold(&self) -> bool {
        self.policy.bold
    }

    /// The question to put to a document of this format.
    pub(crate) fn question(&self, wire: Wire) -> Question {
        self.question_for(self.profile.unwrap_or_else(|| Profile::of(wire)))
    }

    /// The question to put to a session of this agent.
    pub(crate) fn session_question(&self, agent: Agent) -> Question {
        let mut question = self.question_for(self.profile.unwrap_or_else(|| agent.profile()));
        agent.restrict(&mut question);
        question
    }

    fn question_for(&self, profile: Profile) -> Question {
        let demanded = RuleSet::of(profile);
        let mut set = RuleSet::default();
        for code in rules::ALL.iter().map(|rule| rule.code) {
            let chosen = self.select.is_empty() || self.select.contains(&code);
            if demanded.has(code) && chosen && !self.ignore.contains(&code) {
                set.add(code);
            }
        }
        Question { profile, rules: set, policy: self.policy }
    }

    /// Selected rules that a profile does not demand, if it demands none of them.
    pub(crate) fn idle(&self, profile: Profile) -> bool {
        let demanded = RuleSet::of(profile);
        !self.select.is_empty() && !self.select.iter().any(|code| demanded.has(*code))
    }

    /// The command that repairs a target (all of them, if none is named), as it can be typed.
    pub(crate) fn command(&self, target: Option<&str>, bold: bool) -> String {
        let bold = if bold { "--unsafe-fixes " } else { "" };
        let target = target.map_or_else(|| self.targets.clone(), argument);
        format!("foxwedge fix {bold}{}{target}", self.flags)
    }
}

/// The flags that change what a repair does or sees.
fn flags(args: &CheckArgs) -> String {
    let mut words = Vec::new();
    let mut flag = |name: &str, value: Option<&str>| {
        words.extend(value.map(|value| format!("--{name} {} ", quoted(value))));
    };
    flag("profile", args.profile.map(Profile::name));
    flag("format", args.format.map(Format::name));
    flag("policy", args.repair.policy.map(foxwedge_core::Unanswered::name));
    flag(
        "orphans",
        args.repair.orphans.map(|orphans| match orphans {
            foxwedge_core::Orphans::Quote => "quote",
            foxwedge_core::Orphans::Drop => "drop",
        }),
    );
    flag(
        "tail",
        args.repair.tail.map(|tail| match tail {
            foxwedge_core::Tail::Dead => "dead",
            foxwedge_core::Tail::Pending => "pending",
        }),
    );
    if args.for_api {
        words.push("--for-api ".to_owned());
    }
    let mut flag = |name: &str, value: Option<&str>| {
        words.extend(value.map(|value| format!("--{name} {} ", quoted(value))));
    };
    let (select, ignore) = (args.select.join(","), args.ignore.join(","));
    flag("select", Some(select.as_str()).filter(|rules| !rules.is_empty()));
    flag("ignore", Some(ignore.as_str()).filter(|rules| !rules.is_empty()));
    words.concat()
}

fn targets(args: &CheckArgs) -> String {
    if args.targets.len() > 3 {
        return "TARGET…".to_owned();
    }
    let words: Vec<String> =
        args.targets.iter().map(|target| argument(&target.to_string_lossy())).collect();
    match words.is_empty() {
        true if args.all || !args.agent.is_empty() => "SESSION…".to_owned(),
        true => "-".to_owned(),
        false => words.join(" "),
    }
}

/// A target as a shell takes it; stdin and names that look like a flag included.
fn argument(target: &str) -> String {
    match target {
        crate::target::STDIN | "-" => "-".to_owned(),
        flag if flag.starts_with('-') => format!("./{}", quoted(&crate::say::clean(flag))),
        path => quoted(&crate::say::clean(path)),
    }
}

/// A word as a shell takes it.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./,:=@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// The rule of that code or name, or all of a family.
pub(crate) fn rules_of(typed: &str) -> Result<Vec<&'static Rule>, Trouble> {
    let codes = codes(&[typed.to_owned()])?;
    let found: Vec<&Rule> =
        rules::ALL.iter().copied().filter(|rule| codes.contains(&rule.code)).collect();
    if found.is_empty() { Err(unknown(typed)) } else { Ok(found) }
}

fn codes(typed: &[String]) -> Result<Vec<u16>, Trouble> {
    let mut codes = Vec::new();
    for word in typed.iter().map(|word| word.trim()).filter(|word| !word.is_empty()) {
        let before = codes.len();
        codes.extend(rules::find(word).map(|rule| rule.code));
        if codes.len() == before {
            codes.extend(family(word));
        }
        if codes.len() == before {
            return Err(unknown(word));
        }
    }
    Ok(codes)
}

/// The codes that begin as a family is written: `FW1`, `FW10`, `FW`, `ALL`.
fn family(word: &str) -> impl Iterator<Item = u16> {
    let word = word.to_ascii_uppercase();
    let word = if word == "ALL" { "FW".to_owned() } else { word };
    rules::ALL
        .iter()
        .filter(move |rule| word.starts_with("FW") && rule.label().starts_with(&word))
        .map(|rule| rule.code)
}

fn unknown(typed: &str) -> Trouble {
    let labels: Vec<String> = rules::ALL.iter().map(|rule| rule.label()).collect();
    let words = rules::ALL.iter().map(|rule| rule.name).chain(labels.iter().map(String::as_str));
    let shown = crate::say::cut(&crate::say::clean(typed), 60);
    let trouble = Trouble::new(format!("there is no rule `{shown}`"));
    match nearest(typed, words).and_then(rules::find) {
        Some(rule) => trouble.help(format!(
            "did you mean {} {}? `foxwedge rules` lists all of them",
            rule.label(),
            rule.name
        )),
        None => trouble.help(
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
            codes(&words).map_err(|trouble| trouble.to_string())
        };
        assert_eq!(of(&["FW101", "orphan-answer"]), Ok(vec![101, 102]));
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
            assert_eq!(quoted(word), expected);
        }
    }
}
