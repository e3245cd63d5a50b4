//! Test sets as they lie on disk: texts, queries and what is relevant.

use std::{collections::HashMap, error::Error, fmt::Write, fs, ops::Range, path::Path};

use jiff::civil::DateTime;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;
use sha2::{Digest, Sha256};
use tvix_core::storage::Kind;

use crate::{Result, metrics::Stretch};

/// Sets of chat turns, stored as memories; all others are wiki documents.
const MEMORIES: [&str; 2] = ["locomo", "longmemeval_mini"];
/// Sets whose labels are sessions: a session stands where its best turn stands.
const BY_SESSION: [&str; 1] = ["longmemeval_mini"];
/// How the dates of chat turns are written.
const DATES: [&str; 2] = ["%I:%M %p on %d %B, %Y", "%Y/%m/%d (%a) %H:%M"];

/// One test set.
pub(crate) struct Set {
    /// The name of its folder.
    pub(crate) name: String,
    /// What its texts are stored as.
    pub(crate) kind: Kind,
    /// What is searched, in order.
    pub(crate) texts: Vec<Text>,
    /// What is asked.
    pub(crate) queries: Vec<Question>,
    /// The digest of its files, one after the other: corpus, queries, labels.
    pub(crate) sha256: String,
}

/// A text that is searched.
#[derive(Deserialize)]
pub(crate) struct Text {
    id: String,
    /// The text itself.
    pub(crate) text: String,
    /// Its title; most sets have none.
    #[serde(default)]
    pub(crate) title: String,
    /// What it belongs to, such as a conversation.
    #[serde(default)]
    pub(crate) scope: String,
    #[serde(default)]
    meta: Meta,
    /// What the labels name: the text, or its session.
    #[serde(skip)]
    pub(crate) unit: String,
}

#[derive(Default, Deserialize)]
struct Meta {
    speaker: Option<String>,
    date: Option<String>,
    session: Option<Value>,
}

/// A query.
#[derive(Deserialize)]
pub(crate) struct Question {
    /// Its name in the set.
    pub(crate) id: String,
    /// What is asked.
    pub(crate) text: String,
    /// Only texts of this scope may be returned; empty: all.
    #[serde(default)]
    pub(crate) scope: String,
    /// What kind of question it is.
    #[serde(default)]
    pub(crate) category: String,
    #[serde(default)]
    spans: Vec<(String, usize, usize)>,
    /// The grade of each relevant unit.
    #[serde(skip)]
    pub(crate) labels: HashMap<String, f64>,
    /// The characters that answer it, in sets that label characters and not texts.
    #[serde(skip)]
    pub(crate) reference: Vec<Stretch>,
}

impl Set {
    /// Reads the set in `folder`.
    pub(crate) fn load(folder: &Path, name: &str) -> Result<Self> {
        let folder = folder.join(name);
        let mut files = Files { folder: &folder, digest: Sha256::new() };
        let (corpus, queries) = (files.read("corpus.jsonl")?, files.read("queries.jsonl")?);
        // Sets that label characters have none.
        let has_labels = folder.join("qrels.tsv").exists();
        let labels = if has_labels { files.read("qrels.tsv")? } else { String::new() };
        let mut set = Self {
            name: name.to_owned(),
            kind: if is_of_memories(name) { Kind::Memory } else { Kind::Wiki },
            texts: lines(&corpus, "corpus.jsonl")?,
            queries: lines(&queries, "queries.jsonl")?,
            sha256: hexadecimal(&files.digest.finalize()),
        };
        set.name_units();
        set.label(&labels)?;
        Ok(set)
    }

    /// Whether it labels characters and not texts.
    pub(crate) fn is_by_passage(&self) -> bool {
        self.queries.iter().any(|query| !query.reference.is_empty())
    }

    fn name_units(&mut self) {
        let by_session = BY_SESSION.contains(&self.name.as_str());
        for text in &mut self.texts {
            let session = text.meta.session.as_ref().filter(|_| by_session);
            text.unit = match session {
                Some(Value::String(session)) => session.clone(),
                Some(session) => format!("{}/{session}", text.scope),
                None => text.id.clone(),
            };
        }
    }

    /// Gives the queries what is relevant to them: `labels` are lines of query, text and grade.
    fn label(&mut self, labels: &str) -> Result<()> {
        let texts: HashMap<&str, usize> =
            self.texts.iter().enumerate().map(|(at, text)| (text.id.as_str(), at)).collect();
        let queries: HashMap<String, usize> =
            self.queries.iter().enumerate().map(|(at, query)| (query.id.clone(), at)).collect();
        for (line, number) in labels.lines().zip(1..) {
            let wrong = || format!("qrels.tsv, line {number}: got {line:?}, which is no label");
            let mut fields = line.split('\t');
            let (Some(query), Some(text), Some(grade)) =
                (fields.next(), fields.next(), fields.next())
            else {
                return Err(wrong().into());
            };
            let grade: f64 = grade.trim().parse().map_err(|_| wrong())?;
            let unit = texts.get(text).map_or(text, |at| self.texts[*at].unit.as_str());
            let query = queries.get(query).ok_or_else(wrong)?;
            let known = self.queries[*query].labels.entry(unit.to_owned()).or_default();
            *known = known.max(grade);
        }
        for query in &mut self.queries {
            for (page, start, end) in &query.spans {
                let page = texts.get(page.as_str());
                let page = page.ok_or_else(|| format!("query {}: no such text", query.id))?;
                query.reference.push((*page, *start..*end));
            }
        }
        Ok(())
    }
}

impl Text {
    /// What stands before the text of a chat turn: who said it.
    pub(crate) fn speaker(&self) -> String {
        self.meta.speaker.as_ref().map_or_else(String::new, |speaker| format!("{speaker}: "))
    }

    /// When it was said, in UTC, as memories want it.
    pub(crate) fn event_time(&self) -> Result<Option<String>> {
        let date = self.meta.date.as_deref().filter(|date| !date.is_empty());
        let read = |date| moment(date).map_err(|error| format!("text {}: {error}", self.id).into());
        date.map(read).transpose()
    }

    /// Its title; one without is called by its id, which no query holds.
    pub(crate) fn heading(&self, max: usize) -> String {
        let title = if self.title.trim().is_empty() { &self.id } else { &self.title };
        title.chars().take(max).collect()
    }
}

/// Whether the texts of the set `name` are stored as memories.
pub(crate) fn is_of_memories(name: &str) -> bool {
    MEMORIES.contains(&name)
}

/// The date and time of a chat turn as ISO 8601.
fn moment(date: &str) -> Result<String> {
    let read = |form| DateTime::strptime(form, date).ok();
    let moment = DATES.into_iter().find_map(read);
    let moment = moment.ok_or_else(|| format!("got {date:?}, which is no date of a chat turn"))?;
    Ok(format!("{moment}Z"))
}

/// Cuts `text` into parts of at most `max` characters, before white space where there is some in the
/// last half of a part. The parts are bytes and cover all of it.
pub(crate) fn parts(text: &str, max: usize) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let mut start = 0;
    while let Some((limit, _)) = text[start..].char_indices().nth(max) {
        let part = &text[start..start + limit];
        let border = part.rfind(char::is_whitespace).filter(|at| *at > limit / 2);
        let end = start + border.unwrap_or(limit);
        parts.push(start..end);
        start = end;
    }
    parts.push(start..text.len());
    parts
}

/// Reads files and digests them on the way.
struct Files<'a> {
    folder: &'a Path,
    digest: Sha256,
}

impl Files<'_> {
    fn read(&mut self, name: &str) -> Result<String> {
        let path = self.folder.join(name);
        let text = fs::read_to_string(&path);
        let text = text.map_err(|error| format!("{}: {error}", path.display()))?;
        self.digest.update(text.as_bytes());
        Ok(text)
    }
}

fn lines<T: DeserializeOwned>(text: &str, file: &str) -> Result<Vec<T>> {
    let read = |(line, number): (&str, usize)| {
        serde_json::from_str(line)
            .map_err(|error| -> Box<dyn Error> { format!("{file}, line {number}: {error}").into() })
    };
    text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty()).map(read).collect()
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing into a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_chat_turns_are_read() {
        for (date, wanted) in [
            ("1:56 pm on 8 May, 2023", "2023-05-08T13:56:00Z"),
            ("12:09 am on 13 September, 2023", "2023-09-13T00:09:00Z"),
            ("2023/07/12 (Wed) 10:14", "2023-07-12T10:14:00Z"),
        ] {
            assert_eq!(moment(date).ok().as_deref(), Some(wanted));
        }
        assert!(moment("yesterday").is_err());
    }

    #[test]
    fn parts_cover_the_text_and_keep_to_the_limit() {
        assert_eq!(parts("one two", 7).first(), Some(&(0..7)));
        assert_eq!(parts("one two three", 8), [0..7, 7..13]);
        assert_eq!(parts("éééééé", 4), [0..8, 8..12]);
        let text = "wörd ".repeat(100);
        let parts = parts(&text, 33);
        assert!(parts.windows(2).all(|pair| pair[0].end == pair[1].start));
        assert!(parts.iter().all(|part| text[part.clone()].chars().count() <= 33));
        assert_eq!(parts.last().map(|part| part.end), Some(text.len()));
    }

    #[test]
    fn labels_of_turns_become_labels_of_sessions() {
        let folder = tempfile::tempdir().unwrap();
        let set = folder.path().join("longmemeval_mini");
        fs::create_dir(&set).unwrap();
        let turn = |id, session| {
            format!(r#"{{"id":"{id}","text":"x","scope":"s","meta":{{"session":"{session}"}}}}"#)
        };
        let corpus = [turn("t0", "one"), turn("t1", "one"), turn("t2", "two")].join("\n");
        fs::write(set.join("corpus.jsonl"), corpus).unwrap();
        fs::write(set.join("queries.jsonl"), r#"{"id":"q","text":"x"}"#).unwrap();
        fs::write(set.join("qrels.tsv"), "q\tt0\t1\nq\tt1\t2\n").unwrap();
        let set = Set::load(folder.path(), "longmemeval_mini").unwrap();
        assert_eq!(set.queries[0].labels, HashMap::from([("one".to_owned(), 2.0)]));
        assert_eq!(set.kind, Kind::Memory);
        assert!(!set.is_by_passage());
    }
}
