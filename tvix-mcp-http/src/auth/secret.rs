//! Secrets that only their holder has: tokens, codes, cookies.
//!
//! Each is 256 random bits behind a prefix that tells scanners, our own redaction and support what it is.
//! The database keeps SHA-256 of it: a plain hash is enough, because nobody can try 2^256 values, and it
//! can be looked up, so that no comparison of secrets happens outside the database.

use std::fmt;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::store::Failure;

/// What a secret is for, which is its prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// An access token, `tvx_at_`.
    Access,
    /// A refresh token, `tvx_rt_`.
    Refresh,
    /// A personal access token, `tvx_pat_`.
    Personal,
    /// An authorization code, `tvx_ac_`.
    Code,
    /// A client's secret, `tvx_cs_`.
    Client,
    /// A browser's cookie, `tvx_se_`.
    Session,
    /// The one-time link of the first start, `tvx_su_`.
    Setup,
}

impl Purpose {
    /// The first characters of such a secret.
    pub fn prefix(self) -> &'static str {
        match self {
            Self::Access => "tvx_at_",
            Self::Refresh => "tvx_rt_",
            Self::Personal => "tvx_pat_",
            Self::Code => "tvx_ac_",
            Self::Client => "tvx_cs_",
            Self::Session => "tvx_se_",
            Self::Setup => "tvx_su_",
        }
    }
}

/// A secret in clear: given out once and never kept. Its `Debug` text shows the purpose only.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// A new one.
    ///
    /// # Errors
    /// [`Failure::Random`] when the system gives no random bytes.
    pub fn new(purpose: Purpose) -> Result<Self, Failure> {
        let random = URL_SAFE_NO_PAD.encode(random::<32>()?);
        Ok(Self(format!("{}{random}", purpose.prefix())))
    }

    /// What came from outside, if it has the shape of a secret for `purpose`.
    pub fn read(purpose: Purpose, text: &str) -> Option<Self> {
        let random = text.strip_prefix(purpose.prefix())?;
        let fits = random.len() == 43
            && random
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
        fits.then(|| Self(text.to_owned()))
    }

    /// The text that its holder sends.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// What the database knows it by.
    pub fn hash(&self) -> Hash {
        Hash::of(&[self.0.as_bytes()])
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prefix = self.0.get(..7).unwrap_or_default();
        write!(f, "Secret({prefix}…)")
    }
}

/// SHA-256 of something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Hash([u8; 32]);

impl Hash {
    /// The hash of the parts, each preceded by its length, so that no two lists of parts are alike.
    /// One part alone is hashed as it is.
    pub fn of(parts: &[&[u8]]) -> Self {
        if let [part] = parts {
            return Self(Sha256::digest(part).into());
        }
        let mut sha = Sha256::new();
        for part in parts {
            sha.update((part.len() as u64).to_be_bytes());
            sha.update(part);
        }
        Self(sha.finalize().into())
    }

    /// Reads 64 hexadecimal digits.
    pub fn from_hex(text: &str) -> Option<Self> {
        let mut bytes = [0; 32];
        let digits = text.as_bytes();
        if digits.len() != 64 || !digits.is_ascii() {
            return None;
        }
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
            let pair = std::str::from_utf8(pair).ok()?;
            *byte = u8::from_str_radix(pair, 16).ok().filter(|_| !pair.starts_with('+'))?;
        }
        Some(Self(bytes))
    }

    /// The 32 bytes.
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Base64 with the alphabet for addresses and without padding, as PKCE (RFC 7636 4.2) wants it.
    pub fn base64(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.0)
    }

    /// The same 32 bytes, compared in a time that does not tell where they differ.
    pub fn equals(&self, other: &Self) -> bool {
        self.0.iter().zip(other.0).fold(0, |differ, (a, b)| differ | (a ^ b)) == 0
    }
}

/// `N` bytes that nobody can guess.
pub(super) fn random<const N: usize>() -> Result<[u8; N], Failure> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| Failure::Random(error.to_string()))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::{Hash, Purpose, Secret};

    #[test]
    fn a_secret_is_read_back_only_for_its_purpose_and_hides_in_debug_text() {
        let secret = Secret::new(Purpose::Access).unwrap();
        assert_eq!(Secret::read(Purpose::Access, secret.expose()), Some(secret.clone()));
        assert_eq!(Secret::read(Purpose::Refresh, secret.expose()), None);
        assert_eq!(Secret::read(Purpose::Access, "tvx_at_short"), None);
        assert!(!format!("{secret:?}").contains(&secret.expose()[7..]));
    }

    #[test]
    fn hashes_of_different_parts_differ() {
        assert_ne!(Hash::of(&[b"ab", b"c"]), Hash::of(&[b"a", b"bc"]));
        let hash = Hash::from_hex(&"0f".repeat(32)).unwrap();
        assert_eq!(hash.bytes(), &[15; 32]);
        for bad in ["", "zz", &"+f".repeat(32), &"é".repeat(32)] {
            assert_eq!(Hash::from_hex(bad), None, "{bad}");
        }
    }
}
