//! The system calls that replace files. Tests run other writers before each of them, and simulate a
//! kill there.

use std::{
    fs::{self, File, Metadata, OpenOptions},
    io,
    path::Path,
};

/// Opens a file for reading.
pub(super) fn open(path: &Path) -> io::Result<File> {
    step()?;
    File::open(path)
}

/// Opens or creates a file.
pub(super) fn open_with(options: &OpenOptions, path: &Path) -> io::Result<File> {
    step()?;
    options.open(path)
}

/// The metadata of a path. Links are not followed.
pub(super) fn metadata(path: &Path) -> io::Result<Metadata> {
    step()?;
    fs::symlink_metadata(path)
}

pub(super) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    step()?;
    fs::rename(from, to)
}

pub(super) fn link(from: &Path, to: &Path) -> io::Result<()> {
    step()?;
    allowed(SwapMethod::Link)?;
    fs::hard_link(from, to)
}

pub(super) fn remove(path: &Path) -> io::Result<()> {
    step()?;
    fs::remove_file(path)
}

/// Swaps two files atomically. `ErrorKind::Unsupported` if the system or the file system cannot.
pub(super) fn exchange(one: &Path, two: &Path) -> io::Result<()> {
    step()?;
    allowed(SwapMethod::Exchange)?;
    #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
    {
        use rustix::{
            fs::{CWD, RenameFlags, renameat_with},
            io::Errno,
        };
        renameat_with(CWD, one, CWD, two, RenameFlags::EXCHANGE).map_err(|error| match error {
            Errno::NOSYS | Errno::INVAL | Errno::NOTSUP => io::ErrorKind::Unsupported.into(),
            error => error.into(),
        })
    }
    #[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
    {
        let _ = (one, two);
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// Renames a file. Fails if the new name exists.
pub(super) fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    step()?;
    #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
    {
        use rustix::{
            fs::{CWD, RenameFlags, renameat_with},
            io::Errno,
        };
        match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            Err(Errno::NOSYS | Errno::INVAL | Errno::NOTSUP) => {}
            done => return Ok(done?),
        }
    }
    match fs::symlink_metadata(to) {
        Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
        Err(_) => fs::rename(from, to),
    }
}

/// How two files are swapped.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Debug)]
pub(super) enum SwapMethod {
    Exchange,
    Link,
    #[cfg(test)]
    Copy,
}

#[cfg(not(test))]
fn step() -> io::Result<()> {
    Ok(())
}

#[cfg(not(test))]
fn allowed(_: SwapMethod) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
use faults::{allowed, step};

#[cfg(test)]
pub(super) mod faults {
    //! Actions that tests run between the system calls.

    use std::cell::RefCell;

    use super::{Metadata, SwapMethod, io};

    /// Acts as another process before a step. An error simulates a kill.
    type FaultAction = Box<dyn FnMut(usize) -> io::Result<()>>;
    /// The process that has a file open for writing.
    type FindWriter = Box<dyn Fn(&Metadata) -> Option<u32>>;

    /// What happens before each system call of this thread.
    pub(in crate::disk) struct FaultPlan {
        pub(in crate::disk) act: FaultAction,
        pub(in crate::disk) writer: FindWriter,
        /// The best swap method that is available.
        pub(in crate::disk) method: SwapMethod,
        pub(in crate::disk) steps: usize,
        pub(in crate::disk) killed: bool,
    }

    thread_local! {
        static FAULTS: RefCell<Option<FaultPlan>> = const { RefCell::new(None) };
    }

    /// Runs a function with faults. Also returns the number of steps.
    pub(in crate::disk) fn with<T>(faults: FaultPlan, run: impl FnOnce() -> T) -> (T, usize) {
        FAULTS.set(Some(faults));
        let result = run();
        let steps = FAULTS.take().map_or(0, |faults| faults.steps);
        (result, steps)
    }

    pub(super) fn step() -> io::Result<()> {
        // Removed while it acts, so that its own calls are not counted.
        let Some(mut faults) = FAULTS.take() else { return Ok(()) };
        let result = match faults.killed {
            true => Err(io::Error::other("killed")),
            false => (faults.act)(faults.steps),
        };
        faults.steps += 1;
        faults.killed |= result.is_err();
        FAULTS.set(Some(faults));
        result
    }

    pub(super) fn allowed(method: SwapMethod) -> io::Result<()> {
        FAULTS.with_borrow(|faults| match faults {
            Some(faults) if faults.method > method => Err(io::ErrorKind::Unsupported.into()),
            _ => Ok(()),
        })
    }

    /// The writer of a file, if a test defines it.
    pub(in crate::disk) fn writer(file: &Metadata) -> Option<Option<u32>> {
        FAULTS.with_borrow(|faults| faults.as_ref().map(|faults| (faults.writer)(file)))
    }
}
