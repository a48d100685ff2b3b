//! What the agent does without the client's tools: one of its own, and questions to people.

use serde_json::{Value, json};

use super::{Agent, Habit, Reply, Stop};

/// Its own tool.
pub(super) const TOOL: &str = "Bash";
/// What that says.
pub(super) const RESULT: &str = "a tool of the agent's own ran";
const QUESTION: &str = "AskUserQuestion";

impl Agent {
    /// A call of its own tool.
    pub(super) fn own_call(&mut self) -> Value {
        let id = format!("toolu_own{}", self.pipe.id().replace('-', ""));
        json!({"type": "tool_use", "id": id, "name": TOOL, "input": {"command": "true"}})
    }

    /// A message with nothing but its own tool, and what that says.
    pub(super) fn use_own_tool(&mut self) -> Result<(), Stop> {
        let call = self.own_call();
        let said = json!({"type": "text", "text": "Let me look first."});
        let reply = self.own_reply(vec![said, call]);
        self.say(&reply)?;
        self.remember_reply(&reply.id);
        let heard = self.answers()?;
        self.open.clear();
        self.hear(heard);
        Ok(())
    }

    /// A person is asked, and what they say is the answer to the agent's own call.
    pub(super) fn ask_somebody(&mut self) -> Result<(), Stop> {
        let asks = self.habits.has(Habit::Ask);
        let mut call = self.own_call();
        if asks {
            call["name"] = json!(QUESTION);
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
        self.say(&reply)?;
        self.remember_reply(&reply.id);
        let (content, error) = match self.arguments.asks {
            true => self.decided(&call)?,
            false => ("permission was not granted, and nobody can be asked".to_owned(), true),
        };
        self.answered(0, json!(content), error)?;
        let heard = self.answers()?;
        self.open.clear();
        self.hear(heard);
        Ok(())
    }

    /// Whether a call of its own waits for a person.
    pub(super) fn waits_for_somebody(&self, name: &str) -> bool {
        name == QUESTION || (name == TOOL && self.habits.has(Habit::Permission))
    }

    fn decided(&mut self, call: &Value) -> Result<(String, bool), Stop> {
        let asks = call["name"] == QUESTION;
        let request = json!({
            "subtype": "can_use_tool", "tool_name": call["name"], "display_name": call["name"],
            "input": call["input"], "tool_use_id": call["id"], "requires_user_interaction": asks,
        });
        let id = self.pipe.ask(request)?;
        self.asked = Some(id.clone());
        self.pipe.note("asked", json!(id));
        self.state("requires_action")?;
        let (_, answer) = self.pipe.answer(&[id])?;
        self.asked = None;
        self.state("running")?;
        let told = &answer["response"];
        self.pipe.note("decided", told.clone());
        if told["behavior"] != "allow" {
            return Ok((told["message"].as_str().unwrap_or("denied").to_owned(), true));
        }
        if !asks {
            return Ok((RESULT.to_owned(), false));
        }
        let answers = told["updatedInput"]["answers"].as_object().into_iter().flatten();
        let answers: Vec<String> =
            answers.map(|(to, answer)| format!("\"{to}\"={answer}")).collect();
        Ok((format!("Your questions have been answered: {}.", answers.join(", ")), false))
    }

    fn own_reply(&mut self, blocks: Vec<Value>) -> Reply {
        let id = format!("msg_own{}", self.pipe.id().replace('-', ""));
        let usage = json!({"input_tokens": 1, "output_tokens": 1});
        Reply { id, blocks, stop: "tool_use".to_owned(), usage }
    }
}
