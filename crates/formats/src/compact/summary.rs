//! The interface to summarizers.

use foxwedge_core::PlaceholderLanguage;

use super::plain_text::render_history;
use crate::model::ModelHistory;

/// Writes summaries: a model, a person, or [`super::DigestSummarizer`].
pub trait HistorySummarizer {
    /// Name for reports.
    fn name(&self) -> &str;

    /// Summarizes a range of a conversation.
    ///
    /// # Errors
    /// A sentence with the reason why there is no summary; the history then stays unchanged.
    fn summarize(&mut self, request: &SummaryRequest<'_>) -> Result<String, String>;
}

/// A request for a summary.
#[derive(Clone, Debug)]
pub struct SummaryRequest<'a> {
    /// The messages to summarize, in order. Every tool call has its result.
    pub history: ModelHistory<'a>,
    /// Maximum number of tokens of the summary.
    pub max_tokens: u64,
    /// Language of the texts that we add.
    pub language: PlaceholderLanguage,
}

impl SummaryRequest<'_> {
    /// The messages as plain text, including tool calls and tool results.
    pub fn text(&self) -> String {
        render_history(&self.history)
    }

    /// The prompt for a model: the text and the instructions. Every provider accepts it as one user
    /// message, since it holds no tool call and no tool result.
    pub fn prompt(&self) -> String {
        let words = self.max_tokens * 3 / 4;
        match self.language {
            PlaceholderLanguage::English => format!(
                "Below is the older part of a conversation between a user and an assistant that calls tools. \
Write what the assistant needs to go on with the work, in at most {words} words: what the user wants and insists on, \
what was decided and why, which files were changed and how, what failed, and what remains to be done. \
Keep names, paths and numbers exactly. Answer with the summary alone.\n\n<conversation>\n{}</conversation>\n",
                self.text()
            ),
            PlaceholderLanguage::Chinese => format!(
                "以下是用户与会调用工具的助手之间较早的一段对话。请写出助手继续工作所需的内容，不超过 {words} 个词：\
用户想要什么、坚持什么，做了哪些决定及其理由，改动了哪些文件、如何改动，什么失败了，还剩什么要做。\
名称、路径和数字必须原样保留。只回答摘要本身。\n\n<conversation>\n{}</conversation>\n",
                self.text()
            ),
        }
    }
}
