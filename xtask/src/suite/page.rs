//! `cargo xtask suite page FOLDER`: the suite as a static page, which any web server can serve.

use std::{fs, path::Path};

use foxwedge_suite::SuiteVector;

use crate::{Outcome, ci, workspace::root};

const TARGET: &str = "wasm32-unknown-unknown";
/// Files that are copied as they are.
const FILES: [&str; 3] = ["index.html", "page.css", "page.js"];

/// Builds the module and writes the page into a folder.
pub(super) fn build(folder: &Path) -> Outcome {
    let failed = |what: &str, error: &dyn std::fmt::Display| format!("{what}: {error}");
    let mut cargo = ci::command();
    cargo.args([
        "build",
        "--package",
        "foxwedge-suite-page",
        "--profile",
        "wasm",
        "--target",
        TARGET,
    ]);
    let status = cargo.status().map_err(|error| failed("cargo", &error))?;
    if !status.success() {
        return Err("the module of the page cannot be built".to_owned());
    }
    fs::create_dir_all(folder).map_err(|error| failed("the folder", &error))?;
    let copy = |from: &Path, name: &str| {
        fs::copy(from, folder.join(name)).map(drop).map_err(|error| failed(name, &error))
    };
    for name in FILES {
        copy(&root().join("suite/page").join(name), name)?;
    }
    let module = root().join("target").join(TARGET).join("wasm/foxwedge_suite_page.wasm");
    copy(&module, "suite.wasm")?;
    let mut lines = String::new();
    for vector in super::generate()?.vectors {
        let bare = SuiteVector { evidence: Vec::new(), ..vector };
        lines.push_str(&serde_json::to_string(&bare).map_err(|error| failed("a vector", &error))?);
        lines.push('\n');
    }
    fs::write(folder.join("vectors.jsonl"), lines)
        .map_err(|error| failed("vectors.jsonl", &error))?;
    println!("the page is in {}", folder.display());
    Ok(())
}
