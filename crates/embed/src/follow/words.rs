//! The words in which a caller gets events.

use foxwedge_run::{
    RunEffect, SharedId,
    encode::{DesktopEncoder, EncoderOptions, RunEncoder, UiFormat},
};

/// The words of events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum EventWords {
    /// Run events, as `foxwedge follow` writes them.
    Events,
    /// The `agent:*` events of a desktop agent.
    Desktop,
    /// A format for user interfaces.
    Interface(UiFormat),
}

impl EventWords {
    pub(super) fn from_name(name: &str) -> Option<EventWords> {
        match name {
            "events" => Some(EventWords::Events),
            "agent" => Some(EventWords::Desktop),
            other => UiFormat::from_name(other).map(EventWords::Interface),
        }
    }
}

/// Encodes effects in the words that were chosen, each run by itself.
pub(super) enum WordEncoder {
    Desktop(DesktopEncoder),
    Interface { format: UiFormat, session: SharedId, run: Option<Box<EncodedRun>> },
}

/// The run that is encoded.
pub(super) struct EncodedRun {
    id: SharedId,
    encoder: RunEncoder,
}

impl WordEncoder {
    pub(super) fn new(words: EventWords, session: SharedId) -> WordEncoder {
        let format = match words {
            EventWords::Desktop => return WordEncoder::Desktop(DesktopEncoder::default()),
            EventWords::Events => UiFormat::Jsonl,
            EventWords::Interface(format) => format,
        };
        WordEncoder::Interface { format, session, run: None }
    }

    /// Appends what effects are in these words, one line each.
    pub(super) fn encode(&mut self, effects: &[RunEffect], lines: &mut String) {
        match self {
            WordEncoder::Desktop(encoder) => {
                let mut out = Vec::new();
                effects.iter().for_each(|effect| encoder.push(effect, &mut out));
                for line in out {
                    lines.push_str(&line);
                    lines.push('\n');
                }
            }
            WordEncoder::Interface { format, session, run } => {
                for effect in effects {
                    let Some(of) = run_of(effect) else { continue };
                    if run.as_ref().is_none_or(|run| run.id != *of) {
                        let encoder = RunEncoder::new(*format, EncoderOptions::new(session));
                        *run = Some(Box::new(EncodedRun { id: of.clone(), encoder }));
                    }
                    let Some(run) = run else { continue };
                    let mut frames = Vec::new();
                    run.encoder.push(effect, &mut frames);
                    frames.iter().for_each(|frame| frame.write_line(lines));
                }
            }
        }
    }
}

/// The run that an effect shows something of.
fn run_of(effect: &RunEffect) -> Option<&SharedId> {
    match effect {
        RunEffect::Emit(event) => Some(&event.run),
        RunEffect::Show { run, .. } => Some(run),
        RunEffect::Resolve { .. }
        | RunEffect::CancelTool { .. }
        | RunEffect::Announce { .. }
        | RunEffect::Drain { .. }
        | RunEffect::Warn(_) => None,
    }
}
