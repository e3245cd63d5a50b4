//! Search by meaning: what it finds, and that a model which is missing, fails or takes its time costs
//! meaning only, never a write or an answer.
#![cfg(feature = "local")]

use std::{
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use tvix_core::{
    Error, Result, Search, Tvix,
    embed::{BuiltIn, Embedder, Hints, Model, Role, Vector},
    memory::NewMemory,
    search::{Answer, Fusion, Legs, Notice, Query, Relation},
    storage::{Filter, Kind, MemoryStore, Page, index::MemoryIndex},
    types::{Metadata, QueryText},
    wiki::NewDocument,
};

/// What an [`Odd`] model does.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Mood {
    Good,
    Fails,
    OtherDimension,
    NotANumber,
    TooFew,
}

const MOODS: [Mood; 4] = [Mood::Fails, Mood::OtherDimension, Mood::NotANumber, Mood::TooFew];

/// The built-in model, in a mood.
#[derive(Debug)]
struct Odd {
    inner: BuiltIn,
    mood: Mutex<Mood>,
}

impl Odd {
    fn new(mood: Mood) -> Arc<Self> {
        Arc::new(Self { inner: BuiltIn::default(), mood: Mutex::new(mood) })
    }
}

#[async_trait]
impl Embedder for Odd {
    fn model(&self) -> &Model {
        self.inner.model()
    }

    fn hints(&self) -> Hints {
        self.inner.hints()
    }

    async fn embed(&self, texts: &[&str], role: Role) -> Result<Vec<Vector>> {
        let mut vectors = self.inner.embed(texts, role).await?;
        match *self.mood.lock().expect("mood") {
            Mood::Good => {}
            Mood::Fails => return Err(Error::backend("embedding", "told to fail")),
            Mood::OtherDimension => vectors.iter_mut().for_each(|vector| vector.truncate(3)),
            Mood::NotANumber => vectors.iter_mut().for_each(|vector| vector[7] = f32::NAN),
            Mood::TooFew => vectors.truncate(texts.len() - 1),
        }
        Ok(vectors)
    }
}

/// The built-in model behind a gate: while it is closed nothing is answered.
#[derive(Debug, Default)]
struct Slow {
    inner: BuiltIn,
    open: Mutex<bool>,
    opened: Condvar,
    asked: AtomicUsize,
}

#[async_trait]
impl Embedder for Slow {
    fn model(&self) -> &Model {
        self.inner.model()
    }

    fn hints(&self) -> Hints {
        Hints { instant: false, ..self.inner.hints() }
    }

    async fn embed(&self, texts: &[&str], role: Role) -> Result<Vec<Vector>> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        // The test ends long before.
        let gate = self.open.lock().expect("gate");
        let patience = Duration::from_mins(2);
        drop(self.opened.wait_timeout_while(gate, patience, |open| !*open).expect("gate"));
        self.inner.embed(texts, role).await
    }
}

fn with(embedder: Option<Arc<dyn Embedder>>) -> Tvix {
    let (store, index) = (MemoryStore::default(), MemoryIndex::default());
    Tvix::builder(Arc::new(store), Arc::new(index)).embedder(embedder).build()
}

fn asked(kind: Kind, text: &str) -> Query {
    let text = QueryText::new(text).expect("a query");
    Query { kind, text, filter: Filter::default(), page: Page::first(10) }
}

async fn ask(tvix: &Tvix, text: &str) -> Answer {
    tvix.search(&asked(Kind::Memory, text)).await.expect("an answer")
}

async fn add(tvix: &Tvix, text: &str) {
    tvix.memory().add(NewMemory::new(text).expect("text")).await.expect("stored");
}

fn texts(answer: &Answer) -> Vec<&str> {
    answer.hits.iter().map(|hit| hit.document.text.as_str()).collect()
}

const BOTH: Legs = Legs { keyword: true, meaning: true };
const WORDS: Legs = Legs { keyword: true, meaning: false };

#[tokio::test]
async fn other_words_for_the_same_thing_are_found() {
    let tvix = Tvix::in_memory();
    for text in [
        "Ana is allergic to peanuts",
        "The deployment runs on a Friday evening",
        "My physician moved to another town",
        "The cat sleeps on the sofa",
    ] {
        add(&tvix, text).await;
    }
    let answer = ask(&tvix, "doctor").await;
    assert_eq!(texts(&answer)[0], "My physician moved to another town");
    assert_eq!(answer.legs, BOTH);
    assert_eq!(answer.fusion, Some(Fusion::Convex { dense: 0.3 }));
    assert_eq!(answer.notices, []);
    assert_eq!(
        texts(&ask(&tvix, "where is the kitten sleeping?").await)[0],
        "The cat sleeps on the sofa"
    );
}

#[tokio::test]
async fn the_last_paragraph_of_a_long_document_is_found_by_meaning() {
    let tvix = Tvix::in_memory();
    let filler =
        "The committee read the minutes of the last meeting and approved them. ".repeat(900);
    let last = "The physician prescribed a remedy against the headache. The patient is to take two \
        pills after each meal, to drink enough water, and to lie down in a dark room when the pain comes \
        back. If the fever rises above thirty-nine degrees, the clinic must be called at once, and a nurse \
        will visit the patient at home and bring the results of the blood test.";
    let long = format!("{filler}\n\n# Health\n\n{last}");
    for (title, text) in [("Minutes", long.as_str()), ("Other", &filler)] {
        let document = NewDocument::new(title, text).expect("a document");
        tvix.wiki().add(document).await.expect("stored");
    }
    let answer = tvix.search(&asked(Kind::Wiki, "doctor's medicine for a migraine")).await;
    let answer = answer.expect("an answer");
    assert_eq!(answer.hits[0].document.title, "Minutes");
    assert!(answer.hits[0].document.text[answer.hits[0].passage.clone()].contains("physician"));
}

#[tokio::test]
async fn a_query_about_nothing_stored_finds_nothing_or_scores_low() {
    let tvix = Tvix::in_memory();
    add(&tvix, "Ana is allergic to peanuts").await;
    for text in ["quantum chromodynamics", "zzqx vbnm", "?!", "…"] {
        let answer = ask(&tvix, text).await;
        assert!(answer.hits.iter().all(|hit| hit.score < Some(0.2)), "{text}: {:?}", answer.hits);
    }
}

#[tokio::test]
async fn without_a_model_words_answer_and_the_answer_says_so() {
    let tvix = with(None);
    add(&tvix, "a red lantern").await;
    let answer = ask(&tvix, "lantern").await;
    assert_eq!((texts(&answer), answer.legs), (vec!["a red lantern"], WORDS));
    assert_eq!((answer.notices, answer.fusion), (vec![Notice::MeaningNotUsed], None));
}

#[tokio::test]
async fn a_model_that_answers_wrongly_costs_meaning_only_until_it_is_well() {
    for mood in MOODS {
        let model = Odd::new(mood);
        let tvix = with(Some(model.clone()));
        add(&tvix, "my physician has a red lantern").await;
        let answer = ask(&tvix, "lantern").await;
        assert_eq!((answer.hits.len(), answer.legs), (1, WORDS), "{mood:?}");
        assert_eq!(answer.notices, [Notice::MeaningNotUsed], "{mood:?}");
        *model.mood.lock().expect("mood") = Mood::Good;
        let answer = ask(&tvix, "doctor").await;
        assert_eq!((answer.hits.len(), answer.legs), (1, BOTH), "{mood:?}");
        assert_eq!(answer.notices, [], "{mood:?}");
    }
}

#[tokio::test]
async fn a_slow_model_delays_neither_writes_nor_answers_and_catches_up() {
    let model = Arc::new(Slow::default());
    let tvix = with(Some(model.clone()));
    // Neither of these ends while the gate is closed, if they wait for the model.
    add(&tvix, "my physician has a red lantern").await;
    let answer = ask(&tvix, "lantern").await;
    assert_eq!((answer.hits.len(), answer.legs), (1, WORDS));
    assert_eq!(answer.notices, [Notice::MeaningNotUsed]);
    *model.open.lock().expect("gate") = true;
    model.opened.notify_all();
    for _ in 0..300 {
        let answer = ask(&tvix, "doctor").await;
        if answer.legs == BOTH && answer.notices.is_empty() {
            assert_eq!(texts(&answer), ["my physician has a red lantern"]);
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("not caught up");
}

#[tokio::test]
async fn meaning_survives_reopening_and_the_loss_of_the_vectors() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("data");
    {
        let tvix = Tvix::open(&path).expect("opened");
        add(&tvix, "my physician has a red lantern").await;
        assert_eq!(ask(&tvix, "doctor").await.hits.len(), 1);
    }
    for _ in 0..2 {
        let tvix = Tvix::open(&path).expect("opened again");
        let answer = ask(&tvix, "doctor").await;
        assert_eq!((answer.hits.len(), answer.notices), (1, vec![]));
    }
    std::fs::remove_dir_all(path.join("index").join("vectors")).expect("vectors");
    let tvix = Tvix::open(&path).expect("opened without vectors");
    assert_eq!(ask(&tvix, "doctor").await.hits.len(), 1);
}

#[tokio::test]
async fn a_hit_comes_with_what_stands_beside_it_and_never_with_another_hit() {
    let tvix = Tvix::in_memory();
    for (minute, text) in [
        (0, "Did you see the harbour?"),
        (5, "The lanterns at the harbour were lovely"),
        (10, "Let us eat there on Sunday"),
        (90, "Bring the tent"),
    ] {
        let mut memory = NewMemory::new(text).expect("text");
        let time = format!("2026-03-01T10:{:02}:00Z", minute % 60);
        let time = if minute < 60 { time } else { "2026-03-01T11:30:00Z".to_owned() };
        let fields = serde_json::json!({ "event_time": time });
        memory.metadata =
            Metadata::new(fields.as_object().cloned().expect("fields")).expect("metadata");
        tvix.memory().add(memory).await.expect("stored");
    }
    let query = Query { page: Page::first(1), ..asked(Kind::Memory, "lovely lanterns") };
    let answer = tvix.search(&query).await.expect("an answer");
    let related = &answer.hits[0].related;
    let beside: Vec<_> = related.iter().map(|r| (r.why, r.text.as_str())).collect();
    assert_eq!(beside.len(), 2, "{beside:?}");
    assert!(beside.contains(&(Relation::Nearby, "Did you see the harbour?")));
    assert!(beside.contains(&(Relation::Nearby, "Let us eat there on Sunday")));
    let all = ask(&tvix, "lanterns harbour sunday tent").await;
    let hits: Vec<_> = all.hits.iter().map(|hit| hit.document.key.id).collect();
    let related = all.hits.iter().flat_map(|hit| &hit.related);
    assert!(related.clone().all(|related| !hits.contains(&related.id)));
}

#[tokio::test]
async fn a_memory_is_found_by_the_day_on_which_it_happened() {
    let tvix = Tvix::in_memory();
    for (day, text) in
        [("2026-05-08", "We painted the fence"), ("2026-06-09", "We painted the shed")]
    {
        let mut memory = NewMemory::new(text).expect("text");
        let fields = serde_json::json!({ "event_time": day });
        memory.metadata =
            Metadata::new(fields.as_object().cloned().expect("fields")).expect("metadata");
        tvix.memory().add(memory).await.expect("stored");
    }
    for (query, text) in [
        ("what did we paint in May 2026?", "We painted the fence"),
        ("what was painted on 9 June", "We painted the shed"),
        ("painted 2026-06-09", "We painted the shed"),
    ] {
        assert_eq!(texts(&ask(&tvix, query).await)[0], text, "{query}");
    }
}
