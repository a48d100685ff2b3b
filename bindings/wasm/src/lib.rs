//! The exports of `foxwedge.wasm`.
//!
//! A caller asks for a place with [`input`], writes the operation, the options and the document into
//! it one after the other, and calls. The reply stays in this module's memory until the next call:
//! a report (JSON), and a document if there is one. Nothing here keeps a pointer of the caller.

use std::sync::{Mutex, MutexGuard, PoisonError};

use foxwedge_embed::{CallError, CallReply, StreamCall, call as embedded_call};

/// The call failed; the report is the error.
pub const FAILED: u32 = 0;
/// There is a report only: the document is unchanged, or there is none.
pub const REPORT_ONLY: u32 = 1;
/// There are a report and a document.
pub const WITH_DOCUMENT: u32 = 2;

/// What lies between two calls.
struct CallMemory {
    input: Vec<u8>,
    report: String,
    document: Vec<u8>,
    streams: Vec<Option<StreamCall>>,
}

static MEMORY: Mutex<CallMemory> = Mutex::new(CallMemory {
    input: Vec::new(),
    report: String::new(),
    document: Vec::new(),
    streams: Vec::new(),
});

fn memory() -> MutexGuard<'static, CallMemory> {
    MEMORY.lock().unwrap_or_else(PoisonError::into_inner)
}

impl CallMemory {
    fn reply(&mut self, result: Result<CallReply, CallError>) -> u32 {
        self.input = Vec::new();
        match result {
            Ok(CallReply { report, document }) => {
                self.report = report;
                let status = if document.is_some() { WITH_DOCUMENT } else { REPORT_ONLY };
                self.document = document.unwrap_or_default();
                status
            }
            Err(error) => {
                self.report = error.to_json();
                self.document = Vec::new();
                FAILED
            }
        }
    }

    /// Parts of the input, as text.
    fn texts(&self, lengths: [usize; 2]) -> ([String; 2], usize) {
        let mut at = 0;
        let texts = lengths.map(|length| {
            let end = (at + length).min(self.input.len());
            let text = String::from_utf8_lossy(&self.input[at..end]).into_owned();
            at = end;
            text
        });
        (texts, at)
    }

    fn stream(&mut self, handle: u32) -> Option<&mut Option<StreamCall>> {
        self.streams.get_mut(handle as usize)
    }
}

/// A place for this many bytes of input.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub extern "C" fn input(length: usize) -> *mut u8 {
    let mut memory = memory();
    memory.input = vec![0; length];
    memory.input.as_mut_ptr()
}

/// Runs an operation. The input is its name, its options and the document.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub extern "C" fn call(operation: usize, options: usize) -> u32 {
    let mut memory = memory();
    let ([operation, options], at) = memory.texts([operation, options]);
    let result = embedded_call(&operation, &memory.input[at..], &options);
    memory.reply(result)
}

/// Begins a stream; the input is its options. Returns a handle, or `u32::MAX` if that failed.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub extern "C" fn stream_open() -> u32 {
    let mut memory = memory();
    let length = memory.input.len();
    let ([options, _], _) = memory.texts([length, 0]);
    let stream = match StreamCall::new(&options) {
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

/// Converts the input as the next piece of a stream.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub extern "C" fn stream_push(handle: u32) -> u32 {
    let mut memory = memory();
    let piece = std::mem::take(&mut memory.input);
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

/// Where the report of the last call is.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub extern "C" fn report_pointer() -> *const u8 {
    memory().report.as_ptr()
}

/// How long the report of the last call is.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub extern "C" fn report_length() -> usize {
    memory().report.len()
}

/// Where the document of the last call is.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub extern "C" fn document_pointer() -> *const u8 {
    memory().document.as_ptr()
}

/// How long the document of the last call is.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub extern "C" fn document_length() -> usize {
    memory().document.len()
}

fn no_stream() -> CallError {
    CallError { kind: "unknown-stream", message: "the stream has ended".to_owned(), at: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_reads_its_input_and_leaves_its_reply() {
        let list = br#"[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]},{"role":"user","content":"?"}]"#;
        let mut bytes = b"fix{}".to_vec();
        bytes.extend_from_slice(list);
        input(bytes.len());
        memory().input.copy_from_slice(&bytes);
        assert_eq!(call(3, 2), WITH_DOCUMENT);
        assert!(memory().report.contains("FW101"));
        assert_eq!(document_length(), memory().document.len());
        assert!(String::from_utf8_lossy(&memory().document).contains("tool_result"));
        // Lengths that do not fit are no reason to stop.
        input(2);
        assert_eq!(call(9, 9), FAILED);
        assert_eq!(stream_push(7), FAILED);
    }
}
