//! What comes back to the model: the `user` lines, with results of tools and notes of the agent.

use crate::{
    Body, How, Id, Json, Reply, ToolResult, Verdict,
    follow::{
        calls::{Asked, Known},
        claude::{Claude, card},
        fields::Fields,
        tale::Phase,
    },
};

/// What the agent writes when somebody called it off, as a result or as a line of its own.
const INTERRUPTED: &str = "[Request interrupted by user";

/// What the agent itself writes for a call that was not allowed, in versions that do not say so in
/// a field. Only where no field of the stream says anything else.
const REJECTED: [&str; 2] = [
    "The user doesn't want to proceed with this tool use",
    "The user doesn't want to take this action right now",
];
const NOT_GRANTED: [&str; 2] = ["Claude requested permissions to", "you haven't granted it yet"];

impl Claude {
    pub(super) fn user(&mut self, line: &str, fields: &Fields<'_>) {
        let Some(message) = fields.object("message") else {
            return self.tale.unknown("user", line);
        };
        self.messages.close_nameless();
        if let Some(text) = message.text("content") {
            return self.note(text, fields);
        }
        if let Some(raw) = message.raw("content").filter(|_| !message.is_list("content")) {
            self.tale.unknown("content", raw.get());
        }
        let blocks = message.list("content");
        let results = blocks.iter().filter_map(|raw| Fields::read(raw.get())).filter(is_result);
        let ids: Vec<Option<Id>> = results.map(|block| block.id("tool_use_id")).collect();
        let foreign = ids.iter().any(|id| self.tale.calls.find(id.as_ref()).is_none());
        if !ids.is_empty() && (self.tale.phase() != Phase::Over || foreign) {
            self.under_way();
            self.ending.goes_on();
        }
        for raw in blocks {
            let Some(block) = Fields::read(raw.get()) else {
                self.tale.unknown("block", raw.get());
                continue;
            };
            match block.text("type").unwrap_or_default().as_str() {
                "tool_result" => self.answer(&block, self.tale.turn, fields),
                "text" => self.note(block.text("text").unwrap_or_default(), fields),
                kind => self.tale.unknown(format!("block:{kind}"), raw.get()),
            }
        }
    }

    /// A result, which goes to the call that waits for it.
    pub(super) fn answer(&mut self, block: &Fields<'_>, turn: u32, line: &Fields<'_>) {
        let id = block.id("tool_use_id");
        let number = self.tale.calls.mention(id.as_ref(), turn);
        let details = line.object("tool_use_result");
        let Some(known) = self.tale.calls.get(number) else { return };
        let meta = Meta::of(line, id.as_ref());
        if block.is_true("is_error") && says(block).starts_with(INTERRUPTED) {
            self.interrupted = true;
        }
        let how = how(known, block, &meta, details.as_ref(), self.interrupted);
        let (call, name) = (known.call.clone(), known.name.clone());
        self.reply_by_result(number, how, details.as_ref());
        let content = block.json("content");
        let result = ToolResult { call, name: name.clone(), how, reason: None, content };
        self.tale.tell(Body::Result(result));
        self.tale.calls.settle(number);
        if let Some(known) = self.tale.calls.get_mut(number) {
            known.failed = matches!(how, How::Error | How::Interrupted);
        }
        if let (Some(input), Some(name), How::Ok) = (self.task_calls.remove(&number), name, how)
            && let Some(tasks) = self.tasks.changed(&name, &input, details.as_ref())
        {
            self.tale.tell(Body::Tasks(tasks));
        }
    }

    /// Whoever follows without the host's lines learns what was decided from what happened then.
    fn reply_by_result(&mut self, number: usize, how: How, details: Option<&Fields<'_>>) {
        let Some(known) = self.tale.calls.get_mut(number) else { return };
        let Asked::Open(request) = known.asked.clone() else { return };
        let answer = details.and_then(|details| details.json("answers"));
        let verdict = match (how, &answer) {
            (How::Ok, Some(_)) => Verdict::Answered,
            (How::Ok, None) => Verdict::Allowed,
            (How::Denied, _) => Verdict::Denied,
            (How::Cancelled | How::Interrupted | How::Skipped | How::TimedOut, _) => {
                Verdict::Cancelled
            }
            // It may have been allowed and have failed, or not.
            (How::Error | How::HandedOver, _) => return,
        };
        known.asked = Asked::Replied(verdict);
        let answer = answer.filter(|_| verdict == Verdict::Answered);
        let reply = Reply { call: known.call.clone(), id: Some(request), verdict, answer };
        self.tale.tell(Body::Replied(reply));
    }

    /// Words that stand where the user's do: a prompt that is repeated, or a remark of the agent.
    fn note(&mut self, text: String, line: &Fields<'_>) {
        if text.starts_with(INTERRUPTED) {
            self.interrupted = true;
        }
        let is_prompt = line.is_true("isReplay") && !line.is_true("isSynthetic");
        let kind = if is_prompt && !text.starts_with('<') { "prompt" } else { "note" };
        self.tale.tell(card(kind, line.id("uuid"), Json::string(&text)));
    }
}

fn is_result(block: &Fields<'_>) -> bool {
    block.text("type").as_deref() == Some("tool_result")
}

/// What a line says about one of its results.
#[derive(Default)]
struct Meta {
    /// Why it did not run.
    not_run: Option<String>,
    /// Whether it was allowed to.
    decision: Option<String>,
}

impl Meta {
    fn of(line: &Fields<'_>, id: Option<&Id>) -> Meta {
        let metas = line.list("tool_result_meta").into_iter();
        let mut metas = metas.filter_map(|raw| Fields::read(raw.get()));
        let Some(meta) = metas.find(|meta| id.is_some() && meta.id("id").as_ref() == id) else {
            return Meta::default();
        };
        let decision = meta.object("permission_decision");
        Meta {
            not_run: meta.words("non_execution_kind"),
            decision: decision.and_then(|decision| decision.words("decision")),
        }
    }
}

/// How a call ended, by the fields of the stream. What the result says is asked last, and only for
/// what the agent itself writes: the words of a host or a tool mean nothing here.
fn how(
    known: &Known,
    block: &Fields<'_>,
    meta: &Meta,
    details: Option<&Fields<'_>>,
    interrupted: bool,
) -> How {
    if !block.is_true("is_error") {
        let cut = details.is_some_and(|details| details.is_true("interrupted"));
        return if cut { How::Interrupted } else { How::Ok };
    }
    let decision = meta.decision.as_deref();
    let rejected = decision == Some("reject") || meta.not_run.as_deref() == Some("permission-rule");
    let called_off = meta.not_run.as_deref() == Some("user-rejected") && decision.is_none();
    match &known.asked {
        _ if known.refused || rejected => How::Denied,
        Asked::Replied(Verdict::Denied) => How::Denied,
        // The request was taken back before anybody had decided: it never ran.
        Asked::Replied(Verdict::Cancelled) => How::Cancelled,
        // A request that was not taken back had its answer, and the answer was no.
        Asked::Open(_) if called_off => How::Denied,
        _ if called_off => How::Interrupted,
        _ if decision.is_some() => How::Error,
        _ if interrupted => How::Interrupted,
        Asked::Never | Asked::Open(_) | Asked::Replied(Verdict::Allowed | Verdict::Answered) => {
            said(&says(block))
        }
    }
}

/// How a call ended if no field says it.
fn said(text: &str) -> How {
    let rejected = REJECTED.iter().any(|words| text.starts_with(words));
    let not_granted = NOT_GRANTED.iter().all(|words| text.contains(words));
    if rejected || not_granted { How::Denied } else { How::Error }
}

fn says(block: &Fields<'_>) -> String {
    block.json("content").map(|content| content.plain()).unwrap_or_default()
}
