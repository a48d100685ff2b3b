//! Laws of errors: provider errors are converted, and malformed frames are reported at their
//! position.

use foxwedge_core::Format;
use foxwedge_formats::stream::StreamError;

use super::{
    StreamBreach,
    convert::{StreamOutput, converted, streamed},
    cuts::none_made_up,
    exchange::StreamExchange,
    judge::{cut, shown},
};
use crate::{
    answers::{self, GeneratedFrame, GeneratedFrameKind},
    generate::spelled,
    random::Random,
};

/// An error at the start or in the middle of a response becomes an error of the target format, with
/// the provider's message.
pub(super) fn failure(exchange: &StreamExchange) -> Result<(), StreamBreach> {
    let message = "Too much to do, \u{e9}\u{1f600} \"later\"\n";
    at_once(exchange, message)?;
    in_the_middle(exchange, message)
}

fn at_once(exchange: &StreamExchange, message: &str) -> Result<(), StreamBreach> {
    let broken = |what: String| ("failure", what);
    let body = spelled(&mut exchange.random(7), &answers::failure_body(exchange.from, message));
    let response = converted(exchange.from, exchange.to, &body).map_err(broken)?;
    let value = serde_json::from_str(&response.body).map_err(|error| broken(error.to_string()))?;
    let parsed = answers::read_failure(exchange.to, &value).map_err(broken)?;
    match parsed == message && response.failed {
        true => Ok(()),
        false => Err(broken(response.body)),
    }
}

fn in_the_middle(exchange: &StreamExchange, message: &str) -> Result<(), StreamBreach> {
    const LAW: &str = "failure";
    let mut random = exchange.random(5);
    let mut frames = exchange.frames();
    let at = 1 + random.below(exchange.stop_frame(&frames).max(1));
    frames.truncate(at.min(frames.len()));
    let (name, value) = answers::failure(exchange.from, message);
    let failed = frames[0].another(GeneratedFrameKind::Event, name, &value);
    let source = answers::hear(exchange.from, &answers::bytes(&frames));
    frames.push(failed);
    let bytes = answers::bytes(&frames);
    let StreamOutput { out, end } = streamed(exchange.from, exchange.to, [bytes.as_slice()]);
    let parsed = answers::hear(exchange.to, &out);
    let broken = |what: String| (LAW, format!("behind {at} frames: {what}\n{}", shown(&out)));
    match &end {
        Ok(end) if end.failed && !end.complete => {}
        end => return Err(broken(format!("{end:?}"))),
    }
    if parsed.error.as_deref() != Some(message) || parsed.ended || !parsed.faults.is_empty() {
        return Err(broken(format!("{:?} {:?}", parsed.error, parsed.faults)));
    }
    none_made_up(&source, &parsed).map_err(broken)
}

/// A frame that is not JSON, or has a wrong checksum, is an error in that frame. The client
/// receives the error, and nothing after it.
pub(super) fn malformed(exchange: &StreamExchange) -> Result<(), StreamBreach> {
    const LAW: &str = "malformed";
    let mut random = exchange.random(6);
    let mut frames = exchange.frames();
    let stop = exchange.stop_frame(&frames);
    let at = random.below(stop.min(frames.len()));
    if frames[at].sort != GeneratedFrameKind::Event
        || !spoil(&mut random, exchange.from, &mut frames[at])
    {
        return Ok(());
    }
    let before = answers::bytes(&frames[..at]);
    let source = answers::hear(exchange.from, &before);
    let start = before.len() as u64;
    let range = start..start + frames[at].bytes.len() as u64;
    let bytes = answers::bytes(&frames);
    let whole = streamed(exchange.from, exchange.to, [bytes.as_slice()]);
    let broken = |what: String| {
        (LAW, format!("frame {at}, {range:?}: {what}\n{}\n{}", shown(&bytes), shown(&whole.out)))
    };
    match &whole.end {
        Err(StreamError::Malformed { at, .. }) if range.contains(at) => {}
        end => return Err(broken(format!("{end:?}"))),
    }
    let parsed = answers::hear(exchange.to, &whole.out);
    if parsed.error.is_none() || parsed.ended || !parsed.faults.is_empty() {
        return Err(broken(format!("{:?} {:?}", parsed.error, parsed.faults)));
    }
    none_made_up(&source, &parsed).map_err(&broken)?;
    let chunked = streamed(exchange.from, exchange.to, cut(&mut random, &bytes, 20));
    if chunked != whole {
        return Err(broken(format!("in chunks {:?}\n{}", chunked.end, shown(&chunked.out))));
    }
    Ok(())
}

/// Damages a frame: any byte of a binary message, otherwise a colon or a comma between values.
fn spoil(random: &mut Random, format: Format, frame: &mut GeneratedFrame) -> bool {
    if format == Format::Bedrock && frame.bytes.first() == Some(&0) {
        // The first byte of the stream identifies the framing.
        let at = 1 + random.below(frame.bytes.len() - 1);
        frame.bytes[at] ^= 1 << random.below(8);
        return true;
    }
    let (mut inside, mut escaped, mut marks) = (false, false, Vec::new());
    for at in frame.data.clone() {
        match frame.bytes[at] {
            _ if escaped => escaped = false,
            b'\\' if inside => escaped = true,
            b'"' => inside = !inside,
            b':' | b',' if !inside => marks.push(at),
            _ => {}
        }
    }
    // The lines of an event begin with a name and a colon.
    marks.retain(|at| !frame.bytes[..*at].ends_with(b"data"));
    if marks.is_empty() {
        return false;
    }
    frame.bytes[*random.pick(&marks)] = b'!';
    true
}
