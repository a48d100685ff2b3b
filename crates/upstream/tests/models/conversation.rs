//! A conversation with a model, as a tool loop would have it.

use foxwedge_core::Format;
use foxwedge_formats::{
    convert::{ConversionOptions, ConvertedRequest, compose},
    model::{
        ContentPart, FormatSetting, ModelHistory, ModelMessage, ModelPart, ModelRequest, ModelRole,
        RequestSettings, ToolDeclaration, ToolInput, decode_turn,
    },
};
use foxwedge_upstream::model::{
    ChatModel, ModelEndpoint, ModelError, ReplyDelta, ReplyStopReason, ReplyStream, ReplyToolCall,
    ValidRequest,
};
use serde_json::json;

/// A conversation with one model at a time.
pub(crate) struct Conversation {
    pub(crate) model: ModelEndpoint,
    /// Turns, each in the format it arrived in.
    pub(crate) turns: Vec<(Format, String)>,
}

/// The deltas and the outcome of one reply.
#[derive(Debug, Default)]
pub(crate) struct ReceivedReply {
    pub(crate) deltas: Vec<ReplyDelta>,
    pub(crate) error: Option<ModelError>,
    pub(crate) message: Option<String>,
}

impl Conversation {
    pub(crate) fn new(model: ModelEndpoint) -> Conversation {
        Conversation { model, turns: Vec::new() }
    }

    pub(crate) fn add_prompt(&mut self, text: &str) {
        let message = json!({"role": "user", "content": text});
        self.turns.push((Format::Anthropic, message.to_string()));
    }

    /// Adds tool results, in the format in which the loop stores them.
    pub(crate) fn add_results(&mut self, calls: &[ReplyToolCall]) {
        let block = |call: &ReplyToolCall| {
            json!({"type": "tool_result", "tool_use_id": call.id,
                "content": format!("{} of {}", call.name, call.arguments)})
        };
        let blocks: Vec<_> = calls.iter().map(block).collect();
        let message = json!({"role": "user", "content": blocks});
        self.turns.push((Format::Anthropic, message.to_string()));
    }

    /// The next request.
    pub(crate) fn compose_request(&self) -> ConvertedRequest {
        let about = self.model.about();
        let text = ModelPart::new(ContentPart::Text("Be kind.".into()));
        let mut messages = vec![ModelMessage::new(ModelRole::System, vec![text])];
        for (wire, turn) in &self.turns {
            messages.extend(decode_turn(turn, *wire).expect("readable"));
        }
        let tool = |name: &'static str| ToolDeclaration {
            name: name.into(),
            description: Some("Looks.".into()),
            input: ToolInput::Object(Some(
                r#"{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}"#
                    .into(),
            )),
            strict: None,
            cache: None,
            others: Vec::new(),
            raw: None,
        };
        let responses = Format::OpenaiResponses;
        let others = [("store", "false"), ("include", r#"["reasoning.encrypted_content"]"#)].map(
            |(key, value)| FormatSetting { wire: responses, parent: "", key: key.into(), value },
        );
        let settings = RequestSettings {
            model: Some(about.name.to_string().into()),
            tools: vec![tool("look"), tool("peek")],
            max_tokens: Some("4000"),
            others: others.into_iter().filter(|it| it.wire == about.wire).collect(),
            ..RequestSettings::default()
        };
        let request = ModelRequest { settings, history: ModelHistory { messages }, object: true };
        let options =
            ConversionOptions { profile: Some(about.profile), ..ConversionOptions::default() };
        compose(request, about.wire, &options).expect("converted")
    }

    pub(crate) fn valid_request(&self) -> ValidRequest {
        let body = self.compose_request().body.into();
        ValidRequest::validate(body, self.model.about().wire, &self.model.check_options())
            .expect("valid")
    }

    pub(crate) fn send(&self) -> Box<dyn ReplyStream> {
        self.model.send(self.valid_request())
    }

    /// Sends the next request and reads the reply to its end. Adds its message to the conversation.
    pub(crate) async fn turn(&mut self) -> ReceivedReply {
        let reply = read_reply(&mut *self.send()).await;
        if let Some(message) = &reply.message {
            self.turns.push((self.model.about().wire, message.clone()));
        }
        reply
    }
}

/// Reads a reply to its end.
pub(crate) async fn read_reply(stream: &mut dyn ReplyStream) -> ReceivedReply {
    let mut reply = ReceivedReply::default();
    loop {
        match stream.next_delta().await {
            Ok(Some(delta)) => reply.deltas.push(delta),
            Ok(None) => break,
            Err(error) => {
                reply.error = Some(error);
                assert_eq!(stream.next_delta().await, Ok(None), "nothing follows an error");
                break;
            }
        }
    }
    reply.message = stream.take_message();
    reply
}

impl ReceivedReply {
    pub(crate) fn text(&self) -> String {
        self.join_text(|delta| match delta {
            ReplyDelta::Text(text) => Some(text),
            _ => None,
        })
    }

    pub(crate) fn reasoning(&self) -> String {
        self.join_text(|delta| match delta {
            ReplyDelta::Reasoning(text) => Some(text),
            _ => None,
        })
    }

    pub(crate) fn calls(&self) -> Vec<ReplyToolCall> {
        let calls = self.deltas.iter().filter_map(|delta| match delta {
            ReplyDelta::Call(call) => Some(call.clone()),
            _ => None,
        });
        calls.collect()
    }

    pub(crate) fn stop(&self) -> Option<ReplyStopReason> {
        self.deltas.iter().find_map(|delta| match delta {
            ReplyDelta::Stop(stop) => Some(*stop),
            _ => None,
        })
    }

    pub(crate) fn retries(&self) -> usize {
        self.deltas.iter().filter(|delta| matches!(delta, ReplyDelta::Retrying { .. })).count()
    }

    pub(crate) fn is_repaired(&self) -> bool {
        self.deltas.iter().any(|delta| matches!(delta, ReplyDelta::Repaired(_)))
    }

    /// The code of the error.
    pub(crate) fn code(&self) -> &'static str {
        self.error.as_ref().map_or("", |error| error.code)
    }

    fn join_text(&self, of: impl Fn(&ReplyDelta) -> Option<&String>) -> String {
        self.deltas.iter().filter_map(of).map(String::as_str).collect()
    }
}

/// The content of an assistant message: its texts, and its calls as `id name arguments`.
pub(crate) fn message_content(message: &str, wire: Format) -> (String, Vec<String>) {
    let (mut text, mut calls) = (String::new(), Vec::new());
    for turn in decode_turn(message, wire).expect("readable") {
        assert_eq!(turn.role, ModelRole::Assistant, "{message}");
        for part in &turn.parts {
            match part.content() {
                ContentPart::Text(more) => text.push_str(more),
                ContentPart::ToolCall(call) => calls.push(format!(
                    "{} {} {}",
                    call.id.as_deref().unwrap_or_default(),
                    call.name,
                    call.arguments
                )),
                ContentPart::Reasoning(_) => {}
                other => panic!("{other:?} in {message}"),
            }
        }
    }
    (text, calls)
}

/// Asserts that a message holds exactly what the deltas held.
pub(crate) fn assert_agrees(reply: &ReceivedReply, message: Option<&str>, wire: Format) {
    let (text, calls) = message.map(|message| message_content(message, wire)).unwrap_or_default();
    let id = |call: &String| call.split(' ').next().unwrap_or_default().to_owned();
    let found: Vec<String> = calls.iter().map(id).collect();
    let delivered: Vec<String> = reply.calls().into_iter().map(|call| call.id).collect();
    assert_eq!((text, found), (reply.text(), delivered), "{wire:?} {reply:?} {message:?}");
}
