//! `foxwedge rpc`: answers requests line by line, for programs in any language.
//!
//! Every operation is one of `foxwedge_embed`. A bad line gets an error line, and reading goes on.
//! Replies have the order of the requests.

mod request;
mod reply;
mod open_streams;

use std::{
    io::{self, Read, Write},
    process::ExitCode,
};

use anyhow::Context;
use foxwedge_embed::{CallError, CallReply, DocumentForm};
use foxwedge_process::{LineBuffer, LineLimits, OutputLine};

use crate::cli::RpcArgs;
use open_streams::OpenStreams;
use reply::{RpcFailure, error_line, reply_line};
use request::{RpcOperation, RpcRequest};

/// Size of the read buffer.
const READ_BYTES: usize = 1 << 18;

/// Answers requests until stdin ends or stdout is closed.
pub(crate) fn run(args: RpcArgs) -> anyhow::Result<ExitCode> {
    let mut server = RpcServer::new(args.max_line);
    let served = server.serve(io::stdin().lock(), io::stdout().lock());
    match served {
        // The reader is gone: there is nobody left to answer.
        Err(RpcStreamError::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => {}
        Err(RpcStreamError::Output(error)) => Err(error).context("stdout cannot be written")?,
        Err(RpcStreamError::Input(error)) => Err(error).context("stdin cannot be read")?,
        Ok(()) => {}
    }
    Ok(ExitCode::SUCCESS)
}

/// Which stream failed.
enum RpcStreamError {
    Input(io::Error),
    Output(io::Error),
}

/// State between the lines.
struct RpcServer {
    max_line: usize,
    /// Number of the current line, from 1 on.
    line: u64,
    streams: OpenStreams,
}

impl RpcServer {
    fn new(max_line: usize) -> RpcServer {
        RpcServer { max_line, line: 0, streams: OpenStreams::default() }
    }

    fn serve(&mut self, mut input: impl Read, mut out: impl Write) -> Result<(), RpcStreamError> {
        let mut lines = LineBuffer::new(LineLimits::new(self.max_line));
        let mut buffer = vec![0; READ_BYTES];
        loop {
            let read = match input.read(&mut buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read.map_err(RpcStreamError::Input)?,
            };
            lines.push(buffer.get(..read).unwrap_or_default());
            while let Some(line) = lines.next_line() {
                self.answer(&line, &mut out).map_err(RpcStreamError::Output)?;
            }
            if read == 0 {
                let last = lines.finish();
                let answered = last.map_or(Ok(()), |line| self.answer(&line, &mut out));
                return answered.map_err(RpcStreamError::Output);
            }
        }
    }

    fn answer(&mut self, line: &OutputLine, out: &mut impl Write) -> io::Result<()> {
        self.line += 1;
        let reply = match line {
            OutputLine::Whole(bytes) if bytes.trim_ascii().is_empty() => return Ok(()),
            OutputLine::Whole(bytes) => self.answer_bytes(bytes),
            OutputLine::TooLong { .. } | OutputLine::Endless => {
                let failure = RpcFailure::too_long(self.line, self.max_line);
                error_line("null", &failure, self.line)
            }
        };
        out.write_all(reply.as_bytes())?;
        out.flush()
    }

    fn answer_bytes(&mut self, bytes: &[u8]) -> String {
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => {
                let failure = RpcFailure::not_text(self.line, error.valid_up_to());
                return error_line("null", &failure, self.line);
            }
        };
        let request = match RpcRequest::read(text) {
            Ok(request) => request,
            Err(invalid) => return error_line(invalid.id, &invalid.failure, self.line),
        };
        match self.call(&request) {
            Ok(reply) => reply_line(request.id, &reply, request.reply_form()),
            Err(failure) => error_line(request.id, &failure, self.line),
        }
    }

    fn call(&mut self, request: &RpcRequest<'_>) -> Result<CallReply, RpcFailure> {
        let (document, options) = (&*request.document, request.options);
        match &request.operation {
            RpcOperation::Call(name) => {
                foxwedge_embed::call(name, document, options).map_err(RpcFailure::from)
            }
            RpcOperation::OpenStream => self.streams.open(request.stream()?, options),
            RpcOperation::PushStream => self.streams.push(&request.stream()?, document),
            RpcOperation::FinishStream => self.streams.finish(&request.stream()?),
        }
    }
}

impl From<CallError> for RpcFailure {
    fn from(error: CallError) -> RpcFailure {
        RpcFailure { kind: error.kind, message: error.message, at: error.at, help: None }
    }
}

impl RpcRequest<'_> {
    /// A repaired document comes back as it was sent; conversations that are made here are JSON.
    fn reply_form(&self) -> DocumentForm {
        match &self.operation {
            RpcOperation::Call(name) if name == "fix" => self.form,
            RpcOperation::Call(_) => DocumentForm::Value,
            RpcOperation::OpenStream | RpcOperation::PushStream | RpcOperation::FinishStream => {
                DocumentForm::Text
            }
        }
    }
}
