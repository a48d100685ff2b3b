//! The report for programs. Field names are a promise.

use std::ops::Range;

use foxwedge_core::{
    Edit, Finding,
    compact::{CannotShrink, Cut, Gone, Keep, Why},
};
use foxwedge_dialect::compact::{Became, Prefix, Shortened, Size, StageAccount};
use serde::Serialize;
use serde_json::{Value, json};

use super::told::Told;

/// The whole document.
#[derive(Serialize)]
pub(crate) struct Document<'t> {
    version: u32,
    path: &'t str,
    format: &'static str,
    profile: &'static str,
    counting: Counting,
    limits: Allowed,
    changed: bool,
    dry_run: bool,
    before: Amount,
    after: Amount,
    strategies: Vec<Strategy<'t>>,
    given_up: Vec<[usize; 2]>,
    prefix: Option<Cached>,
    repaired: Vec<Step<'t>>,
    /// How many repairs there were, if not all are listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    repaired_total: Option<usize>,
    remaining: Vec<Left<'t>>,
    /// How many findings remain, if not all are listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    remaining_total: Option<usize>,
    held: Vec<Held>,
    messages: Vec<Message>,
}

#[derive(Serialize)]
struct Counting {
    name: &'static str,
    exact: bool,
}

#[derive(Serialize)]
struct Allowed {
    most: Option<u64>,
    goal: Option<u64>,
    window: Option<u64>,
    reserve: Option<u64>,
}

#[derive(Serialize)]
struct Amount {
    messages: usize,
    units: usize,
    calls: usize,
    tokens: u64,
    around: u64,
}

#[derive(Serialize)]
struct Strategy<'t> {
    name: &'static str,
    before: u64,
    after: u64,
    gone: Vec<Lost>,
    shrunk: Vec<Shrunk<'t>>,
    cut: Option<Place>,
    summary: Option<Summary<'t>>,
    repairs: Vec<Step<'t>>,
    short: Option<Shortage>,
}

#[derive(Serialize)]
struct Lost {
    messages: [usize; 2],
    tokens: u64,
    why: &'static str,
    points: Option<u32>,
    reasons: Option<Vec<&'static str>>,
}

#[derive(Serialize)]
struct Shrunk<'t> {
    message: Option<usize>,
    tool: Option<&'t str>,
    tokens: u64,
    /// `"text"`, `"note"`, or `{"ends": tokens}`.
    keep: Value,
}

#[derive(Serialize)]
struct Place {
    asked: usize,
    made: usize,
}

#[derive(Serialize)]
struct Summary<'t> {
    by: &'t str,
    tokens: u64,
}

#[derive(Serialize)]
struct Shortage {
    messages: [usize; 2],
    hold: &'static str,
    needs: u64,
    least: u64,
    budget: u64,
}

#[derive(Serialize)]
struct Step<'t> {
    code: String,
    strategy: &'static str,
    message_index: usize,
    call_ids: &'t [String],
    note: &'t str,
}

#[derive(Serialize)]
struct Left<'t> {
    code: String,
    name: &'static str,
    message: &'t str,
    message_index: usize,
    applicability: &'static str,
}

#[derive(Serialize)]
struct Held {
    messages: [usize; 2],
    why: &'static str,
}

#[derive(Serialize)]
struct Cached {
    message: usize,
    tokens: u64,
}

#[derive(Serialize)]
struct Message {
    tokens: u64,
    became: &'static str,
    left: u64,
}

/// What was done, or that nothing was.
pub(crate) fn document<'t>(told: &Told<'t>) -> Document<'t> {
    let account = &told.compacted.account;
    let changed = told.is_changed();
    let limits = told.room.limits;
    let mut document = Document {
        version: 1,
        path: told.path,
        format: told.format,
        profile: told.profile.name(),
        counting: Counting { name: told.room.tokenizer.counting().name(), exact: account.exact },
        limits: Allowed {
            most: limits.map(|limits| limits.most()),
            goal: limits.map(|limits| limits.goal()),
            window: told.room.window,
            reserve: told.room.reserve,
        },
        changed,
        dry_run: told.dry_run,
        before: size(&account.before),
        after: size(if changed { &account.after } else { &account.before }),
        strategies: Vec::new(),
        given_up: Vec::new(),
        prefix: None,
        repaired: Vec::new(),
        repaired_total: None,
        remaining_total: Some(account.remaining.total())
            .filter(|_| account.remaining.unlisted() > 0),
        remaining: account.remaining.findings.iter().map(left).collect(),
        held: told.held().iter().map(|(messages, hold)| held(messages, hold.name())).collect(),
        messages: messages(told, changed),
    };
    if changed {
        document.strategies = account.stages.iter().map(strategy).collect();
        document.given_up = account.given_up().iter().map(range).collect();
        document.prefix =
            account.prefix.map(|Prefix { message, tokens }| Cached { message, tokens });
        document.repaired = told.mended.iter().chain(&account.repaired).map(step).collect();
        let all = told.mended.len() + account.repaired.len();
        document.repaired_total = Some(all).filter(|&all| all > document.repaired.len());
    }
    document
}

/// The document that says why there is none.
pub(crate) fn refusal(
    path: Option<&str>,
    message: &str,
    help: Option<&str>,
    short: Option<&CannotShrink>,
) -> Value {
    let short = short.map(shortage);
    json!({
        "version": 1,
        "path": path,
        "changed": false,
        "error": { "message": message, "help": help, "short": short },
    })
}

fn size(size: &Size) -> Amount {
    let Size { messages, units, calls, tokens, around } = *size;
    Amount { messages, units, calls, tokens, around }
}

fn strategy(stage: &StageAccount) -> Strategy<'_> {
    Strategy {
        name: stage.stage.name(),
        before: stage.before,
        after: stage.after,
        gone: stage.gone.iter().map(lost).collect(),
        shrunk: stage.shrunk.iter().map(shrunk).collect(),
        cut: stage.cut.map(|Cut { asked, made }| Place { asked, made }),
        summary: stage.summary.as_ref().map(|(by, tokens)| Summary { by, tokens: *tokens }),
        repairs: stage.edits.iter().map(step).collect(),
        short: stage.short.as_ref().map(shortage),
    }
}

fn lost(gone: &Gone) -> Lost {
    let (why, score) = match gone.why {
        Why::Oldest => ("oldest", None),
        Why::Condensed => ("condensed", None),
        Why::Unimportant(score) => ("unimportant", Some(score)),
    };
    Lost {
        messages: range(&gone.messages),
        tokens: gone.tokens,
        why,
        points: score.map(|score| score.points()),
        reasons: score.map(|score| score.reasons().map(|reason| reason.name()).collect()),
    }
}

fn shrunk(answer: &Shortened) -> Shrunk<'_> {
    let keep = match answer.keep {
        Keep::Text => json!("text"),
        Keep::Ends(tokens) => json!({ "ends": tokens }),
        Keep::Note => json!("note"),
    };
    let Shortened { message, tool, tokens, keep: _ } = answer;
    Shrunk { message: *message, tool: tool.as_deref(), tokens: *tokens, keep }
}

fn shortage(short: &CannotShrink) -> Shortage {
    Shortage {
        messages: range(&short.messages),
        hold: short.hold.name(),
        needs: short.needs,
        least: short.least,
        budget: short.budget,
    }
}

fn step(edit: &Edit) -> Step<'_> {
    Step {
        code: format!("FW{}", edit.code),
        strategy: edit.strategy.name(),
        message_index: edit.message,
        call_ids: &edit.ids,
        note: &edit.note,
    }
}

fn left(finding: &Finding) -> Left<'_> {
    Left {
        code: finding.rule.label(),
        name: finding.rule.name,
        message: &finding.message,
        message_index: finding.at.message,
        applicability: finding.fix.applicability.name(),
    }
}

fn held(messages: &Range<usize>, why: &'static str) -> Held {
    Held { messages: range(messages), why }
}

fn messages(told: &Told<'_>, changed: bool) -> Vec<Message> {
    let messages = told.compacted.account.messages.iter().enumerate();
    let message = |(at, &(tokens, became)): (usize, &(u64, Became))| {
        let left = told.left.get(at).copied().unwrap_or(0);
        match changed {
            true => Message { tokens, became: fate(became), left },
            false => Message { tokens, became: "kept", left: tokens },
        }
    };
    messages.map(message).collect()
}

fn fate(became: Became) -> &'static str {
    match became {
        Became::Kept => "kept",
        Became::Changed => "changed",
        Became::Condensed => "condensed",
        Became::Gone => "gone",
    }
}

/// First message, and the one behind the last.
fn range(messages: &Range<usize>) -> [usize; 2] {
    [messages.start, messages.end]
}
