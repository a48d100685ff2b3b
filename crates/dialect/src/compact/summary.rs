//! Asking somebody for a summary.

use foxwedge_core::PlaceholderLanguage;

use super::plain_text::render_history;
use crate::model::ModelHistory;

/// Writes summaries: a model, a person, or [`super::Digest`].
pub trait HistorySummarizer {
    /// Who it is, for reports.
    fn name(&self) -> &str;

    /// Summarizes a stretch of a conversation.
    ///
    /// # Errors
    /// A sentence that says why there is no summary; the history then stays as it is.
    fn summarize(&mut self, request: &SummaryRequest<'_>) -> Result<String, String>;
}

/// What shall be summarized.
#[derive(Clone, Debug)]
pub struct SummaryRequest<'a> {
    /// What was said, in order. Every call in it has its answer.
    pub history: ModelHistory<'a>,
    /// At most so many tokens are of use.
    pub max_tokens: u64,
    /// The language of our own words.
    pub language: PlaceholderLanguage,
}

impl SummaryRequest<'_> {
    /// What was said, as plain text: calls and answers are told in words.
    pub fn text(&self) -> String {
        render_history(&self.history)
    }

    /// What to ask a model: the text and what to do with it. As one user message it is accepted
    /// by every provider, since it holds no call and no answer.
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
