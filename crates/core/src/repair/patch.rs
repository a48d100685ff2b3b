//! Changes inside a part.

use std::sync::Arc;

use super::{ArgumentsFix, NewText, PartSource};
use crate::{Span, draft::PartKind};

/// Changes inside a part. Every part has one, so it is small.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PartPatch<'a> {
    /// The id is replaced by that of its outline.
    pub id: bool,
    /// The name is replaced by that of its outline.
    pub name: bool,
    /// How the arguments are rewritten.
    pub arguments: Option<ArgumentsFix>,
    /// Content of an answer in other fields is removed.
    pub content_only: bool,
    /// The documented bypass value is written as thought signature.
    pub signature: bool,
    /// Trailing white space of the text is removed.
    pub trim: bool,
    /// The content of an answer is rewritten in a form that the format accepts.
    pub recode_content: bool,
    /// The type is replaced by that of its outline.
    pub typed: bool,
    content: Option<Arc<NewContent<'a>>>,
}

/// Content that a part does not take from its place in the input. Most parts need one kind at most,
/// and many have the same.
#[derive(Clone, PartialEq, Eq, Debug)]
enum NewContent<'a> {
    Source(PartSource<'a>),
    Output(&'static str),
    Pointer(&'static str),
    Several(Box<ContentFields<'a>>),
}

/// All fields of new content.
#[derive(Clone, PartialEq, Eq, Debug)]
struct ContentFields<'a> {
    source: PartSource<'a>,
    output: Option<NewText>,
    pointer: Option<&'static str>,
    repeated: Option<Span>,
    rewritten: bool,
}

impl<'a> PartPatch<'a> {
    /// A part whose content comes from somewhere else than its place in the input.
    pub(super) fn with_source(source: PartSource<'a>) -> PartPatch<'a> {
        let mut patch = PartPatch::default();
        patch.set_source(source);
        patch
    }

    /// Whether nothing changes inside the part.
    pub fn is_empty(&self) -> bool {
        let PartPatch {
            id,
            name,
            arguments,
            content_only,
            signature,
            trim,
            recode_content,
            typed,
            content,
        } = self;
        let has_text = match content.as_deref() {
            None | Some(NewContent::Source(_)) => false,
            Some(NewContent::Output(_) | NewContent::Pointer(_) | NewContent::Several(_)) => true,
        };
        let flags = [*id, *name, *content_only, *signature, *trim, *recode_content, *typed];
        !flags.contains(&true) && arguments.is_none() && !has_text
    }

    /// The new id of a part of that kind.
    pub fn new_id<'k>(&self, kind: &'k PartKind<'_>) -> Option<&'k str> {
        kind.id().filter(|_| self.id)
    }

    /// The new name of a part of that kind.
    pub fn new_name<'k>(&self, kind: &'k PartKind<'_>) -> Option<&'k str> {
        kind.tool().filter(|_| self.name)
    }

    /// Replacement content for an answer that has none, or too much.
    pub fn output(&self) -> Option<&str> {
        match self.content.as_deref()? {
            NewContent::Output(text) => Some(text),
            NewContent::Several(fields) => fields.output.as_deref(),
            NewContent::Source(_) | NewContent::Pointer(_) => None,
        }
    }

    /// Text that replaces media moved out of the answer.
    pub fn pointer(&self) -> Option<&'static str> {
        match self.content.as_deref()? {
            NewContent::Pointer(text) => Some(text),
            NewContent::Several(fields) => fields.pointer,
            NewContent::Source(_) | NewContent::Output(_) => None,
        }
    }

    /// The value of its call that a new answer repeats.
    pub fn repeated(&self) -> Option<Span> {
        match self.content.as_deref()? {
            NewContent::Several(fields) => fields.repeated,
            NewContent::Source(_) | NewContent::Output(_) | NewContent::Pointer(_) => None,
        }
    }

    /// Whether an answer is written as in another format, and has to be written anew.
    pub fn is_rewritten(&self) -> bool {
        matches!(self.content.as_deref(), Some(NewContent::Several(fields)) if fields.rewritten)
    }

    pub(super) fn source(&self) -> &PartSource<'a> {
        match self.content.as_deref() {
            Some(NewContent::Source(source)) => source,
            Some(NewContent::Several(fields)) => &fields.source,
            None | Some(NewContent::Output(_) | NewContent::Pointer(_)) => &PartSource::Input,
        }
    }

    /// Takes over the new content of another part, if it has none itself. Returns whether it did.
    pub(super) fn share_content(&mut self, other: &PartPatch<'a>) -> bool {
        let is_free = self.content.is_none();
        if is_free {
            self.content.clone_from(&other.content);
        }
        is_free
    }

    pub(super) fn set_source(&mut self, source: PartSource<'a>) {
        self.change_content(|fields| fields.source = source);
    }

    pub(super) fn set_repeated(&mut self, value: Span) {
        self.change_content(|fields| fields.repeated = Some(value));
    }

    pub(super) fn set_rewritten(&mut self) {
        self.change_content(|fields| fields.rewritten = true);
    }

    pub(super) fn set_output(&mut self, text: NewText) {
        self.change_content(|fields| fields.output = Some(text));
    }

    pub(super) fn set_pointer(&mut self, text: &'static str) {
        self.change_content(|fields| fields.pointer = Some(text));
    }

    fn change_content(&mut self, change: impl FnOnce(&mut ContentFields<'a>)) {
        let empty = ContentFields {
            source: PartSource::Input,
            output: None,
            pointer: None,
            repeated: None,
            rewritten: false,
        };
        let mut fields = match self.content.take().map(Arc::unwrap_or_clone) {
            None => empty,
            Some(NewContent::Source(source)) => ContentFields { source, ..empty },
            Some(NewContent::Output(text)) => ContentFields { output: Some(text.into()), ..empty },
            Some(NewContent::Pointer(text)) => ContentFields { pointer: Some(text), ..empty },
            Some(NewContent::Several(fields)) => *fields,
        };
        change(&mut fields);
        let content = match fields {
            ContentFields {
                source: PartSource::Input,
                output: None,
                pointer: None,
                repeated: None,
                rewritten: false,
            } => None,
            ContentFields {
                source,
                output: None,
                pointer: None,
                repeated: None,
                rewritten: false,
            } => Some(NewContent::Source(source)),
            ContentFields {
                source: PartSource::Input,
                output: Some(NewText::Fixed(text)),
                pointer: None,
                repeated: None,
                rewritten: false,
            } => Some(NewContent::Output(text)),
            ContentFields {
                source: PartSource::Input,
                output: None,
                pointer: Some(text),
                repeated: None,
                rewritten: false,
            } => Some(NewContent::Pointer(text)),
            fields => Some(NewContent::Several(Box::new(fields))),
        };
        self.content = content.map(Arc::new);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patches_stay_small() {
        assert!(size_of::<PartPatch<'_>>() <= 16);
        assert!(size_of::<NewContent<'_>>() <= 24);
    }
}
