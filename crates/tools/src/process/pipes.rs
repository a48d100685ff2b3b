//! What a process says, in the order in which it says it.

use std::io;

use tokio::{
    io::{AsyncRead, AsyncReadExt as _},
    process::{Child, Command},
};

/// Bytes that are read at a time.
const STEP: usize = 64 << 10;

/// What a process says on both of its outputs. Where the system can do that they are one, so that
/// nothing changes places.
#[derive(Debug)]
pub(super) struct ProcessPipes {
    first: OutputPipe,
    second: OutputPipe,
}

struct OutputPipe {
    source: Option<Box<dyn AsyncRead + Send + Unpin>>,
    buffer: Vec<u8>,
}

impl ProcessPipes {
    /// Starts a process that says what it says in here.
    #[cfg(unix)]
    pub(super) fn spawn(mut command: Command) -> io::Result<(Child, io::Result<ProcessPipes>)> {
        use std::process::Stdio;
        use tokio::net::unix::pipe::Receiver;
        let (source, output) = io::pipe()?;
        let errors = output.try_clone()?;
        command.stdin(Stdio::null()).stdout(output).stderr(errors);
        let child = command.spawn()?;
        // It holds the other end, too.
        drop(command);
        let source = Receiver::from_owned_fd(source.into());
        let pipes = source.map(|source| ProcessPipes {
            first: OutputPipe::new(source),
            second: OutputPipe::none(),
        });
        Ok((child, pipes))
    }

    /// Starts a process that says what it says in here.
    #[cfg(not(unix))]
    pub(super) fn spawn(mut command: Command) -> io::Result<(Child, io::Result<ProcessPipes>)> {
        use std::process::Stdio;
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let missing = || io::Error::other("a pipe is missing");
        let both = child.stdout.take().zip(child.stderr.take()).ok_or_else(missing);
        let pipes = both.map(|(output, errors)| ProcessPipes {
            first: OutputPipe::new(output),
            second: OutputPipe::new(errors),
        });
        Ok((child, pipes))
    }

    /// What it says next; nothing, if it cannot say anything more. May be dropped while it waits,
    /// and loses nothing.
    pub(super) async fn read(&mut self) -> Option<&[u8]> {
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
                    // What is read twice would be told twice: the borrow ends the loop.
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

    /// How many bytes were read; none at the end, and whatever goes wrong is an end.
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
