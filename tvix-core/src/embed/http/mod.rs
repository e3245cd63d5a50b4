//! An embedding model behind an OpenAI-compatible endpoint.

mod answer;
mod client;

use std::{
    fmt,
    sync::{Arc, OnceLock},
    time::Duration,
};

use async_lock::Semaphore;
use async_trait::async_trait;

use self::client::{Client, Request};
use super::{Embedder, Hints, Model, Role, Vector, family::Family, worker};
use crate::{
    Error, Result,
    settings::{Endpoint, ModelName},
};

/// Texts in one request.
const BATCH_TEXTS: usize = 64;
/// Characters in one request, which endpoints bound as well.
const BATCH_CHARS: usize = 100_000;
/// What such endpoints take of one text, in characters; the rest is left out.
const TEXT_CHARS: usize = 8_000;
/// Calls at a time, so that a query need not wait for texts that are embedded in the background.
const AT_A_TIME: usize = 4;
/// What a call is named in errors.
const OPERATION: &str = "asking the embedding endpoint";

/// How long an [`HttpEmbedder`] waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// For the connection.
    pub connect: Duration,
    /// For the whole of one request of up to 64 texts.
    pub answer: Duration,
    /// Before the second attempt; twice as long before the third. An endpoint may ask for more.
    pub pause: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            answer: Duration::from_secs(30),
            pause: Duration::from_millis(500),
        }
    }
}

/// A secret: shown nowhere.
#[derive(Clone)]
struct Key(String);

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[hidden]")
    }
}

/// An embedding model behind an OpenAI-compatible endpoint, which Ollama, LM Studio and many hosted
/// services have.
///
/// Making one calls nobody. Until the endpoint has answered once, the
/// [dimension](Model::dimension) is 0. Texts are sent in batches, the part of a text beyond 8,000
/// characters is left out, and the prefixes that e5, bge, mxbai and nomic models were trained with are
/// added by the model's name. What is overloaded or unreachable is asked three times; redirects are not
/// followed. An `https` endpoint must have a certificate that the system trusts and is reached through
/// the proxy that the environment names; an `http` endpoint is called directly.
///
/// It needs no runtime: requests run on threads of their own.
#[derive(Debug)]
pub struct HttpEmbedder {
    client: Arc<Client>,
    family: Family,
    places: Arc<Semaphore>,
    /// Named, of dimension 0.
    unasked: Model,
    learned: OnceLock<Model>,
}

impl HttpEmbedder {
    /// The model `model` at `url`, called without a key.
    pub fn new(url: &Endpoint, model: &ModelName) -> Self {
        let name = format!("http/{}", model.as_str());
        Self {
            client: Arc::new(Client::new(url.as_str(), model.as_str())),
            family: Family::of(model.as_str()),
            places: Arc::new(Semaphore::new(AT_A_TIME)),
            unasked: Model { name, dimension: 0 },
            learned: OnceLock::new(),
        }
    }

    /// Sends `key` as `Authorization: Bearer`. It is part of no error, log or `Debug` text.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] when the key holds what no header can.
    pub fn with_key(mut self, key: &str) -> Result<Self> {
        if key.is_empty() || !key.bytes().all(|byte| byte.is_ascii_graphic()) {
            let reason = "the key is empty or holds spaces, line ends or letters outside of ASCII";
            return Err(Error::invalid("key", reason));
        }
        Arc::make_mut(&mut self.client).set_key(Key(key.to_owned()));
        Ok(self)
    }

    /// Replaces how long it waits.
    #[must_use]
    pub fn with_patience(mut self, patience: Patience) -> Self {
        Arc::make_mut(&mut self.client).set_patience(patience);
        self
    }

    /// Checks that all vectors have the dimension of those before them, or learns it.
    fn learn(&self, vectors: &[Vector]) -> Result<()> {
        let Some(first) = vectors.first() else { return Ok(()) };
        let name = &self.unasked.name;
        let model =
            self.learned.get_or_init(|| Model { name: name.clone(), dimension: first.len() });
        match vectors.iter().find(|vector| vector.len() != model.dimension) {
            None => Ok(()),
            Some(other) => {
                let (had, has) = (model.dimension, other.len());
                let reason = format!("its vectors had dimension {had} and now have {has}");
                Err(Error::backend(OPERATION, reason))
            }
        }
    }
}

#[async_trait]
impl Embedder for HttpEmbedder {
    fn model(&self) -> &Model {
        self.learned.get().unwrap_or(&self.unasked)
    }

    fn hints(&self) -> Hints {
        Hints { unrelated: self.family.unrelated, ..Hints::TRANSFORMER }
    }

    async fn embed(&self, texts: &[&str], role: Role) -> Result<Vec<Vector>> {
        let prefix = self.family.prefix(role);
        let texts: Vec<String> = texts.iter().map(|text| prefixed(prefix, text)).collect();
        let mut vectors = Vec::with_capacity(texts.len());
        for batch in batches(texts) {
            let (client, place) = (Arc::clone(&self.client), self.places.acquire_arc().await);
            let answered = worker::run(OPERATION, move |wanted| {
                let answer = client.embed(&Request::new(&batch), wanted);
                drop(place);
                answer
            });
            let answered = answered.await?;
            self.learn(&answered)?;
            vectors.extend(answered);
        }
        Ok(vectors)
    }
}

fn prefixed(prefix: &str, text: &str) -> String {
    let end = text.char_indices().nth(TEXT_CHARS).map_or(text.len(), |(at, _)| at);
    format!("{prefix}{}", &text[..end])
}

/// Requests that keep to the bounds, in order.
fn batches(texts: Vec<String>) -> Vec<Vec<String>> {
    let (mut batches, mut chars) = (Vec::<Vec<String>>::new(), 0);
    for text in texts {
        let length = text.chars().count();
        match batches.last_mut() {
            Some(batch) if batch.len() < BATCH_TEXTS && chars + length <= BATCH_CHARS => {
                chars += length;
                batch.push(text);
            }
            _ => {
                chars = length;
                batches.push(vec![text]);
            }
        }
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_keep_to_the_bounds() {
        let sizes = |texts: Vec<String>| batches(texts).iter().map(Vec::len).collect::<Vec<_>>();
        assert_eq!(sizes(vec![]), Vec::<usize>::new());
        assert_eq!(sizes(vec!["a".to_owned(); 130]), [64, 64, 2]);
        assert_eq!(sizes(vec!["ä".repeat(40_000); 5]), [2, 2, 1]);
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        assert_eq!(prefixed("query: ", &"ä".repeat(9_000)).chars().count(), TEXT_CHARS + 7);
        assert_eq!(prefixed("", "short"), "short");
    }
}
