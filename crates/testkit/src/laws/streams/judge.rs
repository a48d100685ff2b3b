//! Laws of what comes out: however the bytes are cut, in both forms, and on the way back.

use foxwedge_core::Format;
use foxwedge_dialect::{convert::ConvertedResponse, stream::StreamEnding};
use serde_json::Value;

use super::{
    Broken, Effort,
    compare::difference,
    convert::{Streamed, collected, converted, lost, skipped, streamed, told},
    exchange::Exchange,
};
use crate::{
    answers::{self, Answer, Block, Form, Heard, Input, Sort, Stop, legal_id, normal},
    random::Random,
};

/// However a stream is cut into chunks, the same bytes come out, and the same is told.
pub(super) fn chunks(exchange: &Exchange, effort: Effort) -> Result<(), Broken> {
    const LAW: &str = "chunks";
    let bytes = exchange.bytes();
    let whole = through(exchange, &bytes);
    let mut random = exchange.random(3);
    let mut ways = vec![cut(&mut random, &bytes, 200), cut(&mut random, &bytes, 12)];
    if effort == Effort::All || random.chance(10) {
        ways.push(bytes.chunks(1).collect());
    }
    for way in ways {
        let lengths: Vec<usize> = way.iter().map(|chunk| chunk.len()).collect();
        let pieces = streamed(exchange.from, exchange.to, way);
        if pieces != whole {
            let what = format!(
                "chunks of {lengths:?} give {:?}\n{}\ninstead of {:?}\n{}",
                pieces.end,
                shown(&pieces.out),
                whole.end,
                shown(&whole.out)
            );
            return Err((LAW, what));
        }
    }
    Ok(())
}

/// Everything arrives that the format can hold, nothing else is lost, and what is lost is told: in
/// one piece, and in pieces that follow the protocol.
pub(super) fn held(exchange: &Exchange) -> Result<(), Broken> {
    const LAW: &str = "held";
    let expected = exchange.expected();
    let forgiven = exchange.is_broken().then_some("arguments");
    let (answered, answer) = body(exchange)?;
    if let Some(what) = difference(exchange, &answer, &answered.renamed, Form::Body) {
        return Err((LAW, format!("the body: {what}\n{}", answered.body)));
    }
    let mut names = lost(&answered);
    names.retain(|name| Some(*name) != forgiven);
    if names != expected.lost || answered.failed {
        let losses = &answered.losses;
        return Err((LAW, format!("the body: lost {:?}, told {losses:?}", expected.lost)));
    }
    let (finished, heard, out) = heard(exchange)?;
    if let Some(what) = difference(exchange, &heard.answer, &finished.renamed, Form::Stream) {
        return Err((LAW, format!("the stream: {what}\n{}", shown(&out))));
    }
    let mut names = skipped(&finished);
    names.retain(|name| Some(*name) != forgiven);
    let mut wanted = expected.lost;
    if exchange.frames().iter().any(|frame| frame.sort == Sort::Unknown) {
        wanted.insert("unknown");
    }
    if exchange.is_broken() && exchange.to == Format::Gemini {
        names.remove("stop-reason");
        wanted.remove("stop-reason");
    }
    if names != wanted {
        let skipped = &finished.skipped;
        return Err((LAW, format!("the stream: lost {wanted:?}, told {skipped:?}")));
    }
    Ok(())
}

/// A stream and the same answer in one piece say the same, up to the last made-up id.
pub(super) fn twin(exchange: &Exchange) -> Result<(), Broken> {
    const LAW: &str = "twin";
    // Arguments that are no object are mended where they are known as a whole only.
    if exchange.is_broken() {
        return Ok(());
    }
    let (answered, in_one) = body(exchange)?;
    let (_, heard, out) = heard(exchange)?;
    let show = |answer: Answer| Answer { blocks: normal(answer.blocks, exchange.to), ..answer };
    let (in_one, in_pieces) = (show(in_one), show(heard.answer));
    if in_one != in_pieces {
        let what = format!("in one piece {in_one:#?}\nin pieces {in_pieces:#?}\n{}", shown(&out));
        return Err((LAW, what));
    }
    // The last event of Responses holds the body's items, ids and all.
    if exchange.to == Format::OpenaiResponses && exchange.from != exchange.to {
        let last = answers::cut(exchange.to, &out).pop();
        let last: Value =
            last.and_then(|cut| serde_json::from_str(&cut.data).ok()).unwrap_or_default();
        let body: Value = serde_json::from_str(&answered.body).unwrap_or_default();
        let (items, whole) = (items(&last["response"]), items(&body));
        if items != whole {
            return Err((LAW, format!("in one piece {whole}\nin pieces {items}")));
        }
    }
    Ok(())
}

/// A stream that is put together says the same, and so does a body that is told in pieces.
pub(super) fn forms(exchange: &Exchange) -> Result<(), Broken> {
    const LAW: &str = "forms";
    let Exchange { from, to, .. } = *exchange;
    let encoded = collected(from, to, &exchange.bytes()).map_err(|what| (LAW, what))?;
    let value: Value =
        serde_json::from_str(&encoded.body).map_err(|error| (LAW, error.to_string()))?;
    let answer =
        answers::read_body(to, &value).map_err(|what| (LAW, format!("{what}: {value}")))?;
    if let Some(what) = difference(exchange, &answer, &encoded.renamed, Form::Body) {
        return Err((LAW, format!("put together: {what}\n{value}")));
    }
    let Streamed { out, end } = told(from, to, &exchange.body()).map_err(|what| (LAW, what))?;
    let finished = end.map_err(|error| (LAW, error.to_string()))?;
    let heard = answers::hear(to, &out);
    if !heard.faults.is_empty() || !heard.ended || !finished.complete {
        return Err((LAW, format!("in pieces: {:?}\n{}", heard.faults, shown(&out))));
    }
    match difference(exchange, &heard.answer, &finished.renamed, Form::Stream) {
        Some(what) => Err((LAW, format!("in pieces: {what}\n{}", shown(&out)))),
        None => Ok(()),
    }
}

/// The items of a response. Arguments are the same however they are spelled.
fn items(response: &Value) -> Value {
    let mut items = response["output"].clone();
    for item in items.as_array_mut().into_iter().flatten() {
        if let Some(Ok(arguments)) = item["arguments"].as_str().map(serde_json::from_str::<Value>) {
            item["arguments"] = arguments;
        }
    }
    items
}

/// There and back, an answer keeps its texts, its reasoning, its calls, its end and its cost.
pub(super) fn back(exchange: &Exchange) -> Result<(), Broken> {
    const LAW: &str = "back";
    if exchange.is_broken() {
        return Ok(());
    }
    let Exchange { from, to, answer, .. } = exchange;
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
        let kept = keeps(exchange, answer, &returned.answer);
        return kept.map_err(|what| (LAW, format!("in pieces, {what}")));
    }
    Err((LAW, format!("{:?} {:?}\n{}", back.end, returned.faults, shown(&back.out))))
}

fn keeps(exchange: &Exchange, sent: &Answer, returned: &Answer) -> Result<(), String> {
    let Exchange { from, to, .. } = *exchange;
    let differ = |what: &str, sent: &dyn std::fmt::Debug, returned: &dyn std::fmt::Debug| {
        Err(format!("{what}: {sent:?} comes back as {returned:?}"))
    };
    let ordered = !sent.blocks.iter().any(|block| matches!(block, Block::Refusal(_)));
    if texts(sent, ordered) != texts(returned, ordered) {
        return differ("texts", &sent.text(), &returned.text());
    }
    if sent.thoughts() != returned.thoughts() {
        return differ("reasoning", &sent.thoughts(), &returned.thoughts());
    }
    let cost = |answer: &Answer| (answer.usage.input, answer.usage.output, answer.usage.cached);
    if cost(sent) != cost(returned) {
        return differ("the cost", &sent.usage, &returned.usage);
    }
    let (before, after): (Vec<_>, Vec<_>) = (sent.calls().collect(), returned.calls().collect());
    if before.len() != after.len() {
        return differ("calls", &before, &after);
    }
    let mut seen = Vec::new();
    for (one, other) in before.into_iter().zip(after) {
        let free = matches!(one.input, Input::Free(_))
            && !matches!(to, Format::OpenaiChat | Format::OpenaiResponses);
        let input = if free { Input::Json(one.input.object()) } else { one.input.clone() };
        let stays = one
            .id
            .as_ref()
            .is_some_and(|id| legal_id(to, id) && legal_id(from, id) && !seen.contains(id));
        seen.extend(one.id.clone());
        if one.name != other.name || input != other.input || stays && one.id != other.id {
            return differ("a call", one, other);
        }
    }
    let told = exchange.expected().answer.stop;
    let has_calls = sent.calls().next().is_some();
    let stays = told == sent.stop || matches!(sent.stop, Some(Stop::End | Stop::Calls));
    // Where an answer with calls ends, it waits for answers, whatever its server said.
    let same = sent.stop == returned.stop
        || has_calls
            && [&sent.stop, &returned.stop]
                .iter()
                .all(|stop| matches!(stop, Some(Stop::End | Stop::Calls)));
    if stays && !same {
        return differ("the end", &sent.stop, &returned.stop);
    }
    Ok(())
}

/// All the text. A refusal moves behind the rest in Chat, and is text elsewhere: then only the
/// characters count.
fn texts(answer: &Answer, ordered: bool) -> String {
    let text = answer.text();
    if ordered {
        return text;
    }
    let mut characters: Vec<char> = text.chars().collect();
    characters.sort_unstable();
    characters.into_iter().collect()
}

/// The body in the other format, and what it says.
fn body(exchange: &Exchange) -> Result<(ConvertedResponse, Answer), Broken> {
    const LAW: &str = "body";
    let source = exchange.body();
    let answered = converted(exchange.from, exchange.to, &source).map_err(|error| (LAW, error))?;
    let value: Value = serde_json::from_str(&answered.body)
        .map_err(|error| (LAW, format!("{error}: {}", answered.body)))?;
    let answer = answers::read_body(exchange.to, &value)
        .map_err(|what| (LAW, format!("{what}: {}", answered.body)))?;
    Ok((answered, answer))
}

/// The stream in the other format, which is whole and follows the protocol.
fn heard(exchange: &Exchange) -> Result<(StreamEnding, Heard, Vec<u8>), Broken> {
    const LAW: &str = "protocol";
    let Streamed { out, end } = through(exchange, &exchange.bytes());
    let finished = end.map_err(|error| (LAW, format!("{error}\n{}", shown(&out))))?;
    let heard = answers::hear(exchange.to, &out);
    let whole = heard.stopped && heard.ended && heard.error.is_none();
    let calls = heard.answer.blocks.iter().zip(&heard.whole);
    let whole = whole && calls.into_iter().all(|(_, whole)| *whole);
    if !whole || !heard.faults.is_empty() || heard.unknown > 0 {
        let faults = &heard.faults;
        return Err((LAW, format!("whole: {whole}, faults: {faults:?}\n{}", shown(&out))));
    }
    if !finished.complete || finished.failed {
        return Err((LAW, format!("a whole stream ended as {finished:?}")));
    }
    Ok((finished, heard, out))
}

fn through(exchange: &Exchange, bytes: &[u8]) -> Streamed {
    streamed(exchange.from, exchange.to, [bytes])
}

/// Cuts bytes into chunks of up to so many.
pub(super) fn cut<'b>(random: &mut Random, bytes: &'b [u8], most: usize) -> Vec<&'b [u8]> {
    let mut chunks = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let (chunk, tail) = rest.split_at((1 + random.below(most)).min(rest.len()));
        chunks.push(chunk);
        rest = tail;
    }
    chunks
}

pub(super) fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
