//! Making a conversation shorter, with a summary that the model itself writes. What fails leaves the
//! conversation as it was.

use std::{fmt::Write as _, sync::Arc};

use foxwedge_core::{CheckOptions, compact::TokenLimits as Budget};
use foxwedge_dialect::compact::{
    CompactionSettings, CompactionStage as Strategy, DigestSummarizer, HistorySummarizer,
    SummaryRequest, compact,
};
use foxwedge_tools::{StopLevel, StopReceiver, Toolbox};
use serde_json::json;
use tokio::{runtime::Handle, task::spawn_blocking};

use super::{LoopLimits, context::RequestComposer, message::ConversationMessage};
use crate::{
    guard::TokenCounters,
    model::{ChatModel, ModelDescription, ReplyDelta},
};

/// Makes conversations shorter.
#[derive(Default)]
pub(super) struct HistoryCompactor {
    token_counters: Arc<TokenCounters>,
}

/// When a conversation is made shorter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CompactionTrigger {
    /// If the model's window is nearly full.
    IfFull,
    /// The provider says that it is too long.
    Overflow,
    /// Somebody wants it.
    Requested,
}

/// A request that is to become shorter.
pub(super) struct CompactionJob {
    body: String,
    question: CheckOptions,
    budget: Budget,
    tokens: u64,
    /// Whether it could be sent as it is.
    fits: bool,
}

/// A request that became shorter.
pub(super) struct CompactedRequest {
    pub(super) body: String,
    pub(super) before: u64,
    pub(super) after: u64,
}

/// Why it did not.
pub(super) struct CompactionFailure {
    pub(super) why: String,
    /// Whether it could be sent as it is.
    pub(super) fits: bool,
}

impl HistoryCompactor {
    /// Whether a request has to become shorter, and by how much.
    pub(super) fn needs_compaction(
        &self,
        body: &str,
        about: &ModelDescription,
        question: CheckOptions,
        limits: &LoopLimits,
        shortening: CompactionTrigger,
    ) -> Option<CompactionJob> {
        let room = about.window.map(|window| window - limits.max_reply_tokens.min(window / 2));
        let full = room.map(|room| share_of(room, limits.compact_at));
        // A token takes a byte or more, so that most requests are not looked at.
        let small = full.is_none_or(|full| body.len() as u64 <= full);
        if shortening == CompactionTrigger::IfFull && small {
            return None;
        }
        let tokens = self.count_tokens(body, about)?;
        let fits =
            room.is_none_or(|room| tokens <= room) && shortening != CompactionTrigger::Overflow;
        let most = match shortening {
            CompactionTrigger::IfFull => full.filter(|full| tokens > *full)?,
            CompactionTrigger::Overflow => {
                share_of(room.map_or(tokens, |room| room.min(tokens)), 0.7)
            }
            CompactionTrigger::Requested => {
                share_of(full.map_or(tokens, |full| full.min(tokens)), 0.5)
            }
        };
        let budget = Budget::new(most, share_of(most, 0.6));
        Some(CompactionJob { body: body.to_owned(), question, budget, tokens, fits })
    }

    /// How many tokens a request takes.
    pub(super) fn count_tokens(&self, body: &str, about: &ModelDescription) -> Option<u64> {
        self.token_counters.count_tokens(body, about.wire, &about.name)
    }

    /// Makes a request shorter; `None` if there is nothing to gain. `focus` is what a person wants
    /// to be kept.
    pub(super) async fn compact_in_background(
        &self,
        load: CompactionJob,
        model: &Arc<dyn ChatModel>,
        focus: Option<String>,
        stop: StopReceiver,
    ) -> Result<Option<CompactedRequest>, CompactionFailure> {
        let scales = self.token_counters.clone();
        let mut writer =
            HistorySummaryWriter { model: model.clone(), runtime: Handle::current(), focus, stop };
        let fits = load.fits;
        // Whoever writes summaries waits for a model: that takes a thread of its own.
        let work = spawn_blocking(move || load.compact_blocking(&scales, &mut writer));
        work.await.unwrap_or_else(|error| Err(CompactionFailure { why: error.to_string(), fits }))
    }
}

impl CompactionJob {
    fn compact_blocking(
        self,
        scales: &TokenCounters,
        writer: &mut HistorySummaryWriter,
    ) -> Result<Option<CompactedRequest>, CompactionFailure> {
        let CompactionJob { body, question, budget, tokens, fits } = self;
        let about = writer.model.about().clone();
        let mut settings = CompactionSettings::new(question, budget);
        settings.stages = vec![Strategy::Elide, Strategy::Summarize, Strategy::Budget];
        let counted = scales.with_counter(&about.name, |counter| {
            compact(&body, about.wire, &settings, counter, writer)
        });
        match counted {
            Ok(done) if done.is_changed() => {
                let after = done.account.after.tokens;
                Ok(Some(CompactedRequest { body: done.text.into_owned(), before: tokens, after }))
            }
            Ok(_) => Ok(None),
            Err(error) => Err(CompactionFailure { why: error.to_string(), fits }),
        }
    }
}

/// Asks a model for summaries.
struct HistorySummaryWriter {
    model: Arc<dyn ChatModel>,
    runtime: Handle,
    focus: Option<String>,
    stop: StopReceiver,
}

impl HistorySummarizer for HistorySummaryWriter {
    fn name(&self) -> &str {
        &self.model.about().name
    }

    fn summarize(&mut self, request: &SummaryRequest<'_>) -> Result<String, String> {
        let mut prompt = request.prompt();
        if let Some(focus) = &self.focus {
            let _ = write!(prompt, "\nWhat matters most: {focus}\n");
        }
        let asked = self.runtime.block_on(ask_for_summary(
            &self.model,
            &prompt,
            request.max_tokens,
            &mut self.stop,
        ));
        match asked {
            Some(summary) if !summary.trim().is_empty() => Ok(summary),
            _ if self.stop.level() > StopLevel::None => Err("it was stopped".to_owned()),
            // A model that is in trouble does not keep anybody from working.
            _ => DigestSummarizer.summarize(request),
        }
    }
}

/// Asks a model one thing, in a conversation of its own.
async fn ask_for_summary(
    model: &Arc<dyn ChatModel>,
    prompt: &str,
    most: u64,
    stop: &mut StopReceiver,
) -> Option<String> {
    let tools = Toolbox::new();
    let about = model.about();
    let reply = most.max(256);
    let context = RequestComposer {
        about,
        instructions: "",
        tools: &tools,
        max_tools: 0,
        max_reply_tokens: reply,
    };
    let entry = ConversationMessage {
        id: "summary".into(),
        wire: foxwedge_core::Format::Anthropic,
        body: json!({ "role": "user", "content": prompt }).to_string().into(),
        run: None,
    };
    let composed = context.compose(&[entry]).ok()?;
    let mut speech = model.send(context.validate(composed.body).ok()?);
    let mut text = String::new();
    loop {
        let piece = tokio::select! {
            biased;
            () = stop.wait_for(StopLevel::Graceful) => return None,
            piece = speech.next_delta() => piece,
        };
        match piece {
            Ok(Some(ReplyDelta::Text(more))) => text.push_str(&more),
            Ok(Some(
                ReplyDelta::Reasoning(_)
                | ReplyDelta::Call(_)
                | ReplyDelta::Usage(_)
                | ReplyDelta::Stop(_)
                | ReplyDelta::Retrying { .. }
                | ReplyDelta::Repaired(_),
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
fn share_of(tokens: u64, share: f64) -> u64 {
    (tokens as f64 * share.clamp(0.0, 1.0)) as u64
}
