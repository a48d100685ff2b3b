//! Calls of tools that take free text, in formats whose tools take objects only: the text is the
//! field `input` of their arguments. Clients get the text back.

use foxwedge_core::CallFamily;
use foxwedge_json::JsonTape;

use crate::{
    conversation::{ContentPart, JsonText, ModelPart, ToolCallPart},
    event::{BlockDelta, BlockStart, StreamEvent},
};

/// The free text in the arguments of a call; the arguments themselves if they are something else.
pub(crate) fn free_text(arguments: &str) -> String {
    let tape = JsonTape::read(arguments).ok();
    let input = tape.as_ref().and_then(|tape| tape.root(arguments).object()?.text("input"));
    input.map_or_else(|| arguments.to_owned(), |input| input.to_string())
}

/// Turns calls of these tools into calls with free text.
pub(crate) fn restore_free_text(parts: &mut [ModelPart<'_>], tools: &[String]) {
    for part in parts {
        let ContentPart::ToolCall(call) = part.content() else { continue };
        if call.family == CallFamily::Function && is_named(tools, &call.name) {
            *part = ModelPart::new(ContentPart::ToolCall(ToolCallPart {
                family: CallFamily::Custom,
                arguments: free_text(&call.arguments).into(),
                ..call.clone()
            }));
        }
    }
}

fn is_named(tools: &[String], name: &str) -> bool {
    tools.iter().any(|tool| tool == name)
}

/// Turns the calls of a stream into calls with free text. Their arguments are held until they are
/// complete.
pub(crate) struct FreeTextCalls {
    tools: Vec<String>,
    /// The numbers of open calls, and their arguments so far.
    open: Vec<(u32, String)>,
}

impl FreeTextCalls {
    pub(crate) fn new(tools: Vec<String>) -> FreeTextCalls {
        FreeTextCalls { tools, open: Vec::new() }
    }

    pub(crate) fn held_bytes(&self) -> usize {
        self.open.iter().map(|(_, arguments)| arguments.len()).sum()
    }

    /// Passes an event on, changed if it is about such a call.
    pub(crate) fn accept<'f>(
        &mut self,
        mut event: StreamEvent<'f>,
        mut pass_on: impl FnMut(StreamEvent<'f>),
    ) {
        if self.tools.is_empty() {
            return pass_on(event);
        }
        match &mut event {
            StreamEvent::Open { block, kind: BlockStart::Call { name, family, .. } }
                if *family == CallFamily::Function && is_named(&self.tools, name) =>
            {
                *family = CallFamily::Custom;
                self.open.push((*block, String::new()));
            }
            StreamEvent::Delta { block, delta: BlockDelta::Text(text) } => {
                if let Some((_, arguments)) = self.open.iter_mut().find(|(open, _)| open == block) {
                    arguments.push_str(text);
                    return;
                }
            }
            StreamEvent::Close { block } => {
                let block = *block;
                if let Some(at) = self.open.iter().position(|(open, _)| *open == block) {
                    let (_, arguments) = self.open.swap_remove(at);
                    let text = JsonText::from(free_text(&arguments));
                    pass_on(StreamEvent::Delta { block, delta: BlockDelta::Text(text) });
                }
            }
            _ => {}
        }
        pass_on(event);
    }
}
