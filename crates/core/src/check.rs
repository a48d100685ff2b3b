//! Finds what a provider would refuse in a draft.

use std::ops::Range;

use crate::sorting::sort_by_key;
use crate::{
    Span,
    draft::{Draft, DraftCall, Message, MessageFlags, MessageLayout, Part, PartKind},
    pairing::{CallPairing, call_at, last_turn, pair_calls},
    policy::{Policy, TailPolicy},
    profile::Profile,
    repair::binding::CosmeticFindings,
    report::{Finding, FindingLocation, Fix, Report, Severity},
    rules::{self, Rule, RuleSet},
};

/// Options of a check or repair.
#[derive(Clone, Copy, Debug)]
pub struct CheckOptions {
    /// The provider whose rules apply.
    pub profile: Profile,
    /// The rules that are enabled.
    pub rules: RuleSet,
    /// What a repair may do. Its tail policy also decides which calls count as open.
    pub policy: Policy,
}

impl CheckOptions {
    /// All rules of a profile, under the default policy.
    pub fn for_profile(profile: Profile) -> CheckOptions {
        CheckOptions { profile, rules: RuleSet::of(profile), policy: Policy::default() }
    }
}

/// Reports what the profile's provider would refuse. Never fails: invalid input is normal input.
pub fn check(draft: &Draft<'_>, options: &CheckOptions) -> Report {
    fill_report(draft, options, Report::default())
}

/// Counts what the profile's provider would refuse, and lists the first finding of each rule.
pub(crate) fn count_findings(draft: &Draft<'_>, options: &CheckOptions) -> Report {
    fill_report(draft, options, Report::first_findings())
}

fn fill_report(draft: &Draft<'_>, options: &CheckOptions, mut report: Report) -> Report {
    let mut cosmetic = CosmeticFindings::default();
    collect_findings(draft, options, &mut |finding| {
        cosmetic.add_finding(draft, &finding);
        report.push(finding);
    });
    cosmetic.spare_thinking(draft, options, &mut report);
    let place = |finding: &Finding| (finding.location.message, finding.location.span.start);
    sort_by_key(&mut report.findings, place);
    report
}

/// The messages with at least one finding that `filter` accepts: each once, in order.
pub(crate) fn finding_messages(
    draft: &Draft<'_>,
    options: &CheckOptions,
    filter: impl Fn(&Finding) -> bool,
) -> Vec<usize> {
    let mut messages: Vec<usize> = Vec::new();
    collect_findings(draft, options, &mut |finding| {
        if filter(&finding) && messages.last() != Some(&finding.location.message) {
            messages.push(finding.location.message);
        }
    });
    sort_by_key(&mut messages, |message| *message);
    messages.dedup();
    messages
}

/// Passes every finding to `report`, one at a time. Stores none of them.
fn collect_findings(draft: &Draft<'_>, options: &CheckOptions, report: &mut dyn FnMut(Finding)) {
    let pairing = pair_calls(draft);
    let context = RuleContext { draft, pairing: &pairing, options };
    let mut findings = Findings { context: &context, rule: rules::ALL[0], last: None, report };
    for &rule in rules::ALL {
        if options.rules.has(rule.code)
            && rule.layouts.contains(&draft.layout())
            && draft.features.intersects(rule.features)
        {
            findings.rule = rule;
            (rule.check)(&context, &mut findings);
        }
    }
    findings.flush_finding();
}

/// The input of every rule.
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

    /// Calls that are still running: those of the last turn, if only answers follow it.
    pub(crate) fn running_calls(&self) -> Range<usize> {
        running_calls(self.draft, self.pairing, self.options.policy.tail)
    }

    /// Maximal runs of assistant messages.
    pub(crate) fn assistant_runs(&self) -> impl Iterator<Item = Range<usize>> {
        assistant_runs(self.draft)
    }

    /// The layout of the draft's format.
    pub(crate) fn layout(&self) -> MessageLayout {
        self.draft.layout()
    }
}

/// The calls (indices into the pairing) that a pending tail policy keeps open.
pub(crate) fn running_calls(
    draft: &Draft<'_>,
    pairing: &CallPairing,
    tail: TailPolicy,
) -> Range<usize> {
    let turn = last_turn(pairing);
    let waits = tail == TailPolicy::Pending || draft.body.tail_waits;
    let (first, last) = match (waits, pairing.turns.get(turn.start), pairing.turns.last()) {
        (true, Some(first), Some(last)) => (first, last),
        _ => return 0..0,
    };
    let following = draft.messages.iter().skip(last.messages().end);
    let only_answers = following.filter(|message| !message.role.is_system()).all(|message| {
        let parts = draft.parts_of(message);
        let mut answers = parts.iter().map(|part| matches!(part.kind, PartKind::Answer(_)));
        match message.flags.has(MessageFlags::ONLY_RESULTS) {
            true => answers.any(|is_answer| is_answer),
            false => !parts.is_empty() && answers.all(|is_answer| is_answer),
        }
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

/// Receives the findings of rules. A finding is reported when the next one starts, so that its rule
/// can complete it in place; at most one is held back.
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

    /// One-line summary of the rule.
    pub(crate) fn summary(&self) -> &'static str {
        self.rule.summary
    }

    /// Adds a finding about a message or one of its parts.
    pub(crate) fn add(
        &mut self,
        message: usize,
        span: Span,
        text: String,
        fix: Fix,
    ) -> &mut Finding {
        self.flush_finding();
        // A turn that holds something of an unknown type is left as it is.
        // Lone surrogates, undeclared tools and defects of the file are repaired there, too: they
        // have nothing to do with pairing.
        let of_turn = self.rule.code < 700 && !matches!(self.rule.code, 313 | 405);
        let is_unknown = of_turn && self.context.pairing.is_in_unknown_turn(message);
        let fix = if is_unknown { Fix::NONE } else { fix };
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

    /// Adds a finding about a call.
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

/// An id for display: short, without control or invisible characters.
pub fn display_id(id: Option<&str>) -> String {
    const MAX_CHARS: usize = 48;
    let Some(id) = id else { return "(no id)".to_owned() };
    if id.len() <= MAX_CHARS && id.bytes().all(|byte| byte.is_ascii_graphic()) {
        return format!("`{id}`");
    }
    let visible = |c: char| if c.is_control() || is_invisible(c) { '\u{fffd}' } else { c };
    let text: String = id.chars().take(MAX_CHARS).map(visible).collect();
    let cut = if id.chars().nth(MAX_CHARS).is_some() { "…" } else { "" };
    format!("`{text}{cut}`")
}

/// Characters that change how others are displayed, or are invisible.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}
