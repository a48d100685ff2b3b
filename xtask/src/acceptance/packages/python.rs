//! The Python package: built, installed into empty environments, tested, tried inside its hosts, and run
//! by `uvx`.

mod uvx;

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use super::first_example;
use crate::{
    acceptance::{
        SuiteError,
        install::{Language, MissingSoftware, PackageFolder},
        process::run_to_end,
    },
    ci, workspace,
};

/// Where packages and environments are kept between runs.
const HOME: &str = "packages-python";

/// The versions that the package is for: Python 3.10 and newer.
const OLDEST: u32 = 10;

/// The modules of tests of the package itself.
const TESTS: [&str; 4] = ["test_package", "test_hostile", "test_cases", "test_follow"];

/// The agent frameworks, by the folders of their pins, and the modules of their tests. LiteLLM needs
/// older SDKs than the others, with another HTTP client.
const HOSTS: [(&str, &[&str]); 2] = [
    ("hosts", &["test_httpx", "test_langchain", "test_openai_agents", "test_pydantic_ai"]),
    ("litellm", &["test_httpx", "test_litellm"]),
];

/// `tables`: the cases of documents, and those of agents that are followed.
pub(super) fn run(tables: &[&Path; 2]) -> Result<(), SuiteError> {
    let wheel = build_wheel()?;
    let interpreters = interpreters();
    if interpreters.is_empty() {
        return Err(MissingSoftware(format!("no Python 3.{OLDEST} or newer was found")).into());
    }
    for (version, program) in &interpreters {
        let python = environment(version, program)?;
        install_wheel(&python, &wheel)?;
        let mut tests = tests(&python, "tests", &TESTS);
        tests.env("FOXWEDGE_CASES", tables[0]).env("FOXWEDGE_FOLLOWED", tables[1]);
        run_to_end(&format!("Python {version}"), &mut tests)?;
        try_example(&python)?;
    }
    for (pins, modules) in HOSTS {
        let packages = PackageFolder::install(Language::Python, &pins_of(pins), HOME)?;
        install_wheel(&packages.python(), &wheel)?;
        let mut tests = tests(&packages.python(), "tests/hosts", modules);
        // LiteLLM would download its table of prices.
        tests.env("LITELLM_LOCAL_MODEL_COST_MAP", "True");
        run_to_end(&format!("integrations of {pins}"), &mut tests)?;
    }
    // The stand-in is a script for a shell.
    if cfg!(unix) {
        uvx::run(&wheel)?;
    }
    let versions: Vec<&str> = interpreters.keys().map(String::as_str).collect();
    let size = fs::metadata(&wheel).map_or(0, |file| file.len());
    println!(
        "Python package: built ({:.1} MB), tested on {}, its example run, tried inside its hosts, and run by uvx",
        size as f64 / 1e6,
        versions.join(", ")
    );
    Ok(())
}

fn package() -> PathBuf {
    workspace::root().join("bindings/python")
}

fn pins_of(name: &str) -> String {
    format!("bindings/python/pins/{name}")
}

/// The wheel without the command line.
fn build_wheel() -> Result<PathBuf, SuiteError> {
    let tools = PackageFolder::install(Language::Python, &pins_of("maturin"), HOME)?;
    let folder = workspace::root().join("target").join(HOME).join("wheels");
    let _ = fs::remove_dir_all(&folder);
    let mut command = Command::new(tools.python());
    command.arg(package().join("build.py")).arg("--out").arg(&folder);
    ci::hide_outer_cargo(&mut command);
    run_to_end("the wheel cannot be built", &mut command)?;
    let wheels = workspace::sorted_entries(&folder)?;
    let wheel = wheels.into_iter().find(|path| path.extension().is_some_and(|end| end == "whl"));
    Ok(wheel.ok_or_else(|| format!("{}: there is no wheel", folder.display()))?)
}

/// The Pythons of this machine, by version: on the path, and installed by pyenv.
fn interpreters() -> BTreeMap<String, PathBuf> {
    let mut candidates: Vec<PathBuf> = vec!["python3".into(), "python".into()];
    candidates.extend((OLDEST..OLDEST + 10).map(|minor| format!("python3.{minor}").into()));
    let home = env::var_os("PYENV_ROOT").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".pyenv")));
    let versions = home.map(|home| workspace::sorted_entries(&home.join("versions")));
    let versions = versions.into_iter().flatten().flatten();
    candidates.extend(versions.map(|version| version.join("bin/python3")));
    let script = "import sys; print('%d.%d' % sys.version_info[:2])";
    let mut found = BTreeMap::new();
    for program in candidates {
        let output = Command::new(&program).args(["-c", script]).output();
        let Some(output) = output.ok().filter(|output| output.status.success()) else { continue };
        let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        let minor = version.strip_prefix("3.").and_then(|minor| minor.parse::<u32>().ok());
        if minor.is_some_and(|minor| minor >= OLDEST) {
            found.entry(version).or_insert(program);
        }
    }
    found
}

/// The Python of an environment that has nothing but pip.
fn environment(version: &str, program: &Path) -> Result<PathBuf, MissingSoftware> {
    let folder = workspace::root().join("target").join(HOME).join(format!("empty-{version}"));
    let python = folder.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    // The mark is made last: a folder without it was left in the middle.
    let mark = folder.join("installed");
    if !mark.exists() {
        let mut command = Command::new(program);
        command.args(["-m", "venv", "--clear"]).arg(&folder);
        let what = format!("Python {version} cannot make an environment");
        run_to_end(&what, &mut command).map_err(MissingSoftware)?;
        let marked = fs::write(&mark, "");
        marked.map_err(|error| MissingSoftware(format!("{}: {error}", mark.display())))?;
    }
    Ok(python)
}

fn install_wheel(python: &Path, wheel: &Path) -> Result<(), SuiteError> {
    let mut pip = Command::new(python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index"]);
    pip.args(["--no-deps", "--force-reinstall"]).arg(wheel);
    run_to_end("the wheel cannot be installed", &mut pip)?;
    Ok(())
}

/// Runs modules of tests in a folder of the package.
fn tests(python: &Path, folder: &str, modules: &[&str]) -> Command {
    let mut command = Command::new(python);
    // Without compiled files beside the sources.
    command.args(["-B", "-m", "unittest"]).args(modules);
    command.env("PYTHONPATH", package().join(folder)).current_dir(env::temp_dir());
    command
}

/// Runs the first example of the README; it ends with a comment that says what it prints.
fn try_example(python: &Path) -> Result<(), SuiteError> {
    let path = package().join("README.md");
    let readme = fs::read_to_string(&path);
    let readme = readme.map_err(|error| format!("{}: {error}", path.display()))?;
    let (example, expected) = first_example(&readme, "python", "#")?;
    let mut command = Command::new(python);
    command.args(["-B", "-c", example]).current_dir(env::temp_dir());
    let printed = run_to_end("the first example of the README", &mut command)?;
    match printed == expected {
        true => Ok(()),
        false => Err(format!("the example prints {printed:?}, not {expected:?}").into()),
    }
}
