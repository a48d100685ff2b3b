//! The agent's own tool, and questions to the user.

use serde_json::{Value, json};

use super::{AgentModelReply, AgentQuirk, HostPipeStop, ScriptedClaudeAgent};

/// The name of the agent's own tool.
pub(super) const OWN_TOOL: &str = "Bash";
/// The result of that tool.
pub(super) const OWN_TOOL_RESULT: &str = "a tool of the agent's own ran";
const QUESTION_TOOL: &str = "AskUserQuestion";

impl ScriptedClaudeAgent {
    /// A call of the agent's own tool.
    pub(super) fn own_call(&mut self) -> Value {
        let id = format!("toolu_own{}", self.pipe.new_id().replace('-', ""));
        json!({"type": "tool_use", "id": id, "name": OWN_TOOL, "input": {"command": "true"}})
    }

    /// Prints a message that calls only the agent's own tool, and its result.
    pub(super) fn use_own_tool(&mut self) -> Result<(), HostPipeStop> {
        let call = self.own_call();
        let text = json!({"type": "text", "text": "Let me look first."});
        let reply = self.own_reply(vec![text, call]);
        self.print_reply(&reply)?;
        self.remember_reply(&reply.id);
        let results = self.wait_for_answers()?;
        self.open_calls.clear();
        self.add_user_message(results);
        Ok(())
    }

    /// Asks the user. The reply is the result of the agent's own tool call.
    pub(super) fn ask_user(&mut self) -> Result<(), HostPipeStop> {
        let is_question = self.quirks.has(AgentQuirk::Ask);
        let mut call = self.own_call();
        if is_question {
            call["name"] = json!(QUESTION_TOOL);
            call["input"] = json!({"questions": [{
                "question": "Which colour?", "header": "Colour", "multiSelect": false,
                "options": [
                    {"label": "Red", "description": "warm"},
                    {"label": "Blue", "description": "cold"},
                ],
            }]});
        }
        let text = json!({"type": "text", "text": "I need to ask."});
        let reply = self.own_reply(vec![text, call.clone()]);
        self.print_reply(&reply)?;
        self.remember_reply(&reply.id);
        let (content, error) = match self.arguments.asks_permission {
            true => self.request_decision(&call)?,
            false => ("permission was not granted, and the host cannot be asked".to_owned(), true),
        };
        self.record_answer(0, json!(content), error)?;
        let results = self.wait_for_answers()?;
        self.open_calls.clear();
        self.add_user_message(results);
        Ok(())
    }

    /// Whether a call of the agent's own tool waits for the user.
    pub(super) fn waits_for_user(&self, name: &str) -> bool {
        name == QUESTION_TOOL || (name == OWN_TOOL && self.quirks.has(AgentQuirk::Permission))
    }

    fn request_decision(&mut self, call: &Value) -> Result<(String, bool), HostPipeStop> {
        let is_question = call["name"] == QUESTION_TOOL;
        let request = json!({
            "subtype": "can_use_tool", "tool_name": call["name"], "display_name": call["name"],
            "input": call["input"], "tool_use_id": call["id"],
            "requires_user_interaction": is_question,
        });
        let id = self.pipe.send_request(request)?;
        self.pending_question = Some(id.clone());
        self.pipe.log_event("asked", json!(id));
        self.print_state("requires_action")?;
        let (_, answer) = self.pipe.wait_for_answer(&[id])?;
        self.pending_question = None;
        self.print_state("running")?;
        let decision = &answer["response"];
        self.pipe.log_event("decided", decision.clone());
        if decision["behavior"] != "allow" {
            return Ok((decision["message"].as_str().unwrap_or("denied").to_owned(), true));
        }
        if !is_question {
            return Ok((OWN_TOOL_RESULT.to_owned(), false));
        }
        let answers = decision["updatedInput"]["answers"].as_object().into_iter().flatten();
        let answers: Vec<String> =
            answers.map(|(question, answer)| format!("\"{question}\"={answer}")).collect();
        Ok((format!("Your questions have been answered: {}.", answers.join(", ")), false))
    }

    fn own_reply(&mut self, blocks: Vec<Value>) -> AgentModelReply {
        let id = format!("msg_own{}", self.pipe.new_id().replace('-', ""));
        let usage = json!({"input_tokens": 1, "output_tokens": 1});
        AgentModelReply { id, blocks, stop: "tool_use".to_owned(), usage }
    }
}
