//! Laws of trouble: failures are carried over, and broken frames are found where they are.

use foxwedge_core::Format;
use foxwedge_dialect::stream::StreamError;

use super::{
    Broken,
    convert::{Streamed, converted, streamed},
    cuts::none_made_up,
    exchange::Exchange,
    judge::{cut, shown},
};
use crate::{
    answers::{self, Frame, Sort},
    generate::spelled,
    random::Random,
};

/// A provider that fails at once or in the middle of its answer fails in the other format, in its
/// own words.
pub(super) fn failure(exchange: &Exchange) -> Result<(), Broken> {
    let words = "Too much to do, \u{e9}\u{1f600} \"later\"\n";
    at_once(exchange, words)?;
    in_the_middle(exchange, words)
}

fn at_once(exchange: &Exchange, words: &str) -> Result<(), Broken> {
    let broken = |what: String| ("failure", what);
    let body = spelled(&mut exchange.random(7), &answers::failure_body(exchange.from, words));
    let answered = converted(exchange.from, exchange.to, &body).map_err(broken)?;
    let value = serde_json::from_str(&answered.body).map_err(|error| broken(error.to_string()))?;
    let told = answers::read_failure(exchange.to, &value).map_err(broken)?;
    match told == words && answered.failed {
        true => Ok(()),
        false => Err(broken(answered.body)),
    }
}

fn in_the_middle(exchange: &Exchange, words: &str) -> Result<(), Broken> {
    const LAW: &str = "failure";
    let mut random = exchange.random(5);
    let mut frames = exchange.frames();
    let at = 1 + random.below(exchange.stop_frame(&frames).max(1));
    frames.truncate(at.min(frames.len()));
    let (name, value) = answers::failure(exchange.from, words);
    let failed = frames[0].another(Sort::Event, name, &value);
    let source = answers::hear(exchange.from, &answers::bytes(&frames));
    frames.push(failed);
    let bytes = answers::bytes(&frames);
    let Streamed { out, end } = streamed(exchange.from, exchange.to, [bytes.as_slice()]);
    let told = answers::hear(exchange.to, &out);
    let broken = |what: String| (LAW, format!("behind {at} frames: {what}\n{}", shown(&out)));
    match &end {
        Ok(end) if end.failed && !end.complete => {}
        end => return Err(broken(format!("{end:?}"))),
    }
    if told.error.as_deref() != Some(words) || told.ended || !told.faults.is_empty() {
        return Err(broken(format!("{:?} {:?}", told.error, told.faults)));
    }
    none_made_up(&source, &told).map_err(broken)
}

/// A frame that is not JSON, or whose checksum is wrong, is an error in that frame. The client
/// hears of it, and of nothing behind it.
pub(super) fn malformed(exchange: &Exchange) -> Result<(), Broken> {
    const LAW: &str = "malformed";
    let mut random = exchange.random(6);
    let mut frames = exchange.frames();
    let stop = exchange.stop_frame(&frames);
    let at = random.below(stop.min(frames.len()));
    if frames[at].sort != Sort::Event || !spoil(&mut random, exchange.from, &mut frames[at]) {
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
    let told = answers::hear(exchange.to, &whole.out);
    if told.error.is_none() || told.ended || !told.faults.is_empty() {
        return Err(broken(format!("{:?} {:?}", told.error, told.faults)));
    }
    none_made_up(&source, &told).map_err(&broken)?;
    let pieces = streamed(exchange.from, exchange.to, cut(&mut random, &bytes, 20));
    if pieces != whole {
        return Err(broken(format!("in chunks {:?}\n{}", pieces.end, shown(&pieces.out))));
    }
    Ok(())
}

/// Breaks a frame: any byte of a binary message, else a colon or a comma between values.
fn spoil(random: &mut Random, wire: Format, frame: &mut Frame) -> bool {
    if wire == Format::Bedrock && frame.bytes.first() == Some(&0) {
        // The first byte of all says that these are messages.
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
