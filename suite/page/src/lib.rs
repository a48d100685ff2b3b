//! The runner of the integrity suite for a page: judge, results, and our own engine.
//!
//! A caller asks for a place with [`input`], writes a text into it, and calls. The output stays in
//! this module's memory until the next call.

use std::sync::{Mutex, MutexGuard, PoisonError};

use foxwedge_suite::{
    ExpectedFailures, QuestionFilter, SuiteSession, SuiteVector, answer_line, badge_svg,
    json_report, junit_report, text_table,
};

/// What lies between two calls.
#[derive(Default)]
struct PageMemory {
    input: Vec<u8>,
    output: String,
    session: SuiteSession,
}

static MEMORY: Mutex<Option<PageMemory>> = Mutex::new(None);

fn memory() -> MutexGuard<'static, Option<PageMemory>> {
    MEMORY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs with the memory and the input of that length as text.
fn with_input<T>(length: usize, work: impl FnOnce(&mut PageMemory, String) -> T) -> T {
    let mut guard = memory();
    let memory = guard.get_or_insert_default();
    let input = memory.input.get(..length).unwrap_or(&memory.input);
    let text = String::from_utf8_lossy(input).into_owned();
    work(memory, text)
}

/// A place for this many bytes of input.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub extern "C" fn input(length: usize) -> *mut u8 {
    let mut guard = memory();
    let memory = guard.get_or_insert_default();
    memory.input.resize(length, 0);
    memory.input.as_mut_ptr()
}

/// Starts a run. The input is one vector per line. Returns the number of questions, or 0 if a line
/// is no vector.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub extern "C" fn start(length: usize) -> usize {
    with_input(length, |memory, text| {
        let vectors: Result<Vec<SuiteVector>, _> = text.lines().map(serde_json::from_str).collect();
        let vectors = vectors.unwrap_or_default();
        memory.session = SuiteSession::new(vectors, &QuestionFilter::default());
        memory.session.len()
    })
}

/// The next question is the output. Returns 0 at the end.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub extern "C" fn question() -> u32 {
    with_input(0, |memory, _| {
        let question = memory.session.question();
        let is_there = question.is_some();
        memory.output = question.unwrap_or_default();
        u32::from(is_there)
    })
}

/// Takes the answer to the question. Returns the number of questions that are judged.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub extern "C" fn answer(length: usize) -> usize {
    with_input(length, |memory, line| {
        memory.session.answer(&line);
        memory.session.results().questions.len()
    })
}

/// Our own engine: the input is a question, the output its answer.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub extern "C" fn ask(length: usize) {
    with_input(length, |memory, line| memory.output = answer_line(&line));
}

/// The results as output: 0 a table, 1 JSON, 2 JUnit XML, 3 a badge.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub extern "C" fn results(form: u32) {
    with_input(0, |memory, _| {
        let results = memory.session.results();
        memory.output = match form {
            0 => text_table(results),
            1 => json_report(results, &ExpectedFailures::default()),
            2 => junit_report(results, &ExpectedFailures::default()),
            _ => badge_svg(results),
        };
    });
}

/// Where the output is.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub extern "C" fn output_pointer() -> *const u8 {
    memory().as_ref().map_or(std::ptr::null(), |memory| memory.output.as_ptr())
}

/// How long the output is.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub extern "C" fn output_length() -> usize {
    memory().as_ref().map_or(0, |memory| memory.output.len())
}
