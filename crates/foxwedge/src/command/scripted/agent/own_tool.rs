//! What the agent does without the client's tools: one of its own, and questions to people.

use serde_json::{Value, json};

use super::{AgentModelReply, AgentQuirk, HostPipeStop, ScriptedClaudeAgent};

/// Its own tool.
pub(super) const OWN_TOOL: &str = "Bash";
/// What that says.
pub(super) const OWN_TOOL_RESULT: &str = "a tool of the agent's own ran";
const QUESTION_TOOL: &str = "AskUserQuestion";

impl ScriptedClaudeAgent {
    /// A call of its own tool.
    pub(super) fn own_call(&mut self) -> Value {
        let id = format!("toolu_own{}", self.pipe.new_id().replace('-', ""));
        json!({"type": "tool_use", "id": id, "name": OWN_TOOL, "input": {"command": "true"}})
    }

    /// A message with nothing but its own tool, and what that says.
    pub(super) fn use_own_tool(&mut self) -> Result<(), HostPipeStop> {
        let call = self.own_call();
        let said = json!({"type": "text", "text": "Let me look first."});
        let reply = self.own_reply(vec![said, call]);
        self.print_reply(&reply)?;
        self.remember_reply(&reply.id);
        let heard = self.wait_for_answers()?;
        self.open_calls.clear();
        self.add_user_message(heard);
        Ok(())
    }

    /// A person is asked, and what they say is the answer to the agent's own call.
    pub(super) fn ask_user(&mut self) -> Result<(), HostPipeStop> {
        let asks = self.quirks.has(AgentQuirk::Ask);
        let mut call = self.own_call();
        if asks {
            call["name"] = json!(QUESTION_TOOL);
            call["input"] = json!({"questions": [{
                "question": "Which colour?", "header": "Colour", "multiSelect": false,
                "options": [
                    {"label": "Red", "description": "warm"},
                    {"label": "Blue", "description": "cold"},
                ],
            }]});
        }
        let said = json!({"type": "text", "text": "I need to ask."});
        let reply = self.own_reply(vec![said, call.clone()]);
        self.print_reply(&reply)?;
        self.remember_reply(&reply.id);
        let (content, error) = match self.arguments.asks_permission {
            true => self.request_decision(&call)?,
            false => ("permission was not granted, and nobody can be asked".to_owned(), true),
        };
        self.record_answer(0, json!(content), error)?;
        let heard = self.wait_for_answers()?;
        self.open_calls.clear();
        self.add_user_message(heard);
        Ok(())
    }

    /// Whether a call of its own waits for a person.
    pub(super) fn waits_for_user(&self, name: &str) -> bool {
        name == QUESTION_TOOL || (name == OWN_TOOL && self.quirks.has(AgentQuirk::Permission))
    }

    fn request_decision(&mut self, call: &Value) -> Result<(String, bool), HostPipeStop> {
        let asks = call["name"] == QUESTION_TOOL;
        let request = json!({
            "subtype": "can_use_tool", "tool_name": call["name"], "display_name": call["name"],
            "input": call["input"], "tool_use_id": call["id"], "requires_user_interaction": asks,
        });
        let id = self.pipe.send_request(request)?;
        self.pending_question = Some(id.clone());
        self.pipe.log_event("asked", json!(id));
        self.print_state("requires_action")?;
        let (_, answer) = self.pipe.wait_for_answer(&[id])?;
        self.pending_question = None;
        self.print_state("running")?;
        let told = &answer["response"];
        self.pipe.log_event("decided", told.clone());
        if told["behavior"] != "allow" {
            return Ok((told["message"].as_str().unwrap_or("denied").to_owned(), true));
        }
        if !asks {
            return Ok((OWN_TOOL_RESULT.to_owned(), false));
        }
        let answers = told["updatedInput"]["answers"].as_object().into_iter().flatten();
        let answers: Vec<String> =
            answers.map(|(to, answer)| format!("\"{to}\"={answer}")).collect();
        Ok((format!("Your questions have been answered: {}.", answers.join(", ")), false))
    }

    fn own_reply(&mut self, blocks: Vec<Value>) -> AgentModelReply {
        let id = format!("msg_own{}", self.pipe.new_id().replace('-', ""));
        let usage = json!({"input_tokens": 1, "output_tokens": 1});
        AgentModelReply { id, blocks, stop: "tool_use".to_owned(), usage }
    }
}
