//! Counts the tokens of a request: by the upstream if it can, else here.

use std::sync::Arc;

use foxwedge_core::Wire;
use foxwedge_dialect::text;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use tokio::sync::oneshot;

use super::{
    Inner,
    ask::{Said, ask},
    note, note_refusal,
    prepare::prepare,
    reply::Reply,
};
use crate::{Answered, Asked, Body, Fault, Kind, Told, config::Reach};

/// The longest count of an upstream.
const MOST: usize = 64 << 10;

pub(super) async fn count(
    engine: &Arc<Inner>,
    asked: &Asked,
    told: &mut Told,
) -> Result<Answered, Fault> {
    let mut prepared = prepare(engine, asked).inspect_err(|fault| note_refusal(fault, told))?;
    note(&prepared, told);
    let counts = prepared.wire == Wire::Anthropic
        && !matches!(prepared.route.upstream.reach, Reach::Agent(_));
    if !counts {
        let tokens = text(&prepared.guarded.body)
            .ok()
            .and_then(|source| engine.scales.weigh(source, prepared.wire, &prepared.model))
            .ok_or_else(|| Fault::new(Kind::Server, "uncounted", "the request was not counted"))?;
        let reply = Reply { engine, asked, prepared: &prepared, told };
        let kind = HeaderValue::from_static("application/json");
        let headers = reply.headers(&HeaderMap::new(), kind);
        let body = Body::whole(format!("{{\"input_tokens\":{tokens}}}"));
        let told = std::mem::take(reply.told);
        return Ok(Answered { status: StatusCode::OK, headers, body, told });
    }
    let (_sender, mut never) = oneshot::channel();
    let said = ask(engine, asked, &mut prepared, None, &mut never).await?;
    note(&prepared, told);
    let reply = Reply { engine, asked, prepared: &prepared, told };
    match said {
        Said::Reply { status, headers, body } => {
            let kind = headers.get(header::CONTENT_TYPE).cloned();
            let bytes = body.whole(MOST).await.map_err(|error| {
                Fault::new(Kind::Upstream, "upstream_cut", format!("the count broke off: {error}"))
            })?;
            let kind = kind.unwrap_or(HeaderValue::from_static("application/json"));
            let headers = reply.headers(&headers, kind);
            let told = std::mem::take(reply.told);
            Ok(Answered { status, headers, body: Body::whole(bytes), told })
        }
        Said::Error { status, headers, body, tries } => {
            Ok(reply.error(status, &headers, &body, tries))
        }
    }
}
