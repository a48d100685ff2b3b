//! `compact`: a shorter history, in which every call keeps its result.

use foxwedge_core::{
    Profile,
    compact::{TokenCounter, TokenLimits},
};
use foxwedge_formats::{
    compact::{CompactError, CompactionSettings, DigestSummarizer, compact as compact_text},
    detect,
};

use foxwedge_sessions::detect_message_list;

use crate::{CallError, CallReply, options::CallOptions, report::ReportObject};

pub(crate) fn compact(source: &str, options: &str) -> Result<CallReply, CallError> {
    let names = ["format", "profile", "ignore", "maxTokens", "goalTokens"];
    let options = CallOptions::with_repairs(options, &names)?;
    let named = options.format("format")?;
    if let Some(list) = detect_message_list(source).filter(|_| named.is_none()) {
        let message = format!("{} lists cannot be compacted; convert the list first", list.name());
        return Err(CallError::new("unknown-format", message));
    }
    let format = named.or_else(|| detect(source).map(|found| found.wire));
    let Some(format) = format else {
        let message = "no request in a known format; set `format`";
        return Err(CallError::unknown_format(source, message));
    };
    let Some(max_tokens) = options.count("maxTokens")? else {
        return Err(CallError::new("invalid-options", "the option `maxTokens` is missing"));
    };
    let goal = options.count("goalTokens")?.unwrap_or(max_tokens);
    let question = options.check_options(Profile::for_format(format))?;
    let settings = CompactionSettings::new(question, TokenLimits::new(max_tokens, goal));
    let compacted =
        compact_text(source, format, &settings, &mut EstimatedTokens, &mut DigestSummarizer);
    let compacted = compacted.map_err(|error| match error {
        CompactError::Unreadable(error) => CallError::unreadable(error),
        other => CallError::new("cannot-compact", other.to_string()),
    })?;
    let changed = compacted.is_changed();
    let account = &compacted.account;
    let removed = account.removed_ranges().into_iter().flatten().map(|index| index.to_string());
    let report = ReportObject::new()
        .text("format", format.name())
        .raw("changed", changed)
        .raw("tokensBefore", account.before.tokens)
        .raw("tokensAfter", account.after.tokens)
        .list("removed", removed)
        .end();
    let document = changed.then(|| compacted.text.into_owned().into_bytes());
    Ok(CallReply { report, document })
}

/// Four bytes are one token. Vocabularies are too large for a binding.
struct EstimatedTokens;

impl TokenCounter for EstimatedTokens {
    fn count_text(&mut self, text: &str) -> u32 {
        u32::try_from(text.len().div_ceil(4)).unwrap_or(u32::MAX)
    }

    fn count_media(&mut self, _: &str) -> u32 {
        1_000
    }

    fn is_exact(&self) -> bool {
        false
    }
}
