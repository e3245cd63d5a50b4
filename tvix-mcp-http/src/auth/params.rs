//! Parameters of queries and forms, as OAuth reads them (RFC 6749 3.1 and 3.2): one without a value counts
//! as left out, one that comes twice is an error.

use url::form_urlencoded;

/// The longest query or form, in bytes. A real one has under two thousand; the consent form carries a query
/// of at most 8 KiB, encoded once more.
pub(super) const LONGEST: usize = 32 << 10;

/// What was sent, decoded.
#[derive(Debug, Clone, Default)]
pub(super) struct Params(Vec<(String, String)>);

impl Params {
    /// Decodes `application/x-www-form-urlencoded` text.
    pub(super) fn parse(text: &str) -> Self {
        let text = text.get(..LONGEST.min(text.len())).unwrap_or_default();
        let pairs = form_urlencoded::parse(text.as_bytes()).into_owned();
        Self(pairs.filter(|(_, value)| !value.is_empty()).collect())
    }

    /// The value of a parameter.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Every value of a parameter that may come more than once.
    pub(super) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The first of these names that came more than once.
    pub(super) fn repeated<'a>(&self, names: &[&'a str]) -> Option<&'a str> {
        names.iter().copied().find(|name| self.all(name).count() > 1)
    }
}

/// Adds parameters to a redirect address, which stays as it is byte for byte.
pub(super) fn with_params(address: &str, params: &[(&str, &str)]) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(params);
    let sign = if address.contains('?') { '&' } else { '?' };
    format!("{address}{sign}{}", query.finish())
}

#[cfg(test)]
mod tests {
    use super::{Params, with_params};

    #[test]
    fn empty_is_absent_and_twice_is_noticed() {
        let params = Params::parse("a=1&b=&c=x+y&c=%C3%A9");
        assert_eq!(params.get("a"), Some("1"));
        assert_eq!(params.get("b"), None);
        assert_eq!(params.all("c").collect::<Vec<_>>(), ["x y", "é"]);
        assert_eq!(params.repeated(&["a", "c"]), Some("c"));
    }

    #[test]
    fn an_address_keeps_its_own_query() {
        assert_eq!(with_params("cursor://a/b", &[("code", "x y&")]), "cursor://a/b?code=x+y%26");
        assert_eq!(with_params("https://a/b?c=d", &[("e", "f")]), "https://a/b?c=d&e=f");
    }
}
