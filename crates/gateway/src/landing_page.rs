//! A page for people who open the address in a browser.

use http::{HeaderValue, StatusCode, header};

use crate::response_body::{HttpReply, ResponseBody};

const PAGE: &str = "\
<!doctype html>
<html lang=\"en\">
<meta charset=\"utf-8\">
<title>Foxwedge</title>
<h1>Foxwedge</h1>
<p>The gateway is running. Point a client at it:</p>
<ul>
<li>OpenAI clients: this address with <code>/v1</code></li>
<li>Anthropic clients: this address as it is</li>
</ul>
<p><a href=\"/health\">health</a> · <a href=\"/openapi.json\">openapi.json</a> · <code>/metrics</code> and <code>/v1/runs</code> need a token</p>
</html>
";

/// The page is public and holds nothing private.
pub(crate) fn reply() -> HttpReply {
    let mut reply = ResponseBody::reply(StatusCode::OK, "text/html; charset=utf-8", PAGE);
    let headers = reply.headers_mut();
    headers.insert(
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'; base-uri 'none'"),
    );
    headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    reply
}
