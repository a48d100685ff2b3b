//! A conversation with a model: what a loop does with one, without the loop.

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

/// A conversation.
pub(crate) struct Talk {
    pub(crate) model: ModelEndpoint,
    /// Turns in the formats they were said in.
    pub(crate) turns: Vec<(Format, String)>,
}

/// What was heard of one reply.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    pub(crate) pieces: Vec<ReplyDelta>,
    pub(crate) error: Option<ModelError>,
    pub(crate) message: Option<String>,
}

impl Talk {
    pub(crate) fn with(model: ModelEndpoint) -> Talk {
        Talk { model, turns: Vec::new() }
    }

    pub(crate) fn user(&mut self, words: &str) {
        let message = json!({"role": "user", "content": words});
        self.turns.push((Format::Anthropic, message.to_string()));
    }

    /// Answers calls, as the loop keeps answers.
    pub(crate) fn answer(&mut self, calls: &[ReplyToolCall]) {
        let block = |call: &ReplyToolCall| {
            json!({"type": "tool_result", "tool_use_id": call.id,
                "content": format!("{} of {}", call.name, call.arguments)})
        };
        let blocks: Vec<_> = calls.iter().map(block).collect();
        let message = json!({"role": "user", "content": blocks});
        self.turns.push((Format::Anthropic, message.to_string()));
    }

    /// The next request.
    pub(crate) fn composed(&self) -> ConvertedRequest {
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
        compose(request, about.wire, &options).expect("told")
    }

    pub(crate) fn sealed(&self) -> ValidRequest {
        let body = self.composed().body.into();
        ValidRequest::validate(body, self.model.about().wire, &self.model.check_options())
            .expect("sound")
    }

    pub(crate) fn ask(&self) -> Box<dyn ReplyStream> {
        self.model.send(self.sealed())
    }

    /// Asks, and hears the reply to its end. What was said becomes a part of the conversation.
    pub(crate) async fn turn(&mut self) -> Heard {
        let heard = hear(&mut *self.ask()).await;
        if let Some(message) = &heard.message {
            self.turns.push((self.model.about().wire, message.clone()));
        }
        heard
    }
}

/// Hears a reply to its end.
pub(crate) async fn hear(speech: &mut dyn ReplyStream) -> Heard {
    let mut heard = Heard::default();
    loop {
        match speech.next_delta().await {
            Ok(Some(piece)) => heard.pieces.push(piece),
            Ok(None) => break,
            Err(error) => {
                heard.error = Some(error);
                assert_eq!(speech.next_delta().await, Ok(None), "behind an error there is nothing");
                break;
            }
        }
    }
    heard.message = speech.take_message();
    heard
}

impl Heard {
    pub(crate) fn text(&self) -> String {
        self.words(|piece| match piece {
            ReplyDelta::Text(text) => Some(text),
            _ => None,
        })
    }

    pub(crate) fn thought(&self) -> String {
        self.words(|piece| match piece {
            ReplyDelta::Reasoning(text) => Some(text),
            _ => None,
        })
    }

    pub(crate) fn calls(&self) -> Vec<ReplyToolCall> {
        let calls = self.pieces.iter().filter_map(|piece| match piece {
            ReplyDelta::Call(call) => Some(call.clone()),
            _ => None,
        });
        calls.collect()
    }

    pub(crate) fn stop(&self) -> Option<ReplyStopReason> {
        self.pieces.iter().find_map(|piece| match piece {
            ReplyDelta::Stop(stop) => Some(*stop),
            _ => None,
        })
    }

    pub(crate) fn waits(&self) -> usize {
        self.pieces.iter().filter(|piece| matches!(piece, ReplyDelta::Retrying { .. })).count()
    }

    pub(crate) fn is_mended(&self) -> bool {
        self.pieces.iter().any(|piece| matches!(piece, ReplyDelta::Repaired(_)))
    }

    /// The code of the error.
    pub(crate) fn code(&self) -> &'static str {
        self.error.as_ref().map_or("", |error| error.code)
    }

    fn words(&self, of: impl Fn(&ReplyDelta) -> Option<&String>) -> String {
        self.pieces.iter().filter_map(of).map(String::as_str).collect()
    }
}

/// What a message of the model says: its texts, and its calls as `id name arguments`.
pub(crate) fn said(message: &str, wire: Format) -> (String, Vec<String>) {
    let (mut text, mut calls) = (String::new(), Vec::new());
    for said in decode_turn(message, wire).expect("readable") {
        assert_eq!(said.role, ModelRole::Assistant, "{message}");
        for part in &said.parts {
            match part.content() {
                ContentPart::Text(words) => text.push_str(words),
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

/// A message says what was told, and nothing else.
pub(crate) fn assert_agrees(heard: &Heard, message: Option<&str>, wire: Format) {
    let (text, calls) = message.map(|message| said(message, wire)).unwrap_or_default();
    let id = |call: &String| call.split(' ').next().unwrap_or_default().to_owned();
    let found: Vec<String> = calls.iter().map(id).collect();
    let told: Vec<String> = heard.calls().into_iter().map(|call| call.id).collect();
    assert_eq!((text, found), (heard.text(), told), "{wire:?} {heard:?} {message:?}");
}
