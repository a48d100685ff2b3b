//! The token usage of a run.
//!
//! Every line of a message repeats the message's usage, and current versions print it before the
//! reply is counted. A `result` has the correct sum since the previous one; until then the messages
//! are added up, each once.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    EventPayload, RunUsage, SharedId,
    follow::{
        claude::{ClaudeCodeReader, reply::MessageOrigin},
        fields::LineFields,
    },
};

/// Sums the usage.
#[derive(Default)]
pub(super) struct UsageTotals {
    settled: RunUsage,
    /// Messages since the last `result`, and whether they belong to a sub-agent.
    messages: BTreeMap<SharedId, (RunUsage, bool)>,
    sum: RunUsage,
    /// Messages that a `result` already includes.
    counted: BTreeSet<SharedId>,
    emitted: RunUsage,
}

impl UsageTotals {
    pub(super) fn total(&self) -> RunUsage {
        add(self.settled, self.sum)
    }

    fn add_message(&mut self, message: &SharedId, usage: RunUsage, is_nested: bool) {
        if self.counted.contains(message) {
            return;
        }
        let (known, _) = self.messages.get(message).copied().unwrap_or_default();
        let usage = RunUsage {
            input: usage.input.max(known.input),
            output: usage.output.max(known.output),
            cached: usage.cached.max(known.cached),
            reasoning: usage.reasoning.max(known.reasoning),
        };
        self.sum = add(subtract(self.sum, known), usage);
        self.messages.insert(message.clone(), (usage, is_nested));
    }

    /// Replaces the estimate of the messages since the last `result` by its figures.
    fn settle(&mut self, result: &LineFields<'_>) {
        let models = result.object("model_usage_since_last_result");
        let models = models.map(|models| {
            let models = models.values().filter_map(|raw| LineFields::read(raw.get()));
            models.map(|model| model_usage(&model)).fold(RunUsage::default(), add)
        });
        let nested = self.messages.values().filter(|(_, is_nested)| *is_nested);
        let nested = nested.fold(RunUsage::default(), |sum, (usage, _)| add(sum, *usage));
        let own = result.object("usage").map(|usage| message_usage(&usage));
        let nothing = RunUsage::default();
        let cost = match (models, own) {
            (Some(models), _) if models != nothing => models,
            // It includes only the run's own messages.
            (_, Some(own)) if own != nothing => add(own, nested),
            // An interrupted request is not included, but is billed.
            _ => self.sum,
        };
        self.settled = add(self.settled, cost);
        self.sum = nothing;
        self.counted.extend(std::mem::take(&mut self.messages).into_keys());
    }
}

impl ClaudeCodeReader {
    /// Records the usage of a message, and emits the total if it changed.
    pub(super) fn record_usage(&mut self, origin: &MessageOrigin, message: &LineFields<'_>) {
        self.record_usage_silently(origin, message);
        self.emit_usage();
    }

    /// Records the usage of a message without emitting it.
    pub(super) fn record_usage_silently(
        &mut self,
        origin: &MessageOrigin,
        message: &LineFields<'_>,
    ) {
        if let Some(usage) = message.object("usage") {
            self.usage.add_message(&origin.message, message_usage(&usage), origin.parent.is_some());
        }
    }

    pub(super) fn record_result_usage(&mut self, result: &LineFields<'_>) {
        self.usage.settle(result);
        self.emit_usage();
    }

    fn emit_usage(&mut self) {
        let total = self.usage.total();
        if total != self.usage.emitted {
            self.usage.emitted = total;
            self.emitter.emit(EventPayload::Usage(total));
        }
    }
}

/// Usage in the provider's format, which counts uncached input, cache writes and cache reads
/// separately.
fn message_usage(usage: &LineFields<'_>) -> RunUsage {
    let count = |name: &str| usage.number(name).unwrap_or(0);
    let cached = count("cache_read_input_tokens");
    let fresh = count("input_tokens").saturating_add(count("cache_creation_input_tokens"));
    let details = usage.object("output_tokens_details");
    let reasoning = details.and_then(|details| details.number("thinking_tokens")).unwrap_or(0);
    RunUsage {
        input: fresh.saturating_add(cached),
        output: count("output_tokens"),
        cached,
        reasoning,
    }
}

/// Usage in the format of the agent's own sums.
fn model_usage(usage: &LineFields<'_>) -> RunUsage {
    let count = |name: &str| usage.number(name).unwrap_or(0);
    let cached = count("cacheReadInputTokens");
    let fresh = count("inputTokens").saturating_add(count("cacheCreationInputTokens"));
    RunUsage {
        input: fresh.saturating_add(cached),
        output: count("outputTokens"),
        cached,
        reasoning: count("thinkingTokens"),
    }
}

fn add(one: RunUsage, other: RunUsage) -> RunUsage {
    RunUsage {
        input: one.input.saturating_add(other.input),
        output: one.output.saturating_add(other.output),
        cached: one.cached.saturating_add(other.cached),
        reasoning: one.reasoning.saturating_add(other.reasoning),
    }
}

fn subtract(one: RunUsage, other: RunUsage) -> RunUsage {
    RunUsage {
        input: one.input.saturating_sub(other.input),
        output: one.output.saturating_sub(other.output),
        cached: one.cached.saturating_sub(other.cached),
        reasoning: one.reasoning.saturating_sub(other.reasoning),
    }
}
