//! Makes a history shorter without separating a tool call from its result.
//!
//! ```sh
//! cargo run -p foxwedge-formats --example shorten_request
//! ```

use std::error::Error;

use foxwedge_core::{
    CheckOptions, Format, Profile,
    compact::{TokenCounter, TokenLimits},
};
use foxwedge_formats::compact::{CompactionSettings, DigestSummarizer, compact};

/// Four bytes are a token. `foxwedge-tokens` counts with the vocabulary of a model.
struct ByteCounter;

impl TokenCounter for ByteCounter {
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

fn main() -> Result<(), Box<dyn Error>> {
    let log = "tide table\\n".repeat(400);
    let history = format!(
        r#"[{{"role": "user", "content": "Read the log."}},
  {{"role": "assistant", "content": [{{"type": "tool_use", "id": "t1", "name": "read", "input": {{}}}}]}},
  {{"role": "user", "content": [{{"type": "tool_result", "tool_use_id": "t1", "content": "{log}"}}]}},
  {{"role": "assistant", "content": "High water is at six."}},
  {{"role": "user", "content": "And tomorrow?"}}]"#
    );
    let question = CheckOptions::for_profile(Profile::Anthropic);
    let settings = CompactionSettings::new(question, TokenLimits::exactly(400));
    let shorter =
        compact(&history, Format::Anthropic, &settings, &mut ByteCounter, &mut DigestSummarizer)?;
    println!("{} bytes instead of {}", shorter.text.len(), history.len());
    assert!(shorter.is_changed());
    Ok(())
}
