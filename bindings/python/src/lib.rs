//! The native module `foxwedge._native`: the engine's one function, its streams, and a strict writer of
//! JSON, which the Python files beside it wrap. Other Python threads run while the engine works.

mod json;

use std::{
    borrow::Cow,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Mutex, PoisonError},
};

use foxwedge_embed::{CallError, CallReply, FollowCall, StreamCall, call as embedded_call};
use pyo3::{
    prelude::*,
    sync::PyOnceLock,
    types::{PyBytes, PyString, PyType},
};

/// A report, and a document if there is a new one.
type NativeReply<'py> = (String, Option<Bound<'py, PyBytes>>);

/// Runs an operation. The document is `str`, `bytes` or a value that becomes JSON; the options are a
/// JSON object.
#[pyfunction]
fn call<'py>(
    py: Python<'py>,
    operation: &str,
    document: &Bound<'py, PyAny>,
    options: &str,
) -> PyResult<NativeReply<'py>> {
    let document = content(document)?;
    let result = py.detach(|| guarded(|| embedded_call(operation, &document, options)));
    reply(py, result)
}

/// The same. A new document comes as changes to the list of messages (JSON) if it has one, else as
/// bytes.
#[pyfunction]
fn call_changes<'py>(
    py: Python<'py>,
    operation: &str,
    document: &Bound<'py, PyAny>,
    options: &str,
) -> PyResult<(String, Option<String>, Option<Bound<'py, PyBytes>>)> {
    let document = content(document)?;
    let result = py.detach(|| {
        guarded(|| {
            let reply = embedded_call(operation, &document, options)?;
            Ok((reply.list_changes(&document), reply))
        })
    });
    let (changes, reply) = result.map_err(|error| exception(py, error))?;
    let document = if changes.is_some() { None } else { reply.document };
    Ok((reply.report, changes, document.map(|document| PyBytes::new(py, &document))))
}

/// A value as JSON, without spaces.
#[pyfunction]
fn to_json(value: &Bound<'_, PyAny>) -> PyResult<String> {
    json::to_json(value).map_err(|mistake| unreadable(value.py(), mistake.message()))
}

/// A stream that is converted piece by piece.
#[pyclass(frozen, module = "foxwedge._native")]
struct NativeStream(Mutex<Option<StreamCall>>);

#[pymethods]
impl NativeStream {
    #[new]
    fn new(py: Python<'_>, options: &str) -> PyResult<NativeStream> {
        let stream = StreamCall::new(options).map_err(|error| exception(py, error))?;
        Ok(NativeStream(Mutex::new(Some(stream))))
    }

    /// Converts more bytes. A stream that cannot be read has ended.
    fn push<'py>(
        &self,
        py: Python<'py>,
        piece: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let piece = content(piece)?;
        let result = py.detach(|| {
            let mut place = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let mut stream = place.take().ok_or_else(no_stream)?;
            let written = guarded(|| stream.push(&piece))?;
            *place = Some(stream);
            Ok(written)
        });
        let written = result.map_err(|error| exception(py, error))?;
        Ok(PyBytes::new(py, &written))
    }

    /// Ends the stream: a report, and the rest of the output.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<NativeReply<'py>> {
        let result = py.detach(|| {
            let stream = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
            guarded(|| stream.ok_or_else(no_stream)?.finish())
        });
        reply(py, result)
    }

    /// Forgets a stream that is not finished.
    fn close(&self, py: Python<'_>) {
        py.detach(|| self.0.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

/// An agent that is followed step by step.
#[pyclass(frozen, module = "foxwedge._native")]
struct NativeFollower(Mutex<Option<FollowCall>>);

#[pymethods]
impl NativeFollower {
    #[new]
    fn new(py: Python<'_>, options: &str) -> PyResult<NativeFollower> {
        let follower = FollowCall::new(options).map_err(|error| exception(py, error))?;
        Ok(NativeFollower(Mutex::new(Some(follower))))
    }

    /// Takes a step. Its body is a line of the agent, or a value that becomes JSON; the reply is a
    /// report, and the events, one line each. A follower that stopped at a mistake has ended.
    fn step<'py>(
        &self,
        py: Python<'py>,
        step: &str,
        body: &Bound<'py, PyAny>,
        now: Option<u64>,
    ) -> PyResult<NativeReply<'py>> {
        let body = content(body)?;
        let body = String::from_utf8_lossy(&body);
        let result = py.detach(|| {
            let mut place = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let mut follower = place.take().ok_or_else(no_stream)?;
            let reply = guarded(|| follower.step(step, &body, now));
            if !matches!(&reply, Err(error) if error.kind == "internal") {
                *place = Some(follower);
            }
            reply
        });
        reply(py, result)
    }

    /// Forgets an agent.
    fn close(&self, py: Python<'_>) {
        py.detach(|| self.0.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

/// What a `str` or `bytes` holds, without a copy; everything else as JSON.
fn content<'a>(value: &'a Bound<'_, PyAny>) -> PyResult<Cow<'a, [u8]>> {
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return Ok(Cow::Borrowed(bytes.as_bytes()));
    }
    let Ok(text) = value.cast::<PyString>() else {
        return to_json(value).map(|json| Cow::Owned(json.into_bytes()));
    };
    let message = || "the text has a lone surrogate, which is no character".to_owned();
    let text = text.to_str().map_err(|_| unreadable(value.py(), message()))?;
    Ok(Cow::Borrowed(text.as_bytes()))
}

/// A panic is a mistake of the engine, and must not end the program that embeds it.
fn guarded<T>(work: impl FnOnce() -> Result<T, CallError>) -> Result<T, CallError> {
    let message = || "the engine stopped at a mistake of its own".to_owned();
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|_| Err(CallError { kind: "internal", message: message(), at: None }))
}

fn reply(py: Python<'_>, result: Result<CallReply, CallError>) -> PyResult<NativeReply<'_>> {
    let CallReply { report, document } = result.map_err(|error| exception(py, error))?;
    Ok((report, document.map(|document| PyBytes::new(py, &document))))
}

fn no_stream() -> CallError {
    CallError { kind: "unknown-stream", message: "the stream has ended".to_owned(), at: None }
}

fn unreadable(py: Python<'_>, message: String) -> PyErr {
    exception(py, CallError { kind: "unreadable", message, at: None })
}

/// The error as `foxwedge.FoxwedgeError`.
fn exception(py: Python<'_>, error: CallError) -> PyErr {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let class = CLASS.import(py, "foxwedge._errors", "FoxwedgeError");
    let raised = class.and_then(|class| class.call1((error.kind, error.message, error.at)));
    raised.map_or_else(|failure| failure, PyErr::from_value)
}

/// The module.
#[pymodule(gil_used = false)]
mod _native {
    #[pymodule_export]
    use super::{NativeFollower, NativeStream, call, call_changes, to_json};
}
