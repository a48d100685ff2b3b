//! Making a conversation shorter, with a summary that the model itself writes. What fails leaves the
//! conversation as it was.

use std::{fmt::Write as _, sync::Arc};

use foxwedge_core::{Question, compact::Limits as Budget};
use foxwedge_dialect::compact::{
    Digest, Settings, Stage as Strategy, Summarizer, SummaryRequest, compact,
};
use foxwedge_tools::{Stage, Stop, Toolbox};
use serde_json::json;
use tokio::{runtime::Handle, task::spawn_blocking};

use super::{Limits, context::Context, entry::Entry};
use crate::{
    guard::Scales,
    model::{Model, ModelAbout, Piece},
};

/// Makes conversations shorter.
#[derive(Default)]
pub(super) struct Shortener {
    scales: Arc<Scales>,
}

/// When a conversation is made shorter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shortening {
    /// If the model's window is nearly full.
    IfFull,
    /// The provider says that it is too long.
    Must,
    /// Somebody wants it.
    Wanted,
}

/// A request that is to become shorter.
pub(super) struct Load {
    body: String,
    question: Question,
    budget: Budget,
    tokens: u64,
    /// Whether it could be sent as it is.
    fits: bool,
}

/// A request that became shorter.
pub(super) struct Shorter {
    pub(super) body: String,
    pub(super) before: u64,
    pub(super) after: u64,
}

/// Why it did not.
pub(super) struct Failed {
    pub(super) why: String,
    /// Whether it could be sent as it is.
    pub(super) fits: bool,
}

impl Shortener {
    /// Whether a request has to become shorter, and by how much.
    pub(super) fn judge(
        &self,
        body: &str,
        about: &ModelAbout,
        question: Question,
        limits: &Limits,
        shortening: Shortening,
    ) -> Option<Load> {
        let room = about.window.map(|window| window - limits.reply.min(window / 2));
        let full = room.map(|room| share(room, limits.full));
        // A token takes a byte or more, so that most requests are not looked at.
        let small = full.is_none_or(|full| body.len() as u64 <= full);
        if shortening == Shortening::IfFull && small {
            return None;
        }
        let tokens = self.weigh(body, about)?;
        let fits = room.is_none_or(|room| tokens <= room) && shortening != Shortening::Must;
        let most = match shortening {
            Shortening::IfFull => full.filter(|full| tokens > *full)?,
            Shortening::Must => share(room.map_or(tokens, |room| room.min(tokens)), 0.7),
            Shortening::Wanted => share(full.map_or(tokens, |full| full.min(tokens)), 0.5),
        };
        let budget = Budget::new(most, share(most, 0.6));
        Some(Load { body: body.to_owned(), question, budget, tokens, fits })
    }

    /// How many tokens a request takes.
    pub(super) fn weigh(&self, body: &str, about: &ModelAbout) -> Option<u64> {
        self.scales.weigh(body, about.wire, &about.name)
    }

    /// Makes a request shorter; `None` if there is nothing to gain. `focus` is what a person wants
    /// to be kept.
    pub(super) async fn shorten(
        &self,
        load: Load,
        model: &Arc<dyn Model>,
        focus: Option<String>,
        stop: Stop,
    ) -> Result<Option<Shorter>, Failed> {
        let scales = self.scales.clone();
        let mut writer = Writer { model: model.clone(), runtime: Handle::current(), focus, stop };
        let fits = load.fits;
        // Whoever writes summaries waits for a model: that takes a thread of its own.
        let work = spawn_blocking(move || load.shorten(&scales, &mut writer));
        work.await.unwrap_or_else(|error| Err(Failed { why: error.to_string(), fits }))
    }
}

impl Load {
    fn shorten(self, scales: &Scales, writer: &mut Writer) -> Result<Option<Shorter>, Failed> {
        let Load { body, question, budget, tokens, fits } = self;
        let about = writer.model.about().clone();
        let mut settings = Settings::new(question, budget);
        settings.stages = vec![Strategy::Elide, Strategy::Summarize, Strategy::Budget];
        let counted = scales
            .with(&about.name, |counter| compact(&body, about.wire, &settings, counter, writer));
        match counted {
            Ok(done) if done.is_changed() => {
                let after = done.account.after.tokens;
                Ok(Some(Shorter { body: done.text.into_owned(), before: tokens, after }))
            }
            Ok(_) => Ok(None),
            Err(error) => Err(Failed { why: error.to_string(), fits }),
        }
    }
}

/// Asks a model for summaries.
struct Writer {
    model: Arc<dyn Model>,
    runtime: Handle,
    focus: Option<String>,
    stop: Stop,
}

impl Summarizer for Writer {
    fn name(&self) -> &str {
        &self.model.about().name
    }

    fn summarize(&mut self, request: &SummaryRequest<'_>) -> Result<String, String> {
        let mut prompt = request.prompt();
        if let Some(focus) = &self.focus {
            let _ = write!(prompt, "\nWhat matters most: {focus}\n");
        }
        let asked = self.runtime.block_on(ask(&self.model, &prompt, request.most, &mut self.stop));
        match asked {
            Some(summary) if !summary.trim().is_empty() => Ok(summary),
            _ if self.stop.stage() > Stage::Quiet => Err("it was stopped".to_owned()),
            // A model that is in trouble does not keep anybody from working.
            _ => Digest.summarize(request),
        }
    }
}

/// Asks a model one thing, in a conversation of its own.
async fn ask(model: &Arc<dyn Model>, prompt: &str, most: u64, stop: &mut Stop) -> Option<String> {
    let tools = Toolbox::new();
    let about = model.about();
    let reply = most.max(256);
    let context = Context { about, instructions: "", tools: &tools, most_tools: 0, reply };
    let entry = Entry {
        id: "summary".into(),
        wire: foxwedge_core::Wire::Anthropic,
        body: json!({ "role": "user", "content": prompt }).to_string().into(),
        run: None,
    };
    let composed = context.compose(&[entry]).ok()?;
    let mut speech = model.ask(context.seal(composed.body).ok()?);
    let mut text = String::new();
    loop {
        let piece = tokio::select! {
            biased;
            () = stop.reached(Stage::Asked) => return None,
            piece = speech.next() => piece,
        };
        match piece {
            Ok(Some(Piece::Text(more))) => text.push_str(&more),
            Ok(Some(
                Piece::Thought(_)
                | Piece::Call(_)
                | Piece::Usage(_)
                | Piece::Stop(_)
                | Piece::Waiting { .. }
                | Piece::Mended(_),
            )) => {}
            Ok(None) => return Some(text),
            Err(_) => return None,
        }
    }
}

/// A share of a number of tokens.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "windows are far below where a float loses count"
)]
fn share(tokens: u64, share: f64) -> u64 {
    (tokens as f64 * share.clamp(0.0, 1.0)) as u64
}
