//! Listening to the model: every piece is kept, then told.

use std::{future::poll_fn, ops::ControlFlow, task::Poll};

use foxwedge_run::{Body, Call, CallRef, Id, Json, Text, Usage};
use foxwedge_store::Store;
use foxwedge_tools::Stage;

use super::{Drive, Trouble};
use crate::{
    model::{Called, ModelError, Piece, Sealed, Speech, StopKind},
    take_ready,
    tool_loop::Note,
};

/// Pieces that are kept together at most.
const TOGETHER: usize = 64;

/// The code of a reply that is too large to be kept.
const TOO_LARGE: &str = "too_large";

/// What was heard.
pub(super) enum Heard {
    /// All of it: the calls, and why it ended.
    All(Vec<Called>, StopKind),
    /// Somebody wanted it to stop.
    Stopped,
    /// It broke off, or never began.
    Failed(ModelError),
}

/// What a turn said so far.
#[derive(Default)]
struct Turn {
    text: String,
    thought: String,
    calls: Vec<Called>,
    stop: Option<StopKind>,
    usage: Usage,
    /// Bytes in all.
    bytes: usize,
}

impl Turn {
    /// Whether more can be kept: a reply is one message, and its worst spelling has to fit.
    fn has_room(&mut self, piece: &Piece) -> bool {
        const MOST: usize = 2 << 20;
        self.bytes += match piece {
            Piece::Text(text) | Piece::Thought(text) => text.len(),
            Piece::Call(called) => called.id.len() + called.name.len() + called.arguments.len(),
            Piece::Usage(_) | Piece::Stop(_) | Piece::Waiting { .. } | Piece::Mended(_) => 0,
        };
        self.bytes <= MOST
    }

    /// The id of a call, if no other call of the turn has it; else one of its own.
    fn unique(&self, id: String, turn: u32) -> String {
        let taken = |id: &str| self.calls.iter().any(|call| call.id == id);
        if !id.is_empty() && !taken(&id) {
            return id;
        }
        let base = if id.is_empty() { format!("call-{turn}") } else { id };
        let fresh = (2u32..).map(|number| format!("{base}-{number}")).find(|id| !taken(id));
        fresh.unwrap_or(base)
    }
}

fn too_large() -> ModelError {
    let message = "the reply is too large to be kept".to_owned();
    ModelError { code: TOO_LARGE, message, passing: false }
}

impl<S: Store> Drive<'_, S> {
    /// Asks, and listens to the end.
    pub(super) async fn hear(&mut self, request: Sealed) -> Result<Heard, Trouble> {
        let wire = self.model.about().wire;
        let mut speech = self.model.ask(request);
        let (mut turn, mut stop) = (Turn::default(), self.stop.clone());
        let heard = loop {
            let piece = tokio::select! {
                biased;
                () = stop.reached(Stage::Asked) => break Heard::Stopped,
                _ = self.pulse.tick() => {
                    self.keeper.pulse(&self.limits).await?;
                    continue;
                }
                piece = speech.next() => piece,
            };
            // What is there already is kept together: a write takes its time.
            if let ControlFlow::Break(Some(end)) =
                self.hear_ready(piece, &mut *speech, &mut turn).await
            {
                break end;
            }
            self.keeper.save().await?;
        };
        // A message with words that were not taken would say more than anybody was told.
        let all_taken = !matches!(&heard, Heard::Failed(error) if error.code == TOO_LARGE);
        self.said = speech.message().filter(|_| all_taken).map(|message| (wire, message));
        drop(speech);
        self.complete(&turn, &heard);
        self.keeper.save().await?;
        Ok(heard)
    }

    /// Takes a piece and those that are ready behind it. Breaks with the end of the reply, or
    /// without one if somebody wants to stop.
    async fn hear_ready(
        &mut self,
        first: Result<Option<Piece>, ModelError>,
        speech: &mut dyn Speech,
        turn: &mut Turn,
    ) -> ControlFlow<Option<Heard>> {
        let mut first = Some(first);
        poll_fn(|context| {
            let Some(first) = first.take() else {
                return Poll::Ready(ControlFlow::Continue(()));
            };
            let next = || match speech.next().as_mut().poll(context) {
                Poll::Ready(piece) => Some(piece),
                Poll::Pending => None,
            };
            Poll::Ready(take_ready(first, TOGETHER, next, |piece| {
                match piece {
                    Ok(Some(piece)) if !turn.has_room(&piece) => {
                        return ControlFlow::Break(Some(Heard::Failed(too_large())));
                    }
                    Ok(Some(piece)) => self.take(piece, turn),
                    Ok(None) => {
                        let calls = std::mem::take(&mut turn.calls);
                        let stop = turn.stop.unwrap_or(StopKind::Done);
                        return ControlFlow::Break(Some(Heard::All(calls, stop)));
                    }
                    Err(error) => return ControlFlow::Break(Some(Heard::Failed(error))),
                }
                match self.is_stopped() {
                    true => ControlFlow::Break(None),
                    false => ControlFlow::Continue(()),
                }
            }))
        })
        .await
    }

    fn take(&mut self, piece: Piece, turn: &mut Turn) {
        let message = Some(Id::from(format!("turn-{}", self.turn)));
        let text = |delta: String| Text { message, delta: Some(delta), ..Text::default() };
        match piece {
            Piece::Text(delta) => {
                turn.text.push_str(&delta);
                self.keeper.note(Body::Text(text(delta)));
            }
            Piece::Thought(delta) => {
                turn.thought.push_str(&delta);
                self.keeper.note(Body::Thought(text(delta)));
            }
            Piece::Call(mut called) => {
                called.id = turn.unique(called.id, self.turn);
                let known = self.names.iter().find(|renamed| renamed.new == called.name);
                if let Some(renamed) = known {
                    called.name.clone_from(&renamed.old);
                }
                self.keeper.note(Body::Call(self.call(&called)));
                turn.calls.push(called);
            }
            Piece::Usage(usage) => turn.usage = usage,
            Piece::Stop(stop) => turn.stop = Some(stop),
            Piece::Waiting { pause, why } => self.keeper.tell_note(Note::Waiting { pause, why }),
            Piece::Mended(changes) => self.keeper.tell_note(Note::Repaired(changes)),
        }
    }

    fn call(&self, called: &Called) -> Call {
        let arguments = called.arguments.trim();
        let arguments = if arguments.is_empty() { "{}" } else { arguments };
        let input = Json::parse(arguments).unwrap_or_else(|| Json::string(arguments));
        Call {
            call: self.reference(&called.id),
            name: Some(Id::from(called.name.as_str())),
            input: Some(input),
            ..Call::default()
        }
    }

    pub(super) fn reference(&self, id: &str) -> CallRef {
        CallRef { id: Some(Id::from(id)), turn: Some(self.turn) }
    }

    /// Says that the texts are whole, if they are, and what it cost.
    fn complete(&mut self, turn: &Turn, heard: &Heard) {
        let message = Some(Id::from(format!("turn-{}", self.turn)));
        let whole = |text: &str| {
            let full = Some(text.to_owned());
            Text { message: message.clone(), full, ..Text::default() }
        };
        if matches!(heard, Heard::All(..)) {
            if !turn.thought.is_empty() {
                self.keeper.note(Body::Thought(whole(&turn.thought)));
            }
            if !turn.text.is_empty() {
                self.keeper.note(Body::Text(whole(&turn.text)));
            }
        }
        let Usage { input, output, cached, reasoning } = turn.usage;
        self.spent.input += input;
        self.spent.output += output;
        self.spent.cached += cached;
        self.spent.reasoning += reasoning;
        if turn.usage != Usage::default() {
            self.keeper.note(Body::Usage(self.spent));
        }
    }
}
