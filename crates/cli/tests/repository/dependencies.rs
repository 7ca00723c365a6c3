//! The part of `deny.toml` that needs neither cargo-deny nor a network.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde::Deserialize;

use crate::{licence, read, root};

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    /// `None` for the members of the workspace.
    source: Option<String>,
    license: Option<String>,
    rust_version: Option<String>,
}

#[derive(Deserialize)]
struct Deny {
    licenses: Licenses,
    bans: Bans,
    sources: Sources,
}

#[derive(Deserialize)]
struct Licenses {
    allow: Vec<String>,
}

#[derive(Deserialize)]
struct Bans {
    skip: Vec<Skip>,
}

#[derive(Deserialize)]
struct Skip {
    name: String,
    version: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Sources {
    allow_registry: Vec<String>,
}

#[test]
fn licences_are_allowed_and_all_that_are_allowed_are_needed() {
    let allow = deny().licenses.allow;
    let packages = dependencies();
    for package in &packages {
        let license = package.license.as_deref().unwrap_or_default();
        assert!(
            licence::is_allowed(license, &allow),
            "{} {} has the licence '{license}', which deny.toml does not allow",
            package.name,
            package.version,
        );
    }
    for licence in &allow {
        let without: Vec<String> =
            allow.iter().filter(|other| *other != licence).cloned().collect();
        let allowed_without = |package: &Package| {
            licence::is_allowed(package.license.as_deref().unwrap_or_default(), &without)
        };
        assert!(
            !packages.iter().all(allowed_without),
            "no dependency needs {licence}: remove it from deny.toml"
        );
    }
}

#[test]
fn no_crate_is_there_twice_without_a_reason() {
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let packages = dependencies();
    for package in &packages {
        versions.entry(&package.name).or_default().insert(&package.version);
    }
    let skip = deny().bans.skip;
    for Skip { name, version } in &skip {
        let Some(all) = versions.get_mut(&**name) else { continue };
        all.remove(version.trim_start_matches('='));
    }
    versions.retain(|_, versions| versions.len() > 1);
    assert!(
        versions.is_empty(),
        "update what needs the older version, or give the reason in deny.toml: {versions:?}"
    );
}

#[test]
fn everything_comes_from_an_allowed_registry() {
    let allowed = deny().sources.allow_registry;
    for package in dependencies() {
        let source = package.source.unwrap_or_default();
        let registry = source.strip_prefix("registry+").unwrap_or(&source);
        assert!(allowed.iter().any(|url| url == registry), "{} is from {source}", package.name);
    }
}

/// Without it, the lint `incompatible_msrv` does not know which library functions are too new. scripts/test also tries
/// the oldest compiler itself, which knows the language, too.
#[test]
fn every_crate_names_the_oldest_compiler() {
    for package in metadata().packages.into_iter().filter(|package| package.source.is_none()) {
        assert_eq!(package.rust_version.as_deref(), Some(&*oldest_compiler()), "{}", package.name);
    }
    let named = format!("toolchain, {} or later", oldest_compiler());
    assert!(read("CONTRIBUTING.md").contains(&named), "CONTRIBUTING.md names another compiler");
}

fn oldest_compiler() -> String {
    let manifest: toml::Table = read("Cargo.toml").parse().expect("the manifest is TOML");
    let stated = manifest["workspace"]["package"]["rust-version"].as_str();
    stated.expect("the workspace names the oldest compiler").to_owned()
}

#[test]
fn no_dependency_needs_a_newer_compiler_than_the_workspace_says() {
    let stated = oldest_compiler();
    for package in dependencies() {
        let needed = package.rust_version.unwrap_or_default();
        assert!(
            number(&needed) <= number(&stated),
            "{} {} needs Rust {needed}, but rust-version is {stated}",
            package.name,
            package.version,
        );
    }
}

/// `1.89` and `1.89.0` are equal.
fn number(version: &str) -> [u32; 3] {
    let mut parts = version.split('.').map(|part| part.parse().unwrap_or(0));
    [(); 3].map(|()| parts.next().unwrap_or(0))
}

fn deny() -> Deny {
    toml::from_str(&read("deny.toml")).expect("deny.toml has the parts that are checked here")
}

/// Whatever is compiled for this platform, with all features, and is not of this workspace.
fn dependencies() -> Vec<Package> {
    let mut packages = metadata().packages;
    packages.retain(|package| package.source.is_some());
    assert!(packages.len() > 50, "only {} dependencies", packages.len());
    packages
}

fn metadata() -> Metadata {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(root()).args([
        "metadata",
        "--format-version=1",
        "--all-features",
        "--locked",
    ]);
    cargo.args(["--filter-platform", &host()]);
    let output = cargo.output().expect("cargo runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo metadata failed: {errors}");
    serde_json::from_slice(&output.stdout).expect("the metadata is JSON")
}

fn host() -> String {
    let output = Command::new("rustc").arg("-vV").output().expect("rustc runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.expect("rustc says which platform it is for").to_owned()
}
