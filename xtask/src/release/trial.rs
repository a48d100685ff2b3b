//! Tries what was packed: the archive by the install script, the npm packages in an empty folder,
//! and the static binary in a root folder that holds nothing else.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{self, Command},
    time::{Duration, Instant},
};

use super::{ReleaseTarget, copy, npm, run_program, version};
use crate::{Outcome, workspace};

/// How often a cold start is measured.
const STARTS: usize = 20;

pub(super) fn run(triples: &[&str], files: &Path) -> Outcome {
    let folder = env::temp_dir().join(format!("foxwedge-release-{}", process::id()));
    let tried = try_all(triples, files, &folder);
    // What is left in the folder for temporary files does not matter.
    let _ = fs::remove_dir_all(&folder);
    tried
}

fn try_all(triples: &[&str], files: &Path, folder: &Path) -> Outcome {
    let launcher = npm::pack_launcher(files)?;
    for triple in triples {
        let target = ReleaseTarget::find(triple)?;
        println!("{triple}");
        let place = folder.join(triple);
        let installed = install(target, files, &place)?;
        println!("  install script      ok: {}", installed.display());
        refuse_damaged(target, files, &place)?;
        println!("  damaged archive     refused");
        let started = try_npm(target, &launcher, files, &place)?;
        println!("  npm, empty folder   ok: npx foxwedge --version");
        println!("  cold start          {}", cold_start(&mut || Command::new(&installed))?);
        println!(
            "  through the launcher {}",
            cold_start(&mut || {
                let mut command = Command::new("node");
                command.arg(&started);
                command
            })?
        );
        if target.libc == Some("musl") {
            try_alone(&installed, &place)?;
            println!("  alone in a root folder ok: demo, rules");
        }
    }
    Ok(())
}

/// Installs with the script, from the folder of the release.
fn install(target: &ReleaseTarget, files: &Path, place: &Path) -> Result<PathBuf, String> {
    let folder = place.join("bin");
    run_program(&mut install_command(target, files, &folder))?;
    let binary = folder.join(target.program());
    expect_version(&run_program(Command::new(&binary).arg("--version"))?)?;
    Ok(binary)
}

fn install_command(target: &ReleaseTarget, files: &Path, folder: &Path) -> Command {
    let mut command = Command::new("sh");
    command.arg(workspace::root().join("packaging/install.sh"));
    command.env("FOXWEDGE_VERSION", version()).env("FOXWEDGE_TARGET", target.triple);
    command.env("FOXWEDGE_RELEASES", format!("file://{}", files.display()));
    command.env("FOXWEDGE_INSTALL_DIR", folder);
    command
}

/// The script must refuse an archive whose checksum differs, and leave nothing behind.
fn refuse_damaged(target: &ReleaseTarget, files: &Path, place: &Path) -> Outcome {
    let (damaged, folder) = (place.join("damaged"), place.join("empty"));
    let name = format!("{}.{}", target.archive(version()), target.ending());
    for file in [name.clone(), format!("{name}.sha256")] {
        copy(&files.join(&file), &damaged.join(&file))?;
    }
    let archive = damaged.join(&name);
    let mut content = fs::read(&archive).map_err(|error| error.to_string())?;
    content.push(0);
    fs::write(&archive, content).map_err(|error| error.to_string())?;
    let refused = run_program(&mut install_command(target, &damaged, &folder));
    match refused {
        Err(said) if said.contains("checksum") && !folder.join(target.program()).exists() => Ok(()),
        Err(said) => Err(format!("the install script refused a damaged archive otherwise: {said}")),
        Ok(_) => Err("the install script took a damaged archive".to_owned()),
    }
}

/// Installs the launcher and the package of the platform into an empty folder. The launcher's path.
fn try_npm(
    target: &ReleaseTarget,
    launcher: &Path,
    files: &Path,
    place: &Path,
) -> Result<PathBuf, String> {
    let folder = place.join("npm");
    fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    fs::write(folder.join("package.json"), "{\"private\":true}\n")
        .map_err(|error| error.to_string())?;
    let platform = files.join(npm::platform_archive(target));
    let mut command = Command::new("npm");
    // The packages of other platforms are not there, and need not be. `--force` takes a package for
    // another C library.
    command.args(["install", "--offline", "--silent", "--no-audit", "--no-fund", "--force"]);
    run_program(command.arg(launcher).arg(platform).current_dir(&folder))?;
    let mut command = Command::new("npx");
    command.args(["--no-install", "foxwedge", "--version"]);
    expect_version(&run_program(command.current_dir(&folder))?)?;
    Ok(folder.join("node_modules/@foxwedge/cli/bin/foxwedge.js"))
}

/// Runs the binary in a root folder with nothing but an empty folder for temporary files.
fn try_alone(binary: &Path, place: &Path) -> Outcome {
    let root = place.join("root");
    copy(binary, &root.join("foxwedge"))?;
    fs::create_dir_all(root.join("data")).map_err(|error| error.to_string())?;
    for arguments in [["demo"].as_slice(), &["rules"]] {
        let mut command = Command::new("unshare");
        command.args(["--map-root-user", "--root"]).arg(&root);
        command.args(["/foxwedge"]).args(arguments);
        command.env_clear().env("HOME", "/data").env("TMPDIR", "/data");
        command.env("FOXWEDGE_STATE_DIR", "/data/state");
        run_program(&mut command)?;
    }
    Ok(())
}

fn expect_version(printed: &str) -> Outcome {
    let expected = format!("foxwedge {}", version());
    match printed.trim() == expected {
        true => Ok(()),
        false => Err(format!("`foxwedge --version` prints {printed:?}, not {expected:?}")),
    }
}

/// How long `--version` takes; measured, not judged.
fn cold_start(program: &mut dyn FnMut() -> Command) -> Result<String, String> {
    let mut times: Vec<Duration> = Vec::new();
    for _ in 0..STARTS {
        let started = Instant::now();
        run_program(program().arg("--version"))?;
        times.push(started.elapsed());
    }
    times.sort();
    let (median, worst) = (times[STARTS / 2], times[STARTS - 1]);
    Ok(format!("{median:.1?} (median of {STARTS}), {worst:.1?} at worst"))
}
