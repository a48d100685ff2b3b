//! The yardstick: serde_json with borrowed types that take roles and ids and skip the rest, and a
//! plain pair check by sets of ids.

use std::{borrow::Cow, collections::HashSet, fmt, marker::PhantomData};

use foxwedge_core::Format;
use serde::{
    Deserialize, Deserializer,
    de::{SeqAccess, Visitor},
};

#[derive(Deserialize)]
struct Id<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Chat<'a> {
    #[serde(borrow)]
    role: Cow<'a, str>,
    #[serde(borrow, default)]
    tool_call_id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    tool_calls: Vec<Id<'a>>,
}

#[derive(Deserialize)]
struct Item<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    call_id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    id: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct Blocks<'a, B> {
    #[serde(borrow)]
    role: Cow<'a, str>,
    #[serde(bound(deserialize = "B: Deserialize<'de>"), alias = "parts")]
    content: List<B>,
}

#[derive(Deserialize)]
struct AnthropicBlock<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    tool_use_id: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct Inner<'a> {
    #[serde(borrow, alias = "toolUseId")]
    id: Cow<'a, str>,
}

#[derive(Deserialize)]
struct NestedBlock<'a> {
    #[serde(borrow, default, alias = "toolUse", alias = "functionCall")]
    call: Option<Inner<'a>>,
    #[serde(borrow, default, alias = "toolResult", alias = "functionResponse")]
    answer: Option<Inner<'a>>,
}

/// A list of blocks; a string counts as none.
struct List<B>(Vec<B>);

impl<'de, B: Deserialize<'de>> Deserialize<'de> for List<B> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Any<B>(PhantomData<B>);
        impl<'de, B: Deserialize<'de>> Visitor<'de> for Any<B> {
            type Value = List<B>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text or blocks")
            }
            fn visit_str<E>(self, _: &str) -> Result<List<B>, E> {
                Ok(List(Vec::new()))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<List<B>, A::Error> {
                let mut blocks = Vec::new();
                while let Some(block) = list.next_element()? {
                    blocks.push(block);
                }
                Ok(List(blocks))
            }
        }
        from.deserialize_any(Any(PhantomData))
    }
}

#[derive(Default)]
struct Pairs<'a> {
    open: HashSet<Cow<'a, str>>,
    bad: usize,
}

impl<'a> Pairs<'a> {
    fn call(&mut self, id: Cow<'a, str>) {
        self.open.insert(id);
    }
    fn answer(&mut self, id: &str) {
        self.bad += usize::from(!self.open.remove(id));
    }
    fn turn(&mut self) {
        self.bad += self.open.len();
        self.open.clear();
    }
}

/// How many pairs a plain check finds broken.
pub(crate) fn skim(wire: Format, bytes: &[u8]) -> usize {
    let mut pairs = Pairs::default();
    match wire {
        Format::OpenaiChat => {
            for message in parse::<Chat<'_>>(bytes) {
                match &message.tool_call_id {
                    Some(id) => pairs.answer(id),
                    None => pairs.turn(),
                }
                black_role(&message.role);
                message.tool_calls.into_iter().for_each(|call| pairs.call(call.id));
            }
        }
        Format::OpenaiResponses => {
            for item in parse::<Item<'_>>(bytes) {
                match (item.kind.as_ref(), item.call_id) {
                    ("function_call", Some(id)) => pairs.call(id),
                    ("function_call_output", Some(id)) => pairs.answer(&id),
                    _ => {}
                }
            }
        }
        Format::GeminiInteractions => {
            for step in parse::<Item<'_>>(bytes) {
                match (step.kind.as_ref(), step.id, step.call_id) {
                    ("function_call", Some(id), _) => pairs.call(id),
                    ("function_result", _, Some(id)) => pairs.answer(&id),
                    _ => {}
                }
            }
        }
        Format::Anthropic => {
            for message in parse::<Blocks<'_, AnthropicBlock<'_>>>(bytes) {
                if message.role == "assistant" {
                    pairs.turn();
                }
                for block in message.content.0 {
                    match (block.kind.as_ref(), block.id, block.tool_use_id) {
                        ("tool_use", Some(id), _) => pairs.call(id),
                        ("tool_result", _, Some(id)) => pairs.answer(&id),
                        _ => {}
                    }
                }
            }
        }
        Format::Gemini | Format::Bedrock => {
            for message in parse::<Blocks<'_, NestedBlock<'_>>>(bytes) {
                black_role(&message.role);
                for block in message.content.0 {
                    if let Some(call) = block.call {
                        pairs.call(call.id);
                    }
                    if let Some(answer) = block.answer {
                        pairs.answer(&answer.id);
                    }
                }
            }
        }
    }
    pairs.turn();
    pairs.bad
}

fn black_role(role: &str) {
    std::hint::black_box(role);
}

fn parse<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Vec<T> {
    serde_json::from_slice(bytes).expect("the data is of this shape")
}
