//! The exports for streams. A stream has a handle, which is free for another one when it ends.

use foxwedge_embed::{CallError, CallReply, StreamCall};

use crate::{CallMemory, memory};

impl CallMemory {
    fn stream(&mut self, handle: u32) -> Option<&mut Option<StreamCall>> {
        self.streams.get_mut(handle as usize)
    }
}

/// Begins a stream; the input is its options, of this length. Returns a handle, or `u32::MAX` if
/// that failed.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub extern "C" fn stream_open(options: usize) -> u32 {
    let mut memory = memory();
    let [options] = memory.parts([options]);
    let stream = match StreamCall::new(&String::from_utf8_lossy(options)) {
        Ok(stream) => stream,
        Err(error) => {
            memory.reply(Err(error));
            return u32::MAX;
        }
    };
    let free = memory.streams.iter().position(Option::is_none);
    let at = free.unwrap_or(memory.streams.len());
    match free {
        Some(free) => memory.streams[free] = Some(stream),
        None => memory.streams.push(Some(stream)),
    }
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// Converts the input, of this length, as the next piece of a stream.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub extern "C" fn stream_push(handle: u32, length: usize) -> u32 {
    let mut memory = memory();
    let [piece] = memory.parts([length]);
    let piece = piece.to_vec();
    let result = match memory.stream(handle).and_then(Option::as_mut) {
        Some(stream) => stream
            .push(&piece)
            .map(|document| CallReply { report: "{}".to_owned(), document: Some(document) }),
        None => Err(no_stream()),
    };
    memory.reply(result)
}

/// Ends a stream. Its handle is free afterwards.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub extern "C" fn stream_finish(handle: u32) -> u32 {
    let mut memory = memory();
    let result = match memory.stream(handle).and_then(Option::take) {
        Some(stream) => stream.finish(),
        None => Err(no_stream()),
    };
    memory.reply(result)
}

/// Forgets a stream that is not finished.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub extern "C" fn stream_close(handle: u32) {
    if let Some(stream) = memory().stream(handle) {
        *stream = None;
    }
}

fn no_stream() -> CallError {
    CallError { kind: "unknown-stream", message: "the stream has ended".to_owned(), at: None }
}
