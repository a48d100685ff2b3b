//! Laws of the output: for all chunk boundaries, as body and as stream, and on the way back.

use foxwedge_core::Format;
use foxwedge_formats::{convert::ConvertedResponse, stream::StreamEnding};
use serde_json::Value;

use super::{
    StreamBreach, TestEffort,
    compare::difference,
    convert::{StreamOutput, collected, converted, lost, skipped, streamed, told},
    exchange::StreamExchange,
};
use crate::{
    answers::{
        self, GeneratedFrameKind, OracleReply, OracleStream, ReplyBlock, ReplyCallInput, ReplyForm,
        ReplyStop, legal_id, normal,
    },
    random::Random,
};

/// The output and the report do not depend on the chunk boundaries.
pub(super) fn chunks(exchange: &StreamExchange, effort: TestEffort) -> Result<(), StreamBreach> {
    const LAW: &str = "chunks";
    let bytes = exchange.bytes();
    let whole = through(exchange, &bytes);
    let mut random = exchange.random(3);
    let mut splits = vec![cut(&mut random, &bytes, 200), cut(&mut random, &bytes, 12)];
    if effort == TestEffort::All || random.chance(10) {
        splits.push(bytes.chunks(1).collect());
    }
    for split in splits {
        let lengths: Vec<usize> = split.iter().map(|chunk| chunk.len()).collect();
        let chunked = streamed(exchange.from, exchange.to, split);
        if chunked != whole {
            let what = format!(
                "chunks of {lengths:?} give {:?}\n{}\ninstead of {:?}\n{}",
                chunked.end,
                shown(&chunked.out),
                whole.end,
                shown(&whole.out)
            );
            return Err((LAW, what));
        }
    }
    Ok(())
}

/// Everything that the target format can hold arrives, and every loss is reported, as a body and as
/// a stream that follows the protocol.
pub(super) fn held(exchange: &StreamExchange) -> Result<(), StreamBreach> {
    const LAW: &str = "held";
    let expected = exchange.expected();
    let forgiven = exchange.is_broken().then_some("arguments");
    let (response, answer) = body(exchange)?;
    if let Some(what) = difference(exchange, &answer, &response.renamed, ReplyForm::Body) {
        return Err((LAW, format!("the body: {what}\n{}", response.body)));
    }
    let mut names = lost(&response);
    names.retain(|name| Some(*name) != forgiven);
    if names != expected.lost || response.failed {
        let losses = &response.losses;
        return Err((LAW, format!("the body: lost {:?}, told {losses:?}", expected.lost)));
    }
    let (finished, parsed, out) = heard(exchange)?;
    if let Some(what) = difference(exchange, &parsed.answer, &finished.renamed, ReplyForm::Stream) {
        return Err((LAW, format!("the stream: {what}\n{}", shown(&out))));
    }
    let mut names = skipped(&finished);
    names.retain(|name| Some(*name) != forgiven);
    let mut expected_losses = expected.lost;
    if exchange.frames().iter().any(|frame| frame.sort == GeneratedFrameKind::Unknown) {
        expected_losses.insert("unknown");
    }
    if exchange.is_broken() && exchange.to == Format::Gemini {
        names.remove("stop-reason");
        expected_losses.remove("stop-reason");
    }
    if names != expected_losses {
        let skipped = &finished.skipped;
        return Err((LAW, format!("the stream: lost {expected_losses:?}, told {skipped:?}")));
    }
    Ok(())
}

/// A stream and the same response as a body have the same content, except for the last generated
/// id.
pub(super) fn twin(exchange: &StreamExchange) -> Result<(), StreamBreach> {
    const LAW: &str = "twin";
    // Arguments that are not an object can only be repaired when they are complete.
    if exchange.is_broken() {
        return Ok(());
    }
    let (response, in_one) = body(exchange)?;
    let (_, parsed, out) = heard(exchange)?;
    let show =
        |answer: OracleReply| OracleReply { blocks: normal(answer.blocks, exchange.to), ..answer };
    let (in_one, in_pieces) = (show(in_one), show(parsed.answer));
    if in_one != in_pieces {
        let what = format!("in one piece {in_one:#?}\nin pieces {in_pieces:#?}\n{}", shown(&out));
        return Err((LAW, what));
    }
    // The last event of Responses holds the items of the body, including their ids.
    if exchange.to == Format::OpenaiResponses && exchange.from != exchange.to {
        let last = answers::cut(exchange.to, &out).pop();
        let last: Value =
            last.and_then(|cut| serde_json::from_str(&cut.data).ok()).unwrap_or_default();
        let body: Value = serde_json::from_str(&response.body).unwrap_or_default();
        let (items, whole) = (items(&last["response"]), items(&body));
        if items != whole {
            return Err((LAW, format!("in one piece {whole}\nin pieces {items}")));
        }
    }
    Ok(())
}

/// A collected stream has the same content, and so has a body written as a stream.
pub(super) fn forms(exchange: &StreamExchange) -> Result<(), StreamBreach> {
    const LAW: &str = "forms";
    let StreamExchange { from, to, .. } = *exchange;
    let encoded = collected(from, to, &exchange.bytes()).map_err(|what| (LAW, what))?;
    let value: Value =
        serde_json::from_str(&encoded.body).map_err(|error| (LAW, error.to_string()))?;
    let answer =
        answers::read_body(to, &value).map_err(|what| (LAW, format!("{what}: {value}")))?;
    if let Some(what) = difference(exchange, &answer, &encoded.renamed, ReplyForm::Body) {
        return Err((LAW, format!("put together: {what}\n{value}")));
    }
    let StreamOutput { out, end } = told(from, to, &exchange.body()).map_err(|what| (LAW, what))?;
    let finished = end.map_err(|error| (LAW, error.to_string()))?;
    let parsed = answers::hear(to, &out);
    if !parsed.faults.is_empty() || !parsed.ended || !finished.complete {
        return Err((LAW, format!("in pieces: {:?}\n{}", parsed.faults, shown(&out))));
    }
    match difference(exchange, &parsed.answer, &finished.renamed, ReplyForm::Stream) {
        Some(what) => Err((LAW, format!("in pieces: {what}\n{}", shown(&out)))),
        None => Ok(()),
    }
}

/// The items of a response, with parsed arguments: notation does not matter.
fn items(response: &Value) -> Value {
    let mut items = response["output"].clone();
    for item in items.as_array_mut().into_iter().flatten() {
        if let Some(Ok(arguments)) = item["arguments"].as_str().map(serde_json::from_str::<Value>) {
            item["arguments"] = arguments;
        }
    }
    items
}

/// Converted there and back, a response keeps its texts, reasoning, calls, stop reason and usage.
pub(super) fn back(exchange: &StreamExchange) -> Result<(), StreamBreach> {
    const LAW: &str = "back";
    if exchange.is_broken() {
        return Ok(());
    }
    let StreamExchange { from, to, answer, .. } = exchange;
    let (there, _) = body(exchange)?;
    let back = converted(*to, *from, &there.body).map_err(|error| (LAW, error))?;
    let back: Value = serde_json::from_str(&back.body).map_err(|error| (LAW, error.to_string()))?;
    let returned =
        answers::read_body(*from, &back).map_err(|what| (LAW, format!("{what}: {back}")))?;
    keeps(exchange, answer, &returned).map_err(|what| (LAW, format!("in one piece, {what}")))?;
    let there = through(exchange, &exchange.bytes());
    let back = streamed(*to, *from, [there.out.as_slice()]);
    let returned = answers::hear(*from, &back.out);
    if back.end.as_ref().is_ok_and(|end| end.complete) && returned.faults.is_empty() {
        let result = keeps(exchange, answer, &returned.answer);
        return result.map_err(|what| (LAW, format!("in pieces, {what}")));
    }
    Err((LAW, format!("{:?} {:?}\n{}", back.end, returned.faults, shown(&back.out))))
}

fn keeps(
    exchange: &StreamExchange,
    sent: &OracleReply,
    returned: &OracleReply,
) -> Result<(), String> {
    let StreamExchange { from, to, .. } = *exchange;
    let differ = |what: &str, sent: &dyn std::fmt::Debug, returned: &dyn std::fmt::Debug| {
        Err(format!("{what}: {sent:?} comes back as {returned:?}"))
    };
    let ordered = !sent.blocks.iter().any(|block| matches!(block, ReplyBlock::Refusal(_)));
    if texts(sent, ordered) != texts(returned, ordered) {
        return differ("texts", &sent.text(), &returned.text());
    }
    if sent.thoughts() != returned.thoughts() {
        return differ("reasoning", &sent.thoughts(), &returned.thoughts());
    }
    let cost =
        |answer: &OracleReply| (answer.usage.input, answer.usage.output, answer.usage.cached);
    if cost(sent) != cost(returned) {
        return differ("the cost", &sent.usage, &returned.usage);
    }
    let (before, after): (Vec<_>, Vec<_>) = (sent.calls().collect(), returned.calls().collect());
    if before.len() != after.len() {
        return differ("calls", &before, &after);
    }
    let mut used_ids = Vec::new();
    for (one, other) in before.into_iter().zip(after) {
        let free = matches!(one.input, ReplyCallInput::Free(_))
            && !matches!(to, Format::OpenaiChat | Format::OpenaiResponses);
        let input = if free { ReplyCallInput::Json(one.input.object()) } else { one.input.clone() };
        let stays = one
            .id
            .as_ref()
            .is_some_and(|id| legal_id(to, id) && legal_id(from, id) && !used_ids.contains(id));
        used_ids.extend(one.id.clone());
        if one.name != other.name || input != other.input || stays && one.id != other.id {
            return differ("a call", one, other);
        }
    }
    let expected_stop = exchange.expected().answer.stop;
    let has_calls = sent.calls().next().is_some();
    let stays =
        expected_stop == sent.stop || matches!(sent.stop, Some(ReplyStop::End | ReplyStop::Calls));
    // A response that ends with calls waits for their results, whatever stop reason its server
    // sent.
    let same = sent.stop == returned.stop
        || has_calls
            && [&sent.stop, &returned.stop]
                .iter()
                .all(|stop| matches!(stop, Some(ReplyStop::End | ReplyStop::Calls)));
    if stays && !same {
        return differ("the end", &sent.stop, &returned.stop);
    }
    Ok(())
}

/// All text. A refusal follows all other text in Chat and is plain text elsewhere, so then only the
/// characters are compared.
fn texts(answer: &OracleReply, ordered: bool) -> String {
    let text = answer.text();
    if ordered {
        return text;
    }
    let mut characters: Vec<char> = text.chars().collect();
    characters.sort_unstable();
    characters.into_iter().collect()
}

/// The converted body, and the response that the oracle reads from it.
fn body(exchange: &StreamExchange) -> Result<(ConvertedResponse, OracleReply), StreamBreach> {
    const LAW: &str = "body";
    let source = exchange.body();
    let response = converted(exchange.from, exchange.to, &source).map_err(|error| (LAW, error))?;
    let value: Value = serde_json::from_str(&response.body)
        .map_err(|error| (LAW, format!("{error}: {}", response.body)))?;
    let answer = answers::read_body(exchange.to, &value)
        .map_err(|what| (LAW, format!("{what}: {}", response.body)))?;
    Ok((response, answer))
}

/// The converted stream, which must be complete and follow the protocol.
fn heard(exchange: &StreamExchange) -> Result<(StreamEnding, OracleStream, Vec<u8>), StreamBreach> {
    const LAW: &str = "protocol";
    let StreamOutput { out, end } = through(exchange, &exchange.bytes());
    let finished = end.map_err(|error| (LAW, format!("{error}\n{}", shown(&out))))?;
    if has_python_line_end(exchange.to, &out) {
        return Err((LAW, format!("Python splits an event\n{}", shown(&out))));
    }
    let parsed = answers::hear(exchange.to, &out);
    let whole = parsed.stopped && parsed.ended && parsed.error.is_none();
    let calls = parsed.answer.blocks.iter().zip(&parsed.whole);
    let whole = whole && calls.into_iter().all(|(_, whole)| *whole);
    if !whole || !parsed.faults.is_empty() || parsed.unknown > 0 {
        let faults = &parsed.faults;
        return Err((LAW, format!("whole: {whole}, faults: {faults:?}\n{}", shown(&out))));
    }
    if !finished.complete || finished.failed {
        return Err((LAW, format!("a whole stream ended as {finished:?}")));
    }
    Ok((finished, parsed, out))
}

/// Whether Google's library for Python splits an event: it uses `str.splitlines`.
fn has_python_line_end(to: Format, out: &[u8]) -> bool {
    const ENDS: [char; 8] =
        ['\u{b}', '\u{c}', '\u{1c}', '\u{1d}', '\u{1e}', '\u{85}', '\u{2028}', '\u{2029}'];
    matches!(to, Format::Gemini | Format::GeminiInteractions) && shown(out).contains(ENDS)
}

fn through(exchange: &StreamExchange, bytes: &[u8]) -> StreamOutput {
    streamed(exchange.from, exchange.to, [bytes])
}

/// Splits bytes into chunks of at most this size.
pub(super) fn cut<'b>(random: &mut Random, bytes: &'b [u8], max: usize) -> Vec<&'b [u8]> {
    let mut chunks = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let (chunk, tail) = rest.split_at((1 + random.below(max)).min(rest.len()));
        chunks.push(chunk);
        rest = tail;
    }
    chunks
}

pub(super) fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
