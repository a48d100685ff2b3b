//! `GET /v1/console/series`: counts and latencies per minute.

use std::time::SystemTime;

use crate::ApiError;
use crate::request_monitor::{MAX_MINUTES, MinuteSlot, milliseconds, percentile};
use foxwedge_core::rules;
use serde_json::{Map, Value, json};

use super::json_reply as reply;
use crate::{HttpReply, api_request::ApiRequest, error, gateway_state::GatewayState};

/// Default number of minutes.
const DEFAULT_MINUTES: usize = 180;

/// `GET /v1/console/series`.
pub(super) fn answer(app: &GatewayState, request: &ApiRequest<'_>) -> Result<HttpReply, ApiError> {
    let minutes = match request.parameter("minutes")? {
        None => DEFAULT_MINUTES,
        Some(text) => match text.parse::<usize>() {
            Ok(0) | Err(_) => return Err(error::bad_request("`minutes` is a number from 1 on")),
            Ok(minutes) => minutes.min(MAX_MINUTES),
        },
    };
    let now = milliseconds(SystemTime::now()) / 60_000;
    let from = (now + 1).saturating_sub(minutes as u64);
    let slots = app.console.monitor.minutes().since(from);
    let mut total = MinuteSlot::default();
    slots.iter().for_each(|slot| total.merge(slot));
    let minute = |slot: &MinuteSlot| {
        let mut value = slot_json(slot);
        value["at"] = json!(slot.minute * 60_000);
        value
    };
    Ok(reply(&json!({
        "step": 60_000,
        "from": from * 60_000,
        "to": now * 60_000,
        "minutes": slots.iter().map(minute).collect::<Vec<Value>>(),
        "total": slot_json(&total),
    })))
}

fn slot_json(slot: &MinuteSlot) -> Value {
    let labels: Vec<String> = rules::ALL.iter().map(|rule| rule.label()).collect();
    json!({
        "requests": slot.requests,
        "status": counts(crate::request_monitor::CLASSES, &slot.status),
        "action": counts(crate::request_monitor::ACTIONS, &slot.action),
        "findings": counts(&labels, &slot.findings),
        "repairs": counts(&labels, &slot.repairs),
        "bytes_in": slot.bytes_in,
        "bytes_out": slot.bytes_out,
        "first_ms": latency_json(&slot.first_byte_times),
        "ms": latency_json(&slot.total_times),
    })
}

/// The counts that are not zero, by name.
fn counts<S: AsRef<str>>(names: impl IntoIterator<Item = S>, counts: &[u32]) -> Value {
    let nonzero = names.into_iter().zip(counts).filter(|(_, count)| **count > 0);
    Value::Object(Map::from_iter(nonzero.map(|(name, n)| (name.as_ref().to_owned(), json!(n)))))
}

fn latency_json(bins: &[u32]) -> Value {
    json!({
        "p50": percentile(bins, 0.5),
        "p90": percentile(bins, 0.9),
        "p99": percentile(bins, 0.99),
    })
}
