//! Passwords: argon2id, off the threads that serve requests, and only so many at once.

use std::sync::{
    Arc,
    atomic::{AtomicU64, AtomicUsize, Ordering},
};

use argon2::{Algorithm, Argon2, Params, PasswordHasher as _, PasswordVerifier as _, Version};
use tokio::sync::Semaphore;

use super::secret::random;

/// Memory of one hash, in KiB; with two passes and one lane the least that OWASP advises.
const MEMORY: u32 = 19 * 1024;
const PASSES: u32 = 2;
/// How many are computed at once: 19 MiB and one core each.
const AT_ONCE: usize = 2;
/// How many may wait; more are turned away, so that a flood of logins costs a bounded time.
const WAITING: usize = 32;
/// A password's length in characters.
pub(super) const LENGTH: std::ops::RangeInclusive<usize> = 12..=256;

/// A password that somebody chose: 12 to 256 characters. Its `Debug` text shows nothing.
#[derive(Clone)]
pub struct Password(String);

impl Password {
    /// Checks the length of a new password; what it is made of is left to its owner.
    ///
    /// # Errors
    /// A sentence that says how long it must be.
    pub fn new(text: &str) -> Result<Self, &'static str> {
        let fits = LENGTH.contains(&text.chars().count());
        fits.then(|| Self(text.to_owned())).ok_or("password: send 12-256 characters")
    }
}

impl std::fmt::Debug for Password {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Password")
    }
}

/// Why no answer about a password is possible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Busy {
    /// Too many wait already.
    #[error("too many logins at once; try again in a few seconds")]
    TooMany,
    /// The hash could not be computed: no memory, or no random bytes.
    #[error("a password could not be hashed")]
    Failed,
}

/// Computes and compares hashes.
#[derive(Debug, Clone)]
pub struct Passwords(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    turns: Semaphore,
    waiting: AtomicUsize,
    computed: AtomicU64,
    /// What the password of a name that is nobody's is compared with: the same work as for a user's.
    nobody: String,
}

impl Passwords {
    /// Prepares.
    ///
    /// # Errors
    /// [`Busy::Failed`].
    pub fn new() -> Result<Self, Busy> {
        let nobody = hash(&random::<32>().map_err(|_| Busy::Failed)?)?;
        Ok(Self(Arc::new(Inner {
            turns: Semaphore::new(AT_ONCE),
            waiting: AtomicUsize::new(0),
            computed: AtomicU64::new(0),
            nobody,
        })))
    }

    /// How many hashes were computed.
    pub fn computed(&self) -> u64 {
        self.0.computed.load(Ordering::SeqCst)
    }

    /// The PHC string to keep for a new password.
    ///
    /// # Errors
    /// [`Busy`].
    pub async fn hash(&self, password: Password) -> Result<String, Busy> {
        self.aside(move |_| hash(password.0.as_bytes())).await?
    }

    /// Whether `password` is the one that `known` was made of. Without `known` the answer is no, after the
    /// same work.
    ///
    /// # Errors
    /// [`Busy`].
    pub async fn verify(&self, password: &str, known: Option<String>) -> Result<bool, Busy> {
        // Nobody's password is longer; hashing megabytes would be a gift to whoever sends them.
        let password: String = password.chars().take(LENGTH.end() + 1).collect();
        self.aside(move |inner| {
            let expected = known.as_ref().unwrap_or(&inner.nobody);
            let fits = hasher().map(|hasher| {
                hasher.verify_password(password.as_bytes(), expected.as_str()).is_ok()
            });
            Ok(fits? && known.is_some())
        })
        .await?
    }

    async fn aside<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Inner) -> T + Send + 'static,
    ) -> Result<T, Busy> {
        let _place = Place::take(&self.0)?;
        let _turn = self.0.turns.acquire().await.map_err(|_| Busy::Failed)?;
        let inner = Arc::clone(&self.0);
        inner.computed.fetch_add(1, Ordering::SeqCst);
        tokio::task::spawn_blocking(move || work(&inner)).await.map_err(|_| Busy::Failed)
    }
}

/// A place in the queue, given back when dropped.
struct Place(Arc<Inner>);

impl Place {
    fn take(inner: &Arc<Inner>) -> Result<Self, Busy> {
        let place = Self(Arc::clone(inner));
        let before = inner.waiting.fetch_add(1, Ordering::SeqCst);
        (before < WAITING + AT_ONCE).then_some(place).ok_or(Busy::TooMany)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::SeqCst);
    }
}

fn hasher() -> Result<Argon2<'static>, Busy> {
    let params = Params::new(MEMORY, PASSES, 1, None).map_err(|_| Busy::Failed)?;
    Ok(Argon2::new(Algorithm::Argon2id, Version::V0x13, params))
}

fn hash(password: &[u8]) -> Result<String, Busy> {
    let hash = hasher()?.hash_password(password).map_err(|_| Busy::Failed)?;
    Ok(hash.to_string())
}

#[cfg(test)]
mod tests {
    use super::{Password, Passwords};

    #[tokio::test]
    async fn a_password_fits_its_hash_only() {
        let passwords = Passwords::new().unwrap();
        let known = passwords.hash(Password::new("correct horse battery").unwrap()).await.unwrap();
        assert!(known.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{known}");
        let known = Some(known);
        assert!(passwords.verify("correct horse battery", known.clone()).await.unwrap());
        assert!(!passwords.verify("wrong horse battery", known).await.unwrap());
        assert!(!passwords.verify("correct horse battery", None).await.unwrap());
        assert_eq!(passwords.computed(), 4);
    }
}
