//! Citations of texts, converted if both formats have URLs.

use foxwedge_core::Format;

use super::writer::ReplyBodyWriter;
use crate::conversation::{
    JsonText, LossKind, ModelPart, TextCitation,
    encode::json_writer::{write_comma, write_string},
};

impl<'r, 'a> ReplyBodyWriter<'r, 'a> {
    /// The citations of a text that the format can represent.
    pub(crate) fn usable_citations(
        &mut self,
        part: &'r ModelPart<'a>,
    ) -> Vec<&'r TextCitation<'a>> {
        let Some(notes) = part.notes().filter(|notes| !notes.citations.is_empty()) else {
            return Vec::new();
        };
        if self.wire == Format::Gemini {
            self.record_loss(LossKind::Citation, "citations are not supported in this format");
            return Vec::new();
        }
        let (usable, without_url): (Vec<_>, Vec<_>) =
            notes.citations.iter().partition(|citation| citation.url.is_some());
        if !without_url.is_empty() {
            self.record_loss(
                LossKind::Citation,
                "a citation without a URL is not supported in this format",
            );
        }
        usable
    }

    /// Writes the elements of a list of annotations for a text of `length` characters that starts
    /// at `offset`.
    pub(crate) fn write_annotations(
        &mut self,
        out: &mut String,
        sources: &[&TextCitation<'_>],
        offset: usize,
        length: usize,
    ) {
        use std::fmt::Write as _;
        for source in sources {
            if source.quote.as_ref().is_some_and(|quote| !quote.is_empty()) {
                self.record_loss(
                    LossKind::Citation,
                    "the cited text is not supported in this format",
                );
            }
            let count = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
            let (start, end) = source.span.unwrap_or((0, count(length)));
            let (start, end) =
                (start.saturating_add(count(offset)), end.saturating_add(count(offset)));
            if !out.is_empty() {
                out.push(',');
            }
            out.push_str("{\"type\":\"url_citation\",");
            let nested = self.wire == Format::OpenaiChat;
            if nested {
                out.push_str("\"url_citation\":{");
            }
            let _ = write!(out, "\"start_index\":{start},\"end_index\":{end},\"title\":");
            write_optional_text(out, source.title.as_ref());
            out.push_str(",\"url\":");
            write_optional_text(out, source.url.as_ref());
            out.push_str(if nested { "}}" } else { "}" });
        }
    }

    /// Writes the citations of a whole text in Anthropic's format.
    pub(crate) fn write_anthropic_citations(
        &mut self,
        sources: &[&TextCitation<'_>],
        text: &JsonText<'_>,
    ) {
        for source in sources {
            self.record_span_loss(source, text);
            let out = &mut self.out;
            write_comma(out);
            out.push_str("{\"type\":\"web_search_result_location\",\"url\":");
            write_optional_text(out, source.url.as_ref());
            out.push_str(",\"title\":");
            match &source.title {
                Some(title) => title.write(out),
                None => out.push_str("null"),
            }
            out.push_str(",\"cited_text\":");
            write_optional_text(out, source.quote.as_ref());
            // Only Anthropic can create this value, but strict clients require the field.
            out.push_str(",\"encrypted_index\":\"\"}");
        }
    }

    /// Writes the citations of a whole text in Bedrock's format.
    pub(crate) fn write_bedrock_citations(
        &mut self,
        sources: &[&TextCitation<'_>],
        text: &JsonText<'_>,
    ) {
        for source in sources {
            self.record_span_loss(source, text);
            write_comma(&mut self.out);
            self.out.push('{');
            if let Some(title) = &source.title {
                self.write_field("title", title);
            }
            if let Some(quote) = &source.quote {
                write_comma(&mut self.out);
                self.out.push_str("\"sourceContent\":[{\"text\":");
                quote.write(&mut self.out);
                self.out.push_str("}]");
            }
            write_comma(&mut self.out);
            self.out.push_str("\"location\":{\"web\":{\"url\":");
            write_optional_text(&mut self.out, source.url.as_ref());
            self.out.push_str("}}}");
        }
    }

    /// Records what is lost where a citation is only an address and a title.
    pub(crate) fn record_range_loss(&mut self, source: &TextCitation<'_>) {
        if source.span.is_some() {
            let note = "the text range of a citation is not supported in this format";
            self.record_loss(LossKind::Citation, note);
        }
        if source.quote.as_ref().is_some_and(|quote| !quote.is_empty()) {
            let note = "the cited text is not supported in this format";
            self.record_loss(LossKind::Citation, note);
        }
    }

    /// Records the loss of the range of text that a source supports.
    fn record_span_loss(&mut self, source: &TextCitation<'_>, text: &JsonText<'_>) {
        let Some((start, end)) = source.span else { return };
        let length = u64::try_from(text.chars().count()).unwrap_or(u64::MAX);
        if start > 0 || end < length {
            let note = "the text range of a citation is not supported in this format";
            self.record_loss(LossKind::Citation, note);
        }
    }
}

fn write_optional_text(out: &mut String, text: Option<&JsonText<'_>>) {
    match text {
        Some(text) => text.write(out),
        None => write_string(out, ""),
    }
}
