//! Reads a draft and says what a provider would refuse.

use std::ops::Range;

use crate::{
    draft::{Draft, DraftCall, Message, MessageLayout, Part, PartKind},
    pairing::{CallPairing, call_at, last_turn, pair_calls},
    policy::{Policy, TailPolicy},
    profile::Profile,
    repair::binding::CosmeticFindings,
    report::{Finding, FindingLocation, Fix, Report, Severity},
    rules::{self, Rule, RuleSet},
    span::Span,
};

/// What is asked of a draft.
#[derive(Clone, Copy, Debug)]
pub struct CheckOptions {
    /// Whose rules.
    pub profile: Profile,
    /// Which of them.
    pub rules: RuleSet,
    /// What a repair may do; its tail also says which calls are open at all.
    pub policy: Policy,
}

impl CheckOptions {
    /// All rules of a profile, under the default policy.
    pub fn for_profile(profile: Profile) -> CheckOptions {
        CheckOptions { profile, rules: RuleSet::of(profile), policy: Policy::default() }
    }
}

/// Says what the profile's provider would refuse. Never fails: bad input is normal input.
pub fn check(draft: &Draft<'_>, question: &CheckOptions) -> Report {
    fill_report(draft, question, Report::default())
}

/// Counts what the profile's provider would refuse, and lists the first finding of each rule.
pub(crate) fn count_findings(draft: &Draft<'_>, question: &CheckOptions) -> Report {
    fill_report(draft, question, Report::first_findings())
}

fn fill_report(draft: &Draft<'_>, question: &CheckOptions, mut report: Report) -> Report {
    let mut cosmetic = CosmeticFindings::default();
    collect_findings(draft, question, &mut |finding| {
        cosmetic.add_finding(draft, &finding);
        report.push(finding);
    });
    cosmetic.spare_thinking(draft, question, &mut report);
    report.findings.sort_by_key(|finding| (finding.location.message, finding.location.span.start));
    report
}

/// The messages in which the rules of a question find something that is wanted: all of them, each
/// once, in order.
pub(crate) fn finding_messages(
    draft: &Draft<'_>,
    question: &CheckOptions,
    wanted: impl Fn(&Finding) -> bool,
) -> Vec<usize> {
    let mut places: Vec<usize> = Vec::new();
    collect_findings(draft, question, &mut |finding| {
        if wanted(&finding) && places.last() != Some(&finding.location.message) {
            places.push(finding.location.message);
        }
    });
    places.sort_unstable();
    places.dedup();
    places
}

/// Hands over every finding, one at a time: none is kept here.
fn collect_findings(draft: &Draft<'_>, question: &CheckOptions, found: &mut dyn FnMut(Finding)) {
    let pairing = pair_calls(draft);
    let view = RuleContext { draft, pairing: &pairing, options: question };
    let mut notes = Findings { context: &view, rule: rules::ALL[0], last: None, report: found };
    for &rule in rules::ALL {
        if question.rules.has(rule.code)
            && rule.layouts.contains(&draft.layout())
            && draft.features.intersects(rule.features)
        {
            notes.rule = rule;
            (rule.check)(&view, &mut notes);
        }
    }
    notes.flush_finding();
}

/// What rules look at.
pub(crate) struct RuleContext<'v, 'a> {
    pub(crate) draft: &'v Draft<'a>,
    pub(crate) pairing: &'v CallPairing,
    pub(crate) options: &'v CheckOptions,
}

impl<'v, 'a> RuleContext<'v, 'a> {
    pub(crate) fn profile(&self) -> Profile {
        self.options.profile
    }

    /// Messages with their parts.
    pub(crate) fn messages(&self) -> impl Iterator<Item = (usize, &'v Message, &'v [Part<'a>])> {
        let draft = self.draft;
        draft
            .messages
            .iter()
            .enumerate()
            .map(|(at, message)| (at, message, draft.parts_of(message)))
    }

    /// Client calls with the index of their message.
    pub(crate) fn calls(&self) -> impl Iterator<Item = (usize, &'v Part<'a>, &'v DraftCall<'a>)> {
        let draft = self.draft;
        self.pairing.calls.iter().filter_map(move |paired| {
            let part = draft.parts.get(paired.part())?;
            Some((paired.message(), part, call_at(draft, paired.part())?))
        })
    }

    /// Calls that are still running: those of the last turn, if nothing but answers follows.
    pub(crate) fn running_calls(&self) -> Range<usize> {
        running_calls(self.draft, self.pairing, self.options.policy.tail)
    }

    /// Maximal runs of assistant messages.
    pub(crate) fn assistant_runs(&self) -> impl Iterator<Item = Range<usize>> {
        assistant_runs(self.draft)
    }

    /// Whether the rule set has this layout's rule on.
    pub(crate) fn layout(&self) -> MessageLayout {
        self.draft.layout()
    }
}

/// The calls (indices into the pairing) that a pending tail keeps open.
pub(crate) fn running_calls(
    draft: &Draft<'_>,
    pairing: &CallPairing,
    tail: TailPolicy,
) -> Range<usize> {
    let turn = last_turn(pairing);
    let (first, last) = match (tail, pairing.turns.get(turn.start), pairing.turns.last()) {
        (TailPolicy::Pending, Some(first), Some(last)) => (first, last),
        _ => return 0..0,
    };
    let behind = draft.messages.iter().skip(last.messages().end);
    let only_answers = behind.filter(|message| !message.role.is_system()).all(|message| {
        let parts = draft.parts_of(message);
        !parts.is_empty() && parts.iter().all(|part| matches!(part.kind, PartKind::Answer(_)))
    });
    if only_answers { first.calls().start..last.calls().end } else { 0..0 }
}

/// Maximal runs of assistant messages.
pub(crate) fn assistant_runs<'v>(
    draft: &'v Draft<'_>,
) -> impl Iterator<Item = Range<usize>> + use<'v> {
    let mut next = 0;
    let messages = &draft.messages;
    std::iter::from_fn(move || {
        let start = next + messages.iter().skip(next).position(|m| m.role.is_assistant())?;
        let length = messages.iter().skip(start).take_while(|m| m.role.is_assistant()).count();
        next = start + length;
        Some(start..next)
    })
}

/// Takes what rules find. A finding is handed over when the next one begins, so that its rule can
/// complete it in place; there is never more than one.
pub(crate) struct Findings<'n, 'v, 'a> {
    context: &'n RuleContext<'v, 'a>,
    rule: &'static Rule,
    last: Option<Finding>,
    report: &'n mut dyn FnMut(Finding),
}

impl Findings<'_, '_, '_> {
    fn flush_finding(&mut self) {
        if let Some(finding) = self.last.take() {
            (self.report)(finding);
        }
    }

    /// What the rule finds, in a few words.
    pub(crate) fn summary(&self) -> &'static str {
        self.rule.summary
    }

    /// A finding about a message or one of its parts.
    pub(crate) fn add(
        &mut self,
        message: usize,
        span: Span,
        text: String,
        fix: Fix,
    ) -> &mut Finding {
        self.flush_finding();
        let profile = self.context.profile();
        self.last.insert(Finding {
            rule: self.rule,
            severity: self.rule.evidence(profile).map_or(Severity::Warning, Severity::from),
            message: text,
            location: FindingLocation { message, span },
            partner: None,
            ids: Vec::new(),
            tool: None,
            profile,
            fix,
        })
    }

    /// A finding about a call.
    pub(crate) fn add_for_call(
        &mut self,
        message: usize,
        part: &Part<'_>,
        call: &DraftCall<'_>,
        text: String,
        fix: Fix,
    ) -> &mut Finding {
        let finding = self.add(message, part.span, text, fix);
        finding.ids.extend(call.id.as_deref().map(str::to_owned));
        finding.tool = call.name.as_deref().map(str::to_owned);
        finding
    }
}

/// An id as people may read it: short, without control or invisible characters.
pub(crate) fn display_id(id: Option<&str>) -> String {
    const MOST: usize = 48;
    let Some(id) = id else { return "(no id)".to_owned() };
    if id.len() <= MOST && id.bytes().all(|byte| byte.is_ascii_graphic()) {
        return format!("`{id}`");
    }
    let plain = |c: char| if c.is_control() || is_invisible(c) { '\u{fffd}' } else { c };
    let text: String = id.chars().take(MOST).map(plain).collect();
    let cut = if id.chars().nth(MOST).is_some() { "…" } else { "" };
    format!("`{text}{cut}`")
}

/// Characters that change how others are shown, or are not shown themselves.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}
