//! The text formats of metrics: OpenMetrics, and the older one of Prometheus.

use std::collections::HashSet;

use http::{HeaderMap, HeaderValue, header};

/// A text format of metrics.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MetricsFormat {
    /// OpenMetrics 1.0.
    OpenMetrics,
    /// The text format of Prometheus, version 0.0.4, which every scraper reads.
    Text,
}

impl MetricsFormat {
    /// The format for a client: OpenMetrics only if it names that type.
    pub(crate) fn from_headers(headers: &HeaderMap) -> MetricsFormat {
        let values = headers.get_all(header::ACCEPT).iter().map(HeaderValue::to_str);
        let mut ranges = values.filter_map(Result::ok).flat_map(|value| value.split(','));
        match ranges.any(accepts_openmetrics) {
            true => MetricsFormat::OpenMetrics,
            false => MetricsFormat::Text,
        }
    }

    /// The content type.
    pub(crate) fn content_type(self) -> &'static str {
        match self {
            MetricsFormat::OpenMetrics => {
                "application/openmetrics-text; version=1.0.0; charset=utf-8"
            }
            MetricsFormat::Text => "text/plain; version=0.0.4; charset=utf-8",
        }
    }
}

/// Whether a part of an `accept` header is that of OpenMetrics, and does not exclude it.
fn accepts_openmetrics(range: &str) -> bool {
    let mut parts = range.split(';').map(str::trim);
    let is_named =
        parts.next().is_some_and(|name| name.eq_ignore_ascii_case("application/openmetrics-text"));
    let is_zero = |value: &str| value.trim().parse::<f32>().is_ok_and(|quality| quality == 0.0);
    let mut parameters = parts.filter_map(|parameter| parameter.split_once('='));
    is_named
        && !parameters.any(|(name, value)| name.trim().eq_ignore_ascii_case("q") && is_zero(value))
}

/// Rewrites OpenMetrics text in the older format: its counters have the names of their samples, and
/// it has neither units nor a mark at the end. The library writes OpenMetrics only.
pub(super) fn openmetrics_to_text(text: &str) -> String {
    let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    let counters: HashSet<&str> = types.filter_map(|line| line.strip_suffix(" counter")).collect();
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    for line in text.lines() {
        let comment = line.strip_prefix("# ").and_then(|comment| comment.split_once(' '));
        match comment {
            Some(("UNIT", _)) => continue,
            Some((keyword @ ("HELP" | "TYPE"), rest)) => {
                let (name, rest) = rest.split_once(' ').unwrap_or((rest, ""));
                let suffix = if counters.contains(name) { "_total" } else { "" };
                out.extend(["# ", keyword, " ", name, suffix, " ", rest, "\n"]);
            }
            Some(_) | None if line == "# EOF" => continue,
            Some(_) | None => out.extend([line, "\n"]),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn openmetrics_is_sent_to_clients_that_name_it() {
        let openmetrics = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;q=0.3";
        for (accept, expected) in [
            (None, MetricsFormat::Text),
            (Some("*/*"), MetricsFormat::Text),
            (Some("text/plain; version=0.0.4"), MetricsFormat::Text),
            (Some("application/openmetrics-text;q=0, text/plain"), MetricsFormat::Text),
            (Some("application/openmetrics-text; q=0.000"), MetricsFormat::Text),
            (Some("text/plain, Application/OpenMetrics-Text"), MetricsFormat::OpenMetrics),
            (Some(openmetrics), MetricsFormat::OpenMetrics),
        ] {
            let mut headers = HeaderMap::new();
            if let Some(accept) = accept {
                headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
            }
            assert_eq!(MetricsFormat::from_headers(&headers), expected, "{accept:?}");
        }
    }

    #[test]
    fn the_older_format_names_counters_as_their_samples() {
        let openmetrics = "# HELP a_requests Requests, # TYPE and all.\n\
                           # TYPE a_requests counter\n\
                           a_requests_total{route=\"chat\"} 1\n\
                           # HELP a_open Open calls.\n\
                           # TYPE a_open gauge\n\
                           a_open 2\n\
                           # HELP a_time_seconds Time.\n\
                           # TYPE a_time_seconds histogram\n\
                           # UNIT a_time_seconds seconds\n\
                           a_time_seconds_sum 0.5\n\
                           # EOF\n";
        let expected = "# HELP a_requests_total Requests, # TYPE and all.\n\
                        # TYPE a_requests_total counter\n\
                        a_requests_total{route=\"chat\"} 1\n\
                        # HELP a_open Open calls.\n\
                        # TYPE a_open gauge\n\
                        a_open 2\n\
                        # HELP a_time_seconds Time.\n\
                        # TYPE a_time_seconds histogram\n\
                        a_time_seconds_sum 0.5\n";
        assert_eq!(openmetrics_to_text(openmetrics), expected);
    }
}
