//! What the model says, in the form of a provider: whole, or in pieces.

mod split;

use std::borrow::Cow;

use foxwedge_core::{Family, Wire};
use foxwedge_dialect::{
    canon::{
        Bit, Call, Notes, Outcome, Part, Reasoning, Reply, Seal as Sealed, Stop, Usage, Words,
        encode_reply,
    },
    stream::{Options, write_stream},
};
use serde_json::Value;

use crate::{
    model::{Called, Speech, Stopped, tokens, weight},
    refuse::{self, Prefix, Provider},
    request::{Seen, Sort},
    seal::Seal,
};

/// When every reply was made: nobody has a clock here.
const CREATED: u64 = 1_763_164_800;

/// A request that gets a reply.
pub(crate) struct Asked<'a> {
    pub(crate) provider: Provider,
    /// The name to answer under.
    pub(crate) model: &'a str,
    pub(crate) request: &'a Value,
    pub(crate) body: &'a [u8],
    /// When the reply is made, if somebody says so.
    pub(crate) created: Option<u64>,
}

/// The body of a reply in one piece.
pub(crate) fn whole(asked: &Asked<'_>, speech: &Speech) -> String {
    let wire = asked.provider.wire();
    let encoded = encode_reply(&outcome(asked, speech), wire, "scripted");
    renamed(asked, speech, encoded.body)
}

/// The frames of a reply that comes in pieces: one for each word.
pub(crate) fn frames(asked: &Asked<'_>, speech: &Speech, seen: &Seen) -> Vec<String> {
    let wire = asked.provider.wire();
    let options = Options { seed: "scripted".to_owned(), usage: seen.usage, ..Options::default() };
    let (bytes, _) = write_stream(&outcome(asked, speech), wire, options);
    let text = renamed(asked, speech, String::from_utf8(bytes).unwrap_or_default());
    split::frames(wire, &text)
}

/// How many tokens were asked.
pub(crate) fn input_tokens(body: &[u8]) -> u64 {
    (body.len() as u64).div_ceil(4)
}

fn outcome(asked: &Asked<'_>, speech: &Speech) -> Outcome<'static> {
    let wire = asked.provider.wire();
    let mut parts = Vec::new();
    if let Some(thought) = &speech.thought {
        parts.push(Part::new(Bit::Reasoning(reasoning(asked, thought))));
    }
    if !speech.text.is_empty() || speech.calls.is_empty() {
        let part = Part::new(Bit::Text(Words::from(speech.text.clone())));
        let refusal = speech.stop == Stopped::Refused;
        parts.push(part.with(Notes { refusal, ..Notes::default() }));
    }
    for (index, called) in speech.calls.iter().enumerate() {
        parts.push(Part::new(Bit::Call(call(asked, speech, index, called))));
    }
    let thought = speech.thought.as_deref().map_or(0, tokens);
    let said = tokens(&speech.text) + speech.calls.iter().map(weight).sum::<u64>();
    let prefix = match asked.provider {
        Provider::OpenaiChat | Provider::Deepseek => "chatcmpl-",
        Provider::OpenaiResponses => "resp_",
        Provider::Anthropic => "msg_",
        Provider::Gemini | Provider::Mistral => "",
    };
    let id = format!("{prefix}{}", Seal::new("reply").with(asked.body).letters(24));
    Outcome::Reply(Reply {
        wire: Some(wire),
        id: Some(Words::from(id)),
        model: Some(Words::from(asked.model.to_owned())),
        created: Some(asked.created.unwrap_or(CREATED)),
        parts,
        stop: Some(match speech.stop {
            Stopped::Said => Stop::End,
            Stopped::Called => Stop::Calls,
            Stopped::Length => Stop::Length,
            Stopped::Refused => Stop::Refusal,
        }),
        usage: Usage {
            input: Some(input_tokens(asked.body)),
            output: Some((thought + said).max(1)),
            cached: Some(0),
            stored: None,
            reasoning: speech.thought.is_some().then_some(thought),
        },
    })
}

fn reasoning(asked: &Asked<'_>, thought: &str) -> Reasoning<'static> {
    let seal = match asked.provider {
        Provider::Anthropic => {
            let mut prefix = Prefix::new(asked.request);
            crate::tree::list(asked.request, "messages")
                .iter()
                .for_each(|message| prefix.message(message));
            Sealed::Signed(Words::from(prefix.sign(thought)))
        }
        Provider::OpenaiResponses => Sealed::Encrypted(Words::from(refuse::encrypted(thought))),
        Provider::OpenaiChat | Provider::Mistral | Provider::Deepseek | Provider::Gemini => {
            Sealed::Open
        }
    };
    Reasoning { text: Words::from(thought.to_owned()), seal }
}

fn call(asked: &Asked<'_>, speech: &Speech, index: usize, called: &Called) -> Call<'static> {
    let seal = Seal::new("call").with(asked.body).with(&index.to_le_bytes());
    let id = match asked.provider {
        Provider::OpenaiChat | Provider::OpenaiResponses | Provider::Gemini => {
            format!("call_{}", seal.letters(24))
        }
        Provider::Deepseek => format!("call_{index:02}_{}", seal.letters(20)),
        Provider::Anthropic => format!("toolu_{}", seal.letters(24)),
        Provider::Mistral => seal.letters(9),
    };
    let (family, arguments) = match (called.sort, &called.arguments) {
        (Sort::Custom, Value::String(words)) => (Family::Custom, words.clone()),
        (Sort::Custom | Sort::Function, arguments) => (Family::Function, arguments.to_string()),
    };
    let signed = asked.provider == Provider::Gemini && index == 0 && speech.thought.is_some();
    let wanted =
        asked.provider == Provider::Gemini && index == 0 && asked.model.contains("gemini-3");
    let signature = (signed || wanted)
        .then(|| Words::from(refuse::thought_signature(&called.name, &called.arguments)));
    Call {
        id: Some(Cow::Owned(id)),
        name: Cow::Owned(called.name.clone()),
        family,
        arguments: Words::from(arguments),
        signature,
    }
}

/// Items of a Responses reply that were made together with reasoning say so in their ids.
fn renamed(asked: &Asked<'_>, speech: &Speech, mut text: String) -> String {
    if asked.provider != Provider::OpenaiResponses || speech.thought.is_none() {
        return text;
    }
    let encoded = encode_reply(&outcome(asked, speech), Wire::OpenaiResponses, "scripted");
    let Ok(body) = serde_json::from_str::<Value>(&encoded.body) else { return text };
    let items = crate::tree::list(&body, "output");
    let ids: Vec<&str> = items.iter().filter_map(|item| crate::tree::text(item, "id")).collect();
    let Some((thought, made)) = ids.split_first() else { return text };
    for id in made {
        text = text.replace(*id, &refuse::with_reasoning(id, thought));
    }
    text
}
