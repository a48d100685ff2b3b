//! The system calls of a process, as `strace` recorded them: when each call started and when it
//! returned, because several threads run at once.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    process::Command,
};

/// A step of the trace, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A call started; calls are numbered.
    Begun(usize, Call),
    /// The call with this number returned a value or was refused.
    Done(usize, Result<u64, Refused>),
}

/// The system refused the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refused;

/// A system call. Open files are identified by their descriptors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    Open {
        path: PathBuf,
        create: bool,
    },
    Close {
        file: u64,
    },
    /// Without an offset: appends, as on a terminal.
    Write {
        file: u64,
        offset: Option<u64>,
        data: Box<[u8]>,
    },
    Cut {
        file: u64,
        length: u64,
    },
    Sync {
        file: u64,
    },
    Remove {
        path: PathBuf,
    },
    /// A call that does not change the disk.
    Look,
}

/// The calls that matter.
const CALLS: &str = "openat,close,pwrite64,write,ftruncate,fsync,fdatasync,unlink";
/// Calls that change nothing on a disk, but can be refused like others.
const LOOKS: &str = "pread64,mmap";
/// Calls that would matter, but that this reader does not support.
const UNKNOWN: &str = "?pwritev,?pwritev2,?writev,?rename,?renameat,?renameat2,?unlinkat,?fallocate,\
                       ?truncate,?dup,?dup2,?dup3,?sync_file_range,?copy_file_range,?sendfile";

/// Whether processes can be traced here; otherwise the reason.
pub(crate) fn possible() -> Result<(), String> {
    let arguments = tracer(Path::new("/dev/null"), &[]);
    let tried = arguments
        .split_first()
        .map(|(program, arguments)| Command::new(program).args(arguments).arg("true").output());
    match tried.expect("a tracer") {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(format!("strace: {}", String::from_utf8_lossy(&output.stderr).trim())),
        Err(error) => Err(format!("strace: {error}")),
    }
}

/// The command line before a traced program. `more` are further arguments of the tracer.
pub(crate) fn tracer(file: &Path, more: &[String]) -> Vec<String> {
    let own = ["strace", "--seccomp-bpf", "-f", "-qq", "-xx", "-s", "16777216", "-o"];
    let calls = ["-e".to_owned(), format!("trace={CALLS},{LOOKS},{UNKNOWN}")];
    let own = own.map(str::to_owned).into_iter().chain([file.display().to_string()]);
    own.chain(calls).chain(more.iter().cloned()).collect()
}

/// Reads the trace of a folder.
pub(crate) fn read(text: &str, folder: &Path) -> Vec<Step> {
    let mut reader = Reader { folder, number: 0, unfinished: HashMap::new(), steps: Vec::new() };
    for line in text.lines() {
        reader.line(line).unwrap_or_else(|why| panic!("{why}: {:.200}", line));
    }
    reader.steps
}

struct Reader<'a> {
    folder: &'a Path,
    number: usize,
    /// The pending call of each thread.
    unfinished: HashMap<&'a str, usize>,
    steps: Vec<Step>,
}

impl<'a> Reader<'a> {
    fn line(&mut self, line: &'a str) -> Result<(), &'static str> {
        let (thread, rest) = line.split_once(' ').ok_or("a line without a thread")?;
        let rest = rest.trim_start();
        if rest.starts_with("+++") || rest.starts_with("---") {
            return Ok(());
        }
        if rest.starts_with("<...") {
            let call = self.unfinished.remove(thread).ok_or("an end without a beginning")?;
            return self.done(call, rest);
        }
        let (name, rest) = rest.split_once('(').ok_or("a line without a call")?;
        match rest.strip_suffix("<unfinished ...>") {
            Some(values) => {
                let call = self.begin(name, values.trim_end())?;
                self.unfinished.insert(thread, call);
                Ok(())
            }
            None => {
                let (values, _) = rest.rsplit_once(')').ok_or("a call that breaks off")?;
                // An error has parentheses of its own after those of the call.
                let values = values.split_once(')').map_or(values, |(values, _)| values);
                let call = self.begin(name, values)?;
                self.done(call, rest)
            }
        }
    }

    fn begin(&mut self, name: &str, values: &str) -> Result<usize, &'static str> {
        let call = match LOOKS.split(',').any(|look| look == name) {
            true => Call::Look,
            false => self.call(name, values)?,
        };
        self.number += 1;
        self.steps.push(Step::Begun(self.number, call));
        Ok(self.number)
    }

    fn call(&self, name: &str, values: &str) -> Result<Call, &'static str> {
        let values: Vec<&str> = values.split(", ").collect();
        let number = |index: usize| -> Result<u64, &'static str> {
            let value = values.get(index).ok_or("a value is missing")?;
            value.parse().map_err(|_| "a value is no number")
        };
        let bytes = |index: usize| decode(values.get(index).copied().unwrap_or_default());
        let path = |index| -> Result<PathBuf, &'static str> {
            Ok(String::from_utf8(bytes(index)?).map_err(|_| "a path is no text")?.into())
        };
        Ok(match name {
            "openat" => {
                let create = values.get(2).is_some_and(|flags| flags.contains("O_CREAT"));
                let truncates = values.get(2).is_some_and(|flags| flags.contains("O_TRUNC"));
                let path = path(1)?;
                if truncates && path.starts_with(self.folder) {
                    return Err("nobody knows what it means to open a file that way");
                }
                Call::Open { path, create }
            }
            "close" => Call::Close { file: number(0)? },
            "write" => Call::Write { file: number(0)?, offset: None, data: bytes(1)?.into() },
            "pwrite64" => {
                Call::Write { file: number(0)?, offset: Some(number(3)?), data: bytes(1)?.into() }
            }
            "ftruncate" => Call::Cut { file: number(0)?, length: number(1)? },
            "fsync" | "fdatasync" => Call::Sync { file: number(0)? },
            "unlink" => Call::Remove { path: path(0)? },
            _ => return Err("nobody knows what this call means"),
        })
    }

    fn done(&mut self, call: usize, rest: &str) -> Result<(), &'static str> {
        let (_, result) = rest.rsplit_once(" = ").ok_or("a call without a result")?;
        let result = result.split(' ').next().unwrap_or_default();
        self.steps.push(Step::Done(call, result.parse().map_err(|_| Refused)));
        Ok(())
    }
}

/// Decodes a quoted string in which every byte is written as `\x41`.
fn decode(text: &str) -> Result<Vec<u8>, &'static str> {
    let text = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    let text = text.ok_or("a text that breaks off")?;
    let byte = |digits: &str| u8::from_str_radix(digits, 16).map_err(|_| "a text that is none");
    text.split("\\x").skip(1).map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_two_threads_are_separated() {
        let trace = r#"7 openat(AT_FDCWD, "\x2f\x66\x2f\x61", O_RDWR|O_CREAT|O_CLOEXEC, 0600) = 5
8 pwrite64(5, "\x61\x62", 2, 0 <unfinished ...>
7 fsync(5)                          = 0
8 <... pwrite64 resumed>)             = 2
7 fsync(5)     = -1 EIO (Input/output error) (INJECTED)
7 --- SIGCHLD {si_signo=SIGCHLD} ---
8 +++ exited with 0 +++
"#;
        let mut reader = Reader {
            folder: Path::new("/f"),
            number: 0,
            unfinished: HashMap::new(),
            steps: Vec::new(),
        };
        trace.lines().for_each(|line| reader.line(line).expect("a line"));
        let sync = Call::Sync { file: 5 };
        let expected = [
            Step::Begun(1, Call::Open { path: "/f/a".into(), create: true }),
            Step::Done(1, Ok(5)),
            Step::Begun(2, Call::Write { file: 5, offset: Some(0), data: (*b"ab").into() }),
            Step::Begun(3, sync.clone()),
            Step::Done(3, Ok(0)),
            Step::Done(2, Ok(2)),
            Step::Begun(4, sync),
            Step::Done(4, Err(Refused)),
        ];
        assert_eq!(reader.steps, expected);
    }
}
