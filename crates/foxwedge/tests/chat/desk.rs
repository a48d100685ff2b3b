//! A desk with a terminal on it: a shell, and what is started in it.

use std::{
    fs::{self, File, OpenOptions},
    io::{Read, Write},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

use rustix::{
    process::Pid,
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{Winsize, tcsetwinsize},
};

use crate::temporary::Temporary;

/// How long anything may take. Nothing is measured by it.
const PATIENCE: Duration = Duration::from_secs(30);
/// What the shell says when it waits.
const PROMPT: &str = "shell-waits>";

pub(crate) struct Desk {
    keyboard: File,
    shell: Child,
    terminal: Arc<Mutex<vt100::Parser>>,
    /// How often the program was started.
    started: u32,
    pub(crate) folder: Temporary,
}

impl Desk {
    /// A shell at a terminal of 80 columns and 24 rows.
    pub(crate) fn new() -> Desk {
        let folder = Temporary::folder();
        fs::create_dir_all(folder.path("work")).unwrap();
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let slave = || {
            let end = OpenOptions::new().read(true).write(true).open(&name).unwrap();
            Stdio::from(end)
        };
        let keyboard = File::from(master);
        resize(&keyboard, 80, 24);
        // The shell needs the terminal as its own, or nobody hears Ctrl-Z and a hang-up.
        let mut command = Command::new("setsid");
        command.args(["--ctty", "sh", "-i"]).env_clear();
        for kept in ["PATH", "TMPDIR"] {
            if let Some(value) = std::env::var_os(kept) {
                command.env(kept, value);
            }
        }
        command
            .env("HOME", folder.as_ref())
            .env("TERM", "xterm-256color")
            .env("LANG", "C.UTF-8")
            .env("ESCDELAY", "1000")
            .env("PS1", format!("{PROMPT} "))
            .env("FOXWEDGE_STORE", folder.path("store.db"))
            .current_dir(folder.path("work"))
            .stdin(slave())
            .stdout(slave())
            .stderr(slave());
        let shell = command.spawn().expect("`setsid` of util-linux starts a shell at a terminal");
        let terminal = Arc::new(Mutex::new(vt100::Parser::new(24, 80, 10_000)));
        let (seen, mut screen) = (Arc::clone(&terminal), keyboard.try_clone().unwrap());
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(length @ 1..) = screen.read(&mut bytes) {
                seen.lock().unwrap().process(&bytes[..length]);
            }
        });
        let desk = Desk { keyboard, shell, terminal, started: 0, folder };
        desk.see(PROMPT);
        desk
    }

    /// Starts the program in the shell, on an empty screen.
    pub(crate) fn chat(&mut self, arguments: &str) {
        self.started += 1;
        let (program, start) = (env!("CARGO_BIN_EXE_foxwedge"), format!("start-{}", self.started));
        self.shell(&format!(
            "clear; echo {start}; '{program}' chat --api scripted {arguments}; echo \"code=$?\""
        ));
        self.wait(&start, |screen| screen.lines().next() == Some(&start));
    }

    /// Types a line for the shell, with an end that is one in every mode of a terminal.
    pub(crate) fn shell(&mut self, line: &str) {
        self.press(&format!("{line}\n"));
    }

    /// Keys, as the bytes that a terminal sends.
    pub(crate) fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
        self.keyboard.flush().unwrap();
    }

    /// Keys whose bytes arrive one by one.
    pub(crate) fn press_slowly(&mut self, keys: &str) {
        for byte in keys.as_bytes() {
            self.keyboard.write_all(&[*byte]).unwrap();
            // Long enough for a read of its own; `ESCDELAY` says that it still belongs together.
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// The rows of the screen, without the empty ones at its end.
    pub(crate) fn screen(&self) -> String {
        let terminal = self.terminal.lock().unwrap();
        let (_, width) = terminal.screen().size();
        let rows: Vec<String> =
            terminal.screen().rows(0, width).map(|row| row.trim_end().to_owned()).collect();
        rows.join("\n").trim_end().to_owned()
    }

    /// Waits until nothing is at work, and the editor is empty: a row with nothing but its mark.
    pub(crate) fn ready(&self) {
        self.wait("an empty editor", |screen| {
            let works = screen.contains("Esc stops it") || screen.contains("stopping");
            !works && screen.lines().any(|row| row == ">")
        });
    }

    /// Waits until something is on the screen.
    pub(crate) fn see(&self, text: &str) -> String {
        self.wait(&format!("`{text}`"), |screen| screen.contains(text))
    }

    /// Waits until something is not on the screen any more.
    pub(crate) fn miss(&self, text: &str) -> String {
        self.wait(&format!("no `{text}`"), |screen| !screen.contains(text))
    }

    /// Waits until the screen is as it should be.
    pub(crate) fn wait(&self, what: &str, is: impl Fn(&str) -> bool) -> String {
        self.wait_for(what, || Some(self.screen()).filter(|screen| is(screen)))
    }

    fn wait_for<T>(&self, what: &str, look: impl Fn() -> Option<T>) -> T {
        let begun = Instant::now();
        loop {
            if let Some(found) = look() {
                return found;
            }
            let screen = self.screen();
            assert!(begun.elapsed() < PATIENCE, "waited for {what}, and saw:\n{screen}");
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits until the program has ended, and gives the code it ended with.
    pub(crate) fn code(&self) -> i32 {
        let digits = |screen: &str| -> String {
            let code = screen.rsplit_once("code=").map(|(_, code)| code).unwrap_or_default();
            code.chars().take_while(char::is_ascii_digit).collect()
        };
        let screen = self.wait("a code", |screen| !digits(screen).is_empty());
        digits(&screen).parse().unwrap()
    }

    /// The settings of the terminal, as the shell sees them.
    pub(crate) fn settings(&mut self) -> String {
        let file = self.folder.path("settings");
        let _ = fs::remove_file(&file);
        self.shell(&format!("stty -g > '{}'", file.display()));
        self.wait_for("settings", || fs::read_to_string(&file).ok().filter(|it| it.ends_with('\n')))
    }

    /// The terminal has another size.
    pub(crate) fn resize(&mut self, width: u16, height: u16) {
        self.terminal.lock().unwrap().screen_mut().set_size(height, width);
        resize(&self.keyboard, width, height);
    }

    /// The id of the program.
    pub(crate) fn pid(&self) -> Pid {
        let shell = Pid::from_child(&self.shell);
        *self.children(shell).first().expect("the program runs")
    }

    /// What a process started and has not ended.
    pub(crate) fn children(&self, parent: Pid) -> Vec<Pid> {
        let parent = parent.as_raw_nonzero().to_string();
        let child = |entry: fs::DirEntry| {
            let id: i32 = entry.file_name().to_str()?.parse().ok()?;
            let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
            // `id (name) state parent …`
            let (_, behind) = stat.rsplit_once(')')?;
            (behind.split_whitespace().nth(1)? == parent).then(|| Pid::from_raw(id))?
        };
        fs::read_dir("/proc").unwrap().flatten().filter_map(child).collect()
    }

    /// Whether text of ours hides the cursor.
    pub(crate) fn hides_cursor(&self) -> bool {
        self.terminal.lock().unwrap().screen().hide_cursor()
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        // The shell and what it started lose their terminal.
        let _ = self.shell.kill();
        let _ = self.shell.wait();
    }
}

fn resize(terminal: &File, width: u16, height: u16) {
    let size = Winsize { ws_row: height, ws_col: width, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(terminal, size).unwrap();
}
