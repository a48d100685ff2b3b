//! The exports for streams that are converted.

use foxwedge_embed::{CallReply, StreamCall};

use crate::{handles::NO_HANDLE, memory};

/// Begins a stream; the input is its options, of this length. Returns a handle, or `u32::MAX` if
/// that failed.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub extern "C" fn stream_open(options: usize) -> u32 {
    let mut memory = memory();
    let [options] = memory.parts([options]);
    match StreamCall::new(&String::from_utf8_lossy(options)) {
        Ok(stream) => memory.streams.insert(stream),
        Err(error) => {
            memory.reply(Err(error));
            NO_HANDLE
        }
    }
}

/// Converts the input, of this length, as the next piece of a stream.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub extern "C" fn stream_push(handle: u32, length: usize) -> u32 {
    let mut memory = memory();
    let [piece] = memory.parts([length]);
    let piece = piece.to_vec();
    let result = memory.streams.get(handle).and_then(|stream| stream.push(&piece));
    let reply =
        result.map(|document| CallReply { report: "{}".to_owned(), document: Some(document) });
    memory.reply(reply)
}

/// Ends a stream. Its handle is free afterwards.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub extern "C" fn stream_finish(handle: u32) -> u32 {
    let mut memory = memory();
    let result = memory.streams.take(handle).and_then(StreamCall::finish);
    memory.reply(result)
}

/// Forgets a stream that is not finished.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub extern "C" fn stream_close(handle: u32) {
    // Nothing to forget is no mistake.
    let _ = memory().streams.take(handle);
}
