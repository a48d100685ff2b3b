//! Finds the top-level blocks of a Markdown text, and what ends the last one.

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag};

/// A top-level block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct MarkdownBlock {
    /// The offset of its first line.
    pub(super) start: usize,
    pub(super) kind: MarkdownBlockKind,
}

/// A block, by what ends it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum MarkdownBlockKind {
    /// The end of its line.
    Line,
    /// A blank line.
    UntilBlank,
    /// A fence.
    Code {
        /// The language after the first fence.
        language: String,
    },
    /// Another block. Items before the last one are finished.
    List {
        /// The offset of the first line of the last item.
        item: usize,
        /// How many items are before it.
        index: u64,
        /// The number of the first item, if items are numbered.
        number: Option<u64>,
    },
    /// Another block.
    Other,
}

/// The extensions of Markdown that models write.
pub(super) fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS
}

/// The top-level blocks of a text.
pub(super) fn split_blocks(text: &str) -> Vec<MarkdownBlock> {
    let mut blocks: Vec<MarkdownBlock> = Vec::new();
    let mut depth = 0_usize;
    for (event, range) in Parser::new_ext(text, options()).into_offset_iter() {
        let start = line_start(text, range.start);
        match event {
            Event::Start(tag) => {
                match (depth, &tag) {
                    (0, tag) => blocks.push(MarkdownBlock { start, kind: kind_of(tag, start) }),
                    (1, Tag::Item) => {
                        if let Some(MarkdownBlock {
                            kind: MarkdownBlockKind::List { item, index, .. },
                            start: list,
                        }) = blocks.last_mut()
                        {
                            *index += u64::from(start != *list);
                            *item = start;
                        }
                    }
                    _ => {}
                }
                depth += 1;
            }
            Event::End(_) => depth = depth.saturating_sub(1),
            Event::Rule if depth == 0 => {
                blocks.push(MarkdownBlock { start, kind: MarkdownBlockKind::Line })
            }
            _ => {}
        }
    }
    blocks
}

fn kind_of(tag: &Tag<'_>, start: usize) -> MarkdownBlockKind {
    match tag {
        Tag::Heading { .. } => MarkdownBlockKind::Line,
        Tag::Paragraph | Tag::Table(_) => MarkdownBlockKind::UntilBlank,
        Tag::CodeBlock(CodeBlockKind::Fenced(info)) => {
            MarkdownBlockKind::Code { language: language_of(info).to_owned() }
        }
        Tag::List(number) => MarkdownBlockKind::List { item: start, index: 0, number: *number },
        _ => MarkdownBlockKind::Other,
    }
}

/// The language in the text after a fence.
pub(super) fn language_of(info: &str) -> &str {
    info.split([' ', ',', '{']).next().unwrap_or_default()
}

/// The offset of the line that an offset is in.
pub(super) fn line_start(text: &str, at: usize) -> usize {
    text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |end| end + 1)
}
