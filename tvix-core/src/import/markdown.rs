//! A folder of Markdown files, each a wiki document.
//!
//! The title is that of the front matter, else the first heading, else the file's name. `project` in
//! the front matter names the Project; what else stands there is kept as metadata. A file keeps its
//! identifier as long as it keeps its path, so that importing it again after an edit replaces its
//! document.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::Item;
use crate::{
    Error, Result,
    admin::Record,
    storage::Kind,
    types::{Id, Metadata, Source, Timestamp, Title},
};

/// The source of what comes from files.
const SOURCE: &str = "Markdown";
/// The largest file that is read, in bytes: more than the longest document has.
const FILE_MAX: u64 = 1 << 20;

/// The documents in the folder `root` and the folders below it, in the order of their paths. Hidden
/// files and folders and symbolic links are passed over.
///
/// # Errors
/// [`Error::Backend`] when `root` cannot be read, [`Error::InvalidInput`] when it is no folder.
pub fn read(root: &Path) -> Result<impl Iterator<Item = Item> + use<>> {
    let failed = |error| Error::backend(format!("reading {}", root.display()), error);
    let root = fs::canonicalize(root).map_err(failed)?;
    if !root.is_dir() {
        let reason = format!("{} is no folder", root.display());
        return Err(Error::invalid("path", reason));
    }
    let mut files = Vec::new();
    collect(&root, &mut files).map_err(failed)?;
    files.sort_unstable();
    Ok(files.into_iter().map(move |file| {
        let at = file.strip_prefix(&root).unwrap_or(&file).display().to_string();
        let record = read_file(&file, &at);
        Item { at, record }
    }))
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (kind, path) = (entry.file_type()?, entry.path());
        let hidden = entry.file_name().to_string_lossy().starts_with('.');
        let extension = path.extension().map(OsStr::to_ascii_lowercase);
        if kind.is_dir() && !hidden {
            collect(&path, files)?;
        } else if kind.is_file() && !hidden && extension.is_some_and(|it| it == "md") {
            files.push(path);
        }
    }
    Ok(())
}

fn read_file(path: &Path, name: &str) -> Result<Record> {
    let failed = |error| Error::backend("reading the file", error);
    let found = fs::metadata(path).map_err(failed)?;
    if found.len() > FILE_MAX {
        let reason = format!("got {} bytes, send at most {FILE_MAX}", found.len());
        return Err(Error::invalid("content", reason));
    }
    let text = fs::read_to_string(path).map_err(failed)?;
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let edited = found.modified().ok().and_then(|time| jiff::Timestamp::try_from(time).ok());
    let edited = edited.map(Timestamp::from);
    let mut record = document(&stem, &text);
    record.id = Some(id_of(path));
    (record.captured_at, record.updated_at) = (edited, edited);
    let mut fields = record.metadata.into_fields();
    fields.entry("path").or_insert_with(|| name.into());
    record.metadata = Metadata::new(fields)?;
    Ok(record)
}

/// The identifier of the file at `path`: a UUID of version 8, out of a hash.
fn id_of(path: &Path) -> Id {
    let mut bytes = [0; 16];
    let hash = Sha256::digest(path.to_string_lossy().as_bytes());
    bytes.copy_from_slice(&hash[..16]);
    bytes[6] = (bytes[6] & 0x0f) | 0x80;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    Id::from_bytes(bytes)
}

/// The wiki document of the file `name` with the content `text`.
pub fn document(name: &str, text: &str) -> Record {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (mut fields, body) = front_matter(text);
    let mut take = |key: &str| match fields.remove(key) {
        Some(Value::String(value)) if !value.trim().is_empty() => Some(value),
        Some(other) => {
            fields.insert(key.to_owned(), other);
            None
        }
        None => None,
    };
    let project = take("project");
    let title = take("title").or_else(|| first_heading(body));
    let title = title.unwrap_or_else(|| name.to_owned());
    Record {
        title: Some(title.chars().take(Title::MAX).collect()),
        project,
        source: Some(Source::named(SOURCE)),
        // Too much of it is refused when the record is stored.
        metadata: serde_json::from_value(Value::Object(fields)).unwrap_or_default(),
        ..Record::new(Kind::Wiki, body)
    }
}

/// The text of the first ATX heading outside of fenced code.
fn first_heading(body: &str) -> Option<String> {
    let mut fenced = false;
    for line in body.lines().map(str::trim_start) {
        fenced ^= line.starts_with("```") || line.starts_with("~~~");
        let words = line.trim_start_matches('#');
        let level = line.len() - words.len();
        if !fenced && (1..=6).contains(&level) && words.starts_with(' ') {
            let words = words.trim().trim_end_matches('#').trim();
            return (!words.is_empty()).then(|| words.to_owned());
        }
    }
    None
}

/// The fields between two lines `---` at the beginning, and the text after them. Without a second such
/// line there are none, and all is text.
fn front_matter(text: &str) -> (Map<String, Value>, &str) {
    let nothing = (Map::new(), text);
    let Some(rest) = text.strip_prefix("---").map(|rest| rest.trim_start_matches(['\r', ' ']))
    else {
        return nothing;
    };
    let Some(rest) = rest.strip_prefix('\n') else { return nothing };
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        if matches!(line.trim_end(), "---" | "...") {
            let body = rest[at + line.len()..].trim_start_matches(['\r', '\n']);
            return (fields(&rest[..at]), body);
        }
        at += line.len();
    }
    nothing
}

/// Reads `key: value` and lists. YAML has far more; what else stands there is kept as the text it is,
/// which loses nothing.
fn fields(block: &str) -> Map<String, Value> {
    let mut fields = Map::new();
    let mut last: Option<String> = None;
    for line in block.lines().filter(|line| !line.trim().is_empty()) {
        let indented = line.starts_with([' ', '\t']) || line.starts_with("- ");
        match (line.split_once(':'), &last) {
            (_, Some(key)) if indented => continue_value(&mut fields, key, line.trim()),
            (Some((key, value)), _) if !indented && !line.starts_with('#') => {
                let key = unquoted(key.trim()).to_owned();
                fields.insert(key.clone(), value_of(value.trim()));
                last = Some(key);
            }
            _ => {}
        }
    }
    fields
}

/// Adds a line that belongs to the field before it: an item of a list, or more text.
fn continue_value(fields: &mut Map<String, Value>, key: &str, line: &str) {
    let Some(value) = fields.get_mut(key) else { return };
    let item = line.strip_prefix("- ").map(|item| Value::from(unquoted(item.trim())));
    match (value, item) {
        (Value::Array(items), Some(item)) => items.push(item),
        (value @ Value::String(_), Some(item)) if value == "" => *value = Value::Array(vec![item]),
        (Value::String(text), _) => {
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(line);
        }
        _ => {}
    }
}

fn value_of(text: &str) -> Value {
    let list = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    match (text, list) {
        (_, Some(list)) => {
            let items = list.split(',').map(str::trim).filter(|item| !item.is_empty());
            items.map(|item| Value::from(unquoted(item))).collect()
        }
        // Block scalars: the lines after them are the value.
        ("|" | ">" | "|-" | ">-", _) => Value::from(""),
        _ => Value::from(unquoted(text)),
    }
}

fn unquoted(text: &str) -> &str {
    let inside = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote);
    inside('"').or_else(|| inside('\'')).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_title_comes_from_the_front_matter_else_a_heading_else_the_name() {
        for (text, title) in [
            ("---\ntitle: \"Oven\"\n---\n# Other\n", "Oven"),
            ("```\n# code\n```\n\n## Starter ##\nfeed it", "Starter"),
            ("no heading, #hashtag", "notes"),
            ("---\nnever closed", "notes"),
        ] {
            assert_eq!(document("notes", text).title.as_deref(), Some(title), "{text}");
        }
    }

    #[test]
    fn other_fields_are_kept() {
        let text = "---\r\ntitle: T\r\nproject: Bakery\r\ntags: [rye, 'sour']\r\naliases:\r\n  - One\r\n  - Two\r\nsummary: >\r\n  first\r\n  second\r\nurl: https://example.org/a\r\n---\r\n\r\nBody\r\n";
        let record = document("x", text);
        assert_eq!(record.project.as_deref(), Some("Bakery"));
        assert_eq!(record.content, "Body\r\n");
        let fields = Value::Object(record.metadata.into_fields());
        let wanted = serde_json::json!({
            "tags": ["rye", "sour"], "aliases": ["One", "Two"], "summary": "first\nsecond",
            "url": "https://example.org/a",
        });
        assert_eq!(fields, wanted);
    }

    #[test]
    fn files_keep_their_identifier() {
        let place = tempfile::tempdir().expect("folder");
        for (name, text) in
            [("b.md", "b"), ("sub/a.MD", "a"), (".hidden/c.md", "c"), ("d.txt", "d")]
        {
            let path = place.path().join(name);
            fs::create_dir_all(path.parent().expect("a parent")).expect("made");
            fs::write(path, text).expect("written");
        }
        let all = || {
            read(place.path())
                .expect("a folder")
                .map(|item| (item.at, item.record.expect("read").id))
        };
        let first: Vec<_> = all().collect();
        assert_eq!(
            first.iter().map(|(at, _)| at.as_str()).collect::<Vec<_>>(),
            ["b.md", "sub/a.MD"]
        );
        assert_eq!(first, all().collect::<Vec<_>>());
        assert!(read(&place.path().join("b.md")).is_err());
    }
}
