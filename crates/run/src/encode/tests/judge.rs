//! An independent, simple check for what the official clients reject. It shares no code with the
//! encoders; `cargo xtask uis` shows that the clients agree with it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::encode::{AcpRevision, AgUiRevision, EncoderOptions, UiFormat, UiFrame};

/// Returns what is wrong with the frames of a whole run, if anything is.
pub(super) fn judge(
    format: UiFormat,
    options: &EncoderOptions,
    frames: &[UiFrame],
) -> Result<(), String> {
    let mut frames = frames.iter().map(|frame| frame.data.as_str()).collect::<Vec<&str>>();
    if format == UiFormat::AiSdk && frames.pop() != Some("[DONE]") {
        return Err("it does not end with [DONE]".to_owned());
    }
    let parse = |data: &&str| match serde_json::from_str(data) {
        Ok(value) if !data.contains(['\n', '\r']) => Ok(value),
        Ok(_) => Err(format!("more than a line: {data}")),
        Err(error) => Err(format!("{error}: {data}")),
    };
    let values: Vec<Value> = frames.iter().map(parse).collect::<Result<_, _>>()?;
    match format {
        UiFormat::AgUi => agui(options.agui, &values),
        UiFormat::AiSdk => ai_sdk(&values),
        UiFormat::Acp => acp(options.acp, &values),
        UiFormat::Jsonl => Ok(()),
    }
}

#[derive(Default)]
struct AgUiRead {
    begun: bool,
    over: bool,
    open: BTreeSet<(&'static str, String)>,
    answers: BTreeMap<String, usize>,
    subagents: BTreeMap<String, bool>,
    /// The sub-agent that an id belongs to, by the kind of object.
    owners: BTreeMap<(&'static str, String), String>,
    messages: BTreeSet<String>,
}

fn agui(version: AgUiRevision, events: &[Value]) -> Result<(), String> {
    let mut reader = AgUiRead::default();
    for event in events {
        reader.event(version, event).map_err(|complaint| format!("{complaint}: {event}"))?;
    }
    insist(reader.over, "it never ends")
}

impl AgUiRead {
    fn event(&mut self, version: AgUiRevision, event: &Value) -> Result<(), String> {
        let kind = text(event, "type")?;
        insist(!self.over, "something comes after the end")?;
        insist(self.begun != (kind == "RUN_STARTED"), "it begins twice, or not at first")?;
        known_keys(version, kind, event)?;
        match kind {
            "RUN_STARTED" => self.begun = true,
            "STEP_STARTED" => self.opens("step", text(event, "stepName")?)?,
            "STEP_FINISHED" => self.closes("step", text(event, "stepName")?)?,
            "TEXT_MESSAGE_START" => {
                self.message(event)?;
                self.owned("message", event, "messageId")?;
                self.opens("message", text(event, "messageId")?)?;
            }
            "TEXT_MESSAGE_CONTENT" => self.goes_on("message", text(event, "messageId")?)?,
            "TEXT_MESSAGE_END" => self.closes("message", text(event, "messageId")?)?,
            "REASONING_START" => {
                self.message(event)?;
                self.owned("reasoning", event, "messageId")?;
                self.opens("span", text(event, "messageId")?)?;
            }
            "REASONING_MESSAGE_START" => {
                self.owned("reasoning", event, "messageId")?;
                self.opens("reasoning", text(event, "messageId")?)?;
            }
            "REASONING_MESSAGE_CONTENT" => self.goes_on("reasoning", text(event, "messageId")?)?,
            "REASONING_MESSAGE_END" => self.closes("reasoning", text(event, "messageId")?)?,
            "REASONING_END" => self.closes("span", text(event, "messageId")?)?,
            "TOOL_CALL_START" => {
                let id = text(event, "toolCallId")?;
                insist(!self.answers.contains_key(id), "the call has begun already")?;
                self.answers.insert(id.to_owned(), 0);
                if let Some(parent) = event["parentMessageId"].as_str() {
                    let owner = self.owners.get(&("message", parent.to_owned()));
                    insist(owner.is_none_or(|it| *it == tag(event)), "another one's message")?;
                }
                self.opens("call", id)?;
            }
            "TOOL_CALL_ARGS" => self.goes_on("call", text(event, "toolCallId")?)?,
            "TOOL_CALL_END" => self.closes("call", text(event, "toolCallId")?)?,
            "TOOL_CALL_RESULT" => {
                text(event, "content")?;
                text(&event["metadata"], "status")?;
                self.message(event)?;
                let id = text(event, "toolCallId")?;
                let open = self.open.contains(&("call", id.to_owned()));
                insist(!open, "an answer to half a call")?;
                self.owners.insert(("message", text(event, "messageId")?.to_owned()), tag(event));
                let answers = self.answers.get_mut(id).ok_or("an answer without a call")?;
                *answers += 1;
                insist(*answers == 1, "a second answer")?;
            }
            "ACTIVITY_SNAPSHOT" => insist(event["content"].is_object(), "a card is an object")?,
            "CUSTOM" => {
                text(event, "name")?;
            }
            "SUBAGENT_STARTED" => {
                let id = text(event, "subagentRunId")?.to_owned();
                if let Some(parent) = event["parentSubagentRunId"].as_str() {
                    insist(self.subagents.contains_key(parent), "it works for nobody")?;
                }
                insist(self.subagents.insert(id, true).is_none(), "it began before")?;
            }
            "SUBAGENT_FINISHED" | "SUBAGENT_ERROR" => {
                let id = text(event, "subagentRunId")?.to_owned();
                insist(self.subagents.insert(id, false) == Some(true), "it was not at work")?;
            }
            "RUN_FINISHED" | "RUN_ERROR" => self.end(version, kind, event)?,
            _ => return Err("no such event".to_owned()),
        }
        Ok(())
    }

    fn end(&mut self, version: AgUiRevision, kind: &str, event: &Value) -> Result<(), String> {
        self.over = true;
        insist(self.open.is_empty(), format!("{:?} are open", self.open))?;
        insist(self.subagents.values().all(|active| !active), "a sub-agent is at work")?;
        if kind == "RUN_ERROR" {
            text(event, "message")?;
        }
        let outcome = &event["outcome"]["type"];
        let allowed: &[&str] = match version {
            AgUiRevision::V0 => &["success", "interrupt"],
            AgUiRevision::V1 => &["success", "interrupt", "cancelled"],
        };
        insist(outcome.as_str().is_none_or(|it| allowed.contains(&it)), "no such outcome")?;
        let empty = Vec::new();
        let interrupts = event["outcome"]["interrupts"].as_array().unwrap_or(&empty);
        insist((*outcome == "interrupt") != interrupts.is_empty(), "it waits for nothing")?;
        let pending = event["outcome"]["pendingToolCallIds"].as_array().unwrap_or(&empty);
        let may_leave = version == AgUiRevision::V1 && *outcome == "success";
        insist(pending.is_empty() || may_leave, "only a success leaves calls")?;
        let waiting_calls: Vec<_> = interrupts.iter().map(|it| it["toolCallId"].as_str()).collect();
        for (call, answers) in &self.answers {
            let waits = waiting_calls.contains(&Some(call.as_str()))
                || pending.iter().any(|it| it == call.as_str());
            insist(waits == (*answers == 0), format!("{call} has {answers} answers"))?;
        }
        Ok(())
    }

    fn opens(&mut self, kind: &'static str, id: &str) -> Result<(), String> {
        insist(self.open.insert((kind, id.to_owned())), "it is open already")
    }

    fn goes_on(&self, kind: &'static str, id: &str) -> Result<(), String> {
        insist(self.open.contains(&(kind, id.to_owned())), "it is not open")
    }

    fn closes(&mut self, kind: &'static str, id: &str) -> Result<(), String> {
        insist(self.open.remove(&(kind, id.to_owned())), "it is not open")
    }

    /// A message must have an id of its own, because clients append to an existing message with the
    /// same id.
    fn message(&mut self, event: &Value) -> Result<(), String> {
        let id = text(event, "messageId")?.to_owned();
        insist(self.messages.insert(id), "another message has this id")
    }

    fn owned(&mut self, kind: &'static str, event: &Value, key: &str) -> Result<(), String> {
        let id = (kind, text(event, key)?.to_owned());
        let owner = self.owners.entry(id).or_insert_with(|| tag(event));
        insist(*owner == tag(event), "it belongs to another one")
    }
}

fn tag(event: &Value) -> String {
    event["subagentRunId"].as_str().map_or_else(String::new, |tag| format!("of {tag}"))
}

fn known_keys(version: AgUiRevision, kind: &str, event: &Value) -> Result<(), String> {
    let own: &[&str] = match kind {
        "RUN_STARTED" => &["threadId", "runId", "parentRunId", "protocolVersion"],
        "RUN_FINISHED" => &["threadId", "runId", "result", "outcome", "usage"],
        "RUN_ERROR" => &["message", "code", "usage"],
        "STEP_STARTED" | "STEP_FINISHED" => &["stepName"],
        "TEXT_MESSAGE_START" | "REASONING_MESSAGE_START" => &["messageId", "role"],
        "TEXT_MESSAGE_CONTENT" | "REASONING_MESSAGE_CONTENT" => &["messageId", "delta"],
        "TEXT_MESSAGE_END" | "REASONING_START" | "REASONING_MESSAGE_END" | "REASONING_END" => {
            &["messageId"]
        }
        "TOOL_CALL_START" => &["toolCallId", "toolCallName", "parentMessageId"],
        "TOOL_CALL_ARGS" => &["toolCallId", "delta"],
        "TOOL_CALL_END" => &["toolCallId"],
        "TOOL_CALL_RESULT" => &["messageId", "toolCallId", "content", "role"],
        "ACTIVITY_SNAPSHOT" => &["messageId", "activityType", "content"],
        "CUSTOM" => &["name", "value"],
        "SUBAGENT_STARTED" => &["name", "parentSubagentRunId", "parentToolCallId"],
        "SUBAGENT_FINISHED" => &[],
        "SUBAGENT_ERROR" => &["message", "code"],
        _ => &[],
    };
    for (key, value) in event.as_object().into_iter().flatten() {
        let common = ["type", "timestamp", "metadata"].contains(&key.as_str())
            || version == AgUiRevision::V1 && key == "subagentRunId";
        insist(common || own.contains(&key.as_str()), format!("no field `{key}`"))?;
        insist(!value.is_null() || kind == "CUSTOM", format!("`{key}` is null"))?;
    }
    Ok(())
}

#[derive(Default)]
struct Message {
    open: BTreeSet<String>,
    step: usize,
    /// Calls by id: their step, their state, and whether they were approved.
    calls: BTreeMap<String, Call>,
    end: Option<String>,
}

#[derive(Default)]
struct Call {
    step: usize,
    state: String,
    approval: Option<String>,
    approved: Option<bool>,
}

fn ai_sdk(chunks: &[Value]) -> Result<(), String> {
    let mut message = Message::default();
    for (at, chunk) in chunks.iter().enumerate() {
        let is_first = chunk["type"] == "start";
        insist(is_first == (at == 0), format!("the start is not the first: {chunk}"))?;
        message.chunk(chunk).map_err(|complaint| format!("{complaint}: {chunk}"))?;
    }
    message.end()
}

impl Message {
    fn chunk(&mut self, chunk: &Value) -> Result<(), String> {
        let kind = text(chunk, "type")?;
        insist(self.end.is_none(), "something comes after the end")?;
        match kind {
            "start" | "message-metadata" | "finish-step" => {}
            "start-step" => self.step += 1,
            "text-start" | "reasoning-start" => {
                insist(self.step > 0, "outside of any step")?;
                let is_new = self.open.insert(text(chunk, "id")?.to_owned());
                insist(is_new, "it is open already")?;
            }
            "text-delta" | "reasoning-delta" => {
                text(chunk, "delta")?;
                insist(self.open.contains(text(chunk, "id")?), "it is not open")?;
            }
            "text-end" | "reasoning-end" => {
                insist(self.open.remove(text(chunk, "id")?), "it is not open")?;
            }
            "tool-input-start" => {
                let step = self.step;
                let state = "input-streaming".to_owned();
                let call = Call { step, state, ..Call::default() };
                let before = self.calls.insert(text(chunk, "toolCallId")?.to_owned(), call);
                insist(step > 0 && before.is_none(), "it began before, or outside of any step")?;
                insist(chunk["dynamic"] == true, "nobody knows the tool")?;
            }
            "tool-input-delta" | "tool-input-available" => {
                let step = self.step;
                let call = self.call(chunk)?;
                insist(call.step == step, "a second part of this call would be shown")?;
                insist(call.state != "output", "it is over")?;
                call.state = kind.replace("tool-", "").replace("delta", "streaming");
            }
            "tool-approval-request" => {
                let id = text(chunk, "approvalId")?.to_owned();
                let taken = |call: &Call| call.approval.as_ref() == Some(&id);
                let others = self.calls.iter().filter(|(call, _)| chunk["toolCallId"] != **call);
                insist(!others.map(|(_, call)| call).any(taken), "another call has this id")?;
                let call = self.call(chunk)?;
                call.state = "approval-requested".to_owned();
                (call.approval, call.approved) = (Some(id), None);
            }
            "tool-approval-response" => {
                let id = text(chunk, "approvalId")?;
                let approved = chunk["approved"].as_bool().ok_or("neither yes nor no")?;
                let call = self.calls.values_mut().find(|it| it.approval.as_deref() == Some(id));
                call.ok_or("nobody asked")?.approved = Some(approved);
            }
            "tool-output-available" | "tool-output-error" | "tool-output-denied" => {
                let call = self.call(chunk)?;
                insist(call.state != "output", "it is over")?;
                call.state = "output".to_owned();
                let is_denied = kind == "tool-output-denied";
                let agrees = match (&call.approval, call.approved) {
                    (None, _) => !is_denied,
                    (Some(_), Some(approved)) => approved != is_denied,
                    (Some(_), None) => false,
                };
                insist(agrees, "the approval and the end do not agree")?;
                if kind == "tool-output-error" {
                    text(chunk, "errorText")?;
                }
            }
            "finish" => self.end = Some(text(chunk, "finishReason")?.to_owned()),
            "abort" | "error" => self.end = Some(kind.to_owned()),
            data if data.starts_with("data-") => {
                insist(chunk.get("data").is_some(), "data without data")?;
            }
            _ => return Err("no such chunk".to_owned()),
        }
        Ok(())
    }

    fn call(&mut self, chunk: &Value) -> Result<&mut Call, String> {
        self.calls.get_mut(text(chunk, "toolCallId")?).ok_or("nobody called".to_owned())
    }

    fn end(&self) -> Result<(), String> {
        let end = self.end.as_deref().ok_or("it never ends")?;
        insist(self.open.is_empty(), format!("{:?} are open", self.open))?;
        for (id, call) in &self.calls {
            let waits = ["approval-requested", "input-available"].contains(&call.state.as_str());
            let is_settled = call.state == "output" || end == "tool-calls" && waits;
            insist(is_settled, format!("{id} is {} at the end ({end})", call.state))?;
        }
        Ok(())
    }
}

fn acp(version: AcpRevision, messages: &[Value]) -> Result<(), String> {
    let mut calls: BTreeMap<String, String> = BTreeMap::new();
    let mut open_requests: BTreeSet<String> = BTreeSet::new();
    let mut is_over = false;
    for message in messages {
        let complain = |complaint: &str| format!("{complaint}: {message}");
        insist(message["jsonrpc"] == "2.0" && !is_over, complain("something comes after the end"))?;
        let update = &message["params"]["update"];
        match message["method"].as_str() {
            None => is_over = version == AcpRevision::V1 && message.get("id").is_some(),
            Some("session/update") => {
                let kind = text(update, "sessionUpdate")?;
                if kind == "state_update" {
                    insist(version == AcpRevision::V2, complain("version 1 has no states"))?;
                    is_over = update["state"] == "idle";
                }
                if !kind.starts_with("tool_call") {
                    continue;
                }
                let id = text(update, "toolCallId")?;
                let began = calls.contains_key(id);
                let is_first = kind == "tool_call" || version == AcpRevision::V2 && !began;
                insist(is_first != began, complain("a call begins once, and first"))?;
                let ended = ["completed", "failed", "cancelled"];
                let status = calls.entry(id.to_owned()).or_default();
                // Only a denial or hand-over that becomes known later may correct the status.
                let corrected = update["_meta"]["foxwedge"]["status"].as_str();
                let corrects = status.as_str() != "completed"
                    && matches!(corrected, Some("denied" | "handed_over"));
                let has_ended = ended.contains(&status.as_str());
                insist(!has_ended || corrects, complain("the call is over"))?;
                if let Some(now) = update["status"].as_str() {
                    let known: &[&str] = match version {
                        AcpRevision::V1 => &["pending", "in_progress", "completed", "failed"],
                        AcpRevision::V2 => &[
                            "pending",
                            "in_progress",
                            "paused",
                            "completed",
                            "failed",
                            "cancelled",
                        ],
                    };
                    insist(known.contains(&now), complain("no such status"))?;
                    let began_running = ["in_progress", "paused"].contains(&status.as_str());
                    let goes_back = version == AcpRevision::V2 && began_running && now == "pending";
                    insist(!goes_back, complain("the call has started already"))?;
                    *status = now.to_owned();
                }
            }
            Some("session/request_permission") => {
                let options = message["params"]["options"].as_array().map_or(0, Vec::len);
                let is_new = open_requests.insert(text(message, "id")?.to_owned());
                insist(options > 0 && is_new, complain("no choice, or an id that is taken"))?;
            }
            Some("$/cancel_request") => {
                let id = text(&message["params"], "requestId")?;
                insist(open_requests.remove(id), complain("nobody asked"))?;
            }
            Some(method) => insist(method.starts_with('_'), complain("no such method"))?,
        }
    }
    insist(is_over && open_requests.is_empty(), "it never ends, or somebody is still asked")?;
    let open = ["pending", "in_progress", "paused"];
    let has_open_call = calls.values().any(|status| open.contains(&status.as_str()));
    insist(!has_open_call, "a call is open at the end")
}

fn text<'a>(value: &'a Value, key: &str) -> Result<&'a str, String> {
    value[key].as_str().ok_or_else(|| format!("no text `{key}`"))
}

fn insist(condition: bool, complaint: impl Into<String>) -> Result<(), String> {
    if condition { Ok(()) } else { Err(complaint.into()) }
}
