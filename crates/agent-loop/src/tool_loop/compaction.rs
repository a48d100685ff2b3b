//! Compacts a conversation, with a summary that the model itself writes. A failure leaves the
//! conversation unchanged.

use std::{fmt::Write as _, sync::Arc};

use foxwedge_core::{CheckOptions, compact::TokenLimits as Budget};
use foxwedge_formats::compact::{
    CompactionSettings, CompactionStage as Strategy, DigestSummarizer, HistorySummarizer,
    SummaryRequest, compact,
};
use foxwedge_tools::{StopLevel, StopReceiver, Toolbox};
use serde_json::json;
use tokio::{runtime::Handle, task::spawn_blocking};

use super::{LoopLimits, context::RequestComposer, message::ConversationMessage};
use foxwedge_upstream::TokenCounters;
use foxwedge_upstream::model::{ChatModel, ModelDescription, ReplyDelta};

/// Compacts conversations.
#[derive(Default)]
pub(super) struct HistoryCompactor {
    token_counters: Arc<TokenCounters>,
}

/// Why a conversation may be compacted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CompactionTrigger {
    /// Only if the model's window is nearly full.
    IfFull,
    /// The provider refused it as too long.
    Overflow,
    /// The user requested it.
    Requested,
}

/// A request to compact.
pub(super) struct CompactionJob {
    body: String,
    options: CheckOptions,
    budget: Budget,
    tokens: u64,
    /// Whether it could be sent as it is.
    fits: bool,
}

/// A compacted request.
pub(super) struct CompactedRequest {
    pub(super) body: String,
    pub(super) before: u64,
    pub(super) after: u64,
}

/// Why compaction failed.
pub(super) struct CompactionFailure {
    pub(super) why: String,
    /// Whether it could be sent as it is.
    pub(super) fits: bool,
}

impl HistoryCompactor {
    /// The compaction job of a request; `None` if it needs none.
    pub(super) fn needs_compaction(
        &self,
        body: &str,
        about: &ModelDescription,
        options: CheckOptions,
        limits: &LoopLimits,
        trigger: CompactionTrigger,
    ) -> Option<CompactionJob> {
        let room = about.window.map(|window| window - limits.max_reply_tokens.min(window / 2));
        let full = room.map(|room| share_of(room, limits.compact_at));
        // A token takes at least one byte, so that most requests need no counting.
        let small = full.is_none_or(|full| body.len() as u64 <= full);
        if trigger == CompactionTrigger::IfFull && small {
            return None;
        }
        let tokens = self.count_tokens(body, about)?;
        let fits = room.is_none_or(|room| tokens <= room) && trigger != CompactionTrigger::Overflow;
        let max_tokens = match trigger {
            CompactionTrigger::IfFull => full.filter(|full| tokens > *full)?,
            CompactionTrigger::Overflow => {
                share_of(room.map_or(tokens, |room| room.min(tokens)), 0.7)
            }
            CompactionTrigger::Requested => {
                share_of(full.map_or(tokens, |full| full.min(tokens)), 0.5)
            }
        };
        let budget = Budget::new(max_tokens, share_of(max_tokens, 0.6));
        Some(CompactionJob { body: body.to_owned(), options, budget, tokens, fits })
    }

    /// How many tokens a request takes.
    pub(super) fn count_tokens(&self, body: &str, about: &ModelDescription) -> Option<u64> {
        self.token_counters.count_tokens(body, about.wire, &about.name)
    }

    /// Compacts a request; `None` if there is nothing to gain. `focus` is what the summary must
    /// preserve.
    pub(super) async fn compact_in_background(
        &self,
        job: CompactionJob,
        model: &Arc<dyn ChatModel>,
        focus: Option<String>,
        stop: StopReceiver,
    ) -> Result<Option<CompactedRequest>, CompactionFailure> {
        let counters = self.token_counters.clone();
        let mut writer =
            HistorySummaryWriter { model: model.clone(), runtime: Handle::current(), focus, stop };
        let fits = job.fits;
        // Writing a summary blocks on a model, so it runs on its own thread.
        let work = spawn_blocking(move || job.compact_blocking(&counters, &mut writer));
        work.await.unwrap_or_else(|error| Err(CompactionFailure { why: error.to_string(), fits }))
    }
}

impl CompactionJob {
    fn compact_blocking(
        self,
        counters: &TokenCounters,
        writer: &mut HistorySummaryWriter,
    ) -> Result<Option<CompactedRequest>, CompactionFailure> {
        let CompactionJob { body, options, budget, tokens, fits } = self;
        let about = writer.model.about().clone();
        let mut settings = CompactionSettings::new(options, budget);
        settings.stages = vec![Strategy::Elide, Strategy::Summarize, Strategy::Budget];
        let result = counters.with_counter(&about.name, |counter| {
            compact(&body, about.wire, &settings, counter, writer)
        });
        match result {
            Ok(done) if done.is_changed() => {
                let after = done.account.after.tokens;
                Ok(Some(CompactedRequest { body: done.text.into_owned(), before: tokens, after }))
            }
            Ok(_) => Ok(None),
            Err(error) => Err(CompactionFailure { why: error.to_string(), fits }),
        }
    }
}

/// Has a model write summaries.
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
        let summary_text = self.runtime.block_on(ask_for_summary(
            &self.model,
            &prompt,
            request.max_tokens,
            &mut self.stop,
        ));
        match summary_text {
            Some(summary) if !summary.trim().is_empty() => Ok(summary),
            _ if self.stop.level() > StopLevel::None => Err("it was stopped".to_owned()),
            // If the model fails, fall back to a digest.
            _ => DigestSummarizer.summarize(request),
        }
    }
}

/// Sends one prompt to a model, in a separate conversation.
async fn ask_for_summary(
    model: &Arc<dyn ChatModel>,
    prompt: &str,
    max_tokens: u64,
    stop: &mut StopReceiver,
) -> Option<String> {
    let tools = Toolbox::new();
    let about = model.about();
    let max_reply_tokens = max_tokens.max(256);
    let context =
        RequestComposer { about, instructions: "", tools: &tools, max_tools: 0, max_reply_tokens };
    let message = ConversationMessage {
        id: "summary".into(),
        wire: foxwedge_core::Format::Anthropic,
        body: json!({ "role": "user", "content": prompt }).to_string().into(),
        run: None,
    };
    let composed = context.compose(&[message]).ok()?;
    let mut stream = model.send(context.validate(composed.body).ok()?);
    let mut text = String::new();
    loop {
        let delta = tokio::select! {
            biased;
            () = stop.wait_for(StopLevel::Graceful) => return None,
            delta = stream.next_delta() => delta,
        };
        match delta {
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
