//! The README says what is: its example is the one that is compiled, its table of dependencies is whole.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::{collections::BTreeSet, fs, path::Path};

fn read(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name);
    let text = fs::read_to_string(&path);
    text.unwrap_or_else(|error| panic!("{}: {error}", path.display())).replace("\r\n", "\n")
}

/// What stands in `text` between `begin` and the first `end` after it.
fn between<'a>(text: &'a str, begin: &str, end: &str) -> &'a str {
    let (_, rest) = text.split_once(begin).unwrap_or_else(|| panic!("no {begin:?}"));
    rest.split_once(end).unwrap_or_else(|| panic!("no {end:?} after {begin:?}")).0
}

#[test]
fn the_embedding_example_is_the_quickstart() {
    let (readme, example) = (read("README.md"), read("examples/quickstart.rs"));
    let shown = between(&readme, "```rust\n", "```\n");
    let compiled = between(&example, "// README: begin\n", "// README: end\n");
    assert_eq!(shown, compiled, "copy what is between the markers into the README");
}

#[test]
fn the_table_of_dependencies_lists_every_direct_one_and_no_other() {
    let readme = read("README.md");
    let section = between(&readme, "\n## Dependencies\n", "\n## ");
    let names = section.lines().filter_map(|line| line.strip_prefix("| `")?.split(" |").next());
    let listed: BTreeSet<String> =
        names.flat_map(|cell| cell.split(", ")).map(|name| name.replace('`', "")).collect();

    let manifest: toml::Table = read("Cargo.toml").parse().unwrap();
    let dependencies = manifest["workspace"]["dependencies"].as_table().unwrap();
    let wanted: BTreeSet<String> =
        dependencies.keys().filter(|name| !name.starts_with("tvix-")).cloned().collect();
    assert_eq!(listed, wanted);
}

#[test]
fn the_files_it_names_are_there() {
    let readme = read("README.md");
    for name in [
        "LICENSE-MIT",
        "LICENSE-APACHE",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "examples/agent.rs",
        "examples/custom_backend.rs",
        "benches/RETRIEVAL.md",
    ] {
        assert!(readme.contains(&format!("`{name}`")), "{name} is not in the README");
        assert!(!read(name).is_empty());
    }
}
