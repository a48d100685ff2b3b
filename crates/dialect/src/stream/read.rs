//! Frames into what happens in them.
//!
//! One reader for each format. A reader tells what its format says, in its order; it never waits for
//! what the format does not make it wait for. What it does not know it leaves out, and says so once.

mod tell;
mod again;
mod fields;
mod slots;
mod chat;
mod responses;
mod anthropic;
mod gemini;
mod bedrock;

use foxwedge_core::Wire;

use super::{Frame, StreamError, event::Sink};
use crate::json::{Object, Scan, Tape, Trouble};
use again::{Again, Listener, Once};
use tell::{Tell, Told};

/// Reads the frames of one stream.
#[derive(Debug)]
pub(crate) struct Reader {
    /// Filled again with every frame.
    tape: Tape,
    told: Told,
    again: Again,
    format: Format,
}

#[derive(Debug)]
enum Format {
    Chat(chat::Chat),
    Responses(responses::Responses),
    Anthropic(anthropic::Anthropic),
    Gemini(gemini::Gemini),
    Bedrock(bedrock::Bedrock),
}

impl Reader {
    pub(crate) fn new(wire: Wire) -> Reader {
        let format = match wire {
            Wire::OpenaiChat => Format::Chat(Default::default()),
            Wire::OpenaiResponses => Format::Responses(Default::default()),
            Wire::Anthropic => Format::Anthropic(Default::default()),
            Wire::Gemini => Format::Gemini(Default::default()),
            Wire::Bedrock => Format::Bedrock(Default::default()),
        };
        Reader { tape: Tape::default(), told: Told::default(), again: Again::new(wire), format }
    }

    /// Reads a frame. Behind the end of the answer there is nothing to read.
    ///
    /// # Errors
    /// If it is not what the format says.
    pub(crate) fn frame(
        &mut self,
        frame: Frame<'_>,
        sink: &mut dyn Sink,
    ) -> Result<(), StreamError> {
        if self.told.over {
            return Ok(());
        }
        if let Some((block, words)) = self.again.words(&frame) {
            Tell { sink, told: &mut self.told }.text(block, words);
            return Ok(());
        }
        let mut listener = Listener { sink, data: frame.data, told: Once::Nothing };
        let mut tell = Tell { sink: &mut listener, told: &mut self.told };
        if frame.data.trim_ascii() == "[DONE]" {
            // Chat's own end. Servers and proxies put it behind other formats, too, where it says
            // nothing that they do not say themselves.
            if let Format::Chat(chat) = &mut self.format {
                chat.done(&mut tell);
            }
            return Ok(());
        }
        let read = read(&mut self.tape, frame, |root| {
            let name = frame.name;
            match &mut self.format {
                Format::Chat(chat) => chat.frame(name, root, &mut tell),
                Format::Responses(responses) => responses.frame(name, root, &mut tell),
                Format::Anthropic(anthropic) => anthropic.frame(name, root, &mut tell),
                Format::Gemini(gemini) => gemini.frame(root, &mut tell),
                Format::Bedrock(bedrock) => bedrock.frame(name, root, &mut tell),
            }
        });
        self.again.learn(&frame, listener.told);
        read.map_err(|trouble| StreamError::Malformed {
            at: frame.at + trouble.at() as u64,
            what: trouble.what().to_owned(),
        })
    }

    /// The bytes have ended. If the model had stopped, that was all; otherwise something is missing.
    pub(crate) fn finish(&mut self, sink: &mut dyn Sink) {
        if self.told.over {
            return;
        }
        let mut tell = Tell { sink, told: &mut self.told };
        match &mut self.format {
            // It says again and again why it stopped, so that only the end of the bytes is one.
            Format::Gemini(gemini) => gemini.finish(&mut tell),
            Format::Chat(_) | Format::Responses(_) | Format::Anthropic(_) | Format::Bedrock(_) => {}
        }
        tell.ended();
    }
}

/// Reads what is in a frame.
fn read(
    tape: &mut Tape,
    frame: Frame<'_>,
    each: impl FnOnce(&Object<'_, '_>) -> Scan<()>,
) -> Scan<()> {
    tape.fill(frame.data)?;
    match tape.root(frame.data).object() {
        Some(root) => each(&root),
        None => {
            let blank = frame.data.len() - frame.data.trim_ascii_start().len();
            Err(Trouble::new(blank, "the data of an event is not an object"))
        }
    }
}

#[cfg(test)]
mod tests;
