//! What is shipped agrees with itself: one version everywhere, and one list of targets.

use serde_json::Value;

use super::{Complaint, complaint};
use crate::{
    release::{ReleaseTarget, TARGETS, version},
    workspace::File,
};

/// Manifests whose version is that of the workspace.
const MANIFESTS: [&str; 4] = [
    "packaging/claude-code/.claude-plugin/plugin.json",
    "packaging/npm/cli/package.json",
    "bindings/npm/package.json",
    "clients/typescript/package.json",
];

/// Manifests of packages with the launcher.
const LAUNCHERS: [&str; 2] = ["packaging/npm/cli/package.json", "bindings/npm/package.json"];
const FORMULA: &str = "packaging/homebrew/foxwedge.rb";
const SCRIPT: &str = "packaging/install.sh";
const WORKFLOW: &str = ".github/workflows/release.yml";
const PAGE: &str = "docs/install.md";
const CHART: &str = "packaging/helm/foxwedge/Chart.yaml";

pub(super) fn check(files: &[File]) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for name in MANIFESTS {
        with_file(files, name, &mut complaints, manifest_version);
    }
    with_file(files, "Cargo.toml", &mut complaints, dependency_versions);
    with_file(files, CHART, &mut complaints, chart_versions);
    for name in LAUNCHERS {
        with_file(files, name, &mut complaints, launcher);
    }
    with_file(files, FORMULA, &mut complaints, |text| every_target(text, in_formula));
    with_file(files, SCRIPT, &mut complaints, |text| every_target(text, in_script));
    with_file(files, WORKFLOW, &mut complaints, |text| every_target(text, in_workflow));
    with_file(files, PAGE, &mut complaints, |text| every_target(text, on_page));
    complaints
}

fn with_file(
    files: &[File],
    name: &str,
    complaints: &mut Vec<Complaint>,
    check: impl Fn(&str) -> Vec<String>,
) {
    match files.iter().find(|file| file.path == name) {
        Some(file) => {
            complaints.extend(check(&file.text).into_iter().map(|it| complaint(name, it)))
        }
        None => complaints.push(complaint(name, "is missing")),
    }
}

fn manifest_version(text: &str) -> Vec<String> {
    let Ok(manifest) = serde_json::from_str::<Value>(text) else {
        return vec!["is not JSON".to_owned()];
    };
    wrong_version(manifest["version"].as_str().unwrap_or_default(), "the package")
}

/// The versions of the chart, and of the program in it.
fn chart_versions(text: &str) -> Vec<String> {
    let value =
        |key: &str| text.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_default();
    ["version: ", "appVersion: "]
        .iter()
        .flat_map(|key| wrong_version(value(key).trim_matches('"'), key.trim_end_matches(": ")))
        .collect()
}

fn wrong_version(found: &str, what: &str) -> Vec<String> {
    match found == version() {
        true => Vec::new(),
        false => {
            vec![format!("{what} has the version `{found}`; the workspace has `{}`", version())]
        }
    }
}

/// The versions that crates of ours name for each other.
fn dependency_versions(text: &str) -> Vec<String> {
    let ours = text.lines().filter(|line| line.starts_with("foxwedge") && line.contains("path = "));
    let versions = ours.filter_map(|line| {
        let (name, rest) = line.split_once(' ')?;
        let (_, rest) = rest.split_once("version = \"")?;
        Some((name, rest.split('"').next()?))
    });
    versions.flat_map(|(name, found)| wrong_version(found, &format!("`{name}`"))).collect()
}

/// The launcher's optional packages are those of the targets, in this version.
fn launcher(text: &str) -> Vec<String> {
    let manifest: Value = serde_json::from_str(text).unwrap_or_default();
    let packages = manifest["optionalDependencies"].as_object().cloned().unwrap_or_default();
    let mut wrong = Vec::new();
    for target in &TARGETS {
        match packages.get(&target.package()).and_then(Value::as_str) {
            Some(found) => wrong.extend(wrong_version(found, &target.package())),
            None => wrong.push(format!("`{}` is missing", target.package())),
        }
    }
    let is_known = |name: &String| TARGETS.iter().any(|target| target.package() == *name);
    let unknown = packages.keys().filter(|name| !is_known(name));
    wrong.extend(unknown.map(|name| format!("`{name}` is the package of no target")));
    wrong
}

/// Names each target that a file leaves out.
fn every_target(text: &str, is_named: fn(&str, &ReleaseTarget) -> bool) -> Vec<String> {
    let missing = TARGETS.iter().filter(|target| !is_named(text, target));
    missing.map(|target| format!("`{}` is missing", target.triple)).collect()
}

/// Homebrew takes the static binaries, and none for Windows.
fn is_for_shells(target: &ReleaseTarget) -> bool {
    !target.is_windows() && target.libc != Some("glibc")
}

fn in_formula(text: &str, target: &ReleaseTarget) -> bool {
    let archive = format!("@RELEASES@/foxwedge-@VERSION@-{}.{}", target.triple, target.ending());
    let checksum = format!("@SHA256:{}@", target.triple);
    !is_for_shells(target) || text.contains(&archive) && text.contains(&checksum)
}

fn in_script(text: &str, target: &ReleaseTarget) -> bool {
    !is_for_shells(target) || text.contains(&format!("echo {} ;;", target.triple))
}

fn in_workflow(text: &str, target: &ReleaseTarget) -> bool {
    text.contains(&format!("- {{ target: {}, os: ", target.triple))
}

fn on_page(text: &str, target: &ReleaseTarget) -> bool {
    text.contains(&format!("`{}`", target.triple))
        && text.contains(&format!("`{}`", target.package()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace;

    #[test]
    fn another_version_or_a_missing_target_is_found() {
        let other =
            "{\"version\":\"9.9.9\",\"optionalDependencies\":{\"@foxwedge/cli-amiga\":\"1.0.0\"}}";
        assert_eq!(manifest_version(other).len(), 1);
        assert_eq!(manifest_version("{").len(), 1);
        assert_eq!(launcher(other).len(), TARGETS.len() + 1);
        let manifest = "foxwedge-core = { path = \"crates/core\", version = \"9.9.9\" }\n\
                        foxwedge-testkit = { path = \"crates/testkit\" }\nserde = \"1\"\n";
        assert_eq!(dependency_versions(manifest).len(), 1);
        assert_eq!(chart_versions("version: 9.9.9\n").len(), 2);
        assert_eq!(every_target("", in_workflow).len(), TARGETS.len());
        assert_eq!(every_target("", in_formula).len(), 4);
        assert_eq!(check(&[]).len(), MANIFESTS.len() + LAUNCHERS.len() + 6);
    }

    #[test]
    fn the_release_workflow_is_yaml_with_every_target_and_least_rights() {
        let text = std::fs::read_to_string(workspace::root().join(WORKFLOW)).expect("a workflow");
        let documents = yaml_rust2::YamlLoader::load_from_str(&text).expect("YAML");
        let workflow = &documents[0];
        let matrix = workflow["jobs"]["build"]["strategy"]["matrix"]["include"].as_vec();
        let built: Vec<&str> = matrix
            .expect("a matrix")
            .iter()
            .map(|row| row["target"].as_str().expect("a target"))
            .collect();
        assert_eq!(built, TARGETS.map(|target| target.triple));
        assert_eq!(workflow["permissions"]["contents"].as_str(), Some("read"));
        let jobs = workflow["jobs"].as_hash().expect("jobs");
        for (name, job) in jobs {
            for step in job["steps"].as_vec().expect("steps") {
                let known = step["uses"].as_str().is_some() != step["run"].as_str().is_some();
                assert!(known, "{name:?}: a step uses an action or runs a command");
                let action = step["uses"].as_str().unwrap_or("actions/");
                assert!(action.starts_with("actions/"), "{action} is an action of others");
            }
        }
    }
}
