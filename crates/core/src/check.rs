//! Reads a draft and says what a provider would refuse.

use std::ops::Range;

use crate::{
    draft::{Call, Draft, Kind, Layout, Message, Part},
    pair::{Pairing, call_at, last_turn, pair},
    policy::{Policy, Tail},
    profile::Profile,
    repair::binding::CosmeticFindings,
    report::{Finding, Fix, Place, Report, Severity},
    rules::{self, Rule, RuleSet},
    span::Span,
};

/// What is asked of a draft.
#[derive(Clone, Copy, Debug)]
pub struct Question {
    /// Whose rules.
    pub profile: Profile,
    /// Which of them.
    pub rules: RuleSet,
    /// What a repair may do; its tail also says which calls are open at all.
    pub policy: Policy,
}

impl Question {
    /// All rules of a profile, under the default policy.
    pub fn of(profile: Profile) -> Question {
        Question { profile, rules: RuleSet::of(profile), policy: Policy::default() }
    }
}

/// Says what the profile's provider would refuse. Never fails: bad input is normal input.
pub fn check(draft: &Draft<'_>, question: &Question) -> Report {
    fill_report(draft, question, Report::default())
}

/// Counts what the profile's provider would refuse, and lists the first finding of each rule.
pub(crate) fn count(draft: &Draft<'_>, question: &Question) -> Report {
    fill_report(draft, question, Report::brief())
}

fn fill_report(draft: &Draft<'_>, question: &Question, mut report: Report) -> Report {
    let mut cosmetic = CosmeticFindings::default();
    collect(draft, question, &mut |finding| {
        cosmetic.see(draft, &finding);
        report.push(finding);
    });
    cosmetic.spare_thinking(draft, question, &mut report);
    report.findings.sort_by_key(|finding| (finding.at.message, finding.at.span.start));
    report
}

/// The messages in which the rules of a question find something that is wanted: all of them, each
/// once, in order.
pub(crate) fn places(
    draft: &Draft<'_>,
    question: &Question,
    wanted: impl Fn(&Finding) -> bool,
) -> Vec<usize> {
    let mut places: Vec<usize> = Vec::new();
    collect(draft, question, &mut |finding| {
        if wanted(&finding) && places.last() != Some(&finding.at.message) {
            places.push(finding.at.message);
        }
    });
    places.sort_unstable();
    places.dedup();
    places
}

/// Hands over every finding, one at a time: none is kept here.
fn collect(draft: &Draft<'_>, question: &Question, found: &mut dyn FnMut(Finding)) {
    let pairing = pair(draft);
    let view = View { draft, pairing: &pairing, question };
    let mut notes = Notes { view: &view, rule: rules::ALL[0], last: None, found };
    for &rule in rules::ALL {
        if question.rules.has(rule.code)
            && rule.layouts.contains(&draft.layout())
            && draft.facts.any(rule.needs)
        {
            notes.rule = rule;
            (rule.check)(&view, &mut notes);
        }
    }
    notes.hand_over();
}

/// What rules look at.
pub(crate) struct View<'v, 'a> {
    pub(crate) draft: &'v Draft<'a>,
    pub(crate) pairing: &'v Pairing,
    pub(crate) question: &'v Question,
}

impl<'v, 'a> View<'v, 'a> {
    pub(crate) fn profile(&self) -> Profile {
        self.question.profile
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
    pub(crate) fn calls(&self) -> impl Iterator<Item = (usize, &'v Part<'a>, &'v Call<'a>)> {
        let draft = self.draft;
        self.pairing.calls.iter().filter_map(move |paired| {
            let part = draft.parts.get(paired.part())?;
            Some((paired.message(), part, call_at(draft, paired.part())?))
        })
    }

    /// Calls that are still running: those of the last turn, if nothing but answers follows.
    pub(crate) fn frontier(&self) -> Range<usize> {
        frontier(self.draft, self.pairing, self.question.policy.tail)
    }

    /// Maximal runs of assistant messages.
    pub(crate) fn assistant_runs(&self) -> impl Iterator<Item = Range<usize>> {
        assistant_runs(self.draft)
    }

    /// Whether the rule set has this layout's rule on.
    pub(crate) fn layout(&self) -> Layout {
        self.draft.layout()
    }
}

/// The calls (indices into the pairing) that a pending tail keeps open.
pub(crate) fn frontier(draft: &Draft<'_>, pairing: &Pairing, tail: Tail) -> Range<usize> {
    let turn = last_turn(pairing);
    let (first, last) = match (tail, pairing.groups.get(turn.start), pairing.groups.last()) {
        (Tail::Pending, Some(first), Some(last)) => (first, last),
        _ => return 0..0,
    };
    let behind = draft.messages.iter().skip(last.messages().end);
    let only_answers = behind.filter(|message| !message.role.is_system()).all(|message| {
        let parts = draft.parts_of(message);
        !parts.is_empty() && parts.iter().all(|part| matches!(part.kind, Kind::Answer(_)))
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
pub(crate) struct Notes<'n, 'v, 'a> {
    view: &'n View<'v, 'a>,
    rule: &'static Rule,
    last: Option<Finding>,
    found: &'n mut dyn FnMut(Finding),
}

impl Notes<'_, '_, '_> {
    fn hand_over(&mut self) {
        if let Some(finding) = self.last.take() {
            (self.found)(finding);
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
        self.hand_over();
        let profile = self.view.profile();
        self.last.insert(Finding {
            rule: self.rule,
            severity: self.rule.evidence(profile).map_or(Severity::Warning, Severity::from),
            message: text,
            at: Place { message, span },
            partner: None,
            ids: Vec::new(),
            tool: None,
            profile,
            fix,
        })
    }

    /// A finding about a call.
    pub(crate) fn call(
        &mut self,
        message: usize,
        part: &Part<'_>,
        call: &Call<'_>,
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
pub(crate) fn shown(id: Option<&str>) -> String {
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
