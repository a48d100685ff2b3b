//! A conversation with a model: what a loop does with one, without the loop.

use foxwedge_core::Wire;
use foxwedge_dialect::{
    canon::{
        Bit, History, Part, Request, Said, Setting, Settings, Speaker, Takes, Tool, decode_turn,
    },
    convert::{Converted, Options, compose},
};
use foxwedge_engine::model::{
    Called, Endpoint, Model, ModelError, Piece, Sealed, Speech, StopKind,
};
use serde_json::json;

/// A conversation.
pub(crate) struct Talk {
    pub(crate) model: Endpoint,
    /// Turns in the formats they were said in.
    pub(crate) turns: Vec<(Wire, String)>,
}

/// What was heard of one reply.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    pub(crate) pieces: Vec<Piece>,
    pub(crate) error: Option<ModelError>,
    pub(crate) message: Option<String>,
}

impl Talk {
    pub(crate) fn with(model: Endpoint) -> Talk {
        Talk { model, turns: Vec::new() }
    }

    pub(crate) fn user(&mut self, words: &str) {
        let message = json!({"role": "user", "content": words});
        self.turns.push((Wire::Anthropic, message.to_string()));
    }

    /// Answers calls, as the loop keeps answers.
    pub(crate) fn answer(&mut self, calls: &[Called]) {
        let block = |call: &Called| {
            json!({"type": "tool_result", "tool_use_id": call.id,
                "content": format!("{} of {}", call.name, call.arguments)})
        };
        let blocks: Vec<_> = calls.iter().map(block).collect();
        let message = json!({"role": "user", "content": blocks});
        self.turns.push((Wire::Anthropic, message.to_string()));
    }

    /// The next request.
    pub(crate) fn composed(&self) -> Converted {
        let about = self.model.about();
        let text = Part::new(Bit::Text("Be kind.".into()));
        let mut messages = vec![Said::new(Speaker::System, vec![text])];
        for (wire, turn) in &self.turns {
            messages.extend(decode_turn(turn, *wire).expect("readable"));
        }
        let tool = |name: &'static str| Tool {
            name: name.into(),
            description: Some("Looks.".into()),
            takes: Takes::Object(Some(
                r#"{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}"#
                    .into(),
            )),
            strict: None,
            cache: None,
            others: Vec::new(),
            raw: None,
        };
        let responses = Wire::OpenaiResponses;
        let others = [("store", "false"), ("include", r#"["reasoning.encrypted_content"]"#)]
            .map(|(key, value)| Setting { wire: responses, within: "", key: key.into(), value });
        let settings = Settings {
            model: Some(about.name.to_string().into()),
            tools: vec![tool("look"), tool("peek")],
            most: Some("4000"),
            others: others.into_iter().filter(|it| it.wire == about.wire).collect(),
            ..Settings::default()
        };
        let request = Request { settings, history: History { messages }, object: true };
        let options = Options { profile: Some(about.profile), ..Options::default() };
        compose(request, about.wire, &options).expect("told")
    }

    pub(crate) fn sealed(&self) -> Sealed {
        let body = self.composed().body.into();
        Sealed::seal(body, self.model.about().wire, &self.model.question()).expect("sound")
    }

    pub(crate) fn ask(&self) -> Box<dyn Speech> {
        self.model.ask(self.sealed())
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
pub(crate) async fn hear(speech: &mut dyn Speech) -> Heard {
    let mut heard = Heard::default();
    loop {
        match speech.next().await {
            Ok(Some(piece)) => heard.pieces.push(piece),
            Ok(None) => break,
            Err(error) => {
                heard.error = Some(error);
                assert_eq!(speech.next().await, Ok(None), "behind an error there is nothing");
                break;
            }
        }
    }
    heard.message = speech.message();
    heard
}

impl Heard {
    pub(crate) fn text(&self) -> String {
        self.words(|piece| match piece {
            Piece::Text(text) => Some(text),
            _ => None,
        })
    }

    pub(crate) fn thought(&self) -> String {
        self.words(|piece| match piece {
            Piece::Thought(text) => Some(text),
            _ => None,
        })
    }

    pub(crate) fn calls(&self) -> Vec<Called> {
        let calls = self.pieces.iter().filter_map(|piece| match piece {
            Piece::Call(call) => Some(call.clone()),
            _ => None,
        });
        calls.collect()
    }

    pub(crate) fn stop(&self) -> Option<StopKind> {
        self.pieces.iter().find_map(|piece| match piece {
            Piece::Stop(stop) => Some(*stop),
            _ => None,
        })
    }

    pub(crate) fn waits(&self) -> usize {
        self.pieces.iter().filter(|piece| matches!(piece, Piece::Waiting { .. })).count()
    }

    pub(crate) fn is_mended(&self) -> bool {
        self.pieces.iter().any(|piece| matches!(piece, Piece::Mended(_)))
    }

    /// The code of the error.
    pub(crate) fn code(&self) -> &'static str {
        self.error.as_ref().map_or("", |error| error.code)
    }

    fn words(&self, of: impl Fn(&Piece) -> Option<&String>) -> String {
        self.pieces.iter().filter_map(of).map(String::as_str).collect()
    }
}

/// What a message of the model says: its texts, and its calls as `id name arguments`.
pub(crate) fn said(message: &str, wire: Wire) -> (String, Vec<String>) {
    let (mut text, mut calls) = (String::new(), Vec::new());
    for said in decode_turn(message, wire).expect("readable") {
        assert_eq!(said.role, Speaker::Assistant, "{message}");
        for part in &said.parts {
            match part.bit() {
                Bit::Text(words) => text.push_str(words),
                Bit::Call(call) => calls.push(format!(
                    "{} {} {}",
                    call.id.as_deref().unwrap_or_default(),
                    call.name,
                    call.arguments
                )),
                Bit::Reasoning(_) => {}
                other => panic!("{other:?} in {message}"),
            }
        }
    }
    (text, calls)
}

/// A message says what was told, and nothing else.
pub(crate) fn assert_agrees(heard: &Heard, message: Option<&str>, wire: Wire) {
    let (text, calls) = message.map(|message| said(message, wire)).unwrap_or_default();
    let id = |call: &String| call.split(' ').next().unwrap_or_default().to_owned();
    let found: Vec<String> = calls.iter().map(id).collect();
    let told: Vec<String> = heard.calls().into_iter().map(|call| call.id).collect();
    assert_eq!((text, found), (heard.text(), told), "{wire:?} {heard:?} {message:?}");
}
