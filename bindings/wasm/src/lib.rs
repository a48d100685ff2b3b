//! The exports of `foxwedge-check.wasm`, `foxwedge.wasm` (and `foxwedge-node.wasm`), `foxwedge-all.wasm` and
//! `foxwedge-follow.wasm`.
//!
//! A caller asks for a place with [`input`], writes the operation, the options and the document into
//! it one after the other, and calls. The reply stays in this module's memory until the next call:
//! a report (JSON), and a document if there is one. Nothing here keeps a pointer of the caller.

#[cfg(feature = "follow")]
pub mod follow;
#[cfg(any(feature = "all", feature = "follow"))]
mod handles;
#[cfg(feature = "all")]
pub mod streams;

use std::sync::{Mutex, MutexGuard, PoisonError};

#[cfg(feature = "check")]
use foxwedge_embed::call as embedded_call;
use foxwedge_embed::{CallError, CallReply};

/// The call failed; the report is the error.
pub const FAILED: u32 = 0;
/// There is a report only: the document is unchanged, or there is none.
pub const REPORT_ONLY: u32 = 1;
/// There are a report and a document.
pub const WITH_DOCUMENT: u32 = 2;
/// There are a report, and in the place of the document what changed in its list of messages.
pub const WITH_CHANGES: u32 = 3;

/// An input of more bytes is not kept for the next call.
const KEPT: usize = 8 << 20;

/// What lies between two calls.
struct CallMemory {
    /// Kept between calls, because a new one has to be filled with zeros.
    input: Vec<u8>,
    report: String,
    document: Vec<u8>,
    #[cfg(feature = "all")]
    streams: handles::HandleTable<foxwedge_embed::StreamCall>,
    #[cfg(feature = "follow")]
    followers: handles::HandleTable<foxwedge_embed::FollowCall>,
}

static MEMORY: Mutex<CallMemory> = Mutex::new(CallMemory {
    input: Vec::new(),
    report: String::new(),
    document: Vec::new(),
    #[cfg(feature = "all")]
    streams: handles::HandleTable::new(),
    #[cfg(feature = "follow")]
    followers: handles::HandleTable::new(),
});

fn memory() -> MutexGuard<'static, CallMemory> {
    MEMORY.lock().unwrap_or_else(PoisonError::into_inner)
}

impl CallMemory {
    fn reply(&mut self, result: Result<CallReply, CallError>) -> u32 {
        if self.input.len() > KEPT {
            self.input = Vec::new();
        }
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

    /// Parts of the input, one after the other. A length that does not fit is cut.
    fn parts<const N: usize>(&self, lengths: [usize; N]) -> [&[u8]; N] {
        let mut rest = self.input.as_slice();
        lengths.map(|length| {
            let (part, behind) = rest.split_at(length.min(rest.len()));
            rest = behind;
            part
        })
    }
}

/// A place for this many bytes of input. What is in it stays, also if the place becomes another.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub extern "C" fn input(length: usize) -> *mut u8 {
    let mut memory = memory();
    if memory.input.len() < length {
        memory.input.resize(length, 0);
    }
    memory.input.as_mut_ptr()
}

/// Runs an operation. The input is its name, its options and the document, of these lengths. With
/// `as_changes`, a new document comes as changes to the list of messages, if it has one.
#[cfg(feature = "check")]
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub extern "C" fn call(operation: usize, options: usize, document: usize, as_changes: u32) -> u32 {
    let mut memory = memory();
    let [operation, options, document] = memory.parts([operation, options, document]);
    let mut result = embedded_call(
        &String::from_utf8_lossy(operation),
        document,
        &String::from_utf8_lossy(options),
    );
    let changes = match &result {
        Ok(reply) if as_changes != 0 => reply.list_changes(document),
        _ => None,
    };
    let has_changes = changes.is_some();
    if let (Ok(reply), Some(changes)) = (&mut result, changes) {
        reply.document = Some(changes.into_bytes());
    }
    let status = memory.reply(result);
    if has_changes { WITH_CHANGES } else { status }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_reads_its_input_and_leaves_its_reply() {
        let list = br#"[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]},{"role":"user","content":"?"}]"#;
        let mut bytes = b"fix{}".to_vec();
        bytes.extend_from_slice(list);
        input(bytes.len());
        memory().input[..bytes.len()].copy_from_slice(&bytes);
        assert_eq!(call(3, 2, list.len(), 0), WITH_DOCUMENT);
        assert!(memory().report.contains("FW101"));
        assert_eq!(document_length(), memory().document.len());
        assert!(String::from_utf8_lossy(&memory().document).contains("tool_result"));
        // The place is used again, and a longer one begins with what was in the shorter one.
        input(1 << 20);
        assert_eq!(call(3, 2, list.len(), 0), WITH_DOCUMENT);
        // Lengths that do not fit are no reason to stop.
        assert_eq!(call(9, usize::MAX, 9, 0), FAILED);
        assert_eq!(call(3, 2, list.len(), 1), WITH_CHANGES);
        let changes = String::from_utf8_lossy(&memory().document).into_owned();
        assert!(changes.starts_with(r#"{"key":null,"items":[[0,2],{"#), "{changes}");
    }

    #[test]
    fn a_handle_is_free_again_when_it_ends() {
        let mut table = handles::HandleTable::new();
        assert_eq!((table.insert("a"), table.insert("b")), (0, 1));
        assert_eq!(table.take(0), Ok("a"));
        assert_eq!(table.take(0).map_err(|error| error.kind), Err("unknown-stream"));
        assert_eq!(table.insert("c"), 0);
        assert_eq!(table.get(1).map(|value| *value), Ok("b"));
        assert!(table.get(handles::NO_HANDLE).is_err());
    }
}
