//! The streamed reply of a chat completion, in the format of a user interface.

use std::{
    collections::HashSet,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use foxwedge_core::{Format, Profile, fresh_id};
use foxwedge_formats::{
    model::StopReason,
    stream::{
        StreamLimits, StreamWatcher,
        event::{BlockDelta, BlockStart, StreamEvent},
    },
};
use foxwedge_run::{
    CallRef, EventPayload, MachineInput, MachineSettings, Outcome, RawJson, RunEnd, RunEvent,
    RunProblem, RunStart, RunUsage, SessionMachine, SharedId, TextUpdate, ToolCallUpdate,
    ToolOutcome, ToolResult, TurnStart,
    encode::{EncoderOptions, RunEncoder, UiFormat, UiFrame},
};
use http_body::{Body, Frame};

use crate::{
    ordered_id::unix_millis,
    response_body::{ResponseBody, ResponseBodyError},
};

/// The body of a reply for a user interface.
pub(super) struct UiReplyBody {
    reply: ResponseBody,
    /// `None` after the end.
    watcher: Option<StreamWatcher>,
    run: UiRun,
}

impl UiReplyBody {
    pub(super) fn new(
        reply: ResponseBody,
        format: UiFormat,
        run: SharedId,
        request: SharedId,
        options: EncoderOptions,
    ) -> UiReplyBody {
        // Nothing is collected: the events are all that is needed.
        let limits = StreamLimits { held: 1 << 20, ..StreamLimits::default() };
        let watcher = Some(StreamWatcher::new(Format::OpenaiChat, limits));
        UiReplyBody { reply, watcher, run: UiRun::new(format, run, request, options) }
    }

    fn finish(&mut self) {
        if let Some(watcher) = self.watcher.take() {
            let observation = watcher.finish(&mut |event| self.run.read(event));
            if let Some(error) = observation.error {
                self.run.fail(error.to_string(), "unreadable_reply");
            }
        }
        self.run.finish();
    }
}

impl Body for UiReplyBody {
    type Data = Bytes;
    type Error = ResponseBodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, ResponseBodyError>>> {
        let this = &mut *self;
        loop {
            let out = this.run.take_output();
            if !out.is_empty() {
                return Poll::Ready(Some(Ok(Frame::data(out.into()))));
            }
            let Some(watcher) = &mut this.watcher else { return Poll::Ready(None) };
            match ready!(Pin::new(&mut this.reply).poll_frame(context)) {
                Some(Ok(frame)) => {
                    let run = &mut this.run;
                    let data = frame.data_ref().map_or(&[][..], |data| &data[..]);
                    watcher.push(data, &mut |event| run.read(event));
                }
                // A reply that breaks off has ended for the client, too: it gets an error as event.
                Some(Err(_)) | None => this.finish(),
            }
        }
    }
}

/// The run that the client sees: one reply.
struct UiRun {
    id: SharedId,
    /// The request and the reply: fresh call ids are derived from their ids.
    request: SharedId,
    reply: SharedId,
    machine: SessionMachine,
    encoder: RunEncoder,
    block: OpenBlock,
    calls: Vec<ReceivedCall>,
    /// The ids that the calls have for the client.
    call_ids: HashSet<SharedId>,
    is_refused: bool,
    /// Whether the reply was cut short, by whatever.
    is_cut_short: bool,
    is_over: bool,
    out: String,
}

/// A call of the reply.
struct ReceivedCall {
    call: CallRef,
    name: SharedId,
    /// Arguments that are not JSON. The stop reason says whether they were cut off.
    unread: Option<String>,
}

/// The block of the reply that is being received.
enum OpenBlock {
    None,
    Text(SharedId),
    Reasoning(SharedId),
    Call { call: CallRef, name: SharedId, arguments: String },
}

impl UiRun {
    fn new(format: UiFormat, id: SharedId, request: SharedId, options: EncoderOptions) -> UiRun {
        let mut run = UiRun {
            id,
            request,
            reply: "".into(),
            machine: SessionMachine::new(MachineSettings::default()),
            encoder: RunEncoder::new(format, options),
            block: OpenBlock::None,
            calls: Vec::new(),
            call_ids: HashSet::new(),
            is_refused: false,
            is_cut_short: false,
            is_over: false,
            out: String::new(),
        };
        run.log(EventPayload::Started(RunStart::default()));
        run.log(EventPayload::TurnStarted(TurnStart { turn: Some(1), message: None }));
        run
    }

    fn take_output(&mut self) -> String {
        std::mem::take(&mut self.out)
    }

    /// Adds an event of the reply.
    fn read(&mut self, event: &StreamEvent<'_>) {
        match event {
            StreamEvent::Start(head) => {
                self.reply = head.id.as_deref().unwrap_or_default().into();
            }
            StreamEvent::Open { block, kind } => self.open_block(*block, kind),
            StreamEvent::Delta { delta: BlockDelta::Text(text), .. } => self.add_text(text),
            StreamEvent::Delta {
                delta: BlockDelta::Signature(_) | BlockDelta::Encrypted(_) | BlockDelta::Citation(_),
                ..
            } => {}
            StreamEvent::Close { .. } => self.close_block(),
            StreamEvent::Usage(usage) => self.log(EventPayload::Usage(RunUsage {
                input: usage.input.unwrap_or(0),
                output: usage.output.unwrap_or(0),
                cached: usage.cache_read.unwrap_or(0),
                reasoning: usage.reasoning.unwrap_or(0),
            })),
            StreamEvent::Stop(stop) => self.stop(stop),
            StreamEvent::End => self.end(),
            StreamEvent::Failed(failure) => {
                self.fail(failure.message.to_string(), "upstream_error");
            }
            StreamEvent::Truncated => {
                self.fail("the reply was cut off".to_owned(), "reply_cut_off");
            }
        }
    }

    fn open_block(&mut self, block: u32, kind: &BlockStart<'_>) {
        let message = || format!("m1-{block}").into();
        self.block = match kind {
            BlockStart::Text => OpenBlock::Text(message()),
            BlockStart::Refusal => {
                self.is_refused = true;
                OpenBlock::Text(message())
            }
            BlockStart::Reasoning => OpenBlock::Reasoning(message()),
            BlockStart::Redacted(_) => OpenBlock::None,
            BlockStart::Call { id, name, .. } => {
                let id = Some(self.call_id(block, id.as_deref()));
                let (call, name) = (CallRef { id, turn: Some(1) }, SharedId::from(&**name));
                self.log(call_event(&call, &name, None));
                OpenBlock::Call { call, name, arguments: String::new() }
            }
        };
    }

    /// The id of a call for the client: its own, or a fresh one if it has none or shares it with
    /// another call. The run would take two calls with one id for the same call.
    fn call_id(&mut self, block: u32, id: Option<&str>) -> SharedId {
        let given = id.unwrap_or_default();
        let mut id = SharedId::from(given);
        let mut salt = 0_u32;
        while id.is_empty() || !self.call_ids.insert(id.clone()) {
            let seed = format!("{salt} {block} {} {} {given}", self.request, self.reply);
            let rule = Profile::for_format(Format::OpenaiChat).id_rule();
            id = fresh_id(Format::OpenaiChat, rule, &seed).into();
            salt += 1;
        }
        id
    }

    fn add_text(&mut self, text: &str) {
        let delta = text.to_owned();
        let update = |message: &SharedId, delta| TextUpdate {
            message: Some(message.clone()),
            delta: Some(delta),
            ..TextUpdate::default()
        };
        let event = match &mut self.block {
            OpenBlock::None => return,
            OpenBlock::Text(message) => EventPayload::Text(update(message, delta)),
            OpenBlock::Reasoning(message) => EventPayload::Thought(update(message, delta)),
            OpenBlock::Call { call, arguments, .. } => {
                arguments.push_str(text);
                EventPayload::ToolArguments { call: call.clone(), delta }
            }
        };
        self.log(event);
    }

    fn close_block(&mut self) {
        if let OpenBlock::Call { call, name, arguments } =
            std::mem::replace(&mut self.block, OpenBlock::None)
        {
            let unread = match RawJson::parse(&arguments) {
                Some(input) => {
                    self.log(call_event(&call, &name, Some(input)));
                    None
                }
                None => Some(arguments),
            };
            self.calls.push(ReceivedCall { call, name, unread });
        }
    }

    fn stop(&mut self, stop: &StopReason<'_>) {
        self.is_cut_short = stop.is_cut_short();
        match stop {
            StopReason::Refusal => self.is_refused = true,
            StopReason::Length | StopReason::ContextFull => {
                self.log(EventPayload::Problem(RunProblem::cut_reply()));
            }
            StopReason::End
            | StopReason::ToolCalls
            | StopReason::Sequence(_)
            | StopReason::Pause
            | StopReason::MalformedCall
            | StopReason::Other(_) => {}
        }
    }

    /// Ends the run, and leaves its calls to the client, except those that were cut off.
    fn end(&mut self) {
        self.close_block();
        for ReceivedCall { call, name, unread } in std::mem::take(&mut self.calls) {
            let outcome = match unread {
                Some(_) if self.is_cut_short => ToolOutcome::Cancelled,
                Some(text) => {
                    let text = if text.trim().is_empty() { "{}" } else { &text };
                    let input = RawJson::parse(text).unwrap_or_else(|| RawJson::string(text));
                    self.log(call_event(&call, &name, Some(input)));
                    ToolOutcome::HandedOver
                }
                None => ToolOutcome::HandedOver,
            };
            self.log(EventPayload::ToolResult(ToolResult {
                call,
                name: None,
                outcome,
                reason: None,
                content: None,
            }));
        }
        let outcome = self.is_refused.then_some(Outcome::Refused);
        self.log(EventPayload::Ended(RunEnd { outcome, ..RunEnd::default() }));
        self.is_over = true;
    }

    fn fail(&mut self, message: String, code: &str) {
        if !self.is_over {
            let problem = RunProblem { message, code: Some(code.into()), fatal: true };
            self.log(EventPayload::Problem(problem));
            self.is_over = true;
        }
    }

    /// Writes the frames after the end.
    fn finish(&mut self) {
        if !self.is_over {
            self.end();
        }
        let mut frames = Vec::new();
        self.encoder.finish(&mut frames);
        self.write(&frames);
    }

    fn log(&mut self, body: EventPayload) {
        let at = unix_millis();
        let event = RunEvent { at: Some(at), ..RunEvent::new(&self.id, body) };
        let mut effects = Vec::new();
        self.machine.apply(at, MachineInput::Event(event), &mut effects);
        let mut frames = Vec::new();
        effects.iter().for_each(|effect| self.encoder.push(effect, &mut frames));
        self.write(&frames);
    }

    /// Frames have no ids: a client cannot resume this stream by one.
    fn write(&mut self, frames: &[UiFrame]) {
        for frame in frames {
            self.out.extend(["data: ", &frame.data, "\n\n"]);
        }
    }
}

fn call_event(call: &CallRef, name: &SharedId, input: Option<RawJson>) -> EventPayload {
    EventPayload::ToolCall(ToolCallUpdate {
        call: call.clone(),
        name: Some(name.clone()),
        input,
        ..ToolCallUpdate::default()
    })
}
