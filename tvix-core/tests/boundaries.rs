//! The architecture, where it can be checked: who may name an engine, how long a file may be.
#![allow(clippy::unwrap_used)]

use std::{
    fs,
    path::{Path, PathBuf},
};

const ENGINES: [&str; 4] = ["redb", "sled", "tantivy", "hnsw_rs"];
/// Those that are not there yet are passed over.
const ADAPTERS: [&str; 3] = ["tvix-mcp-stdio", "tvix-mcp-http", "tvix-py"];
/// Where the HTTP server keeps users and tokens, which are no documents: `auth.redb`.
const LOGINS: (&str, &str, &str) = ("tvix-mcp-http", "redb", "src/auth/store");
/// Lines of a file, without the unit tests at its end.
const LINES_MAX: usize = 400;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The Rust files under `folder` with their texts; none if it is not there.
fn sources(folder: &Path) -> Vec<(PathBuf, String)> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut found = Vec::new();
    for path in entries.map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            found.push((path, text));
        }
    }
    found
}

/// The line without comments and without what stands in quotes, which may name anything.
fn code(line: &str) -> String {
    let code = line.split("//").next().unwrap_or_default();
    code.split('"').step_by(2).collect::<Vec<_>>().join("\"\"")
}

/// Whether `code` has `name` as a step of a path, or imports it.
fn names(code: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(name).any(|(start, _)| {
        let (before, after) = (&code[..start], &code[start + name.len()..]);
        if before.ends_with(is_part) || after.starts_with(is_part) {
            return false;
        }
        let imported = before.trim_end().ends_with("use") || before.trim_end().ends_with("crate");
        before.ends_with("::") || after.starts_with("::") || imported
    })
}

/// The lines of `files` that name an engine.
fn engine_lines(files: &[(PathBuf, String)]) -> Vec<String> {
    let mut found = Vec::new();
    for (path, text) in files {
        for (line, number) in text.lines().zip(1..) {
            let code = code(line);
            if ENGINES.iter().any(|engine| names(&code, engine)) {
                found.push(format!("{}:{number}: {}", path.display(), line.trim()));
            }
        }
    }
    found
}

#[test]
fn no_adapter_names_an_engine() {
    for adapter in ADAPTERS {
        let folder = root().join(adapter);
        let Ok(manifest) = fs::read_to_string(folder.join("Cargo.toml")) else { continue };
        let manifest: toml::Table = manifest.parse().unwrap();
        let dependencies = manifest["dependencies"].as_table().unwrap();
        for engine in ENGINES {
            let is_named = dependencies.contains_key(engine);
            assert!(!is_named || (adapter, engine) == (LOGINS.0, LOGINS.1), "{adapter}: {engine}");
        }
        let logins = root().join(LOGINS.0).join(LOGINS.2);
        let mut files = sources(&folder.join("src"));
        files.retain(|(path, _)| !root().join(path).starts_with(&logins));
        assert!(!files.is_empty(), "{adapter} has no sources");
        assert_eq!(engine_lines(&files), Vec::<String>::new());
    }
}

#[test]
fn search_and_tools_are_free_of_engines() {
    for folder in ["search", "tools"] {
        let files = sources(&root().join("tvix-core/src").join(folder));
        assert!(!files.is_empty(), "{folder} has no sources");
        assert_eq!(engine_lines(&files), Vec::<String>::new());
    }
}

#[test]
fn engines_are_found_in_code_and_not_in_texts() {
    for line in [
        "use tantivy;",
        "use tantivy::Index;",
        "let store = storage::redb::RedbStore;",
        "fn open(_: sled::Db) {}",
        "extern crate hnsw_rs;",
    ] {
        assert!(ENGINES.iter().any(|engine| names(&code(line), engine)), "{line}");
    }
    for line in ["(\"we use redb\", 1),", "// tantivy::Index", "let sledge = sled_run();"] {
        assert!(!ENGINES.iter().any(|engine| names(&code(line), engine)), "{line}");
    }
}

#[test]
fn no_file_is_longer_than_a_reader_can_hold() {
    let mut long = Vec::new();
    for folder in ["tvix-core"].into_iter().chain(ADAPTERS) {
        for (path, text) in sources(&root().join(folder).join("src")) {
            let lines = text.lines().take_while(|line| *line != "#[cfg(test)]").count();
            if lines > LINES_MAX {
                long.push(format!("{}: {lines} lines", path.display()));
            }
        }
    }
    assert_eq!(long, Vec::<String>::new(), "split these; the limit is {LINES_MAX}");
}
