//! Reads the output of a process, in order.

use std::io;

use tokio::{
    io::{AsyncRead, AsyncReadExt as _},
    process::{Child, Command},
};

/// Bytes per read.
const STEP: usize = 64 << 10;

/// Both outputs of a process. Where the system can do that they share one pipe, which keeps the
/// order.
#[derive(Debug)]
pub struct MergedOutput {
    first: OutputPipe,
    second: OutputPipe,
}

struct OutputPipe {
    source: Option<Box<dyn AsyncRead + Send + Unpin>>,
    buffer: Vec<u8>,
}

impl MergedOutput {
    /// Starts a process and captures its output.
    ///
    /// # Errors
    /// If it cannot be started; the inner error if its output cannot be read.
    #[cfg(unix)]
    pub fn spawn(mut command: Command) -> io::Result<(Child, io::Result<MergedOutput>)> {
        use std::process::Stdio;
        use tokio::net::unix::pipe::Receiver;
        let (source, output) = io::pipe()?;
        let errors = output.try_clone()?;
        command.stdin(Stdio::null()).stdout(output).stderr(errors);
        let child = command.spawn()?;
        // It holds the writing end, too.
        drop(command);
        let source = Receiver::from_owned_fd(source.into());
        let pipes = source.map(|source| MergedOutput {
            first: OutputPipe::new(source),
            second: OutputPipe::none(),
        });
        Ok((child, pipes))
    }

    /// Starts a process and captures its output.
    ///
    /// # Errors
    /// If it cannot be started; the inner error if its output cannot be read.
    #[cfg(not(unix))]
    pub fn spawn(mut command: Command) -> io::Result<(Child, io::Result<MergedOutput>)> {
        use std::process::Stdio;
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let missing = || io::Error::other("a pipe is missing");
        let both = child.stdout.take().zip(child.stderr.take()).ok_or_else(missing);
        let pipes = both.map(|(output, errors)| MergedOutput {
            first: OutputPipe::new(output),
            second: OutputPipe::new(errors),
        });
        Ok((child, pipes))
    }

    /// Returns the next output, or `None` at the end of both. Cancel-safe.
    pub async fn read(&mut self) -> Option<&[u8]> {
        loop {
            let (first, second) = (&mut self.first, &mut self.second);
            let (is_first, read) = tokio::select! {
                read = first.read(), if first.source.is_some() => (true, read),
                read = second.read(), if second.source.is_some() => (false, read),
                else => return None,
            };
            let pipe = if is_first { &mut self.first } else { &mut self.second };
            match read {
                0 => pipe.source = None,
                read => {
                    // Return here: the borrow of the buffer ends the loop.
                    return if is_first {
                        self.first.buffer.get(..read)
                    } else {
                        self.second.buffer.get(..read)
                    };
                }
            }
        }
    }
}

impl OutputPipe {
    fn new(source: impl AsyncRead + Send + Unpin + 'static) -> OutputPipe {
        OutputPipe { source: Some(Box::new(source)), buffer: vec![0; STEP] }
    }

    #[cfg(unix)]
    fn none() -> OutputPipe {
        OutputPipe { source: None, buffer: Vec::new() }
    }

    /// Returns the number of bytes read; 0 at the end. An error counts as the end.
    async fn read(&mut self) -> usize {
        match &mut self.source {
            Some(source) => source.read(&mut self.buffer).await.unwrap_or(0),
            None => 0,
        }
    }
}

impl std::fmt::Debug for OutputPipe {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Pipe").field("open", &self.source.is_some()).finish()
    }
}
