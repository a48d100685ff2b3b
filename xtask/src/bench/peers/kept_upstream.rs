//! A listener in front of the built-in model that keeps every request and what became of it.

use std::{
    io::{self, BufRead, BufReader, Read as _, Write as _},
    mem,
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex, PoisonError},
    thread,
};

/// What arrived at the upstream.
pub(super) struct KeptRequest {
    pub(super) body: String,
    /// What the model's judge said.
    pub(super) status: Option<u16>,
}

/// The listener. It ends with the process.
pub(super) struct KeptUpstream {
    address: String,
    kept: Arc<Mutex<Vec<KeptRequest>>>,
}

impl KeptUpstream {
    /// Listens at a free port, in front of the model at this address.
    pub(super) fn start(model: &str) -> Result<KeptUpstream, String> {
        let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
        let address = listener.local_addr().map_err(|error| error.to_string())?.to_string();
        let kept = Arc::new(Mutex::new(Vec::new()));
        let (shared, model) = (kept.clone(), model.to_owned());
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (kept, model) = (shared.clone(), model.clone());
                // A gateway may end a connection whenever it likes.
                thread::spawn(move || serve(client, &model, &kept));
            }
        });
        Ok(KeptUpstream { address, kept })
    }

    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// Takes what arrived since the last time.
    pub(super) fn take(&self) -> Vec<KeptRequest> {
        mem::take(&mut *self.kept.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Serves one request of a connection and closes it.
fn serve(mut client: TcpStream, model: &str, kept: &Mutex<Vec<KeptRequest>>) -> io::Result<()> {
    let mut reader = BufReader::new(client.try_clone()?);
    let Some((line, body)) = read_request(&mut reader)? else { return Ok(()) };
    if !line.starts_with("POST ") {
        // Some gateways look whether an upstream is well, or for its models.
        return client.write_all(
            b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\
              connection: close\r\n\r\n{}",
        );
    }
    let mut upstream = TcpStream::connect(model)?;
    let request_line = line.trim_end();
    write!(
        upstream,
        "{request_line}\r\nhost: {model}\r\ncontent-type: application/json\r\n\
         anthropic-version: 2023-06-01\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    )?;
    upstream.write_all(&body)?;
    let mut reply = Vec::new();
    upstream.read_to_end(&mut reply)?;
    let request = KeptRequest {
        body: String::from_utf8_lossy(&body).into_owned(),
        status: super::status_of(&String::from_utf8_lossy(&reply)),
    };
    kept.lock().unwrap_or_else(PoisonError::into_inner).push(request);
    client.write_all(&reply)
}

/// The first line of a request, and its body.
fn read_request(reader: &mut impl BufRead) -> io::Result<Option<(String, Vec<u8>)>> {
    let (mut first, mut length, mut is_chunked) = (String::new(), 0, false);
    if reader.read_line(&mut first)? == 0 {
        return Ok(None);
    }
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let line = line.trim_end().to_ascii_lowercase();
        match line.split_once(':') {
            None => break,
            Some(("content-length", value)) => length = value.trim().parse().unwrap_or(0),
            Some(("transfer-encoding", value)) => is_chunked = value.contains("chunked"),
            Some(_) => {}
        }
    }
    let mut body = Vec::new();
    if is_chunked {
        loop {
            let mut size = String::new();
            reader.read_line(&mut size)?;
            let size = size.split(';').next().unwrap_or_default().trim();
            let size = u64::from_str_radix(size, 16).unwrap_or(0);
            reader.take(size).read_to_end(&mut body)?;
            reader.read_line(&mut String::new())?;
            if size == 0 {
                break;
            }
        }
    } else {
        reader.take(length).read_to_end(&mut body)?;
    }
    Ok(Some((first, body)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_with_a_length_and_in_chunks_are_read() {
        for text in [
            "POST /v1/messages HTTP/1.1\r\nContent-Length: 4\r\n\r\n{\"\"}rest",
            "POST /v1/messages HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n3;x=y\r\n\"\"}\r\n0\r\n\r\n",
        ] {
            let (line, body) =
                read_request(&mut text.as_bytes()).expect("read").expect("a request");
            assert_eq!((line.trim_end(), &*body), ("POST /v1/messages HTTP/1.1", &b"{\"\"}"[..]));
        }
        assert!(read_request(&mut &b""[..]).expect("read").is_none());
    }
}
