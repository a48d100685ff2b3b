//! One request to the gateway, in the little of HTTP that it takes, and what Linux says of it.

use std::{
    fs,
    io::{self, Read as _, Write as _},
    net::TcpStream,
    time::Duration,
};

use super::{scenario::CHAT_MODEL, stage::TOKEN};

/// Nobody takes longer to answer a tiny request.
const PATIENCE: Duration = Duration::from_secs(10);

/// Whether somebody answers a tiny request there.
pub(super) fn answers(address: &str) -> bool {
    let body = format!(
        "{{\"model\":\"{CHAT_MODEL}\",\"messages\":[{{\"role\":\"user\",\"content\":\"Hello.\"}}]}}"
    );
    let head = format!("content-type: application/json\r\ncontent-length: {}\r\n", body.len());
    ask(address, "POST /v1/chat/completions", &head, &body)
        .is_ok_and(|answer| answer.starts_with("HTTP/1.1 200"))
}

/// How many records were left out, as the gateway counts them itself.
pub(super) fn left_out(address: &str) -> Option<u64> {
    let metrics = ask(address, "GET /metrics", "", "").ok()?;
    sum(&metrics, "foxwedge_dropped_total")
}

/// How many requests were answered.
pub(super) fn requests(address: &str) -> Option<u64> {
    let metrics = ask(address, "GET /metrics", "", "").ok()?;
    sum(&metrics, "foxwedge_requests_total")
}

/// Kilobytes of a process in memory; nothing where nobody tells.
pub(super) fn memory(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse().ok()
}

fn ask(address: &str, what: &str, head: &str, body: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    write!(
        stream,
        "{what} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {TOKEN}\r\n{head}connection: close\r\n\r\n{body}"
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

/// All values of a metric, whatever their labels.
fn sum(metrics: &str, name: &str) -> Option<u64> {
    let values = metrics.lines().filter_map(|line| {
        let rest = line.strip_prefix(name)?;
        let fits = rest.starts_with(['{', ' ']);
        fits.then(|| rest.rsplit(' ').next()?.parse::<f64>().ok()).flatten()
    });
    values.map(|value| value as u64).reduce(|one, two| one + two)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_a_metric_are_added_up() {
        let text = "# HELP a_total x\na_total{b=\"c d\"} 3\na_total{b=\"e\"} 4\na_total_more 9\n";
        assert_eq!(sum(text, "a_total"), Some(7));
        assert_eq!(sum(text, "b_total"), None);
    }
}
