//! Which documents an index holds, in memory: their passages, what filters ask for, and who stands
//! next to whom.

use std::{
    collections::{BTreeMap, HashMap},
    ops::Range,
    sync::Arc,
};

use rustc_hash::FxHashMap;

use super::{TABLES, entry::Meta, table};
use crate::{
    search::analyze::Field,
    storage::{DocKey, IndexQuery, Kind, Neighbours, Seq},
    types::{Id, Timestamp},
};

/// Number of a passage. Numbers are not used again while the index is open.
pub(super) type PassageId = u32;
/// No passage.
pub(super) const NONE: PassageId = PassageId::MAX;

/// How many terms each field of a passage has, in the order of [`Field::index`].
pub(super) type Lengths = [u32; Field::ALL.len()];

/// Memories further apart than this, in milliseconds, are no context of each other.
const CONTEXT_MS: i64 = 30 * 60 * 1000;

/// What one document or part of it is to the index.
#[derive(Debug, Clone)]
pub(super) struct Passage {
    /// The document; `None` once it was replaced or deleted.
    meta: Option<Arc<Meta>>,
    /// Which of the document's passages.
    number: u32,
    /// How many terms each field has.
    lengths: Lengths,
    /// Its neighbours in time, or [`NONE`].
    before: PassageId,
    after: PassageId,
    /// How many terms it has together with them.
    context_length: u32,
}

/// The size of a field over all passages.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Size {
    pub(super) terms: u64,
    pub(super) passages: u64,
}

impl Size {
    /// The mean number of terms.
    pub(super) fn mean(self) -> f32 {
        self.terms as f32 / self.passages.max(1) as f32
    }
}

/// Memories of one project and source, in order.
type Line = BTreeMap<(Timestamp, Id), DocKey>;

/// Every document of an index.
#[derive(Debug, Default)]
pub(super) struct Documents {
    entries: FxHashMap<DocKey, (Arc<Meta>, Range<PassageId>)>,
    passages: Vec<Passage>,
    lines: HashMap<(Option<String>, String), Line>,
    /// Living passages and their terms, by [`table`].
    sizes: [Size; TABLES],
    /// Documents of each kind.
    counts: [u64; Kind::ALL.len()],
    /// Passages with a context, and the terms in all of them with their neighbours.
    contexts: u64,
    context_terms: u64,
}

impl Documents {
    /// How many passage numbers are in use.
    pub(super) fn passages(&self) -> usize {
        self.passages.len()
    }

    /// How many documents there are.
    pub(super) fn len(&self) -> u64 {
        self.entries.len() as u64
    }

    pub(super) fn meta(&self, key: DocKey) -> Option<&Arc<Meta>> {
        self.entries.get(&key).map(|(meta, _)| meta)
    }

    /// The numbers of the passages of the document under `key`, in order; empty when it is not here.
    pub(super) fn passages_of(&self, key: DocKey) -> Range<PassageId> {
        self.entries.get(&key).map_or(0..0, |(_, passages)| passages.clone())
    }

    /// The number of the passage of `key` that covers these bytes.
    pub(super) fn numbered(&self, key: DocKey, bytes: &Range<usize>) -> Option<PassageId> {
        let (meta, passages) = self.entries.get(&key)?;
        let number = meta.passages.binary_search_by_key(&bytes.start, |passage| passage.start);
        let number = number.ok().filter(|number| meta.passages[*number] == *bytes)?;
        passages.clone().nth(number)
    }

    /// The change of which the document under `key` is here.
    pub(super) fn seq(&self, key: DocKey) -> Option<Seq> {
        self.meta(key).map(|meta| meta.seq)
    }

    /// The document of a passage, unless it was replaced or deleted.
    pub(super) fn document(&self, passage: PassageId) -> Option<&Arc<Meta>> {
        self.passages.get(passage as usize)?.meta.as_ref()
    }

    /// The bytes of the text that a living passage is.
    pub(super) fn range(&self, passage: PassageId) -> Range<usize> {
        let range = self.passages.get(passage as usize).and_then(|passage| {
            passage.meta.as_ref()?.passages.get(passage.number as usize).cloned()
        });
        range.unwrap_or_default()
    }

    /// Whether a passage of the kind that `query` asks for is of a document that passes its filter.
    pub(super) fn accepts(&self, passage: PassageId, query: &IndexQuery) -> bool {
        // Whatever comes here is of the kind asked for: postings and vectors are kept by kind. Without a
        // condition nothing more need be read, which is most of the cost of a scan.
        let passes = |meta: &Arc<Meta>| query.filter.is_empty() || meta.passes(&query.filter);
        self.document(passage).is_some_and(passes)
    }

    /// The passages next to `passage` in time.
    pub(super) fn around(&self, passage: PassageId) -> [PassageId; 2] {
        self.passages.get(passage as usize).map_or([NONE; 2], |p| [p.before, p.after])
    }

    /// The first passage of the same document.
    pub(super) fn first_of(&self, passage: PassageId) -> PassageId {
        self.passages.get(passage as usize).map_or(NONE, |found| passage - found.number)
    }

    /// How many terms a passage has together with its neighbours.
    pub(super) fn context_length(&self, passage: PassageId) -> u32 {
        self.passages.get(passage as usize).map_or(0, |passage| passage.context_length)
    }

    /// Adds [`Documents::context_length`] up anew.
    fn measure_context(&mut self, passage: PassageId) {
        let text = Field::Text.index();
        let length = |passage: PassageId| {
            self.passages.get(passage as usize).map_or(0, |passage| passage.lengths[text])
        };
        let [before, after] = self.around(passage);
        let sum = length(before) + length(passage) + length(after);
        if let Some(passage) = self.passages.get_mut(passage as usize) {
            passage.context_length = sum;
        }
    }

    /// How many terms the text of a whole document has, overlaps of its passages twice.
    pub(super) fn text_length(&self, key: DocKey) -> u32 {
        let passages = self.passages_of(key).filter_map(|at| self.passages.get(at as usize));
        passages.map(|passage| passage.lengths[Field::Text.index()]).sum()
    }

    /// How many documents of `kind` there are.
    pub(super) fn count_of(&self, kind: Kind) -> u64 {
        self.counts[usize::from(kind.code() - 1)]
    }

    /// The mean of [`Documents::context_length`].
    pub(super) fn mean_context(&self) -> f32 {
        self.context_terms as f32 / self.contexts.max(1) as f32
    }

    /// The size of a field of the documents of `kind`.
    pub(super) fn size(&self, kind: Kind, field: Field) -> Size {
        self.sizes[table(kind, field)]
    }

    /// The documents next to the one under `key` in time.
    pub(super) fn neighbours(&self, key: DocKey) -> Neighbours {
        let passages = self.passages_of(key);
        let document = |passage: PassageId| self.document(passage).map(|meta| meta.key);
        let (Some(first), Some(last)) = (passages.clone().next(), passages.last()) else {
            return Neighbours::default();
        };
        Neighbours {
            before: document(self.around(first)[0]),
            after: document(self.around(last)[1]),
        }
    }

    /// Puts a document in place of what its key held; `lengths` has one entry a passage.
    /// Returns the numbers of its passages.
    pub(super) fn insert(&mut self, meta: &Arc<Meta>, lengths: &[Lengths]) -> Range<PassageId> {
        let key = meta.key;
        self.remove(key);
        let first = self.next();
        for (number, lengths) in (0..).zip(lengths) {
            let (meta, lengths) = (Some(Arc::clone(meta)), *lengths);
            self.passages.push(Passage {
                meta,
                number,
                lengths,
                before: NONE,
                after: NONE,
                context_length: 0,
            });
            self.measure(key.kind, lengths, u64::wrapping_add);
        }
        let passages = first..self.next();
        self.entries.insert(key, (Arc::clone(meta), passages.clone()));
        self.counts[usize::from(key.kind.code() - 1)] += 1;
        if key.kind == Kind::Memory {
            passages.clone().for_each(|passage| self.count(passage, true));
            passages.clone().zip(passages.clone().skip(1)).for_each(|(a, b)| self.link(a, b));
            self.place(meta);
        }
        passages
    }

    /// Forgets the document under `key`.
    pub(super) fn remove(&mut self, key: DocKey) {
        let Some((meta, passages)) = self.entries.remove(&key) else { return };
        self.counts[usize::from(key.kind.code() - 1)] -= 1;
        if key.kind == Kind::Memory {
            self.displace(&meta, passages.clone());
            passages.clone().for_each(|passage| self.count(passage, false));
        }
        for passage in passages {
            let Some(passage) = self.passages.get_mut(passage as usize) else { continue };
            passage.meta = None;
            let lengths = passage.lengths;
            self.measure(key.kind, lengths, u64::wrapping_sub);
        }
    }

    /// Adds a passage to the sizes, or takes it out.
    fn measure(&mut self, kind: Kind, lengths: Lengths, change: fn(u64, u64) -> u64) {
        for field in Field::ALL {
            let size = &mut self.sizes[table(kind, field)];
            size.terms = change(size.terms, u64::from(lengths[field.index()]));
            size.passages = change(size.passages, 1);
        }
    }

    /// Numbers end before [`NONE`]; an index of four billion passages has long run out of memory.
    fn next(&self) -> PassageId {
        PassageId::try_from(self.passages.len()).unwrap_or(NONE)
    }

    /// Counts a passage with its context in, or out.
    fn count(&mut self, passage: PassageId, there: bool) {
        if there {
            self.measure_context(passage);
        }
        let terms = u64::from(self.context_length(passage));
        let (contexts, sum) = (&mut self.contexts, &mut self.context_terms);
        let change = if there { u64::saturating_add } else { u64::saturating_sub };
        (*contexts, *sum) = (change(*contexts, 1), change(*sum, terms));
    }

    /// Takes a document into its line, between those next to it.
    fn place(&mut self, meta: &Arc<Meta>) {
        let line = self.lines.entry(line_of(meta)).or_default();
        line.insert(place_of(meta), meta.key);
        let (before, after) = beside(line, place_of(meta));
        let here = Some((place_of(meta), meta.key));
        self.join(before, here);
        self.join(here, after);
    }

    /// Takes a document out of its line and lets those next to it stand together.
    fn displace(&mut self, meta: &Arc<Meta>, passages: Range<PassageId>) {
        let Some(line) = self.lines.get_mut(&line_of(meta)) else { return };
        line.remove(&place_of(meta));
        let (before, after) = beside(line, place_of(meta));
        if line.is_empty() {
            self.lines.remove(&line_of(meta));
        }
        if let (Some(first), Some(last)) = (passages.clone().next(), passages.last()) {
            self.cut(self.around(first)[0], first);
            self.cut(last, self.around(last)[1]);
        }
        self.join(before, after);
    }

    /// Links two documents that follow each other, if there are two and they are near in time.
    fn join(&mut self, earlier: Option<Beside>, later: Option<Beside>) {
        let (Some(((from, _), earlier)), Some(((to, _), later))) = (earlier, later) else { return };
        let ends = (self.passages_of(earlier).last(), self.passages_of(later).next());
        if let (Some(last), Some(first)) = ends
            && near(from, to)
        {
            self.link(last, first);
        }
    }

    fn link(&mut self, left: PassageId, right: PassageId) {
        self.set_link(left, right, left, right);
    }

    fn cut(&mut self, left: PassageId, right: PassageId) {
        self.set_link(left, right, NONE, NONE);
    }

    /// Says that `right` follows `before` and `left` comes before `after`.
    fn set_link(&mut self, left: PassageId, right: PassageId, before: PassageId, after: PassageId) {
        for side in [left, right] {
            if side != NONE {
                self.count(side, false);
            }
        }
        if let Some(passage) = self.passages.get_mut(left as usize) {
            passage.after = after;
        }
        if let Some(passage) = self.passages.get_mut(right as usize) {
            passage.before = before;
        }
        for side in [left, right] {
            if side != NONE {
                self.count(side, true);
            }
        }
    }
}

/// A place in a line and who stands there.
type Beside = ((Timestamp, Id), DocKey);

fn line_of(meta: &Meta) -> (Option<String>, String) {
    (meta.scope.clone(), meta.source.clone())
}

fn place_of(meta: &Meta) -> (Timestamp, Id) {
    (meta.time.order(), meta.key.id)
}

fn beside(line: &Line, place: (Timestamp, Id)) -> (Option<Beside>, Option<Beside>) {
    use std::ops::Bound::{Excluded, Unbounded};
    let owned = |(place, key): (&(Timestamp, Id), &DocKey)| (*place, *key);
    let before = line.range(..place).next_back().map(owned);
    (before, line.range((Excluded(place), Unbounded)).next().map(owned))
}

fn near(earlier: Timestamp, later: Timestamp) -> bool {
    later.as_millis().saturating_sub(earlier.as_millis()) <= CONTEXT_MS
}
