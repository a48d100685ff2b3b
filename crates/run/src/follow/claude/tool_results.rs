//! What comes back to the model: the `user` lines, with results of tools and notes of the agent.

use crate::{
    ApprovalReply, ApprovalVerdict, EventPayload, RawJson, SharedId, ToolOutcome, ToolResult,
    follow::{
        calls::{CallApproval, StreamCall},
        claude::{ClaudeCodeReader, card},
        emitter::EmitterPhase,
        fields::LineFields,
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

    /// A result, which goes to the call that waits for it.
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
        let how = tool_outcome(known, block, &meta, details.as_ref(), self.interrupted);
        let (call, name) = (known.call.clone(), known.name.clone());
        self.infer_reply(number, how, details.as_ref());
        let content = block.json("content");
        let result = ToolResult { call, name: name.clone(), outcome: how, reason: None, content };
        self.emitter.emit(EventPayload::ToolResult(result));
        self.emitter.calls.settle(number);
        if let Some(known) = self.emitter.calls.get_mut(number) {
            known.failed = matches!(how, ToolOutcome::Error | ToolOutcome::Interrupted);
        }
        if let (Some(input), Some(name), ToolOutcome::Ok) =
            (self.task_calls.remove(&number), name, how)
            && let Some(tasks) = self.tasks.apply_call(&name, &input, details.as_ref())
        {
            self.emitter.emit(EventPayload::Tasks(tasks));
        }
    }

    /// Whoever follows without the host's lines learns what was decided from what happened then.
    fn infer_reply(&mut self, number: usize, how: ToolOutcome, details: Option<&LineFields<'_>>) {
        let Some(known) = self.emitter.calls.get_mut(number) else { return };
        let CallApproval::Open(request) = known.approval.clone() else { return };
        let answer = details.and_then(|details| details.json("answers"));
        let verdict = match (how, &answer) {
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
            // It may have been allowed and have failed, or not.
            (ToolOutcome::Error | ToolOutcome::HandedOver, _) => return,
        };
        known.approval = CallApproval::Replied(verdict);
        let answer = answer.filter(|_| verdict == ApprovalVerdict::Answered);
        let reply = ApprovalReply { call: known.call.clone(), id: Some(request), verdict, answer };
        self.emitter.emit(EventPayload::ApprovalReplied(reply));
    }

    /// Words that stand where the user's do: a prompt that is repeated, or a remark of the agent.
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

/// What a line says about one of its results.
#[derive(Default)]
struct ResultMetadata {
    /// Why it did not run.
    not_run: Option<String>,
    /// Whether it was allowed to.
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

/// How a call ended, by the fields of the stream. What the result says is asked last, and only for
/// what the agent itself writes: the words of a host or a tool mean nothing here.
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
        // The request was taken back before anybody had decided: it never ran.
        CallApproval::Replied(ApprovalVerdict::Cancelled) => ToolOutcome::Cancelled,
        // A request that was not taken back had its answer, and the answer was no.
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

/// How a call ended if no field says it.
fn outcome_from_text(text: &str) -> ToolOutcome {
    let rejected = REJECTED.iter().any(|words| text.starts_with(words));
    let not_granted = NOT_GRANTED.iter().all(|words| text.contains(words));
    if rejected || not_granted { ToolOutcome::Denied } else { ToolOutcome::Error }
}

fn result_text(block: &LineFields<'_>) -> String {
    block.json("content").map(|content| content.plain()).unwrap_or_default()
}
