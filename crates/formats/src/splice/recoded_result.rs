//! Writes the content of a tool result in a type that its format allows.

use foxwedge_core::Span;
use foxwedge_json::{FieldChange, SpliceWriter, array_elements, quote};

use super::value_as_text;

/// How a format writes a text block: what stands before and behind the quoted text.
pub(crate) type TextBlock = (&'static str, &'static str);

/// The new content of a tool result. In a list, what is not an object becomes a text block, and parts without content
/// are left out. Any other value becomes its text.
pub(crate) fn recode_result(content: Span, text_block: TextBlock) -> FieldChange<'static> {
    recode_result_without(content, text_block, |_, _| false)
}

/// The same, without the elements of a list that `is_left_out` names.
pub(crate) fn recode_result_without(
    content: Span,
    (before, behind): TextBlock,
    is_left_out: fn(&str, Span) -> bool,
) -> FieldChange<'static> {
    FieldChange::WriteWith(Box::new(move |out| {
        let source = out.source;
        let as_text = |value| quote(&value_as_text(source, value));
        if !content.of(source).starts_with('[') {
            return out.text(&as_text(content));
        }
        let mut elements = array_elements(source, content);
        elements.retain(|element| has_content(source, *element) && !is_left_out(source, *element));
        if elements.is_empty() {
            return out.text(&format!("[{before}{}{behind}]", as_text(content)));
        }
        for (index, element) in elements.into_iter().enumerate() {
            out.text(if index == 0 { "[" } else { "," });
            write_element(out, element, (before, behind));
        }
        out.text("]");
    }))
}

/// Whether an element of a list is not empty.
pub(crate) fn has_content(source: &str, element: Span) -> bool {
    !matches!(element.of(source), "null" | "\"\"")
}

/// Writes an element of a list; what is not an object becomes a text block.
pub(crate) fn write_element(
    out: &mut SpliceWriter<'_>,
    element: Span,
    (before, behind): TextBlock,
) {
    match element.of(out.source).starts_with('{') {
        true => out.copy(element),
        false => {
            let text = quote(&value_as_text(out.source, element));
            out.text(&format!("{before}{text}{behind}"));
        }
    }
}
