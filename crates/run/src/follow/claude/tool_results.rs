//! The `user` lines: tool results, and notes of the agent.

use crate::{
    ApprovalReply, ApprovalVerdict, EventPayload, RawJson, SharedId, ToolOutcome, ToolResult,
    follow::{
        calls::{CallApproval, StreamCall},
        claude::{ClaudeCodeReader, card},
        emitter::EmitterPhase,
        fields::LineFields,
    },
};

/// What the agent writes after an interrupt, as a result or as a line.
const INTERRUPTED: &str = "[Request interrupted by user";

/// What the agent writes for a denied call in versions without a field for it. Used only if no
/// field has the information.
const REJECTED: [&str; 2] = [
    "The user doesn't want to proceed with this tool use",
    "The user doesn't want to take this action right now",
];
const NOT_GRANTED: [&str; 2] = ["Claude requested permissions to", "you haven't granted it yet"];

impl ClaudeCodeReader {
    pub(super) fn read_user_line(&mut self, line: &str, fields: &LineFields<'_>) {
        let Some(message) = fields.object("message") else {
            return self.emitter.emit_unknown("user", line);
        };
        self.messages.close_unnamed();
        if let Some(text) = message.text("content") {
            return self.read_note(text, fields);
        }
        if let Some(raw) = message.raw("content").filter(|_| !message.is_list("content")) {
            self.emitter.emit_unknown("content", raw.get());
        }
        let blocks = message.list("content");
        let results = blocks.iter().filter_map(|raw| LineFields::read(raw.get())).filter(is_result);
        let ids: Vec<Option<SharedId>> = results.map(|block| block.id("tool_use_id")).collect();
        let foreign = ids.iter().any(|id| self.emitter.calls.find(id.as_ref()).is_none());
        if !ids.is_empty() && (self.emitter.phase() != EmitterPhase::Ended || foreign) {
            self.ensure_run();
            self.ending.resume();
        }
        for raw in blocks {
            let Some(block) = LineFields::read(raw.get()) else {
                self.emitter.emit_unknown("block", raw.get());
                continue;
            };
            match block.text("type").unwrap_or_default().as_str() {
                "tool_result" => self.read_tool_result(&block, self.emitter.turn, fields),
                "text" => self.read_note(block.text("text").unwrap_or_default(), fields),
                kind => self.emitter.emit_unknown(format!("block:{kind}"), raw.get()),
            }
        }
    }

    /// Reads a result and settles its call.
    pub(super) fn read_tool_result(
        &mut self,
        block: &LineFields<'_>,
        turn: u32,
        line: &LineFields<'_>,
    ) {
        let id = block.id("tool_use_id");
        let number = self.emitter.calls.mention(id.as_ref(), turn);
        let details = line.object("tool_use_result");
        let Some(known) = self.emitter.calls.get(number) else { return };
        let meta = ResultMetadata::read(line, id.as_ref());
        if block.is_true("is_error") && result_text(block).starts_with(INTERRUPTED) {
            self.interrupted = true;
        }
        let outcome = tool_outcome(known, block, &meta, details.as_ref(), self.interrupted);
        let (call, name) = (known.call.clone(), known.name.clone());
        self.infer_reply(number, outcome, details.as_ref());
        let content = block.json("content");
        let result = ToolResult { call, name: name.clone(), outcome, reason: None, content };
        self.emitter.emit(EventPayload::ToolResult(result));
        self.emitter.calls.settle(number);
        if let Some(known) = self.emitter.calls.get_mut(number) {
            known.failed = matches!(outcome, ToolOutcome::Error | ToolOutcome::Interrupted);
        }
        if let (Some(input), Some(name), ToolOutcome::Ok) =
            (self.task_calls.remove(&number), name, outcome)
            && let Some(tasks) = self.tasks.apply_call(&name, &input, details.as_ref())
        {
            self.emitter.emit(EventPayload::Tasks(tasks));
        }
    }

    /// Infers an approval decision from the result, if the host's lines are not available.
    fn infer_reply(
        &mut self,
        number: usize,
        outcome: ToolOutcome,
        details: Option<&LineFields<'_>>,
    ) {
        let Some(known) = self.emitter.calls.get_mut(number) else { return };
        let CallApproval::Open(request) = known.approval.clone() else { return };
        let answer = details.and_then(|details| details.json("answers"));
        let verdict = match (outcome, &answer) {
            (ToolOutcome::Ok, Some(_)) => ApprovalVerdict::Answered,
            (ToolOutcome::Ok, None) => ApprovalVerdict::Allowed,
            (ToolOutcome::Denied, _) => ApprovalVerdict::Denied,
            (
                ToolOutcome::Cancelled
                | ToolOutcome::Interrupted
                | ToolOutcome::Skipped
                | ToolOutcome::TimedOut,
                _,
            ) => ApprovalVerdict::Cancelled,
            // It may have been allowed and failed, or denied.
            (ToolOutcome::Error | ToolOutcome::HandedOver, _) => return,
        };
        known.approval = CallApproval::Replied(verdict);
        let answer = answer.filter(|_| verdict == ApprovalVerdict::Answered);
        let reply = ApprovalReply { call: known.call.clone(), id: Some(request), verdict, answer };
        self.emitter.emit(EventPayload::ApprovalReplied(reply));
    }

    /// Reads text in a user line: a repeated prompt, or a note of the agent.
    fn read_note(&mut self, text: String, line: &LineFields<'_>) {
        if text.starts_with(INTERRUPTED) {
            self.interrupted = true;
        }
        let is_prompt = line.is_true("isReplay") && !line.is_true("isSynthetic");
        let kind = if is_prompt && !text.starts_with('<') { "prompt" } else { "note" };
        self.emitter.emit(card(kind, line.id("uuid"), RawJson::string(&text)));
    }
}

fn is_result(block: &LineFields<'_>) -> bool {
    block.text("type").as_deref() == Some("tool_result")
}

/// Metadata of a result.
#[derive(Default)]
struct ResultMetadata {
    /// Why it did not run.
    not_run: Option<String>,
    /// The permission decision.
    decision: Option<String>,
}

impl ResultMetadata {
    fn read(line: &LineFields<'_>, id: Option<&SharedId>) -> ResultMetadata {
        let metas = line.list("tool_result_meta").into_iter();
        let mut metas = metas.filter_map(|raw| LineFields::read(raw.get()));
        let Some(meta) = metas.find(|meta| id.is_some() && meta.id("id").as_ref() == id) else {
            return ResultMetadata::default();
        };
        let decision = meta.object("permission_decision");
        ResultMetadata {
            not_run: meta.non_empty_text("non_execution_kind"),
            decision: decision.and_then(|decision| decision.non_empty_text("decision")),
        }
    }
}

/// How a call ended, judged by the fields of the stream. The text of the result is used last, and
/// only if the agent itself wrote it: text of a host or a tool means nothing here.
fn tool_outcome(
    known: &StreamCall,
    block: &LineFields<'_>,
    meta: &ResultMetadata,
    details: Option<&LineFields<'_>>,
    interrupted: bool,
) -> ToolOutcome {
    if !block.is_true("is_error") {
        let cut = details.is_some_and(|details| details.is_true("interrupted"));
        return if cut { ToolOutcome::Interrupted } else { ToolOutcome::Ok };
    }
    let decision = meta.decision.as_deref();
    let rejected = decision == Some("reject") || meta.not_run.as_deref() == Some("permission-rule");
    let called_off = meta.not_run.as_deref() == Some("user-rejected") && decision.is_none();
    match &known.approval {
        _ if known.refused || rejected => ToolOutcome::Denied,
        CallApproval::Replied(ApprovalVerdict::Denied) => ToolOutcome::Denied,
        // The request was withdrawn before a decision: the call never ran.
        CallApproval::Replied(ApprovalVerdict::Cancelled) => ToolOutcome::Cancelled,
        // A request that was not withdrawn was answered, with a denial.
        CallApproval::Open(_) if called_off => ToolOutcome::Denied,
        _ if called_off => ToolOutcome::Interrupted,
        _ if decision.is_some() => ToolOutcome::Error,
        _ if interrupted => ToolOutcome::Interrupted,
        CallApproval::NotAsked
        | CallApproval::Open(_)
        | CallApproval::Replied(ApprovalVerdict::Allowed | ApprovalVerdict::Answered) => {
            outcome_from_text(&result_text(block))
        }
    }
}

/// How a call ended, judged by the text of its result.
fn outcome_from_text(text: &str) -> ToolOutcome {
    let rejected = REJECTED.iter().any(|phrase| text.starts_with(phrase));
    let not_granted = NOT_GRANTED.iter().all(|phrase| text.contains(phrase));
    if rejected || not_granted { ToolOutcome::Denied } else { ToolOutcome::Error }
}

fn result_text(block: &LineFields<'_>) -> String {
    block.json("content").map(|content| content.plain()).unwrap_or_default()
}
