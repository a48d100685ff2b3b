//! Outlines a Gemini content.

use foxwedge_core::{
    Answer, Arguments, Call, Content, Family, Kind, Marks, OptionalText, Output, Role, Seal, Span,
    Text,
};

use crate::{
    json::{Scan, Scanner, Shape},
    outline::{
        Once, Reader, is_null, object_arguments, output, role, string, unknown, word, words,
    },
};

fn known(role: &str) -> Option<Role> {
    Some(match role {
        "user" | "function" | "tool" => Role::User,
        "model" => Role::Assistant,
        "system" => Role::System,
        _ => return None,
    })
}

/// Reads one content.
pub(crate) fn message<'a>(scan: &mut Scanner<'a>, reader: &mut Reader<'a>) -> Scan<()> {
    let source = reader.source;
    let mut once = Once::default();
    // The role may be left out, and is the user's then.
    let mut who = Role::User;
    let mut content = Content::Absent;
    let mut marks = Marks::default();
    let mut other = Marks::default();
    let span = scan.object(|scan, key, _| {
        match key {
            b"role" => {
                once.field(scan, 0, key)?;
                if scan.shape()? == Shape::Null {
                    scan.skip()?;
                } else {
                    (who, marks) = role(scan, source, known)?;
                }
            }
            b"parts" => {
                once.field(scan, 1, key)?;
                content = match scan.shape()? {
                    Shape::Array => {
                        scan.array(|scan, _| match scan.shape()? {
                            Shape::Object => part(scan, reader),
                            _ => scan.trouble("a part is not an object"),
                        })?;
                        Content::List
                    }
                    Shape::Null => scan.skip().map(|_| Content::Null)?,
                    _ => return scan.trouble("`parts` is not a list"),
                };
            }
            _ => unknown(scan, key, &mut other)?,
        }
        Ok(())
    })?;
    reader.builder.message(who, span, content, marks.with(other));
    Ok(())
}

/// Reads one part.
pub(crate) fn part<'a>(scan: &mut Scanner<'a>, reader: &mut Reader<'a>) -> Scan<()> {
    let source = reader.source;
    let mut once = Once::default();
    let mut says = None;
    let (mut thought, mut signed) = (false, false);
    let mut kind = None;
    let span = scan.object(|scan, key, _| {
        match key {
            b"text" => {
                once.field(scan, 0, key)?;
                says = words(scan, source, key)?;
            }
            b"thought" => thought = scan.skip()?.of(source) == "true",
            b"thoughtSignature" | b"thought_signature" => {
                once.field(scan, 1, key)?;
                signed = string(scan)?.is_some_and(|text| !text.span.is_empty());
            }
            b"functionCall" | b"function_call" => {
                once.field(scan, 2, key)?;
                if !is_null(scan)? {
                    kind = Some(Kind::call(call(scan, source)?));
                }
            }
            b"functionResponse" | b"function_response" => {
                once.field(scan, 3, key)?;
                if !is_null(scan)? {
                    kind = Some(Kind::answer(answer(scan, source)?));
                }
            }
            b"inlineData" | b"inline_data" | b"fileData" | b"file_data" => {
                if !is_null(scan)? {
                    scan.skip()?;
                    kind = Some(Kind::Media);
                }
            }
            _ => {
                scan.skip()?;
            }
        }
        Ok(())
    })?;
    if let Some(call) = kind.as_mut().and_then(Kind::call_mut) {
        call.signed = signed;
    }
    let kind = match (kind, says) {
        (Some(kind), _) => kind,
        (None, _) if thought => Kind::Reasoning(Seal::Plain),
        (None, Some(Text::Empty)) if signed => Kind::Text(Text::Signature),
        (None, Some(says)) => Kind::Text(says),
        (None, None) => Kind::Other,
    };
    reader.builder.part(span, kind);
    Ok(())
}

fn call<'a>(scan: &mut Scanner<'a>, source: &'a str) -> Scan<Call<'a>> {
    if scan.shape()? != Shape::Object {
        return scan.trouble("`functionCall` is not an object");
    }
    let mut once = Once::default();
    // Arguments may be left out.
    let mut call = Call {
        id: OptionalText::NONE,
        name: OptionalText::NONE,
        family: Family::Function,
        arguments: Arguments::Good,
        signed: false,
        typed: true,
    };
    scan.object(|scan, key, _| {
        match key {
            b"id" => {
                once.field(scan, 0, key)?;
                call.id = word(scan, source)?.into();
            }
            b"name" => {
                once.field(scan, 1, key)?;
                call.name = word(scan, source)?.into();
            }
            b"args" => {
                once.field(scan, 2, key)?;
                call.arguments = object_arguments(scan)?;
            }
            _ => drop(scan.skip()?),
        }
        Ok(())
    })?;
    Ok(call)
}

fn answer<'a>(scan: &mut Scanner<'a>, source: &'a str) -> Scan<Answer<'a>> {
    if scan.shape()? != Shape::Object {
        return scan.trouble("`functionResponse` is not an object");
    }
    let mut once = Once::default();
    let mut answer = Answer {
        id: OptionalText::NONE,
        name: None,
        family: Family::Function,
        output: Output::Missing,
        content: Span::NOWHERE,
        media: false,
    };
    scan.object(|scan, key, _| {
        match key {
            b"id" => {
                once.field(scan, 0, key)?;
                answer.id = word(scan, source)?.into();
            }
            b"name" => {
                once.field(scan, 1, key)?;
                answer.name = word(scan, source)?.map(Box::new);
            }
            b"response" => {
                once.field(scan, 2, key)?;
                let object = matches!(scan.shape()?, Shape::Object | Shape::Null);
                (answer.output, answer.content) = output(scan)?;
                // An answer is an object here, and may be an empty one.
                answer.output = match answer.output {
                    Output::Null => Output::Null,
                    _ if object => Output::Full,
                    _ => Output::Odd,
                };
            }
            _ => drop(scan.skip()?),
        }
        Ok(())
    })?;
    Ok(answer)
}
